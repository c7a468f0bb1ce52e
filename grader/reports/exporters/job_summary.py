"""What a job on GitHub shows: a summary in Markdown with the next thing to look at first, and annotations of lines."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from grader.quizzes.questions import as_text
from grader.reports import reading
from grader.reports.report_model import Message, QuizItem, Report, Unit
from grader.text import MOST_OF_A_LINE, log_line, plain

MOST_OF_AN_ANNOTATION = 1000
"""The most characters of one line of an annotation."""

# All characters that Markdown, HTML or GitHub's formulas may interpret, in any position. An underscore within a word is
# safe, and so is a colon in a time of day.
_MARKUP = re.compile(
    r"[\\`*\[\]<>&|~^$]|(?<![^\W_])_|_(?![^\W_])|(?<!\d):(?=\S)|:(?!\d\d(?!\w))(?=\S)|^[-+=#]|^\d+(?=[.)])"
)
# GitHub turns these into links even if they are written as entities: people, issues and addresses.
_LINKS = re.compile(r"@(?=\w)|#(?=\w)|(?<![^\W_])(?:GH-(?=\d)|www(?=\.))|:(?=//)", re.IGNORECASE)
_BREAK = "\u200b"
_CODE = re.compile(r"(?<!`)`([^`]+)`(?!`)")

MOST_BYTES = 200_000
"""GitHub accepts a mebibyte per step, but nobody reads that much."""
MOST_ATTEMPTS = 20
MOST_OF_AN_EXPLANATION = 2000
MARKS: dict[reading.State, str] = {
    "done": "✔",
    "in progress": "◐",
    "waiting": "◌",
    "not written yet": "○",
    "no answer found": "✘",
    "not handed in": "–",
    "exempt": "–",
}
_NEXT: tuple[reading.State, ...] = ("in progress", "no answer found", "not written yet", "waiting", "not handed in")
MOST_ANNOTATIONS = 10
"""GitHub shows at most this many errors of one step."""


def command(name: str, message: str, **properties: str | int | None) -> str:
    """Return one workflow command, such as `::error file=a.py,line=3::message`.

    Line ends in the message stay. Properties that are None or empty are left out.
    """
    given = {
        key: log_line(str(value)).replace("%", "%25").replace(":", "%3A").replace(",", "%2C")
        for key, value in properties.items()
        if value not in (None, "")
    }
    head = f"{name} {','.join(f'{key}={value}' for key, value in given.items())}".rstrip()
    lines = (log_line(line, MOST_OF_AN_ANNOTATION).replace("%", "%25") for line in message.split("\n"))
    return f"::{head}::" + "%0A".join(lines)


def markdown(text: str, most: int = MOST_OF_A_LINE) -> str:
    """Return one line of Markdown that shows this text and nothing else, in a paragraph, a list or a table."""
    return _escaped(plain(text, most))


def sentence(text: str, most: int = MOST_OF_A_LINE) -> str:
    """Return a sentence of the course as one line of Markdown; `code` in it stays code."""
    pieces = _CODE.split(plain(text, most))
    return "".join(code(piece) if number % 2 else _escaped(piece) for number, piece in enumerate(pieces))


def code(text: str, most: int = MOST_OF_A_LINE) -> str:
    """Return text as one line of code in Markdown."""
    line = plain(text, most)
    fence = "`" * (1 + max(map(len, re.findall("`+", line)), default=0))
    gap = " " if line.startswith("`") or line.endswith("`") or not line else ""
    return f"{fence}{gap}{line}{gap}{fence}"


def _escaped(line: str) -> str:
    broken = _LINKS.sub(lambda found: found[0] + _BREAK, line)
    entities = _MARKUP.sub(lambda found: "".join(f"&#{ord(one)};" for one in found[0]), broken)
    return entities.replace(_BREAK, "&#8203;")


def summary(report: Report, most: int = MOST_BYTES) -> str:
    """Return the points and their meaning, what to look at next, a table of the units, and folded details.

    If it has more than `most` bytes, the details of the last units are left out, and a sentence says so.
    """
    blocks = [*_opening(report), *_details(report)]
    shortened = "The rest is left out here because it is too long. The report has all of it."
    size = 0
    for number, block in enumerate(blocks):
        size += len(block.encode()) + 2
        if size > most:
            return "\n\n".join([*blocks[:number], shortened]) + "\n"
    return "\n\n".join(blocks) + "\n"


def opening(report: Report) -> str:
    """Return the summary without details: the body of a release in Classroom 50."""
    return "\n\n".join(_opening(report)) + "\n"


def _opening(report: Report) -> Iterator[str]:
    is_full = report.points == report.possible and report.possible > 0
    found = list(reading.entries(report))
    full = "Full marks: nothing is left to fix. " if all(one.state == "done" for one in found) else "Full marks. "
    yield f"## {'✔ ' if is_full else ''}{report.points} of {reading.points(report.possible)}"
    yield f"{full if is_full else ''}{reading.meaning(report)}"
    yield from (markdown(comment, MOST_OF_AN_EXPLANATION) for comment in reading.comments(report.comments))
    if entry := next_entry(found):
        yield from _pointer(entry)
        yield from _not_run(report, entry.unit_name)
    yield "### Unit by unit"
    yield _table(report)


def next_entry(found: list[reading.ExerciseEntry]) -> reading.ExerciseEntry | None:
    """Return what to do next: fix an exercise in progress, or else an unreadable file, or else write the next exercise.

    In the first such unit, an exercise with a named misconception goes first. Exercises without points go last. None if
    there is no exercise.
    """
    found = [entry for entry in found if not entry.unit.exempt]
    found = [entry for entry in found if entry.exercise.possible and entry.state != "done"] or found
    for state in _NEXT:
        candidates = [entry for entry in found if entry.state == state]
        if candidates:
            of_unit = [entry for entry in candidates if entry.unit_name == candidates[0].unit_name]
            return next((entry for entry in of_unit if entry.exercise.misconceptions), of_unit[0])
    return None


def _pointer(entry: reading.ExerciseEntry) -> Iterator[str]:
    exercise, state = entry.exercise, entry.state
    yield "### Look at this next" if state in ("in progress", "no answer found") else "### Go on here"
    if state in ("no answer found", "not handed in"):
        yield " ".join(markdown(remark) for remark in entry.unit.remarks) or f"{code(entry.unit_name)} is missing."
        return
    path, line = entry.place
    where = (f" in {code(path)}" if path else "") + (f", line {line}" if line else "")
    yield f"**{code(entry.name)}**{where}: {exercise.points} of {reading.points(exercise.possible)}"
    if state == "in progress":
        found = markdown(entry.found or "")
        missed = f"{found} {sentence(entry.expected or '')}".strip()
        clue = f"\n>\n> What gave it away: {missed}" if exercise.misconceptions else ""
        yield f"> {sentence(entry.advice) if entry.advice else missed}{clue}"


def _table(report: Report) -> str:
    rows = [["State", "Unit", "Points", "Exercises", "Quiz"]]
    for name, unit in report.units.items():
        own = list(reading.entries_of(report, name))
        done = sum(entry.state == "done" for entry in own)
        quiz = _quiz_points(unit) if unit.quiz else "–"
        rows.append(
            [_marked(state_of(own)), code(name), f"{unit.points} of {unit.possible}", f"{done} of {len(own)}", quiz]
        )
    return _rows(rows)


def _marked(state: reading.State) -> str:
    return f"{MARKS[state]} {state}"


def state_of(own: list[reading.ExerciseEntry]) -> reading.State:
    """Return the state of a unit with these exercises."""
    if own and own[0].unit.exempt:
        return "exempt"
    states = {entry.state for entry in own}
    if len(states) == 1:
        return states.pop()
    if states == {"not written yet", "waiting"}:
        return "not written yet"
    return "in progress" if states else "done"


def awaited(report: Report) -> list[str]:
    """Return the units that are not handed in and not exempt."""
    return [name for name in reading.not_handed_in(report) if not report.units[name].exempt]


def _quiz_points(unit: Unit) -> str:
    assert unit.quiz
    earned = f", {unit.quiz.points} of {reading.points(unit.quiz.possible)}" if unit.quiz.points is not None else ""
    return markdown(unit.quiz.summary) + earned


def _details(report: Report) -> Iterator[str]:
    yield "### Exercise by exercise"
    lacking = reading.not_handed_in(report)
    for name, unit in report.units.items():
        if name in lacking and not (unit.changes or unit.exempt):
            continue
        own = list(reading.entries_of(report, name))
        title = (
            f"{MARKS[state_of(own)]} <code>{markdown(name)}</code>: {unit.points} of {reading.points(unit.possible)}"
        )
        yield "\n\n".join([f"<details><summary>{title}</summary>", *_unit(report, name, unit, own), "</details>"])
    if names := awaited(report):
        yield f"Not handed in yet: {', '.join(map(code, names))}."
    if texts := reading.anomalies(report):
        more = [f"- and {len(texts) - MOST_ATTEMPTS} more"] if len(texts) > MOST_ATTEMPTS else []
        items = "\n".join([*(f"- {code(text)}" for text in texts[:MOST_ATTEMPTS]), *more])
        head = "<details><summary>What your code was seen to try beyond the exercises</summary>"
        yield f"{head}\n\n{items}\n\n</details>"


def _unit(report: Report, name: str, unit: Unit, own: list[reading.ExerciseEntry]) -> Iterator[str]:
    """Yield the exercises with their points, then the remarks."""
    decided = reading.change_sentences(unit, report.timezone)
    is_asked = not unit.exempt or reading.is_handed_in(name, unit)
    remarks = [f"- {markdown(text, MOST_OF_AN_EXPLANATION)}" for text in decided]
    remarks += [f"- {markdown(text)}" for text in unit.remarks if is_asked]
    remarks += _not_run(report, name)
    if remarks:
        yield "\n".join(remarks)
    if unit.path is not None and own:
        yield _exercises(own)
        for entry in own:
            if lines := _exercise(entry):
                yield f"**{code(entry.name)}**\n\n" + "\n".join(lines)
    if unit.quiz and is_asked:
        lines = [f"- {markdown(problem)}" for problem in reading.quiz_problems(unit.quiz)]
        lines += [line for name, item in unit.quiz.items.items() for line in _answer(name, item)]
        yield "\n".join([f"**Quiz**: {_quiz_points(unit)}", *(["", *lines] if lines else [])])


def _not_run(report: Report, name: str) -> Iterator[str]:
    """Yield the lines outside a unit's exercises that could not be run: exercises may not be found because of them."""
    for message in reading.not_run(report, name):
        place = code(reading.place_of(message, report.units[name]).words())
        yield f"- A line could not be run, {place}: {markdown(reading.sentence_of(message))}"


