"""The audit's tables as files: JSON for programs, Markdown for people, and a summary of all units."""

from __future__ import annotations

import inspect
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from pydantic import ValidationError

from grader.audit.cases import AuditError
from grader.audit.operators import OPERATORS
from grader.audit.verdict import ExerciseTable, Fate, MutantFate, UnitTable, naming_of
from grader.course import Course
from grader.files import write_atomically

SUMMARY = "README.md"
FATES: tuple[Fate, ...] = ("killed", "equivalent", "survived", "unfair")
MUTANT_COLUMNS = ("mutants", *FATES)
COLUMNS = ("criteria", "right", "losing points", "wrong", "keeping all", *MUTANT_COLUMNS)


def write_tables(tables: Sequence[UnitTable], folder: Path, course: Course) -> list[Path]:
    """Writes <unit>.json and <unit>.md for each, and a summary of all units that have a table there. Raises OSError."""
    folder.mkdir(parents=True, exist_ok=True)
    texts: dict[Path, str] = {}
    for table in tables:
        texts[folder / f"{table.unit}.json"] = table.model_dump_json(indent=1) + "\n"
        texts[folder / f"{table.unit}.md"] = unit_page(table, course)
    for path, text in texts.items():
        write_atomically(path, text)
    known = [known for unit in course.units if (known := read_table(unit, folder))]
    write_atomically(folder / SUMMARY, summary_page(known, course))
    return [*texts, folder / SUMMARY]


