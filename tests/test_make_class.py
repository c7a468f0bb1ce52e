"""The generator of the example class: its output depends only on the sources, and it reports what no longer fits."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest
from courses import REPOSITORY, replace
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


def test_a_second_run_replaces_the_students_and_nothing_else(example_class: Path, tmp_path: Path) -> None:
    shutil.copytree(example_class / "gus", tmp_path / "gus")
    (tmp_path / "gus" / "old.py").touch()
    (tmp_path / "hans").mkdir()
    make_class(REPOSITORY, tmp_path)
    assert contents(tmp_path) == contents(example_class)
    assert (tmp_path / "hans").is_dir()


MERGE = ("def merge_heads(", "def join_heads(")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"solutions/self_attention.py": ("/ d_k**0.5", "/ math.sqrt(d_k)")},
            "chen, self_attention.py, scaled_dot_product_attention: '/ d_k**0.5' occurs 0 times, not once",
        ),
        (
            {
                "solutions/multi_head_attention.py": MERGE,
                "exercises/multi_head_attention.py": MERGE,
                "autograder.yml": ("merge_heads:", "join_heads:"),
            },
            "dina, multi_head_attention.py, merge_heads: the solution does not define it",
        ),
        (
            {"examples/answers.yml": ("two_large_scores: 0.5, a_safe", "two_small_scores: 0.5, a_safe")},
            "dina, simple_attention_quiz.md: no item is called two_small_scores",
        ),
    ],
)
def test_an_answer_that_no_longer_fits_is_named_with_its_student_and_file(
    changes: dict[str, tuple[str, str]], message: str, sources: Path, tmp_path: Path
) -> None:
    for name, (old, new) in changes.items():
        replace(sources / name, old, new)
    with pytest.raises(ClassError, match=re.escape(message)):
        make_class(sources, tmp_path / "class")


def test_the_answers_written_by_hand_are_not_overwritten(sources: Path) -> None:
    before = contents(sources)
    with pytest.raises(ClassError, match="name another folder"):
        make_class(sources, sources / "examples" / "class")
    assert contents(sources) == before
