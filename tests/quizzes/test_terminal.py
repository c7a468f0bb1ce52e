"""`grader quiz`: asks questions one by one, and saves each answer in the sheet at once."""

from __future__ import annotations

import os
import re
import signal
import subprocess
from pathlib import Path

import courses
import pexpect
import processes
import pytest
from courses import COURSE, REPOSITORY
from typer.testing import CliRunner, Result

from grader.cli.student_cli import app
from grader.quizzes.items import mark
from grader.quizzes.questions import to_json
from grader.quizzes.quiz_source import QuizSource, load_quiz
from grader.quizzes.quiz_terminal import Screen
from grader.quizzes.sheet import Sheet, write_sheet
from grader.quizzes.sheet_reader import read_sheet

COMMAND = courses.grader_command("quiz", "sums", "--course", ".")
TYPED = ("b", "c a", "false", "-1.00", "6", "2,3", "b c a d", "d")
WRITTEN = {
    "order_of_terms": "b",
    "even_sums": "a c",
    "is_larger": "b",
    "mean_of_two": "-1.00",
    "how_many_terms": "6",
    "sum_over_rows": "(2, 3)",
    "long_addition": "b c a d",
    "no_sum": "d",
}


class Desk:
    """A student's repository, with the files that everyone received, and a terminal in it."""

    def __init__(self, folder: Path, quiz: QuizSource, monkeypatch: pytest.MonkeyPatch) -> None:
        self.folder = folder
        self.path = folder / "exercises" / "sums_quiz.md"
        self.questions = quiz.questions
        self.monkeypatch = monkeypatch
        self.quizzes = folder / "exercises" / "checks" / "quizzes.json"
        self.quizzes.parent.mkdir(parents=True)
        for name in ("autograder.yml", "exercises/sums.py"):
            (folder / name).write_text(courses.SMALL_COURSE[name], encoding="utf-8")
        self.quizzes.write_text(to_json([quiz.questions]), encoding="utf-8")
        self.path.write_text(write_sheet(quiz.questions, None, {}), encoding="utf-8")

    def put(self, variant: int = 7, /, **answers: str) -> str:
        """Write a sheet with some answers."""
        self.path.write_text(write_sheet(self.questions, variant, answers), encoding="utf-8")
        return self.text()

    def take(self, *lines: str, folder: Path | None = None, unit: str = "sums") -> Result:
        """Run the quiz and type these lines."""
        self.monkeypatch.chdir(folder or self.folder)
        self.monkeypatch.setenv("COLUMNS", "160")
        typed = "".join(f"{line}\n" for line in lines).encode("utf-8", "surrogateescape")
        return CliRunner().invoke(app, ["quiz", unit, "--course", str(self.folder)], input=typed)

    def text(self) -> str:
        return self.path.read_text(encoding="utf-8")

    def sheet(self) -> Sheet:
        return read_sheet(self.text(), self.questions)

    def answers(self) -> dict[str, str]:
        return self.sheet().answers


@pytest.fixture
def desk(tmp_path: Path, quiz: QuizSource, monkeypatch: pytest.MonkeyPatch) -> Desk:
    return Desk(tmp_path, quiz, monkeypatch)


def words(text: str) -> str:
    """The text without line ends, which depend on the terminal's width."""
    return " ".join(text.split())


def asked(done: Result) -> list[int]:
    """The numbers of the questions, in the order in which they were asked."""
    return [int(number) for number in re.findall(r"^(\d+) of 8 ·", done.stdout, re.MULTILINE)]


# -- which sheet is used ----------------------------------------------------------------------------------


def test_the_sheet_that_everyone_received_becomes_one_with_a_variant(desk: Desk, quiz: QuizSource) -> None:
    variants = set()
    for _ in range(5):
        desk.path.write_text(write_sheet(quiz.questions, None, {}).replace("\n", "\r\n"), encoding="utf-8", newline="")
        assert desk.take().exit_code == 0
        variants.add(desk.sheet().variant)
        assert desk.text() == write_sheet(quiz.questions, desk.sheet().variant, {})
    assert variants <= set(range(100))
    assert len(variants) > 1  # one in a hundred million draws the same five times


