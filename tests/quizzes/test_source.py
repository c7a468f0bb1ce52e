"""The source of a quiz is read into a model, and every mistake in it is reported with its place and its fix."""

from __future__ import annotations

import random
import re
import subprocess
import sys
from pathlib import Path

import courses
import pytest

from grader.documents import CourseError
from grader.quizzes.questions import Questions, read_questions, to_json
from grader.quizzes.quiz_source import QuizSource, load_quiz, load_quizzes

GOOD = courses.SMALL_COURSE["solutions/sums_quiz.yml"]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    (tmp_path / "solutions").mkdir()
    return tmp_path / "solutions" / "sums_quiz.yml"


def problems(path: Path, text: str) -> list[str]:
    """The lines of the error that `text` as a source raises, without the file's name."""
    path.write_text(text, encoding="utf-8")
    with pytest.raises(CourseError) as caught:
        load_quiz(path)
    lines = str(caught.value).split("\n")
    assert all(line.startswith("solutions/sums_quiz.yml:") for line in lines)
    return [line.removeprefix("solutions/sums_quiz.yml:") for line in lines]


def changed(old: str, new: str) -> str:
    assert GOOD.count(old) == 1
    return GOOD.replace(old, new)


def line_of(text: str) -> int:
    """The only line of the source that contains this text."""
    [number] = [number for number, line in enumerate(GOOD.split("\n"), start=1) if text in line]
    return number


def test_a_quiz_has_its_title_and_its_items_in_order(quiz: QuizSource) -> None:
    assert (quiz.unit, quiz.title) == ("sums", "Quiz 1: sums")
    assert [item.kind for item in quiz.items.values()] == [
        "one_choice", "several_choices", "true_false", "number", "number", "shape", "order", "bug",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("old", "new", "found_at", "sentence"),
    [
        ("kind: bug", "kind: bgu", "kind: bug", "'kind' cannot be 'bgu'. Allowed: one_choice, several_choices, "
            "true_false, number, shape, order, bug. Did you mean 'bug'?"),
        ("    points: 2\n", "", "  mean_of_two:", "the key 'points' is missing in 'mean_of_two': add it."),
        ("points: 2", "points: 0", "points: 2", "'points' should be greater than or equal to 1, not 0."),
        ("decimals: 2", "decimal: 2", "decimals: 2", "unknown key 'decimal'. Allowed here: points, question, "
            "explanation, variants, formulas, slips, kind, decimals. Did you mean 'decimals'?"),
        ("text: 1 + 3", "txt: 1 + 3", "text: 1 + 3", "unknown key 'txt'. Allowed here: text, sentence, right."
            " Did you mean 'text'?"),
        ("is_larger:", "isLarger:", "is_larger:", "'isLarger' cannot be a heading: name the item in small letters, "
            "with _ between words."),
        ('not.", right: true', 'not."', "all the terms", "0 choices are right: say `right: true` of exactly one."),
        ("odd.\"}\n      - {text: 2 + 4", "odd.\", right: 1}\n      - {text: 2 + 4", "text: 1 + 2",
            "'right' should be true or false, not 1."),
        ('text: "false"', 'text: "no"', "all the terms",
            'the choices of true_false are the texts "true" and "false", in this order.'),
        ("Three is odd", "Seven is odd", "text: 2 + 5", "another choice has the same sentence: write one for each."),
        ("text: 1 + 2", "text: 1 + 3", "text: 1 + 2", "another choice reads the same in variant 0: '1 + 3'."),
        ("explanation: The dimension", "explanation: The [[dim]]", "The dimension",
            "[[dim]] is not a column of the variants: they have rows, columns, answer, kept."),
        ("explanation: A negative", "explanation: A [[dim]]", "A negative",
            "[[dim]] has no value: this item has no variants."),
        ("mean of [[a]]", "mean [[answer]] of [[a]]", "mean of [[a]]",
            "[[answer]] gives the answer away: leave it out of what students read."),
        ("mean of [[a]]", "half of [[sum]], [[a]]", "mean of [[a]]",
            "[[sum]] gives the answer away: leave it out of what students read."),
        ("a: 2, b: 3.5, ", "a: 2, ", "a: 2, b", "this row should have the columns of the first: a, b, answer, sum."),
        ("b: 3.5", "b: {}", "b: 3.5", "'b' should be a number, text or a list of whole numbers."),
        ("b: 3.5", "b: true", "b: 3.5", "'b' should be a number, text or a list of whole numbers."),
        ("answer: 2.75", "answer: 5.49", "answer: 2.75",
            "'sum' cannot be distinguished from 'answer': change the row."),
        ("answer: 2.75", "answer: much", "answer: 2.75", "'answer' should be a number."),
        ("answer: 2.75", "answer: .inf", "answer: 2.75", "'answer' should be a number."),
        ("answer: 12", "answer: 12.5", "answer: 12",
            "the answer 12.5 is not a whole number: say to how many `decimals` it is asked."),
        ("answer: [3]", "answer: 3", "answer: [3]", "'answer' should be a shape: a list of whole numbers."),
        ("answer: [4]", "answer: [-4]", "answer: [4]", "'answer' should be a shape: a list of whole numbers."),
        ("      sum: \"[[sum]]", "      total: \"[[a]]", "      sum: \"[[sum]]",
            "no formula and no column of the variants gives 'total': write a formula."),
        ("b c a d", "a b c d", "b c a d", "the steps are in the right order already: show them in another."),
        ("b c a d", "b c a", "b c a d", "the answer should hold each letter from a to d once, with spaces between."),
        ("Carry.]", "Add the last digits.]", "Carry.]", "this step is there twice: leave one of them out."),
        ("for number in numbers:", "for number in:", "code: |", "line 3 of the code is not Python (invalid syntax): "
            "correct it."),
        ("    total += number", "total += number", "total += number",
            "the fix should be one line, indented by 4 spaces like the wrong one."),
        ("    total += number", "    total = number", "total += number",
            "the fix is the same as the wrong line: write it as it should be."),
        ("    total += number", "    total +== number", "total += number",
            "with the fix, line 4 of the code is not Python (invalid syntax): correct it."),
        (', right: true, fix: "    total += number"', ", right: true", "it forgets",
            "`fix` belongs to the line that is right to tick, and to it alone."),
        ("      3: {sentence: Every", "      7: {sentence: Every", "Every number has",
            "the code has nothing on line 7: name a line with code, counted from 1."),
        ("      3: {sentence: Every", "      third: {sentence: Every", "Every number has",
            "'third' should be a whole number."),
    ],
)  # fmt: skip
def test_a_mistake_is_reported_with_its_line_and_its_fix(
    path: Path, old: str, new: str, found_at: str, sentence: str
) -> None:
    messages = [problem.split(":", maxsplit=2) for problem in problems(path, changed(old, new))]
    assert (str(line_of(found_at)), f" {sentence}") in [(line, rest) for line, _, rest in messages]


