"""A class in numbers: how difficult exercises and quiz items were, and which mistakes and answers they met.

A report holds no answer to a quiz, only the feedback on it. The quiz's source says which answer a sentence belongs to;
a sentence that it does not have, because the quiz was changed since, stands for its answer itself.
"""

from __future__ import annotations

import math
import statistics
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from grader.classes.gradebook import Gradebook, StudentRow, is_begun
from grader.quizzes.items import BugItem, ChoiceItem, Columns, Item, NumberItem, ShapeItem
from grader.quizzes.questions import fill
from grader.quizzes.quiz_source import QuizSource
from grader.reports.reading import ExerciseEntry, entries_of
from grader.reports.report_model import QuizItem, sanitize

Z = statistics.NormalDist().inv_cdf(0.975)
RIGHT, OTHER = "the right answer", "another wrong answer"


class ShareEstimate(NamedTuple):
    """A number, and the 95 % interval around it."""

    value: float
    low: float
    high: float


class Quartiles(NamedTuple):
    """The least number, the three that divide the numbers into quarters, and the greatest."""

    least: float
    first: float
    median: float
    third: float
    greatest: float


def quartiles(numbers: Sequence[float]) -> Quartiles | None:
    """Return the quartiles, interpolated between two numbers as in spreadsheets; None for no numbers."""
    if not numbers:
        return None
    if len(numbers) == 1:
        return Quartiles(*[float(numbers[0])] * 5)
    first, median, third = statistics.quantiles(numbers, n=4, method="inclusive")
    return Quartiles(min(numbers), first, median, third, max(numbers))


