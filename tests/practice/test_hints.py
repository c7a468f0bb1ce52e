"""`grader hint`: the hints of an exercise, one at a time."""

from __future__ import annotations

import io
import shutil
from pathlib import Path

import pytest
from courses import COURSE
from rich.console import Console

from grader.course.guidance import read_hints
from grader.course.model import Course, load_course
from grader.errors import GraderError
from grader.practice.exercise_help import show_next_hint


@pytest.fixture(autouse=True)
def _own_state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


@pytest.fixture
def ada(tmp_path: Path) -> Path:
    """The folder of a student."""
    folder = tmp_path / "ada"
    folder.mkdir()
    return folder


def hint(folder: Path, exercise: str, course: Course = COURSE) -> str:
    printed = io.StringIO()
    show_next_hint(course, folder, exercise, Console(file=printed, width=80))
    return printed.getvalue()


def test_each_call_shows_the_next_hint_below_the_earlier_ones_and_after_the_last_the_other_help(ada: Path) -> None:
    first, second, third, fourth = (hint(ada, "context_vector") for _ in range(4))
    levels = [[title in text for title in ("The idea:", "The shapes:", "The call:")] for text in (first, second, third)]
    assert levels == [[True, False, False], [True, True, False], [True, True, True]]
    assert "For the next hint: grader hint context_vector" in second
    assert third == fourth
    sentences = " ".join(third.split())
    assert "This is the last hint. `grader show context_vector`" in sentences
    assert "`grader solution context_vector`" in sentences
    assert "ask your instructor" in sentences


def test_exercises_and_folders_are_remembered_separately(ada: Path, tmp_path: Path) -> None:
    hint(ada, "context_vector")
    assert "hint 1 of 3" in hint(ada, "softmax_naive")
    assert "hint 1 of 3" in hint(tmp_path, "context_vector")
    assert "hint 2 of 3" in hint(ada, "context_vector")


def test_damaged_memory_starts_anew(ada: Path, tmp_path: Path) -> None:
    hint(ada, "context_vector")
    [file] = (tmp_path / "state").rglob("state.json")
    file.write_text('{"hints": {"context_vector": "two"}}', encoding="utf-8")
    assert "hint 1 of 3" in hint(ada, "context_vector")


def test_a_unit_or_an_unknown_name_is_refused_with_the_names_to_use(ada: Path) -> None:
    with pytest.raises(GraderError, match=r"^simple_attention is a unit: name one of its exercises: dot_product, "):
        hint(ada, "simple_attention")
    with pytest.raises(GraderError, match="Did you mean 'softmax_naive'"):
        hint(ada, "softmax_naiv")


def test_a_course_without_hints_says_so(ada: Path, tmp_path: Path) -> None:
    root = tmp_path / "course"
    (root / "exercises" / "checks").mkdir(parents=True)
    shutil.copy(COURSE.root / "autograder.yml", root)
    for unit in COURSE.units:
        shutil.copy(COURSE.exercises / f"{unit}.py", root / "exercises")
    assert hint(ada, "dot_product", load_course(root)).startswith("dot_product has no hints.")


def test_every_exercise_of_the_course_has_three_hints_for_any_terminal() -> None:
    hints = read_hints(COURSE)
    assert {unit: list(of_unit) for unit, of_unit in hints.items()} == {
        name: list(unit.exercises) for name, unit in COURSE.units.items()
    }
    for of_unit in hints.values():
        for idea, shapes, call in of_unit.values():
            assert "`" not in idea  # no code yet
            assert any(letter.isdigit() for letter in shapes)
            assert "`" in call
            assert (idea + shapes + call).isascii()  # a terminal with any encoding can print it
