"""GitHub Classroom: what its reporter reads, one runner for each exercise and each quiz that counts."""

from __future__ import annotations

import base64
import json
import re
from typing import Any

from grader.emit.reading import Entry, counted_quizzes, entries
from grader.report import Report
from grader.safe_text import log_line

MOST_BYTES = 400
"""Of a message: all outputs of a job together are to stay far below a megabyte."""


def runner_id(exercise: str) -> str:
    """The id of an exercise's runner: in others than letters, digits and underscores the reporter's messages break."""
    return re.sub(r"[^A-Za-z0-9_]", "_", exercise)


def outputs(report: Report) -> dict[str, str]:
    """The step's outputs: `runners`, the ids with commas between them, and the results under each id, in base64.

    The tests of a runner are worth the same, all or nothing: only so do the reporter's table and its notice agree.
    Where nothing is handed in yet there are no runners, and the reporter is not to run.
    """
    if not report.handed_in:
        return {"runners": ""}
    results = {runner_id(entry.name): _exercise(entry) for entry in entries(report)}
    for unit, quiz, earned in counted_quizzes(report):
        tests = [_test(f"point {number} of the quiz", 1, number <= earned) for number in range(1, quiz.possible + 1)]
        results[runner_id(f"{unit}_quiz")] = _runner(quiz.possible, tests)
    return {"runners": ",".join(results)} | {name: _encoded(one) for name, one in results.items()}


def _exercise(entry: Entry) -> dict[str, Any]:
    path, line = entry.place
    tests = [
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
    return _runner(entry.exercise.possible, tests)


def _message(entry: Entry, reason: str | None, sentence: str | None) -> str:
    named = entry.exercise.misconceptions[0].sentence if entry.exercise.misconceptions else None
    return log_line(" ".join(filter(None, [named or entry.exercise.waiting_for or entry.in_words(reason), sentence])))


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


def _runner(possible: int, tests: list[dict[str, Any]]) -> dict[str, Any]:
    status = "pass" if all(test["status"] == "pass" for test in tests) else "fail"
    return {"version": 1, "status": status, "max_score": possible, "tests": tests}


def _shortened(text: str) -> str:
    return text.encode()[:MOST_BYTES].decode(errors="ignore")


def _encoded(results: dict[str, Any]) -> str:
    return base64.b64encode(json.dumps(results, ensure_ascii=False).encode()).decode("ascii")
