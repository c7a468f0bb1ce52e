"""Which submissions a folder or an archive holds, and whose they are: one rule for each way in which they come.

A rule says of each entry whose it is, or that it does not know. The one rule that knows them all is used; where none
or several do, nothing is guessed.
"""

from __future__ import annotations

import csv
import functools
import io
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from grader.documents import nearest
from grader.submissions.archives import (
    ARCHIVE,
    CLASS,
    Archive,
    Entry,
    Files,
    Folder,
    Later,
    Mount,
    View,
    open_archive,
    walk,
)
from grader.submissions.names import SHEET_SUFFIX, is_code, stands_for, student_id
from grader.submissions.plain_files import MEGABYTE, UnreadableError, read_bytes, read_text
from grader.submissions.submission import STUDENT, SubmissionError, quoted, require_folder, require_name

ROSTER = "roster.csv"
METADATA = "submission_metadata.yml"
WRAPPERS = {"submission", "src"}
"""Folders that students put their answers into."""

_MOODLE = re.compile(r"(.*)_(\d+)_assignsubmission_(file|onlinetext)(?:[_.](.*))?", re.DOTALL)
_CANVAS = re.compile(r"(.+?)(_LATE)?_(\d+)_(?:(?:question_\d+_)?(\d+)_(.+)|(text\.html))", re.DOTALL)
_AGAIN = re.compile(r"-\d+(?=\.\w+$)")
_GRADESCOPE = re.compile(r"submission_\d+")
_BRANCH = re.compile(r".*-(main|master)")


class Claim(NamedTuple):
    """What a rule says of a file or folder: whose it is, and where it belongs in that submission.

    key: what tells one student from another, before it is made an id. place: "" where it is the whole submission.
    number: of several for one place, the highest counts.
    """

    key: str
    student: str
    source: str
    place: str = ""
    number: int = 0


class Layout(NamedTuple):
    """A way in which submissions come. `claims` gives None for an entry that the rule does not know."""

    sentence: str
    claims: Callable[[_Class, Entry], list[Claim] | None]


@dataclass(frozen=True)
class Submissions:
    """What is to be graded: each student with the folder or tree; and what is not, in sentences.

    layouts: the rules that were used. problems: what is not graded though it should be. ignored: names that no rule
    needs. late: whom the platform marked as late.
    """

    found: list[tuple[str, Path | Files]] = field(default_factory=list)
    layouts: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    ignored: list[str] = field(default_factory=list)
    late: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class _Class:
    """A tree with what all rules ask about it."""

    tree: Files
    path: Path
    units: frozenset[str]

    @functools.cached_property
    def entries(self) -> list[Entry]:
        return [entry for entry in self.tree.entries() if not entry.is_junk]

    @functools.cached_property
    def submitters(self) -> dict[str, list[str]]:
        """The names behind each submission of Gradescope's export."""
        import yaml

        try:
            text = read_text(self.tree, METADATA, 64 * MEGABYTE)
            loaded = yaml.load(text or "", getattr(yaml, "CSafeLoader", yaml.SafeLoader))
        except (UnreadableError, yaml.YAMLError, ValueError) as error:
            raise SubmissionError(
                f"{quoted(self.path / METADATA)} cannot be read ({str(error).splitlines()[0]}): download it again, "
                "or remove it to use the numbers."
            ) from None
        metadata = loaded if isinstance(loaded, dict) else {}
        return {str(name): _names_of(described) for name, described in metadata.items()}

    def below(self, name: str) -> Files:
        """The tree of one entry."""
        is_folder = isinstance(self.tree, Folder) and self.tree.kind(name) == "folder"
        return self.tree.below(name) if is_folder else Later(self.tree, name)


def _moodle(_: _Class, entry: Entry) -> list[Claim] | None:
    found = _MOODLE.fullmatch(entry.name)
    if not found or (entry.kind != "folder") != bool(found[4]):
        return None
    place = found[4] or ("onlinetext" if found[3] == "onlinetext" else "")
    return [Claim(f"{found[1]}_{found[2]}", _with_number(found[1], found[2]), entry.name, place)]


def _canvas(_: _Class, entry: Entry) -> list[Claim] | None:
    found = _CANVAS.fullmatch(entry.name)
    if not found or entry.kind not in ("file", "archive"):
        return None
    place = _AGAIN.sub("", found[5]) if found[5] else found[6]
    return [Claim(f"{found[1]}_{found[3]}", _with_number(found[1], found[3]), entry.name, place, int(found[4] or 0))]


