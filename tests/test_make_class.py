"""The generator of the example class: its output depends only on the sources, and it reports what no longer fits."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest
from courses import REPOSITORY
from example_class import ClassError, make_class


def contents(folder: Path) -> dict[Path, bytes]:
    return {path.relative_to(folder): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.fixture
def sources(tmp_path: Path) -> Path:
    """A copy of the sources of the generator, which the test may change."""
    for name in ("solutions", "exercises", "examples"):
        shutil.copytree(REPOSITORY / name, tmp_path / name)
    shutil.copy(REPOSITORY / "autograder.yml", tmp_path)
    return tmp_path


def change(path: Path, old: str, new: str) -> None:
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new), encoding="utf-8")


def test_two_runs_write_the_same_bytes(example_class: Path, tmp_path: Path) -> None:
    make_class(REPOSITORY, tmp_path)
    assert contents(tmp_path) == contents(example_class)


def test_a_second_run_replaces_the_students_and_nothing_else(example_class: Path, tmp_path: Path) -> None:
    shutil.copytree(example_class / "gus", tmp_path / "gus")
    (tmp_path / "gus" / "old.py").touch()
    (tmp_path / "hans").mkdir()
    make_class(REPOSITORY, tmp_path)
    assert contents(tmp_path) == contents(example_class)
    assert (tmp_path / "hans").is_dir()


def test_a_change_that_no_longer_applies_names_the_student_the_file_and_the_text(sources: Path, tmp_path: Path) -> None:
    change(sources / "solutions" / "self_attention.py", "/ d_k**0.5", "/ math.sqrt(d_k)")
    message = "chen, self_attention.py, scaled_dot_product_attention: '/ d_k**0.5' occurs 0 times, not once"
    with pytest.raises(ClassError, match=re.escape(message)):
        make_class(sources, tmp_path / "class")


def test_a_change_to_a_removed_exercise_names_the_student_and_the_exercise(sources: Path, tmp_path: Path) -> None:
    change(sources / "solutions" / "multi_head_attention.py", "def merge_heads(", "def join_heads(")
    change(sources / "exercises" / "multi_head_attention.py", "def merge_heads(", "def join_heads(")
    change(sources / "autograder.yml", "merge_heads:", "join_heads:")
    with pytest.raises(
        ClassError, match=re.escape("dina, multi_head_attention.py, merge_heads: the solution does not define it")
    ):
        make_class(sources, tmp_path / "class")


def test_an_answer_to_a_removed_item_names_the_student_the_sheet_and_the_item(sources: Path, tmp_path: Path) -> None:
    change(sources / "examples" / "answers.yml", "two_large_scores: 0.5, a_safe", "two_small_scores: 0.5, a_safe")
    message = "dina, simple_attention_quiz.md: no item is called two_small_scores"
    with pytest.raises(ClassError, match=re.escape(message)):
        make_class(sources, tmp_path / "class")


def test_the_answers_written_by_hand_are_not_overwritten(sources: Path) -> None:
    before = contents(sources)
    with pytest.raises(ClassError, match="name another folder"):
        make_class(sources, sources / "examples" / "class")
    assert contents(sources) == before
