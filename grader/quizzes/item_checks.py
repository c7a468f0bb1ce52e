"""The rules for the items of a quiz that a model cannot express: `problems` yields each place that is wrong."""

from __future__ import annotations

import ast
import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from grader.documents import Location
from grader.quizzes.items import BugItem, ChoiceItem, Item, NumberItem, OrderItem, ShapeItem, VariedItem, exact
from grader.quizzes.questions import LETTERS, fill, names_in

if TYPE_CHECKING:
    from collections.abc import Iterable

    from grader.quizzes.items import BaseItem, Line

Problems = Iterator[tuple[Location, str]]


def problems(item: Item) -> Problems:
    """Yield each problem of an item: a place in it, and a sentence."""
    match item:
        case ChoiceItem():
            return _of_choices(item)
        case NumberItem() | ShapeItem():
            return _of_written(item)
        case OrderItem():
            return _of_order(item)
        case BugItem():
            return _of_bug(item)


def _of_parameters(item: BaseItem) -> Problems:
    """Check each [[name]] against the variants."""
    if isinstance(item, VariedItem) and item.variants:
        yield from _of_rows(item)
        yield from _of_names(item)
        return
    for location, text in (*item.texts_asked(), *item.texts_after_due()):
        for name in sorted(names_in(text)):
            yield location, f"[[{name}]] has no value: this item has no variants."


def _of_rows(item: VariedItem) -> Problems:
    columns = list(item.variants[0])
    if len(item.variants) < 5:
        yield ("variants",), f"there are {len(item.variants)} variants: write at least five rows."
    for number, row in enumerate(item.variants):
        for name, value in row.items():
            if not _is_value(value):
                yield ("variants", number, name), f"{name!r} should be a number, text or a list of whole numbers."
        if set(row) != set(columns):
            yield ("variants", number), f"this row should have the columns of the first: {', '.join(columns)}."


def _of_names(item: VariedItem) -> Problems:
    columns, withheld = list(item.variants[0]), item.withheld()
    asked, later = list(item.texts_asked()), list(item.texts_after_due())
    for location, text in (*asked, *later):
        for name in sorted(names_in(text)):
            if name not in columns:
                yield location, f"[[{name}]] is not a column of the variants: they have {', '.join(columns)}."
            elif name in withheld and (location, text) in asked:
                yield location, f"[[{name}]] gives the answer away: leave it out of what students read."
    used = {*withheld, *(name for _, text in (*asked, *later) for name in names_in(text))}
    for name in columns:
        if name not in used:
            yield ("variants", 0), f"the column {name!r} is used nowhere: use it, or leave it out of every row."


def _of_choices(item: ChoiceItem) -> Problems:
    found = list(_of_parameters(item))
    yield from found
    right = sum(choice.right for choice in item.choices)
    if item.kind == "several_choices" and not 0 < right < len(item.choices):
        yield ("choices",), "of several choices at least one is right and one is wrong: say `right: true` there."
    if item.kind != "several_choices" and right != 1:
        yield ("choices",), f"{right} choices are right: say `right: true` of exactly one."
    if item.kind == "true_false" and [choice.text for choice in item.choices] != ["true", "false"]:
        yield ("choices",), 'the choices of true_false are the texts "true" and "false", in this order.'
    for number in _repeated(choice.sentence.strip() for choice in item.choices):
        yield ("choices", number, "sentence"), "another choice has the same sentence: write one for each."
    if found:
        return  # its texts cannot be filled in
    for variant in range(max(1, len(item.variants))):
        texts = [fill(choice.text, item.row(variant)).strip() for choice in item.choices]
        for number in _repeated(texts):
            sentence = f"another choice reads the same in variant {variant}: {texts[number]!r}."
            yield ("choices", number, "text"), sentence


def _of_written(item: NumberItem | ShapeItem) -> Problems:
    yield from _of_parameters(item)
    if "answer" in item.slips:
        yield ("slips", "answer"), "the answer is not a slip: name a column with a wrong result."
    for name in item.withheld():
        if name not in item.variants[0]:
            location = ("variants",) if name == "answer" else ("slips", name)
            yield location, f"the variants have no column {name!r}: every row needs it."
    for number, row in enumerate(item.variants):
        seen: dict[str, Any] = {}
        for name in item.withheld():
            if name not in row or not _is_value(row[name]):
                continue  # reported already
            if sentence := _wrong_value(item, name, row[name]):
                yield ("variants", number, name), sentence
                continue
            for other, value in seen.items():
                if _are_alike(item, row[name], value):
                    sentence = f"{name!r} cannot be distinguished from {other!r}: change the row."
                    yield ("variants", number, name), sentence
            seen[name] = row[name]


