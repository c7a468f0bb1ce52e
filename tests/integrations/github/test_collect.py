"""Which commit of each student's repository counts, by GitHub's record, and which anomalies are reported."""

from __future__ import annotations

import datetime
import hashlib
import json
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import courses
import pytest
from local_github import TOKEN, Answer, LocalGitHub, Repository, basic, git, local_github

from grader.classes.collected import CollectedClass, CollectedStudent, CollectError, read_collected
from grader.classes.roster import RosterEntry
from grader.course.model import Course, load_course
from grader.integrations.github.api import GitHub
from grader.integrations.github.collect import collect, times
from grader.submissions.reader import read_submission

# The units are due one after the other. A push in the same second still counts.
DUE = {"sums": "2020-01-25T23:59:00+01:00", "means": "2020-02-01T23:59:00+01:00"}
HANDED_OUT, EARLY, IN_TIME = "2020-01-10T09:00:00Z", "2020-01-20T10:00:00Z", "2020-01-25T22:59:00Z"
LATE, LATER = "2020-01-25T22:59:01Z", "2020-01-26T10:00:00Z"
NOW = datetime.datetime(2026, 9, 1, 12, tzinfo=datetime.UTC)
ODD = "$(touch here)`id`|<img src=x>\n::error::x @ada [x](http://x) *"
WORKFLOW = "on: push\n"


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A course of two units."""
    root = courses.make_small_course(tmp_path_factory.mktemp("course"))
    units = "".join(
        f"  {name}:\n    title: {name}\n    due: {due}\n    exercises: {{add_{name}: 2}}\n" for name, due in DUE.items()
    )
    text = (root / "autograder.yml").read_text(encoding="utf-8")
    (root / "autograder.yml").write_text(f"{text.partition('units:')[0]}units:\n{units}", encoding="utf-8")
    for folder, name in [(folder, name) for folder in ("solutions", "exercises") for name in DUE]:
        (root / folder / f"{name}.py").write_text(f"def add_{name}(a, b):\n    ...\n", encoding="utf-8")
    (root / "exercises" / "checks" / "test_sums.py").write_text("def test_add():\n    ...\n", encoding="utf-8")
    return root


@pytest.fixture(scope="module")
def course(root: Path) -> Course:
    return load_course(root)


def handed_out(root: Path) -> dict[str, str]:
    """The first content of a student's repository."""
    paths = [root / "autograder.yml", root / "exercises" / "sums.py", root / "exercises" / "checks" / "test_sums.py"]
    files = {path.relative_to(root).as_posix(): path.read_text(encoding="utf-8") for path in paths}
    files |= {".github/workflows/classroom.yml": WORKFLOW, "course/grader-1+r2.whl": "a wheel", ".gitignore": "x\n"}
    record = {path: hashlib.sha256(text.encode()).hexdigest() for path, text in files.items()}
    return {**files, ".course.json": json.dumps(record)}


@pytest.fixture(scope="module")
def hub(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalGitHub]:
    with local_github(tmp_path_factory.mktemp("hub")) as hub:
        yield hub


