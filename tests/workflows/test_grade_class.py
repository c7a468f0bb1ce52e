"""The instructor's workflow, executed step by step on a roster of repositories on a local GitHub."""

from __future__ import annotations

import csv
import hashlib
import json
import shutil
import zipfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from types import MappingProxyType

import courses
import pytest
from actions import Hosted, new_environment
from local_github import TOKEN, LocalGitHub, git, local_github
from rendered import GRADE_SHARDS, GRADER, WORKFLOWS
from runner import Push, Runner, read_workflow
from students import commit_all, host

pytestmark = pytest.mark.proof(part="workflows")

DUE, IN_TIME, LATE = "2020-01-25T23:59:00+01:00", "2020-01-20T10:00:00Z", "2020-01-26T10:00:00Z"
RIGHT = courses.SMALL_COURSE["solutions/sums.py"]
WRONG = RIGHT.replace("a + b", "a - b")
ODD = "$(touch pwned)`touch pwned`|<img src=x>\n::error::from a message"
HOSTILE = WRONG + "print('::error::from an answer')\nprint('::stop-commands::x')\n"
WORKFLOW, VISIBLE_TEST = ".github/workflows/classroom.yml", "exercises/checks/test_sums.py"
HANDED_OUT = {
    WORKFLOW: "on: push\n",
    ".course.json": json.dumps({WORKFLOW: hashlib.sha256(b"on: push\n").hexdigest()}),
}
TAMPERING = {
    WORKFLOW: "on: never\n",
    VISIBLE_TEST: "def test_all_is_well(): ...\n",
    "autograder.yml": "units: {}\n",
}
ROSTER = "student,repository\nada,our-class/ada\nlou,our-class/lou\nmallory,our-class/mallory\n"
GONE = "zoe,our-class/nobody-has-it\n"


@pytest.fixture(scope="module")
def hub(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalGitHub]:
    """Ada is right in time, lou only after the due date, and mallory rewrites the history and other files."""
    with local_github(tmp_path_factory.mktemp("hub")) as hub:
        ada, lou = hub.create("our-class/ada"), hub.create("our-class/lou")
        ada.push({"exercises/sums.py": RIGHT}, IN_TIME)
        lou.push({"exercises/sums.py": WRONG}, IN_TIME, by="lou")
        lou.push({"exercises/sums.py": RIGHT}, LATE, by="lou", dated=IN_TIME)
        mallory = hub.create("our-class/mallory", branch="$(touch${IFS}pwned)")
        first = mallory.push(HANDED_OUT, IN_TIME, by="mallory")
        mallory.push({"exercises/sums.py": HOSTILE} | TAMPERING, IN_TIME, by="mallory", message=ODD)
        mallory.push({"exercises/sums.py": RIGHT}, LATE, by="mallory", dated=IN_TIME, replacing=first)
        yield hub


