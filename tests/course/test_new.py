"""A new course works unchanged outside this repository, and new units and exercises list what is still to do."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from courses import REPOSITORY, run_grader
from received import make_environment, run
from typer.testing import CliRunner

from grader.cli.instructor import app
from grader.course.build import build
from grader.course.model import Course, load_course
from grader.course.new import NewError, new_course, new_exercise, new_unit, to_do
from grader.errors import GraderError
from grader.integrations.github.github_release import release_github
from grader.integrations.release import ReleaseError
from grader.integrations.release.folder_releases import release_classroom50, release_gradescope

TITLE = 'Plain "Python": lists'
WRONG = """\
def mean(numbers):
    if not numbers:
        raise ValueError("none")
    return sum(numbers) / len(numbers)


def median(numbers):
    return sorted(numbers)[len(numbers) // 2]
"""


@pytest.fixture
def course(tmp_path: Path) -> Path:
    new_course(tmp_path / "course", TITLE)
    return tmp_path / "course"


def test_it_has_the_title_and_nothing_to_do(course: Path) -> None:
    assert load_course(course).name == TITLE
    assert to_do(load_course(course)) == []
    assert (course / ".gitignore").is_file()


def test_exercises_have_the_pytest_setup_of_this_course(course: Path) -> None:
    setup = Path("exercises", "checks", "conftest.py")
    assert (course / setup).read_bytes() == (REPOSITORY / setup).read_bytes()


def test_a_course_inside_a_submission_is_refused_before_anything_is_written(course: Path, tmp_path: Path) -> None:
    arguments = ["--course", course, "grade", course, "--student", "ada", "--out", tmp_path / "reports"]
    done = CliRunner().invoke(app, [*map(str, arguments)])
    assert done.exit_code == 2
    assert f"{course} lies in the submission {course}: give your own course, --course DIR." in done.stderr
    assert not (tmp_path / "reports").exists()


def test_a_folder_that_is_not_empty_is_not_changed(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(NewError, match="is not empty"):
        new_course(tmp_path, TITLE)
    assert [path.name for path in tmp_path.iterdir()] == ["notes.txt"]


def test_a_new_exercise_is_in_four_files_marked_with_what_is_to_do(course: Path) -> None:
    before = (course / "autograder.yml").read_text(encoding="utf-8")
    written = new_exercise(load_course(course), "averages", "spread")
    assert sorted(path.relative_to(course).as_posix() for path in written) == [
        "autograder.yml",
        "exercises/checks/test_averages.py",
        "solutions/averages.py",
        "suites/averages/spread.py",
    ]
    assert (course / "autograder.yml").read_text(encoding="utf-8") == f"{before}      spread: 1\n"
    assert list(load_course(course).units["averages"].exercises) == ["mean", "median", "spread"]
    files = {line.partition(":")[0] for line in to_do(load_course(course))}
    assert files == {path.relative_to(course).as_posix() for path in written} - {"autograder.yml"}


ANSWER = json.dumps(
    {"grade": False, "grade_id": "NAME", "locked": False, "schema_version": 3, "solution": True, "task": False}
)
SOLVED = """

# %% nbgrader=ANSWER
def spread(scores: torch.Tensor, keys: torch.Tensor, count: int, p: float = 0.5) -> torch.Tensor:
    \"\"\"Measure. Takes `scores` (…, T_q, T_k) and `keys` (T_k, d).

    - each result is the largest score of its row,
      minus the smallest
    - "float32" and float64 both work
    - gradients flow to the scores
    - the arguments are not changed
    \"\"\"
    # TODO: Write it.
    ### BEGIN SOLUTION
    largest = scores.amax(-1)
    return largest - scores.amin(-1) + keys.sum()
    ### END SOLUTION
"""


def solve(course: Path, name: str, solved: str) -> None:
    """Add this source to the unit's, which imports torch."""
    source = course / "solutions" / "averages.py"
    cell = solved.replace("ANSWER", ANSWER.replace("NAME", name))
    source.write_text(f"{source.read_text(encoding='utf-8')}\n# %%\nimport torch\n{cell}", encoding="utf-8")


def test_a_solution_gives_its_suite_and_its_visible_test(course: Path) -> None:
    solve(course, "spread", SOLVED)
    source = (course / "solutions" / "averages.py").read_bytes()
    written = new_exercise(load_course(course), "averages", "spread")
    assert [path.relative_to(course).as_posix() for path in written] == [
        "autograder.yml", "exercises/checks/test_averages.py", "suites/averages/spread.py",
    ]  # fmt: skip
    assert (course / "solutions" / "averages.py").read_bytes() == source
    suite = written[-1].read_text(encoding="utf-8")
    for part in (
        '@rule("each result is the largest score of its row, minus the smallest")\ndef test_each_result_is_the_largest',
        "    scores = fresh(5, 3, 7)\n    keys = fresh(7, 4)\n    count = 6\n",
        "expect_close(student.spread(scores, keys, count), expected(scores, keys, count))",
        "lambda fresh, batch=5, T_q=3, T_k=7, d=4, count=6, **dtype: [",
        'right_results(\n        "float32_and_float64_both_work", "\\"float32\\" and float64 both work",',
        'right_gradients(\n        "gradients_flow_to_the_scores", "gradients flow to the scores",',
        'kept_arguments(\n        "the_arguments_are_not_changed", "the arguments are not changed",',
        'example=Example({"scores": numbers(5, 3, 7), "keys": numbers(7, 4, seed=1), "count": 6}),',
        'replace("return largest - scores.amin(-1) + keys.sum()", "pass")',
    ):
        assert part in suite
    checks = written[1].read_text(encoding="utf-8")
    assert 'rule="each result is the largest score of its row, minus the smallest"' in checks
    assert checks.endswith("test_contract = contract_tests(__file__)\n")
    lines = to_do(load_course(course), "spread")
    assert [line.partition(": ")[0].rpartition(":")[0] for line in lines] == [
        *["suites/averages/spread.py"] * 6, *["exercises/checks/test_averages.py"] * 2,
    ]  # fmt: skip


def test_the_build_says_where_a_new_exercise_is_not_written_and_passes_when_it_is(course: Path) -> None:
    solve(course, "spread", SOLVED)
    written = new_exercise(load_course(course), "averages", "spread")
    done = run_grader(course, "build")
    assert done.returncode == 2
    assert "suites/averages/spread.py:25: NotImplementedError." in done.stderr
    assert "suites/averages/spread.py:24: TODO (author): compute the result in float64" in done.stdout
    suite = written[-1].read_text(encoding="utf-8")
    right = "low, high = scores.double().aminmax(dim=-1)\n    return high - low + keys.double().sum()"
    written[-1].write_text(suite.replace("raise NotImplementedError", right), encoding="utf-8")
    done = run_grader(course, "build")
    assert done.returncode == 0, done.stderr
    assert "no hidden test tries" not in done.stdout
    done = run_grader(course, "audit", "--quick", "--exercise", "spread")
    assert "suites/averages/spread.py:31: TODO (author): say what should be so." in done.stdout
    assert "solutions" not in done.stdout


MODULE = """

# %% nbgrader=ANSWER
class Doubled(torch.nn.Module):
    \"\"\"Two times a layer: (T, d_in) -> (T, d_out).

    - the output is two times that of the layer
    - works in float64 after .double()
    - gradients reach the inputs and the layer
    - the inputs are not changed
    \"\"\"

    def __init__(self, d_in: int, d_out: int) -> None:
        super().__init__()
        # TODO: Make the layer.
        ### BEGIN SOLUTION
        self.layer = torch.nn.Linear(d_in, d_out)
        ### END SOLUTION

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        # TODO: Use it.
        ### BEGIN SOLUTION
        return 2 * self.layer(x)
        ### END SOLUTION
"""


def test_a_class_gives_its_suite_too(course: Path) -> None:
    solve(course, "Doubled", MODULE)
    [*_, suite] = new_exercise(load_course(course), "averages", "Doubled")
    text = suite.read_text(encoding="utf-8")
    assert 'module = student.queue("Doubled", d_in, d_out)' in text
    right = "return 2 * (x.double() @ parameters['layer_weight'].double().mT + parameters['layer_bias'].double())"
    suite.write_text(text.replace("raise NotImplementedError", right), encoding="utf-8")
    done = run_grader(course, "build")
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    ("name", "solved", "problem"),
    [
        ("spread", "def spread(x):\n    return x\n", "the docstring of spread states no rule: write each"),
        ("Spread", 'class Spread:\n    """One.\n\n    - two\n    """\n', "is neither a function nor a class with `f"),
        ("spread", "def spread(x:\n", "correct it"),
        ("test_spread", "", "pytest would run test_spread as a test: choose a name that does not begin with test_"),
    ],
)
def test_a_solution_that_does_not_say_enough_is_refused_with_its_line(
    course: Path, name: str, solved: str, problem: str
) -> None:
    solve(course, name, solved)
    before = {path: path.read_bytes() for path in course.rglob("*") if path.is_file()}
    with pytest.raises(GraderError, match=problem):
        new_exercise(load_course(course), "averages", name)
    assert {path: path.read_bytes() for path in course.rglob("*") if path.is_file()} == before


