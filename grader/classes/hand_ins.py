"""Who handed in what: the submissions that were found, by student of the roster, by group and by part of a class."""

from __future__ import annotations

import datetime
import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from grader.classes.collected import LATE
from grader.classes.decisions import Decisions
from grader.classes.matcher import is_plain
from grader.classes.roster import RosterEntry
from grader.classes.times import bare, is_collected, late_work, stem
from grader.errors import GraderError
from grader.submissions.find import Found, Submissions
from grader.submissions.layouts import is_anonymous, moodle_number
from grader.submissions.submission import folded, quoted, student_id
from grader.submissions.tree import Files
from grader.text import in_words, listed

_MOST = 50
_MOST_PAIRS = 10
_FORM = re.compile(r"([1-9]\d{0,4})/([1-9]\d{0,4})")


@dataclass(frozen=True)
class HandIn:
    """One submission of a student.

    Attributes:
        tree: The folder or tree.
        path: The path that was given.
        is_late: Whether a platform marked it as late.
        ties: What it has in common with the submissions of others who may have handed in together.
        place: Where it lies in what was given.
        at: When it came, if the platform says so in the download.
        called: The student's name in the download.
    """

    tree: Path | Files
    path: Path
    is_late: bool = False
    ties: frozenset[str] = frozenset()
    place: Path | None = None
    at: datetime.datetime | None = None
    called: str = ""

    @property
    def name(self) -> str:
        """The name of the download, for messages and the column `submission` of times.csv."""
        name = self.path.name or self.path.resolve().name
        return f"{LATE}/{name}" if is_collected(self.path.parent) else name

    @property
    def number(self) -> str:
        """Moodle's number of it, which the grading worksheet has too; "" without any."""
        return moodle_number(self.place.name) if self.place else ""

    def is_called(self, name: str) -> bool:
        """Return whether a name is that of the download, of the folder or archive in it, or of the student there."""
        names = {self.name, str(self.path), self.called}
        if self.place and self.place != self.path:
            names |= {self.place.name, f"{self.name}/{self.place.name}"}
        return folded(bare(name)) in {folded(bare(one)) for one in names}


@dataclass
class HandIns:
    """The submissions of a class.

    Attributes:
        of: Each student's submissions, the last one last.
        matched: How submissions with another name than the student's were matched, by rule: each in words, and whether
            the name says whose it is.
        strangers: The submissions of nobody in the roster, each with the students whose login or name it ends with.
        absent: The students of the roster without a submission.
        perhaps: These students, each with a sentence on it.
        unclear: The students of whom nobody knows which submission is theirs, each with the reason.
        left_out: The submissions that are nobody's in the class, by the reason.
        problems: Sentences on submissions that are not graded, and on downloads without names.
        notes: Sentences on roles in an exported roster.
    """

    of: dict[str, list[HandIn]] = field(default_factory=dict)
    matched: dict[str, dict[str, bool]] = field(default_factory=dict)
    strangers: dict[str, list[str]] = field(default_factory=dict)
    absent: list[str] = field(default_factory=list)
    perhaps: dict[str, str] = field(default_factory=dict)
    unclear: dict[str, str] = field(default_factory=dict)
    left_out: dict[str, list[str]] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)
    notes: Sequence[str] = ()

    def refuse(self, students: Iterable[str], sentence: str) -> None:
        """Note that nobody knows which submission is these students'."""
        self.problems.append(sentence)
        self.unclear.update((student, self.unclear.get(student, sentence)) for student in students)

    def leave_out(self, submissions: Iterable[Found], reason: str) -> None:
        """Note submissions that do not count."""
        for one in submissions:
            self.left_out.setdefault(reason, []).append(one.student)


