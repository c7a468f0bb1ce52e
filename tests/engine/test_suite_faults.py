"""A fault of a suite costs no point: the solution tells it from a student's mistake, and its line is named."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from courses import run_grader

from grader.course.model import Course, load_course
from grader.course.new import new_course
from grader.engine.criteria import Criterion
from grader.engine.failure_matrix import names_in
from grader.engine.grading_processes import LimitExceeded
from grader.engine.runner import Runner
from grader.errors import SuiteFault
from grader.reports.folder import SUITE_FAULTS, suite_faults, write_report
from grader.reports.report_model import Report
from grader.sandbox.processes import ForkServer
from grader.submissions.submission import UnitSource

RIGHT = "def mean(numbers):\n    return sum(numbers) / len(numbers)\n"
TEXT = 'def mean(numbers):\n    return "3"\n'
RAISES = "def mean(numbers):\n    raise KeyError(numbers)\n"
UNDEFINED = "x = 1\n"
FILE = "suites/averages/mean.py"

Run = Callable[[str, str], Runner]


@pytest.fixture
def course(tmp_path: Path) -> Course:
    new_course(tmp_path / "course", "A course")
    return load_course(tmp_path / "course")


@pytest.fixture
def run(course: Course, server: ForkServer) -> Run:
    """Run a test with these two lines on an answer. Its second line is line 3 of its file."""

    def run(check: str, answer: str) -> Runner:
        names: dict[str, Any] = {}
        exec(compile(f"def test_it(student):\n    {check}\n", str(course.root / FILE), "exec"), names)
        criterion = Criterion("averages", "mean", "it", "", (), names["test_it"], course.version)
        runner = Runner(course, server, {"averages": UnitSource("averages.py", (answer,))})
        with closing(runner.client):
            runner.run(criterion)
        [runner.outcome] = runner.outcomes.values()  # type: ignore[attr-defined]
        return runner

    return run


@pytest.mark.parametrize(
    ("check", "error"),
    [
        ("assert student.mean([1, 2]) == cuont", "NameError: name 'cuont' is not defined."),
        ("student.mean([1, 2]).no_such_thing", "AttributeError: 'float' object has no attribute 'no_such_thing'."),
        ("student.maen([1, 2])", "maen is not defined."),
        ("from grader.testing.checks import expect", "ImportError: cannot import name 'expect'"),
        ("raise SystemExit(1)", "SystemExit: 1."),
        ("import pytest; pytest.skip('later')", "Skipped: later."),
    ],
)
@pytest.mark.parametrize("answer", [RIGHT, "def mean(numbers):\n    return 1.0\n"])
def test_what_a_test_raises_with_the_solution_too_is_no_grade(run: Run, check: str, error: str, answer: str) -> None:
    with pytest.raises(SuiteFault) as raised:
        run(check, answer)
    line = 1 if "maen" in check else 2
    assert str(raised.value).startswith(f"{FILE}:{line}: {error}")
    assert str(raised.value).endswith("This is so with the solution too: correct the test it.")


def test_a_changed_test_that_the_solution_fails_is_no_grade(run: Run) -> None:
    check = "from grader.testing.checks import expect_number; expect_number(student.mean([1, 2]), 99, 0.1)"
    with pytest.raises(SuiteFault, match="This is so with the solution too: correct the test it"):
        run(check, RIGHT)


def test_what_a_test_raises_with_an_answer_alone_costs_the_point_and_is_for_the_instructor(run: Run) -> None:
    runner = run("assert student.mean([1, 2]) > 0", TEXT)
    [outcome] = runner.outcomes.values()
    assert (outcome.passed, outcome.reason) == (False, "The result has an unexpected type.")
    [sentence] = runner.suite_faults["averages"]
    assert sentence.startswith(f"{FILE}:2: TypeError: '>' not supported between instances of 'str' and 'int'.")
    assert not any(FILE in str(vars(message)) for message in runner.messages)


@pytest.mark.parametrize("answer", [RIGHT, RAISES, UNDEFINED])
def test_what_the_answer_does_is_no_fault_of_the_suite(run: Run, answer: str) -> None:
    assert run("assert student.mean([1, 2]) > 0", answer).suite_faults == {}


HOSTILE = {
    "an object that equals nothing": "class H:\n    def __eq__(self, _): raise RecursionError\n    __hash__ = None\n"
    "def mean(numbers): return H()\n",
    "a list that lies about its length": "class H(list):\n    def __len__(self): return -(10**30)\n"
    "    def __iter__(self): return iter([self] * 10**9)\ndef mean(numbers): return H([1])\n",
    "another value for each read": "n = 0\ndef mean(numbers):\n    global n\n    n += 1\n"
    "    return [None, 'x', float('nan'), [], {}, b''][n % 6]\n",
    "a generator without end": "import itertools\ndef mean(numbers): return itertools.count()\n",
    "the end of its process": "import os\ndef mean(numbers): os._exit(0)\n",
    "an error of the suite's": "def mean(numbers): raise NameError(\"name 'x' is not defined\")\n",
    "changes to what the solution uses": "import builtins, sys\nbuiltins.sum = builtins.len = None\n"
    "sys.modules.clear()\ndef mean(numbers):\n    numbers.clear()\n    return 'x'\n",
}


@pytest.mark.parametrize("answer", HOSTILE.values(), ids=HOSTILE)
def test_no_answer_makes_a_test_raise_with_the_solution(run: Run, answer: str) -> None:
    """It loses the point, and is graded: so it holds up nobody."""
    runner = run("assert -9 < student.mean([1, 2]) + [0, 1][int(student.mean([1, 2]) == 1.5)] < 9", answer)
    assert [outcome.passed for outcome in runner.outcomes.values()] == [False]


def test_a_solution_that_cannot_be_run_is_a_fault_too(course: Course, run: Run) -> None:
    path = course.solutions / "averages.py"
    path.write_text(f"import nothing_such\n{path.read_text(encoding='utf-8')}", encoding="utf-8")
    with pytest.raises(SuiteFault, match=r"^solutions/averages\.py:1: ModuleNotFoundError"):
        run("assert student.mean([1, 2]) > 0", TEXT)


def test_no_memory_for_the_solution_is_the_limit_of_this_unit_and_no_fault(course: Course, run: Run) -> None:
    """An answer can use up what its grading may take, and this must not hold up anybody."""
    path = course.solutions / "averages.py"
    path.write_text(f"raise MemoryError\n{path.read_text(encoding='utf-8')}", encoding="utf-8")
    with pytest.raises(LimitExceeded):
        run("assert student.mean([1, 2]) > 0", TEXT)


def test_a_solution_leaves_a_module_of_its_name_in_place() -> None:
    """A course's folder suites/averages may be the package `averages`, which tests import from."""
    sys.modules["averages"] = package = ModuleType("averages")
    try:
        assert "mean" in names_in("averages", {"averages": RIGHT})
        assert sys.modules["averages"] is package
    finally:
        del sys.modules["averages"]


