"""Runs the criteria of one submission, for grading and for `pytest` by hand, and keeps their outcomes.

Pictures and questions run as criteria too, whose outcome is what they draw and ask.
"""

from __future__ import annotations

import contextlib
import traceback
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any, Literal

from grader.course.left_out import left_out, tests_left_out
from grader.course.model import Course
from grader.course.modules import import_file
from grader.engine.criteria import Criterion
from grader.engine.error_hints import hint_for_statement
from grader.engine.explanations import advice, explained, lacks_import, trace_of
from grader.engine.failure_matrix import require_proof, with_solution
from grader.engine.name_hints import hint_on_characters
from grader.engine.newer_python import hint_for_missing
from grader.engine.outcomes import ADVICE, CAUSE, Outcome
from grader.engine.source_lines import SourceLines
from grader.engine.tensor_hints import without_lists
from grader.errors import InternalError
from grader.reports.report_model import Message
from grader.reports.scoring import depends_on
from grader.sandbox.failures import NOT_PYTHON, FailedStatement, Failure
from grader.sandbox.processes import Server
from grader.sandbox.sandbox_client import SandboxClient, Source
from grader.sandbox.units import SETTINGS
from grader.submissions.submission import UnitSource
from grader.testing.drawings import Drawing, OwnQuestion
from grader.testing.pictures import UPLOADED, collecting, pictures_of
from grader.testing.running_test import FILENAME, read_values
from grader.text import ended, in_words


@contextlib.contextmanager
def explaining() -> Iterator[None]:
    """Do without what the block explains if it raises an error: no point may depend on an explanation."""
    try:
        yield
    except InternalError:
        raise
    except Exception:  # noqa: BLE001 - a student's source can make an explanation raise anything
        traceback.print_exc(limit=5)


