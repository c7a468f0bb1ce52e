"""The visible tests of unit 8, attention between an encoder and a decoder. Run `grader check
encoder_decoder_attention`, or `pytest` here.

`student` is your file: `student.additive_scores(…)` calls your additive_scores. Tests without a rule are worked
examples, with numbers that you can check by hand. The others try one rule of your docstring each, with numbers from
`numbers`. The grader tries the same rules with other sizes and numbers.
"""

from __future__ import annotations

from typing import Any

import pytest
import torch
from checking import (
    described,
    expect_linear,
    expect_module,
    expect_results,
    expect_solution,
    expect_true,
    expect_values,
    numbers,
)

from grader.testing.contracts import (
    expect_arguments_kept,
    expect_each_alone,
    expect_float64,
    expect_gradients_fit,
)
from grader.testing.student import RemoteObject, Student
from grader.testing.visible_contracts import contract_tests

# -- rnn_hidden_states -----------------------------------------------------------------------------------------------


@pytest.mark.example("rnn_hidden_states")
def test_the_trace_of_a_single_token_fades(student: Student) -> None:
    """After the first token all inputs are zero, and its trace in the states becomes smaller."""
    inputs, one, zero = torch.tensor([[1.0], [0.0], [0.0], [0.0]]), torch.ones(1, 1), torch.zeros(1)
    expect_values(
        "the states",
        student.rnn_hidden_states(inputs, one, one, zero),
        torch.tensor([[0.7616], [0.6420], [0.5663], [0.5126]]),
        shape="(T, h)",
        idea="tanh(1), then the tanh of that, and so on: each state is computed from the one before it",
    )


@pytest.mark.example("rnn_hidden_states")
def test_rnn_hidden_states(student: Student) -> None:
    """The states after two tokens of three features, with states of two."""
    inputs = torch.tensor([[1.0, 0.0, 2.0], [0.0, 1.0, 0.0]])
    W_x = torch.tensor([[0.5, 0.0], [0.0, -1.0], [0.0, 0.25]])
    W_h = torch.tensor([[0.0, 1.0], [0.5, 0.0]])
    expect_values(
        "the states",
        student.rnn_hidden_states(inputs, W_x, W_h, torch.tensor([0.1, 0.0])),
        # tanh of (0.5 + 0.1, 0.5), then tanh of (0.5 · 0.4621 + 0.1, -1 + 0.5370)
        torch.tensor([[0.5370, 0.4621], [0.3195, -0.4325]]),
        shape="(T, h)",
        idea="state t is tanh(inputs[t] @ W_x + the state before it @ W_h + bias), and the state before the first "
        "token is zeros",
    )


RECURRENCE = "state t is tanh(inputs[t] @ W_x + the state before it @ W_h + bias)"


def recurrence(tokens: int, d: int, h: int) -> dict[str, torch.Tensor]:
    """Return arguments of rnn_hidden_states, so small that no state is near 1 or -1."""
    return {
        "inputs": numbers(tokens, d) / 2,
        "W_x": numbers(d, h, seed=1) / 4,
        "W_h": numbers(h, h, seed=2) / 4,
        "bias": numbers(h, seed=3) / 4,
    }


def states_of(student: Student, tokens: int, d: int, h: int) -> torch.Tensor:
    """Return the hidden states (T, h) of such arguments."""
    states = student.rnn_hidden_states(*recurrence(tokens, d, h).values())
    sentence = f"the states should be a tensor of shape (T, h) = {(tokens, h)}, yours is {described(states)}."
    expect_true(isinstance(states, torch.Tensor) and states.shape == (tokens, h), sentence)
    return states


@pytest.mark.example(
    "rnn_hidden_states", rule="the state after token t is tanh(inputs[t] @ W_x + the state before it @ W_h + bias)"
)
@pytest.mark.parametrize(
    ("tokens", "d", "h"), [pytest.param(4, 3, 6, id="different"), pytest.param(3, 3, 3, id="equal")]
)
def test_rnn_hidden_states_with_sizes_that_are(student: Student, tokens: int, d: int, h: int) -> None:
    """Each state is computed from its token and from the state before it, also if all sizes are equal."""
    expect_solution("the states", states_of(student, tokens, d, h), shape="(T, h)", idea=RECURRENCE)


