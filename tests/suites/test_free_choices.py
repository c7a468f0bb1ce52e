"""What a stub leaves open costs nothing, and odd values lose points without an error of a test."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy
import pytest
import torch
from torch import Tensor, nn
from units import SUBSTITUTES, SUITES, UNITS, Suite, passed, right

from grader.testing.student import InProcessBackend, Student
from grader.testing.substitutes import MODULE


def lost(exercise: str, answer: Any) -> dict[str, str]:
    """Return the reasons of the criteria that an answer fails."""
    outcomes = SUITES[UNITS[exercise]].outcomes({exercise: answer}, exercise)
    return {name: outcome.reason for name, outcome in outcomes.items() if not outcome.passed}


# -- initial values, modules and dtypes --------------------------------------------------------------------------


def equal_weights(*sizes: Any, **options: Any) -> nn.Module:
    wrapper = right("MultiHeadAttentionWrapper")(*sizes, **options)
    for parameter in wrapper.parameters():
        nn.init.constant_(parameter, 0.1)
    return wrapper


def random_norm(*sizes: Any) -> nn.Module:
    norm = right("LayerNorm")(*sizes)
    nn.init.normal_(norm.scale)
    nn.init.normal_(norm.shift)
    return norm


def detached_logits(vocab_size: int) -> nn.Module:
    """The logits are detached; gradients flow from the loss."""

    class DetachedLogits(right("BigramLanguageModel")):  # type: ignore[misc]
        def forward(self, idx: Tensor, targets: Tensor | None = None) -> Any:
            logits, loss = super().forward(idx, targets)
            return logits.detach(), loss

    return DetachedLogits(vocab_size)


def stack_that_calls_its_blocks(make_block: Callable[[], nn.Module], num_blocks: int) -> nn.Module:
    class Stack(nn.ModuleList):
        def forward(self, x: Tensor) -> Tensor:
            for block in self:
                x = block(x)
            return x

    return Stack(make_block() for _ in range(num_blocks))


def encoding_within_the_tolerance(num_positions: int, d_model: int) -> Tensor:
    off = torch.full((num_positions, d_model), 9e-5)
    off[1::2] *= -1
    return right("sinusoidal_encoding")(num_positions, d_model) + off


def positions_within_the_tolerance(x: Tensor) -> Tensor:
    return x + encoding_within_the_tolerance(*x.shape[1:]).to(x.dtype)


def numpy_encoding(num_positions: int, d_model: int) -> Any:
    return right("sinusoidal_encoding")(num_positions, d_model).numpy()


@pytest.mark.parametrize(
    ("exercise", "answer"),
    [
        ("MultiHeadAttentionWrapper", equal_weights),
        ("LayerNorm", random_norm),
        ("BigramLanguageModel", detached_logits),
        ("stack_blocks", stack_that_calls_its_blocks),
        ("sinusoidal_encoding", encoding_within_the_tolerance),
        ("add_positions", positions_within_the_tolerance),
        ("sinusoidal_encoding", numpy_encoding),
    ],
)
def test_what_the_stub_leaves_open_costs_nothing(exercise: str, answer: Callable[..., Any]) -> None:
    assert lost(exercise, answer) == {}


def test_a_numpy_array_has_no_gradients() -> None:
    found = lost("linear_as_matmul", lambda x, weight, bias: (x @ weight + bias).detach().numpy())
    assert found.keys() == {"gradients_of_the_linear_layer"}


@pytest.mark.parametrize(
    ("exercise", "name"),
    [
        ("sample_batch", "every_start_comes_up"),
        ("sample_batch", "starts_are_equally_likely"),
        ("sample_batch", "each_row_has_a_draw_of_its_own"),
        ("BigramLanguageModel", "tokens_are_drawn_from_the_softmax"),
        ("BigramLanguageModel", "every_token_is_drawn_by_itself"),
        ("Head", "each_weight_is_dropped_by_itself"),
    ],
)
def test_a_right_answer_passes_whatever_the_draws_are(exercise: str, name: str) -> None:
    suite = SUITES["bigram_language_model"]
    [criterion] = [criterion for criterion in suite.of(exercise) if criterion.name == name]
    backend = InProcessBackend(suite.unit, {exercise: right(exercise)})
    for seed in range(30):
        torch.manual_seed(seed)
        student = Student(backend, suite.unit)
        student.seed(seed)
        criterion.function(student=student, fresh=criterion.fresh())


# -- ready-made functions ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("style", "remarked"),
    [("ready_made", {"softmax_naive", "softmax_stable"}), ("einsum", {"dot_product"}), ("by_hand", set())],
)
def test_a_ready_made_function_earns_a_remark_and_costs_nothing(style: str, remarked: set[str]) -> None:
    suite: Suite = SUITES["simple_attention"]
    outcomes = suite.outcomes(suite.in_style(style))
    assert all(outcome.passed for outcome in outcomes.values())
    assert {criterion.exercise for criterion in suite.criteria if outcomes[criterion.name].remarks} == remarked


def test_the_remark_on_a_ready_made_loss_names_it() -> None:
    def cross_entropy(logits: Tensor, targets: Tensor) -> Tensor:
        return torch.nn.functional.cross_entropy(logits, targets)

    outcomes = SUITES["bigram_language_model"].outcomes({"cross_entropy": cross_entropy}, "cross_entropy")
    assert all(outcome.passed for outcome in outcomes.values())
    assert outcomes["the_mean_of_minus_the_logarithms"].remarks == (
        "It makes use of torch's cross_entropy, which it was to do without. That costs nothing.",
    )


# -- the arguments of GPT-2 --------------------------------------------------------------------------------------

GPT2 = "def gpt2_small_attention():\n    return MultiHeadAttention({0}(768), {0}(768), {0}(1024), 0.0, {0}(12))\n"
RAISING = "class MultiHeadAttention:\n    def __init__(self, *_):\n        raise TypeError\n"


@pytest.mark.parametrize("source", [RAISING + GPT2.format("int"), GPT2.format("int"), GPT2.format("numpy.int64")])
def test_the_arguments_of_gpt2_may_be_numpys_and_do_not_depend_on_the_students_class(source: str) -> None:
    names: dict[str, Any] = {"numpy": numpy}
    exec(source, names)
    criteria = {criterion.name for criterion in SUITES["multi_head_attention"].of("gpt2_small_attention")}
    assert passed("gpt2_small_attention", names) == criteria


def test_a_text_instead_of_a_number_is_not_quoted_in_a_message() -> None:
    base: Any = SUBSTITUTES["MultiHeadAttention"]

    class Attention(base):
        def __getattribute__(self, name: str) -> object:
            hostile = ("d_in", "d_out", "num_heads", "context_length")
            return "::error::forged" if name in hostile else super().__getattribute__(name)

    Attention.__module__, Attention.__qualname__ = MODULE, "MultiHeadAttention"
    reasons = lost("gpt2_small_attention", lambda: Attention(768, 768, 1024, 0.0, 12)).values()
    assert "It was made with a str for num_heads." in reasons
    assert "forged" not in " ".join(reasons)


# -- odd heads ---------------------------------------------------------------------------------------------------


class Odd(nn.Module):
    """A module with some parameters of heads, none of which is a whole head."""

    def __init__(self, *names: str, size: tuple[int, ...] = (1, 7)) -> None:
        super().__init__()
        self.heads = nn.ModuleList([nn.Module()])
        for name in names:
            layer = nn.Module()
            layer.weight = nn.Parameter(torch.zeros(size))
            setattr(self.heads[0], name, layer)

    def forward(self, inputs: torch.Tensor) -> torch.Tensor:
        return inputs[..., :2]


@pytest.mark.parametrize("odd", [lambda: Odd("W_value"), lambda: Odd("W_query", "W_key", "W_value", size=())])
@pytest.mark.parametrize("substitutes", [(), ("MultiHeadAttentionWrapper",)])
def test_odd_heads_lose_points_and_make_no_test_raise(odd: Callable[[], Odd], substitutes: tuple[str, ...]) -> None:
    backend = InProcessBackend("multi_head_attention", {"two_dimensional_output": lambda *_: odd()})
    criteria = SUITES["multi_head_attention"].of("two_dimensional_output")
    faults = {criterion.name: criterion.run(backend, substitutes).fault for criterion in criteria}
    assert faults == dict.fromkeys(faults, "")
