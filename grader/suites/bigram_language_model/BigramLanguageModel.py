"""BigramLanguageModel: hidden tests, known mistakes and right answers."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from typing import Any

import torch
import torch.nn as nn
from torch import Tensor
from torch.nn.functional import one_hot

from grader.suites.bigram_language_model.shared import (
    ALIKE,
    ALWAYS_ALIKE,
    IGNORED,
    OF_SEEDS,
    SEED_FOR_ALL,
    B,
    expect_loss,
    mean_loss,
)
from grader.suites.generation import (
    STEPS,
    GenerateWith,
    T,
    V,
    expect_continued,
    expect_drawn_from_the_softmax,
    expect_each_token_follows_the_one_before,
    expect_every_token_drawn_by_itself,
    expect_prompt_first,
    expect_prompts_of_any_size,
    random_ids,
)
from grader.testing.behaviour import generator_draws
from grader.testing.checks import (
    ABSOLUTE,
    RELATIVE,
    expect_close,
    expect_gradients,
    expect_same,
    expect_tensor,
    expect_true,
    expect_values,
    oracle_gradients,
)
from grader.testing.draws import Fresh
from grader.testing.misconceptions import mistake, replace
from grader.testing.probes import Draw, Property, draws_from_generator, has_parameters, probe, set_to, shares
from grader.testing.student import RemoteObject, Student
from grader.testing.suite import Given, contract, kept_arguments, rule


def flattened(logits: torch.Tensor, targets: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """(B, T, V) and (B, T) to (B · T, V) and (B · T,)."""
    return torch.cat(logits.unbind()), torch.cat(targets.unbind())


TABLE = "token_embedding_table"


def model_with(student: Student, table: torch.Tensor) -> RemoteObject:
    """A BigramLanguageModel with this table (V, V). Another criterion is about the name of the table."""
    model = student.queue("BigramLanguageModel", len(table))
    model.set({table_name(model): table})
    return model


def table_name(model: RemoteObject) -> str:
    """Return the name of the table: if it has another name, of the only square parameter."""
    name = f"{TABLE}.weight"
    parameters = model.parameters()
    square = [other for other, value in parameters.items() if value.dim() == 2 and len(set(value.shape)) == 1]
    return name if name in parameters or len(square) != 1 else square[0]


def flat_loss(student: Student, logits: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
    """(B, T, V) and (B, T) to one number."""
    flat = student.substitute("flatten_for_cross_entropy", flattened)(logits, targets)
    return student.substitute("cross_entropy", functools.partial(mean_loss, student))(*flat)


@rule("token_embedding_table is nn.Embedding(vocab_size, vocab_size)")
def test_the_table_is_an_embedding(student: Student) -> None:
    """token_embedding_table should be an nn.Embedding with vocab_size rows of vocab_size logits."""
    table = student.queue("BigramLanguageModel", V).get(TABLE)
    expect_true(isinstance(table, RemoteObject), "It is no module.")
    expect_true("torch.nn.modules.sparse.Embedding" in table.kinds, "It is not an nn.Embedding.")
    weight = expect_tensor(table.parameters().get("weight"))
    expect_true(weight.shape[:1] == (V,), "It does not have vocab_size rows.")
    expect_true(weight.shape == (V, V), "Its rows do not have vocab_size logits.")


@rule("without targets, the logits of each token are its row of the table: (B, T, V)")
def test_logits_are_rows_of_the_table(student: Student, fresh: Fresh) -> None:
    """Without targets, the logits should be the row of the table that belongs to each token: (B, T, V)."""
    table, idx = fresh(V, V), random_ids(fresh, B, T)
    logits, _ = expect_values(model_with(student, table)(idx), 2)
    expect_close(logits, table[idx], "The logits")


@rule("with targets, the logits are the same: (B, T, V)")
def test_logits_are_the_same_with_targets(student: Student, fresh: Fresh) -> None:
    """With targets, the logits should be the same as without them, (B, T, V): only the loss needs the flat form."""
    table = fresh(V, V)
    model = model_with(student, table)
    for texts, count in ((B, T), (1, T), (B, 1)):
        idx, targets = random_ids(fresh, texts, count), random_ids(fresh, texts, count)
        logits, _ = expect_values(model(idx, targets), 2)
        expect_close(logits, table[idx], "The logits")


@rule("with targets (B, T), the loss is one number, the mean cross-entropy of all B · T predictions")
def test_the_loss_is_the_mean_over_all_predictions(student: Student, fresh: Fresh) -> None:
    """With targets, the loss should be the mean cross-entropy of all B · T predictions, each with its own target."""
    table, idx, targets = fresh(V, V), random_ids(fresh, B, T), random_ids(fresh, B, T)
    _, loss = expect_values(model_with(student, table)(idx, targets), 2)
    expect_loss(loss, flat_loss(student, table.double()[idx], targets))


@rule("without targets, the loss is None")
def test_there_is_no_loss_without_targets(student: Student, fresh: Fresh) -> None:
    """Without targets the loss should be None."""
    logits, loss = expect_values(model_with(student, fresh(V, V))(random_ids(fresh, B, T)), 2)
    expect_tensor(logits)
    expect_true(loss is None, "There is a loss, although there are no targets.")


@rule("gradients of the loss reach the table")
def test_gradients_reach_the_table(student: Student, fresh: Fresh) -> None:
    """Gradients of the loss should reach the table."""
    table, idx, targets = fresh(V, V), random_ids(fresh, B, T), random_ids(fresh, B, T)
    model = model_with(student, table)
    name = table_name(model)

    def loss(table: torch.Tensor) -> torch.Tensor:
        return flat_loss(student, table[idx], targets)

    def forward(table: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        return table[idx], loss(table)

    _, found = expect_values(model.gradients(idx, targets), 2)
    gradient = found.get(name)
    of_both, of_loss = (oracle_gradients(function, [], {"table": table}) for function in (forward, loss))
    # Detached logits are accepted if targets are given, because training uses only the loss.
    cut_off = gradient is not None and torch.allclose(gradient.double(), of_loss["table"], RELATIVE, ABSOLUTE)
    expect_gradients({"table": gradient}, of_loss if cut_off else of_both)


@rule("idx and targets are not changed")
def test_predicting_leaves_its_arguments_alone(student: Student, fresh: Fresh) -> None:
    """The logits should be rows of the table, and the call should not change idx or targets."""
    table, idx, targets = fresh(V, V), random_ids(fresh, B, T), random_ids(fresh, B, T)
    result, after = expect_values(model_with(student, table).with_arguments(idx, targets), 2)
    logits, _ = expect_values(result, 2)
    # The shape of the logits is the subject of another criterion.
    expect_close(expect_tensor(logits).flatten(0, -2), table[idx].flatten(0, -2), "The logits")
    for name, argument, before in zip(("idx", "targets"), after, (idx, targets), strict=True):
        expect_same(argument, before, f"{name} was changed.")


def generating_with(student: Student) -> GenerateWith:
    return lambda table: model_with(student, table).method("generate")


@rule("returns the prompt idx, unchanged, and then max_new_tokens tokens: (B, T + max_new_tokens)")
def test_the_prompt_comes_first(student: Student, fresh: Fresh) -> None:
    """The result should be the prompt, as ids, followed by the new tokens: (B, T + max_new_tokens)."""
    expect_prompt_first(fresh, generating_with(student))


@rule("each new token is drawn from the softmax of the logits of the text's last token")
def test_tokens_are_drawn_from_the_softmax(student: Student, fresh: Fresh) -> None:
    """Over many texts, each token should be drawn as often as the softmax of the last token's logits says."""
    expect_drawn_from_the_softmax(student, fresh, generating_with(student))


