"""Probes that are derived from a contract or from hidden tests: what they observe, and what is no difference."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any

import pytest
import torch
from courses import COURSE

from grader.audit.equivalence import DRAWS, SearchResult, Solution, derived_probes
from grader.audit.run import probes_for
from grader.course.modules import SuiteError
from grader.engine.criteria import Criterion, criteria_of
from grader.testing.checks import expect_close, expect_error
from grader.testing.draws import Fresh
from grader.testing.probes import contract_probes
from grader.testing.student import InProcessBackend, Student
from grader.testing.suite import asking, contract, right_gradients, right_results

Double = Callable[[Any], Any]


def doubles(student: Student, fresh: Fresh) -> None:
    """The numbers should be doubled."""
    x = fresh(3)
    expect_close(student.double(x), 2 * x)


def refuses(student: Student) -> None:
    """A text should be refused."""
    expect_error(lambda: student.double("a"))


def begins(student: Student) -> None:
    """A layer should have weights of any values."""
    student.make("Linear", 2, 3).parameters()
    student.double(1)


def double(x: Any) -> Any:
    if isinstance(x, str):
        raise ValueError(x)
    return 2 * x


def criterion(test: Callable[..., None], unit: str = "sums") -> Criterion:
    return Criterion(unit, "double", test.__name__, "A sentence.", (), test, "1")


def search(other: Double, *tests: Callable[..., None]) -> SearchResult:
    return Solution({"double": double}, derived_probes(map(criterion, tests))).search({"double": other})


def test_an_answer_that_does_the_same_shows_no_difference() -> None:
    assert search(lambda x: double(x), doubles, refuses, begins) == SearchResult(None, 3 * DRAWS)


def test_another_value_is_found_in_the_call_that_returns_it() -> None:
    found = search(lambda x: double(x) + 1, doubles).difference
    assert found == "answer 1, to call: draw 0 of doubles"


def test_a_difference_for_some_inputs_is_found_in_other_draws() -> None:
    found = search(lambda x: double(x) if x.sum() < 2 else x, doubles).difference
    assert found
    assert int(found.partition(": draw ")[2].split()[0]) > 0


def test_both_types_of_refusal_are_the_same() -> None:
    def asserting(x: Any) -> Any:
        assert not isinstance(x, str)
        return 2 * x

    def failing(x: Any) -> Any:
        if isinstance(x, str):
            raise KeyError(x)
        return 2 * x

    assert search(asserting, refuses).difference is None
    assert search(failing, refuses).difference is not None


def test_first_values_of_parameters_are_no_difference() -> None:
    def drawing(x: Any) -> Any:
        torch.rand(1)
        return double(x)

    assert search(drawing, begins).difference is None


def test_handwritten_probes_replace_derived_ones() -> None:
    of_hand = criterion(doubles, "simple_attention")
    assert {draws for _, draws in probes_for(COURSE, "dot_product", [of_hand])} != {DRAWS}


# -- from a contract ---------------------------------------------------------------------------------------------


def matching(queries: torch.Tensor, keys: torch.Tensor) -> torch.Tensor:
    return queries @ keys.mT  # (..., T, d) @ (..., d, K) -> (..., T, K)


def draw_ones(_fresh: Fresh, dtype: torch.dtype = torch.float32) -> list[torch.Tensor]:
    return [torch.ones(2, 4, dtype=dtype), torch.ones(3, 4, dtype=dtype)]


def draw_any(fresh: Fresh, *leading: int, t: int = 2, k: int = 3, d: int = 4) -> list[torch.Tensor]:
    return [fresh(*leading, t, d), fresh(*leading, k, d)]


def suite_with_a_contract(is_unique: bool = True, **options: Any) -> ModuleType:
    """A suite whose criteria draw calls of one size, in float32."""
    suite = ModuleType("match")
    suite.__file__ = __file__
    suite.test_contract = contract(  # type: ignore[attr-defined]
        asking("match", draw_ones, lambda _: matching, is_unique=is_unique),
        right_results("right", "dot products", "They should match.", {"dtype": torch.float32}, keeps_dtype=True),
        **options,
    )
    return suite


def search_contract(suite: ModuleType, other: Callable[..., Any]) -> SearchResult:
    return Solution({"match": matching}, contract_probes(suite)).search({"match": other})


def doubled_if(condition: Callable[..., bool]) -> Callable[..., Any]:
    """An answer that is wrong under a condition on its arguments."""
    return lambda queries, keys: matching(queries, keys) * (2 if condition(queries, keys) else 1)


def zeroing(queries: torch.Tensor, keys: torch.Tensor) -> torch.Tensor:
    right = matching(queries, keys)
    return right if keys.requires_grad else (right, keys.zero_())[0]


WRONG_ELSEWHERE = {
    "one row": doubled_if(lambda queries, _: queries.shape[-2] == 1),
    "equal sizes": doubled_if(lambda queries, keys: queries.shape[-2] == keys.shape[-2] == keys.shape[-1] > 1),
    "many features": doubled_if(lambda queries, _: queries.shape[-1] > 9),
    "two leading dimensions": doubled_if(lambda queries, _: queries.dim() == 4),
    "other numbers": lambda queries, keys: matching(queries, keys.abs()),
    "float64": doubled_if(lambda queries, _: queries.dtype == torch.float64),
    "the dtype": lambda queries, keys: matching(queries, keys).float(),
    "the layout": doubled_if(lambda _, keys: not keys.is_contiguous()),
    "gradients": lambda queries, keys: matching(queries, keys.detach()),
    "arguments": zeroing,
}


@pytest.mark.parametrize("where", WRONG_ELSEWHERE)
def test_the_probe_of_a_contract_sees_what_its_criteria_do_not(where: str) -> None:
    suite, answer = suite_with_a_contract(probe=draw_any), WRONG_ELSEWHERE[where]
    [criterion] = criteria_of(suite, "sums", "1").values()

    found = search_contract(suite, answer).difference

    assert criterion.run(InProcessBackend("sums", {"match": answer})).passed
    assert found
    assert found.endswith(" of test_contract")


def test_the_probe_of_a_contract_finds_no_difference_in_a_right_answer() -> None:
    def by_index(queries: torch.Tensor, keys: torch.Tensor) -> torch.Tensor:
        return torch.einsum("...td,...kd->...tk", queries, keys)

    found = search_contract(suite_with_a_contract(probe=draw_any), by_index)

    assert found == SearchResult(None, 1000)


def test_the_probe_of_a_contract_draws_what_gradients_are_tested_with() -> None:
    suite = ModuleType("match")
    ask = asking("match", draw_any, lambda _: matching)
    gradients = right_gradients("gradients", "gradients flow", "Gradients should flow.", ask=ask)
    suite.test_contract = contract(asking("match", draw_ones, lambda _: matching), gradients)  # type: ignore[attr-defined]
    assert search_contract(suite, WRONG_ELSEWHERE["other numbers"]).difference


def test_results_that_may_differ_have_no_probe() -> None:
    assert contract_probes(suite_with_a_contract(is_unique=False)) == []


def test_whole_numbers_have_no_gradients() -> None:
    suite = ModuleType("count")
    asked = asking("count", lambda _fresh, n=3: [n], lambda _: range)
    suite.test_contract = contract(asked)  # type: ignore[attr-defined]
    solution = Solution({"count": lambda n: torch.arange(n)}, contract_probes(suite))
    assert solution.search({"count": lambda n: torch.tensor(range(n))}).difference is None
    assert solution.search({"count": lambda n: torch.arange(n) % 5}).difference


def test_an_error_in_a_draw_names_the_line_of_the_contract() -> None:
    suite = suite_with_a_contract(probe=lambda _fresh, count=0: [torch.ones(count, -1)])
    with pytest.raises(SuiteError, match=r"test_derived.py:\d+: RuntimeError"):
        search_contract(suite, matching)
