"""The feedback in nbgrader on an exercise, a quiz item and the whole notebook, made from the report."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markdown_it import MarkdownIt
from markupsafe import Markup, escape

from grader.quizzes.sheet import heading
from grader.reports.reading import Place, issues

if TYPE_CHECKING:
    import datetime
    from collections.abc import Iterable, Iterator

    from grader.reports.model import Message, QuizItem, Report

TEMPLATE = "feedback.html.j2"

_OUTPUTS = {
    "printed": "Your code printed",
    "raised": "Your code raised",
    "not run": "What could not be run",
    "attempted": "What your code was seen to try",
}


@dataclass(frozen=True)
class Part:
    """One part of the feedback. `look` decides how it is shown; `is_markdown` is for texts of quizzes."""

    look: Literal["mistake", "missed", "remark", "output"]
    title: str = ""
    text: str = ""
    items: tuple[str, ...] = ()
    is_markdown: bool = False


@dataclass(frozen=True)
class Feedback:
    """A headline and its parts. `share` says how much is right, from 0 to 1; None if that is unknown."""

    headline: str
    share: float | None
    parts: tuple[Part, ...]

    def html(self) -> str:
        """Return HTML for a page or a notebook, light or dark. Text from students is escaped."""
        return str(_template().render(feedback=self))

    def plain(self) -> str:
        """Return plain text, for where no HTML is shown."""
        parts = (
            "\n".join([*filter(None, (part.title, part.text)), *(f"- {item}" for item in part.items)])
            for part in self.parts
        )
        return "\n\n".join([self.headline, *parts])


def of_exercise(report: Report, unit: str, name: str) -> Feedback:
    """Return the misconception first, then the failed tests with reasons, then the output of the student's code."""
    exercise = report.units[unit].exercises[name]
    parts = [Part("mistake", heading(one.name), one.sentence) for one in exercise.misconceptions]
    if exercise.waiting_for:
        parts.append(Part("mistake", text=exercise.waiting_for))
    parts += [Part("missed", issue.reason, items=tuple(issue.sentences)) for issue in issues(exercise)]
    parts += [Part("remark", text=remark) for remark in exercise.remarks]
    parts += _outputs(message for message in report.messages if (message.unit, message.exercise) == (unit, name))
    share = sum(test.outcome == "passed" for test in exercise.tests) / max(len(exercise.tests), 1)
    return _scored(f"`{name}`", exercise.points, exercise.possible, share, parts)


def of_quiz_item(name: str, item: QuizItem, due: datetime.datetime) -> Feedback:
    """Return whether there is an answer; after the due date, its points and the course's feedback."""
    parts = [Part("remark", text=item.problem)] if item.problem else []
    if item.points is None:
        state = "answered" if item.answered else "not answered"
        later = (
            f"The quiz counts once its due date has passed, {due:%Y-%m-%d %H:%M %Z}: until then it shows 0 points."
            if item.possible
            else "It is worth no points."
        )
        return Feedback(f"{heading(name)}: {state}", None, (*parts, Part("remark", text=later)))
    if not item.answered and not item.problem:
        parts.append(Part("remark", text="It was not answered."))
    parts += [Part("remark", text=sentence, is_markdown=True) for sentence in item.sentences]
    if item.answer:
        answer = item.answer.replace("\n", "\n\n")  # one paragraph per line
        parts.append(Part("remark", "The right answer", answer, is_markdown=True))
    if item.explanation:
        parts.append(Part("remark", "Why", item.explanation, is_markdown=True))
    share = item.points / item.possible if item.possible else None
    return _scored(heading(name), item.points, item.possible, share, parts)


def of_whole(report: Report, unit: str) -> Feedback | None:
    """Return the remarks on the notebook and its code's output outside exercises; None if there are none."""
    graded = report.units[unit]
    parts = []
    if not report.isolation.enough:
        parts.append(
            Part("mistake", text="This code was not isolated while it ran, so it could have changed its points.")
        )
    remarks = [*graded.remarks, *(graded.quiz.remarks if graded.quiz else [])]
    parts += [Part("remark", text=remark) for remark in dict.fromkeys(remarks)]
    parts += _outputs(message for message in report.messages if (message.unit, message.exercise) == (unit, None))
    return Feedback("About the notebook as a whole", None, tuple(parts)) if parts else None


def _scored(name: str, points: int, possible: int, share: float | None, parts: list[Part]) -> Feedback:
    unit = "point" if possible == 1 else "points"
    return Feedback(f"{name}: {points} of {possible} {unit}", share, tuple(parts))


def _outputs(messages: Iterable[Message]) -> Iterator[Part]:
    texts: dict[str, list[str]] = {}
    for message in messages:
        text = message.text.rstrip() + Place(message.file, message.line).in_brackets()
        texts.setdefault(message.kind, []).append(text)
    return (Part("output", title, "\n".join(texts[kind])) for kind, title in _OUTPUTS.items() if kind in texts)


@cache
def _template() -> Any:
    # Sentences of suites have no markup except code: a star may be a product. Quizzes are written in Markdown.
    code, markdown = MarkdownIt("zero").enable("backticks"), MarkdownIt("commonmark", {"html": False})
    for one in (code, markdown):
        one.add_render_rule("code_inline", _code)
    environment = Environment(
        loader=FileSystemLoader(Path(__file__).parent),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["code"] = lambda text: Markup(code.renderInline(text))
    environment.filters["markdown"] = lambda text: Markup(markdown.render(text))
    return environment.get_template(TEMPLATE)


def _code(_: Any, tokens: Any, index: int, options: Any, environment: Any) -> str:  # noqa: ARG001
    """Render code without the red colour that some pages give it, because red looks like an error."""
    style = "color: inherit; background-color: rgba(128, 128, 128, 0.15); padding: 0 3px;"
    return f'<code style="{style}">{escape(tokens[index].content)}</code>'
