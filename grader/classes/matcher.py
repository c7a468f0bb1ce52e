"""Finds the students of submissions: compares the names of folders and files with the columns of the roster."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from typing import NamedTuple

from grader.classes.roster import RosterEntry
from grader.submissions.submission import LETTERS, folded, student_id
from grader.submissions.tree import ARCHIVE


class _Rule(NamedTuple):
    """A column of the roster, which texts of a student it compares, and with what of the name of a submission."""

    column: str
    of_entry: Callable[[RosterEntry], set[str]]
    of_name: Callable[[str], str] = folded


def _local(text: str) -> str:
    """Return the id that a platform makes of a login or an address: of the part before the @."""
    return _as_id(text.partition("@")[0])


def _whole(text: str) -> set[str]:
    """Return a login, an address or the name of an archive as it may be the name of a submission."""
    return {folded(text), _as_id(text)}


def _as_id(text: str) -> str:
    return student_id(text).casefold()


def _plain(text: str) -> str:
    """Return a name in its own alphabet, in lower case and without accents."""
    letters = unicodedata.normalize("NFKD", text.translate(LETTERS))
    return "".join(letter for letter in letters if not unicodedata.combining(letter)).casefold()


def was_others(name: str, entry: RosterEntry) -> bool:
    """Return whether a report that has the name in reports of an entry is that of somebody else, by the name in it.

    A roster of the instructor's own says who is who, and a name in it may be corrected.
    """
    words, own = (set(re.split(r"[\W_]+", _plain(one))) - {""} for one in (name, entry.name))
    return entry.is_exported and not (words <= own or own <= words)


def _without_branch(found: str) -> str:
    """Return a name without the branch that GitHub writes at the end of the name of a zip."""
    return re.sub(r"-(main|master)$", "", folded(found))


def _letters(found: str) -> str:
    """Return the letters of a name, without the number that a platform has added."""
    return re.sub(r"_\d+$|[\W_]", "", _plain(found))


def _spellings(entry: RosterEntry, in_letters: Callable[[str], str] = _plain) -> set[str]:
    """Return a name without spaces, from each of its words on: Canvas writes Jane Doe as doejane.

    If a group hands in together, Moodle writes `Group A-Jane Doe`.
    """
    words = [word for word in re.split(r"[\W_]+", in_letters(entry.name)) if word]
    alone = {"".join([*words[start:], *words[:start]]) for start in range(len(words))}
    return alone | {f"{_letters(team)}{name}" for team in entry.teams for name in alone}


def _unlinked(entry: RosterEntry) -> set[str]:
    """Return what identifies a student who has no login yet."""
    return set() if entry.sis_login_id else {_as_id(entry.email), _local(entry.email), _local(entry.sis_user_id)}


def _repository(entry: RosterEntry) -> set[str]:
    """Return the name of a student's repository, without its owner."""
    return {_local(entry.repository.partition("/")[2])}


_NAMES = (
    _Rule("name", _spellings, _letters),
    # As an id keeps it, with Latin letters only.
    _Rule("name", lambda entry: _spellings(entry, _as_id), _letters),
)
_RULES = (
    _Rule("folder", lambda entry: _whole(ARCHIVE.sub("", entry.folder))),
    _Rule("student", lambda entry: {entry.student.casefold()}),
    _Rule("sis_login_id", lambda entry: _whole(entry.sis_login_id)),
    _Rule("email", lambda entry: _whole(entry.email)),
    _Rule("id", lambda entry: {entry.id}, lambda found: found.rpartition("_")[2]),
    _Rule("sis_login_id", lambda entry: {_local(entry.sis_login_id)}),
    _Rule("sis_user_id", lambda entry: {_local(entry.sis_user_id)}),
    _Rule("email", lambda entry: {_local(entry.email)}),
    _Rule("repository", _repository),
    _Rule("repository", _repository, _without_branch),
    *_NAMES,
)
"""How a submission is matched to a student by its whole name. What identifies better comes first."""
_AT_END = (
    _Rule(
        "login", lambda entry: {_as_id(entry.student), _as_id(entry.sis_login_id), _local(entry.sis_login_id)}, _as_id
    ),
    _Rule("login", _unlinked, _as_id),
    *_NAMES,
)
"""The same for what follows the assignment in the name of a clone, or the group in Moodle's name of a submission."""
_GROUPS = ("folder", "repository")
"""The columns that the students of a group share."""
_IDENTIFIERS = ("student", "id", "email", "sis_user_id", "sis_login_id")


def is_plain(found: str, entry: RosterEntry) -> bool:
    """Return whether the name of a submission says whose it is: it is the student's own, or has the one in reports."""
    words = {_letters(found), *re.split(r"[\W_]+", _plain(found))}
    return not words.isdisjoint({*_spellings(entry), _letters(entry.student)} - {""})


