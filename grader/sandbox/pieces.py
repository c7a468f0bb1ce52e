"""Reads the top-level statements of a student's source, also of one that does not parse as a whole.

The cells of a notebook that were indented or split by accident are repaired first.
"""

from __future__ import annotations

import ast
import contextlib
import re
from codeop import PyCF_ALLOW_INCOMPLETE_INPUT  # type: ignore[attr-defined]
from collections.abc import Iterable, Iterator

from grader.sandbox.statements import (
    CLAUSE,
    CLOSING,
    DEFINING,
    DEFINITIONS,
    INCOMPLETE,
    MAGIC,
    MERGE,
    MERGED,
    NOT_PARSED,
    OPENING,
    PASTED_ERROR,
    Block,
    Piece,
    blocks,
    does_nothing,
    is_apart,
    is_code,
    is_indented,
    is_invisible,
    kind_of,
    moved,
    names_in,
    opens,
    other_language,
    paragraphs,
    parse,
    range_of,
    stands_alone,
)

# How many lines are parsed again to find where statements end. Beyond it, a statement is what its first line begins.
MOST_LINES = 20_000
# A line of more characters counts as several.
LONGEST_LINE = 100


def split(source: str, is_notebook: bool = False) -> list[Piece]:
    """Return the top-level statements of a cell.

    If the cell does not parse, each statement in it that parses is kept as it is. What is between them becomes pieces
    that cannot run, except for the magics and shell lines of a notebook, which are left out.
    """
    found = parse(source)
    if not isinstance(found, SyntaxError):
        return found
    if is_notebook and (magic := other_language(source)):
        lines = source.split("\n")
        error = SyntaxError(f"a cell that begins with {magic} is not run as Python")
        error.lineno = next(number for number, line in enumerate(lines, 1) if line)
        return [Piece(error.lineno, names_in(lines), None, error, is_known=True)]
    return _Salvage(source, is_notebook).pieces()


