"""The code and the answers of a notebook are read, even if it is damaged or contains other things."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from notebooks import code, write_notebook

from grader.submissions.notebook import NOTEBOOK_VALUES, Notebook, read_notebook, repaired
from grader.submissions.submission import UnitSource
from grader.submissions.tree import UnreadableError

ANSWER = "def f(x):\n    return x\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path


def read(folder: Path) -> Notebook:
    notebook = read_notebook(folder, "unit.ipynb")
    assert notebook
    return notebook


def problem(folder: Path) -> str:
    """Why a notebook is not read."""
    with pytest.raises(UnreadableError) as caught:
        read(folder)
    return str(caught.value)


def test_a_missing_notebook_is_none(folder: Path) -> None:
    assert read_notebook(folder, "unit.ipynb") is None


# Conflicts

OUTPUT = [{"output_type": "stream", "name": "stdout", "text": "1"}]


def with_conflicts(folder: Path, ours: list[Any], theirs: list[Any], base: str = "") -> None:
    """Write a notebook as git leaves it where two versions of a cell differ."""
    texts = [[json.dumps(cell, indent=1) for cell in cells] for cells in (ours, theirs)]
    merged = [
        one if one == other else f"<<<<<<< HEAD\n{one}\n{base}=======\n{other}\n>>>>>>> main"
        for one, other in zip(*texts, strict=True)
    ]
    (folder / "unit.ipynb").write_text('{"cells": [\n' + "\n,\n".join(merged) + "\n]}\n")


FIX = "keep one version of it in a text editor, and save it again in Jupyter."


@pytest.mark.parametrize("base", ["", "||||||| 1a2b3c4\n{}\n"])
def test_cells_that_differ_in_a_conflict_are_lost_and_the_others_are_read(folder: Path, base: str) -> None:
    ours, theirs = [code("a = 1"), code("b = 1"), code(ANSWER)], [code("a = 1"), code("b = 2"), code(ANSWER)]
    with_conflicts(folder, ours, theirs, base)
    assert read(folder).code.cells == ("a = 1", "", ANSWER)
    lines = f"lines 10 to {28 if base else 26}"
    assert read(folder).code.remarks == (
        f"unit.ipynb has an unfinished merge (conflict markers in {lines}), in which cell 2 differs; the rest is "
        f"graded: {FIX}",
    )


def test_a_conflict_in_outputs_and_texts_costs_no_code(folder: Path) -> None:
    prose = {"cell_type": "markdown", "source": "ours", "metadata": {}}
    ours, theirs = [prose, code(ANSWER)], [{**prose, "source": "theirs"}, {**code(ANSWER), "outputs": OUTPUT}]
    with_conflicts(folder, ours, theirs)
    assert read(folder).code.cells == (ANSWER,)
    [remark] = read(folder).code.remarks
    assert remark.startswith("unit.ipynb has an unfinished merge (conflict markers in lines 2 to 14 and 1 more), in")
    assert remark.endswith(f"in which no code differs; the rest is graded: {FIX}")


@pytest.mark.parametrize(
    ("ours", "theirs", "kept", "which"),
    [
        ("a|b|c", "a|c", "a||c", "the cells between the first cell and the last cell differ"),
        ("a|c", "a|b|c", "a|c", "the cells between the first cell and the last cell differ"),
        ("a|b|c", "a|d|e|c", "a||c", "the cells between the first cell and the last cell differ"),
        ("a|a|c", "a|a|a|c", "a|a|c", "the cells between the first 2 and the last cell differ"),
        ("a|b|c|c", "a|c|c", "a||c|c", "the cells between the first cell and the last 2 differ"),
        ("a|b", "a", "a|", "the cells after the first cell differ"),
        ("a|b", "a|b|c", "a|b", "the cells after the first 2 differ"),
        ("b|a", "a", "|a", "the cells before the last cell differ"),
        ("c|a|b", "a|b", "|a|b", "the cells before the last 2 differ"),
        ("a|b", "c", "|", "all cells differ"),
    ],
)
def test_cells_that_only_one_version_has_are_lost(folder: Path, ours: str, theirs: str, kept: str, which: str) -> None:
    sides = [",\n".join(json.dumps(code(cell)) for cell in side.split("|")) for side in (ours, theirs)]
    conflict = f"<<<<<<< HEAD\n{sides[0]}\n=======\n{sides[1]}\n>>>>>>> main\n"
    (folder / "unit.ipynb").write_text(f'{{"cells": [\n{conflict}]}}\n')
    assert read(folder).code.cells == tuple(kept.split("|"))
    [remark] = read(folder).code.remarks
    assert f"in which {which}; the rest is graded" in remark


@pytest.mark.parametrize(
    ("text", "problem_"),
    [
        (
            '{"cells": [\n<<<<<<< HEAD\n{}\n=======\n{}},\n>>>>>>> main\n]}',
            f"unit.ipynb has an unfinished merge (conflict markers in lines 2 to 6): {FIX}",
        ),
        (
            '{"cells": [\n<<<<<<< HEAD\n{}\n=======\n]}',
            "unit.ipynb is a notebook that is damaged in line 2, column 1: hand in the whole file, as Jupyter saves "
            "it.",
        ),
    ],
)
def test_a_conflict_that_cannot_be_taken_apart_is_a_problem(folder: Path, text: str, problem_: str) -> None:
    (folder / "unit.ipynb").write_text(text)
    assert problem(folder) == problem_


# Code


def test_a_notebook_has_a_larger_size_limit_than_a_script(folder: Path) -> None:
    picture = {"output_type": "display_data", "data": {"image/png": "A" * 2_000_000}, "metadata": {}}
    write_notebook(folder / "unit.ipynb", {**code(ANSWER), "outputs": [picture]})
    assert read(folder).code.cells == (ANSWER,)
    os.truncate(folder / "unit.ipynb", 65 * 2**20)
    assert problem(folder) == "unit.ipynb is 65.0 MB; at most 64 MB are read: clear its outputs and save it."


def test_the_code_cells_of_a_notebook_are_read_in_order(folder: Path) -> None:
    prose = {"cell_type": "markdown", "source": "# Title", "metadata": {}}
    write_notebook(folder / "unit.ipynb", code("a = 1"), prose, code(["b = 2\r\n", "c = 3"]))
    assert read(folder) == Notebook(UnitSource("unit.ipynb", ("a = 1", "b = 2\nc = 3")), UnitSource("unit.ipynb", ()))


def test_the_tests_of_nbgrader_are_not_the_students_code(folder: Path) -> None:
    answer = code(ANSWER, nbgrader={"grade": False, "solution": True})
    test = code("assert f(1) == 1", nbgrader={"grade": True, "solution": False})
    manual = code("g = 1", nbgrader={"grade": True, "solution": True})
    write_notebook(folder / "unit.ipynb", answer, test, manual)
    assert read(folder).code.cells == (ANSWER, "g = 1")


def test_a_notebook_of_the_old_format_is_read(folder: Path) -> None:
    cells = [{"cell_type": "code", "input": ["a = 1\n", "b = 2"], "language": "python", "outputs": []}]
    (folder / "unit.ipynb").write_text(json.dumps({"nbformat": 3, "worksheets": [{"cells": cells}]}))
    assert read(folder).code.cells == ("a = 1\nb = 2",)


@pytest.mark.parametrize(
    "damaged",
    [None, 7, {}, {"cell_type": "code"}, {"cell_type": ["code"]}, code(["a", 1]), code("\0"), code("\ud800")],
)
def test_a_damaged_cell_does_not_affect_the_others(folder: Path, damaged: Any) -> None:
    write_notebook(folder / "unit.ipynb", damaged, code(ANSWER))
    assert read(folder).code.cells == (ANSWER,)
    assert read(folder).code.remarks == ("unit.ipynb is damaged: cell 1 cannot be read; the rest is graded.",)


def test_many_damaged_cells_make_one_remark(folder: Path) -> None:
    write_notebook(folder / "unit.ipynb", code(ANSWER), None, None, None)
    assert read(folder).code.remarks == (
        "unit.ipynb is damaged: cell 2 and 2 more cannot be read; the rest is graded.",
    )


SAVE_AGAIN = "open it in Jupyter and save it again."
COPY = "copy your cells into a new notebook and hand in that one."
DEEP, LONG = "[" * 100_000 + "]" * 100_000, "1" * 5000
DEEP_WHY = f"cannot be read, because it is nested too deeply: {COPY}"
LONG_WHY = f"cannot be read, because a number in it has more than 4,300 digits: {COPY}"
# The text of a notebook, and why it is not read.
PROBLEMS = {
    "no JSON": ("no notebook", f"is not a notebook (it is not JSON): {SAVE_AGAIN}"),
    "deep": (DEEP, DEEP_WHY),
    "deep metadata": (f'{{"cells": [], "metadata": {DEEP}}}', DEEP_WHY),
    "a long number": (LONG, LONG_WHY),
    "a long number in metadata": (f'{{"cells": [], "metadata": {LONG}}}', LONG_WHY),
    "empty": ("", "is empty: write your answers there and save it."),
    "blank": (" \n", "is empty: write your answers there and save it."),
    "a byte order mark": ("\ufeff", "is empty: write your answers there and save it."),
    "damaged": (
        '{\n "cells": [\n  {"cell_type" "code"}\n ]\n}\n',
        "is a notebook that is damaged in line 3, column 16: hand in the whole file, as Jupyter saves it.",
    ),
    "too many values": (
        '{"cells": [' + "[]," * (NOTEBOOK_VALUES // 2) + "[]]}",
        "holds too many values to be read: clear its outputs and save it.",
    ),
    "too much code": (
        json.dumps({"cells": [code("#" * 700_000), code("#" * 700_000)]}),
        "holds 1.3 MB of code; at most 1 MB are read: hand in your code alone.",
    ),
    **{
        text: (text, f"is not a notebook (it has no cells): {SAVE_AGAIN}")
        for text in ("[]", "null", "{}", '{"cells": {}}', '{"worksheets": "none"}')
    },
}


@pytest.mark.parametrize("name", PROBLEMS)
def test_what_is_not_read_as_a_notebook_is_named(folder: Path, name: str) -> None:
    text, sentence = PROBLEMS[name]
    (folder / "unit.ipynb").write_text(text)
    assert problem(folder) == f"unit.ipynb {sentence}"


def test_a_notebook_that_is_cut_off_anywhere_is_named(folder: Path) -> None:
    outputs = [None, True, False, -1.5e-3, '\u200b \\ " é']
    write_notebook(folder / "unit.ipynb", code("a = 1"), {**code(ANSWER), "outputs": outputs})
    text = (folder / "unit.ipynb").read_text()
    cut_off = "unit.ipynb is a notebook that is cut off in line 1: hand in the whole file, as Jupyter saves it."
    for end in range(len('{"nbformat":'), len(text)):
        (folder / "unit.ipynb").write_text(text[:end])
        assert problem(folder) == cut_off, text[end - 20 : end]


@pytest.mark.parametrize("kind", ["markdown", "raw", "heading"])
def test_an_answer_that_became_a_text_cell_in_jupyter_is_read(folder: Path, kind: str) -> None:
    answer = {"grade": False, "solution": True, "cell_type": "code"}
    cells = [
        code(ANSWER, nbgrader=answer),
        code('answer_1 = "b"', nbgrader={**answer, "grade_id": "quiz_sums"}),
        code("a = 1", nbgrader={"grade": False, "solution": True}),
        code("Of prose", nbgrader={**answer, "cell_type": "markdown"}),
        code("assert f", nbgrader={"grade": True, "solution": False, "cell_type": "code"}),
        code("My notes"),
    ]
    write_notebook(folder / "unit.ipynb", *({**cell, "cell_type": kind} for cell in cells))
    quiz = UnitSource("unit.ipynb", ('answer_1 = "b"',), grade_ids=("quiz_sums",))
    assert read(folder) == Notebook(UnitSource("unit.ipynb", (ANSWER, "a = 1")), quiz)


@pytest.mark.parametrize(
    ("text", "is_named"),
    [
        ("# mine\ndef scores(x):\n    return x", True),
        ("class Block:\n    pass", True),
        ("In words:\n```python\ndef scores(x): ...\n```", False),
        ("class notes of week 3 (short)", False),
        ("def written(x): ...", False),
    ],
)
@pytest.mark.parametrize("kind", ["markdown", "raw"])
def test_a_definition_in_a_text_cell_is_named_if_no_code_cell_has_it(
    folder: Path, kind: str, text: str, is_named: bool
) -> None:
    write_notebook(folder / "unit.ipynb", code("def written(x):\n    return x"), {**code(text), "cell_type": kind})
    [*remarks] = read(folder).code.remarks
    name = "Block" if "Block" in text else "scores"
    sentence = f"unit.ipynb has text cells with code, which is not read: {name} (cell 2). Make them code cells."
    assert remarks == ([sentence] if is_named else [])


def test_an_answer_that_was_merged_into_a_test_of_nbgrader_is_read(folder: Path) -> None:
    test = code(f"# tests\n{ANSWER}", nbgrader={"grade": True, "solution": False})
    write_notebook(folder / "unit.ipynb", test)
    assert read(folder).code.cells == (f"# tests\n{ANSWER}",)


# Answers to the quiz


def marked(item: str, text: str) -> dict[str, Any]:
    return code(text, nbgrader={"grade_id": f"quiz_{item}", "grade": False, "solution": True})


def test_cells_with_answers_belong_to_the_quiz_and_not_to_the_code(folder: Path) -> None:
    cells = [code(ANSWER), marked("sums", 'answer_1 = "b"'), code('# mine\nanswer_2 = [\n    "a",\n]')]
    write_notebook(folder / "unit.ipynb", *cells)
    notebook = read(folder)
    assert notebook.code.cells == (ANSWER,)
    assert notebook.quiz.cells == ('answer_1 = "b"', '# mine\nanswer_2 = [\n    "a",\n]')
    assert notebook.quiz.grade_ids == ("quiz_sums", None)


def test_a_cell_with_code_and_an_answer_belongs_to_both(folder: Path) -> None:
    both = f"{ANSWER}\nanswer_1 = 2"
    write_notebook(folder / "unit.ipynb", marked("sums", both), marked("more", "a = 3\nanswer_2 = a"))
    notebook = read(folder)
    assert notebook.code.cells == (both,)
    assert notebook.quiz.cells == (both, "a = 3\nanswer_2 = a")
    assert notebook.quiz.grade_ids == ("quiz_sums", "quiz_more")


# Notebooks with deleted or copied cells

IMPORTS = "# %%\nimport torch\nfrom torch import Tensor, nn\n\n# %% [markdown]\n# import text\n\n"
OTHERS = '# %%\nfrom other import Other\n\n# %%\ndef f(x):\n    """F."""\n    raise NotImplementedError()\n'
UNWRITTEN = 'def f(x):\n    """F."""\n    # YOUR CODE HERE\n    raise NotImplementedError()'


def damaged(folder: Path, *cells: str) -> UnitSource:
    """The code of a notebook with these cells, repaired with a stub that has imports."""
    write_notebook(folder / "unit.ipynb", *map(code, cells))
    return repaired(read(folder).code, IMPORTS + OTHERS)


def test_deleted_imports_are_added_as_the_first_cell(folder: Path) -> None:
    found = damaged(folder, "def f(x: Tensor):\n    return Other(torch.ones(1))")
    assert found.cells[0] == "import torch\nfrom torch import Tensor, nn\nfrom other import Other"
    assert found.remarks == (
        "unit.ipynb no longer imports torch and Tensor and Other: the import was added as cell 1.",
    )


def test_a_blank_first_cell_makes_room_for_imports_so_that_the_others_keep_their_numbers(folder: Path) -> None:
    found = damaged(folder, "%load_ext grader", "x = torch.ones(1)")
    assert found.cells == ("import torch\nfrom torch import Tensor, nn", "x = torch.ones(1)")


@pytest.mark.parametrize(
    "own",
    [
        "import torch as t",
        "import torch.nn as nn",
        "from torch import nn",
        "import torchvision, math as torch_math",
        "def f():\n    import torch",
        "if False:\n    import torch",
    ],
)
def test_an_import_of_another_name_does_not_replace_a_deleted_one(folder: Path, own: str) -> None:
    found = damaged(folder, own, "x = torch.ones(1)")
    assert found.cells == ("import torch\nfrom torch import Tensor, nn", own, "x = torch.ones(1)")
    assert "no longer imports torch:" in found.remarks[0]


@pytest.mark.parametrize(
    "own",
    [
        "import torch\nfrom torch import nn",
        "import math; import torch.utils.data; from torch import nn",
        "import torch\nfrom torch import (\n    Tensor,  # types, mostly\n    nn,\n)",
        "import math, torch\nfrom torch.nn import Module as nn",
        "def f(x):\n    return x",
        "import torch\nclass nn:\n    pass",
        "import torch\nnn = torch.nn",
        "try:\n    import torch\n    from torch import nn\nexcept ImportError:\n    !pip install torch",
        "with a[1:2] as b: # :\n    import torch\n\n    from torch import nn\n",
        # A quadratic search would take a minute.
        pytest.param(f"import torch\nfrom torch import nn\nwith {':' * 500_000}", id="many colons"),
    ],
)
def test_equivalent_imports_are_left_unchanged(folder: Path, own: str) -> None:
    cells = (own, "" if own.startswith("def") else "def f(x: nn.Module):\n    return torch.ones(1)")
    assert damaged(folder, *cells) == UnitSource("unit.ipynb", cells)


def test_an_unwritten_cell_below_the_answer_is_emptied_with_a_remark(folder: Path) -> None:
    found = damaged(folder, ANSWER, UNWRITTEN, UNWRITTEN)
    assert found.cells == (ANSWER, "", "")
    assert found.remarks == ("unit.ipynb has an unwritten f below yours, which was graded: remove it.",)


def test_an_unwritten_cell_above_the_answer_is_emptied_without_a_remark(folder: Path) -> None:
    assert damaged(folder, UNWRITTEN, ANSWER) == UnitSource("unit.ipynb", ("", ANSWER))


def test_unwritten_cells_stay_if_no_cell_has_the_answer(folder: Path) -> None:
    assert damaged(folder, UNWRITTEN, UNWRITTEN, "a = 1") == UnitSource("unit.ipynb", (UNWRITTEN, UNWRITTEN, "a = 1"))
