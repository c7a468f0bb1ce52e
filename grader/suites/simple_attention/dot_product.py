"""dot_product: hidden tests, known mistakes and right answers."""

from __future__ import annotations

import functools
import math
from collections.abc import Iterator, Sequence
from typing import Any

import torch

from grader.suites.simple_attention.shared import DTYPES, H, T
from grader.testing.checks import (
    CheckFailed,
    expect_error,
    expect_number,
    expect_same,
    expect_true,
    expect_values,
    remark_ready_made,
)
from grader.testing.draws import Fresh
from grader.testing.misconceptions import mistake, replace
from grader.testing.probes import Draw, Property, alike, probe, refusal
from grader.testing.student import Student
from grader.testing.suite import rule

Numbers = Sequence[float] | torch.Tensor
# Functions of torch that compute a dot product in one call.
PRODUCTS = ("dot", "einsum", "inner", "matmul", "mm", "mv", "sum", "tensordot", "vdot", "vecdot")


def expect_dot_product(value: Any, a: Numbers, b: Numbers) -> None:
    products = [float(x) * float(y) for x, y in zip(a, b, strict=True)]
    # Rounding in float32 changes it by less, however small the products are.
    expect_number(value, math.fsum(products), within=1e-5 * math.fsum(map(abs, products)))


@rule("the result is the sum of the products of the numbers at the same position")
def test_products_at_the_same_place_are_added_up(student: Student, fresh: Fresh) -> None:
    """The result should be one number: the sum of the products of the numbers at the same position."""
    # Large enough to show whether an answer rounds the numbers, the products or the sum to integers. And so small that
    # it shows whether the result has as few decimals as a worked example.
    for count, size in ((T, 3), (H, 3), (T, 0.01)):
        a, b = (size * fresh(count)).tolist(), (size * fresh(count)).tolist()
        expect_dot_product(student.dot_product(a, b), a, b)
    remark_ready_made(PRODUCTS, student.dot_product, a, b)


@rule("a and b may be lists, tuples or tensors with one dimension, with ints or floats")
def test_numbers_come_in_lists_tuples_or_tensors(student: Student, fresh: Fresh) -> None:
    """Lists, tuples and tensors should all work, with ints or floats, and so should sequences with a single number."""
    a, b = [3, 0, -2], [4, 5, 7]
    tensors = [fresh(T, dtype=dtype) for dtype in DTYPES for _ in "ab"]
    # Tensors first: some operations work for tensors and not for lists.
    for first, second in (
        (tensors[0], tensors[1]),
        (tensors[2], tensors[3]),
        (a, b),
        (tuple(a), tuple(b)),
        (tuple(fresh(T).tolist()), tuple(fresh(T).tolist())),
        (fresh(1).tolist(), fresh(1).tolist()),
    ):
        expect_dot_product(student.dot_product(first, second), first, second)


@rule("different lengths raise ValueError or AssertionError")
def test_different_lengths_are_refused(student: Student, fresh: Fresh) -> None:
    """If the lengths differ, the function should raise ValueError or AssertionError, whichever sequence is longer."""
    # An answer that rejects all sequences does not pass.
    student.dot_product(fresh(T).tolist(), fresh(T).tolist())
    failures = []
    for first_length, second_length in ((T, H), (H, T), (1, T), (T, 0)):
        a, b = fresh(first_length).tolist(), fresh(second_length).tolist()
        try:
            expect_error(functools.partial(expect_a_product, student, a, b))
        except CheckFailed as failure:
            failures.append(failure)
    # Raise only after all pairs: a diagnosis needs the results for each of them.
    if failures:
        raise failures[0]


def expect_a_product(student: Student, a: Numbers, b: Numbers) -> None:
    """Call the function and expect a nonzero float or tensor, not a value such as None that signals an error."""
    result = student.dot_product(a, b)
    is_product = isinstance(result, float | torch.Tensor) and bool(torch.as_tensor(result).any())
    expect_true(is_product, "It returned a value, but an error was expected.")


@rule("for two empty sequences the result is 0")
def test_nothing_to_add_up_gives_zero(student: Student, fresh: Fresh) -> None:
    """For two empty lists or tuples the result should be zero, and only for these."""
    expect_number(student.dot_product([], []), 0, within=0)
    expect_number(student.dot_product((), ()), 0, within=0)
    # An answer that always returns zero does not pass.
    a, b = fresh(1).tolist(), fresh(1).tolist()
    expect_dot_product(student.dot_product(a, b), a, b)


