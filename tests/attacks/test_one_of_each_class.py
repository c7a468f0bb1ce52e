"""One attack of each class in docs/attacks.md, in a batch with an honest student before and after it.

`test_attacks.py` tries all of them, alone and in a batch, as root and as an ordinary user.
"""

from __future__ import annotations

import datetime

import pytest
from courses import COURSE, REPOSITORY
from folders import HONEST_PART, HONEST_SHEET, SHEET, UNIT
from test_attacks import ATTACKS, all_texts, lasting, met, write_scripts

from grader.engine.grading import Graded, Grading
from grader.quizzes.quiz_source import load_quizzes
from grader.reports.report_model import Report
from grader.submissions.reader import read_submission
from grader.submissions.submission import Submission

# By the headings of docs/attacks.md.
CLASSES = {
    "Look right without being right": "patched_comparisons",
    "Forge a grade": "forges_replies",
    "Find what is hidden": "reads_hidden_files",
    "Use up the machine": "starts_processes",
    "Leave the process": "system_calls",
    "Attack with the files handed in": "symbolic_link_to_the_solution",
    "Attack with a quiz sheet": "sheet_linked_to_the_answers",
    "Attack with a git repository": "repository_whose_settings_run_programs",
}
HONEST = "honest"


@pytest.fixture(scope="module")
def reports(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Report]:
    """The report of each attack by its class, and those of the honest students before and after it."""
    base = tmp_path_factory.mktemp("attacked")
    (base / "course").symlink_to(REPOSITORY)
    for name in (HONEST, *CLASSES.values()):
        folder = base / "class" / name
        folder.mkdir(parents=True)
        (folder / SHEET).write_text(HONEST_SHEET, encoding="utf-8")
    write_scripts({UNIT: HONEST_PART}, base / "class" / HONEST, base)
    for name in CLASSES.values():
        ATTACKS[name].fill(base / "class" / name, base)
    course = COURSE
    quizzes = load_quizzes(REPOSITORY / "solutions", [UNIT])
    now = course.units[UNIT].due - datetime.timedelta(days=1)

    def submission(folder: str, student: str) -> Submission:
        return read_submission(
            student, base / "class" / folder, [UNIT], REPOSITORY / "exercises", course.units, quizzes
        )

    batch = [submission(HONEST, "first")]
    for heading, name in CLASSES.items():
        batch += [submission(name, heading), submission(HONEST, f"after: {heading}")]
    found = {}
    with Grading(course, quizzes) as grading:
        for one, graded in grading.reports(batch, 2, now):
            assert isinstance(graded, Graded), graded
            found[one.student] = graded.report
    return found


@pytest.mark.parametrize("heading", CLASSES)
def test_it_earns_no_more_than_its_honest_part(reports: dict[str, Report], heading: str) -> None:
    attack = ATTACKS[CLASSES[heading]]
    honest = met(reports["first"].units[UNIT])
    assert met(reports[heading].units[UNIT]) == (honest if attack.earns else {name: [] for name in honest})


@pytest.mark.parametrize("heading", CLASSES)
def test_the_report_of_its_neighbour_does_not_change(reports: dict[str, Report], heading: str) -> None:
    assert lasting(reports[f"after: {heading}"]) == lasting(reports["first"])


@pytest.mark.parametrize("heading", CLASSES)
def test_it_did_not_succeed_and_its_report_says_what_was_tried(reports: dict[str, Report], heading: str) -> None:
    attack, texts = ATTACKS[CLASSES[heading]], all_texts(reports[heading])
    assert not any("SUCCEEDED" in text for text in texts)
    assert any(attack.expected in text for text in texts)
    assert reports[heading].isolation.enough


def test_every_heading_of_the_attacks_page_has_an_attack() -> None:
    page = (REPOSITORY / "docs" / "attacks.md").read_text(encoding="utf-8")
    headings = [line.removeprefix("## ") for line in page.splitlines() if line.startswith("## ")]
    assert [heading for heading in headings if heading != "Failures of the machine"] == list(CLASSES)
