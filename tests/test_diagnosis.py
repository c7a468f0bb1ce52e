"""A wrong answer that behaves like one known mistake is named by it; one that does not is left without a name."""

from __future__ import annotations

import dataclasses
import textwrap
from typing import Any

import pytest
from units import SUITES, Suite, by_misconception

from grader.diagnosis import diagnose
from grader.sandbox.student import Beside
from grader.suites.criteria import Criterion, Misconception, Outcome
from grader.suites.self_attention import misconceptions as mistakes

UNIT = "self_attention"
KNOWN = SUITES[UNIT].known


def graded(exercise: str, answer: Any, unit: str = UNIT) -> list[tuple[Criterion, Outcome]]:
    beside = Beside(unit, {exercise: answer})
    return [(criterion, criterion.run(beside)) for criterion in SUITES[unit].of(exercise)]


def written(exercise: str, source: str) -> Any:
    """The answer to an exercise as a student writes it."""
    names: dict[str, Any] = {"__name__": UNIT}
    exec("import math\nimport torch\nimport torch.nn as nn\n" + textwrap.dedent(source), names)
    return names[exercise]


def diagnosis(exercise: str, answer: Any, unit: str = UNIT) -> list[str]:
    return [found.name for found in diagnose(exercise, graded(exercise, answer, unit), SUITES[unit].known)]


@by_misconception
def test_every_misconception_is_told_apart_from_all_others(suite: Suite, mistake: Misconception) -> None:
    assert diagnosis(mistake.exercise, mistake.implementation, suite.unit) == [mistake.name]


IN_OTHER_WORDS = {
    "half_instead_of_root": """
        def scaled_dot_product_attention(q, k, v):
            d_k = q.size(-1)
            attn_scores = torch.einsum("...qd,...kd->...qk", q, k)
            attn_weights = torch.nn.functional.softmax(attn_scores * 0.5 / d_k, dim=-1)
            return torch.matmul(attn_weights, v), attn_weights
        """,
    "scaling_forgotten": """
        def scaled_dot_product_attention(queries, keys, values):
            e = torch.exp(queries @ keys.mT)
            weights = e / e.sum(-1, keepdim=True)
            return weights @ values, weights
        """,
    "softmax_over_queries": """
        def scaled_dot_product_attention(queries, keys, values):
            scores = keys @ queries.transpose(-1, -2) / math.sqrt(keys.size(-1))
            weights = scores.softmax(-1).transpose(-1, -2)
            return torch.einsum("...qk,...kv->...qv", weights, values), weights
        """,
    "values_averaged": """
        def scaled_dot_product_attention(queries, keys, values):
            count = keys.shape[-2]
            contexts = values.mean(dim=-2, keepdim=True).repeat_interleave(queries.shape[-2], dim=-2)
            return contexts, torch.full((*queries.shape[:-1], count), 1 / count, dtype=queries.dtype)
        """,
    "at_most_one_leading_dimension": """
        def scaled_dot_product_attention(q, k, v):
            if len(k.shape) < 3:
                scores = torch.mm(q, k.t())
            else:
                scores = torch.matmul(q, k.permute(0, 2, 1))
            w = torch.softmax(scores / k.shape[-1] ** 0.5, -1)
            return w @ v, w
        """,
    "queries_and_keys_swapped": """
        def project_qkv(inputs, W_query, W_key, W_value):
            keys = torch.einsum("ti,io->to", inputs, W_key)
            queries = torch.einsum("ti,io->to", inputs, W_query)
            return [keys, queries, inputs.matmul(W_value)]
        """,
    "plain_tensors": """
        class SelfAttention_v1(nn.Module):
            def __init__(self, d_in, d_out):
                super().__init__()
                self.W_query, self.W_key, self.W_value = torch.rand(3, d_in, d_out)

            def forward(self, x):
                weights = torch.softmax(x @ self.W_query @ (x @ self.W_key).T / self.W_key.shape[1] ** 0.5, dim=1)
                return weights @ (x @ self.W_value)
        """,
    "scaled_by_d_in_in_v1": """
        class SelfAttention_v1(nn.Module):
            def __init__(self, d_in, d_out):
                super().__init__()
                for name in ("W_key", "W_query", "W_value"):
                    setattr(self, name, nn.Parameter(torch.randn(d_in, d_out)))

            def forward(self, x):
                d_k = self.W_query.shape[0]
                weights = torch.softmax((x @ self.W_query) @ (x @ self.W_key).T * d_k ** -0.5, dim=1)
                return weights @ x @ self.W_value
        """,
    "bias_always": """
        class SelfAttention_v2(nn.Module):
            def __init__(self, d_in, d_out, qkv_bias=False):
                super().__init__()
                self.W_value = nn.Linear(d_in, d_out)
                self.W_key = nn.Linear(d_in, d_out)
                self.W_query = nn.Linear(d_in, d_out)

            def forward(self, x):
                q, k, v = self.W_query(x), self.W_key(x), self.W_value(x)
                return nn.functional.scaled_dot_product_attention(q[None], k[None], v[None])[0]
        """,
    "not_transposed": """
        def transfer_weights(v2, v1):
            for layer in (v2.W_query, v2.W_key, v2.W_value):
                assert layer.bias is None or not layer.bias.any()
            with torch.no_grad():
                v1.W_query[:] = v2.W_query.weight
                v1.W_key[:] = v2.W_key.weight
                v1.W_value[:] = v2.W_value.weight
        """,
    "key_bias_thought_harmless": """
        def transfer_weights(v2, v1):
            if v2.W_query.bias is not None:
                assert v2.W_query.bias.abs().max() == 0
                assert v2.W_value.bias.abs().max() == 0
            for name, layer in v2.named_children():
                setattr(v1, name, nn.Parameter(layer.weight.detach().t().contiguous()))
        """,
    "standard_deviations": """
        def dot_product_variance(d_k, samples, generator=None):
            keys = torch.randn(d_k, samples, generator=generator)
            queries = torch.randn(d_k, samples, generator=generator)
            products = torch.einsum("ds,ds->s", queries, keys)
            return products.std(), (products / math.sqrt(d_k)).std()
        """,
    "always_the_same_draws": """
        def dot_product_variance(d_k, samples, generator=None):
            if generator is None:
                torch.manual_seed(42)
            pairs = torch.randn(2, samples, d_k, generator=generator)
            products = pairs.prod(0).sum(1)
            return products.var(), products.var() / d_k
        """,
    "generator_ignored": """
        def dot_product_variance(d_k, samples, generator=None):
            products = (torch.randn(2, samples, d_k)).prod(0).sum(1)
            return float(products.var()), float(products.var() / d_k)
        """,
}


