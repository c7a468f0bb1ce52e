"""The bundle for Classroom 50, run as by its runner: in a student's checkout, by a Python that has torch.

The runner is cli/gh-teacher/skeleton/dotgithub/scripts/runner.py of foundation50/classroom50, as of September 2026.
"""

from __future__ import annotations

import datetime
import json
import os
import re
import runpy
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from classroom50_collector import check_result
from courses import REPOSITORY, copy_course_alone, leave_out_signatures, run_grader

from grader import machine

pytestmark = pytest.mark.proof(part="releases")

MOST_BYTES = 10_000_000
"""The runner refuses a larger bundle."""
COMMITTED = "2027-01-20T12:34:56Z"
OF_CLASSROOM50 = {
    "CLASSROOM": "attention",
    "ASSIGNMENT": "simple-attention",
    "ASSIGNMENT_TYPE": "individual",
    "USERNAME": "chen",
    "OWNER": "chen",
    "SUBMISSION_TAG": "submit/2027-01-20T12-34-56Z-a1b2c3d",
    "COMMIT_URL": "https://github.com/school/attention-chen/commit/a1b2c3d",
    "RELEASE_URL": "https://github.com/school/attention-chen/releases/tag/submit%2F2027",
    "REVIEW_URL": "https://github.com/school/attention-chen/compare/0000000...a1b2c3d",
}


class Run(NamedTuple):
    """The results of autograder.py that the runner reads."""

    code: int
    log: str
    outputs: str
    checkout: Path

    @property
    def result(self) -> dict[str, Any]:
        assert self.code == 0, self.log
        return json.loads((self.checkout / "result.json").read_text(encoding="utf-8"))

    @property
    def left_behind(self) -> list[str]:
        return sorted(path.name for path in self.checkout.iterdir() if path.name in {"result.json", "release-body.md"})


@pytest.fixture(scope="module")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("release") / "bundle"
    done = run_grader(REPOSITORY, "release", "classroom50", folder)
    assert done.returncode == 0, done.stderr
    return folder


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The Python of an image with this machine's packages, so that pip installs only the wheel."""
    root = tmp_path_factory.mktemp("image")
    ours = Path(sysconfig.get_path("stdlib"))
    library = root / "lib" / ours.name
    (library / "site-packages").mkdir(parents=True)
    for path in ours.iterdir():
        if path.name != "site-packages":
            (library / path.name).symlink_to(path)
    (library / "site-packages" / "image.pth").write_text(sysconfig.get_path("purelib") + "\n", encoding="utf-8")
    (root / "bin").mkdir()
    return Path(shutil.copy2(Path(sys.executable).resolve(), root / "bin" / "python3"))


