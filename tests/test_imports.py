"""The package's imports: from folder to folder downwards, never in a cycle, and only of what is declared."""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from collections import Counter
from graphlib import TopologicalSorter
from importlib.metadata import packages_distributions
from itertools import chain
from pathlib import Path

import pytest
from courses import COURSE
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

import grader

PACKAGE = Path(grader.__file__).parent
DISTRIBUTIONS = packages_distributions()
# Each imports only those before it; `grader.nbgrader` is a name for old courses.
ORDER = (
    "machine", "errors", "files", "text", "git", "documents", "sandbox", "submissions", "quizzes", "course", "testing",
    "reports", "engine", "cluster", "practice", "suites", "audit", "classes", "integrations", "nbgrader", "cli",
    "__main__",
)  # fmt: skip
# Exercises with the names of Python's own methods.
PYTHONS = {"encode", "decode"}


def modules() -> dict[str, Path]:
    names = {".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts): path for path in PACKAGE.rglob("*.py")}
    return {name.removesuffix(".__init__"): path for name, path in names.items() if "templates" not in path.parts}


MODULES = modules()


def imported_by(path: Path) -> set[str]:
    """Return the package's modules that a file imports, also in functions and only for types."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        match node:
            case ast.ImportFrom(module=str(module)):
                found |= {
                    f"{module}.{alias.name}" if f"{module}.{alias.name}" in MODULES else module for alias in node.names
                }
            case ast.Import():
                found |= {alias.name for alias in node.names}
    return found & MODULES.keys()


def test_no_folder_imports_a_later_one() -> None:
    def place(module: str) -> int:
        return ORDER.index(module.split(".")[1]) if "." in module else -1

    upward = [
        f"{module} imports {other}"
        for module, path in MODULES.items()
        for other in imported_by(path)
        if place(other) > place(module)
    ]
    assert upward == []


def test_no_import_is_circular() -> None:
    graph = {module: imported_by(path) - {module} for module, path in MODULES.items()}
    assert len(list(TopologicalSorter(graph).static_order())) == len(MODULES)


def test_a_module_and_a_class_have_a_name_of_their_own() -> None:
    own = {module: path for module, path in MODULES.items() if not module.startswith("grader.suites.")}
    modules = Counter(module.rpartition(".")[2] for module, path in own.items() if path.stem[0] != "_")
    classes = Counter(
        node.name
        for path in own.values()
        for node in ast.parse(path.read_text(encoding="utf-8")).body
        if isinstance(node, ast.ClassDef)
    )
    assert [name for names in (modules, classes) for name, count in names.items() if count > 1] == []


def test_suites_import_only_testing_from_the_grader() -> None:
    of_suites = [path for module, path in MODULES.items() if module.startswith("grader.suites")]
    others = {
        other
        for path in of_suites
        for other in imported_by(path)
        if not other.startswith(("grader.suites", "grader.testing"))
    }
    assert others == set()


def top_level_imports(folder: Path) -> dict[str, Path]:
    """Return the packages that the files of a folder import, each with one of these files."""
    found: dict[str, Path] = {}
    for path in folder.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            match node:
                case ast.Import():
                    names = [alias.name for alias in node.names]
                case ast.ImportFrom(module=str(module), level=0):
                    names = [module]
                case _:
                    names = []
            found |= {name.partition(".")[0]: path for name in names}
    return {name: path for name, path in found.items() if name not in sys.stdlib_module_names}


@pytest.mark.parametrize("folder", ["grader", "tests", "benchmarks", "docs", "examples"])
def test_every_package_that_is_imported_is_declared(folder: str) -> None:
    settings = tomllib.loads((PACKAGE.parent / "pyproject.toml").read_text(encoding="utf-8"))
    project, groups = settings["project"], settings["dependency-groups"]
    extras = [*project["optional-dependencies"].values(), *([] if folder == "grader" else groups.values())]
    declared = [*project["dependencies"], *chain.from_iterable(extras)]
    names = {canonicalize_name(Requirement(line).name) for line in declared}
    # Modules of this repository belong to no distribution.
    undeclared = {
        f"{path.relative_to(PACKAGE.parent)} imports {module}"
        for module, path in top_level_imports(PACKAGE.parent / folder).items()
        if module in DISTRIBUTIONS and not names & set(map(canonicalize_name, DISTRIBUTIONS[module]))
    }
    assert undeclared == set()


def test_only_suites_name_the_units_and_exercises_of_the_course() -> None:
    units = COURSE.units
    titles = {unit.title for unit in units.values()}
    names = {COURSE.name, *titles, *units, *(name for unit in units.values() for name in unit.exercises)}
    pattern = re.compile(rf"\b({'|'.join(re.escape(name) for name in names - PYTHONS)})\b")
    found = {
        f"{path.relative_to(PACKAGE).as_posix()}: {match[0]}"
        for path in PACKAGE.rglob("*.py")
        if path.relative_to(PACKAGE).parts[0] != "suites"
        for match in pattern.finditer(path.read_text(encoding="utf-8"))
    }
    assert found == set()