def _gradescope(where: _Class, entry: Entry) -> list[Claim] | None:
    if entry.name == METADATA:
        return []
    # Without its metadata each folder is a student's like any other.
    if entry.kind != "folder" or not _GRADESCOPE.fullmatch(entry.name) or METADATA not in dict(where.entries):
        return None
    names = where.submitters.get(entry.name)
    number = entry.name.removeprefix("submission_")
    return [Claim(entry.name, _with_number(" ".join(names), number) if names else entry.name, entry.name)]


def _units(where: _Class, entry: Entry) -> list[Claim] | None:
    if entry.kind != "folder" or entry.name not in where.units:
        return None
    students = [one for one in where.tree.entries(entry.name) if one.kind in ("folder", "archive") and not one.is_junk]
    inside = _Class(where.below(entry.name), where.path / entry.name, frozenset({entry.name}))
    # Folders named after units are rather those of one student.
    if any(one.name in where.units for one in students) and not any(_holds(inside, one) for one in students):
        return None
    ids = [_id_of(one) for one in students]
    return [
        Claim(student or one.name, student, f"{entry.name}/{one.name}", entry.name)
        for one, student in zip(students, ids, strict=True)
    ]


def _folders(where: _Class, entry: Entry) -> list[Claim] | None:
    if entry.kind not in ("folder", "archive") or _is_marked(entry):
        return None
    if entry.name in where.units and not _is_submission(where.below(entry.name), where.units):
        return None
    return [Claim(entry.name, _id_of(entry), entry.name)]


LAYOUTS = {
    "moodle": Layout("Moodle's download: <name>_<number>_assignsubmission_file_, a folder or a file", _moodle),
    "canvas": Layout("Canvas's download: files named <name>_<user>_<upload>_<file>", _canvas),
    "gradescope": Layout(f"Gradescope's export: submission_<number> folders, and {METADATA}", _gradescope),
    "units": Layout("a folder for each unit, with one for each student in it", _units),
    "folders": Layout("a folder or an archive for each student", _folders),
}
SINGLE = "single"
NAMES = [*LAYOUTS, SINGLE]


def find_submissions(
    paths: Sequence[Path], unit_names: Iterable[str], student: str | None = None, layout: str | None = None
) -> Submissions:
    """Find the submissions in folders and archives.

    student: the name of the one submission that the only path is. layout: the rule to use, one of NAMES, where more
    than one might fit. Raises SubmissionError for a path that cannot be read, that holds nothing, or that no rule
    explains; what is wrong with one submission among others is in `problems`.
    """
    if not paths:
        raise SubmissionError("There is nothing to grade: give the folder of a submission or of a class.")
    if student is not None and len(paths) > 1:
        raise SubmissionError(
            f"The student {student!r} is named, but {len(paths)} paths are given: give exactly one path."
        )
    if layout is not None and layout not in NAMES:
        raise SubmissionError(
            f"--layout: there is no layout {layout!r}; there are {', '.join(NAMES)}.{nearest(layout, NAMES)}"
        )
    result = Submissions()
    named: list[tuple[str, Path, Path | Files]] = []
    for path in paths:
        where = _Class(_open(path), path, frozenset(unit_names))
        if student is not None:
            require_name(student, path)
            chosen = SINGLE
            named.append((student, path, where.tree))
        else:
            chosen, members = _members(where, layout, result)
            named += members
        if chosen not in result.layouts:
            result.layouts.append(chosen)
    result.found.extend(_distinct(named, result.problems))
    if not result.found:
        none = f"{' and '.join(map(quoted, paths))} holds no submission: give the folder of a submission or of a class."
        raise SubmissionError("\n".join(result.problems) or none)
    return result


def described(layout: str) -> str:
    """Say what a layout is, after its name."""
    others = {SINGLE: "all of it is one submission", ROSTER: "it names the student of each folder"}
    return f"{layout} ({LAYOUTS[layout].sentence if layout in LAYOUTS else others[layout]})"


def _open(path: Path) -> Files:
    if not ARCHIVE.search(path.name):
        require_folder(path)
        return Folder(path)
    try:
        content = read_bytes(path.parent, path.name, CLASS.size)
        if content is None:
            raise SubmissionError(f"{quoted(path)} does not exist: give the folder of a submission or of a class.")
        return open_archive(content, path.name, limits=CLASS)
    except UnreadableError as error:
        if path.is_dir() and not path.is_symlink():
            return Folder(path)
        raise SubmissionError(str(error)) from None


