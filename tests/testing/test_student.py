"""The proxies of a submission behave the same for a student process and for code in this process."""

from __future__ import annotations

import types
from collections.abc import Callable

import numpy
import pytest
import torch
from units import SUBSTITUTES

from grader.sandbox.failures import NotDefined, Raised, Refused
from grader.sandbox.sandbox_client import SandboxClient
from grader.sandbox.values import cotangent
from grader.testing.student import Backend, InProcessBackend, Student

SOURCE = """\
import random
import numpy
import torch
from torch import nn


def add(a, b=1.0):
    return a + b


def several():
    return [torch.ones(2), (1, "two"), {"three": torch.zeros(1)}]


def spoil(x, numbers):
    x.zero_()
    numbers.append(1)
    return x


def raises():
    raise ValueError("no")


times = 0
kept = torch.zeros(2)


def next_one(step):
    global times
    times += step
    return times


def keep(step):
    return kept.add_(step)


def many(count):
    return [[torch.full((1,), next_one(1)), *range(count)] for _ in range(count)]


def raises_at(limit):
    if next_one(1) > limit:
        raise ValueError("no")
    return times


class Layer(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width, 2))
        self.frozen = nn.Parameter(torch.ones(1), requires_grad=False)
        self.inner = self.alias = nn.Linear(2, 2)
        self.register_buffer("mask", torch.ones(2))
        self.name = "layer"

    def forward(self, x):
        return x @ self.weight if self.training else -(x @ self.weight)

    def twice(self, x):
        return 2 * x


def draw(generator=None):
    return torch.rand(3, generator=generator)


def draws():
    return torch.rand(2), random.random(), numpy.random.rand()


def apply(module, x):
    return module(x)


def count(factory):
    return [factory() for _ in range(3)] and factory.calls


def detached(x):
    return x.detach() * 2


def partly(x, y):
    return x * 3, torch.ones(2)


def softmax_stable(x):
    return x


def attend(x):
    return softmax_stable(x)
"""


PLAIN = """\
import numpy


class Stack:
    def __init__(self, *items):
        self.items = list(items)
        self.seen = {type(item).__name__ for item in items}

    def push(self, item):
        self.items.append(item)
        return self

    def pop(self):
        return self.items.pop()

    def __len__(self):
        return len(self.items)


asked = []


def naturals(start=0):
    while True:
        asked.append(start)
        yield start
        start += 1


def how_many():
    return len(asked)


def kinds(*values):
    return [type(value).__name__ for value in values]


def same(value):
    return value


def softmax(x):
    weights = numpy.exp(x - x.max(axis=-1, keepdims=True))
    return weights / weights.sum(axis=-1, keepdims=True)


def counted(words):
    return {(word, len(word)): words.count(word) for word in words}, set(words), frozenset(map(len, words))


def sized():
    return numpy.arange(6, dtype=numpy.uint16).reshape(2, 3)
"""


@pytest.fixture(params=["in a student process", "in this process"])
def backend(request: pytest.FixtureRequest, open_client: Callable[..., SandboxClient]) -> Callable[[str], Backend]:
    def made(source: str) -> Backend:
        if request.param == "in a student process":
            return open_client(source)
        module = types.ModuleType("answers")
        exec(compile(source, "answers.py", "exec"), module.__dict__)
        return InProcessBackend("answers", module.__dict__)

    return made


@pytest.fixture
def plain(backend: Callable[[str], Backend]) -> Student:
    """Answers of a course in plain Python and numpy."""
    return Student(backend(PLAIN), "answers")


@pytest.fixture
def student(backend: Callable[[str], Backend]) -> Student:
    return Student(backend(SOURCE), "answers", SUBSTITUTES)


def test_a_function_is_called_with_arguments_and_options(student: Student) -> None:
    assert torch.equal(student.add(torch.ones(2), b=2.0), torch.full((2,), 3.0))
    assert student.add(1) == 2.0


def test_containers_of_tensors_are_returned_unchanged(student: Student) -> None:
    tensor, pair, by_name = student.several()
    assert torch.equal(tensor, torch.ones(2))
    assert pair == (1, "two")
    assert torch.equal(by_name["three"], torch.zeros(1))


