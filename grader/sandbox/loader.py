"""Runs a student's source piece by piece, in the student process: a failure costs only the names it defines."""

from __future__ import annotations
import __future__

import ast
import contextlib
import functools
import linecache
import operator
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import types
    from collections.abc import Callable, Iterator

# A line that is neither blank nor a comment.
CODE = re.compile(r"\s*[^\s#]")
# A line at which a new top-level statement can begin; used only where the whole does not parse.
STATEMENT_START = re.compile(r"(?!(?:else|elif|except|finally)\b)[\w@]")
DEFINITION = re.compile(r"\s*(?:async\s+def|def|class)\s+(\w+)|(\w+)\s*=(?!=)")
# A magic or a shell line, with or without an assignment, or a name with a question mark.
MAGIC = re.compile(r"^(\s*+)([%!?].*|[\w., ]+= *[%!].*|[\w.*\[\]]+\?\??\s*)$")
# Up to the first line of code, if that is indented.
INDENTED = re.compile(r"(?:[ \t]*(?:#.*)?\n)*([ \t]+)(?=[^#\s])")
DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
# What Python's parser raises besides SyntaxError: for a NUL byte, and for a source that is nested too deeply.
NOT_PARSED = (ValueError, RecursionError, MemoryError)
FUTURE_FLAGS = functools.reduce(
    operator.or_, (getattr(__future__, name).compiler_flag for name in __future__.all_feature_names)
)


class AlwaysTrue(Exception):
    """An assert of a tuple, such as `assert (condition, "text")`, which cannot fail. Its argument is the line."""


@dataclass(frozen=True)
class Piece:
    """A top-level statement: the names that it binds, and its tree or the reason why there is none."""

    line: int
    names: tuple[str, ...]
    tree: ast.Module | None
    problem: SyntaxError | None = None


def split(source: str, is_notebook: bool = False) -> list[Piece]:
    """Return the top-level statements of a cell. If one does not parse, the others are kept."""
    found = _statements(source)
    if is_notebook and isinstance(found, SyntaxError):
        source = without_magics(source)
        found = _statements(source)
    return _salvage(source) if isinstance(found, SyntaxError) else found


def without_magics(source: str) -> str:
    """Return a notebook cell without its shell lines and magics. Line numbers stay the same."""
    first, _, rest = source.lstrip("\n").partition("\n")
    if first.startswith("%%"):
        # %%time and %%capture wrap Python; %%bash, %%html and so on contain something else.
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
                # Only where parsing fails: in a string or after a bracket, the same line can be Python.
                refused = (error.lineno or 0) - 1
                if not (0 <= refused < len(lines) and MAGIC.match(lines[refused])):
                    break
                lines[refused] = MAGIC.sub(r"\1pass", lines[refused])
    return "\n".join(MAGIC.sub(r"\1pass", line) for line in lines)


