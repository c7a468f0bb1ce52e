"""Helpers of probes: inputs to draw, properties to observe, and the comparison of two observations.

A probe takes a unit's names and a Draw, and yields the observable properties of one exercise: everything that the
course has a rule about, and nothing else. Probes are written from the rules, without a look at the hidden tests.

The probe of a contract is derived from its draw, with other numbers, sizes, dtypes and memory layouts. A probe by hand
looks at the rest: special values, refusals, random results, modules.
"""

from __future__ import annotations

import inspect
import random
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import ModuleType
from typing import Any, TypeVar

import numpy
import torch
from torch import Tensor, nn

from grader.sandbox.values import cotangent
from grader.testing.draws import Fresh
from grader.testing.properties import ABSOLUTE, RELATIVE
from grader.testing.suite import Contract


@dataclass(frozen=True)
class Estimate:
    """A number or numbers that differ from their true value by at most `within`."""

    value: float | Tensor
    within: float | Tensor


def alike(found: Any, right: Any) -> bool:
    """Return whether two observations are the same up to rounding in float32.

    A tuple may equal a list, a number a tensor without dimensions, and both may be NumPy's.
    """
    if isinstance(found, numpy.ndarray | numpy.number):
        found = torch.as_tensor(found)
    if isinstance(right, Estimate):
        return isinstance(found, Estimate) and _near(found, right)
    if isinstance(right, tuple | list):
        same_length = isinstance(found, tuple | list) and len(found) == len(right)
        return same_length and all(alike(one, other) for one, other in zip(found, right, strict=True))
    if _is_number(right) and _is_number(found):
        if isinstance(right, int) and isinstance(found, int):
            return found == right
        found, right = (torch.as_tensor(value, dtype=torch.float64).detach() for value in (found, right))
    if isinstance(right, Tensor):
        if not isinstance(found, Tensor) or found.shape != right.shape:
            return False
        if found.dtype == right.dtype and torch.equal(found, right):
            return True
        return torch.allclose(found.detach().double(), right.detach().double(), RELATIVE, ABSOLUTE, equal_nan=True)
    return type(found) is type(right) and bool(found == right)


def _near(found: Estimate, right: Estimate) -> bool:
    one, other, apart = (
        torch.as_tensor(number, dtype=torch.float64).detach()
        for number in (found.value, right.value, found.within + right.within)
    )
    return one.shape == other.shape and bool(((one - other).abs() <= apart).all())


def _is_number(value: Any) -> bool:
    is_plain = isinstance(value, int | float) and not isinstance(value, bool)
    return is_plain or (isinstance(value, Tensor) and value.dim() == 0)


# -- probes ------------------------------------------------------------------------------------------------------

DRAWS = 1000
# The probabilities of dropout.
PROBABILITIES = (0.2, 0.4, 0.5, 0.7)
# How far a mean of draws may be from its expectation, in standard deviations. For a normal distribution, two means of
# equal distribution differ by more than both tolerances about once in 1e16. The margin is for other distributions.
DEVIATIONS = 6

# What an answer may raise.
ANY_ERROR = (Exception,)
# The name of an observation in a word or two, and its value.
Property = tuple[str, Any]
Probe = Callable[[Any, "Draw"], Iterator[Property]]
Choice = TypeVar("Choice")


def probe(draws: int = DRAWS) -> Callable[[Probe], Probe]:
    """Mark a function that takes a unit's names and a Draw as a probe of its file's exercise, with so many draws."""

    def mark(function: Probe) -> Probe:
        function.draws = draws  # type: ignore[attr-defined]
        return function

    return mark


def probes_of(suite: ModuleType) -> list[tuple[Probe, int]]:
    """Return the probes of an exercise by hand, and the number of draws of each, in the order of their definitions."""
    return [(value, value.draws) for value in vars(suite).values() if isinstance(getattr(value, "draws", None), int)]


# -- inputs ------------------------------------------------------------------------------------------------------


