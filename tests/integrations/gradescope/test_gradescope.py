"""The autograder for Gradescope, unpacked and run as by Gradescope, with the packages installed here."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path
from typing import Any

import pytest
from courses import COURSE, REPOSITORY, run_grader

pytestmark = pytest.mark.proof(part="releases")


@pytest.fixture(scope="module")
def release(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("release") / "autograder"
    done = run_grader(REPOSITORY, "release", "gradescope", folder)
    assert done.returncode == 0, done.stderr
    return folder


@pytest.fixture(scope="module")
def image(release: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """/autograder in another place, after setup.sh. Its environment has this machine's packages, so pip is idle."""
    root = unpacked(release, tmp_path_factory.mktemp("gradescope") / "autograder")
    packages = root / "venv" / Path(sysconfig.get_path("purelib")).relative_to(sys.prefix)
    packages.mkdir(parents=True)
    (packages / "installed_here.pth").write_text(sysconfig.get_path("purelib") + "\n", encoding="utf-8")
    environment = {**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    done = subprocess.run(
        ["bash", root / "source" / "setup.sh"], cwd="/", env=environment, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "Student code can be isolated here." in done.stdout
    return root


def unpacked(release: Path, root: Path) -> Path:
    """The folders as Gradescope makes them, with the autograder and an empty submission."""
    shutil.copytree(release, root / "source")
    shutil.copy(root / "source" / "run_autograder", root)
    for name in ("submission", "results"):
        (root / name).mkdir()
    return root


def run_autograder(root: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([root / "run_autograder"], cwd=root, capture_output=True, text=True)


def results(root: Path, submission: Path | None) -> dict[str, Any]:
    """Run the autograder on a submission, and return what Gradescope reads."""
    for name in ("submission", "results"):
        shutil.rmtree(root / name)
    (root / "results").mkdir()
    if submission:
        shutil.copytree(submission, root / "submission", symlinks=True)
    else:
        (root / "submission").mkdir()
    done = run_autograder(root)
    assert done.returncode == 0, done.stderr
    assert [path.name for path in (root / "results").iterdir()] == ["results.json"]
    text = (root / "results" / "results.json").read_text(encoding="utf-8")
    assert str(root) not in text
    assert "/tmp" not in text
    found = json.loads(text)
    assert found["stdout_visibility"] == "hidden"
    return found


def exercise_scores(found: dict[str, Any]) -> list[tuple[float, float]]:
    return [(test["score"], test["max_score"]) for test in found["tests"]]


def test_accepted_answers_have_all_points(example_class: Path, image: Path) -> None:
    found = results(image, example_class / "ada")
    scores = exercise_scores(found)
    assert scores
    assert all(score == most for score, most in scores)
    assert found.get("score", sum(score for score, _ in scores)) == sum(most for _, most in scores)


def test_wrong_answers_lose_points_and_read_why(example_class: Path, image: Path) -> None:
    found = results(image, example_class / "chen")
    scores = exercise_scores(found)
    assert 0 < sum(score for score, _ in scores) < sum(most for _, most in scores)
    assert "A square root is a power" in json.dumps(found)


def test_a_hostile_submission_is_graded_and_learns_nothing(example_class: Path, image: Path) -> None:
    found = results(image, example_class / "mallory")
    scores = exercise_scores(found)
    assert sum(score for score, _ in scores) < sum(most for _, most in scores) / 2


def test_an_empty_submission_earns_nothing(image: Path) -> None:
    found = results(image, None)
    scores = exercise_scores(found)
    assert scores
    assert not any(score for score, _ in scores)


@pytest.fixture
def no_image(release: Path, tmp_path: Path) -> Path:
    """An image whose setup.sh never ran."""
    return unpacked(release, tmp_path / "autograder")


def test_if_grading_fails_the_student_reads_that_it_is_not_their_fault(example_class: Path, no_image: Path) -> None:
    found = results(no_image, example_class / "gus")
    assert found["score"] == 0
    assert "This is a fault of the autograder and not of your work" in found["output"]


def test_if_grading_fails_instructors_read_why(no_image: Path) -> None:
    done = run_autograder(no_image)
    assert f"This submission was not graded: FileNotFoundError: [Errno 2] No such file or directory: '{no_image}" in (
        done.stdout + done.stderr
    )


def test_grading_that_takes_too_long_is_stopped_with_a_message(example_class: Path, image: Path) -> None:
    script = image / "run_autograder"
    as_released = script.read_text(encoding="utf-8")
    at_once, count = re.subn(r"(?m)^GRADING_SECONDS = .*", "GRADING_SECONDS = 0", as_released)
    assert count == 1
    script.write_text(at_once, encoding="utf-8")
    try:
        found = results(image, example_class / "gus")
    finally:
        script.write_text(as_released, encoding="utf-8")
    assert found["score"] == 0
    assert "please tell your instructor" in found["output"]


def test_setup_names_the_image_to_choose_if_python_is_too_old(release: Path, tmp_path: Path) -> None:
    # A system with an older Python and nothing else to install: both programs that show it are substitutes.
    programs = {
        "python3": '[ "$1" = --version ] && echo "Python 3.10.12"',
        "apt-get": "exit 0",
        "dirname": f'exec {shutil.which("dirname")} "$@"',
    }
    for name, line in programs.items():
        program = tmp_path / name
        program.write_text(f"#!{shutil.which('bash')}\n{line}\n", encoding="utf-8")
        program.chmod(0o755)
    done = subprocess.run(
        [str(shutil.which("bash")), release / "setup.sh"], env={"PATH": str(tmp_path)}, capture_output=True, text=True
    )
    assert done.returncode != 0
    assert "The grader needs Python 3.11 or later, and this image has Python 3.10.12." in done.stderr


@pytest.mark.parametrize("is_there", [True, False])
def test_setup_takes_the_python_of_the_course_or_says_which_one_grades(
    release: Path, tmp_path: Path, is_there: bool
) -> None:
    # The programs of a system with Python 3.12. Making an environment ends the script.
    programs = {
        "python3": 'case "$*" in *venv*) echo 3.12 makes it >&2; exit 9;; *format*) exit 1;; '
        "--version) echo Python 3.12.3;; esac",
        "apt-get": 'case "$*" in *python3.*) exit 100;; esac',
        "dirname": f'exec {shutil.which("dirname")} "$@"',
    }
    if is_there:
        programs[f"python{COURSE.python}"] = (
            'case "$*" in *venv*) echo the one of the course makes it >&2; exit 9;; esac'
        )
    for name, line in programs.items():
        program = tmp_path / name
        program.write_text(f"#!{shutil.which('bash')}\n{line}\n", encoding="utf-8")
        program.chmod(0o755)
    done = subprocess.run(
        [str(shutil.which("bash")), release / "setup.sh"], env={"PATH": str(tmp_path)}, capture_output=True, text=True
    )
    assert done.returncode == 9
    assert done.stderr == (
        "the one of the course makes it\n"
        if is_there
        else f"autograder.yml names Python {COURSE.python}, and this image has none: Python 3.12.3 grades.\n"
        "Set `python` in autograder.yml to a version that the image has, or choose another base image.\n"
        "3.12 makes it\n"
    )


def test_everything_that_decides_a_score_is_released_unchanged(release: Path) -> None:
    for name in ("grader", "solutions", "exercises"):
        files = [path for path in (REPOSITORY / name).rglob("*") if path.suffix in {".py", ".ini", ".yml", ".json"}]
        assert files
        for path in files:
            assert path.read_bytes() == (release / path.relative_to(REPOSITORY)).read_bytes(), path
    assert (release / "autograder.yml").read_bytes() == (REPOSITORY / "autograder.yml").read_bytes()


def test_a_release_replaces_an_earlier_one(release: Path) -> None:
    (release / "grader" / "gone.py").touch()
    assert run_grader(REPOSITORY, "release", "gradescope", release).returncode == 0
    assert not (release / "grader" / "gone.py").exists()
    assert not [path for path in release.rglob("*") if "__pycache__" in path.parts]


def test_a_folder_with_other_files_is_unchanged(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").touch()
    done = run_grader(REPOSITORY, "release", "gradescope", tmp_path)
    assert done.returncode == 2
    assert "holds 'thesis.tex', which is from no release: name an empty folder" in done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.tex"]


def test_a_release_inside_the_course_is_refused() -> None:
    done = run_grader(REPOSITORY, "release", "gradescope", REPOSITORY / "exercises" / "autograder")
    assert done.returncode == 2
    assert "lies in the course's own repository: name a folder outside it" in done.stderr
    assert not (REPOSITORY / "exercises" / "autograder").exists()
