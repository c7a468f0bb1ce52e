"""Misconceptions: named wrong answers, each with a sentence that helps the student.

They are in the file of an exercise, below its hidden tests. Most are rows: changes to the text of the solution.

    MISCONCEPTIONS = [
        mistake("halved", replace("2 * x", "x / 2"), "The number is divided by two. Doubling it multiplies it by two."),
    ]

A changed answer calls right copies of the other exercises, except for those in the file's CALLS. These are replaced by
substitutes if the student's answer to them is wrong, like the calls in a student's answer.

    CALLS = ["double"]

A changed answer may also call the answer of another row of its unit, by the row's name. A misconception that a
replacement cannot express is a function or class marked with `@misconception`.

`build` applies the rows and writes the changed answers to build/misconceptions/; grading only reads those files.
"""

from __future__ import annotations

import ast
import contextlib
import functools
import hashlib
import importlib.util
import re
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any, TypeVar

from grader.course.model import Course, definitions
from grader.course.modules import definitions_in, described, import_file, names_in, needed_names, shown
from grader.errors import GraderError
from grader.files import write_atomically

RIGHT = "right_"  # the prefix of a right answer that a changed one calls
_HAS_ROWS = re.compile(r"\bMISCONCEPTIONS\b|\bmistake\(")
_HAS_TESTS = re.compile(r"^(def test_|test_\w+ =)", re.MULTILINE)
Implementation = TypeVar("Implementation", bound=Callable[..., Any])


class MisconceptionError(GraderError):
    """A row cannot be applied, or was not. The message names the row, its file and its line."""


@dataclass(frozen=True)
class Replacements:
    """Replacements in the text of a solution, applied one after the other: (old, new, how often old occurs)."""

    replacements: tuple[tuple[str, str, int], ...]

    def replace(self, old: str, new: str, times: int = 1) -> Replacements:
        """Return the same change with one more replacement."""
        return Replacements((*self.replacements, (old, new, times)))

    def applied(self, text: str) -> str:
        """Return the changed text. Raises ValueError if `old` does not occur `times` times."""
        for old, new, times in self.replacements:
            if text.count(old) != times:
                raise ValueError(f"{old!r} occurs {text.count(old)} times, not {times}")
            text = text.replace(old, new)
        return text


def replace(old: str, new: str, times: int = 1) -> Replacements:
    """Replace `old`, which occurs `times` times in the definition without its docstrings, by `new`."""
    return Replacements(()).replace(old, new, times)


@dataclass(frozen=True)
class Row:
    """A misconception written as a change to the solution of an exercise."""

    name: str
    change: Replacements
    sentence: str
    file: Path
    line: int

    @property
    def exercise(self) -> str:
        """The exercise that it answers."""
        return self.file.stem

    @property
    def place(self) -> str:
        """Its file and line."""
        return f"{shown(self.file)}:{self.line}"


def mistake(name: str, change: Replacements, sentence: str) -> Row:
    """Make one of the MISCONCEPTIONS of an exercise.

    Args:
        name: The name of the mistake in reports.
        change: The change that makes the solution wrong.
        sentence: Helps a student who made the mistake.
    """
    caller = sys._getframe(1)
    return Row(name, change, sentence, Path(caller.f_code.co_filename), caller.f_lineno)


@dataclass(frozen=True)
class Misconception:
    """A named wrong implementation of one exercise, and a sentence that helps the student.

    place: its file and line.
    """

    exercise: str
    name: str
    sentence: str
    implementation: Callable[..., Any]
    place: str


def misconception(sentence: str) -> Callable[[Implementation], Implementation]:
    """Mark a function or class as a known wrong answer to the exercise of its file, under its own name."""

    def mark(implementation: Implementation) -> Implementation:
        implementation.misconception = sentence  # type: ignore[attr-defined]
        return implementation

    return mark