def _members(
    where: _Class, layout: str | None, result: Submissions
) -> tuple[str, list[tuple[str, Path, Path | Files]]]:
    """The layout of a tree, and its submissions: each with its student and where messages say that it is."""
    if isinstance(where.tree, Folder) and not _can_be_listed(where.path):
        raise SubmissionError(f"{quoted(where.path)} cannot be listed: make it readable for the grader.")
    if layout is None:
        where = _descended(where)
    roster = _roster(where, result.problems)
    fitting = [layout] if layout else _fitting(where, roster)
    if len(fitting) != 1:
        raise SubmissionError(_refusal(where, roster, fitting))
    [chosen] = fitting
    if chosen == SINGLE:
        name = where.path.resolve().name
        if isinstance(where.tree, Archive):
            name = ARCHIVE.sub("", name)
        student = name if STUDENT.fullmatch(name) else student_id(name)
        return chosen, [(student, where.path, where.tree)]
    claims: list[Claim] = []
    result.ignored.extend(where.tree.refused if isinstance(where.tree, Archive) else [])
    for entry in where.entries:
        found = roster.get(entry.name) or (LAYOUTS[chosen].claims(where, entry) if chosen in LAYOUTS else None)
        shown = quoted(where.path / entry.name)
        if entry.kind == "link":
            result.problems.append(f"{shown} is a symbolic link: put the submission's own folder there.")
        elif found is not None:
            claims += found
            if chosen == "canvas" and (late := _CANVAS.fullmatch(entry.name)) and late[2]:
                result.late.append(found[0].student)
        elif entry.name == ROSTER and not roster:
            result.ignored.append(f"{ROSTER} (its first line is not student,folder)")
        elif entry.name in (ROSTER, METADATA):
            pass
        elif entry.kind in ("folder", "archive") or _is_marked(entry):
            result.problems.append(f"{shown} does not fit the layout {chosen}: add it to {ROSTER}, or move it away.")
        else:
            needed = _counts(entry.name, where.units)
            note = " (it looks like an answer: put it into its student's folder)" if needed else ""
            result.ignored.append(f"{entry.name}{note}")
    return chosen, _put_together(where, claims, result)


def _put_together(where: _Class, claims: list[Claim], result: Submissions) -> list[tuple[str, Path, Path | Files]]:
    """Each student's files as one tree."""
    groups: dict[str, dict[str, Claim]] = {}
    for claim in claims:
        group = groups.setdefault(claim.key, {})
        rival = group.get(claim.place)
        if rival and not claim.number and not rival.number:
            result.problems.append(
                f"{quoted(where.path / rival.source)} and {quoted(where.path / claim.source)} are both "
                f"{claim.student!r}'s: remove one of them."
            )
        elif rival:
            older, claim = sorted((rival, claim), key=lambda one: one.number)
            result.ignored.append(f"{older.source} (an older upload of {claim.source})")
        group[claim.place] = claim
    members: list[tuple[str, Path, Path | Files]] = []
    for group in groups.values():
        whole = group.pop("", None)
        base = where.below(whole.source) if whole else None
        first = whole or next(iter(group.values()))
        mounts = {}
        for place, claim in group.items():
            is_tree = where.tree.kind(claim.source) in ("folder", "archive") and place in where.units
            mounts[place] = Mount(where.below(claim.source), "", place) if is_tree else _file(where, claim)
        tree = View(mounts, base) if mounts or base is None else base
        members.append((first.student, where.path / first.source, tree))
    return members


def _file(where: _Class, claim: Claim) -> Mount:
    return Mount(where.tree, claim.source, claim.place)


def _distinct(named: list[tuple[str, Path, Path | Files]], problems: list[str]) -> Iterable[tuple[str, Path | Files]]:
    """Those whose name nobody else has. Reports are files, and some disks do not tell upper from lower case."""
    seen: dict[str, list[tuple[str, Path, Path | Files]]] = {}
    for one in named:
        seen.setdefault(one[0].casefold(), []).append(one)
    for key, same in seen.items():
        student, _, tree = same[0]
        if not key:
            problems.extend(
                f"{quoted(path)} cannot be graded under its name: rename it with letters from a to z, or name its "
                f"student in {ROSTER}."
                for _, path, _ in same
            )
        elif len(same) > 1:
            where = " and ".join(quoted(path) for _, path, _ in same)
            are = (
                f"both called {student!r}"
                if len({one[0] for one in same}) == 1
                else ("named alike but for upper and lower case")
            )
            problems.append(f"{where} are {are}: rename one of the folders.")
        else:
            yield student, tree.path if isinstance(tree, Folder) else tree