@rule("the last token is the newest token, if one was drawn, and each text continues from its own last token")
def test_each_token_follows_from_the_one_before(student: Student, fresh: Fresh) -> None:
    """Each new token should depend on the token drawn before it, in each text separately."""
    expect_each_token_follows_the_one_before(fresh, generating_with(student))


@rule("every token is drawn independently: texts with the same prompt may continue differently")
def test_every_token_is_drawn_by_itself(student: Student, fresh: Fresh) -> None:
    """Each text and each step should be drawn independently."""
    expect_every_token_drawn_by_itself(fresh, generating_with(student))


@rule("max_new_tokens=0 returns only the prompt")
def test_no_new_token_gives_the_prompt(student: Student, fresh: Fresh) -> None:
    """If no new token is asked for, only the prompt should be returned; if one is asked for, one more."""
    idx = random_ids(fresh, B, T)
    generate = model_with(student, fresh(V, V)).method("generate")
    expect_continued(generate(idx, 1), idx, 1)
    expect_continued(generate(idx, 0), idx, 0)


@rule("any number of texts and of tokens in the prompt, including one")
def test_prompts_of_any_size(student: Student, fresh: Fresh) -> None:
    """A prompt may have any number of texts and of tokens, including a single one."""
    expect_prompts_of_any_size(fresh, generating_with(student))


