"""`grader export READER REPORT`, as a workflow runs it."""

from __future__ import annotations

import contextlib
import functools
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from classroom50_collector import ENVIRONMENT, check_result
from courses import REPOSITORY
from made_reports import exercise, report, unit
from typer.testing import CliRunner, Result
from workflow_commands import commands

from grader.cli.student_cli import app


def run(*arguments: str | Path, folder: Path = REPOSITORY, **environment: str) -> Result:
    with contextlib.chdir(folder):
        return CliRunner().invoke(app, ["export", *map(str, arguments)], env={"GITHUB_OUTPUT": ""} | environment)


def printed(reader: str, path: Path) -> str:
    done = run(reader, path)
    assert done.exit_code == 0, done.output
    return done.stdout


@pytest.fixture(scope="module")
def ada(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A report with one point lost in `scale`."""
    path = tmp_path_factory.mktemp("reports") / "ada.json"
    exercises = {"add": exercise(4), "scale": exercise(1, 1, line=12)}
    path.write_text(report({"sums": unit(exercises)}, suites="hidden").to_json(), encoding="utf-8")
    return path


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A repository with one commit, of 1 February 2027, 12:30 in Berlin."""
    date = {"GIT_AUTHOR_DATE": "1990-01-01T00:00:00Z", "GIT_COMMITTER_DATE": "2027-02-01T12:30:00+01:00"}
    for command in (
        ["init", "-q"],
        ["-c", "user.name=chen", "-c", "user.email=c@class.example", "commit", "-q", "--allow-empty", "-m", "mine"],
    ):
        subprocess.run(["git", *command], cwd=tmp_path, env=os.environ | date, check=True)
    return tmp_path


def test_annotations_are_commands_for_the_log(ada: Path) -> None:
    total, error = commands(printed("annotations", ada).splitlines())
    assert total.name == "notice"
    assert total.data.startswith("5 of 6 points.")
    assert error.properties == {"file": "exercises/sums.py", "line": "12", "title": "scale: 1 of 2 points"}


def test_a_summary_is_markdown(ada: Path) -> None:
    assert printed("summary", ada).startswith("## 5 of 6 points\n\nBy the hidden tests")


def test_gradescope_prints_its_results(ada: Path) -> None:
    assert json.loads(printed("gradescope", ada))["score"] == 5


def test_any_of_them_can_be_written_to_a_file(ada: Path, tmp_path: Path) -> None:
    for reader, name in (("html", "ada.html"), ("summary", "ada.md")):
        done = run(reader, ada, tmp_path / name)
        assert (done.exit_code, done.output) == (0, "")
        assert (tmp_path / name).read_text(encoding="utf-8") == printed(reader, ada)
    assert "<title>ada: Sums from scratch</title>" in (tmp_path / "ada.html").read_text(encoding="utf-8")
    done = CliRunner().invoke(app, ["export", "html", str(ada), str(tmp_path / "missing" / "ada.html")])
    assert (done.exit_code, done.output.startswith("FILE: ")) == (2, True)


def test_classroom50_writes_its_files_in_the_checkout(ada: Path, checkout: Path) -> None:
    output = checkout / "output"
    output.write_text("before=1\n", encoding="utf-8")
    done = run("classroom50", ada, folder=checkout, GITHUB_OUTPUT=str(output), **ENVIRONMENT)
    assert done.exit_code == 0, done.stderr
    made = json.loads((checkout / "result.json").read_text(encoding="utf-8"))
    check_result(made, "spring", "ada")
    assert (made["score"], made["max-score"], made["datetime"]) == (5, 6, "2027-02-01T11:30:00Z")
    assert (checkout / "release-body.md").read_text(encoding="utf-8").startswith("## 5 of 6 points")
    assert output.read_text(encoding="utf-8") == "before=1\nstatus=failure\nsummary=5 of 6 points\n"


def test_no_program_that_a_students_repository_names_is_run(ada: Path, checkout: Path) -> None:
    program = checkout / "program"
    program.write_text(f"#!/bin/sh\ntouch {checkout / 'was-run'}\n", encoding="utf-8")
    program.chmod(0o755)
    git = functools.partial(subprocess.run, cwd=checkout, check=True, capture_output=True, text=True)
    head, _, message = git(["git", "cat-file", "commit", "HEAD"]).stdout.partition("\n\n")
    signature = "gpgsig -----BEGIN PGP SIGNATURE-----\n \n aaaa\n -----END PGP SIGNATURE-----"
    commit = f"{head}\n{signature}\n\n{message}"
    made = git(["git", "hash-object", "-t", "commit", "-w", "--stdin"], input=commit).stdout.strip()
    git(["git", "update-ref", "HEAD", made])
    git(["git", "config", "log.showSignature", "true"])
    git(["git", "config", "gpg.program", str(program)])
    assert run("classroom50", ada, folder=checkout, **ENVIRONMENT).exit_code == 0
    assert not (checkout / "was-run").exists()


@pytest.mark.skipif(sys.platform == "win32", reason="links need special rights on Windows")
def test_classroom50_writes_nothing_where_a_student_made_a_link(ada: Path, checkout: Path, tmp_path: Path) -> None:
    (checkout / "result.json").symlink_to(tmp_path / "elsewhere")
    done = run("classroom50", ada, folder=checkout, **ENVIRONMENT)
    assert (done.exit_code, done.stdout) == (2, "")
    assert done.stderr.startswith("result.json is a link in a student's folder, so nothing is written there")
    assert not (tmp_path / "elsewhere").exists()
    assert not (checkout / "release-body.md").exists()


def test_classroom50_names_a_variable_that_is_missing(ada: Path, checkout: Path) -> None:
    done = run("classroom50", ada, folder=checkout, **(ENVIRONMENT | {"ASSIGNMENT": ""}))
    assert (done.exit_code, done.stderr.count("\n")) == (2, 1)
    assert done.stderr.startswith("The environment variable ASSIGNMENT is missing")
    assert not (checkout / "result.json").exists()


def test_classroom50_asks_for_a_checkout(ada: Path, tmp_path: Path) -> None:
    done = run("classroom50", ada, folder=tmp_path, GIT_CEILING_DIRECTORIES=str(tmp_path), **ENVIRONMENT)
    assert (done.exit_code, done.stderr) == (
        2,
        "git finds no commit here: run this in the student's checkout.\n",
    )


@pytest.mark.parametrize("text", [None, "", "{}", "[1]", "\x00", '{"schema": "classroom50/result/v1"}'])
def test_a_file_that_is_not_a_report_is_an_error(text: str | None, tmp_path: Path) -> None:
    path = tmp_path / "ada.json"
    if text is not None:
        path.write_text(text, encoding="utf-8")
    done = run("summary", path)
    assert (done.exit_code, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert done.stderr.startswith(f"'{path}' ")
