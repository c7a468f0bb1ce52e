"""One run of a hidden test: what it comes to, and what it waits for where it builds on others that are not right."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import pytest
import torch
from units import SUBSTITUTES

from grader.engine.criteria import Criterion, criteria_of
from grader.engine.outcomes import Outcome
from grader.sandbox.failures import FailedStatement
from grader.testing.backend import InProcessBackend
from grader.testing.checks import CheckFailed, expect_close, expect_true
from grader.testing.inputs import Fresh
from grader.testing.student import Student

EARLIER = ("normalize_by_sum", "softmax_stable", "attention_dropout")


def criterion(function: Any) -> Criterion:
    return Criterion("answers", "attend", function.__name__, "A sentence.", "a rule", function, "1", SUBSTITUTES)


def attends(student: Student, fresh: Fresh) -> None:
    """Of an exercise that may well build on softmax_stable, and on nothing else."""
    scores = fresh(5)
    softmax = student.substitute("softmax_stable", lambda x: x.exp() / x.exp().sum())
    expect_close(student.attend(scores), 3 * softmax(scores.double()))


ATTENDS = criterion(attends)


def again(source: str) -> Outcome:
    """The outcome of a submission that has already failed once."""
    names: dict[str, Any] = {"torch": torch}
    exec(source, names)
    backend = InProcessBackend("answers", names)
    return ATTENDS.run_again(backend, ATTENDS.run(backend), EARLIER)


def test_an_answer_that_is_right_but_for_what_it_builds_on_passes_with_a_substitute() -> None:
    outcome = again("def softmax_stable(x): return x\ndef attend(x): return 3 * softmax_stable(x)")
    assert outcome.passed
    assert outcome.substitutes == ("softmax_stable",)


def test_so_does_one_that_builds_on_what_is_not_there() -> None:
    assert again("def attend(x): return 3 * softmax_stable(x)").passed


def test_an_answer_that_builds_on_nothing_keeps_its_first_outcome() -> None:
    outcome = again("def attend(x): return 2 * torch.softmax(x, -1)")
    assert (outcome.kind, outcome.substitutes) == ("wrong", ())


class Lying(InProcessBackend):
    """Claims to have called one substitute fewer each time that it is asked, and counts how often it answers."""

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


def test_a_test_that_failed_early_goes_on_where_the_same_answers_are_right() -> None:
    def attends_twice(student: Student, fresh: Fresh) -> None:
        """Its first call fails as long as it expects that normalize_by_sum is called."""
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


def test_an_answer_that_is_wrong_itself_is_wrong_with_substitutes_too() -> None:
    outcome = again("def softmax_stable(x): return x\ndef attend(x): return 2 * softmax_stable(x)")
    assert (outcome.kind, outcome.substitutes) == ("wrong", ("softmax_stable",))


def test_only_what_is_called_has_its_substitute_in_the_expected_value() -> None:
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


def test_after_a_run_with_substitutes_the_answers_are_the_students_own_again() -> None:
    names: dict[str, Any] = {}
    exec("def softmax_stable(x): return x\ndef attend(x): return 3 * softmax_stable(x)", names)
    backend = InProcessBackend("answers", names)
    assert ATTENDS.run(backend, ["softmax_stable"]).passed
    assert not ATTENDS.run(backend).passed


# -- why a name is not there -------------------------------------------------------------------------------------

OTHERS = {"softmax_stable", "simple_attention"}


def not_there(name: str) -> Outcome:
    return Outcome(False, "not defined", f"{name} is not defined.")


def lost(name: str, detail: str, line: int = 1) -> FailedStatement:
    return FailedStatement((name,), "It raised NameError.", detail, line, "answers.py")


def test_an_exercise_whose_definition_needs_another_waits_for_that() -> None:
    found = not_there("attend").explained([lost("attend", "name 'softmax_stable' is not defined")], OTHERS)
    assert (found.kind, found.substitutes) == ("waiting", ("softmax_stable",))


def test_it_waits_for_a_unit_that_was_not_handed_in_however_long_the_way_there() -> None:
    pieces = [
        lost("simple", "No module named 'simple_attention' while grading"),
        lost("base", "name 'simple' is not defined", 2),
        lost("attend", "name 'base' is not defined", 3),
    ]
    found = not_there("attend").explained(pieces, OTHERS)
    assert (found.kind, found.substitutes) == ("waiting", ("simple_attention",))


def test_pieces_that_need_each_other_are_no_riddle() -> None:
    pieces = [lost("attend", "name 'base' is not defined"), lost("base", "name 'attend' is not defined", 2)]
    found = not_there("attend").explained(pieces, OTHERS)
    assert found.kind == "not defined"
    assert "line 1 of answers.py" in found.reason


def test_a_name_of_the_students_own_is_nothing_to_wait_for() -> None:
    found = not_there("attend").explained([lost("attend", "name 'helper' is not defined")], OTHERS)
    assert found.kind == "not defined"
    assert found.reason == "attend is not defined. The cause is line 1 of answers.py: it raised NameError."


def test_a_module_that_is_looked_for_while_a_call_runs_is_waited_for_too() -> None:
    raised = Outcome(
        False, "raised", "It raised ModuleNotFoundError.", "No module named 'simple_attention' while grading"
    )
    assert raised.explained([], OTHERS).kind == "waiting"


def test_a_check_that_failed_is_not_explained_away() -> None:
    wrong = Outcome(False, "wrong", CheckFailed("The sums are wrong.").reason)
    assert wrong.explained([lost("attend", "name 'softmax_stable' is not defined")], OTHERS) == wrong


def test_the_rows_of_a_rotation_are_at_right_angles_and_of_length_one() -> None:
    rotation = Fresh(1).rotation(5)
    assert torch.allclose(rotation @ rotation.mT, torch.eye(5, dtype=torch.float64))


# -- collecting ---------------------------------------------------------------------------------------------------


def suite(*tests: Any) -> ModuleType:
    module = ModuleType("test_answers")
    vars(module).update({f"test_{test.__name__}": test for test in tests})
    return module


@pytest.mark.exercise("attend", rule="a rule")
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


def test_a_test_that_is_no_criterion_is_named_with_its_line() -> None:
    def unmarked() -> None: ...

    line = unmarked.__code__.co_firstlineno
    with pytest.raises(ValueError, match=rf"^{line}: test_unmarked: it needs @pytest.mark.exercise"):
        criteria_of(suite(unmarked), "answers", "1")