def test_the_arguments_after_a_call_are_returned(student: Student) -> None:
    ours = torch.ones(2)
    result, (x, numbers) = student.spoil.with_arguments(ours, [])
    assert torch.equal(result, torch.zeros(2))
    assert torch.equal(x, torch.zeros(2))
    assert numbers == [1]
    assert torch.equal(ours, torch.ones(2))


def test_repeated_calls_return_their_results_in_order(student: Student) -> None:
    assert student.next_one.repeated(250, 2) == list(range(2, 501, 2))
    assert student.next_one(1) == 501


def test_repeated_calls_share_neither_arguments_nor_results(student: Student) -> None:
    results = student.spoil.repeated(3, torch.ones(2), [0])
    arguments = student.spoil.with_arguments(torch.ones(2), [0])[1]
    assert arguments[1] == [0, 1]
    assert len(results) == 3
    assert [kept.tolist() for kept in student.keep.repeated(3, torch.ones(2))] == [[1, 1], [2, 2], [3, 3]]


def test_repeated_calls_may_give_more_together_than_a_reply_may_have(student: Student) -> None:
    found = student.many.repeated(90, 20)  # 1,800 tensors, and 38,000 values
    assert [one[0].item() for several in found for one in several] == list(range(1, 1801))


def test_a_repeated_call_that_fails_is_the_last(student: Student) -> None:
    with pytest.raises(Raised, match="It raised a ValueError"):
        student.raises_at.repeated(5, 2)
    assert student.next_one(1) == 4


def test_repeated_calls_use_what_was_made_before(student: Student) -> None:
    generator = student.generator(1)
    found = student.draw.repeated(3, generator=generator)
    expected = torch.Generator().manual_seed(1)
    assert torch.equal(torch.stack(found), torch.rand(3, 3, generator=expected))


def test_draws_are_made_once_for_all_who_ask_for_the_same(student: Student) -> None:
    assert student.next_one.draws(3, 2) == [2, 4, 6]
    assert student.next_one.draws(3, 2) == [2, 4, 6]
    assert student.next_one.draws(3, 1) == [7, 8, 9]
    assert student.next_one(1) == 10


def test_draws_that_failed_are_made_again(student: Student) -> None:
    with pytest.raises(Raised, match="It raised a ValueError"):
        student.raises_at.draws(3, 2)  # by its third call
    assert student.next_one(-3) == 0
    assert student.raises_at.draws(3, 5) == [1, 2, 3]
    assert student.raises_at.draws(3, 5) == [1, 2, 3]


def test_draws_do_not_depend_on_the_test_that_asks_first() -> None:
    def drawn(seed: int) -> list[torch.Tensor]:
        student = Student(InProcessBackend("answers", {"draw": torch.rand}), "answers")
        student.seed(seed)
        return student.draw.draws(2, 3)

    first, second = drawn(1)
    assert not torch.equal(first, second)
    assert torch.equal(torch.stack(drawn(2)), torch.stack([first, second]))


def test_a_queued_call_is_made_before_the_next_one(student: Student) -> None:
    student.queue("next_one", 2)
    layer = student.queue("Layer", 3)
    assert layer.method("twice")(student.next_one(1)) == 6
    assert layer.get("name") == "layer"


def test_the_next_request_raises_the_error_of_a_queued_call(student: Student) -> None:
    student.queue("raises")
    with pytest.raises(Raised, match="It raised a ValueError"):
        student.next_one(1)
    assert student.next_one(1) == 1


def test_an_object_can_be_made_called_and_asked(student: Student) -> None:
    layer = student.Layer(3)
    assert torch.equal(layer(torch.ones(1, 3)), torch.full((1, 2), 3.0))
    assert layer.get("name") == "layer"
    assert layer.method("twice")(4) == 8
    assert layer.get("inner").get("in_features") == 2
    assert "torch.nn.modules.module.Module" in layer.kinds


def test_parameters_have_their_names(student: Student) -> None:
    parameters = student.Layer(3).parameters()
    assert {name: (tuple(value.shape), value.requires_grad) for name, value in parameters.items()} == {
        "weight": ((3, 2), True), "frozen": ((1,), False), "inner.weight": ((2, 2), True), "inner.bias": ((2,), True),
    }  # fmt: skip


