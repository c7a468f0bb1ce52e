"""A file that is of another kind than its name says is read under its right name, or one sentence says what it is."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from notebooks import code, write_notebook

from grader.submissions.notebook import CODE_LIMIT
from grader.submissions.reader import find_files, read_submission
from grader.submissions.submission import UnitSource, UnitSubmission

STUB = "import torch\n\n\ndef f(x):\n    raise NotImplementedError()\n"
ANSWER = "def f(x):\n    return x\n"
SHEET = "# Quiz\n\n## 1. Sums\n\nAnswer: 3\n"
NOTEBOOK = json.dumps({"cells": [code(ANSWER), code("answer_1 = 2")], "nbformat": 4})
PAGE = "\n\n<!DOCTYPE html>\n<html>\n<pre>\ndef f(x):\n</pre></html>"
IS_PAGE = "is a web page (HTML), such as an export or a page that shows the file"
MARIMO = """\
import marimo

app = marimo.App(width="medium")


@app.cell
def _():
    import torch
    return (torch,)


@app.cell(hide_code=True)
def _(mo):
    def f(x):
        return x
    return (f,)


if __name__ == "__main__":
    app.run()
"""
IS_MARIMO = (
    "is a marimo notebook, whose functions exist only inside its cells: run `marimo export ipynb unit.py -o "
    "unit.ipynb` and hand in that notebook."
)
IS_DOCUMENT = (
    "is a Markdown or Quarto document, of which the Python blocks were read: convert it to a notebook, for example "
    "with `quarto convert`."
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "ada").mkdir()
    (tmp_path / "stubs").mkdir()
    (tmp_path / "stubs" / "unit.py").write_text(STUB)
    return tmp_path / "ada"


def read(folder: Path) -> UnitSubmission:
    return read_submission("ada", folder, ["unit"], folder.parent / "stubs", quiz_names=["unit"]).units["unit"]


def script(folder: Path) -> UnitSource:
    code = read(folder).code
    assert code
    return code


# Read under the right name


@pytest.mark.parametrize("place", ["", "exercises/"])
def test_a_notebook_that_is_saved_as_a_script_is_read(folder: Path, place: str) -> None:
    (folder / "exercises").mkdir()
    (folder / place / "unit.py").write_text(NOTEBOOK)
    remark = f"{place}unit.py is a notebook: rename it to unit.ipynb."
    assert read(folder).code == UnitSource(f"{place}unit.ipynb", (ANSWER,), (remark,))
    found = find_files(folder, "unit", folder.parent / "stubs", ["unit"], has_quiz=False)
    assert found.own_paths == {"unit.ipynb": f"{place}unit.py"}


def test_a_notebook_with_large_outputs_is_known_under_the_name_of_a_script(folder: Path) -> None:
    cell = {**code(ANSWER), "outputs": ["x" * (CODE_LIMIT + 1)]}
    write_notebook(folder / "unit.py", cell)
    assert script(folder).cells == (ANSWER,)


@pytest.mark.parametrize("text", [ANSWER, "# %%\nimport torch\nf = torch.abs\n", f"<<<<<<< HEAD\n{ANSWER}"])
def test_a_script_that_is_saved_as_a_notebook_is_read(folder: Path, text: str) -> None:
    (folder / "unit.ipynb").write_text(text)
    remark = "unit.ipynb is Python code as text, not a notebook: rename it to unit.py."
    assert read(folder) == UnitSubmission(UnitSource("unit.py", (text,), (remark,)), quiz_problem=remark)


def test_two_different_answers_are_named_by_their_own_names(folder: Path) -> None:
    (folder / "unit.py").write_text(NOTEBOOK)
    write_notebook(folder / "unit.ipynb", code("def f(x):\n    return 2 * x\n"))
    assert script(folder).cells == (ANSWER,)
    assert script(folder).remarks == (
        "unit.py is a notebook: rename it to unit.ipynb.",
        "Both `unit.py` and `unit.ipynb` contain answers; only `unit.py` was graded.",
    )


@pytest.mark.parametrize(
    ("name", "content", "right"),
    [
        ("unit.ipynb.json", NOTEBOOK, "unit.ipynb"),
        ("unit.json", NOTEBOOK, "unit.ipynb"),
        ("unit (1).py", NOTEBOOK, "unit.ipynb"),
        ("old/unit.py", NOTEBOOK, "unit.ipynb"),
        ("unit.txt", ANSWER, "unit.py"),
        ("unit.ipynb.txt", ANSWER, "unit.py"),
    ],
)
def test_a_copy_under_another_name_is_read_as_what_it_is(folder: Path, name: str, content: str, right: str) -> None:
    (folder / "old").mkdir()
    (folder / "unit.py").write_text(STUB)
    (folder / name).write_text(content)
    assert script(folder).cells == (ANSWER,)
    assert script(folder).filename == right
    assert script(folder).remarks == (f"{name!r} was graded as {right}: rename it to {right}.",)


def test_a_sheet_that_is_saved_as_a_text_file_is_read(folder: Path) -> None:
    (folder / "unit_quiz.txt").write_text(SHEET)
    remark = "'unit_quiz.txt' was graded as unit_quiz.md: rename it to unit_quiz.md."
    assert read(folder).quiz == UnitSource("unit_quiz.md", (SHEET,), (remark,))


@pytest.mark.parametrize("name", ["notes on unit.txt", "unit.json"])
def test_a_text_about_a_unit_is_ignored_and_not_hidden(folder: Path, name: str) -> None:
    (folder / "unit.py").write_text(STUB)
    (folder / name).write_text("{}")
    assert read(folder).code == UnitSource("unit.py", (STUB,))
    ignored = read_submission("ada", folder, ["unit"], folder.parent / "stubs").ignored
    assert [one.path for one in ignored] == [name]


# Documents with code


@pytest.mark.parametrize(
    "text",
    [
        "---\ntitle: Unit\n---\n\nProse\n\n```{python}\n#| echo: false\n%s```\n\nMore\n",
        "---\njupyter:\n  kernel: x\n---\n# Unit\n```python\n%s```\nclass of text\n~~~\nno code\n~~~\n",
        "---\na: b\n---\n````{code-cell} ipython3\n%s````\n```{r}\nx <- 1\n```\n",
        "# Unit\n\n```{python}\n%s```\n",
    ],
)
@pytest.mark.parametrize("name", ["unit.py", "unit.qmd", "unit.Rmd"])
def test_the_python_blocks_of_a_document_are_read_in_their_lines(folder: Path, name: str, text: str) -> None:
    (folder / name).write_text(text % ANSWER)
    [cell] = script(folder).cells
    assert [line for line in cell.split("\n") if line and not line.startswith("#|")] == ANSWER.rstrip().split("\n")
    assert cell.split("\n").index("def f(x):") == (text % ANSWER).split("\n").index("def f(x):")
    remark = IS_DOCUMENT
    if "{code-cell}" in text:  # of MyST, which Quarto does not read
        remark = remark.replace("quarto convert", "jupytext --from md:myst --to ipynb")
    assert script(folder).remarks == (f"{name if name == 'unit.py' else repr(name)} {remark}",)


def test_the_python_blocks_of_a_markdown_file_are_read_whatever_else_is_in_it(folder: Path) -> None:
    (folder / "unit.md").write_text(f"# Unit\n\nDon't panic.\n\n```python\n{ANSWER}```\n")
    assert script(folder).cells == (f"{chr(10) * 5}{ANSWER}{chr(10)}",)
    assert script(folder).remarks == (f"'unit.md' {IS_DOCUMENT}",)


@pytest.mark.parametrize("text", [f"import math\n```python\n{ANSWER}```\n", ANSWER])
def test_a_script_that_is_saved_as_a_markdown_file_is_read_whole(folder: Path, text: str) -> None:
    (folder / "unit.md").write_text(text)
    assert script(folder) == UnitSource("unit.py", (text,), ("'unit.md' was graded as unit.py: rename it to unit.py.",))


@pytest.mark.parametrize(
    "text",
    [
        f'"""How to use it:\n```{{python}}\nf(1)\n```\n"""\n{ANSWER}',
        f'"""\n---\n```python\ndef g(): ...\n```\n---\n"""\n{ANSWER}',
        f"# ---\n# jupyter:\n# ---\n{ANSWER}",
        f"```python\n{ANSWER}```\n",
    ],
)
def test_a_script_with_fences_is_no_document(folder: Path, text: str) -> None:
    (folder / "unit.py").write_text(text)
    assert script(folder) == UnitSource("unit.py", (text,))


# Named


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (PAGE, f"{IS_PAGE}: hand in the script or the notebook itself."),
        ("<html><body>", f"{IS_PAGE}: hand in the script or the notebook itself."),
        ('<?xml version="1.0"?>\n<!DOCTYPE html>', f"{IS_PAGE}: hand in the script or the notebook itself."),
        (
            "version https://git-lfs.github.com/spec/v1\noid sha256:1\nsize 9\n",
            "is a pointer of Git LFS without the file: hand in the script or the notebook itself.",
        ),
        ("\nhttps://colab.research.google.com/x\n", "holds only a link: hand in the script or the notebook itself."),
        ("[InternetShortcut]\nURL=https://x\n", "holds only a link: hand in the script or the notebook itself."),
        (
            "404: Not Found",
            "is the answer of a server that did not find the file (404): hand in the script or the notebook itself.",
        ),
        (
            "  1 import torch\n  2 \n  3 def f(x):\n  4     return x\n",
            "has the number of each line in front of it: hand in the script or the notebook itself.",
        ),
        (
            f"diff --git a/unit.py b/unit.py\n+{ANSWER}",
            "is a patch (a diff): hand in the script or the notebook itself.",
        ),
        (
            f"--- a/unit.py\t2026-01-01\n+++ b/unit.py\n@@ -1 +1,2 @@\n+{ANSWER}",
            "is a patch (a diff): hand in the script or the notebook itself.",
        ),
        (MARIMO, IS_MARIMO),
        (
            NOTEBOOK[:100],
            "is a notebook that is cut off in line 1: hand in the whole file, as Jupyter saves it.",
        ),
        ("\n \n", "is empty: write your answers there and save it."),
    ],
)
@pytest.mark.parametrize("name", ["unit.py", "unit.ipynb"])
def test_a_file_that_is_no_code_is_named(folder: Path, name: str, content: str, sentence: str) -> None:
    (folder / name).write_text(content)
    assert (read(folder).code, read(folder).problem) == (None, f"{name} {sentence}")


def with_sign(sign: str) -> str:
    return "".join(f"{sign}{line}\n".replace(" \n", "\n") for line in ["import torch", "", *ANSWER.splitlines()])


IS_QUOTED = "is quoted as in a mail, with `>` in front of each line"
IS_STRING = "holds its code in quotes and with `\\n` for each line end, as Python shows a string"


@pytest.mark.parametrize(
    ("content", "what"),
    [
        (with_sign("> "), IS_QUOTED),
        (with_sign("> > "), IS_QUOTED),
        (f"On Monday, Ada wrote:\n\n{with_sign('> ')}\n", IS_QUOTED),
        (with_sign("+"), "is a patch (a diff)"),
        (f"@@ -1,2 +1,9 @@\n{with_sign('+')}", "is a patch (a diff)"),
        (f"{ANSWER.encode()!r}", IS_STRING),
        (f"{ANSWER!r}\n", IS_STRING),
        (f" {'it is ' + chr(39) + ANSWER!r}", IS_STRING),
        (r"'a\n'", IS_STRING),
        (r"b'\n'", IS_STRING),
    ],
)
def test_a_script_with_a_sign_before_each_line_or_in_quotes_is_named(folder: Path, content: str, what: str) -> None:
    (folder / "unit.py").write_text(content)
    sentence = f"unit.py {what}: hand in the script or the notebook itself."
    assert (read(folder).code, read(folder).problem) == (None, sentence)


@pytest.mark.parametrize(
    "content",
    [
        with_sign(">>> "),
        f"> {ANSWER}",
        f"+1\n{ANSWER}",
        f"'a\\n'\n{ANSWER}",
        f'"""\n> a\n> b\n"""\n{ANSWER}',
        '"""A\\n"""',
        "f = 'a\\n'",
        "'a\\n'[1:]",
        "'a'",
        "'a\\n' + \\\n'b'",
        # A quadratic search would take a minute.
        pytest.param("'" + "\\n'" * 100_000 + "\nx = 1", id="many quotes"),
        pytest.param(f"--- {'a' * 500_000}", id="long line"),
    ],
)
def test_a_script_with_a_few_such_lines_is_read(folder: Path, content: str) -> None:
    (folder / "unit.py").write_text(content)
    assert script(folder).cells == (content,)


INDENTED = "is indented as a whole, from line 2 on, which Python refuses; it was read without that indentation"


@pytest.mark.parametrize("indentation", ["  ", "    ", "\t"])
def test_a_script_that_is_indented_as_a_whole_is_read_without_that(folder: Path, indentation: str) -> None:
    lines = ["# a note", "a = 1", "def f(x):", "    # a comment", "    return x", "", "# the end"]
    (folder / "unit.py").write_text("\n".join(f"{indentation if line else ''}{line}" for line in lines))
    assert script(folder).cells == ("\n".join(lines),)
    assert script(folder).remarks == (f"unit.py {INDENTED}: move all lines to the left margin.",)
    (folder / "unit.py").write_text("\n".join([lines[0], *(f"{indentation}{line}" for line in lines[1:-1]), lines[-1]]))
    assert script(folder).cells == ("\n".join(lines),)


@pytest.mark.parametrize(
    "content",
    [
        "    a = 1\n    def f(x):\n        return x\nb = 2\n",
        '    """A text\nat the margin."""\n    def f(x):\n        return x\n',
        "    a = 1\n\tdef f(x):\n\t    return x\n",
    ],
)
def test_a_script_with_another_indentation_is_read_as_it_is(folder: Path, content: str) -> None:
    (folder / "unit.py").write_text(content)
    assert (script(folder).cells, script(folder).remarks) == ((content,), ())


@pytest.mark.parametrize("name", ["unit.html", "unit.py.html", "unit.ipynb.html", "hw unit.htm"])
def test_an_export_under_its_own_name_is_named_if_there_is_no_answer(folder: Path, name: str) -> None:
    (folder / name).write_text(PAGE)
    sentence = f"{name!r} {IS_PAGE}: hand in the script or the notebook itself."
    assert read(folder).problem == sentence
    (folder / "unit.py").write_text(STUB)
    assert script(folder).remarks == (f"{sentence} unit.py is graded.",)
    (folder / "unit.py").write_text(ANSWER)
    assert script(folder).remarks == ()


def test_a_download_that_is_not_complete_is_named(folder: Path) -> None:
    (folder / "unit.ipynb.crdownload").write_text(NOTEBOOK[:100])
    assert read(folder).problem.startswith("'unit.ipynb.crdownload' is a notebook that is cut off in line 1")


def test_a_script_of_comments_is_named(folder: Path) -> None:
    (folder / "unit.py").write_text("# %%\n  # my answers\n\n")
    assert read(folder).problem == "unit.py holds only comments: write your answers there and save it."


def test_a_sheet_that_is_a_web_page_is_named(folder: Path) -> None:
    (folder / "unit_quiz.md").write_text(PAGE)
    assert read(folder).quiz_problem == f"unit_quiz.md {IS_PAGE}: hand in the sheet itself."


@pytest.mark.parametrize("decorator", ["", "@app.function\n", "@app.function(\n    hide_code=True,\n)\n"])
def test_functions_outside_the_cells_of_marimo_are_read(folder: Path, decorator: str) -> None:
    (folder / "unit.py").write_text(f"{MARIMO}\n\n{decorator}{ANSWER}")
    assert script(folder).remarks == (
        "unit.py is a marimo notebook: what its cells (`@app.cell`) define was not read, only what is outside.",
    )
    (folder / "unit.py").write_text(f"import marimo\napp = marimo.App()\n\n{decorator}{ANSWER}")
    assert script(folder).remarks == ()


def test_a_dictionary_is_no_notebook(folder: Path) -> None:
    (folder / "unit.py").write_text(f'{{"source": 1}}\n{ANSWER}')
    assert script(folder).remarks == ()


def test_what_looks_like_a_notebook_and_like_a_script_is_read_once(folder: Path) -> None:
    (folder / "unit.py").write_text(f'{{"cells": {"[" * 100_000}\n{ANSWER}')
    assert read(folder).problem == (
        "unit.py cannot be read, because it is nested too deeply: copy your cells into a new notebook and hand in that "
        "one."
    )
