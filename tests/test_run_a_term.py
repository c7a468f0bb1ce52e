"""docs/run-a-term.md is true: a class goes through a unit with its commands, from the installation to the grades."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import NamedTuple
from zipfile import ZipFile

import pytest
import yaml
from courses import REPOSITORY, read_reports
from local_github import local_github
from pages import Block, blocks_of, make_course, run

PAGE = (REPOSITORY / "docs" / "run-a-term.md").read_text(encoding="utf-8")
BLOCKS = blocks_of(PAGE)
NBGRADER = (REPOSITORY / "docs" / "nbgrader.md").read_text(encoding="utf-8")
UNIT = "simple_attention"
# The tests have an environment, and run the benchmark on a small class. The other programs are not ours.
NOT_RUN = (
    "make .venv/installed",
    ". .venv/bin/activate",
    ".venv/bin/python benchmarks/",
    "dolos ",
    "java ",
    "nbgrader ",
)
# These ask in a terminal.
ANSWERS = {"grader regrade ": " --write", "grader forget ": " --yes"}
NAMES = {"ada": ("Ada Doe", 4711), "bela": ("Béla Kis", 4712), "chen": ("Chen Li", 4713), "emil": ("Emil Roe", 4715)}
WORKSHEET = """\
Identifier,Full name,Email address,Status,Grade,Maximum grade,Last modified (submission),Last modified (grade)
Participant 4711,Ada Doe,ada@example.org,Submitted for grading,,63,"Tuesday, 25 January 2000, 10:00 PM",-
Participant 4712,Béla Kis,bela@example.org,Submitted for grading,,63,"Friday, 28 January 2000, 10:00 PM",-
Participant 4713,Chen Li,chen@example.org,Submitted for grading,,63,"Tuesday, 25 January 2000, 10:00 PM",-
Participant 4715,Emil Roe,emil@example.org,Submitted for grading,,63,"Friday, 28 January 2000, 10:00 PM",-
"""


class Term(NamedTuple):
    """The course after the term, what each command printed, and the folder before a student was removed."""

    root: Path
    printed: dict[str, str]
    grades: str
    feedback: dict[str, str]

    def points(self) -> dict[str, int]:
        return {name: report["points"] for name, report in read_reports(self.root / f"term/reports/{UNIT}").items()}


def block(heading: str, language: str) -> Block:
    [found] = [one for one in BLOCKS if (one.heading, one.language) == (heading, language)]
    return found


def write(root: Path, block: Block) -> None:
    """Write a file of the page. Its dates are in the year of the course's."""
    file, text = root / block.file, block.text.replace("2027-", "2000-")
    if block.file == "autograder.yml":  # a part of the file, which has all of it but the first line
        settings = file.read_text(encoding="utf-8")
        assert yaml.safe_load(settings)["late"] == yaml.safe_load(text)["late"]
        text = settings.replace("\nlate:\n", f"\n{text.partition('late:')[0]}late:\n")
    file.write_text(text, encoding="utf-8")


def download(root: Path, example_class: Path) -> None:
    """What Moodle gives of the unit: a folder for each student, and the grading worksheet."""
    with ZipFile(root / "term" / f"{UNIT}.zip", "w") as archive:
        for student, (name, number) in NAMES.items():
            for path in sorted((example_class / student).rglob(f"{UNIT}*")):
                archive.write(path, f"{name}_{number}_assignsubmission_file_/{path.name}")
    (root / "term" / f"times_{UNIT}.csv").write_text(WORKSHEET, encoding="utf-8")


@pytest.fixture(scope="module")
def term(tmp_path_factory: pytest.TempPathFactory, example_class: Path) -> Term:
    """The page, followed from its first line to its last one."""
    root = make_course(tmp_path_factory.mktemp("term"))
    printed: dict[str, str] = {}
    grades = ""
    feedback: dict[str, str] = {}
    for one in BLOCKS:
        if one.file:
            write(root, one)
        if one.heading == "Grade":
            download(root, example_class)
        for command in [command for command in one.commands if not command.startswith(NOT_RUN)]:
            if command.startswith("grader forget "):
                grades = (root / "term" / "grades.csv").read_text(encoding="utf-8")
                with ZipFile(root / "term" / "feedback.zip") as archive:
                    feedback = {name: archive.read(name).decode() for name in archive.namelist()}
            more = next((answer for begin, answer in ANSWERS.items() if command.startswith(begin)), "")
            done = run(root, command + more)
            # `forget` finds the student in downloads and pages, as the page says.
            assert done.returncode == (1 if "forget" in command else 0), done.stdout + done.stderr
            printed[f"{one.heading}: {command}"] = done.stdout
    return Term(root, printed, grades, feedback)


