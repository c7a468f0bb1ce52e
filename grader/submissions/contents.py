"""Recognises by its content, whatever its name, which unit a file answers, or what it is if it is no answer."""

from __future__ import annotations

import contextlib
import functools
import itertools
import re
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from grader.submissions.file_text import as_notebook, read_text, refuse_others
from grader.submissions.notebook import NOTEBOOK_LIMIT, Notebook, code_lines, read_notebook, source_of
from grader.submissions.submission import (
    CHECKS,
    DEFINITION,
    MOST_FRONT_LINES,
    RELEASED,
    SHEET_LIMIT,
    filenames,
    front_matter,
    intended_name,
    is_code,
    is_published,
    missing_file,
    quoted_name,
    written_lines,
)
from grader.submissions.tree import Files, Ignored, TreePart, UnreadableError, View, Walked, walk
from grader.text import in_words

# So many exercises of another unit make code an answer to that one, if it has so many.
_FEWEST = 2
# Of the files that answer nothing, of those that have no unit's name, and of texts, so many are read.
_MOST_WRONG, _MOST_UNNAMED, _MOST_TEXTS = 100, 20, 100
_MOST_FOUND, _MOST_NAMED = 10, 3
# A sheet is text, under any name.
_TEXT = re.compile(r"[^.]+|.*\.(?:md|markdown|mdown|txt|text|qmd|rmd)", re.IGNORECASE | re.DOTALL)
# Copies that programs make beside the files themselves.
_COPY = re.compile(r"\.ipynb_checkpoints|__MACOSX|__pycache__|\._.*", re.DOTALL)
_LINK = re.compile(r"link\.html|.*\.(?:gdoc|gsheet|gslides|url|webloc|lnk|desktop)", re.IGNORECASE | re.DOTALL)
_QUIZ = re.compile(r"quiz|answer[^/]*\Z", re.IGNORECASE)
_TYPED = ("onlinetext.html", "text.html")
ANOTHER = "is the answer to another unit"
_QUIZ_OF_ANOTHER = "is the quiz of another unit"
# Files that a grader would import or obey if it ran the tests beside an answer. This one does not.
NEVER_READ = (
    "conftest.py", "sitecustomize.py", "usercustomize.py", "autograder.yml",
    *(f"{library}{suffix}" for library in ("torch", "numpy", "pytest", "grader") for suffix in (".py", "")),
)  # fmt: skip

# What releases until November 2026 had beside the answers.
EARLIER_CONFTEST = '''\
"""Plain `pytest` in this folder runs the tests on your files beside them. They need the course's grader."""

try:
    from grader.engine.visible import (
        pytest_collection_modifyitems,
        pytest_configure,
        pytest_runtest_makereport,
        student,
    )
except ImportError as error:
    raise SystemExit(f"The tests need the course's grader ({error}): pip install -r requirements.txt") from None
'''


class CourseFiles(dict[str, list[Path]]):
    """The paths of the course's own files by name: first those in the folder of stubs, last those in its parent."""

    def __init__(self, stubs: Path) -> None:
        super().__init__()
        for folder in (stubs, stubs / CHECKS, stubs.parent):
            for path in folder.iterdir() if folder.is_dir() else ():
                if path.is_file():
                    self.setdefault(path.name, []).append(path)

    def text(self, name: str) -> str | None:
        """Return the text of the course's file of that name; None if there is none."""
        paths = self.get(name)
        return paths[0].read_text(encoding="utf-8") if paths else None

    def has(self, name: str, text: str) -> bool:
        """Return whether the course has a file of that name with that text."""
        return any(_words(path) == text.split() for path in self.get(name, ()))


class Wrong(NamedTuple):
    """A file that is no answer to the unit that is graded.

    Attributes:
        path: Its path in the submission.
        what: What it is, as the rest of a sentence that begins with its name.
        unit: The unit that it answers, if that is another one.
    """

    path: str
    what: str
    unit: str = ""

    @property
    def is_about_a_quiz(self) -> bool:
        """Whether it is a sheet, or a document that is called one."""
        return self.what == _QUIZ_OF_ANOTHER or (not self.unit and bool(_QUIZ.search(self.path)))