@pytest.mark.example("rnn_hidden_states", rule="the state before the first token is all zeros")
def test_the_first_state_starts_from_zeros(student: Student) -> None:
    """The first state is the tanh of its own token and the bias, because W_h is multiplied by zeros."""
    idea = "it is tanh(inputs[0] @ W_x + bias), because the state before the first token is zeros"
    expect_solution("the first state", states_of(student, 2, 3, 4)[0], shape="(h,)", idea=idea)


@pytest.mark.example(
    "rnn_hidden_states", rule="row t is the state after token t, for every token and in the order of the tokens"
)
def test_states_are_in_the_order_of_the_tokens(student: Student) -> None:
    """The states of a text begin with the states of its first two tokens."""
    all_of_them, (inputs, *weights) = states_of(student, 5, 3, 4), recurrence(5, 3, 4).values()
    idea = "row t is the state after token t, and it does not depend on later tokens"
    first_two = student.rnn_hidden_states(inputs[:2], *weights)
    expect_values("the states of the first two tokens", first_two, all_of_them[:2], shape="(2, h)", idea=idea)
    expect_solution("the last of five states", all_of_them[-1], shape="(h,)", idea=idea)


@pytest.mark.example("rnn_hidden_states", rule="any number of tokens, including one")
@pytest.mark.parametrize("tokens", [pytest.param(1, id="one"), pytest.param(2, id="two"), pytest.param(9, id="nine")])
def test_rnn_hidden_states_of_tokens(student: Student, tokens: int) -> None:
    """There is one state for each token."""
    expect_solution("the states", states_of(student, tokens, 2, 3), shape="(T, h)", idea=RECURRENCE)


# -- additive_scores and bahdanau_context ----------------------------------------------------------------------------

# One decoder state, three encoder states, and the weights (h = 2, a = 3).
DECODER_STATE = torch.tensor([1.0, 0.0])
ENCODER_STATES = torch.tensor([[0.0, 0.0], [0.0, 1.0], [2.0, 0.0]])
W_DECODER = torch.tensor([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]])
W_ENCODER = torch.tensor([[0.0, 0.0, 1.0], [0.0, 1.0, 0.0]])
V = torch.tensor([1.0, 2.0, -1.0])


@pytest.mark.example("additive_scores")
def test_additive_scores(student: Student) -> None:
    """The scores of three encoder states for one state of the decoder."""
    expect_values(
        "the scores",
        student.additive_scores(DECODER_STATE, ENCODER_STATES, W_DECODER, W_ENCODER, V),
        # The sums are (1, 0, 0), (1, 1, 0) and (1, 0, 2). tanh(1) = 0.7616, and tanh(2) = 0.9640.
        torch.tensor([0.7616, 2.2848, -0.2024]),
        shape="(T,)",
        idea="project both sides, add, take the tanh, then the dot product with v",
    )


@pytest.mark.example("bahdanau_context")
def test_bahdanau_context(student: Student) -> None:
    """Softmax turns the additive scores into weights, and the context is the weighted sum of the encoder states."""
    yours = student.bahdanau_context(DECODER_STATE, ENCODER_STATES, W_DECODER, W_ENCODER, V)
    context, weights = expect_results("bahdanau_context", yours, ("context", "weights"))
    expect_values(
        "weights",
        weights,
        torch.tensor([0.1676, 0.7685, 0.0639]),
        shape="(T,)",
        idea="softmax of the additive scores, over the encoder states",
    )
    expect_values(
        "context",
        context,
        torch.tensor([0.1278, 0.7685]),
        shape="(h,)",
        idea="the sum of the encoder states, each times its weight",
    )


SCORE = "project both sides, add, take the tanh, then the dot product with v"
ADDITIVE_SOFTMAX = "softmax of the additive scores, over the encoder states"
MIXTURE = "the sum of the encoder states, each times its weight"


def states(tokens: int, h: int, a: int) -> dict[str, torch.Tensor]:
    """Return arguments of additive_scores and bahdanau_context."""
    return {
        "decoder_state": numbers(h, seed=1),
        "encoder_states": numbers(tokens, h),
        "W_decoder": numbers(h, a, seed=2) / 2,
        "W_encoder": numbers(h, a, seed=3) / 2,
        "v": numbers(a, seed=4),
    }


def context_and_weights(student: Student, tokens: int, h: int, a: int) -> Any:
    """Return what bahdanau_context gives for such arguments: two results."""
    yours = student.bahdanau_context(*states(tokens, h, a).values())
    return expect_results("bahdanau_context", yours, ("context", "weights"), [(h,), (tokens,)])


