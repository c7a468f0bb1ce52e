"""`nbgrader autograde` gives each cell the points that `grader grade` gives, and says why.

A class of four is graded twice by nbgrader itself, before the due date of its only unit and after it.
"""

from __future__ import annotations

import json
import re
import shlex
import shutil
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import courses
import pytest
from handed_in import code_cell, grade_id, is_test, read_notebook, text_of, write_notebook
from nbformat import from_dict
from nbgrader.api import Gradebook
from nbgrader.utils import determine_grade
from terms import COURSE_ID, hand_in_solved, make_small_term, run_each, scores_of

pytestmark = pytest.mark.proof(part="nbgrader")

ADD_AND_TALK = """\
import json, sys

def add(a, b):
    print(json.dumps({"output_type": "execute_result", "data": {"text/plain": "4"}}))
    print("</pre><script>document.title = 100</script>")
    print("4", file=sys.stderr)
    return a + b
"""
SCALE_BY_MORE = """\
class Scale(nn.Module):
    def __init__(self, factor):
        super().__init__()
        self.factor = nn.Parameter(torch.tensor(float(factor)))

    def forward(self, x):
        return (self.factor + 1) * x
"""
MISTAKES = {
    "ada": {},
    "bob": {"add": "def add(a, b):\n    return a - b\n", "quiz_is_larger": "answer_3 = True"},
    "Emil Ångström": {"Scale": "class Scale(nn.Module:\n    pass\n", "quiz_is_larger": 'answer_3 = "no idea"'},
    "mallory": {"add": ADD_AND_TALK, "Scale": SCALE_BY_MORE, "imports": "import torch\nprint('at the top')\n"},
}
POINTS = {"ada": (4, 1), "bob": (0, 1), "Emil Ångström": (4, 0), "mallory": (4, 0)}
QUIZ_POINTS = {"ada": 13, "bob": 12, "Emil Ångström": 12, "mallory": 13}


class Marks(NamedTuple):
    """What nbgrader's Manual Grading says of a submission."""

    needs_manual_grade: bool
    failed_tests: bool


def marks_of(root: Path, student: str) -> Marks:
    with Gradebook(f"sqlite:///{root}/term/gradebook.db", COURSE_ID) as gradebook:
        notebook = gradebook.find_submission_notebook("sums", "sums", student)
        return Marks(notebook.needs_manual_grade, notebook.failed_tests)


@dataclass
class Term:
    """A course in nbgrader, and the grader's course behind it."""

    root: Path
    before: dict[str, dict[str, float]]
    marks: dict[str, Marks]
    log: str

    @property
    def folder(self) -> Path:
        return self.root / "term"

    def autograded(self, student: str) -> list[dict[str, Any]]:
        return read_notebook(self.folder / "autograded" / student / "sums" / "sums.ipynb")["cells"]

    def outputs(self, student: str, name: str) -> list[dict[str, Any]]:
        [cell] = [cell for cell in self.autograded(student) if grade_id(cell) == name]
        return cell["outputs"]

    def text(self, student: str, name: str) -> str:
        return "".join(self.outputs(student, name)[0]["data"]["text/plain"])


def nbgrader(root: Path, *commands: str, prefix: Sequence[str] = ()) -> list[tuple[str, int]]:
    """The output and exit code of each command of nbgrader in the term's folder."""
    return run_each(root, [(root / "term", root, shlex.split(command)) for command in commands], root, prefix)