@pytest.fixture(scope="module")
def pushed(hub: LocalGitHub, root: Path) -> dict[str, dict[str, str]]:
    """The commits that each student pushed, by name."""
    pushed: dict[str, dict[str, str]] = {}
    repository: dict[str, Repository] = {}

    def answers(number: int) -> dict[str, str]:
        return {"exercises/sums.py": f"answer = {number}\n"}

    for student in ("honest", "late", "back-dated", "forced", "helped", "changed", "gone", "forged"):
        repository[student] = hub.create(f"our-course/{student}")
        pushed[student] = {
            "handed out": repository[student].push(handed_out(root), HANDED_OUT, by="teacher"),
            "early": repository[student].push(answers(1), EARLY),
        }
    pushed["honest"]["in time"] = repository["honest"].push(answers(2), IN_TIME)
    pushed["late"]["late"] = repository["late"].push(answers(2), LATE)
    pushed["back-dated"]["late"] = repository["back-dated"].push(answers(2), LATER, dated=EARLY)
    early = pushed["forced"]["early"]
    pushed["forced"]["late"] = repository["forced"].push(answers(2), LATER, replacing=f"{early}~")
    pushed["helped"]["in time"] = repository["helped"].push(answers(2), IN_TIME, by="uncle-bob")
    tampered = {
        ".github/workflows/classroom.yml": "on: never\n",
        ".github/workflows/mine.yml": WORKFLOW,
        "exercises/checks/test_sums.py": "",
        "autograder.yml": "units: {}\n",
        "course/grader-1+r2.whl": None,
        ".gitignore": "y\n",
    }
    pushed["changed"]["in time"] = repository["changed"].push({**answers(2), **tampered}, IN_TIME)
    record = json.loads(handed_out(root)[".course.json"])
    record[".github/workflows/classroom.yml"] = hashlib.sha256(b"on: never\n").hexdigest()
    forged = {".github/workflows/classroom.yml": "on: never\n", ".course.json": json.dumps(record)}
    pushed["forged"]["in time"] = repository["forged"].push(forged, IN_TIME)
    # An earlier release had the tests beside the answers. An update has moved them for one of two students.
    flat = {path: text.replace("checks/", "") for path, text in handed_out(root).items()}
    flat["exercises/test_sums.py"] = flat.pop("exercises/checks/test_sums.py")
    moved = {"exercises/test_sums.py": None, "exercises/checks/test_sums.py": "pass\n"}
    for student, changes in (("earlier", {"exercises/test_sums.py": "pass\n"}), ("moved", moved)):
        repository[student] = hub.create(f"our-course/{student}")
        repository[student].push(flat, HANDED_OUT, by="teacher")
        pushed[student] = {"in time": repository[student].push({**answers(2), **changes}, IN_TIME)}

    hub.create("our-course/empty")
    hub.create("our-course/nothing").push(answers(1), LATER)
    odd = hub.create("our-course/odd", branch="a-$(id)`x`|&y=é")
    pushed["odd"] = {"in time": odd.push({**answers(1), "sums.py": b"\0" * 9}, IN_TIME, message=ODD)}
    git(odd.work, "tag", "$(id)`x`")
    git(odd.work, "push", "--quiet", str(odd.bare), "--tags")
    # GitHub has a record of a commit that is gone.
    gone = repository["gone"]
    gone.activity.insert(0, {**gone.activity[0], "after": "1" * 40, "timestamp": IN_TIME})
    pushed["gone"]["in time"] = "1" * 40
    return pushed


@pytest.fixture(scope="module")
def collected(
    hub: LocalGitHub, pushed: dict[str, dict[str, str]], course: Course, into: Path
) -> dict[str, CollectedStudent]:
    roster = [RosterEntry(name, repository=f"our-course/{name}") for name in [*pushed, "empty", "nothing", "missing"]]
    units = times(course, None, datetime.datetime.now(datetime.UTC))
    found = collect(roster, course, units, client(hub), into, NOW)
    assert [student.student for student in found.students] == [entry.student for entry in roster]
    return {student.student: student for student in found.students}


