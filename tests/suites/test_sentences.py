"""What a student reads is true of the graded answer: wrong answers that once got an untrue sentence."""

from __future__ import annotations

import re
from typing import Any

import courses
import pytest
import torch
from courses import COURSE, REPOSITORY
from torch import Tensor, nn
from units import SUITES, right

from grader.engine.criteria import visible_criteria_of_unit
from grader.engine.diagnosis import diagnose
from grader.engine.engine_client import Engine
from grader.reports.report_model import Result
from grader.submissions.submission import Submission, UnitSource, UnitSubmission
from grader.testing.student import InProcessBackend


def reasons(unit: str, exercise: str, answer: Any) -> dict[str, str]:
    """Return the reason of each criterion that failed."""
    outcomes = SUITES[unit].outcomes({exercise: answer}, exercise)
    return {name: outcome.reason for name, outcome in outcomes.items() if not outcome.passed}


def visible_reason(unit: str, test: str, exercise: str, answer: Any) -> str:
    """Return what a visible test says about an answer."""
    [criterion] = [one for one in visible_criteria_of_unit(COURSE, unit) if one.name == test]
    return criterion.run(InProcessBackend(unit, {exercise: answer})).reason


def without_dropout(*names: str) -> type[nn.Module]:
    """Causal attention with these layers, for queries, keys and values, and no dropout."""

    class NoDropoutMade(nn.Module):
        def __init__(self, d_in: int, d_out: int, _length: int, _dropout: float, qkv_bias: bool = False) -> None:
            super().__init__()
            for name in names:
                self.add_module(name, nn.Linear(d_in, d_out, bias=qkv_bias))

        def forward(self, inputs: Tensor) -> Tensor:
            queries, keys, values = (self.get_submodule(name)(inputs) for name in names)
            return nn.functional.scaled_dot_product_attention(queries, keys, values, is_causal=True)

    return NoDropoutMade


@pytest.mark.parametrize(
    ("unit", "exercise", "names"),
    [
        ("causal_attention", "CausalAttention", ("W_query", "W_key", "W_value")),
        ("bigram_language_model", "Head", ("query", "key", "value")),
    ],
)
def test_the_sentence_about_unused_dropout_is_true_without_a_dropout_layer(
    unit: str, exercise: str, names: tuple[str, ...]
) -> None:
    suite = SUITES[unit]
    outcomes = suite.outcomes({exercise: without_dropout(*names)}, exercise)
    [found] = diagnose(COURSE, exercise, [(one, outcomes[one.name]) for one in suite.of(exercise)], suite.known)
    assert found.name == "dropout_never_applied"
    assert found.sentence.startswith("In training every output is as it is in eval mode: nothing is dropped.")


def test_heads_with_other_names_are_not_reported_as_without_weights() -> None:
    class OtherNames(nn.Module):
        def __init__(self, d_in: int, d_out: int, _length: int, _dropout: float, num_heads: int) -> None:
            super().__init__()
            layers = ("query", "key", "value")
            self.heads = nn.ModuleList(
                nn.ModuleDict({name: nn.Linear(d_in, d_out, bias=False) for name in layers}) for _ in range(num_heads)
            )

    found = reasons("multi_head_attention", "MultiHeadAttentionWrapper", OtherNames)["every_head_has_its_own_weights"]
    assert (
        found == "There is no parameter heads.0.W_query.weight of its own, which nn.Linear would have under this name."
    )


def test_a_head_that_is_used_again_is_not_reported_as_missing() -> None:
    def same_heads(*sizes: Any) -> nn.Module:
        wrapper = right("MultiHeadAttentionWrapper")(*sizes)
        wrapper.heads = nn.ModuleList([wrapper.heads[0]] * len(wrapper.heads))
        return wrapper

    found = reasons("multi_head_attention", "MultiHeadAttentionWrapper", same_heads)["every_head_has_its_own_weights"]
    assert (
        found == "There is no parameter heads.1.W_query.weight of its own, which nn.Linear would have under this name."
    )


