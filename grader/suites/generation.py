"""Generated texts in unit 6 and the capstone: checks of a function that continues ids (B, T) token by token.

The model of a check is a table (V, V) whose row i has the logits of the token after i. There are two kinds of tables.
If the rule is not about chance, one token follows each with a probability of nearly one: another is drawn once in 1e20
times. If it is, the probabilities are known. exp(60) is finite in float32, so softmax works without subtracting the
maximum.
"""

from __future__ import annotations

from collections.abc import Callable

import torch

from grader.suites.causal import Parts
from grader.testing.checks import expect_close, expect_number, expect_true
from grader.testing.draws import Fresh, expect_count
from grader.testing.student import Student

# Hides the frames of these checks in pytest's tracebacks, which then end at the line of the test.
__tracebackhide__ = True

# Called with the prompt and the number of new tokens.
Generate = Callable[..., object]
# Returns a function that generates with this table.
GenerateWith = Callable[[torch.Tensor], Generate]

# All different, so that mixed-up dimensions show.
T, V, STEPS = 5, 7, 4
SURE, NEVER = 60.0, -60.0
# With this many draws, 3 √n is 5.5 % of them.
DRAWS = 3000
# For one likely token and many unlikely ones.
KINDS, MANY_DRAWS = 128, 4000
UNLIKELY = "The new tokens are not those with nearly all the probability."
TOO_OFTEN, TOO_RARELY = "The most likely token is drawn too often.", "The most likely token is drawn too rarely."


def random_ids(fresh: Fresh, *shape: int) -> torch.Tensor:
    """Ids below V of this shape."""
    return fresh(*shape, V).argmax(-1)


def successors(fresh: Fresh) -> tuple[torch.Tensor, torch.Tensor]:
    """Return the successor of each token (V,), in one cycle through all tokens, and a table (V, V) with these."""
    order = fresh.order(V)
    following = torch.empty_like(order)
    following[order] = order.roll(-1)
    return following, SURE * torch.nn.functional.one_hot(following, V)


def expect_continued(value: object, idx: torch.Tensor, count: int) -> torch.Tensor:
    """Return the new tokens (B, count), after the unchanged prompt (B, T)."""
    expect_true(isinstance(value, torch.Tensor), "generate should return one tensor.")
    assert isinstance(value, torch.Tensor)
    texts, length = idx.shape
    expect_true(value.shape != (texts, count), "Only the new tokens are returned, without the prompt.")
    what = f"The result should not have the shape {tuple(value.shape)}."
    expect_true(value.shape == (texts, length + count), what)
    expect_true(torch.equal(value[:, :length].long(), idx), "The prompt has changed.")
    return value[:, length:].long()


def expect_prompt_first(fresh: Fresh, generate_with: GenerateWith) -> None:
    """Expect the prompt, as ids, followed by the new tokens."""
    following, table = successors(fresh)
    # All texts are equal and end with their first token, so it does not matter which of these a new token follows.
    idx = random_ids(fresh, 1, T).expand(40, T).clone()
    idx[:, -1] = idx[:, 0]
    generate = generate_with(table)
    text = generate(idx, 1)
    new = expect_continued(text, idx, 1)
    expect_true(torch.equal(new[:, 0], following[idx[:, -1]]), UNLIKELY)
    expect_continued(generate(idx, STEPS), idx, STEPS)
    assert isinstance(text, torch.Tensor)
    expect_true(not text.is_floating_point(), "The ids of the prompt have become floats.")


def expect_drawn_from_the_softmax(student: Student, fresh: Fresh, generate_with: GenerateWith) -> None:
    """Expect each token as often as the softmax of the last token's logits says."""
    last, first, *others = fresh.order(V).tolist()
    table = torch.full((V, V), NEVER)
    table[:, others[3:]] = 0.0
    table[last] = NEVER
    # Shifted by a constant, which softmax ignores.
    table[last, others[:3]] = torch.tensor([0.8, 0.15, 0.05]).log() - 1.5
    shares = Parts(student).softmax(table[last].double())
    idx = torch.tensor([[first, last]]).expand(DRAWS, 2).clone()
    new = expect_continued(generate_with(table)(idx, 1), idx, 1)[:, 0]
    expect_true(bool(((new >= 0) & (new < V)).all()), "Tokens are drawn that do not exist.")
    # A draw by the cumulative sum may hit a rounding error at its ends, once in some millions of draws.
    are_possible = (shares[new] > 1e-6).double().mean() > 0.99
    if not are_possible:
        expect_number((shares[new] <= 1e-6).double().mean().item(), 0.0, within=0.02)
        expect_true(False, "Tokens are drawn that have almost no probability.")
    expect_true(len(new.unique()) > 1, "All texts with the same prompt get the same token.")
    excess = ((new == others[0]).double().sum() - shares[others[0]] * DRAWS).item() / DRAWS**0.5
    expect_true(excess <= 3, TOO_OFTEN)
    expect_true(excess >= -3, TOO_RARELY)
    for other in others[1:3]:
        reason = "A less likely token is not drawn as often as it should."
        expect_count(new == other, shares[other].item(), reason)
    expect_unlikely_tokens_too(student, fresh, generate_with)


