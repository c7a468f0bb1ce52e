"""`grader build` makes what students receive from solutions/, and reports malformed sources."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

import pytest
from courses import COURSE, REPOSITORY, SMALL_COURSE

from grader.course.build import BuildError, build, check, data_files
from grader.course.model import Course, load_course
from grader.documents import CourseError
from grader.quizzes.questions import to_json
from grader.quizzes.quiz_source import load_quiz
from grader.quizzes.sheet import write_sheet

UNITS = sorted(path.stem for path in (REPOSITORY / "solutions").glob("*.py"))
SOURCE = '''\
# %% [markdown]
# Double a number.


# %% nbgrader={"grade": false, "grade_id": "double", "locked": false, "solution": true}
def double(number: float) -> float:
    """Give twice the number."""
    # TODO: Return twice the number.
    ### BEGIN SOLUTION
    return 2 * number
    ### END SOLUTION
'''
STUB = '''\
# %% [markdown]
# Double a number.


# %%
def double(number: float) -> float:
    """Give twice the number."""
    # TODO: Return twice the number.
    # YOUR CODE HERE
    raise NotImplementedError()
'''


def course_of(root: Path, source: str, more: str = "") -> Path:
    """A course of one unit; `more` are its lines in autograder.yml."""
    (root / "solutions").mkdir()
    (root / "solutions" / "arithmetic.py").write_text(source, encoding="utf-8")
    settings, _, _ = SMALL_COURSE["autograder.yml"].partition("  sums:")
    unit = f"  arithmetic:\n    title: Arithmetic\n    due: 2100-01-01T00:00:00Z\n    exercises: {{double: 1}}\n{more}"
    (root / "autograder.yml").write_text(settings + unit, encoding="utf-8")
    return root


def loaded(root: Path, source: str) -> Course:
    return load_course(course_of(root, source))


def solution_lines(unit: str) -> set[str]:
    """The lines between the markers that are nowhere else in the source."""
    inside, outside = set(), set()
    in_solution = False
    for line in (REPOSITORY / "solutions" / f"{unit}.py").read_text(encoding="utf-8").splitlines():
        if "BEGIN SOLUTION" in line or "END SOLUTION" in line:
            in_solution = "BEGIN SOLUTION" in line
        elif in_solution:
            inside.add(line.strip())
        else:
            outside.add(line.strip())
    return inside - outside - {""}


def test_a_stub_is_the_source_without_solutions_and_metadata(tmp_path: Path) -> None:
    (written,) = build(loaded(tmp_path, SOURCE))
    assert written == tmp_path / "exercises" / "arithmetic.py"
    assert written.read_text(encoding="utf-8") == STUB
    assert list(written.parent.iterdir()) == [written]


def test_check_names_a_stub_that_is_missing_or_was_edited(tmp_path: Path) -> None:
    course = loaded(tmp_path, SOURCE)
    assert check(course) == ["arithmetic.py"]
    (written,) = build(course)
    assert check(course) == []
    written.write_text(STUB + "\n", encoding="utf-8")
    assert check(course) == ["arithmetic.py"]


def test_the_sheet_and_the_questions_of_a_quiz_are_built(tmp_path: Path) -> None:
    root = course_of(tmp_path, SOURCE, "    quiz: 0\n")
    source = root / "solutions" / "arithmetic_quiz.yml"
    source.write_text(SMALL_COURSE["solutions/sums_quiz.yml"], encoding="utf-8")
    written = build(load_course(root))
    assert [path.name for path in written] == ["arithmetic.py", "arithmetic_quiz.md"]
    questions = load_quiz(source).questions
    assert written[1].read_text(encoding="utf-8") == write_sheet(questions, None, {})
    assert data_files(load_course(root)) == {"quizzes.json": to_json([questions])}
    written[1].write_text("edited", encoding="utf-8")
    assert check(load_course(root)) == ["arithmetic_quiz.md"]


def test_a_malformed_quiz_changes_no_file(tmp_path: Path) -> None:
    root = course_of(tmp_path, SOURCE, "    quiz: 1\n")
    (root / "solutions" / "arithmetic_quiz.yml").write_text("title: Sums\n", encoding="utf-8")
    with pytest.raises(CourseError, match=r"^solutions/arithmetic_quiz.yml:1:1: the key 'items' is missing: add it\.$"):
        build(load_course(root))
    assert not (root / "exercises").exists()


# -- what autograder.yml leaves out ---------------------------------------------------------------------------

TRIPLE = (
    SOURCE.partition("\n\n\n")[2].replace("double", "triple").replace("2 *", "3 *").replace("Give twice", "Give thrice")
)
DEMO = """
# %% [markdown]
# ## Try it

