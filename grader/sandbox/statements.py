"""Parses top-level statements, and says what lines of a source are that are no Python, or no whole statement."""

from __future__ import annotations

import ast
import bisect
import difflib
import functools
import keyword
import re
import unicodedata
from codeop import PyCF_ALLOW_INCOMPLETE_INPUT  # type: ignore[attr-defined]
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple, TypeVar

from grader.text import in_words, listed

DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
# What Python's parser raises besides SyntaxError: for a NUL byte, and for a source that is nested too deeply.
NOT_PARSED = (ValueError, RecursionError, MemoryError)
# The parser's text for a source that ends too early.
INCOMPLETE = "incomplete input"


Found = TypeVar("Found", "list[Piece]", "list[Piece] | SyntaxError")


@dataclass(frozen=True)
class Piece:
    """A top-level statement: the names that it binds, and its tree or the reason why there is none.

    Attributes:
        is_known: Whether the reason says what a line is that is no Python.
    """

    line: int
    names: tuple[str, ...]
    tree: ast.Module | None
    problem: SyntaxError | None = None
    is_known: bool = False

    @property
    def node(self) -> ast.stmt | None:
        """The statement."""
        return self.tree.body[0] if self.tree else None

    @property
    def last_line(self) -> int:
        """The number of its last line."""
        return (self.node and self.node.end_lineno) or self.line

    @property
    def is_definition(self) -> bool:
        """Whether it defines a function or a class."""
        return isinstance(self.node, DEFINITIONS)

    @property
    def is_string(self) -> bool:
        """Whether it is a constant alone, such as a docstring."""
        return isinstance(self.node, ast.Expr) and isinstance(self.node.value, ast.Constant)

    @property
    def does_only(self) -> bool:
        """Whether it is a call or a loop, which are there for what they do and not for names."""
        return isinstance(self.node, ast.Expr | ast.For | ast.While) and not self.is_string

    @property
    def has_returned(self) -> bool:
        """Whether it is a function whose last line leaves it, so that no line below can change it."""
        return isinstance(self.node, ast.FunctionDef) and isinstance(self.node.body[-1], ast.Return | ast.Raise)


def parse(source: str, flags: int = 0) -> list[Piece] | SyntaxError:
    """Return the statements of a source, or why it does not parse. flags: those of the compiler."""
    try:
        tree = compile(source, "<unknown>", "exec", flags | ast.PyCF_ONLY_AST, dont_inherit=True)
    except SyntaxError as error:
        return error.with_traceback(None)  # a traceback keeps the source; many take long to collect
    except ValueError as error:
        return SyntaxError(str(error))
    except (RecursionError, MemoryError):
        return SyntaxError("nested too deeply for Python to read")
    return [Piece(first_line(node), tuple(bound_names(node)), ast.Module([node], [])) for node in tree.body]


def moved(found: Found, lines: int) -> Found:
    """Return what was parsed as if there were this number of lines above it."""
    if isinstance(found, SyntaxError):
        found.lineno = (found.lineno or 1) + lines
        if lines and "line " in found.msg:
            found.msg = re.sub(r"(?<=\bline )\d+", lambda number: str(int(number[0]) + lines), found.msg)
        return found
    for piece in found:
        if piece.tree:
            ast.increment_lineno(piece.tree, lines)
    return [replace(piece, line=piece.line + lines) for piece in found]


def first_line(node: ast.stmt | ast.excepthandler) -> int:
    """Return the number of a statement's first line, which may be that of a decorator."""
    decorators: list[ast.expr] = getattr(node, "decorator_list", [])
    return min([node.lineno, *(one.lineno for one in decorators)])


def bound_names(node: ast.stmt) -> Iterator[str]:
    """Yield the names that a top-level statement binds."""
    if isinstance(node, DEFINITIONS):
        yield node.name
    elif isinstance(node, ast.Import | ast.ImportFrom):
        for alias in node.names:
            yield alias.asname or alias.name.partition(".")[0]
    else:
        for inner in ast.walk(node):
            if isinstance(inner, ast.Name) and isinstance(inner.ctx, ast.Store):
                yield inner.id