class SubmissionFiles:
    """The files of a submission, in any place. It is walked at most once, and only when that is needed.

    Attributes:
        tree: The submission.
        units: Every unit that a file may be named after.
        only: The unit that is graded, if it is a single one.
        seen: The paths that were graded, or that a sentence names.
        refused: The names that are not read.
        unreadable: Those that could not be read.
        wrong: The files that are no answers, by path, as far as sentences name them.
    """

    def __init__(self, tree: Files, units: Sequence[str], only: str | None, stubs: Path) -> None:
        self.tree = tree
        self.units = units
        self.only = only
        self._stubs = stubs
        self.seen: set[str] = set()
        self.refused: list[Ignored] = []
        self.unreadable: list[Ignored] = []
        self.wrong: dict[str, Ignored] = {}
        self._own_notebook = functools.cache(functools.partial(read_notebook, tree))
        self._find = functools.cache(self._found)

    @functools.cached_property
    def course_files(self) -> CourseFiles:
        """The files that are nobody's answers."""
        return CourseFiles(self._stubs)

    @functools.cached_property
    def walked(self) -> Walked:
        """The files of the submission."""
        walked = walk(self.tree)
        self.refused = walked.refused
        return walked

    @functools.cached_property
    def sheets(self) -> dict[str, str]:
        """The unit of each sheet that says which quiz it is."""
        files = sorted(self.walked.files, key=lambda file: not _TEXT.fullmatch(file.name))
        found = {}
        for file in files[:_MOST_TEXTS]:
            with contextlib.suppress(UnreadableError):
                text = read_text(file.tree, file.relative, SHEET_LIMIT) or ""
                found[file.path] = self.quiz_in(file, text)
        return {path: unit for path, unit in found.items() if unit}

    @functools.cached_property
    def unnamed(self) -> list[TreePart]:
        """The files of other names that define an exercise; if there are none, the only script or notebook."""
        assert self.only
        known = {*self.sheets, *(one.path for one in self.walked.files if intended_name(one.name, self.units))}
        names = {*NEVER_READ, *self.course_files}
        others = [one for one in self.walked.files if one.path not in known and one.name not in names]
        others = [one for one in others if not RELEASED.fullmatch(one.name)]
        scripts = [one for one in others if is_code(one.name)]
        texts = [one for one in others if _TEXT.fullmatch(one.name) and not is_code(one.name)]
        own = self._exercises(self.only)
        most = [*scripts[:_MOST_UNNAMED], *texts[:_MOST_TEXTS]]
        found = [one for one in most if not own.isdisjoint(DEFINITION.findall(code_in(one)))]
        if found or len(scripts) != 1:
            return found
        return [one for one in scripts if not self.other_unit(code_in(one), self.only)]

    def notebook(self, tree: Files, path: str) -> Notebook | None:
        """Read a notebook, which holds a unit and its quiz, once; None if there is none. Raises UnreadableError."""
        return self._own_notebook(path) if tree is self.tree else read_notebook(tree, path)

    def instead_of(self, unit: str, is_quiz: bool = False) -> str:
        """Return the sentence on a unit, or its quiz, without a file: what is there instead, if something is."""
        script, notebook, sheet = filenames(unit)
        found = [one for one in self._find(unit, is_quiz) if one.is_about_a_quiz or not is_quiz]
        # What lies in the folder of its own unit was handed in for that one.
        if placed := [one for one in found if one.unit and one.path.startswith(f"{one.unit}/")]:
            self.named(placed, "", instead_of=unit)
        wrong = [one for one in found if one not in placed]
        if not wrong:
            return missing_file(unit, is_quiz)
        if is_quiz:
            return self.named(wrong, f"hand in {sheet}")
        if self.only is None and len(self.units) > 1:  # it could be an attempt at any unit
            return self.named(wrong, f"hand in the file of each unit, such as {script}", instead_of=unit)
        return self.named(wrong, f"hand in {script}", f" or {notebook}", instead_of=unit)

    def beside_stub(self, unit: str, is_quiz: bool) -> list[str]:
        """Return a sentence on what lies beside a unit's file, or its sheet, without answers, if something does."""
        script, _, sheet = filenames(unit)
        found = self._find(unit, is_quiz)
        found = [one for one in found if (one.is_about_a_quiz if is_quiz else one.what != _QUIZ_OF_ANOTHER)]
        own = {name for one in (unit, *(one.unit for one in found if one.unit)) for name in filenames(one)}
        names = {file.name for file in self.walked.files if file.name in self.course_files}
        if names - own:  # a whole folder of the course, with an answer to another unit in its place
            found = [one for one in found if not one.unit]
        wrong = [one for one in found if one.unit or one.path.rpartition("/")[2] not in names]
        return [self.named(wrong, f"write your answers into {sheet if is_quiz else script}")] if wrong else []

    def named(self, wrong: Sequence[Wrong], advice: str, more: str = "", instead_of: str = "") -> str:
        """Add files to those that are ignored, and return a sentence on them with what to do."""
        for one in wrong:
            self.wrong[one.path] = Ignored(one.path, advice, one.what.removeprefix("is "), instead_of, one.unit)
        self.seen.update(one.path for one in wrong)
        first = [f"{_name(one.path)} {one.what}" for one in wrong[:_MOST_NAMED]]
        others = f" (and {len(wrong) - len(first)} more)" if len(wrong) > len(first) else ""
        return f"{in_words(first)}{others}: {advice}{more}."

    def other_unit(self, code: str, unit: str) -> str:
        """Return the other unit whose exercises code defines, if it names no exercise of `unit`; otherwise ""."""
        own, defined = self._exercises(unit), set(DEFINITION.findall(code))
        if not own or own & defined:
            return ""
        exercises = {other: names for other in self.units if other != unit and (names := self._exercises(other))}
        fitting = [other for other, names in exercises.items() if len(names & defined) >= min(_FEWEST, len(names))]
        if not fitting or any(re.search(rf"\b{name}\b", code) for name in own):
            return ""
        return fitting[0]

    def _exercises(self, unit: str) -> set[str]:
        return set(DEFINITION.findall(self.course_files.text(filenames(unit)[0]) or ""))

    def quiz_in(self, file: TreePart, text: str) -> str:
        """Return the unit whose quiz a sheet is, by the lines above its title or by the title; "" if by neither."""
        if is_code(file.name) and not text.startswith("---"):
            return ""
        lines = text.removeprefix("\ufeff").split("\n", MOST_FRONT_LINES)[:MOST_FRONT_LINES]
        named, title = front_matter(lines).get("quiz", ("", 0))[0], _title(lines)
        if named or not title:
            return named if named in self.units else ""
        sheets = {unit: self.course_files.text(filenames(unit)[2]) or "" for unit in self.units}
        same = [unit for unit, sheet in sheets.items() if _title(sheet.split("\n", MOST_FRONT_LINES)) == title]
        return same[0] if len(same) == 1 else ""

    def _found(self, unit: str, is_quiz: bool) -> list[Wrong]:
        """Return what was handed in that is no answer to a unit, or to its quiz, without the course's own files."""
        files = self.walked.files
        relevant = [file for file in files if not (RELEASED.fullmatch(file.name) or (is_quiz and is_code(file.name)))]
        if files:
            wrong = (one for file in relevant[:_MOST_WRONG] if (one := self._kind(file, unit)))
            return [*itertools.islice(wrong, _MOST_FOUND)]
        entries = self.tree.entries()
        empty = [Wrong(one.name, "holds no file that is read") for one in entries if one.kind == "archive"]
        names = [one.name for one in entries]
        hidden = [name for name in names if _COPY.fullmatch(name) or intended_name(name, self.units)]
        copies = [Wrong(name, "is hidden, or a copy that a program made") for name in hidden]
        return empty or copies

    def _kind(self, file: TreePart, unit: str) -> Wrong | None:
        """Return what a file is that is no answer to a unit; None if it is the course's own or an answer."""
        if _LINK.fullmatch(file.name):
            return Wrong(file.path, "is a link and not the file itself")
        if file.name in _TYPED:
            return Wrong(file.path, "is text that was typed on the learning platform")
        try:
            text = text_of(file)
            refuse_others(text, file.path)
            cells = cells_of(text, file.path)
        except UnreadableError as error:
            return Wrong(file.path, _what(error, file.path))
        if self.course_files.has(file.name, text) or is_published(text):
            return None
        quiz = self.quiz_in(file, text)
        if not quiz:
            return self._kind_of_code(file, unit, cells)
        sheet = self.course_files.text(filenames(quiz)[2])
        is_blank = sheet is not None and written_lines(sheet) == written_lines(text)
        return None if quiz == unit or is_blank else Wrong(file.path, _QUIZ_OF_ANOTHER, quiz)

    def _kind_of_code(self, file: TreePart, unit: str, cells: Sequence[str]) -> Wrong | None:
        intended = intended_name(file.name, self.units) or ""
        named = next((one for one in self.units if intended in filenames(one)), "")
        if named == unit:
            return None
        if not any(cell.strip() for cell in cells):
            return Wrong(file.path, "is empty")
        other = self.other_unit("\n".join(cells), unit) or named
        stub = self.course_files.text(filenames(other)[0]) if other else None
        if stub is not None and code_lines(cells) == code_lines([stub]):
            return None
        if other:
            return Wrong(file.path, ANOTHER, other)
        is_script = is_code(file.name)
        what = "defines none of its exercises" if is_script else "is not a script, a notebook or a sheet of the course"
        return Wrong(file.path, what)