def drawing(student: Student, fresh: Fresh) -> Given:
    # Two results of 6 · 6 tokens, all of them equally likely, are equal by chance once in 7^36 times.
    generate, idx = model_with(student, torch.zeros(V, V)).method("generate"), random_ids(fresh, 6, T)
    return Given(generate, [idx, 6], lambda text: expect_continued(text, idx, 6))


def generating(student: Student, fresh: Fresh) -> Given:
    idx = random_ids(fresh, B, T)
    generate = model_with(student, fresh(V, V)).method("generate")
    return Given(generate, [idx, STEPS], lambda text: expect_continued(text, idx, STEPS))


test_contract = contract(
    generating,
    *generator_draws(
        "tokens", "tokens_come_from_the_generator", "the_same_state_gives_the_same_tokens",
        "without_a_generator_the_global_one_gives_the_tokens", ask=drawing),
    kept_arguments(
        "generating_leaves_idx_alone", "idx is not changed",
        "The text should be continued in a new tensor, and the call should not change idx.", "idx was changed."),
)  # fmt: skip


# -- misconceptions ------------------------------------------------------------------------------------------------

# Around a random number, BELOW and COUNTED draw a token.
LOSS = "cross_entropy(*flatten_for_cross_entropy(logits, targets))"
TOKEN = "torch.multinomial(probabilities, 1, generator=generator)"
BELOW, COUNTED = "(probabilities.cumsum(-1) < ", ").sum(-1, keepdim=True).clamp(max=logits.shape[-1] - 1)"
CALLS = ["flatten_for_cross_entropy", "cross_entropy"]