@pytest.mark.example(
    "additive_scores",
    rule="score t is the dot product of v with tanh(decoder_state @ W_decoder + encoder_states[t] @ W_encoder)",
)
@pytest.mark.parametrize(
    ("tokens", "h", "a"), [pytest.param(4, 3, 5, id="different"), pytest.param(3, 3, 3, id="equal")]
)
def test_additive_scores_with_sizes_that_are(student: Student, tokens: int, h: int, a: int) -> None:
    """The scores depend on both sides, also if all sizes are equal."""
    scores = student.additive_scores(*states(tokens, h, a).values())
    expect_solution("the scores", scores, shape="(T,)", idea=SCORE)


@pytest.mark.example("additive_scores", rule="any number of encoder states, including one")
@pytest.mark.parametrize("tokens", [pytest.param(1, id="one"), pytest.param(2, id="two"), pytest.param(8, id="eight")])
def test_additive_scores_of_encoder_states(student: Student, tokens: int) -> None:
    """There is one score for each encoder state."""
    scores = student.additive_scores(*states(tokens, 3, 4).values())
    expect_solution("the scores", scores, shape="(T,)", idea=SCORE)


@pytest.mark.example("bahdanau_context", rule="the weights are the softmax of the additive scores, so they sum to one")
def test_weights_of_bahdanau_context(student: Student) -> None:
    """Four encoder states have four weights, which depend on the decoder's state."""
    _, weights = context_and_weights(student, 4, 3, 5)
    expect_solution("the weights", weights, shape="(T,)", idea=ADDITIVE_SOFTMAX)


@pytest.mark.example("bahdanau_context", rule="the context is the sum of the encoder states, each times its weight")
@pytest.mark.parametrize(("h", "a"), [pytest.param(3, 5, id="different"), pytest.param(4, 4, id="equal")])
def test_context_of_bahdanau_with_widths_that_are(student: Student, h: int, a: int) -> None:
    """The context mixes the encoder states themselves, also if their projections are as wide."""
    context, _ = context_and_weights(student, 6, h, a)
    expect_solution("the context", context, shape="(h,)", idea=MIXTURE)


@pytest.mark.example("bahdanau_context", rule="the result is the pair (context, weights)")
def test_context_comes_before_weights(student: Student) -> None:
    """The first result has one number for each feature, the second one for each encoder state."""
    for yours, name, size in zip(context_and_weights(student, 5, 2, 3), ("context", "weights"), (2, 5), strict=True):
        sentence = f"the result should be (context, weights), with {size} numbers in the {name}; yours {{}}."
        found = f"has {described(yours)} there"
        expect_true(isinstance(yours, torch.Tensor) and yours.shape == (size,), sentence.format(found))


@pytest.mark.example("bahdanau_context", rule="any number of encoder states, including one")
@pytest.mark.parametrize("tokens", [pytest.param(1, id="one"), pytest.param(2, id="two"), pytest.param(8, id="eight")])
def test_bahdanau_context_of_encoder_states(student: Student, tokens: int) -> None:
    """A single encoder state has the weight 1 and is the context itself."""
    context, weights = context_and_weights(student, tokens, 3, 4)
    expect_solution("the weights", weights, shape="(T,)", idea=ADDITIVE_SOFTMAX)
    expect_solution("the context", context, shape="(h,)", idea=MIXTURE)


# -- CrossAttention --------------------------------------------------------------------------------------------------

# With W_query and W_key as below, the keys of the two tokens in the context are (1, 0) and (0, 1),
# and the scores of a query are its own two numbers: √2 ln 3 and 0, 0 and 0, 0 and √2 ln 4.
X = 2**0.5 * torch.tensor([[3.0, 1.0], [1.0, 1.0], [1.0, 4.0]]).log()
CONTEXT = torch.tensor([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]])
WEIGHTS = {
    "W_query": torch.tensor([[1.0, 0.0], [0.0, 1.0]]),
    "W_key": torch.tensor([[1.0, 0.0, 7.0], [0.0, 1.0, 0.0]]),
    "W_value": torch.tensor([[10.0, 0.0, 0.0], [0.0, 20.0, 0.0]]),
}
# The weights are 3/4 and 1/4, 1/2 and 1/2, 1/5 and 4/5; the values (10, 0) and (0, 20).
OUTPUT = torch.tensor([[7.5, 5.0], [5.0, 10.0], [2.0, 16.0]])
# A token of the context that is padding: its values must not matter.
PADDING = torch.tensor([3.0, -4.0, 5.0])

