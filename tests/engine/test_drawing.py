"""Pictures and questions: what the engine draws of a submission, and asks about it, after its tests."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from courses import COURSE

from grader.course import left_out
from grader.course.model import load_course
from grader.engine.engine_client import Engine
from grader.engine.failure_matrix import solution_names
from grader.engine.runner import pictures_of_unit
from grader.engine.visible_files import visible_files
from grader.errors import GraderError
from grader.reports.report_model import Result
from grader.submissions.submission import Submission, UnitSource, UnitSubmission
from grader.testing.drawings import Drawing, Panel
from grader.testing.pictures import collecting
from grader.testing.student import InProcessBackend

UNIT = "causal_attention"
SOLUTION = (COURSE.solutions / f"{UNIT}.py").read_text(encoding="utf-8")
STUB = (COURSE.exercises / f"{UNIT}.py").read_text(encoding="utf-8")
MASK = "diagonal=1"
EVERYWHERE = {(0, row, column) for row in range(6) for column in range(6)}


@pytest.fixture(scope="module")
def engine() -> Iterator[Engine]:
    with Engine(COURSE, suites="visible", units=[UNIT]) as engine:
        engine.handshake()
        yield engine


def result_of(engine: Engine, text: str, *drawn: str) -> Result:
    submission = Submission("ada", None, {UNIT: UnitSubmission(UnitSource(f"{UNIT}.py", (text,)))})
    [(_, result)] = engine.turns(1, drawn).all([submission])
    assert isinstance(result, Result), result
    return result


def drawings_of(engine: Engine, text: str, exercise: str) -> dict[str, Drawing]:
    return {one.name: one for one in result_of(engine, text, exercise).drawings}


def changed(after: str, before: str = MASK) -> str:
    assert SOLUTION.count(before) >= 1
    return SOLUTION.replace(before, after)


@pytest.fixture
def forgotten() -> Iterator[None]:
    """Forget the module of pictures afterwards, because each course of a test has one with the same name."""
    before = [*sys.path]
    yield
    sys.modules.pop("pictures_sums", None)
    sys.path[:] = before


@pytest.mark.parametrize(
    ("diagonal", "wrong"),
    [
        ("diagonal=1", set()),
        ("diagonal=0", {(0, token, token) for token in range(6)}),
        ("diagonal=2", {(0, token, token + 1) for token in range(5)}),
        ("diagonal=-9", {cell for cell in EVERYWHERE if cell[2] <= cell[1]}),
    ],
)
def test_a_wrong_mask_changes_exactly_the_drawn_cells_that_are_wrong(
    engine: Engine, diagonal: str, wrong: set[tuple[int, int, int]]
) -> None:
    [panel] = drawings_of(engine, changed(diagonal), "causal_mask")["picture_mask"].panels
    [right] = drawings_of(engine, SOLUTION, "causal_mask")["picture_mask"].panels
    assert panel.wrong == wrong
    assert panel.expected == right.values
    drawn_otherwise = {
        (0, row, column)
        for row in range(6)
        for column in range(6)
        if panel.values[row][column] != right.values[row][column]
    }
    assert drawn_otherwise == wrong


def test_an_unwritten_exercise_is_drawn_as_expected_and_says_what_check_says(engine: Engine) -> None:
    drawing = drawings_of(engine, STUB, "causal_mask")["picture_mask"]
    [panel] = drawing.panels
    assert panel.values is None
    assert panel.expected[0] == [False, True, True, True, True, True]
    assert drawing.problem.startswith(f"{UNIT}.py, line ")
    assert drawing.problem.endswith("It is not written yet.")


def test_hooks_draw_what_named_layers_gave_before_the_code_failed(engine: Engine) -> None:
    text = changed("raise RuntimeError('oh')", "return weights @ values")
    drawing = drawings_of(engine, text, "CausalAttention")["picture_inside_causal_attention"]
    shapes = {panel.name: panel.shape for panel in drawing.panels}
    assert shapes["what W_query returns"] == [1, 6, 2]
    assert shapes["the output"] is None
    assert drawing.problem.endswith("It raised a RuntimeError. oh.")


def test_pictures_change_nothing_about_the_tests(engine: Engine) -> None:
    text = changed("diagonal=0")
    plain, drawn = result_of(engine, text), result_of(engine, text, *COURSE.units[UNIT].exercises)
    assert (plain.drawings, plain.questions) == ([], [])
    assert plain.outcomes == drawn.outcomes
    assert plain.messages == drawn.messages


def test_the_answer_to_a_question_is_what_the_students_code_gives(engine: Engine) -> None:
    [question] = result_of(engine, SOLUTION, "causal_mask").questions
    [of_a_mistake] = result_of(engine, changed("diagonal=0"), "causal_mask").questions
    assert (question.exercise, question.answer, of_a_mistake.answer) == ("causal_mask", 10, 15)
    assert result_of(engine, STUB, "causal_mask").questions == []


@pytest.mark.parametrize("unit", COURSE.units)
def test_every_unit_has_pictures_and_questions_that_its_solution_draws_and_answers(unit: str) -> None:
    backend = InProcessBackend(unit, solution_names(COURSE, unit))
    found: dict[str, list[Panel]] = {"picture": [], "question": []}
    criteria = pictures_of_unit(COURSE, unit)
    for criterion in criteria:
        with collecting() as collected:
            assert criterion.run(backend).passed, criterion.name
        assert criterion.sentence
        found[criterion.name.partition("_")[0]] += [*collected.panels.values()]
    drawn = [one.exercise for one in criteria if one.name.startswith("picture")]
    asked = {one.exercise for one in criteria if one.name.startswith("question")}
    assert len(drawn) >= 3
    assert len(asked) >= 2
    assert asked.union(drawn) <= set(COURSE.units[unit].exercises)
    assert all(panel.shape for panel in found["picture"])


@pytest.mark.parametrize(
    ("body", "problem"),
    [
        ('draw("x", lambda: student.add(1, 2)); draw("x", lambda: 1)', "draws two panels with one name"),
        ('draw("x", lambda: list(range(300)))', "draws too many numbers as 'x'"),
        (
            'draw("x", lambda: student.nothing())',
            "nothing is not defined. This is so with the solution too: correct the test picture_sum_of_two.",
        ),
        (
            "pass\n\n@picture('sub')\ndef other(student):\n    pass",
            "belongs to sub, which autograder.yml does not have",
        ),
    ],
)
@pytest.mark.usefixtures("forgotten")
def test_grader_build_refuses_a_picture_that_the_solution_cannot_draw(
    own_small_course: Path, body: str, problem: str
) -> None:
    source = own_small_course / "solutions" / "sums.py"
    source.write_text(f"# %%\n{source.read_text(encoding='utf-8')}", encoding="utf-8")
    imports = "from grader.testing.pictures import draw, picture"
    picture = f'{imports}\n\n@picture("add")\ndef sum_of_two(student):\n    {body}\n'
    (own_small_course / "exercises" / "checks" / "pictures_sums.py").write_text(picture, encoding="utf-8")
    with pytest.raises(GraderError, match=problem):
        visible_files(load_course(own_small_course))


def test_pictures_of_an_exercise_that_the_course_leaves_out_are_left_out() -> None:
    text = '@picture("add")\ndef sums(student): pass\n@question("scale")\ndef scales(student): student.add(1)\n'
    assert set(left_out.tests_left_out(text, ["add"])) == {"sums", "scales"}
    assert set(left_out.tests_left_out(text, ["scale"])) == {"scales"}
