"""The failed criterion that explains the others, by what misconceptions fail together."""

from __future__ import annotations

import pytest

from grader.engine.criteria import Criterion
from grader.engine.diagnosis import main_criterion
from grader.engine.outcomes import Outcome

NAMES = ("output", "mask", "scale", "dropout", "gradients")
PASSED, WRONG = Outcome(True), Outcome(False, "wrong", "It is wrong.")
RAISED = Outcome(False, "raised", "It raised a TypeError.", file="a.py", line=3)
# A wrong mask and a wrong scale fail everything that depends on the weights, dropout and gradients fail alone too.
MISCONCEPTIONS = (
    ("output", "mask", "dropout", "gradients"),
    ("output", "mask", "gradients"),
    ("output", "scale", "dropout", "gradients"),
    ("output", "scale", "gradients"),
    *[("dropout",)] * 3,
    ("gradients",),
    ("output", "gradients", "dropout"),
)
ROWS = [{name: WRONG if name in fails else PASSED for name in NAMES} for fails in MISCONCEPTIONS]


def main_of(outcomes: dict[str, Outcome], rules: dict[str, str] | None = None) -> str | None:
    results = [
        (
            Criterion("sums", "add", name, "", ((rules or {}).get(name, ""),), lambda: None, "1"),
            outcomes.get(name, PASSED),
        )
        for name in NAMES
    ]
    found = main_criterion(results, ROWS)
    return found.name if found else None


@pytest.mark.parametrize(
    ("failed", "main"),
    [
        (("output", "mask", "dropout", "gradients"), "mask"),
        (("output", "scale", "gradients"), "scale"),
        (("dropout",), "dropout"),
        (("output", "dropout", "gradients"), "output"),
        (("gradients",), "gradients"),
    ],
)
def test_a_side_effect_is_not_the_main_issue(failed: tuple[str, ...], main: str) -> None:
    assert main_of(dict.fromkeys(failed, WRONG)) == main


@pytest.mark.parametrize(
    "rule",
    [
        "the arguments are not changed",
        "any number of tokens, including one",
        "float32 and float64 scores both work",
        "each text of the batch is computed separately",
    ],
)
def test_a_wrong_value_is_the_issue_before_what_a_criterion_asks_for_besides(rule: str) -> None:
    failed = dict.fromkeys(("output", "mask", "gradients"), WRONG)
    assert main_of(failed) == "mask"
    assert main_of(failed, {"mask": rule}) == "output"
    assert main_of(failed | {"mask": RAISED}, {"mask": rule}) == "mask"
    assert main_of({"mask": WRONG}, {"mask": rule}) == "mask"


def test_of_criteria_that_explain_about_as_much_the_first_is_the_issue() -> None:
    assert main_of({"mask": WRONG, "scale": WRONG}) == "mask"
    undefined = Outcome(False, "not defined", "add is not defined.")
    assert main_of(dict.fromkeys(NAMES, undefined)) == "output"


def test_an_error_in_one_line_explains_each_failure_that_it_causes() -> None:
    assert main_of({"output": RAISED, "mask": WRONG, "dropout": RAISED, "gradients": RAISED}) == "output"


@pytest.mark.parametrize(("reason", "main"), [("yours gave a dict.", "output"), ("yours is wrong.", "mask")])
def test_a_result_of_the_wrong_type_explains_each_failure_in_which_it_is_found(reason: str, main: str) -> None:
    wrong = Outcome(False, "wrong", f"Two values were expected; {reason}")
    assert main_of(dict.fromkeys(NAMES, wrong)) == main


def test_a_criterion_that_waits_for_another_exercise_is_no_issue() -> None:
    assert main_of({"output": Outcome(False, "waiting"), "dropout": WRONG}) == "dropout"
    assert main_of({"output": Outcome(False, "waiting")}) is None