class Draw:
    """Inputs for one draw of a probe. Its number determines them, and half of the draws are in float64."""

    def __init__(self, number: int) -> None:
        """Start the draw of this number."""
        self.number = number
        self.random = random.Random(number)
        self.generator = torch.Generator().manual_seed(number)
        self.dtype = torch.float64 if number % 2 else torch.float32

    def chance(self, probability: float) -> bool:
        """Return True with this probability."""
        return self.random.random() < probability

    def pick(self, *choices: Choice) -> Choice:
        """Return one of these."""
        return self.random.choice(choices)

    def size(self, low: int = 1, high: int = 6) -> int:
        """Return an int from low to high, both included."""
        return self.random.randint(low, high)

    def sizes(self, count: int, low: int = 1, high: int = 7) -> list[int]:
        """Return this number of sizes. In most draws all differ, so that a mix-up shows; in some, one is far larger."""
        if self.chance(0.7):
            sizes = self.random.sample(range(low, high + 1), count)
        else:
            sizes = [self.size(low, high) for _ in range(count)]
        if sizes and self.chance(0.1):
            sizes[self.random.randrange(count)] = self.size(10, 20)
        return sizes

    def normal(self, *shape: int, dtype: torch.dtype | None = None, scale: float | None = None) -> Tensor:
        """Return normal numbers of this draw's dtype, of a random scale unless one is given.

        Large ones are drawn only in float64, because gradients through their exponentials exceed float32's range.
        """
        dtype = dtype or self.dtype
        scales = (0.3, 1.0, 3.0) if dtype == torch.float64 else (0.3, 1.0)
        numbers = torch.randn(shape, generator=self.generator, dtype=torch.float64)
        return (numbers * (scale or self.pick(*scales))).to(dtype)

    def integers(self, low: int, high: int, *shape: int) -> Tensor:
        """Return ints from low to high, high excluded."""
        return torch.randint(low, high, shape, generator=self.generator)

    def viewed(self, numbers: Tensor) -> Tensor:
        """Return the same numbers in a random memory layout: dimensions in any order, possibly with gaps."""
        order = self.random.sample(range(numbers.dim()), numbers.dim())
        laid_out = numbers.permute(order).contiguous()
        if self.chance(0.3):
            laid_out = torch.stack([laid_out, laid_out + 1], dim=-1)[..., 0]
        return laid_out.permute([order.index(dim) for dim in range(numbers.dim())])


# -- calls -------------------------------------------------------------------------------------------------------


def call(
    function: Callable[..., Any],
    *arguments: Any,
    keeps_dtype: bool = False,
    parameters: Mapping[str, Tensor] | None = None,
    **options: Any,
) -> Iterator[Property]:
    """Make a valid call, and yield its results, its arguments afterwards, and the gradients of a sum of all results.

    keeps_dtype: yield the dtypes of the results too. parameters: what gradients should reach besides the arguments.
    """
    given = [_copied(argument) for argument in arguments]
    named = {name: _copied(option) for name, option in options.items()}
    results = function(*given, **named)
    yield "the values", results
    if keeps_dtype:
        yield "the dtypes", [str(result.dtype) for result in _tensors(results)]
    yield "the arguments afterwards", [*given, *named.values()]
    yield from _gradients(function, arguments, options, parameters or {})


class _FreshOfDraw(Fresh):
    """Fresh inputs from a probe's draw: of its dtype unless another is asked for, some in another memory layout."""

    def __init__(self, draw: Draw) -> None:
        self.draw, self.generator = draw, draw.generator

    def __call__(self, *shape: int, dtype: torch.dtype | None = None) -> Tensor:
        numbers = self.draw.normal(*shape).to(dtype or self.draw.dtype)
        return self.draw.viewed(numbers) if self.draw.chance(0.5) else numbers


