"""A student's source run piece by piece, in the student's own process: what fails costs only what it defines."""

from __future__ import annotations
import __future__

import ast
import contextlib
import linecache
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import types
    from collections.abc import Callable, Iterator

# A line that is neither blank nor a comment.
CODE = re.compile(r"\s*[^\s#]")
# A line at which a new top-level statement can begin; used only where the whole does not parse.
STATEMENT_START = re.compile(r"(?!(?:else|elif|except|finally)\b)[\w@]")
DEFINITION = re.compile(r"\s*(?:async\s+def|def|class)\s+(\w+)|(\w+)\s*=(?!=)")
# A magic or a shell line, its output kept or not, or a name with a question mark.
MAGIC = re.compile(r"^(\s*+)([%!?].*|[\w., ]+= *[%!].*|[\w.*\[\]]+\?\??\s*)$")
# Up to the first line of code, where that is indented.
INDENTED = re.compile(r"(?:[ \t]*(?:#.*)?\n)*([ \t]+)(?=[^#\s])")
DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
# What Python's parser raises of a text besides SyntaxError: at a NUL byte, and where it is nested too deeply.
NOT_PARSED = (ValueError, RecursionError, MemoryError)


class AlwaysTrue(Exception):
    """An assert of a tuple, such as `assert (condition, "text")`, which no condition makes fail; its line."""


@dataclass(frozen=True)
class Piece:
    """One top-level statement: the names it binds, and how to run it or why it cannot be."""

    line: int
    names: tuple[str, ...]
    tree: ast.Module | None
    problem: SyntaxError | None = None


def split(source: str, is_notebook: bool = False) -> list[Piece]:
    """The top-level statements of a cell. Where one does not parse, the others are kept."""
    with contextlib.suppress(SyntaxError, *NOT_PARSED):
        return _statements(source)
    if is_notebook:
        source = without_magics(source)
        with contextlib.suppress(SyntaxError, *NOT_PARSED):
            return _statements(source)
    return _salvage(source)


def without_magics(source: str) -> str:
    """A notebook cell with its shell lines and magics taken out, each line kept in its place."""
    first, _, rest = source.lstrip("\n").partition("\n")
    if first.startswith("%%"):
        # %%time and %%capture wrap Python; %%bash, %%html and the like hold something else.
        if first.split()[0] not in ("%%time", "%%timeit", "%%capture", "%%prun"):
            return ""
        source = "\n" * (source.count("\n") - rest.count("\n")) + rest
    lines = source.split("\n")
    with contextlib.suppress(*NOT_PARSED):
        while True:
            try:
                ast.parse("\n".join(lines))
                return "\n".join(lines)
            except SyntaxError as error:
                # Only where Python stumbles: the same line can be Python elsewhere, in a text or after a bracket.
                refused = (error.lineno or 0) - 1
                if not (0 <= refused < len(lines) and MAGIC.match(lines[refused])):
                    break
                lines[refused] = MAGIC.sub(r"\1pass", lines[refused])
    return "\n".join(MAGIC.sub(r"\1pass", line) for line in lines)


def _statements(source: str) -> list[Piece]:
    return [
        Piece(_first_line(node), tuple(_bound_names(node)), ast.Module([node], [])) for node in ast.parse(source).body
    ]


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


def _salvage(source: str) -> list[Piece]:
    """The shortest run of lines that parses is a statement; one that begins none is a piece that cannot be run."""
    lines = source.split("\n")
    # Whatever comes first is to be told of, even if no statement begins like that.
    first = next((n for n, line in enumerate(lines) if CODE.match(line)), len(lines))
    starts = [n for n, line in enumerate(lines) if n == first or STATEMENT_START.match(line)]
    ends = [*starts[1:], len(lines)]
    pieces: list[Piece] = []
    index = 0
    while index < len(starts):
        first_error: SyntaxError | None = None
        for last in range(index, len(starts)):
            # The blank lines in front keep line numbers true.
            text = "\n" * starts[index] + "\n".join(lines[starts[index] : ends[last]])
            try:
                pieces += _statements(text)
                index = last + 1
                break
            except SyntaxError as error:
                first_error = first_error or error
            except ValueError as error:
                first_error = first_error or SyntaxError(str(error))
            except (RecursionError, MemoryError):
                first_error = first_error or SyntaxError("nested too deeply for Python to read")
        else:
            block = lines[starts[index] : ends[index]]
            names = [
                name for line in block[:1] for match in [DEFINITION.match(line)] if match for name in match.groups()
            ]
            pieces.append(Piece(starts[index] + 1, tuple(filter(None, names)), None, first_error))
            index += 1
    return pieces


