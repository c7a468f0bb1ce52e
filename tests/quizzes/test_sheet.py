"""A sheet is written as Markdown and read back, even if a student or an editor changed or damaged it."""

from __future__ import annotations

import random
import re
from collections.abc import Callable

import pytest

from grader.quizzes.questions import Question
from grader.quizzes.quiz_source import QuizSource
from grader.quizzes.sheet import Sheet, SheetError, has_boxes, write_sheet
from grader.quizzes.sheet_reader import LINE_LIMIT, fill_in, read_sheet, too_few_decimals
from grader.submissions.submission import SHEET_LIMIT

Read = Callable[[str], Sheet]
Change = Callable[[str], str]

ANSWERS = {
    "order_of_terms": "b",
    "even_sums": "a c",
    "is_larger": "a",
    "mean_of_two": "1.625",
    "how_many_terms": "6",
    "sum_over_rows": "(3,)",
    "long_addition": "b c a d",
    "no_sum": "d",
}


@pytest.fixture
def blank(quiz: QuizSource) -> str:
    return write_sheet(quiz.questions, None, {})


@pytest.fixture
def filled(quiz: QuizSource) -> str:
    return write_sheet(quiz.questions, None, ANSWERS)


@pytest.fixture
def read(quiz: QuizSource) -> Read:
    return lambda text: read_sheet(text, quiz.questions)


def only_problem(sheet: Sheet, name: str) -> str:
    """The problem of one item, if every other answer was read."""
    assert sheet.remarks == ()
    assert sheet.answers == {item: answer for item, answer in ANSWERS.items() if item != name}
    assert list(sheet.problems) == [name]
    return sheet.problems[name]


def line_of(text: str, part: str) -> int:
    [number] = [number for number, line in enumerate(text.split("\n"), start=1) if line.startswith(part)]
    return number


# -- writing --------------------------------------------------------------------------------------------------


def test_a_sheet_reads_well(quiz: QuizSource) -> None:
    sheet = write_sheet(quiz.questions, 7, {"order_of_terms": "b"})
    head, *items = sheet.split("\n## ")
    assert head.startswith("---\nquiz: sums\nvariant: 7\n---\n\n# Quiz 1: sums\n\nHow to answer: ")
    assert (
        items[0]
        == """\
1. Order of terms

*One choice, 1 point*

What changes where the terms of a sum trade places?

- [ ] a) The sum.
- [x] b) Nothing.
- [ ] c) The sign of the sum.
"""
    )
    assert (
        items[7]
        == """\
8. No sum

*The wrong line, 1 point*

This program should print 6. Which line is wrong?

```python
numbers = [1, 2, 3]
total = 0
for number in numbers:
    total = number
print(total)
```

- [ ] a) line 1: `numbers = [1, 2, 3]`
- [ ] b) line 2: `total = 0`
- [ ] c) line 3: `for number in numbers:`
- [ ] d) line 4: `total = number`
"""
    )


def test_the_sheet_of_variant_zero_names_no_variant(blank: str) -> None:
    assert blank.startswith("---\nquiz: sums\n---\n")


# -- reading ---------------------------------------------------------------------------------


def test_a_blank_sheet_has_no_answer_and_no_problem(read: Read, blank: str) -> None:
    assert read(blank) == Sheet()


def test_a_filled_sheet_has_its_answers(read: Read, filled: str) -> None:
    assert read(filled) == Sheet(0, ANSWERS)


def some_answer(question: Question, generator: random.Random) -> str:
    match question.kind:
        case "number":
            return generator.choice(["3", "-0.5", "1e-3", "1/8", "`2`", "$-4.25$", "\N{MINUS SIGN}7"])
        case "shape":
            return generator.choice(["()", "(2, 3)", "[4]", "2 x 3", "torch.Size([5, 6])"])
        case "order":
            return " ".join(generator.sample(question.letters, len(question.letters)))
        case "several_choices":
            count = generator.randint(1, len(question.letters))
            return " ".join(sorted(generator.sample(question.letters, count)))
        case _:
            return generator.choice(question.letters)


