"""Names the misconceptions behind a wrong answer. It compares behaviour, never source text.

The first of these steps that finds a fit decides:

1. One misconception has the answer's outcome in every criterion.
2. Two explain it together: both pass what the answer passes, each of its failures is one of theirs, and a criterion
   that only one of them fails has that one's outcome.
3. Steps 1 and 2 without the criteria about arguments to refuse.
4. The solution with both changes of a pair has the answer's outcome in every criterion.

If several fit in steps 1 to 3, only what all of them share is named; if several fit in step 4, nothing is. From step 2
on, an error may be of another type than the misconception's, but an error is no evidence for it.

An answer that behaves like no misconception gets a property of its wrong results, if they have a known one.
"""

from __future__ import annotations

import functools
import itertools
import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import torch

from grader.course.model import Course
from grader.engine.criteria import Criterion
from grader.engine.failure_matrix import Coded, Signature, decoded, recorded
from grader.engine.outcomes import Outcome
from grader.testing.checks import ANOTHER_ORDER
from grader.testing.misconceptions import Misconception, with_both
from grader.testing.properties import GRADIENTS, LOOKS_AHEAD, Property
from grader.testing.running_test import Sizes
from grader.testing.student import InProcessBackend

Row = Mapping[str, Outcome]


# Kinds of outcomes without behaviour to compare.
SILENT = {"not written", "not defined", "timed out", "ended", "waiting"}

# In the rules on what a criterion varies, or on what a call may not change: a wrong value fails such a criterion too.
BESIDES = re.compile(
    r"not changed|\bany (?:number|length|size|shape)|float(?:32|64)|dtype|gradients?\b|non-contiguous"
    r"|nothing is dropped|of the batch is computed separately",
    re.IGNORECASE,
)
# A result that is None, a list and so on, as the checks say it.
WRONG_TYPE = re.compile(r"\byours (?:gave|gives|is|returns) (None|an? \w+)\b")

MOST_PAIRS = 150
"""The most pairs to run for one answer: each takes one or two milliseconds."""
# A factor in the sentence of a property has three digits.
FACTOR, PRECISION = re.compile(r"multiplied by (\d\S*)\.$"), 0.005
IN_ANOTHER_ORDER = Property(
    "results_in_another_order", "The results are returned in another order: check the `return`."
)
ONLY_IN_TRAINING = Property(
    "only_in_training",
    "Only tests in training mode fail; those in evaluation mode pass. Check what dropout acts on, and how strongly.",
)
ONLY_GRADIENTS = Property(
    "only_gradients",
    "Only tests of gradients fail; those of values pass. Look for detach, no_grad, .data or .item(), and for new "
    "tensors that are made from the numbers of others.",
)
FUTURE_MATTERS = Property(
    "future_matters",
    "Two texts that differ only in their last token have different outputs before it. No output may depend on a later "
    "token, or on another text.",
)


def diagnose(
    course: Course, exercise: str, results: Sequence[tuple[Criterion, Outcome]], known: Sequence[Misconception]
) -> list[Misconception]:
    """Return the misconceptions, at most two, that explain the outcomes of an exercise's criteria.

    The list is empty if the answer is right, gave nothing to compare, or behaves like none or several of them.
    """
    candidates = {one.name: one for one in known if one.exercise == exercise}
    outcomes = {criterion.name: outcome for criterion, outcome in results}
    if not candidates or not _has_behaviour(outcomes):
        return []
    if any(outcome.substitutes for outcome in outcomes.values()):
        # The recorded outcomes were made without substitutes. Pairs would need too many runs.
        names = _common([{one.name} for one in candidates.values() if _behaves_like(results, one.implementation)])
    else:
        unit = results[0][0].unit
        made = recorded(course, unit, exercise) or {}
        rows: Mapping[str, Row] = {
            name: made[name] if name in made else {one.name: _run(one, candidate.implementation) for one, _ in results}
            for name, candidate in candidates.items()
        }
        compared = _Comparison(outcomes, rows)
        names = compared.explained() or _explained_by_running(course, results, compared)
    return [one for name, one in candidates.items() if name in names]


def recognize(exercise: str, results: Sequence[tuple[Criterion, Outcome]], known: Sequence[Coded]) -> list[Signature]:
    """Return the signatures, at most two, that explain the outcomes of an exercise's visible tests by steps 1 to 3."""
    outcomes = {criterion.name: outcome for criterion, outcome in results}
    if not _has_behaviour(outcomes):
        return []
    signatures = [decoded(exercise, coded) for coded in known]
    # What passes has the expected values, so that two answers that pass are alike.
    passed = {name: outcome if outcome.passed else Outcome(True) for name, outcome in outcomes.items()}
    rows = {one.name: {name: one.row.get(name, passed[name]) for name in outcomes} for one in signatures}
    names = _Comparison(outcomes, rows).explained()
    return [one for one in signatures if one.name in names]


