"""rnn_hidden_states: hidden tests, known mistakes and right answers."""

from __future__ import annotations

from typing import Any

import torch

from grader.suites.encoder_decoder_attention.shared import HIDDEN, D, Function, T, affine, cast, tanh
from grader.testing.checks import expect_close, expect_tensor, expect_true
from grader.testing.draws import Fresh, numbers
from grader.testing.misconceptions import mistake, replace
from grader.testing.student import Student
from grader.testing.suite import (
    IN_BOTH_DTYPES,
    Example,
    asking,
    contract,
    kept_arguments,
    right_gradients,
    right_results,
    rule,
)


def hidden_states_of(student: Student) -> Function:
    """rnn_hidden_states. All tokens are projected at once, because that part needs no recurrence."""
    project = student.substitute("linear_as_matmul", affine)

    def rnn_hidden_states(
        inputs: torch.Tensor, W_x: torch.Tensor, W_h: torch.Tensor, bias: torch.Tensor
    ) -> torch.Tensor:
        states = [torch.zeros_like(bias, dtype=torch.float64)]
        for token in project(inputs.double(), W_x.double(), bias.double()):
            states.append(tanh(token + torch.einsum("g,gh->h", states[-1], W_h.double())))
        return torch.stack(states[1:])

    return rnn_hidden_states


def decisive_tokens(
    fresh: Fresh, count: int = T, width: int = D, hidden: int = HIDDEN, dtype: torch.dtype = torch.float32
) -> list[torch.Tensor]:
    """Arguments of rnn_hidden_states, where each token alone decides the signs in its state.

    The token adds 4 or -4 to each number of the state, and all other terms together are less than 1. So the signs are
    right even if the first state is wrong, a state is lost, or another function that keeps signs replaces tanh.
    """
    signs = fresh(count, hidden, dtype=torch.float64).sign()
    inputs = fresh.rotation(width)[:count]
    W_h, bias = 0.05 * fresh(hidden, hidden, dtype=torch.float64), 0.1 * fresh(hidden, dtype=torch.float64)
    # The tokens are orthonormal, so inputs @ inputs.mT is the identity (T, T).
    return cast([inputs, inputs.mT @ (4 * signs), W_h, bias], dtype)


def expect_signs(value: Any, right: torch.Tensor) -> None:
    states = expect_tensor(value, right.shape)
    expect_true(torch.equal(states > 0, right > 0), "The signs in the states do not match the tokens.")


def recurrence(fresh: Fresh, count: int = T, width: int = D, hidden: int = HIDDEN) -> list[torch.Tensor]:
    """Arguments of rnn_hidden_states where no number of a state is near 1 or -1, so that every part shows."""
    return [fresh(count, width), fresh(width, hidden) / width, fresh(hidden, hidden) / hidden**0.5, fresh(hidden) / 2]


@rule("the state after token t is tanh(inputs[t] @ W_x + the state before it @ W_h + bias)")
def test_each_state_is_made_from_its_token_and_the_state_before(student: Student, fresh: Fresh) -> None:
    """Each state should be the tanh of its token times W_x, plus the state before it times W_h, plus the bias."""
    for sizes in ((T, D, HIDDEN), (T, T, T)):  # last, all sizes are equal: a transposed matrix raises no error
        arguments = recurrence(fresh, *sizes)
        expect_close(student.rnn_hidden_states(*arguments), hidden_states_of(student)(*arguments), "The states")


@rule("the state before the first token is all zeros")
def test_the_state_before_the_first_is_zeros(student: Student, fresh: Fresh) -> None:
    """The first state should not depend on W_h: before the first token the state is all zeros."""
    inputs, W_x, W_h, bias = recurrence(fresh)
    states = student.rnn_hidden_states(inputs, W_x, W_h, 0 * bias)
    first = hidden_states_of(student)(inputs, W_x, W_h, 0 * bias)[0]
    expect_close(expect_tensor(states, (T, HIDDEN))[0], first, "The numbers of the first state")