MISCONCEPTIONS = [
    mistake("table_under_another_name", replace("self.token_embedding_table", "self.embedding", times=2),
        "The table has another name. Other code looks for it by name, so call it token_embedding_table."),
    mistake("table_with_a_layer_behind",
        replace("nn.Embedding(vocab_size, vocab_size)",
                "nn.Embedding(vocab_size, 32)\n        self.lm_head = nn.Linear(32, vocab_size)")
        .replace("self.token_embedding_table(idx)", "self.lm_head(self.token_embedding_table(idx))"),
        "The rows of the table do not have the width of the vocabulary. In larger models they are narrower, and a "
        "linear layer comes after. Here a row already contains the logits, so the table is (V, V)."),
    mistake("probabilities_instead_of_logits",
        replace("self.token_embedding_table(idx)", "self.token_embedding_table(idx).softmax(dim=-1)"),
        "The logits went through a softmax. Loss and generate apply their own softmax, and a second one makes the "
        "probabilities nearly equal. Return the rows of the table without change."),
    mistake("flat_logits_with_targets", replace("return logits, cross", "return logits.flatten(0, 1), cross"),
        "With targets, the logits are flat, (B · T, V). Then their shape depends on the targets. Flatten only for "
        "the loss, under other names."),
    mistake("logits_alone_without_targets",
        replace("return logits, None", "return logits").replace("logits, _ =", "logits ="),
        "Without targets, only the logits are returned. forward always returns two results: logits, and the loss or "
        "None. Otherwise a caller who unpacks two results gets an error or wrong tensors."),
    mistake("loss_before_logits",
        replace("logits, None", "None, logits")
        .replace(f"logits, {LOSS}", f"{LOSS}, logits")
        .replace("logits, _ =", "_, logits ="), "The loss comes before the logits. forward returns the logits first."),
    mistake("targets_required", replace("targets: torch.Tensor | None = None", "targets"),
        "A call without targets ends in an error, because they have no default. They are optional: keep the default "
        "of the stub, None."),
    mistake("losses_added_up_in_model", replace(LOSS, f"nn.functional.{LOSS} * targets.numel()"),
        "The losses of all predictions are added up. Then a larger batch has a larger loss for no reason. Take the "
        "mean."),
    mistake("loss_of_the_last_tokens", replace(LOSS, "nn.functional.cross_entropy(logits[:, -1], targets[:, -1])"),
        "Only the last token of each text counts in the loss: 4 predictions instead of 32. Every token predicts the "
        "next one."),
    mistake("targets_moved_on_once_more",
        replace(LOSS, f"nn.functional.{LOSS}").replace("(logits, targets)", "(logits[:, :-1], targets[:, 1:])"),
        "The targets of each text are shifted again, and one prediction is lost. The targets already are the next "
        "tokens."),
    mistake("calls_with_targets_fail", replace("targets is None", "not targets"),
        "Every call with targets ends in an error. If it is about a bool value: `if targets:` does not work for a "
        "tensor, compare with None. If it is about shapes: the loss takes flat logits (B · T, V) and flat targets."),
    mistake("loss_without_softmax",
        replace(LOSS, "nn.functional.nll_loss(*flatten_for_cross_entropy(logits, targets))"),
        "The loss uses the logits as if they were logarithms of probabilities: the softmax is missing. The negative "
        "log-likelihood of PyTorch does not contain it, cross-entropy does."),
    mistake("predictions_torn_by_view",
        replace(LOSS, "nn.functional.cross_entropy(logits.reshape(len(idx), -1, idx.shape[1]), targets)"),
        "`view` and `reshape` only cut the rows at other positions: `logits.view(B, V, T)` mixes the predictions. If "
        "you want (B, V, T) for PyTorch's loss, use `transpose`. Otherwise join the first two dimensions."),
    mistake("softmax_before_the_loss", replace("(logits, targets)", "(torch.softmax(logits, dim=-1), targets)"),
        "The loss has one softmax too many: cross-entropy takes the logits and already contains a softmax."),
    mistake("loss_without_gradients", replace(LOSS, f"{LOSS}.item()"),
        "The loss is cut off from the gradients, for example by `.item()`, `float(…)`, `.detach()` or "
        "`torch.no_grad()`, so the model cannot learn from it. The caller can read the number."),
    mistake("likeliest_token_taken", replace(TOKEN, "probabilities.argmax(dim=-1, keepdim=True)"),
        "The most likely token is always taken, and nothing is drawn. Such a text soon repeats itself: draw with "
        "`torch.multinomial`."),
    mistake("softmax_over_the_texts", replace("dim=-1", "dim=0"),
        "Softmax runs over the texts (dim=0), so the probabilities of one text depend on the others. They should sum "
        "to one over the V kinds: dim=-1."),
    mistake("softmax_over_the_tokens", replace("logits[:, -1], dim=-1)", "logits, dim=1)[:, -1]"),
        "Softmax runs over the tokens of the prompt (dim=1), before the last one is chosen. The probabilities should "
        "sum to one over the V kinds: dim=-1."),
    mistake("softmax_forgotten_in_model", replace("torch.softmax(logits[:, -1], dim=-1)", "logits[:, -1]"),
        "The logits are used for the draw directly. They are not probabilities, and some are negative: apply softmax "
        "first."),
    mistake("softmax_taken_twice_in_model", replace("dim=-1)", "dim=-1).softmax(dim=-1)"),
        "Softmax is applied twice, to the logits and to the probabilities. The second one makes them nearly equal, "
        "so unlikely tokens are drawn far too often."),
    mistake("unlikely_tokens_left_out",
        replace("logits[:, -1]", "logits[:, -1].masked_fill("
                "logits[:, -1] < logits[:, -1].topk(min(10, logits.shape[-1])).values[:, -1:], -torch.inf)"),
        "The least likely tokens are never drawn, as with top-k or top-p. Draw with the softmax of all logits: then "
        "they are drawn too, but rarely."),
    mistake("pair_not_unpacked", replace("logits, _ = self(idx)", "logits = self(idx)"),
        "generate ends in a TypeError. forward returns two results, the logits and the loss: take the first one "
        "before you choose the last token."),
    mistake("new_tokens_not_looked_at",
        replace("for _ in", "prompt = idx\n        for _ in").replace("self(idx)", "self(prompt)"),
        "All new tokens are drawn from the prompt's last token. But each new token changes the next probabilities: "
        "put it at the end of the text before you call the model again."),
    mistake("new_tokens_in_one_go",
        replace("range(max_new_tokens)", "range(min(1, max_new_tokens))")
        .replace("probabilities, 1", "probabilities, max_new_tokens"),
        "`torch.multinomial` draws all new tokens at once, and without `replacement=True` none of them twice. Draw "
        "one, put it at the end of the text, and call the model again."),
    mistake("one_throw_for_all_steps",
        replace("for _ in", "throws = torch.rand(len(idx), 1, generator=generator)\n        for _ in")
        .replace(TOKEN, f"{BELOW}throws{COUNTED}"),
        "The same random number decides at every step: the state is set again each time, or the number is drawn only "
        "once. Draw each new token independently."),
    mistake("new_tokens_alone",
        replace("for _ in", "prompt = idx\n        for _ in").replace("return idx", "return idx[:, prompt.shape[1] :]"),
        "Only the new tokens are returned. The text begins with its prompt: `torch.cat` joins them."),
    mistake("last_token_not_chosen", replace("logits[:, -1], dim", "logits, dim"),
        "generate ends in an error. The draw takes a matrix, one row for each text, so choose the last token's "
        "logits first: (B, T, V) to (B, V). A drawn token stays a column, (B, 1), when it is put at the end."),
    mistake("new_tokens_as_new_texts", replace("dim=1)", "dim=0)"),
        "generate ends in an error, because new tokens are put below the texts, as new rows of the batch. They "
        "belong at the end of their own text, along dim 1."),
    mistake("new_tokens_thrown_away", replace("idx = torch.cat", "torch.cat"),
        "The result is only the prompt: drawn tokens are not kept. `torch.cat` changes none of its arguments, so "
        "assign the longer text that it returns."),
    mistake("returned_in_the_loop", replace("        return idx", "            return idx"),
        "generate returns inside the loop, after the first new token. Move the return out of the loop, by one level "
        "of indentation."),
    mistake("length_of_the_whole_text", replace("range(max_new_tokens)", "range(max_new_tokens - idx.shape[1])"),
        "max_new_tokens is used as the length of the whole text. It is only the number of new tokens, without the "
        "prompt."),
    mistake("lonely_prompt_squeezed", replace("return idx", "return idx.squeeze()"),
        "`squeeze()` removes every dimension of size one, so a prompt of one text, or of one token, loses its shape."),
    mistake("idx_changed_in_place",
        replace("for _ in", "prompt = idx\n        for _ in")
        .replace("return idx", "prompt[:] = idx[:, -prompt.shape[1] :]\n        return idx"),
        "The caller's idx was changed. Methods with an underscore and `idx[…] = …` change the tensor itself; "
        "`torch.cat` makes a new one."),
    mistake("generator_ignored", replace(", generator=generator", ""), IGNORED),
    mistake("generator_of_seeds", replace("for _ in", f"generator = {SEED_FOR_ALL}\n        for _ in"), OF_SEEDS),
    mistake("always_the_same_tokens", replace("for _ in", f"generator = {ALIKE}\n        for _ in"), ALWAYS_ALIKE),
]  # fmt: skip


