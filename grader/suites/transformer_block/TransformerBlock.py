"""TransformerBlock: hidden tests, known mistakes and right answers."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Iterator
from typing import Any

import torch
import torch.nn as nn
from torch import Tensor

from grader.suites.transformer_block.shared import (
    ALL_DETACHED,
    CHANGED,
    FLOAT64,
    IN_FLOAT64,
    X_UNCHANGED,
    B,
    Bent,
    C,
    Constant,
    Function,
    ModuleAndFunction,
    Norm,
    T,
    expect_gradients_of_registered,
    expect_registered,
    linear,
    linear_module,
    name_of,
    normalized_vectors,
    registered_name,
    robust_calls,
    rotation_of_the_sum,
    with_calm_gradients,
)
from grader.testing.behaviour import steady_results
from grader.testing.checks import expect_close, expect_tensor, expect_true, oracle_gradients
from grader.testing.draws import Fresh, expect_count, expect_own_draws
from grader.testing.misconceptions import Replacements, misconception, mistake, replace
from grader.testing.probes import (
    PROBABILITIES,
    Draw,
    Estimate,
    Property,
    alike,
    call,
    has_parameters,
    probe,
    set_to,
    shares,
)
from grader.testing.student import Raised, RemoteObject, Student
from grader.testing.suite import contract, kept_arguments, right_results, rule


class Skip:
    """What Residual should compute."""

    @staticmethod
    def join(x: torch.Tensor, given: torch.Tensor) -> torch.Tensor:
        return x + given


def join_of(student: Student) -> Callable[[torch.Tensor, torch.Tensor], torch.Tensor]:
    """Return the function that joins x and the output of a module."""
    return student.substitute("Residual", Skip).join


# Scale and shift of a norm.
Affine = tuple[torch.Tensor, torch.Tensor]
PLAIN: Affine = (torch.ones(C), torch.zeros(C))


def transformer_block(
    student: Student,
    x: torch.Tensor,
    attention: Function,
    feed_forward: Function,
    norm1: Affine = PLAIN,
    norm2: Affine = PLAIN,
) -> torch.Tensor:
    """(B, T, C) to the same."""
    normalize, join = student.substitute("LayerNorm", Norm).normalize, join_of(student)
    x = join(x.double(), attention(normalize(x.double(), *(value.double() for value in norm1))))
    return join(x, feed_forward(normalize(x, *(value.double() for value in norm2))))


def block_in_eval_mode(
    student: Student, attention: RemoteObject, feed_forward: RemoteObject, dropout: float = 0.0, emb_dim: int = C
) -> RemoteObject:
    """A TransformerBlock in eval mode: only tests about dropout use training mode."""
    for exercise in ("LayerNorm", "Residual"):
        student.substitute(exercise, None)  # records that a substitute is used, if the block calls it
    block = student.queue("TransformerBlock", attention, feed_forward, emb_dim, dropout)
    block.eval()
    return block


def token_mixer(x: torch.Tensor) -> torch.Tensor:
    """The output of a TokenMixer for (B, T, C)."""
    return x + x.mean(dim=1, keepdim=True)


def position_wise(x: torch.Tensor) -> torch.Tensor:
    """The output of a PositionWise."""
    return x.square() + 1


def zero_output(x: torch.Tensor) -> torch.Tensor:
    """The output of a linear layer whose weight is zero."""
    return torch.zeros_like(x)


def zero_layer(student: Student, emb_dim: int = C) -> RemoteObject:
    return linear_module(student, torch.zeros(emb_dim, emb_dim))


@rule("attention gets norm1(x), and its output is added to x")
def test_what_attention_gives_is_added_to_x(student: Student, fresh: Fresh) -> None:
    """If feed_forward gives zeros, the output should be x plus attention's output for norm1(x)."""
    block, x = block_in_eval_mode(student, student.make("TokenMixer"), zero_layer(student)), 2 * fresh(B, T, C) + 1
    expect_close(block(x), transformer_block(student, x, token_mixer, zero_output), "The outputs")


SECOND_STEP = "then feed_forward gets norm2 of that sum, and its output is added to the sum"


@rule(SECOND_STEP)
def test_what_feed_forward_gives_is_added(student: Student, fresh: Fresh) -> None:
    """If attention gives zeros, the output should be x plus feed_forward's output for norm2(x)."""
    block, x = block_in_eval_mode(student, zero_layer(student), student.make("PositionWise")), 2 * fresh(B, T, C) + 1
    expect_close(block(x), transformer_block(student, x, zero_output, position_wise), "The outputs")


