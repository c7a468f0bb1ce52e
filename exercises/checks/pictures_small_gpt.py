"""The pictures of the capstone, a small GPT, which `grader show` draws, and questions on your own code.

`student` is your file, as in the tests. The model here has fixed parameters and is not trained, so its logits mean
nothing: look at how the numbers flow.
"""

from __future__ import annotations

import torch
from checking import numbers

from grader.testing.pictures import ask_number, ask_shape, draw, picture, question, watch
from grader.testing.student import RemoteObject, Student

TEXT = "the cat"
LETTERS = [" ", "a", "c", "e", "h", "t"]
IDX = torch.tensor([[LETTERS.index(letter) for letter in TEXT]])  # (1, 7)
ROWS = [repr(letter) for letter in TEXT]
COLUMNS = [repr(letter) for letter in LETTERS]


def small_gpt(student: Student) -> RemoteObject:
    """Return your model of six letters, with four features, two heads and two blocks, in eval mode.

    Parameters of one shape get the same values, and each head has the same matrices, so their names do not matter.
    """
    model = student.SmallGPT(6, 8, 4, 2, 2, 0.0)
    head = numbers(2, 4, seed=5) / 2

    def values(shape: tuple[int, ...]) -> torch.Tensor:
        if len(shape) == 1:
            return 1 + numbers(*shape, seed=3) / 8
        if shape[1] == 4 and shape[0] in (2, 4, 12):
            return head.repeat(shape[0] // 2, 1)
        return numbers(*shape, seed=7) / 2

    model.set({name: values(tuple(value.shape)) for name, value in model.parameters().items()})
    model.eval()
    return model


@picture("SmallGPT")
def from_letters_to_logits(student: Student) -> None:
    """The numbers on their way through your model, seen by forward hooks. The two "t" have the same embedding at the
    start. After positions and blocks they differ, because they stand at different places in the text."""
    model = small_gpt(student)
    seen = watch(student, model, "token_embedding", "final_norm")
    logits = seen.call(IDX)
    draw("what token_embedding returns", lambda: seen.returned("token_embedding"), rows=ROWS)
    draw("what final_norm receives", lambda: seen.received("final_norm"), rows=ROWS)
    draw("what final_norm returns", lambda: seen.returned("final_norm"), rows=ROWS)
    draw("the logits", logits, rows=ROWS, columns=COLUMNS)


@picture("SmallGPT")
def the_past_does_not_change(student: Student) -> None:
    """How much the logits of each letter change if the last letter of the text becomes another one. Only the last bar
    may be longer than 0: this is why a GPT can learn from all positions of a text at once."""
    model = small_gpt(student)
    changed = IDX.clone()
    changed[0, -1] = 0
    draw("the change of the logits", lambda: (model(changed) - model(IDX))[0].abs().sum(-1), "bars", rows=ROWS)


@picture("generate_text")
def one_token_after_the_other(student: Student) -> None:
    """Two texts, continued by a model that always says "one more": after 3 comes 4, and after 4 comes 0. Each text
    continues from its own last token, and the prompt of two tokens stays as it was."""
    model = student.make("Embedding", 5, 5)
    model.set({"weight": 1000 * torch.eye(5).roll(1, 1)})
    draw("the texts", lambda: student.generate_text(model, torch.tensor([[0, 3], [2, 2]]), 6, 8),
         rows=["text 0", "text 1"])  # fmt: skip


@question("SmallGPT")
def shape_of_logits(student: Student) -> None:
    """The shape of the logits."""
    logits = student.SmallGPT(27, 8, 4, 2, 1, 0.0)(torch.zeros(3, 5, dtype=torch.long))
    text = "Your `SmallGPT(27, 8, 4, 2, 1, 0.0)` gets idx of shape (3, 5). What shape do its logits have?"
    ask_shape(
        text, logits.shape, "27 logits, one for each possible next token, at each of 3 · 5 positions: (3, 5, 27)."
    )


@question("SmallGPT")
def parameters_of_a_longer_context(student: Student) -> None:
    """The parameters of a longer context."""
    short, long = (
        sum(value.numel() for value in student.SmallGPT(27, length, 32, 4, 2, 0.0).parameters().values())
        for length in (8, 9)
    )
    text = "The context length of your `SmallGPT(27, 8, 32, 4, 2, 0.0)` becomes 9. How many parameters are added?"
    ask_number(text, long - short, "One row of 32 numbers in position_embedding. Attention has no size for the length.")


@question("generate_text")
def length_of_the_text(student: Student) -> None:
    """The length of the text."""
    model = student.make("Embedding", 5, 5)
    text = student.generate_text(model, torch.zeros(2, 6, dtype=torch.long), 10, 4)
    asked = "Two prompts of 6 tokens get 10 more, with a context length of 4. What shape does `generate_text` return?"
    ask_shape(asked, text.shape, "(2, 16): all tokens are returned. Only the model is limited to the last 4 of them.")
