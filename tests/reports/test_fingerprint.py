"""The digest of a unit's hidden tests says whether a report was made by the tests of today."""

from __future__ import annotations

from pathlib import Path

import pytest
from courses import replace

from grader.course.model import load_course
from grader.reports import fingerprint

MORE = """

NUMBER, UNUSED = 1.0, 2.0


def right_answers():
    def plain(a, b):
        return b + a
"""


def digest(root: Path) -> str:
    return fingerprint.tests_digest.__wrapped__(load_course(root), "sums")


@pytest.fixture
def course(own_small_course: Path) -> Path:
    """A small course whose tests of `add` need a definition in their file."""
    suite = own_small_course / "suites" / "sums" / "add.py"
    replace(suite, "student.add(a, 1.0)", "student.add(a, NUMBER)")
    suite.write_text(suite.read_text(encoding="utf-8") + MORE, encoding="utf-8")
    return own_small_course


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("expect_close(student.add(a, b), a + b", "expect_close(student.add(b, a), a + b"),
        ("The sum should also take", "The sum should take"),
        ('@rule("add adds")\ndef test_sum_with', '@rule("add sums")\ndef test_sum_with'),
        ("NUMBER, UNUSED = 1.0", "NUMBER, UNUSED = 3.0"),
    ],
    ids=["a check", "a sentence", "a rule", "what a test needs"],
)
def test_it_changes_with_a_test_and_what_the_test_needs(course: Path, old: str, new: str) -> None:
    before = digest(course)
    replace(course / "suites" / "sums" / "add.py", old, new)
    assert digest(course) != before


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("Adding is not taking away.", "Adding is not subtracting."),
        ("return a - b", "return -b + a"),
        ("return b + a", "return sum((a, b))"),
        ("\n\nNUMBER", "\n\n# The second is not needed.\nNUMBER"),
    ],
    ids=["a sentence", "a misconception", "a right answer", "a comment"],
)
def test_it_is_the_same_after_a_change_of_misconceptions_and_answers(course: Path, old: str, new: str) -> None:
    before = digest(course)
    replace(course / "suites" / "sums" / "add.py", old, new)
    assert digest(course) == before


@pytest.mark.parametrize(("name", "is_changed"), [("shared.py", True), ("quiz_oracles.py", False)])
def test_it_changes_with_what_the_tests_of_a_unit_share(course: Path, name: str, is_changed: bool) -> None:
    before = digest(course)
    (course / "suites" / "sums" / name).write_text("SIZE = 3\n", encoding="utf-8")
    assert (digest(course) != before) == is_changed


def test_a_suite_that_is_missing_or_no_python_counts_as_another(course: Path) -> None:
    suite = course / "suites" / "sums" / "add.py"
    found = {digest(course)}
    suite.write_text("def test_", encoding="utf-8")
    found.add(digest(course))
    suite.unlink()
    found.add(digest(course))
    assert len(found) == 3