def expect_unlikely_tokens_too(student: Student, fresh: Fresh, generate_with: GenerateWith) -> None:
    """Expect a likely token among many unlikely ones in half of the draws, and the least likely ones in some.

    The other tokens share half of the probability. A temperature moves much of it: with 0.9 the likely token has 0.63,
    and its count is below the bound in one of 10^18 runs. Top-k and top-p leave out the least likely tokens.

    A right answer draws none of the 12 least likely tokens, which have 2.8 %, with a probability of 0.972^4000 =
    1e-49. By Hoeffding's inequality its count is off by 4 √n with 2 exp(-32) = 3e-14 (see draws.py).
    """
    order = fresh.order(KINDS)
    likely, least = order[0], order[1:13]
    table = torch.zeros(KINDS, KINDS)
    table[likely, order[1:]] = torch.linspace(-0.5, 0.5, KINDS - 1)
    table[likely, likely] = table[likely, order[1:]].logsumexp(0)
    shares = Parts(student).softmax(table[likely].double())
    idx = torch.stack([least[0], likely]).expand(MANY_DRAWS, 2).clone()
    new = expect_continued(generate_with(table)(idx, 1), idx, 1)[:, 0]
    expect_true(bool(torch.isin(new, least).any()), "The least likely of many tokens are never drawn.")
    excess = ((new == likely).double().sum() - shares[likely] * MANY_DRAWS).item() / MANY_DRAWS**0.5
    expect_true(excess <= 4, TOO_OFTEN)
    expect_true(excess >= -4, TOO_RARELY)


def expect_each_token_follows_the_one_before(fresh: Fresh, generate_with: GenerateWith) -> None:
    """Expect each new token to depend on the token drawn before it, in each text separately."""
    following, table = successors(fresh)
    idx = torch.stack([fresh.order(V)[:T] for _ in range(3)])
    idx[:, -1] = fresh.order(V)[:3]
    generate = generate_with(table)
    new = expect_continued(generate(idx, V + 1), idx, V + 1)
    again = expect_continued(generate(idx, V + 1), idx, V + 1)
    if not torch.equal(new, again):
        many = idx.repeat(400, 1)
        step = expect_continued(generate(many, 1), many, 1)[:, 0]
        expect_number((step == following[many[:, -1]]).double().mean().item(), 1.0, within=0.3)
    expected = [idx[:, -1]]
    for _ in range(V + 1):
        expected.append(following[expected[-1]])
    expect_close(new, torch.stack(expected[1:], dim=1), "The new tokens")


def expect_every_token_drawn_by_itself(fresh: Fresh, generate_with: GenerateWith) -> None:
    """Expect each text and each step to be drawn independently."""
    # All logits are equal, so two independent draws are equal with a probability of 1 / V.
    idx = random_ids(fresh, 1, 1).expand(400, 1).clone()
    new = expect_continued(generate_with(torch.zeros(V, V))(idx, STEPS), idx, STEPS)
    expect_count(new[0::2] == new[1::2], 1 / V, "The draw for a text depends on the text before.")
    expect_count(new[:, 0::2] == new[:, 1::2], 1 / V, "The draw at a step depends on the step before.")


def expect_prompts_of_any_size(fresh: Fresh, generate_with: GenerateWith) -> None:
    """Expect one token after prompts of one or more texts and tokens."""
    following, table = successors(fresh)
    generate = generate_with(table)
    for texts, count in ((40, 1), (1, T), (1, 1)):
        idx = random_ids(fresh, 1, 1).expand(texts, count).clone()
        new = expect_continued(generate(idx, 1), idx, 1)
        expect_true(torch.equal(new[:, 0], following[idx[:, -1]]), UNLIKELY)
