"""Searches a release for what students must not receive, and for files that it cannot search.

It reads the files of a folder, those in its wheel, and every object of its git repository. It also reads the sentences
of the misconceptions, which students receive one by one.
"""

from __future__ import annotations

import ast
import contextlib
import io
import re
import zipfile
from collections.abc import Iterator, Sequence
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from grader.course.model import Course
from grader.course.modules import shown
from grader.files import PACKAGE
from grader.git import run_git
from grader.integrations.release import ReleaseError
from grader.integrations.release.secrets import Secrets, forms, unit_lines
from grader.integrations.release.wheel import INSTRUCTORS
from grader.testing.misconceptions import source_files

TYPES = (
    *(".py", ".md", ".json", ".ini", ".txt", ".yml", ".sh", ".typed", ".template"),
    *(".j2", ".html", ".css", ".js", ".svg", "gitignore", "gitattributes", "LICENSE", "METADATA", "WHEEL", "RECORD"),
)
"""How the names of files of a course and of the grader end. All are text in UTF-8."""
SEARCHED = (*TYPES, ".csv", ".ipynb")
"""How the names of files end that students can receive: nbgrader copies what is beside a notebook."""
MOST_IN_A_WHEEL = 2**25
"""The most bytes that the files of a wheel have together. The course's own has a tenth of that."""
MOST_LISTED = 3

_BINARY = re.compile(rb"[\0-\x08\x0e-\x1f\x7f]")
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
    """Return every secret of the course that is found in `folder`.

    Raises:
        ReleaseError: A file is of a type that no release has, so that it cannot be searched.
        CourseError: A quiz of the course cannot be read.
    """
    return search(list(_texts(folder)), course)


def search(texts: Sequence[tuple[str, str]], course: Course) -> list[Leak]:
    """Return every secret of the course that is found in texts with their places. Raises CourseError."""
    secrets = Secrets(course)
    found = {place: inside for place, _ in texts if (inside := _instructors_folder(place))}
    first: dict[str, str] = {}  # git has a copy of most files
    for place, text in texts:
        first.setdefault(text, place)
    seen: set[str] = set()
    for text, place in first.items():
        for form in forms(text) - seen:
            seen.add(form)
            for line, origin in secrets.find(form):
                found.setdefault(f"{place}:{line}", origin)
    return [Leak(place, origin) for place, origin in found.items()]


def require_none(folder: Path, course: Course) -> None:
    """Raise ReleaseError with the first places if `folder` or a misconception's sentence holds secrets."""
    refuse(scan(folder, course) + revealing_sentences(course))


def refuse(leaks: Sequence[Leak]) -> None:
    """Raise ReleaseError with the first places if there are leaks."""
    if leaks:
        first = "; ".join(map(str, leaks[:MOST_LISTED]))
        raise ReleaseError(
            f"The release would hold {len(leaks)} secret{'s' if len(leaks) > 1 else ''} of the course, so nothing was "
            f"written. {first}. Remove it from what students receive, or reword it there."
        )


def revealing_sentences(course: Course) -> list[Leak]:
    """Return the sentences of misconceptions with code from a solution of their unit that its stub does not have."""
    return [
        Leak(f"{shown(path)}:{line}", f"solutions/{unit}.py:{secrets[text]}")
        for unit in course.units
        for secrets in [_secret_expressions(course.solutions / f"{unit}.py")]
        for path in source_files(course, unit)
        for line, text in _expressions_in_sentences(path)
        if text in secrets
    ]


def _secret_expressions(source: Path) -> dict[str, int]:
    """Return each expression of a unit's solutions that is not in the stub, with its line."""
    lines = list(unit_lines(source))
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


def _instructors_folder(place: str) -> str | None:
    """Return the instructor's folder of the grader that a file is in, by its place."""
    parts = place.replace(": ", "/").split("/")
    path = "/".join(parts[parts.index(PACKAGE.name) + 1 :]) if PACKAGE.name in parts else ""
    return next((f"{PACKAGE.name}/{one}/" for one in INSTRUCTORS if path.startswith(f"{one}/")), None)


def _texts(folder: Path) -> Iterator[tuple[str, str]]:
    """Yield the place and the text of all files of a folder and its wheel, and of git's objects."""
    repositories = []
    for path in sorted(folder.rglob("*")):
        place = path.relative_to(folder).as_posix()
        if path.name == ".git":
            repositories.append(path)
        elif ".git" in place.split("/"):
            continue  # what git stores is read through git
        elif path.is_symlink() or not (path.is_file() or path.is_dir()):
            raise _unknown(place)
        elif path.suffix == ".whl":
            yield from _of_wheel(place, path.read_bytes())
        elif path.is_file():
            yield place, text_of(place, path.read_bytes())
    for path in repositories:
        yield from _of_git(path, path.relative_to(folder).as_posix())


def _of_wheel(place: str, content: bytes) -> Iterator[tuple[str, str]]:
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            if sum(file.file_size for file in archive.infolist()) > MOST_IN_A_WHEEL:
                raise _unknown(place)
            for name in archive.namelist():
                inside = f"{place}: {PurePosixPath(name)}"
                yield inside, text_of(inside, archive.read(name))
    except (zipfile.BadZipFile, NotImplementedError, RuntimeError) as error:
        raise _unknown(place) from error


def _of_git(repository: Path, place: str) -> Iterator[tuple[str, str]]:
    """Yield every object of a git repository: all versions of files, and the messages of commits."""
    done = run_git(["--git-dir=.", "cat-file", "--batch-all-objects", "--batch"], repository)
    if done.code:
        raise ReleaseError(f"git cannot read {place}: {done.error}")
    output = io.BytesIO(done.output)
    while header := output.readline():
        name, kind, size = header.decode().split()
        content, inside = output.read(int(size)), f"{place}: {kind} {name[:10]}"
        output.readline()
        if kind == "blob" and zipfile.is_zipfile(io.BytesIO(content)):
            yield from _of_wheel(inside, content)
        elif kind != "tree":
            yield inside, text_of(f"{inside}.txt", content)


def text_of(place: str, content: bytes) -> str:
    """Return the text of a file. Raises ReleaseError if its type is none of a release, or if it is no text in UTF-8."""
    if place.endswith(SEARCHED) and not _BINARY.search(content):
        with contextlib.suppress(UnicodeDecodeError):
            return content.decode("utf-8")
    raise _unknown(place)


def _unknown(place: str) -> ReleaseError:
    return ReleaseError(
        f"The release would hold {place}, so nothing was written: students receive only text in UTF-8, in files of the "
        "types .py, .md, .json, .ini, .txt and .yml. Remove the file, or save it as one of these."
    )