LAYERS = tuple(WEIGHTS)
ATTENTION = "queries from x, keys and values from context; scores / √d_out, softmax over the context"


def layer_weights(d_query: int, d_context: int, d_out: int) -> dict[str, torch.Tensor]:
    """Return small weights of the three layers, each (d_out, d_in), so that no token gets all the attention."""
    widths = (d_query, d_context, d_context)
    return {name: numbers(d_out, width, seed=n) / 4 for n, (name, width) in enumerate(zip(LAYERS, widths, strict=True))}


def expect_layers(attention: RemoteObject, d_query: int, d_context: int, d_out: int) -> None:
    for name, width in zip(LAYERS, (d_query, d_context, d_context), strict=True):
        shape = tuple(expect_linear(attention, name).parameters()["weight"].shape)
        sentence = (
            f"{name} should be nn.Linear({width}, {d_out}) here, with a weight of shape {(d_out, width)}; "
            f"the weight of yours has shape {shape}."
        )
        expect_true(shape == (d_out, width), sentence)


def expect_no_bias(attention: RemoteObject) -> None:
    for name in LAYERS:
        sentence = f"{name} should have no bias, yours has one: bias=False."
        expect_true(expect_linear(attention, name).get("bias") is None, sentence)


def attention_with(student: Student, weights: dict[str, torch.Tensor]) -> RemoteObject:
    """Return a CrossAttention with these weights of its layers, each (d_out, d_in)."""
    sizes = weights["W_query"].shape[1], weights["W_key"].shape[1], len(weights["W_query"])
    attention = expect_module("CrossAttention", student.CrossAttention(*sizes))
    expect_layers(attention, *sizes)
    expect_no_bias(attention)
    attention.set({f"{name}.weight": weight for name, weight in weights.items()})
    return attention


def padding_at(tokens: int, *places: tuple[int, ...]) -> torch.Tensor:
    """Return a mask (B, T_k) that is True at these places of each element."""
    return torch.tensor([[token in row for token in range(tokens)] for row in places])


def texts(batch: int = 2, queries: int = 3, tokens: int = 5) -> dict[str, torch.Tensor]:
    """Return x (B, T_q, 4) and context (B, T_k, 7), for a d_out of 6."""
    return {"x": numbers(batch, queries, 4, seed=5), "context": numbers(batch, tokens, 7, seed=6)}


def expect_output(yours: Any, idea: str) -> None:
    """Expect the output of the worked example for both elements of a batch."""
    expect_values("the output", yours, torch.stack([OUTPUT, OUTPUT]), shape="(B, T_q, d_out)", idea=idea)


@pytest.mark.example("CrossAttention")
def test_cross_attention(student: Student) -> None:
    """Each query mixes the values of the context with its weights."""
    output = attention_with(student, WEIGHTS)(torch.stack([X, X]), torch.stack([CONTEXT, CONTEXT]))
    expect_output(output, "queries from x, keys and values from context; scores / √d_out, softmax over the context")


@pytest.mark.example("CrossAttention")
@pytest.mark.parametrize(
    "places",
    [pytest.param((2, 2), id="last"), pytest.param((0, 0), id="first"), pytest.param((1, 2), id="here_and_there")],
)
def test_padding_gets_no_weight_where_it_stands(student: Student, places: tuple[int, int]) -> None:
    """A padding token in each context changes no output, at any position."""
    contexts = [torch.cat([CONTEXT[:place], PADDING[None], CONTEXT[place:]]) for place in places]  # (3, 3) each
    padding_mask = torch.tensor([[column == place for column in range(3)] for place in places])
    output = attention_with(student, WEIGHTS)(torch.stack([X, X]), torch.stack(contexts), padding_mask)
    expect_output(output, "the scores of the padding become minus infinity before the softmax, for every query")


@pytest.mark.example("CrossAttention")
def test_a_mask_that_hides_nothing(student: Student) -> None:
    """With a mask that is False everywhere, the outputs are the same as without a mask."""
    padding_mask = torch.zeros(2, 2, dtype=torch.bool)
    contexts = torch.stack([CONTEXT, CONTEXT])
    output = attention_with(student, WEIGHTS)(torch.stack([X, X]), contexts, padding_mask)
    expect_output(output, "if padding_mask is False everywhere, the result is the same as without a mask")