def hand_ins(came: Submissions, decisions: Decisions, refused: Mapping[str, str] | None = None) -> HandIns:
    """Return the submissions by student.

    A submission that may be by two students is graded for neither, and so are two in one path by the same student.

    Args:
        came: The submissions.
        decisions: The roster.
        refused: Students who cannot be graded for another reason, each with a sentence.
    """
    result = HandIns(notes=decisions.notes)
    spelled: dict[str, str] = {}
    own: dict[tuple[str, Path], list[tuple[Found, RosterEntry]]] = {}
    for path in dict.fromkeys(one.path for one in came.found):
        here = [one for one in came.found if one.path == path]
        for one, entry in _by_student(here, decisions, result):
            # Reports are files, and some disks do not distinguish case.
            student = spelled.setdefault(entry.student.casefold(), entry.student)
            own.setdefault((student, path), []).append((one, entry))
    for (student, path), pairs in own.items():
        several, entry = [one for one, _ in pairs], pairs[0][1]
        chosen = several[0] if len(several) == 1 else _named(several, entry.folder)
        if chosen is None:  # nobody knows which one is the student's
            result.refuse([student], _several(several, student, path))
            continue
        others = (one for one in several if one is not chosen)
        result.leave_out(others, "the roster names another folder of the student")
        handed_in = result.of.setdefault(student, [])
        ties = frozenset(_ties(chosen, entry))
        handed_in.append(HandIn(chosen.tree, path, chosen.is_late, ties, chosen.place, chosen.at, chosen.student))
        if late := late_work(path, chosen.student):
            handed_in.append(HandIn(late / chosen.student, late, ties=ties, place=late / chosen.student))
    for name, sentence in came.refused.items() if decisions.entries else ():
        fitting, rule = decisions.matcher.fitting(name, written=name)
        members = [member for entry in fitting for member in decisions.matcher.group(entry, rule)]
        result.unclear.update((member.student, sentence) for member in members)
    for student, sentence in (refused or {}).items():
        result.refuse([student], sentence)
    students = [entry.student for entry in decisions.entries]
    _refuse_for_strangers(students, result, came)
    for student in result.unclear:
        result.of.pop(student, None)
    result.absent = [student for student in students if student not in result.of and student not in result.unclear]
    return result


def _refuse_for_strangers(students: Sequence[str], result: HandIns, came: Submissions) -> None:
    """Refuse students without a submission who may have made that of a stranger."""
    for student, sentence in result.perhaps.items():
        if student not in result.of:
            result.refuse([student], sentence)
    hidden, known = list(filter(is_anonymous, result.strangers)), {*result.of, *result.unclear}
    is_class = came.layouts != ["single"] and len(result.strangers) > 1
    if hidden or (is_class and known.isdisjoint(students)):
        sentence = _unknown({one.path for one in came.found}, hidden, [*result.strangers])
        result.refuse([one for one in students if one not in result.of], sentence)


def _by_student(found: Sequence[Found], decisions: Decisions, result: HandIns) -> Iterator[tuple[Found, RosterEntry]]:
    """Yield the submissions of one path, each with its student, or with every student of a group.

    Those that fit two students of the roster, and those of teachers, are left out.
    """
    matcher = decisions.matcher
    names = [one.student.casefold() for one in found]
    prefixes = matcher.prefixes([(one.student, one.written) for one in found])
    decided = {one.student for one in found if one.is_named}
    decided |= {entry.student for entry in decisions.entries if entry.folder.casefold() in names}
    for one in found:
        fitting, rule = matcher.fitting(one.student, prefixes, one.identifiers, one.written)
        if one.is_named:
            fitting, rule = [decisions.entry(one.student)], "student"
        elif len(fitting) > 1 and (known := _by_number(one, fitting, decisions)):
            fitting, rule = [known], "grading worksheet"
        elif len(fitting) > 1:  # who has a named folder did not make another one
            fitting = [entry for entry in fitting if entry.student not in decided] or fitting
        group = [member for entry in fitting for member in matcher.group(entry, rule)]
        members = [entry.student for entry in group if entry.student]
        if len(fitting) > 1:
            result.refuse(members, _two_fit(one, fitting))
        elif not fitting:
            if decisions.entries:
                perhaps = matcher.perhaps(one.written or one.student, prefixes)
                result.strangers[one.student] = [entry.student for entry in perhaps]
                result.perhaps.update((entry.student, _perhaps(one, entry)) for entry in perhaps)
            yield one, RosterEntry(one.student)
        elif not members:
            result.leave_out([one], "they are by teachers or assistants")
        else:
            if members != [one.student]:
                is_said = all(is_plain(one.written or one.student, entry) for entry in group)
                result.matched.setdefault(rule, {})[f"{one.student} is {in_words(members)}"] = is_said
            yield from ((one, entry) for entry in group)


def _by_number(one: Found, fitting: Sequence[RosterEntry], decisions: Decisions) -> RosterEntry | None:
    """Return the one of several students whose number in the name of a submission a grading worksheet has."""
    student = decisions.times.student(moodle_number(one.place.name)) if one.place else None
    return next((entry for entry in fitting if student and entry.student == student), None)


def _two_fit(one: Found, fitting: Sequence[RosterEntry]) -> str:
    names = in_words([str(entry) for entry in fitting])
    is_moodle = one.place and moodle_number(one.place.name)
    worksheet = f", or save its grading worksheet as times_{stem(one.path)}.csv beside the roster" if is_moodle else ""
    return (
        f"{quoted(one.path)}: {one.student!r} fits {names} in the roster, so it was not graded: write "
        f"{one.student!r} into the column `folder` of the right one{worksheet}."
    )


def _perhaps(one: Found, entry: RosterEntry) -> str:
    return (
        f"{quoted(one.path)}: {one.student!r} ends like the login or the name of {entry}: if it is theirs, write "
        f"{one.student!r} into the column `folder` of the roster; otherwise add its student to it, or move it away."
    )


