"""The findings of the audit: a table for each unit, and a sentence for each problem."""

from __future__ import annotations

import ast
import hashlib
import io
import tokenize
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from typing import Literal, NamedTuple

from pydantic import Field

from grader.audit.cases import RIGHT, WRITTEN, Kind, names_of
from grader.audit.run import CaseResult, Ticks
from grader.course.model import Course
from grader.documents import Model
from grader.engine.criteria import Criterion, criteria_of_unit
from grader.files import PACKAGE

FEWEST_MUTANTS = 8
"""The least number of mutants that differ from the solution, for an exercise that is a class."""

Fate = Literal["killed", "equivalent", "survived", "unfair"]
"""The fate of a mutant. Unfair: it lost points, although no difference from the solution was found."""


class MutantFate(Model):
    """One mutant: its fate, the number of criteria that it failed, and the evidence."""

    name: str
    operator: str
    line: int
    fate: Fate
    missed: int
    evidence: str = Field(description="What tells it from the solution, or how long that was looked for.")
    diff: str | None = Field(description="Of those that were not killed.")


class MistakeFate(Model):
    """A handwritten wrong answer: the number of criteria that it failed, and the misconceptions that were named."""

    name: str
    missed: int
    named: list[str]


class ExerciseTable(Model):
    """The findings on one exercise."""

    criteria: int
    weight: int
    is_class: bool
    accepted_answers: int
    losing_accepted_answers: list[str] = Field(description="Right answers that lose points, each with what it loses.")
    broken: list[str] = Field(description="Answers written by hand that an error stops, probably without intent.")
    stub_earns: list[str] = Field(description="Criteria that an untouched stub earns.")
    misconceptions: list[MistakeFate]
    pairs: list[MistakeFate] = Field(description="Answers with two misconceptions; their names have both.")
    unlisted_mistakes: list[MistakeFate]
    mutants: list[MutantFate]
    dead: list[str] = Field(description="Criteria that no wrong answer loses.")
    always_together: list[list[str]] = Field(description="Criteria that the very same wrong answers lose.")

    def fates(self) -> Counter[Fate]:
        """Count the mutants of each fate."""
        return Counter(mutant.fate for mutant in self.mutants)

    def mistakes(self) -> list[MistakeFate]:
        """Return all handwritten wrong answers."""
        return [*self.misconceptions, *self.pairs, *self.unlisted_mistakes]


class UnitTable(Model):
    """The findings on one unit."""

    unit: str
    exercises: dict[str, ExerciseTable]
    ticks: Ticks


class Share(NamedTuple):
    """How many of all have something."""

    number: int
    total: int


def table_of(
    course: Course, unit: str, results: Sequence[CaseResult], ticks: Ticks, audited: Collection[str]
) -> UnitTable:
    """Return the table of a unit, with these exercises."""
    criteria = criteria_of_unit(course, unit)
    weights = course.units[unit].exercises.items()
    exercises = {name: _exercise(name, weight, results, criteria) for name, weight in weights if name in audited}
    return UnitTable(unit=unit, exercises=exercises, ticks=ticks)


def _exercise(exercise: str, weight: int, results: Sequence[CaseResult], of_unit: Sequence[Criterion]) -> ExerciseTable:
    def of(*kinds: Kind) -> list[CaseResult]:
        return [one for one in results if one.case.exercise == exercise and one.case.kind in kinds]

    criteria = [one.name for one in of_unit if one.exercise == exercise]
    wrong = [*of(*WRITTEN), *(result for result in of("mutant") if _fate(result) == "killed")]
    losers = {name: frozenset(n for n, one in enumerate(wrong) if name in one.missed) for name in criteria}
    together: dict[frozenset[int], list[str]] = {}
    for name, lost_by in losers.items():
        together.setdefault(lost_by, []).append(name)
    return ExerciseTable(
        criteria=len(criteria),
        weight=weight,
        is_class=exercise[:1].isupper(),
        accepted_answers=len(of(*RIGHT)),
        losing_accepted_answers=[f"{one.case.name}: {', '.join(one.missed)}" for one in of(*RIGHT) if one.missed],
        broken=[one.broken for one in of(*RIGHT, *WRITTEN) if one.broken],
        stub_earns=[name for stub in of("stub") for name in criteria if name not in stub.missed],
        misconceptions=_mistakes(of("misconception")),
        pairs=_mistakes(of("two mistakes")),
        unlisted_mistakes=_mistakes(of("unknown mistake")),
        mutants=[_mutant(result) for result in of("mutant")],
        dead=[name for name, lost_by in losers.items() if not lost_by],
        always_together=[names for lost_by, names in together.items() if lost_by and len(names) > 1],
    )