def read_table(unit: str, folder: Path) -> UnitTable | None:
    """The table of a unit, None where there is none. Raises AuditError where it cannot be read."""
    path = folder / f"{unit}.json"
    try:
        return UnitTable.model_validate_json(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    except (ValidationError, UnicodeDecodeError):
        raise AuditError(f"{path} is no table of this audit: delete it, and run `grader audit` again.") from None


def summary_page(tables: Sequence[UnitTable], course: Course) -> str:
    """All units: what became of right and wrong answers, by unit and by operator, and how mistakes are named."""
    naming = naming_of(tables)
    return _page(
        "# The audit",
        "A grader is as good as its errors are few: a wrong answer that passes, a right answer that fails, a name that "
        "misleads. `grader audit` measures all three, over the same door that students' answers take, and writes these "
        "pages.",
        *_table(
            ["unit", *COLUMNS],
            [[f"[{course.units[table.unit].title}]({table.unit}.md)", *totals([table])] for table in tables]
            + [["**all**", *totals(tables)]],
        ),
        "Right answers are the solution and others in other styles, by exercise. Wrong answers are the misconceptions, "
        "the same mistakes in other words, and mistakes that are none of them, all written by hand. Where a right one "
        "loses points, or a wrong one keeps all, the suite is to be mended.",
        "## Mutants",
        "A mutant is the solution with one slip, made on the syntax tree. It is **equivalent** where nothing is found "
        "that the course rules on and that tells it from the solution: values, shapes, gradients, parameters, "
        "arguments afterwards, refusals, training and evaluation, distributions, dtypes. A draw tries a batch of "
        "inputs or a module; mostly a thousand are compared, and fewer where one takes long, as each page says. It has "
        "**survived** where something tells it but no hidden test fails, and is **unfair** where nothing tells it and "
        "one does.",
        *_table(["slip", "what it does", *MUTANT_COLUMNS], _operator_rows(tables)),
        "## Names",
        f"Of {naming.mistakes} misconceptions that were written again in other words, {naming.named_rightly} are named "
        f"by their own name and no other: a recall of {naming.recall:.1%}. Of {naming.others} other mistakes "
        f"{naming.others_named} are given a name, and {naming.named_wrongly} misconceptions a wrong one: a precision "
        f"of {naming.precision:.1%}.",
        *_table(
            ["unit", "misconceptions", "named rightly", "named wrongly", "other mistakes", "given a name"],
            [[course.units[table.unit].title, *_named(table)] for table in tables],
        ),
        "Random exercises are matched on the statistics that the suite takes, each within the error of both estimates. "
        "An answer that only raises errors is matched where the same tests raise the same types of errors and no other "
        "misconception does that. Where two mistakes cannot be told apart by what they do, one sentence says both.",
        "These shares are of what is written here, and so is the work that went into them: a mistake that got a wrong "
        "name was given a truer sentence, or a test that tells it apart. Students will make others.",
        "## How it is made",
        "`grader audit` makes all of it anew, `grader audit --unit UNIT` one unit's part, and `grader audit --quick` "
        "holds a sample of the answers against these tables, as `make test` does. The JSON beside each page says "
        "everything on it, and what became of each single answer.",
    )


def unit_page(table: UnitTable, course: Course) -> str:
    """One unit: its exercises, its operators, and every mutant that was not killed."""
    exercises = table.exercises
    dead = [f"`{name}` of {exercise}" for exercise, one in exercises.items() for name in one.dead]
    together = [
        " and ".join(f"`{name}`" for name in names) for one in exercises.values() for names in one.always_together
    ]
    return _page(
        f"# {course.units[table.unit].title}",
        "[What the columns mean](README.md).",
        *_table(
            ["exercise", *COLUMNS],
            [[f"`{name}`", *_exercise_totals([one])] for name, one in exercises.items()],
        ),
        f"Tests that no wrong answer fails: {', '.join(dead) or 'none'}. "
        f"Points that no wrong answer can lose: {sum(one.weight * len(one.dead) for one in exercises.values())}. "
        f"Tests that the very same wrong answers fail: {'; '.join(together) or 'none'}.",
        "## Slips",
        *_table(["slip", "what it does", *MUTANT_COLUMNS], _operator_rows([table])),
        "## Mutants that were not killed",
        *(_described(exercise, mutant) for exercise, one in exercises.items() for mutant in one.mutants if mutant.diff),
    )


def _described(exercise: str, mutant: MutantFate) -> str:
    return f"`{exercise}`, {mutant.operator}, {mutant.fate}: {mutant.evidence}.\n\n```diff\n{mutant.diff}\n```"


def totals(tables: Sequence[UnitTable]) -> list[str]:
    """The cells below COLUMNS."""
    return _exercise_totals([exercise for table in tables for exercise in table.exercises.values()])


def _exercise_totals(exercises: Sequence[ExerciseTable]) -> list[str]:
    mistakes = [one for exercise in exercises for one in exercise.mistakes()]
    fates = sum((exercise.fates() for exercise in exercises), Counter[Fate]())
    counts = [
        sum(exercise.criteria for exercise in exercises),
        sum(exercise.right_answers for exercise in exercises),
        sum(len(exercise.losing_right_answers) for exercise in exercises),
        len(mistakes),
        sum(not mistake.missed for mistake in mistakes),
        fates.total(),
        *(fates[fate] for fate in FATES),
    ]
    return [f"{count:,}" for count in counts]


def _operator_rows(tables: Iterable[UnitTable]) -> list[list[str]]:
    fates: dict[str, Counter[Fate]] = {name: Counter() for name in OPERATORS}
    for table in tables:
        for exercise in table.exercises.values():
            for mutant in exercise.mutants:
                fates[mutant.operator][mutant.fate] += 1
    return [
        [name.replace("_", " "), _sentence(name), f"{counts.total():,}", *(f"{counts[fate]:,}" for fate in FATES)]
        for name, counts in fates.items()
        if counts
    ]


def _sentence(operator: str) -> str:
    return " ".join((inspect.getdoc(OPERATORS[operator]) or "").split())


def _named(table: UnitTable) -> list[str]:
    naming = naming_of([table])
    counts = [naming.mistakes, naming.named_rightly, naming.named_wrongly, naming.others, naming.others_named]
    return [f"{count:,}" for count in counts]


def _table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """Texts to the left, numbers to the right."""
    rules = ["--:" if all(row[n][:1].isdigit() for row in rows) else "---" for n in range(len(columns))]
    lines = [columns, rules, *([cell.replace("|", "\\|") for cell in row] for row in rows)]
    yield "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _page(*paragraphs: str) -> str:
    return "\n\n".join(paragraphs) + "\n"