def said(term: Term, heading: str, command: str) -> str:
    [text] = [text for key, text in term.printed.items() if key.startswith(f"{heading}: {command}")]
    return text


@pytest.mark.proof(part="full")
def test_the_class_has_the_points_that_the_rules_of_the_page_give(term: Term) -> None:
    rows = {row["student"]: row for row in csv.DictReader(term.grades.splitlines())}
    most = int(rows["ada"]["possible"])
    assert [rows[one][UNIT] for one in ("ada", "bela", "dina")] == [str(most), str(most), "exempt"]
    emil = read_reports(term.root / f"term/reports/{UNIT}")["emil"]["units"][UNIT]
    assert emil["received"]["source"] == "times.csv"
    assert int(rows["emil"][UNIT]) == emil["points"] == emil["earned"] * 80 // 100
    regraded = said(term, "Change grades", "grader regrade")
    assert f"  {UNIT}/softmax_stable: +2, The text did not say this." in regraded
    assert "The points or possible points of 1 of 5 students change." in regraded
    assert "The points or possible points of 0 of 5 students change." in said(
        term, "The end of the term", "grader regrade"
    )


@pytest.mark.proof(part="full")
def test_what_students_receive_holds_no_answer(term: Term) -> None:
    with ZipFile(term.root.parent / "attention.zip") as archive:
        names = archive.namelist()
    assert {f"exercises/{UNIT}.py", f"exercises/{UNIT}_quiz.md", f"exercises/checks/test_{UNIT}.py"} <= {*names}
    assert not [name for name in names if "solutions" in name or "suites" in name]


@pytest.mark.proof(part="full")
def test_moodle_finds_every_page_of_feedback_by_the_number_of_its_student(term: Term) -> None:
    assert set(term.feedback) == {
        f"{name}_{number}_assignsubmission_file_/feedback.html" for name, number in NAMES.values()
    }
    assert "2 days have begun" in term.feedback["Emil Roe_4715_assignsubmission_file_/feedback.html"]


@pytest.mark.proof(part="full")
def test_forgetting_a_student_does_what_the_page_shows(term: Term) -> None:
    [shown] = [one for one in BLOCKS if "grader forget" in one.text]
    _, *lines, question = shown.text.splitlines()
    assert said(term, shown.heading, "grader forget").splitlines() == lines
    assert question.startswith("Do all of this?")
    assert "ada" not in term.points()


@pytest.mark.proof(part="full")
def test_the_commands_for_github_grade_what_was_pushed_and_send_it(tmp_path: Path, example_class: Path) -> None:
    root = make_course(tmp_path)
    answers = {
        path.name: path.read_text(encoding="utf-8") for path in sorted((example_class / "ada").rglob(f"{UNIT}*"))
    }
    (root / "roster.csv").write_text("student,repository\nada,our-class/ada\nbela,our-class/bela\n", encoding="utf-8")
    with local_github(tmp_path / "hub") as hub:
        hub.create("our-class/ada").push(
            {f"exercises/{name}": text for name, text in answers.items()}, "2000-01-20T10:00:00Z"
        )
        hub.create("our-class/bela").push({"README.md": "mine"}, "2000-01-20T10:00:00Z")
        done = run(root, block("With GitHub", "sh").text, **hub.environment())
        assert done.returncode == 0, done.stdout + done.stderr
        issues = {name: repository.issues for name, repository in hub.repositories.items()}
    rows = {row["student"]: row for row in csv.DictReader((root / "grades.csv").read_text().splitlines())}
    assert (rows["ada"][UNIT], rows["bela"][UNIT]) == (
        str(read_reports(root / "reports" / UNIT)["ada"]["possible"]),
        "0",
    )
    assert all(len(issue["comments"]) for [issue] in issues.values())


def test_the_commands_for_nbgrader_are_those_of_its_page() -> None:
    lines = [line for line in block("With nbgrader", "sh").text.splitlines() if not line.startswith("#")]
    commands = [command for line in lines for command in line.split(" && ")]
    assert commands
    assert not [command for command in commands if f"$ {command}\n" not in NBGRADER]
