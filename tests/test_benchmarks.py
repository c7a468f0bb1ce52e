"""The benchmarks: their classes have the answers that their names say, and all sides run the same tests."""

from __future__ import annotations

import re
import shutil
import sys
import zipfile
from pathlib import Path
from typing import Any

import pytest
from courses import COURSE, REPOSITORY
from units import SUITES

from grader.engine.engine_client import Engine
from grader.engine.failure_matrix import names_in, with_imports
from grader.reports.report_model import Result
from grader.sandbox.pieces import split

sys.path.insert(0, str(REPOSITORY / "benchmarks"))
import answers
import bench
import figures
import in_nbgrader
import peers
import plot
import regrades
import sides
import term
import term_class

UNIT = sides.UNIT


@pytest.fixture(scope="module")
def students() -> dict[str, answers.Answers]:
    return answers.make(answers.UNITS, 30)


# -- the class -----------------------------------------------------------------------------------------------------


def test_the_class_is_the_same_in_each_run_and_no_two_of_its_submissions_are_the_same(
    students: dict[str, answers.Answers],
) -> None:
    assert answers.make(answers.UNITS, 30) == students
    assert {student.partition("-")[0] for student in students} == {"right", "mistaken", "unfinished"}
    for unit in COURSE.units:
        assert len({"".join(one[unit].values()) for one in students.values()}) == 30


@pytest.mark.proof(part="full")
def test_right_answers_of_different_styles_fit_together(students: dict[str, answers.Answers], tmp_path: Path) -> None:
    right = {student: given for student, given in students.items() if student.startswith("right")}
    answers.write_scripts(right, tmp_path)
    _, reports = sides.run_ours(tmp_path, None, 1, {0})
    assert sides.full_marks(reports) == right.keys()