@rule(SECOND_STEP)
def test_feed_forward_comes_second(student: Student, fresh: Fresh) -> None:
    """feed_forward should work on x plus attention's output, and its own output should be added to that."""
    block = block_in_eval_mode(student, student.make("TokenMixer"), student.make("PositionWise"))
    x = 2 * fresh(B, T, C) + 1
    expect_close(block(x), transformer_block(student, x, token_mixer, position_wise), "The outputs")


NORMS = "norm1 and norm2 are LayerNorm or nn.LayerNorm for emb_dim features, each with its own parameters"


def set_norm(block: RemoteObject, name: str, affine: Affine, biases: int = 0) -> RemoteObject:
    """Set the scale and shift of a norm of the block, which nn.LayerNorm calls weight and bias.

    biases: the number of biases in the modules that were passed to the block.
    """
    count = sum(value.shape == (C,) for value in block.parameters().values()) - biases
    expect_true(count > 0, "The block has no norms with parameters.")
    norm: Any = None
    with contextlib.suppress(Raised):
        norm = block.get(name)
    expect_true(norm is not None, f"There is no {name}, although the norms of the block have {count} parameters.")
    expect_true(isinstance(norm, RemoteObject), f"{name} is not a module.")
    current = norm.parameters()
    pairs = [
        [registered_name(norm, current, attribute) for attribute in pair]
        for pair in (("scale", "shift"), ("weight", "bias"))
    ]
    names = next((pair for pair in pairs if current.keys() == set(pair)), [])
    expect_true(bool(names), f"{name} does not have the parameters of a layer norm.")
    expect_true(all(value.shape == (C,) for value in current.values()), f"{name} is not for emb_dim features.")
    norm.set({name or "": value for name, value in zip(names, affine, strict=True)})
    return norm


@rule(NORMS)
def test_norm1_and_norm2_are_layer_norms(student: Student, fresh: Fresh) -> None:
    """norm1 and norm2 should be two modules, with a scale and a shift for each feature, and share none of them."""
    block = block_in_eval_mode(student, zero_layer(student), zero_layer(student))
    first, second = ((fresh(C), fresh(C)) for _ in range(2))
    norm1, norm2 = set_norm(block, "norm1", first), set_norm(block, "norm2", second)
    for norm, affine in ((norm1, first), (norm2, second)):
        kept = all(name_of(value, norm.parameters()) is not None for value in affine)
        expect_true(kept, "norm1 and norm2 share their parameters.")


@rule(NORMS)
def test_each_norm_in_its_place(student: Student, fresh: Fresh) -> None:
    """norm1 should be before attention and norm2 before feed_forward, each with its scale and shift."""
    block = block_in_eval_mode(student, student.make("TokenMixer"), student.make("PositionWise"))
    first, second = ((fresh(C), fresh(C)) for _ in range(2))
    set_norm(block, "norm1", first)
    set_norm(block, "norm2", second)
    x = 2 * fresh(B, T, C) + 1
    expect_close(block(x), transformer_block(student, x, token_mixer, position_wise, first, second), "The outputs")


@rule("the parameters of attention and feed_forward are parameters of the block")
def test_the_parameters_of_both_modules_are_found(student: Student, fresh: Fresh) -> None:
    """The weights of two given linear layers should be among the block's parameters."""
    attention, feed_forward = {"weight": fresh(C, C)}, {"weight": fresh(C, C)}
    block = block_in_eval_mode(student, linear_module(student, **attention), linear_module(student, **feed_forward))
    parameters = block.parameters()
    expect_registered(attention, parameters, "attention")
    expect_registered(feed_forward, parameters, "feed_forward")


TEXTS, TOKENS, FEATURES = 4, 14, 16
P = 0.3


def shares_added(student: Student, fresh: Fresh, which: str, weight: torch.Tensor) -> tuple[torch.Tensor, str]:
    """Return what two calls in training add to x, as a multiple of the output of `which`, and a failure reason.

    The multiples (2, B, T, C) should be 0 for dropped numbers and 1 / (1 - P) for kept ones. The output of the other
    module is zero. The reason is empty unless no number is dropped. weight: small compared with the bias, so that no
    output is near zero.
    """
    x = fresh(TEXTS, TOKENS, FEATURES)
    layer = linear_module(student, weight, 5 * fresh(FEATURES).sign())
    pair = (layer, zero_layer(student, FEATURES)) if which == "attention" else (zero_layer(student, FEATURES), layer)
    # The expected sum comes from a block without dropout, so that a wrong norm costs only its own criteria.
    exact = expect_tensor(block_in_eval_mode(student, *pair, emb_dim=FEATURES)(x), x.shape).double()
    block = block_in_eval_mode(student, *pair, dropout=P, emb_dim=FEATURES)
    block.train()
    outputs = torch.stack([expect_tensor(block(x), x.shape).double() for _ in range(2)])
    join, zero = join_of(student), torch.zeros_like(exact)
    x_only = join(join(x.double(), zero), zero)
    expect_true(bool(((exact - x_only).abs() > 0.5).all()), f"The output of {which} is not added to x.")
    shares = (outputs - x_only) / (exact - x_only)
    if (shares.abs() < 1e-4).any():
        return shares, ""
    reason = f"In training no output shows a dropped number of {which} with everything else unchanged"
    if (zeros := int((outputs == 0).sum())) > 0:
        more = "more often than" if zeros > (P + 0.1) * outputs.numel() else "as often as"
        return shares, f"{reason}; outputs become zero, including x, {more} `dropout` says."
    return shares, reason + ("." if torch.equal(outputs[0], outputs[1]) else ", although the outputs change.")


