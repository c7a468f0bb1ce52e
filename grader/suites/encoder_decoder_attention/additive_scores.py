"""additive_scores: hidden tests, known mistakes and right answers."""

from __future__ import annotations

from grader.suites.encoder_decoder_attention.shared import (
    ADDED,
    EXCHANGED,
    HIDDEN,
    NO_TANH,
    STATES,
    T,
    additive_scores_of,
    expect_order,
    ordered_states,
    states,
)
from grader.testing.checks import expect_close
from grader.testing.draws import Fresh
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

# The number of states and both widths. Last, all are equal: if a state is used instead of a sum, there is no error.
SIZES = ((T, HIDDEN, ADDED), (T, T, T))


@rule("score t is the dot product of v with tanh(decoder_state @ W_decoder + encoder_states[t] @ W_encoder)")
def test_scores_are_additive(student: Student, fresh: Fresh) -> None:
    """Each score should be the dot product of v with the tanh of the sum of both projected states: shape (T,)."""
    for sizes in SIZES:
        arguments = states(fresh, *sizes)
        expect_close(student.additive_scores(*arguments), additive_scores_of(student)(*arguments), "The scores")


SCORE = asking("additive_scores", ordered_states, additive_scores_of, expect_order)


test_contract = contract(
    SCORE,
    right_results(
        "any_number_of_states_is_scored", "any number of encoder states, including one",
        "Any number of encoder states should be scored, (T,), also one, and the best match gets the largest score.",
        *({"count": count} for count in (1, 3, 7))),
    right_results(
        "additive_scores_of_either_dtype", "float32 and float64 arguments both work",
        "Float32 and float64 arguments should both give scores in the right order.",
        *({**dtype, "added": HIDDEN} for dtype in IN_BOTH_DTYPES)),
    right_gradients(
        "gradients_of_additive_scores", "gradients flow to all five arguments",
        "Gradients of the scores should flow to the states of both sides, to both matrices and to v.",
        ask=asking("additive_scores", states, additive_scores_of)),
    kept_arguments(
        "additive_scores_leave_the_arguments_alone", "the arguments are not changed",
        "The scores should have the right order, and the call should not change its arguments.",
        "An argument was changed."),
    example=Example(STATES),
)  # fmt: skip


# -- misconceptions ------------------------------------------------------------------------------------------------


# Parts of the solution that several rows replace.
SCORES = "torch.tanh(query + keys) @ v"

MISCONCEPTIONS = [
    mistake("additive_without_tanh", replace("torch.tanh", ""), NO_TANH),
    mistake("tanh_of_the_scores", replace(SCORES, "torch.tanh((query + keys) @ v)"),
        "The tanh is taken of the final scores. Take it of the sums, before the product with v. There it combines "
        "the two sides."),
    mistake("tanh_of_each_side", replace("torch.tanh(query + keys)", "(torch.tanh(query) + torch.tanh(keys))"),
        "Each side has its own tanh, and they are added afterwards. Then the decoder's part is the same number for "
        "all encoder states. Add first, and take one tanh of the sum."),
    mistake("side_by_side_or_turned_round", replace("query + keys", "torch.cat([query.expand_as(keys), keys], dim=-1)"),
        "Every call ends in an error, because shapes do not match. Add the two projections, (a,) to each row of (T, "
        "a). Then multiply each row with v from the right: (T, a) @ (a,)."),
    mistake("matrices_exchanged",
        replace("state @ W_decoder", "state @ W_encoder").replace("states @ W_encoder", "states @ W_decoder"),
        EXCHANGED),
    mistake("matrices_transposed", replace("@ W_decoder", "@ W_decoder.T").replace("@ W_encoder", "@ W_encoder.T"),
        "The matrices are transposed, or not used, so shapes do not match. They are (h, a), and a state is a row on "
        "their left: `state @ W`. If h = a there is no error, but the result is wrong."),
    mistake("decoder_state_ignored", replace("query + keys", "keys"),
        "The decoder's state is not used, so every written word would get the same context. The scores should "
        "depend on the decoder: add decoder_state @ W_decoder."),
    mistake("dot_products_of_the_projections", replace(SCORES, "keys @ query"),
        "The two projections are multiplied in a dot product, like queries and keys in the Transformer. In additive "
        "attention add them, and multiply the tanh of the sum with v."),
    mistake("scores_as_a_column", replace("@ v", "@ v[:, None]"),
        "The scores are a column, (T, 1). They should be a vector, (T,): multiply with v itself, or squeeze only the "
        "last dimension."),
    mistake("softmax_already_applied", replace(SCORES, f"torch.softmax({SCORES}, dim=0)"),
        "These are already weights: softmax was applied. That is the next exercise. Here return the plain scores."),
    mistake("scaled_by_the_root_of_a", replace("@ v", "@ v / len(v) ** 0.5"),
        "The scores are divided by the root of a width. That is for dot products, which grow with the width. Here "
        "the tanh keeps every term between -1 and 1, and v can learn any size."),
    mistake("lonely_score_squeezed", replace(SCORES, f"({SCORES}).squeeze()"),
        "`squeeze()` removes every dimension of size one, so the score of a single encoder state is not a vector any "
        "more."),
    mistake("states_made_float32",
        replace("decoder_state @", "decoder_state.float() @").replace("encoder_states @", "encoder_states.float() @"),
        "The states are made float32, so they do not match float64 matrices. Keep the dtype of the arguments."),
    mistake("scores_without_gradients", replace(SCORES, f"({SCORES}).detach()"),
        "Gradients stop at the scores, for example because of `.detach()`, `.data` or `torch.no_grad()`. Both "
        "matrices and v learn only through the scores."),
    mistake("encoder_states_changed_in_place",
        replace("    return", "    with torch.no_grad():\n        encoder_states += decoder_state\n    return"),
        "The caller's encoder states were changed. They are needed again for the context. `+=` and methods with an "
        "underscore at the end change the tensor itself, so write `x = x + …`."),
]  # fmt: skip


