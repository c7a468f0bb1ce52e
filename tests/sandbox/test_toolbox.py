"""The modules that a worker makes as arguments do what they say."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from grader.sandbox.worker import PositionWise, Worker


def make(name: str, *arguments: object, **options: object) -> Any:
    worker = Worker()
    worker.do_make(0, name, arguments, options)
    return worker.held[0]


def test_a_holder_has_its_arguments_as_parameters_and_modules() -> None:
    holder = make("Holder", first=torch.ones(3, 2), second=torch.nn.Linear(3, 2, bias=False))
    assert [name for name, _ in holder.named_parameters()] == ["first", "second.weight"]


def test_holders_of_matrices_and_of_layers_with_the_same_weights_have_the_same_outputs() -> None:
    layers = {name: torch.nn.Linear(3, 2, bias=False) for name in ("a", "b")}
    matrices = {name: layer.weight.detach().T for name, layer in layers.items()}  # (2, 3) -> (3, 2)
    x = torch.randn(5, 3)
    torch.testing.assert_close(make("Holder", **matrices)(x), make("Holder", **layers)(x))


def test_each_member_of_a_holder_has_a_different_effect() -> None:
    first, second, x = torch.ones(3, 2), torch.full((3, 2), 2.0), torch.ones(1, 3)
    outputs = make("Holder", a=first, b=second)(x)
    assert outputs.tolist() == [[3 + 9 + 2 * 6 + 36] * 2]
    assert not torch.equal(make("Holder", a=second, b=first)(x), outputs)


def test_the_token_mixer_adds_the_mean_over_tokens() -> None:
    x = torch.tensor([[[1.0, 0.0], [3.0, 4.0]]])  # (B=1, T=2, C=2)
    assert make("TokenMixer")(x).tolist() == [[[3.0, 2.0], [5.0, 6.0]]]


def test_the_position_wise_module_squares_and_shifts() -> None:
    assert make("PositionWise")(torch.tensor([2.0, -3.0])).tolist() == [5.0, 10.0]


def test_the_factory_makes_a_new_module_each_time_and_counts() -> None:
    factory = make("CountingFactory")
    assert factory() is not factory()
    assert factory.calls == 2


def test_a_factory_with_modules_returns_these_first_and_in_order() -> None:
    first, second = torch.nn.Linear(2, 2), torch.nn.Linear(2, 2)
    factory = make("CountingFactory", first, second)
    assert [factory(), factory()] == [first, second]
    assert isinstance(factory(), PositionWise)
    assert factory.calls == 3


def test_the_toolbox_makes_modules_of_torch_by_name_and_nothing_else() -> None:
    assert isinstance(make("Linear", 2, 3, bias=False), torch.nn.Linear)
    with pytest.raises(AttributeError):
        make("SelfAttention_v1", 3, 2)