# %%
if __name__ == "__main__":
    print({}(2))
"""


def test_an_exercise_that_is_left_out_is_removed_with_its_text_and_its_users(tmp_path: Path) -> None:
    section = f"\n\n# %% [markdown]\n# ## Triple\n\n\n{TRIPLE}"
    uses = SOURCE.replace("2 * number", "triple(number) - number")
    (written,) = build(loaded(tmp_path, uses + section + DEMO.format("triple")))
    assert written.read_text(encoding="utf-8") == STUB


def test_text_above_other_code_is_kept(tmp_path: Path) -> None:
    (written,) = build(loaded(tmp_path, f"{SOURCE}\n\n{TRIPLE}{DEMO.format('double')}"))
    text = written.read_text(encoding="utf-8")
    assert text.startswith(STUB)
    assert text.endswith("print(double(2))\n")
    assert "triple" not in text


@pytest.mark.parametrize(
    ("listed", "line"),
    [("", None), ("  geometry: {title: G, due: 2100-01-01T00:00:00Z, exercises: {cube: 1}}\n", "cube")],
)
def test_imports_of_what_is_left_out_are_removed(tmp_path: Path, listed: str, line: str | None) -> None:
    imports = "# %%\nfrom geometry import cube, square\n\n\n"
    root = course_of(tmp_path, SOURCE.replace("# %% nb", f"{imports}# %% nb"), listed)
    others = [TRIPLE.replace("triple", name) for name in ("cube", "square")]
    (root / "solutions" / "geometry.py").write_text("\n\n".join(others), encoding="utf-8")
    text = build(load_course(root))[0].read_text(encoding="utf-8")
    assert re.findall("from geometry import (.*)", text) == ([line] if line else [])
    assert "square" not in text


def test_built_files_of_what_is_now_left_out_are_removed(tmp_path: Path) -> None:
    root = course_of(tmp_path, SOURCE)
    (root / "solutions" / "geometry.py").write_text(SOURCE, encoding="utf-8")
    (root / "solutions" / "arithmetic_quiz.yml").write_text("", encoding="utf-8")
    build(load_course(root))
    own, *stale = [root / "exercises" / name for name in ("README.md", "arithmetic_quiz.md", "geometry.py")]
    for path in (own, *stale):
        path.write_text("", encoding="utf-8")
    assert check(load_course(root)) == ["arithmetic_quiz.md", "geometry.py"]
    assert build(load_course(root))[1:] == stale
    assert sorted(path.name for path in own.parent.iterdir()) == ["README.md", "arithmetic.py"]


# -- the course ----------------------------------------------------------------------------------------------


def test_the_committed_files_match_their_sources() -> None:
    assert check(COURSE) == []


@pytest.mark.parametrize("unit", UNITS)
def test_no_line_of_a_solution_is_in_the_stub(unit: str) -> None:
    stub = (REPOSITORY / "exercises" / f"{unit}.py").read_text(encoding="utf-8")
    hidden = solution_lines(unit)
    assert hidden
    assert hidden.isdisjoint(line.strip() for line in stub.splitlines())


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ("    ### END SOLUTION\n", "", "9: the solution is not closed"),
        ("    ### BEGIN SOLUTION\n", "", "10: a solution ends that has not begun"),
        ("    return 2", "    ### BEGIN SOLUTION\n    return 2", "10: a solution begins inside another"),
        ("# TODO: Return", "# Return", "9: no sentence says what to do"),
        ('    """Give twice the number."""\n', "", "6: double has no docstring"),
        ('number."""', 'number.\n\n    Time: 1 hour.\n    """', "6: the last line of double's docstring has"),
        ('"solution": true', '"solution": false', "9: not an answer cell"),
        ('_id": "double"', '_id": "dubble"', "5: the grade_id 'dubble' is not what the cell defines: double."),
        ("    ### BEGIN SOLUTION\n    return 2 * number\n    ### END SOLUTION\n", "    pass\n", "5: the answer"),
        ("# %% [markdown]\n", "", "1: there is text above the first cell"),
        (SOURCE, "def double(number):\n    return 2 * number\n", "1: there is text above the first cell"),
    ],
)
def test_a_malformed_source_is_named_with_its_line(tmp_path: Path, old: str, new: str, problem: str) -> None:
    assert SOURCE.count(old) == 1
    with pytest.raises(BuildError) as raised:
        build(loaded(tmp_path, SOURCE.replace(old, new)))
    assert str(raised.value).startswith(f"solutions/arithmetic.py:{problem}")


def test_a_malformed_source_changes_no_stub(tmp_path: Path) -> None:
    listed = "  geometry: {title: G, due: 2100-01-01T00:00:00Z, exercises: {area: 1}}\n"
    area = SOURCE.replace("double", "area")
    (tmp_path / "geometry.py").write_text(area, encoding="utf-8")
    (tmp_path / "geometry.py").rename(course_of(tmp_path, SOURCE, listed) / "solutions" / "geometry.py")
    build(load_course(tmp_path))
    (tmp_path / "solutions" / "arithmetic.py").write_text(SOURCE.replace("Double", "Halve"), encoding="utf-8")
    (tmp_path / "solutions" / "geometry.py").write_text(area.replace("# TODO: ", "# "), encoding="utf-8")
    with pytest.raises(BuildError):
        build(load_course(tmp_path))
    assert (tmp_path / "exercises" / "arithmetic.py").read_text(encoding="utf-8") == STUB


def test_without_nbgrader_the_error_says_how_to_install_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "nbgrader.preprocessors", None)  # as if it could not be imported
    with pytest.raises(BuildError, match=r"^Building needs nbgrader: run `pip install -e \.\[nbgrader\]`\.$"):
        check(loaded(tmp_path, SOURCE))


# -- hints ----------------------------------------------------------------------------------------------------

HINTS = """

