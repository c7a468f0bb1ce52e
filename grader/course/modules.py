"""The Python files of a course's author: imports them, finds what they define and use, and says where an error is."""

from __future__ import annotations

import ast
import importlib
import re
import symtable
import sys
import traceback
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
from types import ModuleType

from grader.course.root import FILENAME
from grader.errors import GraderError
from grader.text import ended, printable

# What Python adds to an ImportError: the file of the other module.
_WHERE = re.compile(r" \((?:/|\w:).*\)$|\(unknown location\)$")
_MOST = 300


class SuiteError(GraderError):
    """A file of the course's author cannot be used. The text names the file and the line, and says what is wrong."""


def import_file(path: Path) -> ModuleType:
    """Import a Python file under the name that pytest gives it: as a module of the packages around it.

    Args:
        path: The file. The folders above it with an `__init__.py` are its packages.

    Raises:
        SuiteError: The file raises an error, or another module has that name, so the file can never be imported.
    """
    names, base = [path.stem], path.parent
    while (base / "__init__.py").is_file():
        names.insert(0, base.name)
        base = base.parent
    if str(base) not in sys.path:
        sys.path.append(str(base))  # last, so that no file of the course hides a library
    importlib.invalidate_caches()
    try:
        module = importlib.import_module(".".join(names))
    except (GraderError, KeyboardInterrupt):
        raise
    except BaseException as error:
        raise SuiteError(f"{described(error, path)} Correct it.") from error
    if Path(module.__file__ or "").resolve() != path.resolve():
        raise SuiteError(
            f"{path} has the name of another module, {module.__file__}: rename it, or put it into a folder with an "
            "__init__.py."
        )
    return module


def definitions_in(statements: Iterable[ast.stmt]) -> dict[str, ast.stmt]:
    """Return the statements that define a function, a class or variables, by each name."""
    found: dict[str, ast.stmt] = {}
    for node in statements:
        match node:
            case ast.FunctionDef(name=name) | ast.ClassDef(name=name):
                found[name] = node
            case ast.Assign(targets=[ast.Name(id=name)]) | ast.AnnAssign(target=ast.Name(id=name)):
                found[name] = node
            case ast.Assign(targets=[ast.Tuple(elts=several)]):
                found |= {one.id: node for one in several if isinstance(one, ast.Name)}
    return found


def needed_names(names: Iterable[str], definitions: Mapping[str, ast.stmt], without: Collection[str] = ()) -> set[str]:
    """Return these names and all names in the definitions that they need, directly or not.

    without: names that exist already, so that their definitions are not needed.
    """
    needed: set[str] = set()
    waiting = list(names)
    while waiting:
        name = waiting.pop()
        if name not in needed and name not in without:
            needed.add(name)
            waiting += _global_names(definitions[name]) if name in definitions else ()
    return needed


def _global_names(definition: ast.stmt) -> set[str]:
    """Return the names that a definition looks up outside itself: not those of its arguments and local variables."""
    found: set[str] = set()
    waiting = [symtable.symtable(ast.unparse(definition), "definition", "exec")]
    while waiting:
        table = waiting.pop()
        waiting += table.get_children()
        is_outside = table.get_type() == "module"
        found |= {
            one.get_name() for one in table.get_symbols() if one.is_referenced() and (is_outside or one.is_global())
        }
    return found


def names_in(*nodes: ast.AST) -> set[str]:
    """Return the names that these trees mention."""
    return {inner.id for node in nodes for inner in ast.walk(node) if isinstance(inner, ast.Name)}


def described(error: BaseException, file: Path, line: int = 1) -> str:
    """Return what an author's error is, after its file and line: the innermost that their suites have in its trace.

    Args:
        error: What a file of the suites raised.
        file: The file that was run.
        line: The line to name if the trace has none of theirs.
    """
    folder = file.parent.parent if (file.parent / "__init__.py").is_file() else file.parent
    places = [(Path(frame.f_code.co_filename), number) for frame, number in traceback.walk_tb(error.__traceback__)]
    text = f"{type(error).__name__}: {error}".removesuffix(": ")
    if isinstance(error, SyntaxError) and error.filename:
        places.append((Path(error.filename), error.lineno or 1))
        text = f"This is not Python: {error.msg}"
    theirs = [place for place in places if place[0].is_relative_to(folder)]
    where, number = theirs[-1] if theirs else (file, line)
    return f"{shown(where)}:{number}: {ended(_WHERE.sub('', printable(' '.join(text.split())))[:_MOST])}"


def shown(file: Path) -> str:
    """Return a file's name for messages: relative to the folder of the course around it, if there is one."""
    root = next((folder for folder in file.parents if (folder / FILENAME).is_file()), None)
    return file.relative_to(root).as_posix() if root else str(file)
