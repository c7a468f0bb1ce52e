"""Convert submissions: scripts into notebooks, sheets into quiz cells."""

from __future__ import annotations

import ast
import copy
import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from grader.quizzes.questions import Question, Questions
from grader.quizzes.sheet import has_boxes
from grader.quizzes.sheet_reader import read_sheet

Notebook = dict[str, Any]
Cell = dict[str, Any]

# A line at which a top-level statement begins: also where the whole is no valid Python.
_STATEMENT = re.compile(r"(?m)^(?=@|\w)(?!(?:else|elif|except|finally)\b)")
_DECORATORS = re.compile(r"(@.*\n)+")
_DEFINED = re.compile(r"(?:@.*\n)*(?:(?:async )?def|class) (\w+)|(\w+) = ")
_QUIZ = "quiz_"


def read_notebook(path: Path) -> Notebook:
    notebook: Notebook = json.loads(path.read_text(encoding="utf-8"))
    return notebook


def write_notebook(path: Path, notebook: Notebook) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(notebook, indent=1), encoding="utf-8")


def code_cell(text: str) -> Cell:
    return {"cell_type": "code", "execution_count": None, "metadata": {}, "outputs": [], "source": text}


def text_of(cell: Cell) -> str:
    return "".join(cell["source"])


def grade_id(cell: Cell) -> str:
    """The name of a cell of the course; "" of all others."""
    return str(cell["metadata"].get("nbgrader", {}).get("grade_id", ""))


def is_answer(cell: Cell) -> bool:
    return bool(cell["metadata"].get("nbgrader", {}).get("solution"))


def is_test(cell: Cell) -> bool:
    return bool(cell["metadata"].get("nbgrader", {}).get("grade"))


def solved(source: Notebook, release: Notebook) -> Notebook:
    """The released notebook with what its source has in the answer cells, quiz items included."""
    answers = {
        grade_id(cell): re.sub(r"(?m)^ *### (?:BEGIN|END) SOLUTION.*\n?", "", text_of(cell)).rstrip()
        for cell in source["cells"]
        if is_answer(cell)
    }
    notebook = copy.deepcopy(release)
    for cell in notebook["cells"]:
        cell["source"] = answers.get(grade_id(cell), text_of(cell))
    return notebook


def filled_in(release: Notebook, script: str | None, quiz: Mapping[str, str]) -> Notebook:
    """The released notebook with a script's definitions in their answer cells, and `quiz`, Python by item.

    What is no exercise goes into a cell of its own above the exercise that follows it. What the script does not
    have is deleted from the answer cells too. None is no script: then the answer cells stay as they were released.
    """
    names = {grade_id(cell) for cell in release["cells"] if is_answer(cell)}
    answers, above, rest = _in_parts(script or "", names)
    cells = []
    for cell in copy.deepcopy(release["cells"]):
        name = grade_id(cell)
        if name.startswith(_QUIZ) and is_answer(cell):
            python = quiz.get(name.removeprefix(_QUIZ), "...")
            escaped = python.replace("\\", r"\\")
            cell["source"] = re.sub(r"(?m)^(answer_\d+) = .*$", rf"\1 = {escaped}", text_of(cell))
        elif is_answer(cell) and script is not None:
            if name in above:
                cells.append(code_cell(above[name]))
            cell["source"] = answers.get(name, "")
        cells.append(cell)
    return {**release, "cells": [*cells, *([code_cell(rest)] if rest else [])]}


def _in_parts(script: str, names: set[str]) -> tuple[dict[str, str], dict[str, str], str]:
    """The text of each of `names`, the text above it, and the text below all of them."""
    pieces: list[str] = []
    for piece in _STATEMENT.split(script):
        if pieces and _DECORATORS.fullmatch(pieces[-1]):
            pieces[-1] += piece
        else:
            pieces.append(piece)
    answers: dict[str, str] = {}
    above: dict[str, str] = {}
    rest = ""
    for piece in pieces:
        defined = _DEFINED.match(piece)
        name = defined and (defined[1] or defined[2])
        if name in names:
            answers[name] = answers.get(name, "") + piece
            if rest.strip():
                above[name] = above.get(name, "") + rest
            rest = ""
        else:
            rest += piece
    return answers, above, rest.strip() and rest


def script_of(folder: Path, unit: str) -> str | None:
    """The submitted code of a unit as one text, from a script or a notebook."""
    for place in (folder, folder / "exercises"):
        if (script := place / f"{unit}.py").is_file():
            return script.read_text(encoding="utf-8")
        if (path := place / f"{unit}.ipynb").is_file():
            return "\n\n\n".join(text_of(cell) for cell in read_notebook(path)["cells"] if cell["cell_type"] == "code")
    return None


def sheet_of(folder: Path, questions: Questions) -> Path | None:
    places = (folder / questions.filename, folder / "exercises" / questions.filename)
    return next((path for path in places if path.is_file()), None)


def written_in(sheet: Path, questions: Questions) -> dict[str, str]:
    """The answer to each item of a sheet; for an unreadable one, another unreadable text."""
    read = read_sheet(sheet.read_text(encoding="utf-8"), questions)
    return {
        **read.answers,
        **{name: "a b" if has_boxes(questions.items[name]) else "I do not know" for name in read.problems},
    }


def as_python(question: Question, answer: str) -> str:
    """An answer of a sheet as Python: a number or a shape as itself where Python can read it, all else in quotes."""
    if question.kind == "true_false":
        return {"a": "True", "b": "False"}.get(answer, repr(answer))
    if question.kind in ("several_choices", "order") and len(answer.split()) > 2:
        return repr(answer.split())
    if question.kind in ("number", "shape") and _is_plain(answer):
        return answer
    return repr(answer)


def _is_plain(answer: str) -> bool:
    if re.fullmatch(r"\d+/\d+", answer):
        return True
    try:
        ast.literal_eval(answer)
    except (SyntaxError, ValueError):
        return False
    return True
