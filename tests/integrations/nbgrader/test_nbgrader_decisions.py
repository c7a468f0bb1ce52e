"""After `nbgrader autograde`, nbgrader's gradebook has the points of reports.

A class hands in around the change to summer time, with extensions, adjustments and exemptions.
"""

from __future__ import annotations

import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import courses
import pytest
from nbgrader.api import Gradebook
from terms import COURSE_ID, exported, hand_in_solved, make_small_term, run_each

pytestmark = pytest.mark.proof(part="nbgrader")

# The night that follows has 23 hours: clocks go forward at 02:00.
DUE = "2025-03-29T23:59:00+01:00"
RULES = "late:\n  grace_minutes: 10\n  percent_per_day: 10\n  most_percent: 50\n"
WRONG = {"add": "def add(a, b):\n    return a - b\n"}
ROSTER = """\
student,name,email,folder,sums
ada,"Doe, Ada",ada@x.org,,
bob,Bob Roe,bob@x.org,,
cyd,Cyd Ny,cyd@x.org,,
dan,=1+1,dan@x.org,,
eve,Eve Li,eve@x.org,,2025-05-05T23:59:00+02:00
fay,Fay Wu,fay@x.org,,2025-05-05T23:59:00+02:00
gus,Gus Xu,gus@x.org,,
hal,Hal Yi,hal@x.org,,exempt
ida,Ida Ko,ida@x.org,,
jdoe,Jane Doe,jane@x.org,Jane Doe,
leo,Leo Ho,leo@x.org,,2100-01-01T00:00:00+00:00
mia,Mia Ek,mia@x.org,,
"""
ADJUSTMENTS = """\
student,unit,exercise,points,comment,by
gus,sums,,2.1,The network was down.,Ms Roe
gus,sums,Scale,-0.3,Shown by a friend.,Ms Roe
mia,sums,add,0.7,A good question.,Ms Roe
"""
# When each student handed in, of 18 points: 23 hours late, half an hour later, a full day and a second late, and so on.
HANDED_IN = {
    "ada": "2025-03-29 23:09:00 +0000",  # in the grace period
    "bob": "2025-03-30 21:59:00.700000 UTC",
    "cyd": "2025-03-31 00:29:00 Europe/Berlin",
    "dan": "2025-03-30 22:59:01 UTC",
    "eve": "2025-05-06 12:00:00 UTC",  # without the extension, half of the points
    "fay": "2025-09-01 12:00:00 UTC",
    "gus": "2025-03-30 21:59:00 UTC",
    "hal": "2025-03-29 12:00:00 UTC",
    "Jane Doe": "2025-03-29 12:00:00 UTC",
    "leo": "2025-09-01 12:00:00 UTC",
    "mia": "2025-03-29 12:00:00 UTC",
}
MISTAKES = {"Jane Doe": WRONG}
# 18 less 10 % is 16.2. gus: 18 - 1.8 + 2.1 - 0.3. mia: 18.7. jdoe loses four points.
POINTS = {"ada": 18, "bob": 16, "cyd": 16, "dan": 14, "eve": 16, "fay": 9, "gus": 18, "jdoe": 14, "mia": 18}