def test_all_problems_of_all_items_are_reported_in_the_order_of_the_lines(path: Path) -> None:
    text = GOOD.replace("kind: bug", "kind: bgu").replace("points: 2", "points: two").replace('"Quiz 1: sums"', "1")
    lines = [int(problem.split(":")[0]) for problem in problems(path, text)]
    assert lines == [1, line_of("points: 2"), line_of("kind: bug")]


def test_an_unused_column_is_a_mistake(path: Path) -> None:
    text = re.sub(r"answer: (\d+)}", r"answer: \1, spare: 0}", GOOD)
    [problem] = problems(path, text)
    assert problem.endswith("the column 'spare' is in no text: use it there, or leave it out.")


# The same quiz with formulas for the answers and slips of the numbers and of the shape.
COMPUTED = re.sub(r", (answer|kept): [^}]+}", "}", GOOD)
for _above, _formulas in (
    ("    slips:\n      sum:", "answer: (a + b) / 2\n      sum: a + b"),
    ("    explanation: One for each", "answer: shape[0] * shape[1]"),
    ("    slips:\n      kept:", "answer: (columns,)\n      kept: (1, columns)"),
):
    COMPUTED = COMPUTED.replace(_above, f"    formulas:\n      {_formulas}\n{_above}")


def test_formulas_give_the_answers_and_slips_of_every_variant(path: Path) -> None:
    path.write_text(changed("answer: 1.625", "answer: 1.63"), encoding="utf-8")
    written = load_quiz(path)
    path.write_text(COMPUTED, encoding="utf-8")
    assert load_quiz(path) == written
    assert load_quiz(path).text == written.text