@pytest.fixture(scope="module")
def course(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The instructor's repository: a course of one unit, which is past its due date, and the grader."""
    root = courses.make_small_course(tmp_path_factory.mktemp("course") / "checkout")
    ours = courses.REPOSITORY / "grader"
    shutil.copytree(ours, root / "grader", ignore=shutil.ignore_patterns("__pycache__", "suites"))
    courses.set_due(root, DUE)
    (root / VISIBLE_TEST).write_text("def test_add():\n    pass\n", encoding="utf-8")
    for name in ("Makefile", "install.py", "pyproject.toml", "setup.py", "requirements.lock", "README.md", "LICENSE"):
        shutil.copy2(courses.REPOSITORY / name, root)
    git(root, "init")
    commit_all(root)
    return root


GRADE_CLASS = (WORKFLOWS / "grade-class.yml").read_text(encoding="utf-8")


def run(
    course: Path,
    hub: LocalGitHub,
    folder: Path,
    run_id: str,
    caches: Path | None,
    workflow: str = GRADE_CLASS,
    before: Mapping[str, Callable[[Path], None]] = MappingProxyType({}),
    **inputs: str | bool,
) -> Runner:
    """Run a workflow on the instructor's push."""
    folder.mkdir()
    grader: Hosted = host(course, folder / "grader.git")
    runner = Runner(
        folder / "runner",
        {GRADER: grader},
        Push(GRADER, git(course, "rev-parse", "HEAD"), actor="the-instructor"),
        secrets={"CLASS_TOKEN": TOKEN},
        server_url=hub.folder.as_uri(),
        api_url=hub.api,
        event_name="workflow_dispatch" if inputs else "schedule",
        run_id=run_id,
        caches=caches,
        before=before,
    )
    runner.run(read_workflow(workflow), inputs)
    return runner


@pytest.fixture(scope="module")
def runs(course: Path, hub: LocalGitHub, tmp_path_factory: pytest.TempPathFactory) -> list[Runner]:
    """One run by hand, with a missing repository in the roster, and one on the next day's schedule."""
    folder = tmp_path_factory.mktemp("runs")
    caches = folder / "caches"
    caches.mkdir()
    (course / "roster.csv").write_text(ROSTER + GONE, encoding="utf-8")
    commit_all(course)
    first = run(course, hub, folder / "1", "1", caches, unit="", post_status=True)
    (course / "roster.csv").write_text(ROSTER, encoding="utf-8")
    commit_all(course)
    return [first, run(course, hub, folder / "2", "2", caches)]


@pytest.fixture
def by_hand(runs: list[Runner]) -> Runner:
    return runs[0]


@pytest.fixture
def next_day(runs: list[Runner]) -> Runner:
    return runs[1]


def kept(runner: Runner) -> dict[str, bytes]:
    with zipfile.ZipFile(runner.artifacts / "grades.zip") as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def outcomes(runner: Runner) -> dict[str, str]:
    return {step.name: step.outcome for step in runner.steps}


def test_without_a_roster_there_is_nothing_to_do(course: Path, hub: LocalGitHub, tmp_path: Path) -> None:
    (course / "roster.csv").unlink(missing_ok=True)
    commit_all(course)
    runner = run(course, hub, tmp_path / "run", "0", None)
    assert runner.is_success
    assert runner.jobs == ["look-for-a-roster"]


def test_every_available_student_is_graded_as_of_the_due_date(by_hand: Runner) -> None:
    rows = {row["student"]: row for row in csv.DictReader(kept(by_hand)["grades.csv"].decode().splitlines())}
    reports = {
        name: json.loads(kept(by_hand)[f"reports/sums/{name}.json"])["units"]["sums"]["exercises"]
        for name in ("ada", "lou", "mallory")
    }
    assert {name: [one["points"] for one in of.values()] for name, of in reports.items()} == {
        "ada": [4, 1],
        "lou": [0, 1],
        "mallory": [0, 1],
    }
    assert {name: row["total"] for name, row in rows.items()} == {"ada": "5", "lou": "1", "mallory": "1", "zoe": ""}


def test_the_artifacts_are_grades_reports_and_collected_work(by_hand: Runner) -> None:
    files = set(kept(by_hand))
    assert {"grades.csv", "collected/collected.json", "collected/snapshots.jsonl"} <= files
    assert {name for name in files if name.startswith("reports/sums/") and name.count("/") == 2} == {
        f"reports/sums/{name}.json" for name in ("ada", "lou", "mallory")
    }
    assert all(name.startswith(("reports/", "collected/co", "collected/sn", "grades.csv")) for name in files)


def test_the_summary_shows_the_table_and_the_anomalies(by_hand: Runner) -> None:
    summary = by_hand.summary
    assert all(name in summary for name in ("ada", "lou", "mallory", "zoe"))
    assert "force-pushed" in summary
    assert all(path in summary.replace("\\", "") for path in TAMPERING)


def test_a_missing_repository_fails_only_the_last_step(by_hand: Runner) -> None:
    assert [name for name, outcome in outcomes(by_hand).items() if outcome != "success"] == [
        "Say whether all was graded"
    ]


def test_statuses_are_on_the_graded_commits(by_hand: Runner, hub: LocalGitHub) -> None:
    collected = json.loads(kept(by_hand)["collected/collected.json"])
    commits = {one["repository"]: one["units"]["sums"]["commit"] for one in collected["students"] if one["units"]}
    assert {name: commit for name, commit, _ in hub.statuses} == {name: one for name, one in commits.items() if one}


def test_the_token_is_in_no_log_and_in_nothing_that_is_kept(by_hand: Runner) -> None:
    assert TOKEN not in by_hand.log + by_hand.summary
    assert not [name for name, content in kept(by_hand).items() if TOKEN.encode() in content]
    assert not [path for path in by_hand.folder.rglob("*") if path.is_file() and TOKEN.encode() in path.read_bytes()]


def test_nothing_that_a_student_wrote_is_run(by_hand: Runner) -> None:
    assert not list(by_hand.folder.rglob("pwned"))
    [said] = [command.data for command in by_hand.commands]
    assert said.startswith("Some submissions are not graded or may be late: ")


def test_the_next_run_is_green_skips_unchanged_reports_and_posts_nothing(next_day: Runner, hub: LocalGitHub) -> None:
    assert next_day.is_success
    assert outcomes(next_day)["Show students their points"] == "skipped"
    assert len(hub.statuses) == 3  # those of the first run
    assert any("3 of 3 reports are up to date and were skipped" in line for line in next_day.step("Grade").log)


def test_snapshots_are_carried_from_run_to_run(by_hand: Runner, next_day: Runner) -> None:
    first, both = (kept(runner)["collected/snapshots.jsonl"] for runner in (by_hand, next_day))
    assert both.startswith(first)


def install_without_pip(workspace: Path) -> None:
    """Make what the step "Install the grader" would make, because that takes as long as all the rest."""
    environment = workspace / ".venv"
    new_environment(environment)
    [packages] = environment.glob("lib/*/site-packages")
    (packages / "grader.pth").write_text(f"{workspace}\n")
    program = environment / "bin" / "grader"
    program.write_text(f"#!{environment / 'bin' / 'python'}\nfrom grader.__main__ import main\nmain()\n")
    program.chmod(0o755)
    (environment / "installed").touch()


def test_machines_that_grade_a_part_each_give_the_gradebook_of_one(
    course: Path, hub: LocalGitHub, by_hand: Runner, tmp_path: Path
) -> None:
    (course / "roster.csv").write_text(ROSTER, encoding="utf-8")
    commit_all(course)
    two = GRADE_SHARDS.replace("[1, 2, 3, 4, 5]", "[1, 2]").replace("matrix.shard }}/5", "matrix.shard }}/2")
    runner = run(
        course, hub, tmp_path / "run", "9", None, two, {"Install the grader": install_without_pip}, unit="sums"
    )
    assert runner.is_success, runner.log
    assert runner.jobs == ["collect", "grade-1", "grade-2", "gradebook"]
    rows = kept(runner)["grades.csv"].splitlines()
    assert rows == [row for row in kept(by_hand)["grades.csv"].splitlines() if not row.startswith(b"zoe,")]
    parts = [{path.stem for path in (runner.folder / f"grade-{n}").rglob("reports/sums/*.json")} for n in (1, 2)]
    assert sorted(map(len, parts)) != [0, 3]
    assert not parts[0] & parts[1]
    assert "pwned" not in {path.name for path in runner.folder.rglob("*")}
