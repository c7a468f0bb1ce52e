"""`nbgrader autograde` gives each cell the points that `grader grade` gives, and says why."""

from __future__ import annotations

import json
import re
import shutil
import sys
from typing import NamedTuple

import courses
import pytest
from graded_class import STUDENTS, GradedTerm
from handed_in import is_test, read_notebook, text_of, write_notebook
from nbformat import from_dict
from nbgrader.utils import determine_grade
from notebooks import code
from terms import Term

pytestmark = pytest.mark.proof(part="nbgrader")

AUTOGRADE = "autograde sums --student bela --force"


class Marks(NamedTuple):
    """What nbgrader's Manual Grading says of a submission."""

    needs_manual_grade: bool
    failed_tests: bool


def marks_of(term: Term, student: str) -> Marks:
    with term.gradebook() as gradebook:
        notebook = gradebook.find_submission_notebook("sums", "sums", student)
        return Marks(notebook.needs_manual_grade, notebook.failed_tests)


def test_the_gradebook_has_the_points_of_reports_for_each_cell(graded_term: GradedTerm) -> None:
    term = graded_term.term
    for student in STUDENTS:
        with term.gradebook() as gradebook:
            grades = gradebook.find_submission_notebook("sums", "sums", student).grades
            assert {grade.name: grade.auto_score for grade in grades} == graded_term.points(student), student
    for student, points in {"bela": (0, 1, 12), "Emil Ångström": (4, 0, 12), "mallory": (4, 0, 13)}.items():
        add, scale, *quiz = graded_term.points(student).values()
        assert (add, scale, sum(one or 0 for one in quiz)) == points, student


def test_each_test_cell_has_the_feedback_and_then_the_number(graded_term: GradedTerm) -> None:
    for student in STUDENTS:
        points = graded_term.points(student)
        for cell in filter(is_test, graded_term.term.autograded(student)):
            earned = points[cell["metadata"]["nbgrader"]["grade_id"]] or 0
            feedback, result = cell["outputs"]
            assert (feedback["output_type"], result["output_type"]) == ("display_data", "execute_result")
            assert feedback["data"].keys() == {"text/html", "text/plain"}
            assert "".join(result["data"]["text/plain"]) == f"{earned}"
            assert determine_grade(from_dict(cell))[0] == earned


def test_until_the_due_date_only_exercises_fail_and_nothing_waits_to_be_graded_by_hand(term: Term) -> None:
    expected = {"leo": False, "max": True, "ada": False, "Emil Ångström": True}
    assert {name: marks_of(term, name) for name in expected} == {
        name: Marks(False, is_failing) for name, is_failing in expected.items()
    }


def test_no_hidden_test_is_in_the_graded_notebooks(term: Term) -> None:
    release = [text_of(cell) for cell in term.autograded(".", among="release") if is_test(cell)]
    for student in STUDENTS:
        assert sorted(text_of(cell) for cell in term.autograded(student) if is_test(cell)) == sorted(release)
    assert not any("HIDDEN" in text or "assert" in text for text in release)


def test_the_misconception_the_failed_tests_and_the_output_are_shown(term: Term) -> None:
    assert "Adding is not taking away." in term.text("bela", "test_add")
    assert "known as criterion bandicoot" in term.text("bela", "test_add")
    assert "not valid Python" in term.text("Emil Ångström", "test_Scale")
    assert "Addition is commutative" not in term.text("bela", "test_quiz_is_larger")
    assert "So it is where all the terms are positive." in term.text("bela", "test_quiz_is_larger")
    assert '"output_type": "execute_result"' in term.text("mallory", "test_add")


def test_output_of_a_student_is_not_markup(term: Term) -> None:
    assert "&lt;/pre&gt;&lt;script&gt;" in "".join(term.outputs("mallory", "test_add")[0]["data"]["text/html"])
    for cell in term.autograded("mallory"):
        assert all("<script" not in "".join(output["data"]["text/html"]) for output in cell.get("outputs", [])[:1])


def test_remarks_on_the_whole_notebook_are_at_its_top(term: Term) -> None:
    tops = {student: term.autograded(student)[0] for student in ("ada", "Emil Ångström", "mallory")}
    assert "at the top" in "".join(tops["mallory"]["outputs"][0]["data"]["text/plain"])
    assert tops["mallory"]["metadata"] == {}
    assert "not valid Python" in "".join(tops["Emil Ångström"]["outputs"][0]["data"]["text/plain"])
    assert not tops["ada"].get("outputs")


