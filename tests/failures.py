"""The failures of every mistake: `python tests/failures.py [UNIT …]` writes tests/suites/failures.txt anew.

The file has a line for each misconception and each of the other wrong answers, with the criteria that
it fails, or with those that it passes if these are fewer. Nobody writes it by hand: read its diff, because a criterion
that a mistake newly fails or passes is a point that a student loses or keeps.
"""

from __future__ import annotations

import sys
from collections.abc import Collection, Iterator

from courses import COURSE, REPOSITORY
from units import SUITES, Suite

from grader.audit.cases import handwritten_mistakes, run_case

FILE = REPOSITORY / "tests" / "suites" / "failures.txt"
WRITE_ANEW = "run `python tests/failures.py` and review the diff"


def of_misconceptions(suite: Suite) -> Iterator[str]:
    """Yield the line of each misconception of a unit, from the failure matrix."""
    for mistake in suite.known:
        yield _line(suite, mistake.exercise, mistake.name, suite.missed_by(mistake))


def of_other_mistakes(suite: Suite) -> Iterator[str]:
    """Run each of the other wrong answers of a unit, and yield its line."""
    for case in handwritten_mistakes(COURSE, suite.unit):
        outcomes = suite.outcomes(run_case(case), case.exercise)
        failed = {name for name, outcome in outcomes.items() if not outcome.passed}
        yield _line(suite, case.exercise, case.name, failed)


def on_this_processor(suite: Suite) -> Iterator[str]:
    """Run all known answers to a unit, and yield the line of each mistake, and one for a right answer that fails."""
    for style in suite.styles:
        if failed := {criterion.name for criterion in suite.criteria} - suite.passed(suite.in_style(style)):
            yield f"{suite.unit} in the style {style} is right, and fails: {' '.join(sorted(failed))}"
    for mistake in suite.known:
        names = {mistake.exercise: mistake.implementation}
        outcomes = suite.outcomes(names, mistake.exercise)
        yield _line(suite, mistake.exercise, mistake.name, {name for name, one in outcomes.items() if not one.passed})
    yield from of_other_mistakes(suite)


def _line(suite: Suite, exercise: str, name: str, failed: Collection[str]) -> str:
    criteria = sorted(criterion.name for criterion in suite.of(exercise))
    kept = [criterion for criterion in criteria if criterion not in failed]
    what = f"all {len(criteria)} but {' '.join(kept)}" if len(kept) < len(failed) else " ".join(sorted(failed))
    return f"{suite.unit}/{exercise}/{name}: {what.removesuffix(' but ')}"


def main(units: Collection[str]) -> None:
    others = SUITES.keys() - units
    kept = [line for line in FILE.read_text(encoding="utf-8").splitlines() if line.partition("/")[0] in others]
    suites = [SUITES[unit] for unit in units]
    found = kept + [line for suite in suites for line in (*of_misconceptions(suite), *of_other_mistakes(suite))]
    FILE.write_text("".join(f"{line}\n" for line in sorted(found)), encoding="utf-8")
    print(f"{FILE.relative_to(REPOSITORY)} has {len(found)} mistakes.")


if __name__ == "__main__":
    main(sys.argv[1:] or list(SUITES))