def test_dropped_scores_are_not_reported_as_dropped_features() -> None:
    class ScoresDropped(nn.Module):
        def __init__(
            self, d_in: int, d_out: int, _length: int, dropout: float, num_heads: int, qkv_bias: bool = False
        ) -> None:
            super().__init__()
            self.W_query, self.W_key, self.W_value = (nn.Linear(d_in, d_out, bias=qkv_bias) for _ in range(3))
            self.out_proj, self.dropout, self.num_heads = nn.Linear(d_out, d_out), nn.Dropout(dropout), num_heads

        def forward(self, x: Tensor) -> Tensor:
            parts = (layer(x).unflatten(-1, (self.num_heads, -1)) for layer in (self.W_query, self.W_key, self.W_value))
            queries, keys, values = (part.transpose(1, 2) for part in parts)
            future = torch.ones(x.shape[1], x.shape[1]).triu(1).bool()
            scores = (queries @ keys.mT / keys.shape[-1] ** 0.5).masked_fill(future, -torch.inf)
            return self.out_proj((self.dropout(scores).softmax(-1) @ values).transpose(1, 2).flatten(-2))

    exercise = "MultiHeadAttention"
    found = reasons("multi_head_attention", exercise, ScoresDropped)["weights_are_dropped_in_training"]
    assert found == "In training some outputs are NaN: drop weights, after softmax."
    found = visible_reason(
        "multi_head_attention", "dropout_of_multi_head_attention_acts_in_training", exercise, ScoresDropped
    )
    assert found == "The output in training has NaN in it: mask the scores before softmax, and drop weights after it."


class SharedDropout(nn.Dropout):
    """One draw for all heads and texts."""

    def forward(self, weights: Tensor) -> Tensor:
        return weights * super().forward(torch.ones_like(weights[0, 0]))


def test_weights_dropped_alike_in_all_texts_are_not_reported_as_divided_by_their_sum() -> None:
    def shared(*sizes: Any, **options: Any) -> nn.Module:
        module = right("MultiHeadAttention")(*sizes, **options)
        module.dropout = SharedDropout(module.dropout.p)
        return module

    unit, test = "multi_head_attention", "weights_are_dropped_in_training"
    assert reasons(unit, "MultiHeadAttention", shared)[test] == "All texts of a batch drop the same weights."
    divided = SUITES[unit].mistake("kept_weights_renormalised").implementation
    assert reasons(unit, "MultiHeadAttention", divided)[test] == "The kept weights are divided by their sum again."


def test_one_draw_for_each_feature_is_not_reported_as_the_same_in_two_calls() -> None:
    class OneText(nn.Dropout):
        def forward(self, x: Tensor) -> Tensor:
            return x * super().forward(torch.ones_like(x[:1, :1]))

    def shared(*arguments: Any, **options: Any) -> nn.Module:
        block = right("TransformerBlock")(*arguments, **options)
        block.dropout = OneText(block.dropout.p)
        return block

    found = reasons("transformer_block", "TransformerBlock", shared)
    assert found["numbers_of_attention_are_dropped"].startswith("All texts have the same numbers dropped in the")
    seeded = SUITES["transformer_block"].mistake("always_the_same_draws").implementation
    found = reasons("transformer_block", "TransformerBlock", seeded)
    assert found["numbers_of_attention_are_dropped"].startswith("Two calls have the same numbers dropped in the")


def named(unit: str, exercise: str, answer: Any) -> dict[str, str]:
    """Return the sentences of the misconceptions behind an answer, by name."""
    outcomes = SUITES[unit].outcomes({exercise: answer}, exercise)
    results = [(one, outcomes[one.name]) for one in SUITES[unit].of(exercise)]
    return {one.name: one.sentence for one in diagnose(COURSE, exercise, results, SUITES[unit].known)}


def test_an_id_that_raises_an_index_error_is_not_said_to_raise_none() -> None:
    def off_by_one(ids: list[int], vocabulary: list[str]) -> str:
        if any(number < 0 or number > len(vocabulary) for number in ids):
            raise ValueError(ids)
        return "".join(vocabulary[number] for number in ids)

    [sentence] = named("bigram_language_model", "decode", off_by_one).values()
    assert sentence.startswith("The id V itself raises no ValueError.")


def test_a_bias_that_is_only_the_first_state_is_not_said_to_be_unused() -> None:
    def first_state(inputs: Tensor, W_x: Tensor, W_h: Tensor, bias: Tensor) -> Tensor:
        states = [bias]
        for token in inputs:
            states.append(torch.tanh(token @ W_x + states[-1] @ W_h))
        return torch.stack(states[1:])

    found = named("encoder_decoder_attention", "rnn_hidden_states", first_state)
    assert list(found) == ["starts_from_the_bias", "bias_forgotten"]
    assert found["starts_from_the_bias"].startswith("The bias is the state before the first token.")
    assert found["bias_forgotten"] == "The bias is not in the sum. Add it to the sum at every step."


