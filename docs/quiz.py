"""Draws docs/quiz.svg, the picture of `grader quiz`, by answering one question of unit 4 in a new sheet."""

from __future__ import annotations

import builtins
import contextlib
import io
import tempfile
from collections.abc import Iterator
from pathlib import Path

from rich.console import Console

from grader.course.model import load_course
from grader.quizzes.questions import FILENAME, read_questions
from grader.quizzes.quiz_terminal import take_quiz
from grader.quizzes.sheet import write_sheet

ROOT = Path(__file__).resolve().parents[1]

UNIT = "multi_head_attention"
ANSWERED = {"what_a_head_reads": "b", "groups_and_heads": "b", "shape_of_transposed_keys": "(1, 4, 8, 8)"}
TYPED = ["a", "(8, 16)", "stop"]


def main() -> None:
    console = Console(file=io.StringIO(), record=True, width=92, highlight=False, force_terminal=True)
    typed: Iterator[str] = iter(TYPED)

    def read(prompt: str) -> str:
        line = next(typed)
        console.print(f"{prompt}{line}")
        return line

    builtins.input = read  # type: ignore[assignment]
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        source = load_course(ROOT).checks / FILENAME
        questions = read_questions(source)[UNIT]
        Path(questions.filename).write_text(write_sheet(questions, 14, ANSWERED), encoding="utf-8")
        take_quiz(UNIT, console, source, Path(folder))
    console.save_svg(str(ROOT / "docs" / "quiz.svg"), title=f"grader quiz {UNIT}")


if __name__ == "__main__":
    main()