def misconceptions_of(course: Course, unit: str) -> list[Misconception]:
    """Return every misconception of a unit: the rows first, then the functions and classes, in their order.

    Raises MisconceptionError if the rows have changed since `build`.
    """
    found = []
    modules = _modules_of(course, unit)
    if written := _rows(modules):
        made = _made(course, unit)
        found += [
            Misconception(one.exercise, one.name, one.sentence, getattr(made, one.name), one.place) for one in written
        ]
    for module in modules:
        file = Path(module.__file__ or "")
        for value in vars(module).values():
            if isinstance(sentence := getattr(value, "__dict__", {}).get("misconception"), str):
                place = f"{shown(file)}:{_line_of(value)}"
                found.append(Misconception(file.stem, value.__name__, sentence, value, place))
    return found


def with_both(
    course: Course, unit: str, exercise: str, pairs: Iterable[tuple[str, str]]
) -> Iterator[tuple[tuple[str, str], Callable[..., Any]]]:
    """Yield the solution of an exercise with two mistakes, for each pair that a solution can have.

    It cannot if one of them is no row, or if their changes do not apply to the same text.

    Args:
        course: The course. Its misconceptions are built already.
        unit: The unit of the exercise.
        exercise: The exercise.
        pairs: The names of the two misconceptions of each pair.
    """
    modules = _modules_of(course, unit)
    known = {one.name: one for one in _rows(modules) if one.exercise == exercise}
    pairs = [pair for pair in pairs if known.keys() >= set(pair)]
    if not pairs:  # a unit without rows has no changed answers
        return
    made = vars(_made(course, unit))
    called = _calls(modules).get(exercise, ())
    right = {name.removeprefix(RIGHT): name for name in made if name.startswith(RIGHT)}
    renamed = {name: new for name, new in right.items() if name not in called} | {exercise: exercise}
    for pair in pairs:
        changes = [known[name].change for name in pair]
        if definition := _changed_by_both(course.solutions / f"{unit}.py", changes, exercise, renamed):
            scope = dict(made)
            exec(definition, scope)
            yield pair, scope[exercise]


def build(course: Course, units: Iterable[str]) -> list[Path]:
    """Apply the rows of these units to their solutions, and write the changed definitions.

    Returns the files that were outdated. Raises MisconceptionError for a row that does not apply, and OSError.
    """
    written = []
    for unit in units:
        path, sources = made_file(course, unit), source_files(course, unit)
        _require_files_of_exercises(course, unit, sources)
        has_rows = any(_HAS_ROWS.search(path.read_text(encoding="utf-8")) for path in sources)
        if has_rows and not _is_current(course, unit):
            path.parent.mkdir(parents=True, exist_ok=True)
            modules = _modules_of(course, unit)
            text = _changed_definitions(course, unit, _rows(modules), _calls(modules))
            write_atomically(path, f"# {_digest(course, unit)}\n{text}")
            written.append(path)
    return written


def _require_files_of_exercises(course: Course, unit: str, sources: Sequence[Path]) -> None:
    """Raise MisconceptionError if an exercise of a unit has no file, or tests are in the file of none."""
    for path in course.hidden_tests(unit):
        if path not in sources:
            raise MisconceptionError(f"{shown(path)} is missing: write the hidden tests of {path.stem} there.")
    for path in sorted((course.suites / unit).glob("*.py")):
        if path not in sources and (path.name == "misconceptions.py" or _HAS_TESTS.search(path.read_text("utf-8"))):
            raise MisconceptionError(
                f"{shown(path)} is not the file of an exercise, so it is not read: move what is about an exercise to "
                f"{shown(path.parent)}/<exercise>.py."
            )


def made_file(course: Course, unit: str) -> Path:
    """Return the file to which `build` writes a unit's changed definitions."""
    return course.caches / "misconceptions" / f"{unit}.py"


# -- changed solutions ------------------------------------------------------------------------------------------


