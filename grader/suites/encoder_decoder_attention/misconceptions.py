"""Unit 8: wrong answers that learners give, each with the sentence that would help who wrote it.

A name says what was done. Where the same slip is made in two exercises, the later one's has more words.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor, nn

from grader.misconceptions import misconception

Pair = tuple[Tensor, Tensor]
Triple = tuple[Tensor, Tensor, Tensor]
Step = Callable[[Tensor, Tensor], Tensor]
MATRICES = ("W_query", "W_key", "W_value")

# -- rnn_hidden_states -------------------------------------------------------------------------------------------


def run(inputs: Tensor, start: Tensor, step: Step) -> Tensor:
    """The states after each token: (T, d), (h,) to (T, h). step: what makes the next state of a token and a state."""
    states = [start]
    for token in inputs:
        states.append(step(token, states[-1]))
    return torch.stack(states[1:])


def hidden_states(inputs: Tensor, W_x: Tensor, W_h: Tensor, bias: Tensor) -> Tensor:
    """The right answer."""
    return run(inputs, torch.zeros_like(bias), lambda x, h: torch.tanh(x @ W_x + h @ W_h + bias))


@misconception(
    "rnn_hidden_states",
    "The state before the first token is ones. Nothing has been read yet, and zeros are how nothing is said: they "
    "leave no trace in the first state.",
)
def starts_from_ones(inputs: Tensor, W_x: Tensor, W_h: Tensor, bias: Tensor) -> Tensor:
    return run(inputs, torch.ones_like(bias), lambda x, h: torch.tanh(x @ W_x + h @ W_h + bias))


@misconception(
    "rnn_hidden_states",
    "The bias is the state before the first token as well. It belongs into every step once; before the first token the "
    "state is zeros.",
)
def starts_from_the_bias(inputs: Tensor, W_x: Tensor, W_h: Tensor, bias: Tensor) -> Tensor:
    return run(inputs, bias, lambda x, h: torch.tanh(x @ W_x + h @ W_h + bias))


@misconception(
    "rnn_hidden_states",
    "The tanh is missing. Without it all steps together are one linear function of the inputs, and a state can grow "
    "without end from step to step.",
)
def tanh_forgotten(inputs: Tensor, W_x: Tensor, W_h: Tensor, bias: Tensor) -> Tensor:
    return run(inputs, torch.zeros_like(bias), lambda x, h: x @ W_x + h @ W_h + bias)


@misconception(
    "rnn_hidden_states",
    "The tanh is taken of the token's part alone, and what comes from the state before is added outside. It is the "
    "whole sum that goes through tanh, or the state grows without end.",
)
def tanh_of_the_token_only(inputs: Tensor, W_x: Tensor, W_h: Tensor, bias: Tensor) -> Tensor:
    return run(inputs, torch.zeros_like(bias), lambda x, h: torch.tanh(x @ W_x + bias) + h @ W_h)


@misconception(
    "rnn_hidden_states",
    "The bias is added after the tanh. It belongs to the sum inside, where it shifts the point at which a number of "
    "the state turns from one sign to the other.",
)
def bias_after_tanh(inputs: Tensor, W_x: Tensor, W_h: Tensor, bias: Tensor) -> Tensor:
    return run(inputs, torch.zeros_like(bias), lambda x, h: torch.tanh(x @ W_x + h @ W_h) + bias)


@misconception(
    "rnn_hidden_states",
    "ReLU stands where tanh should. It forgets everything negative and has no upper end; tanh keeps both signs, and "
    "every number between -1 and 1.",
)
def relu_for_tanh(inputs: Tensor, W_x: Tensor, W_h: Tensor, bias: Tensor) -> Tensor:
    return run(inputs, torch.zeros_like(bias), lambda x, h: torch.relu(x @ W_x + h @ W_h + bias))


@misconception(
    "rnn_hidden_states",
    "The sigmoid stands where tanh should. Its results lie between 0 and 1, so no number of the state can be negative; "
    "those of tanh lie between -1 and 1.",
)
def sigmoid_for_tanh(inputs: Tensor, W_x: Tensor, W_h: Tensor, bias: Tensor) -> Tensor:
    return run(inputs, torch.zeros_like(bias), lambda x, h: torch.sigmoid(x @ W_x + h @ W_h + bias))


@misconception(
    "rnn_hidden_states",
    "The bias is taken and not used. It is a part of the sum at every step.",
)
def bias_forgotten(inputs: Tensor, W_x: Tensor, W_h: Tensor, bias: Tensor) -> Tensor:
    return run(inputs, torch.zeros_like(bias), lambda x, h: torch.tanh(x @ W_x + h @ W_h))


@misconception(
    "rnn_hidden_states",
    "The bias has a part in the first step only. It is added at every step, as W_x and W_h serve at every step.",
)
def bias_in_the_first_step_only(inputs: Tensor, W_x: Tensor, W_h: Tensor, bias: Tensor) -> Tensor:
    first = torch.tanh(inputs[0] @ W_x + bias)
    later = [*run(inputs[1:], first, lambda x, h: torch.tanh(x @ W_x + h @ W_h))] if len(inputs) > 1 else []
    return torch.stack([first, *later])


@misconception(
    "rnn_hidden_states",
    "W_h is turned round. It is square, so that raises no error; but row i says what number i of the state before "
    "brings, as in `state @ W_h`.",
)
def W_h_transposed(inputs: Tensor, W_x: Tensor, W_h: Tensor, bias: Tensor) -> Tensor:
    return run(inputs, torch.zeros_like(bias), lambda x, h: torch.tanh(x @ W_x + W_h @ h + bias))


@misconception(
    "rnn_hidden_states",
    "The shapes of a product do not fit. A token stands as a row in front of W_x, which is (d, h), and a state as a "
    "row in front of W_h, which is (h, h). Neither matrix is to be turned round.",
)
def W_x_transposed_or_exchanged(inputs: Tensor, W_x: Tensor, W_h: Tensor, bias: Tensor) -> Tensor:
    return run(inputs, torch.zeros_like(bias), lambda x, h: torch.tanh(W_x @ x + h @ W_h + bias))


@misconception(
    "rnn_hidden_states",
    "Every state is made from its own token alone. What makes the network recurrent is the state before: put each new "
    "state in the place of the old one before the next step.",
)
def state_before_not_used(inputs: Tensor, W_x: Tensor, W_h: Tensor, bias: Tensor) -> Tensor:
    return torch.tanh(inputs @ W_x + 0 * bias @ W_h + bias)  # (T, d) -> (T, h)


@misconception(
    "rnn_hidden_states",
    "Only the last state comes back. A plain decoder sees no more than that, but attention needs the states after all "
    "tokens: (T, h).",
)
def last_state_only(inputs: Tensor, W_x: Tensor, W_h: Tensor, bias: Tensor) -> Tensor:
    return hidden_states(inputs, W_x, W_h, bias)[-1]


@misconception(
    "rnn_hidden_states",
    "Every row is the last state: one tensor was changed at each step and kept again and again. Make a new state at "
    "each step, or keep a copy.",
)
def last_state_in_every_row(inputs: Tensor, W_x: Tensor, W_h: Tensor, bias: Tensor) -> Tensor:
    state, states = torch.zeros_like(bias), []
    for token in inputs:
        state[:] = torch.tanh(token @ W_x + state @ W_h + bias)
        states.append(state)
    return torch.stack(states)


@misconception(
    "rnn_hidden_states",
    "The states come back from the last to the first. Row t belongs to token t, so that whoever looks at a row knows "
    "which token was read last.",
)
def last_state_first(inputs: Tensor, W_x: Tensor, W_h: Tensor, bias: Tensor) -> Tensor:
    return hidden_states(inputs, W_x, W_h, bias).flip(0)


@misconception(
    "rnn_hidden_states",
    "The text is read from right to left. A state should hold what came before its token; what comes after is not "
    "known yet.",
)
def read_from_right_to_left(inputs: Tensor, W_x: Tensor, W_h: Tensor, bias: Tensor) -> Tensor:
    return hidden_states(inputs.flip(0), W_x, W_h, bias).flip(0)


@misconception(
    "rnn_hidden_states",
    "The tokens are read from the last to the first, and the states come in that order too. Begin with token 0, and "
    "let row t be the state after token t.",
)
def tokens_from_the_last_to_the_first(inputs: Tensor, W_x: Tensor, W_h: Tensor, bias: Tensor) -> Tensor:
    return hidden_states(inputs.flip(0), W_x, W_h, bias)


@misconception(
    "rnn_hidden_states",
    "Each row is the state before its token: the zeros come first, and the last state is missing. Keep a state after "
    "the step that makes it.",
)
def states_before_the_tokens(inputs: Tensor, W_x: Tensor, W_h: Tensor, bias: Tensor) -> Tensor:
    states = hidden_states(inputs, W_x, W_h, bias)
    return torch.cat([torch.zeros_like(states[:1]), states[:-1]])


@misconception(
    "rnn_hidden_states",
    "The zeros from before the first token are a row of the result. There is one row for each token, and the first is "
    "the state after the first token.",
)
def zeros_as_a_row(inputs: Tensor, W_x: Tensor, W_h: Tensor, bias: Tensor) -> Tensor:
    states = hidden_states(inputs, W_x, W_h, bias)
    return torch.cat([torch.zeros_like(states[:1]), states])


@misconception(
    "rnn_hidden_states",
    "The states stand one behind the other in one long row: that is what `torch.cat` makes of vectors. `torch.stack` "
    "puts them one below the other, (T, h).",
)
def states_in_one_long_row(inputs: Tensor, W_x: Tensor, W_h: Tensor, bias: Tensor) -> Tensor:
    return hidden_states(inputs, W_x, W_h, bias).flatten()  # (T, h) -> (T · h,)


@misconception(
    "rnn_hidden_states",
    "The states stand side by side, as columns. A token is a row, and so is the state after it: (T, h).",
)
def states_as_columns(inputs: Tensor, W_x: Tensor, W_h: Tensor, bias: Tensor) -> Tensor:
    return hidden_states(inputs, W_x, W_h, bias).T


@misconception(
    "rnn_hidden_states",
    "The states are written into one tensor, row by row, and each is made from the row before. The gradients need that "
    "tensor as it was at each step, and it has changed since: collect the states, and stack them.",
)
def states_written_into_one_tensor(inputs: Tensor, W_x: Tensor, W_h: Tensor, bias: Tensor) -> Tensor:
    states = inputs.new_zeros(len(inputs) + 1, len(bias))
    for place, token in enumerate(inputs):
        states[place + 1] = torch.tanh(token @ W_x + states[place] @ W_h + bias)
    return states[1:]


@misconception(
    "rnn_hidden_states",
    "What comes back is a Python list of states. The next step wants one tensor: `torch.stack` makes (T, h) of it.",
)
def list_of_states(inputs: Tensor, W_x: Tensor, W_h: Tensor, bias: Tensor) -> list[Tensor]:
    return list(hidden_states(inputs, W_x, W_h, bias))


@misconception(
    "rnn_hidden_states",
    "Each step's result is added to the state before. Here the new state takes its place; what is to be kept of the "
    "old one comes in through W_h.",
)
def states_added_up(inputs: Tensor, W_x: Tensor, W_h: Tensor, bias: Tensor) -> Tensor:
    return run(inputs, torch.zeros_like(bias), lambda x, h: h + torch.tanh(x @ W_x + h @ W_h + bias))


@misconception(
    "rnn_hidden_states",
    "A text of a single token is no text here, or loses a dimension: `squeeze()` drops every one of length one. The "
    "result is (T, h) for any T.",
)
def lonely_state_squeezed(inputs: Tensor, W_x: Tensor, W_h: Tensor, bias: Tensor) -> Tensor:
    return hidden_states(inputs, W_x, W_h, bias).squeeze()


@misconception(
    "rnn_hidden_states",
    "The zeros to begin with are float32, whatever the arguments are, and do not go together with float64. Make them "
    "like the others: `torch.zeros_like(bias)`.",
)
def zeros_of_another_dtype(inputs: Tensor, W_x: Tensor, W_h: Tensor, bias: Tensor) -> Tensor:
    return run(inputs, torch.zeros(len(bias)), lambda x, h: torch.tanh(x @ W_x + h @ W_h + bias))


@misconception(
    "rnn_hidden_states",
    "Gradients stop at the states, by `.detach()`, `.data` or `torch.no_grad()`, or because numbers were copied into a "
    "new tensor. The matrices learn only through them.",
)
def states_without_gradients(inputs: Tensor, W_x: Tensor, W_h: Tensor, bias: Tensor) -> Tensor:
    return hidden_states(inputs, W_x, W_h, bias).detach()


@misconception(
    "rnn_hidden_states",
    "Gradients stop between one step and the next. What an early token has to do with a late state can then never be "
    "learnt: hand on the state itself, without `.detach()`.",
)
def gradients_stop_between_steps(inputs: Tensor, W_x: Tensor, W_h: Tensor, bias: Tensor) -> Tensor:
    return run(inputs, torch.zeros_like(bias), lambda x, h: torch.tanh(x @ W_x + h.detach() @ W_h + bias))


@misconception(
    "rnn_hidden_states",
    "One of the caller's arguments was changed. `+=`, and methods whose names end in an underscore, work on the tensor "
    "itself; write `x = x + …`, which makes a new one.",
)
def inputs_changed_in_place(inputs: Tensor, W_x: Tensor, W_h: Tensor, bias: Tensor) -> Tensor:
    states = hidden_states(inputs, W_x, W_h, bias)
    with torch.no_grad():
        inputs += 1
    return states


# -- additive_scores ---------------------------------------------------------------------------------------------


def additive_scores(
    decoder_state: Tensor, encoder_states: Tensor, W_decoder: Tensor, W_encoder: Tensor, v: Tensor
) -> Tensor:
    """The right answer."""
    return torch.tanh(decoder_state @ W_decoder + encoder_states @ W_encoder) @ v


NO_TANH = (
    "The tanh is missing. Without it the decoder's part is one number, the same for every encoder state, which softmax "
    "divides away: it could ask what it liked and would get the same answer."
)
EXCHANGED = (
    "The two matrices have changed places. Both are (h, a), so that raises no error; W_decoder belongs to the "
    "decoder's state and W_encoder to those of the encoder."
)
UNASKED = (
    "The decoder's state has no part in it, so every word to be written would get the same context. What fits depends "
    "on who asks: add decoder_state @ W_decoder."
)
DOT_PRODUCTS = (
    "These are dot products of the states. Additive attention came before that: it adds the two projections, takes the "
    "tanh, and learns with v what to make of the sum."
)


@misconception("additive_scores", NO_TANH)
def additive_without_tanh(
    decoder_state: Tensor, encoder_states: Tensor, W_decoder: Tensor, W_encoder: Tensor, v: Tensor
) -> Tensor:
    return (decoder_state @ W_decoder + encoder_states @ W_encoder) @ v


@misconception(
    "additive_scores",
    "The tanh is taken of the finished scores. It belongs to the sums, before v makes one number of each; there it "
    "lets the two sides work on each other.",
)
def tanh_of_the_scores(
    decoder_state: Tensor, encoder_states: Tensor, W_decoder: Tensor, W_encoder: Tensor, v: Tensor
) -> Tensor:
    return torch.tanh((decoder_state @ W_decoder + encoder_states @ W_encoder) @ v)


@misconception(
    "additive_scores",
    "Each side has a tanh of its own, and they are added afterwards. Then the decoder's part is the same number for "
    "all encoder states: add first, and take one tanh of the sum.",
)
def tanh_of_each_side(
    decoder_state: Tensor, encoder_states: Tensor, W_decoder: Tensor, W_encoder: Tensor, v: Tensor
) -> Tensor:
    return (torch.tanh(decoder_state @ W_decoder) + torch.tanh(encoder_states @ W_encoder)) @ v


@misconception(
    "additive_scores",
    "v is multiplied inside the tanh. It comes after: the tanh of the sum has a numbers, and the dot product with v "
    "makes one of them.",
)
def v_inside_the_tanh(
    decoder_state: Tensor, encoder_states: Tensor, W_decoder: Tensor, W_encoder: Tensor, v: Tensor
) -> Tensor:
    return torch.tanh((decoder_state @ W_decoder + encoder_states @ W_encoder) * v).sum(-1)


@misconception(
    "additive_scores",
    "ReLU or another function stands where tanh should. The tanh keeps both signs, and each number between -1 and 1, "
    "so that no single feature can decide everything.",
)
def relu_for_tanh_in_scores(
    decoder_state: Tensor, encoder_states: Tensor, W_decoder: Tensor, W_encoder: Tensor, v: Tensor
) -> Tensor:
    return torch.relu(decoder_state @ W_decoder + encoder_states @ W_encoder) @ v


@misconception(
    "additive_scores",
    "The two projections are multiplied. Additive attention has its name from adding them.",
)
def product_instead_of_sum(
    decoder_state: Tensor, encoder_states: Tensor, W_decoder: Tensor, W_encoder: Tensor, v: Tensor
) -> Tensor:
    return torch.tanh((decoder_state @ W_decoder) * (encoder_states @ W_encoder)) @ v


@misconception(
    "additive_scores",
    "One projection is subtracted from the other. They are added: two matrices that can learn any sign need no minus.",
)
def difference_instead_of_sum(
    decoder_state: Tensor, encoder_states: Tensor, W_decoder: Tensor, W_encoder: Tensor, v: Tensor
) -> Tensor:
    return torch.tanh(decoder_state @ W_decoder - encoder_states @ W_encoder) @ v


@misconception(
    "additive_scores",
    "Every call ends in an error, for shapes do not fit. The two projections are added and not put side by side, (a,) "
    "to each row of (T, a). And v meets each of these rows, so it stands behind them: (T, a) @ (a,).",
)
def side_by_side_or_turned_round(
    decoder_state: Tensor, encoder_states: Tensor, W_decoder: Tensor, W_encoder: Tensor, v: Tensor
) -> Tensor:
    query = (decoder_state @ W_decoder).expand(len(encoder_states), -1)  # (a,) -> (T, a)
    return torch.tanh(torch.cat([query, encoder_states @ W_encoder], dim=-1)) @ v


@misconception("additive_scores", EXCHANGED)
def matrices_exchanged(
    decoder_state: Tensor, encoder_states: Tensor, W_decoder: Tensor, W_encoder: Tensor, v: Tensor
) -> Tensor:
    return additive_scores(decoder_state, encoder_states, W_encoder, W_decoder, v)


@misconception(
    "additive_scores",
    "The matrices are turned round. They are (h, a), and a state is a row in front of them: `state @ W`. Where h = a "
    "the mistake raises no error, and is there all the same.",
)
def matrices_transposed(
    decoder_state: Tensor, encoder_states: Tensor, W_decoder: Tensor, W_encoder: Tensor, v: Tensor
) -> Tensor:
    return additive_scores(decoder_state, encoder_states, W_decoder.T, W_encoder.T, v)


@misconception("additive_scores", UNASKED)
def decoder_state_ignored(
    decoder_state: Tensor,  # noqa: ARG001
    encoder_states: Tensor,
    W_decoder: Tensor,  # noqa: ARG001
    W_encoder: Tensor,
    v: Tensor,
) -> Tensor:
    return torch.tanh(encoder_states @ W_encoder) @ v


@misconception("additive_scores", DOT_PRODUCTS)
def dot_products_of_the_states(
    decoder_state: Tensor,
    encoder_states: Tensor,
    W_decoder: Tensor,  # noqa: ARG001
    W_encoder: Tensor,  # noqa: ARG001
    v: Tensor,  # noqa: ARG001
) -> Tensor:
    return encoder_states @ decoder_state


@misconception(
    "additive_scores",
    "The two projections meet in a dot product, as queries and keys do in the Transformer. In additive attention they "
    "are added, and the tanh of the sum meets v.",
)
def dot_products_of_the_projections(
    decoder_state: Tensor,
    encoder_states: Tensor,
    W_decoder: Tensor,
    W_encoder: Tensor,
    v: Tensor,  # noqa: ARG001
) -> Tensor:
    return (encoder_states @ W_encoder) @ (decoder_state @ W_decoder)


@misconception(
    "additive_scores",
    "v is taken and not used: all features count alike. Which of them matter is for v to learn, so take the dot "
    "product with it.",
)
def v_not_used(
    decoder_state: Tensor,
    encoder_states: Tensor,
    W_decoder: Tensor,
    W_encoder: Tensor,
    v: Tensor,  # noqa: ARG001
) -> Tensor:
    return torch.tanh(decoder_state @ W_decoder + encoder_states @ W_encoder).sum(-1)


@misconception(
    "additive_scores",
    "Each feature is multiplied by its number in v, but they are not added up. A score is one number for each encoder "
    "state.",
)
def not_added_up(
    decoder_state: Tensor, encoder_states: Tensor, W_decoder: Tensor, W_encoder: Tensor, v: Tensor
) -> Tensor:
    return torch.tanh(decoder_state @ W_decoder + encoder_states @ W_encoder) * v


@misconception(
    "additive_scores",
    "The scores are a column, (T, 1). One number for each encoder state is a vector, (T,): take the product with v "
    "itself, or squeeze the last dimension, and it alone.",
)
def scores_as_a_column(
    decoder_state: Tensor, encoder_states: Tensor, W_decoder: Tensor, W_encoder: Tensor, v: Tensor
) -> Tensor:
    return additive_scores(decoder_state, encoder_states, W_decoder, W_encoder, v)[:, None]


@misconception(
    "additive_scores",
    "These are weights already: softmax was applied. That is the next exercise's job; here the scores are asked for as "
    "they are.",
)
def softmax_already_applied(
    decoder_state: Tensor, encoder_states: Tensor, W_decoder: Tensor, W_encoder: Tensor, v: Tensor
) -> Tensor:
    return torch.softmax(additive_scores(decoder_state, encoder_states, W_decoder, W_encoder, v), dim=0)


@misconception(
    "additive_scores",
    "The scores are scaled by the root of a width. That belongs to dot products, which grow with it; here the tanh "
    "keeps every term between -1 and 1, and v learns its own size.",
)
def scaled_by_the_root_of_a(
    decoder_state: Tensor, encoder_states: Tensor, W_decoder: Tensor, W_encoder: Tensor, v: Tensor
) -> Tensor:
    return additive_scores(decoder_state, encoder_states, W_decoder, W_encoder, v) / len(v) ** 0.5


@misconception(
    "additive_scores",
    "`squeeze()` drops every dimension of length one, and so the score of a single encoder state is no vector any "
    "more.",
)
def lonely_score_squeezed(
    decoder_state: Tensor, encoder_states: Tensor, W_decoder: Tensor, W_encoder: Tensor, v: Tensor
) -> Tensor:
    return additive_scores(decoder_state, encoder_states, W_decoder, W_encoder, v).squeeze()


@misconception(
    "additive_scores",
    "The states are made float32, which then do not fit matrices that are float64. Let the arguments keep their dtype.",
)
def states_made_float32(
    decoder_state: Tensor, encoder_states: Tensor, W_decoder: Tensor, W_encoder: Tensor, v: Tensor
) -> Tensor:
    return additive_scores(decoder_state.float(), encoder_states.float(), W_decoder, W_encoder, v)


@misconception(
    "additive_scores",
    "Gradients stop at the scores, by `.detach()`, `.data` or `torch.no_grad()`. Both matrices and v learn only "
    "through them.",
)
def scores_without_gradients(
    decoder_state: Tensor, encoder_states: Tensor, W_decoder: Tensor, W_encoder: Tensor, v: Tensor
) -> Tensor:
    return additive_scores(decoder_state, encoder_states, W_decoder, W_encoder, v).detach()


@misconception(
    "additive_scores",
    "The encoder states are cut off from the gradients. The encoder learns from what the decoder finds useful, and "
    "this is where it hears of it.",
)
def encoder_learns_nothing(
    decoder_state: Tensor, encoder_states: Tensor, W_decoder: Tensor, W_encoder: Tensor, v: Tensor
) -> Tensor:
    return additive_scores(decoder_state, encoder_states.detach(), W_decoder, W_encoder, v)


@misconception(
    "additive_scores",
    "The caller's encoder states were changed. They are needed again for the context: `+=`, and methods whose names "
    "end in an underscore, work on the tensor itself, so write `x = x + …`.",
)
def encoder_states_changed_in_place(
    decoder_state: Tensor, encoder_states: Tensor, W_decoder: Tensor, W_encoder: Tensor, v: Tensor
) -> Tensor:
    scores = additive_scores(decoder_state, encoder_states, W_decoder, W_encoder, v)
    with torch.no_grad():
        encoder_states += decoder_state
    return scores


# -- bahdanau_context --------------------------------------------------------------------------------------------


def gathered(scores: Tensor, encoder_states: Tensor) -> Pair:
    weights = torch.softmax(scores, dim=0)
    return weights @ encoder_states, weights


@misconception(
    "bahdanau_context",
    "The scores serve as weights as they are. Softmax makes shares of them: positive numbers that sum to one, however "
    "large the scores are.",
)
def scores_as_weights(decoder_state: Tensor, encoder_states: Tensor, *weights: Tensor) -> Pair:
    scores = additive_scores(decoder_state, encoder_states, *weights)
    return scores @ encoder_states, scores


@misconception(
    "bahdanau_context",
    "The scores are divided by their sum. Additive scores may be negative, and so would the weights be, or the sum "
    "near zero: take the softmax.",
)
def divided_by_the_sum(decoder_state: Tensor, encoder_states: Tensor, *weights: Tensor) -> Pair:
    scores = additive_scores(decoder_state, encoder_states, *weights)
    shares = scores / scores.sum()
    return shares @ encoder_states, shares


@misconception(
    "bahdanau_context",
    "The exponentials are not divided by their sum. Shares sum to one, or a long text makes a larger context than a "
    "short one.",
)
def exponentials_not_divided(decoder_state: Tensor, encoder_states: Tensor, *weights: Tensor) -> Pair:
    shares = additive_scores(decoder_state, encoder_states, *weights).exp()
    return shares @ encoder_states, shares


@misconception(
    "bahdanau_context",
    "The scores are divided by the root of a. That is for dot products, which grow with their width; here the tanh "
    "keeps every term between -1 and 1, and v learns its own size.",
)
def additive_scores_scaled_by_a(decoder_state: Tensor, encoder_states: Tensor, *weights: Tensor) -> Pair:
    return gathered(additive_scores(decoder_state, encoder_states, *weights) / len(weights[-1]) ** 0.5, encoder_states)


@misconception(
    "bahdanau_context",
    "The scores are divided by the root of h, the width of the states. That is for dot products of states, which grow "
    "with it; additive scores go into softmax as they are.",
)
def additive_scores_scaled_by_h(decoder_state: Tensor, encoder_states: Tensor, *weights: Tensor) -> Pair:
    return gathered(
        additive_scores(decoder_state, encoder_states, *weights) / len(decoder_state) ** 0.5, encoder_states
    )


@misconception(
    "bahdanau_context",
    "Softmax was taken twice. The second one sees nothing but shares between 0 and 1, and makes them nearly alike.",
)
def softmax_taken_twice(decoder_state: Tensor, encoder_states: Tensor, *weights: Tensor) -> Pair:
    return gathered(torch.softmax(additive_scores(decoder_state, encoder_states, *weights), dim=0), encoder_states)


@misconception(
    "bahdanau_context",
    "All encoder states count the same. That is a mean, which hides the one state that matters among the others; the "
    "scores say how much each of them should count.",
)
def states_averaged(decoder_state: Tensor, encoder_states: Tensor, *weights: Tensor) -> Pair:
    return gathered(0 * additive_scores(decoder_state, encoder_states, *weights), encoder_states)


@misconception(
    "bahdanau_context",
    "The best state takes all. A choice like that has no gradient, so nothing can learn to choose better; softmax "
    "gives every state its share.",
)
def best_state_takes_all(decoder_state: Tensor, encoder_states: Tensor, *weights: Tensor) -> Pair:
    scores = additive_scores(decoder_state, encoder_states, *weights)
    shares = nn.functional.one_hot(scores.argmax(), len(scores)).to(scores.dtype) + 0 * scores
    return shares @ encoder_states, shares


@misconception(
    "bahdanau_context",
    "The last encoder state is the context, whatever the scores are. So it was before attention; now each state counts "
    "as much as its weight.",
)
def last_state_as_the_context(decoder_state: Tensor, encoder_states: Tensor, *weights: Tensor) -> Pair:
    _, shares = gathered(additive_scores(decoder_state, encoder_states, *weights), encoder_states)
    return encoder_states[-1], shares


@misconception("bahdanau_context", NO_TANH)
def context_without_tanh(decoder_state: Tensor, encoder_states: Tensor, *weights: Tensor) -> Pair:
    return gathered(additive_without_tanh(decoder_state, encoder_states, *weights), encoder_states)


@misconception("bahdanau_context", EXCHANGED)
def matrices_exchanged_in_context(decoder_state: Tensor, encoder_states: Tensor, *weights: Tensor) -> Pair:
    return gathered(matrices_exchanged(decoder_state, encoder_states, *weights), encoder_states)


@misconception("bahdanau_context", UNASKED)
def decoder_state_ignored_in_context(decoder_state: Tensor, encoder_states: Tensor, *weights: Tensor) -> Pair:
    return gathered(decoder_state_ignored(decoder_state, encoder_states, *weights), encoder_states)


@misconception("bahdanau_context", DOT_PRODUCTS)
def dot_products_in_context(decoder_state: Tensor, encoder_states: Tensor, *weights: Tensor) -> Pair:
    return gathered(dot_products_of_the_states(decoder_state, encoder_states, *weights), encoder_states)


@misconception(
    "bahdanau_context",
    "The context is a sum of projected states. The projection is only there for the scores; what is handed over are "
    "the encoder states themselves, (h,).",
)
def projections_mixed(decoder_state: Tensor, encoder_states: Tensor, *weights: Tensor) -> Pair:
    _, shares = gathered(additive_scores(decoder_state, encoder_states, *weights), encoder_states)
    return shares @ encoder_states @ weights[1], shares


@misconception(
    "bahdanau_context",
    "Each encoder state is multiplied by its weight, but they are not added up. The context is one vector, (h,), "
    "whatever the length of the text.",
)
def states_not_added_up(decoder_state: Tensor, encoder_states: Tensor, *weights: Tensor) -> Pair:
    _, shares = gathered(additive_scores(decoder_state, encoder_states, *weights), encoder_states)
    return shares[:, None] * encoder_states, shares


@misconception(
    "bahdanau_context",
    "The context still has a dimension of length one. One vector for one state of the decoder is (h,).",
)
def context_as_a_row(decoder_state: Tensor, encoder_states: Tensor, *weights: Tensor) -> Pair:
    context, shares = gathered(additive_scores(decoder_state, encoder_states, *weights), encoder_states)
    return context[None], shares


@misconception(
    "bahdanau_context",
    "The decoder's state was added to the context. The decoder joins the two by itself, later; the context holds what "
    "comes from the encoder.",
)
def decoder_state_added(decoder_state: Tensor, encoder_states: Tensor, *weights: Tensor) -> Pair:
    context, shares = gathered(additive_scores(decoder_state, encoder_states, *weights), encoder_states)
    return context + decoder_state, shares


@misconception(
    "bahdanau_context",
    "The two results come in the wrong order. First the context, then the weights, as everywhere in this course.",
)
def weights_first(decoder_state: Tensor, encoder_states: Tensor, *weights: Tensor) -> Pair:
    context, shares = gathered(additive_scores(decoder_state, encoder_states, *weights), encoder_states)
    return shares, context


@misconception(
    "bahdanau_context",
    "Only the context comes back. The weights are wanted too: they show where the decoder looked.",
)
def context_alone(decoder_state: Tensor, encoder_states: Tensor, *weights: Tensor) -> Tensor:
    return gathered(additive_scores(decoder_state, encoder_states, *weights), encoder_states)[0]


@misconception(
    "bahdanau_context",
    "The context is right, but the scores come back in the place of the weights. The weights are what softmax made of "
    "them.",
)
def scores_in_the_place_of_weights(decoder_state: Tensor, encoder_states: Tensor, *weights: Tensor) -> Pair:
    scores = additive_scores(decoder_state, encoder_states, *weights)
    return gathered(scores, encoder_states)[0], scores


@misconception(
    "bahdanau_context",
    "`squeeze()` drops every dimension of length one, and so the weight of a single encoder state is no vector any "
    "more.",
)
def lonely_weight_squeezed(decoder_state: Tensor, encoder_states: Tensor, *weights: Tensor) -> Pair:
    context, shares = gathered(additive_scores(decoder_state, encoder_states, *weights), encoder_states)
    return context, shares.squeeze()


@misconception(
    "bahdanau_context",
    "The states are made float32, which then do not fit what is float64. Let the arguments keep their dtype.",
)
def states_made_float32_in_context(decoder_state: Tensor, encoder_states: Tensor, *weights: Tensor) -> Pair:
    return gathered(states_made_float32(decoder_state, encoder_states, *weights), encoder_states)


@misconception(
    "bahdanau_context",
    "Gradients stop at the results, by `.detach()`, `.data` or `torch.no_grad()`. Encoder and decoder learn to "
    "understand each other only through them.",
)
def context_without_gradients(decoder_state: Tensor, encoder_states: Tensor, *weights: Tensor) -> Pair:
    context, shares = gathered(additive_scores(decoder_state, encoder_states, *weights), encoder_states)
    return context.detach(), shares.detach()


@misconception(
    "bahdanau_context",
    "The weights are cut off from the gradients before they meet the encoder states. Where to look is to be learnt as "
    "well.",
)
def where_to_look_is_not_learnt(decoder_state: Tensor, encoder_states: Tensor, *weights: Tensor) -> Pair:
    _, shares = gathered(additive_scores(decoder_state, encoder_states, *weights), encoder_states)
    return shares.detach() @ encoder_states, shares


@misconception(
    "bahdanau_context",
    "The caller's encoder states were multiplied by the weights in place. The next word of the translation needs them "
    "again: write `x = x * …` rather than `x *= …`.",
)
def encoder_states_weighted_in_place(decoder_state: Tensor, encoder_states: Tensor, *weights: Tensor) -> Pair:
    context, shares = gathered(additive_scores(decoder_state, encoder_states, *weights), encoder_states)
    with torch.no_grad():
        encoder_states *= shares[:, None]
    return context, shares


# -- CrossAttention ----------------------------------------------------------------------------------------------

Mask = Tensor | None


class Cross(nn.Module):
    """The right answer, of which each wrong one changes a part."""

    def __init__(self, d_query: int, d_context: int, d_out: int) -> None:
        super().__init__()
        self.W_query = nn.Linear(d_query, d_out, bias=False)
        self.W_key = nn.Linear(d_context, d_out, bias=False)
        self.W_value = nn.Linear(d_context, d_out, bias=False)

    def project(self, x: Tensor, context: Tensor) -> Triple:
        return self.W_query(x), self.W_key(context), self.W_value(context)

    def scale(self, scores: Tensor) -> Tensor:
        return scores / self.W_query.out_features**0.5

    def hide(self, scores: Tensor, padding_mask: Tensor) -> Tensor:
        """scores (B, T_q, T_k), padding_mask (B, T_k)."""
        return scores.masked_fill(padding_mask[:, None], -torch.inf)

    def share(self, scores: Tensor) -> Tensor:
        return torch.softmax(scores, dim=-1)

    def weigh(self, scores: Tensor, padding_mask: Mask) -> Tensor:
        return self.share(self.scale(scores if padding_mask is None else self.hide(scores, padding_mask)))

    def attend(self, queries: Tensor, keys: Tensor, values: Tensor, padding_mask: Mask) -> Tensor:
        # (B, T_q, d_out) @ (B, d_out, T_k) -> (B, T_q, T_k)
        return self.weigh(queries @ keys.mT, padding_mask) @ values

    def forward(self, x: Tensor, context: Tensor, padding_mask: Mask = None) -> Tensor:
        return self.attend(*self.project(x, context), padding_mask)


# Scores


@misconception(
    "CrossAttention",
    "The scores are not scaled. The wider the queries and keys, the wilder their dot products; divided by √d_out they "
    "keep a variance near 1, and softmax stays gentle.",
)
class scaling_forgotten(Cross):
    def scale(self, scores: Tensor) -> Tensor:
        return scores


@misconception(
    "CrossAttention",
    "`/` and `*` bind alike, from left to right: `/ d_out*0.5` divides by d_out and then takes the half. A square root "
    "is a power, `d_out**0.5`.",
)
class half_instead_of_root(Cross):
    def scale(self, scores: Tensor) -> Tensor:
        return scores / self.W_query.out_features * 0.5


@misconception(
    "CrossAttention",
    "The root is mistyped: the power .05 is a twentieth root, which hardly divides at all. A square root is the power "
    "0.5, or `math.sqrt`.",
)
class twentieth_root(Cross):
    def scale(self, scores: Tensor) -> Tensor:
        return scores / self.W_query.out_features**0.05


@misconception(
    "CrossAttention",
    "The scores are divided by d_out itself. Their standard deviation is its square root, so that is what brings it to "
    "1.",
)
class divided_by_the_width_itself(Cross):
    def scale(self, scores: Tensor) -> Tensor:
        return scores / self.W_query.out_features


@misconception(
    "CrossAttention",
    "The scores are divided by √d_query. The dot products are between projected tokens, and their width is d_out.",
)
class scaled_by_d_query(Cross):
    def scale(self, scores: Tensor) -> Tensor:
        return scores / self.W_query.in_features**0.5


@misconception(
    "CrossAttention",
    "The scores are divided by √d_context. The dot products are between projected tokens, and their width is d_out.",
)
class scaled_by_d_context(Cross):
    def scale(self, scores: Tensor) -> Tensor:
        return scores / self.W_key.in_features**0.5


@misconception(
    "CrossAttention",
    "The scores are divided by the root of the number of tokens in the context. A dot product sums over features, so "
    "it is their number, d_out, that makes it grow.",
)
class scaled_by_the_length_of_the_context(Cross):
    def scale(self, scores: Tensor) -> Tensor:
        return scores / scores.shape[-1] ** 0.5


@misconception(
    "CrossAttention",
    "The weights are divided after softmax, and no longer sum to one. It is the scores, before softmax, that are too "
    "wild.",
)
class scaled_after_softmax(Cross):
    def scale(self, scores: Tensor) -> Tensor:
        return scores

    def share(self, scores: Tensor) -> Tensor:
        return super().share(scores) / self.W_query.out_features**0.5


# Who asks, and who answers


@misconception(
    "CrossAttention",
    "The queries come from context, so the encoder's text asks. It is the text being written that asks: queries from "
    "x, and one output for each token of x.",
)
class queries_from_context(Cross):
    def project(self, x: Tensor, context: Tensor) -> Triple:  # noqa: ARG002
        return self.W_query(context), self.W_key(context), self.W_value(context)


@misconception(
    "CrossAttention",
    "The keys come from x, so the text being written is compared with itself. Each query should find out which tokens "
    "of context fit it: keys from context.",
)
class keys_from_x(Cross):
    def project(self, x: Tensor, context: Tensor) -> Triple:
        return self.W_query(x), self.W_key(x), self.W_value(context)


@misconception(
    "CrossAttention",
    "The values come from x. What is handed over should be news from the other text: values from context, as the keys.",
)
class values_from_x(Cross):
    def project(self, x: Tensor, context: Tensor) -> Triple:
        return self.W_query(x), self.W_key(context), self.W_value(x)


@misconception(
    "CrossAttention",
    "This is self-attention: queries, keys and values all come from x, and context is never looked at. Keys and values "
    "are the other text's.",
)
class context_never_looked_at(Cross):
    def project(self, x: Tensor, context: Tensor) -> Triple:  # noqa: ARG002
        return self.W_query(x), self.W_key(x), self.W_value(x)


@misconception(
    "CrossAttention",
    "x and context have changed places: queries are made of context, keys and values of x. The text being written "
    "asks, and the encoder's text answers.",
)
class x_and_context_exchanged(Cross):
    def project(self, x: Tensor, context: Tensor) -> Triple:
        return super().project(context, x)


@misconception(
    "CrossAttention",
    "W_value is made but never used, and the weights mix the keys. Keys are only there to be compared with queries; "
    "what is handed over are the values.",
)
class keys_handed_over(Cross):
    def project(self, x: Tensor, context: Tensor) -> Triple:
        return self.W_query(x), self.W_key(context), self.W_key(context)


@misconception(
    "CrossAttention",
    "W_value is made but never used: the weights mix the context as it came in. What is mixed are the values, "
    "W_value(context).",
)
class context_mixed_unprojected(Cross):
    def project(self, x: Tensor, context: Tensor) -> Triple:
        return self.W_query(x), self.W_key(context), context


@misconception(
    "CrossAttention",
    "W_key and W_value have changed places: queries are compared with the values, and the keys are handed over.",
)
class keys_and_values_exchanged(Cross):
    def project(self, x: Tensor, context: Tensor) -> Triple:
        return self.W_query(x), self.W_value(context), self.W_key(context)


@misconception(
    "CrossAttention",
    "The keys ask and the queries answer: row i of the scores belongs to query i and holds its dot products with every "
    "key. That is queries @ transposed keys, not the other way round.",
)
class keys_ask_the_queries(Cross):
    def attend(self, queries: Tensor, keys: Tensor, values: Tensor, padding_mask: Mask) -> Tensor:
        return self.weigh(keys @ queries.mT, padding_mask) @ values  # (B, T_k, d_out) @ (B, d_out, T_q)


# Softmax


@misconception(
    "CrossAttention",
    "A causal mask hides the tokens of context that stand further on. The future that a decoder must not see is that "
    "of its own text; the other one is there as a whole.",
)
class causal_mask_applied(Cross):
    def weigh(self, scores: Tensor, padding_mask: Mask) -> Tensor:
        future = torch.ones(scores.shape[-2:], dtype=torch.bool).triu(1)
        return super().weigh(scores.masked_fill(future, -torch.inf), padding_mask)


@misconception(
    "CrossAttention",
    "Softmax runs over the queries: the columns sum to one, not the rows. Each query shares its own attention among "
    "the context, and that lies along the last dim.",
)
class softmax_over_the_queries(Cross):
    def share(self, scores: Tensor) -> Tensor:
        return torch.softmax(scores, dim=1)


@misconception(
    "CrossAttention",
    "Softmax runs over the batch (dim=0), whose elements should not know of each other. The tokens to share among lie "
    "along the last dim, -1.",
)
class softmax_over_the_batch(Cross):
    def share(self, scores: Tensor) -> Tensor:
        return torch.softmax(scores, dim=0)


@misconception(
    "CrossAttention",
    "Softmax runs over all scores of a text at once, so that all queries share one attention between them. Each has a "
    "whole one to give: softmax over the last dim.",
)
class softmax_over_everything(Cross):
    def share(self, scores: Tensor) -> Tensor:
        return torch.softmax(scores.flatten(1), dim=-1).view_as(scores)  # (B, T_q, T_k) <-> (B, T_q · T_k)


@misconception(
    "CrossAttention",
    "The scores serve as weights as they are. Softmax makes shares of them: positive, with the sum one, and zero where "
    "the score is minus infinity.",
)
class softmax_forgotten(Cross):
    def share(self, scores: Tensor) -> Tensor:
        return scores


@misconception(
    "CrossAttention",
    "The whole context counts the same, whatever the queries and keys are. How much a query hears of a token is for "
    "their dot product to say.",
)
class context_averaged(Cross):
    def share(self, scores: Tensor) -> Tensor:
        return torch.softmax(0 * scores.clamp(min=-1e9) + (scores == -torch.inf) * -1e9, dim=-1)


# Padding


@misconception(
    "CrossAttention",
    "The mask has no effect: it is not used, or what was masked was thrown away. `masked_fill` without an underscore "
    "gives a new tensor; use what it gives.",
)
class mask_without_effect(Cross):
    def hide(self, scores: Tensor, padding_mask: Tensor) -> Tensor:  # noqa: ARG002
        return scores


@misconception(
    "CrossAttention",
    "The mask is upside down: only padding is attended to. True says that a token is padding, and its scores are those "
    "to hide.",
)
class mask_upside_down(Cross):
    def hide(self, scores: Tensor, padding_mask: Tensor) -> Tensor:
        return super().hide(scores, ~padding_mask)


@misconception(
    "CrossAttention",
    "The mask is upside down: only padding is attended to. In torch's own attention, True in a mask says that a token "
    "is seen; in padding_mask it says that the token is padding, so turn it round: `~padding_mask`.",
)
class mask_upside_down_for_torch(Cross):
    def attend(self, queries: Tensor, keys: Tensor, values: Tensor, padding_mask: Mask) -> Tensor:
        seen = None if padding_mask is None else padding_mask[:, None]  # (B, T_k) -> (B, 1, T_k)
        return nn.functional.scaled_dot_product_attention(queries, keys, values, attn_mask=seen)


@misconception(
    "CrossAttention",
    "The mask is laid over the queries: `padding_mask[:, :, None]` is a column. It speaks of the tokens in context, "
    "which are the last dimension of the scores: `padding_mask[:, None, :]`.",
)
class mask_over_the_queries(Cross):
    def hide(self, scores: Tensor, padding_mask: Tensor) -> Tensor:
        return scores.masked_fill(padding_mask[:, :, None], -torch.inf)


@misconception(
    "CrossAttention",
    "The mask (B, T_k) meets the scores (B, T_q, T_k) as it is, and torch lines up the last dimensions: B falls on "
    "T_q. Put a dimension for the queries in between: `padding_mask[:, None, :]`.",
)
class mask_without_a_dimension_for_queries(Cross):
    def hide(self, scores: Tensor, padding_mask: Tensor) -> Tensor:
        return scores.masked_fill(padding_mask, -torch.inf)


@misconception(
    "CrossAttention",
    "Padding gives nothing to the output, but it still takes its share of the attention: only its values, or the "
    "finished weights, are set to zero. Its scores have to be minus infinity before the softmax.",
)
class padding_takes_its_share(Cross):
    def weigh(self, scores: Tensor, padding_mask: Mask) -> Tensor:
        weights = super().weigh(scores, None)
        return weights if padding_mask is None else weights.masked_fill(padding_mask[:, None], 0)


@misconception(
    "CrossAttention",
    "Padding is hidden too late: after the softmax, or after the largest score was subtracted. In exact numbers that "
    "is the same, but where padding scores far above the rest nothing is left of the others.",
)
class renormalized_after_softmax(Cross):
    def weigh(self, scores: Tensor, padding_mask: Mask) -> Tensor:
        weights = super().weigh(scores, None)
        left = weights if padding_mask is None else weights.masked_fill(padding_mask[:, None], 0)
        return left / left.sum(-1, keepdim=True)


@misconception(
    "CrossAttention",
    "The scores of the padding are set to zero (or multiplied by a mask of zeros and ones). Zero is a score like any "
    "other, exp of it is one, and so padding has weight. Minus infinity has none.",
)
class zeros_instead_of_minus_infinity(Cross):
    def hide(self, scores: Tensor, padding_mask: Tensor) -> Tensor:
        return scores.masked_fill(padding_mask[:, None], 0)


@misconception(
    "CrossAttention",
    "The padding in context is set to zero, and no more. A key of zeros has the score 0, and exp of that is one: it "
    "still takes a share. Hide its scores.",
)
class padding_set_to_zero_in_context(Cross):
    def forward(self, x: Tensor, context: Tensor, padding_mask: Mask = None) -> Tensor:
        return super().forward(x, context if padding_mask is None else context * ~padding_mask[:, :, None])


@misconception(
    "CrossAttention",
    "What is added to the scores of the padding is negative, but not enough: padding that scores far above the others "
    "still comes out on top. Minus infinity is below everything.",
)
class a_thousand_subtracted(Cross):
    def hide(self, scores: Tensor, padding_mask: Tensor) -> Tensor:
        return scores - 1000.0 * padding_mask[:, None]


@misconception(
    "CrossAttention",
    "The scores of the padding are set to a number that is negative, but not low enough: where all other scores are "
    "lower still, padding comes out on top. Minus infinity is below everything.",
)
class scores_of_padding_set_to_minus_a_hundred(Cross):
    def weigh(self, scores: Tensor, padding_mask: Mask) -> Tensor:
        scores = self.scale(scores)
        return self.share(scores if padding_mask is None else scores.masked_fill(padding_mask[:, None], -100))


@misconception(
    "CrossAttention",
    "A mask of zeros and ones was multiplied by infinity, and zero times infinity is NaN. Fill the masked places "
    "instead: `masked_fill`, or `torch.where`.",
)
class zero_times_infinity(Cross):
    def hide(self, scores: Tensor, padding_mask: Tensor) -> Tensor:
        return scores + padding_mask[:, None] * -torch.inf


@misconception(
    "CrossAttention",
    "The scores of the padding are set to plus infinity, which is NaN after softmax. Minus infinity is the score whose "
    "exp is zero.",
)
class plus_infinity(Cross):
    def hide(self, scores: Tensor, padding_mask: Tensor) -> Tensor:
        return scores.masked_fill(padding_mask[:, None], torch.inf)


@misconception(
    "CrossAttention",
    "All elements of the batch get the padding of the first one. Texts end at different places, so each has a row of "
    "the mask to itself.",
)
class padding_of_the_first_element(Cross):
    def hide(self, scores: Tensor, padding_mask: Tensor) -> Tensor:
        return super().hide(scores, padding_mask[:1])


@misconception(
    "CrossAttention",
    "What is padding in one element of the batch is hidden in all of them. Texts end at different places, so each has "
    "a row of the mask to itself.",
)
class padding_of_any_element(Cross):
    def hide(self, scores: Tensor, padding_mask: Tensor) -> Tensor:
        return super().hide(scores, padding_mask.any(0, keepdim=True))


@misconception(
    "CrossAttention",
    "Padding is counted, and that many tokens are left out at the end. It may stand anywhere, in front too: where it "
    "is says the mask, token by token.",
)
class padding_only_at_the_end(Cross):
    def hide(self, scores: Tensor, padding_mask: Tensor) -> Tensor:
        left = (~padding_mask).sum(-1, keepdim=True)  # (B, 1)
        return super().hide(scores, torch.arange(scores.shape[-1]) >= left)


NO_MASK = (
    "Without a mask there is an error. It may be left out where nothing is padding, so its default is None: "
    "`padding_mask=None`. Ask `if padding_mask is not None` before you use it."
)


@misconception("CrossAttention", NO_MASK)
class mask_required(Cross):
    def weigh(self, scores: Tensor, padding_mask: Mask) -> Tensor:
        hidden = padding_mask[:, None]  # type: ignore[index]  # (B, T_k) -> (B, 1, T_k)
        return self.share(self.scale(scores.masked_fill(hidden, -torch.inf)))


@misconception("CrossAttention", NO_MASK)
class mask_asked_for_its_methods(Cross):
    def weigh(self, scores: Tensor, padding_mask: Mask) -> Tensor:
        hidden = padding_mask.bool()[:, None]  # type: ignore[union-attr]  # (B, T_k) -> (B, 1, T_k)
        return self.share(self.scale(scores.masked_fill(hidden, -torch.inf)))


@misconception("CrossAttention", NO_MASK)
class mask_without_a_default(Cross):
    def forward(self, x: Tensor, context: Tensor, padding_mask: Mask) -> Tensor:  # type: ignore[override]
        return super().forward(x, context, padding_mask)


@misconception(
    "CrossAttention",
    "With a mask every call ends in an error. `if padding_mask:` asks a whole tensor for one yes or no: ask whether "
    "there is one, `if padding_mask is not None`. And a bool tensor takes no minus: `~` turns it round.",
)
class mask_asked_for_yes_or_no(Cross):
    def forward(self, x: Tensor, context: Tensor, padding_mask: Mask = None) -> Tensor:
        return super().forward(x, context, padding_mask if padding_mask else None)


# The batch and the tokens


@misconception(
    "CrossAttention",
    "Every call ends in an error, for shapes do not fit. Of the keys (B, T_k, d_out) the last two dimensions change "
    "places, and the batch stays in front; `.T` moves it too. The weights (B, T_q, T_k) stand in front of the values, "
    "and nothing is added to what comes of it: x has another width.",
)
class products_that_do_not_fit(Cross):
    def attend(self, queries: Tensor, keys: Tensor, values: Tensor, padding_mask: Mask) -> Tensor:
        scores = queries @ keys.permute(2, 1, 0)  # what `.T` does: (B, T_k, d_out) -> (d_out, T_k, B)
        return self.weigh(scores, padding_mask) @ values


@misconception(
    "CrossAttention",
    "`view` and `reshape` keep the order of the numbers and only break the rows elsewhere, so the keys are torn apart. "
    "`transpose` is what swaps two dimensions.",
)
class keys_reshaped(Cross):
    def attend(self, queries: Tensor, keys: Tensor, values: Tensor, padding_mask: Mask) -> Tensor:
        torn = keys.reshape(len(keys), keys.shape[2], keys.shape[1])  # (B, T_k, d_out) -> (B, d_out, T_k)
        return self.weigh(queries @ torn, padding_mask) @ values


@misconception(
    "CrossAttention",
    "Every element of the batch is given the weights of the first one. Each has scores of its own.",
)
class weights_of_the_first_element(Cross):
    def weigh(self, scores: Tensor, padding_mask: Mask) -> Tensor:
        return super().weigh(scores, padding_mask)[:1].expand_as(scores)


@misconception(
    "CrossAttention",
    "The contexts of a batch are put one behind the other, so each query sees those of the other elements too. "
    "Elements of a batch never look at each other.",
)
class contexts_put_together(Cross):
    def forward(self, x: Tensor, context: Tensor, padding_mask: Mask = None) -> Tensor:
        together = context.flatten(0, 1).expand(len(x), -1, -1)  # (B, T_k, d) -> (B, B · T_k, d)
        mask = None if padding_mask is None else padding_mask.flatten().expand(len(x), -1)
        return super().forward(x, together, mask)


@misconception(
    "CrossAttention",
    "`squeeze()` drops every dimension of length one: a batch of one text is no batch any more, and a text of one "
    "token no text.",
)
class lonely_text_squeezed(Cross):
    def forward(self, x: Tensor, context: Tensor, padding_mask: Mask = None) -> Tensor:
        return super().forward(x, context, padding_mask).squeeze()


@misconception(
    "CrossAttention",
    "Only contexts of the same length as x work. Two texts seldom are equally long: the scores are (B, T_q, T_k), and "
    "T_k is the context's own length.",
)
class as_many_queries_as_keys(Cross):
    def weigh(self, scores: Tensor, padding_mask: Mask) -> Tensor:
        return super().weigh(scores.view(len(scores), scores.shape[1], scores.shape[1]), padding_mask)


@misconception(
    "CrossAttention",
    "A context of a single token, or x of a single one, is refused or goes wrong. It is a text like others: its one "
    "token gets all the weight.",
)
class single_token_refused(Cross):
    def forward(self, x: Tensor, context: Tensor, padding_mask: Mask = None) -> Tensor:
        if context.shape[1] < 2:
            raise ValueError("there is nothing to choose from")
        return super().forward(x, context, padding_mask)


# Layers


@misconception(
    "CrossAttention",
    "The layers have a bias, for that is what nn.Linear does by itself: bias=False.",
)
class layers_with_bias(Cross):
    def __init__(self, d_query: int, d_context: int, d_out: int) -> None:
        super().__init__(d_query, d_context, d_out)
        self.W_query = nn.Linear(d_query, d_out)
        self.W_key = nn.Linear(d_context, d_out)
        self.W_value = nn.Linear(d_context, d_out)


@misconception(
    "CrossAttention",
    "d_query and d_context have changed places. x has d_query features and becomes queries; context has d_context, and "
    "becomes keys and values.",
)
class widths_exchanged(Cross):
    def __init__(self, d_query: int, d_context: int, d_out: int) -> None:
        super().__init__(d_context, d_query, d_out)


@misconception(
    "CrossAttention",
    "x and context have changed places: context asks, and x answers. It is the text being written, x, that looks for "
    "something in the other.",
)
class texts_exchanged(widths_exchanged):
    def project(self, x: Tensor, context: Tensor) -> Triple:
        return self.W_query(context), self.W_key(x), self.W_value(x)


@misconception(
    "CrossAttention",
    "Keys are made of x, and W_key takes d_query features. They are made of context, which has d_context.",
)
class key_layer_for_x(keys_from_x):
    def __init__(self, d_query: int, d_context: int, d_out: int) -> None:
        super().__init__(d_query, d_context, d_out)
        self.W_key = nn.Linear(d_query, d_out, bias=False)


@misconception(
    "CrossAttention",
    "Values are made of x, and W_value takes d_query features. They are made of context, which has d_context.",
)
class value_layer_for_x(values_from_x):
    def __init__(self, d_query: int, d_context: int, d_out: int) -> None:
        super().__init__(d_query, d_context, d_out)
        self.W_value = nn.Linear(d_query, d_out, bias=False)


@misconception(
    "CrossAttention",
    "All three layers take d_query features. Keys and values are made of context, which has d_context.",
)
class all_layers_from_d_query(Cross):
    def __init__(self, d_query: int, d_context: int, d_out: int) -> None:  # noqa: ARG002
        super().__init__(d_query, d_query, d_out)


@misconception(
    "CrossAttention",
    "All three layers take d_context features. Queries are made of x, which has d_query.",
)
class all_layers_from_d_context(Cross):
    def __init__(self, d_query: int, d_context: int, d_out: int) -> None:  # noqa: ARG002
        super().__init__(d_context, d_context, d_out)


@misconception(
    "CrossAttention",
    "nn.Linear takes what comes in first and what goes out second: nn.Linear(d_query, d_out).",
)
class layers_the_other_way_round(Cross):
    def __init__(self, d_query: int, d_context: int, d_out: int) -> None:
        super().__init__(d_query, d_context, d_out)
        self.W_query = nn.Linear(d_out, d_query, bias=False)
        self.W_key = nn.Linear(d_out, d_context, bias=False)
        self.W_value = nn.Linear(d_out, d_context, bias=False)


@misconception(
    "CrossAttention",
    "The layers have the sizes of the worked example, whatever the arguments say. A class should use its own "
    "arguments, or it works for one notebook only.",
)
class layers_of_the_worked_example(Cross):
    def __init__(self, d_query: int, d_context: int, d_out: int) -> None:  # noqa: ARG002
        super().__init__(2, 3, 2)


@misconception(
    "CrossAttention",
    "The three are matrices made by hand. Here each is an nn.Linear, which brings its own weight.",
)
class matrices_instead_of_layers(Cross):
    def __init__(self, d_query: int, d_context: int, d_out: int) -> None:
        super().__init__(d_query, d_context, d_out)
        for name, width in zip(MATRICES, (d_query, d_context, d_context), strict=True):
            delattr(self, name)
            setattr(self, name, nn.Parameter(torch.rand(width, d_out)))

    def project(self, x: Tensor, context: Tensor) -> Triple:
        queries, keys, values = (
            tokens @ getattr(self, name) for name, tokens in zip(MATRICES, (x, context, context), strict=True)
        )
        return queries, keys, values


# What comes back, gradients, dtypes, arguments


@misconception(
    "CrossAttention",
    "The module gives outputs and weights. The next layer wants one tensor: give the outputs alone.",
)
class both_results(Cross):
    def forward(self, x: Tensor, context: Tensor, padding_mask: Mask = None) -> Pair:  # type: ignore[override]
        queries, keys, values = self.project(x, context)
        weights = self.weigh(queries @ keys.mT, padding_mask)
        return weights @ values, weights


@misconception(
    "CrossAttention",
    "The module gives the attention weights. They say how much each token matters; the output is what they make of the "
    "values.",
)
class weights_instead_of_outputs(Cross):
    def attend(self, queries: Tensor, keys: Tensor, values: Tensor, padding_mask: Mask) -> Tensor:  # noqa: ARG002
        return self.weigh(queries @ keys.mT, padding_mask)


@misconception(
    "CrossAttention",
    "The queries are added to the output. A transformer block adds x to what attention gives, but that is done around "
    "it; this module gives the weighted sums alone.",
)
class query_added(Cross):
    def attend(self, queries: Tensor, keys: Tensor, values: Tensor, padding_mask: Mask) -> Tensor:
        return queries + super().attend(queries, keys, values, padding_mask)


@misconception(
    "CrossAttention",
    "The gradients are cut off, by `torch.no_grad()`, `.detach()` or `.data`, so neither the layers nor anything below "
    "them can learn.",
)
class gradients_switched_off(Cross):
    def project(self, x: Tensor, context: Tensor) -> Triple:
        queries, keys, values = super().project(x, context)
        return queries.detach(), keys.detach(), values.detach()


@misconception(
    "CrossAttention",
    "The weights are cut off from the gradients before they meet the values, so that only the values learn. Where to "
    "look is to be learnt as well.",
)
class only_values_learn(Cross):
    def weigh(self, scores: Tensor, padding_mask: Mask) -> Tensor:
        return super().weigh(scores, padding_mask).detach()


@misconception(
    "CrossAttention",
    "Context is cut off from the gradients. It is the encoder's work, and the encoder learns from what the decoder "
    "finds useful: this is where it hears of it.",
)
class encoder_cut_off(Cross):
    def project(self, x: Tensor, context: Tensor) -> Triple:
        return super().project(x, context.detach())


@misconception(
    "CrossAttention",
    "x and context are made float32, which then do not fit layers that are float64. Let them keep their dtype.",
)
class texts_made_float32(Cross):
    def project(self, x: Tensor, context: Tensor) -> Triple:
        return super().project(x.float(), context.float())


@misconception(
    "CrossAttention",
    "The caller's x was changed. The decoder needs it again, for it adds the output to it; write `x = x - …` rather "
    "than `x -= …`.",
)
class x_changed_in_place(Cross):
    def forward(self, x: Tensor, context: Tensor, padding_mask: Mask = None) -> Tensor:
        output = super().forward(x, context, padding_mask)
        with torch.no_grad():
            x -= x.mean(dim=-1, keepdim=True)
        return output


@misconception(
    "CrossAttention",
    "The padding in the caller's context was overwritten. Other layers look at the same context: `masked_fill_`, and "
    "assigning to some of the tokens, work on the tensor itself.",
)
class context_changed_in_place(Cross):
    def forward(self, x: Tensor, context: Tensor, padding_mask: Mask = None) -> Tensor:
        output = super().forward(x, context, padding_mask)
        if padding_mask is not None:
            with torch.no_grad():
                context.masked_fill_(padding_mask[:, :, None], 0)
        return output


@misconception(
    "CrossAttention",
    "The caller's padding_mask was turned upside down in place. The next layer needs it as it was: `~padding_mask` "
    "makes a new one.",
)
class mask_changed_in_place(Cross):
    def forward(self, x: Tensor, context: Tensor, padding_mask: Mask = None) -> Tensor:
        if padding_mask is None:
            return super().forward(x, context)
        padding_mask.logical_not_()  # True for what is seen
        return super().forward(x, context, ~padding_mask)
