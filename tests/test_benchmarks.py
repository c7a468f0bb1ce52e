"""The benchmarks: their class has the answers that its names say, and their baseline runs the same tests."""

from __future__ import annotations

import shutil
import sys
import zipfile
from pathlib import Path
from typing import Any

import pytest
from courses import COURSE, REPOSITORY
from units import SUITES

from grader.audit.cases import with_imports
from grader.audit.run import names_in
from grader.engine.client import Engine
from grader.reports.results import Result
from grader.sandbox.loader import split

sys.path.insert(0, str(REPOSITORY / "benchmarks"))
import autograde
import class_throughput as benchmark
import cluster
import regrades
import term
import term_class


@pytest.fixture(scope="module")
def submissions(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("class")
    benchmark.make_class(folder)
    return folder


def test_the_class_is_the_same_in_each_run(submissions: Path, tmp_path: Path) -> None:
    students = benchmark.make_class(tmp_path)
    assert len(students) >= 20
    for student in students:
        for unit in COURSE.units:
            file = Path(student) / f"{unit}.py"
            assert (tmp_path / file).read_text() == (submissions / file).read_text()


@pytest.mark.proof(part="grading")
def test_right_answers_of_different_styles_fit_together(submissions: Path, tmp_path: Path) -> None:
    for student in submissions.glob("right-*"):
        shutil.copytree(student, tmp_path / student.name)
    _, reports = benchmark.run_ours(tmp_path)
    assert len(reports) == benchmark.RIGHT
    for report in reports.values():
        assert report["points"] == report["possible"], report["student"]


@pytest.mark.parametrize("unit", COURSE.units)
def test_the_source_of_a_mistake_fails_the_tests_of_its_misconception(unit: str) -> None:
    suite = SUITES[unit]
    mistakes = suite.known
    for mistake in mistakes[:: len(mistakes) // 4]:
        names: dict[str, Any] = {"__name__": unit}
        exec(f"from __future__ import annotations\n{benchmark.source_of(mistake)}", names)
        missed = set(suite.outcomes(names, mistake.exercise)) - suite.passed(names, mistake.exercise)
        assert missed == suite.missed_by(mistake)


def test_the_baseline_runs_every_test_of_a_unit_and_a_right_answer_passes_all(submissions: Path) -> None:
    unit = next(iter(COURSE.units))
    took, passed = benchmark.run_baseline(submissions / "right-00", unit)
    assert passed == len(SUITES[unit].criteria)
    assert took.wall > 0


@pytest.mark.proof(part="grading")
def test_a_stub_passes_no_test_of_the_baseline(submissions: Path) -> None:
    _, passed = benchmark.run_baseline(submissions / "unfinished-00", next(iter(COURSE.units)))
    assert passed == 0


@pytest.mark.proof(part="grading")
def test_each_partly_right_submission_has_two_mistakes(engine: Engine) -> None:
    submissions = list(regrades.partly_right(COURSE))
    assert len({submission.student for submission in submissions}) == 10
    for submission, result in engine.grade(submissions, 2):
        assert isinstance(result, Result)
        wrong = {one.exercise for one in result.outcomes if not one.passed}
        assert len(wrong) == 2, submission.student


@pytest.mark.parametrize("unit", COURSE.units)
def test_a_right_answer_is_split_into_the_cells_of_its_exercises(unit: str) -> None:
    exercises = COURSE.units[unit].exercises
    for text in benchmark.accepted_answers(unit):
        answers = autograde.pieces(text, exercises)
        for exercise, answer in answers.items():
            assert exercise in {name for statement in split(answer) for name in statement.names}
        whole = "\n\n".join(answers.values())
        assert exercises.keys() <= names_in(unit, with_imports(unit, whole, REPOSITORY / "solutions")).keys()


@pytest.mark.parametrize(("folder", "share"), [("solutions", 1), ("exercises", 0)])
def test_a_test_cell_for_nbgrader_gives_a_point_for_each_test_that_passes(folder: str, share: int) -> None:
    unit = next(iter(COURSE.units))
    names = names_in(unit, {unit: benchmark.read(folder, unit)})
    for exercise, possible in autograde.possible_points(unit).items():
        *before, last = autograde.tests_of(unit, exercise).splitlines()
        exec("\n".join(before), names)
        assert eval(last, names) == possible * share


def test_a_difference_on_a_right_answer_stops_the_comparison() -> None:
    unit = next(iter(COURSE.units))
    right = {("right-00", exercise): float(most) for exercise, most in autograde.possible_points(unit).items()}
    assert f"the same points in {len(right)} of {len(right)} cells" in autograde.agreement(right, right, unit)
    one_less = {**right, min(right): right[min(right)] - 1}
    for ours, baseline in ((right, one_less), (one_less, right), (one_less, one_less)):
        with pytest.raises(SystemExit, match="right-00"):
            autograde.agreement(ours, baseline, unit)


# -- a cluster -----------------------------------------------------------------------------------------------------


def test_no_two_submissions_of_the_large_class_are_the_same(tmp_path: Path) -> None:
    unit = next(iter(COURSE.units))
    students = cluster.make_class(tmp_path, unit, 40)
    assert {student.partition("-")[0] for student in students} == {"right", "mistaken", "unfinished"}
    assert len({(tmp_path / student / f"{unit}.py").read_text() for student in students}) == 40


# -- a term --------------------------------------------------------------------------------------------------------


def test_the_downloads_of_a_term_are_the_same_in_each_run_and_hold_every_kind_of_student(tmp_path: Path) -> None:
    units = list(COURSE.units)[:3]
    due = {unit: COURSE.units[unit].due for unit in units}
    downloads = []
    for run in ("first", "second"):
        a_class = term_class.make(60, units, tmp_path / "class", due)
        (tmp_path / run).mkdir()
        downloads.append([one for unit in units for one in term_class.write_downloads(a_class, unit, tmp_path / run)])
    assert [path.read_bytes() for path in downloads[0]] == [path.read_bytes() for path in downloads[1]]
    assert {path.name for path in downloads[0]} >= {f"{unit}.zip" for unit in units}
    statuses = {student.status(place) for student in a_class.students for place in range(len(COURSE.units))}
    assert statuses == {"", "absent", "resubmitted", "late", "grace", "extended", "exempt"}
    assert {student.kind for student in a_class.students} == set(term_class.KINDS)
    assert len({student.row["name"] for student in a_class.students}) == 60
    with zipfile.ZipFile(tmp_path / "first" / f"{units[1]}.zip") as canvas:
        assert any("_LATE_" in name for name in canvas.namelist())


@pytest.mark.proof(part="grading")
def test_a_small_class_is_carried_through_two_units_and_a_change_of_its_results_is_found(tmp_path: Path) -> None:
    first = term.carry(tmp_path / "first", 12, list(COURSE.units)[:2])
    assert term.check_imports(first) == "Canvas and Moodle accept 24 grades of 2 units, as in the table"
    second = term.Term(shutil.copytree(first.root, tmp_path / "second"), first.a_class)
    assert term.differences(first, second) == {}
    [report, *_] = (second.folder / "reports" / first.a_class.units[0]).glob("*.json")
    report.write_text(report.read_text(encoding="utf-8").replace('"points": ', '"points": 1', 1), encoding="utf-8")
    canvas = second.folder / "canvas.csv"
    canvas.write_text(canvas.read_text(encoding="utf-8").replace(",EX", ",1"), encoding="utf-8")
    assert list(term.differences(first, second)) == ["canvas.csv", f"{first.a_class.units[0]}/{report.stem}"]
    with pytest.raises(SystemExit, match="in Canvas"):
        term.check_imports(second)
