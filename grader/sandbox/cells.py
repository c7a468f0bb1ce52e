"""Repairs the cells of a notebook that were indented or split by accident."""

from __future__ import annotations

import ast
import contextlib
import re

from grader.sandbox.pieces import split
from grader.sandbox.statements import DEFINITIONS, NOT_PARSED

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