@pytest.mark.proof(part="full")
@pytest.mark.parametrize("unit", COURSE.units)
def test_the_source_of_a_mistake_fails_the_tests_of_its_misconception(unit: str) -> None:
    suite = SUITES[unit]
    mistakes = suite.known
    for mistake in mistakes[:: len(mistakes) // 4]:
        names: dict[str, Any] = {"__name__": unit}
        exec(f"from __future__ import annotations\n{answers.source_of(mistake)}", names)
        missed = set(suite.outcomes(names, mistake.exercise)) - suite.passed(names, mistake.exercise)
        assert missed == suite.missed_by(mistake)


@pytest.mark.proof(part="full")
@pytest.mark.parametrize("unit", COURSE.units)
def test_a_right_answer_is_split_into_the_cells_of_its_exercises(unit: str) -> None:
    exercises = COURSE.units[unit].exercises
    for text in answers.accepted_answers(unit):
        cells = answers.pieces(text, exercises)
        for exercise, answer in cells.items():
            assert exercise in {name for statement in split(answer) for name in statement.names}
        whole = "\n\n".join(cells.values())
        assert exercises.keys() <= names_in(unit, with_imports(unit, whole, REPOSITORY / "solutions")).keys()


# -- the sides -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("folder", "share"), [("solutions", 1), ("exercises", 0)])
def test_a_test_cell_for_nbgrader_gives_a_point_for_each_test_that_passes(folder: str, share: int) -> None:
    unit = next(iter(COURSE.units))
    names = names_in(unit, {unit: answers.read(folder, unit)})
    for exercise, possible in in_nbgrader.possible_points(unit).items():
        *before, last = in_nbgrader.tests_of(unit, exercise).splitlines()
        exec("\n".join(before), names)
        assert eval(last, names) == possible * share


def test_the_tests_for_otter_grader_and_check50_are_python_with_a_name_for_each_exercise() -> None:
    details = {"unit": UNIT, "version": COURSE.version, "exercise": "project_qkv", "points": 3}
    for text in (peers.CRITERIA + peers.OTTER_TESTS, peers.CRITERIA + peers.CHECK50_HEAD + peers.CHECK50_CHECK):
        source = text.format(**details)
        compile(source, "tests.py", "exec")
        assert "project_qkv" in source
    compile(peers.OTTER_CLASS, "class.py", "exec")


@pytest.mark.parametrize(("full", "named"), [(["right-0", "mistaken-1"], "mistaken-1"), ([], "right-0")])
def test_a_side_that_ran_other_tests_stops_the_comparison(full: list[str], named: str) -> None:
    submissions = [Path("right-0"), Path("mistaken-1")]
    sides.check("a side", submissions, {"right-0"})
    with pytest.raises(SystemExit, match=f"{named} has .*full marks with a side, so the sides cannot be compared"):
        sides.check("a side", submissions, set(full))


@pytest.mark.proof(part="full")
def test_make_bench_compares_two_submissions(capsys: pytest.CaptureFixture[str]) -> None:
    page, before = figures.PAGE.read_text(encoding="utf-8"), figures.committed()
    bench.main(["--submissions", "2", "--rounds", "1", "--offline"])
    shown = capsys.readouterr().out
    assert shown.count("| `grader grade`, ") == 5
    assert "nbgrader, its own `Execute`" in shown
    assert "otter-grader and check50 were left out" in shown
    assert "| one cold grade on one core, in times of `import torch, pytest` | at most 1.25 |" in shown
    # A small run writes nothing.
    assert (figures.PAGE.read_text(encoding="utf-8"), figures.committed()) == (page, before)


# -- figures -------------------------------------------------------------------------------------------------------


def made_up(pytest_seconds: float = 4.0) -> figures.Figures:
    """Figures as of a run of two rounds. The machine was half as fast in the second one."""

    def row(name: str, size: int, beside: str, seconds: float) -> figures.Row:
        rounds = [figures.Measured(slower * seconds, slower * seconds / 2, 300.0) for slower in (1, 2)]
        return figures.Row(name, size, 1, beside, rounds)

    rows = {
        "imports": row("imports", 1, "", 2.0),
        "pytest": row("cold pytest", 1, "", pytest_seconds),
        "few": row("a few", 20, "pytest", 0.5),
        "cold_1": row("cold", 1, "pytest", 2.6),
        "cold_2": row("cold, two", 1, "pytest", 2.2),
        "warm_1": row("warm", 200, "pytest", 0.25),
        "nbgrader": row("its own", 20, "pytest", 5.0),
        "in_nbgrader": row("ours in it", 200, "pytest", 0.6),
        "whole_pytest": row("cold pytest, all", 1, "", 6.0),
        "whole_1": row("warm, all", 40, "whole_pytest", 1.0),
    }
    growth = [figures.Grown(10, 10.0, 400.0), figures.Grown(100, 30.0, 500.0), figures.Grown(1000, 110.0, 525.0)]
    memory = {"student processes": (51.0, 174.0), "grading processes": (30.0, 81.0)}
    return figures.Figures("Measured", rows, growth, {"tests": 3.0, "start": 1.0}, memory)


def test_the_table_has_a_row_for_each_side_with_medians_and_ratios_of_the_same_round() -> None:
    rows = figures.table(made_up()).splitlines()
    assert len(rows) == 2 + len(made_up().sides)
    assert "| warm | 200 | 1 | 2.67 | 0.38 | 0.19 | 300 | 16.0 | 16.0 |" in rows
    assert "| imports | 1 | 1 | 0.33 | 3.00 | 1.50 | 300 |  |  |" in rows


def test_each_goal_is_shown_with_what_was_measured_and_whether_it_is_reached() -> None:
    found = {goal.name: (goal.value, "yes" in goal.row()) for goal in figures.goals(made_up())}
    assert len(found) == 12
    expected = {
        "one unit, 1 job: times cold pytest; 20 is the aim (by clock)": (16.0, True),
        "all units, 1 job: times cold pytest (by processor)": (6.0, True),
        "nbgrader with our preprocessor, as a part of its own time (by clock)": (0.12, False),
        "one cold grade on one core, in times of `import torch, pytest`": (1.3, False),
        "one cold grade on two cores, in times of `import torch, pytest`": (1.1, True),
        "MB of a student's process alone, median": (51.0, False),
        "MB of a student's process alone, most": (174.0, True),
        "seconds for 1,000 submissions, 2 jobs": (110.0, True),
        "memory of a batch of 1,000 beside one of 100": (1.05, True),
    }
    for name, (value, reached) in expected.items():
        assert found[name][0] == pytest.approx(value)
        assert found[name][1] == reached


def test_a_run_that_measured_less_shows_fewer_goals() -> None:
    whole = made_up()
    small = figures.Figures("", {key: whole.sides[key] for key in ("pytest", "few")})
    assert list(figures.goals(small)) == []
    assert figures.goals_table(small).count("\n") == 1


def test_the_plot_has_its_three_panels_and_text_that_any_font_can_show(tmp_path: Path) -> None:
    for name in ("first.svg", "second.svg"):
        plot.draw(made_up(), tmp_path / name)
    drawn = (tmp_path / "first.svg").read_bytes()
    assert drawn == (tmp_path / "second.svg").read_bytes()
    assert {
        b"submissions per second, one unit", b"warm: 200 per command", b"2.67",
        b"seconds per submission", b"memory of the command, MB", b"1,000",
    } <= set(re.findall(rb">([^<>\n]+)</text>", drawn))  # fmt: skip
    assert b"@font-face" not in drawn
    assert len(drawn) < 100_000


def test_the_page_has_the_committed_figures() -> None:
    page = figures.PAGE.read_text(encoding="utf-8")
    assert figures.written(page, figures.committed()) == page


def test_new_figures_replace_the_old_ones_and_leave_the_rest_of_the_page() -> None:
    begin, end = "<!-- make bench: {} -->\n", "<!-- end -->\n"
    page = f"# Speed\n\n{begin.format('figures')}earlier\n{end}\nText\n\n{begin.format('parts')}{end}"
    once = figures.written(page, made_up())
    assert "earlier" not in once
    assert once.startswith("# Speed\n\n<!-- make bench: figures -->\n\nMeasured:\n\n| medians")
    assert "](speed.svg)\n\n<!-- end -->\n\nText\n\n<!-- make bench: parts -->\n\n| all units" in once
    assert once.endswith("| grading processes | 30 | 81 |\n\n<!-- end -->\n")
    assert figures.written(once, made_up()) == once


def test_each_night_a_fall_of_the_ratio_by_a_quarter_fails_and_a_smaller_one_passes() -> None:
    before = made_up(4.0)  # 8 times
    assert "a factor of 6.1 by clock (committed: 8.0) and 6.1 by processor" in figures.compared(made_up(3.05), before)
    with pytest.raises(SystemExit, match=r"By clock, grader grade is 6\.0 times as fast as cold pytest\. It was 8\.0"):
        figures.compared(made_up(3.0), before)


def test_without_a_full_run_there_is_nothing_to_compare_with(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(figures, "FILE", tmp_path / "speed.json")
    with pytest.raises(SystemExit, match="run `make bench` and commit it"):
        bench.main(["--compare"])
    made_up().save()
    assert figures.committed_ratio(20) == made_up()
    with pytest.raises(SystemExit, match="no ratio for a class of 2"):
        bench.main(["--compare", "--submissions", "2"])


# -- regrading -----------------------------------------------------------------------------------------------------


@pytest.mark.proof(part="full")
def test_each_partly_right_submission_has_two_mistakes(engine: Engine) -> None:
    submissions = list(regrades.partly_right(COURSE))
    assert len({submission.student for submission in submissions}) == 10
    for submission, result in engine.turns(2).all(submissions):
        assert isinstance(result, Result)
        wrong = {one.exercise for one in result.outcomes if not one.passed}
        assert len(wrong) == 2, submission.student


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


@pytest.mark.proof(part="full")
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