# -- probes --------------------------------------------------------------------------------------------------------


def drawn_model(unit: Any, table: Tensor) -> tuple[Any, Tensor]:
    """Return a model with this table, and the table as its parameter."""
    model = unit.BigramLanguageModel(len(table))
    return model, set_to(model.token_embedding_table.weight, table)


@probe()
def logits_and_loss(unit: Any, draw: Draw) -> Iterator[Property]:
    batch, num_tokens, vocabulary = draw.sizes(3)
    model, table = drawn_model(unit, draw.normal(vocabulary, vocabulary, dtype=torch.float32))
    yield "what the table is", (isinstance(model.token_embedding_table, nn.Embedding), has_parameters(model, [table]))
    model.train(draw.chance(0.5))
    idx, targets = (draw.integers(0, vocabulary, batch, num_tokens) for _ in range(2))
    yield "the logits without targets", model(idx)[0]
    yield "whether there is a loss without targets", model(idx)[1] is not None
    logits, loss = model(idx, targets)
    yield "the logits with targets", logits
    yield "the loss", loss
    yield "the gradient of the table", torch.autograd.grad(loss, [table])


@probe(draws=300)
def sure_tokens(unit: Any, draw: Draw) -> Iterator[Property]:
    """With this table each token has only one possible successor, so the result is not random."""
    batch, num_tokens, vocabulary = draw.sizes(3)
    after = torch.tensor(draw.random.sample(range(vocabulary), vocabulary))
    model, _ = drawn_model(unit, 60.0 * one_hot(after, vocabulary))
    idx = draw.integers(0, vocabulary, batch, num_tokens)
    given = idx.clone()
    options = draw.pick({}, {"generator": draw.generator})
    text = model.train(draw.chance(0.5)).generate(given, draw.size(0, 4), **options)
    yield "the text", text
    yield "whether the ids are whole numbers", not text.is_floating_point()
    yield "the prompt afterwards", given


