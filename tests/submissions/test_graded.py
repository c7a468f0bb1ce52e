"""Downloads through `grader grade`: the output and the points."""

from __future__ import annotations

import json
from pathlib import Path

import courses
import pytest
from courses import REPOSITORY, read_reports, run_grader
from downloads import tarred, write, zipped
from typer.testing import CliRunner

from grader.cli.instructor import app

OTHER = (REPOSITORY / "solutions" / "self_attention.py").read_text(encoding="utf-8")
SOLUTION = courses.SMALL_COURSE["solutions/sums.py"]
STUB = courses.SMALL_COURSE["exercises/sums.py"]


def test_a_moodle_download_with_many_kinds_of_submissions_is_graded(small_course: Path, tmp_path: Path) -> None:
    folder = "{}_assignsubmission_file_/{}".format
    download: dict[str, str | bytes] = {
        folder("Zoë O'Brien_1", "sums.py"): SOLUTION,
        folder("Jane Doe_2", "work.zip"): zipped({"sums-main/exercises/sums.py": SOLUTION, "../evil.py": ""}),
        folder("Bo Li_3", "Sums (1).py"): SOLUTION,
        folder("Al Bo_4", "a.tar.xz"): tarred({"src/sums.py": SOLUTION}, "xz"),
        folder("Ed Ny_5", "essay.pdf"): "",
        folder("Cy Wu_6", "a.zip"): zipped({"sums.py": SOLUTION}, flags=1),
        "Ann Yu_7_assignsubmission_onlinetext_/onlinetext.html": "<p>",
        "grades.csv": "",
    }
    path = write(tmp_path / "CS 101-Sums-77.zip", zipped(download))
    done = run_grader(small_course, "grade", path, "--out", tmp_path / "reports")
    points = {name: report["points"] for name, report in read_reports(tmp_path / "reports").items()}
    assert points == {
        "Zoe-OBrien_1": 5, "Jane-Doe_2": 5, "Bo-Li_3": 5, "Al-Bo_4": 5, "Ed-Ny_5": 0, "Cy-Wu_6": 0, "Ann-Yu_7": 0,
    }  # fmt: skip
    layout, ignored = done.stdout.split("\n\n")[0].splitlines()
    assert layout.startswith("Layout: moodle (")
    assert ignored == (
        "Ignored: a.zip/sums.py (locked with a password: hand in an archive that opens without an error) (Cy-Wu_6), "
        "essay.pdf (empty: hand in sums.py) (Ed-Ny_5), "
        "onlinetext/onlinetext.html (text that was typed on the learning platform: hand in sums.py) (Ann-Yu_7), "
        "grades.csv, '../evil.py' in work.zip (not a name that a file may have) (Jane-Doe_2)."
    )
    assert "'a.zip/sums.py' is locked with a password" in " ".join(done.stdout.split())
    assert "'Sums (1).py' was graded as sums.py" in " ".join(done.stdout.split())
    assert done.returncode == 0


def test_ungraded_submissions_are_named_first_and_then_that_many_are_empty(small_course: Path, tmp_path: Path) -> None:
    names = (
        "ada/sums.py",
        "eve/notes.txt",
        "joe/notes.txt",
        "ann/notes.txt",
        "___/sums.py",
        "Bo L/sums.py",
        "Bo-L/sums.py",
        "ada/sums (1).py",
        *(f"ada/draft{number}.txt" for number in range(60)),
    )
    path = write(tmp_path / "class", dict.fromkeys(names, SOLUTION))
    done = run_grader(small_course, "grade", path, "--out", tmp_path / "reports")
    assert {name: one["points"] for name, one in read_reports(tmp_path / "reports").items()} == {
        "ada": 5, "ann": 0, "eve": 0, "joe": 0,
    }  # fmt: skip
    *problems, first, second, third = done.stdout.split("\n\n")[0].splitlines()
    assert first.startswith("3 of 4 submissions hold none of the course's files and get no points")
    assert second.startswith("Layout: folders (")
    # The list is cut, but always contains the files that could be answers.
    assert third.startswith("Ignored: notes.txt (")
    assert ") (ann, eve, joe), sums (1).py (rename it to sums.py) (ada), draft0.txt (ada), " in third
    assert third.endswith(" and 12 more.")
    assert ["'Bo-L'" in problems[0], "___' cannot be graded under its name" in problems[1]] == [True, True]
    assert done.stderr.endswith("Not graded, for the reasons above: Bo-L, ___.\nAll others were graded.\n")
    assert done.returncode == 1