def test_a_written_sheet_is_read_back_with_any_answers_and_variant(quiz: QuizSource) -> None:
    generator = random.Random(1)
    for _ in range(60):
        variant = generator.randrange(10**9)
        answers = {
            name: some_answer(question, generator)
            for name, question in quiz.questions.items.items()
            if generator.random() < 0.8
        }
        text = write_sheet(quiz.questions, variant, answers)
        assert read_sheet(text, quiz.questions) == Sheet(variant, answers)


def ticked_with(mark: str) -> Change:
    return lambda text: text.replace("[x]", f"[{mark}]")


# -- changes that do not matter ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "change",
    [
        lambda text: "\ufeff" + text,
        lambda text: text.replace("\n", "\r\n"),
        lambda text: text.replace("\n", "\r"),
        lambda text: text.replace("[x]", "[X]"),
        lambda text: text.replace("[x]", "[ x ]").replace("[ ]", "[]"),
        lambda text: text.replace("[x]", "[✓]"),
        *map(ticked_with, ("х", "Х", "×", "ｘ", "χ", "✕", "✖\ufe0f", "✔\ufe0f", "☑\ufe0f", "✅", " \u200bx\xa0")),
        lambda text: text.replace("[ ]", "[\xa0]"),
        lambda text: text.replace("[ ]", "[\u200b]"),
        lambda text: text.replace("- [", "* ["),
        lambda text: text.replace("- [", "+ ["),
        lambda text: text.replace("- [", "-\t["),
        lambda text: text.replace("- [", "   - ["),
        lambda text: text.replace("- [", "1. ["),
        lambda text: text.replace("- [", "["),
        lambda text: text.replace("- [", "- - ["),
        lambda text: text.replace("- [", "- \\["),
        lambda text: text.replace("\n- [", "\n\n- ["),
        lambda text: text.replace("\n", "\n\n"),
        lambda text: text.replace("\n", "   \n"),
        lambda text: text.replace("\n\nAnswer", "\nAnswer"),
        lambda text: text.replace("Answer:", "**Answer:**"),
        lambda text: text.replace("Answer: ", "Answer："),
        lambda text: text.replace("Answer:", "- answer :"),
        lambda text: text.replace("Answer: ", "Answer:\n"),
        lambda text: text.replace("1.625", "1.625______"),
        lambda text: text.replace("## 1. Order of", "## Order of"),
        lambda text: text.replace("## 1. Order of terms", "##  3)  ORDER  of terms ##"),
        lambda text: text.replace("Answer: 6", "6 = 2 · 3\n\nAnswer: 6\n\n---\n\nI am sure."),
        lambda text: text.replace("Answer: 6", "```\n- [x] a)\nAnswer: 7\n```\n\nAnswer: 6"),
        lambda text: text.replace("Answer: 6\n", "Answer: 6\n\n```\nan open fence"),
        lambda text: text.replace("Answer: 6\n", "Answer: 6\n---\n"),
        lambda text: text.replace("## 2.", "- a\n  - b\n    - c\n\n## 2."),
        lambda text: text.replace("## 2.", "# My notes\n\n> quoted\n\n<!-- hidden\n\n<details>\n\n## 2."),
        lambda text: text[text.index("# Quiz") :],
    ],
)
def test_usual_changes_by_editors_and_students_do_not_matter(read: Read, filled: str, change: Change) -> None:
    changed = change(filled)
    assert changed != filled
    assert read(changed) == Sheet(0, ANSWERS)


@pytest.mark.parametrize("answers", [ANSWERS, {}])
def test_the_changes_of_a_formatter_without_front_matter_do_not_matter(
    quiz: QuizSource, answers: dict[str, str]
) -> None:
    formatted = (
        write_sheet(quiz.questions, 7, answers)
        .replace("---\nquiz: sums\nvariant: 7\n---\n", f"{'_' * 70}\n\n## quiz: sums variant: 7\n")
        .replace("______\n\n## ", r"\_\_\_\_\_\_" + "\n\n## ")
        .replace("Answer: (3,)", r"Answer: \(3,\)")
        .replace("[ ]", r"\[ \]")
        .replace("*", "_")
    )
    assert read_sheet(formatted, quiz.questions) == Sheet(7, answers)
    assert read_sheet(fill_in(formatted, quiz.questions, "mean_of_two", "-1"), quiz.questions) == Sheet(
        7, {**answers, "mean_of_two": "-1"}
    )


