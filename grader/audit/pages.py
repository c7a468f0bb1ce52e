"""The audit's tables as files: JSON for programs, Markdown for people, and docs/accuracy.md with the figures."""

from __future__ import annotations

import inspect
import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from jinja2 import Environment, PackageLoader, StrictUndefined

from grader.audit.mutation import OPERATORS
from grader.audit.verdict import ExerciseTable, Fate, UnitTable, digest_of, naming_of
from grader.course.model import Course
from grader.files import write_atomically

ENVIRONMENT = Environment(
    loader=PackageLoader("grader.audit", "."), undefined=StrictUndefined, autoescape=False, keep_trailing_newline=True
)
FATES: tuple[Fate, ...] = ("killed", "equivalent", "survived", "unfair")
MUTANT_COLUMNS = ("mutants", *FATES)
COLUMNS = ("criteria", "right", "losing points", "wrong", "keeping all", *MUTANT_COLUMNS)


def write_tables(tables: Sequence[UnitTable], folder: Path, course: Course) -> list[Path]:
    """Write <unit>.json and <unit>.md for each, and return the files. Raises OSError."""
    folder.mkdir(parents=True, exist_ok=True)
    written = []
    for table in tables:
        for ending, text in (("json", table.model_dump_json(indent=1) + "\n"), ("md", unit_page(table, course))):
            written.append(folder / f"{table.unit}.{ending}")
            write_atomically(written[-1], text)
    return written


NOTES = "accuracy.md"
"""The file in the folder of the suites with the author's additions to the page."""


def accuracy_page(tables: Sequence[UnitTable], course: Course) -> str:
    """Return docs/accuracy.md: the results of all answers, the accuracy of the diagnosis, and the limits of both."""
    notes = course.suites / NOTES
    return ENVIRONMENT.get_template("accuracy.md.j2").render(
        notes=notes.read_text(encoding="utf-8").strip() if notes.is_file() else "",
        units=_table(
            ["unit", *COLUMNS],
            [[course.units[table.unit].title, *totals([table])] for table in tables] + [["**all**", *totals(tables)]],
        ),
        counts=_counts([exercise for table in tables for exercise in table.exercises.values()]),
        naming=naming_of(tables),
        ticks=[table.ticks for table in tables],
        shares=_shares,
        operators=_operators(tables),
        digest=digest_of(course),
    )


def interval(count: int, total: int) -> tuple[float, float]:
    """Return the 95 % confidence interval of a share by Wilson's formula, which also works for 0 % and 100 %."""
    share, z = count / total, 1.96
    middle = (share + z**2 / (2 * total)) / (1 + z**2 / total)
    half = z / (1 + z**2 / total) * math.sqrt(share * (1 - share) / total + z**2 / (4 * total**2))
    return max(0.0, middle - half), min(1.0, middle + half)


def _shares(what: str, shares: Mapping[str, Sequence[int]]) -> str:
    """Return a Markdown table of counts and totals, by what is counted."""
    rows = []
    for name, (count, total) in shares.items():
        low, high = interval(count, total) if total else (0, 0)
        rows.append([name, *([f"{count:,} of {total:,}", f"{low:.1%} to {high:.1%}"] if total else ["none", "none"])])
    return _table([what, "share", "95 % interval"], rows)


def unit_page(table: UnitTable, course: Course) -> str:
    """Return the page of a unit: its exercises, its operators, and every mutant that was not killed."""
    exercises = table.exercises
    counted = [
        [
            f"`{name}`",
            *_cells([one]),
            *(f"{len(found):,}" if found else "none" for found in (one.pairs, one.unlisted_mistakes)),
        ]
        for name, one in exercises.items()
    ]
    return ENVIRONMENT.get_template("unit.md.j2").render(
        title=course.units[table.unit].title,
        table=_table(["exercise", *COLUMNS, "pairs", "unlisted mistakes"], counted),
        operators=_operators([table]),
        exercises=exercises,
    )


def totals(tables: Sequence[UnitTable]) -> list[str]:
    """Return the cells below COLUMNS."""
    return _cells([exercise for table in tables for exercise in table.exercises.values()])


def _cells(exercises: Sequence[ExerciseTable]) -> list[str]:
    return [f"{count:,}" for count in _counts(exercises).values()]


def _counts(exercises: Sequence[ExerciseTable]) -> dict[str, int]:
    """Return the sums of these exercises by COLUMNS."""
    mistakes = [one for exercise in exercises for one in exercise.mistakes()]
    fates = sum((exercise.fates() for exercise in exercises), Counter[Fate]())
    counts = (
        sum(exercise.criteria for exercise in exercises),
        sum(exercise.accepted_answers for exercise in exercises),
        sum(len(exercise.losing_accepted_answers) for exercise in exercises),
        len(mistakes),
        sum(not mistake.missed for mistake in mistakes),
        fates.total(),
        *(fates[fate] for fate in FATES),
    )
    return dict(zip(COLUMNS, counts, strict=True))


def _operators(tables: Iterable[UnitTable]) -> str:
    """Return a Markdown table of the operators, with the fates of their mutants."""
    fates: dict[str, Counter[Fate]] = {name: Counter() for name in OPERATORS}
    for table in tables:
        for exercise in table.exercises.values():
            for mutant in exercise.mutants:
                fates[mutant.operator][mutant.fate] += 1
    rows = [
        [
            name.replace("_", " "),
            " ".join((inspect.getdoc(OPERATORS[name]) or "").split()),
            f"{counts.total():,}",
            *(f"{counts[fate]:,}" for fate in FATES),
        ]
        for name, counts in fates.items()
        if counts
    ]
    return _table(["slip", "what it does", *MUTANT_COLUMNS], rows)


def _table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a Markdown table with texts on the left and numbers on the right."""
    rules = ["--:" if all(row[n][:1].isdigit() for row in rows) else "---" for n in range(len(columns))]
    lines = [columns, rules, *([cell.replace("|", "\\|") for cell in row] for row in rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)
