

# TODO (author): write an example that is easy to check by hand.
@pytest.mark.example("$exercise")
def test_$exercise(student: Student) -> None:
    """Twice 3 is 6."""
    expect_number(student.$exercise(3), 6, within=1e-9)
