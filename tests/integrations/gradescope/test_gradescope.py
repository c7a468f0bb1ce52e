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
from courses import BUILDABLE, COURSE, REPOSITORY, run_grader

from grader.course.build import build
from grader.course.model import load_course
from grader.integrations.release import ReleaseError
from grader.integrations.release.folder_releases import release_gradescope

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


def test_files_that_cannot_be_read_or_run_are_no_fault_of_the_grader(image: Path, tmp_path: Path) -> None:
    for name, content in {
        "simple_attention.py": b"def dot_product(a, b:\n",
        "self_attention.py": b"\xff\xfe\x00",
        "causal_attention.ipynb": b"{",
        "positional_encoding.py": b"import os\nos._exit(0)\n",
        "bigram_language_model.py": b"import resource\nresource.setrlimit(resource.RLIMIT_CPU, (0, 0))\n",
        "simple_attention_quiz.md": b"\x00" * 99,
    }.items():
        (tmp_path / name).write_bytes(content)
    (tmp_path / "multi_head_attention.py").mkdir()
    (tmp_path / "transformer_block.py").symlink_to("/etc/passwd")
    found = results(image, tmp_path)
    assert found["score"] == 0
    outputs = {test["name"].partition(":")[0]: test["output"] for test in reversed(found["tests"])}
    assert "The cause is line 1 of simple_attention.py: it is not valid Python." in outputs["simple_attention"]
    assert "causal_attention.ipynb is not a notebook" in outputs["causal_attention"]
    assert "multi_head_attention.py is a folder where a file belongs" in outputs["multi_head_attention"]
    assert "transformer_block.py is a symbolic link" in outputs["transformer_block"]


@pytest.fixture(scope="module")
def unit_release(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("release") / "autograder"
    done = run_grader(REPOSITORY, "release", "gradescope", folder, "--unit", "multi_head_attention")
    assert done.returncode == 0, done.stderr
    return folder


def test_an_assignment_of_one_unit_shows_and_counts_that_unit_alone(
    example_class: Path, image: Path, unit_release: Path, tmp_path: Path
) -> None:
    # The rest of both releases is the same. The unit needs CausalAttention of an earlier one, which is not handed in.
    shutil.copy(image / "run_autograder", tmp_path)
    shutil.copy(unit_release / "run_autograder", image)
    (tmp_path / "submission").mkdir()
    shutil.copy(example_class / "ada" / "exercises" / "multi_head_attention.py", tmp_path / "submission")
    try:
        found = results(image, tmp_path / "submission")
    finally:
        shutil.copy(tmp_path / "run_autograder", image)
    assert {test["name"].partition(":")[0] for test in found["tests"]} == {"multi_head_attention"}
    assert found["score"] == sum(test["max_score"] for test in found["tests"])
    assert "It was tested with a substitute for your CausalAttention" in json.dumps(found["tests"])
    assert "multi_head_attention, quiz: multi_head_attention_quiz.md is missing" in found["output"]


def test_a_unit_that_the_course_lacks_is_refused(tmp_path: Path) -> None:
    done = run_grader(REPOSITORY, "release", "gradescope", tmp_path / "autograder", "--unit", "attention")
    assert (done.returncode, done.stderr.partition(":")[0]) == (2, "There is no unit 'attention'")
    assert not (tmp_path / "autograder").exists()


# Gradescope says that the autograder failed if there is no valid results.json: docs/troubleshooting.md of
# gradescope/autograder_samples, "The autograder failed to execute correctly", read on 29 November 2026.
@pytest.mark.parametrize(
    ("python", "why"),
    [
        (None, "No such file or directory"),
        ("exit 3", "grader grade ended with exit code 3, for the reason above."),
        ("kill -9 $$", "grader grade was killed by signal 9. For 9, give the container more memory."),
        ('case "$*" in *export*) exit 3;; esac', "grader export ended with exit code 3, for the reason above."),
        ("exec tail -f /dev/null", "grader grade took more than 0 seconds."),
    ],
)
def test_a_fault_of_the_grader_leaves_no_result_and_says_why(
    release: Path, tmp_path: Path, python: str | None, why: str
) -> None:
    root = unpacked(release, tmp_path / "autograder")
    script = root / "run_autograder"
    seconds = "0" if python and "tail" in python else "9 * 60"
    text, count = re.subn("(?m)^GRADING_SECONDS = .*", f"GRADING_SECONDS = {seconds}", script.read_text("utf-8"))
    assert count == 1
    script.write_text(text, encoding="utf-8")
    if python:
        program = root / "venv" / "bin" / "python"
        program.parent.mkdir(parents=True)
        program.write_text(f"#!/bin/bash\n{python}\n", encoding="utf-8")
        program.chmod(0o755)
    (root / "results" / "results.json").write_text('{"score": 1}', encoding="utf-8")  # of an earlier run
    done = run_autograder(root)
    assert done.returncode == 1
    assert done.stderr.startswith("This submission was not graded, and has no score: ")
    assert why in done.stderr
    assert not list((root / "results").iterdir())


def set_up(release: Path, folder: Path, programs: dict[str, str]) -> subprocess.CompletedProcess[str]:
    """Run setup.sh with these programs alone, each a line of bash, written to `folder`."""
    bash, dirname = shutil.which("bash"), shutil.which("dirname")
    for name, line in {**programs, "dirname": f'exec {dirname} "$@"'}.items():
        program = folder / name
        program.write_text(f"#!{bash}\n{line}\n", encoding="utf-8")
        program.chmod(0o755)
    command = [str(bash), str(release / "setup.sh")]
    return subprocess.run(command, env={"PATH": str(folder)}, capture_output=True, text=True)


def test_setup_names_the_image_to_choose_if_python_is_too_old(release: Path, tmp_path: Path) -> None:
    # A system with an older Python and nothing else to install: both programs that show it are substitutes.
    programs = {"python3": '[ "$1" = --version ] && echo "Python 3.10.12"', "apt-get": "exit 0"}
    done = set_up(release, tmp_path, programs)
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
    }
    if is_there:
        programs[f"python{COURSE.python}"] = (
            'case "$*" in *venv*) echo the one of the course makes it >&2; exit 9;; esac'
        )
    done = set_up(release, tmp_path, programs)
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
    assert load_course(release).generated.are_up_to_date()  # so no submission waits until something is built


def test_a_release_replaces_an_earlier_one(release: Path) -> None:
    (release / "grader" / "gone.py").touch()
    assert run_grader(REPOSITORY, "release", "gradescope", release).returncode == 0
    assert not (release / "grader" / "gone.py").exists()
    assert not [path for path in release.rglob("*") if "__pycache__" in path.parts]


def test_a_unit_without_hidden_tests_is_refused(own_small_course: Path, tmp_path: Path) -> None:
    (own_small_course / "solutions" / "sums.py").write_text(BUILDABLE, encoding="utf-8")
    course = load_course(own_small_course)
    build(course)
    for path in course.hidden_tests("sums"):
        path.unlink()
    with pytest.raises(ReleaseError, match=r"suites/sums has no hidden tests.*: write add\.py there"):
        release_gradescope(tmp_path / "autograder", course)
    assert not (tmp_path / "autograder").exists()