# -- answers -------------------------------------------------------------------------------------------------------


def wrong_answers():
    """Mistakes without a name, and answers with two. Never run here: the audit reads them."""

    import torch

    def additive_without_tanh__and__matrices_exchanged(decoder_state, encoder_states, W_decoder, W_encoder, v):
        return (decoder_state @ W_encoder + encoder_states @ W_decoder) @ v

    def tanh_of_the_decoders_side_only(decoder_state, encoder_states, W_decoder, W_encoder, v):
        return (torch.tanh(decoder_state @ W_decoder) + encoder_states @ W_encoder) @ v

    def sigmoid_for_tanh(decoder_state, encoder_states, W_decoder, W_encoder, v):
        return torch.sigmoid(decoder_state @ W_decoder + encoder_states @ W_encoder) @ v

    def one_matrix_for_both(decoder_state, encoder_states, W_decoder, W_encoder, v):
        return torch.tanh(decoder_state @ W_decoder + encoder_states @ W_decoder) @ v

    def mean_and_not_the_sum(decoder_state, encoder_states, W_decoder, W_encoder, v):
        return (torch.tanh(decoder_state @ W_decoder + encoder_states @ W_encoder) * v).mean(dim=-1)

    def states_added_first(decoder_state, encoder_states, W_decoder, W_encoder, v):
        return torch.tanh((decoder_state + encoder_states) @ W_encoder) @ v

    def largest_feature(decoder_state, encoder_states, W_decoder, W_encoder, v):
        return (torch.tanh(decoder_state @ W_decoder + encoder_states @ W_encoder) * v).amax(dim=-1)

    def exponentials(decoder_state, encoder_states, W_decoder, W_encoder, v):
        return torch.exp(torch.tanh(decoder_state @ W_decoder + encoder_states @ W_encoder) @ v)

    def last_encoder_state_asked(decoder_state, encoder_states, W_decoder, W_encoder, v):
        return torch.tanh(encoder_states[-1] @ W_decoder + encoder_states @ W_encoder) @ v

    def python_numbers(decoder_state, encoder_states, W_decoder, W_encoder, v):
        query = decoder_state @ W_decoder
        return [float(torch.tanh(query + state @ W_encoder) @ v) for state in encoder_states]


def right_answers():
    """Answers in other styles. Never run here: the audit reads them."""

    import torch
    import torch.nn.functional as F
    from positional_encoding import linear_as_matmul
    from simple_attention import attention_scores

    def building_on(decoder_state, encoder_states, W_decoder, W_encoder, v):
        return attention_scores(v, torch.tanh(linear_as_matmul(encoder_states, W_encoder, decoder_state @ W_decoder)))

    def by_hand(decoder_state, encoder_states, W_decoder, W_encoder, v):
        scores = []
        for t in range(len(encoder_states)):
            score = 0
            for j in range(len(v)):
                sides = torch.dot(decoder_state, W_decoder[:, j]) + torch.dot(encoder_states[t], W_encoder[:, j])
                score = score + v[j] * torch.tanh(sides)
            scores.append(score)
        return torch.stack(scores)

    def einsum(decoder_state, encoder_states, W_decoder, W_encoder, v):
        queries = torch.einsum("h,ha->a", decoder_state, W_decoder)
        keys = torch.einsum("th,ha->ta", encoder_states, W_encoder)
        print("keys", tuple(keys.shape))
        return torch.einsum("a,ta->t", v, torch.tanh(queries[None] + keys))

    def query_by_query(decoder_state, encoder_states, W_decoder, W_encoder, v):
        # Both states side by side, against both matrices one above the other.
        pairs = torch.cat([decoder_state.expand_as(encoder_states), encoder_states], dim=1)  # (T, 2 · h)
        return torch.sum(torch.tanh(pairs @ torch.cat([W_decoder, W_encoder])) * v, dim=1)

    def ready_made(decoder_state, encoder_states, W_decoder, W_encoder, v):
        sums = F.linear(encoder_states, W_encoder.T, bias=F.linear(decoder_state, W_decoder.T))
        return F.linear(sums.tanh(), v.unsqueeze(0)).squeeze(-1)
