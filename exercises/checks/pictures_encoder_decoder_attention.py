"""The pictures of unit 8, attention between an encoder and a decoder, which `grader show` draws, and questions.

`student` is your file, as in the tests. The example is a translation: the encoder has read "the red house", and the
decoder writes "das rote Haus". The numbers are chosen so that each word fits its translation.
"""

from __future__ import annotations

import torch
from checking import numbers

from grader.testing.pictures import ask_choice, ask_number, ask_shape, draw, picture, question, watch
from grader.testing.student import RemoteObject, Student

ENGLISH, GERMAN = ["the", "red", "house"], ["das", "rote", "Haus"]
PADDED = [*ENGLISH, "(pad)"]
ENCODED = torch.tensor([[1.0, 0.0, 0.1], [0.0, 1.0, 0.2], [0.1, 0.0, 1.0]])  # (T, h), a row for each English word
DECODED = torch.tensor([[1.0, 0.1, 0.0], [0.0, 1.0, 0.1], [0.2, 0.0, 1.0]])  # a row for each German word
# Arguments of additive_scores: opposite projections, so that the sum is largest where both states agree.
W_DECODER, W_ENCODER, V = 2 * torch.eye(3), 2 * torch.eye(3), torch.tensor([1.0, 1.0, 1.0])
LAYERS = ("W_query", "W_key", "W_value")


def cross_attention(student: Student, value: torch.Tensor) -> RemoteObject:
    """Return your CrossAttention with large weights for queries and keys, so that the best key gets most weight."""
    module = student.CrossAttention(3, 3, 3)
    module.set({"W_query.weight": 2.5 * torch.eye(3), "W_key.weight": 2.5 * torch.eye(3), "W_value.weight": value})
    return module


@picture("rnn_hidden_states")
def a_fading_trace(student: Student) -> None:
    """A state of two numbers that reads one word and then ten empty inputs. The trace of the word becomes smaller with
    every step: this is why a single state cannot hold a long sentence."""
    inputs = torch.zeros(11, 1)
    inputs[0] = 1.0
    weights = torch.tensor([[1.5, -1.0]]), torch.tensor([[0.8, 0.0], [0.0, 0.5]]), torch.zeros(2)
    draw("the states", lambda: student.rnn_hidden_states(inputs, *weights), "lines", columns=["number 0", "number 1"])


@picture("additive_scores")
def scores_of_the_next_word(student: Student) -> None:
    """The decoder is about to write "rote". Its state is scored against each encoder state: a higher score is a better
    fit."""
    against = torch.tensor([-1.0, 1.0, -1.0])
    draw("the scores", lambda: student.additive_scores(DECODED[1], ENCODED, W_DECODER, W_ENCODER, against), "bars",
         rows=ENGLISH)  # fmt: skip


@picture("bahdanau_context")
def weights_and_context(student: Student) -> None:
    """The weights for "rote", and the context that is made with them. It is nearest to the encoder state of "red"."""
    arguments = DECODED[1], ENCODED, W_DECODER, W_ENCODER, torch.tensor([-3.0, 3.0, -3.0])
    draw("the weights", lambda: student.bahdanau_context(*arguments)[1], "bars", rows=ENGLISH)
    draw("the context", lambda: student.bahdanau_context(*arguments)[0])


@picture("CrossAttention")
def alignment(student: Student) -> None:
    """Each row is a German word that is being written, each column an English word that it looks at. The dark cells
    are the alignment of the two sentences. The values are the encoder states themselves, so the weights can be computed
    from your output."""
    module = cross_attention(student, torch.eye(3))
    # output = weights @ values, and the values are the encoder states.
    draw("the weights", lambda: module(DECODED[None], ENCODED[None]) @ ENCODED.inverse(), "weights",
         rows=GERMAN, columns=ENGLISH)  # fmt: skip


@picture("CrossAttention")
def padding(student: Student) -> None:
    """The same with a fourth token, which is padding. It gets no weight, although it is very large, and the other
    outputs stay as they were."""
    module = cross_attention(student, torch.eye(3))
    context = torch.cat([ENCODED, torch.full((1, 3), 50.0)])[None]
    mask = torch.tensor([[False, False, False, True]])
    draw("the padding mask", lambda: mask, "mask", columns=PADDED, expected=None)
    draw("the output", lambda: module(DECODED[None], context, mask), rows=GERMAN)


@picture("CrossAttention")
def inside_cross_attention(student: Student) -> None:
    """What your layers receive, seen by forward hooks: W_query reads the German side, W_key and W_value the English
    side."""
    module = cross_attention(student, numbers(3, 3))
    seen = watch(student, module, *LAYERS)
    seen.call(DECODED[None], ENCODED[None])
    for name, words in zip(LAYERS, (GERMAN, ENGLISH, ENGLISH), strict=True):
        draw(f"what {name} receives", lambda name=name: seen.received(name), rows=words)


@question("rnn_hidden_states")
def shape_of_states(student: Student) -> None:
    """The shape of the states."""
    states = student.rnn_hidden_states(numbers(9, 4), numbers(4, 6), numbers(6, 6), numbers(6))
    text = "Nine tokens have four numbers each, and the state has six. What shape do your hidden states have?"
    ask_shape(text, states.shape, "One state of six numbers after each of the nine tokens: (9, 6).")


@question("bahdanau_context")
def sum_of_weights(student: Student) -> None:
    """The sum of the weights."""
    weights = student.bahdanau_context(DECODED[0], ENCODED, W_DECODER, W_ENCODER, V)[1]
    text = "What do the weights of your `bahdanau_context` sum to? (one decimal)"
    ask_number(text, weights.sum().item(), "Softmax makes them sum to one, whatever the scores are.", decimals=1)


@question("CrossAttention")
def shape_of_cross_attention(student: Student) -> None:
    """The shape of the output."""
    output = student.CrossAttention(4, 6, 5)(numbers(2, 3, 4), numbers(2, 8, 6))
    text = (
        "Your `CrossAttention(4, 6, 5)` gets x of shape (2, 3, 4) and context of shape (2, 8, 6). What does it return?"
    )
    ask_shape(text, output.shape, "One output for each query, of width d_out: (2, 3, 5). The 8 keys are summed over.")


@question("CrossAttention")
def order_of_the_context(student: Student) -> None:
    """Whether the order of the context counts."""
    module = cross_attention(student, numbers(3, 3))
    before, after = module(DECODED[None], ENCODED[None]), module(DECODED[None], ENCODED.flip(0)[None])
    choices = ["nothing changes", "the outputs are in the opposite order", "every output is another one"]
    answer = choices[0] if torch.allclose(before, after, atol=1e-4) else choices[2]
    text = "The tokens of the context come in the opposite order. What happens to the outputs of your `CrossAttention`?"
    ask_choice(
        text, choices, answer, "An output is a weighted sum over the context, and a sum is the same in any order."
    )
