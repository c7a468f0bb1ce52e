"""Searches a release for what students must not receive: the instructor's folders, solutions and quiz answers.

The answers of practice items are no secrets: students receive them. A text that a graded item has too is one.

It reads the files of a folder, those in archives such as wheels, and every object of a git repository. It also reads
the sentences of the misconceptions, which students receive one by one.
"""

from __future__ import annotations

import ast
import contextlib
import io
import itertools
import re
import zipfile
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, NamedTuple

from grader.course.build import BEGIN_SOLUTION, END_SOLUTION
from grader.course.hints import read_hints
from grader.files import PACKAGE
from grader.git import run_git
from grader.integrations.release import ReleaseError
from grader.integrations.release.wheel import INSTRUCTORS, is_the_instructors
from grader.quizzes.questions import PRACTICE_SUFFIX
from grader.quizzes.source import load_quizzes
from grader.testing.misconceptions import source_files

if TYPE_CHECKING:
    from collections.abc import Iterator

    from grader.course.model import Course

SHORTEST = 25
"""Shorter solutions and sentences occur in any program."""

MOST_LISTED = 3

_PARAMETER = re.compile(r"\[\[\w+\]\]")
_ESCAPE = re.compile(r"\\(?:u([0-9a-fA-F]{4})|(.))", re.DOTALL)
_CONTROL = {"n": "\n", "t": "\t", "r": "\r"}
_CODE = re.compile(r"`([^`]+)`")
# Names, literals and attributes give nothing away: sentences need them.
_REVEALING = ast.Call | ast.BinOp | ast.BoolOp | ast.Compare | ast.Subscript | ast.IfExp | ast.Lambda | ast.ListComp


class Leak(NamedTuple):
    """The place of a secret in the release, and its origin in the course; never the secret itself."""

    place: str
    origin: str

    def __str__(self) -> str:
        return f"{self.place}: this is also in {self.origin}"


def scan(folder: Path, course: Course) -> list[Leak]:
    """Return every secret of the course that is found in `folder`. Raises CourseError."""
    files, texts = _secret_files(course), secret_texts(course)
    found: list[Leak] = []
    seen: set[str] = set()
    for place, content in _contents(folder):
        if inside := _instructors_folder(place):
            found.append(Leak(place, inside))
        text = content.decode("utf-8", "replace")
        if origin := files.get(_squeezed(text)):
            found.append(Leak(place, origin))
        for form in _forms(text) - seen:  # git has a copy of most files
            seen.add(form)
            squeezed = _squeezed(form)
            found += [
                Leak(f"{place}:{_line_of(form, squeezed[: squeezed.index(secret)])}", origin)
                for secret, origin in texts.items()
                if secret in squeezed
            ]
    return list(dict.fromkeys(found))


def require_none(folder: Path, course: Course) -> None:
    """Raise ReleaseError with the first places if `folder` or a misconception's sentence holds secrets."""
    if leaks := scan(folder, course) + revealing_sentences(course):
        first = "; ".join(map(str, leaks[:MOST_LISTED]))
        raise ReleaseError(
            f"The release would hold {len(leaks)} secret{'s' if len(leaks) > 1 else ''} of the course, so nothing was "
            f"written. {first}. Remove it from what students receive, or reword it there."
        )


def revealing_sentences(course: Course) -> list[Leak]:
    """Return the sentences of misconceptions with code from a solution of their unit that its stub does not have."""
    return [
        Leak(f"{course.shown(path)}:{line}", f"solutions/{unit}.py:{secrets[text]}")
        for unit in course.units
        for secrets in [_secret_expressions(course.solutions / f"{unit}.py")]
        for path in source_files(course, unit)
        for line, text in _expressions_in_sentences(path)
        if text in secrets
    ]


# -- the secrets ---------------------------------------------------------------------------------------------------


def _instructors_folder(place: str) -> str | None:
    """Return the instructor's folder of the grader that a file is in, by its place."""
    parts = place.replace(": ", "/").split("/")
    path = "/".join(parts[parts.index(PACKAGE.name) + 1 :]) if PACKAGE.name in parts else ""
    return next((f"{PACKAGE.name}/{one}/" for one in INSTRUCTORS if path.startswith(f"{one}/")), None)


def _secret_files(course: Course) -> dict[str, str]:
    """Return the text of each file that students must not have, squeezed, with its place."""
    paths = [*course.suites.rglob("*.py"), *course.solutions.iterdir()]
    paths = [path for path in paths if path.is_file() and not path.name.endswith(PRACTICE_SUFFIX)]
    texts = {_squeezed(path.read_text(encoding="utf-8")): path for path in sorted(paths)}
    return {text: course.shown(path) for text, path in texts.items() if len(text) >= SHORTEST}


def secret_texts(course: Course) -> dict[str, str]:
    """Return each solution, its lines, and each text with a quiz's answer, squeezed, with its place."""
    parts = ((place, _squeezed(part)) for place, text in _answers(course) for part in _PARAMETER.split(text))
    public = _squeezed("\n".join(_public_texts(course)))
    return {text: place for place, text in parts if len(text) >= SHORTEST and text not in public}