@pytest.fixture(scope="module")
def into(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("collected")


def client(hub: LocalGitHub) -> GitHub:
    return GitHub(hub.api, hub.folder.as_uri(), TOKEN)


def noticed(student: CollectedStudent) -> str:
    return "\n".join(student.noticed)


@pytest.mark.parametrize(
    ("student", "counts"),
    [
        ("honest", "in time"),
        ("late", "early"),
        ("back-dated", "early"),
        ("forced", "early"),
        ("helped", "in time"),
        ("changed", "in time"),
        ("odd", "in time"),
    ],
)
def test_the_last_push_before_the_due_date_counts(
    collected: dict[str, CollectedStudent], pushed: dict[str, dict[str, str]], into: Path, student: str, counts: str
) -> None:
    work = collected[student].units["sums"]
    assert work.commit == pushed[student][counts]
    assert work.dated_by == "push"
    submission = read_submission(student, into / "sums" / student, ["sums"], into)
    assert submission.commit == work.commit
    number = 1 if counts == "early" or student == "odd" else 2
    assert submission.sources["sums"].cells == (f"answer = {number}\n",)


def test_each_unit_has_a_time_of_its_own(
    collected: dict[str, CollectedStudent], pushed: dict[str, dict[str, str]], into: Path
) -> None:
    units = collected["late"].units
    assert [units[unit].commit for unit in DUE] == [pushed["late"]["early"], pushed["late"]["late"]]
    assert (into / "means" / "late" / "exercises" / "sums.py").read_text() == "answer = 2\n"


def test_what_an_instructor_may_want_to_look_at_is_reported(
    collected: dict[str, CollectedStudent], pushed: dict[str, dict[str, str]]
) -> None:
    replaced, late = pushed["forced"]["early"][:7], pushed["forced"]["late"][:7]
    since = "Pushes since it was due: sums 1."
    assert (
        {student: collected[student].noticed for student in ("honest", "late", "helped", "back-dated")}
        == {
            "honest": [],
            "late": [since],
            "helped": ["Several accounts pushed: uncle-bob 1, ada-l 1."],  # and not the one that made the repository
            "back-dated": [
                f"The commit {pushed['back-dated']['late'][:7]} is dated 2020-01-20 10:00:00 UTC, but was pushed at "
                "2020-01-26 10:00:00 UTC, after sums was due.",
                since,
            ],
        }
    )
    assert (
        f"The account ada-l force-pushed {late} in the place of {replaced} at 2020-01-26 10:00:00 UTC, after sums was "
        "due."
    ) in collected["forced"].noticed


def test_a_push_is_recorded_with_its_time_and_account(collected: dict[str, CollectedStudent]) -> None:
    work = collected["honest"].units["sums"]
    assert (work.pushed, work.pushed_by) == (datetime.datetime.fromisoformat(IN_TIME), "ada-l")
    assert [work.pushes_since for work in collected["honest"].units.values()] == [0, 0]
    assert collected["late"].units["sums"].pushes_since == 1
    assert collected["helped"].units["sums"].pushed_by == "uncle-bob"


def test_changes_of_the_courses_own_files_are_reported(collected: dict[str, CollectedStudent]) -> None:
    assert collected["changed"].units["sums"].changed == [
        ".github/workflows/classroom.yml",
        ".github/workflows/mine.yml (new)",
        "autograder.yml",
        "course/grader-1+r2.whl (gone)",
        "exercises/checks/test_sums.py",
    ]
    assert "sums, means: these files differ from the course's own: .github/workflows/" in noticed(collected["changed"])


def test_a_changed_test_is_reported_in_the_place_of_earlier_releases_and_in_the_new_one(
    collected: dict[str, CollectedStudent],
) -> None:
    assert {student: collected[student].units["sums"].changed for student in ("earlier", "moved")} == {
        "earlier": ["exercises/test_sums.py"],
        "moved": ["exercises/checks/test_sums.py"],
    }


def test_a_forged_record_of_what_was_handed_out_hides_nothing(collected: dict[str, CollectedStudent]) -> None:
    assert collected["forged"].units["sums"].changed == [".course.json", ".github/workflows/classroom.yml"]


@pytest.mark.parametrize(
    ("student", "remark"),
    [
        ("nothing", "Nothing had been pushed: the first push was at 2020-01-26 10:00:00 UTC."),
        ("empty", "Nothing had been pushed: the repository is empty."),
    ],
)
def test_without_a_push_the_folder_is_empty_and_the_remark_says_why(
    collected: dict[str, CollectedStudent], into: Path, student: str, remark: str
) -> None:
    work = collected[student].units["sums"]
    assert (work.commit, work.problem, work.remark) == (None, None, remark)
    assert remark in noticed(collected[student])
    assert list((into / "sums" / student).iterdir()) == []


def test_a_missing_repository_does_not_affect_others(collected: dict[str, CollectedStudent], into: Path) -> None:
    assert collected["missing"].problems == [
        "GitHub shows no our-course/missing to this token (404): correct the roster, or let the token in GITHUB_TOKEN "
        "(in the workflow: the secret CLASS_TOKEN) read the repository."
    ]
    assert not (into / "sums" / "missing").exists()


def test_a_commit_that_is_gone_is_a_problem_and_not_a_zero(collected: dict[str, CollectedStudent], into: Path) -> None:
    assert collected["gone"].problem is None
    assert "The commit 111111111111 of our-course/gone cannot be fetched" in collected["gone"].problems[0]
    assert not (into / "sums" / "gone").exists()


def test_collected_json_holds_all_results(collected: dict[str, CollectedStudent], into: Path) -> None:
    found = read_collected(into / "collected.json")
    assert found.students == list(collected.values())
    assert {unit: time.isoformat() for unit, time in found.units.items()} == {
        "sums": "2020-01-25T22:59:00+00:00",
        "means": "2020-02-01T22:59:00+00:00",
    }
    assert [push.after for push in found.students[0].pushes or []][0:1] == [found.students[0].head]


def test_the_token_is_in_nothing_that_was_written(collected: dict[str, CollectedStudent], into: Path) -> None:
    assert collected
    contents = [path.read_bytes() for path in into.rglob("*") if path.is_file() and path.stat().st_size < 2**20]
    assert contents
    assert not [content for content in contents if TOKEN.encode() in content]


def test_git_shows_the_token_to_the_server_alone_and_in_a_header(
    hub: LocalGitHub, course: Course, tmp_path: Path
) -> None:
    repository = hub.create("our-course/private")
    repository.push({}, EARLY)
    github = GitHub(hub.api, hub.api, TOKEN)  # this server speaks HTTP, but not git
    before = len(hub.asked)
    found = collect([RosterEntry("ada", repository="our-course/private")], course, {}, github, tmp_path, NOW)
    assert found.students[0].problem == (
        "our-course/private cannot be read with git: let the token in GITHUB_TOKEN (in the workflow: the secret "
        "CLASS_TOKEN) read the contents of the repository."
    )
    asked = [(path, authorization) for _, path, authorization in hub.asked[before:] if ".git" in path]
    assert {authorization for _, authorization in asked} == {basic(TOKEN)}
    assert not [path for path, _ in asked if TOKEN in path]


def test_without_a_record_of_pushes_an_earlier_snapshot_counts(
    hub: LocalGitHub, course: Course, tmp_path: Path
) -> None:
    repository = hub.create("our-course/unrecorded")
    repository.keeps_activity = False
    early, late = repository.push({"sums.py": "a = 1\n"}, EARLY), repository.push({"sums.py": "a = 2\n"}, LATER)
    seen = [(HANDED_OUT, "3" * 40), (EARLY, early), (LATE, late)]
    lines = [json.dumps({"seen": at, "repository": "Our-Course/unrecorded", "head": head}) for at, head in seen]
    (tmp_path / "snapshots.jsonl").write_text("".join(f"{line}\n" for line in lines))
    [student] = collect_one(hub, "unrecorded", course, tmp_path).students
    assert [(work.commit, work.dated_by) for work in student.units.values()] == [
        (early, "snapshot"),
        (late, "snapshot"),
    ]
    assert (
        f"sums: Not dated by push time, because GitHub gives no record of pushes (404): {early[:7]} was seen there at "
        "2020-01-20 10:00:00 UTC."
    ) in noticed(student)


def test_every_run_adds_a_snapshot(hub: LocalGitHub, course: Course, tmp_path: Path) -> None:
    repository = hub.create("our-course/seen")
    heads = []
    for number in range(2):
        heads.append(repository.push({"sums.py": f"a = {number}\n"}, EARLY))
        collect_one(hub, "seen", course, tmp_path)
    lines = [json.loads(line) for line in (tmp_path / "snapshots.jsonl").read_text().splitlines()]
    assert [(line["repository"], line["head"]) for line in lines] == [("our-course/seen", head) for head in heads]


def test_without_record_and_snapshot_the_head_counts_with_a_remark(
    hub: LocalGitHub, course: Course, tmp_path: Path
) -> None:
    repository = hub.create("our-course/undated")
    repository.keeps_activity = False
    head = repository.push({"sums.py": "a = 1\n"}, LATER)
    [student] = collect_one(hub, "undated", course, tmp_path).students
    work = student.units["sums"]
    assert (work.commit, work.dated_by, work.pushed, work.pushes_since) == (head, "nothing", None, None)
    assert f"{head[:7]} may have been pushed too late." in noticed(student)


def test_before_the_first_recorded_push_the_replaced_commit_counts(
    hub: LocalGitHub, course: Course, tmp_path: Path
) -> None:
    repository = hub.create("our-course/midway")
    first = repository.push({"sums.py": "a = 1\n"}, EARLY)
    repository.push({"sums.py": "a = 2\n"}, LATER)
    del repository.activity[-1]
    [student] = collect_one(hub, "midway", course, tmp_path).students
    assert (student.units["sums"].commit, student.units["sums"].dated_by) == (first, "nothing")


def test_renaming_the_default_branch_later_changes_no_grade(
    hub: LocalGitHub, course: Course, root: Path, tmp_path: Path
) -> None:
    repository = hub.create("our-course/renamed")
    repository.push(handed_out(root), HANDED_OUT)
    commit = repository.push({"sums.py": "a = 1\n"}, EARLY)
    repository.switch("trunk", LATER)
    [student] = collect_one(hub, "renamed", course, tmp_path).students
    work = student.units["sums"]
    assert (work.commit, work.dated_by, work.pushes_since) == (commit, "push", 0)
    assert student.noticed == [
        f"sums: {commit[:7]} is dated by the push to main at 2020-01-20 10:00:00 UTC, because the branch trunk was "
        "made only at 2020-01-26 10:00:00 UTC."
    ]


def test_if_the_commit_of_a_renamed_branch_is_unknown_it_is_a_problem(
    hub: LocalGitHub, course: Course, tmp_path: Path
) -> None:
    repository = hub.create("our-course/unknown")
    early = repository.push({"sums.py": "a = 1\n"}, EARLY)
    repository.push({"sums.py": "a = 2\n"}, LATE)
    repository.switch("trunk", LATER)
    [student] = collect_one(hub, "unknown", course, tmp_path).students
    assert student.units["sums"].commit is None
    assert "there were pushes to main: make the branch that was the default one then" in student.problems[0]
    assert not (tmp_path / "sums" / "ada").exists()

    seen = {"seen": IN_TIME, "repository": "our-course/unknown", "head": early}
    (tmp_path / "snapshots.jsonl").write_text(f"{json.dumps(seen)}\n")
    [student] = collect_one(hub, "unknown", course, tmp_path).students
    assert (student.units["sums"].commit, student.units["sums"].dated_by) == (early, "snapshot")


def test_a_named_unit_that_is_not_over_is_collected_as_of_now(course: Course) -> None:
    now = datetime.datetime.fromisoformat("2020-01-30T00:00:00+00:00")
    assert list(times(course, None, now)) == ["sums"]
    assert times(course, ["means"], now) == {"means": now}
    assert times(course, ["sums"], now) == {"sums": datetime.datetime.fromisoformat(IN_TIME)}


def test_a_run_replaces_the_results_of_the_last_one(hub: LocalGitHub, course: Course, tmp_path: Path) -> None:
    for name in ("first", "second"):
        hub.create(f"our-course/{name}").push({"sums.py": f"# {name}\n"}, EARLY)
        collect_one(hub, name, course, tmp_path)
        (tmp_path / "sums" / name).mkdir(exist_ok=True)
    collect_one(hub, "second", course, tmp_path)
    assert [path.read_text() for path in (tmp_path / "sums").rglob("*.py")] == ["# second\n"]
    assert [path.name for path in (tmp_path / "sums").iterdir()] == ["ada"]
    assert {path.name for path in tmp_path.iterdir()} == {"sums", "means", "collected.json", "snapshots.jsonl"}


def test_a_folder_that_is_not_from_a_run_is_not_replaced(hub: LocalGitHub, course: Course, tmp_path: Path) -> None:
    (tmp_path / "sums").mkdir()
    with pytest.raises(CollectError, match="is not from `grader collect`: name another folder, or remove it"):
        collect_one(hub, "honest", course, tmp_path)


def test_files_of_a_killed_run_are_replaced(hub: LocalGitHub, course: Course, tmp_path: Path) -> None:
    hub.create("our-course/again").push({"sums.py": "a = 1\n"}, EARLY)
    collect_one(hub, "again", course, tmp_path)
    (tmp_path / "collected.json").unlink()
    (tmp_path / ".collecting-x" / "sums").mkdir(parents=True)
    collect_one(hub, "again", course, tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == {"sums", "means", "collected.json", "snapshots.jsonl"}


def test_unreadable_snapshots_are_not_overwritten(hub: LocalGitHub, course: Course, tmp_path: Path) -> None:
    whole = '{"seen": "2026-09-01T12:00:00Z", "repository": "our-course/honest", "head": "1b"}'
    (tmp_path / "snapshots.jsonl").write_text(f"{whole}\nhalf a li")
    with pytest.raises(CollectError, match=r"snapshots\.jsonl, line 2: .* take the line out"):
        collect_one(hub, "honest", course, tmp_path)
    assert (tmp_path / "snapshots.jsonl").read_text() == f"{whole}\nhalf a li"


def collect_one(hub: LocalGitHub, name: str, course: Course, into: Path) -> CollectedClass:
    units = times(course, None, datetime.datetime.now(datetime.UTC))
    return collect([RosterEntry("ada", repository=f"our-course/{name}")], course, units, client(hub), into, NOW)


# -- extensions and late work ----------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def lenient(root: Path, tmp_path_factory: pytest.TempPathFactory) -> Course:
    """The course with ten minutes of grace and a deduction for late work."""
    copy = tmp_path_factory.mktemp("lenient") / "course"
    shutil.copytree(root, copy)
    rules = "late:\n  grace_minutes: 10\n  percent_per_day: 10\n  most_percent: 50\n"
    settings = copy / "autograder.yml"
    settings.write_text(settings.read_text(encoding="utf-8").replace("units:", f"{rules}units:", 1), encoding="utf-8")
    return load_course(copy)


def test_a_push_in_the_grace_period_or_before_the_end_of_an_extension_is_in_time(
    hub: LocalGitHub, lenient: Course, tmp_path: Path
) -> None:
    repository = hub.create("our-course/extended")
    pushed = [repository.push({"sums.py": f"a = {n}\n"}, time) for n, time in enumerate((EARLY, LATE, LATER))]
    extension = {"sums": datetime.datetime(2020, 1, 26, 10, tzinfo=datetime.UTC)}
    for due, commit, late in (({}, pushed[1], pushed[2]), (extension, pushed[2], None)):
        entry = RosterEntry("ada", repository="our-course/extended", due=due)
        units = times(lenient, ["sums"], NOW)
        [student] = collect([entry], lenient, units, client(hub), tmp_path, NOW).students
        work = student.units["sums"]
        assert (work.commit, work.late and work.late.commit) == (commit, late)
        assert (tmp_path / "late" / "sums" / "ada" / "sums.py").exists() == (late is not None)


def test_late_work_has_the_time_of_the_first_push_with_the_units_files(
    hub: LocalGitHub, lenient: Course, tmp_path: Path
) -> None:
    repository = hub.create("our-course/later")
    repository.push({"exercises/sums.py": "a = 1\n", "exercises/means.py": "b = 1\n"}, EARLY)
    repository.push({"exercises/sums.py": "a = 2\n"}, LATER)
    last = repository.push({"exercises/means.py": "b = 2\n", "notes.md": "x"}, "2020-01-28T10:00:00Z")
    entry = RosterEntry("ada", repository="our-course/later")
    [student] = collect([entry], lenient, times(lenient, None, NOW), client(hub), tmp_path, NOW).students
    late = student.units["sums"].late
    assert late is not None
    assert (late.commit, late.pushed) == (last, datetime.datetime.fromisoformat(LATER))
    assert student.units["means"].late is None  # it was due a week later


def test_each_member_of_a_group_gets_the_commit_of_their_own_due_date(
    hub: LocalGitHub, course: Course, tmp_path: Path
) -> None:
    repository = hub.create("our-course/group")
    pushed = [
        repository.push({"sums.py": f"a = {number}\n"}, time, by=account)
        for number, (time, account) in enumerate(((HANDED_OUT, "teacher"), (EARLY, "ada-l"), (LATER, "bob-r")))
    ]
    extension = {"sums": datetime.datetime(2020, 1, 26, 10, tzinfo=datetime.UTC)}
    roster = [
        RosterEntry("ada", repository="our-course/group"),
        RosterEntry("bob", repository="our-course/group", due=extension),
    ]
    found = collect(roster, course, times(course, ["sums"], NOW), client(hub), tmp_path, NOW)
    assert [student.units["sums"].commit for student in found.students] == pushed[1:]
    assert [(tmp_path / "sums" / one / "sums.py").read_text() for one in ("ada", "bob")] == ["a = 1\n", "a = 2\n"]
    # Two accounts are as many as there are members; and the repository was looked at once.
    assert not any("Several accounts" in noticed(student) for student in found.students)
    assert len((tmp_path / "snapshots.jsonl").read_text().splitlines()) == 1


def test_a_course_without_a_deduction_accepts_no_late_work(hub: LocalGitHub, course: Course, tmp_path: Path) -> None:
    hub.create("our-course/strict").push({"sums.py": "a = 1\n"}, LATER)
    [student] = collect_one(hub, "strict", course, tmp_path).students
    assert student.units["sums"].late is None


# -- the command -----------------------------------------------------------------------------------------------------


def run(hub: LocalGitHub, root: Path, *arguments: object) -> subprocess.CompletedProcess[str]:
    with pytest.MonkeyPatch.context() as patch:
        for name, value in hub.environment().items():
            patch.setenv(name, value)
        return courses.run_grader(root, "collect", *arguments)


def test_the_command_collects_and_names_who_is_missing(hub: LocalGitHub, root: Path, tmp_path: Path) -> None:
    hub.create("our-course/there").push({"sums.py": "a = 1\n"}, EARLY)
    (tmp_path / "roster.csv").write_text(
        "student,name,repository\nada,Ada Doe,our-course/there\nbob,Bob Moe,our-course/nowhere\neve,,our-course/when\n"
        "fay,,our-course/there\n"
    )
    when = hub.create("our-course/when")
    when.push({}, LATER)
    when.keeps_activity = False
    hub.instead["/repos/our-course/there"] = [Answer(503, {"Retry-After": "0"})]
    done = run(hub, root, tmp_path / "roster.csv", "--out", tmp_path / "collected", "--unit", "sums")
    assert done.returncode == 1
    assert f"{tmp_path}/collected/sums: as of 2020-01-25 22:59:00 UTC" in done.stdout
    assert "Bob Moe (bob): GitHub shows no our-course/nowhere to this token (404)" in done.stderr
    assert "With one repository, and a folder each: Ada Doe (ada) and fay." in done.stdout
    assert "1 of 4 students could not be collected, or not in full; all others were." in done.stderr
    assert "eve: sums: Not dated by push time, because GitHub gives no record of pushes (404): " in done.stderr
    assert "1 of 4 students may have been late; they are graded." in done.stderr
    assert (tmp_path / "collected" / "sums" / "ada" / "sums.py").is_file()
    assert not (tmp_path / "collected" / "means").exists()
    assert TOKEN not in done.stdout + done.stderr


@pytest.mark.parametrize(
    ("roster", "options", "sentence"),
    [
        ("student,repository\nada\n", [], "roster.csv, line 2, repository: '' is not a repository on GitHub"),
        ("student,repository\nmeans,o/a\n", [], "line 2, student: 'means' is the name of a folder of the course"),
        ("student,repository\nada,o/a\n", ["--unit", "sum"], "There is no unit 'sum'"),
    ],
)
def test_bad_input_is_an_error_before_any_request(
    hub: LocalGitHub, root: Path, tmp_path: Path, roster: str, options: list[str], sentence: str
) -> None:
    (tmp_path / "roster.csv").write_text(roster)
    before = len(hub.asked)
    done = run(hub, root, tmp_path / "roster.csv", "--out", tmp_path / "collected", *options)
    assert (done.returncode, len(hub.asked)) == (2, before)
    assert sentence in done.stderr
    assert not (tmp_path / "collected").exists()