def test_a_question_is_recognised_in_another_style_of_emphasis(quiz: QuizSource) -> None:
    question = quiz.questions.items["is_larger"].model_copy(update={"question": "A sum is *larger* than\n__all__."})
    questions = quiz.questions.model_copy(update={"items": {"is_larger": question}})
    formatted = write_sheet(questions, None, {}).replace("*larger* than\n__all__", "_larger_\nthan **all**")
    assert read_sheet(fill_in(formatted, questions, "is_larger", "a"), questions) == Sheet(0, {"is_larger": "a"})


def test_items_may_be_in_any_order(read: Read, filled: str) -> None:
    head, *items = filled.split("\n## ")
    assert read("\n## ".join([head, *reversed(items)]) + "\n").answers == ANSWERS


def test_the_text_of_questions_and_choices_is_not_compared(read: Read, filled: str) -> None:
    assert read(filled.replace("Nothing.", "Rien.").replace("What changes", "Was ändert sich")) == Sheet(0, ANSWERS)


# -- changes that affect one item ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("item", "old", "new", "line", "sentence"),
    [
        ("order_of_terms", "- [ ] c) The sign", "- [x] c) The sign", "- [x] c) The sign",
            "only one letter can be the answer, not b and c: choose one of them."),
        ("order_of_terms", "[x] b) Nothing", "[?] b) Nothing", "- [?]",
            "a box holds something else than x: write `[x]` to tick it, or `[ ]`."),
        ("long_addition", "b c a d", "b c", "Answer: b c", "a and d are missing: write each letter once."),
        ("how_many_terms", "Answer: 6\n", "Answer: 6\n\nAnswer: 7\n", "Answer: 7",
            "there is an answer on line 62 already: keep one of the two."),
        ("how_many_terms", "Answer: 6\n", "6\n", "## 5.",
            "the line `Answer:` below this heading is missing: put it back."),
        ("how_many_terms", "Answer: 6\n", "Answer: ___\n\n6\n", "Answer: ___",
            "this answer is blank, and text follows below: write the answer on this line."),
        *(("mean_of_two", "1.625", raw, f"Answer: {raw}",
            f"{raw!r} is not a number: write it like 50257, 3.125, 1e-3 or 1/8.")
            for raw in ("nan", "1e9999", "१२", "🙂", "[x]", "x" * 190)),
    ],
)  # fmt: skip
def test_a_change_to_one_item_is_reported_with_its_line_and_its_fix(
    read: Read, filled: str, item: str, old: str, new: str, line: str, sentence: str
) -> None:
    text = filled.replace(old, new)
    assert only_problem(read(text), item) == f"sums_quiz.md:{line_of(text, line)}: {sentence}"


@pytest.mark.parametrize(
    ("old", "new", "there"),
    [
        ("- [ ] a) The sum.\n", "", "b and c"),
        ("- [ ] a) The sum.\n", "- [ ] b) The sum.\n", "b, b and c"),
        ("- [ ] a) The sum.\n", "- [ ] z) The sum.\n", "z, b and c"),
        ("- [ ] a) The sum.\n", "- [ ] a) The sum.\n- [ ] d) More.\n", "a, d, b and c"),
        ("- [ ] a) The sum.\n- [x] b) Nothing.\n- [ ] c) The sign of the sum.\n", "", "none"),
        ("- [ ] a) The sum.\n", "```\n- [ ] a) The sum.\n", "none"),
    ],
)
def test_boxes_that_are_not_those_of_the_question(read: Read, filled: str, old: str, new: str, there: str) -> None:
    assert filled.count(old) == 1
    text = filled.replace(old, new)
    assert only_problem(read(text), "order_of_terms") == (
        f"sums_quiz.md:{line_of(text, '## 1.')}: the boxes below should be a, b and c, each once; "
        f"there are {there}: put the lines back as they were."
    )


@pytest.mark.parametrize("gap", ["", "\n"])
def test_an_answer_below_its_boxes(read: Read, filled: str, gap: str) -> None:
    [box] = [line for line in filled.split("\n") if line.startswith("- [x] a) true")]
    start = filled.index(box)
    end = filled.index("\n\n## ", start) + 1
    options = filled[start:end].replace("[x]", "[ ]")
    text = f"{filled[:start]}{options}{gap}true\n{filled[end:]}"
    assert only_problem(read(text), "is_larger") == (
        f"sums_quiz.md:{line_of(text, 'true')}: no box is ticked, and text follows below them: tick a box by writing "
        "`[x]` in it."
    )
    # A comment on an answer is no problem.
    assert read(f"{filled[:end]}\nI am not sure.\n{filled[end:]}").problems == {}