def expect_independent_dropout(student: Student, fresh: Fresh, which: str) -> None:
    """Expect that about a share P of the output of `which` is dropped, each number independently."""
    shares, problem = shares_added(student, fresh, which, fresh(FEATURES, FEATURES) / 10)
    expect_true(not problem, problem)
    kept = shares.abs() >= 1e-4
    # The calls come last: with few draws in each, two of them may be the same by chance.
    places = {"All texts": 1, "All tokens": 2, "All features of a token": 3, "Two calls": 0}
    pairs = {
        f"{alike} have the same numbers dropped in the output of {which}.": kept.unflatten(dim, (-1, 2)).unbind(dim + 1)
        for alike, dim in places.items()
    }
    equal = {reason: first == second for reason, (first, second) in pairs.items()}
    expect_own_draws(kept, equal)
    expect_count(kept, 1 - P, f"The fraction of dropped numbers of {which} is not near `dropout`.")
    # Two independent numbers are both kept or both dropped with this probability. The pairs are disjoint.
    both = P**2 + (1 - P) ** 2
    for reason, alike in equal.items():
        expect_count(alike, both, reason)


@rule("in training each number of attention's output becomes 0 independently, with probability `dropout`")
def test_numbers_of_attention_are_dropped(student: Student, fresh: Fresh) -> None:
    """In training a fraction of about `dropout` of attention's output should be dropped, independently."""
    expect_independent_dropout(student, fresh, "attention")


@rule("the same is true for each number of feed_forward's output")
def test_numbers_of_feed_forward_are_dropped(student: Student, fresh: Fresh) -> None:
    """In training a fraction of about `dropout` of feed_forward's output should be dropped, independently."""
    expect_independent_dropout(student, fresh, "feed_forward")


@rule("a kept number is divided by 1 - dropout, and the x or sum that it is added to is never dropped or scaled")
def test_what_is_kept_grows_and_x_stays(student: Student, fresh: Fresh) -> None:
    """In training each output should be x alone, or x plus a module's output divided by one minus dropout."""
    # Dropped numbers of a module's input show only in an output that depends on it.
    for weight in (torch.zeros(FEATURES, FEATURES), fresh(FEATURES, FEATURES) / 10):
        problems = []
        for which in ("attention", "feed_forward"):
            shares, problem = shares_added(student, fresh, which, weight)
            if problem:  # another criterion fails then; this one fails too if neither module has dropout
                problems.append(problem)
                continue
            kept = shares[shares.abs() >= 1e-4]
            times = kept.mean().item() if kept.numel() else 0
            reason = f"An output is neither x alone nor x plus a number of {which} divided by one minus dropout."
            if kept.numel() and bool(((kept - times).abs() < 1e-3).all()):
                reason = f"The kept numbers of {which} are multiplied by {times:.2g}, not divided by 1 - dropout."
            expect_true(bool(((kept - 1 / (1 - P)).abs() < 1e-4).all()), reason)
        expect_true(len(problems) < 2, " ".join(problems))


def robust_block(
    student: Student, fresh: Fresh, dropout: float = 0.0, dtype: torch.dtype = torch.float32
) -> ModuleAndFunction:
    """A TransformerBlock in eval mode, and what it should compute.

    Both modules are the same rotation of normalised vectors, so the order of norms and modules makes no difference.
    """
    weight = rotation_of_the_sum(fresh).to(dtype)
    attention, feed_forward = (linear_module(student, weight) for _ in range(2))
    block = block_in_eval_mode(student, attention, feed_forward, dropout)
    if dtype == torch.float64:
        block.to(dtype)
    turned = functools.partial(linear, weight=weight)
    return block, lambda x: transformer_block(student, x, turned, turned)


