"""GitHub's expressions, `${{ … }}`, as far as our workflows use them, as Python's. Others raise an error.

Other than on GitHub, texts are compared with their case.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

_EMBEDDED = re.compile(r"\$\{\{(.*?)\}\}", re.DOTALL)
_WORD = re.compile(
    r"(?P<text>'(?:[^']|'')*')|(?P<function>[A-Za-z_]\w*)(?=\()|(?P<name>[A-Za-z_][\w.-]*)"
    r"|(?P<sign>==|!=|&&|\|\||[!(),]|\s+)|(?P<unknown>.)",
    re.DOTALL,
)
_IN_PYTHON = {"&&": " and ", "||": " or ", "!": " not "}
# In these contexts, a missing value is empty. In others it is a mistake of ours.
_MAY_BE_EMPTY = {"secrets", "inputs", "outputs"}

Functions = Mapping[str, Callable[..., Any]]


class ExpressionError(Exception):
    """An expression that GitHub would refuse, or that the tests do not know."""


def expand(text: str, contexts: Mapping[str, Any], functions: Functions) -> str:
    """Return the text with the values of its expressions."""
    return _EMBEDDED.sub(lambda found: as_text(evaluate(found[1], contexts, functions)), text)


def evaluate(expression: str, contexts: Mapping[str, Any], functions: Functions) -> Any:
    def in_python(found: re.Match[str]) -> str:
        word = found[0]
        if found.lastgroup == "unknown":
            raise ExpressionError(f"not known here: {expression}")
        if found.lastgroup == "text":
            return repr(word[1:-1].replace("''", "'"))
        return f"look_up({word!r})" if found.lastgroup == "name" else _IN_PYTHON.get(word, word)

    names = {"__builtins__": {}, "look_up": lambda path: _look_up(path, contexts), **functions}
    return eval(_WORD.sub(in_python, expression).strip(), names)


def condition(expression: str, contexts: Mapping[str, Any], functions: Functions) -> bool:
    """Evaluate an `if:`. Unless it has a status function, all earlier steps must have succeeded."""
    inner = found[1] if (found := _EMBEDDED.fullmatch(expression.strip())) else expression
    speaks_of_it = re.search(r"\b(success|always|failure|cancelled)\(", inner)
    return (bool(speaks_of_it) or functions["success"]()) and bool(evaluate(inner, contexts, functions))


def as_text(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str | int):
        return str(value)
    raise ExpressionError(f"{value!r} has no text of its own")


def _look_up(path: str, contexts: Mapping[str, Any]) -> Any:
    if path in ("true", "false"):
        return path == "true"
    value: Any = contexts
    parent = ""
    for name in path.split("."):
        if isinstance(value, Mapping) and name in value:
            value = value[name]
        elif parent in _MAY_BE_EMPTY:
            value = None
        else:
            raise ExpressionError(f"nothing is known of {name} in {path}")
        parent = name
    return value