@pytest.mark.parametrize("content", [None, b"", b"\n\n"])
def test_a_sheet_that_is_missing_or_empty_is_written(desk: Desk, content: bytes | None) -> None:
    desk.path.unlink()
    if content is not None:
        desk.path.write_bytes(content)
    assert desk.take("b").exit_code == 0
    assert desk.answers() == {"order_of_terms": "b"}


def test_a_sheet_with_a_variant_keeps_it(desk: Desk) -> None:
    before = desk.put()
    assert "What is the mean of 3 and -4?" in desk.take("", "", "", "stop").stdout
    assert desk.text() == before


def test_a_sheet_with_answers_and_no_variant_gets_none(desk: Desk) -> None:
    desk.put(0, order_of_terms="b")
    desk.take("a")
    assert (desk.sheet().variant, desk.answers()) == (0, {"order_of_terms": "b", "even_sums": "a"})


def test_the_quiz_is_found_in_the_current_folder_as_well(desk: Desk) -> None:
    assert desk.take("b", folder=desk.path.parent).exit_code == 0
    assert desk.answers() == {"order_of_terms": "b"}


def test_a_sheet_beside_exercises_is_used(desk: Desk, quiz: QuizSource) -> None:
    desk.put()
    desk.path.rename(desk.folder / desk.path.name)
    assert desk.take("b").exit_code == 0
    assert not desk.path.exists()
    text = (desk.folder / desk.path.name).read_text(encoding="utf-8")
    assert read_sheet(text, quiz.questions).answers == {"order_of_terms": "b"}


# -- asking and answering -------------------------------------------------------------------------------------


def test_an_answer_of_every_kind_is_written_into_the_sheet(desk: Desk) -> None:
    desk.put()
    done = desk.take(*TYPED)
    assert (done.exit_code, done.stderr) == (0, "")
    assert asked(done) == [1, 2, 3, 4, 5, 6, 7, 8]
    assert desk.text() == desk.put(**WRITTEN)
    assert done.stdout.endswith("8 of 8 answered. To change an answer: grader quiz sums\n")


@pytest.mark.parametrize(("typed", "sentence"), [("1.6", "1.6 has one decimal"), ("-1", "-1 has no decimals")])
def test_a_number_with_fewer_decimals_than_asked_for_is_saved_and_asked_about(
    desk: Desk, typed: str, sentence: str
) -> None:
    desk.put()
    out = words(desk.take("", "", "", typed, "").stdout)
    assert f"{sentence}, and two are asked for. Keep it, or write another. Your answer: {typed}" in out
    assert desk.answers() == {"mean_of_two": typed}


def test_other_numbers_are_not_asked_about(desk: Desk) -> None:
    for typed in ("1.62", "1.625", "13/8", "2e0"):
        desk.put()
        assert "asked for" not in desk.take("", "", "", typed).stdout


def test_a_question_is_shown_with_its_kind_and_what_to_type(desk: Desk) -> None:
    desk.put()
    out = desk.take("", "").stdout
    assert """
2 of 8 · Even sums · several choices, 3 points

Which of these sums are even?

a) 1 + 3
b) 1 + 2
c) 2 + 4
d) 2 + 5

One letter or more · Enter to skip · back · stop
> """ in re.sub(" +$", "", out, flags=re.MULTILINE).replace("\n>\n", "\n> \n")


def test_the_quiz_starts_with_the_first_unanswered_question(desk: Desk) -> None:
    desk.put(order_of_terms="b", even_sums="a", mean_of_two="1")
    done = desk.take("", "stop")
    assert asked(done) == [3, 4]
    assert "3 of 8 answered.\n" in done.stdout
    assert done.stdout.endswith("3 of 8 answered. To go on: grader quiz sums\n")