@pytest.mark.example(
    "CrossAttention",
    rule="W_query is nn.Linear from d_query to d_out; W_key and W_value are nn.Linear from d_context to d_out",
)
def test_layers_of_cross_attention(student: Student) -> None:
    """Each weight has the shape (d_out, d_query) or (d_out, d_context)."""
    attention = expect_module("CrossAttention(4, 7, 6)", student.CrossAttention(4, 7, 6))
    expect_layers(attention, 4, 7, 6)


@pytest.mark.example("CrossAttention", rule="none of the three has a bias")
def test_layers_of_cross_attention_have_no_bias(student: Student) -> None:
    """The default of nn.Linear is to have one."""
    expect_no_bias(expect_module("CrossAttention(4, 7, 6)", student.CrossAttention(4, 7, 6)))


@pytest.mark.example("CrossAttention", rule="queries come from x, keys and values from context")
def test_queries_come_from_x_and_the_rest_from_context(student: Student) -> None:
    """If x and context have the same shape, it still matters which is which."""
    output = attention_with(student, layer_weights(6, 6, 6))(numbers(2, 3, 6, seed=5), numbers(2, 3, 6, seed=6))
    expect_solution("the output", output, shape="(B, T_q, d_out)", idea="queries from x, keys and values from context")


@pytest.mark.example(
    "CrossAttention",
    rule="scores are the dot products of the queries with the keys, divided by the square root of d_out",
)
def test_weights_of_cross_attention(student: Student) -> None:
    """The value of each token is 1 at a place of its own, so the output shows the weights."""
    weights = layer_weights(4, 5, 6) | {"W_value": torch.eye(6, 5)}
    output = attention_with(student, weights)(numbers(1, 2, 4), torch.eye(5)[None, :3])  # three tokens, (1, 3, 5)
    idea = "softmax of the dot products of the query with the keys, divided by √d_out = √6"
    expect_solution("the output", output, shape="(B, T_q, d_out)", idea=idea)


@pytest.mark.example(
    "CrossAttention", rule="softmax runs over the whole context for each query: there is no causal mask"
)
def test_the_order_of_the_context_has_no_effect(student: Student) -> None:
    """Each query sees the whole context, so the outputs are the same if its tokens are in another order."""
    attention, (x, context) = attention_with(student, layer_weights(4, 7, 6)), texts(1, 3, 6).values()
    idea = "the weights of each query sum to one over the whole context"
    output = attention(x, context)
    expect_solution("the output", output, shape="(B, T_q, d_out)", idea=idea)
    turned = attention(x, context.flip(1))
    idea = "a query sees all tokens, wherever they are"
    expect_values("the output for a context in another order", turned, output, shape="(B, T_q, d_out)", idea=idea)


@pytest.mark.example(
    "CrossAttention", rule="the output is, for each query, the sum of the values, each times its weight"
)
@pytest.mark.parametrize(("d_context", "d_out"), [pytest.param(7, 6, id="different"), pytest.param(7, 7, id="equal")])
def test_output_of_cross_attention_for_widths_that_are(student: Student, d_context: int, d_out: int) -> None:
    """The values are the projected tokens of context, also if d_out is equal to d_context."""
    output = attention_with(student, layer_weights(4, d_context, d_out))(*texts().values())
    expect_solution("the output", output, shape="(B, T_q, d_out)", idea=ATTENTION)


@pytest.mark.example(
    "CrossAttention", rule="if padding_mask (B, T_k) is True, this token of the context is padding and gets no weight"
)
@pytest.mark.parametrize("places", [pytest.param((3, 4), id="last"), pytest.param((0, 2), id="first_and_third")])
def test_cross_attention_with_padding(student: Student, places: tuple[int, ...]) -> None:
    """The output is the same as without the tokens that are padding."""
    attention, (x, context) = attention_with(student, layer_weights(4, 7, 6)), texts(1).values()
    idea = "the scores of the padding become minus infinity before the softmax, for every query"
    output = attention(x, context, padding_at(5, places))
    expect_solution("the output", output, shape="(B, T_q, d_out)", idea=idea)


