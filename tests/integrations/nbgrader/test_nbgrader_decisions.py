"""After `nbgrader autograde`, nbgrader's gradebook has the points of reports, whatever an instructor has decided."""

from __future__ import annotations

import courses
import pytest
from graded_class import ADJUSTMENTS, ROSTER, STUDENTS, GradedTerm
from terms import Term

pytestmark = pytest.mark.proof(part="nbgrader")

# Of 18 points, less 10 % is 16.2. gus: 18 - 1.8 + 2.1 - 0.3. mia: 18.7. jdoe loses four points.
POINTS = {"ada": 18, "bob": 16, "cyd": 16, "dan": 14, "eve": 16, "fay": 9, "gus": 18, "jdoe": 14, "mia": 18}


def nbgraders(name: str) -> str:
    """What nbgrader calls a student."""
    return "Jane Doe" if name == "jdoe" else name


def test_reports_have_the_points_that_the_rules_give(graded_term: GradedTerm) -> None:
    assert {name: graded_term.reports[name]["points"] for name in POINTS} == POINTS


def test_autograde_gives_the_points_of_reports_and_everybody_a_row(own_term: Term) -> None:
    table = own_term.table()
    assert {name: float(table[nbgraders(name)]["score"]) for name in POINTS} == POINTS
    assert sorted(table) == sorted([*STUDENTS, "ida"])
    assert (float(table["ida"]["score"]), table["ida"]["timestamp"]) == (0, "")
    assert (table["ada"]["last_name"], table["ada"]["first_name"], table["dan"]["last_name"]) == ("Doe", "Ada", "'=1+1")
    assert table["bob"]["late_submission_penalty"] == "2.0"
    # nbgrader has no exemption.
    assert float(table["hal"]["score"]) == 18


def test_a_quiz_counts_by_the_students_own_due_date(term: Term) -> None:
    with term.gradebook() as gradebook:
        for student, is_open in {"leo": True, "eve": False}.items():
            [notebook] = gradebook.find_submission("sums", student).notebooks
            scores = [grade.auto_score for grade in notebook.grades if grade.name.startswith("test_quiz_")]
            assert {score is None for score in scores} == {is_open}
    assert "The quiz of sums does not count yet for those with an extension: leo, max." in term.log


# -- what an instructor changes -----------------------------------------------------------------------------------


def autograded(term: Term, *students: str) -> dict[str, float]:
    """The scores of students after another run of autograde."""
    term.nbgrader(*(f"autograde sums --force --student={one}" for one in students))
    table = term.table()
    return {student: float(table[student]["score"]) for student in students}


def comments_on_gus(term: Term) -> dict[str, str]:
    """The comments on the cells of one student."""
    with term.gradebook() as gradebook:
        [notebook] = gradebook.find_submission("sums", "gus").notebooks
        return {comment.name: comment.comment for comment in notebook.comments if comment.comment}


def test_students_read_why_their_points_were_adjusted_until_the_tables_decide_otherwise(own_term: Term) -> None:
    comments = {
        "add": "Adjusted by Ms Roe: +2.1 points. The network was down.",
        "Scale": "Adjusted by Ms Roe: -0.3 points. Shown by a friend.",
    }
    assert comments_on_gus(own_term) == comments
    own_term.nbgrader("generate_feedback sums --student=gus")
    page = (own_term.folder / "feedback" / "gus" / "sums" / "sums.html").read_text(encoding="utf-8")
    assert [text for text in comments.values() if text not in page] == []
    (own_term.folder / "roster.csv").write_text(ROSTER.replace("2025-05-05T23:59:00+02:00", ""), encoding="utf-8")
    (own_term.folder / "adjustments.csv").write_text(ADJUSTMENTS.splitlines()[0], encoding="utf-8")
    assert autograded(own_term, "eve", "gus") == {"eve": 9, "gus": 16}
    assert comments_on_gus(own_term) == {}


def test_without_tables_extensions_and_extra_credit_are_those_in_the_gradebook(own_term: Term) -> None:
    for name in ("roster.csv", "adjustments.csv"):
        (own_term.folder / name).unlink()
    with own_term.gradebook() as gradebook:
        gradebook.grant_extension("sums", "bob", days=2)
        gradebook.db.commit()
    assert autograded(own_term, "bob", "gus") == {"bob": 18, "gus": 18}


def test_a_score_that_somebody_entered_stays_and_the_penalty_follows_it(own_term: Term) -> None:
    own_term.enter("bob", {"test_add": 3.5})
    # 17.5 less a tenth, rounded down.
    assert autograded(own_term, "bob") == {"bob": 15}


def test_where_the_best_hand_in_should_count_autograde_says_that_the_last_one_does(own_term: Term) -> None:
    courses.replace(own_term.root / "autograder.yml", "most_percent: 50\n", "most_percent: 50\n  counts: best\n")
    assert "nbgrader keeps only the last submission" in own_term.nbgrader("autograde sums")


def test_a_student_whose_name_has_a_space_can_be_graded_alone(own_term: Term) -> None:
    before = own_term.scores("Emil Ångström")
    student = '--student "Emil Ångström" --force'
    own_term.nbgrader(f"autograde sums {student}", f"generate_feedback sums {student}")
    assert own_term.scores("Emil Ångström") == before
    assert [path.name for path in (own_term.folder / "feedback").iterdir()] == ["Emil Ångström"]
