"""generate_text: hidden tests, known mistakes and right answers."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch import Tensor, nn

from grader.suites.generation import (
    STEPS,
    GenerateWith,
    V,
    expect_continued,
    expect_drawn_from_the_softmax,
    expect_each_token_follows_the_one_before,
    expect_every_token_drawn_by_itself,
    expect_prompt_first,
    expect_prompts_of_any_size,
    random_ids,
)
from grader.suites.small_gpt.shared import B, T, ids
from grader.testing.behaviour import generator_draws
from grader.testing.checks import expect_close, expect_same, expect_true, expect_values
from grader.testing.draws import Fresh
from grader.testing.misconceptions import mistake, replace
from grader.testing.probes import Draw, Property, draws_from_generator, probe, shares
from grader.testing.student import RemoteObject, Student
from grader.testing.suite import Given, contract, rule

# More tokens than any text has: only one test is about shorter ones.
LONG = 100


def table_model(student: Student, table: torch.Tensor) -> RemoteObject:
    """A model whose logits of a token are its row of the table (V, V)."""
    model = student.make("Embedding", *table.shape)
    model.set({"weight": table})
    return model


def generating_with(student: Student) -> GenerateWith:
    def generate_with(table: torch.Tensor) -> Callable[..., object]:
        model = table_model(student, table)
        return lambda idx, count, **options: student.generate_text(model, idx, count, LONG, **options)

    return generate_with


@rule("returns the prompt idx, unchanged, and then max_new_tokens tokens: (B, T + max_new_tokens)")
def test_the_prompt_comes_first(student: Student, fresh: Fresh) -> None:
    """The result should be the prompt, as ids, followed by the new tokens: (B, T + max_new_tokens)."""
    expect_prompt_first(fresh, generating_with(student))


@rule("each new token is drawn from the softmax of the model's logits of the last token")
def test_tokens_are_drawn_from_the_softmax(student: Student, fresh: Fresh) -> None:
    """Over many texts, each token should be drawn as often as the softmax of the last token's logits says."""
    expect_drawn_from_the_softmax(student, fresh, generating_with(student))


@rule("each text continues from its own last token, which is the newest token if one was drawn")
def test_each_token_follows_from_the_one_before(student: Student, fresh: Fresh) -> None:
    """Each new token should depend on the token drawn before it, in each text separately."""
    expect_each_token_follows_the_one_before(fresh, generating_with(student))


# The model of the test below looks at the tokens that it gets, and continues with the one that is rarest among them and
# not the last. Of equally rare ones it takes the first by rank. The differences of the logits are so large that no
# other token is ever drawn, and none of them is above zero.
RARER, BEFORE = 400.0, 40.0
WINDOW = V - 1  # with so many different tokens, exactly one is missing


def rarest_next(seen: torch.Tensor, rank: torch.Tensor) -> torch.Tensor:
    """The ids (B, n) that the model gets, and the rank (V,) of each token, to the next ids (B,)."""
    seen = nn.functional.one_hot(seen, V).double()  # (B, n) -> (B, n, V)
    return (-RARER * WINDOW * (seen.mean(1) + seen[:, -1]) - BEFORE * rank).argmax(-1)


@rule("the model gets only the last context_length tokens of the text, or the whole text if it is shorter")
def test_the_model_gets_the_last_tokens(student: Student, fresh: Fresh) -> None:
    """The model should get only the last context_length tokens, the newest included, and a shorter text as a whole."""
    rank = fresh.order(V)
    last = student.make("Linear", V, V)
    last.set({"weight": -RARER * WINDOW * torch.eye(V), "bias": -BEFORE * rank})
    model = student.make("Sequential", table_model(student, torch.eye(V)), student.make("TokenMixer"), last)
    for length in (2, WINDOW + 2):
        text = torch.stack([fresh.order(V).repeat(2)[:length] for _ in range(3)])
        new, again = (
            expect_continued(student.generate_text(model, text, 2 * V, WINDOW), text, 2 * V) for _ in range(2)
        )
        expect_true(torch.equal(new, again), "Two calls give different tokens, where only one has any probability.")
        expected = text
        for _ in range(2 * V):
            expected = torch.cat([expected, rarest_next(expected[:, -WINDOW:], rank)[:, None]], dim=1)
        expect_close(new, expected[:, length:], "The new tokens")


@rule("every token is drawn independently: texts with the same prompt may continue differently")
def test_every_token_is_drawn_by_itself(student: Student, fresh: Fresh) -> None:
    """Each text and each step should be drawn independently."""
    expect_every_token_drawn_by_itself(fresh, generating_with(student))