def output_with_padding(student: Student, score: float, padding_score: float) -> Any:
    """Return the output of two queries for three tokens with the same score, divided by √9, and two of padding."""
    weights = {"W_query": torch.zeros(9, 4), "W_key": torch.zeros(9, 7), "W_value": torch.zeros(9, 7)}
    # The first feature of a token is its score. The others make its value, which is 1 at a place of its own.
    weights["W_query"][0, 0], weights["W_key"][0, 0], weights["W_value"][:5, 1:6] = 1, 1, torch.eye(5)
    context = torch.cat([torch.full((5, 1), score), torch.eye(5, 6)], dim=1)[None]  # (1, 5, 7)
    context[0, [1, 4], 0] = padding_score
    return attention_with(student, weights)(torch.ones(1, 2, 4), context, padding_at(5, (1, 4)))


# The weights of the three tokens, and six zeros.
SHARED_EQUALLY = torch.tensor([1, 0, 1, 1, 0, 0, 0, 0, 0]).expand(1, 2, 9) / 3


@pytest.mark.example(
    "CrossAttention", rule="padding gets no weight, even if it is very large and its scores are far above the others"
)
def test_padding_with_very_large_scores(student: Student) -> None:
    """Hidden scores are minus infinity before the softmax, however large they were."""
    output = output_with_padding(student, 0.0, 25_000.0)
    idea = "no score of the padding, here 25,000, has an influence: hide it before the softmax"
    expect_values("the output", output, SHARED_EQUALLY, shape="(B, T_q, d_out)", idea=idea)


@pytest.mark.example(
    "CrossAttention", rule="padding has no weight, even if all other scores are as low as -10,000 after scaling"
)
@pytest.mark.parametrize("score", [pytest.param(-900.0, id="low"), pytest.param(-30_000.0, id="very_low")])
def test_padding_beside_scores_that_are(student: Student, score: float) -> None:
    """Hidden scores are below all others, however low these are."""
    output = output_with_padding(student, score, score)
    # A softmax that does not subtract the maximum gives NaN here. That is allowed: it is a matter of unit 1.
    if isinstance(output, torch.Tensor) and output.shape == (1, 2, 9) and output.isnan().all():
        return
    idea = f"the other scores are all {score / 3:,.0f} after scaling, and hidden scores should be far below them"
    expect_values("the output", output, SHARED_EQUALLY, shape="(B, T_q, d_out)", idea=idea)


@pytest.mark.example("CrossAttention", rule="without a mask, or with a mask that is all False, nothing is padding")
@pytest.mark.parametrize(
    "masks",
    [
        pytest.param((), id="without"),
        pytest.param((None,), id="none"),
        pytest.param((padding_at(5, (), ()),), id="all_false"),
    ],
)
def test_nothing_is_padding_with_a_mask_that_is(student: Student, masks: tuple[torch.Tensor | None, ...]) -> None:
    """The whole context counts."""
    output = attention_with(student, layer_weights(4, 7, 6))(*texts().values(), *masks)
    expect_solution("the output", output, shape="(B, T_q, d_out)", idea="no token of the context is hidden")


@pytest.mark.example("CrossAttention", rule="each element of the batch is computed separately, with its own padding")
def test_each_element_is_computed_separately(student: Student) -> None:
    """Each of three elements has the same output alone as in the batch, with one, two or no tokens of padding."""
    attention = attention_with(student, layer_weights(4, 7, 6))
    for queries, tokens in ((3, 4), (4, 4)):
        mask = padding_at(tokens, (3,), (0, 2), ())
        expect_each_alone(attention, **texts(3, queries, tokens), padding_mask=mask)


@pytest.mark.example("CrossAttention", rule="any number of queries and of tokens in the context, including one")
@pytest.mark.parametrize(
    ("queries", "tokens"),
    [
        pytest.param(1, 5, id="1_and_5"),
        pytest.param(4, 1, id="4_and_1"),
        pytest.param(1, 1, id="1_and_1"),
        pytest.param(8, 2, id="8_and_2"),
    ],
)
def test_cross_attention_of_queries_and_tokens(student: Student, queries: int, tokens: int) -> None:
    """There is one output for each query, for any number of tokens in the context."""
    output = attention_with(student, layer_weights(4, 7, 6))(*texts(1, queries, tokens).values())
    expect_solution("the output", output, shape="(B, T_q, d_out)", idea=ATTENTION)


# -- properties of several exercises, from contracts.json ------------------------------------------------------------

test_contract = contract_tests(__file__)