def test_a_fully_answered_quiz_starts_with_the_first_question_and_enter_keeps_each_answer(desk: Desk) -> None:
    before = desk.put(**WRITTEN)
    done = desk.take(*[""] * 8)
    assert asked(done) == [1, 2, 3, 4, 5, 6, 7, 8]
    assert "Your answer: (2, 3)\nA shape, written like (2, 4, 5) · Enter to keep it · - to delete it" in done.stdout
    assert desk.text() == before


def test_back_goes_to_the_previous_question_but_not_before_the_first(desk: Desk) -> None:
    desk.put()
    assert asked(desk.take("back", "b", "Back", "c", " BACK ", "STOP")) == [1, 1, 2, 1, 2, 1]
    assert desk.answers() == {"order_of_terms": "c"}


def test_an_answer_can_be_deleted(desk: Desk) -> None:
    blank = desk.put()
    desk.put(**WRITTEN)
    done = desk.take(*["-", ""] * 8)
    assert asked(done) == [1, 2, 3, 4, 5, 6, 7, 8]
    assert desk.text() == blank


@pytest.mark.parametrize(
    ("place", "typed", "sentence"),
    [
        (0, "ab", "only one letter can be the answer, not a and b: choose one of them."),
        (1, "a e", "'a e' is not an option: please answer with letters from a to d."),
        (2, "maybe", "'maybe' is not an option: please answer with one letter from a to b."),
        (3, "1,5", "'1,5' has a comma: write 15 or 1.5."),
        (3, "\x1b[31m[bold]\udcff", "is not a number: write it like 50257, 3.125, 1e-3 or 1/8."),
        (5, "2-3", "'2-3' is not a shape: write whole numbers like (2, 4, 5), (7,) or, for a scalar, ()."),
        (6, "a b c", "d is missing: write each letter once."),
    ],
)
def test_an_unreadable_answer_is_explained_and_the_question_asked_again(
    desk: Desk, place: int, typed: str, sentence: str
) -> None:
    desk.put()
    done = desk.take(*[""] * place, typed, TYPED[place], "stop")
    assert done.exit_code == 0
    assert sentence in words(done.stdout)
    assert "\x1b" not in done.stdout
    assert asked(done)[place:] == [place + 1, place + 2]
    assert list(desk.answers().values()) == [list(WRITTEN.values())[place]]


def test_stopping_and_the_end_of_the_input_keep_what_was_answered(desk: Desk) -> None:
    for lines in (("b", "a", "stop", "b"), ("b", "a")):
        desk.put()
        done = desk.take(*lines)
        assert done.exit_code == 0
        assert done.stdout.endswith("2 of 8 answered. To go on: grader quiz sums\n")
        assert desk.answers() == {"order_of_terms": "b", "even_sums": "a"}


def test_the_output_does_not_depend_on_whether_answers_are_right(desk: Desk, quiz: QuizSource) -> None:
    shown = []
    for part, lines in {
        1: ["b", "a c", "b", "-0.50", "20", "(5,)", "b c a d", "d"],
        0: ["a", "b d", "a", "-1.00", "72", "(3,)", "d a c b", "a"],
    }.items():
        for line, item in zip(lines, quiz.items.values(), strict=True):
            assert mark(item, line, variant=7, weight=1).points == part * item.points
        desk.put()
        shown.append(desk.take(*lines).stdout)
    assert shown[0] == shown[1]


# -- a sheet that was edited by hand -----------------------------------------------------------------------