def run_bundle(bundle: Path, python: Path | str, checkout: Path, **environment: str) -> Run:
    # Outside the checkout, as on GitHub.
    outputs = checkout.with_name(f"{checkout.name}.output")
    outputs.touch()
    done = subprocess.run(
        [python, bundle / "autograder.py"],
        cwd=checkout,
        env={**os.environ, **OF_CLASSROOM50, "GITHUB_OUTPUT": str(outputs), **environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    return Run(done.returncode, done.stdout, outputs.read_text(encoding="utf-8"), checkout)


def commit(checkout: Path) -> None:
    who = ("-c", "user.name=chen", "-c", "user.email=chen@example.org", "-c", "commit.gpgsign=false")
    dates = {"GIT_COMMITTER_DATE": COMMITTED, "GIT_AUTHOR_DATE": "2001-01-01T00:00:00Z"}
    for command in (["init", "--quiet"], ["add", "--all"], ["commit", "--quiet", "--message", "Answers"]):
        subprocess.run(["git", *who, *command], cwd=checkout, env={**os.environ, **dates}, check=True)


@pytest.fixture(scope="module")
def graded(bundle: Path, python: Path, example_class: Path, tmp_path_factory: pytest.TempPathFactory) -> Run:
    """A checkout with answers to one unit, and with files that would affect programs that read or import them."""
    work = tmp_path_factory.mktemp("work")
    checkout, trace, secret = work / "checkout", work / "trace", work / "secret"
    (checkout / "exercises").mkdir(parents=True)
    shutil.copy(example_class / "chen" / "exercises" / "simple_attention.py", checkout / "exercises")
    leave_trace = f"open({str(trace)!r}, 'a').write(__name__ + ' ')\n"
    for folder in (checkout, checkout / "exercises"):
        for name in ("autograder", "conftest", "sitecustomize", "usercustomize", "torch", "pytest", "pip", "venv"):
            (folder / f"{name}.py").write_text(leave_trace, encoding="utf-8")
        (folder / "grader").mkdir()
        (folder / "grader" / "__init__.py").write_text(leave_trace, encoding="utf-8")
        (folder / "pip.conf").write_text("[install]\nno-index = true\n", encoding="utf-8")
        (folder / "setup.cfg").write_text("[tool:pytest]\naddopts = --collect-only\n", encoding="utf-8")
        (folder / "pytest.ini").write_text("[pytest]\naddopts = --collect-only\n", encoding="utf-8")
        (folder / "test_simple_attention.py").write_text(leave_trace, encoding="utf-8")
    (checkout / "result.json").write_text('{"score": 1000}', encoding="utf-8")
    secret.write_text("as it was", encoding="utf-8")
    (checkout / "release-body.md").symlink_to(secret)
    commit(checkout)
    # A variable that may be set on the machine for other programs.
    on_path = work / "on_path"
    on_path.mkdir()
    (on_path / "pip.py").write_text(leave_trace, encoding="utf-8")
    run = run_bundle(bundle, python, checkout, PYTHONPATH=str(on_path))
    assert secret.read_text(encoding="utf-8") == "as it was"
    return run


def test_the_bundle_is_an_autograder_and_the_student_s_wheel(bundle: Path) -> None:
    names = sorted(path.name for path in bundle.iterdir())
    assert [re.sub("-2.*-py3", "-py3", name) for name in names] == [
        "attention_from_scratch_student-py3-none-any.whl",
        "autograder.py",
        "constraints.txt",
    ]
    assert sum(path.stat().st_size for path in bundle.iterdir()) < MOST_BYTES


def test_a_python_that_torch_lacks_is_an_error_with_what_to_set(
    bundle: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    autograder = runpy.run_path(str(bundle / "autograder.py"))
    assert (autograder["OLDEST"], autograder["NEWEST"]) == (machine.OLDEST, machine.NEWEST)
    monkeypatch.setattr(sys, "version_info", (3, 15, 0))
    with pytest.raises(
        autograder["Fault"], match=r"Python 3\.11 to 3\.14 is needed\. Set \"python\" in the assignment"
    ):
        autograder["install"](tmp_path / "wheel", tmp_path, 0)


def test_the_result_is_one_that_classroom_50_reads(graded: Run) -> None:
    check_result(graded.result, "attention", "chen")
    assert 0 < graded.result["score"] < graded.result["max-score"]
    assert sum(test["score"] for test in graded.result["tests"]) == graded.result["score"]


def test_the_result_has_the_commit_s_date_and_the_time_of_grading(graded: Run) -> None:
    assert graded.result["datetime"] == COMMITTED
    age = datetime.datetime.now(datetime.UTC) - datetime.datetime.fromisoformat(graded.result["graded_at"])
    assert datetime.timedelta() < age < datetime.timedelta(hours=1)


def test_the_student_reads_a_release_and_the_runner_its_outputs(graded: Run) -> None:
    assert graded.code == 0
    assert "softmax_stable" in (graded.checkout / "release-body.md").read_text(encoding="utf-8")
    assert [line.partition("=")[0] for line in graded.outputs.splitlines()] == ["status", "summary"]


def test_an_assignment_named_after_a_unit_counts_that_unit_alone(graded: Run) -> None:
    assert graded.result["assignment"] == "simple-attention"
    assert graded.result["tests"]
    assert all(test["test-name"].startswith("simple_attention/") for test in graded.result["tests"])


def test_any_other_assignment_counts_every_unit(bundle: Path) -> None:
    autograder = runpy.run_path(str(bundle / "autograder.py"))
    [wheel] = bundle.glob("*.whl")
    assert autograder["unit_of"]("the-whole-course", wheel) == []
    assert autograder["unit_of"]("multi-head-attention", wheel) == ["multi_head_attention"]


def test_files_in_the_checkout_do_not_affect_the_grading(graded: Run) -> None:
    assert [test["test-name"] for test in graded.result["tests"] if not test["passed"]] == [
        "simple_attention/softmax_stable"
    ]
    assert not graded.checkout.with_name("trace").exists()


def refusal(run: Run) -> str:
    """Return the message if nothing could be graded. No file with a result may be left."""
    assert run.code == 1
    assert run.left_behind == []
    assert run.outputs == ""
    assert "Traceback" not in run.log
    return run.log


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A checkout with a forged result."""
    folder = tmp_path / "checkout"
    folder.mkdir()
    (folder / "result.json").write_text('{"score": 1000}', encoding="utf-8")
    return folder


def with_line(bundle: Path, folder: Path, name: str, value: str) -> Path:
    """Return a copy of the bundle with another value of one of the autograder's constants."""
    shutil.copytree(bundle, folder)
    script = folder / "autograder.py"
    text, count = re.subn(rf"(?m)^{name} = .*", f"{name} = {value}", script.read_text(encoding="utf-8"))
    assert count == 1
    script.write_text(text, encoding="utf-8")
    return folder


def test_an_installation_that_takes_too_long_is_stopped_with_a_message(
    bundle: Path, checkout: Path, tmp_path: Path
) -> None:
    bundle = with_line(bundle, tmp_path / "bundle", "INSTALL_SECONDS", "0")
    said = refusal(run_bundle(bundle, sys.executable, checkout))
    assert said.endswith("Making an environment took too long and was stopped. Run the job again.\n")


def test_a_missing_wheel_is_an_error(bundle: Path, checkout: Path, tmp_path: Path) -> None:
    shutil.copytree(bundle, tmp_path / "bundle", ignore=shutil.ignore_patterns("*.whl"))
    said = refusal(run_bundle(tmp_path / "bundle", sys.executable, checkout))
    assert said.endswith("there should be one wheel, not 0. Copy the whole bundle anew.\n")


def test_a_student_without_a_name_is_an_error(bundle: Path, checkout: Path) -> None:
    said = refusal(run_bundle(bundle, sys.executable, checkout, USERNAME="", OWNER=""))
    assert said.endswith("neither USERNAME nor OWNER is set. Classroom 50 sets both.\n")


def test_a_programs_output_is_shown_without_workflow_commands(bundle: Path, capsys: pytest.CaptureFixture[str]) -> None:
    autograder = runpy.run_path(str(bundle / "autograder.py"))
    autograder["show"]("::add-mask::a\n b ##[group]\r::error::c\n\x1b[31m")
    assert capsys.readouterr().err == "  | ::add-mask::a\n  |  b ## [group]\n  | ::error::c\n  |  [31m\n"


def test_a_bundle_with_a_leak_is_not_written(tmp_path: Path) -> None:
    course = copy_course_alone(tmp_path / "course")
    leave_out_signatures(course)
    for name in ("pyproject.toml", "requirements.lock", "LICENSE"):
        shutil.copy(REPOSITORY / name, course)
    quiz = (course / "solutions" / "simple_attention_quiz.yml").read_text(encoding="utf-8")
    [told, *_] = re.findall(r"(?m)^    explanation: \|\n +(.+)$", quiz)
    with open(course / "exercises" / "README.md", "a", encoding="utf-8") as file:
        file.write(f"{told}\n")
    done = run_grader(course, "release", "classroom50", tmp_path / "bundle")
    assert done.returncode == 2
    assert "so nothing was written" in done.stderr
    assert "grader/received/exercises/README.md" in done.stderr
    assert sorted(path.name for path in tmp_path.iterdir()) == ["course"]