def _answer(name: str, item: QuizItem) -> Iterator[str]:
    """Yield the feedback on an answer and, if the report has them, the right answer and its explanation."""
    yield from (f"- {code(name)}: {sentence(text)}" for text in item.sentences)
    if item.answer is not None:
        answer = "; ".join(item.answer.splitlines())
        yield f"- {code(name)}, the right answer: {sentence(as_text(answer), MOST_OF_AN_EXPLANATION)}"
    if item.explanation is not None:
        yield f"  - {sentence(as_text(item.explanation), MOST_OF_AN_EXPLANATION)}"


def _exercises(own: list[reading.ExerciseEntry]) -> str:
    """Return a table, with line numbers if they are known: in notebooks they are not."""
    has_lines = any(entry.place.line for entry in own)
    rows = [["State", "Exercise", "Points", *(["Where"] if has_lines else [])]]
    for entry in own:
        where = f"line {entry.place.line}" if entry.place.line else "–"
        earned = f"{entry.exercise.points} of {entry.exercise.possible}"
        rows.append([_marked(entry.state), code(entry.name), earned, *([where] if has_lines else [])])
    return _rows(rows)


def _exercise(entry: reading.ExerciseEntry) -> list[str]:
    written = reading.exercise_comments(entry.unit, entry.name)
    lines = [f"- {markdown(comment, MOST_OF_AN_EXPLANATION)}" for comment in written]
    for one in entry.feedback():
        text = sentence(one.text) if one.is_course_text else markdown(one.text or "What was expected:")
        # The table already shows the exercise's own line.
        where = f" ({code(one.place.words())})" if one.place != entry.place and one.place.words() else ""
        lines += [f"- {text}{where}", *(f"  - {markdown(line)}" for line in one.trace)]
        lines += [f"  - {sentence(expected)}" for expected in one.expected]
    return lines


