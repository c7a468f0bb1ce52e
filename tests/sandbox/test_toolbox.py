"""The modules that the door makes to hand in do what they say, and nothing of what an exercise asks for."""

from __future__ import annotations

import pytest
import torch

from grader.sandbox import toolbox


def test_weight_matrices_and_weight_layers_of_the_same_weights_give_the_same_outputs() -> None:
    matrices, layers = toolbox.make("WeightMatrices", 3, 2), toolbox.make("WeightLayers", 3, 2)
    with torch.no_grad():
        for name in ("W_query", "W_key", "W_value"):
            getattr(matrices, name).copy_(getattr(layers, name).weight.T)  # (2, 3) -> (3, 2)
    x = torch.randn(5, 3)
    torch.testing.assert_close(matrices(x), layers(x))


@pytest.mark.parametrize("name", ["W_query", "W_key", "W_value"])
def test_each_weight_of_the_two_counts(name: str) -> None:
    layers, x = toolbox.make("WeightLayers", 3, 2), torch.randn(5, 3)
    before = layers(x)
    with torch.no_grad():
        getattr(layers, name).weight.add_(1)
    assert not torch.allclose(layers(x), before)


def test_weight_layers_have_biases_only_when_asked() -> None:
    assert toolbox.make("WeightLayers", 3, 2).W_key.bias is None
    assert toolbox.make("WeightLayers", 3, 2, qkv_bias=True).W_key.bias.shape == (2,)


def test_the_token_mixer_adds_the_mean_over_tokens() -> None:
    x = torch.tensor([[[1.0, 0.0], [3.0, 4.0]]])  # (B=1, T=2, C=2)
    assert toolbox.make("TokenMixer")(x).tolist() == [[[3.0, 2.0], [5.0, 6.0]]]


def test_the_position_wise_module_squares_and_shifts() -> None:
    assert toolbox.make("PositionWise")(torch.tensor([2.0, -3.0])).tolist() == [5.0, 10.0]


def test_the_factory_makes_a_new_module_each_time_and_counts() -> None:
    factory = toolbox.make("CountingFactory")
    assert factory() is not factory()
    assert factory.calls == 2


def test_any_module_of_torch_can_be_had_by_name_and_nothing_else() -> None:
    assert isinstance(toolbox.make("Linear", 2, 3, bias=False), torch.nn.Linear)
    with pytest.raises(AttributeError):
        toolbox.make("SelfAttention_v1", 3, 2)