# -- lines that are no Python, or no whole statement ---------------------------------------------------------

# What is blank for Python. Other spaces are characters that it cannot read.
BLANK = " \t\f\r"
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
HEADER = re.compile(r"(?:if|for|while|with|try|match|else\s+if)\b")
# The parser's texts for a header alone, and for an open bracket.
OPENED = re.compile(r"expected an indented block|was never closed")
# What can go on with the expression of the line above.
CONTINUING = re.compile(r"[^\w\s]|(?:and|or|in|is|not|if)\b")
# A magic or a shell line of a notebook, with or without an assignment, or a name with a question mark.
MAGIC = re.compile(r"^(\s*+)([%!?].*|[\w., ]+= *[%!].*|[\w.*\[\]]+\?\??\s*)$")
# A marker of an unfinished merge. Inside another merge, git makes them longer.
MERGE = re.compile(r"<{7,}|\|{7,}|>{7,}|={7,}$")
MERGED = "an unfinished merge"
PASTED_ERROR = "a pasted error message"
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
INVISIBLE = "a blank line with invisible characters"
# The beginnings of lines that are no Python, and what such a line is.
STRAYS = {
    "a Markdown fence": re.compile(r"```|~~~"),
    "a conflict marker": re.compile(r"(?:<{7}|\|{7}|>{7})"),
    "printed output": re.compile(r"Out ?\[\d*\]:|<(?:function|class|bound|module|generator|built-in|[\w.]+ object) \S"),
    "a prompt": PROMPT,
    "an HTML tag": re.compile(r"</?[A-Za-z][\w-]*(?: [^<>]*)?/?>|<!|-->$"),
    "a notebook command": re.compile(r"[%!?]|[\w., ]++= *[%!]|(?=\w*[._\d])[\w.]++\?\??$"),
    "a command for the terminal": re.compile(
        r"(?:\([\w.-]+\) ?)?(?:\[?[\w.-]++@[\w.-]++(?:[^$%#]*\$|[: ][~/]\S* ?[%#]) |\$ |(?:PS )?[A-Za-z]:\\[^<>|]*>)"
        r"|(?:pip3?|conda|mamba|uv|brew|apt|apt-get|npm) \w|git (?:clone|add|commit|push|pull|init)\b"
        r"|cd \S+(?:$| &&)|(?:wget|curl) \S|(?:python3?|pytest|jupyter|grader) [\w./-]+(?: |$)|cat >[^<]*<<|EOF$"
    ),
}
# What is printed for a tensor, if nothing has that name.
OUTPUT = re.compile(r"(?:tensor|array)\(")
# The end of an HTML comment, which is no comment of Python.
COMMENT_END = re.compile(r"(?!\s*#).*-->\s*$")
# The lines of an error message: how Python and IPython begin it, where in the code it was, and the error.
TRACEBACK = re.compile(r"Traceback \(most recent call last\):?\s*$")
IPYTHON_TRACEBACK = re.compile(r"\w+ +Traceback \(most recent call last\)\s*$")
FRAME = re.compile(r'\s+File ".*", line \d+|\s+\[Previous line repeated|\s+\.\.\.\s*$')
IPYTHON_FRAME = re.compile(r"\s*$|(?:-+>|\s)\s*\d+\b|(?:File |Cell In|Input In|<ipython|[/~]).*(?:line \d|:\d| in )")
MARKS = re.compile(r"[\s~^]*[~^]\s*$")
ERROR = re.compile(r"[\w.]*(?:Error|Exception|Exit|Interrupt|Warning|Iteration)(?::.*)?$")
NEXT_TRACEBACK = re.compile(r"During handling of the above|The above exception was")


class Block(NamedTuple):
    """Lines that are no Python together: the number of the last one, and what they are."""

    last: int
    kind: str

    def sentence(self, first: int, run: Sequence[int] = ()) -> str:
        """Say what the lines are. first: the number of the first one. run: the lines of the imports that are run."""
        which = f"the imports in lines {in_words([str(line) for line in run])} are" if run[1:] else "its import is"
        imports = f"; {which} run" if run else ""
        lines = f"lines {first + 1} to {self.last + 1} are" if self.last > first else "the line is"
        return f"{lines} {self.kind}{imports}"


