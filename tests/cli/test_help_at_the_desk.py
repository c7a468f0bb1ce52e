"""`grader hint`, `show`, `quiz`, `practice`, `reset`, `solution` and `release solutions`, as they are typed."""

from __future__ import annotations

import contextlib
import shutil
from pathlib import Path

import pytest
from courses import REPOSITORY
from typer.testing import CliRunner, Result

from grader.cli.instructor import app

# A visible test of an exercise in the small course.
DEFINES = """
@pytest.mark.example("{0}")
def test_{0}(student):
    '''It is there.'''
    assert callable(student.{0})
"""


@pytest.fixture(scope="module")
def ada(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A student's folder in which unit 1 was written, and not checked yet."""
    folder = tmp_path_factory.mktemp("class") / "ada"
    shutil.copytree(REPOSITORY / "exercises", folder / "exercises", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(REPOSITORY / "solutions" / "simple_attention.py", folder / "exercises")
    return folder


def grader(folder: Path, *arguments: str) -> Result:
    with contextlib.chdir(folder):
        return CliRunner().invoke(app, arguments)


def test_a_hint_is_shown_from_inside_the_folder_of_exercises_too(ada: Path) -> None:
    assert "hint 1 of 3" in grader(ada, "hint", "context_vector").stdout
    assert "hint 2 of 3" in grader(ada / "exercises", "hint", "context_vector").stdout


@pytest.mark.parametrize(
    ("command", "beginning"),
    [
        ("hint", "project_qkv: hint 1 of 3\n"),
        ("show", "self_attention\n  · project_qkv "),
        ("reset", "project_qkv in exercises/self_attention.py is as you received it: nothing was changed."),
        ("quiz", "Quiz 2: "),
        ("practice", "Practice 2: "),
    ],
)
def test_without_a_name_it_is_the_exercise_or_the_unit_that_is_next(ada: Path, command: str, beginning: str) -> None:
    done = grader(ada, command)
    assert done.stdout.startswith(beginning), done.output


def test_the_program_alone_calls_the_same_exercise_next(ada: Path) -> None:
    assert "Next: write project_qkv (exercises/self_attention.py, line " in grader(ada).stdout


def test_a_reset_names_the_file_and_the_backup(ada: Path) -> None:
    file = ada / "exercises" / "causal_attention.py"
    stub = file.read_text(encoding="utf-8")
    file.write_text(stub.replace("raise NotImplementedError()", "return 0"), encoding="utf-8")
    done = grader(ada, "reset", "causal_mask")
    assert done.exit_code == 0, done.output
    sentence, _, backup = done.stdout.strip().partition(" Your old file is ")
    assert sentence == "causal_mask in exercises/causal_attention.py is as you received it again."
    assert Path(backup).read_text(encoding="utf-8") == stub.replace("raise NotImplementedError()", "return 0")
    assert "nothing was changed" in grader(ada, "reset", "causal_mask").stdout


def test_without_a_name_something_has_to_be_next(tmp_path: Path, own_small_course: Path) -> None:
    course = own_small_course / "autograder.yml"
    course.write_text(course.read_text(encoding="utf-8").replace("    quiz: 1\n", ""), encoding="utf-8")
    tests = "import pytest\n" + "".join(DEFINES.format(name) for name in ("add", "Scale"))
    (own_small_course / "exercises" / "checks" / "test_sums.py").write_text(tests, encoding="utf-8")
    folder = tmp_path / "ada"
    folder.mkdir()
    shutil.copy(own_small_course / "solutions" / "sums.py", folder)
    done = grader(folder, "reset", "--course", str(own_small_course))
    assert (done.exit_code, done.stdout) == (2, ""), done.output
    assert done.stderr.endswith("All exercises pass, so none is next: write the name of the one that you mean.\n")


def test_a_unit_that_does_not_exist_has_no_solutions_to_publish(ada: Path) -> None:
    done = grader(ada, "release", "solutions", "simple_atention", ".")
    assert (done.exit_code, done.stdout) == (2, "")
    assert "There is no unit 'simple_atention'" in done.stderr


def test_a_solution_that_is_not_published_is_not_printed(ada: Path) -> None:
    done = grader(ada, "solution", "dot_product")
    assert (done.exit_code, done.stdout) == (2, "")
    assert "simple_attention" in done.stderr
