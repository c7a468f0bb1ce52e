"""What a class answered in the quizzes: how many were right, which answers they gave, and whether variants differ.

A report holds no answer, only the feedback on it. The quiz's source says which answer a sentence belongs to; a sentence
that it does not have, because the quiz was changed since, stands for its answer itself.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

from grader.classes.summary.statistics import Estimate, fisher_exact, holm, mean_share
from grader.quizzes.items import BugItem, ChoiceItem, NumberItem, ShapeItem, VariedItem
from grader.quizzes.questions import fill, rendered
from grader.reports.model import sanitize

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from grader.classes.gradebook import Gradebook
    from grader.quizzes.items import Columns, Item
    from grader.quizzes.quiz_source import Quiz
    from grader.reports.model import QuizItem

CHANCE = 0.05
"""Variants differ if chance alone explains their difference less often than this, in all quizzes together."""
RIGHT, OTHER = "the right answer", "another wrong answer"


class Answer(NamedTuple):
    """An answer, whether it is right, and how many gave it. It is Markdown of the course."""

    text: str
    is_right: bool
    students: int


class Variant(NamedTuple):
    """One variant of an item's numbers: what they are, and how many had it right."""

    text: str
    right: int
    students: int
    differs: bool = False


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
        variants: Those that somebody had, if there are several.
    """

    unit: str
    name: str
    students: int
    blank: int
    unreadable: int
    right: Estimate
    share: Estimate
    answers: Sequence[Answer]
    variants: Sequence[Variant]

    @property
    def differs(self) -> bool:
        """Whether a variant differs from the others by more than chance."""
        return any(variant.differs for variant in self.variants)


class _Option(NamedTuple):
    """An answer of the source, whether it is right, and the feedback on it."""

    text: str
    is_right: bool
    sentences: set[str]


class _Given(NamedTuple):
    """A student's item, and the variant of the quiz."""

    item: QuizItem
    variant: int

    @property
    def is_right(self) -> bool:
        return self.item.points == self.item.possible


def item_rows(gradebook: Gradebook, quizzes: Mapping[str, Quiz]) -> list[ItemRow]:
    """Return each item of the quizzes that count and are worth points, in the order of the course."""
    rows = []
    for unit in gradebook.possible:
        by_name: dict[str, list[_Given]] = {}
        for row in gradebook.hand_ins(unit):
            graded = row.grades[unit]
            quiz = graded.unit.quiz if graded.unit and graded.state == "graded" else None
            if quiz and quiz.points is not None and any(one.answered or one.problem for one in quiz.items.values()):
                for name, item in quiz.items.items():
                    if item.possible:
                        by_name.setdefault(name, []).append(_Given(item, quiz.variant))
        source = quizzes.get(unit)
        for name, given in by_name.items():
            rows.append(_item_row(unit, name, given, source.items.get(name) if source else None))
    return _compared(rows)


def _item_row(unit: str, name: str, given: list[_Given], source: Item | None) -> ItemRow:
    right = mean_share([float(one.is_right) for one in given])
    share = mean_share([(one.item.points or 0) / one.item.possible for one in given])
    assert right
    assert share
    return ItemRow(
        unit,
        name,
        len(given),
        sum(not one.item.answered and not one.item.problem for one in given),
        sum(bool(one.item.problem) for one in given),
        right,
        share,
        list(_answers([one for one in given if one.item.answered], source)),
        _variants(given, source),
    )


def _answers(given: list[_Given], source: Item | None) -> Iterator[Answer]:
    """Yield the answers: those of the source in its order, then others, the most frequent first."""
    options = list(_options(source))
    known = {sentence: option.text for option in options for sentence in option.sentences}
    # The feedback on a right choice is no mistake, also where other choices were wrong.
    praise = {sentence for one in given if one.is_right for sentence in one.item.sentences} - known.keys()
    counts = Counter(
        text
        for one in given
        for text in {known.get(sentence, sentence) for sentence in one.item.sentences if sentence not in praise}
    )
    for option in options:
        yield Answer(option.text, option.is_right, counts.pop(option.text, 0))
    if not any(option.is_right for option in options):
        yield Answer(RIGHT, True, sum(one.is_right for one in given))
    for text, count in sorted(counts.items(), key=lambda one: (-one[1], one[0])):
        yield Answer(text, False, count)
    if others := sum(not one.is_right and not one.item.sentences for one in given):
        yield Answer(OTHER, False, others)


def _options(source: Item | None) -> list[_Option]:
    """Return the answers of the source that have sentences of their own. Those that share one cannot be told apart."""
    options = list(_with_sentences(source)) if source else []
    times = Counter(sentence for option in options for sentence in option.sentences)
    return [option for option in options if all(times[sentence] == 1 for sentence in option.sentences)]


def _with_sentences(source: Item) -> Iterator[_Option]:
    """Yield each answer that has a sentence, with the sentence in all variants."""
    texts = source.asked().options(0)
    match source:
        case ChoiceItem():
            for letter, choice in source.options().items():
                sentences = _filled(choice.sentence, source.variants or [{}])
                yield _Option(f"{letter}) {' '.join(texts[letter].split())}", choice.right, sentences)
        case BugItem():
            for letter, number in source.options().items():
                yield _Option(texts[letter], source.lines[number].right, _filled(source.lines[number].sentence, [{}]))
        case NumberItem() | ShapeItem():
            for column, sentence in source.slips.items():
                text = f"{column.replace('_', ' ')}: {fill(sentence, source.row(0)).strip()}"
                yield _Option(text, False, _filled(sentence, source.variants))


def _filled(sentence: str, rows: list[Columns]) -> set[str]:
    """Return a sentence of feedback as reports have it, in all variants."""
    return {sanitize(fill(sentence, row).strip()) for row in rows}


def _variants(given: list[_Given], source: Item | None) -> list[Variant]:
    """Return the variants of the item's numbers that somebody had; none if all had the same."""
    parameters = source.parameters() if isinstance(source, VariedItem) else []
    if not parameters:
        return []
    students, right = Counter[int](), Counter[int]()
    for one in given:
        row = one.variant % len(parameters)
        students[row] += 1
        right[row] += one.is_right
    texts = {row: ", ".join(f"{name} {rendered(value)}" for name, value in parameters[row].items()) for row in students}
    return [Variant(texts[row], right[row], students[row]) for row in sorted(students)] if len(students) > 1 else []


def _compared(rows: list[ItemRow]) -> list[ItemRow]:
    """Mark the variants that differ from all others of their item by more than chance.

    Each has a test of its own, so many are made. Holm's method keeps the risk of one false mark in all of them small.
    """
    tested = [(row, at) for row in rows for at in range(len(row.variants))]
    adjusted = iter(holm([_by_chance(row, at) for row, at in tested]))
    marked = []
    for row in rows:
        variants = [variant._replace(differs=next(adjusted) < CHANCE) for variant in row.variants]
        marked.append(replace(row, variants=variants))
    return marked


def _by_chance(row: ItemRow, at: int) -> float:
    right, students = (
        sum(numbers) for numbers in zip(*((one.right, one.students) for one in row.variants), strict=True)
    )
    variant = row.variants[at]
    return fisher_exact(variant.right, variant.students, right - variant.right, students - variant.students)