def test_changes_that_an_editor_saves_meanwhile_are_kept(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    text = desk.put()
    ask = Screen.read_line

    def changed_while_asked(screen: Screen, *choices: str) -> str:
        desk.path.write_text(text.replace("- [ ] d) 2 + 5", "- [x] d) 2 + 5"), encoding="utf-8")
        monkeypatch.setattr(Screen, "read_line", ask)
        return ask(screen, *choices)

    monkeypatch.setattr(Screen, "read_line", changed_while_asked)
    desk.take("b")
    assert desk.answers() == {"order_of_terms": "b", "even_sums": "d"}


@pytest.mark.parametrize(
    ("old", "new", "sentence"),
    [
        ("- [ ] c) 2 + 4\n", "", "the boxes below should be a, b, c and d, each once; there are a, b and d"),
        ("## 2. Even sums", "## 2. Odd sums", "has no heading `## 2. Even sums`"),
        ("- [ ] c) 2 + 4", "- [ ] c) 2 + 8", "this is not the course's question"),
        ("Which of these sums are even?", "Which sums are even?", "this is not the course's question"),
    ],
)
def test_a_damaged_or_outdated_item_is_reported_and_left_unchanged(
    desk: Desk, old: str, new: str, sentence: str
) -> None:
    text = desk.put(even_sums="a", is_larger="a")
    damaged = text.replace(old, new)
    desk.path.write_text(damaged, encoding="utf-8")
    done = desk.take("b", "a", "", "", "7.00", "stop")
    assert done.exit_code == 0
    assert asked(done) == [1, 2, 2, 3, 4, 5]
    assert words(done.stdout).count(sentence) >= 3
    assert "sums_quiz.md" in done.stdout
    assert desk.answers().keys() - {"even_sums"} == {"order_of_terms", "is_larger", "mean_of_two"}
    changed = damaged.replace("- [ ] b) Nothing.", "- [x] b) Nothing.").replace("Answer: ______", "Answer: 7.00", 1)
    assert desk.text() == changed


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        ("---\nquiz: products\n---\n", "sums_quiz.md:2: this is the sheet of another quiz"),
        ("---\nquiz: sums\nvariant: seven\n---\n## 1. Order of terms\n", "sums_quiz.md:3: the variant is not a whole"),
        ("I will do this tomorrow.\n", "sums_quiz.md has none of the quiz's headings"),
        ("\udcff", "exercises/sums_quiz.md is not UTF-8: save it as UTF-8."),
    ],
)
def test_a_file_that_is_not_a_sheet_is_reported_and_left_unchanged(desk: Desk, content: str, sentence: str) -> None:
    written = content.encode("utf-8", "surrogateescape")
    desk.path.write_bytes(written)
    done = desk.take("b")
    assert (done.exit_code, done.stdout) == (2, "")
    assert done.stderr.startswith(sentence)
    assert desk.path.read_bytes() == written


def test_a_sheet_that_cannot_be_read_is_reported(desk: Desk) -> None:
    desk.path.unlink()
    desk.path.mkdir()
    done = desk.take("b")
    assert done.exit_code == 2
    assert done.stderr == "exercises/sums_quiz.md cannot be read (Is a directory): put a readable file there.\n"


def test_a_failed_write_leaves_the_sheet_unchanged(desk: Desk) -> None:
    resource = pytest.importorskip("resource", reason="Windows has no such limits")
    before = desk.put(even_sums="a")
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100, limits[1]))  # bytes of a file
    try:
        done = desk.take("b")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert done.exit_code == 3
    assert done.stderr == "exercises/sums_quiz.md could not be written (File too large). It is as it was before.\n"
    assert desk.text() == before
    assert {file.name for file in desk.path.parent.iterdir()} == {"checks", "sums.py", "sums_quiz.md"}


# -- what it needs --------------------------------------------------------------------------------------------


def test_an_unknown_unit_is_reported_with_the_nearest(desk: Desk) -> None:
    before = desk.path.read_bytes()
    done = desk.take("b", unit="sum")
    assert (done.exit_code, done.stdout) == (2, "")
    assert done.stderr == "There is no quiz 'sum'; the course has sums. Did you mean 'sums'?\n"
    assert desk.path.read_bytes() == before


