"""Decides which time belongs to which hand-in. What cannot be known is said, and left to the instructor."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

from grader.classes.decisions import Decisions
from grader.classes.hand_ins import HandIn
from grader.classes.tables import TableError
from grader.classes.times import (
    CANVAS,
    GITHUB,
    GRADESCOPE,
    NBGRADER,
    TIMES,
    Time,
    TimesLine,
    Worksheet,
    bare,
    is_collected,
    pushed_time,
    stamped_time,
    stem,
)
from grader.reports.folder import INSTRUCTOR
from grader.submissions.submission import quoted
from grader.text import in_words


class Dating:
    """When the hand-ins of a class came.

    Attributes:
        notes: Sentences for the instructor on what cannot be known from the tables, with their lines.
    """

    def __init__(
        self,
        decisions: Decisions,
        paths: Sequence[Path],
        found: Mapping[str, Sequence[HandIn]],
        units: Collection[str],
    ) -> None:
        """Assign the worksheets to the downloads.

        Args:
            decisions: The tables, and the course.
            paths: The folders and archives that are graded.
            found: Each student's hand-ins in them.
            units: The units to grade.

        Raises:
            TableError: It cannot be known which download a worksheet belongs to.
        """
        self.notes: list[str] = []
        self._course, self._times = decisions.course, decisions.times
        self._paths, self._units = paths, units
        self._here: dict[Path, list[HandIn]] = {path: [] for path in paths}
        for one in itertools.chain.from_iterable(found.values()):
            self._here.setdefault(one.path, []).append(one)
        self._worksheets: dict[tuple[Path, str], Worksheet] = {}
        for unit in units:
            self._assign(unit)
        for path, worksheet in {(path, one.path): (path, one) for (path, _), one in self._worksheets.items()}.values():
            self._note_worksheet(path, worksheet)
        self._note_others()

    def times(self, student: str, unit: str, hand_ins: Sequence[HandIn], having: Collection[int]) -> list[Time | None]:
        """Return when each of a student's hand-ins came; None if nothing says so.

        Args:
            student: The student.
            unit: The unit.
            hand_ins: The student's hand-ins.
            having: The numbers of those that have the unit.
        """
        by_line = self._from_lines(student, unit, hand_ins, having)
        has_lines = bool(self._times.of(student, unit))
        times = []
        for number, one in enumerate(hand_ins):
            time = by_line.get(number) or self._from_download(student, unit, one)
            if time is None and has_lines:  # they are about others
                time = Time(None, TIMES)
            if number not in having and time and time.at is None:
                time = None  # there is nothing that could be late
            if number in having and time is None:
                self._note_undated(one.path, unit)
            times.append(time)
        return times

    # Which download a worksheet belongs to.

    def _assign(self, unit: str) -> None:
        """Assign the worksheets of the downloads, and that of a unit, to the downloads for this unit."""
        worksheets = self._times.worksheets
        for path in self._paths:
            if worksheet := worksheets.get(stem(path)):
                if sum(stem(one) == stem(path) for one in self._paths) > 1:
                    raise TableError(
                        f"{worksheet.path}: several downloads are called {stem(path)!r}, and it can be about one only: "
                        "rename the others."
                    )
                self._worksheets[path, unit] = worksheet
        without = [path for path in self._paths if (path, unit) not in self._worksheets]
        worksheet = worksheets.get(unit)
        if worksheet is None or not without or unit in map(stem, self._paths):
            return
        remedy = f"rename it to {' or '.join(f'times_{stem(path)}.csv' for path in without)}"
        if unit.casefold() in self._others:
            self.notes.append(
                f"{worksheet.path} is taken for the worksheet of the download {unit!r}, which lies here and is "
                f"not graded now. If it is not, {remedy}."
            )
            return
        # Numbers are those of one assignment.
        holding = [path for path in self._paths if len(self._paths) == 1 or self._numbers(path) & worksheet.numbers]
        if len(holding) != 1 or holding[0] not in without:
            raise TableError(
                f"{worksheet.path}: it cannot be known which of {in_words([quoted(path) for path in self._paths])} it "
                f"is about: {remedy}."
            )
        self._worksheets[holding[0], unit] = worksheet

    def _note_worksheet(self, path: Path, worksheet: Worksheet) -> None:
        """Note what a worksheet does not say, and whether it is that of another assignment."""
        self.notes += worksheet.notes
        numbers = self._numbers(path)
        if numbers and not numbers & worksheet.numbers:
            self.notes.append(
                f"{worksheet.path} has none of the numbers in the names of {quoted(path)}: it is about another "
                "assignment, so download the worksheet of this one."
            )

    def _numbers(self, path: Path) -> set[str]:
        """Return Moodle's numbers of the submissions in a download."""
        return {one.number for one in self._here[path]} - {""}

    @functools.cached_property
    def _others(self) -> set[str]:
        """The names, in lower case, of downloads beside the roster and beside those that are graded now."""
        folders = {path.absolute().parent for path in self._paths} | {self._times.folder or Path()}
        found = [path for folder in folders for path in sorted(folder.glob("*"))]
        downloads = [path for path in found if bare(path.name) != path.name or path.is_dir()]
        names = {stem(path).casefold() for path in downloads if not (path / INSTRUCTOR).is_dir()}  # reports are none
        return names - {stem(path).casefold() for path in self._paths}

    def _note_others(self) -> None:
        """Note worksheets that belong to nothing: perhaps their names are misspelled."""
        folder = self._times.folder
        others = {path.parent for path in self._paths if folder and path.parent.resolve() != folder.resolve()}
        for path in sorted(path for one in others for path in one.glob("times*.csv")):
            self.notes.append(f"{path} is not used: put it beside the roster.")
        for path in sorted(folder.glob("times_*.csv")) if folder else ():
            name = path.stem.removeprefix("times_")
            if name not in self._times.worksheets and name.casefold() not in self._others:
                self.notes.append(f"{path} is not used: {name!r} is neither a unit nor a download here.")

    def _note_undated(self, path: Path, unit: str) -> None:
        """Note once that nothing says the times of a download, if something says those of another one."""
        dated = {one for one, _ in self._worksheets} | {one for one, name in self._of_nbgrader if name == unit}
        dated |= self._of_gradescope | {one for one in self._paths if is_collected(one)}
        dated |= {one for one, own in self._here.items() if any(hand_in.is_late for hand_in in own)}  # in Canvas
        sentence = (
            f"Nothing says when the submissions of {unit} in {quoted(path)} came, so they count as in time: write "
            f"{TIMES}, or save its grading worksheet as times_{stem(path)}.csv beside the roster."
        )
        if dated and path not in dated and sentence not in self.notes and self._course.late.percent(1):
            self.notes.append(sentence)

    # What says when a hand-in came.

    def _from_lines(
        self, student: str, unit: str, hand_ins: Sequence[HandIn], having: Collection[int]
    ) -> dict[int, Time]:
        """Return the times of hand-ins, by number, that lines of times.csv are about, or may be about."""
        found: dict[int, list[TimesLine]] = {}
        unclear: set[int] = set()
        lines = sorted(self._times.of(student, unit), key=lambda line: not line.submission)
        for line in lines:
            if line.submission:
                fitting = [number for number, one in enumerate(hand_ins) if one.is_called(line.submission)]
            else:  # those that have no line of their own
                fitting = [number for number in having or range(len(hand_ins)) if number not in found]
            if len(fitting) == 1:
                found.setdefault(fitting[0], []).append(line)
            elif fitting:
                unclear.update(fitting)
                names = in_words([repr(hand_ins[number].name) for number in fitting])
                self.notes.append(
                    f"{line.place}: it may be about {len(fitting)} submissions of {unit} by {student}, in {names}. "
                    "Their times are unknown: name one in the column `submission`."
                )
            elif not line.submission:
                self.notes.append(f"{line.place}: other lines are about all submissions of {student}: remove this one.")
            elif (name := bare(line.submission).casefold()) in map(str.casefold, map(stem, self._paths)):
                self.notes.append(
                    f"{line.place}: {student} has no submission in {line.submission!r}: correct the line, or remove it."
                )
            elif name not in self._others:
                self.notes.append(
                    f"{line.place}, submission: {line.submission!r} is no submission of {student} here, and no "
                    "download: correct the name."
                )
        for number, own in found.items():
            if len(own) > 1:
                unclear.add(number)
                self.notes.append(
                    f"{in_words([line.place for line in own])} are about the same submission of {student}, so its time "
                    "is unknown: remove all but one."
                )
        times = {number: Time(own[0].at, TIMES) for number, own in found.items()}
        return {**times, **{number: Time(None, TIMES) for number in unclear}}

    def _from_download(self, student: str, unit: str, one: HandIn) -> Time | None:
        """Return the time that the platform of a hand-in says; without a time if it says those of others alone."""
        if worksheet := self._worksheets.get((one.path, unit)):
            return worksheet.time(one.number, student)
        if one.path in self._of_gradescope:
            return Time(one.at, GRADESCOPE)
        if time := pushed_time(one.path, student, unit):
            return time
        if is_collected(one.path):
            return Time(None, GITHUB)
        if one.is_late:
            return Time(None, CANVAS)
        stamp = stamped_time(one.tree, unit) if isinstance(one.tree, Path) else None
        return stamp or (Time(None, NBGRADER) if (one.path, unit) in self._of_nbgrader else None)

    @functools.cached_property
    def _of_gradescope(self) -> set[Path]:
        return {path for path, own in self._here.items() if any(one.at for one in own)}

    @functools.cached_property
    def _of_nbgrader(self) -> set[tuple[Path, str]]:
        """The folders and units in which most submissions have nbgrader's time. One student could have written it."""
        found = set()
        for path, unit in itertools.product(self._paths, self._units):
            trees = [one.tree for one in self._here[path]]
            stamps = [stamped_time(tree, unit) for tree in trees if isinstance(tree, Path)]
            if sum(stamp is not None for stamp in stamps) * 2 > len(trees):
                found.add((path, unit))
        return found
