"""Reads the top-level statements of a student's source, also of one that does not parse as a whole."""

from __future__ import annotations

import ast
import contextlib
import difflib
import keyword
import re
from codeop import PyCF_ALLOW_INCOMPLETE_INPUT  # type: ignore[attr-defined]
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

# A line that is neither blank nor a comment.
CODE = re.compile(r"\s*[^\s#]")
# A line that continues the statement above it although it is not indented.
CLAUSE = re.compile(r"(?:else|elif|except|finally)\b")
# The prompt of a shell in front of a line.
PROMPT = re.compile(r"(?:>>>|\.\.\.)(?: |$)|(?:In|Out) ?\[\d*\]: ?")
# A line that binds a name, also after a prompt.
DEFINITION = re.compile(rf"(?:{PROMPT.pattern})?(?:\s*(?P<kind>async\s+def|def|class)\s+(\w+)|(\w+)\s*=(?!=))")
# A line of a text: an item of a list, or two words that do not begin like a statement.
TEXT = re.compile(rf"[-*|] |\d+\. |(?!(?:type|{'|'.join(keyword.kwlist)})\b)[^\W\d][\w'’]*,? \w")
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
# Up to the first line of code, if that is indented.
INDENTED = re.compile(r"(?:[ \t]*(?:#.*)?\n)*([ \t]+)(?=[^#\s])")
DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
# What Python's parser raises besides SyntaxError: for a NUL byte, and for a source that is nested too deeply.
NOT_PARSED = (ValueError, RecursionError, MemoryError)
# How many lines are parsed again to find where statements end. Beyond it, a statement is what its first line begins.
MOST_LINES = 20_000
# The parser's text for a source that ends too early.
INCOMPLETE = "incomplete input"


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


def split(source: str, is_notebook: bool = False) -> list[Piece]:
    """Return the top-level statements of a cell.

    If the cell does not parse, each statement in it that parses is kept as it is. What is between them becomes pieces
    that cannot run, except for the magics and shell lines of a notebook, which are left out.
    """
    found = _statements(source)
    if not isinstance(found, SyntaxError):
        return found
    if is_notebook and (magic := other_language(source)):
        lines = source.split("\n")
        error = SyntaxError(f"a cell that begins with {magic} is not run as Python")
        error.lineno = next(number for number, line in enumerate(lines, 1) if line)
        return [Piece(error.lineno, _names_in(lines), None, error, is_known=True)]
    return _Salvage(source, is_notebook).pieces()


def other_language(cell: str) -> str:
    """Return the magic of a notebook cell that is not run as Python, such as `%%bash`; "" if it is."""
    magic = next(iter(cell.split()), "")
    return magic if magic.startswith("%%") and magic not in PYTHON_MAGICS else ""


def _statements(source: str, flags: int = 0) -> list[Piece] | SyntaxError:
    try:
        tree = compile(source, "<unknown>", "exec", flags | ast.PyCF_ONLY_AST, dont_inherit=True)
    except SyntaxError as error:
        return error
    except ValueError as error:
        return SyntaxError(str(error))
    except (RecursionError, MemoryError):
        return SyntaxError("nested too deeply for Python to read")
    return [Piece(_first_line(node), tuple(_bound_names(node)), ast.Module([node], [])) for node in tree.body]


def _first_line(node: ast.stmt) -> int:
    decorators: list[ast.expr] = getattr(node, "decorator_list", [])
    return min([node.lineno, *(decorator.lineno for decorator in decorators)])


def _bound_names(node: ast.stmt) -> Iterator[str]:
    if isinstance(node, DEFINITIONS):
        yield node.name
    elif isinstance(node, ast.Import | ast.ImportFrom):
        for alias in node.names:
            yield alias.asname or alias.name.partition(".")[0]
    else:
        for inner in ast.walk(node):
            if isinstance(inner, ast.Name) and isinstance(inner.ctx, ast.Store):
                yield inner.id