def test_the_log_warns_neither_of_cells_that_nobody_changed_nor_of_nbgraders_dependencies(term: Term) -> None:
    assert "has changed" not in term.log
    assert "Warning: " not in term.log


# -- problems that the instructor must fix ------------------------------------------------------------------------


def test_problems_of_the_course_stop_the_run_and_change_no_grade(own_term: Term) -> None:
    settings, quiz = own_term.root / "autograder.yml", own_term.root / "solutions" / "sums_quiz.yml"
    roster = own_term.folder / "roster.csv"
    head, first, second, rest = re.split(r"(?m)^(?=  (?:order_of_terms|even_sums|is_larger):)", quiz.read_text())
    weights, is_extended = settings.read_text(), roster.read_text()
    before = (own_term.folder / "gradebook.db").read_bytes()
    for path, text, message in (
        (
            settings,
            weights.replace("add: 2", "add: 3"),
            "sums.ipynb does not have the points of the course (test_add 4 instead of 6): run `grad",
        ),
        (settings, weights.replace("add: 2", "add: one"), "autograder.yml:24:12: "),
        (quiz, head + second + first + rest, "sums.ipynb asks its quiz in another order than the course: run `grader"),
        (roster, is_extended.replace("2100-", "soon", 1), "roster.csv, line 12, sums: 'soon"),
        (own_term.suite, "raise RuntimeError('spoilt')", "RuntimeError: spoilt"),
    ):
        kept = path.read_text()
        path.write_text(text)
        log = "".join(log for log, code in own_term.commands(AUTOGRADE) if code == 1)
        path.write_text(kept)
        assert "Nothing was graded. " in log
        assert message in log
        assert "Traceback" not in log or path == own_term.suite
        assert (own_term.folder / "gradebook.db").read_bytes() == before
    assert (own_term.folder / "autograded" / "bela" / "sums" / "sums.ipynb").exists()


def test_a_unit_in_an_assignment_of_another_name_is_not_graded(own_term: Term) -> None:
    for step in ("source", "submitted/bela"):
        shutil.copytree(own_term.source.parent, own_term.folder / step / "week_1")
    _, (log, code) = own_term.commands("generate_assignment week_1", "autograde week_1")
    assert code == 1
    assert "week_1/sums.ipynb: an assignment is called like the unit in it, sums." in log


def test_an_assignment_of_the_instructors_own_is_graded_as_nbgrader_does(own_term: Term) -> None:
    marks = {"schema_version": 3, "grade_id": "party", "grade": True, "locked": True, "solution": False, "points": 5}
    for step in ("source", "submitted/bela"):
        notebook = {**read_notebook(own_term.source), "cells": [code("1 + 1", nbgrader=marks)]}
        write_notebook(own_term.folder / step / "party" / "party.ipynb", notebook)
    own_term.nbgrader("generate_assignment party", "autograde party")
    assert own_term.scores("bela", "party") == {"party": 2}


def test_a_score_that_somebody_entered_before_the_due_date_stays_and_is_to_be_checked(own_term: Term) -> None:
    before = own_term.scores("bela")
    courses.set_due(own_term.root, courses.LONG_TO_COME)
    own_term.enter("bela", {"test_quiz_is_larger": 1})
    # A setting that disables nbgrader's Execute does not disable grading.
    log = own_term.nbgrader(f"{AUTOGRADE} --no-execute")
    assert log.count("2100-01-01 00:00+00:00") == log.count("nbgrader autograde sums --force") == 1
    quiz = {name: int(name == "test_quiz_is_larger") for name in before if "quiz" in name}
    assert own_term.scores("bela") == {**before, **quiz}
    assert marks_of(own_term, "bela").needs_manual_grade


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere nothing locks student code in")
def test_without_isolation_nobody_is_graded_unless_allowed(own_term: Term) -> None:
    before = own_term.scores("bela")
    allowed = f"{AUTOGRADE} --SubmissionExporter.allow_unisolated=True"
    refused, graded = own_term.commands(AUTOGRADE, allowed, prefix=courses.WHERE_NOTHING_ISOLATES)
    assert (refused[1], graded[1]) == (1, 0)
    assert "Student code cannot be isolated here, so nothing was graded. seccomp: " in refused[0]
    assert "c.SubmissionExporter.allow_unisolated = True in nbgrader_config.py" in refused[0]
    assert own_term.scores("bela") == before
    assert "not isolated" in json.dumps(own_term.autograded("bela")[0]["outputs"])
