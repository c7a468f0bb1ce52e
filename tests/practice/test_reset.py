"""`grader reset`: the stub of one exercise again, everything else to the byte, and the old file in a backup."""

from __future__ import annotations

import datetime
import json
from pathlib import Path

import jupytext
import nbformat
import pytest
from courses import COURSE

from grader.errors import GraderError
from grader.practice.student_files import Reset, reset

NOW = datetime.datetime(2026, 11, 25, 20, 30, tzinfo=datetime.UTC)
STUBS = (COURSE.exercises / "simple_attention.py").read_text(encoding="utf-8")
SOLVED = (COURSE.solutions / "simple_attention.py").read_text(encoding="utf-8")
TODO = "    # TODO: Divide by the sum.\n    # YOUR CODE HERE\n    raise NotImplementedError()\n"
BROKEN = "    total = scores.sum(\n    return scores / (total\n"


@pytest.fixture(autouse=True)
def _own_state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


@pytest.fixture
def script(tmp_path: Path) -> Path:
    """The script of unit 1 in the folder of a student; it is not there yet."""
    path = tmp_path / "ada" / "exercises" / "simple_attention.py"
    path.parent.mkdir(parents=True)
    return path


def put_back(file: Path, exercise: str = "normalize_by_sum") -> Reset:
    return reset(COURSE, file.parent.parent, exercise, NOW)


@pytest.mark.parametrize(
    "answer",
    [
        pytest.param("    return scores / scores.sum()\n", id="an answer"),
        pytest.param(BROKEN, id="a syntax error in the answer"),
        pytest.param("    return 1\n\n    # not yet\n", id="comments below it"),
        pytest.param('    """\n    return 1\n', id="a text that is not closed in the last exercise"),
    ],
)
@pytest.mark.parametrize("line_end", ["\n", "\r\n"])
def test_the_stub_is_back_and_nothing_else_has_changed(answer: str, line_end: str, script: Path) -> None:
    exercise, todo = "normalize_by_sum", TODO
    text = f"# mine\n{STUBS}\n\n# my helper\ndef helper():\n    return 1"
    if '"""' in answer:
        exercise, text = "simple_self_attention", STUBS
        todo = STUBS[STUBS.rindex("    # TODO: ") :].partition("\n\n")[0] + "\n"
    assert text.count(todo) == 1
    before = text.replace(todo, answer).replace("\n", line_end).encode()
    script.write_bytes(before)
    done = put_back(script, exercise)
    assert script.read_bytes() == text.replace("\n", line_end).encode()
    assert done.file == "exercises/simple_attention.py"
    assert done.backup is not None
    assert done.backup.read_bytes() == before


def test_the_last_of_several_definitions_is_the_one_that_counts(script: Path) -> None:
    # An old attempt, kept as a text, is no definition.
    old = '\n\nOLD = """\ndef normalize_by_sum(scores):\n    return 0\n"""\n'
    again = "\n\ndef normalize_by_sum(scores):\n    return 1\n"
    script.write_text(STUBS + again + old, encoding="utf-8")
    put_back(script)
    text = script.read_text(encoding="utf-8")
    assert text.startswith(STUBS)
    assert text.endswith(old)
    assert text.count(TODO) == 2


def test_a_byte_order_mark_and_a_decorator_are_no_obstacle(script: Path) -> None:
    text = STUBS.replace("def normalize_by_sum", "@torch.no_grad()\ndef normalize_by_sum")
    script.write_text("\ufeff" + text, encoding="utf-8")
    put_back(script)
    assert script.read_text(encoding="utf-8") == "\ufeff" + STUBS


def test_a_definition_that_is_missing_is_put_below_the_exercise_before_it(script: Path) -> None:
    start = STUBS.index("def normalize_by_sum")
    end = STUBS.index("# %% [markdown]", start)
    before = STUBS[:start] + STUBS[end:]
    script.write_text(before, encoding="utf-8")
    put_back(script)
    text = script.read_text(encoding="utf-8")
    above, cell, below = text.partition(f"\n\n# %%\n{STUBS[start:end].rstrip()}\n")
    assert above.endswith("    # YOUR CODE HERE\n    raise NotImplementedError()\n")
    assert "attention_scores" in above.rpartition("def ")[2]
    assert cell
    assert above + below == before


def test_an_untouched_exercise_is_left_alone(script: Path, tmp_path: Path) -> None:
    script.write_text(STUBS, encoding="utf-8")
    assert put_back(script) == Reset("exercises/simple_attention.py", None)
    assert not list(tmp_path.rglob("backups"))


def test_no_backup_is_overwritten(script: Path) -> None:
    backups = []
    for answer in ("    return 1\n", "    return 2\n", "    return 3\n"):
        script.write_text(STUBS.replace(TODO, answer), encoding="utf-8")
        backups.append(put_back(script).backup)
    assert [path.read_text(encoding="utf-8").count("return ") for path in backups if path] == [1, 1, 1]
    assert len(set(backups)) == 3


SPOILT = STUBS.replace(TODO, BROKEN) + "\n\ndef helper(:\n    pass\n"
LINE = SPOILT.splitlines().index("def helper(:") + 1
OTHER = nbformat.writes(nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell("x = 1")]))


@pytest.mark.parametrize(
    ("suffix", "text", "problem"),
    [
        (".py", SPOILT, rf"^exercises/simple_attention\.py, line {LINE}, is not Python .*nothing was changed"),
        (".py", b"\xff[]", r"^exercises/simple_attention\.py is not text in UTF-8, so nothing was changed"),
        (".ipynb", b"\xff[]", r"^exercises/simple_attention\.ipynb is not a notebook, so nothing was changed"),
        (".ipynb", OTHER, r"(?s)^No cell defines normalize_by_sum.*raise NotImplementedError\(\)"),
        (".txt", SPOILT, r"^simple_attention\.py is missing here: get it again"),
    ],
    ids=["another error", "bytes", "bytes in a notebook", "without the exercise", "missing"],
)
def test_a_file_in_which_nothing_can_be_put_back_is_named_and_kept(
    suffix: str, text: str | bytes, problem: str, script: Path
) -> None:
    before = text.encode() if isinstance(text, str) else text
    file = script.with_suffix(suffix)
    file.write_bytes(before)
    with pytest.raises(GraderError, match=problem):
        put_back(script)
    assert file.read_bytes() == before


def test_in_a_notebook_only_the_cell_of_the_exercise_changes(script: Path) -> None:
    notebook = jupytext.reads(SOLVED, fmt="py:percent")
    [cell] = [one for one in notebook.cells if "def normalize_by_sum" in one.source]
    cell.source = f"%timeit 1\n{cell.source}"
    path = script.with_suffix(".ipynb")
    path.write_text(nbformat.writes(notebook), encoding="utf-8")
    before = json.loads(path.read_text(encoding="utf-8"))
    done = put_back(path)
    assert done.file == "exercises/simple_attention.ipynb"
    after = json.loads(path.read_text(encoding="utf-8"))
    changed = [
        (old, new) for old, new in zip(before["cells"], after["cells"], strict=True) if old["source"] != new["source"]
    ]
    [(old, new)] = changed
    assert "".join(new["source"]).startswith("%timeit 1\ndef normalize_by_sum")
    assert "".join(new["source"]).endswith(TODO.rstrip("\n"))
    assert new | {"source": old["source"]} == old
    assert done.backup is not None
    assert json.loads(done.backup.read_text(encoding="utf-8")) == before
