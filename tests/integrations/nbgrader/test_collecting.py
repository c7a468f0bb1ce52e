"""`nbgrader zip_collect` with downloads of learning platforms: the students and files of `grader grade`."""

from __future__ import annotations

import json
from pathlib import Path

import courses
import pytest
from downloads import Tree, zipped
from notebooks import code
from terms import run_each

from grader.submissions.find import find_submissions


def notebook(factor: int) -> str:
    cells = [code(f"def add(a, b):\n    return {factor} * (a + b)\n")]
    return json.dumps({"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": cells})


def moodle(student: str, name: str) -> str:
    return f"{student}_assignsubmission_file_/{name}"


ONE, TWO = notebook(1), notebook(2)
BROKEN = '{"cells": ['
SCRIPT = "def add(a, b):\n    return a + b\n"

MOODLE: Tree = {
    moodle("Jane Doe_4712", "sums.ipynb"): ONE,
    moodle("Zoë O'Brien_4713", "hw1 Sums.ipynb"): TWO,
    moodle("Bo Li_4714", "homework.ipynb"): ONE,
    moodle("Al Gore_4715", "work.zip"): zipped({"work/sums.ipynb": TWO}),
    moodle("Cy Wu_4716", "sums (1).ipynb"): BROKEN,
    moodle("Di Xu_4717", "sums.py"): SCRIPT,
    moodle("Di Xu_4717", "sums_quiz.md"): "# Quiz",
    moodle("Ed Ny_4718", "work.zip"): b"PK, which is damaged",
    moodle("Fa Yi_4719", "sums (1).ipynb"): ONE,
    moodle("Fa Yi_4719", "sums (2).ipynb"): TWO,
    moodle("Gu Ho_4720", "sums.ipynb"): ONE,
    moodle("Gu Ho_4720", "essay.pdf"): "",
    "Jane Doe_4712_assignsubmission_onlinetext_/onlinetext.html": "<p>",
    "grades.csv": "",
}
FROM_MOODLE: Tree = {
    "Jane-Doe_4712/sums.ipynb": ONE,
    "Zoe-OBrien_4713/sums.ipynb": TWO,
    "Bo-Li_4714/sums.ipynb": ONE,
    "Al-Gore_4715/sums.ipynb": TWO,
    "Cy-Wu_4716/sums.ipynb": BROKEN,
    "Di-Xu_4717/sums.py": SCRIPT,
    "Di-Xu_4717/sums_quiz.md": "# Quiz",
    "Gu-Ho_4720/sums.ipynb": ONE,
}
NOTHING_FROM_MOODLE = {"Ed-Ny_4718", "Fa-Yi_4719"}
CANVAS: Tree = {
    "doejane_11_901_sums.ipynb": ONE,
    "lateal_LATE_12_902_sums.ipynb": ONE,
    "libo_13_903_sums.ipynb": ONE,
    "libo_13_904_sums-1.ipynb": TWO,
    "obrienzo_14_905_hw1 Sums.ipynb": TWO,
}
FROM_CANVAS: Tree = {
    "doejane_11/sums.ipynb": ONE,
    "lateal_12/sums.ipynb": ONE,
    "libo_13/sums.ipynb": TWO,
    "obrienzo_14/sums.ipynb": TWO,
}
ROSTER = """\
student,name,id,folder
jane,Jane Doe,4712,
zoe,"O'Brien, Zoë",,
al,Al Gore,,Al Gore_4715_assignsubmission_file_
nobody,No Body,,
"""
FROM_THE_ROSTER: Tree = {
    path.replace("Jane-Doe_4712", "jane").replace("Zoe-OBrien_4713", "zoe").replace("Al-Gore_4715", "al"): text
    for path, text in FROM_MOODLE.items()
}
UNCLEAR: Tree = {"ada/sums.ipynb": ONE, "eve/sums.ipynb": ONE, "sums.ipynb": TWO}

# What lies in archive/, and what is in submitted/ afterwards, without the unit's folder.
CASES: dict[str, tuple[Tree, Tree]] = {
    "moodle": ({"CS 101-Sums-77.zip": zipped(MOODLE)}, FROM_MOODLE),
    "moodle with a roster": ({"CS 101-Sums-77.zip": zipped(MOODLE)}, FROM_THE_ROSTER),
    "canvas": ({"submissions.zip": zipped(CANVAS)}, FROM_CANVAS),
    "canvas, unpacked": (CANVAS, FROM_CANVAS),
    "moodle, two groups": (
        {"a.zip": zipped({moodle("A B_1", "sums.ipynb"): ONE}), "b.zip": zipped({moodle("C D_2", "sums.ipynb"): TWO})},
        {"A-B_1/sums.ipynb": ONE, "C-D_2/sums.ipynb": TWO},
    ),
    "unclear": ({"class.zip": zipped(UNCLEAR)}, {}),
    "own assignment": (CANVAS, {"11/party.ipynb": ONE}),
}
# As an instructor writes it for assignments that are not units.
OWN = r'c.FileNameCollectorPlugin.named_regexp = r".*/doejane_(?P<student_id>\d+)_\d+_(?P<file_id>party)"'


