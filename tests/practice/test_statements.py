"""What a student's code defines and uses, without running it."""

from __future__ import annotations

import pytest

from grader.practice.exercise_code import Statements
from grader.submissions.submission import UnitSource

CODE = """
from other import helper as aid
SIZE = 3
def shared(x): return x + SIZE
def first(x): return shared(x)
class Second:
    def run(self, x): return aid(x)
def third(x):
    SIZE = 4
    return x * SIZE
if __name__ == "__main__":
    x = first(third(2))
"""
OTHER = "def helper(x): return base(x)\ndef base(x): return x\n"


def statements(code: str = CODE, other: str = OTHER) -> Statements:
    return Statements({"unit": UnitSource("unit.py", (code,)), "other": UnitSource("other.py", (other,))})


@pytest.mark.parametrize(
    ("name", "used"),
    [("first", {"shared", "SIZE"}), ("Second", {"aid", "helper", "base"}), ("third", set())],
)
def test_an_exercise_uses_what_its_code_names_directly_or_through_others(name: str, used: set[str]) -> None:
    known = {"shared", "first", "Second", "third", "SIZE", "aid", "helper", "base"}
    assert statements().used_by([name]) & known == {name, *used}


@pytest.mark.parametrize(
    ("code", "is_imported"),
    [
        ("import math, other as more\n", True),
        ("def first():\n    from other import helper\n", True),
        ("import other.helper\n", True),
        ("x = (1\nimport other\n", True),  # not Python
        ("other = 1\n", False),
        ("x = 'import other'\n", False),
        ('if __name__ == "__main__":\n    import other\n', False),
    ],
)
def test_a_unit_imports_another_wherever_and_however_it_does_except_as_a_program(code: str, is_imported: bool) -> None:
    assert statements(code).imported_by(["unit"]) == ({"unit", "other"} if is_imported else {"unit"})


def test_a_digest_changes_with_the_code_that_is_used_and_not_with_comments_or_other_code() -> None:
    before = statements()
    after = statements(
        CODE.replace("SIZE = 3", "SIZE = 5  # more").replace("return x * SIZE", "return x * SIZE  # the same")
    )
    changed = {name for name in ("first", "Second", "third") if before.digest(name) != after.digest(name)}
    assert changed == {"first"}


def test_a_digest_changes_with_code_of_another_unit_that_is_used() -> None:
    before, after = statements(), statements(other=OTHER.replace("return x", "return -x"))
    assert before.digest("Second") != after.digest("Second")
    assert before.digest("first") == after.digest("first")


def test_an_import_belongs_to_what_uses_it_in_its_own_unit() -> None:
    before, after = statements(CODE.replace("import helper as aid", "import base as helper")), statements()
    assert before.code("helper") == after.code("helper")
    changed = {name for name in ("Second", "first", "helper") if before.digest(name) != after.digest(name)}
    assert changed == {"Second"}


@pytest.mark.parametrize("stray", ["```python", "I think – this works.", ">>> first(1)", "pip install einops"])
def test_a_stray_line_changes_nothing(stray: str) -> None:
    before, after = statements(), statements(CODE.replace("def shared", f"{stray}\ndef shared"))
    assert after.unclear == set()
    for name in ("shared", "first", "Second", "third"):
        assert before.digest(name) == after.digest(name)
        assert before.code(name) == after.code(name)


def test_a_definition_that_is_not_python_changes_only_what_uses_it() -> None:
    before, after = statements(), statements(CODE.replace("def shared(x):", "def shared(x:"))
    assert after.unclear == set()
    assert after.code("shared") == "def shared(x: return x + SIZE"
    changed = {name for name in ("shared", "first", "Second", "third") if before.digest(name) != after.digest(name)}
    assert changed == {"shared", "first"}


def test_a_line_that_could_define_anything_changes_everything_in_its_unit() -> None:
    before, after = statements(f"{CODE}dfe forth(x:\n"), statements(f"{CODE}dfe fourth(x:\n")
    assert before.unclear == {"unit"}
    assert before.digest("third") != after.digest("third")
    assert before.digest("helper") != statements().digest("helper")


def test_a_notebook_is_read_like_the_grader_reads_it() -> None:
    cells = ("!pip install einops\n", "%%time\ndef first(x): return x\n", "    def indented(x): return x\n")
    found = Statements({"unit": UnitSource("unit.ipynb", cells)})
    assert found.unclear == set()
    assert found.code("first")
    assert found.code("indented")


@pytest.mark.parametrize("terms", [300, 700, 5000, 100_000])
def test_code_of_any_depth_is_read(terms: int) -> None:
    sums = [f"def first(x):\n    return {'+'.join('x' * (terms + more))}\n" for more in (0, 1)]
    one, other = map(statements, sums)
    assert one.code("first") != other.code("first")