# Which rules fit


def _fitting(where: _Class, roster: Mapping[str, list[Claim]]) -> list[str]:
    """The layouts that explain everything that may be a submission."""
    trees = [entry for entry in where.entries if entry.kind in ("folder", "archive")]
    relevant = [entry for entry in where.entries if entry in trees or _is_marked(entry)]
    if _is_submission(where.tree, where.units):
        marked = [entry for entry in relevant if _is_marked(entry)]
        if marked:
            return [
                SINGLE,
                *(name for name in LAYOUTS if all(LAYOUTS[name].claims(where, one) is not None for one in marked)),
            ]
        others = [one for one in trees if one.name not in {*where.units, *WRAPPERS, "exercises"}]
        return [SINGLE, "folders"] if sum(_is_wrapped(where, one) for one in others) > 1 else [SINGLE]
    if len(trees) == 1 == len(relevant) and not roster and _holds(where, trees[0]):
        is_archive, child = isinstance(where.tree, Archive), trees[0].name
        own_name = ARCHIVE.sub("", where.path.resolve().name)
        if child in WRAPPERS or (is_archive and (child == own_name or _BRANCH.fullmatch(child))):
            return [SINGLE]
        if is_archive and not _is_marked(trees[0]):
            return [SINGLE, "folders"]
    if not relevant:
        code = [entry for entry in where.entries if entry.kind == "file" and is_code(entry.name)]
        return [SINGLE] if code or _loose(where) else []
    if _loose(where) and not any(_holds_deep(where, entry) for entry in trees[:3]):
        return [SINGLE]
    rest = [entry for entry in relevant if entry.name not in roster]
    if not rest:
        return [ROSTER]
    return [name for name, layout in LAYOUTS.items() if all(layout.claims(where, entry) is not None for entry in rest)]


def _refusal(where: _Class, roster: Mapping[str, list[Claim]], fitting: list[str]) -> str:
    path = quoted(where.path)
    if fitting:
        several = " and ".join(map(described, fitting))
        return f"{path} fits more than one layout, {several}: name the right one with --layout."
    relevant = [one for one in where.entries if one.kind in ("folder", "archive") or _is_marked(one)]
    relevant = [one for one in relevant if one.name not in roster]
    if not relevant:
        what = "holds none of the course's files" if where.entries else "is empty"
        return f"{path} {what}: give the folder of a submission or of a class."
    told = []
    for name, layout in LAYOUTS.items():
        unknown = [entry.name for entry in relevant if layout.claims(where, entry) is None]
        if len(unknown) < len(relevant):
            told.append(f"{name} fits {len(relevant) - len(unknown)} of {len(relevant)}, and not {unknown[0]!r:.80}")
    if not told:
        return f"{path} fits no layout: name one with --layout, or each folder's student in {ROSTER}."
    return (
        f"{path} fits no layout as a whole: {'; '.join(told)}. "
        f"Name the layout with --layout, or the students of the others in {ROSTER}."
    )


def _descended(where: _Class) -> _Class:
    """The folder of the class, where others are wrapped around it. Raises SubmissionError where that is not clear."""
    for _ in range(3):
        trees = [entry for entry in where.entries if entry.kind in ("folder", "archive")]
        if len(trees) != 1 or _loose(where) or any(_is_marked(entry) for entry in where.entries):
            return where
        [child] = trees
        if child.name in where.units or child.name == "exercises" or _holds(where, child):
            return where
        inside = _Class(where.below(child.name), where.path / child.name, where.units)
        within = [entry for entry in inside.entries if entry.kind in ("folder", "archive")]
        if not any(_is_marked(entry) for entry in inside.entries):
            holding = [entry.name for entry in within[:3] if _holds_deep(inside, entry)]
            if not holding or holding[0] in {*WRAPPERS, *where.units, "exercises"} or _BRANCH.fullmatch(holding[0]):
                return where
            if len(holding) == 1:
                raise SubmissionError(
                    f"{quoted(where.path)} may be the folder of a class with the student {child.name!r:.80}, or hold a "
                    f"class with the student {holding[0]!r:.80}: give the path of the class, or of the submission."
                )
        where = inside
    return where