class _Salvage:
    """Reads the statements of a source that does not parse as a whole.

    A chunk is a line in the first column, with the indented lines and the clauses below it. The shortest run of chunks
    that parses is a statement. A chunk that can begin none is stray. If it turns out to be inside a statement, which
    goes on below the stray line, that statement is lost; otherwise the statements around it are complete.
    """

    def __init__(self, source: str, is_notebook: bool) -> None:
        self.lines = source.split("\n")
        self.is_notebook = is_notebook
        self.merges = dict(_merges(self.lines))
        self.starts = list(self._starts())
        self.found: list[Piece] = []
        self.left = MOST_LINES + len(self.lines)  # each is parsed once in any case

    def _starts(self) -> Iterator[int]:
        """Yield the first line of each chunk, and the number of lines. An unfinished merge is inside one chunk."""
        first, is_first, end_of_merge = "", True, -1
        for number, line in enumerate(self.lines):
            if not CODE.match(line) or number <= end_of_merge:
                continue
            if is_first or not (_is_indented(line) or (CLAUSE.match(line) and not DEFINING.match(first))):
                first = line
                yield number
            is_first, end_of_merge = False, self.merges.get(number, end_of_merge)
        yield len(self.lines)

    def pieces(self) -> list[Piece]:
        """Return the statements, and a piece that cannot run for everything else."""
        begin = 0
        above: list[str] = []  # the statement above, without stray lines; empty where no line could continue it
        place = 0  # of its last piece
        while begin < len(self.starts) - 1:
            first = self.lines[self.starts[begin]]
            found, end = self._statement(begin)
            if found:
                self.found += found
                above, place = ([] if _has_returned(found[-1]) else self._text(begin, end)), len(self.found) - 1
            elif self._ends_early(begin, end):
                continue
            elif closed := self._closed(begin, end):
                self._lose(self.starts[begin], closed, end)
                above, place, end = self._text(begin, end), len(self.found) - 1, closed
            elif not (above and self._goes_on(above, begin)):
                above = [] if end > begin or OPENING.match(first) else above
                end = self._lose_chunk(begin, end)
            elif _opens(first):
                above, end = [], self._lose_chunk(begin, end)  # what is below it may be its own
            else:
                statement, end = self.found[place], begin + 1
                del self.found[place:]
                self._lose(statement.line - 1, end, begin, statement.names)
            begin = end
        return self._paragraphs()

    def _paragraphs(self) -> list[Piece]:
        """Return what was found, with one piece for all lines of a text."""
        joined: list[Piece] = []
        for piece in self.found:
            above = joined[-1].problem if joined and self._is_text(joined[-1]) else None
            if above and self._is_text(piece):
                above.msg = f"{above.msg.partition(' in lines ')[0]} in lines {joined[-1].line} to {piece.line}"
            else:
                joined.append(piece)
        return joined

    def _is_text(self, piece: Piece) -> bool:
        is_lost = piece.tree is None and not piece.names and not piece.is_known
        return is_lost and bool(TEXT.match(self.lines[piece.line - 1]))

    def _text(self, begin: int, end: int) -> list[str]:
        return self.lines[self.starts[begin] : self.starts[end]]

    def _without_stray_line(self, chunk: int) -> list[str]:
        """Return a chunk without the stray line that it begins with, or the markers of an unfinished merge."""
        return ["", *("" if MERGE.match(line) else line for line in self._text(chunk, chunk + 1)[1:])]

    def _statement(self, begin: int) -> tuple[list[Piece], int]:
        """Return the statements that begin at a chunk, and the chunk behind them; or none, and the chunk in the way."""
        for end in range(begin + 1, len(self.starts)):
            found = self._parsed(self._text(begin, end), self.starts[begin])
            if not isinstance(found, SyntaxError):
                return found, end
            if found.msg != INCOMPLETE or self.left < 0:
                return [], end - 1
        return [], len(self.starts) - 1

    def _parsed(
        self, text: list[str], above: int, flags: int = PyCF_ALLOW_INCOMPLETE_INPUT
    ) -> list[Piece] | SyntaxError:
        """Parse lines that have this number of lines above them."""
        self.left -= len(text)
        return _moved(_statements("\n".join(text), flags), above)

    def _goes_on(self, above: list[str], chunk: int) -> bool:
        """Return whether a line of a chunk, below its first, can continue the statement above it."""
        text = [*above, ""]
        for line in self._text(chunk, chunk + 1)[1:]:
            if CODE.match(line) and not MERGE.match(line) and self.left > 0:
                if not (_is_indented(line) or CLAUSE.match(line)):
                    return False  # a definition in an unfinished merge
                found = self._parsed([*text, line], 0)
                if not isinstance(found, SyntaxError) or found.msg == INCOMPLETE:
                    return True
            text.append("")
        return False

    def _ends_early(self, begin: int, chunk: int) -> bool:
        """Divide a chunk at an indented line that cannot belong to the statement around it, if there is one.

        The statement begins at `begin`, and the chunk is the first that cannot continue it.
        """
        if chunk == len(self.starts) - 1:
            return False
        text, start = self._text(begin, chunk + 1), self.starts[begin]
        error = self._parsed(text, 0)
        if not isinstance(error, IndentationError) or not error.msg.startswith("unindent") or not error.lineno:
            return False
        above, line = text[: error.lineno - 1], text[error.lineno - 1].strip()
        found = self._parsed(above, 0)
        if isinstance(found, SyntaxError):
            return False
        below = self._parsed([line], 0)
        if not _has_returned(found[-1]) and not (isinstance(below, SyntaxError) and below.msg != INCOMPLETE):
            return False
        self.starts.insert(chunk + 1, start + error.lineno - 1)
        return True

    def _closed(self, begin: int, chunk: int) -> int | None:
        """Return the chunk behind an incomplete statement that parses without the stray lines in it, if there is one.

        `chunk` is the first that cannot continue it.
        """
        text = self._text(begin, chunk)
        for stray in range(chunk, len(self.starts) - 1) if chunk > begin else ():
            if self.left < 0:
                return None
            found = self._parsed(text + self._text(stray, stray + 1), 0)
            if isinstance(found, SyntaxError) and found.msg != INCOMPLETE:
                if self._statement(stray)[1] != stray:
                    return None  # it is no stray line
                found = self._parsed(text + self._without_stray_line(stray), 0)
                text += self._without_stray_line(stray)
            else:
                text += self._text(stray, stray + 1)
            if not isinstance(found, SyntaxError):
                return stray + 1
            if found.msg != INCOMPLETE:
                return None
        return None

    def _lose_chunk(self, begin: int, chunk: int) -> int:
        """Add a piece that cannot run for the chunk `begin`, and return the chunk behind it.

        If it opens a bracket, what is in that bracket is lost too: up to `chunk`, the first that cannot continue it.
        """
        text, end = self._text(begin, begin + 1), begin + 1
        if self.is_notebook:
            # In a notebook, a magic inside an `if` is as good as any statement.
            found = self._parsed([MAGIC.sub(r"\1pass", line) for line in text], self.starts[begin])
            if not isinstance(found, SyntaxError) and not _is_definition(found[0]):
                self.found += [] if MAGIC.match(text[0]) else found
                return end
        # Without a decorator, the definition would be another.
        while text[0].startswith("@") and DEFINING.match(text[0]) and end < len(self.starts) - 1:
            text, end = self._text(end, end + 1), end + 1
        error = self._parsed(text, 0, flags=0)
        if isinstance(error, SyntaxError) and error.msg.endswith("was never closed"):
            end = max(end, chunk)
        self._lose(self.starts[begin], end, begin)
        return end

    def _lose(self, first: int, end: int, chunk: int, names: tuple[str, ...] = ()) -> None:
        """Add a piece that cannot run: the lines from `first` on, because of a chunk that begins or interrupts it."""
        start = self.starts[chunk]
        error = self._parsed(self._text(chunk, end), start, flags=0)
        assert isinstance(error, SyntaxError)
        line = error.lineno or start + 1
        last, kind = self.merges.get(start), _kind_of(self.lines[line - 1].strip())
        if last is not None:
            error.lineno, error.msg = start + 1, f"lines {start + 1} to {last + 1} are an unfinished merge"
        elif kind:
            error.msg = f"the line is {kind}"
        elif first < start < line - 1:
            error.lineno, error.msg = start + 1, "the line is not indented like the lines around it"
        names = names or _names_in(self.lines[first : self.starts[end]])
        self.found.append(Piece(first + 1, names, None, error, is_known=bool(kind or last is not None)))