@rule("max_new_tokens=0 returns only the prompt")
def test_no_new_token_gives_the_prompt(student: Student, fresh: Fresh) -> None:
    """If no new token is asked for, only the prompt should be returned; if one is asked for, one more."""
    idx, generate = random_ids(fresh, B, T), generating_with(student)(fresh(V, V))
    expect_continued(generate(idx, 1), idx, 1)
    expect_continued(generate(idx, 0), idx, 0)


@rule("any number of texts and of tokens in the prompt, including one")
def test_prompts_of_any_size(student: Student, fresh: Fresh) -> None:
    """A prompt may have any number of texts and of tokens, including a single one."""
    expect_prompts_of_any_size(fresh, generating_with(student))


# Two results of 6 · 6 tokens, all of them equally likely, are equal by chance once in 7^36 times.
def drawing(student: Student, fresh: Fresh) -> Given:
    model, idx = table_model(student, torch.zeros(V, V)), random_ids(fresh, 6, T)
    return Given(student.generate_text, [model, idx, 6, LONG], lambda text: expect_continued(text, idx, 6))


test_contract = contract(
    drawing,
    *generator_draws(
        "tokens", "tokens_come_from_the_generator", "the_same_state_gives_the_same_tokens",
        "without_a_generator_the_global_one_gives_the_tokens"),
)  # fmt: skip


@rule("after the call the model is in the same mode as before, training or eval")
def test_the_mode_of_the_model_is_kept(student: Student, fresh: Fresh) -> None:
    """A model in training should be in training after the call, and a model in eval mode in eval mode."""
    idx, model = random_ids(fresh, B, T), table_model(student, fresh(V, V))
    lost = []
    for name, change in (("training", model.train), ("eval mode", model.eval)):
        change()
        expect_continued(student.generate_text(model, idx, STEPS, LONG), idx, STEPS)
        if model.get("training") is not (name == "training"):
            lost.append(name)
    expect_true(not lost, f"After the call the model is in another mode, if it was in {' or '.join(lost)} before.")


@rule("idx is not changed")
def test_generating_leaves_idx_alone(student: Student, fresh: Fresh) -> None:
    """The text should be continued in a new tensor, and the call should not change idx."""
    idx, model = random_ids(fresh, B, T), table_model(student, fresh(V, V))
    for context_length in (LONG, T):
        text, after = expect_values(student.generate_text.with_arguments(model, idx, STEPS, context_length), 2)
        expect_continued(text, idx, STEPS)
        expect_same(after[1], idx, "idx was changed.")


# -- misconceptions ------------------------------------------------------------------------------------------------

CUT = "idx[:, -context_length:]"
TOKEN = "torch.multinomial(probabilities, 1, generator=generator)"
LOOP = "for _ in range(max_new_tokens):"
BELOW, COUNTED = "(probabilities.cumsum(-1) < ", ").sum(-1, keepdim=True).clamp(max=logits.shape[-1] - 1)"

