"""GitHub Classroom: the input of its reporter, with a runner for each exercise and each quiz that counts.

All tests of a runner are worth the same, all or nothing. Otherwise the reporter's table and its notice would differ.
"""

from __future__ import annotations

import base64
import itertools
import json
import re
from typing import TYPE_CHECKING, Any

from grader.reports.reading import Entry, counted_quizzes, entries
from grader.text import log_line

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from grader.reports.model import Report

MOST_BYTES = 400
"""Of a message: all outputs of a job together must stay below a megabyte."""


def environment(report: Report) -> dict[str, str]:
    """Return the reporter's environment variables: RUNNERS, the ids separated by commas, and the results of each.

    If nothing is handed in yet there are no runners, and the reporter must not run.
    """
    results: dict[str, dict[str, Any]] = {}
    for name, worth, tests in _graded(report) if report.handed_in else ():
        parts = _parts(tests, worth)
        for number, part in enumerate(parts, 1):
            results[_free_id(f"{name} {number}" if len(parts) > 1 else name, results)] = _runner(worth, part)
    encoded = {f"{name.upper()}_RESULTS": _encoded(one) for name, one in results.items()}
    return {"RUNNERS": ",".join(results), **encoded}


def _graded(report: Report) -> Iterator[tuple[str, int, list[dict[str, Any]]]]:
    """Yield each exercise and each quiz that counts: its name, the points of one of its tests, and its tests."""
    for entry in entries(report):
        yield entry.name, entry.exercise.tests[0].possible, _tests(entry)
    for unit, quiz, earned in counted_quizzes(report):
        tests = [_test(f"point {number} of the quiz", 1, number <= earned) for number in range(1, quiz.possible + 1)]
        yield f"{unit} quiz", 1, tests


def _parts(tests: list[dict[str, Any]], worth: int) -> list[list[dict[str, Any]]]:
    """Split tests into the fewest parts for which the reporter shows whole points, whatever passes."""
    for count in range(1, len(tests)):
        bounds = [len(tests) * number // count for number in range(count + 1)]
        if all(_is_exact(end - begin, worth) for begin, end in itertools.pairwise(bounds)):
            return [tests[begin:end] for begin, end in itertools.pairwise(bounds)]
    return [[test] for test in tests]


def _is_exact(tests: int, worth: int) -> bool:
    """Return whether the reporter's sum, passed / tests · points, is exact: for 15 of 22 it is 14.999999999999998."""
    return all(passed / tests * (tests * worth) == passed * worth for passed in range(tests + 1))


def _free_id(name: str, taken: Collection[str]) -> str:
    """Return a runner's id: letters and digits, different from all others even if case is ignored."""
    first, *more = re.sub(r"[^A-Za-z0-9]+", " ", name).split()
    own = first + "".join(word[0].upper() + word[1:] for word in more)
    while own.upper() in map(str.upper, taken):
        own += "x"
    return own


def _tests(entry: Entry) -> list[dict[str, Any]]:
    path, line = entry.place
    return [
        _test(
            log_line(test.name.replace("_", " ")),
            test.possible,
            test.outcome == "passed",
            message=_shortened(_message(entry, test.reason, test.sentence)) if test.outcome == "failed" else "",
            filename=log_line(path or ""),
            line_no=line or 0,
        )
        for test in entry.exercise.tests
    ]


def _message(entry: Entry, reason: str | None, sentence: str | None) -> str:
    return log_line(" ".join(filter(None, [entry.advice or entry.in_words(reason), sentence])))


def _test(
    name: str, worth: int, passed: bool, message: str = "", filename: str = "", line_no: int = 0
) -> dict[str, Any]:
    return {
        "name": name,
        "status": "pass" if passed else "fail",
        "score": worth if passed else 0,
        "message": message,
        "test_code": "",
        "filename": filename,
        "line_no": line_no,
        "duration": 0,
    }


def _runner(worth: int, tests: list[dict[str, Any]]) -> dict[str, Any]:
    # The reporter fails its job for any runner that fails; a runner without points must not cause that.
    status = "pass" if worth == 0 or all(test["status"] == "pass" for test in tests) else "fail"
    return {"version": 1, "status": status, "max_score": worth * len(tests), "tests": tests}


def _shortened(text: str) -> str:
    return text.encode()[:MOST_BYTES].decode(errors="ignore")


def _encoded(results: dict[str, Any]) -> str:
    return base64.b64encode(json.dumps(results, ensure_ascii=False).encode()).decode("ascii")
