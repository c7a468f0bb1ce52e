"""Import the Python files of a course's suites from any folder."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from grader.errors import GraderError

if TYPE_CHECKING:
    from types import ModuleType


def import_file(path: Path) -> ModuleType:
    """Import a Python file under the name that pytest gives it: as a module of the packages around it.

    Args:
        path: The file. The folders above it with an `__init__.py` are its packages.

    Raises:
        GraderError: Another module has that name, so the file can never be imported.
        Exception: Anything that the file raises.
    """
    names, base = [path.stem], path.parent
    while (base / "__init__.py").is_file():
        names.insert(0, base.name)
        base = base.parent
    if str(base) not in sys.path:
        sys.path.append(str(base))  # last, so that no file of the course hides a library
    importlib.invalidate_caches()
    module = importlib.import_module(".".join(names))
    if Path(module.__file__ or "").resolve() != path.resolve():
        raise GraderError(
            f"{path} has the name of another module, {module.__file__}: rename it, or put it into a folder with an "
            "__init__.py."
        )
    return module