@pytest.fixture(scope="module")
def term(tmp_path_factory: pytest.TempPathFactory) -> Term:
    root = tmp_path_factory.mktemp("course")
    folder = make_small_term(root)
    for student, mistakes in MISTAKES.items():
        hand_in_solved(folder, student, mistakes)
    generated, first = nbgrader(root, "generate_assignment sums", "autograde sums")
    assert (generated[1], first[1]) == (0, 0), f"{generated[0]}\n{first[0]}"
    before = {student: scores_of(root / "term", student, "sums") for student in MISTAKES}
    marks = {student: marks_of(root, student) for student in MISTAKES}
    courses.set_due(root, courses.LONG_PAST)
    settings = root / "autograder.yml"
    settings.write_text(settings.read_text().replace("after_due: points", "after_due: misconception"))
    [(log, code)] = nbgrader(root, "autograde sums --force")
    assert code == 0, log
    return Term(root, before, marks, first[0])


@pytest.mark.parametrize("student", MISTAKES)
def test_the_gradebook_has_the_points_of_each_cell(term: Term, student: str) -> None:
    scores = scores_of(term.folder, student, "sums")
    assert (scores["test_add"], scores["test_Scale"]) == POINTS[student]
    assert sum(points for name, points in scores.items() if "quiz" in name) == QUIZ_POINTS[student]


@pytest.mark.parametrize("student", MISTAKES)
def test_each_test_cell_has_the_feedback_and_then_the_number(term: Term, student: str) -> None:
    scores = scores_of(term.folder, student, "sums")
    for cell in filter(is_test, term.autograded(student)):
        feedback, result = cell["outputs"]
        assert (feedback["output_type"], result["output_type"]) == ("display_data", "execute_result")
        assert feedback["data"].keys() == {"text/html", "text/plain"}
        assert "".join(result["data"]["text/plain"]) == f"{scores[grade_id(cell)]:.0f}"
        assert determine_grade(from_dict(cell))[0] == scores[grade_id(cell)]


def test_until_the_due_date_the_quiz_has_no_points_and_the_log_says_once_what_to_do(term: Term) -> None:
    for student, scores in term.before.items():
        assert (scores["test_add"], scores["test_Scale"]) == POINTS[student]
        assert all(points == 0 for name, points in scores.items() if "quiz" in name)
    assert term.log.count("2100-01-01 00:00+00:00") == term.log.count("nbgrader autograde sums --force") == 1


def test_until_the_due_date_only_exercises_fail_and_nothing_waits_to_be_graded_by_hand(term: Term) -> None:
    failing = {student for student, points in POINTS.items() if points != (4, 1)}
    assert term.marks == {student: Marks(False, student in failing) for student in MISTAKES}
    assert marks_of(term.root, "Emil Ångström") == Marks(False, True)


def test_no_hidden_test_is_in_the_graded_notebooks(term: Term) -> None:
    [release, *autograded] = [
        {grade_id(cell): text_of(cell) for cell in cells if is_test(cell)}
        for cells in (
            read_notebook(term.folder / "release" / "sums" / "sums.ipynb")["cells"],
            *(term.autograded(student) for student in MISTAKES),
        )
    ]
    assert autograded == [release] * len(MISTAKES)
    assert not any("HIDDEN" in text or "assert" in text for text in release.values())


def test_the_misconception_the_failed_tests_and_the_output_are_shown(term: Term) -> None:
    assert "Adding is not taking away." in term.text("bob", "test_add")
    assert "known as criterion bandicoot" in term.text("bob", "test_add")
    assert "not valid Python" in term.text("Emil Ångström", "test_Scale")
    assert "Addition is commutative" not in term.text("bob", "test_quiz_is_larger")
    assert "So it is where all the terms are positive." in term.text("bob", "test_quiz_is_larger")
    assert '"output_type": "execute_result"' in term.text("mallory", "test_add")


def test_output_of_a_student_is_not_markup(term: Term) -> None:
    assert "&lt;/pre&gt;&lt;script&gt;" in "".join(term.outputs("mallory", "test_add")[0]["data"]["text/html"])
    for cell in term.autograded("mallory"):
        assert all("<script" not in "".join(output["data"]["text/html"]) for output in cell.get("outputs", [])[:1])


