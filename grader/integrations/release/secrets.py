"""What students must not receive of a course: hidden tests, solutions, and the answers of quizzes.

The answers of practice items are no secrets: students receive them. A text that a graded item has too is one. Texts are
compared without spaces and hidden signs, and with what is encoded in them.
"""

from __future__ import annotations

import base64
import binascii
import contextlib
import html
import itertools
import re
import unicodedata
import zlib
from bisect import bisect
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import accumulate
from pathlib import Path
from urllib.parse import unquote

from grader.course.build import BEGIN_SOLUTION, END_SOLUTION
from grader.course.model import Course
from grader.course.modules import shown
from grader.files import PACKAGE
from grader.integrations.release.wheel import is_the_instructors, received
from grader.quizzes.items import BugItem, ChoiceItem, Item, OrderItem, mark, right_letters
from grader.quizzes.questions import QUIZ_SUFFIX, rendered
from grader.quizzes.quiz_source import QuizSource, load_quizzes
from grader.quizzes.sheet import Sheet
from grader.quizzes.sheet_reader import read_sheet

SHORTEST = 20
"""Texts of fewer signs, spaces not counted, occur in any program."""

MOST_UNPACKED = 2**22
"""The most bytes of compressed data inside a text that are searched."""

# What a line begins with in a comment, a quotation or a list; all but letters, digits and the signs of ASCII; quotes,
# of which there are several; and letters that fonts show as nothing.
_IGNORED = re.compile("^[ \t]*[#>*+|-][#>*+|\\s-]*|[^\\w!-~]|[\"'`\u115f\u1160\u3164\uffa0]", re.MULTILINE)
_NEXT = re.compile(r'(?<!\\)"[ \t]*,\s*"')  # between two texts in a list of JSON or Python
_ESCAPE = re.compile(r"\\(?:u([0-9a-fA-F]{4})|x([0-9a-fA-F]{2})|(.))", re.DOTALL)
_CONTROL = {"n": "\n", "t": "\t", "r": "\r"}
_BASE64 = re.compile(r"(?:[\w+/-]{24,}={0,2}\s*)+", re.ASCII)
_READABLE = re.compile(rb"[\t\n\r -~]{20,}")
_ONLY_BASE64 = re.compile(r"[\w+/-]{200,}", re.ASCII)  # longer than any name

SHORTEST_PART = 26
"""A secret of fewer signs is only found alone: sentences have some words in common with code."""
COPIED = 10
"""So many lines of hidden tests or solutions in a row are a copy, even if students receive each of them elsewhere."""
KNOWN_ANSWERS = 3
"""So many right answers of one quiz, in a sheet or each after the name of its item, are a key."""
BETWEEN = 3
"""The most words between a name and its answer, such as `points: 1, answer:`."""
_BESIDE = re.compile("`|#")  # around code in a text, and before a comment
# An item's heading and kind in a sheet or a notebook: no answer is there.
_ASKED = re.compile(r'## \d+\. [\w ]*\w(?:\\n|[",\s])*\*[^*]+\bpoints?\*')
_PARAMETER = re.compile(r"\[\[\w+\]\]")
_NO_SECRET = re.compile(r'\s*(f?"[^"]*"[\s,)\]]*|(from|import)\b.*)')  # a sentence for reports, or an import
_SENTENCE = re.compile(r'def test_\w+\([^)]*\).*:\n\s+"""([^"]*)"""')  # a test's docstring
Passage = tuple[str, str]
"""A place in the course, and the text there."""
Quizzes = Mapping[str, QuizSource]
"""The quizzes by the place of their source."""


def signs(text: str) -> str:
    """Return what is compared of a text: the same for other spaces, line ends, hidden signs and forms of letters."""
    return _IGNORED.sub("", unicodedata.normalize("NFKC", text))


def forms(text: str) -> set[str]:
    """Return a text as it is, and with the escapes of JSON, YAML, Python, HTML and addresses, and base64, decoded."""
    once = _ESCAPE.sub(_decoded, _NEXT.sub("\n", text))
    encoded = {_of_base64(found[0]) for found in _BASE64.finditer(once)}
    text, once = (_ONLY_BASE64.sub("", one) for one in (text, once))
    return {text, unquote(text), html.unescape(text), once, _ESCAPE.sub(_decoded, once), *encoded}


def lines_of(text: str) -> list[tuple[int, str]]:
    """Return the number and the text of each line that is long enough to be a secret."""
    return [(number, line) for number, line in enumerate(text.splitlines(), start=1) if is_long(line)]


def is_long(text: str) -> bool:
    """Return whether a text is long enough to be a secret, and is more than a name or a ruler."""
    return len(text) >= SHORTEST and len(re.findall(r"\w+", text)) > 1 and len(signs(text)) >= SHORTEST