def test_too_few_decimals_get_a_sentence_and_no_problem(quiz: QuizSource, read: Read, filled: str) -> None:
    text = filled.replace("Answer: 1.625", "Answer: 1.6")
    assert read(text).problems == {}
    assert too_few_decimals(text, quiz.questions) == [
        f"sums_quiz.md:{line_of(text, 'Answer: 1.6')}: 1.6 has one decimal, and two are asked for: add them, unless "
        "they are 0."
    ]
    assert too_few_decimals(filled, quiz.questions) == []


def test_a_repeated_heading(read: Read, filled: str) -> None:
    text = filled + "\n## 9. No sum\n"
    first, second = line_of(text, "## 8."), line_of(text, "## 9.")
    assert only_problem(read(text), "no_sum") == (
        f"sums_quiz.md:{second}: this heading is there more than once (lines {first} and {second}): keep one."
    )


@pytest.mark.parametrize("new", ["", "## 1. Order of te", "### 1. Order of terms", "Order of terms"])
def test_a_missing_heading(read: Read, filled: str, new: str) -> None:
    assert only_problem(read(filled.replace("## 1. Order of terms", new)), "order_of_terms") == (
        "sums_quiz.md has no heading `## 1. Order of terms`: put back what was there, "
        "or move the file away and start again with `grader quiz sums`."
    )


def test_an_answer_below_an_unknown_heading_does_not_belong_to_the_item_above(read: Read, filled: str) -> None:
    text = filled.replace("## 6.", "## My own notes\n\n- [x] a)\n\nAnswer: 7\n\n## 6.")
    assert read(text) == Sheet(0, ANSWERS)


# -- the sheet as a whole ------------------------------------------------------------------------


@pytest.mark.parametrize("text", ["", "\n" * 100, "hello", "# Quiz 1: sums", "\x00\x1b\ufffe", "---", "---\nquiz"])
def test_a_file_that_is_not_a_sheet_gets_one_remark(read: Read, text: str) -> None:
    assert read(text) == Sheet(
        remarks=(
            "sums_quiz.md has none of the quiz's headings: put back what was there, "
            "or move the file away and start again with `grader quiz sums`.",
        )
    )


def test_the_sheet_of_another_quiz_is_not_read(read: Read, filled: str) -> None:
    assert read(filled.replace("quiz: sums", "quiz: products")) == Sheet(
        remarks=("sums_quiz.md:2: this is the sheet of another quiz: write its answers into its own file.",)
    )


@pytest.mark.parametrize("variant", ["seven", "-1", "1.5", "", "१", "1" * 5000])
def test_an_unreadable_variant_is_read_as_zero_with_a_remark(read: Read, filled: str, variant: str) -> None:
    sheet = read(filled.replace("quiz: sums\n", f"quiz: sums\nvariant: {variant}\n"))
    assert (sheet.variant, sheet.answers) == (0, ANSWERS)
    assert sheet.remarks[0].startswith("sums_quiz.md:3: the variant is not a whole number")


@pytest.mark.parametrize("line", ["", "variant: 8\n"])
def test_questions_of_another_variant_get_a_remark(quiz: QuizSource, line: str) -> None:
    """Without the remark, a lost or wrong line would make every number wrong for no visible reason."""
    text = write_sheet(quiz.questions, 7, ANSWERS).replace("variant: 7\n", line)
    sheet = read_sheet(text, quiz.questions)
    assert sheet == Sheet(
        8 if line else 0,
        ANSWERS,
        remarks=(
            f"sums_quiz.md asks the questions of variant 2, and is read as variant {8 if line else 0}: "
            "begin it with the lines `---`, `quiz: sums`, `variant: 2` and `---`.",
        ),
    )
    fixed = read_sheet("---\nquiz: sums\nvariant: 2\n---\n" + text, quiz.questions)
    assert fixed == Sheet(2, ANSWERS)