def test_remarks_on_the_whole_notebook_are_at_its_top(term: Term) -> None:
    tops = {student: term.autograded(student)[0] for student in MISTAKES}
    assert "at the top" in "".join(tops["mallory"]["outputs"][0]["data"]["text/plain"])
    assert tops["mallory"]["metadata"] == {}
    assert "not valid Python" in "".join(tops["Emil Ångström"]["outputs"][0]["data"]["text/plain"])
    assert not tops["ada"].get("outputs")


# -- problems that the instructor must fix ------------------------------------------------------------------------


@pytest.fixture
def own_term(term: Term, tmp_path: Path) -> Path:
    """The root of a copy for a test that changes it."""
    return Path(shutil.copytree(term.root, tmp_path / "course"))


AUTOGRADE = "autograde sums --student bob --force"


def test_a_course_that_changed_after_its_release_stops_the_run(own_term: Path) -> None:
    settings = own_term / "autograder.yml"
    kept = settings.read_text()
    before = scores_of(own_term / "term", "bob", "sums")
    for weight, message in {
        "3": "sums.ipynb does not have the points of the course (test_add 4 instead of 6): run `grad",
        "one": "autograder.yml:20:12: ",
    }.items():
        settings.write_text(kept.replace("add: 2", f"add: {weight}"))
        [(log, code)] = nbgrader(own_term, AUTOGRADE)
        assert code == 1
        assert f"Nothing was graded. {message}" in log
        assert "Traceback" not in log
    assert scores_of(own_term / "term", "bob", "sums") == before
    assert (own_term / "term" / "autograded" / "bob" / "sums" / "sums.ipynb").exists()


def test_a_quiz_that_was_released_in_another_order_is_not_graded(own_term: Path) -> None:
    quiz = own_term / "solutions" / "sums_quiz.yml"
    head, first, second = re.split(r"(?m)^(?=  order_of_terms:|  even_sums:)", quiz.read_text())
    second, rest = re.split(r"(?m)^(?=  is_larger:)", second)
    quiz.write_text(head + second + first + rest)
    [(log, code)] = nbgrader(own_term, AUTOGRADE)
    assert code == 1
    assert "sums.ipynb asks its quiz in another order than the course: run `grader release" in log


def test_a_unit_in_an_assignment_of_another_name_is_not_graded(own_term: Path) -> None:
    for step in ("source", "submitted/bob"):
        shutil.copytree(own_term / "term" / "source" / "sums", own_term / "term" / step / "week_1")
    _, (log, code) = nbgrader(own_term, "generate_assignment week_1", "autograde week_1")
    assert code == 1
    assert "week_1/sums.ipynb: an assignment is called like the unit in it, sums." in log


def test_an_assignment_of_the_instructors_own_is_graded_as_nbgrader_does(own_term: Path) -> None:
    marks = {"schema_version": 3, "grade_id": "party", "grade": True, "locked": True, "solution": False, "points": 5}
    cells = [{**code_cell("1 + 1"), "metadata": {"nbgrader": marks}}]
    release = read_notebook(own_term / "term" / "release" / "sums" / "sums.ipynb")
    for step in ("source", "submitted/bob"):
        write_notebook(own_term / "term" / step / "party" / "party.ipynb", {**release, "cells": cells})
    _, (log, code) = nbgrader(own_term, "generate_assignment party", "autograde party")
    assert code == 0, log
    assert scores_of(own_term / "term", "bob", "party") == {"party": 2}


def test_disabling_nbgraders_execute_does_not_disable_grading(own_term: Path) -> None:
    before = scores_of(own_term / "term", "bob", "sums")
    [(log, code)] = nbgrader(own_term, f"{AUTOGRADE} --no-execute")
    assert code == 0, log
    assert scores_of(own_term / "term", "bob", "sums") == before