def test_a_new_unit_comes_last_and_is_due_a_week_later(course: Path) -> None:
    (course / "autograder.yml").write_text((course / "autograder.yml").read_text() + "\n# The end.\n")
    new_unit(load_course(course), "sums", "Sums: a start")
    first, second = load_course(course).units.values()
    assert (second.title, (second.due - first.due).days, list(second.exercises)) == (
        "Sums: a start", 7, ["example_of_sums"],
    )  # fmt: skip
    assert (course / "autograder.yml").read_text().endswith("\n# The end.\n")


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("two words", "cannot be a name"),
        ("class", "cannot be a name"),
        ("Mean", "already has"),
        ("averages", "already"),
    ],
)
def test_an_invalid_or_used_name_is_refused_and_nothing_is_written(course: Path, name: str, problem: str) -> None:
    before = {path: path.read_bytes() for path in course.rglob("*") if path.is_file()}
    with pytest.raises(NewError, match=problem):
        new_exercise(load_course(course), "averages", name)
    with pytest.raises(NewError, match=problem):
        new_unit(load_course(course), name, "A title")
    assert {path: path.read_bytes() for path in course.rglob("*") if path.is_file()} == before


def test_exercises_on_one_line_are_an_error_with_the_line(course: Path) -> None:
    settings = course / "autograder.yml"
    text = settings.read_text(encoding="utf-8")
    settings.write_text(
        text.replace("exercises:\n      mean: 1\n      median: 1\n", "exercises: {mean: 1, median: 1}\n")
    )
    with pytest.raises(NewError, match=r"autograder\.yml:\d+: write exercises with one entry on each line"):
        new_exercise(load_course(course), "averages", "spread")


