"""What lines of a source are that are no Python, or no whole statement."""

from __future__ import annotations

import ast
import keyword
import re
import unicodedata
from codeop import PyCF_ALLOW_INCOMPLETE_INPUT  # type: ignore[attr-defined]
from typing import TYPE_CHECKING

from grader.sandbox.statements import INCOMPLETE, parse

if TYPE_CHECKING:
    from collections.abc import Iterator

# A line that is neither blank nor a comment.
CODE = re.compile(r"\s*[^\s#]")
# A line that continues the statement above it although it is not indented.
CLAUSE = re.compile(r"(?:else|elif|except|finally)\b")
# A line that closes a bracket, perhaps with a sign that only looks like one.
CLOSING = re.compile(r"[)\]}）］｝】]")
# The prompt of a shell in front of a line.
PROMPT = re.compile(r"(?:>>>|\.\.\.)(?: |$)|(?:In|Out) ?\[\d*\]: ?")
# A line that binds a name, also after a prompt.
DEFINITION = re.compile(rf"(?:{PROMPT.pattern})?(?:\s*(?P<kind>async\s+def|def|class)\s+(\w+)|(\w+)\s*=(?!=))")
# Words that no text begins with; it may begin with `not`.
KEYWORDS = "|".join(one for one in keyword.kwlist if one != "not")
# A line of a text: an item of a list, or two words that do not begin like a statement.
TEXT = re.compile(rf"[-*|•◦▪‣→✓✔✗✘☐] |\d+\. |(?!(?:type|{KEYWORDS})\b)[^\W\d][\w'’]*,? \w")
# A line of words and punctuation, which may be one sentence of a text.
WORDS = re.compile(rf"(?!(?:{KEYWORDS})\b)[^\W\d][\w'’]*(?:[ ,.:;!?…‐–—\"“”„-]+[\w'’]+)*[ .:!?…–—”-]*|.*[。！？]")
# What is in no simple note: an expression with one of these does something.
DOING = (ast.Call, ast.Constant, ast.Await, ast.Yield, ast.YieldFrom, ast.Subscript, ast.Attribute, ast.NamedExpr)
# A line that begins a definition; one that does, or is not the last of a statement.
DEFINING = re.compile(rf"@(?!@|{TEXT.pattern})|(?:async\s+def|def|class)\b")
OPENING = re.compile(rf"{DEFINING.pattern}|.*[(\[{{,]\s*(?:#.*)?$")
HEADERS = ("def", "class", "if", "for", "while", "with")
# A magic or a shell line of a notebook, with or without an assignment, or a name with a question mark.
MAGIC = re.compile(r"^(\s*+)([%!?].*|[\w., ]+= *[%!].*|[\w.*\[\]]+\?\??\s*)$")
# A marker of an unfinished merge.
MERGE = re.compile(r"(?:<{7}|\|{7}|>{7})(?: |$)|={7}$")
# Magics of a whole cell that contains Python. %%bash, %%html and so on contain something else.
PYTHON_MAGICS = ("%%time", "%%timeit", "%%capture", "%%prun")
# What looks like a sign of Python and is none, with that sign.
QUOTES = {'"': "“”„‟«»″〝〞「」", "'": "‘’‚‛‹›′´"}
TYPED = {
    typed: sign
    for sign, others in {
        **QUOTES, "-": "−–—‐‑‒", "*": "×⋅∙✕∗", "/": "÷∕⁄", "<=": "≤", ">=": "≥", "!=": "≠", "->": "→", "...": "…",
        ",": "、", ".": "。", "[": "【", "]": "】", "** 0.5": "√", 'float("inf")': "∞",
    }.items()
    for typed in others
}  # fmt: skip
SIGNS = {ord(typed): sign for typed, sign in TYPED.items()}
# The beginnings of lines that are no Python, and what such a line is.
STRAYS = {
    "a Markdown fence": re.compile(r"```|~~~"),
    "a conflict marker": re.compile(r"[<|>]{7}( |$)"),
    "a prompt": PROMPT,
    "an HTML tag": re.compile(r"</?[A-Za-z][\w-]*(?: [^<>]*)?/?>|<!"),
    "a notebook command": re.compile(r"[%!?]|[\w., ]+= *[%!]"),
    "a command for the terminal": re.compile(
        r"\$ |(?:pip3?|conda|mamba|uv|brew|apt|apt-get|npm) \w|git (?:clone|add|commit|push|pull|init)\b|cd \S+$"
        r"|(?:wget|curl) \S|(?:python3?|pytest|jupyter|grader) [\w./-]+(?: |$)"
    ),
}


def merges(lines: list[str]) -> Iterator[tuple[int, int]]:
    """Yield the first and the last line of each unfinished merge, also of one that lacks a marker."""
    marked = [(number, line[0]) for number, line in enumerate(lines) if MERGE.match(line)]
    while marked:
        # Up to a line of `>`, or before the next line of `<`.
        places = [n for n, (_, mark) in enumerate(marked) if mark == ">" or (mark == "<" and n)]
        end = places[0] + (marked[places[0]][1] == ">") if places else len(marked)
        if end > 1:
            yield marked[0][0], marked[end - 1][0]
        del marked[:end]


def kind_of(line: str) -> str:
    """Return what a line is that is no Python, or ""."""
    return next((kind for kind, pattern in STRAYS.items() if pattern.match(line)), "")


def names_in(lines: list[str]) -> tuple[str, ...]:
    """Return the names that lines would bind: that of a definition, or else all that are found."""
    found = [one for line in lines if (one := DEFINITION.match(line))]
    if found and found[0]["kind"]:
        found = [one for one in found if one["kind"] and not one[0][0].isspace()]
    return tuple(dict.fromkeys(one[2] or one[3] for one in found))


def is_indented(line: str) -> bool:
    """Return whether a line that is not empty is indented."""
    return line[0].isspace() and line[0] != "\f"  # a page break is no indentation for Python


def typed(text: str) -> str:
    """Return a text with Python's own signs in place of those that look like them."""
    return unicodedata.normalize("NFKC", text.translate(SIGNS))


def is_note(node: ast.AST) -> bool:
    """Return whether a statement is only names, perhaps with signs between them: it does nothing."""
    return isinstance(node, ast.Expr) and not any(isinstance(one, DOING) for one in ast.walk(node))


def is_text(line: str) -> bool:
    """Return whether a line is words, and no Python: not even with Python's own signs."""
    text = line.strip()
    if not (TEXT.match(text.translate(SIGNS)) or WORDS.fullmatch(text)):
        return False
    found = parse(typed(text), PyCF_ALLOW_INCOMPLETE_INPUT)
    if isinstance(found, SyntaxError):
        return found.msg != INCOMPLETE
    return not is_indented(line) and all(is_note(node) for piece in found if piece.tree for node in piece.tree.body)