class Matcher:
    """Finds the students of submissions by their names."""

    def __init__(self, entries: Iterable[RosterEntry]) -> None:
        """Sort the entries by what each rule compares."""
        entries = list(entries)
        self._groups: dict[tuple[str, str], list[RosterEntry]] = {}
        self._by_identifier: dict[str, list[RosterEntry]] = {}
        for entry in entries:
            for column in _GROUPS:
                self._groups.setdefault((column, getattr(entry, column).casefold()), []).append(entry)
            for identifier in {getattr(entry, column).casefold() for column in _IDENTIFIERS}:
                self._by_identifier.setdefault(identifier, []).append(entry)
        # The first of a group stands for it.
        firsts = {rule: [one for one in entries if one is self.group(one, rule.column)[0]] for rule in _RULES}
        self._by_name = [_Index(rule, own) for rule, own in firsts.items()]
        self._at_end = [_Index(rule, entries) for rule in _AT_END]

    def match(
        self, found: str, identifiers: Iterable[str] | None = None, written: str = ""
    ) -> tuple[RosterEntry, str] | None:
        """Return the student of a submission with this name, and the rule that fits; None if not exactly one does."""
        fitting, rule = self.fitting(found, identifiers=identifiers, written=written)
        return (fitting[0], rule) if len(fitting) == 1 else None

    def fitting(
        self, found: str, prefixes: Collection[str] = (), identifiers: Iterable[str] | None = None, written: str = ""
    ) -> tuple[list[RosterEntry], str]:
        """Return the students who may have made a submission with this name, and the rule that they fit.

        Args:
            found: The name.
            prefixes: What names may begin with, before a student's; see `prefixes`.
            identifiers: The student's ids and addresses, if the download has them: then the name has no number of the
                student.
            written: The name as it is written in the download, if that is not the same: an id has Latin letters only.
        """
        known = [entry for one in identifiers or () for entry in self._by_identifier.get(one.casefold(), [])]
        if known:
            return list({entry.student: entry for entry in known}.values()), "ID or address"
        indexes = [one for one in self._by_name if identifiers is None or one.rule.column != "id"]
        fitting, rule = _narrowed(found, indexes, written)
        if rule == "id" and len(fitting) == 1:
            # Some platforms number submissions, and not students. A name that is another student's says so.
            named, _ = _narrowed(found, [one for one in indexes if one.rule.column == "name"], written)
            return (fitting if fitting[0] in named else [*fitting, *named]), rule
        for prefix, others, column in () if fitting else self._ends(written or found):
            if others and prefix in prefixes:
                fitting += [entry for entry in others if entry not in fitting]
                rule = column
        return fitting, rule

    def group(self, entry: RosterEntry, rule: str) -> list[RosterEntry]:
        """Return the students who share what a rule compares, because they are a group; otherwise the student alone."""
        cell = getattr(entry, rule) if rule in _GROUPS else ""
        return self._groups[rule, cell.casefold()] if cell else [entry]

    def prefixes(self, names: Sequence[tuple[str, str]]) -> list[str]:
        """Return what names begin with, before a student's: two students share it, or it is the only name.

        `gh classroom clone` and `gh teacher download` write `attention-ada` and `class-attention-ada`, and Moodle
        writes `Group A-Jane Doe`. The arguments are as in `fitting`, `found` and `written`.
        """
        students: dict[str, list[RosterEntry]] = {}
        for found, written in names:
            fitting, rule = self.fitting(found, written=written)
            for prefix, others, _ in self._ends(written or found) if not fitting or rule == "repository" else ():
                own = students.setdefault(prefix, [])
                own += [entry for entry in others if entry not in own]
        return [prefix for prefix, own in students.items() if len(own) > 1 or (own and len(names) == 1)]

    def perhaps(self, name: str, prefixes: Collection[str]) -> list[RosterEntry]:
        """Return the students whose login or name ends a name that fits nobody, unless it begins as others do."""
        ends = list(self._ends(name))
        if any(prefix in prefixes for prefix, *_ in ends):
            return []
        return list({entry.student: entry for _, own, _ in ends for entry in own if entry.student}.values())

    def _ends(self, name: str) -> Iterator[tuple[str, list[RosterEntry], str]]:
        """Yield what comes before each dash of a name, the students whom the rest fits, and the rule."""
        for one in dict.fromkeys((folded(name), _without_branch(name))):
            for dash in re.finditer("-", one):
                yield one[: dash.start()], *_narrowed(one[dash.end() :], self._at_end)


class _Index:
    """Entries by what a rule compares."""

    def __init__(self, rule: _Rule, entries: Iterable[RosterEntry]) -> None:
        self.rule = rule
        self._entries: dict[str, list[RosterEntry]] = {}
        for entry in entries:
            for text in filter(None, rule.of_entry(entry)):
                self._entries.setdefault(text, []).append(entry)

    def fitting(self, found: str, written: str) -> Sequence[RosterEntry]:
        name = written if written and self.rule.column == "name" else found
        return self._entries.get(self.rule.of_name(name), ())


def _narrowed(found: str, indexes: Iterable[_Index], written: str = "") -> tuple[list[RosterEntry], str]:
    """Return the entries that the first fitting rule finds, and its column. Of several, later rules may leave one."""
    left: list[RosterEntry] = []
    column = ""
    for index in indexes:
        if narrowed := [entry for entry in index.fitting(found, written) if not left or entry in left]:
            left, column = narrowed, index.rule.column
        if len(left) == 1:
            break
    return left, column
