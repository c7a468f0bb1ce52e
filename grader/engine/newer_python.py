"""What code needs of a newer Python than the one that runs it, in words: new syntax, and new names of the library.

A source is translated: what is new becomes something old that may be in its place. If a statement can then be read, a
newer Python can read it as it is. Of any other statement nothing is said.
"""

from __future__ import annotations

import ast
import bisect
import contextlib
import functools
import operator
import re
import sys
import warnings
from dataclasses import replace
from typing import Any, NamedTuple

from grader.machine import RUNNING
from grader.sandbox.failures import FailedStatement
from grader.sandbox.pieces import split
from grader.sandbox.statements import NOT_PARSED, Piece


class Novelty(NamedTuple):
    """What is new in a version of Python: the sentence that names it, and what to do without it."""

    since: tuple[int, int]
    what: str
    instead: str


QUOTES = Novelty(
    (3, 12), "the f-string has quotes of its own kind between its braces", "use the other kind of quotes there"
)
BACKSLASH = Novelty((3, 12), "the f-string has a backslash between its braces", "compute that part in a line before")
COMMENT = Novelty((3, 12), "the f-string has a comment between its braces", "delete the comment")
LINE_BREAK = Novelty((3, 12), "the f-string has a line break between its braces", "write it in one line")
ALIAS = Novelty((3, 12), "the statement is `type X = …`", "write `X = …`")
PARAMETERS = Novelty(
    (3, 12), "the definition has type parameters in `[…]`", "delete them, or make each with `typing.TypeVar`"
)
DEFAULT = Novelty((3, 13), "a type parameter has a default value", "delete the default value")
TYPES = Novelty((3, 14), "`except` has several types without brackets", "write `except (A, B):`")
TEMPLATE = Novelty((3, 14), "there is a t-string", "use an f-string")

_NAME = r"[^\W\d]\w*"
# Exceptions have names like this. `except ValueError, error` is how Python 2 wrote `as error`.
_EXCEPTION = rf"(?:{_NAME}\.)*[A-Z]\w*"
_TOKEN = re.compile(
    r"(?P<comment>#[^\n]*)"
    r"|(?i:(?P<prefix>[bru]|br|rb|[ft]r?|r[ft])?)(?P<quote>'''|\"\"\"|'|\")"
    rf"|(?P<handler>except\*?[ \t]+)(?P<types>{_EXCEPTION}(?:[ \t]*,[ \t]*{_EXCEPTION})+)(?=[ \t]*:)"
    rf"|(?P<definition>(?:def|class)[ \t]+{_NAME})[ \t]*\["
    rf"|(?P<alias>type[ \t]+{_NAME}[ \t]*)(?=\[|=(?!=))"
    # As in a string, a backslash belongs to what follows: a quote behind it neither ends nor begins one.
    r"|\w+|\\.|.",
    re.DOTALL,
)
_PLAIN = {
    quote: re.compile(rf"(?:\\.|(?!{quote}){other})*+{quote}", re.DOTALL)
    for quote, other in (("'''", r"[^\\]"), ('"""', r"[^\\]"), ("'", r"[^\\\n]"), ('"', r"[^\\\n]"))
}
_PAIRS = {")": "(", "]": "[", "}": "{"}
# What ends the expression of a replacement field, outside of brackets; and what may follow it.
_FIELD_END = re.compile(r"[:}]|!(?!=)|=\s*(?=[!:}])")
_AFTER_FIELD = re.compile(r"(?:=\s*)?(?:![rsa]\s*)?(?=[:}])")
_PARAMETERS_END = re.compile(r"\]")
_ASSIGNMENT = re.compile(r"[ \t]*=(?!=)")
# Answers have far less; without these bounds, a hostile source could take very long to read.
MOST_UNREADABLE, MOST_NESTED = 20, 10


class Statement(NamedTuple):
    """What needs a newer Python: a top-level statement or a part of it, its names, and the line where it is new."""

    names: tuple[str, ...]
    line: int
    novelty: Novelty


def newer_statements(source: str, is_notebook: bool) -> dict[int, Statement]:
    """Return the top-level statements of a script or cell that only a newer Python can read, by each of their lines."""
    statements: dict[int, Statement] = {}
    with warnings.catch_warnings(action="ignore"):
        reader = _Translator(source)
        translated = reader.code()
        if not any(one.novelty.since > sys.version_info for one in reader.found):
            return statements
        by_line = operator.attrgetter("line")
        in_order = sorted(reader.found, key=by_line)
        for piece in filter(_compiles, split(translated, is_notebook)):
            last = piece.tree.body[0].end_lineno or 0 if piece.tree else 0
            begin = bisect.bisect_left(in_order, piece.line, key=by_line)
            found = in_order[begin : bisect.bisect(in_order, last, key=by_line)]
            newest = max(found, key=lambda one: one.novelty.since, default=None)
            if newest and newest.novelty.since > sys.version_info:
                names = dict.fromkeys([*piece.names, *(name for one in found for name in one.names)])
                statement = newest._replace(names=tuple(names))
                statements.update(dict.fromkeys(range(piece.line, last + 1), statement))
    return statements