@rule("row t is the state after token t, for every token and in the order of the tokens")
def test_a_row_for_every_state_in_the_tokens_order(student: Student, fresh: Fresh) -> None:
    """There should be a row for every token, (T, h): the state directly after that token."""
    arguments = decisive_tokens(fresh, T)
    expect_signs(student.rnn_hidden_states(*arguments), hidden_states_of(student)(*arguments))


# For each function: inputs on which most mistakes do not show, what is right, and how a result is compared.
READ = asking("rnn_hidden_states", decisive_tokens, hidden_states_of, expect_signs)


test_contract = contract(
    READ,
    right_results(
        "states_of_any_number_of_tokens", "any number of tokens, including one",
        "The function should read any number of tokens, also a single one, and give a state for each, (T, h).",
        *({"count": count} for count in (1, 3, 7))),
    right_results(
        "states_of_either_dtype", "float32 and float64 arguments both work",
        "The states should be correct for float32 and for float64 arguments.",
        *({**dtype, "width": D, "hidden": D} for dtype in IN_BOTH_DTYPES)),
    right_gradients(
        "gradients_through_every_step", "gradients flow to all four arguments, through every step",
        "Gradients should flow from every state back to the inputs, both matrices and the bias, through all steps.",
        ask=asking("rnn_hidden_states", recurrence, hidden_states_of)),
    kept_arguments(
        "reading_leaves_its_arguments_alone", "the arguments are not changed",
        "The states should be correct, and the call should not change its arguments.", "An argument was changed."),
    example=Example({"inputs": numbers(4, 2) / 2, "W_x": numbers(2, 3, seed=1) / 4,
                     "W_h": numbers(3, 3, seed=2) / 4, "bias": numbers(3, seed=3) / 4}),
)  # fmt: skip


# -- misconceptions ------------------------------------------------------------------------------------------------

