"""Looks through a folder for what students must not receive: hidden tests, solutions, mistakes and quiz answers.

What is looked for are lines, each with its white space squeezed, wherever they turn up: in files, in wheels, in
everything that a git repository remembers, in notebooks and other JSON; also within a longer line, or broken over two.
"""

from __future__ import annotations

import ast
import io
import re
import zipfile
from collections.abc import Iterable, Iterator
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from grader.course.build import BEGIN_SOLUTION, END_SOLUTION
from grader.course.model import ROOT, load_course
from grader.integrations.github.repository import run_git
from grader.integrations.release import ReleaseError
from grader.integrations.release.wheel import is_the_instructors
from grader.quizzes.source import load_quizzes

SHORTEST = 25
"""Of the lines that are looked for: shorter ones are in any program."""

MOST_TOLD = 3

# Said alike by many programs: a line without a word; one that imports; a heading; one that calls an exercise, with
# names alone; one that names what a call without arguments gives; what a stub raises; one that only begins something,
# with names alone: a loop, a guard, a parameter with its default, or a value that stands on the lines below.
_IDLE = re.compile(
    r"""[\W\d_]*
    | (import|from)[ ][\w.]+([ ]import[ ].*)?
    | \#[ ]--[ ][\w ]+[ ]-+
    | (return[ ])?student\.\w+\([\w, ]*\)
    | [\w.]+[ ]=[ ][\w.]+\(\)
    | raise[ ]NotImplementedError(\(\))?
    | for[ ][\w, ()]+[ ]in[ ][\w.]+(\(\))?:?
    | (with[ ][\w.]+\([\w."]*\)|except[ ][\w.]+)([ ]as[ ]\w+)?:
    | \w+:[ ][\w.]+[ ]=[ ][\w.]+,?
    | [\w, ]+(:[ ][\w.\[\], ]+)?[ ]=[ ][(\[{]""",
    re.VERBOSE,
)
# What surrounds a text in code and in YAML, and is not part of it.
_YAML_KEY = re.compile(r"^(- )?\w+: (?=\S)")
_AROUND = "\"'`, "
_PARAMETER = re.compile(r"\[\[\w+\]\]")
_ESCAPE = re.compile(r"\\(?:u([0-9a-fA-F]{4})|(.))", re.DOTALL)
_CONTROL = {"n": "\n", "t": "\t", "r": "\r"}


class Leak(NamedTuple):
    """Where a secret was found, and where it comes from; never the secret."""

    place: str
    origin: str

    def __str__(self) -> str:
        return f"{self.place}: this is also in {self.origin}"


def scan(folder: Path, root: Path = ROOT, told: bool = False) -> list[Leak]:
    """Every secret of the course in `root` that is found in `folder`.

    told: what a report tells of hidden tests and mistakes, their sentences, may be there. Raises CourseError.
    """
    starts: dict[str, list[tuple[str, str]]] = {}
    for secret, origin in secrets(root, told).items():
        starts.setdefault(secret[:SHORTEST], []).append((secret, origin))
    found: list[Leak] = []
    seen: set[str] = set()
    for place, content in _contents(folder):
        text = content.decode("utf-8", "replace")
        for form in _forms(text) - seen:  # of most files git has another copy
            seen.add(form)
            found += [Leak(f"{place}:{line}", origin) for line, origin in _found(form, starts)]
    return list(dict.fromkeys(found))


def require_none(folder: Path, root: Path = ROOT) -> None:
    """Raises ReleaseError, which names the first few, where `folder` holds a secret of the course in `root`."""
    if leaks := scan(folder, root):
        first = "; ".join(map(str, leaks[:MOST_TOLD]))
        raise ReleaseError(
            f"{len(leaks)} line{'s' if len(leaks) > 1 else ''} that students must not have would be given away, so "
            f"nothing was written. {first}. Take out of what students receive what is not theirs to read, or reword it."
        )


def secrets(root: Path = ROOT, told: bool = False) -> dict[str, str]:
    """Each line that is secret, squeezed, with the place where it stands."""
    public = _squeezed("\n".join(_public_texts(root, told)))
    found: dict[str, str] = {}
    for origin, line in _secret_lines(root):
        squeezed = _squeezed(line)
        if not _IDLE.fullmatch(squeezed):
            for needle in {squeezed, *_PARAMETER.split(squeezed)}:
                bare = needle.strip(_AROUND)
                needle = bare if len(bare) >= SHORTEST else needle.strip()
                if len(needle) >= SHORTEST and needle not in public:
                    found.setdefault(needle, origin)
    return found


# -- what is secret ------------------------------------------------------------------------------------------------


def _secret_lines(root: Path) -> Iterator[tuple[str, str]]:
    """Every line, with its place, of the files that are secret, and of the secret parts of others."""
    suites = root / "grader" / "suites"
    hidden = [path for path in sorted(suites.rglob("*.py")) if path.name != "__init__.py"]
    quizzes = sorted((root / "solutions").glob("*_quiz.yml"))
    for path in hidden:
        for number, line in enumerate(_lines(path), start=1):
            yield f"{path.relative_to(root).as_posix()}:{number}", line
    for path in quizzes:
        for number, line in enumerate(_lines(path), start=1):
            for form in _forms(_YAML_KEY.sub("", _squeezed(line))):
                yield f"{path.relative_to(root).as_posix()}:{number}", form.strip(_AROUND)
    for path in sorted((root / "solutions").glob("*.py")):
        for number, line, is_solution in _solution_lines(path):
            if is_solution:
                yield f"{path.relative_to(root).as_posix()}:{number}", line