def test_a_module_that_cannot_be_imported_fails_the_build(course: Path) -> None:
    settings = course / "autograder.yml"
    settings.write_text(settings.read_text(encoding="utf-8") + "modules: [nothing_like_it]\n", encoding="utf-8")
    done = CliRunner().invoke(app, ["build", "--course", str(course)])
    assert done.exit_code == 2
    assert "autograder.yml: modules: The module nothing_like_it cannot be imported" in done.stderr


@pytest.mark.parametrize("release", [release_github, release_classroom50, release_gradescope])
def test_a_course_that_is_not_built_is_not_released(
    course: Path, tmp_path: Path, release: Callable[[Path, Course], object]
) -> None:
    with pytest.raises(ReleaseError, match=r"exercises/averages\.py is not what `grader build` makes of its source"):
        release(tmp_path / "released", load_course(course))
    assert not (tmp_path / "released").exists()


def test_students_cannot_run_the_hidden_tests_of_a_course_without_the_grader(course: Path, tmp_path: Path) -> None:
    build(load_course(course))
    with pytest.raises(ReleaseError, match="--grading key needs the grader in the course's own repository"):
        release_github(tmp_path / "released", load_course(course), "key")
    assert not (tmp_path / "released").exists()


@pytest.fixture(scope="module")
def installed_grader(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the command `grader` of an environment in which pip installed only the instructor's wheel."""
    sources = tmp_path_factory.mktemp("sources")
    shutil.copytree(REPOSITORY / "grader", sources / "grader", ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("pyproject.toml", "setup.py", "README.md", "LICENSE"):
        shutil.copy(REPOSITORY / name, sources)
    programs = make_environment(tmp_path_factory.mktemp("instructor") / "environment")
    python = Path(sys.executable)
    offline = ("--no-deps", "--no-index")
    done = run(python, "-m", "pip", "wheel", "--no-build-isolation", *offline, "-w", "dist", ".", folder=sources)
    assert done.returncode == 0, done.stderr
    [wheel] = (sources / "dist").glob("*.whl")
    done = run(programs / "pip", "install", *offline, wheel, folder=sources)
    assert done.returncode == 0, done.stderr
    return programs / "grader"


@pytest.mark.proof(part="releases")
def test_an_installed_grader_makes_builds_grades_audits_checks_and_releases_a_new_course(
    installed_grader: Path, tmp_path: Path
) -> None:
    def grader(folder: Path, *arguments: object) -> subprocess.CompletedProcess[str]:
        return run(installed_grader, *arguments, folder=folder)

    course = tmp_path / "course"
    assert grader(tmp_path, "new", "course", course, "--title", TITLE).returncode == 0
    for command in (
        ("build",),
        ("new", "unit", "sums"),
        ("new", "exercise", "sums", "twice"),
        ("build",),
        ("audit",),
        ("release", "github", tmp_path / "repository"),
        ("release", "nbgrader", tmp_path / "nbgrader"),
        ("release", "classroom50", tmp_path / "bundle"),
        ("release", "gradescope", tmp_path / "gradescope"),
    ):
        done = grader(course, *command)
        assert done.returncode == 0, (command, done.stdout, done.stderr)
    assert "suites/sums/twice.py:12: TODO (author): write a test for each rule." in grader(course, "build").stdout
    # Only the hidden tests of this course, not those of the course that the grader's package contains.
    assert (tmp_path / "gradescope" / "suites" / "averages").is_dir()
    assert not (tmp_path / "gradescope" / "grader" / "suites").exists()
    assert "configure(c, course=" in (tmp_path / "nbgrader" / "nbgrader_config.py").read_text(encoding="utf-8")

    submission = tmp_path / "class" / "ada"
    shutil.copytree(tmp_path / "repository", submission, ignore=shutil.ignore_patterns(".git"))
    (submission / "exercises" / "averages.py").write_text(WRONG, encoding="utf-8")
    done = grader(tmp_path, "--course", course, "grade", tmp_path / "class", "--out", tmp_path / "reports")
    assert done.returncode == 0, done.stderr
    report = json.loads((tmp_path / "reports" / "ada.json").read_text(encoding="utf-8"))
    mean, median = report["units"]["averages"]["exercises"].values()
    assert mean["points"] == mean["possible"]
    assert [found["name"] for found in median["misconceptions"]] == ["upper_of_the_two"]

    checked = grader(submission, "check", "averages", "--course", course)
    assert checked.returncode == 1
    assert "1 of 2 exercises" in checked.stdout