MISCONCEPTIONS = [
    mistake("new_tokens_alone", replace("return idx", "return idx[:, idx.shape[1] - max_new_tokens :]"),
        "Only the new tokens are returned. The text begins with its prompt: `torch.cat` joins them."),
    mistake("text_cut_to_the_context",
        replace(f"model({CUT})", "model(idx)").replace(LOOP, f"{LOOP}\n            idx = {CUT}"),
        "The text itself is cut to the last context_length tokens, and the beginning is lost. Cut only what the "
        "model gets, and give it another name."),
    mistake("ids_made_floats", replace("return idx", "return idx.float()"),
        "The ids are floats, perhaps from a `torch.zeros` tensor. Only integers can be looked up: use the dtype of "
        "idx, or `torch.cat`."),
    mistake("new_tokens_thrown_away", replace("idx = torch.cat", "torch.cat"),
        "The result is only the prompt: drawn tokens are not kept. `torch.cat` changes none of its arguments, so "
        "assign the longer text that it returns."),
    mistake("returned_in_the_loop", replace("    return idx", "            return idx"),
        "There is only one new token, as with a `return` inside the loop. Move the return out of the loop."),
    mistake("length_of_the_whole_text", replace("range(max_new_tokens)", "range(max_new_tokens - idx.shape[1])"),
        "max_new_tokens is used as the length of the whole text. It is only the number of new tokens, without the "
        "prompt."),
    mistake("at_least_one_token", replace("range(max_new_tokens)", "range(max(1, max_new_tokens))"),
        "At least one token is drawn, even if none is asked for. Check max_new_tokens before the first draw, as a "
        "`for` loop does."),
    mistake("lonely_prompt_squeezed", replace("return idx", "return idx.squeeze()"),
        "`squeeze()` removes every dimension of size one, so a prompt of one text, or of one token, loses its shape."),
    mistake("texts_cut_instead_of_tokens", replace(CUT, "idx[-context_length:]"),
        "The last context_length texts are taken, and not the last tokens: the first index of idx is the text, and "
        "the second one the token."),
    mistake("text_not_cut", replace(CUT, "idx"),
        "The model gets the whole text. Your GPT has only context_length positions: give it the last tokens only."),
    mistake("first_tokens_taken", replace(CUT, "idx[:, :context_length]"),
        "The model gets the first context_length tokens, so after some steps it does not see the newest ones. Take "
        "the last tokens, with a minus."),
    mistake("likeliest_token_taken", replace(TOKEN, "probabilities.argmax(dim=-1, keepdim=True)"),
        "The most likely token is always taken, and nothing is drawn. Such a text soon repeats itself: draw with "
        "`torch.multinomial`."),
    mistake("last_token_not_chosen", replace("logits[:, -1], dim", "logits, dim"),
        "The function ends in an error. If it comes from the draw: that takes a matrix, so choose the last token's "
        "logits first, (B, T, V) to (B, V). If it comes from `cat`: the new tokens are (B, 1)."),
    mistake("pair_expected", replace("logits = model", "logits, _ = model"),
        "The function expects two results of the model, as in unit 6. Here the model returns only the logits."),
    mistake("softmax_over_the_texts", replace("dim=-1", "dim=0"),
        "Softmax runs over the texts (dim=0), so the probabilities of one text depend on the others. They should sum "
        "to one over the V kinds: dim=-1."),
    mistake("softmax_over_the_tokens", replace("logits[:, -1], dim=-1)", "logits, dim=1)[:, -1]"),
        "Softmax runs over the tokens of the text (dim=1), before the last one is chosen. The probabilities should "
        "sum to one over the V kinds: dim=-1."),
    mistake("softmax_forgotten", replace("torch.softmax(logits[:, -1], dim=-1)", "logits[:, -1]"),
        "The logits are used for the draw directly. They are not probabilities, and some are negative: apply softmax "
        "first."),
    mistake("softmax_taken_twice", replace("dim=-1)", "dim=-1).softmax(dim=-1)"),
        "Softmax is applied twice, to the logits and to the probabilities. The second one makes them nearly equal, "
        "so unlikely tokens are drawn far too often."),
    mistake("likely_made_likelier", replace("logits[:, -1]", "2 * logits[:, -1]"),
        "The likely tokens are drawn too often: probabilities were squared, or logits multiplied, or divided by a "
        "temperature below one. Draw with the softmax of the unchanged logits."),
    mistake("one_throw_for_all_steps",
        replace(LOOP, f"throws = torch.rand(len(idx), 1, generator=generator)\n        {LOOP}")
        .replace(TOKEN, f"{BELOW}throws{COUNTED}"),
        "The same random number decides at every step: the state is set again each time, or the number is drawn only "
        "once. Draw each new token independently."),
    mistake("generator_ignored", replace(", generator=generator", ""),
        "The generator is not used. Pass it on to the draw, as `generator=generator`."),
    mistake("generator_copied",
        replace(LOOP, "generator = torch.Generator().manual_seed(generator.initial_seed()) if generator else None\n"
                      f"        {LOOP}"),
        "The code makes a second generator from the seed of the first, so the first does not advance. Draw from the "
        "generator that was passed in."),
    mistake("always_the_same_tokens", replace(LOOP, f"generator = generator or torch.Generator()\n        {LOOP}"),
        "Without a generator every call draws the same, as if the code set a seed or made a generator with a fixed "
        "start. None means torch's global generator in its current state."),
    mistake("left_in_eval_mode", replace("with torch.no_grad():", "model.eval()\n    with torch.no_grad():"),
        "The function calls `model.eval()` and leaves the model in eval mode. A caller who goes on with training "
        "would train without dropout: restore the mode, or leave it to the caller."),
    mistake("idx_changed_in_place",
        replace(LOOP, f"prompt = idx\n        {LOOP}")
        .replace("return idx", "prompt[:] = idx[:, -prompt.shape[1] :]\n    return idx"),
        "The caller's idx was changed. Methods with an underscore and `idx[…] = …` change the tensor itself; "
        "`torch.cat` makes a new one."),
]  # fmt: skip