@rule("gradients reach x and all parameters")
def test_gradients_of_the_block(student: Student, fresh: Fresh) -> None:
    """Gradients of the output should reach x, both norms, and the parameters of attention and of feed_forward."""
    x = fresh(B, T, C)
    attention, feed_forward = ((fresh(C, C) / C**0.5, fresh(C)) for _ in range(2))
    norm1, norm2 = ((fresh(C), fresh(C)) for _ in range(2))
    block = block_in_eval_mode(student, linear_module(student, *attention), linear_module(student, *feed_forward))
    set_norm(block, "norm1", norm1, biases=2)
    set_norm(block, "norm2", norm2, biases=2)
    parameters = {
        **dict(zip(("attention.weight", "attention.bias"), attention, strict=True)),
        **dict(zip(("feed_forward.weight", "feed_forward.bias"), feed_forward, strict=True)),
        **dict(zip(("norm1.scale", "norm1.shift", "norm2.scale", "norm2.shift"), (*norm1, *norm2), strict=True)),
    }

    def function(x: torch.Tensor, **named: torch.Tensor) -> torch.Tensor:
        values = list(named.values())
        attention, feed_forward, norm1, norm2 = zip(values[::2], values[1::2], strict=True)
        attention_step, feed_forward_step = (lambda x: linear(x, *attention)), (lambda x: linear(x, *feed_forward))
        return transformer_block(student, x, attention_step, feed_forward_step, norm1, norm2)

    expect_gradients_of_registered(block, x, parameters, oracle_gradients(function, [x], parameters))


test_contract = contract(
    robust_calls(robust_block, normalized_vectors),
    steady_results(
        "nothing_is_dropped_in_eval_mode",
        "in eval mode nothing is dropped",
        "In eval mode the output should be exact, for any dropout of the block.",
        {"dropout": 0.5},
    ),
    steady_results(
        "nothing_is_dropped_without_dropout",
        "with dropout=0.0 nothing is dropped in training",
        "With a dropout of zero the output should be exact in training too.",
        {"is_training": True},
    ),
    right_results(
        "any_number_of_texts_and_tokens",
        "any number of texts and tokens, including one",
        "Batches of one or several texts, and texts of one or several tokens, should keep their shape.",
        *({"texts": texts, "tokens": tokens} for texts, tokens in ((B, T), (1, T), (B, 1), (1, 1), (T, B))),
    ),
    right_results("the_block_in_float64", FLOAT64, IN_FLOAT64.format("block"), {"dtype": torch.float64}),
    kept_arguments("the_block_leaves_x_alone", *X_UNCHANGED, "x was changed."),
)


# -- misconceptions ------------------------------------------------------------------------------------------------

# The two steps of a TransformerBlock.
ATTEND = "self.dropout(self.attention(self.norm1(x)))"
THINK = "self.dropout(self.feed_forward(self.norm2(x)))"


def dropping(dropped: str) -> Replacements:
    """A TransformerBlock whose dropout is this expression of `given`."""
    return replace("nn.Dropout(dropout)", f"lambda given: {dropped}")


# Not a row, because the norms must be nn.LayerNorm, which fails for another dtype. A substitute can replace them.
LayerNorm = nn.LayerNorm
CALLS = ["LayerNorm"]

