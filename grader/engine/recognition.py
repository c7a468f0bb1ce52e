"""Names a property of an exercise's wrong results, for answers that behave like no misconception."""

from __future__ import annotations

import itertools
import math
import re
from collections import Counter
from typing import TYPE_CHECKING

from grader.engine.diagnosis import SILENT
from grader.testing.checks import ANOTHER_ORDER
from grader.testing.properties import GRADIENTS, LOOKS_AHEAD, Property

if TYPE_CHECKING:
    from collections.abc import Sequence

    from grader.engine.outcomes import Outcome
    from grader.testing.recorder import Sizes

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
    shared = _shared(with_values)
    if not any(one.is_specific for one in shared) and _looks_ahead(failed):
        return [FUTURE_MATTERS]
    return shared


def _is_of_gradients(outcome: Outcome) -> bool:
    return outcome.comparison is not None and outcome.comparison.what == GRADIENTS


def _looks_ahead(failed: Sequence[Outcome]) -> bool:
    """Return whether a token sees later ones. Outputs that are no numbers differ in any case."""
    is_finite = all(outcome.comparison.is_finite for outcome in failed if outcome.comparison)
    return is_finite and any(outcome.reason == LOOKS_AHEAD for outcome in failed)


def _shared(failed: Sequence[Outcome]) -> list[Property]:
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