class _Salvage:
    """Reads the statements of a source that does not parse as a whole.

    A chunk is a line in the first column, or a block of stray lines, with the indented lines and the clauses below it.
    The shortest run of chunks that parses is a statement. A chunk that can begin none is stray. If it turns out to be
    inside a statement, which goes on below, that statement is lost; otherwise the statements around it are complete.
    """

    def __init__(self, source: str, is_notebook: bool) -> None:
        self.lines = source.split("\n")
        self.is_notebook = is_notebook
        self.blocks = blocks(self.lines)
        self.starts = list(self._starts())
        self.found: list[Piece] = []
        self.errors: dict[tuple[str, int], SyntaxError] = {}  # of what was parsed, by source and flags
        self.left = MOST_LINES + max(len(self.lines), len(source) // LONGEST_LINE)  # each is parsed once in any case

    def _starts(self) -> Iterator[int]:
        """Yield the first line of each chunk, and the number of lines. A block is inside one chunk."""
        first, is_first, end_of_block = "", True, -1
        for number, line in enumerate(self.lines):
            if not is_code(line) or number <= end_of_block:
                continue
            is_below = is_indented(line) or (CLAUSE.match(line) and not stands_alone(first))
            if is_first or number in self.blocks or is_invisible(line) or not is_below:
                first = line
                yield number
            is_first, end_of_block = False, self.blocks[number].last if number in self.blocks else end_of_block
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
                above, place = ([] if found[-1].has_returned else self._text(begin, end)), len(self.found) - 1
            elif self._ends_early(begin, end):
                continue
            elif closed := self._closed(begin, end):
                self._lose(self.starts[begin], closed, end)
                above, place, end = self._text(begin, end), len(self.found) - 1, closed
            elif not (above and self._goes_on(above, begin)):
                above = [] if end > begin or OPENING.match(first) else above
                end = self._lose_chunk(begin, end)
            elif opens(first):
                above, end = [], self._lose_chunk(begin, end)  # what is below it may be its own
            else:
                statement, end = self.found[place], begin + 1
                del self.found[place:]
                self._lose(statement.line - 1, end, begin, statement.names)
            begin = end
        return paragraphs(self.found, self.lines)

    def _text(self, begin: int, end: int) -> list[str]:
        return self.lines[self.starts[begin] : self.starts[end]]

    def _without_stray(self, chunk: int) -> list[str]:
        """Return a chunk without the stray line or block that it begins with; of a merge, without the markers."""
        text, block = self._text(chunk, chunk + 1), self.blocks.get(self.starts[chunk])
        if block and block.kind == MERGED:
            return ["" if MERGE.match(line) else line for line in text]
        stray = block.last - self.starts[chunk] + 1 if block else 1
        return [""] * stray + text[stray:]

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
        source = "\n".join(text)
        self.left -= max(len(text), len(source) // LONGEST_LINE)
        if error := self.errors.get((source, flags)):
            return moved(type(error)(*error.args), above)
        found = parse(source, flags)
        if isinstance(found, SyntaxError):
            self.errors[source, flags] = found
            if found.msg != INCOMPLETE:  # no flag changes it
                self.errors[source, 0] = found
        return moved(found, above)

    def _goes_on(self, above: list[str], chunk: int) -> bool:
        """Return whether a line of a chunk, below its first, can continue the statement above it."""
        text = above[:]
        for line in self._without_stray(chunk):
            if is_code(line) and self.left > 0:
                if not (is_indented(line) or CLAUSE.match(line)):
                    return False  # a definition in an unfinished merge
                found = self._parsed([*text, line], 0)
                if found.msg == INCOMPLETE if isinstance(found, SyntaxError) else not does_nothing(line):
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
        if not isinstance(error, IndentationError) or not error.lineno:
            return False
        above, line = text[: error.lineno - 1], text[error.lineno - 1].strip()
        found = self._parsed(above, 0)
        if isinstance(found, SyntaxError) or not found:
            return False
        if error.msg == "unexpected indent":
            ends = is_apart(line, found[-1])
        else:
            below = self._parsed([line], 0)
            is_text = isinstance(below, SyntaxError) and below.msg != INCOMPLETE
            ends = error.msg.startswith("unindent") and (is_text or found[-1].has_returned)
        if ends:
            self.starts.insert(chunk + 1, start + error.lineno - 1)
        return ends

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
                found = self._parsed(text + self._without_stray(stray), 0)
                text += self._without_stray(stray)
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
        A line that begins with a closing bracket belongs to what is lost above it.
        """
        text, end = self._text(begin, begin + 1), self._behind_brackets(begin + 1)
        if self.is_notebook:
            # In a notebook, a magic inside an `if` is as good as any statement.
            found = self._parsed([MAGIC.sub(r"\1pass", line) for line in text], self.starts[begin])
            if not isinstance(found, SyntaxError) and not any(one.is_definition for one in found):
                if not MAGIC.match(text[0]):
                    self.found += found
                elif not text[0].startswith(("%", "!")):  # it gives a name a value, or asks
                    command = SyntaxError("the line is a notebook command")
                    command.lineno = self.starts[begin] + 1
                    self.found.append(Piece(command.lineno, names_in(text[:1]), None, command, is_known=True))
                return end
        # Without a decorator, the definition would be another.
        while text[0].startswith("@") and DEFINING.match(text[0]) and end < len(self.starts) - 1:
            text, end = self._text(end, end + 1), self._behind_brackets(end + 1)
        error = self._parsed(text, 0, flags=0)
        is_open = isinstance(error, SyntaxError) and error.msg.endswith("was never closed")
        if is_open and self.starts[begin] not in self.blocks:
            end = self._behind_brackets(max(end, chunk))
        self._lose(self.starts[begin], end, begin)
        return end

    def _behind_brackets(self, chunk: int) -> int:
        """Return the next chunk from this one on that does not begin with a closing bracket."""
        while chunk < len(self.starts) - 1 and CLOSING.match(self.lines[self.starts[chunk]]):
            chunk += 1
        return chunk

    def _lose(self, first: int, end: int, chunk: int, names: tuple[str, ...] = ()) -> None:
        """Add a piece that cannot run: the lines from `first` on, because of a chunk that begins or interrupts it."""
        start = self.starts[chunk]
        error = self._parsed(self._text(chunk, end), start, flags=0)
        if not isinstance(error, SyntaxError):  # a backslash joins lines, or the bound ended the search too early
            if first == start:
                self.found += error
                return
            error = SyntaxError("invalid syntax")
            error.lineno = start + 1
        line = min(error.lineno or start + 1, len(self.lines))
        block, kind = self.blocks.get(start), kind_of(self.lines[line - 1])
        if block:
            error.lineno, error.msg = start + 1, block.sentence(start)
        elif kind:
            error.msg = f"the line is {kind}"
        elif first < start < line - 1:
            error.lineno, error.msg = start + 1, "the line is not indented like the lines around it"
        imports: list[Piece] = []
        if block and first == start:
            names, imports = self._in_block(start, block)
            error.msg = block.sentence(start, [one.line for one in imports])
        elif not names:
            own = self._without_stray(chunk) if block else self._text(chunk, chunk + 1)
            names = names_in(self.lines[first:start] + own + self._text(chunk + 1, end))
        if not (block and first == start) and "character" not in error.msg:
            stray = range(start, (block.last if block else start) + 1)
            error.msg += range_of(self.lines, first, self.starts[end], stray, names)
        self.found += [Piece(first + 1, names, None, error, is_known=bool(kind or block)), *imports]

    def _in_block(self, start: int, block: Block) -> tuple[tuple[str, ...], list[Piece]]:
        """Return the names that a block would bind, and the imports in it that count.

        Those of an unfinished merge count if no name would mean something else in the other version.
        """
        lines = self.lines[start : block.last + 1]
        if block.kind != MERGED:
            return () if block.kind == PASTED_ERROR else names_in(lines), []
        marks = [number for number, line in enumerate(lines) if MERGE.match(line)]
        found: list[Piece] = []
        for mark, end in zip(marks, [*marks[1:], len(lines)], strict=True):
            if not lines[mark].startswith("|"):  # there is what both versions were made of
                side = _Salvage("\n".join(["", *lines[mark + 1 : end]]), self.is_notebook)
                side.left = self.left
                found += moved(side.pieces(), start + mark)
                self.left = side.left
        imports = _agreed_imports(found) if {"<", "=", ">"} <= {lines[mark][0] for mark in marks} else []
        bound = {"*", *(name for one in imports for name in one.names)}
        return tuple(dict.fromkeys(name for one in found for name in one.names if name not in bound)), imports


def _agreed_imports(pieces: Iterable[Piece]) -> list[Piece]:
    """Return the imports, each once, of which no name means something else in another of the statements."""
    meanings: dict[str, set[object]] = {}
    imports: dict[str, Piece] = {}
    for piece in pieces:
        node = piece.node
        known: dict[str, object] = {}
        if isinstance(node, ast.Import):
            known = {one.asname or one.name.partition(".")[0]: one.name for one in node.names if one.asname}
            known |= {top: top for one in node.names if not one.asname and (top := one.name.partition(".")[0])}
        elif isinstance(node, ast.ImportFrom) and node.names[0].name != "*":
            source = "." * node.level + (node.module or "")
            known = {one.asname or one.name: f"{source}.{one.name}" for one in node.names}
        if node and known:
            imports.setdefault(ast.unparse(node), piece)
        for name in piece.names:
            meanings.setdefault(name, set()).add(known.get(name, piece.line))
    return [piece for piece in imports.values() if all(len(meanings[name]) == 1 for name in piece.names)]


# Up to the first line of code, if that is indented.
INDENTED = re.compile(r"(?:[ \t]*(?:#.*)?\n)*([ \t]+)(?=[^#\s])")

# Each indented cell is compared with the cells above it, so many of them would take minutes.
MOST_COMPARED = 2**21
"""How many characters are compared. Cells below are not joined to those above."""


def fix_indentation(cells: list[str]) -> list[str]:
    """Return the cells of a notebook so that none begins indented.

    Like Jupyter, this removes the indentation of a cell. A cell that was split off the one above is joined to it again,
    and leaves a blank cell.
    """
    fixed: list[str] = []
    begin = compared = 0  # the first of the cells that may have been one cell, and the characters that were compared
    for number, cell in enumerate(cells):
        indentation = INDENTED.match(cell)
        if indentation is None:
            begin = number if cell.strip() else begin
            fixed.append(cell)
            continue
        dedented = "\n".join(line.removeprefix(indentation[1]) for line in cell.split("\n"))
        if compared > MOST_COMPARED:
            fixed.append(dedented)
            continue
        compared += sum(map(len, cells[begin : number + 1]))
        above = "\n".join(cells[begin:number])
        joined = f"{above}\n{cell}"
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
