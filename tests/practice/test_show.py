"""`grader show`: pictures in a terminal, as SVG and as PNG."""

from __future__ import annotations

import importlib.util
import math
import shutil
from io import StringIO
from pathlib import Path
from xml.etree import ElementTree

import courses
import pytest
from courses import COURSE, REPOSITORY
from rich.console import Console

from grader.engine.failure_matrix import solution_names
from grader.engine.runner import pictures_of_unit
from grader.errors import GraderError
from grader.practice.check import exercises_to_draw
from grader.practice.picture_files import require_picture, to_svg, write_picture
from grader.practice.picture_text import print_picture
from grader.testing.drawings import Drawing, Panel
from grader.testing.pictures import MOST_CELLS, collecting
from grader.testing.student import InProcessBackend

WORDS = ["Your", "journey"]
MASK = Panel("the mask", "mask", [[False, True], [True, True]], [2, 2], [[False, True], [False, False]], WORDS, WORDS)
KINDS = [
    MASK,
    Panel(
        "weights", "weights", [[[0.5, 0.5]], [[1.0, 0.0]]], [2, 1, 2], [[[0.5, 0.5]], [[0.9, 0.1]]], groups=["a", "b"]
    ),
    Panel("grid", "grid", [[1.001, float("-inf")]], [1, 2], [[1.002, float("-inf")]]),
    Panel("bars", "bars", [2.0, -1.0], [2], [2.0, 1.0], rows=WORDS),
    Panel("lines", "lines", [[0.0, 1.0], [1.0, 0.0]], [2, 2], [[0.0, 1.0], [0.5, 0.0]], columns=["sin", "cos"]),
    Panel("steps", "steps", [[2, 8], [2, 8]], [2], [[2, 8], [2, 2, 4]], rows=["x", "split"]),
]
MISSING = Panel("missing", "grid", None, None, [[1.0]])
DRAWING = Drawing("add", "picture_all", "A caption.", [*KINDS, MISSING], "sums.py, line 3: It raised a <ValueError>.")


def printed(drawing: Drawing, encoding: str) -> str:
    file = StringIO()
    console = Console(file=file, width=80, color_system=None, legacy_windows=False)
    type(console).encoding = property(lambda _: encoding)  # type: ignore[assignment, method-assign]
    print_picture(drawing, console)
    return file.getvalue()


def drawings_of_the_solution(unit: str) -> list[Drawing]:
    backend, found = InProcessBackend(unit, solution_names(COURSE, unit)), []
    for criterion in pictures_of_unit(COURSE, unit):
        with collecting() as collected:
            criterion.run(backend)
        found.append(Drawing(criterion.exercise, criterion.name, criterion.sentence, [*collected.panels.values()]))
    return found


@pytest.mark.parametrize("encoding", ["ascii", "cp1252", "utf-8"])
def test_a_plain_terminal_of_80_columns_marks_wrong_cells_by_a_character(encoding: str) -> None:
    text = printed(DRAWING, encoding)
    text.encode(encoding)
    assert max(map(len, text.splitlines())) <= 80
    dark = "█" if encoding == "utf-8" else "#"
    assert "2 of 4 cells differ." in text
    assert f"    journey    {dark}*       {dark}*" in text
    assert "    journey    .*       .*" in text  # expected
    assert "1.0010*" in text  # two decimals would look the same
    assert "(2, 8)*  expected (2, 2, 4)" in text
    assert "-1.00*" in text
    assert "sums.py, line 3: It raised a <ValueError>." in text


@pytest.mark.parametrize("unit", COURSE.units)
def test_every_picture_of_the_course_fits_a_terminal_and_a_small_svg(unit: str) -> None:
    for drawing in drawings_of_the_solution(unit):
        text, svg = printed(drawing, "ascii"), to_svg(drawing)
        assert max(map(len, text.splitlines())) <= 80, text
        assert "..." not in text, text
        assert len(svg.encode()) < 60_000
        assert ElementTree.fromstring(svg).get("width") == "500", drawing.name


def test_the_svg_says_in_words_what_it_shows_and_has_the_colours_of_its_page() -> None:
    svg = to_svg(DRAWING)
    root = ElementTree.fromstring(svg)
    assert root.get("role") == "img"
    label = root.get("aria-label") or ""
    assert "the mask: 2 of 4 cells differ. row journey, column Your is True, expected False" in label
    assert "It raised a <ValueError>." in label
    assert "currentColor" in svg
    assert "background:#fff" in svg.split("svg:root")[1]  # of a file of its own, not of a page


def test_the_largest_picture_that_can_be_drawn_is_small() -> None:
    side = math.isqrt(MOST_CELLS)
    wrong = [[0.1234 + row + column for column in range(side)] for row in range(side)]
    panel = Panel("all wrong", "grid", wrong, [side, side], [[0.0] * side] * side)
    assert len(to_svg(Drawing("add", "picture_x", "", [panel])).encode()) < 60_000


def test_a_png_is_written_with_matplotlib(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    write_picture([DRAWING], tmp_path / "picture.png")
    assert (tmp_path / "picture.png").read_bytes().startswith(b"\x89PNG")


def test_a_file_that_cannot_be_written_is_refused_before_anything_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(GraderError, match=r"picture.jpg is no picture's name: let it end in .svg or .png"):
        require_picture(Path("picture.jpg"))
    monkeypatch.setattr(importlib.util, "find_spec", lambda _: None)
    with pytest.raises(GraderError, match=r"a PNG needs matplotlib: run `pip install matplotlib`, or let the file's"):
        require_picture(Path("mask.png"))


def test_an_exercise_without_a_picture_names_those_that_have_one() -> None:
    assert exercises_to_draw(COURSE, "causal_mask") == ["causal_mask"]
    assert "mask_then_softmax" in exercises_to_draw(COURSE, "causal_attention")
    with pytest.raises(GraderError, match=r"There is no picture of decode\. In bigram_language_model there are"):
        exercises_to_draw(COURSE, "decode")


def test_the_command_prints_the_verdict_the_picture_and_what_can_be_drawn(tmp_path: Path) -> None:
    shutil.copytree(REPOSITORY / "exercises", tmp_path / "exercises", ignore=shutil.ignore_patterns("__pycache__"))
    answers = (REPOSITORY / "solutions" / "causal_attention.py").read_text(encoding="utf-8")
    changed = answers.replace("diagonal=1", "diagonal=0")
    (tmp_path / "exercises" / "causal_attention.py").write_text(changed, encoding="utf-8")
    done = courses.run_grader(tmp_path, "show", "causal_mask", "--out", "mask.svg", "--course", REPOSITORY)
    assert done.returncode == 1, done.stderr
    assert "✗ causal_mask" in done.stdout
    assert "6 of 36 cells differ." in done.stdout
    assert "Nothing else can be drawn." in done.stdout
    assert done.stdout.endswith(f"{tmp_path / 'mask.svg'} is written.\n")
    assert "6 of 36 cells differ." in (tmp_path / "mask.svg").read_text(encoding="utf-8")
