"""The job's summary, rendered as GitHub does."""

from __future__ import annotations

import pytest
from bs4 import BeautifulSoup
from made_reports import exercise, of_exercises, quiz, raised, report, unit, unwritten
from markdown_it import MarkdownIt

from grader.reports.exporters.job_summary import opening, summary
from grader.reports.report_model import Message, Report
from grader.submissions.submission import missing_file


def shown(report: Report) -> BeautifulSoup:
    html = MarkdownIt("commonmark", {"html": True}).enable("table").render(summary(report))
    return BeautifulSoup(html, "html.parser")


def text_of(report: Report) -> str:
    return shown(report).get_text(" ", strip=True)


def rows(report: Report, table: int = 0) -> list[list[str]]:
    return [
        [cell.get_text() for cell in row.find_all(["th", "td"])] for row in shown(report).find_all("table")[table]("tr")
    ]


def next_up(report: Report) -> str:
    """The text between the heading of what to do next and that of the units."""
    heading = shown(report).find("h3")
    assert heading
    parts = []
    for part in heading.find_next_siblings():
        if part.name == "h3":
            break
        parts.append(part.get_text(" ", strip=True))
    return " / ".join([heading.get_text(), *parts])


def test_the_points_come_first_with_what_they_mean() -> None:
    lost, full = {"sums": unit({"total": exercise(2, 1)})}, of_exercises(total=exercise(3))
    nothing = report({"sums": unit({"total": unwritten()})}, handed_in=False)
    for made, text in [
        (report(lost), "2 of 3 points By the visible tests. The grade is made with others, on your instructor's side."),
        (report(lost, suites="hidden"), "2 of 3 points By the hidden tests of the course."),
        (
            report(lost, isolated=False, suites="hidden"),
            "2 of 3 points By the hidden tests of the course. Your code was",
        ),
        (nothing, "0 of 3 points Nothing is handed in yet: all is as you received it."),
        (full, "✔ 3 of 3 points Full marks: nothing is left to fix."),
    ]:
        assert text_of(made).startswith(text)
    assert "Look at this next" not in text_of(full)


LOST = unit({"mean": exercise(0, 1)}, path=None, remarks=["means.py is empty: write there."])
NEXT = [
    (
        of_exercises(
            first=exercise(2),
            total=unwritten(),
            mean=exercise(1, 1, mistake="The mean is taken over the `rows`.", line=30),
            last=exercise(0, 1),
        ),
        "Look at this next / mean in exercises/sums.py , line 30: 1 of 2 points / The mean is taken over the rows ."
        " What gave it away: The values are wrong. They should be right.",
    ),
    (
        report(
            {"sums": unit({"total": exercise(0, 1, reason="It raised a ValueError.")})},
            [raised("total", "It raised a ValueError. no numbers", 9)],
        ),
        "Look at this next / total in exercises/sums.py , line 9: 0 of 1 point / "
        "It raised a ValueError: no numbers. They should be right.",
    ),
    (
        of_exercises(first=exercise(2), total=unwritten(), mean=unwritten()),
        "Go on here / total in exercises/sums.py , line 12: 0 of 3 points",
    ),
    (
        report({"sums": unit({"total": exercise(0, 1)}, path=None, remarks=[missing_file("sums")])}),
        f"Go on here / {missing_file('sums')}",
    ),
    (
        report({"sums": unit({"total": unwritten()}), "means": LOST}),
        "Look at this next / means.py is empty: write there.",
    ),
]


@pytest.mark.parametrize(
    ("made", "text"), NEXT, ids=["a misconception", "an error", "nothing in progress", "a missing file", "a bad file"]
)
def test_what_to_look_at_next(made: Report, text: str) -> None:
    assert next_up(made) == text


def test_a_named_misconception_goes_first_in_its_unit_but_after_earlier_units() -> None:
    other = {"mode": exercise(0, 1, mistake="It is the smallest one.")}
    known = {"total": exercise(0, 1), "mean": exercise(0, 1, mistake="It is the median.")}
    assert next_up(report({"sums": unit(known), "modes": unit(other)})).startswith("Look at this next / mean in")
    plain = {"total": exercise(0, 1), "mean": exercise(0, 1)}
    assert next_up(report({"sums": unit(plain), "modes": unit(other)})).startswith("Look at this next / total in")


def test_a_quiz_shows_feedback_on_each_answer_and_the_right_one_if_the_report_has_it() -> None:
    answered = quiz(
        2,
        4,
        sentences=["That is the `mode`."],
        answer="a) The mean.\nc) The `median`.",
        explanation="Both are *averages*.",
    )
    items = shown(report({"sums": unit({"total": exercise(1)}, quiz=answered)})).find_all("li")
    assert [item.get_text(" ", strip=True) for item in items] == [
        "an_item : That is the mode .",
        "an_item , the right answer: a) The mean.; c) The median . Both are *averages*.",
        "Both are *averages*.",
    ]


def test_a_table_shows_the_state_of_each_unit() -> None:
    made = report(
        {
            "sums": unit({"total": exercise(3)}, quiz=quiz(None, 4)),
            "means": unit({"mean": exercise(1, 1), "median": exercise(2)}, quiz=quiz(3, 4)),
            "modes": unit({"mode": unwritten()}),
            "lost": unit({"gone": exercise(0, 2)}, path=None, remarks=["lost.py is empty: write there."]),
            "later": unit({"next": exercise(0, 2)}, path=None, remarks=[missing_file("later")]),
        }
    )
    assert rows(made) == [
        ["State", "Unit", "Points", "Exercises", "Quiz"],
        ["✔ done", "sums", "3 of 3", "1 of 1", "1 of 1 answered"],
        ["◐ in progress", "means", "6 of 8", "1 of 2", "1 of 1 answered, 3 of 4 points"],
        ["○ not written yet", "modes", "0 of 3", "0 of 1", "–"],
        ["✘ no answer found", "lost", "0 of 2", "0 of 1", "–"],
        ["– not handed in", "later", "0 of 2", "0 of 1", "–"],
    ]