def _named(several: Iterable[Found], folder: str) -> Found | None:
    """Return the one submission whose folder is named in the roster, if there is one."""
    named = [one for one in several if one.is_named or one.student.casefold() == folder.casefold()]
    return named[0] if len(named) == 1 else None


def _several(several: Sequence[Found], student: str, path: Path) -> str:
    names = in_words([repr(one.student) for one in several])
    both = "both" if len(several) == 2 else "all"
    neither = "neither" if len(several) == 2 else "none"
    return (
        f"{quoted(path)}: {names} {both} seem to be by {student!r}, so {neither} was graded: name the right one in the "
        "column `folder` of the roster."
    )


def _unknown(paths: Iterable[Path], hidden: Sequence[str], strangers: Sequence[str]) -> str:
    why = "the download is anonymous" if hidden else "no submission fits the roster"
    remedy = "download it again with names" if hidden else "give the roster of this class"
    return (
        f"{in_words(sorted(map(quoted, paths)))}: {why}, and the roster does not say who is "
        f"{listed(hidden or strangers, 3)}. Students without another submission are not graded: {remedy}, take "
        "Moodle's grading worksheet of this assignment as the roster, or name the submissions in the column `folder`."
    )


def _ties(one: Found, entry: RosterEntry) -> Iterator[str]:
    """Yield what the submissions of a group have in common: a place, a repository, or the group's name in Moodle."""
    if one.place:
        yield f"place {one.place}"
    if entry.repository:
        yield f"repository {entry.repository.casefold()} {one.path}"
    for team in map(str.casefold, entry.teams):
        if (one.written or one.student).casefold().startswith((f"{team}-", f"{student_id(team)}-")):
            yield f"team {team} {one.path}"


def described_matches(handed_in: HandIns, entries: Sequence[RosterEntry], came: Submissions) -> list[str]:
    """Return sentences on how submissions were matched to the roster, and on who is on one side only."""
    sentences = []
    if entries:
        here = len(entries) - len(handed_in.absent) - len(handed_in.unclear)
        sentences.append(f"Roster: {len(entries)} students, {here} with a submission here.")
    sentences += handed_in.notes
    for rule, pairs in handed_in.matched.items():
        others = listed([text for text, is_said in pairs.items() if not is_said], _MOST_PAIRS)
        count = f"{len(pairs)}{', among them ' if others else ''}" if any(pairs.values()) else ""
        sentences.append(f"Matched by {rule}: {count}{others}.")
    for reason, names in handed_in.left_out.items():
        sentences.append(f"Left out, because {reason}: {listed(names, _MOST)}.")
    if strangers := [
        f"{name} (perhaps by {in_words(students)})" if students else name
        for name, students in handed_in.strangers.items()
    ]:
        sentences.append(f"Not in the roster, and graded under their own names: {listed(strangers, _MOST)}.")
    if came.unknown:
        sentences.append(f"Named in the roster's column `folder`, and not here: {listed(came.unknown, _MOST)}.")
    if entries and handed_in.absent and came.layouts != ["single"]:
        sentences.append(f"Nothing handed in here: {listed(handed_in.absent, _MOST)}.")
    return sentences


def groups(of: Mapping[str, Sequence[HandIn]]) -> Iterator[list[str]]:
    """Yield the students of each group, as far as their submissions say; most students are alone."""
    tied: dict[str, list[str]] = {}
    for student, own in of.items():
        for tie in {tie for one in own for tie in one.ties}:
            tied.setdefault(tie, []).append(student)
    left = dict.fromkeys(of)
    while left:
        group = {next(iter(left)): None}
        waiting = list(group)
        while waiting:
            student = waiting.pop()
            del left[student]
            others = [other for one in of[student] for tie in one.ties for other in tied[tie] if other not in group]
            waiting.extend(dict.fromkeys(others))
            group.update(dict.fromkeys(others))
        yield list(group)


@dataclass(frozen=True)
class Shard:
    """The n-th of m parts of a class. Each student is in one part, which depends on the name alone."""

    number: int
    count: int

    @classmethod
    def read(cls, text: str) -> Shard:
        """Read `n/m`. Raises GraderError."""
        found = _FORM.fullmatch(text)
        if not found or int(found[1]) > int(found[2]):
            raise GraderError(f"--shard: {text!r} is no part: give a number and how many parts there are, such as 2/5.")
        return cls(int(found[1]), int(found[2]))

    def has(self, student: str) -> bool:
        """Whether a student is in this part, however the name's letters are cased."""
        digest = hashlib.sha256(student.casefold().encode()).digest()
        return int.from_bytes(digest) % self.count == self.number - 1