def _moved(found: list[Piece] | SyntaxError, lines: int) -> list[Piece] | SyntaxError:
    """Return what was parsed as if there were this number of lines above it."""
    if isinstance(found, SyntaxError):
        found.lineno = (found.lineno or 1) + lines
        found.msg = re.sub(r"(?<=\bline )\d+", lambda number: str(int(number[0]) + lines), found.msg)
        return found
    for piece in found:
        assert piece.tree
        ast.increment_lineno(piece.tree, lines)
    return [replace(piece, line=piece.line + lines) for piece in found]


def _merges(lines: list[str]) -> Iterator[tuple[int, int]]:
    """Yield the first and the last line of each unfinished merge, also of one that lacks a marker."""
    marked = [(number, line[0]) for number, line in enumerate(lines) if MERGE.match(line)]
    while marked:
        # Up to a line of `>`, or before the next line of `<`.
        places = [n for n, (_, mark) in enumerate(marked) if mark == ">" or (mark == "<" and n)]
        end = places[0] + (marked[places[0]][1] == ">") if places else len(marked)
        if end > 1:
            yield marked[0][0], marked[end - 1][0]
        del marked[:end]


def _is_indented(line: str) -> bool:
    return line[0].isspace() and line[0] != "\f"  # a page break is no indentation for Python