@probe(draws=6)
def likelihood_of_tokens(unit: Any, draw: Draw) -> Iterator[Property]:
    model, _ = drawn_model(unit, draw.normal(3, 3, dtype=torch.float32, scale=1.2))
    options = draw.pick({}, {"generator": draw.generator})
    # Every prompt ends with the same token, after any other, and three tokens are generated.
    prompts = torch.stack([draw.integers(0, 3, 3000), torch.full((3000,), draw.number % 3)], dim=1)
    text = model.generate(prompts, 3, **options)
    first, second, third = text[:, 2], text[:, 3], text[:, 4]
    yield from shares(one_hot(torch.stack([first, first * 3 + second + 3, second * 3 + third + 12], 1), 21).any(1))
    small = [model.generate(prompts[:2], 1, **options)[:, 2] for _ in range(400)]
    yield from shares(one_hot(torch.stack(small), 3).flatten(1).bool())  # (400, 2, 3) -> (400, 6)


@probe(draws=2)
def unlikely_tokens(unit: Any, draw: Draw) -> Iterator[Property]:
    model, _ = drawn_model(unit, torch.linspace(0, 0.4, 40).repeat(40, 1))
    options = draw.pick({}, {"generator": draw.generator})
    drawn = model.generate(torch.zeros(4000, 1, dtype=torch.long), 1, **options)[:, 1]
    # Each has 2 % or more, so one of them is missing once in 1e33.
    yield "how many tokens are drawn", len(drawn.unique())


@probe(draws=4)
def where_tokens_are_drawn(unit: Any, draw: Draw) -> Iterator[Property]:
    def result_with(generator: torch.Generator | None) -> Tensor:
        return model.generate(prompts, 6, generator=generator)

    model, _ = drawn_model(unit, draw.normal(5, 5, dtype=torch.float32, scale=0.3))
    prompts = draw.integers(0, 5, 12, 2)
    yield from draws_from_generator(result_with, draw.number)


# -- answers -------------------------------------------------------------------------------------------------------