# -- probes --------------------------------------------------------------------------------------------------------


class Rarest(nn.Module):
    """Continues with the token that is rarest among those that it gets, and not the last. It keeps what it gets."""

    def __init__(self, kinds: int) -> None:
        super().__init__()
        self.kinds = kinds
        self.given: list[Tensor] = []

    def forward(self, idx: Tensor) -> Tensor:
        self.given.append(idx.clone())
        seen = nn.functional.one_hot(idx, self.kinds).double()  # (B, T, V)
        return (-1000 * (seen.sum(1, keepdim=True) + 99 * seen) - 30 * torch.arange(self.kinds)).float()


def embedding_of(table: Tensor) -> nn.Embedding:
    return nn.Embedding.from_pretrained(table.float())


@probe(draws=400)
def sure_tokens(unit: Any, draw: Draw) -> Iterator[Property]:
    """With this model each text has only one possible continuation, so the result is not random."""
    kinds, context_length = draw.size(2, 6), draw.size(1, 7)
    model = Rarest(kinds).train(draw.chance(0.5))
    idx = ids(draw, kinds, draw.size(1, 3), draw.size(1, 9))
    given, was_training = idx.clone(), model.training
    options = draw.pick({}, {"generator": draw.generator})
    text = unit.generate_text(model, given, draw.size(0, 9), context_length, **options)
    yield "the text", text
    yield "whether the ids are whole numbers", not text.is_floating_point()
    yield "what the model was given last", model.given[-1:]
    yield "the prompt afterwards", given
    yield "whether the mode is the same", model.training == was_training


@probe(draws=6)
def likelihood_of_tokens(unit: Any, draw: Draw) -> Iterator[Property]:
    model = embedding_of(draw.normal(3, 3, scale=1.2))
    options = draw.pick({}, {"generator": draw.generator})
    # Every prompt ends with the same token, after any other, and three tokens are generated.
    prompts = torch.stack([draw.integers(0, 3, 3000), torch.full((3000,), draw.number % 3)], dim=1)
    text = unit.generate_text(model, prompts, 3, 4, **options)
    first, second, third = text[:, 2], text[:, 3], text[:, 4]
    events = torch.stack([first, first * 3 + second + 3, second * 3 + third + 12], 1)
    yield from shares(nn.functional.one_hot(events, 21).bool().any(1))
    small = [unit.generate_text(model, prompts[:2], 1, 4, **options)[:, 2] for _ in range(400)]
    yield from shares(nn.functional.one_hot(torch.stack(small), 3).flatten(1).bool())  # (400, 2, 3) -> (400, 6)


@probe(draws=2)
def unlikely_tokens(unit: Any, draw: Draw) -> Iterator[Property]:
    model = embedding_of(torch.linspace(0, 0.4, 40).repeat(40, 1))
    options = draw.pick({}, {"generator": draw.generator})
    drawn = unit.generate_text(model, torch.zeros(4000, 1, dtype=torch.long), 1, 4, **options)[:, 1]
    # Each has 2 % or more, so one of them is missing once in 1e33.
    yield "how many tokens are drawn", len(drawn.unique())


@probe(draws=4)
def where_tokens_are_drawn(unit: Any, draw: Draw) -> Iterator[Property]:
    def result_with(generator: torch.Generator | None) -> Tensor:
        text: Tensor = unit.generate_text(model, prompts, 6, 4, generator=generator)
        return text

    model = embedding_of(draw.normal(5, 5, scale=0.3))
    prompts = draw.integers(0, 5, 12, 2)
    yield from draws_from_generator(result_with, draw.number)


# -- answers -------------------------------------------------------------------------------------------------------