def _compiles(piece: Piece) -> bool:
    with contextlib.suppress(SyntaxError, *NOT_PARSED):
        return bool(piece.tree and compile(piece.tree, "", "exec", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT, dont_inherit=True))
    return False


class _Unreadable(Exception):
    """This is no Python of any version, as far as it is known here."""


class _Translator:
    """Reads a source, and notes what is new in it."""

    def __init__(self, source: str) -> None:
        self.source = source
        self.place = 0
        self.found: list[Statement] = []
        self._line_ends = [match.start() for match in re.finditer("\n", source)]
        self._nested = 0
        self._unreadable = 0
        self._comments = 0

    def code(self, end: re.Pattern[str] | None = None) -> str:
        """Return the code up to a match of `end` outside of brackets, or the rest, translated line by line.

        Raises:
            _Unreadable: There is no such end.
        """
        parts, brackets = list[str](), list[str]()
        while self.place < len(self.source):
            if end and not brackets and end.match(self.source, self.place):
                return "".join(parts)
            token = _TOKEN.match(self.source, self.place)
            assert token
            known = len(self.found)
            try:
                parts.append(self._translated(token))
            except _Unreadable:
                if end:
                    raise
                del self.found[known:]
                self._nested = 0
                self._unreadable += 1
                parts.append(self._taken(token.start(), self._old_end(token)))
            if end and token[0] in "([{":
                brackets.append(token[0])
            elif end and token[0] in _PAIRS and (not brackets or brackets.pop() != _PAIRS[token[0]]):
                raise _Unreadable
        if end:
            raise _Unreadable
        return "".join(parts)

    def _translated(self, token: re.Match[str]) -> str:
        """Return what a token becomes, with what belongs to it, and move behind that."""
        self.place = token.end()
        if token["comment"]:
            self._comments += 1
        elif token["quote"]:
            return self._string(token)
        elif token["types"]:
            self._note(token.start(), TYPES)
            return f"{token['handler']}({token['types']})"
        elif token["definition"]:
            return token["definition"] + self._parameters(token.start())
        elif token["alias"]:
            self._note(token.start(), ALIAS, token["alias"].split()[1])
            lines = ""
            if self.source[self.place] == "[":
                self.place += 1
                lines = self._parameters(token.start())
            self._expect(_ASSIGNMENT)
            # Like `type X =`, it begins a statement, and one expression has to follow.
            return f"raise {lines}None if 0 else "
        return token[0]

    def _string(self, token: re.Match[str]) -> str:
        kind = (token["prefix"] or "").lower()
        if not set(kind) & {"f", "t"}:
            return self._taken(token.start(), self._old_end(token))
        known = len(self.found)
        if "t" in kind:
            self._note(token.start(), TEMPLATE)
        self._texts_and_fields(token["quote"], "r" in kind, token["quote"])
        if len(self.found) == known:
            return self.source[token.start() : self.place]
        lines = "\n" * self.source.count("\n", token.start(), self.place)
        # An f-string joins the strings beside it; a t-string may not be beside a string.
        return f"{{_{lines}}}" if "t" in kind else f"f'''{lines}'''"

    def _texts_and_fields(self, quote: str, is_raw: bool, end: str) -> None:
        """Move behind the end of an f-string or of a format."""
        text = _text_pattern(quote, is_raw, end == "}")
        while True:
            literal = self._expect(text)
            if "\\" in literal:
                _parsed(f"{'r' if is_raw else ''}{quote}{literal} {quote}")
            if self.source.startswith(end, self.place):
                self.place += len(end)
                return
            if not self.source.startswith("{", self.place):
                raise _Unreadable
            self.place += 1
            self._field(quote, is_raw)

    def _field(self, quote: str, is_raw: bool) -> None:
        begin, comments = self.place, self._comments
        self._go_inside()
        match _parsed(f"({self.code(_FIELD_END)} \n,)").value:
            case ast.Tuple([ast.Starred()]):
                raise _Unreadable
        expression = self.source[begin : self.place]
        self._expect(_AFTER_FIELD)
        self.place += 1
        if self.source[self.place - 1] == ":":
            self._texts_and_fields(quote, is_raw, "}")
        self._nested -= 1
        field = self.source[begin : self.place]
        if "\\" in expression:
            self._note(begin, BACKSLASH)
        elif self._comments > comments:
            self._note(begin, COMMENT)
        elif "\n" in field and len(quote) == 1:
            self._note(begin, LINE_BREAK)
        elif quote in field:
            self._note(begin, QUOTES)

    def _parameters(self, start: int) -> str:
        """Move behind type parameters, from behind their bracket. Return their line breaks, so that lines stay."""
        begin = self.place
        self._go_inside()
        arguments = _parsed(f"def _({self.code(_PARAMETERS_END)} \n): pass").args
        self._nested -= 1
        self.place += 1
        stars = [one for one in (arguments.vararg, arguments.kwarg) if one]
        names = [one.arg for one in (*arguments.args, *stars)]
        is_other = arguments.posonlyargs or arguments.kwonlyargs or any(one.annotation for one in stars)
        if not names or len(set(names)) < len(names) or is_other:
            raise _Unreadable
        self._note(start, DEFAULT if arguments.defaults else PARAMETERS)
        return " " + "\\\n" * self.source.count("\n", begin, self.place)

    def _go_inside(self) -> None:
        self._nested += 1
        if self._nested > MOST_NESTED or self._unreadable > MOST_UNREADABLE:
            raise _Unreadable

    def _expect(self, pattern: re.Pattern[str]) -> str:
        match = pattern.match(self.source, self.place)
        if not match:
            raise _Unreadable
        return self._taken(self.place, match.end())

    def _old_end(self, token: re.Match[str]) -> int:
        """Return the end of a token in an older Python, to which each string is a plain one."""
        end = _PLAIN[token["quote"]].match(self.source, token.end()) if token["quote"] else None
        return end.end() if end else token.end()

    def _taken(self, begin: int, end: int) -> str:
        self.place = end
        return self.source[begin:end]

    def _note(self, place: int, novelty: Novelty, name: str = "") -> None:
        names = (name,) if name else ()
        self.found.append(Statement(names, bisect.bisect_left(self._line_ends, place) + 1, novelty))