def main_criterion(results: Sequence[tuple[Criterion, Outcome]], rows: Iterable[Row]) -> Criterion | None:
    """Return the failed criterion that explains most of an exercise's failures; None if each waits for an exercise.

    A criterion explains another one if misconceptions that fail the first fail the second too, and not the other way
    round. So one about the mask comes before one about dropout, which fails with any wrong mask. Of those that explain
    about as much, the first in the suite counts. An error explains each failure in which the same line raises it, and a
    result of the wrong type each that finds the same one. A wrong value for other dtypes, lengths and so on explains
    nothing if the value itself is wrong.

    Args:
        results: The outcomes of the exercise's criteria.
        rows: The outcomes of its misconceptions.
    """
    failed = {one.name: outcome for one, outcome in results if not outcome.passed and outcome.kind != "waiting"}
    known = [_failed(row) for row in rows]

    def share(one: str, other: str) -> float:
        """Return how many of the misconceptions that fail one criterion fail the other."""
        alike = [other in fails for fails in known if one in fails]
        return sum(alike) / len(alike) if alike else 0.0

    def explained(criterion: Criterion) -> float:
        name, mine = criterion.name, failed[criterion.name]
        same = sum(_cause(one) == _cause(mine) for one in failed.values()) if _cause(mine) else 0
        more = sum(share(name, other) - share(other, name) for other in failed)
        return max(same - 1, round(2 * more) / 2)

    candidates = [one for one, _ in results if one.name in failed]
    certain = [one for one in candidates if failed[one.name].kind != "wrong" or not any(map(BESIDES.search, one.rules))]
    return max(certain or candidates, key=explained, default=None)


def _cause(outcome: Outcome) -> tuple[object, ...] | None:
    """Return what has the same cause wherever it is the same: an error of a line, or a result of the wrong type."""
    if outcome.kind != "wrong":
        return outcome.kind, outcome.reason, outcome.file, outcome.line
    found = WRONG_TYPE.search(outcome.reason)
    return found.groups() if found else None


def _has_behaviour(outcomes: Row) -> bool:
    """Return whether there is a failure, and all that failed gave something to compare."""
    return not all(one.passed for one in outcomes.values()) and not any(one.kind in SILENT for one in outcomes.values())


def _common(fitting: Sequence[set[str]]) -> set[str]:
    """Return what all that fits has in common."""
    return set.intersection(*fitting) if fitting else set()


class _Comparison:
    """An answer's outcomes beside those of each misconception. Criteria and misconceptions are given by their names."""

    def __init__(self, outcomes: Row, rows: Mapping[str, Row]) -> None:
        self.outcomes = outcomes
        self.rows = rows
        self.failed = _failed(outcomes)
        self.fails = {name: _failed({one: row[one] for one in outcomes}) for name, row in rows.items()}

    def explained(self) -> set[str]:
        """Return the names of the misconceptions, at most two, that explain the answer by steps 1 to 3."""
        everything = frozenset(self.outcomes)
        behaviour = frozenset(name for name, outcome in self.outcomes.items() if not outcome.is_about_refusal)
        steps = ((self.same, everything), (self.pairs, everything), (self.alone, behaviour), (self.pairs, behaviour))
        return next((_common(fitting) for find, criteria in steps if (fitting := find(criteria))), set())

    def same(self, criteria: frozenset[str]) -> list[set[str]]:
        """Return the misconceptions with exactly the answer's outcomes in these criteria."""
        return [
            {name}
            for name, fails in self.fails.items()
            if fails == self.failed and all(self.outcomes[one].resembles(self.rows[name][one]) for one in criteria)
        ]

    def alone(self, criteria: frozenset[str]) -> list[set[str]]:
        """Return the misconceptions that explain these criteria; an error may be of another type."""
        failed = self.failed & criteria
        return [
            {name}
            for name, fails in self.fails.items()
            if fails & criteria == failed
            and self._shows(name, failed)
            and all(self._is_alike(name, one) for one in criteria - failed)
        ]

    def pairs(self, criteria: frozenset[str]) -> list[set[str]]:
        """Return the pairs that explain these criteria: each of the two shows in one that the other passes."""
        return [
            {one, other}
            for one, other in self.possible_pairs(criteria)
            if self._shows(one, (self.fails[one] - self.fails[other]) & criteria)
            and self._shows(other, (self.fails[other] - self.fails[one]) & criteria)
        ]

    def possible_pairs(self, criteria: frozenset[str]) -> list[tuple[str, str]]:
        """Return the pairs whose failures together are the answer's, in these criteria."""
        failed = self.failed & criteria
        fails = {name: theirs & criteria for name, theirs in self.fails.items() if theirs & criteria <= failed}
        return [pair for pair in itertools.combinations(fails, 2) if fails[pair[0]] | fails[pair[1]] == failed]

    def _shows(self, name: str, criteria: frozenset[str]) -> bool:
        """Return whether the answer fails these criteria like a misconception, and one of them is evidence for it."""
        is_alike = all(self._is_alike(name, one) for one in criteria)
        return is_alike and any(self._is_evidence(one, self.fails[name], criteria) for one in criteria)

    def _is_evidence(self, criterion: str, fails: frozenset[str], shown: frozenset[str]) -> bool:
        """Return whether a criterion that fails alike is evidence for a misconception.

        A wrong number is. A sentence is too, if no other failure of the misconception is in doubt, because answers with
        other mistakes can have the same one.
        """
        outcome = self.outcomes[criterion]
        if outcome.is_about_refusal:  # any answer without the check fails it, so it shows only a missing check
            return all(self.outcomes[one].is_about_refusal for one in fails)
        return outcome.wrong_value is not None or (outcome.kind != "raised" and fails <= shown)

    def _is_alike(self, name: str, criterion: str) -> bool:
        return _are_alike(self.outcomes[criterion], self.rows[name][criterion])