def _public_texts(root: Path, told: bool) -> Iterator[str]:
    """What the course itself shows: all around the solutions, and the questions of the quizzes."""
    for path in sorted((root / "solutions").glob("*.py")):
        yield from (line for _, line, is_solution in _solution_lines(path) if not is_solution)
    # The package's own modules, which students receive whole.
    for path in sorted((root / "grader").rglob("*.py")):
        if not is_the_instructors(path.relative_to(root / "grader").as_posix()):
            yield path.read_text(encoding="utf-8")
    course = load_course(root)
    for quiz in load_quizzes(root / "solutions", course.quizzes).values():
        yield quiz.title
        for name, question in quiz.questions.items.items():
            asked = "\n".join([name, question.question, *question.choices, *question.steps, question.code])
            yield from {asked, asked.replace('"', '\\"')}  # as YAML and JSON may quote it
    if told:
        for path in sorted((root / "grader" / "suites").rglob("*.py")):
            yield from _sentences(path)


def _solution_lines(path: Path) -> Iterator[tuple[int, str, bool]]:
    """The lines of a unit's source, each with its number and whether it is a part of a solution."""
    is_solution = False
    for number, line in enumerate(_lines(path), start=1):
        is_solution = (is_solution or BEGIN_SOLUTION in line) and END_SOLUTION not in line
        yield number, line, is_solution and BEGIN_SOLUTION not in line


def _sentences(path: Path) -> Iterator[str]:
    """Every text in a suite: docstrings, what its checks say, and the sentences of its misconceptions."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value


def _lines(path: Path) -> list[str]:
    return path.read_text(encoding="utf-8").splitlines()


# -- where it may be -------------------------------------------------------------------------------------------------


def _contents(folder: Path) -> Iterator[tuple[str, bytes]]:
    """Whatever a folder holds, by its place: files, those in archives, and what git has kept."""
    # What git has kept comes last: a file is better known by its name.
    for path in sorted(folder.rglob("*"), key=lambda path: (".git" in path.parts, path)):
        place = path.relative_to(folder).as_posix()
        if path.is_symlink() or not path.is_file():
            if (path / "HEAD").is_file() and (path / "objects").is_dir():
                yield from _git_objects(path, place)
        elif not _is_git_object(path):
            yield from _unpacked(place, path.read_bytes())


def _is_git_object(path: Path) -> bool:
    """Packed away by git, which is asked for its content."""
    return any(parent.name == "objects" and (parent.parent / "HEAD").is_file() for parent in path.parents)


def _unpacked(place: str, content: bytes) -> Iterator[tuple[str, bytes]]:
    """A content; and those in it, where it is an archive, such as a wheel."""
    if not zipfile.is_zipfile(io.BytesIO(content)):
        yield place, content
        return
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        for name in archive.namelist():
            yield from _unpacked(f"{place}: {PurePosixPath(name)}", archive.read(name))


def _git_objects(repository: Path, place: str) -> Iterator[tuple[str, bytes]]:
    """Every object that a git repository holds: files of any time, and what was said of each commit."""
    done = run_git([f"--git-dir={repository}", "cat-file", "--batch-all-objects", "--batch"], repository)
    if done.returncode:
        raise ReleaseError(f"git cannot read {place}: {done.stderr.decode('utf-8', 'replace').strip()}")
    output = io.BytesIO(done.stdout)
    while header := output.readline():
        name, kind, size = header.decode().split()
        yield from _unpacked(f"{place}: {kind} {name[:10]}", output.read(int(size)))
        output.readline()


# -- whether it is there ---------------------------------------------------------------------------------------------


def _found(text: str, starts: dict[str, list[tuple[str, str]]]) -> Iterable[tuple[int, str]]:
    """The secrets in a text: the line on which each begins, and where it comes from."""
    squeezed = _squeezed(text)
    for place in range(len(squeezed) - SHORTEST + 1):
        for secret, origin in starts.get(squeezed[place : place + SHORTEST], ()):
            if squeezed.startswith(secret, place):
                yield _line_of(text, squeezed[:place]), origin


def _line_of(text: str, before: str) -> int:
    """The line of a text on which what is `before`, squeezed, has just ended."""
    words = before.count(" ")
    for number, word in enumerate(re.finditer(r"\S+", text)):
        if number == words:
            return text.count("\n", 0, word.start()) + 1
    return 1


def _squeezed(text: str) -> str:
    return " ".join(text.split())


def _forms(text: str) -> set[str]:
    """A text as it stands; and as it reads in JSON, YAML or Python once its quotes are gone, or gone twice."""
    once = _ESCAPE.sub(_meant, text)
    return {text, text.replace("''", "'"), once, _ESCAPE.sub(_meant, once)}


def _meant(escape: re.Match[str]) -> str:
    code, character = escape.groups()
    return chr(int(code, 16)) if code else _CONTROL.get(character, character)