def test_parameters_and_buffers_can_be_set_by_each_of_their_names(student: Student) -> None:
    layer = student.Layer(1)
    layer.set({"weight": torch.tensor([[5.0, 6.0]]), "mask": torch.zeros(2), "alias.bias": torch.tensor([7.0, 8.0])})
    assert layer(torch.ones(1)).tolist() == [5.0, 6.0]
    assert layer.get("mask").tolist() == [0.0, 0.0]
    assert layer.parameters()["weight"].requires_grad
    assert layer.parameters()["inner.bias"].tolist() == [7.0, 8.0]


@pytest.mark.parametrize(
    ("values", "sentence"),
    [
        ({"missing": torch.ones(1)}, "There is no registered parameter missing."),
        (
            {"inner.bias": torch.ones(2), "alias.bias": torch.ones(2)},
            "The names inner.bias and alias.bias belong to one parameter, but each needs its own.",
        ),
        ({"weight": torch.ones(2, 1)}, "The shape of weight should be (2, 1), yours is (1, 2)."),
    ],
)
def test_setting_tensors_of_another_name_or_shape_is_refused(
    student: Student, values: dict[str, torch.Tensor], sentence: str
) -> None:
    layer = student.Layer(1)
    layer.set(values)
    with pytest.raises(Refused, match=sentence.replace("(", r"\(").replace(")", r"\)")):
        layer.parameters()


def test_asking_a_function_for_parameters_is_refused(student: Student) -> None:
    with pytest.raises(Refused, match=r"not an nn\.Module"):
        student.make("CountingFactory").parameters()


def test_the_mode_and_the_dtype_of_a_module_are_set(student: Student) -> None:
    layer = student.Layer(1)
    layer.eval()
    assert layer(torch.ones(1)).tolist() == [-1.0, -1.0]
    layer.train()
    assert layer(torch.ones(1)).tolist() == [1.0, 1.0]
    layer.to(torch.float64)
    assert layer(torch.ones(1, dtype=torch.float64)).dtype == torch.float64


def test_gradients_reach_arguments_and_parameters(student: Student) -> None:
    x = torch.randn(4, 3)
    result, gradients = student.Layer(3).gradients(x)
    weights = cotangent(result.shape, result.dtype)
    torch.testing.assert_close(gradients["weight"], x.T @ weights)  # (3, 4) @ (4, 2) -> (3, 2)
    torch.testing.assert_close(gradients["0"], weights @ torch.ones(2, 3))  # (4, 2) @ (2, 3) -> (4, 3)
    assert gradients["inner.weight"] is None
    assert "frozen" not in gradients


def test_what_has_no_influence_on_a_result_has_no_gradient(student: Student) -> None:
    _, gradients = student.partly.gradients(torch.ones(2), torch.ones(2))
    assert gradients["0"] is not None
    assert gradients["1"] is None
    with pytest.raises(Refused, match="No gradient flows through it"):
        student.detached.gradients(torch.ones(2))


def test_a_generator_is_an_argument_and_has_a_state(student: Student) -> None:
    generator = student.generator(7)
    ours = torch.Generator().manual_seed(7)
    assert torch.equal(generator.state(), ours.get_state())
    assert torch.equal(student.draw(generator), torch.rand(3, generator=ours))
    assert torch.equal(generator.state(), ours.get_state())


def test_a_seed_sets_every_global_source_of_randomness(student: Student) -> None:
    def draws(seed: int) -> tuple[list[float], float, float]:
        student.seed(seed)
        tensor, plain, numpy_number = student.draws()
        return tensor.tolist(), plain, float(numpy_number)

    assert draws(1) == draws(1)
    assert all(one != other for one, other in zip(draws(1), draws(2), strict=True))


def test_modules_of_torch_and_of_the_toolbox_are_arguments(student: Student) -> None:
    assert torch.equal(student.apply(student.make("ReLU"), torch.tensor([-1.0, 1.0])), torch.tensor([0.0, 1.0]))
    assert student.apply(student.make("PositionWise"), torch.tensor([2.0])).item() == 5.0
    assert student.count(student.make("CountingFactory")) == 3