@rule("the arguments are not changed")
def test_multiplying_leaves_the_numbers_alone(student: Student, fresh: Fresh) -> None:
    """The result should be correct, and the call should not change the sequences."""
    lists = [fresh(T).tolist() for _ in "ab"]
    result, after = expect_values(student.dot_product.with_arguments(*lists), 2)
    expect_dot_product(result, *lists)
    expect_true(list(after) == lists, "A list was changed.")
    tensors = [fresh(T) for _ in "ab"]
    result, after = expect_values(student.dot_product.with_arguments(*tensors), 2)
    expect_dot_product(result, *tensors)
    for argument, before in zip(after, tensors, strict=True):
        expect_same(argument, before, "A tensor was changed.")


# -- misconceptions ------------------------------------------------------------------------------------------------


EATEN_UP = (
    "The numbers in the caller's lists were changed, as by `pop` or by an assignment to a position. Only read the "
    "numbers: the caller may need them later."
)

MISCONCEPTIONS = [
    mistake("longer_end_dropped", replace("len(a) != len(b)", "False").replace("strict=True", "strict=False"),
        "If one sequence is longer, the code silently ignores its end. The cause is `zip`, the smaller of the two "
        "lengths, or zeros added to the shorter one. A dot product of different lengths has no meaning: raise an "
        "error."),
    mistake("lengths_never_compared",
        replace("len(a) != len(b)", "False")
        .replace("x, y in zip(a, b, strict=True)", "place in range(len(a))")
        .replace("x * y", "a[place] * b[place]"),
        "The loop counts the entries of the first sequence and never checks the second. If the second is shorter, "
        "the loop raises an IndexError. If it is longer, nothing happens. Compare the lengths first."),
    mistake("different_lengths_give_none",
        replace('raise ValueError(f"the lengths differ: {len(a)} and {len(b)}")', "return None"),
        "For different lengths the function returns a result, such as None or 0, instead of an error. The caller may "
        "use this result by mistake, but cannot overlook an error."),
    mistake("lengths_refused_with_any_exception", replace("ValueError", "Exception"),
        "Different lengths raise an error of the wrong type. Callers recognise errors by their type. Here the type "
        "is ValueError or AssertionError."),
    mistake("single_number_stretched", replace("    if", "    if len(a) == 1:\n        a = [a[0]] * len(b)\n    if"),
        "A sequence of one number is broadcast to the length of the other one, as tensors do in a product. Different "
        "lengths should always raise an error, here too."),
    mistake("sum_begins_with_the_first_product",
        replace("total = 0", "total = a[0] * b[0]").replace("zip(a, b,", "zip(a[1:], b[1:],"),
        "The sum begins with the first product. Empty sequences have no first product, so the code fails. Begin "
        "with 0, which is the result for two empty sequences."),
    mistake("truth_of_a_tensor_asked", replace("    total = 0", "    if not a:\n        return 0\n    total = 0"),
        "Lists work, but tensors end in an error. Either the code rejects them, or it uses something that works "
        "only for lists, such as `if not a`. `len` works for both."),
    mistake("lists_given_to_torch", replace("return total", "return torch.dot(a, b)"),
        "Only tensors work. Lists and tuples cannot be multiplied entry by entry. Loop over the positions of both "
        "sequences: this works for all types."),
    mistake("returned_inside_the_loop", replace("    return total\n", "").replace("total = total +", "return total +"),
        "Only the first product counts, as with a `return` inside the loop. Put the `return` after the loop, with "
        "the same indentation as `for`."),
    mistake("only_the_last_product", replace("total + x * y", "x * y"),
        "Each product replaces the one before, so only the last one is left. The total so far must stay: add each "
        "product to it."),
    mistake("last_place_left_out", replace("zip(a, b,", "zip(a[:-1], b[:-1],"),
        "The last position is missing. `range(n)` already ends before n, so do not subtract one."),
    mistake("every_number_with_every_other", replace("zip(a, b, strict=True)", "((x, y) for x in a for y in b)"),
        "Every number of the first sequence counts with every number of the second, as in two nested loops or in the "
        "product of both sums. Only numbers at the same position belong together."),
    mistake("fractions_cut_off", replace("x * y", "int(x * y)"),
        "`int` cut off the fractions. The numbers of an embedding are small, and most of their information is after "
        "the decimal point."),
    mistake("result_not_returned", replace("    return total\n", ""),
        "The function returned None. `print` only shows a result: use `return`, so that other code can compute with "
        "it."),
    mistake("numbers_overwritten",
        replace("x, y in zip(a, b, strict=True)", "place in range(len(a))")
        .replace("total = total + x * y", "a[place] *= b[place]\n        total = total + a[place]"), EATEN_UP),
    mistake("numbers_overwritten_but_in_tuples",
        replace("total = 0", "total, a = 0, list(a) if isinstance(a, tuple) else a")
        .replace("x, y in zip(a, b, strict=True)", "place in range(len(a))")
        .replace("total = total + x * y", "a[place] *= b[place]\n        total = total + a[place]"), EATEN_UP),
]  # fmt: skip