def code_in(file: TreePart) -> str:
    """Return the code of a script or a notebook; "" if it cannot be read."""
    try:
        return "\n".join(cells_of(text_of(file), file.path))
    except UnreadableError:
        return ""


def text_of(file: TreePart) -> str:
    """Return the text of a file. Raises UnreadableError."""
    return read_text(View({file.path: file}), file.path, NOTEBOOK_LIMIT) or ""


def cells_of(text: str, path: str) -> list[str]:
    """Return the code of a script as one cell, or that of each cell of a notebook. Raises UnreadableError."""
    if not path.lower().endswith(".ipynb"):
        return [text]
    notebook: Any = as_notebook(text, path)
    cells = notebook.get("cells") if isinstance(notebook, dict) else None
    code = [one for one in cells or () if isinstance(one, dict) and one.get("cell_type") == "code"]
    return [source_of(one) or "" for one in code]


def other_units(ignored: Mapping[Ignored, Collection[str]]) -> dict[str, set[str]]:
    """Return the students whose file is no answer to the unit that is graded, by the unit that it answers, or ""."""
    found: dict[str, set[str]] = {}
    for one, students in ignored.items():
        if one.instead_of:
            found.setdefault(one.unit, set()).update(students)
    return found


def another_unit(found: Mapping[str, Collection[str]], unit: str, given: int, right: int) -> str:
    """Return a sentence if most of the given submissions hold the same other unit; otherwise "".

    found: What `other_units` found. right: How many submissions hold the unit that is graded.
    """
    counts = {other: len(students) for other, students in found.items() if other}
    other = max(counts, key=lambda name: counts[name], default="")
    if 2 * counts.get(other, 0) <= given:
        return ""
    return (
        f"{counts[other]} of {given} submissions hold {other} and {right or 'none'} {unit}: grade with --unit {other}?"
    )


def _what(error: UnreadableError, path: str) -> str:
    """Return what an error says of a file, without its name and without what to do."""
    what = str(error).removeprefix(f"{path} ").partition(": ")[0]
    return "is not a text" if what.startswith(("is not UTF-8", "has a zero byte")) else what


def _name(path: str) -> str:
    return path if re.fullmatch(r"[\w.-]+", path, re.ASCII) else quoted_name(path)


def _words(path: Path) -> list[str]:
    try:
        return path.read_text(encoding="utf-8").split()
    except UnicodeDecodeError:
        return []


def _title(lines: Sequence[str]) -> str:
    return next((line.rstrip() for line in lines if line.startswith("# ")), "")