def test_wrong_files_are_named_in_the_table_in_the_list_of_ignored_files_and_on_the_students_page(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    files: dict[str, str | bytes] = {"bo/self_attention.py": OTHER, "cy/essay.pdf": b"%PDF-1.7", "dee/": ""}
    path = write(tmp_path / "class", {**files, "al/hw.py": OTHER, "ed/hw.py": OTHER})
    reports = tmp_path / "reports"
    done = run_grader(REPOSITORY, "grade", path, "--unit", "simple_attention", "--out", reports)
    rows = {words[0]: " ".join(words[1:]) for line in done.stdout.splitlines() if (words := line.split())}
    hand_in = "hand in simple_attention.py or simple_attention.ipynb."
    assert rows["bo"] == f"0 0/44 self_attention.py is the answer to another unit: {hand_in}"
    assert rows["cy"] == f"0 0/44 essay.pdf is a PDF document: {hand_in}"
    assert rows["dee"] == "- 0/44 nothing handed in yet"
    assert rows["Ignored:"] == (
        "essay.pdf (a PDF document: hand in simple_attention.py) (cy), "
        "hw.py (the answer to another unit: hand in simple_attention.py) (al, ed), "
        "self_attention.py (the answer to another unit: hand in simple_attention.py) (bo)."
    )
    most = "3 of 5 submissions hold self_attention and none simple_attention: grade with --unit self_attention?"
    assert done.stdout.startswith(f"{most}\n"), done.stdout
    for reader in ("html", "summary", "gradescope", "annotations"):
        shown = CliRunner().invoke(app, ["export", reader, str(reports / "bo.json")]).stdout
        assert f"self_attention.py is the answer to another unit: {hand_in}" in shown, reader


def test_an_empty_or_unclear_class_exits_with_2(tmp_path: Path) -> None:
    unclear = {"self_attention.py": "", "ada/self_attention.py": "", "eve/self_attention.py": ""}
    for path, sentence in (
        (write(tmp_path / "empty", {}), "is empty: give the folder"),
        (write(tmp_path / "unclear", unclear), "fits more than one layout, single"),
    ):
        done = CliRunner().invoke(app, ["grade", str(path), "--out", str(tmp_path / "out")])
        assert (done.exit_code, done.stdout) == (2, "")
        assert sentence in done.stderr


STRAYS = {"fence": "```python", "shell": "!pip install einops", "marker": "<<<<<<< HEAD"}


def test_a_script_and_a_notebook_with_the_same_stray_line_earn_the_same(small_course: Path, tmp_path: Path) -> None:
    """Between two definitions it costs nothing, in one it costs that definition, and in a string nothing."""
    solution = SOLUTION.replace('"""Add."""', '"""Add.\n    """')
    places = {"between": ("\n\nclass", 5), "inside": ("    return hidden", 1), "in-a-string": ('    """\n', 5)}
    expected: dict[str, int] = {}
    for kind, stray in STRAYS.items():
        for where, (mark, points) in places.items():
            code = solution.replace(mark, f"\n{stray}\n{mark.lstrip(chr(10))}", 1)
            assert stray in code
            name = f"{kind}-{where}"
            cells = [{"cell_type": "code", "source": code, "metadata": {}, "outputs": []}]
            notebook = json.dumps({"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": cells})
            write(tmp_path / "class", {f"{name}-script/sums.py": code, f"{name}-notebook/sums.ipynb": notebook})
            expected |= {f"{name}-script": points, f"{name}-notebook": points}
    done = run_grader(small_course, "grade", tmp_path / "class", "--out", tmp_path / "reports")
    assert done.returncode == 0, done.stderr
    reports = read_reports(tmp_path / "reports")
    assert {name: report["points"] for name, report in reports.items()} == expected
    for name, report in reports.items():
        named = [message["line"] for message in report["messages"] if message["kind"] == "not run"]
        is_notebooks_own = name == "shell-between-notebook"
        assert len(named) == (0 if "string" in name or is_notebooks_own else 1), name
