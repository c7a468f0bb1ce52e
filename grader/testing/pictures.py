"""What authors of pictures and questions import: `exercises/checks/pictures_<unit>.py` has those of a unit.

A picture is a function of `student`, as a visible test is. It draws instead of comparing; the expected numbers are
those that it draws for the solution, which `grader build` writes. Its docstring is its caption. A question is a
function of `student` that asks something about the student's own code, with an answer from running it.
"""

from __future__ import annotations

import contextlib
import functools
import inspect
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from types import ModuleType
from typing import Any, Literal

import torch

from grader.testing.checks import CheckFailed
from grader.testing.drawings import Kind, OwnQuestion, Panel
from grader.testing.running_test import bound, plain
from grader.testing.student import Failure, RemoteObject, Student
from grader.testing.substitutes import Substitutes

MOST_CELLS = 200
MOST_POINTS = 1024
"""Of lines. A larger tensor is described by its shape."""


class LayerRecorder:
    """Records, in the student process, what layers received and returned in their last call, by forward hooks."""

    def __init__(self, module: torch.nn.Module, names: Sequence[str]) -> None:
        """Hook the layers of these names. Raises AttributeError if the module lacks one."""
        self.calls: dict[str, tuple[Any, Any]] = {}
        for name in names:
            module.get_submodule(name).register_forward_hook(functools.partial(self._record, name))

    def _record(self, name: str, _: torch.nn.Module, received: tuple[Any, ...], returned: Any) -> None:
        self.calls[name] = received[0], returned

    def has_run(self, name: str) -> bool:
        """Return whether a layer was called."""
        return name in self.calls

    def received(self, name: str) -> Any:
        """Return the first argument of a layer's last call."""
        return self.calls[name][0]

    def returned(self, name: str) -> Any:
        """Return the result of a layer's last call."""
        return self.calls[name][1]


UPLOADED = Substitutes([("layer_recorder.py", f"import functools\n\n\n{inspect.getsource(LayerRecorder)}")])
"""What pictures can make in the student process, besides torch's modules."""

Function = Callable[[Student], None]
Marked = tuple[Literal["picture", "question"], str, Function]
"""Which of the two a function is, its exercise, and the function."""


@dataclass
class Collected:
    """What pictures draw and questions ask.

    Attributes:
        panels: The panels by name.
        solved: The names of those whose expected numbers are the solution's.
        names: The names in the order in which they were drawn.
        questions: The questions.
    """

    panels: dict[str, Panel] = field(default_factory=dict)
    solved: set[str] = field(default_factory=set)
    names: list[str] = field(default_factory=list)
    questions: list[OwnQuestion] = field(default_factory=list)

    def add(self, panel: Panel) -> None:
        """Keep a panel. One that has values stays as it is if the same picture runs again with substitutes."""
        if panel.name not in self.panels or self.panels[panel.name].shape is None:
            self.panels[panel.name] = panel


_COLLECTED: ContextVar[Collected] = ContextVar("collected")


def collecting() -> AbstractContextManager[Collected]:
    """Collect what the pictures and questions inside the block draw and ask."""
    return bound(_COLLECTED, Collected())


def picture(exercise: str) -> Callable[[Function], Function]:
    """Mark a function as a picture of an exercise."""
    return functools.partial(_mark, "picture", exercise)


def question(exercise: str) -> Callable[[Function], Function]:
    """Mark a function as a question to ask after an exercise passes."""
    return functools.partial(_mark, "question", exercise)


def _mark(what: str, exercise: str, function: Function) -> Function:
    function.drawn = what, exercise  # type: ignore[attr-defined]
    return function


def pictures_of(module: ModuleType) -> dict[str, Marked]:
    """Return the pictures and questions of a file by name, in their order."""
    return {name: (*value.drawn, value) for name, value in vars(module).items() if hasattr(value, "drawn")}


# -- what a picture draws --------------------------------------------------------------------------------------------


def draw(
    name: str,
    yours: Callable[[], Any],
    kind: Kind = "grid",
    *,
    rows: Sequence[str] = (),
    columns: Sequence[str] = (),
    groups: Sequence[str] = (),
    expected: torch.Tensor | Literal["solution"] | None = "solution",
) -> None:
    """Draw a tensor, or a list of numbers, beside the expected one.

    Args:
        name: What it shows. Each name occurs once in a picture.
        yours: Computes it with the student's code: at most three dimensions, besides leading ones of size 1. If that
            fails, the picture ends here, with what was expected.
        kind: How it is drawn.
        rows: A label for each row.
        columns: A label for each column.
        groups: A label for each of several grids, if there are three dimensions.
        expected: The expected tensor, if it is not the solution's; None if nothing is expected, as of random numbers.

    Raises:
        CheckFailed: It is no tensor.
        Failure: The student's code failed.
    """
    wanted = plain(_squeezed(expected)) if isinstance(expected, torch.Tensor) else None
    panel = _started(Panel(name, kind, None, None, wanted, list(rows), list(columns), list(groups)), expected)
    tensor = _squeezed(_tensor(name, yours()))
    is_small = tensor.dim() <= 3 and tensor.numel() <= (MOST_POINTS if kind == "lines" else MOST_CELLS)
    values = plain(tensor) if is_small else None
    _COLLECTED.get().add(replace(panel, values=values, shape=list(tensor.shape)))


