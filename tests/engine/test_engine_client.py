"""The engine grades each submission independently, in any order and any number at once."""

from __future__ import annotations

import dataclasses
import datetime
import os
import signal
from pathlib import Path
from typing import Any

import courses
import processes
import pytest
from courses import COURSE

from grader.engine import engine_client
from grader.engine.engine_client import Engine
from grader.engine.engine_messages import EngineHandshake
from grader.engine.grading import Graded, Grading
from grader.errors import InternalError
from grader.reports.report_model import Result
from grader.sandbox import lockdown
from grader.submissions.notebook import CODE_LIMIT
from grader.submissions.submission import Submission, UnitSource, UnitSubmission

RIGHT = (courses.REPOSITORY / "solutions" / "self_attention.py").read_text(encoding="utf-8")
STUB = (courses.REPOSITORY / "exercises" / "self_attention.py").read_text(encoding="utf-8")
WRONG = RIGHT.replace("dim=-1)  # over the keys", "dim=-2)")
NOISY = RIGHT + "\nimport torch, random, os\ntorch.manual_seed(1); random.seed(2)\nprint('loud')\n"
NOW = datetime.datetime(2027, 1, 1, tzinfo=datetime.UTC)


def submission(student: str, text: str) -> Submission:
    return Submission(student, None, {"self_attention": UnitSubmission(UnitSource("self_attention.py", (text,)))})


def steady(result: Result | str) -> Result:
    """The parts that must be the same in every run."""
    assert isinstance(result, Result)
    return dataclasses.replace(result, seconds=0.0, pytest={})


def results(engine: Engine, submissions: list[Submission], at_once: int) -> dict[str, Result]:
    return {found.student: steady(result) for found, result in engine.turns(at_once).all(submissions)}


def passed(result: Result) -> int:
    return sum(outcome.passed for outcome in result.outcomes)


def test_the_handshake_has_every_criterion_in_the_order_of_the_course(handshake: EngineHandshake) -> None:
    exercises = list(dict.fromkeys((one.unit, one.exercise) for one in handshake.criteria))
    course = COURSE
    assert exercises == [(unit, exercise) for unit in course.units for exercise in course.units[unit].exercises]
    assert all(one.name and one.sentence for one in handshake.criteria)
    assert handshake.versions.keys() == {"python", "torch", "numpy", "pytest", "platform"}
    assert handshake.missing.keys() <= {"landlock", "user", "own_user"}


def test_every_criterion_comes_back_with_an_outcome(engine: Engine, handshake: EngineHandshake) -> None:
    found = results(engine, [submission("ada", RIGHT), submission("gus", STUB)], at_once=2)
    names = [(one.exercise, one.name) for one in handshake.criteria if one.unit == "self_attention"]
    for result in found.values():
        assert [(outcome.exercise, outcome.name) for outcome in result.outcomes] == names
    assert passed(found["ada"]) == len(names)
    assert passed(found["gus"]) == 0


@pytest.mark.proof(part="grading")
def test_neither_order_nor_parallelism_changes_a_result(engine: Engine) -> None:
    texts = {"ada": RIGHT, "bob": WRONG, "cyd": STUB, "dan": NOISY}
    submissions = [submission(student, text) for student, text in texts.items()]
    alone = {name: result for one in submissions for name, result in results(engine, [one], 1).items()}
    assert results(engine, submissions, at_once=2) == alone
    assert results(engine, submissions[::-1], at_once=4) == alone
    assert 0 < passed(alone["bob"]) < passed(alone["ada"]) == passed(alone["dan"])


def test_a_submission_without_a_readable_unit_needs_no_process(engine: Engine) -> None:
    nothing = Submission("eve", None, {"self_attention": UnitSubmission(problem="It is missing.")})
    [(_, result)] = engine.turns(1).all([nothing])
    assert steady(result) == Result()


def test_large_submissions_and_large_results_do_not_block_each_other(engine: Engine) -> None:
    large = STUB + "# a long remark\n" * 60_000
    found = results(engine, [submission(f"student{number}", large) for number in range(4)], at_once=2)
    assert [passed(result) for result in found.values()] == [0] * 4


def test_only_one_submission_is_taken_before_a_process_is_free(engine: Engine) -> None:
    taken = []

    def submissions() -> Any:
        for number in range(4):
            taken.append(number)
            yield submission(f"student{number}", "a = 1")

    graded = engine.turns(2).all(submissions())
    next(graded)
    assert taken == [0, 1, 2]
    assert len(list(graded)) == 3