@pytest.mark.parametrize(
    ("vocabulary", "context", "reason"),
    [
        (None, 1024, "One more position adds 0 · emb_dim parameters: your count always has 1024."),
        (50257, None, "One more token adds 0 · emb_dim parameters: your count always has 50257."),
        (None, 0, "One more position adds 0 · emb_dim parameters."),
    ],
)
def test_a_size_that_is_fixed_costs_only_its_own_criterion(
    vocabulary: int | None, context: int | None, reason: str
) -> None:
    count = right("gpt2_parameter_count")

    def fixed(num_layers: int, emb_dim: int, vocab_size: int = 50257, context_length: int = 1024) -> Any:
        sizes = (
            given if size is None else size for given, size in ((vocab_size, vocabulary), (context_length, context))
        )
        return count(num_layers, emb_dim, *sizes)

    assert [*reasons("transformer_block", "gpt2_parameter_count", fixed).values()][:1] == [reason]
    # Embeddings that are counted in a fixed number are not missing.
    assert bool(named("transformer_block", "gpt2_parameter_count", fixed)) == (context == 0)


@pytest.mark.parametrize(
    ("seed", "advice"),
    [(None, "the calls differ, but draw for each"), (1, "draw again in each call, without a seed, and")],
)
def test_a_fixed_number_of_dropped_weights_is_only_said_to_be_drawn_once_if_it_is(
    seed: int | None, advice: str
) -> None:
    def fixed(weights: Tensor, p: float, generator: torch.Generator | None = None) -> Tensor:
        if not 0 <= p < 1:
            raise ValueError(p)
        generator = torch.Generator().manual_seed(seed) if seed else generator
        dropped = torch.randperm(weights.numel(), generator=generator)[: int(p * weights.numel())]
        return (weights / (1 - p)).flatten().index_fill(0, dropped, 0).view(weights.shape)

    test = "attention_dropout"
    found = visible_reason("causal_attention", "each_weight_is_dropped_independently", test, fixed)
    assert found.startswith(f"The same number of weights is kept in every call: {advice}")


def test_an_empty_list_is_not_described_by_its_length() -> None:
    found = visible_reason("bigram_language_model", "encode_refuses_1", "encode", lambda *_: [])
    assert found.endswith("Yours returns an empty list.")


def test_the_targets_that_are_shown_are_wrong_ones() -> None:
    def last_targets_wrong(data: Tensor, *arguments: Any, **options: Any) -> tuple[Tensor, Tensor]:
        idx, targets = right("sample_batch")(data, *arguments, **options)
        targets[-1] = idx[-1]
        return idx, targets

    found = visible_reason("bigram_language_model", "sample_batch", "sample_batch", last_targets_wrong)
    pieces = re.findall(r"\[.*?\]", found)
    assert pieces[0] == pieces[1], found


def test_a_narrow_feed_forward_is_not_reported_as_dropped_in_eval_mode() -> None:
    def narrow(*sizes: Any) -> nn.Module:
        model = right("SmallGPT")(*sizes)
        for block in model.blocks:
            block.feed_forward = right("FeedForward")(sizes[2], 2)
        return model

    assert reasons("small_gpt", "SmallGPT", narrow).keys() == {
        "each_block_has_its_own_parameters",
        "the_number_of_parameters",
        "the_sum_goes_through_the_blocks",
        "gradients_of_the_model",
    }


def test_a_layer_of_another_class_is_not_reported_as_missing() -> None:
    class Scaled(nn.Module):
        def __init__(self, d_in: int, d_out: int) -> None:
            super().__init__()
            self.matrix = nn.Parameter(torch.rand(d_out, d_in))

    class OtherClass(nn.Module):
        def __init__(self, d_in: int, d_out: int, *_: Any, **__: Any) -> None:
            super().__init__()
            self.W_query, self.W_key, self.W_value = (Scaled(d_in, d_out) for _ in range(3))

    found = reasons("causal_attention", "CausalAttention", OtherClass)["three_layers_from_d_in_to_d_out"]
    assert found == "There is no parameter W_query.weight of its own, which nn.Linear would have under this name."


