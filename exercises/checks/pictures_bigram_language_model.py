"""The pictures of unit 6, the bigram model and the head of attention, which `grader show` draws, and questions.

`student` is your file, as in the tests.
"""

from __future__ import annotations

from itertools import pairwise

import torch
from checking import numbers, worked_example

from grader.testing.pictures import ask_choice, ask_number, ask_shape, draw, draw_shapes, picture, question, watch
from grader.testing.student import RemoteObject, Student

TEXT = "the cat sat"
LETTERS = [" ", "a", "c", "e", "h", "s", "t"]
WORDS = ["Your", "journey", "starts", "with", "one", "step"]
LAYERS = ("key", "query", "value")
PULSE = torch.tensor([0.0, 0, 0, 4, 4, 4, 0, 0, 0, 0, 0, 0]).reshape(1, 12, 1)
# What comes after each letter of the text "the cat sat", as logits: 3 for a letter that does, 0 for the others.
FOLLOWERS = torch.zeros(7, 7)
for here, there in pairwise(TEXT):
    FOLLOWERS[LETTERS.index(here), LETTERS.index(there)] = 3.0


def head_of(student: Student, value: torch.Tensor) -> RemoteObject:
    """Return your Head with this weight of value (head_size, n_embd) and fixed ones for key and query."""
    head = student.Head(value.shape[1], value.shape[0], 8, 0.0)
    key, query = (numbers(*value.shape, seed=seed) for seed in (1, 2))
    head.set({"key.weight": key, "query.weight": query, "value.weight": value})
    return head


def model_of(student: Student) -> RemoteObject:
    """Return your model, whose table knows which letter follows which in the text."""
    model = student.BigramLanguageModel(7)
    model.set({"token_embedding_table.weight": FOLLOWERS})
    return model


@picture("encode")
def ids(student: Student) -> None:
    """The text "the cat sat" as ids. Equal letters have equal ids: "t" is 6 every time, and the space is 0."""
    draw("the ids", lambda: student.encode(TEXT, LETTERS), columns=[f"{letter!r}" for letter in TEXT])


@picture("sample_batch")
def targets_are_one_later(student: Student) -> None:
    """A batch of four pieces from the numbers 0 to 29. Each target is the next token: here, one more than the token of
    idx at the same place. Where the pieces start is random."""
    idx, targets = student.sample_batch(torch.arange(30), 6, 4)
    draw("idx", lambda: idx, expected=None)
    draw("targets", lambda: targets, expected=idx + 1)


@picture("flatten_for_cross_entropy")
def shapes_for_the_loss(student: Student) -> None:
    """The shapes before and after. All 4 · 8 = 32 predictions become one list, each with its target."""
    logits, targets = numbers(4, 8, 5), torch.arange(32).reshape(4, 8) % 5
    draw_shapes("the batch", {
        "logits (B, T, V)": lambda: logits,
        "targets (B, T)": lambda: targets,
        "flat logits (B · T, V)": lambda: student.flatten_for_cross_entropy(logits, targets)[0],
        "flat targets (B · T,)": lambda: student.flatten_for_cross_entropy(logits, targets)[1],
    })  # fmt: skip


@picture("cross_entropy")
def loss_of_a_guess(student: Student) -> None:
    """The loss of one prediction among four tokens, while the logit of the right token goes from -4 to 4 and the others
    are 0. With all logits 0, each token has the probability 1/4 and the loss is ln 4 = 1.39. A sure and right guess
    costs almost nothing, a sure and wrong one costs much."""
    rights = range(-4, 5)
    losses = [torch.tensor([[float(right), 0, 0, 0]]) for right in rights]
    draw("the loss", lambda: [float(student.cross_entropy(logits, torch.tensor([0]))) for logits in losses], "bars",
         rows=[f"logit {right}" for right in rights])  # fmt: skip


@picture("running_mean_loop")
def mean_by_a_loop(student: Student) -> None:
    """A signal that is 4 at three tokens and 0 elsewhere, and its running mean. The mean rises while the signal is on,
    and then falls slowly: every later token still remembers it."""
    both = torch.cat([PULSE, student.running_mean_loop(PULSE)], dim=-1)
    draw("signal and mean", lambda: both, "lines", columns=["signal", "mean"])