def test_the_instructors_file_keeps_what_suites_raised_in_units_that_are_not_graded_again(tmp_path: Path) -> None:
    def write(unit: str, sentence: str, kept: tuple[str, ...] = ()) -> None:
        pytest_report = {"tests": [], SUITE_FAULTS: {unit: [sentence]}}
        write_report(Report.model_construct(student="ada", units={"a": None, "b": None}), pytest_report, tmp_path, kept)

    write("a", "first")
    write("b", "second", ("a",))
    assert suite_faults("ada", tmp_path) == {"a": ["first"], "b": ["second"]}
    assert suite_faults("bela", tmp_path) == {}


# -- by the commands, as an author would read it ---------------------------------------------------------------------

HIDDEN, MEDIAN = FILE, "suites/averages/median.py"
VISIBLE, SOLUTION = "exercises/checks/test_averages.py", "solutions/averages.py"
TEST = '@rule("an empty list raises a ValueError")'
PROBE = "from grader.testing.probes import probe\n\n\n@probe()\ndef means(unit, draw):\n    "
WRONG = "\n\ndef wrong_answers():\n    "
TYPOS = {
    "a bad import": (HIDDEN, "import expect_error,", "import expect_errorr,", "build grade audit"),
    "no Python": (HIDDEN, "for count in (1, 2, 5):", "for count in (1, 2, 5)", "build grade audit"),
    "a wrong name": (HIDDEN, "/ count, within", "/ cuont, within", "build grade audit"),
    "a wrong argument": (HIDDEN, "/ count, within", "/ count, withing", "build grade audit"),
    "a wrong fixture": (HIDDEN, "several_numbers(student: Student, fresh", "several_numbers(student: Student, frsh",
                        "build grade audit"),
    "an exit": (MEDIAN, "WITHIN = 1e-9", "raise SystemExit(3)", "build grade audit"),
    "no list of cases": (HIDDEN, TEST, f'import pytest\n@pytest.mark.parametrize("a", 3)\n{TEST}', "build audit"),
    "a case too short": (HIDDEN, TEST, f'import pytest\n@pytest.mark.parametrize("a, b", [[1]])\n{TEST}',
                         "build audit"),
    "no rule": (HIDDEN, TEST, "", "build grade"),
    "a wrong answer's name": (MEDIAN, "student.median(numbers), low", "student.medain(numbers), low", "build grade"),
    "a visible test": (VISIBLE, "[1, 2, 6]), 3", "[1, 2, 6]), thre", "build"),
    "a visible test that is no Python": (VISIBLE, "nothing(student: Student) -> None:", "nothing(student) ->", "build"),
    "a mistake that is no Python": (MEDIAN, '"list(numbers)"', '"list(numbers"', "build audit"),
    "a mistake with a wrong name": (MEDIAN, '"list(numbers)"', '"list(nubmers)"', "build audit"),
    "a mistake without a name": (MEDIAN, 'mistake("not_sorted", ', "mistake(", "build audit"),
    "a solution": (SOLUTION, "# %% [markdown]\n# ## The mean", "# %%\nimport nothing\n\n# %% [markdown]\n#", "build"),
    "a right answer": (HIDDEN, "import statistics", "import statistic as statistics", "audit"),
    "a right answer's call": (HIDDEN, "statistics.fmean", "statistics.fmaen", "audit"),
    "a probe's name": (HIDDEN, "", f"{PROBE}yield 'a mean', unit.mean(draww.normal(3).tolist())\n", "audit"),
    "a probe's import": (HIDDEN, "", "from grader.testing.probes import prob\n", "build grade audit"),
    "a probe that yields no pair": (HIDDEN, "", f"{PROBE}yield unit.mean([1.0])\n", "audit"),
    "a name in a wrong answer": (MEDIAN, "", f"{WRONG}def smallest(numbers):\n        return lst(numbers)\n", "audit"),
    "a wrong answer's import": (MEDIAN, "", f"{WRONG}import statistc\n\n    def not_sorted__two(numbers):\n"
                                "        return statistc.median(numbers)\n", "audit"),
    "a wrong answer of nothing": (MEDIAN, "", f"{WRONG}def not_sorte__two(numbers):\n        return 1\n", "audit"),
}  # fmt: skip


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A new course that is built."""
    course = tmp_path_factory.mktemp("author") / "course"
    new_course(course, "A course")
    assert run_grader(course, "build").returncode == 0
    return course


@pytest.mark.proof(part="audit")
@pytest.mark.parametrize("typo", TYPOS)
def test_an_authors_typo_is_a_sentence_with_its_file_and_line(built: Path, tmp_path: Path, typo: str) -> None:
    name, old, new, commands = TYPOS[typo]
    course = tmp_path / "course"
    subprocess.run(["cp", "-r", built, course], check=True)
    path = course / name
    text = path.read_text(encoding="utf-8")
    assert not old or text.count(old) == 1
    path.write_text(text.replace(old, new) if old else text + new, encoding="utf-8")
    for command in commands.split():
        given = (built / "solutions", "--student", "ada", "--out", tmp_path / "reports") if command == "grade" else ()
        done = run_grader(course, command, *given)
        assert done.returncode != 0, (command, done.stdout)
        assert f"{name}:" in done.stderr, (command, done.stdout, done.stderr)
        assert "Traceback" not in done.stderr
        assert "INTERNALERROR" not in done.stderr
        assert "─" not in done.stderr
        assert not (tmp_path / "reports" / "ada.json").exists()


@pytest.mark.proof(part="grading")
def test_a_line_that_raises_with_one_answer_is_printed_and_is_in_no_students_report(
    built: Path, tmp_path: Path
) -> None:
    course, students = tmp_path / "course", tmp_path / "class"
    subprocess.run(["cp", "-r", built, course], check=True)
    suite = course / HIDDEN
    text = suite.read_text(encoding="utf-8")
    check = "expect_number(student.mean(numbers), sum(numbers) / count, within=1e-9)"
    suite.write_text(text.replace(check, f"assert student.mean(numbers) > -100\n        {check}"), encoding="utf-8")
    for student, answer in (("ada", RIGHT), ("bela", TEXT)):
        (students / student).mkdir(parents=True)
        (students / student / "averages.py").write_text(answer, encoding="utf-8")
    done = run_grader(course, "grade", students, "--out", tmp_path / "reports")
    assert done.returncode == 0, done.stderr
    [sentence] = suite_faults("bela", tmp_path / "reports")["averages"]
    assert sentence.startswith(f"{HIDDEN}:")
    assert f"- averages: {sentence} bela." in done.stdout.splitlines()
    # A report that is up to date is skipped, and the case stays open.
    again = run_grader(course, "grade", students, "--out", tmp_path / "reports")
    assert f"- averages: {sentence} bela." in again.stdout.splitlines()
    assert HIDDEN not in json.dumps(json.loads((tmp_path / "reports" / "bela.json").read_bytes()))


@pytest.mark.proof(part="grading")
def test_a_changed_test_without_an_end_costs_no_point(built: Path, tmp_path: Path) -> None:
    course = tmp_path / "course"
    subprocess.run(["cp", "-r", built, course], check=True)
    for name, old, new in (
        (HIDDEN, "for count in (1, 2, 5):", "while student.mean([1]):\n        count = 2"),
        ("autograder.yml", "cpu_seconds: 60", "cpu_seconds: 2"),
    ):
        text = (course / name).read_text(encoding="utf-8")
        (course / name).write_text(text.replace(old, new), encoding="utf-8")
    done = run_grader(course, "grade", built / "solutions", "--student", "ada", "--out", tmp_path / "reports")
    assert done.returncode != 0
    assert f"{HIDDEN}:" in done.stderr
    assert "This is so with the solution too: correct the test." in done.stderr
    assert not (tmp_path / "reports" / "ada.json").exists()