def _kind_of(line: str) -> str:
    """Return what a line is that is no Python, or ""."""
    return next((kind for kind, pattern in STRAYS.items() if pattern.match(line)), "")


def _opens(line: str) -> bool:
    """Return whether a line seems to begin a block: a definition, or a header whose keyword is misspelt."""
    word, _, rest = line.partition(" ")
    headers = (f"{keyword} {rest} pass" for keyword in difflib.get_close_matches(word.lower(), HEADERS))
    is_header = line.rstrip().endswith(":") and any(not isinstance(_statements(one), SyntaxError) for one in headers)
    return is_header or (bool(OPENING.match(line)) and not _kind_of(line))


def _names_in(lines: list[str]) -> tuple[str, ...]:
    """Return the names that lines would bind: that of a definition, or else all that are found."""
    found = [one for line in lines if (one := DEFINITION.match(line))]
    if found and found[0]["kind"]:
        found = [one for one in found if one["kind"] and not one[0][0].isspace()]
    return tuple(dict.fromkeys(one[2] or one[3] for one in found))


def _is_definition(piece: Piece) -> bool:
    return piece.tree is not None and isinstance(piece.tree.body[0], DEFINITIONS)


def _has_returned(piece: Piece) -> bool:
    """Return whether a statement is a function whose last line leaves it, so that no line below can change it."""
    assert piece.tree
    [node] = piece.tree.body
    return isinstance(node, ast.FunctionDef) and isinstance(node.body[-1], ast.Return | ast.Raise)


def fix_indentation(cells: list[str]) -> list[str]:
    """Return the cells of a notebook so that none begins indented.

    Like Jupyter, this removes the indentation of a cell. A cell that was split off the one above is joined to it again,
    and leaves a blank cell.
    """
    fixed: list[str] = []
    begin = 0  # the first of the cells that may have been one cell
    for number, cell in enumerate(cells):
        indentation = INDENTED.match(cell)
        if indentation is None:
            begin = number if cell.strip() else begin
            fixed.append(cell)
            continue
        above = "\n".join(cells[begin:number])
        joined = f"{above}\n{cell}"
        dedented = "\n".join(line.removeprefix(indentation[1]) for line in cell.split("\n"))
        in_order = (joined, dedented) if _goes_on(above, dedented) else (dedented, joined)
        if number > begin and next(filter(_compiles, in_order), dedented) is joined:
            fixed[begin:] = [joined, *[""] * (number - begin)]
        else:
            fixed.append(dedented)
    return fixed


def _compiles(source: str) -> bool:
    with contextlib.suppress(SyntaxError, *NOT_PARSED):
        for piece in split(source, is_notebook=True):
            if piece.tree is None:
                return False
            compile(piece.tree, "cell", "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT, dont_inherit=True)
        return True
    return False


def _goes_on(above: str, cell: str) -> bool:
    """Whether a cell seems to continue the code above it: it has more methods, or uses local names of that code."""
    trees = [[piece.tree for piece in split(one, is_notebook=True)] for one in (above, cell)]
    if None in (*trees[0], *trees[1]) or not trees[0]:
        return True
    [*_, last], nodes = ([node for tree in one if tree for node in tree.body] for one in trees)
    below = ast.Module(nodes, [])
    definitions = [node for node in below.body if isinstance(node, DEFINITIONS)]
    if not isinstance(last, DEFINITIONS) or definitions:
        return isinstance(last, ast.ClassDef) and bool(definitions) and all(map(_is_method, definitions))
    used = {node.id for node in ast.walk(below) if isinstance(node, ast.Name)}
    return not (used - _own_names(below)).isdisjoint(_own_names(last))


def _is_method(node: ast.stmt) -> bool:
    arguments = getattr(node, "args", None)
    return arguments is not None and [argument.arg for argument in arguments.args[:1]] == ["self"]


def _own_names(tree: ast.AST) -> set[str]:
    """Return the arguments and variables in a tree."""
    nodes = list(ast.walk(tree))
    stored = {node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
    return stored | {node.arg for node in nodes if isinstance(node, ast.arg)}