@pytest.mark.parametrize("text", ["x" * (SHEET_LIMIT + 1), "\n" * LINE_LIMIT])
def test_a_file_far_longer_than_a_sheet_is_not_read(read: Read, filled: str, text: str) -> None:
    assert read(filled + text) == Sheet(remarks=("sums_quiz.md is far longer than a sheet: hand in the sheet alone.",))


# -- random damage -------------------------------------------------------------------------------------

ODD = [
    "\r", "\t", "\x00", "\ufeff", "\u2028", "🙂", "१२", "[", "]", "[x]", "[X] a)", "- [x] a)", "* [ ] b)", "+ [x] c)",
    "    - [x] a)", "- - - [x] b)", "1) [x] a)", "`", "```", "~~~", ">", "> - [x] a)", "<!--", "-->", "<div>", "---",
    "===", "***", "#", "##", "## 1. Order of terms", "## 99. Even sums", "## nothing", "Answer:", "Answer: ______",
    "Answer: nan", "Answer: 1e999", "Answer: 3,125", "Answer: 1/8", "Answer: 1/0", "Answer: \N{MINUS SIGN}4",
    "Answer: ()", "Answer: (1, -2)", "Answer: d c b a", "Answer: a a", "[a]: b", "\\", "variant: x", "quiz: y",
]  # fmt: skip


def damaged(text: str, generator: random.Random) -> str:
    """The text with a few lines deleted, copied, swapped, cut or changed."""
    lines = text.split("\n")
    for _ in range(generator.randint(1, 6)):
        here, there = generator.randrange(len(lines)), generator.randrange(len(lines))
        match generator.randrange(7):
            case 0:
                del lines[here]
            case 1:
                lines.insert(there, lines[here])
            case 2:
                lines[here], lines[there] = lines[there], lines[here]
            case 3:
                lines[here] = lines[here][: generator.randrange(len(lines[here]) + 1)]
            case 4:
                lines.insert(here, generator.choice(ODD))
            case 5:
                place = generator.randrange(len(lines[here]) + 1)
                lines[here] = lines[here][:place] + generator.choice(ODD) + lines[here][place:]
            case _:
                lines[here : here + 3] = ["".join(lines[here : here + 3])]
        lines = lines or [""]
    return generator.choice(["\n", "\n", "\r\n"]).join(lines)


@pytest.mark.proof(part="quizzes")
def test_any_damage_is_reported_as_sentences_and_filling_in_changes_only_the_item(quiz: QuizSource) -> None:
    generator = random.Random(2)
    messages: set[str] = set()
    filled_in = 0
    for _ in range(3000):
        text = damaged(write_sheet(quiz.questions, generator.randrange(100), ANSWERS), generator)
        before = read_sheet(text, quiz.questions)
        assert before.answers.keys().isdisjoint(before.problems)
        for sentence in (*before.problems.values(), *before.remarks):
            assert re.fullmatch(r"sums_quiz\.md.*\.", sentence)
        messages |= {sentence.split(": ", maxsplit=1)[-1] for sentence in before.problems.values()}
        name, question = generator.choice(list(quiz.questions.items.items()))
        answer = generator.choice([some_answer(question, generator), ""])
        try:
            after = fill_in(text, quiz.questions, name, answer)
        except SheetError:
            continue
        filled_in += 1
        sheet = read_sheet(after, quiz.questions)
        assert sheet.answers.get(name, "") == answer
        assert without(sheet, name) == without(before, name)
        assert len(set(text.splitlines()) - set(after.splitlines())) <= len(question.letters or "1")
    assert len(messages) > 30  # the damage was of many kinds
    assert filled_in > 1500


def without(sheet: Sheet, name: str) -> tuple[int, dict[str, str], set[str]]:
    """What was read, except for one item."""
    answers = {item: answer for item, answer in sheet.answers.items() if item != name}
    return sheet.variant, answers, sheet.problems.keys() - {name}


@pytest.mark.proof(part="quizzes")
def test_damage_to_one_item_does_not_affect_the_others(quiz: QuizSource, filled: str) -> None:
    generator = random.Random(3)
    head, *items = filled.split("\n## ")
    for _ in range(1000):
        number = generator.randrange(len(items))
        first, *rest = items[number].split("\n")
        body = damaged("\n".join(rest), generator).replace("\r", "")
        if "## " in body:  # another item's heading does affect that item
            continue
        sheet = read_sheet(
            "\n## ".join([head, *items[:number], f"{first}\n{body}", *items[number + 1 :]]), quiz.questions
        )
        name = list(ANSWERS)[number]
        others = {item: answer for item, answer in sheet.answers.items() if item != name}
        assert others == {item: answer for item, answer in ANSWERS.items() if item != name}, name