@pytest.mark.parametrize(("name", "source"), IN_OTHER_WORDS.items(), ids=IN_OTHER_WORDS)
def test_a_misconception_is_known_by_its_behaviour_in_other_words_too(name: str, source: str) -> None:
    mistake = SUITES[UNIT].mistake(name)
    assert diagnosis(mistake.exercise, written(mistake.exercise, source)) == [name]


def test_a_right_answer_has_no_name() -> None:
    assert diagnosis("scaled_dot_product_attention", mistakes.attention) == []


def test_an_answer_like_no_misconception_has_no_name() -> None:
    source = """
        def scaled_dot_product_attention(queries, keys, values):
            weights = torch.softmax(torch.cdist(queries, keys), dim=-1)
            return weights @ values, weights
        """
    assert diagnosis("scaled_dot_product_attention", written("scaled_dot_product_attention", source)) == []


def test_two_mistakes_at_once_have_no_name() -> None:
    source = """
        def scaled_dot_product_attention(queries, keys, values):
            weights = torch.softmax(queries @ keys.transpose(-2, -1) / keys.shape[-1] * 0.5, dim=-2)
            return weights @ values, weights
        """
    assert diagnosis("scaled_dot_product_attention", written("scaled_dot_product_attention", source)) == []


def test_an_answer_that_is_not_written_has_no_name() -> None:
    def not_written(*_: object) -> None:
        raise NotImplementedError

    assert diagnosis("project_qkv", not_written) == []


def test_a_name_that_does_not_exist_has_no_name() -> None:
    results = [(one, one.run(Beside(UNIT, {}))) for one in SUITES[UNIT].of("project_qkv")]
    assert {outcome.kind for _, outcome in results} == {"not defined"}
    assert diagnose("project_qkv", results, KNOWN) == []


def test_an_answer_like_several_misconceptions_has_no_name() -> None:
    mistake = SUITES[UNIT].mistake("values_first")
    twin = dataclasses.replace(mistake, name="twin")
    assert diagnose("project_qkv", graded("project_qkv", mistake.implementation), [mistake, twin]) == []


def test_only_misconceptions_of_the_same_exercise_are_compared() -> None:
    mistake = SUITES[UNIT].mistake("values_first")
    stranger = dataclasses.replace(mistake, exercise="transfer_weights")
    assert diagnose("project_qkv", graded("project_qkv", mistake.implementation), [stranger]) == []
