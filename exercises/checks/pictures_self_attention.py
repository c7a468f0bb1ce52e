"""The pictures of unit 2, self-attention with trainable weights, which `grader show` draws, and questions.

`student` is your file, as in the tests. Each picture draws what your code computes on the worked example: the six
tokens of "Your journey starts with one step", projected from three numbers to two.
"""

from __future__ import annotations

import torch
from checking import numbers, worked_example

from grader.testing.pictures import ask_choice, ask_number, ask_shape, draw, picture, question, watch
from grader.testing.student import RemoteObject, Student

WORDS = ["Your", "journey", "starts", "with", "one", "step"]
NAMES = ("W_query", "W_key", "W_value")
INPUTS = worked_example("inputs")  # (6, 3)
# W_query, W_key and W_value of the worked example, each (3, 2): what torch.rand draws from seed 123.
GENERATOR = torch.Generator().manual_seed(123)
MATRICES = [torch.rand(3, 2, generator=GENERATOR) for _ in NAMES]
PROJECTED = [INPUTS @ matrix for matrix in MATRICES]


def layers_of(student: Student) -> RemoteObject:
    """Return your second version with the matrices of the worked example. A layer keeps them transposed."""
    module = student.SelfAttention_v2(3, 2)
    module.set({f"{name}.weight": matrix.T for name, matrix in zip(NAMES, MATRICES, strict=True)})
    return module


@picture("project_qkv")
def projections(student: Student) -> None:
    """Each token is multiplied by three matrices. The same token becomes a query (what it looks for), a key (what it
    offers to be found by) and a value (what it gives), with two numbers each."""
    for place, name in enumerate(("queries", "keys", "values")):
        draw(name, lambda place=place: student.project_qkv(INPUTS, *MATRICES)[place], rows=WORDS)


@picture("scaled_dot_product_attention")
def trained_attention(student: Student) -> None:
    """Each row is a query, each column a key, and each row sums to one. The weights are near 1/6 = 0.17: with such
    small matrices, no token looks at one token alone."""
    attend = student.scaled_dot_product_attention
    draw("the weights", lambda: attend(*PROJECTED)[1], "weights", rows=WORDS, columns=WORDS)
    draw("the contexts", lambda: attend(*PROJECTED)[0], rows=WORDS)


@picture("scaled_dot_product_attention")
def sharper_and_flatter(student: Student) -> None:
    """The weights of "journey" for queries that are 1, 5 and 25 times as long. Large scores give nearly all weight to
    one token, and then nothing can be learned from the others. This is why scores are divided by the root of d_k."""
    queries, keys, values = PROJECTED
    longer = torch.stack([queries[1], 5 * queries[1], 25 * queries[1]])
    draw("the weights of journey", lambda: student.scaled_dot_product_attention(longer, keys, values)[1], "weights",
         rows=["1 time", "5 times", "25 times"], columns=WORDS)  # fmt: skip


@picture("SelfAttention_v1")
def contexts_of_version_one(student: Student) -> None:
    """The contexts of the worked example, from your module with the matrices of the example. Each is a mix of the
    values, so all six lie close together: attention makes tokens more alike."""
    module = student.SelfAttention_v1(3, 2)
    module.set(dict(zip(NAMES, MATRICES, strict=True)))
    draw("the output", lambda: module(INPUTS), rows=WORDS)


@picture("SelfAttention_v2")
def inside_version_two(student: Student) -> None:
    """What the three layers of your module return, seen by forward hooks, and what your module makes of it. The output
    has the shape of the values, and each row is a mix of their rows."""
    module = layers_of(student)
    seen = watch(student, module, *NAMES)
    output = seen.call(INPUTS)
    for name in NAMES:
        draw(f"what {name} returns", lambda name=name: seen.returned(name), rows=WORDS)
    draw("the output", output, rows=WORDS)


@picture("transfer_weights")
def two_versions(student: Student) -> None:
    """The outputs of your first version, after it got the weights of the second. They have to be those of the second:
    if the matrices are not transposed, they are others."""
    second, first = layers_of(student), student.SelfAttention_v1(3, 2)
    student.transfer_weights(second, first)
    draw("the output of SelfAttention_v1", lambda: first(INPUTS), rows=WORDS)


@picture("dot_product_variance")
def variances(student: Student) -> None:
    """The variance of dot products of random vectors with 4, 16 and 64 numbers. Without scaling it is near the number
    of numbers; divided by the root of d_k, it is near 1 for all."""

    def measured() -> torch.Tensor:
        return torch.tensor([student.dot_product_variance(d_k, 2000) for d_k in (4, 16, 64)])

    draw(
        "the variances", measured, rows=["d_k = 4", "d_k = 16", "d_k = 64"], columns=["plain", "scaled"], expected=None
    )


@question("project_qkv")
def shape_of_keys(student: Student) -> None:
    """The shape of the keys."""
    keys = student.project_qkv(numbers(7, 4), *[numbers(4, 9, seed=seed) for seed in (1, 2, 3)])[1]
    text = "The inputs have shape (7, 4) and each matrix has shape (4, 9). What shape do your keys have?"
    ask_shape(text, keys.shape, "(7, 4) @ (4, 9): the inner 4 disappears. There is one row of nine for each token.")


@question("scaled_dot_product_attention")
def shape_of_weights(student: Student) -> None:
    """The shape of the weights."""
    weights = student.scaled_dot_product_attention(numbers(2, 8), numbers(5, 8), numbers(5, 3))[1]
    text = "There are 2 queries and 5 keys of width 8, and values of width 3. What shape do your `weights` have?"
    ask_shape(text, weights.shape, "One row for each query, one column for each key. The widths are not in it.")


@question("scaled_dot_product_attention")
def without_scaling(student: Student) -> None:
    """What happens to the largest weight without the division by the root of d_k."""
    queries, keys, values = PROJECTED
    scaled, plain = (
        student.scaled_dot_product_attention(queries * factor, keys, values)[1][1].max().item()
        for factor in (1.0, 2.0**0.5)
    )
    text = f'The largest weight of "journey" is {scaled:.3f}. What would it be if you did not divide the scores by √2?'
    choices = ["larger", "the same", "smaller"]
    answer = choices[0] if plain > scaled else choices[2] if plain < scaled else choices[1]
    reason = f"It would be {plain:.3f}. Larger scores give more weight to the largest of them."
    ask_choice(text, choices, answer, reason)


@question("SelfAttention_v2")
def parameters_of_version_two(student: Student) -> None:
    """The number of parameters."""
    count = sum(value.numel() for value in student.SelfAttention_v2(10, 4).parameters().values())
    text = "How many parameters does your `SelfAttention_v2(10, 4)` have?"
    ask_number(text, count, "Three layers without bias, each with a weight of 4 · 10 = 40 numbers: 120.")