def test_nothing_is_asked_for_in_an_exempt_unit_that_is_not_handed_in() -> None:
    missing = unit({"next": exercise(0, 2)}, path=None, remarks=[missing_file("later")])
    made = report({"sums": unit({"total": exercise(3)}), "later": missing.model_copy(update={"exempt": True})})
    assert rows(made)[-1][:2] == ["– exempt", "later"]
    text = text_of(made)
    assert "You are exempt from this unit" in text
    assert not [asked for asked in ("missing", "Go on here", "Not handed in yet") if asked in text]


def test_the_details_of_a_unit_have_the_points_of_each_exercise() -> None:
    made = of_exercises(total=exercise(3), mean=exercise(1, 1, line=None), mode=unwritten())
    assert rows(made, 1) == [
        ["State", "Exercise", "Points", "Where"],
        ["✔ done", "total", "3 of 3", "line 12"],
        ["◐ in progress", "mean", "1 of 2", "–"],
        ["○ not written yet", "mode", "0 of 3", "line 12"],
    ]


def test_a_notebook_has_no_column_of_lines_but_the_cell_of_an_error() -> None:
    lost = unit({"total": exercise(0, 1, line=None, reason="It raised a ValueError.")}, path="sums.ipynb")
    made = report({"sums": lost}, [raised("total", "It raised a ValueError. no", 3, file="sums.ipynb, cell 5")])
    assert rows(made, 1) == [["State", "Exercise", "Points"], ["◐ in progress", "total", "0 of 1"]]
    items = [item.get_text(" ", strip=True) for item in shown(made).find_all("li")]
    assert items[0].startswith("It raised a ValueError: no. ( sums.ipynb, cell 5, line 3 )")


def test_an_error_is_shown_once() -> None:
    lost = unit({"total": exercise(0, 1, reason="It raised a SystemExit.", mistake="It stops.")})
    text = text_of(report({"sums": lost}, [raised("total", "It raised a SystemExit. 0", 9)]))
    assert text.partition("Exercise by exercise")[2].count("SystemExit") == 1


def test_units_that_are_not_handed_in_are_on_one_line_unless_their_quiz_is() -> None:
    lost = {
        name: unit({name: exercise(0, 1)}, path=None, remarks=[missing_file(name)], quiz=sheet)
        for name, sheet in {
            "sums": None,
            "means": quiz(None, 4, answered=False, remarks=[missing_file("means", is_quiz=True)]),
            "modes": quiz(None, 4),
            "ranks": quiz(None, 4, answered=False, remarks=["ranks_quiz.md is too large."]),
        }.items()
    }
    made = report(lost)
    titles = [details.summary.get_text() for details in shown(made).find_all("details") if details.summary]
    assert titles == ["– modes: 0 of 1 point", "– ranks: 0 of 1 point"]
    assert text_of(made).endswith("Not handed in yet: sums , means .")


def test_details_are_folded_with_failed_tests_grouped_by_reason() -> None:
    made = report(
        {
            "sums": unit(
                {"total": exercise(1, 2, remarks=["It makes use of sum."])},
                remarks=["Both `sums.py` and `sums.ipynb` contain answers; only the script was graded."],
                quiz=quiz(None, 4, problem="sums_quiz.md:3: choose one letter."),
            )
        },
        [raised(None, "It is not valid Python.", 34)],
    )
    (details,) = shown(made).find_all("details")
    assert details.summary
    assert details.summary.get_text() == "◐ sums: 1 of 3 points"
    items = [item.get_text(" ", strip=True) for item in details.find_all("li")]
    assert items == [
        "Both `sums.py` and `sums.ipynb` contain answers; only the script was graded.",
        "A line could not be run, exercises/sums.py, line 34 : It is not valid Python.",
        "The values are wrong. They should be right. They should be right.",
        "They should be right.",
        "They should be right.",
        "It makes use of sum.",
        "sums_quiz.md:3: choose one letter.",
    ]


def test_a_line_that_could_not_be_run_is_named_with_what_to_do_next() -> None:
    made = report({"sums": unit({"total": unwritten()})}, [raised(None, "It is not valid Python.", 34)])
    assert "### Go on here\n\n**`total`**" in opening(made)
    assert "- A line could not be run, `exercises/sums.py, line 34`: It is not valid Python." in opening(made)


def test_an_exercise_that_is_not_written_yet_has_no_list_of_failures() -> None:
    assert shown(of_exercises(total=unwritten(9))).find_all("li") == []


def test_each_anomaly_is_shown_once() -> None:
    tried = Message(
        unit="sums", exercise=None, kind="attempted", text="It tried to open a file: a.txt", file=None, line=None
    )
    made = report({"sums": unit({"total": exercise(1)})}, [tried, tried])
    assert [item.get_text() for item in shown(made).find_all("li")] == ["It tried to open a file: a.txt"]


def test_a_summary_that_is_too_long_leaves_out_the_last_details_and_says_so() -> None:
    long = {f"e{number}": exercise(0, 20, sentence="\N{SNAKE}" * 400) for number in range(10)}
    made = summary(report({f"unit_{number}": unit(long) for number in range(8)}))
    assert len(made.encode()) < 2**18
    assert made.endswith("\n\nThe rest is left out here because it is too long. The report has all of it.\n")
    assert made.count("<details>") == made.count("</details>")
    assert "| `unit_7` |" in made