def _answers(course: Course) -> Iterator[tuple[str, str]]:
    """Yield the place and the text of each solution, of its lines and of each explanation in a quiz."""
    for path in sorted(course.solutions.glob("*.py")):
        lines = list(_solution_lines(path))
        for is_solution, group in itertools.groupby(enumerate(lines, start=1), key=lambda one: one[1][1]):
            if is_solution:
                (first, _), *_ = numbered = list(group)
                yield f"{course.shown(path)}:{first}", "\n".join(line for _, (line, _) in numbered)
                yield from ((f"{course.shown(path)}:{number}", line) for number, (line, _) in numbered)
    for unit, quiz in load_quizzes(course.solutions, course.quizzes).items():
        for item in quiz.items.values():
            for _, sentence in item.texts_after_due():
                yield from ((f"solutions/{unit}_quiz.yml", text) for text in {sentence, *sentence.splitlines()})


def _public_texts(course: Course) -> Iterator[str]:
    """Yield what surrounds the solutions, the hints, the student's part of the grader, and the quizzes' questions."""
    for path in sorted(course.solutions.glob("*.py")):
        yield from (line for line, is_solution in _solution_lines(path) if not is_solution)
    for exercises in read_hints(course).values():
        yield from itertools.chain.from_iterable(exercises.values())
    for path in sorted(PACKAGE.rglob("*.py")):
        if not is_the_instructors(path.relative_to(PACKAGE).as_posix()):
            yield path.read_text(encoding="utf-8")
    for quiz in load_quizzes(course.solutions, course.quizzes).values():
        for question in quiz.questions.items.values():
            yield from (question.question, *question.choices, *question.steps, question.code)


def _solution_lines(path: Path) -> Iterator[tuple[str, bool]]:
    """Yield the lines of a unit's source, each with whether it belongs to a solution."""
    is_solution = False
    for line in path.read_text(encoding="utf-8").splitlines():
        is_solution = (is_solution or BEGIN_SOLUTION in line) and END_SOLUTION not in line
        yield line, is_solution and BEGIN_SOLUTION not in line


def _secret_expressions(source: Path) -> dict[str, int]:
    """Return each expression of a unit's solutions that is not in the stub, with its line."""
    lines = list(_solution_lines(source))
    stub = "".join("".join(line.split()) for line, is_solution in lines if not is_solution)
    return {
        text: line
        for text, line in _expressions(ast.parse(source.read_text(encoding="utf-8")))
        if lines[line - 1][1] and "".join(text.split()) not in stub
    }


def _expressions_in_sentences(path: Path) -> Iterator[tuple[int, str]]:
    """Yield the expressions that a file's texts have in backticks, each with the line where its text begins."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            for code in _CODE.findall(node.value):
                with contextlib.suppress(SyntaxError):  # such as an operator alone
                    yield from ((node.lineno, text) for text, _ in _expressions(ast.parse(code)))


def _expressions(tree: ast.AST) -> Iterator[tuple[str, int]]:
    """Yield the text of each expression that could give a solution away, written in one way, and its line."""
    yield from ((ast.unparse(node), node.lineno) for node in ast.walk(tree) if isinstance(node, _REVEALING))


# -- where to look ---------------------------------------------------------------------------------------------------


def _contents(folder: Path) -> Iterator[tuple[str, bytes]]:
    """Yield the place and content of all files of a folder, of those in archives, and of git's objects."""
    # Git's objects come last, because a file's own name says more.
    for path in sorted(folder.rglob("*"), key=lambda path: (".git" in path.parts, path)):
        place = path.relative_to(folder).as_posix()
        if path.is_symlink() or not path.is_file():
            if (path / "HEAD").is_file() and (path / "objects").is_dir():
                yield from _git_objects(path, place)
        elif not _is_git_object(path):
            yield from _unpacked(place, path.read_bytes())


def _is_git_object(path: Path) -> bool:
    """Return whether git stores an object here; `_git_objects` reads it."""
    return any(parent.name == "objects" and (parent.parent / "HEAD").is_file() for parent in path.parents)


def _unpacked(place: str, content: bytes) -> Iterator[tuple[str, bytes]]:
    """Yield a content, or those in it if it is an archive, such as a wheel."""
    if not zipfile.is_zipfile(io.BytesIO(content)):
        yield place, content
        return
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        for name in archive.namelist():
            yield from _unpacked(f"{place}: {PurePosixPath(name)}", archive.read(name))


def _git_objects(repository: Path, place: str) -> Iterator[tuple[str, bytes]]:
    """Yield every object of a git repository: all versions of files, and the messages of commits."""
    done = run_git(["--git-dir=.", "cat-file", "--batch-all-objects", "--batch"], repository)
    if done.code:
        raise ReleaseError(f"git cannot read {place}: {done.error}")
    output = io.BytesIO(done.output)
    while header := output.readline():
        name, kind, size = header.decode().split()
        yield from _unpacked(f"{place}: {kind} {name[:10]}", output.read(int(size)))
        output.readline()


# -- how to compare --------------------------------------------------------------------------------------------------


def _line_of(text: str, before: str) -> int:
    """Return the line of a text where the squeezed text `before` ends."""
    words = before.count(" ")
    for number, word in enumerate(re.finditer(r"\S+", text)):
        if number == words:
            return text.count("\n", 0, word.start()) + 1
    return 1


def _squeezed(text: str) -> str:
    return " ".join(text.split())


def _forms(text: str) -> set[str]:
    """Return a text as it is, and with the escapes of JSON, YAML or Python decoded once and twice."""
    once = _ESCAPE.sub(_decoded, text)
    return {text, text.replace("''", "'"), once, _ESCAPE.sub(_decoded, once)}


def _decoded(escape: re.Match[str]) -> str:
    code, character = escape.groups()
    return chr(int(code, 16)) if code else _CONTROL.get(character, character)
