"""Masks: a hidden score may be any number far below all other scores, and no higher number."""

from __future__ import annotations

import pytest
from courses import REPOSITORY
from units import SUITES

from grader.engine.failure_matrix import names_in, with_imports

EXERCISES = {
    "mask_then_softmax": "causal_attention",
    "CausalAttention": "causal_attention",
    "head_weights": "multi_head_attention",
    "MultiHeadAttention": "multi_head_attention",
    "Head": "bigram_language_model",
    "CrossAttention": "encoder_decoder_attention",
}


def missed(exercise: str, hidden: str) -> set[str]:
    """Return the criteria that the solution of an exercise loses with another number instead of -inf."""
    unit = EXERCISES[exercise]
    text = (REPOSITORY / "solutions" / f"{unit}.py").read_text(encoding="utf-8")
    names = names_in(unit, with_imports(unit, text.replace("-torch.inf)", f"{hidden})"), REPOSITORY / "solutions"))
    return {name for name, outcome in SUITES[unit].outcomes(names, exercise).items() if not outcome.passed}


@pytest.mark.parametrize("exercise", EXERCISES)
@pytest.mark.parametrize("hidden", ["-torch.inf", "-1e9", "torch.finfo(scores.dtype).min"])
def test_a_number_below_all_other_scores_hides(exercise: str, hidden: str) -> None:
    assert missed(exercise, hidden) == set()


@pytest.mark.parametrize("exercise", EXERCISES)
@pytest.mark.parametrize("hidden", ["0", "-100", "-1e4"])
def test_a_number_that_other_scores_may_reach_does_not_hide(exercise: str, hidden: str) -> None:
    lost = missed(exercise, hidden)
    assert any(name.endswith("beside_very_low_scores") for name in lost)


@pytest.mark.parametrize("divided", ["d_k**0.5", "head_dim**0.5"])
def test_the_same_is_true_for_a_number_filled_in_after_scaling(divided: str) -> None:
    exercise = "mask_then_softmax" if divided.startswith("d_k") else "head_weights"
    unit = EXERCISES[exercise]
    text = (REPOSITORY / "solutions" / f"{unit}.py").read_text(encoding="utf-8")
    text = text.replace(f"masked / {divided}", f"(scores / {divided}).masked_fill(masked.isinf(), -1e4)")
    names = names_in(unit, with_imports(unit, text, REPOSITORY / "solutions"))
    [lost] = [name for name, outcome in SUITES[unit].outcomes(names, exercise).items() if not outcome.passed]
    assert lost.endswith("beside_very_low_scores")