@pytest.mark.parametrize(
    ("old", "new", "found_at", "sentence"),
    [
        ("sum: a + b", "sum: a + c", "sum: a + c",
            "in variant 0, `c` has no value: a formula can use a, b, answer."),
        ("sum: a + b", "sum: a / (a - 3)", "sum: a / (a - 3)",
            "in variant 2, `a / (a - 3)` divides by zero: change it, or the variant."),
        ("sum: a + b", "sum: a + b +", "sum: a + b +",
            "in variant 0, this is not a formula (invalid syntax): write one like `V * C + L * C`."),
        ("answer: shape[0] * shape[1]", "answer: shape[0] / shape[1]", "answer: shape[0] / shape[1]",
            "in variant 0, the result 0.666667 is not a whole number: divide with `//`, or say to how many `decimals` "
            "a number is asked."),
        ("sum: a + b", "sum: (a + b) / 2 + (a - 4) / 99", "{a: 4, b: 0.5}",
            "'sum' cannot be distinguished from 'answer': change the row."),
        ("{a: 2, b: 3.5}", "{a: 2, b: 3.5, sum: 5.5}", "{a: 2, b: 3.5, sum: 5.5}",
            "this row should have the columns of the first: a, b."),
        ("kept: (1, columns)", "kept: columns", "{rows: 2, columns: 3}",
            "'kept' should be a shape: a list of whole numbers."),
    ],
)  # fmt: skip
def test_a_mistake_in_a_formula_is_reported_with_its_line_and_its_fix(
    path: Path, old: str, new: str, found_at: str, sentence: str
) -> None:
    assert COMPUTED.count(old) == 1
    text = COMPUTED.replace(old, new)
    [line] = [number for number, line in enumerate(text.split("\n"), start=1) if found_at in line]
    messages = [problem.split(":", maxsplit=2) for problem in problems(path, text)]
    assert (str(line), f" {sentence}") in [(place, rest) for place, _, rest in messages]


def test_a_column_of_a_formula_is_in_no_row(path: Path) -> None:
    text = re.sub(r"{(a: .+?)}", r"{\1, sum: 0}", COMPUTED)
    [problem] = problems(path, text)
    assert problem.endswith("a formula gives 'sum': leave it out of the rows.")


def test_fewer_than_five_variants_are_too_few(path: Path) -> None:
    [problem] = problems(path, changed("      - {shape: [7, 8], answer: 56}\n", ""))
    assert problem.endswith("'variants' should be a list with at least 5 items, not 4.")


@pytest.mark.parametrize(
    "question", ["- [ ] a) a box", "Answer: 6", "## 3. Is larger\n\nA heading", "```\na code block", "- [x] z) other"]
)
def test_a_question_must_not_read_like_a_part_of_the_sheet(path: Path, question: str) -> None:
    block = "|\n" + "".join(f"      {line}\n" for line in question.split("\n"))
    text = GOOD.replace("question: What changes where the terms of a sum trade places?\n", f"question: {block}")
    text = text.replace('question: "This program', f'question: "{question}\\nThis program'.replace("\n", "\\n"))
    text = text.replace("question: How are two numbers added on paper?\n", f"question: {block}")
    assert any(
        "its Markdown cannot be distinguished from the sheet's own" in problem for problem in problems(path, text)
    )


@pytest.mark.proof(part="quizzes")
def test_any_damage_to_a_source_is_reported_as_sentences_with_places(path: Path) -> None:
    generator = random.Random(5)
    odd = [
        "[]",
        "{}",
        "null",
        "true",
        "-1",
        "1.5",
        ".inf",
        "x",
        "[[a]]",
        "[[answer]]",
        "[1, [2]]",
        "2027-01-01",
        "|",
        "a a",
    ]
    messages: list[str] = []
    for _ in range(300):
        damaged = generator.choice((GOOD, COMPUTED)).split("\n")
        for _ in range(generator.randint(1, 3)):
            here = generator.randrange(len(damaged))
            match generator.randrange(4):
                case 0:
                    del damaged[here]
                case 1:
                    damaged.insert(generator.randrange(len(damaged)), damaged[here])
                case 2:
                    damaged[here] = re.sub(r": .*", f": {generator.choice(odd)}", damaged[here])
                case _:
                    damaged[here] = re.sub(r": [^,}]+", f": {generator.choice(odd)}", damaged[here], count=1)
        path.write_text("\n".join(damaged), encoding="utf-8")
        try:
            load_quiz(path)
        except CourseError as error:
            messages += str(error).split("\n")
    assert len(messages) > 300
    assert not [line for line in messages if not re.fullmatch(r"solutions/sums_quiz\.yml:\d+:\d+: .+[.?]", line)]


