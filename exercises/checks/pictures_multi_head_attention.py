"""The pictures of unit 4, multi-head attention, which `grader show` draws, and questions on your own code.

`student` is your file, as in the tests. The pictures of the steps are of "the cat sleeps", with six numbers for each
token and two heads; those of the modules are of "Your journey starts with one step".
"""

from __future__ import annotations

import torch
from checking import numbers, worked_example

from grader.testing.pictures import ask_number, ask_shape, draw, draw_shapes, picture, question, watch
from grader.testing.student import RemoteObject, Student

CAT = ["the", "cat", "sleeps"]
WORDS = ["Your", "journey", "starts", "with", "one", "step"]
HEADS = ["head 0", "head 1"]
QUERIES = worked_example("ten_steps.queries")  # (1, 3, 6)
INPUTS = worked_example("inputs")[None]  # (1, 6, 3)
PROJECTIONS = ("W_query", "W_key", "W_value")


def attention(student: Student) -> RemoteObject:
    """Return your MultiHeadAttention of two heads with fixed weights, from three features to four."""
    module = student.MultiHeadAttention(3, 4, 6, 0.0, 2)
    weights = {f"{name}.weight": numbers(4, 3, seed=seed) for seed, name in enumerate(PROJECTIONS)}
    module.set(weights | {"out_proj.weight": numbers(4, 4, seed=3) / 2, "out_proj.bias": torch.zeros(4)})
    return module


@picture("unroll_heads")
def unrolled(student: Student) -> None:
    """The six features of each token become two rows of three: the first three belong to head 0, the others to head 1.
    No number changes; only the shape does."""
    draw("the queries", lambda: QUERIES, rows=CAT, expected=None)
    draw("unrolled, for each token", lambda: student.unroll_heads(QUERIES, 2), rows=HEADS, groups=CAT)


@picture("group_by_head")
def grouped(student: Student) -> None:
    """The same numbers with the heads in front. Each head now has a small table of its own, with a row for each
    token, and can attend without the other head."""
    unrolled_queries = worked_example("ten_steps.unrolled_queries")
    draw("grouped, for each head", lambda: student.group_by_head(unrolled_queries), rows=CAT, groups=HEADS)


@picture("split_heads")
def shapes_of_split_and_merge(student: Student) -> None:
    """The shape at each step, for two texts of three tokens with eight features and four heads. Splitting and merging
    change only the shape: 2 · 3 · 8 = 48 numbers at each step."""
    x = numbers(2, 3, 8)
    draw_shapes("split and merge", {
        "x (B, T, d_out)": lambda: x,
        "unrolled (B, T, H, head_dim)": lambda: student.unroll_heads(x, 4),
        "grouped (B, H, T, head_dim)": lambda: student.group_by_head(student.unroll_heads(x, 4)),
        "split (B, H, T, head_dim)": lambda: student.split_heads(x, 4),
        "merged (B, T, d_out)": lambda: student.merge_heads(student.split_heads(x, 4)),
    })  # fmt: skip


@picture("split_heads")
def tokens_stay_whole(student: Student) -> None:
    """The six features of each word, split into two heads. In each head the three rows are still "the", "cat" and
    "sleeps". A single reshape gives the same shape, but its rows are parts of other words."""
    draw("the queries", lambda: QUERIES, rows=CAT, expected=None)
    draw("split", lambda: student.split_heads(QUERIES, 2), rows=CAT, groups=HEADS)


@picture("head_scores")
def scores_of_heads(student: Student) -> None:
    """Each head scores every query (row) with every key (column), with its own three features. In head 0 "the"
    fits "cat" best, with 13; in head 1 every score is negative. The two heads look for different things."""
    queries, keys = worked_example("ten_steps.grouped_queries"), worked_example("ten_steps.grouped_keys")
    draw("the scores", lambda: student.head_scores(queries, keys), rows=CAT, columns=CAT, groups=HEADS)


@picture("head_weights")
def weights_of_heads(student: Student) -> None:
    """The attention weights of both heads, side by side. In head 0 "sleeps" looks most at "cat"; in head 1 it does not.
    The future is hidden in both."""
    scores = worked_example("ten_steps.scores")
    draw("the weights", lambda: student.head_weights(scores, 3), "weights", rows=CAT, columns=CAT, groups=HEADS)