class Finder:
    """Finds any of many texts, in a time that does not depend on how many there are."""

    def __init__(self, wanted: Iterable[str]) -> None:
        self._by_start: dict[str, list[str]] = {}
        for one in wanted:
            self._by_start.setdefault(one[:SHORTEST], []).append(one)

    def find(self, lines: Sequence[str]) -> Iterator[tuple[int, str]]:
        """Yield the line, counted from 1, and the signs of each wanted text in the signs of lines."""
        joined, ends = "".join(lines), list(accumulate(map(len, lines)))
        starts, every = self._by_start, range(len(joined) - SHORTEST + 1)
        for place in [one for one in every if joined[one : one + SHORTEST] in starts]:
            for one in starts[joined[place : place + SHORTEST]]:
                if joined.startswith(one, place):
                    yield bisect(ends, place) + 1, one

    def known(self, texts: Iterable[str]) -> set[str]:
        """Return the wanted texts that are in any of these texts."""
        return {one for text in texts for _, one in self.find([signs(text)])}


def _decoded(escape: re.Match[str]) -> str:
    code, character = escape[1] or escape[2], escape[3]
    return chr(int(code, 16)) if code else _CONTROL.get(character, character)


def _of_base64(text: str) -> str:
    """Return the text that base64 holds, unpacked if it is compressed; "" if it holds none."""
    letters = re.sub(r"[\s=]", "", text).replace("-", "+").replace("_", "/")
    try:
        content = base64.b64decode(letters + "=" * (-len(letters) % 4))
    except binascii.Error:
        return ""
    with contextlib.suppress(zlib.error):
        content = zlib.decompressobj(wbits=47).decompress(content, MOST_UNPACKED)  # zlib's form or gzip's
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError:
        return b"\n".join(_READABLE.findall(content)).decode("ascii")


class Secrets:
    """The secrets of a course. Raises CourseError if a quiz cannot be read.

    Attributes:
        solutions: The signs of each solution, its lines, and each text with a quiz's answer, with their places.
    """

    def __init__(self, course: Course) -> None:
        loaded = load_quizzes(course.solutions, course.quizzes)
        self._quizzes = {f"solutions/{unit}{QUIZ_SUFFIX}": quiz for unit, quiz in loaded.items()}
        hidden = list(_hidden_lines(course))
        solutions = _signs_of((*_solutions(course), *_texts_of_answers(self._quizzes)))
        others = _signs_of((*hidden, *_lines_of_quizzes(course, self._quizzes)))
        finder = Finder(solutions | others)
        public = finder.known(_public_texts(course, self._quizzes))
        # Visible tests share lines with hidden ones, but must have none of a solution.
        visible = (content.decode() for name, content in received(course).items() if name.endswith((".py", ".json")))
        shared = public | finder.known(form for text in visible for form in forms(text))
        self.solutions = {text: place for text, place in solutions.items() if text not in public}
        self._texts = self.solutions | {text: place for text, place in others.items() if text not in shared}
        self._finder = Finder(self._texts)
        paths = (path for unit in course.units for path in course.hidden_tests(unit) if path.is_file())
        suites = (path.read_text(encoding="utf-8") for path in paths)
        # What visible tests say may be longer and begin in the same way.
        found = (line for text in suites for one in _SENTENCE.findall(text) for line in one.splitlines())
        self._sentences = {signs(_inner(line)) for line in found}
        of_solutions = ((place, line) for place, line, is_solution in _source_lines(course) if is_solution)
        self._in_a_row = {signs(line): place for place, line in (*hidden, *of_solutions)}
        self._answers: dict[str, list[tuple[str, list[str]]]] = {}
        for origin, quiz in self._quizzes.items():
            for name, item in quiz.items.items():
                self._answers.setdefault(name, []).extend((origin, answer) for answer in _answers(item))

    def find(self, text: str) -> Iterator[tuple[int, str]]:
        """Yield the line of each secret in a text, and its place in the course."""
        lines = text.splitlines()
        bare = [signs(line) for line in lines]
        for number, secret in self._finder.find(bare):
            pieces = [lines[number - 1], *_BESIDE.split(lines[number - 1])]
            is_clear = len(secret) >= SHORTEST_PART and secret not in self._sentences
            if is_clear or secret in (signs(_inner(piece)) for piece in pieces):
                yield number, self._texts[secret]
        run = 0
        for number, line in enumerate(bare, start=1):
            if len(line) >= SHORTEST:
                run = run + 1 if line in self._in_a_row else 0
                if run == COPIED:
                    yield number, self._in_a_row[line]
        yield from self._keys(text)

    def _keys(self, text: str) -> Iterator[tuple[int, str]]:
        """Yield the quizzes of which a text has several answers, with the first line that has one."""
        found: dict[str, dict[str, int]] = {}
        for number, origin, name in (*self._named(text), *self._filled_in(text)):
            found.setdefault(origin, {}).setdefault(name, number)
        yield from ((min(one.values()), origin) for origin, one in found.items() if len(one) >= KNOWN_ANSWERS)

    def _named(self, text: str) -> Iterator[tuple[int, str, str]]:
        """Yield each right answer after the name of its item: the line, the quiz and the item."""
        text = _ASKED.sub(lambda asked: "\n" * asked[0].count("\n"), text.casefold())
        if len(self._answers.keys() & set(re.findall(r"\w+", text))) < KNOWN_ANSWERS:
            return
        lines = enumerate(text.splitlines(), start=1)
        words = [(number, word) for number, line in lines for word in re.findall(r"\w+", line)]
        for place, (number, word) in enumerate(words):
            following = range(place + 1, place + BETWEEN + 2)
            for (origin, answer), start in itertools.product(self._answers.get(word, ()), following):
                if [one for _, one in words[start : start + len(answer)]] == answer:
                    yield number, origin, word

    def _filled_in(self, text: str) -> Iterator[tuple[int, str, str]]:
        """Yield each right answer of a sheet in the same way."""
        for origin, quiz in self._quizzes.items():
            sheet = read_sheet(text, quiz.questions) if quiz.title in text else Sheet()
            for name, answer in sheet.answers.items():
                if mark(quiz.items[name], answer, sheet.variant, 1).points == quiz.items[name].points:
                    yield 1, origin, name