def wrong_answers():
    """Mistakes without a name, and answers with two. Never run here: the audit reads them."""

    import torch.nn.functional as F

    # Right; each wrong answer changes an argument.
    def _generate(model, idx, count, context, generator, weigh=lambda logits: F.softmax(logits, dim=-1)):
        for _ in range(count):
            probabilities = weigh(model(idx[:, -context:])[:, -1])
            idx = torch.cat([idx, torch.multinomial(probabilities, 1, generator=generator)], dim=1)
        return idx

    def text_not_cut__and__left_in_eval_mode(model, idx, max_new_tokens, context_length, generator=None):
        return _generate(model.eval(), idx, max_new_tokens, 10**6, generator)

    def generator_ignored__and__at_least_one_token(model, idx, max_new_tokens, context_length, generator=None):
        return _generate(model, idx, max(max_new_tokens, 1), context_length, None)

    def least_likely(model, idx, max_new_tokens, context_length, generator=None):
        return _generate(model, idx, max_new_tokens, context_length, generator, lambda logits: F.softmax(-logits, -1))

    def temperature_of_nine_tenths(model, idx, max_new_tokens, context_length, generator=None):
        return _generate(
            model, idx, max_new_tokens, context_length, generator, lambda logits: F.softmax(logits / 0.9, -1)
        )

    def half_of_the_context(model, idx, max_new_tokens, context_length, generator=None):
        return _generate(model, idx, max_new_tokens, max(context_length // 2, 1), generator)

    def probability_of_the_sigmoid(model, idx, max_new_tokens, context_length, generator=None):
        return _generate(model, idx, max_new_tokens, context_length, generator, torch.sigmoid)

    def mode_toggled(model, idx, max_new_tokens, context_length, generator=None):
        text = _generate(model, idx, max_new_tokens, context_length, generator)
        model.train(not model.training)
        return text


def right_answers():
    """Answers in other styles. Never run here: the audit reads them."""

    import torch.nn.functional as F
    from bigram_language_model import BigramLanguageModel

    def by_hand(model, idx, max_new_tokens, context_length, generator=None):
        text = idx.clone()
        while text.shape[1] < idx.shape[1] + max_new_tokens:
            logits = model(text[:, max(0, text.shape[1] - context_length) :])[:, -1]
            below = torch.softmax(logits, -1).double().cumsum(-1)
            throws = torch.rand(len(text), 1, dtype=torch.float64, generator=generator)
            new = (below < throws).sum(-1, keepdim=True).clamp(max=logits.shape[-1] - 1)
            text = torch.hstack([text, new])
        return text

    def by_the_book(model, idx, max_new_tokens, context_length, generator=None):
        was_training = model.training
        model.eval()
        for _ in range(max_new_tokens):
            idx_cond = idx[:, -context_length:]
            with torch.no_grad():
                logits = model(idx_cond)
            probas = torch.softmax(logits[:, -1, :], dim=-1)
            idx_next = torch.multinomial(probas, num_samples=1, generator=generator)
            idx = torch.cat((idx, idx_next), dim=1)
        if was_training:
            model.train()
        return idx

    def heads_in_a_list(model, idx, max_new_tokens, context_length, generator=None):
        texts, length = idx.shape
        result = torch.zeros(texts, length + max_new_tokens, dtype=torch.long)
        result[:, :length] = idx
        for end in range(length, length + max_new_tokens):
            start = max(0, end - context_length)
            scores = model(result[:, start:end])[:, -1].detach()
            e = (scores - scores.max(dim=1, keepdim=True).values).exp()
            result[:, end] = torch.multinomial(e / e.sum(dim=1, keepdim=True), 1, generator=generator).squeeze(1)
        return result

    class _Cutting(BigramLanguageModel):
        def __init__(self, model, context_length):
            super().__init__(1)
            self.inner = [model]
            self.context_length = context_length

        def forward(self, idx, targets=None):
            return self.inner[0](idx[:, -self.context_length :]), None

    def one_on_another(model, idx, max_new_tokens, context_length, generator=None):
        # Making the table draws its initial values, which should not change the state.
        state = torch.get_rng_state()
        cutting = _Cutting(model, context_length)
        torch.set_rng_state(state)
        return cutting.generate(idx, max_new_tokens, generator)

    @torch.no_grad()
    def ready_made(model, idx, max_new_tokens, context_length, generator=None):
        for _ in range(max_new_tokens):
            cropped = idx if idx.size(1) <= context_length else idx[:, -context_length:]
            logits = model(cropped)[:, -1, :]
            new = F.softmax(logits, dim=-1).multinomial(1, generator=generator)
            idx = torch.cat((idx, new), dim=1)
        return idx

    @torch.inference_mode()
    def recursive(model, idx, max_new_tokens, context_length, generator=None):
        if max_new_tokens == 0:
            return idx
        log_probabilities = model(idx[:, -context_length:])[:, -1].log_softmax(-1)
        new = log_probabilities.exp().multinomial(1, generator=generator)
        return recursive(model, torch.cat([idx, new], 1), max_new_tokens - 1, context_length, generator)