def test_the_students_code_calls_substitutes_inside_the_block(student: Student) -> None:
    x = torch.tensor([1.0, 2.0])
    assert torch.equal(student.attend(x), x)
    with student.substituted("softmax_stable", "dot_product"):
        expected = student.substitute("softmax_stable", torch.sin)(x)
        assert torch.equal(student.attend(x), expected)
        assert not torch.equal(x, expected)
    assert student.called == {"softmax_stable"}
    assert student.expected == {"softmax_stable"}
    assert torch.equal(student.attend(x), x)


def test_an_exercise_without_a_substitute_is_expected_to_be_right(student: Student) -> None:
    assert student.substitute("softmax_stable", torch.sin) is torch.sin
    with student.substituted("dot_product"):
        assert student.substitute("softmax_stable", torch.sin) is torch.sin
    assert student.expected == set()


def test_torchs_own_functions_are_listed_by_name(student: Student) -> None:
    assert "mul" in student.detached.torch_functions(torch.ones(2))


def test_a_notification_is_sent_with_the_next_call_and_can_fail_it(student: Student) -> None:
    layer = student.Layer(3)
    layer.set({"weight": torch.zeros(3, 2)})
    assert layer(torch.ones(1, 3)).tolist() == [[0, 0]]
    layer.set({"no such name": torch.zeros(1)})
    with pytest.raises(Refused):
        layer(torch.ones(1, 3))
    assert layer(torch.ones(1, 3)).tolist() == [[0, 0]]


def test_an_error_has_its_type_text_and_line(student: Student) -> None:
    with pytest.raises(Raised, match="It raised a ValueError") as caught:
        student.raises()
    assert caught.value.detail == "no"
    assert "ValueError" in caught.value.types
    if isinstance(student._backend, SandboxClient):
        assert (caught.value.file, caught.value.line) == ("answers.py", SOURCE.splitlines().index("def raises():") + 2)


def test_a_missing_name_is_not_defined(student: Student) -> None:
    with pytest.raises(NotDefined, match="absent is not defined"):
        student.absent(1)


def test_a_missing_attribute_raises_in_the_backend(student: Student) -> None:
    with pytest.raises(Raised, match="AttributeError"):
        student.Layer(1).get("absent")


# -- plain Python and numpy -----------------------------------------------------------------------------------


def test_text_bytes_dicts_and_sets_are_sent_unchanged(plain: Student) -> None:
    assert plain.counted(["a", "bc", "a"]) == ({("a", 1): 2, ("bc", 2): 1}, {"a", "bc"}, frozenset({1, 2}))
    values = ("text", b"\0bytes", {1: {"two"}}, {3, (4, 5)}, frozenset({6}), None, True, 2.5)
    assert plain.kinds(*values) == ["str", "bytes", "dict", "set", "frozenset", "NoneType", "bool", "float"]
    for value in values:
        assert plain.same(value) == value
        assert type(plain.same(value)) is type(value)


def test_arrays_are_sent_as_arrays(plain: Student) -> None:
    x = numpy.arange(6, dtype=numpy.float32).reshape(2, 3)
    assert plain.kinds(x, numpy.int8(1), [x]) == ["ndarray", "int8", "list"]


def test_an_array_is_a_tensor_for_a_suite_of_tensors(plain: Student) -> None:
    found = plain.softmax(numpy.ones((2, 4)))
    assert torch.equal(found, torch.full((2, 4), 0.25, dtype=torch.float64))
    assert torch.equal(plain.same([numpy.float32(0.5)])[0], torch.tensor(0.5))
    with pytest.raises(Refused, match=r"It gave a tensor of dtype torch\.uint16\."):
        plain.sized()


def test_a_generator_is_an_object_with_a_next_method(plain: Student) -> None:
    numbers = plain.naturals(3)
    assert [numbers.method("__next__")() for _ in range(3)] == [3, 4, 5]
    assert plain.how_many() == 3


def test_an_object_of_a_plain_class_has_attributes_and_methods(plain: Student) -> None:
    stack = plain.Stack("a", 2)
    assert stack.kinds == ("answers.Stack", "builtins.object")
    assert stack.method("push")([3]).kinds == stack.kinds
    assert (stack.get("items"), stack.get("seen")) == (["a", 2, [3]], {"str", "int"})
    assert stack.method("pop")() == [3]
    assert stack.method("__len__")() == 2
    assert plain.kinds(stack) == ["Stack"]