def fix_indentation(cells: list[str]) -> list[str]:
    """The cells of a notebook, none of which begins indented.

    Jupyter takes the indentation off. What was split off the cell above goes back to it, and leaves a blank cell.
    """
    fixed: list[str] = []
    begin = 0  # of the cells that may have been one
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
        compile(without_magics(source), "cell", "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT, dont_inherit=True)
        return True
    return False


def _goes_on(above: str, cell: str) -> bool:
    """Whether a cell seems to be the rest of what is above it: more methods, or what speaks of names known there."""
    try:
        [*_, last] = ast.parse(without_magics(above)).body
        below = ast.parse(without_magics(cell))
    except (SyntaxError, *NOT_PARSED):
        return True
    definitions = [node for node in below.body if isinstance(node, DEFINITIONS)]
    if not isinstance(last, DEFINITIONS) or definitions:
        return isinstance(last, ast.ClassDef) and bool(definitions) and all(map(_is_method, definitions))
    spoken_of = {node.id for node in ast.walk(below) if isinstance(node, ast.Name)}
    return not (spoken_of - _own_names(below)).isdisjoint(_own_names(last))


def _is_method(node: ast.stmt) -> bool:
    arguments = getattr(node, "args", None)
    return arguments is not None and [argument.arg for argument in arguments.args[:1]] == ["self"]


def _own_names(tree: ast.AST) -> set[str]:
    """The arguments and the variables in it."""
    nodes = list(ast.walk(tree))
    stored = {node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
    return stored | {node.arg for node in nodes if isinstance(node, ast.arg)}


@dataclass(frozen=True)
class _Run:
    """Runs pieces of cells in a module; see `run`."""

    labels: list[str]
    module: types.ModuleType
    before: Callable[[int, Piece], bool]
    failed: Callable[[int, Piece, BaseException], None]

    def attempt(self, number: int, piece: Piece, flags: int) -> BaseException | None:
        """Run a piece of a cell, and return why it failed."""
        if not self.before(number, piece):
            return None
        try:
            if piece.tree is None:
                raise piece.problem or SyntaxError("invalid syntax")
            code = compile(piece.tree, self.labels[number], "exec", flags=flags, dont_inherit=True)
            exec(code, self.module.__dict__)
        except BaseException as error:  # noqa: BLE001 - student code raises what it likes
            return error
        for node in ast.walk(piece.tree):
            if isinstance(node, ast.Assert) and isinstance(node.test, ast.Tuple) and node.test.elts:
                self.failed(number, piece, AlwaysTrue(node.lineno))
        return None

    def attempt_again(self, early: list[_Early]) -> list[_Early]:
        """Run definitions that a name was missing for. Return those that one is still missing for."""
        still = []
        for number, piece, flags, error in early:
            is_there = any(name in self.module.__dict__ for name in piece.names)
            again = error if is_there else self.attempt(number, piece, flags)
            if isinstance(again, NameError):
                still.append((number, piece, flags, again))
            elif again is not None:
                self.failed(number, piece, again)
        return still


# The number of a cell, a piece of it, the compiler's flags, and why it failed.
_Early = tuple[int, Piece, int, NameError]


def run(
    cells: list[str],
    labels: list[str],
    module: types.ModuleType,
    is_notebook: bool,
    before: Callable[[int, Piece], bool],
    failed: Callable[[int, Piece, BaseException], None],
) -> None:
    """Run every piece in order in `module`.

    The cells of a notebook may have been run in another order than they are in, so there a function or class that needs
    a name from below is defined after it.

    Args:
        cells: The source texts.
        labels: What tracebacks call each cell.
        module: Where their names go.
        is_notebook: Whether they are a notebook's.
        before: Called with the number of the cell before each piece; it may refuse the piece.
        failed: Called for each failure, and for asserts that are always true, once their piece has run: AlwaysTrue.
    """
    running = _Run(labels, module, before, failed)
    early: list[_Early] = []
    for number, piece, flags in _pieces(cells, labels, is_notebook):
        error = running.attempt(number, piece, flags)
        if is_notebook and isinstance(error, NameError) and _is_definition(piece):
            early.append((number, piece, flags, error))
        elif error is not None:
            failed(number, piece, error)
    count = 0
    while len(early) != count:
        count = len(early)
        early = running.attempt_again(early)
    for number, piece, _, error in early:
        failed(number, piece, error)


def _pieces(cells: list[str], labels: list[str], is_notebook: bool) -> Iterator[tuple[int, Piece, int]]:
    """Each piece with the number of its cell, and the flags that the pieces up to it have switched on."""
    flags = 0
    for number, source in enumerate(fix_indentation(cells) if is_notebook else cells):
        linecache.cache[labels[number]] = (len(source), None, source.splitlines(keepends=True), labels[number])
        for piece in split(source, is_notebook):
            flags |= _future_flags(piece.tree)
            yield number, piece, flags


def _is_definition(piece: Piece) -> bool:
    return piece.tree is not None and isinstance(piece.tree.body[0], DEFINITIONS)


def _future_flags(tree: ast.Module | None) -> int:
    """What a `from __future__ import` switches on for the pieces that follow it."""
    flags = 0
    for node in tree.body if tree else ():
        if isinstance(node, ast.ImportFrom) and node.module == "__future__":
            for alias in node.names:
                flags |= getattr(getattr(__future__, alias.name, None), "compiler_flag", 0)
    return flags
