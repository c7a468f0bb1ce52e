"""Import the Python files of a course's suites from any folder, and say where an error of their author is."""

from __future__ import annotations

import importlib
import re
import sys
import traceback
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
