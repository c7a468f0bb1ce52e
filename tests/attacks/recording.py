"""A pytest plugin for the visible tests: records the arguments of each exercise and the solution's results."""

from __future__ import annotations

import functools
import importlib
import os
from collections.abc import Callable
from typing import Any

import pytest
import torch
import yaml

ANSWERS: dict[str, list[tuple[tuple[Any, ...], Any]]] = {}
METHODS = {"forward", "generate"}


def pytest_configure() -> None:
    for unit, exercises in yaml.safe_load(os.environ["EXERCISES"]).items():
        module = importlib.import_module(unit)
        for exercise in exercises:
            answer = getattr(module, exercise)
            if isinstance(answer, type):
                for name in METHODS & vars(answer).keys():
                    setattr(answer, name, recorded(exercise, getattr(answer, name), first=1))
            else:
                setattr(module, exercise, recorded(exercise, answer))


def recorded(exercise: str, answer: Callable[..., Any], first: int = 0) -> Callable[..., Any]:
    """Record the calls of an answer. `first`: the index of the first argument from the test, 1 for methods."""

    @functools.wraps(answer)
    def record(*arguments: Any, **options: Any) -> Any:
        asked = plain((*arguments[first:], *options.values()))
        result = answer(*arguments, **options)
        ANSWERS.setdefault(exercise, []).append((asked, plain(result)))
        return result

    return record


def plain(value: Any) -> Any:
    """Return the value without modules and generators, which cannot be written down as numbers."""
    if isinstance(value, torch.Tensor):
        return value.detach().clone()
    if isinstance(value, list | tuple):
        return type(value)(map(plain, value))
    return value if isinstance(value, bool | int | float | str) else None


def pytest_sessionfinish(session: pytest.Session) -> None:
    torch.save(ANSWERS, session.config.rootpath / "answers.pt")