def blocks(lines: Sequence[str]) -> dict[int, Block]:
    """Return the blocks of a source, each by the number of its first line."""
    found = {first: Block(last, MERGED) for first, last in _merges(lines)}
    ends = [number for number, line in enumerate(lines) if "-->" in line and COMMENT_END.match(line)]
    last = -1
    for number, line in enumerate(lines):
        if number <= last or number in found:
            continue
        if line.startswith("<!--"):
            place = bisect.bisect_left(ends, number)
            block = Block(ends[place], "an HTML comment") if place < len(ends) else None
        else:
            end = _end_of_error(lines, number)
            block = Block(end, PASTED_ERROR) if end is not None else None
        if block:
            found[number], last = block, block.last
    return found


def _merges(lines: Sequence[str]) -> Iterator[tuple[int, int]]:
    """Yield the first and the last line of each unfinished merge, also of one that lacks a marker."""
    all_marked = [(number, found[0]) for number, line in enumerate(lines) if (found := MERGE.match(line))]
    for length in {len(mark) for _, mark in all_marked}:
        marked = [(number, mark[0]) for number, mark in all_marked if len(mark) == length]
        begin = end = 0
        while end < len(marked):
            # Up to a line of `>`, or before the next line of `<`.
            places = ((n, marked[n][1]) for n in range(begin, len(marked)))
            ends = (n + (mark == ">") for n, mark in places if mark == ">" or (mark == "<" and n > begin))
            end = next(ends, len(marked))
            merge, begin = marked[begin:end], end
            # Several lines of `=` underline the titles of a text.
            while [mark for _, mark in merge[:2]] == ["=", "="]:
                del merge[0]
            while [mark for _, mark in merge[-2:]] == ["=", "="]:
                del merge[-1]
            if len(merge) > 1:
                yield merge[0][0], merge[-1][0]


def _end_of_error(lines: Sequence[str], first: int) -> int | None:
    """Return the last line of an error message that begins at a line; None if none does."""
    is_ruled = lines[first].startswith("-----") and first + 1 < len(lines)
    if IPYTHON_TRACEBACK.match(lines[first + is_ruled]):
        last = first + is_ruled
        for number in range(last + 1, len(lines)):
            if ERROR.match(lines[number]):
                return number
            if not IPYTHON_FRAME.match(lines[number]):
                break
            last = number if lines[number].strip() else last
        return last
    end = first
    begin = first if re.match(rf"{TRACEBACK.pattern}|\s+File ", lines[first]) else None
    while begin is not None:
        end = begin + bool(TRACEBACK.match(lines[begin]))  # the line behind it
        while end < len(lines) and FRAME.match(lines[end]):
            end += 1
            # The code of that place, of which parts may be marked.
            if end < len(lines) and is_indented(lines[end] or "x") and not FRAME.match(lines[end]):
                end += 1
                while end < len(lines) and MARKS.match(lines[end]):
                    end += 1
        end += end > begin and end < len(lines) and bool(ERROR.match(lines[end]))
        below = [number for number in range(end, min(end + 5, len(lines))) if lines[number].strip()]
        is_next = len(below) > 1 and NEXT_TRACEBACK.match(lines[below[0]]) and TRACEBACK.match(lines[below[1]])
        begin = below[1] if is_next else None
    return end - 1 if end > first else None


def is_code(line: str) -> bool:
    """Return whether a line is neither blank for Python nor a comment."""
    text = line.lstrip(BLANK)
    return bool(text) and not text.startswith("#")


def is_invisible(line: str) -> bool:
    """Return whether a line seems to be blank or a comment, but has characters that Python cannot read."""
    if line.isprintable():
        return False
    seen = next((place for place, one in enumerate(line) if one.isprintable() and one != " "), len(line))
    return bool(line[:seen].strip(BLANK)) and line[seen : seen + 1] in ("", "#")


def kind_of(line: str) -> str:
    """Return what a line is that is no Python, or ""."""
    if is_invisible(line):
        return INVISIBLE
    return next((kind for kind, pattern in STRAYS.items() if pattern.match(line.strip())), "")


