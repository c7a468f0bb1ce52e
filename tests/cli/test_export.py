"""`grader export READER REPORT`, as a workflow runs it, on a real report."""

from __future__ import annotations

import functools
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from classroom50_collector import check_result
from courses import REPOSITORY
from made_reports import commands_in
from typer.testing import CliRunner

from grader.cli.student_cli import app

ENVIRONMENT = {
    "CLASSROOM": "spring",
    "ASSIGNMENT": "attention",
    "SUBMISSION_TAG": "submit/0",
    "USERNAME": "chen",
    "COMMIT_URL": "https://github.com/class/chen/commit/0",
    "RELEASE_URL": "https://github.com/class/chen/releases/tag/0",
    "REVIEW_URL": "https://github.com/class/chen/compare/0",
}


def run(*arguments: str | Path, folder: Path = REPOSITORY, **environment: str) -> subprocess.CompletedProcess[str]:
    inherited = {name: value for name, value in os.environ.items() if name not in {*ENVIRONMENT, "GITHUB_OUTPUT"}}
    return subprocess.run(
        [sys.executable, "-m", "grader", *arguments],
        cwd=folder,
        env=inherited | {"PYTHONPATH": str(REPOSITORY)} | environment,
        capture_output=True,
        encoding="utf-8",
        check=False,
    )


def printed(reader: str, path: Path) -> str:
    done = CliRunner().invoke(app, ["export", reader, str(path)])
    assert done.exit_code == 0, done.output
    return done.stdout


@pytest.fixture(scope="module")
def chen(tmp_path_factory: pytest.TempPathFactory, example_class: Path) -> Path:
    """Chen's report on unit 1, with one point lost in softmax_stable."""
    into = tmp_path_factory.mktemp("reports")
    done = run("grade", example_class / "chen", "--unit", "simple_attention", "--out", into)
    assert done.returncode == 0, done.stderr
    return into / "chen.json"


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


def test_annotations_are_commands_for_the_log(chen: Path, example_class: Path) -> None:
    answers = (example_class / "chen" / "exercises" / "simple_attention.py").read_text(encoding="utf-8").splitlines()
    [line] = [number for number, text in enumerate(answers, start=1) if text.startswith("def softmax_stable")]
    done = run("export", "annotations", chen)
    (total, error) = commands_in(done.stdout)
    assert (done.returncode, total.name) == (0, "notice")
    assert total.data.startswith("43 of 44 points.")
    assert error.properties == {
        "file": "exercises/simple_attention.py",
        "line": str(line),
        "title": "softmax_stable: 8 of 9 points",
    }


def test_a_summary_is_markdown(chen: Path) -> None:
    assert printed("summary", chen).startswith("## 43 of 44 points\n\nBy the hidden tests")


def test_gradescope_prints_its_results(chen: Path) -> None:
    made: dict[str, Any] = json.loads(printed("gradescope", chen))
    assert made["score"] == 43


def test_any_of_them_can_be_written_to_a_file(chen: Path, tmp_path: Path) -> None:
    for reader, name in (("html", "chen.html"), ("summary", "chen.md")):
        done = CliRunner().invoke(app, ["export", reader, str(chen), str(tmp_path / name)])
        assert (done.exit_code, done.output) == (0, "")
        assert (tmp_path / name).read_text(encoding="utf-8") == printed(reader, chen)
    assert "<title>chen: Attention and transformers from scratch</title>" in (tmp_path / "chen.html").read_text(
        encoding="utf-8"
    )
    done = CliRunner().invoke(app, ["export", "html", str(chen), str(tmp_path / "missing" / "chen.html")])
    assert (done.exit_code, done.output.startswith("FILE: ")) == (2, True)


def test_classroom50_writes_its_files_in_the_checkout(chen: Path, checkout: Path) -> None:
    output = checkout / "output"
    output.write_text("before=1\n", encoding="utf-8")
    done = run("export", "classroom50", chen, folder=checkout, GITHUB_OUTPUT=str(output), **ENVIRONMENT)
    assert done.returncode == 0, done.stderr
    made = json.loads((checkout / "result.json").read_text(encoding="utf-8"))
    check_result(made, "spring", "chen")
    assert (made["score"], made["max-score"], made["datetime"]) == (43, 44, "2027-02-01T11:30:00Z")
    assert (checkout / "release-body.md").read_text(encoding="utf-8").startswith("## 43 of 44 points")
    assert output.read_text(encoding="utf-8") == "before=1\nstatus=failure\nsummary=43 of 44 points\n"


def test_no_program_that_a_students_repository_names_is_run(chen: Path, checkout: Path) -> None:
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
    assert run("export", "classroom50", chen, folder=checkout, **ENVIRONMENT).returncode == 0
    assert not (checkout / "was-run").exists()


@pytest.mark.skipif(sys.platform == "win32", reason="links need special rights on Windows")
def test_classroom50_writes_nothing_where_a_student_made_a_link(chen: Path, checkout: Path, tmp_path: Path) -> None:
    (checkout / "result.json").symlink_to(tmp_path / "elsewhere")
    done = run("export", "classroom50", chen, folder=checkout, **ENVIRONMENT)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("result.json is a link in a student's folder, so nothing is written there")
    assert not (tmp_path / "elsewhere").exists()
    assert not (checkout / "release-body.md").exists()


def test_classroom50_names_a_variable_that_is_missing(chen: Path, checkout: Path) -> None:
    done = run("export", "classroom50", chen, folder=checkout, **(ENVIRONMENT | {"ASSIGNMENT": ""}))
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert done.stderr.startswith("The environment variable ASSIGNMENT is missing")
    assert not (checkout / "result.json").exists()


def test_classroom50_asks_for_a_checkout(chen: Path, tmp_path: Path) -> None:
    done = run("export", "classroom50", chen, folder=tmp_path, GIT_CEILING_DIRECTORIES=str(tmp_path), **ENVIRONMENT)
    assert (done.returncode, done.stderr) == (
        2,
        "git finds no commit here: run this in the student's checkout.\n",
    )


@pytest.mark.parametrize("text", [None, "", "{}", "[1]", "\x00", '{"schema": "classroom50/result/v1"}'])
def test_a_file_that_is_not_a_report_is_an_error(text: str | None, tmp_path: Path) -> None:
    path = tmp_path / "ada.json"
    if text is not None:
        path.write_text(text, encoding="utf-8")
    done = CliRunner().invoke(app, ["export", "summary", str(path)])
    assert (done.exit_code, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert done.stderr.startswith(f"'{path}' ")