class Collected(dict[str, tuple[str, int]]):
    """The log and exit code of each case."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self._assignments = {name: "party" if name == "own assignment" else "sums" for name in CASES}
        for name, (files, _) in CASES.items():
            unit = self._assignments[name]
            for path, content in files.items():
                file = root / name / "downloaded" / unit / "archive" / path.replace("sums", unit)
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_bytes(content.encode() if isinstance(content, str) else content)
            if name == "moodle with a roster":
                (root / name / "roster.csv").write_text(ROSTER, encoding="utf-8")
            lines = ["from grader.integrations.nbgrader import configure", "c = get_config()", "configure(c)", OWN]
            (root / name / "nbgrader_config.py").write_text("\n".join(lines))
        commands = [(root / name, root, ["zip_collect", unit]) for name, unit in self._assignments.items()]
        self.update(zip(CASES, run_each(root, commands, root), strict=True))

    def submitted(self, name: str) -> dict[str, str]:
        folder, unit = self.root / name / "submitted", self._assignments[name]
        files = (file for file in folder.rglob("*") if file.is_file())
        return {
            file.relative_to(folder).as_posix().replace(f"/{unit}/", "/"): file.read_text(encoding="utf-8")
            for file in files
        }


@pytest.fixture(scope="module")
def collected(tmp_path_factory: pytest.TempPathFactory) -> Collected:
    return Collected(courses.make_small_course(tmp_path_factory.mktemp("collecting")))


@pytest.mark.parametrize("name", CASES)
def test_each_student_has_the_file_that_is_graded_under_its_right_name(collected: Collected, name: str) -> None:
    assert collected.submitted(name) == CASES[name][1], collected[name][0]


@pytest.mark.parametrize("name", ["moodle", "canvas"])
def test_students_have_the_ids_that_they_have_in_reports(collected: Collected, name: str) -> None:
    archives = list((collected.root / name / "downloaded" / "sums" / "archive").iterdir())
    students = {found.student for found in find_submissions(archives, ["sums"]).found}
    assert {path.split("/")[0] for path in CASES[name][1]} == students - NOTHING_FROM_MOODLE


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("moodle", "Zoe-OBrien_4713: 'hw1 Sums.ipynb' was collected as sums.ipynb."),
        ("moodle", "Di-Xu_4717: there is no sums.ipynb. sums.py and sums_quiz.md will be graded, but not shown."),
        ("moodle", "Ed-Ny_4718: nothing was collected. work.zip is not a zip or tar file, or is damaged"),
        ("moodle", "Fa-Yi_4719: nothing was collected. sums.py is missing, and 'sums (1).ipynb' and 'sums (2).ipynb'"),
        ("moodle", "Gu-Ho_4720: not collected: essay.pdf."),
        ("moodle", "Jane-Doe_4712: not collected: onlinetext/."),
        ("moodle", "Not collected: grades.csv."),
        ("moodle with a roster", "Matched by id: 1."),
        ("moodle with a roster", "Matched by name: 1."),
        ("moodle with a roster", "Not in the roster, and graded under their own names: Bo-Li_4714, "),
        ("moodle with a roster", "Nothing handed in here: nobody."),
        ("canvas", "Not collected: libo_13_903_sums.ipynb (an older upload of libo_13_904_sums-1.ipynb)."),
        ("canvas", "Marked as late by Canvas, and collected: lateal_12. For a penalty, write the time of each into"),
        ("unclear", "Nothing was collected. "),
        ("unclear", "name the right one with --ExtractSubmissions.layout."),
    ],
)
def test_what_is_renamed_or_not_collected_is_named(collected: Collected, name: str, sentence: str) -> None:
    log, code = collected[name]
    assert sentence in log
    assert "Traceback" not in log
    assert code == (1 if name == "unclear" else 0)


def test_the_layout_can_be_named(collected: Collected) -> None:
    arguments = ["zip_collect", "sums", "--force", "--ExtractSubmissions.layout=folders"]
    [(log, code)] = run_each(collected.root, [(collected.root / "unclear", collected.root, arguments)], collected.root)
    assert code == 0, log
    assert {path.split("/")[0] for path in collected.submitted("unclear")} == {"ada", "eve"}