def contract_probes(suite: ModuleType) -> list[tuple[Probe, int]]:
    """Return the probe that is derived from an exercise's contract, if there is one, and its number of draws."""
    test = getattr(suite, "test_contract", None)
    contract = getattr(test, "contract", None)
    if not isinstance(contract, Contract) or not contract.drawn:
        return []
    exercise, arguments = contract.drawn
    keeps_dtype = any(part.keeps_dtype for part in contract.parts)

    def probe(unit: Any, draw: Draw) -> Iterator[Property]:
        yield from call(getattr(unit, exercise), *drawn_arguments(arguments, draw), keeps_dtype=keeps_dtype)

    probe.__name__ = "test_contract"
    probe.__wrapped__ = test  # type: ignore[attr-defined] # an error in it is the contract's
    return [(probe, DRAWS)]


def drawn_arguments(function: Callable[..., Sequence[Any]], draw: Draw) -> Sequence[Any]:
    """Return arguments as a contract draws them, but with other sizes: mostly different ones, sometimes all equal."""
    parameters = inspect.signature(function).parameters.values()
    names = [parameter.name for parameter in parameters if type(parameter.default) is int]
    sizes = draw.sizes(len(names), high=max(7, len(names)))
    given: dict[str, Any] = dict(zip(names, sizes[:1] * len(names) if draw.chance(0.1) else sizes, strict=True))
    if any(parameter.name == "dtype" for parameter in parameters):
        given["dtype"] = draw.dtype
    has_leading = any(parameter.kind is parameter.VAR_POSITIONAL for parameter in parameters)
    leading = draw.sizes(draw.size(0, 2), high=3) if has_leading else []
    return function(_FreshOfDraw(draw), *leading, **given)


def _gradients(
    function: Callable[..., Any],
    arguments: tuple[Any, ...],
    options: Mapping[str, Any],
    parameters: Mapping[str, Tensor],
) -> Iterator[Property]:
    leaves = [_copied(argument) for argument in arguments]
    floats = [leaf.requires_grad_() for leaf in leaves if isinstance(leaf, Tensor) and leaf.is_floating_point()]
    wanted = {**{f"argument {number}": leaf for number, leaf in enumerate(floats, 1)}, **parameters}
    results = [result for result in _tensors(function(*leaves, **options)) if result.is_floating_point()]
    parts = ((one * cotangent(one.shape, one.dtype)).sum().double() for one in results)
    total = sum(parts, torch.zeros((), dtype=torch.float64))
    if not total.requires_grad:
        yield "whether gradients flow", False
        return
    found = torch.autograd.grad(total, list(wanted.values()), allow_unused=True)
    for name, gradient in zip(wanted, found, strict=True):
        yield f"the gradient of {name}", gradient


def refusal(
    function: Callable[..., Any], *arguments: Any, any_error: bool = False, **options: Any
) -> Iterator[Property]:
    """Yield whether an invalid call raises ValueError or AssertionError or, with any_error, any exception."""
    allowed = ANY_ERROR if any_error else (ValueError, AssertionError)
    try:
        function(*arguments, **options)
    except allowed:
        yield "the refusal", True
    except ANY_ERROR:
        yield "the refusal", "an error of another type"
    else:
        yield "the refusal", False


def _copied(argument: Any) -> Any:
    """Return a copy with the same memory layout."""
    if isinstance(argument, Tensor):
        return torch.empty_strided(argument.shape, argument.stride(), dtype=argument.dtype).copy_(argument)
    return list(argument) if isinstance(argument, list) else argument


def _tensors(results: Any) -> list[Tensor]:
    if isinstance(results, Tensor):
        return [results]
    if isinstance(results, tuple | list):
        return [tensor for result in results for tensor in _tensors(result)]
    return []


# -- modules -----------------------------------------------------------------------------------------------------


def layers(module: nn.Module, names: Iterable[str]) -> Iterator[Property]:
    """Yield what the linear layers of these names are: their shapes, their biases, and whether they are trained."""
    for name in names:
        layer: Any = module.get_submodule(name)
        bias = None if layer.bias is None else tuple(layer.bias.shape)
        yield f"what {name} is", (isinstance(layer, nn.Linear), tuple(layer.weight.shape), bias)
        yield f"whether {name} is trained", has_parameters(module, layer.parameters())