X_TWICE = (
    "In one of the steps, or in both, x counts twice: it is added to a sum that already contains it. Each step adds "
    "only its module's output."
)
MISCONCEPTIONS = [
    mistake("post_norm",
        replace(f"x + {ATTEND}", "self.norm1(x + self.dropout(self.attention(x)))")
        .replace(f"x + {THINK}", "self.norm2(x + self.dropout(self.feed_forward(x)))"),
        "This is post-norm, as in the Transformer of 2017: each sum goes through a norm. In pre-norm the norm is "
        "before the module, and the sum is not normalised."),
    mistake("norm_on_what_is_given",
        replace("self.attention(self.norm1(x))", "self.norm1(self.attention(x))")
        .replace("self.feed_forward(self.norm2(x))", "self.norm2(self.feed_forward(x))"),
        "The norm acts on the output of a module, before it is added. In pre-norm it acts on the input of the "
        "module: attention(norm1(x))."),
    mistake("norm1_unused", replace("self.norm1(x)", "x"),
        "attention gets x without a norm. Each of the two modules needs a norm before it: attention(norm1(x))."),
    mistake("norm2_unused", replace("self.norm2(x)", "x"),
        "feed_forward gets x without a norm. Each of the two modules needs a norm before it: feed_forward(norm2(x))."),
    mistake("norm1_used_twice", replace("self.norm2(x)", "self.norm1(x)"),
        "Both steps use norm1, and norm2 is made but never used. Each norm has its own scale and shift to learn."),
    mistake("one_norm_made_for_both",
        replace("self.norm2 = LayerNorm(emb_dim)", "").replace("self.norm2(x)", "self.norm1(x)"),
        "There is no norm2: norm1 does the work of both. Each norm has its own scale and shift to learn, so make two."),
    mistake("norms_of_other_names",
        replace("self.norm1", "self.ln1", times=2).replace("self.norm2", "self.ln2", times=2),
        "The norms have other names, such as ln1 or ln_1. Code that loads weights uses the names: call them norm1 "
        "and norm2."),
    mistake("third_norm_at_the_end", replace(f"x + {THINK}", f"nn.functional.layer_norm(x + {THINK}, x.shape[-1:])"),
        "A third norm acts on the output. Such a norm comes once, after the last block of the whole stack, and not "
        "in each block."),
    mistake("no_residuals", replace("x + ", "", times=2),
        "Nothing is added to x: each step returns only its module's output. Write x = x + … in both steps."),
    mistake("first_residual_forgotten", replace("x = x + ", "x = "),
        "In the first step x is not added: attention's output replaces it. Both steps are x = x + …."),
    mistake("added_to_the_normalized_x",
        replace("x = x", "x = self.norm1(x)\n        x = x").replace("attention(self.norm1(x))", "attention(x)")
        .replace("return x", "x = self.norm2(x)\n        return x").replace("forward(self.norm2(x))", "forward(x)"),
        "The output is added to the normalised x. Then the path from block to block goes through the norms. Keep x "
        "itself for the sum."),
    mistake("first_sum_from_the_normalized_x",
        replace("x = x", "x = self.norm1(x)\n        x = x").replace("attention(self.norm1(x))", "attention(x)"),
        "In the first step the output is added to the normalised x, so the path around attention goes through norm1. "
        "Keep x itself for the sum."),
    mistake("second_step_added_to_x", replace("x = x", "first = x").replace("self.norm2(x)", "self.norm2(first)"),
        "The second step adds to the first step's x, so attention's output is not in the sum. Use the sum of the "
        "first step, both in norm2 and in the addition."),
    mistake("both_steps_at_once", replace("x = x", "first = x").replace("return x", "return first"),
        "Both modules work on the same x, in parallel, and feed_forward never sees the output of attention. Some "
        "models do that. In this block it works on the sum."),
    mistake("one_residual_around_both", replace("x = x +", "first =").replace("self.norm2(x)", "self.norm2(first)"),
        "x is added only once, at the end of both steps. Each step needs its own sum, so that gradients have a path "
        "around each of the two modules."),
    mistake("x_added_twice_in_the_second_step", replace("return x +", "return x + x +"), X_TWICE),
    mistake("x_added_twice_in_both_steps", replace("x + self", "x + x + self", times=2), X_TWICE),
    mistake("tokens_in_front_for_attention",
        replace("self.attention(self.norm1(x))", "self.attention(self.norm1(x).transpose(0, 1)).transpose(0, 1)"),
        "Batch and tokens are swapped before attention. The given modules take (B, T, emb_dim), so do not transpose "
        "x."),
    mistake("attention_given_three_things", replace("self.norm1(x)", "*[self.norm1(x)] * 3"),
        "attention or feed_forward gets more than one argument. torch's nn.MultiheadAttention takes queries, keys, "
        "values and a mask. But the modules here take only x, and compute the rest themselves."),
    mistake("first_part_of_attention", replace("self.norm1(x))", "self.norm1(x))[0]"),
        "Only the first part of attention's output is used, `[0]`. torch's nn.MultiheadAttention returns a pair. But "
        "the modules here return one tensor, and `[0]` is its first text."),
    mistake("other_arguments_in_block",
        replace("attention: nn.Module, feed_forward: nn.Module, emb_dim: int, dropout: float", "emb_dim, num_heads"),
        "The block cannot be made, because a call got other arguments than it takes. The block takes two modules "
        "that are already made, emb_dim and dropout: keep the arguments of the stub."),
    mistake("modules_hidden",
        replace("self.attention = attention", "self.kept = (attention, feed_forward)")
        .replace("self.feed_forward = feed_forward", "")
        .replace("self.attention(", "self.kept[0](").replace("self.feed_forward(", "self.kept[1]("),
        "attention and feed_forward are in a list, a tuple or a function, so their parameters are not found. Make "
        "the modules themselves attributes of the block."),
    mistake("dropout_never_applied", replace("self.dropout(", "(", times=2),
        "In training every output is as it is in eval mode: nothing is dropped. Drop a part of attention's output, "
        "and of feed_forward's output."),
    mistake("sums_dropped", replace("x + self.dropout(", "self.dropout(x + ", times=2),
        "Dropout acts on the sums. It drops parts of x too, which no later block can restore. Drop the module's "
        "output, and then add."),
    mistake("output_dropped",
        replace("self.dropout(self.attention", "(self.attention").replace("x + self.dropout(", "self.dropout(x + "),
        "Dropout drops parts of x too: it acts on the output of the whole block, or on the x that is added. Drop the "
        "module's output, in each of the two steps, and then add."),
    mistake("x_dropped", replace("self.dropout(", "(", times=2).replace("x = x", "x = self.dropout(x)\n        x = x"),
        "Dropout acts on x at the beginning, so the dropped parts are missing in the sum too. Drop the module's "
        "output."),
    mistake("dropped_before_the_modules",
        replace("self.dropout(self.attention(", "self.attention(self.dropout(")
        .replace("self.dropout(self.feed_forward(", "self.feed_forward(self.dropout("),
        "Dropout comes before the modules, before the norm or after it. Then a module gets only a part of its input. "
        "Drop its output instead."),
    mistake("kept_numbers_not_scaled", dropping("given * (nn.functional.dropout(given, dropout, self.training) != 0)"),
        "Numbers are dropped, but the kept numbers are not scaled. Divide them by 1 - dropout, so that the average "
        "stays the same."),
    mistake("dropped_in_eval_mode_too", dropping("nn.functional.dropout(given, dropout)"),
        "Numbers are dropped in eval mode too. F.dropout needs `training=self.training`; nn.Dropout knows the mode."),
    mistake("always_half_dropped", replace("nn.Dropout(dropout)", "nn.Dropout()"),
        "The probability of dropout is always one half, which is PyTorch's default, and ignores the argument. Pass "
        "it on."),
    mistake("always_the_same_draws",
        dropping("given * torch.full_like(given, 1 - dropout).bernoulli(generator=torch.Generator().manual_seed(42))"
                 " / (1 - dropout) if self.training else given"),
        "Every call drops the same numbers, as if the code set a seed or drew only once. Draw again in each call, so "
        "that the model cannot rely on any number."),
    mistake("block_squeezed", replace(f"x + {THINK}", f"(x + {THINK}).squeeze()"),
        "`squeeze()` removes every dimension of size one, so a single text or a single token loses its shape. Keep "
        "the shape."),
    mistake("block_output_detached", replace(f"x + {THINK}", f"(x + {THINK}).detach()"), ALL_DETACHED),
    mistake("x_changed_by_the_block",
        replace("x = x +", "x +=").replace(f"return x + {THINK}", f"x += {THINK}\n        return x"), CHANGED),
]  # fmt: skip


