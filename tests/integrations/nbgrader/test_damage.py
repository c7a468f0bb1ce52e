"""Damaged notebooks in one run of nbgrader: what is right earns its points, the rest zero and a sentence."""

from __future__ import annotations

import nbformat
import pytest
from damages import DAMAGES, EVERYTHING
from graded_class import GradedTerm
from handed_in import grade_id, is_test
from terms import Term

pytestmark = pytest.mark.proof(part="nbgrader")


def is_lost(cell: str, lost: tuple[str, ...]) -> bool:
    name = cell.removeprefix("test_")
    return lost == EVERYTHING or name in lost or (name.startswith("quiz_") and "quiz" in lost)


def test_right_answers_earn_points_and_the_rest_is_zero(term: Term) -> None:
    possible = term.scores("undamaged")
    assert sum(possible.values()) == 18
    for name, damage in DAMAGES.items():
        expected = {cell: 0 if is_lost(cell, damage.lost) else points for cell, points in possible.items()}
        assert term.scores(name) == expected, name


def test_lost_points_are_explained(term: Term) -> None:
    for name, damage in DAMAGES.items():
        scores, texts = term.scores(name), []
        for cell in term.autograded(name):
            for output in cell.get("outputs", []):
                if output["output_type"] == "display_data":
                    texts.append("".join(output["data"]["text/plain"]))
                    assert scores.get(grade_id(cell)) != 0 or texts[-1].rstrip().endswith("."), (name, texts[-1])
        assert damage.text in "".join(texts), name


def test_each_graded_notebook_is_valid_and_has_every_cell_of_the_course_once(graded_term: GradedTerm) -> None:
    term = graded_term.term
    release = sorted(filter(None, map(grade_id, term.autograded(".", among="release"))))
    for name in DAMAGES:
        cells = term.autograded(name)
        assert sorted(filter(None, map(grade_id, cells))) == release, name
        assert sum(map(is_test, cells)) == len(graded_term.points(name)), name
        nbformat.validate(nbformat.read(term.folder / "autograded" / name / "sums" / "sums.ipynb", as_version=4))
