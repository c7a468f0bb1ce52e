

# %% [markdown]
# ## $title
#
# TODO (author): explain the idea.


# %% nbgrader={"grade": false, "grade_id": "$exercise", "locked": false, "schema_version": 3, "solution": true, "task": false}
def $exercise(number: float) -> float:
    """Return twice a number. TODO (author): describe the exercise, its arguments and its rules.

    - the result is two times the number
    """
    # TODO: Multiply the number by two.
    ### BEGIN SOLUTION
    return 2 * number
    ### END SOLUTION