# %% [markdown] tags=["hints"]
# 1. Take it once, and
#    once more.
# 2. 3 gives 6.
# 3. One way: `2 *`.
"""


def test_hints_are_taken_out_of_the_stub_and_written_to_a_file_of_their_own(tmp_path: Path) -> None:
    course = loaded(tmp_path, SOURCE + HINTS)
    [stub] = build(course)
    assert stub.read_text(encoding="utf-8") == STUB
    assert json.loads(data_files(course)["hints.json"]) == {
        "arithmetic": {"double": ["Take it once, and once more.", "3 gives 6.", "One way: `2 *`."]}
    }


def test_hints_of_an_exercise_that_is_left_out_are_left_out(tmp_path: Path) -> None:
    course = loaded(tmp_path, f"{SOURCE}\n\n# %% [markdown]\n# ## Triple\n\n\n{TRIPLE}{HINTS}")
    [written] = build(course)
    assert written.read_text(encoding="utf-8") == STUB
    assert data_files(course) == {}


@pytest.mark.parametrize(
    ("source", "problem"),
    [
        (
            SOURCE + HINTS.replace("# 3. One way: `2 *`.\n", ""),
            "14: hints are a text cell with a numbered list: 1. the",
        ),
        (SOURCE + HINTS.replace("# 3.", "# 4."), "14: hints are a text cell with a numbered list"),
        (SOURCE + HINTS.replace(" [markdown]", ""), "14: hints are a text cell with a numbered list"),
        (SOURCE.replace("\n\n\n", f"{HINTS}\n\n", 1), "4: no exercise is above these hints: move them below"),
        (SOURCE + HINTS + HINTS, "21: no exercise is above these hints: move them below"),
        (SOURCE + HINTS.replace("hints", "hint"),
         "14: the tag 'hint' is unknown, so the cell stays in the stub. Did you mean"),
    ],
)  # fmt: skip
def test_malformed_hints_are_refused_with_their_line(source: str, problem: str, tmp_path: Path) -> None:
    with pytest.raises(BuildError, match=rf"^solutions/arithmetic\.py:{re.escape(problem)}"):
        build(loaded(tmp_path, source))