@misconception("x is made float32, so it does not match float64 modules. Keep the dtype of x.")
class x_made_float32_in_the_block(nn.Module):
    def __init__(self, attention: nn.Module, feed_forward: nn.Module, emb_dim: int, dropout: float) -> None:
        super().__init__()
        self.attention, self.feed_forward = attention, feed_forward
        self.norm1, self.norm2 = LayerNorm(emb_dim), LayerNorm(emb_dim)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x: Tensor) -> Tensor:
        x = x.float()
        x = x + self.dropout(self.attention(self.norm1(x)))
        return x + self.dropout(self.feed_forward(self.norm2(x)))


# -- probes --------------------------------------------------------------------------------------------------------


class OverTokens(Bent):
    """The same, for the mean of each token and all tokens before it."""

    def forward(self, x: Tensor) -> Tensor:
        counts = torch.arange(1, x.shape[-2] + 1, dtype=x.dtype)
        return super().forward(x.cumsum(dim=-2) / counts[:, None]) + 0.3 * x  # (B, T, C) / (T, 1) -> (B, T, C)


def norms_of(unit: Any, block: nn.Module) -> Iterator[Property]:
    for name in ("norm1", "norm2"):
        norm = getattr(block, name)
        # The mutant of a file defines its own LayerNorm.
        yield f"what {name} is", isinstance(norm, nn.LayerNorm | unit.LayerNorm)
        yield f"whether {name} is trained", has_parameters(block, norm.parameters())
        yield f"how many features {name} has", tuple(scale_and_shift(norm)[0].shape)


def scale_and_shift(norm: Any) -> tuple[Any, Any]:
    return (norm.weight, norm.bias) if isinstance(norm, nn.LayerNorm) else (norm.scale, norm.shift)


def set_norms(block: nn.Module, draw: Draw) -> dict[str, Tensor]:
    found = {}
    for name in ("norm1", "norm2"):
        for what, parameter in zip(("scale", "shift"), scale_and_shift(getattr(block, name)), strict=True):
            found[f"the {what} of {name}"] = set_to(parameter, draw.normal(*parameter.shape, scale=1))
    return found


def normalised(x: Tensor, norm: nn.Module) -> Tensor:
    return nn.functional.layer_norm(x, x.shape[-1:], *(value.detach() for value in scale_and_shift(norm)))


