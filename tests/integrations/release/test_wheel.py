"""The student's wheel: its contents, its requirements, and that it works alone."""

from __future__ import annotations

import ast
import importlib.metadata
import shutil
import sys
import tomllib
import zipfile
from pathlib import Path

import courses
import pytest
from courses import COURSE, REPOSITORY
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from received import make_environment, run

from grader.course.model import load_course
from grader.integrations.github.github_release import release_github
from grader.integrations.release import ReleaseError
from grader.integrations.release.leaks import scan
from grader.integrations.release.wheel import build_wheel, dependencies
from grader.quizzes.practice_items import read_practice

pytestmark = pytest.mark.proof(part="releases")


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_wheel(tmp_path_factory.mktemp("wheel"), COURSE)


@pytest.fixture(scope="module")
def released(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The repository that students of this course receive. Tests must not write to it."""
    folder = tmp_path_factory.mktemp("github") / "attention"
    release_github(folder, COURSE)
    return folder


@pytest.fixture(scope="module")
def programs(released: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The programs of an environment in which pip installed only the wheel of the released repository."""
    programs = make_environment(tmp_path_factory.mktemp("student") / "environment")
    [wheel] = (released / "course").glob("*.whl")
    done = run(programs / "pip", "install", "--no-deps", "--no-index", wheel, folder=released)
    assert done.returncode == 0, done.stderr
    done = run(programs / "python", "-c", "import grader.suites", folder=released)
    assert "No module named 'grader.suites'" in done.stderr
    return programs


@pytest.fixture
def checkout(released: Path, tmp_path: Path) -> Path:
    return shutil.copytree(released, tmp_path / "mine")


def copy_with_project(root: Path) -> Path:
    courses.copy_course(root)
    shutil.copy(REPOSITORY / "pyproject.toml", root)
    courses.leave_out_signatures(root)
    return root


def modules(wheel: Path) -> set[str]:
    """Return the modules of the grader in a wheel, with dots."""
    with zipfile.ZipFile(wheel) as archive:
        names = [name for name in archive.namelist() if name.startswith("grader/") and name.endswith(".py")]
    names = [name for name in names if not name.startswith("grader/received/")]
    return {name.removesuffix(".py").removesuffix("/__init__").replace("/", ".") for name in names}


def test_the_same_sources_make_the_same_bytes(wheel: Path, tmp_path: Path) -> None:
    again = build_wheel(tmp_path / "elsewhere", COURSE)
    assert again.name == wheel.name
    assert again.read_bytes() == wheel.read_bytes()


def test_other_sources_have_another_version_so_that_pip_replaces_the_old_one(wheel: Path, tmp_path: Path) -> None:
    root = copy_with_project(tmp_path / "course")
    with open(root / "exercises" / "README.md", "a", encoding="utf-8") as file:
        file.write("One more line.\n")
    assert build_wheel(tmp_path / "one", COURSE).name.startswith("attention_from_scratch_student-2026.2+")
    assert build_wheel(tmp_path / "two", load_course(root)).name != wheel.name


def test_a_version_that_no_wheel_can_have_is_refused(tmp_path: Path) -> None:
    root = copy_with_project(tmp_path / "course")
    courses.replace(root / "autograder.yml", '"2026.2"', '"spring"')
    with pytest.raises(ReleaseError, match="'spring' cannot be that of a wheel: write numbers"):
        build_wheel(tmp_path / "wheel", load_course(root))


def test_it_holds_no_hidden_test_no_solution_and_nothing_of_the_instructors(wheel: Path) -> None:
    held = modules(wheel)
    # Written out here, so that a folder that is missing in the grader's own list fails the test.
    withheld = ["course.new", "suites", "audit", "cluster", "classes", "integrations", "nbgrader", "cli.instructor"]
    assert {
        "grader.cli.student_cli",
        "grader.engine.engine_server",
        "grader.sandbox.worker",
        "grader.testing.checks",
    } <= held
    assert not [name for name in held for folder in withheld if f"{name}.".startswith(f"grader.{folder}.")]
    with zipfile.ZipFile(wheel) as archive:
        # The engine's module runs solutions, and holds none.
        names = set(archive.namelist()) - {"grader/engine/failure_matrix.py"}
        assert not [name for name in names if "solution" in name or name.endswith(".yml.j2")]
        assert "grader/py.typed" in archive.namelist()


def test_it_holds_the_names_of_mistakes_only_if_students_may_read_them_before_the_due_date(
    wheel: Path, tmp_path: Path
) -> None:
    without = build_wheel(tmp_path / "wheel", load_course(copy_with_project(tmp_path / "course")))
    held = []
    for path in (wheel, without):
        with zipfile.ZipFile(path) as archive:
            held.append("grader/received/exercises/checks/signatures.json" in archive.namelist())
    assert held == [True, False]


def test_its_requirements_are_exactly_what_it_imports(wheel: Path) -> None:
    imported = set()
    with zipfile.ZipFile(wheel) as archive:
        for name in archive.namelist():
            if name.endswith(".py"):
                for node in ast.walk(ast.parse(archive.read(name))):
                    match node:
                        case ast.Import():
                            imported |= {alias.name.split(".")[0] for alias in node.names}
                        case ast.ImportFrom(module=str(module)):
                            imported.add(module.split(".")[0])
    distributions = importlib.metadata.packages_distributions()
    names = {name for module in imported - sys.stdlib_module_names for name in distributions.get(module, ())}
    needed = set(map(canonicalize_name, names))
    asked = {canonicalize_name(Requirement(one).name) for one in dependencies()}
    # The wheel itself, an optional library for plots, and libraries that only `grader build` needs.
    assert needed - {"attention-from-scratch", "matplotlib", "nbformat", "jupytext", "nbgrader"} <= asked
    # The engine passes it to pytest as a plugin.
    assert asked - needed == {"pytest-json-report"}
    project = tomllib.loads((REPOSITORY / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert {*map(Requirement, dependencies())} <= {*map(Requirement, project["dependencies"])}


def test_with_it_alone_a_student_checks_answers(programs: Path, checkout: Path) -> None:
    shutil.copy(REPOSITORY / "solutions" / "simple_attention.py", checkout / "exercises")
    done = run(programs / "grader", "check", "softmax_naive", "--html", "check.html", folder=checkout)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "<title>" in (checkout / "check.html").read_text(encoding="utf-8")
    assert "1 of 1 exercise passes the visible tests." in done.stdout


@pytest.mark.parametrize(
    ("exercise", "changes", "sentences"),
    [
        (
            "simple_self_attention",
            [("softmax_stable(scores, dim=-1)", "softmax_stable(scores, dim=0)")],
            ["Softmax runs along the columns: they sum to one, but the rows do not."],
        ),
        (
            "softmax_naive",
            [("torch.exp(x)\n", "x.exp_()\n"), ("sum(dim=dim", "sum(dim=-1")],
            ["The sum always runs along the last dimension", "The exponentials overwrote the caller's entries."],
        ),
    ],
    ids=["one mistake", "two mistakes"],
)
def test_with_it_alone_a_student_reads_what_the_mistake_is(
    exercise: str, changes: list[tuple[str, str]], sentences: list[str], programs: Path, checkout: Path
) -> None:
    answers = checkout / "exercises" / "simple_attention.py"
    shutil.copy(REPOSITORY / "solutions" / "simple_attention.py", answers)
    for old, new in changes:
        courses.replace(answers, old, new)
    done = run(programs / "grader", "check", exercise, folder=checkout)
    assert done.returncode == 1
    text = " ".join(done.stdout.split())
    assert all(sentence in text for sentence in sentences), text


def test_with_it_alone_a_student_runs_pytest(programs: Path, checkout: Path) -> None:
    shutil.copy(REPOSITORY / "solutions" / "simple_attention.py", checkout / "exercises")
    done = run(
        programs / "python", "-m", "pytest", "-q", "checks/test_simple_attention.py", folder=checkout / "exercises"
    )
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize(
    "arguments",
    [
        ("quiz", "--help"),
        ("practice", "simple_attention", "--page", "practice.html"),
        ("doctor",),
        ("export", "--help"),
    ],
)
def test_with_it_alone_the_other_commands_work(arguments: tuple[str, ...], programs: Path, checkout: Path) -> None:
    done = run(programs / "grader", *arguments, folder=checkout)
    assert done.returncode == 0, done.stdout + done.stderr


def test_pip_can_install_the_released_requirements(programs: Path, released: Path) -> None:
    done = run(programs / "pip", "install", "--dry-run", "-r", "requirements.txt", folder=released)
    assert done.returncode == 0, done.stderr


def test_every_released_file_and_git_object_is_free_of_secrets(released: Path) -> None:
    assert scan(released, COURSE) == []


def test_students_receive_the_answers_of_practice_items(released: Path) -> None:
    path = released / "exercises" / "checks" / "practice.json"
    assert path.read_bytes() == (COURSE.checks / "practice.json").read_bytes()
    assert read_practice(path)["self_attention"].items["only_one_key"].explanation