@picture("running_mean_matmul")
def mean_by_a_product(student: Student) -> None:
    """The running mean of the six rows of the identity. Row t of the result is row t of the matrix of weights:
    1/(t + 1) for each token so far, and 0 for the future."""
    draw("the weights", lambda: student.running_mean_matmul(torch.eye(6)[None]), "weights")


@picture("running_mean_softmax")
def mean_by_softmax(student: Student) -> None:
    """The same weights as those of `running_mean_matmul`, now from a softmax. Scores of zero share the weight equally,
    and minus infinity gets none: this is attention without any preference."""
    draw("the weights", lambda: student.running_mean_softmax(torch.eye(6)[None]), "weights")


@picture("Head")
def weights_of_the_head(student: Student) -> None:
    """The attention weights of your head. Here the inputs and the value layer are the identity, so the output is the
    weights themselves. Unlike in the running mean, the tokens decide: the weights of a row differ."""
    head = head_of(student, torch.eye(6))
    draw("the weights", lambda: head(torch.eye(6)[None]), "weights", rows=WORDS, columns=WORDS)


@picture("Head")
def inside_the_head(student: Student) -> None:
    """What the three layers of your head return for the six tokens of unit 1, seen by forward hooks, and the output."""
    head = head_of(student, numbers(2, 3, seed=3))
    seen = watch(student, head, *LAYERS)
    output = seen.call(worked_example("inputs")[None])
    for name in LAYERS:
        draw(f"what {name} returns", lambda name=name: seen.returned(name), rows=WORDS)
    draw("the output", output, rows=WORDS)


@picture("BigramLanguageModel")
def next_letters(student: Student) -> None:
    """The probabilities of the next letter (column) after each letter (row), from your logits for the text "the cat
    sat". After "c" comes "a" with 0.77, and after "a" comes "t". After "t" it must choose: it sees one letter."""
    model = model_of(student)
    draw("the probabilities", lambda: model(torch.arange(7)[None])[0].softmax(-1), "weights",
         rows=[repr(one) for one in LETTERS], columns=[repr(one) for one in LETTERS])  # fmt: skip


@question("cross_entropy")
def loss_of_no_idea(student: Student) -> None:
    """The loss of equal logits."""
    loss = float(student.cross_entropy(torch.zeros(1, 65), torch.tensor([3])))
    text = "A model gives all 65 letters the logit 0. What is your `cross_entropy` of one prediction? (one decimal)"
    ask_number(text, loss, f"Each letter has the probability 1/65, and -ln(1/65) = ln 65 = {loss:.4f}.", decimals=1)


@question("flatten_for_cross_entropy")
def shape_of_flat_logits(student: Student) -> None:
    """The shape of flat logits."""
    flat, _ = student.flatten_for_cross_entropy(numbers(2, 6, 9), torch.zeros(2, 6, dtype=torch.long))
    text = "Logits have shape (2, 6, 9) and targets have shape (2, 6). What shape do your flat logits have?"
    ask_shape(text, flat.shape, "2 · 6 = 12 predictions, each with 9 logits: (12, 9).")


@question("Head")
def first_output(student: Student) -> None:
    """The first output of a head."""
    head = head_of(student, numbers(2, 3, seed=3))
    seen = watch(student, head, "value")
    output = seen.call(worked_example("inputs")[None])
    own, first = seen.returned("value"), "its own value"
    choices = [first, "the mean of all values", "zeros"]
    answer = first if torch.allclose(output()[0, 0], own[0, 0], atol=1e-4) else choices[1]
    text = "What is the output of your `Head` for the first token?"
    ask_choice(text, choices, answer, "It sees only itself, so its weight for itself is 1, whatever the scores are.")


@question("BigramLanguageModel")
def shape_of_a_longer_text(student: Student) -> None:
    """The shape of generated text."""
    longer = model_of(student).method("generate")(torch.tensor([[6, 4, 3], [2, 1, 6]]), 10)
    text = "The prompt `idx` has shape (2, 3). What shape does your `generate(idx, 10)` return?"
    ask_shape(text, longer.shape, "Each of the two texts keeps its 3 tokens and gets 10 more: (2, 13).")