@picture("merge_heads")
def merged(student: Student) -> None:
    """The contexts of head 0 and head 1, next to each other again: the first three columns come from head 0 alone, the
    last three from head 1 alone."""
    contexts = worked_example("ten_steps.contexts")
    draw("the contexts of each head", lambda: contexts, rows=CAT, groups=HEADS, expected=None)
    draw("merged", lambda: student.merge_heads(contexts), rows=CAT)


@picture("MultiHeadAttentionWrapper")
def outputs_of_the_wrapper(student: Student) -> None:
    """What each head of the list returns, seen by forward hooks, and the output of the wrapper: the columns of head 0
    first, then those of head 1."""
    wrapper = student.MultiHeadAttentionWrapper(3, 2, 6, 0.0, 2)
    places = [(head, name) for head in (0, 1) for name in PROJECTIONS]
    wrapper.set({f"heads.{h}.{name}.weight": numbers(2, 3, seed=seed) for seed, (h, name) in enumerate(places)})
    seen = watch(student, wrapper, "heads.0", "heads.1")
    output = seen.call(INPUTS)
    heads = "what each head returns"
    draw(heads, lambda: torch.cat([seen.returned("heads.0"), seen.returned("heads.1")]), rows=WORDS, groups=HEADS)
    draw("the output", output, rows=WORDS)


@picture("MultiHeadAttention")
def inside_multi_head_attention(student: Student) -> None:
    """What your out_proj receives and returns, seen by forward hooks. It receives the merged heads: two columns from
    head 0, two from head 1. It returns a mix of all four, which no head alone could compute."""
    module = attention(student)
    seen = watch(student, module, "out_proj")
    output = seen.call(INPUTS)
    draw("what out_proj receives", lambda: seen.received("out_proj"), rows=WORDS)
    draw("the output", output, rows=WORDS)


@question("split_heads")
def shape_of_split(student: Student) -> None:
    """The shape of split heads."""
    split = student.split_heads(numbers(2, 5, 12), 3)
    text = "Your `split_heads` gets x of shape (2, 5, 12) and 3 heads. What shape does it return?"
    ask_shape(text, split.shape, "(B, H, T, head_dim): each of 3 heads has 5 tokens with 12 / 3 = 4 features.")


@question("head_scores")
def shape_of_scores(student: Student) -> None:
    """The shape of scores."""
    scores = student.head_scores(numbers(2, 4, 7, 3), numbers(2, 4, 7, 3, seed=1))
    text = "Queries and keys have shape (2, 4, 7, 3): B, H, T, head_dim. What shape do your scores have?"
    ask_shape(
        text, scores.shape, "For each text and each head a table of 7 queries and 7 keys. head_dim is summed over."
    )


@question("merge_heads")
def shape_of_merged(student: Student) -> None:
    """The shape of merged heads."""
    merged_heads = student.merge_heads(numbers(2, 4, 7, 3))
    text = "Your `merge_heads` gets contexts of shape (2, 4, 7, 3). What shape does it return?"
    ask_shape(text, merged_heads.shape, "(B, T, H · head_dim): 4 heads of 3 features make 12 for each of 7 tokens.")


@question("MultiHeadAttentionWrapper")
def width_of_the_wrapper(student: Student) -> None:
    """The width of a wrapper's output."""
    output = student.MultiHeadAttentionWrapper(3, 2, 6, 0.0, 4)(INPUTS)
    text = (
        "Your `MultiHeadAttentionWrapper(3, 2, 6, 0.0, 4)` gets inputs of shape (1, 6, 3). What shape does it return?"
    )
    ask_shape(text, output.shape, "Four heads give two numbers each, and the outputs are concatenated: 4 · 2 = 8.")


@question("MultiHeadAttention")
def parameters_of_heads(student: Student) -> None:
    """Parameters and the number of heads."""
    one, four = (
        sum(value.numel() for value in student.MultiHeadAttention(8, 8, 6, 0.0, heads).parameters().values())
        for heads in (1, 4)
    )
    text = f"Your `MultiHeadAttention` from 8 to 8 features with 1 head has {one} parameters. How many with 4 heads?"
    reason = "The same number: heads share out the features of the same four layers, 4 · 64 weights and 8 biases."
    ask_number(text, four, reason)