def names_in(lines: Sequence[str]) -> tuple[str, ...]:
    """Return the names that lines would bind: of definitions at the margin, or as far from it as the first; or all."""
    found = [one for line in lines if (one := DEFINITION.match(line))]
    if found and found[0]["kind"]:
        widths = [len(one[0]) - len(one[0].lstrip()) if one["kind"] else -1 for one in found]
        width = 0 if 0 in widths else widths[0]
        found = [one for one, own in zip(found, widths, strict=True) if own == width]
    return tuple(dict.fromkeys(one[2] or one[3] for one in found))


def range_of(lines: Sequence[str], first: int, end: int, stray: range, names: tuple[str, ...]) -> str:
    """Say which lines are lost, from `first` on and above `end`, if it is not one definition with stray lines in it."""
    code = [number for number in range(first, end) if is_code(lines[number])]
    below = (number for number in code if number != first and number not in stray)
    if len(code) < 2 or (DEFINING.match(lines[first]) and all(is_indented(lines[number]) for number in below)):
        return ""
    return f"; lines {first + 1} to {code[-1] + 1} are not run{f', with {listed(names)}' if names[1:] else ''}"


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
    return not is_indented(line) and all(is_note(piece.node) for piece in found if piece.node)


def paragraphs(pieces: Iterable[Piece], lines: Sequence[str]) -> list[Piece]:
    """Return the pieces of a source, with one for all lines of a text. lines: those of the source."""
    joined: list[Piece] = []
    above: SyntaxError | None = None  # the problem of the last one, if it is a text
    for piece in pieces:
        is_unknown = not piece.tree and not piece.names and not piece.is_known
        problem = piece.problem if is_unknown and is_text(lines[piece.line - 1]) else None
        if above and problem:
            above.lineno = joined[-1].line
            above.msg = f"invalid syntax in lines {joined[-1].line} to {piece.line}"
        else:
            joined.append(piece)
            above = problem
    return joined


def opens(line: str) -> bool:
    """Return whether a line seems to begin a block: a definition, an open bracket, or a header, even if it is wrong."""
    text = line.partition("#")[0].rstrip()
    word, _, rest = text.partition(" ")
    headers = [f"{keyword} {rest}" for keyword in difflib.get_close_matches(word.lower(), HEADERS)]
    for one in (text, *(headers if text.endswith(":") else [f"{text}:"])):
        found = parse(one)
        if isinstance(found, SyntaxError) and OPENED.search(found.msg):
            return True
    return bool(HEADER.match(text) and text.endswith(":")) or (bool(OPENING.match(line)) and not kind_of(line))


@functools.lru_cache(1)
def stands_alone(line: str) -> bool:
    """Return whether no `else` or `except` can belong to a line: it defines something, or has no block."""
    found = parse(line)
    nodes = [] if isinstance(found, SyntaxError) else [one.node for one in found if one.node]
    return bool(DEFINING.match(line)) or (bool(nodes) and not {"body", "cases"} & set(nodes[-1]._fields))


def is_apart(line: str, above: Piece) -> bool:
    """Return whether an indented line cannot go on with the statement above it, which has no block."""
    is_own = kind_of(line) or DEFINING.match(line) or not CONTINUING.match(line)
    node = above.node
    is_simple = node and (node.lineno == node.end_lineno or not {"body", "cases"} & set(node._fields))
    return bool(is_simple and (isinstance(node, ast.Import | ast.ImportFrom) or is_own))


def does_nothing(line: str) -> bool:
    """Return whether a line that parses is no code: names, as in a text or a list of one, or what is printed."""
    found = parse(line.strip())
    is_note_alone = not isinstance(found, SyntaxError) and all(is_note(one.node) for one in found if one.node)
    return is_note_alone or bool(OUTPUT.match(line.strip()))


def other_language(cell: str) -> str:
    """Return the magic of a notebook cell that is not run as Python, such as `%%bash`; "" if it is."""
    magic = next(iter(cell.split()), "")
    return magic if magic.startswith("%%") and magic not in PYTHON_MAGICS else ""
