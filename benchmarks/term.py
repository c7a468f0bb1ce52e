"""Carries a class of 60 through a term by the commands of docs/run-a-term.md, twice, and compares the results.

    python benchmarks/term.py

The students are late, absent, exempt or hostile, hand in again, have extensions and adjustments, and have other names
in downloads than in the roster. Every third unit is collected by Moodle, Canvas and folders. The results of both runs
must have the same bytes: the gradebook in each format, and the reports except for the times of grading and what the
students' code printed. Of hostile students, whose code may return anything, the reasons are left out as well. The files
for Canvas and Moodle must be accepted by the rules of their importers, in tests/canvas_importer.py and
tests/moodle_importer.py. The benchmark takes a quarter of an hour on two cores, and longer if they have other work.
"""

from __future__ import annotations

import argparse
import csv
import io
import itertools
import json
import os
import re
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import term_class
from answers import COURSE, ROOT
from measuring import Took, run
from term_class import Class

sys.path.insert(0, str(ROOT / "tests"))
import canvas_importer
import moodle_importer
from courses import copy_course

from grader.reports.folder import EARLIER, read_report
from grader.reports.report_model import Report

# Of a report: what words it uses, and what is not the same in each grading.
WORDING = {"sentence", "sentences", "reason", "remarks", "waiting_for", "problem", "summary", "explanation", "text"}
CHANGES = {"digest", "timing", "versions", "messages", "schema"}
YEAR = "2025"
WEIGHT = 2
FORMATS = {
    "grades.csv": ["--format", "csv"],
    "grades.markdown": ["--format", "markdown"],
    "grades.xlsx": ["--format", "xlsx"],
    "percent.csv": ["--format", "csv", "--percent"],
    "canvas.csv": ["--format", "canvas"],
    "moodle.csv": ["--format", "moodle", "--percent"],
    "total.csv": ["--format", "moodle", "--percent", "--total"],
}
FEEDBACK = """\
mkdir -p term/feedback
for report in term/reports/{unit}/*.json; do
  "{python}" -m grader export html "$report" "term/feedback/$(basename "$report" .json).html"
done
"""


@dataclass
class Term:
    """A copy of the course with a class, and how long each step took."""

    root: Path
    a_class: Class
    took: dict[str, Took] = field(default_factory=dict)
    downloads: dict[str, list[Path]] = field(default_factory=dict)

    @property
    def folder(self) -> Path:
        """The folder of the term."""
        return self.root / "term"

    def step(self, name: str, *command: str, allowed: tuple[int, ...] = (0,)) -> str:
        """Run a command in the course, add its time to those of the step, and return its output."""
        took, output = run(list(command), self.root, allowed, PYTHONPATH=str(self.root), PYTHONDONTWRITEBYTECODE="1")
        before = self.took.get(name, Took(0, 0))
        self.took[name] = Took(before.wall + took.wall, before.processor + took.processor)
        return output

    def grader(self, name: str, *arguments: object, allowed: tuple[int, ...] = (0,)) -> str:
        """Run the grader."""
        return self.step(name, sys.executable, "-m", "grader", *map(str, arguments), allowed=allowed)

    def of(self, unit: str) -> list[object]:
        """Return the arguments of `grader grade` for a unit. The downloads of units that it builds on come first."""
        units = [*earlier(unit), unit]
        given = [path.relative_to(self.root) for one in units for path in self.downloads.get(one, [])]
        return [*given, "--unit", unit, "--roster", "term/roster.csv", "--out", f"term/reports/{unit}"]


def earlier(unit: str) -> list[str]:
    """Return the units that a unit imports, directly or not."""
    text = (ROOT / "exercises" / f"{unit}.py").read_text(encoding="utf-8")
    imported = [one for one in re.findall(r"^from (\w+) import", text, re.MULTILINE) if one in COURSE.units]
    return list(dict.fromkeys(one for name in imported for one in [*earlier(name), name]))