@functools.cache
def _text_pattern(quote: str, is_raw: bool, is_format: bool) -> re.Pattern[str]:
    """Return what may be between the replacement fields of an f-string, or between those of a format."""
    named = "" if is_raw else r"\\N\{[^{}]*\}|"
    braces = "" if is_format else r"\{\{|\}\}|"
    other = r"[^\\{}]" if len(quote) == 3 else r"[^\\{}\n]"
    return re.compile(rf"(?:{named}\\[^{{}}]|\\(?=[{{}}])|{braces}(?!{quote}){other})*+", re.DOTALL)


def _parsed(text: str) -> Any:
    """Return the tree of a text that is one statement. Raises _Unreadable."""
    try:
        [statement] = ast.parse(text).body
    except (SyntaxError, *NOT_PARSED):
        raise _Unreadable from None
    return statement


# Of the standard library, by the version that they are new in: modules, and names in modules.
NAMES = {
    "3.12": "itertools.batched math.sumprod random.binomialvariate typing.override typing.TypeAliasType",
    "3.13": "copy.replace math.fma typing.NoDefault typing.ReadOnly typing.TypeIs warnings.deprecated",
    "3.14": "annotationlib compression functools.Placeholder heapq.heappush_max string.templatelib",
}
MISSING = re.compile(
    r"cannot import name '(?P<name>\w+)' from '(?P<source>[\w.]+)'"
    r"|module '(?P<owner>[\w.]+)' has no attribute '(?P<attribute>\w+)'"
    r"|No module named '(?P<module>[\w.]+)'"
)


def needing(statement: Statement, failed: FailedStatement, grades: str) -> FailedStatement:
    """Return a failed statement with the newer Python that it needs. grades: what the course is graded with."""
    (major, minor), what, instead = statement.novelty
    return replace(
        failed,
        names=failed.names or statement.names,
        reason=f"It needs Python {major}.{minor} or later.",
        detail=what,
        line=statement.line,
        hint=f"{_who(grades)}: {instead}.",
    )


def hint_for_missing(detail: str, grades: str) -> str:
    """Return what to do about an error, if it is about a name that only a newer Python has; otherwise ""."""
    missing = MISSING.match(detail)
    if not missing:
        return ""
    names = [missing["source"], missing["name"]] if missing["name"] else [missing["owner"], missing["attribute"]]
    name = missing["module"] or ".".join(names)
    for since, new in NAMES.items():
        if name in new.split() and tuple(map(int, since.split("."))) > sys.version_info:
            return f"`{name}` needs Python {since} or later. {_who(grades)}: do without it."
    return ""


def _who(grades: str) -> str:
    return f"Python {RUNNING} {'grades' if grades == RUNNING else 'runs your code here'}"