@pytest.mark.parametrize(
    ("hidden", "reason"),
    [(4, "The first layer has no bias."), (1, "One layer has no bias.")],
)
def test_the_layer_without_a_bias_is_named(hidden: int, reason: str) -> None:
    class NoFirstBias(nn.Module):
        def __init__(self, emb_dim: int, expansion: int = 4) -> None:  # noqa: ARG002
            super().__init__()
            self.widen = nn.Linear(emb_dim, hidden * emb_dim, bias=False)
            self.narrow = nn.Linear(hidden * emb_dim, emb_dim)

    assert reasons("transformer_block", "FeedForward", NoFirstBias)["both_layers_have_a_bias"] == reason


def test_dropout_of_the_whole_sum_is_not_reported_as_missing_dropout() -> None:
    block = right("TransformerBlock")

    class SumsDropped(block):  # type: ignore[misc, valid-type]
        def forward(self, x: Tensor) -> Tensor:
            x = x + self.dropout(self.attention(self.norm1(x)))
            return self.dropout(x) + self.dropout(self.feed_forward(self.norm2(x)))

    found = reasons("transformer_block", "TransformerBlock", SumsDropped)["numbers_of_attention_are_dropped"]
    assert found.startswith("In training no output shows a dropped number of attention with everything else unchanged")


def test_the_width_that_should_be_refused_is_named() -> None:
    def sinusoidal_encoding(num_positions: int, d_model: int) -> Tensor:
        return torch.zeros(num_positions, d_model)

    found = reasons("positional_encoding", "sinusoidal_encoding", sinusoidal_encoding)["an_odd_width_is_refused"]
    assert found == "It raised no error where one was expected: for d_model = 9."
    found = reasons("positional_encoding", "add_positions", lambda x: x)["embeddings_of_odd_width_are_refused"]
    assert found == "It raised no error where one was expected: for d = 9."


def graded(engine: Engine, unit: str, text: str) -> Result:
    submission = Submission("ada", None, {unit: UnitSubmission(UnitSource(f"{unit}.py", (text,)))})
    return courses.graded(engine, submission)


def test_an_assert_that_is_always_true_is_reported(engine: Engine) -> None:
    text = (REPOSITORY / "solutions" / "positional_encoding.py").read_text(encoding="utf-8")
    text = text.replace("def sinusoidal_encoding", "def another")
    wrong = '\n\ndef sinusoidal_encoding(num_positions, d_model):\n    assert (d_model % 2 == 0, "odd")\n'
    wrong += "    return torch.zeros(num_positions, d_model)\n"
    result = graded(engine, "positional_encoding", text + wrong)
    line = (text + wrong).splitlines().index('    assert (d_model % 2 == 0, "odd")') + 1
    found = {outcome.name: outcome.reason for outcome in result.outcomes}
    assert found["an_odd_width_is_refused"] == (
        "It raised no error where one was expected: for d_model = 9. "
        f"The assert in line {line} of positional_encoding.py is always true, because it tests a tuple: "
        "write it without the brackets."
    )
    assert [message for message in result.messages if message.kind == "not run"] == []


def test_a_later_definition_that_fails_leaves_the_earlier_one_in_force(engine: Engine) -> None:
    text = (REPOSITORY / "solutions" / "positional_encoding.py").read_text(encoding="utf-8")
    result = graded(engine, "positional_encoding", f"{text}\n\ndef add_positions(x)\n    return x\n")
    assert all(found.passed for found in result.outcomes)
    [message] = [message for message in result.messages if message.kind == "not run"]
    assert message.hint == "Put a colon at the end of the line. An earlier `add_positions` is used instead."


@pytest.mark.parametrize(
    ("imports", "reason", "hint"),
    [
        ("", "It raised a NameError.", "Add `from simple_attention import softmax_stable` at the top of the file."),
        (
            "from simple_atention import softmax_stable",
            "It raised a NameError. The cause is line 1 of self_attention.py: it raised ModuleNotFoundError.",
            None,
        ),
    ],
)
def test_an_exercise_of_another_unit_that_is_not_imported_is_not_blamed(
    engine: Engine, imports: str, reason: str, hint: str | None
) -> None:
    text = (REPOSITORY / "solutions" / "self_attention.py").read_text(encoding="utf-8")
    text = text.replace("torch.softmax(scores", "softmax_stable(scores")
    result = graded(engine, "self_attention", f"{imports}\n{text}")
    failed = [outcome for outcome in result.outcomes if not outcome.passed]
    assert {one.reason for one in failed if one.exercise == "scaled_dot_product_attention"} == {reason}
    [raised] = [one for one in result.messages if one.kind == "raised"]
    assert raised.hint == hint
    assert all(one.waiting for one in failed if one.exercise == "SelfAttention_v1")
