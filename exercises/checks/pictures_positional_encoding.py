"""The pictures of unit 5, positions, which `grader show` draws, and questions on your own code.

`student` is your file, as in the tests.
"""

from __future__ import annotations

import torch
from checking import numbers, worked_example

from grader.testing.pictures import ask_choice, ask_number, ask_shape, draw, picture, question
from grader.testing.student import Student

WORDS = ["Your", "journey", "starts", "with", "one", "step"]
INPUTS = worked_example("inputs")  # (6, 3)
WEIGHT, BIAS = numbers(3, 2, seed=1), torch.tensor([1.0, -1.0])


@picture("linear_as_matmul")
def rows_apart(student: Student) -> None:
    """The layer works on each row separately. With the words in the opposite order, the rows of the result are the same
    in the opposite order: a linear layer does not know where a token is."""
    draw("the result", lambda: student.linear_as_matmul(INPUTS, WEIGHT, BIAS), rows=WORDS)
    draw("with the words in the opposite order", lambda: student.linear_as_matmul(INPUTS.flip(0), WEIGHT, BIAS),
         rows=WORDS[::-1])  # fmt: skip


@picture("sinusoidal_encoding")
def waves(student: Student) -> None:
    """The four columns of the encoding for 26 positions. Columns 0 and 1 are the sine and the cosine of a fast hand:
    they return after 6.3 positions. Columns 2 and 3 belong to a hand that is 100 times slower."""
    columns = ["0: sin(pos)", "1: cos(pos)", "2: sin(pos/100)", "3: cos(pos/100)"]
    draw("the waves", lambda: student.sinusoidal_encoding(26, 4), "lines", columns=columns)


@picture("sinusoidal_encoding")
def rows_of_the_encoding(student: Student) -> None:
    """Each row is the vector of one position, in a model of eight features. Row 0 is 0, 1, 0, 1, …: the sine and the
    cosine of zero. The columns on the right change more slowly."""
    draw("the encoding", lambda: student.sinusoidal_encoding(8, 8), rows=[f"pos {pos}" for pos in range(8)])


@picture("sinusoidal_encoding")
def near_positions(student: Student) -> None:
    """The dot product of position 8 with the positions from 0 to 16. It is largest at 8 itself, and equal at equal
    distances on both sides: only the distance counts."""

    def products() -> torch.Tensor:
        encoding = student.sinusoidal_encoding(17, 16)
        return encoding @ encoding[8]

    draw("dot products with position 8", products, "bars")


@picture("add_positions")
def the_same_word(student: Student) -> None:
    """A text of four equal tokens, each (0.5, 0.5, 0.5, 0.5). Without positions attention could not tell them apart.
    With positions every row is different."""
    draw(
        "with positions", lambda: student.add_positions(torch.full((1, 4, 4), 0.5)), rows=[f"pos {p}" for p in range(4)]
    )


@question("sinusoidal_encoding")
def first_row(student: Student) -> None:
    """The first row of the encoding."""
    row = student.sinusoidal_encoding(4, 10)[0]
    text = "What do the ten numbers of row 0 of your `sinusoidal_encoding(4, 10)` sum to?"
    ask_number(text, row.sum().item(), "Five sines of 0, which are 0, and five cosines of 0, which are 1.", decimals=1)


@question("sinusoidal_encoding")
def length_of_rows(student: Student) -> None:
    """The length of the rows."""
    lengths = (student.sinusoidal_encoding(100, 6) ** 2).sum(-1)
    same = "they all have the same length"
    text = "Which row of your `sinusoidal_encoding(100, 6)` is the longest vector?"
    choices = ["row 0", "row 99", same]
    answer = same if lengths.std().item() < 1e-3 else choices[int(lengths[99] > lengths[0])]
    reason = f"sin² + cos² = 1 for each of three hands, so the squared length of every row is {lengths[0].item():.0f}."
    ask_choice(text, choices, answer, reason)


@question("add_positions")
def shape_with_positions(student: Student) -> None:
    """The shape of the result."""
    result = student.add_positions(numbers(2, 5, 6))
    text = "Your `add_positions` gets x of shape (2, 5, 6). What shape does it return?"
    ask_shape(text, result.shape, "The same: positions are added to the features, not put beside them.")


@question("linear_as_matmul")
def shape_of_a_layer(student: Student) -> None:
    """The shape of the result."""
    result = student.linear_as_matmul(numbers(7, 4), numbers(4, 9), numbers(9))
    text = "x has shape (7, 4) and the weight has shape (4, 9). What shape does your layer return?"
    ask_shape(text, result.shape, "(7, 4) @ (4, 9) is (7, 9), and the bias (9,) is added to each of the 7 rows.")
