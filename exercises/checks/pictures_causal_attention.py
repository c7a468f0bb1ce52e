"""The pictures of unit 3, causal attention, which `grader show` draws, and questions on your own code.

`student` is your file, as in the tests. Each picture draws what your code computes on the worked example: the six
tokens of "Your journey starts with one step".
"""

from __future__ import annotations

import torch
from checking import WORKED_EXAMPLES, numbers, worked_example

from grader.testing.pictures import ask_choice, ask_number, ask_shape, draw, picture, question, watch
from grader.testing.student import RemoteObject, Student

WORDS = ["Your", "journey", "starts", "with", "one", "step"]
LAYERS = ("W_query", "W_key", "W_value")
INPUTS = worked_example("inputs")[None]  # (1, 6, 3)
COMPLETE = worked_example("v2.weights")
ROWS = WORKED_EXAMPLES["examples"]["causal.masked_scores"]["value"]
# The scores of the worked example, (6, 6). It has none for the future: here they are 0.3.
SCORES = torch.tensor([[0.3 if score is None else score for score in row] for row in ROWS])


def attention(student: Student) -> RemoteObject:
    """Return your module with fixed weights, from three features to two."""
    module = student.CausalAttention(3, 2, 6, 0.0)
    module.set({f"{name}.weight": numbers(2, 3, seed=seed) for seed, name in enumerate(LAYERS)})
    return module


@picture("causal_mask")
def mask(student: Student) -> None:
    """Each row is a token that looks, each column a token to look at. A dark cell is hidden: it is the row's future.
    "Your" sees only itself, and "step" sees all six tokens."""
    draw("the mask", lambda: student.causal_mask(6), "mask", rows=WORDS, columns=WORDS)


@picture("mask_then_renormalize")
def renormalized(student: Student) -> None:
    """The complete weights, and what is left if the future is removed. "Your" sees only itself: its weight becomes 1.
    In the last row nothing is hidden, so it stays as it was."""
    draw("the complete weights", lambda: COMPLETE, "weights", rows=WORDS, columns=WORDS, expected=None)
    draw("your weights", lambda: student.mask_then_renormalize(COMPLETE), "weights", rows=WORDS, columns=WORDS)


@picture("mask_then_softmax")
def masked_softmax(student: Student) -> None:
    """The future has the weight 0, and each row sums to one. Both ways to hide the future give the same weights:
    compare with `grader show mask_then_renormalize`."""
    draw("the weights", lambda: student.mask_then_softmax(SCORES, 2), "weights", rows=WORDS, columns=WORDS)


@picture("mask_then_softmax")
def a_loud_future(student: Student) -> None:
    """Here every score of the future is 50, far above the others. It must not change anything: with minus infinity in
    its place, softmax gives it nothing at all."""
    loud = torch.where(SCORES == 0.3, 50.0, SCORES)
    draw("the weights", lambda: student.mask_then_softmax(loud, 2), "weights", rows=WORDS, columns=WORDS)


@picture("attention_dropout")
def dropped(student: Student) -> None:
    """Dropout with p = 0.5 on the causal weights. About half of them become 0, and the others are doubled, so that the
    sum of a row is right on average. Which ones are dropped is random: your picture is your own."""
    for name, before in {
        "a row of ones": torch.ones(1, 8),
        "the causal weights": worked_example("causal.weights"),
    }.items():
        after = student.attention_dropout(before, 0.5)
        labels = WORDS if len(before) > 1 else ()
        doubled = before * 2 * (after.reshape(before.shape) != 0)
        draw(
            f"{name} after dropout", lambda after=after: after, "weights", rows=labels, columns=labels, expected=doubled
        )


@picture("CausalAttention")
def inside_causal_attention(student: Student) -> None:
    """What the three layers of your module return, seen by forward hooks, and the output. The output of "Your" is its
    own value, because it sees no other token."""
    module = attention(student)
    seen = watch(student, module, *LAYERS)
    output = seen.call(INPUTS)
    for name in LAYERS:
        draw(f"what {name} returns", lambda name=name: seen.returned(name), rows=WORDS)
    draw("the output", output, rows=WORDS)