def test_missing_and_damaged_questions_are_reported_with_where_to_go(desk: Desk) -> None:
    desk.quizzes.write_text("{", encoding="utf-8")
    done = desk.take("b")
    assert (done.exit_code, done.stdout) == (2, "")
    assert done.stderr == f"{desk.quizzes} is damaged: take it again from the course's repository.\n"
    desk.quizzes.unlink()
    done = desk.take("b")
    assert (done.exit_code, done.stdout, done.stderr) == (2, "", "There is no quiz 'sums'.\n")


@pytest.mark.proof(part="quizzes")
def test_the_quiz_works_in_a_terminal_without_unicode(desk: Desk) -> None:
    desk.put()
    environment = {**courses.environment(REPOSITORY), "PYTHONIOENCODING": "ascii:strict"}
    done = subprocess.run(
        COMMAND, cwd=desk.folder, env=environment, input=b"\xe9\nb\n", capture_output=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, b"")
    assert b"1 of 8 - Order of terms - one choice, 1 point" in done.stdout
    assert desk.answers() == {"order_of_terms": "b"}


@pytest.mark.proof(part="quizzes")
@pytest.mark.parametrize("unit", [name for name, unit in COURSE.units.items() if unit.quiz])
def test_every_question_of_the_course_is_shown_in_full(desk: Desk, tmp_path: Path, unit: str) -> None:
    questions = load_quiz(REPOSITORY / "solutions" / f"{unit}_quiz.yml").questions
    desk.quizzes.write_text(to_json([questions]), encoding="utf-8")
    (tmp_path / questions.filename).write_text(write_sheet(questions, 3, {}), encoding="utf-8")
    shown = desk.take(*[""] * len(questions.items), folder=tmp_path, unit=unit).stdout
    items = shown.split(f" of {len(questions.items)} · ")[1:]
    assert len(items) == len(questions.items)
    for question, item in zip(questions.items.values(), items, strict=True):
        options = [f"{letter}) {text}" for letter, text in question.options(3).items()]
        text = re.sub("^ *```.*", "", question.text(3), flags=re.MULTILINE)
        for part in (text, *question.code.splitlines(), *options):
            assert letters_of(part) in letters_of(item)


def letters_of(text: str) -> str:
    """The text without spaces and the characters of Markdown."""
    return re.sub(r"[\s`*_.]", "", text)


# -- a real terminal ------------------------------------------------------------------------------------------


def heed_ctrl_c() -> None:
    """Handle Ctrl-C even if the tests ignore it because they run in the background."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


@pytest.mark.skipif(os.name != "posix", reason="pexpect needs a terminal of POSIX")
def test_ctrl_c_in_a_real_terminal_ends_the_quiz_and_keeps_what_was_answered(desk: Desk) -> None:
    environment = {**courses.environment(REPOSITORY), "TERM": "xterm-256color"}
    with pexpect.spawn(
        COMMAND[0], COMMAND[1:], cwd=desk.folder, env=environment, encoding="utf-8", preexec_fn=heed_ctrl_c
    ) as terminal:
        terminal.timeout = processes.PATIENCE_SECONDS
        terminal.expect_exact("\x1b[1m1 of 8 · Order of terms\x1b[0m · one choice, 1 point")
        for answer, following in (("b", "2 of 8 · Even sums"), ("a c", "3 of 8 · Is larger")):
            terminal.expect_exact("> ")
            terminal.sendline(answer)
            terminal.expect_exact(following)
        terminal.expect_exact("> ")
        ended = None
        while not ended:  # Python misses a Ctrl-C just before it starts to wait for a key, so it is pressed again
            terminal.sendintr()
            ended = terminal.expect([pexpect.TIMEOUT, pexpect.EOF], timeout=1)
        assert "2 of 8 answered. To go on: grader quiz sums" in terminal.before
        assert terminal.wait() == 0
    assert desk.answers() == {"order_of_terms": "b", "even_sums": "a c"}
