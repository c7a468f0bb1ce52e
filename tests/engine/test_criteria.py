"""One run of a hidden test: its outcome, and what it waits for if it builds on wrong answers."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import pytest
import torch
from units import SUBSTITUTES

from grader.course.modules import SuiteError
from grader.engine.criteria import Criterion, criteria_of
from grader.engine.outcomes import Outcome
from grader.errors import InternalError
from grader.sandbox.failures import FailedStatement
from grader.testing.checks import CheckFailed, expect_close, expect_true
from grader.testing.draws import Fresh
from grader.testing.student import InProcessBackend, Student
from grader.testing.suite import rule

EARLIER = ("normalize_by_sum", "softmax_stable", "attention_dropout")


def criterion(function: Any) -> Criterion:
    return Criterion("answers", "attend", function.__name__, "A sentence.", ("a rule",), function, "1", SUBSTITUTES)


def attends(student: Student, fresh: Fresh) -> None:
    """A test of an exercise that may call softmax_stable."""
    scores = fresh(5)
    softmax = student.substitute("softmax_stable", lambda x: x.exp() / x.exp().sum())
    expect_close(student.attend(scores), 3 * softmax(scores.double()))


ATTENDS = criterion(attends)


def again(source: str) -> Outcome:
    """The outcome of the second run of a submission that failed."""
    names: dict[str, Any] = {"torch": torch}
    exec(source, names)
    backend = InProcessBackend("answers", names)
    return ATTENDS.run_again(backend, ATTENDS.run(backend), EARLIER)


def test_a_right_answer_that_calls_a_wrong_one_passes_with_a_substitute() -> None:
    outcome = again("def softmax_stable(x): return x\ndef attend(x): return 3 * softmax_stable(x)")
    assert outcome.passed
    assert outcome.substitutes == ("softmax_stable",)


def test_a_right_answer_that_calls_a_missing_one_passes_with_a_substitute() -> None:
    assert again("def attend(x): return 3 * softmax_stable(x)").passed


def test_an_answer_that_builds_on_nothing_keeps_its_first_outcome() -> None:
    outcome = again("def attend(x): return 2 * torch.softmax(x, -1)")
    assert (outcome.kind, outcome.substitutes) == ("wrong", ())


class Lying(InProcessBackend):
    """Claims to have called one substitute fewer at each request, and counts its answers."""

    def __init__(self, names: dict[str, Any]) -> None:
        super().__init__("answers", names)
        self.claims, self.answers = list(EARLIER), 0

    def call(self, operation: str, **details: Any) -> Any:
        self.answers += operation == "call"
        value = super().call(operation, **details)
        if operation != "unpatch":
            return value
        self.claims = self.claims[:-1]
        return self.claims


def test_a_process_that_lies_about_what_it_called_answers_twice_at_most() -> None:
    lying = Lying({"attend": lambda x: x})
    outcome = ATTENDS.run_again(lying, ATTENDS.run(lying), EARLIER)
    assert (outcome.passed, lying.answers) == (False, 2)


def test_a_test_that_failed_early_makes_more_calls_if_the_replayed_answers_are_right() -> None:
    def attends_twice(student: Student, fresh: Fresh) -> None:
        """Its first call fails while it expects that normalize_by_sum is called."""
        for _ in range(2):
            scores = fresh(5).double()
            normalize = student.substitute("normalize_by_sum", lambda x: x)
            softmax = student.substitute("softmax_stable", lambda x: x.exp() / x.exp().sum())
            expect_close(student.attend(scores), 3 * softmax(normalize(scores)))

    names: dict[str, Any] = {"torch": torch, "softmax_stable": lambda x: x}
    exec("def attend(x): return 3 * softmax_stable(x)", names)
    backend = InProcessBackend("answers", names)
    twice = criterion(attends_twice)
    outcome = twice.run_again(backend, twice.run(backend), EARLIER)
    assert outcome.passed
    assert outcome.substitutes == ("softmax_stable",)


def test_a_wrong_answer_is_wrong_with_substitutes_too() -> None:
    outcome = again("def softmax_stable(x): return x\ndef attend(x): return 2 * softmax_stable(x)")
    assert (outcome.kind, outcome.substitutes) == ("wrong", ("softmax_stable",))


def test_expected_values_use_only_the_substitutes_that_were_called() -> None:
    outcome = again(
        "def normalize_by_sum(x): return 3 * x\ndef attend(x): return normalize_by_sum(torch.softmax(x, -1)) / 2"
    )
    assert outcome.kind == "waiting"
    assert outcome.substitutes == ("normalize_by_sum",)


def test_an_answer_waits_for_an_exercise_that_has_no_substitute() -> None:
    outcome = again(
        "def attention_dropout(x): return 0 * x\ndef attend(x): return 3 * attention_dropout(torch.softmax(x, -1))"
    )
    assert (outcome.kind, outcome.substitutes) == ("waiting", ("attention_dropout",))


@pytest.mark.parametrize("error", [InternalError("no process"), MemoryError()])
def test_what_the_grader_lacks_is_no_outcome(error: Exception) -> None:
    class Broken(InProcessBackend):
        def call(self, operation: str, **details: Any) -> Any:  # noqa: ARG002
            raise error

    with pytest.raises(InternalError):
        ATTENDS.run(Broken("answers", {}))


def test_substitutes_are_removed_after_a_run() -> None:
    names: dict[str, Any] = {}
    exec("def softmax_stable(x): return x\ndef attend(x): return 3 * softmax_stable(x)", names)
    backend = InProcessBackend("answers", names)
    assert ATTENDS.run(backend, ["softmax_stable"]).passed
    assert not ATTENDS.run(backend).passed


# -- causes of missing names -------------------------------------------------------------------------------------

OTHERS = {"softmax_stable", "simple_attention"}


def not_there(name: str) -> Outcome:
    return Outcome(False, "not defined", f"{name} is not defined.")


def lost(name: str, detail: str, line: int = 1) -> FailedStatement:
    return FailedStatement((name,), "It raised NameError.", detail, line, "answers.py")


def test_an_exercise_whose_definition_needs_another_waits_for_that() -> None:
    found = not_there("attend").explained([lost("attend", "name 'softmax_stable' is not defined")], OTHERS)
    assert (found.kind, found.substitutes) == ("waiting", ("softmax_stable",))


def test_an_exercise_waits_for_a_missing_unit_that_it_needs_indirectly() -> None:
    pieces = [
        lost("simple", "No module named 'simple_attention' while grading"),
        lost("base", "name 'simple' is not defined", 2),
        lost("attend", "name 'base' is not defined", 3),
    ]
    found = not_there("attend").explained(pieces, OTHERS)
    assert (found.kind, found.substitutes) == ("waiting", ("simple_attention",))


def test_statements_that_need_each_other_do_not_loop() -> None:
    pieces = [lost("attend", "name 'base' is not defined"), lost("base", "name 'attend' is not defined", 2)]
    found = not_there("attend").explained(pieces, OTHERS)
    assert found.kind == "not defined"
    assert "line 1 of answers.py" in found.reason


def test_a_missing_name_of_the_students_own_is_the_cause() -> None:
    found = not_there("attend").explained([lost("attend", "name 'helper' is not defined")], OTHERS)
    assert found.kind == "not defined"
    assert found.reason == "attend is not defined. The cause is line 1 of answers.py: it raised NameError."


def test_an_exercise_waits_for_a_unit_that_is_imported_during_a_call() -> None:
    raised = Outcome(
        False, "raised", "It raised ModuleNotFoundError.", "No module named 'simple_attention' while grading"
    )
    assert raised.explained([], OTHERS).kind == "waiting"


def test_a_failed_check_keeps_its_reason() -> None:
    wrong = Outcome(False, "wrong", CheckFailed("The sums are wrong.").reason)
    assert wrong.explained([lost("attend", "name 'softmax_stable' is not defined")], OTHERS) == wrong


def test_the_rows_of_a_rotation_are_at_right_angles_and_of_length_one() -> None:
    rotation = Fresh(1).rotation(5)
    assert torch.allclose(rotation @ rotation.mT, torch.eye(5, dtype=torch.float64))


# -- collecting ---------------------------------------------------------------------------------------------------


def suite(*tests: Any) -> ModuleType:
    module = ModuleType("attend")
    module.__file__ = __file__
    vars(module).update({f"test_{test.__name__}": test for test in tests})
    return module


@rule("a rule")
@pytest.mark.parametrize("size", [2, pytest.param(3, id="large")])
def sized(student: Student, size: int) -> None:
    """A sentence."""
    expect_true(student.attend(size) == 4, "no")


def test_each_case_of_a_parametrized_test_is_a_criterion() -> None:
    criteria = criteria_of(suite(sized), "answers", "1")
    assert {place: one.name for place, one in criteria.items()} == {
        ("test_sized", 0): "sized_0",
        ("test_sized", 1): "sized_large",
    }
    doubles = InProcessBackend("answers", {"attend": lambda x: 2 * x})
    assert [one.run(doubles).passed for one in criteria.values()] == [True, False]


def test_a_test_that_is_not_a_criterion_is_named_with_its_line() -> None:
    def unmarked() -> None: ...

    line = unmarked.__code__.co_firstlineno
    with pytest.raises(SuiteError, match=rf"^tests/engine/test_criteria\.py:{line}: test_unmarked: it needs @rule"):
        criteria_of(suite(unmarked), "answers", "1")