def test_a_folder_without_a_notebook_is_graded_too(own_term: Path) -> None:
    submitted = own_term / "term" / "submitted"
    for student in ("empty", "script"):
        (submitted / student / "sums").mkdir(parents=True)
    (submitted / "script" / "sums" / "sums.py").write_text("def add(a, b):\n    return a + b\n", encoding="utf-8")
    [(log, code)] = nbgrader(own_term, "autograde sums")
    assert code == 0, log
    scores = {student: scores_of(own_term / "term", student, "sums") for student in ("empty", "script")}
    assert set(scores["empty"].values()) == {0}
    assert (scores["script"]["test_add"], scores["script"]["test_Scale"]) == (4, 0)
    assert "is missing" in (own_term / "term" / "autograded" / "empty" / "sums" / "sums.ipynb").read_text()


def test_a_score_that_somebody_entered_before_the_due_date_stays_and_is_to_be_checked(own_term: Path) -> None:
    courses.set_due(own_term, courses.LONG_TO_COME)
    with Gradebook(f"sqlite:///{own_term}/term/gradebook.db", COURSE_ID) as gradebook:
        gradebook.find_grade("test_quiz_is_larger", "sums", "sums", "bob").manual_score = 1
        gradebook.db.commit()
    [(log, code)] = nbgrader(own_term, AUTOGRADE)
    assert code == 0, log
    assert scores_of(own_term / "term", "bob", "sums")["test_quiz_is_larger"] == 1
    assert marks_of(own_term, "bob").needs_manual_grade


def test_a_student_whose_name_has_a_space_can_be_graded_alone(own_term: Path) -> None:
    before = scores_of(own_term / "term", "Emil Ångström", "sums")
    student = '--student "Emil Ångström" --force'
    graded, paged, exported = nbgrader(
        own_term, f"autograde sums {student}", f"generate_feedback sums {student}", "export"
    )
    assert (graded[1], paged[1], exported[1]) == (0, 0, 0), graded[0] + paged[0]
    assert scores_of(own_term / "term", "Emil Ångström", "sums") == before
    assert [path.name for path in (own_term / "term" / "feedback").iterdir()] == ["Emil Ångström"]
    assert ",Emil Ångström," in (own_term / "term" / "grades.csv").read_text(encoding="utf-8")


def test_the_log_has_no_warning_of_cells_that_nobody_changed(term: Term) -> None:
    assert "has changed" not in term.log


def test_the_log_has_no_warning_of_nbgraders_dependencies(term: Term) -> None:
    assert "Warning: " not in term.log


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere nothing locks student code in")
def test_without_isolation_nobody_is_graded_unless_allowed(own_term: Path) -> None:
    before = scores_of(own_term / "term", "bob", "sums")
    allowed = f"{AUTOGRADE} --SubmissionExporter.allow_unisolated=True"
    refused, graded = nbgrader(own_term, AUTOGRADE, allowed, prefix=courses.WHERE_NOTHING_ISOLATES)
    assert (refused[1], graded[1]) == (1, 0)
    assert "Student code cannot be isolated here, so nothing was graded. seccomp: " in refused[0]
    assert "c.SubmissionExporter.allow_unisolated = True in nbgrader_config.py" in refused[0]
    assert scores_of(own_term / "term", "bob", "sums") == before
    top = read_notebook(own_term / "term" / "autograded" / "bob" / "sums" / "sums.ipynb")["cells"][0]
    assert "not isolated" in json.dumps(top["outputs"])


def test_a_fault_of_the_engine_is_reported_and_changes_no_grade(own_term: Path) -> None:
    suite = own_term / "grader" / "suites" / "sums" / "test_sums.py"
    suite.write_text(suite.read_text().replace("import pytest", "import pytest\nraise RuntimeError('spoilt')", 1))
    before = scores_of(own_term / "term", "bob", "sums")
    [(log, code)] = nbgrader(own_term, AUTOGRADE)
    assert code == 1
    assert "RuntimeError: spoilt" in log
    assert scores_of(own_term / "term", "bob", "sums") == before