# -- probes --------------------------------------------------------------------------------------------------------


def numbers_for(draw: Draw, count: int) -> Numbers:
    """Return a sequence of `count` numbers, of any type that dot_product takes."""
    # All ints or all floats: a mixture would give products of two dtypes with a tensor of ints.
    numbers: list[float] = [draw.random.gauss(0, 3) for _ in range(count)]
    is_ints = draw.chance(0.4)
    if is_ints:
        numbers = [draw.random.randint(-9, 9) for _ in range(count)]
    match draw.pick("list", "tuple", "tensor"):
        case "tuple":
            return tuple(numbers)
        case "tensor":
            return torch.tensor(numbers, dtype=torch.int64 if is_ints else draw.dtype)
    return numbers


@probe()
def sums_of_products(unit: Any, draw: Draw) -> Iterator[Property]:
    count = draw.size(0, 7)
    a, b = numbers_for(draw, count), numbers_for(draw, count)
    before = [list(a), list(b)]
    yield "the values", unit.dot_product(a, b)
    yield "the arguments afterwards", alike([list(a), list(b)], before)


@probe(draws=300)
def lengths_that_differ(unit: Any, draw: Draw) -> Iterator[Property]:
    first, second = draw.random.sample(range(6), 2)
    yield from refusal(unit.dot_product, numbers_for(draw, first), numbers_for(draw, second))


# -- answers -------------------------------------------------------------------------------------------------------


def wrong_answers():
    """Mistakes without a name. Never run here: the audit reads them."""

    def length_asked_in_a_misspelt_way(a, b):
        if a.lenght != b.lenght:
            raise ValueError("the lengths differ")
        return sum(x * y for x, y in zip(a, b))

    def rounded_to_four_decimals(a, b):
        return round(float(sum(x * y for x, y in zip(a, b, strict=True))), 4)

    def every_other_place(a, b):
        return sum(x * y for x, y in list(zip(a, b, strict=True))[::2])

    def second_read_backwards(a, b):
        assert len(a) == len(b)
        return sum(a[i] * b[-i - 1] for i in range(len(a)))

    def first_with_itself(a, b):
        return sum(x * x for x, y in zip(a, b, strict=True))

    def sum_begins_with_one(a, b):
        return sum((x * y for x, y in zip(a, b, strict=True)), 1)

    def products_multiplied(a, b):
        total = 0
        for x, y in zip(a, b, strict=True):
            total = (total or 1) * x * y
        return total


def right_answers():
    """Answers in other styles. Never run here: the audit reads them."""

    import numpy as np

    def by_hand(a, b):
        assert len(a) == len(b), "different lengths"
        total = 0.0
        place = 0
        while place < len(a):
            total += a[place] * b[place]
            place += 1
        return total

    def einsum(a, b, verbose: bool = False) -> float:
        """In float64, whatever comes."""
        if not len(a) == len(b):
            raise ValueError(f"{len(a)} numbers against {len(b)}")
        if len(a) == 0:
            return 0.0
        first, second = torch.as_tensor(a, dtype=torch.float64), torch.as_tensor(b, dtype=torch.float64)
        result = torch.einsum("i,i", first, second).item()
        print("dot product", result)
        return result

    def one_on_another(a, b):
        return sum(x * y for x, y in zip(a, b, strict=True))

    def ready_made(a, b):
        return np.dot(a, b)

    def turned_round(a, b):
        if len(a) != len(b):
            raise ValueError
        if len(a) < 2:
            return a[0] * b[0] if len(a) else 0
        half = len(a) // 2
        return turned_round(a[:half], b[:half]) + turned_round(a[half:], b[half:])
