"""The pictures of unit 1, attention without weights, which `grader show` draws, and questions on your own code.

`student` is your file, as in the tests. Each picture draws what your code computes on the worked example: the six
tokens of "Your journey starts with one step", with three numbers each.
"""

from __future__ import annotations

import math

import torch
from checking import numbers, worked_example

from grader.testing.pictures import ask_choice, ask_number, ask_shape, draw, picture, question
from grader.testing.student import Student

WORDS = ["Your", "journey", "starts", "with", "one", "step"]
FEATURES = ["x0", "x1", "x2"]
INPUTS = worked_example("inputs")  # (6, 3)
JOURNEY = INPUTS[1]
SCORES = torch.tensor([2.0, 1.0, -2.9])
NAMES = ["2.0", "1.0", "-2.9"]


@picture("dot_product")
def directions(student: Student) -> None:
    """The dot product of (1, 0) with a vector of length 1 that turns around once. It is 1 at 0 degrees, where both
    point the same way, 0 at 90 degrees, and -1 at 180 degrees, where they point opposite ways."""
    angles = range(0, 361, 30)
    turned = [(math.cos(math.radians(angle)), math.sin(math.radians(angle))) for angle in angles]
    products = "the dot product for each angle"
    draw(products, lambda: [float(student.dot_product([1.0, 0.0], list(one))) for one in turned], "lines",
         rows=[f"{angle}" for angle in angles], columns=["dot product"])  # fmt: skip


@picture("attention_scores")
def scores_of_one_query(student: Student) -> None:
    """The query is "journey". Its score with each token is their dot product: the longest bar is the token that points
    most in the same direction. Here that is "journey" itself, and "starts" is close."""
    draw("the scores of the query", lambda: student.attention_scores(JOURNEY, INPUTS), "bars", rows=WORDS)


@picture("normalize_by_sum")
def weights_by_sum(student: Student) -> None:
    """The scores 2, 1 and -2.9 have the sum 0.1. Divided by it, they become 20, 10 and -29. They sum to one, but no
    token can have a share of -29: this is why softmax is needed."""
    draw("the scores divided by their sum", lambda: student.normalize_by_sum(SCORES), "bars", rows=NAMES)


@picture("softmax_naive")
def softmax_of_three_scores(student: Student) -> None:
    """Softmax of the scores 2, 1 and -2.9. Every weight is positive, and they sum to one. The score 2 is larger than 1
    by one, so its weight is larger by the factor e = 2.72."""
    draw("the weights", lambda: student.softmax_naive(SCORES), "bars", rows=NAMES)


@picture("softmax_stable")
def softmax_of_large_scores(student: Student) -> None:
    """Three rows with the same differences between their scores, near 0, near 1000 and near -1000. All three rows of
    weights are the same, and none is nan: softmax only sees differences."""
    start = torch.tensor([[0.0], [1000.0], [-1000.0]])
    draw("the weights", lambda: student.softmax_stable(start + torch.tensor([2.0, 1.0, 0.0])), "weights",
         rows=["near 0", "near 1000", "near -1000"], columns=["+2", "+1", "+0"])  # fmt: skip


@picture("context_vector")
def a_mix_of_tokens(student: Student) -> None:
    """Three ways to mix the six tokens. If one token has all the weight, the context vector is this token. If all have
    the same weight, it is their mean. The weights of "journey" are between the two."""
    mixes = torch.stack([torch.eye(6)[1], torch.full((6,), 1 / 6), worked_example("simple.weights")[1]])  # (3, 6)
    draw("the context vectors", lambda: torch.stack([student.context_vector(mix, INPUTS) for mix in mixes]),
         rows=["only journey", "all the same", "journey's weights"], columns=FEATURES)  # fmt: skip


@picture("simple_self_attention")
def attention_of_all_tokens(student: Student) -> None:
    """Each row is a token that looks, and each column a token that it looks at. Every row sums to one. "Your" looks
    most at itself, with 0.21; "journey" and "starts" look alike, so their rows are alike too."""
    draw("the weights", lambda: student.simple_self_attention(INPUTS)[1], "weights", rows=WORDS, columns=WORDS)
    draw("the contexts", lambda: student.simple_self_attention(INPUTS)[0], rows=WORDS, columns=FEATURES)


@question("dot_product")
def a_right_angle(student: Student) -> None:
    """The dot product of two vectors at a right angle."""
    answer = student.dot_product([3.0, 1.0], [-2.0, 6.0])
    text = "What does your `dot_product([3, 1], [-2, 6])` give?"
    ask_number(text, float(answer), "3 · (-2) + 1 · 6 = -6 + 6 = 0. The vectors are at a right angle.")


@question("attention_scores")
def shape_of_scores(student: Student) -> None:
    """The shape of the scores."""
    scores = student.attention_scores(numbers(8), numbers(5, 8))
    text = "A query has shape (8,) and the inputs have shape (5, 8). What shape do your scores have?"
    ask_shape(text, scores.shape, "There is one score for each of the five tokens, whatever the width of a token is.")


@question("softmax_naive")
def larger_by_one(student: Student) -> None:
    """How weights depend on a difference."""
    low, high = student.softmax_naive(torch.tensor([4.0, 5.0])).tolist()
    text = "Your `softmax_naive` gets the scores 4 and 5. How many times as large is the second weight? (two decimals)"
    reason = f"The weights are {low:.4f} and {high:.4f}. One more in the score is e = 2.72 times as much weight."
    ask_number(text, high / low, reason, decimals=2)


@question("softmax_stable")
def only_differences(student: Student) -> None:
    """Softmax sees only differences."""
    low, moved = (student.softmax_stable(torch.tensor(scores)) for scores in ([1.0, 0.0], [501.0, 500.0]))
    same = "the same weights"
    text = "Your `softmax_stable` gives 0.73 and 0.27 for the scores 1 and 0. What does it give for 501 and 500?"
    answer = same if torch.allclose(low, moved, atol=1e-3) else "other weights"
    reason = (
        f"It gives {moved[0]:.2f} and {moved[1]:.2f}: only the difference of the scores counts, and it is 1 both times."
    )
    ask_choice(text, [same, "1 and 0, because 501 is much larger", "other weights"], answer, reason)


@question("context_vector")
def one_token_alone(student: Student) -> None:
    """A context vector of one token."""
    context = student.context_vector(torch.eye(6)[4], INPUTS)
    text = (
        "All the weight is on the fifth token, which is (0.77, 0.25, 0.10). What is the first number of your context "
        "vector? (two decimals)"
    )
    ask_number(
        text, context[0].item(), "The other tokens have weight 0, so the result is the fifth token itself.", decimals=2
    )


@question("simple_self_attention")
def most_attention(student: Student) -> None:
    """Which token another one attends to most."""
    weights = student.simple_self_attention(INPUTS)[1]
    most = WORDS[int(weights[5].argmax())]
    text = 'In your weights for "Your journey starts with one step": which token does "step" look at most?'
    reason = (
        f'"{most}", with {weights[5].max().item():.3f}; "step" itself gets {weights[5, 5].item():.3f}. A long vector '
        "has large dot products with many tokens: nothing says that a token looks most at itself."
    )
    ask_choice(text, WORDS, most, reason)
