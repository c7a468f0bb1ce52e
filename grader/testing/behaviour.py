"""Parts of a contract on behaviour: what is refused and drawn, and what depends on the mode or on later tokens."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch

from grader.testing.checks import ABSOLUTE, RELATIVE, CheckFailed, expect_error, expect_tensor, expect_true, is_float
from grader.testing.draws import Fresh, expect_draws_by_state, expect_draws_from_a_generator, expect_global_draws
from grader.testing.properties import LOOKS_AHEAD
from grader.testing.student import Student
from grader.testing.suite import Asking, Given, Part, expect_right, line_of_suite, right_result

# Tracebacks end at the line of the test.
__tracebackhide__ = True


def refusals(
    name: str,
    words: str,
    sentence: str,
    *draws: Mapping[str, Any],
    ask: Asking | None = None,
    tries_all: bool = False,
    shown: Sequence[Mapping[str, Any]] = (),
    because: str = "",
) -> Part:
    """Declare that each of these draws of a call, of a function or a module, raises ValueError or AssertionError.

    A call without them should be right, so an answer that refuses everything does not pass. The student reads the
    numbers of a draw that is not refused, under the names that the function that draws the call gives them.

    Args:
        name: The criterion's name.
        words: The rule, in the stub's own words.
        sentence: What a student reads if it fails.
        draws: What the function that draws a call is given each time.
        ask: Draws the calls; by default that of the contract.
        tries_all: Whether a call is made after one that is not refused, because the diagnosis needs its result too.
        shown: For the visible counterpart: each time the arguments of the example, or of its class, that are others.
        because: Why these are refused, as a clause.
    """

    def check(shared: Asking, student: Student, fresh: Fresh) -> None:
        expect_right((ask or shared)(student, fresh))
        failures = []
        for draw in draws:
            numbers = {key: value for key, value in draw.items() if isinstance(value, int | float)}
            try:
                where = ", ".join(f"{key} = {value}" for key, value in numbers.items())
                expect_error(lambda draw=draw: _result((ask or shared)(student, fresh, **draw)), where)  # type: ignore[misc]
            except CheckFailed as failure:
                failures.append(failure)
                if not tries_all:
                    break
        if failures:
            raise failures[0]

    visible = {"changed": shown, "because": because}
    return Part(name, words, sentence, check, "refused" if shown else "", line_of_suite(), shown=visible)


def _result(given: Given) -> Any:
    return given.call(*given.arguments)


def steady_results(name: str, words: str, sentence: str, *draws: Mapping[str, Any], ask: Asking | None = None) -> Part:
    """Declare that nothing is dropped: results are right, and the same in eight calls.

    draws: for example {"dropout": 0.5} for eval mode, or {"is_training": True} for a module without dropout.
    """

    def check(shared: Asking, student: Student, fresh: Fresh) -> None:
        for draw in draws or ({},):
            given = (ask or shared)(student, fresh, **draw)
            # If seven weights had dropout, some would be dropped in eight calls. No random value is recorded.
            first, *others = (expect_tensor(_result(given)) for _ in range(8))
            steady = all(
                one.shape == first.shape
                and torch.allclose(one.double(), first.double(), RELATIVE, ABSOLUTE, equal_nan=True)
                for one in others
            )
            expect_true(steady, "The outputs change from call to call.")
            given.expect(first)

    visible = "training" if any("is_training" in draw for draw in draws) else "eval"
    return Part(name, words, sentence, check, visible, line_of_suite())


def later_tokens_unseen(
    name: str, words: str, sentence: str, draw: Mapping[str, Any] | None = None, ask: Asking | None = None
) -> Part:
    """Declare that no output depends on a later token, and the second one depends on the first.

    The float arguments are texts (B, …, T, d). The call gets them three times, as one batch (3 · B, …, T, d): as they
    are, with other last tokens and with other first tokens. draw: what the function that draws the call is given.
    """

    def check(shared: Asking, student: Student, fresh: Fresh) -> None:
        given = (ask or shared)(student, fresh, **(draw or {}))
        arguments = [_with_other_ends(fresh, one) if is_float(one) else one for one in given.arguments]
        outputs = given.call(*arguments)
        expected = right_result(given, *arguments)  # it may look ahead, if it is made with substitutes
        changed, allowed = _changed(expect_tensor(outputs, expected.shape)), _changed(expected)
        expect_true(not bool((changed & ~allowed)[1, ..., :-1].any()), LOOKS_AHEAD)
        expect_true(bool(changed[1, ..., -1].all()), "The last output did not change with its own token.")
        expect_true(bool(changed[2, ..., 1].all()), "The second output did not change with the first token.")

    return Part(name, words, sentence, check, "later", line_of_suite())


def _with_other_ends(fresh: Fresh, texts: torch.Tensor) -> torch.Tensor:
    """(B, …, T, d) to (3 · B, …, T, d): the texts, the same with other last tokens, and with other first tokens."""
    other_last, other_first = texts.clone(), texts.clone()
    for tokens in (other_last[..., -1, :], other_first[..., 0, :]):
        tokens.copy_(fresh(*tokens.shape, dtype=texts.dtype))
    return torch.cat([texts, other_last, other_first])


def _changed(outputs: torch.Tensor) -> torch.Tensor:
    """(3 · B, …, T, d) to (3, B, …, T): which outputs are others than for the first B texts."""
    three = outputs.double().unflatten(0, (3, -1))
    return ~torch.isclose(three, three[:1], rtol=1e-4, atol=1e-5).all(-1)


def generator_draws(what: str, *names: str, ask: Asking | None = None) -> list[Part]:
    """Declare the three rules of a call that draws and takes `generator`.

    Args:
        what: What is drawn, for the sentences, in the plural, such as "tokens".
        names: The names of the three criteria; "" for one that has a test of its own.
        ask: Draws the calls; by default that of the contract. The check of the result returns what was drawn.
    """
    same, other = "The same state gives other draws.", "Another state gives the same draws."
    again = "A second call gives the same draws as the first."

    def part(name: str, words: str, sentence: str, expect: Callable[..., None], *reasons: str) -> Part:
        def check(shared: Asking, student: Student, fresh: Fresh) -> None:
            given = (ask or shared)(student, fresh)

            def draw(**options: Any) -> torch.Tensor:
                return expect_tensor(given.expect(given.call(*given.arguments, **options)))

            expect(student, draw, *reasons)

        return Part(name, words, sentence, check, "generator", line_of_suite())

    first, second, third = names
    parts = [
        part(
            first,
            "with a generator, every random draw comes from it and advances it",
            f"With a generator, the call should advance only its state, and another state should give other {what}.",
            expect_draws_from_a_generator,
            other,
        ),
        part(
            second,
            "with the same generator state the result is the same",
            f"With the same generator state the {what} should be the same, for any state of torch's global generator.",
            expect_draws_by_state,
            same,
            other,
        ),
        part(
            third,
            "without a generator, torch's global generator is used, and it advances too",
            f"Without a generator, torch.manual_seed should control the {what}, and a second call should give others.",
            expect_global_draws,
            same,
            other,
            again,
        ),
    ]
    return [one for one in parts if one.name]