def begin(root: Path, count: int, units: list[str]) -> Term:
    """Copy the course, set its dates, and write the class with its tables."""
    copy_course(root)
    settings = root / "autograder.yml"
    # Only the units that are graded are over.
    text = re.sub(r"(?m)^( +due: )\d{4}-", r"\g<1>2100-", settings.read_text(encoding="utf-8"))
    for unit in units:
        text = re.sub(rf"(?ms)^(  {unit}:\n.*?due: )\d{{4}}-", rf"\g<1>{YEAR}-", text, count=1)
    settings.write_text(text.replace("\nlate:", "\ntimezone: Etc/GMT-1\nlate:"), encoding="utf-8")
    due = {unit: COURSE.units[unit].due.replace(year=int(YEAR)) for unit in units}
    a_class = term_class.make(count, units, root / "build" / "class", due)
    term = Term(root, a_class)
    term.folder.mkdir()
    tables = {"roster.csv": term_class.roster(a_class), "times.csv": term_class.times(a_class)}
    for unit in units:
        if term_class.platform_of(unit) == "moodle":
            tables[f"times_{unit}.csv"] = term_class.worksheet(a_class, unit)
    for name, content in tables.items():
        (term.folder / name).write_text(content, encoding="utf-8")
    return term


def carry(root: Path, count: int, units: list[str]) -> Term:
    """Carry a class through a term."""
    term = begin(root, count, units)
    for unit in units:
        term.downloads[unit] = term_class.write_downloads(term.a_class, unit, term.folder)
        term.grader("grade each unit", "grade", *term.of(unit))
    (term.folder / "adjustments.csv").write_text(term_class.adjustments(term.a_class), encoding="utf-8")
    for unit in units:
        term.grader("regrade each unit, adjustments", "regrade", *term.of(unit), "--write")
    change_weight(term, units[0])
    term.grader("regrade a unit, weight: show", "regrade", *term.of(units[0]), allowed=(1,))
    term.grader("regrade a unit, weight: write", "regrade", *term.of(units[0]), "--write")
    command = ["gradebook", "--reports", "term/reports", "--roster", "term/roster.csv"]
    for name, options in FORMATS.items():
        term.grader("gradebook in each format", *command, *options, "--out", f"term/{name}")
    pages = ["--reports", "term/reports", "--roster", "term/roster.csv", "--out", "term/summary.html"]
    term.grader("summary", "summary", *pages)
    term.step("pages of feedback on a unit", "bash", "-e", "-c", FEEDBACK.format(unit=units[0], python=sys.executable))
    term.grader("originality of a unit", "originality", *term.of(units[0])[:-1], "term/originality")
    return term


def change_weight(term: Term, unit: str) -> None:
    """Give the first exercise of a unit another weight."""
    settings = term.root / "autograder.yml"
    exercise = next(iter(COURSE.units[unit].exercises))
    text, count = re.subn(rf"(?m)^( +{exercise}:) \d+", rf"\1 {WEIGHT}", settings.read_text(encoding="utf-8"))
    assert count == 1
    settings.write_text(text, encoding="utf-8")


# -- the comparison ------------------------------------------------------------------------------------------------


def results(term: Term) -> Iterator[tuple[str, bytes]]:
    """Yield what a term leaves that must be the same in each run: tables as they are, and reports."""
    hostile = {student.row["student"] for student in term.a_class.students if student.kind == "mallory"}
    for name in FORMATS:
        yield name, (term.folder / name).read_bytes()
    for unit in term.a_class.units:
        folder = term.folder / "reports" / unit
        for student in sorted(path.stem for path in folder.glob("*.json")):
            # An earlier report that differs from the next only in what is left out here need not be in both runs.
            earlier = sorted((folder / EARLIER / student).glob("*.json"))
            history = [*(read_report(path.stem, path.parent) for path in earlier), read_report(student, folder)]
            contents = itertools.groupby(canonical(one, student in hostile) for one in history if one)
            yield f"{unit}/{student}", b"\n".join(content for content, _ in contents)
    for path in sorted((term.folder / "originality").rglob("*")):
        if path.is_file():
            yield path.relative_to(term.folder).as_posix(), path.read_bytes()


def canonical(made: Report, is_hostile: bool) -> bytes:
    """Return a report without the times of grading, and without what the student's code printed.

    Some hostile code returns whatever it finds in memory, which is not the same in each process. So of its report only
    the points, outcomes and names are compared, not the reasons and messages.
    """
    report = json.loads(made.to_json())
    if is_hostile:
        return json.dumps(without_wording(report)).encode()
    del report["timing"]
    for message in report["messages"]:
        if message["kind"] == "printed":
            message["text"] = ""
    return json.dumps(report).encode()