@probe()
def block_of_two_steps(unit: Any, draw: Draw) -> Iterator[Property]:
    emb_dim, num_tokens = draw.sizes(2)
    attention, feed_forward = OverTokens(emb_dim, draw), Bent(emb_dim, draw)
    dropout = draw.pick(0.0, 0.5)
    block = unit.TransformerBlock(attention, feed_forward, emb_dim, dropout)
    given = {
        f"{name} of {what}": value
        for what, module in (("attention", attention), ("feed_forward", feed_forward))
        for name, value in module.named_parameters()
    }
    yield "whether it has the parameters of both modules", has_parameters(block, given.values())
    yield from norms_of(unit, block)
    block.to(draw.dtype).train(dropout == 0 and draw.chance(0.5))
    parameters = {**given, **set_norms(block, draw)}
    x = draw.normal(draw.size(1, 3), num_tokens, emb_dim)
    if draw.dtype == torch.float32:  # norms of nearly equal features have only rounding errors
        yield "the values in float32", Estimate(block(x), 1e-3)
        return
    if draw.chance(0.2):  # so that eps matters
        x = 0.003 * x
    yield from with_calm_gradients(call(block, x, parameters=parameters), x)


@probe(draws=4)
def numbers_dropped_in_training(unit: Any, draw: Draw) -> Iterator[Property]:
    """One module outputs ones and the other tens, so the sum shows what was dropped of each."""
    texts, num_tokens, emb_dim, dropout = 2000, 2, 3, PROBABILITIES[draw.number]
    attention, feed_forward = Constant(1.0), Constant(10.0)
    block = unit.TransformerBlock(attention, feed_forward, emb_dim, dropout)
    block.to(draw.dtype).train()
    set_norms(block, draw)
    x = draw.normal(texts, num_tokens, emb_dim, scale=1)
    added = ((block(x) - x) * (1 - dropout)).detach()
    both = added.round()
    yield "whether each number is dropped or scaled", alike(added, both) and set(both.unique().tolist())
    from_attention, from_feed_forward = both % 10 == 1, both >= 10
    yield from shares(torch.cat([from_attention, from_feed_forward], dim=-1).flatten(1))
    yield "whether attention is given norm1 of x", alike(attention.given, normalised(x, block.norm1))
    middle = x + from_attention / (1 - dropout)
    yield "whether feed_forward is given norm2 of the sum", alike(feed_forward.given, normalised(middle, block.norm2))
    yield "the outputs after training", block.eval()(x[:5])


# -- answers -------------------------------------------------------------------------------------------------------


def wrong_answers():
    """Mistakes without a name, and answers with two. Never run here: the audit reads them."""

    class _Block(nn.Module):
        """A block that is right."""

        def __init__(self, attention, feed_forward, emb_dim, dropout):
            super().__init__()
            self.attention, self.feed_forward = attention, feed_forward
            self.norm1, self.norm2 = nn.LayerNorm(emb_dim), nn.LayerNorm(emb_dim)
            self.dropout = nn.Dropout(dropout)

        def forward(self, x):
            x = x + self.dropout(self.attention(self.norm1(x)))
            return x + self.dropout(self.feed_forward(self.norm2(x)))

    class norm2_unused__and__sums_dropped(_Block):
        def forward(self, x):
            x = self.dropout(x + self.attention(self.norm1(x)))
            return self.dropout(x + self.feed_forward(x))

    class attention_twice(_Block):
        def forward(self, x):
            x = x + self.dropout(self.attention(self.norm1(x)))
            return x + self.dropout(self.attention(self.norm2(x)))

    class both_norms_in_front_of_attention(_Block):
        def forward(self, x):
            x = x + self.dropout(self.attention(self.norm2(self.norm1(x))))
            return x + self.dropout(self.feed_forward(x))

    class halved_sums(_Block):
        def forward(self, x):
            x = (x + self.dropout(self.attention(self.norm1(x)))) / 2
            return (x + self.dropout(self.feed_forward(self.norm2(x)))) / 2

    class only_the_path_is_dropped(_Block):
        def forward(self, x):
            x = self.dropout(x) + self.attention(self.norm1(x))
            return self.dropout(x) + self.feed_forward(self.norm2(x))

    class norms_dropped_too(_Block):
        def forward(self, x):
            x = x + self.dropout(self.attention(self.dropout(self.norm1(x))))
            return x + self.dropout(self.feed_forward(self.dropout(self.norm2(x))))

    class base_class_not_initialized(_Block):
        def __init__(self, attention, feed_forward, emb_dim, dropout):
            self.attention, self.feed_forward = attention, feed_forward

    class dropout_number_called(_Block):
        def __init__(self, attention, feed_forward, emb_dim, dropout):
            super().__init__(attention, feed_forward, emb_dim, dropout)
            del self.dropout
            self.dropout = dropout

    class attention_not_called(_Block):
        def forward(self, x):
            x = x + self.attention
            return x + self.dropout(self.feed_forward(self.norm2(x)))

    class one_norm_of_another_name(_Block):
        def __init__(self, attention, feed_forward, emb_dim, dropout):
            super().__init__(attention, feed_forward, emb_dim, dropout)
            del self.norm1, self.norm2
            self.norm = nn.LayerNorm(emb_dim)

        def forward(self, x):
            x = x + self.dropout(self.attention(self.norm(x)))
            return x + self.dropout(self.feed_forward(self.norm(x)))

    class norms_without_shift(_Block):
        def __init__(self, attention, feed_forward, emb_dim, dropout):
            super().__init__(attention, feed_forward, emb_dim, dropout)
            self.norm1, self.norm2 = nn.LayerNorm(emb_dim, bias=False), nn.LayerNorm(emb_dim, bias=False)

    class kept_numbers_not_scaled__masked_at_random(_Block):
        def forward(self, x):
            for norm, part in ((self.norm1, self.attention), (self.norm2, self.feed_forward)):
                given = part(norm(x))
                if self.training:
                    given = given.masked_fill(torch.rand_like(given) < self.dropout.p, 0.0)
                x = x + given
            return x