@dataclass
class Term:
    """A course, and nbgrader's folder in it: as it is after autograde, with reports on the same submissions."""

    root: Path
    log: str

    @property
    def folder(self) -> Path:
        return self.root / "term"

    def nbgrader(self, *arguments: str, folder: str = "term") -> tuple[str, int]:
        [ended] = run_each(self.root, [(self.root / folder, self.root, arguments)], self.root)
        return ended

    def grader(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        command = [*courses.grader_command(*arguments), "--course", str(self.root)]
        environment = courses.environment(self.root)
        return subprocess.run(command, cwd=self.folder, env=environment, capture_output=True, text=True, check=False)

    def table(self) -> dict[str, dict[str, str]]:
        """What `nbgrader export` writes."""
        log, code = self.nbgrader("export", "--to=table.csv")
        assert code == 0, log
        return exported(self.folder / "table.csv")

    def reports(self) -> dict[str, Any]:
        return courses.read_reports(self.folder / "reports")


def make_term(root: Path) -> Term:
    """The course, released and generated, with the class's submissions and tables."""
    folder = make_small_term(root, DUE, RULES)
    term = Term(root, "")
    log, code = term.nbgrader("generate_assignment", "sums")
    assert code == 0, log
    for student, time in HANDED_IN.items():
        submission = hand_in_solved(folder, student, MISTAKES.get(student, {}))
        (submission / "timestamp.txt").write_text(time, encoding="utf-8")
    (folder / "roster.csv").write_text(ROSTER, encoding="utf-8")
    (folder / "adjustments.csv").write_text(ADJUSTMENTS, encoding="utf-8")
    return term


@pytest.fixture(scope="module")
def term(tmp_path_factory: pytest.TempPathFactory) -> Term:
    term = make_term(tmp_path_factory.mktemp("course"))
    term.log, code = term.nbgrader("autograde", "sums")
    assert code == 0, term.log
    done = term.grader("grade", "submitted", "--out", "reports", "--roster", "roster.csv")
    assert done.returncode == 0, done.stderr
    return term


def expected(name: str) -> str:
    """What nbgrader calls a student."""
    return "Jane Doe" if name == "jdoe" else name


def test_reports_have_the_points_that_the_rules_give(term: Term) -> None:
    reports = term.reports()
    assert {name: reports[name]["points"] for name in POINTS} == POINTS
    assert reports["leo"]["units"]["sums"]["quiz"]["points"] is None


def test_autograde_gives_the_points_of_reports_and_everybody_a_row(term: Term) -> None:
    table = term.table()
    assert {name: float(table[expected(name)]["score"]) for name in POINTS} == POINTS
    assert sorted(table) == sorted([*HANDED_IN, "ida"])
    assert (float(table["ida"]["score"]), table["ida"]["timestamp"]) == (0, "")
    assert (table["ada"]["last_name"], table["ada"]["first_name"], table["dan"]["last_name"]) == ("Doe", "Ada", "'=1+1")
    assert table["bob"]["late_submission_penalty"] == "2.0"
    # nbgrader has no exemption.
    assert float(table["hal"]["score"]) == 18


def test_a_quiz_counts_by_the_students_own_due_date(term: Term) -> None:
    with Gradebook(f"sqlite:///{term.folder}/gradebook.db", COURSE_ID) as gradebook:
        for student, is_open in {"leo": True, "eve": False}.items():
            [notebook] = gradebook.find_submission("sums", student).notebooks
            scores = [grade.auto_score for grade in notebook.grades if grade.name.startswith("test_quiz_")]
            assert {score is None for score in scores} == {is_open}
            assert not notebook.needs_manual_grade
    assert "The quiz of sums does not count yet for those with an extension: leo." in term.log


# -- what an instructor changes -----------------------------------------------------------------------------------


@pytest.fixture
def own_term(term: Term, tmp_path: Path) -> Term:
    """A copy for a test that changes it."""
    return Term(Path(shutil.copytree(term.root, tmp_path / "course")), term.log)


def autograded(term: Term, *students: str) -> dict[str, float]:
    """The scores of students after another run of autograde."""
    commands = [(term.folder, term.root, ["autograde", "sums", "--force", f"--student={one}"]) for one in students]
    for log, code in run_each(term.root, commands, term.root):
        assert code == 0, log
    table = term.table()
    return {student: float(table[student]["score"]) for student in students}


def test_the_tables_decide_on_extensions_and_extra_credit(own_term: Term) -> None:
    (own_term.folder / "roster.csv").write_text(ROSTER.replace("2025-05-05T23:59:00+02:00", ""), encoding="utf-8")
    (own_term.folder / "adjustments.csv").write_text(ADJUSTMENTS.splitlines()[0], encoding="utf-8")
    assert autograded(own_term, "eve", "gus") == {"eve": 9, "gus": 16}
    assert comments_on_gus(own_term.folder / "gradebook.db") == {}


def test_students_read_why_their_points_were_adjusted(own_term: Term) -> None:
    comments = {
        "add": "Adjusted by Ms Roe: +2.1 points. The network was down.",
        "Scale": "Adjusted by Ms Roe: -0.3 points. Shown by a friend.",
    }
    assert comments_on_gus(own_term.folder / "gradebook.db") == comments
    log, code = own_term.nbgrader("generate_feedback", "sums", "--student=gus")
    assert code == 0, log
    page = (own_term.folder / "feedback" / "gus" / "sums" / "sums.html").read_text(encoding="utf-8")
    assert [text for text in comments.values() if text not in page] == []


def comments_on_gus(database: Path) -> dict[str, str]:
    """The comments on the cells of one student."""
    with Gradebook(f"sqlite:///{database}", COURSE_ID) as gradebook:
        [notebook] = gradebook.find_submission("sums", "gus").notebooks
        return {comment.name: comment.comment for comment in notebook.comments if comment.comment}


def test_without_tables_extensions_and_extra_credit_are_those_in_the_gradebook(own_term: Term) -> None:
    for name in ("roster.csv", "adjustments.csv"):
        (own_term.folder / name).unlink()
    with Gradebook(f"sqlite:///{own_term.folder}/gradebook.db", COURSE_ID) as gradebook:
        gradebook.grant_extension("sums", "bob", days=2)
        gradebook.db.commit()
    assert autograded(own_term, "bob", "gus") == {"bob": 18, "gus": 18}


def test_a_score_that_somebody_entered_stays_and_the_penalty_follows_it(own_term: Term) -> None:
    with Gradebook(f"sqlite:///{own_term.folder}/gradebook.db", COURSE_ID) as gradebook:
        gradebook.find_grade("test_add", "sums", "sums", "bob").manual_score = 3.5
        gradebook.db.commit()
    # 17.5 less a tenth, rounded down.
    assert autograded(own_term, "bob") == {"bob": 15}


def test_where_the_best_hand_in_should_count_autograde_says_that_the_last_one_does(own_term: Term) -> None:
    settings = own_term.root / "autograder.yml"
    settings.write_text(settings.read_text().replace("most_percent: 50\n", "most_percent: 50\n  counts: best\n"))
    log, code = own_term.nbgrader("autograde", "sums")
    assert (code, "nbgrader keeps only the last submission" in log) == (0, True), log


def test_a_wrong_roster_stops_autograde_at_once(own_term: Term) -> None:
    (own_term.folder / "roster.csv").write_text(ROSTER.replace("2100-01-01T00:00:00+00:00", "soon"), encoding="utf-8")
    before = (own_term.folder / "gradebook.db").read_bytes()
    log, code = own_term.nbgrader("autograde", "sums", "--force")
    assert code == 1
    assert "Nothing was graded. " in log
    assert "roster.csv, line 12, sums: 'soon' is no extension" in log
    assert (own_term.folder / "gradebook.db").read_bytes() == before