def wrong_answers():
    """Mistakes without a name, and answers with two. Never run here: the audit reads them."""

    import torch.nn.functional as F

    class _RightModel(nn.Module):
        """A right answer in parts, which the classes below change."""

        def __init__(self, vocab_size):
            super().__init__()
            self.token_embedding_table = nn.Embedding(vocab_size, vocab_size)

        def loss(self, logits, targets, idx):
            return F.cross_entropy(logits.mT, targets)

        def forward(self, idx, targets=None):
            logits = self.token_embedding_table(idx)
            return logits, None if targets is None else self.loss(logits, targets, idx)

        def probabilities(self, logits):
            return F.softmax(logits, dim=-1)

        def new(self, logits, generator):
            return torch.multinomial(self.probabilities(logits), 1, generator=generator)

        def generate(self, idx, max_new_tokens, generator=None):
            for _ in range(max_new_tokens):
                idx = torch.cat([idx, self.new(self.token_embedding_table(idx[:, -1]), generator)], dim=1)
            return idx

    class loss_of_the_last_tokens__and__generator_ignored(_RightModel):
        def loss(self, logits, targets, idx):
            return F.cross_entropy(logits[:, -1, :], targets[:, -1])

        def generate(self, idx, max_new_tokens, generator=None):
            return super().generate(idx, max_new_tokens)

    class targets_shifted_back(_RightModel):
        def loss(self, logits, targets, idx):
            return F.cross_entropy(logits[:, 1:].mT, targets[:, :-1])

    class loss_against_idx(_RightModel):
        def loss(self, logits, targets, idx):
            return F.cross_entropy(logits.mT, idx)

    class temperature_of_nine_tenths(_RightModel):
        def probabilities(self, logits):
            return F.softmax(logits / 0.9, dim=-1)

    class least_likely(_RightModel):
        def probabilities(self, logits):
            return F.softmax(-logits, dim=-1)

    class logits_squared(_RightModel):
        def probabilities(self, logits):
            return logits**2

    class perplexity(_RightModel):
        def loss(self, logits, targets, idx):
            return super().loss(logits, targets, idx).exp()

    class no_super_init(nn.Module):
        def __init__(self, vocab_size):
            self.token_embedding_table = nn.Embedding(vocab_size, vocab_size)

    class generate_forgets_the_batch(_RightModel):
        def generate(self, idx, max_new_tokens, generator=None):
            idx = idx.flatten()
            for _ in range(max_new_tokens):
                probs = F.softmax(self.token_embedding_table(idx[-1:]), dim=-1)
                idx = torch.cat([idx, torch.multinomial(probs, 1, generator=generator)[0]])
            return idx

    class probability_of_the_sigmoid(_RightModel):
        def probabilities(self, logits):
            return torch.sigmoid(logits)

    class softmax_taken_twice_in_model__noise_added(_RightModel):
        def new(self, logits, generator):
            # Gumbel noise on top draws from the softmax of what it is put on
            noise = -torch.log(-torch.log(torch.rand(logits.shape, generator=generator)))
            return (F.softmax(logits, dim=-1) + noise).argmax(-1, keepdim=True)

    class unlikely_tokens_left_out__the_last_tenth(_RightModel):
        def new(self, logits, generator):
            likely, tokens = F.softmax(logits, dim=-1).sort(descending=True)
            likely[likely.cumsum(dim=-1) - likely > 0.9] = 0
            return tokens.gather(1, torch.multinomial(likely, 1, generator=generator))

    class last_token_not_chosen__new_tokens_flat(_RightModel):
        def new(self, logits, generator):
            return super().new(logits, generator)[:, 0]

    class generator_of_seeds__global_one(_RightModel):
        def generate(self, idx, max_new_tokens, generator=None):
            if generator is not None:
                torch.manual_seed(torch.randint(0, 10**6, (1,), generator=generator).item())
            return super().generate(idx, max_new_tokens)