def right_answers():
    """Answers in other styles. Never run here: the audit reads them."""

    import warnings

    import torch.nn.functional as F
    from transformer_block import Residual

    class by_hand(nn.Module):
        def __init__(self, attention, feed_forward, emb_dim, dropout):
            super().__init__()
            assert 0 <= dropout < 1
            self.p = dropout
            self.add_module("feed_forward", feed_forward)
            self.add_module("attention", attention)
            self.norm2 = LayerNorm(emb_dim)
            self.norm1 = LayerNorm(emb_dim, eps=1e-5)

        def drop(self, y):
            if not self.training or self.p == 0:
                return y
            return y * (torch.rand(y.shape) >= self.p) / (1 - self.p)

        def forward(self, x):
            y = self.drop(self.attention(self.norm1(x)))
            return x + y + self.drop(self.feed_forward(self.norm2(x + y)))

    class by_the_book(nn.Module):
        def __init__(self, attention, feed_forward, emb_dim, dropout):
            super().__init__()
            self.att, self.ff = attention, feed_forward
            self.norm1, self.norm2 = LayerNorm(emb_dim), LayerNorm(emb_dim)
            self.drop_shortcut = nn.Dropout(dropout)

        def forward(self, x):
            shortcut = x
            x = self.drop_shortcut(self.att(self.norm1(x)))
            shortcut = x = x + shortcut
            x = self.drop_shortcut(self.ff(self.norm2(x)))
            return x + shortcut

    class functional(nn.Module):
        def __init__(self, attention: nn.Module, feed_forward: nn.Module, emb_dim: int, dropout: float):
            super().__init__()
            warnings.warn("a block is made")
            self.sublayers = nn.ModuleList([attention, feed_forward])
            self.norm1 = self.norm2 = None
            for name in ("norm1", "norm2"):
                setattr(self, name, nn.LayerNorm([emb_dim], eps=1e-5))
            self.dropout = dropout

        def forward(self, x):
            for norm, sublayer in zip([self.norm1, self.norm2], self.sublayers):
                x = x + F.dropout(sublayer(norm(x)), p=self.dropout, training=self.training)
            return x

    class one_on_another(nn.Module):
        def __init__(self, attention, feed_forward, emb_dim, dropout):
            super().__init__()
            self.norm1, self.norm2 = LayerNorm(emb_dim), LayerNorm(emb_dim)
            self.both = nn.Sequential(
                Residual(nn.Sequential(self.norm1, attention, nn.Dropout(dropout))),
                Residual(nn.Sequential(self.norm2, feed_forward, nn.Dropout(dropout))),
            )

        def forward(self, x):
            return self.both(x)

    class ready_made(nn.Module):
        def __init__(self, attention, feed_forward, emb_dim, dropout):
            super().__init__()
            self.norm1, self.norm2 = nn.LayerNorm(emb_dim), nn.LayerNorm(emb_dim)
            communicate = nn.Sequential(self.norm1, attention, nn.Dropout(dropout))
            compute = nn.Sequential(self.norm2, feed_forward, nn.Dropout(dropout))
            self.steps = nn.ModuleDict({"communicate": communicate, "compute": compute})

        def forward(self, x):
            for step in self.steps.values():
                x = x + step(x)
            return x
