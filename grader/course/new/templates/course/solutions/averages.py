# %% [markdown]
# # Unit 1: averages
#
# Write your answers below each `TODO`. Run `grader check` to test them.


# %% [markdown]
# ## The mean
#
# The mean of 1, 2 and 6 is (1 + 2 + 6) / 3 = 3.


# %% nbgrader={"grade": false, "grade_id": "mean", "locked": false, "schema_version": 3, "solution": true, "task": false}
def mean(numbers: list[float]) -> float:
    """Return the mean of a list of numbers.

    - the mean is the sum of the numbers, divided by how many there are
    - an empty list raises a ValueError
    """
    # TODO: Check that there is a number. Then divide the sum by the count.
    ### BEGIN SOLUTION
    if not numbers:
        raise ValueError("an empty list has no mean")
    return sum(numbers) / len(numbers)
    ### END SOLUTION


# %% [markdown]
# ## The median
#
# Half of the numbers are below the median and half are above it. The median of 6, 1 and 2 is 2; that of 6, 1, 2 and 4 is
# the mean of 2 and 4.


# %% nbgrader={"grade": false, "grade_id": "median", "locked": false, "schema_version": 3, "solution": true, "task": false}
def median(numbers: list[float]) -> float:
    """Return the median of a list of one or more numbers.

    - for an odd count, the median is the number in the middle of the sorted list
    - for an even count, it is the mean of the two numbers in the middle
    - the list is the same after the call as before
    """
    # TODO: Sort a copy of the list, and find its middle.
    ### BEGIN SOLUTION
    ordered = sorted(numbers)
    middle = len(ordered) // 2
    if len(ordered) % 2:
        return ordered[middle]
    return (ordered[middle - 1] + ordered[middle]) / 2
    ### END SOLUTION