def _changed_definitions(course: Course, unit: str, rows: Sequence[Row], calls: Mapping[str, Sequence[str]]) -> str:
    """Return the source of a module with the changed definitions, under their rows' names, and all that they need.

    calls: the exercises that the changed answers to an exercise call by their public names, by exercise.
    """
    source = course.solutions / f"{unit}.py"
    imports, definitions = _parts_of(source)
    exercises = [name for name, node in definitions.items() if isinstance(node, ast.FunctionDef | ast.ClassDef)]
    for exercise, names in calls.items():
        for name in names:
            if name not in exercises:
                problem = f"CALLS names {name}, which solutions/{source.name} does not define: correct it."
                raise MisconceptionError(f"{shown(course.suites / unit / f'{exercise}.py')}: {problem}")
    right = {name: f"{RIGHT}{name}" for name in exercises}
    changed = []
    taken: dict[str, Row] = {}
    for one in rows:
        if (first := taken.setdefault(one.name, one)) is not one:
            twice = f"{first.place} has a mistake {one.name} too: give one of the two another name."
            raise MisconceptionError(f"{one.place}: {twice}")
        # An exercise that is called by its own name counts as the student's, and can be substituted.
        private = {name: new for name, new in right.items() if name not in calls.get(one.exercise, ())}
        changed.append(renamed(_changed(source, one), {**private, one.exercise: one.name}))
    used = {name.removeprefix(RIGHT) for name in names_in(*changed)}
    needed = needed_names(used, definitions) & definitions.keys()
    kept = [renamed(node, right) for node in dict.fromkeys(definitions[name] for name in definitions if name in needed)]
    public = sorted(needed.intersection(name for names in calls.values() for name in names))
    return "\n".join(
        ['"""Made by `grader build` from the rows of the misconceptions: edit those."""', ""]
        + [ast.unparse(node) for node in (*imports, *kept)]
        + [f"{name} = {RIGHT}{name}" for name in public]
        + [ast.unparse(node) for node in changed]
        + [""]
    )


def _changed_by_both(source: Path, pair: list[Replacements], exercise: str, names: dict[str, str]) -> CodeType | None:
    """Return the compiled definition of an exercise with two changes, or None if they do not go together."""
    for one, other in (pair, pair[::-1]):
        # The two together may be no Python, or odd Python.
        with contextlib.suppress(ValueError, SyntaxError), warnings.catch_warnings(action="ignore"):
            [definition] = ast.parse(other.applied(one.applied(_undocumented(source, exercise)))).body
            return compile(ast.Module([renamed(definition, names)], []), "two mistakes", "exec")
    return None


def _changed(source: Path, one: Row) -> ast.stmt:
    """Return the definition of a row's exercise as the row changes it. Raises MisconceptionError."""
    try:
        text = one.change.applied(_undocumented(source, one.exercise))
        [definition] = ast.parse(text).body
    except ValueError as error:
        problem = f"does not apply: {error}"
    except SyntaxError as error:
        problem = f"is not Python: {error.msg}"
    else:
        return definition
    advice = f"Compare it with {one.exercise} in solutions/{source.name}."
    raise MisconceptionError(f"{one.place}: the mistake {one.name} {problem}. {advice}")


def _parts_of(source: Path) -> tuple[list[ast.stmt], dict[str, ast.stmt]]:
    """Return the imports and top-level definitions of a unit's solution, after those of the units that it imports."""
    imports: list[ast.stmt] = [ast.parse("from __future__ import annotations").body[0]]
    definitions: dict[str, ast.stmt] = {}
    for node in ast.parse(source.read_text(encoding="utf-8")).body:
        match node:
            case ast.ImportFrom(module=str(other)) if source.with_name(f"{other}.py").is_file():
                more, theirs = _parts_of(source.with_name(f"{other}.py"))
                imports += more[1:]
                definitions |= theirs
            case ast.Import() | ast.ImportFrom():
                imports.append(node)
            case _:
                definitions |= definitions_in([node])
    return imports, definitions