@pytest.mark.usefixtures("true_engines")
def test_an_engine_that_hangs_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    before = processes.children(os.getpid())
    large = submission("ada", RIGHT + "# a long remark\n" * 60_000)  # more than a pipe takes
    with Engine(COURSE) as engine:
        engine.handshake()
        [pid] = set(processes.children(os.getpid())) - set(before)
        os.kill(pid, signal.SIGSTOP)
        monkeypatch.setattr(engine_client, "longest_grading", lambda _limits, _units: 0.1)
        monkeypatch.setattr(engine_client, "GRACE_SECONDS", 0)
        with pytest.raises(InternalError, match="said nothing for 0 s, so it was ended"):
            list(engine.turns(1).all([large]))
    assert processes.children(os.getpid()) == before


@pytest.mark.proof(part="grading")
def test_an_engine_that_cannot_start_reports_the_reason(own_small_course: Path, tmp_path: Path) -> None:
    suite = own_small_course / "suites" / "sums" / "add.py"
    suite.write_text(f"raise RuntimeError('spoilt')\n{suite.read_text()}")
    ada = courses.hand_in(tmp_path / "ada", "a = 1")
    done = courses.run_grader(own_small_course, "grade", ada, "--out", tmp_path / "reports")
    assert done.returncode == 3
    assert "RuntimeError: spoilt" in done.stderr
    assert courses.read_reports(tmp_path / "reports") == {}


@pytest.mark.proof(part="grading")
def test_practice_mode_grades_the_same_and_claims_no_isolation(engine: Engine) -> None:
    one = [submission("ada", RIGHT), submission("bob", WRONG)]
    with Engine(COURSE, isolated=False) as practice:
        missing = practice.handshake().missing
        practised = results(practice, one, at_once=1)
    isolated = results(engine, one, at_once=1)
    assert set(missing) == set(lockdown.LAYERS)
    for student, result in practised.items():
        assert result.layers == {}
        assert result.outcomes == isolated[student].outcomes


def points(grading: Grading, submissions: list[Submission]) -> dict[str, int]:
    graded = {one.student: result for one, result in grading.reports(submissions, 2, NOW)}
    return {student: result.report.points for student, result in graded.items() if isinstance(result, Graded)}


@pytest.mark.proof(part="grading")
@pytest.mark.usefixtures("true_engines")
def test_a_new_engine_replaces_one_that_was_killed() -> None:
    before = processes.children(os.getpid())
    with Grading(COURSE, {}) as grading:
        first = points(grading, [submission("ada", RIGHT), submission("bob", WRONG)])
        assert first["ada"] > first["bob"] > 0
        [pid] = set(processes.children(os.getpid())) - set(before)
        os.kill(pid, 9)
        with pytest.raises(InternalError, match="ended with code -9"):
            points(grading, [submission("ada", RIGHT)])
        assert points(grading, [submission("bob", WRONG)]) == {"bob": first["bob"]}
    assert processes.children(os.getpid()) == before


@pytest.mark.usefixtures("true_engines")
def test_an_engine_that_starts_during_an_abort_ends_too() -> None:
    before = processes.children(os.getpid())
    with Grading(COURSE, {}, suites="visible") as grading:
        grading.abort()
        with pytest.raises(InternalError, match="ended with code -9"):
            grading.rubric()
    assert processes.children(os.getpid()) == before


@pytest.mark.proof(part="grading")
def test_results_of_a_stopped_batch_are_not_mistaken_for_later_ones() -> None:
    with Grading(COURSE, {}) as grading:
        for _ in grading.reports([submission("ada", RIGHT), submission("bob", WRONG)], 2, NOW):
            break
        assert points(grading, [submission("cyd", STUB)]) == {"cyd": 0}


@pytest.mark.proof(part="grading")
def test_eight_units_of_the_largest_size_are_graded_together(engine: Engine, handshake: EngineHandshake) -> None:
    texts = {
        unit: (courses.REPOSITORY / "solutions" / f"{unit}.py").read_text(encoding="utf-8") for unit in COURSE.units
    }
    # Each has a megabyte, in letters that take six bytes in JSON.
    units = {
        unit: UnitSubmission(
            UnitSource(f"{unit}.py", (text + "#" + "é" * ((CODE_LIMIT - len(text.encode()) - 2) // 2),))
        )
        for unit, text in texts.items()
    }
    found = results(engine, [Submission("ada", None, units)], at_once=1)
    assert passed(found["ada"]) == len(handshake.criteria)