def _is_submission(tree: Files, units: Iterable[str]) -> bool:
    """Whether there are unit files in the tree, in its exercises/ or in folders named after the units."""
    files = {f"{unit}{suffix}" for unit in units for suffix in (".py", ".ipynb", SHEET_SUFFIX)}
    for entry in tree.entries():
        # In a folder named after a unit, as nbgrader keeps it, the notebook may have been given another name.
        if entry.name in units:
            if any(one.name in files or one.name.endswith(".ipynb") for one in tree.entries(entry.name)):
                return True
        elif entry.name in files or entry.name == "exercises":
            return True
    return False


def _is_wrapped(where: _Class, entry: Entry) -> bool:
    """Whether an entry is a submission, or has one in submission/ or src/."""
    tree = where.below(entry.name)
    inner = (tree.below(name) for name in WRAPPERS if tree.kind(name) == "folder")
    return any(_is_submission(one, where.units) for one in (tree, *inner))


def _holds(where: _Class, entry: Entry) -> bool:
    """Whether an entry is a folder or an archive with answers at its top."""
    if entry.kind not in ("folder", "archive"):
        return False
    tree = where.below(entry.name)
    return _is_submission(tree, where.units) or any(_counts(one.name, where.units) for one in tree.entries())


def _holds_deep(where: _Class, entry: Entry) -> bool:
    """Whether there are answers anywhere in an entry."""
    files = walk(where.below(entry.name)).files
    return any(_counts(file.name, where.units) for file in files)


def _loose(where: _Class) -> bool:
    return any(
        entry.kind == "file" and _counts(entry.name, where.units) and not _is_marked(entry) for entry in where.entries
    )


def _counts(filename: str, units: Iterable[str]) -> bool:
    return stands_for(filename, units) is not None


def _is_marked(entry: Entry) -> bool:
    """Whether a name was made by a learning platform, and by nobody else."""
    is_canvas = entry.kind != "folder" and _CANVAS.fullmatch(entry.name)
    return entry.name == METADATA or bool(is_canvas or _MOODLE.fullmatch(entry.name))


def _can_be_listed(path: Path) -> bool:
    try:
        next(path.iterdir(), None)
    except OSError:
        return False
    return True


# Names


def _id_of(entry: Entry) -> str:
    name = ARCHIVE.sub("", entry.name) if entry.kind == "archive" else entry.name
    return name if STUDENT.fullmatch(name) else student_id(name)


def _with_number(name: str, number: str) -> str:
    """An id of a name that others may have as well, and the platform's number."""
    return "_".join(filter(None, (student_id(name), number)))


def _names_of(described: Any) -> list[str]:
    submitters = described.get(":submitters") if isinstance(described, dict) else None
    people = [one for one in submitters if isinstance(one, dict)] if isinstance(submitters, list) else []
    return [str(one.get(":name") or one.get(":email") or "") for one in people]


def _roster(where: _Class, problems: list[str]) -> dict[str, list[Claim]]:
    """The claims of roster.csv, where there is one with the columns student and folder."""
    try:
        text = read_text(where.tree, ROSTER, MEGABYTE)
        rows = list(csv.DictReader(io.StringIO(text or "", newline=""), skipinitialspace=True))
    except (UnreadableError, csv.Error) as error:
        raise SubmissionError(f"{quoted(where.path / ROSTER)}: {error}") from None
    if not rows or not {"student", "folder"} <= rows[0].keys():
        return {}
    claims = {}
    there = {entry.name: entry for entry in where.entries}
    for line, row in enumerate(rows, start=2):
        student, folder = ((row[column] or "").strip() for column in ("student", "folder"))
        if not STUDENT.fullmatch(student):
            problems.append(
                f"{quoted(where.path / ROSTER)}, line {line}: {student!r} cannot be a student's name: use letters, "
                "digits, '.', '_' and '-' only, and a letter or a digit first."
            )
        elif folder.rstrip("/") not in there:
            problems.append(f"{quoted(where.path / ROSTER)}, line {line}: there is no {folder!r}: correct the name.")
        else:
            entry = there[folder.rstrip("/")]
            place = entry.name if entry.kind == "file" else ""
            claims[entry.name] = [Claim(student, student, entry.name, place)]
    return claims