def _statements(source: str) -> list[Piece] | SyntaxError:
    try:
        statements = ast.parse(source).body
    except SyntaxError as error:
        return error
    except ValueError as error:
        return SyntaxError(str(error))
    except (RecursionError, MemoryError):
        return SyntaxError("nested too deeply for Python to read")
    return [Piece(_first_line(node), tuple(_bound_names(node)), ast.Module([node], [])) for node in statements]


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
    """Return the statements of a source that does not parse as a whole.

    The shortest run of lines that parses is a statement. A line that begins none becomes a piece that cannot run.
    """
    lines = source.split("\n")
    # The first code is reported even if no statement begins like that.
    first = next((n for n, line in enumerate(lines) if CODE.match(line)), len(lines))
    starts = [n for n, line in enumerate(lines) if n == first or STATEMENT_START.match(line)]
    ends = [*starts[1:], len(lines)]
    pieces: list[Piece] = []
    index = 0
    while index < len(starts):
        first_error: SyntaxError | None = None
        for last in range(index, len(starts)):
            # The blank lines in front keep line numbers correct.
            found = _statements("\n" * starts[index] + "\n".join(lines[starts[index] : ends[last]]))
            if not isinstance(found, SyntaxError):
                pieces += found
                index = last + 1
                break
            first_error = first_error or found
        else:
            definition = DEFINITION.match(lines[starts[index]])
            names = tuple(filter(None, definition.groups())) if definition else ()
            pieces.append(Piece(starts[index] + 1, names, None, first_error))
            index += 1
    return pieces


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
        compile(without_magics(source), "cell", "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT, dont_inherit=True)
        return True
    return False


def _goes_on(above: str, cell: str) -> bool:
    """Whether a cell seems to continue the code above it: it has more methods, or uses local names of that code."""
    try:
        [*_, last] = ast.parse(without_magics(above)).body
        below = ast.parse(without_magics(cell))
    except (SyntaxError, *NOT_PARSED):
        return True
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


@dataclass
class _Run:
    """Runs pieces of cells in a module; see `run`."""

    cells: list[str]
    labels: list[str]
    module: types.ModuleType
    before: Callable[[int, Piece], bool]
    failed: Callable[[int, Piece, BaseException], None]
    flags: int = 0  # what `from __future__ import` has switched on so far
    early: list[_Early] = field(default_factory=list)

    def attempt(self, number: int, piece: Piece) -> BaseException | None:
        """Run a piece of a cell, and return why it failed."""
        if not self.before(number, piece):
            return None
        try:
            if piece.tree is None:
                raise piece.problem or SyntaxError("invalid syntax")
            code = compile(piece.tree, self.labels[number], "exec", flags=self.flags, dont_inherit=True)
            self.flags |= code.co_flags & FUTURE_FLAGS
            exec(code, self.module.__dict__)
        except BaseException as error:  # noqa: BLE001 - student code raises what it likes
            return error
        for node in ast.walk(piece.tree) if "assert" in self.cells[number] else ():
            if isinstance(node, ast.Assert) and isinstance(node.test, ast.Tuple) and node.test.elts:
                self.failed(number, piece, AlwaysTrue(node.lineno))
        return None

    def attempt_again(self) -> bool:
        """Run definitions again that lacked a name. Return whether fewer lack one now."""
        early, self.early = self.early, []
        for number, piece, error in early:
            is_there = any(name in self.module.__dict__ for name in piece.names)
            again = error if is_there else self.attempt(number, piece)
            if isinstance(again, NameError):
                self.early.append((number, piece, again))
            elif again is not None:
                self.failed(number, piece, again)
        return len(self.early) < len(early)


# The number of a cell, a piece of it, and why it failed.
_Early = tuple[int, Piece, NameError]


def run(
    cells: list[str],
    labels: list[str],
    module: types.ModuleType,
    is_notebook: bool,
    before: Callable[[int, Piece], bool],
    failed: Callable[[int, Piece, BaseException], None],
) -> None:
    """Run every piece in order in `module`.

    The cells of a notebook may have been run in another order than their positions. In a notebook, a function or class
    that needs a name from below is therefore defined after that name.

    Args:
        cells: The source texts.
        labels: The name of each cell in tracebacks.
        module: Where their names go.
        is_notebook: Whether they are cells of a notebook.
        before: Called with the number of the cell before each piece; it may refuse the piece.
        failed: Called for each failure, and with AlwaysTrue for each assert that is always true, after its piece has
            run.
    """
    cells = fix_indentation(cells) if is_notebook else cells
    running = _Run(cells, labels, module, before, failed)
    for number, source in enumerate(cells):
        linecache.cache[labels[number]] = (len(source), None, source.splitlines(keepends=True), labels[number])
        for piece in split(source, is_notebook):
            error = running.attempt(number, piece)
            is_definition = piece.tree is not None and isinstance(piece.tree.body[0], DEFINITIONS)
            if is_notebook and is_definition and isinstance(error, NameError):
                running.early.append((number, piece, error))
            elif error is not None:
                failed(number, piece, error)
    while running.attempt_again():
        pass
    for number, piece, error in running.early:
        failed(number, piece, error)