def unit_lines(path: Path) -> Iterator[tuple[str, bool]]:
    """Yield the lines of a unit's source, each with whether it belongs to a solution."""
    is_solution = False
    for line in path.read_text(encoding="utf-8").splitlines():
        is_solution = (is_solution or BEGIN_SOLUTION in line) and END_SOLUTION not in line
        yield line, is_solution and BEGIN_SOLUTION not in line


def _inner(text: str) -> str:
    """Return a text without what may be around code and sentences, such as quotes and commas, if it stays long."""
    inner = re.sub(r"^\W+|\W+$", "", text)
    return inner if is_long(inner) else text


def _signs_of(passages: Iterable[Passage]) -> dict[str, str]:
    """Return the signs of the passages that are long enough, with their places."""
    parts = ((place, part) for place, text in passages for part in _PARAMETER.split(text))
    return {signs(_inner(part)): place for place, part in parts if is_long(part)}


def _hidden_lines(course: Course) -> Iterator[Passage]:
    """Yield the lines of the hidden tests, and of the code that they use, but no imports and sentences for reports."""
    for path in sorted(course.suites.rglob("*.py")):
        place, text = shown(path), path.read_text(encoding="utf-8")
        lines = lines_of(text)
        yield from ((f"{place}:{number}", line) for number, line in lines if not _NO_SECRET.fullmatch(line))


def _source_lines(course: Course) -> Iterator[tuple[str, str, bool]]:
    """Yield the place of each line of the units' sources, the line, and whether it belongs to a solution."""
    for path in sorted(course.solutions.glob("*.py")):
        for number, (line, is_solution) in enumerate(unit_lines(path), start=1):
            yield f"solutions/{path.name}:{number}", line, is_solution


def _solutions(course: Course) -> Iterator[Passage]:
    """Yield each solution, and its lines."""
    for is_solution, group in itertools.groupby(_source_lines(course), key=lambda line: line[2]):
        if is_solution:
            lines = [(place, line) for place, line, _ in group]
            yield lines[0][0], "\n".join(line for _, line in lines)
            yield from lines


def _texts_of_answers(quizzes: Quizzes) -> Iterator[Passage]:
    """Yield each text with a quiz's answer, and its lines."""
    for place, quiz in quizzes.items():
        for item in quiz.items.values():
            for _, sentence in item.texts_after_due():
                yield from ((place, text) for text in (sentence, *sentence.splitlines()))


def _lines_of_quizzes(course: Course, quizzes: Quizzes) -> Iterator[Passage]:
    """Yield the lines of the quizzes' sources, and the fix of each bug, alone and between its neighbours."""
    for place, quiz in quizzes.items():
        text = (course.root / place).read_text(encoding="utf-8")
        yield from ((f"{place}:{number}", line) for number, line in lines_of(text))
        for item in quiz.items.values():
            if isinstance(item, BugItem):
                number = item.wrong_line()
                yield place, item.lines[number].fix or ""
                yield place, "\n".join(item.program(fixed=True).split("\n")[max(0, number - 2) : number + 1])


def _answers(item: Item) -> Iterator[list[str]]:
    """Yield the right answers of an item as words, one for each variant and each way to write it."""
    if not isinstance(item, ChoiceItem | BugItem | OrderItem):
        yield from (re.findall(r"\w+", rendered(row["answer"]).casefold()) for row in item.variants)
        return
    letters = right_letters(item)
    yield letters
    yield ["".join(letters)]
    if isinstance(item, ChoiceItem) and item.kind == "true_false":
        yield [item.options()[letters[0]].text.casefold()]


def _public_texts(course: Course, quizzes: Quizzes) -> Iterator[str]:
    """Yield what surrounds the solutions, also hints; the student's part of the grader; and the quizzes' questions."""
    yield "\n".join(line for _, line, is_solution in _source_lines(course) if not is_solution)
    for path in sorted(PACKAGE.rglob("*.py")):
        if not is_the_instructors(path.relative_to(PACKAGE).as_posix()):
            yield path.read_text(encoding="utf-8")
    for quiz in quizzes.values():
        for question in quiz.questions.items.values():
            yield from (question.question, *question.choices, *question.steps, question.code)