def has_parameters(module: nn.Module, wanted: Iterable[Tensor]) -> bool:
    """Return whether all of these are trained parameters of the module."""
    known = {id(parameter) for parameter in module.parameters() if parameter.requires_grad}
    return all(id(parameter) in known for parameter in wanted)


def set_drawn_layers(draw: Draw, module: nn.Module, names: Iterable[str]) -> dict[str, Tensor]:
    """Draw new values for the parameters of these layers, and return them by name."""
    found = {}
    for name in names:
        layer: Any = module.get_submodule(name)
        found[f"{name}.weight"] = set_to(
            layer.weight, draw.normal(*layer.weight.shape, scale=layer.weight.shape[1] ** -0.5)
        )
        if layer.bias is not None:
            found[f"{name}.bias"] = set_to(layer.bias, draw.normal(*layer.bias.shape, scale=1))
    return found


def set_to(parameter: Any, values: Tensor) -> Tensor:
    """Set the values of a parameter, of its own shape, and return it."""
    if parameter.shape != values.shape:
        raise ValueError(f"a parameter of shape {tuple(parameter.shape)} instead of {tuple(values.shape)}")
    with torch.no_grad():
        parameter.copy_(values)
    changed: Tensor = parameter
    return changed


# -- random results ----------------------------------------------------------------------------------------------


def shares(happened: Tensor) -> Iterator[Property]:
    """Yield how often events happened, alone, in pairs and one after the other; (trials, events) of bools."""
    trials = len(happened)
    seen = happened.double()
    mean = seen.mean(dim=0)  # (trials, events) -> (events,)
    variance = mean * (1 - mean) + 1 / trials
    yield "how often it happens", Estimate(mean, DEVIATIONS * (variance / trials) ** 0.5)
    yield "how often it happens in all", Estimate(mean.mean(), DEVIATIONS * (variance.mean() / seen.numel()) ** 0.5)
    around = seen - mean
    # A pair of an event and itself says nothing new.
    others = 1 - torch.eye(len(mean), dtype=torch.float64)
    yield "how often it happens together", _mean_product(around, around, others)
    yield "how often it happens one after the other", _mean_product(around[1:], around[:-1])


def _mean_product(one: Tensor, other: Tensor, others: Tensor | float = 1.0) -> Estimate:
    """Return the means of the products of each column of one with each of the other; both (trials, events)."""
    trials = len(one)
    mean = one.T @ other / trials  # (events, events)
    variance = (one**2).T @ other**2 / trials - mean**2 + 1 / trials
    return Estimate(mean * others, DEVIATIONS * (variance / trials) ** 0.5)


def draws_from_generator(result_with: Callable[[torch.Generator | None], Any], seed: int) -> Iterator[Property]:
    """Yield where a function's random draws come from. Its result must be so random that none occurs twice."""
    first, second = (torch.Generator().manual_seed(seed) for _ in range(2))
    _seed_globals(seed + 1)
    right = result_with(first)
    _seed_globals(seed + 2)
    before, global_before = second.get_state(), torch.get_rng_state()
    again = result_with(second)
    yield "whether the same generator state gives the same result", alike(again, right)
    yield "whether the global generator stays out of it", torch.equal(torch.get_rng_state(), global_before)
    yield "whether the generator advances", not torch.equal(second.get_state(), before)
    yield "whether the next result is another", not alike(result_with(second), right)
    _seed_globals(seed + 3)
    right = result_with(None)
    yield "whether the next result without a generator is another", not alike(result_with(None), right)
    _seed_globals(seed + 3, other=seed)
    global_before = torch.get_rng_state()
    yield "whether the same global state gives the same result", alike(result_with(None), right)
    yield "whether the global generator advances", not torch.equal(torch.get_rng_state(), global_before)


def _seed_globals(seed: int, other: int | None = None) -> None:
    """Seed every global generator. other: a different seed for Python's, on which no result should depend."""
    torch.manual_seed(seed)
    random.seed(seed if other is None else other)
