"""gpt2_small_attention: hidden tests, known mistakes and right answers."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import torch
import torch.nn as nn

from grader.suites.multi_head_attention.shared import (
    ALL_LAYERS,
    LAYERS,
    expect_module,
    fresh_layers,
    multi_head_attention,
    shapes,
)
from grader.testing.checks import equals, expect_close, expect_layer, expect_tensor, expect_true, set_layers, shown
from grader.testing.draws import Fresh
from grader.testing.misconceptions import mistake, replace
from grader.testing.probes import Draw, Property, probe, set_drawn_layers
from grader.testing.student import RemoteObject, Student
from grader.testing.substitutes import MODULE
from grader.testing.suite import rule

# These tests give the function a substitute for MultiHeadAttention, which stores its arguments. So mistakes in the
# student's class do not count here, and no forward pass over a whole context is needed. If the function makes its
# module in another way, the tests use the module itself.
SUBSTITUTE = f"{MODULE}.MultiHeadAttention"
GPT2_WIDTH, GPT2_HEADS, GPT2_CONTEXT, GPT2_PARAMETERS = 768, 12, 1024, 2_360_064


def gpt2(student: Student) -> tuple[RemoteObject, bool]:
    """Return the module, and whether it is a substitute, whose attributes are its arguments."""
    with student.substituted("MultiHeadAttention"):
        student.substitute("MultiHeadAttention", None)  # expected, so this does not wait for the student's class
        made = expect_module(student.gpt2_small_attention())
    is_substitute = SUBSTITUTE in made.kinds
    if not is_substitute:
        made.eval()
        # Fails early for another module, such as the wrapper, which may have too many parameters to send in time.
        made.get("W_query")
    return made, is_substitute


@rule("768 features in and out")
def test_the_width_of_the_smallest_gpt2(student: Student) -> None:
    """The module should have as many input and output features as the rule says."""
    made, is_substitute = gpt2(student)
    if is_substitute:
        widths = [made.get("d_in"), made.get("d_out")]
        found = " and ".join(map(shown, widths))
        expect_true(equals(widths, [GPT2_WIDTH, GPT2_WIDTH]), f"It was made with {found} for d_in and d_out.")
        expect_tensor(made(torch.zeros(1, 1, GPT2_WIDTH)), (1, 1, GPT2_WIDTH))
    else:
        parameters = made.parameters()
        for name in (*LAYERS, "out_proj"):
            expect_layer(parameters, name, GPT2_WIDTH, GPT2_WIDTH)


@rule("12 heads")
def test_the_heads_of_the_smallest_gpt2(student: Student, fresh: Fresh) -> None:
    """The module should have as many heads as the rule says."""
    made, is_substitute = gpt2(student)
    if is_substitute:
        heads = made.get("num_heads")
        expect_true(equals([heads], [GPT2_HEADS]), f"It was made with {shown(heads)} for num_heads.")
    else:
        weights = fresh_layers(fresh, LAYERS, GPT2_WIDTH, GPT2_WIDTH)
        out_proj = {"out_proj.weight": torch.eye(GPT2_WIDTH), "out_proj.bias": torch.zeros(GPT2_WIDTH)}
        set_layers(made, {**weights, **out_proj})
        inputs = fresh(1, 2, GPT2_WIDTH)
        expect_close(made(inputs), multi_head_attention(student, inputs, weights, GPT2_HEADS), "The outputs")


@rule("up to 1,024 tokens")
def test_the_context_of_the_smallest_gpt2(student: Student) -> None:
    """The module should work for as many tokens as the rule says."""
    made, is_substitute = gpt2(student)
    if is_substitute:
        length = made.get("context_length")
        expect_true(equals([length], [GPT2_CONTEXT]), f"It was made with {shown(length)} for context_length.")
    else:
        width = made.parameters()["W_query.weight"].shape[-1]
        outputs = expect_tensor(made(torch.zeros(1, GPT2_CONTEXT, width)))
        expect_true(outputs.shape[1] == GPT2_CONTEXT, "It does not give an output for each token.")


@rule("no bias for queries, keys and values: 2,360,064 parameters in all")
def test_the_parameters_of_the_smallest_gpt2(student: Student) -> None:
    """W_query, W_key and W_value should have no bias, so that the number of parameters is as the rule says."""
    made, is_substitute = gpt2(student)
    if is_substitute:
        expect_true(made.get("qkv_bias") is False, "It was made with qkv_bias=True.")
    else:
        parameters = made.parameters()
        expect_true(not any(f"{name}.bias" in parameters for name in LAYERS), "A layer has a bias.")
        count = sum(value.numel() for value in parameters.values())
        expect_true(count == GPT2_PARAMETERS, "It has a different number of parameters.")


# -- misconceptions ------------------------------------------------------------------------------------------------

CALLS = ["MultiHeadAttention", "MultiHeadAttentionWrapper"]

MISCONCEPTIONS = [
    mistake("context_of_the_toy_batch", replace("1024", "6"),
        "The context length of the small worked example was kept. GPT-2 was trained on texts of up to 1,024 tokens."),
    mistake("biases_as_in_gpt2_itself", replace("heads=12", "heads=12, qkv_bias=True"),
        "Queries, keys and values have biases. GPT-2 itself has them, but the rule here, as in the book, is without "
        "them: 2,360,064 parameters and not 2,362,368."),
    mistake("width_of_one_head", replace("768, 768", "768, 64"),
        "d_out is the width of one head, 64. The class itself splits d_out into heads, so d_out is the width of all "
        "heads: 768."),
    mistake("heads_of_the_worked_example", replace("heads=12", "heads=2"),
        "The two heads of the worked example were kept. The smallest GPT-2 has 12."),
    mistake("width_and_context_exchanged", replace("768, 768, context_length=1024", "1024, 1024, context_length=768"),
        "Width and context length are swapped: the class takes (d_in, d_out, context_length, dropout, num_heads)."),
    mistake("wrapper_instead", replace("Attention(768, 768", "AttentionWrapper(768, 64"),
        "This is not the MultiHeadAttention of this unit, but perhaps the wrapper, which concatenates whole heads. "
        "MultiHeadAttention splits 768 features into heads."),
]  # fmt: skip


# -- probes --------------------------------------------------------------------------------------------------------


def requested_context_length(make: Callable[[], Any]) -> int:
    """Return the context length with which `make` calls MultiHeadAttention.

    A module of another class is compared only by its outputs.
    """
    lengths = [1024]

    def remember(d_in: int, d_out: int, context_length: int, *_: Any, **__: Any) -> nn.Module:  # noqa: ARG001
        lengths.append(context_length)
        return nn.Identity()

    names = make.__globals__
    kept = names.get("MultiHeadAttention")
    names["MultiHeadAttention"] = remember
    try:
        make()
    except Exception:  # noqa: BLE001 - the function may use the module further, and this one is only an identity
        return lengths[-1]
    finally:
        names["MultiHeadAttention"] = kept
    return lengths[-1]


@probe(draws=2)
def attention_of_gpt2(unit: Any, draw: Draw) -> Iterator[Property]:
    """In eval mode, because no rule specifies its dropout."""
    draw.dtype = torch.float32
    module = unit.gpt2_small_attention().eval()
    yield "the number of parameters", sum(parameter.numel() for parameter in module.parameters())
    yield from shapes(module, ALL_LAYERS)
    set_drawn_layers(draw, module, ALL_LAYERS)
    with torch.no_grad():
        yield "the outputs", module(draw.normal(1, (1024, 5)[draw.number], 768, scale=1))
    yield "the requested context length", requested_context_length(unit.gpt2_small_attention)


# -- answers -------------------------------------------------------------------------------------------------------


def wrong_answers():
    """Mistakes without a name, and answers with two. Never run here: the audit reads them."""

    import torch.nn.functional as F

    class MultiHeadAttention(nn.Module):
        """The right one, which those below make."""

        def __init__(self, d_in, d_out, context_length, dropout, num_heads, qkv_bias=False):
            super().__init__()
            assert d_out % num_heads == 0
            self.num_heads = num_heads
            self.W_query, self.W_key, self.W_value = (nn.Linear(d_in, d_out, bias=qkv_bias) for _ in range(3))
            self.out_proj = nn.Linear(d_out, d_out)

        def forward(self, x):
            layers = self.W_query, self.W_key, self.W_value
            parts = (layer(x).unflatten(2, (self.num_heads, -1)).transpose(1, 2) for layer in layers)
            return self.out_proj(F.scaled_dot_product_attention(*parts, is_causal=True).transpose(1, 2).flatten(2))

    def context_of_the_toy_batch__and__biases_as_in_gpt2_itself():
        return MultiHeadAttention(768, 768, 6, 0.0, 12, qkv_bias=True)

    def twice_the_context():
        return MultiHeadAttention(768, 768, 2048, 0.0, 12)

    def one_head():
        return MultiHeadAttention(768, 768, 1024, 0.0, 1)

    def width_of_the_feed_forward():
        return MultiHeadAttention(768, 3072, 1024, 0.0, 12)

    def gpt2_medium_with_twelve_heads():
        return MultiHeadAttention(1024, 1024, 1024, 0.0, 12)

    def heads_as_wide_as_64():
        return MultiHeadAttention(768, 768, 1024, 0.0, 64)

    def nothing_returned():
        MultiHeadAttention(768, 768, 1024, 0.0, 12)

    def the_class_itself():
        return MultiHeadAttention


def right_answers():
    """Answers in other styles. Never run here: the audit reads them."""

    from multi_head_attention import MultiHeadAttention

    def by_the_book() -> nn.Module:
        config = {"emb_dim": 768, "context_length": 1024, "n_heads": 12, "drop_rate": 0.1, "qkv_bias": False}
        return MultiHeadAttention(
            d_in=config["emb_dim"],
            d_out=config["emb_dim"],
            context_length=config["context_length"],
            num_heads=config["n_heads"],
            dropout=config["drop_rate"],
            qkv_bias=config["qkv_bias"],
        )

    class _SmallestGPT2Attention(MultiHeadAttention):
        def __init__(self):
            super().__init__(768, 768, 1024, 0.1, 12)

    def fused():
        return _SmallestGPT2Attention()

    def ready_made():
        module = MultiHeadAttention(768, 768, 1024, 0.1, 12)
        module.eval()
        return module
