"""JUnit XML, by the rules of those who read it."""

from __future__ import annotations

import re
from xml.etree import ElementTree

import pytest
from made_reports import exercise, of_exercises, quiz, raised, report, unit, unwritten

from grader.reports.exporters.junit import junit
from grader.reports.report_model import Report
from grader.submissions.submission import missing_file

# junit-10.xsd of jenkinsci/xunit-plugin, read on 29 November 2026: of each element the attributes that it must have and
# may have, and what may be in it. Jenkins refuses a file with any other.
SCHEMA = {
    "testsuites": (set(), {"name", "time", "tests", "failures", "errors"}, {"testsuite"}),
    "testsuite": ({"name", "tests", "failures", "errors"}, {"skipped", "time", "timestamp"}, {"testcase"}),
    "testcase": ({"name"}, {"classname", "time"}, {"failure", "error", "skipped"}),
    **dict.fromkeys(("failure", "error", "skipped"), (set(), {"type", "message"}, set())),
}
TIME = re.compile(r"(([0-9]{0,3},)*[0-9]{3}|[0-9]{0,3})*(\.[0-9]*)?")

EVERYTHING = report(
    {
        "sums": unit(
            {
                "total": exercise(2, 1, mistake="The last one is left out."),
                "mean": exercise(0, 1, reason="It raised a ValueError."),
                "scale": exercise(0, 1, reason=None, waiting_for="Depends on `mean`; fix that first."),
                "norm": unwritten(1),
            },
            quiz=quiz(1, 3, sentences=["That is the median."]),
        ),
        "later": unit({"zeta": exercise(0, 1)}, path=None, remarks=[missing_file("later")], quiz=quiz(None, 9)),
        "lost": unit({"eta": exercise(0, 1)}, path=None, remarks=["lost.py is empty: write there."]),
    },
    [raised("mean", "It raised a ValueError. no", 9)],
)


def cases(made: Report) -> dict[str, tuple[str, str]]:
    """Of each case of the file, what came of it and why."""
    found = {}
    for case in ElementTree.fromstring(junit(made)).iter("testcase"):
        [*results] = case
        found[f"{case.get('classname')}.{case.get('name')}"] = (
            (results[0].tag, results[0].text or "") if results else ("passed", "")
        )
    return found


def test_jenkins_accepts_the_file() -> None:
    root = ElementTree.fromstring(junit(EVERYTHING))
    assert root.tag == "testsuites"
    for element in root.iter():
        must, may, inside = SCHEMA[element.tag]
        assert must <= set(element.keys()) <= must | may
        assert {child.tag for child in element} <= inside
    assert TIME.fullmatch(root.attrib["time"])


def test_each_unit_is_a_suite_and_its_counts_are_right() -> None:
    suites = ElementTree.fromstring(junit(EVERYTHING)).findall("testsuite")
    counts = [[suite.get(name) for name in ("name", "tests", "failures", "errors", "skipped")] for suite in suites]
    assert counts == [["sums", "7", "2", "1", "2"], ["later", "1", "0", "0", "1"], ["lost", "1", "0", "1", "0"]]


# lib/gitlab/ci/parsers/test/junit.rb of gitlabhq/gitlabhq, read on 29 November 2026: GitLab shows the text of a result
# that has one, and no message. Of cases with the same names in a suite it keeps one.
def test_gitlab_shows_what_jenkins_shows() -> None:
    results = [result for case in ElementTree.fromstring(junit(EVERYTHING)).iter("testcase") for result in case]
    assert results
    assert all((result.text or "").partition("\n")[0] == result.get("message") for result in results)
    assert len(cases(EVERYTHING)) == 9


def test_a_failure_has_the_reason_the_rule_and_the_misconception() -> None:
    outcome, text = cases(EVERYTHING)["sums.total.rule_3"]
    assert outcome == "failure"
    assert text.split("\n") == [
        "The values are wrong. (exercises/sums.py, line 12)",
        "They should be right.",
        "a_mistake: The last one is left out.",
    ]


def test_code_that_raised_is_an_error_with_its_place() -> None:
    assert cases(EVERYTHING)["sums.mean.rule_1"] == (
        "error",
        "It raised a ValueError: no. (exercises/sums.py, line 9)\nThey should be right.",
    )


def test_a_file_that_cannot_be_read_is_an_error() -> None:
    assert cases(EVERYTHING)["lost.eta.rule_1"] == ("error", "lost.py is empty: write there.")
    silent = report({"lost": unit({"eta": exercise(0, 1)}, path=None)})
    assert cases(silent) == {"lost.eta.rule_1": ("error", "No answer was found.")}


def test_a_line_that_could_not_be_run_is_an_error() -> None:
    made = report({"sums": unit({"total": unwritten(1)})}, [raised(None, "It is not valid Python. invalid syntax", 3)])
    assert cases(made) == {
        "sums.exercises/sums.py, line 3": (
            "error",
            "It is not valid Python: invalid syntax. (exercises/sums.py, line 3)",
        ),
        "sums.total.rule_1": ("skipped", "It is not written yet."),
    }


@pytest.mark.parametrize(
    ("case", "why"),
    [
        ("sums.norm.rule_1", "It is not written yet."),
        ("sums.scale.rule_1", "Depends on `mean`; fix that first."),
        ("later.zeta.rule_1", "It is not handed in yet."),
    ],
)
def test_what_is_not_there_yet_is_skipped(case: str, why: str) -> None:
    assert cases(EVERYTHING)[case] == ("skipped", why)


def test_a_quiz_that_counts_has_a_case_for_each_item() -> None:
    assert cases(EVERYTHING)["sums.quiz.an_item"] == ("failure", "1 of 3 points.\nThat is the median.")
    assert not [name for name in cases(EVERYTHING) if name.startswith("later.quiz")]
    blank = report({"sums": unit({}, quiz=quiz(0, 3, answered=False))})
    assert cases(blank) == {"sums.quiz.an_item": ("skipped", "It is not answered.")}


def test_at_the_level_points_a_failure_says_no_more() -> None:
    made = cases(of_exercises(total=exercise(0, 1, reason=None, sentence=None, line=None)))
    assert made == {
        "sums.total.rule_1": ("failure", "It failed, and the feedback says no more. (exercises/sums.py)"),
    }


def test_no_character_is_in_the_file_that_xml_may_not_have() -> None:
    control = "".join(map(chr, range(32))) + "\x7f\ufffe\uffff\ud800<&\"']]>"
    text = junit(of_exercises(total=exercise(0, 1, reason=control, sentence=control)))
    assert not re.search("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]", text)
    ElementTree.fromstring(text)
