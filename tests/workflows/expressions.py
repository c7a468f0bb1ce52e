"""GitHub's expressions, `${{ … }}`, as far as our workflows use them. Others raise an error."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

_TOKEN = re.compile(r"\s*(?:(?P<text>'(?:[^']|'')*')|(?P<name>[A-Za-z_][\w.*-]*)|(?P<sign>==|!=|&&|\|\||[!(),]))")
_EMBEDDED = re.compile(r"\$\{\{(.*?)\}\}", re.DOTALL)
# In these contexts, a missing value is empty. In others it is a mistake of ours.
_MAY_BE_EMPTY = {"secrets", "vars", "inputs", "outputs"}

Functions = Mapping[str, Callable[..., Any]]


class ExpressionError(Exception):
    """An expression that GitHub would refuse, or that the tests do not know."""


def expand(text: str, contexts: Mapping[str, Any], functions: Functions) -> str:
    """Return the text with the values of its expressions."""
    return _EMBEDDED.sub(lambda found: as_text(evaluate(found[1], contexts, functions)), text)


def evaluate(expression: str, contexts: Mapping[str, Any], functions: Functions) -> Any:
    parser = _Parser(expression, contexts, functions)
    value = parser.either()
    parser.expect("")
    return value


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


class _Parser:
    def __init__(self, text: str, contexts: Mapping[str, Any], functions: Functions) -> None:
        self.text, self.place, self.contexts, self.functions = text, 0, contexts, functions
        self.kind, self.token = "", ""
        self.advance()

    def advance(self) -> None:
        if not self.text[self.place :].strip():
            self.kind = self.token = ""
            return
        found = _TOKEN.match(self.text, self.place)
        if not found:
            raise ExpressionError(f"not known here: {self.text[self.place :]}")
        self.place, self.kind, self.token = found.end(), str(found.lastgroup), found[str(found.lastgroup)]

    def expect(self, token: str) -> None:
        if self.token != token:
            raise ExpressionError(f"{self.token!r} in the place of {token!r}: {self.text}")
        self.advance()

    def either(self) -> Any:
        value = self.both()
        while self.token == "||":
            self.advance()
            other = self.both()
            value = value or other
        return value

    def both(self) -> Any:
        value = self.compared()
        while self.token == "&&":
            self.advance()
            other = self.compared()
            value = value and other
        return value

    def compared(self) -> Any:
        value = self.single()
        while self.token in ("==", "!="):
            is_asked_equal = self.token == "=="
            self.advance()
            other = self.single()
            if type(value) is not type(other):
                raise ExpressionError(f"compares {value!r} with {other!r}: {self.text}")
            # GitHub ignores case.
            is_equal = value.casefold() == other.casefold() if isinstance(value, str) else value == other
            value = is_equal == is_asked_equal
        return value

    def single(self) -> Any:
        kind, token = self.kind, self.token
        self.advance()
        if token == "!":
            return not self.single()
        if token == "(":
            value = self.either()
            self.expect(")")
            return value
        if kind == "text":
            return token[1:-1].replace("''", "'")
        if kind != "name":
            raise ExpressionError(f"{token!r} is in the way: {self.text}")
        if self.token == "(":
            return self.called(token)
        return {"true": True, "false": False, "null": None}[token] if "." not in token else self.looked_up(token)

    def called(self, name: str) -> Any:
        arguments = []
        self.advance()
        while self.token != ")":
            arguments.append(self.either())
            if self.token == ",":
                self.advance()
        self.advance()
        return self.functions[name](*arguments)

    def looked_up(self, path: str) -> Any:
        value: Any = self.contexts
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
