"""What a class answered in the quizzes: how many were right, and which answers they gave.

A report holds no answer, only the feedback on it. The quiz's source says which answer a sentence belongs to; a sentence
that it does not have, because the quiz was changed since, stands for its answer itself.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from grader.classes.summary.statistics import Estimate, mean_share
from grader.quizzes.items import BugItem, ChoiceItem, NumberItem, ShapeItem
from grader.quizzes.questions import fill
from grader.reports.model import sanitize

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from grader.classes.gradebook import Gradebook
    from grader.quizzes.items import Columns, Item
    from grader.quizzes.quiz_source import Quiz
    from grader.reports.model import QuizItem

RIGHT, OTHER = "the right answer", "another wrong answer"


class Answer(NamedTuple):
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
    right: Estimate
    share: Estimate
    answers: Sequence[Answer]


class _Option(NamedTuple):
    """An answer of the source, whether it is right, and the feedback on it."""

    text: str
    is_right: bool
    sentences: set[str]


def item_rows(gradebook: Gradebook, quizzes: Mapping[str, Quiz]) -> list[ItemRow]:
    """Return each item of the quizzes that count and are worth points, in the order of the course."""
    rows = []
    for unit in gradebook.possible:
        by_name: dict[str, list[QuizItem]] = {}
        for row in gradebook.hand_ins(unit):
            graded = row.grades[unit]
            quiz = graded.unit.quiz if graded.unit and graded.state == "graded" else None
            if quiz and quiz.points is not None and any(one.answered or one.problem for one in quiz.items.values()):
                for name, item in quiz.items.items():
                    if item.possible:
                        by_name.setdefault(name, []).append(item)
        source = quizzes.get(unit)
        for name, given in by_name.items():
            answers = _answers([one for one in given if one.answered], source.items.get(name) if source else None)
            rows.append(
                ItemRow(
                    unit,
                    name,
                    len(given),
                    sum(not one.answered and not one.problem for one in given),
                    sum(bool(one.problem) for one in given),
                    mean_share([float(_is_right(one)) for one in given]),
                    mean_share([(one.points or 0) / one.possible for one in given]),
                    list(answers),
                )
            )
    return rows


def _is_right(item: QuizItem) -> bool:
    return item.points == item.possible


def _answers(given: Sequence[QuizItem], source: Item | None) -> Iterator[Answer]:
    """Yield the answers: those of the source in its order, then others, the most frequent first."""
    options = list(_options(source))
    known = {sentence: option.text for option in options for sentence in option.sentences}
    # The feedback on a right choice is no mistake, also where other choices were wrong.
    praise = {sentence for one in given if _is_right(one) for sentence in one.sentences} - known.keys()
    counts = Counter(
        text
        for one in given
        for text in {known.get(sentence, sentence) for sentence in one.sentences if sentence not in praise}
    )
    for option in options:
        yield Answer(option.text, option.is_right, counts.pop(option.text, 0))
    if not any(option.is_right for option in options):
        yield Answer(RIGHT, True, sum(_is_right(one) for one in given))
    for text, count in sorted(counts.items(), key=lambda one: (-one[1], one[0])):
        yield Answer(text, False, count)
    if others := sum(not _is_right(one) and not one.sentences for one in given):
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
