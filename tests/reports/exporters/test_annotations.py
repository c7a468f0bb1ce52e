"""Annotations, as GitHub reads them."""

from __future__ import annotations

from made_reports import exercise, of_exercises, raised, report, unit, unwritten
from workflow_commands import Command, commands

from grader.reports.exporters.job_summary import annotation_commands as annotations_of
from grader.reports.report_model import Report
from grader.submissions.submission import missing_file


def annotated(report: Report) -> list[Command]:
    return commands("\n".join(annotations_of(report)).splitlines())


def errors(report: Report) -> list[Command]:
    return [one for one in annotated(report) if one.name == "error"]


def test_a_mistake_is_shown_on_the_line_where_the_answer_begins() -> None:
    found = errors(of_exercises(total=exercise(2, 1, mistake="The last number is left out.", line=7)))
    assert found == [
        Command(
            "error",
            {"file": "exercises/sums.py", "line": "7", "title": "total: 2 of 3 points"},
            "The last number is left out.",
        )
    ]


def test_an_error_is_shown_on_the_line_that_raised_it() -> None:
    lost = exercise(0, 1, reason="It raised a ValueError.", sentence="The sum should come out.")
    found = errors(
        report(
            {"sums": unit({"total": lost})},
            [raised("total", "It raised a ValueError. no numbers", 9)],
        )
    )
    assert found[0].properties["line"] == "9"
    assert found[0].data == "It raised a ValueError: no numbers. The sum should come out."


def test_no_annotation_points_to_another_file() -> None:
    lost = {"sums": unit({"total": exercise(0, 1, line=7)})}
    found = errors(report(lost, [raised("total", "It raised a ValueError.", 900, file="torch.py")]))
    assert (found[0].properties["file"], found[0].properties["line"]) == ("exercises/sums.py", "7")


def test_an_annotation_of_a_notebook_names_the_cell() -> None:
    lost = unit({"total": exercise(0, 1, line=None, mistake="The last one is left out.")}, path="sums.ipynb")
    found = errors(report({"sums": lost}, [raised("total", "It raised a ValueError.", 3, file="sums.ipynb, cell 5")]))
    assert found[0].properties == {"file": "sums.ipynb", "title": "total: 0 of 1 point"}
    assert found[0].data == "The last one is left out. (sums.ipynb, cell 5, line 3)"


def test_what_waits_or_is_not_there_yet_is_not_an_error() -> None:
    waiting = exercise(0, 2, reason=None, waiting_for="Depends on `first`; fix that first.")
    missing = unit({"mode": exercise(0, 1)}, path=None, remarks=[missing_file("modes")])
    made = report({"sums": unit({"first": exercise(2), "total": waiting, "mean": unwritten()}), "modes": missing})
    (points,) = annotated(made)
    assert (points.name, points.data.partition(".")[0]) == ("notice", "2 of 8 points")
    assert errors(of_exercises(total=exercise(1, 2, reason="Wrong.", waiting_for="Depends on `first`.")))[0].data


def test_a_line_that_could_not_be_run_is_an_error_there() -> None:
    found = errors(
        report(
            {"sums": unit({"total": exercise(1)})}, [raised(None, "It is not valid Python. '(' was never closed", 34)]
        )
    )
    assert [(one.properties["line"], one.data) for one in found] == [
        ("34", "It is not valid Python: '(' was never closed.")
    ]


def test_files_that_could_not_be_graded_are_one_error_together() -> None:
    lost = {
        name: unit({name: exercise(0, 1)}, path=None, remarks=["x is a link.", f"{name}.py is empty: write there."])
        for name in ("sums", "means")
    }
    assert [one.data for one in errors(report(lost))] == [
        "x is a link.\nsums.py is empty: write there.\nmeans.py is empty: write there."
    ]


def test_only_the_ten_most_useful_errors_are_shown_and_a_notice_counts_the_others() -> None:
    plain = {f"plain_{number}": exercise(0, 1) for number in range(11)}
    named = {f"named_{number}": exercise(0, 1, mistake="This is it.") for number in range(2)}
    stopped = {"stopped": exercise(0, 1)}
    found = annotated(report({"sums": unit(plain | stopped | named)}, [raised("stopped", "It raised an Error.", 3)]))
    titles = [one.properties["title"].partition(":")[0] for one in found if one.name == "error"]
    assert titles == ["named_0", "named_1", "stopped", *(f"plain_{number}" for number in range(7))]
    assert (found[-1].name, found[-1].data.split()[0]) == ("notice", "4")


def test_at_the_level_points_only_points_are_shown() -> None:
    found = errors(of_exercises(total=exercise(1, 2, reason=None, sentence=None)))
    assert found[0].data == "2 of 3 points are missing. The feedback says no more."