def histogram(percents: Sequence[float], bins: int = 10) -> list[int]:
    """Return how many percents are in each of several bins of the same width; 100 is in the last one."""
    counts = [0] * bins
    for percent in percents:
        counts[min(int(percent * bins // 100), bins - 1)] += 1
    return counts


def mean_share(shares: Sequence[float]) -> ShareEstimate:
    """Return the mean of shares, each from 0 to 1, with Wilson's interval.

    Wilson's interval [1, 2] is for a proportion: the mean of zeros and ones. Here a share may also lie between, and
    then it varies less: a variable from 0 to 1 has at most the variance m (1 - m), where m is its mean [3], and zeros
    and ones have exactly this. So the interval is wide enough. A bootstrap would be a single point where everybody has
    full marks, although the next student may not.

    [1] E. B. Wilson, Probable inference, the law of succession, and statistical inference. JASA 22 (1927), 209-212.
    [2] L. D. Brown, T. T. Cai, A. DasGupta, Interval estimation for a binomial proportion. Statistical Science 16
        (2001), 101-133.
    [3] R. Bhatia, C. Davis, A better bound on the variance. American Mathematical Monthly 107 (2000), 353-357.
    """
    n = len(shares)
    mean = math.fsum(shares) / n
    centre = (mean + Z**2 / (2 * n)) / (1 + Z**2 / n)
    half = Z / (1 + Z**2 / n) * math.sqrt(mean * (1 - mean) / n + Z**2 / (4 * n**2))
    return ShareEstimate(mean, max(0.0, min(mean, centre - half)), min(1.0, max(mean, centre + half)))


@dataclass(frozen=True)
class ExerciseRow:
    """One exercise in numbers.

    Attributes:
        students: How many have begun its unit.
        share: The share of its points that they earned.
        full: How many have full marks.
        unwritten: How many have not written it.
        waiting: How many have it waiting for another exercise.
    """

    unit: str
    name: str
    students: int
    share: ShareEstimate
    full: int
    unwritten: int
    waiting: int


@dataclass
class MisconceptionRow:
    """A misconception in one exercise, the submissions with it, and all students who handed these in."""

    unit: str
    exercise: str
    name: str
    sentence: str
    rows: list[StudentRow] = field(default_factory=list)
    students: list[StudentRow] = field(default_factory=list)


def exercise_rows(gradebook: Gradebook) -> Iterator[ExerciseRow]:
    """Yield each exercise that somebody worked on, in the order of the course."""
    for unit in gradebook.possible:
        by_name: dict[str, list[ExerciseEntry]] = {}
        for row in gradebook.hand_ins(unit):
            report = row.grades[unit].report
            # Where nothing is begun, it says nothing about the exercises.
            if report and report.units[unit].path is not None and is_begun(report, unit):
                for entry in entries_of(report, unit):
                    by_name.setdefault(entry.name, []).append(entry)
        for name, entries in by_name.items():
            # The share of passed tests is that of the points, also where these are worth nothing.
            tests = [one.exercise.tests for one in entries]
            shares = [sum(test.outcome == "passed" for test in own) / len(own) for own in tests]
            states = [one.state for one in entries]
            yield ExerciseRow(
                unit,
                name,
                len(entries),
                mean_share(shares),
                shares.count(1),
                states.count("not written yet"),
                states.count("waiting"),
            )


def misconception_rows(gradebook: Gradebook) -> list[MisconceptionRow]:
    """Return each misconception in each exercise, the most frequent first."""
    found: dict[tuple[str, str, str], MisconceptionRow] = {}
    for unit in gradebook.possible:
        counted = {row.entry.student for row in gradebook.hand_ins(unit)}
        for row in gradebook.rows:
            graded = row.grades[unit]
            exercises = graded.unit.exercises if graded.state == "graded" and graded.unit else {}
            for exercise, result in exercises.items():
                for one in result.misconceptions:
                    empty = MisconceptionRow(unit, exercise, one.name, one.sentence)
                    same = found.setdefault((unit, exercise, one.name), empty)
                    same.students.append(row)
                    same.rows += [row] if row.entry.student in counted else []
    # Those with the same number stay in the order of the course.
    return sorted(found.values(), key=lambda one: -len(one.rows))


class ItemAnswer(NamedTuple):
    """An answer, whether it is right, and how many gave it. It is Markdown of the course."""

    text: str
    is_right: bool
    students: int


@dataclass(frozen=True)
class ItemRow:
    """One item in numbers.

    Attributes:
        students: How many have answered any item of the quiz.
        blank: How many of them have left this one out.
        unreadable: How many have an answer that cannot be read.
        right: The share of those with all points.
        share: The share of the points.
        answers: Each answer of the source, and others that were given.
    """

    unit: str
    name: str
    students: int
    blank: int
    unreadable: int
    right: ShareEstimate
    share: ShareEstimate
    answers: Sequence[ItemAnswer]


def item_rows(gradebook: Gradebook, quizzes: Mapping[str, QuizSource]) -> Iterator[ItemRow]:
    """Yield each item of the quizzes that count and are worth points, in the order of the course."""
    for unit in gradebook.possible:
        by_name: dict[str, list[QuizItem]] = {}
        for row in gradebook.hand_ins(unit):
            graded = row.grades[unit].unit
            quiz = graded.quiz if graded else None
            if quiz and quiz.points is not None and any(one.answered or one.problem for one in quiz.items.values()):
                for name, item in quiz.items.items():
                    if item.possible:
                        by_name.setdefault(name, []).append(item)
        source = quizzes.get(unit)
        for name, given in by_name.items():
            yield ItemRow(
                unit,
                name,
                len(given),
                sum(not one.answered and not one.problem for one in given),
                sum(bool(one.problem) for one in given),
                mean_share([float(_is_right(one)) for one in given]),
                mean_share([(one.points or 0) / one.possible for one in given]),
                list(_answers([one for one in given if one.answered], source.items.get(name) if source else None)),
            )


def _is_right(item: QuizItem) -> bool:
    return item.points == item.possible


def _answers(given: Sequence[QuizItem], source: Item | None) -> Iterator[ItemAnswer]:
    """Yield the answers: those of the source in its order, then others, the most frequent first."""
    options = list(_options(source)) if source else []
    times = Counter(sentence for *_, sentences in options for sentence in sentences)
    # Answers that share a sentence cannot be told apart.
    options = [one for one in options if all(times[sentence] == 1 for sentence in one[2])]
    known = {sentence: text for text, _, sentences in options for sentence in sentences}
    # The feedback on a right choice is no mistake, also where other choices were wrong.
    praise = {sentence for one in given if _is_right(one) for sentence in one.sentences} - known.keys()
    counts = Counter(
        text
        for one in given
        for text in {known.get(sentence, sentence) for sentence in one.sentences if sentence not in praise}
    )
    for text, is_right, _ in options:
        yield ItemAnswer(text, is_right, counts.pop(text, 0))
    if not any(is_right for _, is_right, _ in options):
        yield ItemAnswer(RIGHT, True, sum(_is_right(one) for one in given))
    for text, count in sorted(counts.items(), key=lambda one: (-one[1], one[0])):
        yield ItemAnswer(text, False, count)
    if others := sum(not _is_right(one) and not one.sentences for one in given):
        yield ItemAnswer(OTHER, False, others)


def _options(source: Item) -> Iterator[tuple[str, bool, set[str]]]:
    """Yield each answer that has a sentence, whether it is right, and the sentence in all variants."""
    texts = source.asked().options(0)
    match source:
        case ChoiceItem():
            for letter, choice in source.options().items():
                sentences = _filled(choice.sentence, source.variants or [{}])
                yield f"{letter}) {' '.join(texts[letter].split())}", choice.right, sentences
        case BugItem():
            for letter, line in source.options().items():
                yield texts[letter], line.right, _filled(line.sentence, [{}])
        case NumberItem() | ShapeItem():
            for column, sentence in source.slips.items():
                text = f"{column.replace('_', ' ')}: {fill(sentence, source.row(0)).strip()}"
                yield text, False, _filled(sentence, source.variants)


def _filled(sentence: str, rows: list[Columns]) -> set[str]:
    """Return a sentence of feedback as reports have it, in all variants."""
    return {sanitize(fill(sentence, row).strip()) for row in rows}
