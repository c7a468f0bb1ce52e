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


# %% [markdown] tags=["hints"]
# 1. The mean is what each number would be if all were the same and the sum did not change.
# 2. A list of numbers gives one number. For example, 1, 2 and 6 have the sum 9 and the count 3, so the mean is 3.
# 3. Check the list first: an empty one is false in an `if`. One way for the mean: `sum` and `len`.


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


# %% [markdown] tags=["hints"]
# 1. Put the numbers into order. Then the median is in the middle, or halfway between the two in the middle.
# 2. A list of numbers gives one number. For example, 6, 1, 2 and 4 in order are 1, 2, 4 and 6, so the median is 3.
# 3. One way: `sorted` gives a new list. With n numbers, the place `n // 2` is the middle or the upper one of two.