def without_wording(value: Any) -> Any:
    """Return a part of a report without its wording. A sentence becomes True, or False if it is empty."""
    if isinstance(value, dict):
        kept = {key: found for key, found in value.items() if key not in CHANGES}
        return {key: bool(found) if key in WORDING else without_wording(found) for key, found in kept.items()}
    return [without_wording(one) for one in value] if isinstance(value, list) else value


def differences(first: Term, second: Term) -> dict[str, str]:
    """Return the results that are not the same in both, each with the place of the first difference."""
    before, after = dict(results(first)), dict(results(second))
    names = sorted(name for name in before.keys() | after.keys() if before.get(name) != after.get(name))
    return {name: _place(before.get(name, b""), after.get(name, b"")) for name in names}


def _place(before: bytes, after: bytes) -> str:
    place = next((n for n, (one, other) in enumerate(zip(before, after, strict=False)) if one != other), 0)
    begin = max(0, place - 150)
    return f"{before[begin : place + 100]!r} became {after[begin : place + 100]!r}"


def check_imports(term: Term) -> str:
    """Import the files as Canvas and Moodle do, and return a sentence. Exit if a grade is not that of the table."""
    rows = [student.row for student in term.a_class.students]
    table = {one["student"]: one for one in csv.DictReader(io.StringIO((term.folder / "percent.csv").read_text()))}
    points = {one["student"]: one for one in csv.DictReader(io.StringIO((term.folder / "grades.csv").read_text()))}
    canvas_users = [canvas_importer.User(int(row["id"]), row["name"], row["sis_user_id"]) for row in rows]
    canvas = canvas_importer.import_gradebook((term.folder / "canvas.csv").read_text(), canvas_users)
    if canvas.missing_students or canvas.warnings:
        raise SystemExit(f"Canvas: {canvas.missing_students} {canvas.warnings}")
    moodle_users = [moodle_importer.User(n, row["student"], email=row["email"]) for n, row in enumerate(rows)]
    units = {unit: unit for unit in canvas.assignments}
    moodle = moodle_importer.import_grades(
        (term.folder / "moodle.csv").read_text(),
        moodle_users,
        ("Email address", "email"),
        units,
        dict.fromkeys(units, 100),
    )
    for number, row in enumerate(rows):
        for unit in units:
            of_canvas, of_moodle = canvas.grades[int(row["id"])][unit], moodle[number][unit]
            cell, percent = points[row["student"]][unit], table[row["student"]][unit]
            same = of_canvas == {"exempt": "EX"}.get(cell, cell)
            if not same or of_moodle != (None if percent in ("", "exempt") else float(percent)):
                raise SystemExit(
                    f"{row['student']}, {unit}: {cell} became {of_canvas} in Canvas, {of_moodle} in Moodle."
                )
    return f"Canvas and Moodle accept {len(rows) * len(units)} grades of {len(units)} units, as in the table"


def show(terms: Sequence[Term]) -> None:
    print(f"{'seconds':34}" + "".join(f"{one + ' run':>12}{'processor':>12}" for one in ("first", "second")))
    for name in terms[0].took:
        print(f"  {name:32}" + "".join(f"{one.took[name].wall:12.1f}{one.took[name].processor:12.1f}" for one in terms))
    sums = [
        Took(sum(took.wall for took in term.took.values()), sum(took.processor for took in term.took.values()))
        for term in terms
    ]
    print(f"  {'all':32}" + "".join(f"{one.wall:12.1f}{one.processor:12.1f}" for one in sums))


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    arguments.add_argument("--students", type=int, default=60)
    arguments.add_argument("--units", nargs="+", choices=list(COURSE.units), default=list(COURSE.units))
    chosen = arguments.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        terms = [carry(Path(folder) / name, chosen.students, chosen.units) for name in ("first", "second")]
        print(f"{chosen.students} students, {len(chosen.units)} units, {os.cpu_count()} cores")
        show(terms)
        print(check_imports(terms[0]))
        if found := differences(*terms):
            raise SystemExit("\n".join(f"{name} differs: {where}" for name, where in found.items()))
        print(f"{len(dict(results(terms[0])))} results have the same bytes in both runs")


if __name__ == "__main__":
    main()