MISCONCEPTIONS = [
    mistake("starts_from_the_bias", replace("torch.zeros_like(bias)", "bias"),
        "The bias is the state before the first token. That state should be zeros: the bias belongs only in the sum "
        "of each step."),
    mistake("tanh_of_the_token_only", replace("state @ W_h + bias)", "bias) + state @ W_h"),
        "The tanh is taken only of the token's part, and the part of the state before is added outside. Take the "
        "tanh of the whole sum. Otherwise the state can grow without limit."),
    mistake("next_state_from_the_sum_before_tanh",
        replace("torch.tanh(token @ W_x + state @ W_h + bias)", "token @ W_x + state @ W_h + bias")
        .replace("append(state)", "append(torch.tanh(state))"),
        "Each step continues from the sum before its tanh; only the returned states are after tanh. Continue from "
        "the state itself."),
    mistake("relu_for_tanh", replace("tanh", "relu"),
        "ReLU is used instead of tanh. ReLU removes negative numbers and has no upper limit; tanh keeps both signs, "
        "and every number between -1 and 1."),
    mistake("sigmoid_for_tanh", replace("tanh", "sigmoid"),
        "The sigmoid is used instead of tanh. Its results are between 0 and 1, so no number of the state can be "
        "negative. Those of tanh are between -1 and 1."),
    mistake("bias_forgotten", replace(" + bias", ""), "The bias is not in the sum. Add it to the sum at every step."),
    mistake("W_h_transposed", replace("state @ W_h", "W_h @ state"),
        "W_h is transposed. It is square, so there is no error. But row i belongs to number i of the state before, "
        "so the state is on the left of the product."),
    mistake("W_x_transposed_or_exchanged", replace("token @ W_x", "W_x @ token"),
        "The shapes of a product do not match. A token is a row on the left of W_x, which is (d, h), and a state is "
        "a row on the left of W_h, which is (h, h). Do not transpose the matrices."),
    mistake("state_before_not_used", replace("state @ W_h", "0 * state @ W_h"),
        "Every state is computed only from its own token. A recurrent network also uses the state before: after each "
        "step, replace the old state by the new one."),
    mistake("last_state_only", replace("torch.stack(states)", "state"),
        "Only the last state is returned. A plain decoder needs no more, but attention needs the states after all "
        "tokens: (T, h)."),
    mistake("last_state_in_every_row", replace("state = torch.tanh", "state[:] = torch.tanh"),
        "Every row is the last state: the same tensor was changed at each step and stored again and again. Make a "
        "new state at each step, or store a copy."),
    mistake("last_state_returned_too", replace("torch.stack(states)", "torch.stack(states), state"),
        "Two results are returned, the states and the last state, as PyTorch's own RNN does. Return only the states: "
        "the last one is their last row."),
    mistake("zeros_as_a_row", replace("states = []", "states = [state]"),
        "The zeros before the first token are a row of the result. There should be one row for each token, and the "
        "first is the state after the first token."),
    mistake("states_in_one_long_row", replace("torch.stack", "torch.cat"),
        "The states are in one long row, because `torch.cat` joins vectors in this way. `torch.stack` puts them one "
        "below the other, (T, h)."),
    mistake("states_written_into_one_tensor",
        replace("states = []", "states = torch.zeros_like(inputs @ W_x)").replace("torch.stack(states)", "states")
        .replace("for token in inputs", "for place, token in enumerate(inputs)")
        .replace("states.append(state)", "states[place] = state\n        state = states[place]"),
        "The states are written into one tensor, row by row, and each is computed from the row before. Gradients "
        "need the tensor as it was at each step, but it has changed: collect the states in a list, and stack them."),
    mistake("list_of_states", replace("torch.stack(states)", "states"),
        "The result is a Python list of states. The next step needs one tensor: `torch.stack` makes (T, h) of it."),
    mistake("states_added_up", replace("state = torch.tanh", "state = state + torch.tanh"),
        "Each step's result is added to the state before. Here the new state replaces the old one. The old state is "
        "already in the sum, through W_h."),
    mistake("lonely_state_squeezed", replace("stack(states)", "stack(states).squeeze()"),
        "A text of a single token raises an error, or loses a dimension: `squeeze()` removes every dimension of size "
        "one. The result is (T, h) for any T."),
    mistake("zeros_of_another_dtype", replace("zeros_like(bias)", "zeros(len(bias))"),
        "The zeros at the start are always float32 and do not match float64 arguments. Make them with the dtype of "
        "the arguments."),
    mistake("states_without_gradients", replace("stack(states)", "stack(states).detach()"),
        "Gradients stop at the states, for example because of `.detach()`, `.data` or `torch.no_grad()`, or because "
        "numbers were copied into a new tensor. The matrices learn only through the states."),
    mistake("gradients_stop_between_steps", replace("state @ W_h", "state.detach() @ W_h"),
        "Gradients stop between one step and the next. Then the network cannot learn how an early token influences a "
        "late state. Pass on the state itself, without `.detach()`."),
    mistake("inputs_changed_in_place",
        replace("    return", "    with torch.no_grad():\n        inputs += 1\n    return"),
        "One of the caller's arguments was changed. `+=` and methods with an underscore at the end change the tensor "
        "itself. Write `x = x + …`, which makes a new one."),
]  # fmt: skip


# -- answers -------------------------------------------------------------------------------------------------------