@functools.cache
def _undocumented(source: Path, exercise: str) -> str:
    """Return a definition's text without its docstrings, which no replacement should change. Raises ValueError."""
    text = source.read_text(encoding="utf-8")
    lines = text.splitlines(keepends=True)
    found = [node for node in ast.parse(text).body if getattr(node, "name", None) == exercise]
    if not found:
        raise ValueError(f"solutions/{source.name} does not define {exercise}")
    left_out: set[int] = set()
    for node in ast.walk(found[0]):
        if isinstance(node, ast.FunctionDef | ast.ClassDef) and ast.get_docstring(node) is not None:
            left_out.update(range(node.body[0].lineno, (node.body[0].end_lineno or 0) + 1))
    kept = range(found[0].lineno, (found[0].end_lineno or 0) + 1)
    return "".join(lines[number - 1] for number in kept if number not in left_out)


def renamed(node: ast.stmt, names: dict[str, str]) -> ast.stmt:
    """Rename a definition and the names in it, and return it."""
    if isinstance(node, ast.FunctionDef | ast.ClassDef):
        node.name = names.get(node.name, node.name)
    for inner in ast.walk(node):
        if isinstance(inner, ast.Name):
            inner.id = names.get(inner.id, inner.id)
    return node


# -- files and modules -------------------------------------------------------------------------------------------


def source_files(course: Course, unit: str) -> list[Path]:
    """Return the files with misconceptions of a unit: those of its exercises, also of those that are left out."""
    paths = [course.suites / unit / f"{name}.py" for name in definitions(course.solutions / f"{unit}.py")]
    return [path for path in paths if path.is_file()]


def _modules_of(course: Course, unit: str) -> list[ModuleType]:
    return [import_file(path) for path in source_files(course, unit)]


def _rows(modules: Sequence[ModuleType]) -> list[Row]:
    """Return the rows of all MISCONCEPTIONS. Raises MisconceptionError if one has others, or a row is elsewhere."""
    found: list[Row] = []
    for module in modules:
        own = getattr(module, "MISCONCEPTIONS", [])
        found += own if isinstance(own, list) else [own]
        if not all(isinstance(one, Row) for one in found):
            file = shown(Path(module.__file__ or ""))
            raise MisconceptionError(
                f"{file}: MISCONCEPTIONS has something else than mistakes: write `MISCONCEPTIONS = [mistake(…), …]`."
            )
    for name, value in [pair for module in modules for pair in vars(module).items()]:
        for one in value if isinstance(value, list | tuple) else [value]:
            if isinstance(one, Row) and one not in found:
                raise MisconceptionError(
                    f"{one.place}: the mistake {one.name!r} is in {name} and not in MISCONCEPTIONS: add it there."
                )
    return found


def _calls(modules: Iterable[ModuleType]) -> dict[str, Sequence[str]]:
    return {Path(module.__file__ or "").stem: module.CALLS for module in modules if hasattr(module, "CALLS")}


@functools.cache
def _made(course: Course, unit: str) -> ModuleType:
    path = made_file(course, unit)
    if not _is_current(course, unit):
        raise MisconceptionError(f"{shown(path)} is missing or out of date: run `grader build`.")
    name = f"misconceptions_of_{unit}"
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec
    assert spec.loader
    module = sys.modules[name] = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        advice = f"It is made from the misconceptions of {unit} and its solution: correct those."
        raise MisconceptionError(f"{described(error, path)} {advice}") from error
    return module


def _is_current(course: Course, unit: str) -> bool:
    path = made_file(course, unit)
    return path.is_file() and path.read_text(encoding="utf-8").startswith(f"# {_digest(course, unit)}\n")


def _digest(course: Course, unit: str) -> str:
    """Return the digest of all suites that rows may be made of, the solutions, and this module, which applies rows."""
    total = hashlib.sha256(Path(__file__).read_bytes())
    for folder in (course.suites, course.suites / unit, course.solutions):
        for path in sorted(folder.glob("*.py")):
            total.update(path.read_bytes())
    return total.hexdigest()


def _line_of(value: Any) -> int:
    """Return the line on which a function, or the first method of a class, begins."""
    functions = [value, *vars(value).values()] if isinstance(value, type) else [value]
    lines = [one.__code__.co_firstlineno for one in functions if hasattr(one, "__code__")]
    return min(lines, default=1)