def test_an_empty_source_is_reported_with_the_keys_that_belong_there(path: Path) -> None:
    assert problems(path, "") == ["1:1: the file is empty: title and items belong here."]


def test_a_missing_source_is_named(path: Path) -> None:
    with pytest.raises(CourseError, match=r"^solutions/sums_quiz.yml is missing: write the quiz there\.$"):
        load_quiz(path)


def test_the_problems_of_several_quizzes_are_reported_together(path: Path) -> None:
    path.write_text("1", encoding="utf-8")
    with pytest.raises(CourseError) as caught:
        load_quizzes(path.parent, ["sums", "products"])
    sums, products = str(caught.value).split("\n")
    assert sums.startswith("solutions/sums_quiz.yml:1:1:")
    assert products.startswith("solutions/products_quiz.yml is missing")


def test_the_items_in_the_documentation_make_a_quiz(path: Path) -> None:
    text = (courses.REPOSITORY / "docs" / "quizzes.md").read_text(encoding="utf-8")
    items = re.findall(r"```yaml title=\"item\"\n(.*?)```", text, flags=re.DOTALL)
    path.write_text("title: A quiz\nitems:\n" + "".join(items), encoding="utf-8")
    assert [item.kind for item in load_quiz(path).items.values()] == ["one_choice", "number", "order", "bug"]


# -- questions without answers ------------------------------------------------------------------------------------


def test_a_variant_replaces_the_parameters_by_its_values(quiz: QuizSource) -> None:
    mean = quiz.questions.items["mean_of_two"]
    assert mean.text(0) == "What is the mean of 1 and 2.25?"
    assert mean.text(2) == "What is the mean of 3 and -4?"
    assert mean.text(5 * 10**8 + 2) == mean.text(2)


def test_a_list_is_shown_as_a_tuple(quiz: QuizSource) -> None:
    assert "shape (2, 3)?" in quiz.questions.items["how_many_terms"].text(0)


def test_the_lines_of_a_program_are_options_with_their_numbers(quiz: QuizSource) -> None:
    assert quiz.questions.items["no_sum"].options(0) == {
        "a": "line 1: `numbers = [1, 2, 3]`",
        "b": "line 2: `total = 0`",
        "c": "line 3: `for number in numbers:`",
        "d": "line 4: `total = number`",
    }


def test_questions_are_read_as_they_were_written(quiz: QuizSource, tmp_path: Path) -> None:
    (tmp_path / "quizzes.json").write_text(to_json([quiz.questions]), encoding="utf-8")
    assert read_questions(tmp_path / "quizzes.json") == {"sums": quiz.questions}


@pytest.mark.parametrize("content", ["", "[]", "null", '{"schema": 1}', "[" * 100_000, '{"quizzes": []}', "\ud800"])
def test_questions_that_cannot_be_read_are_named(tmp_path: Path, content: str) -> None:
    (tmp_path / "quizzes.json").write_bytes(content.encode("utf-8", "surrogatepass"))
    with pytest.raises(CourseError, match=r"quizzes\.json (is damaged|belongs to another version)"):
        read_questions(tmp_path / "quizzes.json")


def test_questions_contain_no_answers(quiz: QuizSource) -> None:
    assert quiz.questions.items["mean_of_two"].variants[0] == {"a": 1, "b": 2.25}
    assert Questions.model_fields.keys() == {"unit", "title", "items"}


def test_the_quiz_in_a_terminal_starts_without_heavy_modules() -> None:
    code = (
        "import sys, grader.cli.student_cli, grader.quizzes.quiz_terminal\n"
        "print({'torch', 'numpy', 'grader.quizzes.quiz_source'} & set(sys.modules))\n"
        "import grader.quizzes.practice_items\n"
        "print({'torch', 'numpy', 'nbformat', 'nbgrader', 'jupytext'} & set(sys.modules))"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout == "set()\nset()\n"