def _wrong_value(item: NumberItem | ShapeItem, column: str, value: Any) -> str | None:
    """Return why a value cannot be an answer or a slip; None if it can."""
    if isinstance(item, ShapeItem):
        is_shape = isinstance(value, list) and all(type(size) is int and size >= 0 for size in value)
        return None if is_shape else f"{column!r} should be a shape: a list of whole numbers."
    if not isinstance(value, int | float) or not math.isfinite(value):
        return f"{column!r} should be a number."
    if column == "answer" and not item.decimals and value != int(value):
        return f"the answer {value} is not a whole number: say to how many `decimals` it is asked."
    return None


def _are_alike(item: NumberItem | ShapeItem, one: Any, other: Any) -> bool:
    """Return whether some answer would be accepted for both."""
    if isinstance(item, ShapeItem):
        return bool(one == other)
    return abs(exact(one) - exact(other)) <= 2 * item.tolerance


def _of_order(item: OrderItem) -> Problems:
    yield from _of_parameters(item)
    repeated = _repeated(step.strip() for step in item.steps)
    for number, step in enumerate(item.steps):
        if names_in(step):
            yield ("steps", number), "steps have no variants: write the step out."
        if number in repeated:
            yield ("steps", number), "this step is there twice: leave one of them out."
    letters = list(LETTERS[: len(item.steps)])
    if sorted(item.answer.split()) != letters:
        yield ("answer",), f"the answer should hold each letter from a to {letters[-1]} once, with spaces between."
    elif item.answer.split() == letters:
        yield ("answer",), "the steps are in the right order already: show them in another."


def _of_bug(item: BugItem) -> Problems:
    yield from _of_parameters(item)
    code = item.program().split("\n")
    if problem := _syntax_problem(item.program()):
        yield ("code",), problem
    if sum(line.right for line in item.lines.values()) != 1:
        yield ("lines",), "exactly one line is wrong: say `right: true` of the one to tick."
    repeated = _repeated(line.sentence.strip() for line in item.lines.values())
    for place, (number, line) in enumerate(item.lines.items()):
        yield from _of_line(item, number, line, code)
        if place in repeated:
            yield ("lines", number, "sentence"), "another line has the same sentence: write one for each."


def _of_line(item: BugItem, number: int, line: Line, code: list[str]) -> Problems:
    here = ("lines", number)
    if not 1 <= number <= len(code) or not code[number - 1].strip():
        yield here, f"the code has nothing on line {number}: name a line with code, counted from 1."
    elif line.right != (line.fix is not None):
        yield here, "`fix` belongs to the line that is right to tick, and to it alone."
    elif line.fix is not None:
        wrong = code[number - 1]
        if "\n" in line.fix or _indentation(line.fix) != _indentation(wrong):
            spaces = len(_indentation(wrong))
            yield (*here, "fix"), f"the fix should be one line, indented by {spaces} spaces like the wrong one."
        elif line.fix.strip() == wrong.strip():
            yield (*here, "fix"), "the fix is the same as the wrong line: write it as it should be."
        elif not _syntax_problem(item.program()) and (problem := _syntax_problem(item.program(fixed=True))):
            yield (*here, "fix"), f"with the fix, {problem}"


def _repeated(texts: Iterable[str]) -> list[int]:
    """Return the positions of the texts that repeat an earlier one."""
    texts = list(texts)
    return [number for number, text in enumerate(texts) if text in texts[:number]]


def _is_value(value: Any) -> bool:
    if isinstance(value, list):
        return all(type(size) is int for size in value)
    return type(value) in (int, float, str)


def _indentation(line: str) -> str:
    return line[: len(line) - len(line.lstrip())]


def _syntax_problem(code: str) -> str | None:
    try:
        ast.parse(code)
    except SyntaxError as error:
        return f"line {error.lineno} of the code is not Python ({error.msg}): correct it."
    return None