def _failed(row: Row) -> frozenset[str]:
    return frozenset(criterion for criterion, outcome in row.items() if not outcome.passed)


def _are_alike(mine: Outcome, theirs: Outcome) -> bool:
    """Return whether two outcomes resemble each other, or end in errors of different types after the same results."""
    if mine.kind == theirs.kind == "raised":
        mine, theirs = (replace(one, observations=one.observations[:-1]) for one in (mine, theirs))
    return mine.resembles(theirs)


def _explained_by_running(
    course: Course, results: Sequence[tuple[Criterion, Outcome]], compared: _Comparison
) -> set[str]:
    """Return the names of the two misconceptions of which the solution has the answer's outcomes: step 4."""
    pairs = compared.possible_pairs(frozenset(compared.outcomes))
    # Estimates of random results prove little, and take long.
    has_tensor = any(isinstance(outcome.wrong_value, torch.Tensor) for outcome in compared.outcomes.values())
    if len(pairs) > MOST_PAIRS or not has_tensor:
        return set()
    first = results[0][0]
    both = with_both(course, first.unit, first.exercise, pairs)
    fitting = [set(pair) for pair, implementation in both if _behaves_like(results, implementation)]
    return fitting[0] if len(fitting) == 1 else set()


def _behaves_like(results: Sequence[tuple[Criterion, Outcome]], implementation: Callable[..., Any]) -> bool:
    # Failures first: most candidates differ there.
    failures_first = sorted(results, key=lambda result: result[1].passed)
    return all(
        outcome.resembles(_run(criterion, implementation, outcome.substitutes)) for criterion, outcome in failures_first
    )


@functools.cache
def _run(criterion: Criterion, implementation: Callable[..., Any], substitutes: tuple[str, ...] = ()) -> Outcome:
    return criterion.run(InProcessBackend(criterion.unit, {criterion.exercise: implementation}), substitutes)


def recognized(exercise: str, outcomes: Sequence[Outcome]) -> list[Property]:
    """Return the property that best describes the outcomes of all criteria of one exercise.

    The list is empty if the answer is right, gave nothing to compare, or has no known property.
    """
    failed = [outcome for outcome in outcomes if not outcome.passed]
    if not failed or any(outcome.kind in SILENT for outcome in failed):
        return []
    if any(ANOTHER_ORDER.search(outcome.reason) for outcome in failed):
        return [IN_ANOTHER_ORDER]
    some_pass = len(failed) < len(outcomes)
    # A function drops nothing by itself.
    if some_pass and exercise[0].isupper() and all(outcome.is_in_training for outcome in failed):
        return [ONLY_IN_TRAINING]
    # Wrong values have wrong gradients, which say less.
    with_values = [outcome for outcome in failed if not _is_of_gradients(outcome)]
    if some_pass and not with_values:
        return [ONLY_GRADIENTS]
    if equal := _equal_sizes([outcome for outcome in outcomes if outcome.passed], failed):
        return equal
    shared = _common_property(with_values)
    if not any(one.is_specific for one in shared) and _looks_ahead(failed):
        return [FUTURE_MATTERS]
    return shared