class Runner:
    """Judges one submission, criterion by criterion, in the course's order.

    Attributes:
        client: The client of the student process.
        outcomes: The outcome of each criterion, in the order of the runs.
        messages: What the student's code printed, raised or attempted, without duplicates.
        suite_faults: By unit, the lines of its suite that raised with these answers and not with the solution.
    """

    def __init__(self, course: Course, server: Server, sources: Mapping[str, UnitSource]) -> None:
        """Take the course, the server that starts student processes, and the sources of a submission's units."""
        texts = {unit: Source.of(source.filename, source.cells) for unit, source in sources.items()}
        self.client = SandboxClient(server, texts, course.limits)
        self.lines = SourceLines(texts, {unit: one.exercises for unit, one in course.units.items()})
        self.outcomes: dict[Criterion, Outcome] = {}
        self.messages: list[Message] = []
        self.suite_faults: dict[str, list[str]] = {}
        self._course = course
        self._noted: set[str] = set()
        self._places: set[tuple[Any, ...]] = set()  # of the errors that were noted
        self._exercises = [exercise for unit in course.units.values() for exercise in unit.exercises]

    def run(self, criterion: Criterion) -> BaseException | None:
        """Run a criterion. If it fails and its exercise builds on others, run it again with substitutes for those.

        Returns:
            The error of the first run if the criterion failed, or else None.

        Raises:
            InternalError: It could not be run, and the submission is not the cause.
        """
        exercise = f"{criterion.unit}/{criterion.exercise}"
        self._load(criterion.unit)
        self._use_budget(criterion.unit, exercise)
        first, error = criterion.attempt(self.client)
        outcome = first
        self._note_source(criterion.unit)  # if loading ran out of time before, and succeeded now
        others = {*self._course.units, *self._exercises} - {criterion.exercise}
        lost, is_own = self._failures(criterion.unit), False
        with explaining():
            is_own = lacks_import(outcome, lost, criterion.unit, others, self.lines)
        cause = self._setting(criterion, outcome)
        doubtful = [] if outcome.passed else self._doubtful(criterion, outcome)
        if doubtful:
            self._note_doings(criterion.unit, criterion.exercise)
            # A first run that hung used up its time, and another exercise may be the cause.
            self._use_budget(criterion.unit, f"{exercise} with substitutes")
            found = criterion.run_again(self.client, outcome, doubtful)
            # A substitute may be no help for an exercise that is right itself: then it gets one for what that calls.
            wrong = [one for one in doubtful if not self._is_right_itself(one)]
            if found.kind == "waiting" and wrong != doubtful:
                nearer = criterion.run_again(self.client, outcome, wrong)
                found = nearer if nearer.passed else found
            again = self._waiting_for_causes(found)
            outcome = again if again and (again.passed or not (is_own or cause)) else outcome
            self.client.take_printed()  # the same output again
            cause = "" if outcome.passed else cause or self._setting(criterion, outcome)
        with explaining():
            missing = outcome.missing_names()
            outcome = outcome.explained(self._with_names(lost, missing), others - missing if is_own else others)
            outcome = explained(outcome, criterion.unit, criterion.exercise, others, self.lines, lost)
        if cause:
            # Torch raises a NotImplementedError for what a device cannot do.
            is_written = outcome.kind != "not written"
            reason = outcome.reason if is_written else "It raised a NotImplementedError."
            kind = outcome.kind if is_written else "raised"
            outcome = replace(outcome, reason=f"{reason}{cause}", kind=kind, is_explained=True)
        self._check_suite(criterion, first, outcome)
        self.outcomes[criterion] = outcome
        if outcome.detail or (outcome.kind in ("timed out", "raised") and outcome.line):
            self._note_error(criterion, outcome, others)
        self._note_doings(criterion.unit, criterion.exercise)
        return None if outcome.passed else error

    def _check_suite(self, criterion: Criterion, first: Outcome, outcome: Outcome) -> None:
        """Keep for the instructor what the test itself raised in a run that lost a point.

        Raises:
            SuiteFault: It raises with the solution too, or asks for a name that the solution has not; or it was changed
                since the last build, and the solution fails it.
        """
        if not outcome.passed:
            require_proof(self._course, [criterion])
        for one in () if outcome.passed else {first.fault: first, outcome.fault: outcome}.values():
            unknown = one.missing_names().difference(self._exercises) if one.kind == "not defined" else ()
            if (one.fault or unknown) and (sentence := with_solution(self._course, criterion, one)):
                self.suite_faults.setdefault(criterion.unit, []).append(sentence)

    def _setting(self, criterion: Criterion, outcome: Outcome) -> str:
        """Return which statements are the cause because they change a setting of torch for all code, or ""."""
        if outcome.passed or outcome.kind in ("timed out", "ended"):
            return ""
        names = {setting.words: name for name, setting in SETTINGS.items()}
        remarks = [one for lost in self.client.failures.values() for one in lost if one.reason in names]
        needed = list(dict.fromkeys(names[one.reason] for one in remarks))
        if not needed:
            return ""
        self._use_budget(criterion.unit, f"{criterion.unit}/{criterion.exercise} without settings")
        with contextlib.suppress(Failure):
            if not self._passes_without(needed, criterion, outcome):
                return ""
            # One that changes nothing here is not to blame.
            for name in list(needed):
                others = [one for one in needed if one != name]
                needed = others if others and self._passes_without(others, criterion, outcome) else needed
            places = [
                f"line {one.line} of {one.file}, which {one.reason}" for one in remarks if names[one.reason] in needed
            ]
            return f"{CAUSE}{in_words(places)} for all code after it: delete it, or undo it there."
        return ""

    def _passes_without(self, settings: list[str], criterion: Criterion, outcome: Outcome) -> bool:
        """Return whether a test that had this outcome passes without what the units have made of these settings."""
        self.client.call("use_settings", undone=settings)
        again = criterion.run(self.client, outcome.substitutes)
        self.client.call("use_settings", undone=[])
        return again.passed

    def fail(self, criteria: Iterable[Criterion], reason: str) -> None:
        """Fail these criteria for this reason, and end the student process."""
        self.client.close()
        self.outcomes.update(dict.fromkeys(criteria, Outcome(False, "stopped", reason)))

    def _load(self, unit: str) -> None:
        """Load a unit. Code at the top of a file has its own time budget, apart from the first exercise's."""
        self._use_budget(unit, unit)
        with contextlib.suppress(Failure):
            self.client.load(unit)
        self._note_source(unit)

    def _note_source(self, unit: str) -> None:
        """Keep the messages about a unit's statements, once, when the unit is loaded."""
        if unit in self._noted or unit not in self.client.failures:
            return
        self._noted.add(unit)
        failures = self._failures(unit)
        for lost in failures:
            if not lost.ran:
                trace = trace_of(Outcome(False, file=lost.file, line=lost.line, trace=lost.trace), self.lines)
                hint = lost.hint or hint_for_missing(lost.detail, self._course.python)
                with explaining():
                    hint = hint or hint_for_statement(lost, self.lines, failures)
                    place = self.lines.at(*(lost.trace[-1] if lost.trace else (lost.file, lost.line)))
                    hint = hint_on_characters(hint, lost.detail, place)
                if lost.kept:
                    hint = f"{hint} An earlier {in_words([f'`{name}`' for name in lost.kept])} is used instead.".strip()
                text = f"{lost.reason} {ADVICE.sub('', lost.detail)}".strip()
                self._note(unit, None, "not run", text, lost.file, lost.line, trace=trace, hint=hint or None)
        self._note_doings(unit, None)

    def _failures(self, unit: str) -> list[FailedStatement]:
        """Return the statements of a unit that failed, each with the newer Python that it needs if it needs one."""
        found = self.client.failures.get(unit, [])
        with explaining():
            return [self.lines.needing_newer_python(one, self._course.python) for one in found]
        return found

    def _use_budget(self, unit: str, name: str) -> None:
        """Charge the unit's code to this budget from now on."""
        self.client.budget.use(name, self._course.units[unit].time_shares)

    def _doubtful(self, criterion: Criterion, first: Outcome) -> list[str]:
        """Return the earlier exercises that may be wrong; none if a second run would have the same outcome."""
        kinds: dict[str, set[str]] = {}
        for known, outcome in self.outcomes.items():
            kinds.setdefault(known.exercise, set()).add("substituted" if outcome.substitutes else outcome.kind)
        earlier = self._exercises[: self._exercises.index(criterion.exercise)]
        doubtful = [exercise for exercise in earlier if kinds.get(exercise) != {"passed"}]
        match first.kind:
            case "not defined":
                return []
            case "not written" if "not written" in kinds.get(criterion.exercise, ()):
                return []  # as in an earlier test, with substitutes too
            # An exercise that is not graded now has no known outcome.
            case "timed out" | "ended" if not any(first.kind in kinds.get(one, {first.kind}) for one in doubtful):
                return []  # the exercise itself is the cause
        return doubtful

    def _is_right_itself(self, exercise: str) -> bool:
        """Return whether an exercise has passed all its tests, if only with substitutes for what it calls."""
        outcomes = [outcome for known, outcome in self.outcomes.items() if known.exercise == exercise]
        return bool(outcomes) and all(outcome.passed for outcome in outcomes)

    def _with_names(self, lost: list[FailedStatement], missing: Collection[str]) -> list[FailedStatement]:
        """Return the statements that failed; to what is no Python, add the missing names that it would define."""

        def defined(one: FailedStatement) -> list[str]:
            return [name for name in missing if one.reason == NOT_PYTHON and self.lines.would_define(one, name)]

        return [replace(one, names=(*one.names, *defined(one))) for one in lost]

    def _waiting_for_causes(self, outcome: Outcome) -> Outcome | None:
        """Return an outcome that waits only for exercises that have failed by themselves; None if there are none.

        An exercise that is not tested now may be right, and one that was tested with a substitute for another one is.
        """
        if outcome.kind != "waiting":
            return outcome
        found, seen, waiting = set[str](), set[str](), set(outcome.substitutes)
        while waiting:
            name = waiting.pop()
            seen.add(name)
            known = [one for criterion, one in self.outcomes.items() if criterion.exercise == name]
            if name in self._course.units or any(one.kind not in ("passed", "waiting") for one in known):
                found.add(name)
            else:
                waiting |= {other for one in known for other in one.substitutes} - seen
        order = [*self._course.units, *self._exercises]
        return replace(outcome, substitutes=tuple(sorted(found, key=order.index))) if found else None

    def _note_doings(self, unit: str, exercise: str | None) -> None:
        """Keep what the student's code printed and attempted."""
        text, dropped = self.client.take_printed()
        if dropped:
            text = f"(Output truncated: {dropped} more bytes were dropped.)\n{text}"  # first, as long texts are cut
        if text:
            self._note(unit, exercise, "printed", text)
        for sentence in self.client.take_anomalies():
            self._note(unit, exercise, "attempted" if sentence.startswith("It tried") else "not run", sentence)

    def _note_error(self, criterion: Criterion, outcome: Outcome, others: Collection[str]) -> None:
        """Keep the message about an error, once for each line that raises one of its kind."""
        place = (criterion.unit, criterion.exercise, outcome.reason, outcome.file, outcome.line)
        if outcome.line and place in self._places:
            return
        self._places.add(place)
        trace = trace_of(outcome, self.lines)
        lost = self.client.failures.get(self.lines.unit_of(outcome.file) or "", [])
        hint, detail = hint_for_missing(outcome.detail, self._course.python), outcome.detail
        with explaining():
            hint = hint or advice(outcome, others, self.lines, lost)
            hint = hint_on_characters(hint, outcome.detail, self.lines.at(outcome.file, outcome.line))
            detail = without_lists(outcome.detail, hint)
        text = f"{outcome.reason} {detail}".strip()
        unit, exercise = criterion.unit, criterion.exercise
        self._note(unit, exercise, "raised", text, outcome.file, outcome.line, trace=trace, hint=hint or None)

    def _note(
        self,
        unit: str,
        exercise: str | None,
        kind: Literal["printed", "raised", "not run", "attempted"],
        text: str,
        file: str | None = None,
        line: int | None = None,
        **more: Any,
    ) -> None:
        """Keep a message, once: the tests of one exercise often cause the same one."""
        message = Message(unit=unit, exercise=exercise, kind=kind, text=text, file=file, line=line, **more)
        if message not in self.messages:
            self.messages.append(message)