FLOODS = [
    ">", "> ", "[", "]", "(", "`", "``\n", "```\n", "- ", "* ", "1. ", "- a\n", "- - - - -\n", "*", "_", "#",
    "##\n", "## 1. Order of terms\n", " ", "\t", "\\", "\\[", "[x] a)\n", "- [x] a) ", "Answer:", "Answer:\n", "$",
    "9", "<", "<!--", "</", "&amp;", "|", "|\n", "---\n", "[a]: b\n", "🙂", "\x00", "\u2028", "a\n\n", "> - ",
    "1/", "2, ",
]  # fmt: skip


@pytest.mark.proof(part="quizzes")
@pytest.mark.parametrize("start", ["Answer: 6", "- [x] b) Nothing.", "- a) Write the last digit of the sum down."])
def test_a_sheet_of_the_largest_size_is_read_to_its_end(quiz: QuizSource, filled: str, start: str) -> None:
    for unit in FLOODS:
        room = SHEET_LIMIT - len(filled) - 10
        flood = (unit * (room // len(unit) + 1))[:room]
        flood = "\n".join(flood.split("\n")[: LINE_LIMIT - filled.count("\n") - 10])
        sheet = read_sheet(filled.replace(start, f"{start}{flood}"), quiz.questions)
        assert sheet.answers["no_sum"] == "d", unit


def test_deeply_nested_lists_are_read_to_their_end(quiz: QuizSource, filled: str) -> None:
    for deeper in ("  ", " ", "   ", "\t"):
        nested = "\n".join(f"{deeper * depth}- a" for depth in range(400))
        sheet = read_sheet(filled.replace("Answer: 6", f"{nested}\n\nAnswer: 6"), quiz.questions)
        assert {**sheet.answers, "how_many_terms": "6"} == ANSWERS


def test_every_kind_of_item_has_boxes_or_a_line_to_write_on(quiz: QuizSource) -> None:
    kinds = {question.kind for question in quiz.questions.items.values() if has_boxes(question)}
    assert kinds == {"one_choice", "several_choices", "true_false", "bug"}


# -- filling in -----------------------------------------------------------------------------------------------


def test_a_sheet_filled_in_item_by_item_is_the_filled_sheet(quiz: QuizSource, blank: str, filled: str) -> None:
    text = blank
    for name, answer in ANSWERS.items():
        text = fill_in(text, quiz.questions, name, answer)
    assert text == filled
    for name in ANSWERS:
        text = fill_in(text, quiz.questions, name, "")
    assert text == blank


def test_text_that_continued_an_answer_stays_below_the_new_one(quiz: QuizSource, filled: str) -> None:
    text = fill_in(filled.replace("Answer: 6", "Answer: 5\r\nor is it 6?"), quiz.questions, "how_many_terms", "7")
    assert text == filled.replace("Answer: 6", "Answer: 7\r\n\r\nor is it 6?")


@pytest.mark.parametrize(
    ("old", "new", "sentence"),
    [
        (
            "What is the mean of 1 and 2.25?",
            "What is the mean of 3 and -4?",
            "this is not the course's question",
        ),
        ("Answer: 1.625", "", "the line `Answer:` below this heading is missing"),
        ("## 5.", "Answer: 2\n\n## 5.", "there is an answer on line"),
        ("## 5.", "## Mean of two\n\n## 5.", "this heading is there more than once"),
        ("## 4. Mean of two", "", "has no heading `## 4. Mean of two`"),
        ("quiz: sums", "quiz: products", "this is the sheet of another quiz"),
    ],
)
def test_nothing_is_filled_in_without_exactly_one_place_for_it(
    quiz: QuizSource, filled: str, old: str, new: str, sentence: str
) -> None:
    with pytest.raises(SheetError, match=re.escape(sentence)):
        fill_in(filled.replace(old, new), quiz.questions, "mean_of_two", "2")