def wrong_answers():
    """Mistakes without a name, and answers with two. Never run here: the audit reads them."""

    import torch.nn as nn

    def _read(tokens, state, step):
        """Return all states, each made by `step` from a token after W_x and the state before."""
        states = []
        for token in tokens:
            state = step(token, state)
            states.append(state)
        return torch.stack(states)

    def relu_for_tanh__and__bias_forgotten(inputs, W_x, W_h, bias):
        return _read(inputs @ W_x, torch.zeros_like(bias), lambda token, state: torch.relu(token + state @ W_h))

    def token_added_outside_the_tanh(inputs, W_x, W_h, bias):
        return _read(inputs @ W_x, torch.zeros_like(bias), lambda token, state: torch.tanh(state @ W_h + bias) + token)

    def half_of_the_old_state_kept(inputs, W_x, W_h, bias):
        step = lambda token, state: 0.5 * state + 0.5 * torch.tanh(token + state @ W_h + bias)  # noqa: E731
        return _read(inputs @ W_x, torch.zeros_like(bias), step)

    def token_before_and_not_the_state(inputs, W_x, W_h, bias):
        projected = inputs @ W_x
        before = torch.cat([torch.zeros_like(projected[:1]), projected[:-1]])
        return torch.tanh(projected + before @ W_h + bias)

    def starts_from_random_numbers(inputs, W_x, W_h, bias):
        return _read(inputs @ W_x, torch.randn_like(bias), lambda token, state: torch.tanh(token + state @ W_h + bias))

    def weights_of_a_new_network(inputs, W_x, W_h, bias):
        states, _ = nn.RNN(*W_x.shape, dtype=inputs.dtype)(inputs)
        return states

    def a_batch_of_one(inputs, W_x, W_h, bias):
        step = lambda token, state: torch.tanh(token + state @ W_h + bias)  # noqa: E731
        return _read(inputs @ W_x, torch.zeros_like(bias), step)[None]

    def mean_of_the_states_so_far(inputs, W_x, W_h, bias):
        state, states = torch.zeros_like(bias), []
        for token in inputs:
            state = torch.tanh(token @ W_x + state @ W_h + bias)
            states.append(state)
            state = torch.stack(states).mean(0)
        return torch.stack(states)

    def name_misspelt(inputs, W_x, W_h, bias):
        return _read(inputs @ W_x, torch.zeros_like(bias), lambda token, _: torch.tanh(token + sate))  # noqa: F821


def right_answers():
    """Answers in other styles. Never run here: the audit reads them."""

    from positional_encoding import linear_as_matmul

    def building_on(inputs, W_x, W_h, bias):
        states = torch.empty(len(bias), len(inputs), dtype=inputs.dtype).T
        state = torch.zeros_like(bias)
        for t, projected in enumerate(linear_as_matmul(inputs, W_x, bias)):
            states[t] = state = torch.tanh(projected + state @ W_h)
        return states

    def by_hand(inputs, W_x, W_h, bias):
        d, h = W_x.shape
        before = [torch.zeros((), dtype=torch.float64) for _ in range(h)]
        rows = []
        for x in inputs.double():
            after = []
            for j in range(h):
                total = bias[j].double()
                for i in range(d):
                    total = total + x[i] * W_x[i, j]
                for i in range(h):
                    total = total + before[i] * W_h[i, j]
                after.append(torch.tanh(total))
            rows.append(torch.stack(after))
            before = after
        return torch.stack(rows).to(inputs.dtype)

    def einsum(inputs: torch.Tensor, W_x: torch.Tensor, W_h: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
        if len(inputs) == 0:
            return inputs.new_zeros(0, len(bias))
        earlier = einsum(inputs[:-1], W_x, W_h, bias)
        before = earlier[-1] if len(earlier) else torch.zeros_like(bias)
        last = torch.einsum("d,dh->h", inputs[-1], W_x) + torch.einsum("g,gh->h", before, W_h) + bias
        return torch.cat([earlier, last.tanh()[None]], dim=0)

    def query_by_query(inputs, W_x, W_h, bias):
        # One matrix for the token, the state before it and a one that brings the bias.
        matrix = torch.cat([W_x, W_h, bias.unsqueeze(0)])  # (d + h + 1, h)
        states = [torch.zeros_like(bias)]
        for token in inputs:
            states.append(torch.tanh(torch.cat([token, states[-1], torch.ones_like(bias[:1])]) @ matrix))
        return torch.stack(states)[1:]

    def ready_made(inputs, W_x, W_h, bias):
        state, nothing, states = bias.new_zeros(1, len(bias)), torch.zeros_like(bias), []
        for token in inputs.split(1):
            state = torch.rnn_tanh_cell(token, state, W_x.T, W_h.T, bias, nothing)
            states += [state]
        return torch.cat(states)