def pictures_of_unit(course: Course, unit: str) -> list[Criterion]:
    """Return the pictures and questions of a unit, without those that need an exercise that the course leaves out.

    A criterion's name begins with "picture" or "question", and its sentence is the caption.
    """
    path = course.checks / f"pictures_{unit}.py"
    if not path.is_file():
        return []
    removed = tests_left_out(path.read_text(encoding="utf-8"), left_out(course).get(unit, []))
    found = []
    for name, (what, exercise, function) in pictures_of(import_file(path)).items():
        caption = " ".join((function.__doc__ or "").split())
        if name not in removed:
            found.append(Criterion(unit, exercise, f"{what}_{name}", caption, (), function, course.version, UPLOADED))
    return found


def draw(
    runner: Runner, course: Course, units: Collection[str], exercises: Collection[str]
) -> tuple[list[Drawing], list[OwnQuestion]]:
    """Draw the pictures of these exercises, and answer the questions on them, after the tests of their units.

    Args:
        runner: The runner, which knows by the tests which exercises are right.
        course: The course.
        units: The units that were tested.
        exercises: The exercises to draw.
    """
    drawings: list[Drawing] = []
    questions: list[OwnQuestion] = []
    for unit in [unit for unit in course.units if unit in units]:
        if set(course.units[unit].exercises).isdisjoint(exercises):
            continue
        known = read_values(course.checks / FILENAME).get(unit, {})
        for criterion in [one for one in pictures_of_unit(course, unit) if one.exercise in exercises]:
            with collecting() as collected:
                outcome = _run(runner, criterion)
            if criterion.name.startswith("question"):
                asked = collected.questions if outcome.passed else []
                questions += [replace(one, exercise=criterion.exercise) for one in asked]
                continue
            values = known.get(criterion.name, {})
            panels = [
                replace(panel, expected=values.get(panel.name)) if panel.name in collected.solved else panel
                for panel in collected.panels.values()
            ]
            problem = _problem(outcome)
            drawings.append(Drawing(criterion.exercise, criterion.name, criterion.sentence, panels, problem))
    return drawings, questions


def _run(runner: Runner, criterion: Criterion) -> Outcome:
    """Run a criterion that earns nothing: its outcome and messages are no part of the result."""
    known = len(runner.messages)
    runner.run(criterion)
    del runner.messages[known:]
    return runner.outcomes.pop(criterion)


def _problem(outcome: Outcome) -> str:
    """Return what is wrong, in the words of a check."""
    if outcome.passed:
        return ""
    if outcome.kind == "waiting":
        return depends_on(list(outcome.substitutes))
    place = f"{outcome.file}, line {outcome.line}: " if outcome.file else ""
    return place + " ".join(filter(None, [ended(outcome.reason), outcome.detail and ended(outcome.detail)]))