def _mistakes(results: Sequence[CaseResult]) -> list[MistakeFate]:
    return [MistakeFate(name=one.case.name, missed=len(one.missed), named=list(one.named)) for one in results]


def _fate(result: CaseResult) -> Fate:
    assert result.search
    if result.search.difference is None:
        return "unfair" if result.missed else "equivalent"
    return "killed" if result.missed else "survived"


def _mutant(result: CaseResult) -> MutantFate:
    assert result.case.mutant
    assert result.search
    mutant, fate = result.case.mutant, _fate(result)
    return MutantFate(
        name=mutant.id,
        operator=mutant.operator,
        line=mutant.line,
        fate=fate,
        missed=len(result.missed),
        evidence=result.search.difference or f"no difference in {result.search.draws} draws",
        diff=None if fate == "killed" else mutant.diff,
    )


def problems_of(table: UnitTable, is_sample: bool = False) -> list[str]:
    """Return a sentence for each problem of a unit's suite and its diagnosis.

    A sample shows right answers that lose points or fail a visible test, wrong ones that keep all, and wrong names.
    """
    found = [f"{table.unit}: a right answer gets no tick: {one}" for one in table.ticks.refused]
    for name, exercise in table.exercises.items():
        where, fates = f"{table.unit}/{name}", exercise.fates()
        found += [f"{where}: a right answer loses points: {one}" for one in exercise.losing_accepted_answers]
        found += exercise.broken
        found += [f"{where}: the untouched stub earns {one}" for one in exercise.stub_earns]
        found += [
            f"{where}: the wrong answer {one.name} keeps all points" for one in exercise.mistakes() if not one.missed
        ]
        own = [(one, one.named == names_of(one.name)) for one in exercise.misconceptions]
        own += [(one, set(one.named) <= set(names_of(one.name))) for one in exercise.pairs]
        own += [(one, not one.named) for one in exercise.unlisted_mistakes]
        found += [f"{where}: {one.name} is named {one.named or 'nothing'}" for one, is_right in own if not is_right]
        for mutant in exercise.mutants:
            if mutant.fate in ("survived", "unfair"):
                what = "keeps all points" if mutant.fate == "survived" else "loses points"
                found.append(f"{where}: the mutant {mutant.name} {what} ({mutant.evidence})\n{mutant.diff}")
        if is_sample:
            continue
        found += [f"{where}: no wrong answer loses {one}" for one in exercise.dead]
        found += [f"{where}: the same wrong answers lose {' and '.join(names)}" for names in exercise.always_together]
        told_apart = fates["killed"] + fates["survived"]
        if exercise.is_class and told_apart < FEWEST_MUTANTS:
            found.append(f"{where}: only {told_apart} mutants are not equivalent, where {FEWEST_MUTANTS} are asked for")
    return found


def naming_of(tables: Iterable[UnitTable]) -> dict[str, Share]:
    """Return how often answers with two misconceptions, and with none, get which names."""
    exercises = [exercise for table in tables for exercise in table.exercises.values()]
    pairs = [(set(one.named), set(names_of(one.name))) for exercise in exercises for one in exercise.pairs]
    others = [bool(one.named) for exercise in exercises for one in exercise.unlisted_mistakes]
    counted = {
        "answers with two known mistakes that get both names": [named == own for named, own in pairs],
        "answers with two known mistakes that get one of the names": [set() < named < own for named, own in pairs],
        "other mistakes that get a name": others,
    }
    return {what: Share(sum(answers), len(answers)) for what, answers in counted.items()}


def digest_of(course: Course) -> str:
    """Return the digest of sandbox, testing, engine and suites, without comments and imports.

    If it changes, the audit is outdated. It is the same in every version of Python, unlike one from ast.unparse.
    """
    suites = sorted(course.suites.glob("*.py"))
    suites += [path for unit in course.units for path in sorted((course.suites / unit).rglob("*.py"))]
    total = hashlib.sha256()
    ours = [path for folder in ("sandbox", "testing", "engine") for path in sorted((PACKAGE / folder).glob("*.py"))]
    for path, base in [*((path, PACKAGE) for path in ours), *((path, course.suites) for path in suites)]:
        code = _compared(path.read_text(encoding="utf-8"))
        total.update(f"{path.relative_to(base).as_posix()}\0{code}\0".encode())
    return total.hexdigest()[:16]


def _compared(source: str) -> str:
    """Return the lines of a source without comments, imports and empty lines."""
    lines = source.splitlines()
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            row, column = token.start
            lines[row - 1] = lines[row - 1][:column]
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import | ast.ImportFrom) or (
            isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
        ):
            lines[node.lineno - 1 : node.end_lineno] = [""] * ((node.end_lineno or node.lineno) - node.lineno + 1)
    return "\n".join(line.rstrip() for line in lines if line.strip())