def _rows(rows: list[list[str]]) -> str:
    lines = ["| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in rows]
    return "\n".join([lines[0], "|" + "---|" * len(rows[0]), *lines[1:]])


class _Error(NamedTuple):
    rank: int
    """The most useful errors have the lowest rank."""
    title: str
    place: reading.Place
    message: str


def annotation_commands(report: Report) -> list[str]:
    """Return workflow commands: a notice with the points, and an error for each exercise with mistakes.

    An exercise that is not written or not handed in yet is not an error. If there are more errors than GitHub shows, a
    last notice says so.
    """
    errors = sorted(_errors(report), key=lambda error: error.rank)
    total = f"{report.points} of {reading.points(report.possible)}. {reading.meaning(report)}"
    commands = [command("notice", total, title="Points")]
    for error in errors[:MOST_ANNOTATIONS]:
        path, line = error.place
        commands.append(command("error", error.message, file=path, line=line, title=error.title))
    if len(errors) > MOST_ANNOTATIONS:
        more = f"{len(errors) - MOST_ANNOTATIONS} more to look at: the job's summary has all of them."
        commands.append(command("notice", more, title="There is more"))
    return commands


def _errors(report: Report) -> list[_Error]:
    errors = []
    unread = [unit for name, unit in report.units.items() if unit.path is None and not reading.is_missing(name, unit)]
    if unread:
        # One about the folder is in each unit.
        remarks = dict.fromkeys(remark for unit in unread for remark in unit.remarks)
        errors.append(_Error(1, "What could not be graded", reading.Place(None, None), "\n".join(remarks)))
    for unit_name, unit in report.units.items():
        errors += [_of_line(message, unit) for message in reading.not_run(report, unit_name) if unit.path]
    errors += [_of_exercise(entry) for entry in reading.entries(report) if entry.state == "in progress"]
    return errors


def _of_exercise(entry: reading.ExerciseEntry) -> _Error:
    exercise = entry.exercise
    rank = 0 if exercise.misconceptions else 1 if entry.raised else 2
    title = f"{entry.name}: {exercise.points} of {reading.points(exercise.possible)}"
    # Annotations cannot point into a notebook, so the text says where.
    sources = [one for one in entry.raised if one.file] if (entry.unit.path or "").endswith(".ipynb") else []
    where = reading.Place(sources[0].file, sources[0].line).in_brackets() if sources else ""
    return _Error(rank, title, entry.place, entry.main_issue + where)


def _of_line(message: Message, unit: Unit) -> _Error:
    place = reading.own_line(message, unit)
    where = "" if place else reading.Place(message.file, message.line).in_brackets()
    text = reading.sentence_of(message) + where
    return _Error(1, "This line could not be run", place or reading.Place(unit.path, None), text)