def right_answers():
    """Answers in other styles. Never run here: the audit reads them."""

    from typing import Optional, Tuple

    import torch.nn.functional as F
    from bigram_language_model import cross_entropy, flatten_for_cross_entropy
    from simple_attention import softmax_stable

    class _Table(nn.Module):
        def __init__(self, vocab_size):
            super().__init__()
            self.token_embedding_table = nn.Embedding(vocab_size, vocab_size)

    class by_hand(_Table):
        def forward(self, idx, targets=None):
            rows = [torch.stack([self.token_embedding_table(token) for token in text]) for text in idx]
            logits = torch.stack(rows)
            if targets is None:
                return logits, None
            losses = [cross_entropy(row, answers) for row, answers in zip(logits, targets)]
            return logits, sum(losses) / len(losses)

        @torch.no_grad()
        def generate(self, idx, max_new_tokens, generator=None):
            texts = idx.tolist()
            for _ in range(max_new_tokens):
                for text in texts:
                    row = self.token_embedding_table.weight[text[-1]].double()
                    probabilities = torch.exp(row - row.max())
                    sums = torch.cumsum(probabilities / probabilities.sum(), dim=0)
                    throw = torch.rand(1, generator=generator, dtype=torch.float64)
                    text.append(min(int((sums <= throw).sum()), len(sums) - 1))
            return torch.tensor(texts)

    class heads_of_unit_four(_Table):
        def forward(self, idx, targets=None):
            logits = self.token_embedding_table.weight[idx.long()]
            if targets is None:
                return logits, None
            return logits, cross_entropy(*flatten_for_cross_entropy(logits, targets.long()))

        def generate(self, idx, max_new_tokens, generator=None):
            new = []
            last = idx[:, -1]
            for _ in range(max_new_tokens):
                probabilities = torch.softmax(self.token_embedding_table(last), dim=-1)
                last = torch.stack([torch.multinomial(row, 1, generator=generator)[0] for row in probabilities])
                new.append(last)
            return torch.cat([idx, torch.stack(new, dim=1)], dim=1) if new else idx.clone()

    class index_notation(nn.Module):
        def __init__(self, vocab_size: int) -> None:
            super().__init__()
            self.vocab_size = vocab_size
            self.token_embedding_table = nn.Embedding(vocab_size, vocab_size)
            nn.init.zeros_(self.token_embedding_table.weight)

        def forward(self, idx: Tensor, targets: Optional[Tensor] = None) -> Tuple[Tensor, Optional[Tensor]]:
            ones = nn.functional.one_hot(idx, self.vocab_size).to(self.token_embedding_table.weight.dtype)
            logits = torch.einsum("btv,vw->btw", ones, self.token_embedding_table.weight)
            loss = None
            if targets is not None:
                log_p = logits.log_softmax(-1)
                loss = -log_p.gather(2, targets.unsqueeze(2)).mean()
            return logits, loss

        def generate(self, idx: Tensor, max_new_tokens: int, generator: Optional[torch.Generator] = None) -> Tensor:
            text = torch.cat([idx, idx.new_zeros(len(idx), max_new_tokens)], dim=1)
            for place in range(idx.size(1), text.size(1)):
                logits, _ = self(text[:, place - 1 : place])
                throws = torch.rand(len(idx), self.vocab_size, generator=generator, dtype=torch.float64)
                # Gumbel's trick: with -ln(-ln u) added, each is the largest with its softmax probability.
                text[:, place] = (logits[:, 0] - (-throws.log()).log()).argmax(1)
            return text

    class one_on_another(_Table):
        def forward(self, idx, targets=None):
            logits = self.token_embedding_table(idx)
            if targets is not None:
                flat_logits, flat_targets = flatten_for_cross_entropy(logits, targets)
                return logits, cross_entropy(flat_logits, flat_targets)
            return logits, None

        def generate(self, idx, max_new_tokens, generator=None):
            if max_new_tokens == 0:
                return idx
            logits, _ = self(idx)
            new = torch.multinomial(softmax_stable(logits[:, -1], dim=-1), 1, generator=generator)
            return self.generate(torch.cat((idx, new), dim=1), max_new_tokens - 1, generator)

    class ready_made(_Table):
        def forward(self, idx, targets=None):
            logits = self.token_embedding_table(idx)
            loss = None if targets is None else F.cross_entropy(logits.transpose(1, 2), targets)
            return logits, loss

        @torch.no_grad()
        def generate(self, idx, max_new_tokens, generator=None):
            was_training = self.training
            self.eval()
            for _ in range(max_new_tokens):
                logits, _ = self(idx[:, -8:])
                p = logits[:, -1, :].exp()  # multinomial divides by the sum
                idx = torch.hstack((idx, p.multinomial(1, generator=generator)))
            self.train(was_training)
            return idx
