"""A wrong answer that no misconception explains gets the property of its results, if they have one."""

from __future__ import annotations

import textwrap
from typing import Any

from courses import REPOSITORY
from units import SUITES, defined_in

from grader.engine.diagnosis import recognized
from grader.engine.outcomes import Outcome
from grader.testing.student import InProcessBackend

LAYERS = """
    class CausalAttention(nn.Module):
        def __init__(self, d_in, d_out, context_length, dropout, qkv_bias=False):
            super().__init__()
            self.W_query, self.W_key, self.W_value = (nn.Linear(d_in, d_out, bias=qkv_bias) for _ in range(3))
            self.dropout = nn.Dropout(dropout)

        def weights(self, x, hidden=-torch.inf):
            future = torch.ones(x.shape[1], x.shape[1]).triu(1).bool()
            scores = self.W_query(x) @ self.W_key(x).mT / self.W_key.out_features**0.5
            return scores.masked_fill(future, hidden).softmax(-1)

        def forward(self, x):
            return {outputs}
    """


def graded(unit: str, exercise: str, source: str) -> list[Outcome]:
    """The outcomes of a student's source for one exercise."""
    names: dict[str, Any] = {"__name__": unit}
    exec("import torch\nimport torch.nn as nn\n" + textwrap.dedent(source), names)
    backend = InProcessBackend(unit, {exercise: names[exercise]})
    return [criterion.run(backend) for criterion in SUITES[unit].of(exercise)]


def sentences(unit: str, exercise: str, source: str) -> dict[str, str]:
    """The sentences by the names of what is recognized."""
    return {found.name: found.sentence for found in recognized(exercise, graded(unit, exercise, source))}


def causal_attention(outputs: str) -> list[str]:
    """What is recognized if the forward pass returns these outputs."""
    return list(sentences("causal_attention", "CausalAttention", LAYERS.format(outputs=outputs)))


def test_the_sentence_names_what_was_compared() -> None:
    source = """
        def head_scores(queries, keys):
            return queries @ keys.mT / 2
        """
    assert sentences("multi_head_attention", "head_scores", source) == {
        "constant_factor": "The scores are the expected ones, multiplied by 0.5."
    }


def test_a_factor_that_is_the_root_of_a_size_is_named() -> None:
    source = """
        def head_scores(queries, keys):
            return queries @ keys.mT / queries.shape[-1]**0.5
        """
    [sentence] = sentences("multi_head_attention", "head_scores", source).values()
    assert sentence.endswith("That is 1/√5, and 5 is a size of the input: is there one division by its root too many?")


def test_the_sentence_says_how_many_tests_show_the_property() -> None:
    source = """
        def linear_as_matmul(x, weight, bias):
            return x @ weight / 3 + bias  # most tests have a bias of zero
        """
    assert sentences("positional_encoding", "linear_as_matmul", source) == {
        "constant_factor": "In 3 of 4 failed tests, the values are the expected ones, multiplied by 0.333."
    }


def test_values_under_several_names_are_the_values() -> None:
    source = """
        def project_qkv(inputs, W_query, W_key, W_value):
            return tuple(torch.tanh(inputs @ matrix) for matrix in (W_query, W_key, W_value))
        """
    assert sentences("self_attention", "project_qkv", source) == {
        "extra_tanh": "The values are the tanh of the expected ones: that step is too much."
    }


def test_a_result_with_another_shape_may_be_right_but_transposed() -> None:
    source = """
        def group_by_head(x):
            return x.permute(0, 2, 3, 1)
        """
    [(name, sentence)] = sentences("multi_head_attention", "group_by_head", source).items()
    assert name == "transposed"
    assert "dimensions 2 and 3 are swapped" in sentence


def test_failures_only_in_training_are_about_dropout() -> None:
    assert causal_attention("self.dropout(self.weights(x) @ self.W_value(x))") == ["only_in_training"]


def test_dropout_that_stays_in_evaluation_mode_is_another_mistake() -> None:
    dropped = "nn.functional.dropout(self.weights(x), self.dropout.p)"
    assert causal_attention(f"{dropped} @ self.W_value(x)") == []


def test_values_that_are_right_without_their_gradients() -> None:
    assert causal_attention("self.dropout(self.weights(x)).detach() @ self.W_value(x)") == ["only_gradients"]


def test_outputs_that_change_with_a_later_token() -> None:
    assert causal_attention("self.dropout(self.weights(x, -3.0)) @ self.W_value(x)") == ["future_matters"]


def test_outputs_that_are_no_numbers_change_with_nothing() -> None:
    assert causal_attention("self.dropout(self.weights(x, torch.nan)) @ self.W_value(x)") == ["not_a_number"]


def test_an_answer_that_works_only_where_two_sizes_are_equal() -> None:
    source = """
        def scaled_dot_product_attention(queries, keys, values):
            num_tokens, d_k = queries.shape[-2:]
            keys = keys.reshape(*queries.shape)
            weights = (queries @ keys.mT / d_k**0.5).softmax(-1)
            return weights @ values, weights
        """
    assert sentences("self_attention", "scaled_dot_product_attention", source) == {
        "only_with_equal_sizes": "It works only where dimension -2 of argument 1 and dimension -2 of argument 2 are "
        "equal; it fails in each test in which they differ."
    }


def test_a_size_may_be_an_argument_of_the_class() -> None:
    weights = "self.dropout(self.weights(x) + torch.zeros(self.length, self.length)) @ self.W_value(x)"
    source = LAYERS.replace("super().__init__()", "super().__init__()\n            self.length = context_length")
    found = sentences("causal_attention", "CausalAttention", source.format(outputs=weights))
    assert "argument 3 of the class and dimension -2 of argument 1" in found["only_with_equal_sizes"]


def test_a_right_answer_has_no_property() -> None:
    right = defined_in(REPOSITORY / "solutions" / "self_attention.py", "self_attention")
    backend = InProcessBackend("self_attention", right)
    outcomes = [criterion.run(backend) for criterion in SUITES["self_attention"].of("scaled_dot_product_attention")]
    assert outcomes
    assert recognized("Residual", outcomes) == []


def test_an_answer_that_is_not_written_has_no_property() -> None:
    source = """
        def head_scores(queries, keys):
            raise NotImplementedError
        """
    assert sentences("multi_head_attention", "head_scores", source) == {}


def test_an_answer_without_a_relation_to_the_expected_one_has_no_property() -> None:
    source = """
        def head_scores(queries, keys):
            return torch.cdist(queries, keys)
        """
    assert sentences("multi_head_attention", "head_scores", source) == {}