def draw_shapes(name: str, steps: Mapping[str, Callable[[], Any]]) -> None:
    """Draw the shape of a tensor at each step. The steps that come after one that fails are not drawn.

    Args:
        name: What the steps make together.
        steps: For each step, by its name, what computes its tensor.

    Raises:
        CheckFailed: A step gives no tensor.
        Failure: The student's code failed.
    """
    panel = _started(Panel(name, "steps", None, None, rows=list(steps)), "solution")
    shapes: list[list[int]] = []
    try:
        for step, compute in steps.items():
            shapes.append(list(_tensor(step, compute()).shape))
    finally:
        _COLLECTED.get().add(replace(panel, values=shapes, shape=[len(steps)] if shapes else None))


def watch(student: Student, module: RemoteObject, *layers: str) -> Watched:
    """Put forward hooks on these layers of a student's module, by their names. Raises Failure if it lacks one."""
    return Watched(module, student.make("LayerRecorder", module, list(layers)))


class Watched:
    """What hooked layers receive and return in a call of their module, also in one that fails later."""

    def __init__(self, module: RemoteObject, recorder: RemoteObject) -> None:
        """Take the module and the recorder in the student process."""
        self._module = module
        self._recorder = recorder
        self._failure: Failure | None = None

    def call(self, *arguments: Any) -> Callable[[], Any]:
        """Call the module. Return what gives its result or raises its failure, to draw after the layers."""
        result = None
        try:
            result = self._module(*arguments)
        except Failure as failure:
            self._failure = failure

        def output() -> Any:
            if self._failure:
                raise self._failure
            return result

        return output

    def received(self, layer: str) -> Any:
        """Return a layer's input. Raises CheckFailed or the module's failure if the layer was not called."""
        return self._of(layer, "received")

    def returned(self, layer: str) -> Any:
        """Return a layer's output. Raises like `received`."""
        return self._of(layer, "returned")

    def _of(self, layer: str, what: str) -> Any:
        if not self._recorder.method("has_run")(layer):
            raise self._failure or CheckFailed(f"{layer} should be called in forward; yours is not.")
        return self._recorder.method(what)(layer)


def _started(panel: Panel, expected: object) -> Panel:
    collected = _COLLECTED.get()
    collected.names.append(panel.name)
    if expected == "solution":
        collected.solved.add(panel.name)
    collected.add(panel)
    return panel


def _tensor(name: str, result: Any) -> torch.Tensor:
    """Return a result as a tensor. Raises CheckFailed if it is neither a tensor nor numbers in lists."""
    if isinstance(result, torch.Tensor):
        return result.detach()
    if isinstance(result, bool | int | float | list | tuple):
        with contextlib.suppress(TypeError, ValueError):
            return torch.as_tensor(result)
    kind = type(result).__name__
    raise CheckFailed(f"{name} should be a tensor; yours is {'None' if result is None else f'of type {kind}'}.")


def _squeezed(tensor: torch.Tensor) -> torch.Tensor:
    """Return a tensor without leading dimensions of size 1 that are too many to draw."""
    while tensor.dim() > 3 and tensor.shape[0] == 1:
        tensor = tensor[0]
    return tensor.detach()


# -- what a question asks --------------------------------------------------------------------------------------------


def ask_number(text: str, answer: float, explanation: str, decimals: int | None = None) -> None:
    """Ask for a number: a whole one, or one with this many decimals. Texts are Markdown."""
    _COLLECTED.get().questions.append(OwnQuestion("", "number", text, float(answer), explanation, decimals=decimals))


def ask_shape(text: str, answer: Sequence[int], explanation: str) -> None:
    """Ask for a shape. Texts are Markdown."""
    _COLLECTED.get().questions.append(OwnQuestion("", "shape", text, list(answer), explanation))


def ask_choice(text: str, choices: Sequence[str], answer: str, explanation: str) -> None:
    """Ask for one of several choices. Texts are Markdown."""
    _COLLECTED.get().questions.append(OwnQuestion("", "one_choice", text, answer, explanation, list(choices)))
