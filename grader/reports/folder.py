"""The folder of reports: reads and writes them, and keeps those that later ones replace."""

from __future__ import annotations

import contextlib
import datetime
import json
from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Any

from grader.errors import GraderError
from grader.files import held, remove_partial, write_atomically
from grader.reports.report_model import Report

INSTRUCTOR = "instructor"
NOT_GRADED = "not_graded.json"
"""Beside pytest's results: why students were not graded, by student."""
EARLIER = "earlier"
"""The folder of reports that later ones have replaced: earlier/<student>/<time>.json."""
SUITE_FAULTS = "suite_faults"
"""In the instructor's file of a student: by unit, what suites raised with these answers and not with the solution."""
_LENGTH = len("20270120T120000Z")


@contextlib.contextmanager
def reports_folder(directory: Path) -> Iterator[None]:
    """Hold the folder for this program, and remove files that a killed program left half written.

    Raises:
        FolderInUse: Another program holds it.
        OSError: The folder cannot be locked or cleaned.
    """
    with held(directory):
        for folder in (directory, directory / INSTRUCTOR):
            remove_partial(folder, ".json")
        yield


def read_report(student: str, directory: Path) -> Report | None:
    """Return the student's report in a folder; None if there is none in this format."""
    try:
        return Report.model_validate_json((directory / f"{student}.json").read_bytes())
    except (OSError, ValueError):
        return None


def reports_of_others(directory: Path, students: Collection[str]) -> list[str]:
    """Return the other students, in order, who have a report in the folder."""
    names = sorted(path.stem for path in directory.glob("*.json") if path.stem not in students)
    return [name for name in names if read_report(name, directory)]


def write_report(
    report: Report, pytest_report: dict[str, Any] | None, directory: Path, kept: Collection[str] = ()
) -> Path:
    """Write directory/<student>.json and, for the instructor only, directory/instructor/<student>.pytest.json.

    The student's file is written last, so if it exists, the other file does too.

    Args:
        report: The report.
        pytest_report: Pytest's own report, for the instructor.
        directory: The folder of the reports.
        kept: The units that were not graded again; their tests stay in the instructor's file.

    Returns:
        The student's file.

    Raises:
        OSError: A file cannot be written.
    """
    instructor = directory / INSTRUCTOR
    instructor.mkdir(parents=True, exist_ok=True)
    if pytest_report is not None:
        path = instructor / f"{report.student}.pytest.json"
        if kept:
            pytest_report = _with_earlier_tests(pytest_report, path, kept, list(report.units))
        write_atomically(path, json.dumps(pytest_report, indent=1, default=str) + "\n")
    path = directory / f"{report.student}.json"
    write_atomically(path, report.to_json())
    return path


def not_graded(directory: Path) -> dict[str, str]:
    """Return why students were not graded, by student, since a report on them was written. Raises GraderError."""
    path = directory / INSTRUCTOR / NOT_GRADED
    try:
        found = json.loads(path.read_bytes())
    except (FileNotFoundError, NotADirectoryError):
        return {}
    except (OSError, ValueError):
        found = None
    if not isinstance(found, dict) or not all(isinstance(reason, str) for reason in found.values()):
        raise GraderError(f"{path} cannot be read: delete it, and grade again.")
    return found


def record_not_graded(directory: Path, reasons: Mapping[str, str], graded: Collection[str]) -> None:
    """Write why students were not graded, and leave out those who have a report now. Raises GraderError or OSError."""
    before = not_graded(directory)
    after = {student: why for student, why in {**before, **reasons}.items() if student not in graded}
    path = directory / INSTRUCTOR / NOT_GRADED
    if after and after != before:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(path, json.dumps(dict(sorted(after.items())), indent=1, ensure_ascii=False) + "\n")
    elif not after:
        path.unlink(missing_ok=True)


def says_something_else(before: Report, after: Report) -> bool:
    """Return whether two reports differ in more than versions, times of grading and output."""
    contents = [
        {name: unit.model_dump(exclude={"digest"}) for name, unit in report.units.items()} for report in (before, after)
    ]
    return contents[0] != contents[1] or (before.comments, before.together) != (after.comments, after.together)


def keep_earlier(before: Report, after: Report, directory: Path) -> None:
    """Keep a report that another one replaces, if they say something else. Raises OSError."""
    if not says_something_else(before, after):
        return
    folder = directory / EARLIER / before.student
    folder.mkdir(parents=True, exist_ok=True)
    stem = _stem(before.started)
    taken = len(list(folder.glob(f"{stem}*.json")))
    write_atomically(folder / f"{stem}{f'-{taken + 1}' if taken else ''}.json", before.to_json())


def earlier_report(student: str, directory: Path, time: datetime.datetime) -> Report | None:
    """Return the newest of the student's earlier reports that was made by some time; None if there is none."""
    folder = directory / EARLIER / student
    names = [path.stem for path in folder.glob("*.json") if path.stem[:_LENGTH] <= _stem(time)]
    # Those of one second are numbered.
    names.sort(key=lambda name: (name[:_LENGTH], len(name), name), reverse=True)
    return next((report for name in names if (report := read_report(name, folder))), None)


def _stem(time: datetime.datetime) -> str:
    return f"{time.astimezone(datetime.UTC):%Y%m%dT%H%M%SZ}"


def _with_earlier_tests(new: dict[str, Any], path: Path, kept: Collection[str], units: list[str]) -> dict[str, Any]:
    """Add the tests of the units in `kept` that the file at `path` has, in the order of `units`."""

    def unit_of(test: dict[str, Any]) -> str:
        return Path(test["nodeid"].partition("::")[0]).parent.name

    try:
        before = json.loads(path.read_bytes())
        earlier = [test for test in before["tests"] if unit_of(test) in kept]
        faults = {unit: found for unit, found in before.get(SUITE_FAULTS, {}).items() if unit in kept}
    except (OSError, ValueError, LookupError, TypeError):
        return new  # there is no such file, or it has another format
    tests = sorted([*earlier, *new.get("tests", [])], key=lambda test: units.index(unit_of(test)))
    counts = Counter(test["outcome"] for test in tests)
    summary = {**counts, "total": len(tests), "collected": len(tests)}
    faults |= new.get(SUITE_FAULTS, {})
    more = {SUITE_FAULTS: faults} if faults else {}
    return {**new, "exitcode": 1 if counts["failed"] else 0, "summary": summary, "tests": tests, **more}


def suite_faults(student: str, directory: Path) -> dict[str, list[str]]:
    """Return by unit what suites raised with a student's answers and not with the solution."""
    try:
        content = (directory / INSTRUCTOR / f"{student}.pytest.json").read_bytes()
        # Most of these files have none, and they are large.
        return json.loads(content).get(SUITE_FAULTS, {}) if SUITE_FAULTS.encode() in content else {}
    except (OSError, ValueError):
        return {}
