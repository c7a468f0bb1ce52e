"""The answers that the audit grades, as source texts: what each contains and leaves out."""

from __future__ import annotations

import functools
from collections import Counter
from pathlib import Path

import pytest
from courses import COURSE

from grader.audit.cases import (
    RIGHT,
    WRITTEN,
    AuditError,
    Case,
    cases_of,
    definitions_in,
    in_style,
    sample,
    standing_alone,
    styles_of,
)
from grader.course.model import load_course
from grader.course.new import new_course
from grader.engine.failure_matrix import names_in
from grader.testing.misconceptions import build


@functools.cache
def cases(unit: str) -> list[Case]:
    build(COURSE, [unit])
    return cases_of(COURSE, unit)


@pytest.mark.proof(part="audit")
@pytest.mark.parametrize("unit", COURSE.units)
def test_every_exercise_has_accepted_answers_a_stub_and_wrong_answers_of_every_kind(unit: str) -> None:
    kinds = {exercise: Counter[str]() for exercise in COURSE.units[unit].exercises}
    for case in cases(unit):
        kinds[case.exercise][case.kind] += 1
    for exercise, counts in kinds.items():
        assert (counts["solution"], counts["stub"]) == (1, 1), exercise
        assert counts["right answer"] >= 3, exercise
        assert counts["misconception"] >= 2, exercise
        assert counts["unknown mistake"] >= 2, exercise  # those alone that a misconception could be taken for
        assert counts["mutant"] >= 8, exercise


@pytest.mark.proof(part="audit")
@pytest.mark.parametrize("unit", COURSE.units)
def test_every_handwritten_mistake_is_graded_without_our_own_code(unit: str) -> None:
    marks = ("import grader", "from grader", "@misconception")
    assert [case.name for case in cases(unit) if any(mark in "".join(case.sources.values()) for mark in marks)] == []


def test_an_answer_is_defined_under_the_name_of_its_exercise() -> None:
    for case in cases("bigram_language_model"):
        if case.kind in WRITTEN:
            names = names_in(case.unit, case.sources)
            assert names[case.exercise].__name__ == case.name


def test_an_answer_may_call_the_right_one_that_has_the_exercises_own_name(tmp_path: Path) -> None:
    path = tmp_path / "mistakes.py"
    path.write_text("def add(a, b):\n    return a + b\n\n\ndef twice(a, b):\n    return 2 * add(a, b)\n")
    names = names_in("sums", standing_alone(path, "twice", "sums", "add"))
    assert names["add"](1, 2) == 6


def test_an_answer_has_only_the_imports_and_definitions_that_it_needs(tmp_path: Path) -> None:
    path = tmp_path / "mistakes.py"
    path.write_text("import math\nimport random\nONE = 1\nTWO = 2\n\n\ndef wrong(a):\n    return math.sqrt(a) + ONE\n")
    sources = standing_alone(path, "wrong", "sums", "add")
    assert "import math" in sources["mistakes"]
    assert "ONE = 1" in sources["mistakes"]
    assert "random" not in sources["mistakes"]
    assert "TWO" not in sources["mistakes"]


def test_a_style_has_its_right_answers_and_solutions_where_it_has_none(tmp_path: Path) -> None:
    new_course(tmp_path / "course", "A course")
    course = load_course(tmp_path / "course")
    median = course.suites / "averages" / "median.py"
    median.write_text(median.read_text(encoding="utf-8").partition("def right_answers")[0], encoding="utf-8")

    assert list(styles_of(course, "averages")["with_the_library"]) == ["mean"]
    text = in_style(course, "averages", "with_the_library")
    names = names_in("averages", {"averages": text})
    assert ("statistics.fmean" in text, "statistics.median" in text) == (True, False)
    assert (names["mean"]([1, 2]), names["median"]([3, 1, 2])) == (1.5, 2)


@pytest.mark.proof(part="audit")
def test_a_sample_has_all_accepted_answers_and_some_of_each_other_kind() -> None:
    whole = [case for unit in COURSE.units for case in cases(unit)]
    some = sample(whole)
    assert [case for case in some if case.kind in (*RIGHT, "stub")] == [
        case for case in whole if case.kind in (*RIGHT, "stub")
    ]
    assert {case.kind for case in some} == {case.kind for case in whole}
    assert len(some) < len(whole) / 4


def test_a_mutant_comes_with_the_units_that_its_solution_imports() -> None:
    mutants = [case for case in cases("multi_head_attention") if case.mutant]
    assert all(list(case.sources) == ["causal_attention", "multi_head_attention"] for case in mutants)


def test_a_file_that_cannot_be_read_is_named() -> None:
    with pytest.raises(AuditError, match=r"grader/suites/nothing/add.py is missing: the audit needs it"):
        definitions_in(COURSE.suites / "nothing" / "add.py")