@picture("CausalAttention")
def who_notices_a_change(student: Student) -> None:
    """How much each output changes if the token "with" changes. The three tokens before it cannot see it, so their
    outputs stay the same: their bars are 0."""
    module = attention(student)
    changed = INPUTS.clone()
    changed[0, 3] += 1
    draw("the change of each output", lambda: (module(changed) - module(INPUTS))[0].abs().sum(-1), "bars", rows=WORDS)


@question("causal_mask")
def hidden_cells(student: Student) -> None:
    """How many cells are hidden."""
    count = int(student.causal_mask(5).sum())
    text = "How many entries of your `causal_mask(5)` are True?"
    ask_number(text, count, "4 + 3 + 2 + 1 + 0 = 10: each token hides the tokens after it, and the last has none.")


@question("mask_then_renormalize")
def sum_without_division(student: Student) -> None:
    """What a row would sum to if it were not divided by its sum."""
    visible = student.mask_then_renormalize(COMPLETE)[1] != 0
    left = COMPLETE[1][visible].sum().item()
    text = (
        'In the complete weights, "journey" gives 0.2041 to "Your" and 0.1659 to itself. What would the visible '
        "weights of this row sum to if you did not divide by their sum? (two decimals)"
    )
    ask_number(text, left, f"0.2041 + 0.1659 = {left:.4f}. The rest went to the future, which is hidden.", decimals=2)


@question("mask_then_softmax")
def first_row(student: Student) -> None:
    """The first row of causal weights."""
    weight = student.mask_then_softmax(numbers(6, 6), 2)[0, 0].item()
    text = "What is `weights[0, 0]` in your result, whatever the scores are?"
    ask_number(text, weight, "The first token sees only itself. One weight that sums to one is 1.", decimals=1)


@question("mask_then_softmax")
def without_the_mask(student: Student) -> None:
    """The sum of a row of the future."""
    weights = student.mask_then_softmax(SCORES, 2)
    text = "What would `weights[0]` sum to if you left out the mask?"
    reason = (
        f"Yours sums to {weights[0].sum().item():.0f}, and it would without the mask too: softmax makes every row sum "
        "to one. The mask only decides which tokens share it."
    )
    ask_number(text, SCORES[0].softmax(-1).sum().item(), reason, decimals=1)


@question("attention_dropout")
def a_kept_weight(student: Student) -> None:
    """The size of a kept weight."""
    kept = student.attention_dropout(torch.full((100,), 0.3), 0.25).max().item()
    text = "A weight is 0.3, and `p` is 0.25. If your dropout keeps the weight, what does it become? (one decimal)"
    ask_number(
        text, kept, "0.3 / (1 - 0.25) = 0.4. Kept weights grow, so that the expected sum stays the same.", decimals=1
    )


@question("CausalAttention")
def shape_of_output(student: Student) -> None:
    """The shape of the output."""
    output = student.CausalAttention(5, 4, 10, 0.0)(numbers(3, 7, 5))
    text = "Your `CausalAttention(5, 4, 10, 0.0)` gets inputs of shape (3, 7, 5). What shape does it return?"
    ask_shape(text, output.shape, "Three texts of seven tokens; only the width changes, from d_in = 5 to d_out = 4.")


@question("CausalAttention")
def what_the_first_token_sees(student: Student) -> None:
    """Which outputs a token changes."""
    module = attention(student)
    changed = INPUTS.clone()
    changed[0, 3] += 1
    count = int(((module(changed) - module(INPUTS))[0].abs().sum(-1) > 1e-6).sum())
    text = "The fourth of six tokens changes. How many of the six outputs of your module change?"
    ask_number(text, count, "The fourth, fifth and sixth token see it: 3. The tokens before it do not.")