def _is_of_gradients(outcome: Outcome) -> bool:
    return outcome.comparison is not None and outcome.comparison.what == GRADIENTS


def _looks_ahead(failed: Sequence[Outcome]) -> bool:
    """Return whether a token sees later ones. Outputs that are no numbers differ in any case."""
    is_finite = all(outcome.comparison.is_finite for outcome in failed if outcome.comparison)
    return is_finite and any(outcome.reason == LOOKS_AHEAD for outcome in failed)


def _common_property(failed: Sequence[Outcome]) -> list[Property]:
    """Return the property that most of the failed comparisons have. Its sentence says how many tests show it."""
    compared = [outcome.comparison for outcome in failed if outcome.comparison]
    # If all expected values are zeros and ones, much holds by chance, or cannot be seen.
    telling = [comparison for comparison in compared if comparison.is_telling] or compared
    found = [(comparison.what, one) for comparison in telling for one in dict.fromkeys(comparison.properties())]
    counts = Counter(one for _, one in found)

    def is_enough(one: Property) -> bool:
        if one.is_specific:
            return 2 * counts[one] >= len(telling)
        return counts[one] == len(telling) and 2 * counts[one] >= len(failed)

    best = max(filter(is_enough, counts), key=lambda one: (one.is_specific, counts[one]), default=None)
    if best is None:
        return []
    subjects = {what for what, one in found if one == best}
    subject = subjects.pop() if len(subjects) == 1 else "The values"
    if counts[best] < len(failed):
        subject = f"In {counts[best]} of {len(failed)} failed tests, {subject[0].lower()}{subject[1:]}"
    return [best._replace(sentence=f"{subject} {best.sentence}{_on_factor(best, failed)}")]


def _on_factor(found: Property, failed: Sequence[Outcome]) -> str:
    """Return a sentence on a factor that is the root of a size of the arguments, or its inverse; "" for others."""
    factor = FACTOR.search(found.sentence)
    if not factor:
        return ""
    # The root of a square is a whole number, which has many causes.
    sizes = {size for outcome in failed for call in outcome.calls for size in call.values() if size > 1}
    # Two roots may have been exchanged.
    squares = (one / other for one, other in itertools.permutations(sizes, 2))
    is_ratio = any(math.isclose(float(factor[1]), math.sqrt(square), rel_tol=PRECISION) for square in squares)
    other_root = ", or is it one by another root" if is_ratio else ""
    for size in sorted(size for size in sizes if math.isqrt(size) ** 2 != size):
        if math.isclose(float(factor[1]), math.sqrt(size), rel_tol=PRECISION):
            start = f" That is √{size}, and {size} is a size of the input: is the division by its root missing"
            return f"{start}{other_root}?"
        if math.isclose(float(factor[1]), 1 / math.sqrt(size), rel_tol=PRECISION):
            start = f" That is 1/√{size}, and {size} is a size of the input: is there one division by its root too many"
            return f"{start}{other_root}?"
    return ""


def _equal_sizes(passed: Sequence[Outcome], failed: Sequence[Outcome]) -> list[Property]:
    """Return the property of answers that take two sizes for one. Where those differ, nothing of the right shape comes.

    The sizes are those of two arguments: equal in each call of the tests that pass, and not in the tests that fail.
    """
    if not all(outcome.kind == "raised" or _has_wrong_shape(outcome) for outcome in failed):
        return []
    right, wrong = [_sizes(outcome) for outcome in passed], [_sizes(outcome) for outcome in failed]
    names = dict.fromkeys(name for calls in right for sizes in calls for name in sizes)
    for one, other in itertools.combinations(names, 2):
        pairs, *failing = (
            [(sizes[one], sizes[other]) for sizes in calls if sizes.keys() >= {one, other}]
            for calls in (itertools.chain(*right), *wrong)
        )
        is_equal = all(first == second for first, second in pairs) and any(first > 1 for first, _ in pairs)
        if is_equal and all(any(first != second for first, second in pairs) for pairs in failing):
            text = f"It works only where {one} and {other} are equal; it fails in each test in which they differ."
            return [Property("only_with_equal_sizes", text)]
    return []


def _has_wrong_shape(outcome: Outcome) -> bool:
    return outcome.comparison is not None and outcome.comparison.value.shape != outcome.comparison.expected.shape


def _sizes(outcome: Outcome) -> list[Sizes]:
    """Return the sizes of each call that takes tensors, and those that the class was made with."""
    found: list[Sizes] = []
    made: Sizes = {}
    for call in outcome.calls:
        if any(name.startswith("dimension") for name in call):
            found.append({**made, **call})
        else:
            made = {f"{name} of the class": size for name, size in call.items()}
    return found
