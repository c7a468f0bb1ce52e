"""The repository that students receive: the first release, and updates that keep their work."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path

import courses
import pytest
from courses import REPOSITORY
from local_github import git

from grader.course.build import build
from grader.course.model import load_course
from grader.integrations.github.git_repositories import Repository, origin
from grader.integrations.github.github_release import (
    RECORD,
    ReleasedRepository,
    as_record,
    checksum,
    release_github,
    update_release,
)
from grader.integrations.release import ReleaseError

STUB, SHEET, CHECKING = "exercises/sums.py", "exercises/sums_quiz.md", "exercises/checks/checking.py"

CONFTEST, MORE = "exercises/checks/conftest.py", "exercises/more.py"

SOURCE = courses.BUILDABLE.replace(
    "return a + b\n", "hidden_in_the_solution = a + b\n    return hidden_in_the_solution\n"
)


def state(repository: Path) -> tuple[str, str, dict[str, bytes]]:
    """Return all that a release could change: the latest commit, the status and every file."""
    files = {path.relative_to(repository).as_posix(): path for path in repository.rglob("*")}
    contents = {name: path.read_bytes() for name, path in files.items() if path.is_file() and ".git/" not in name}
    return git(repository, "rev-parse", "HEAD"), git(repository, "status", "--porcelain"), contents


def commit(repository: Path, path: str, text: str) -> None:
    (repository / path).write_text(text, encoding="utf-8")
    git(repository, "add", path)
    git(repository, "commit", "--message", "My own", "--", path)


@pytest.fixture(scope="module")
def first_course(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small course with visible tests, built."""
    root = courses.make_small_course(tmp_path_factory.mktemp("courses") / "first")
    for name in ("pyproject.toml", "requirements.lock", "LICENSE"):
        shutil.copy(REPOSITORY / name, root)
    courses.leave_out_signatures(root)
    (root / "solutions" / "sums.py").write_text(SOURCE, encoding="utf-8")
    (root / "exercises" / "checks" / "checking.py").write_text("TOLERANCE = 1e-4\n", encoding="utf-8")
    (root / "exercises" / "checks" / "test_sums.py").write_text("from checking import TOLERANCE\n", encoding="utf-8")
    build(load_course(root))
    return root


@pytest.fixture(scope="module")
def next_course(first_course: Path) -> Path:
    """The same course later: another stub, another visible test, another wheel."""
    root = shutil.copytree(first_course, first_course.with_name("next"))
    courses.replace(root / "solutions" / "sums.py", '"""Add."""', '"""Add two tensors."""')
    courses.replace(root / "exercises" / "checks" / "checking.py", "1e-4", "1e-5")
    courses.replace(root / "autograder.yml", 'version: "1"', 'version: "2"')
    build(load_course(root))
    return root


@pytest.fixture(scope="module")
def first_release(first_course: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("releases") / "sums"
    release_github(folder, load_course(first_course))
    return folder


@pytest.fixture
def released(first_release: Path, tmp_path: Path) -> Path:
    """A clone of the release."""
    git(tmp_path, "clone", str(first_release), "clone")
    return tmp_path / "clone"


def wheels(repository: Path) -> list[str]:
    return [path.name for path in (repository / "course").glob("*.whl")]


# -- a new release ---------------------------------------------------------------------------------------------------


def test_a_release_is_one_commit_of_all_that_students_receive(first_release: Path) -> None:
    assert git(first_release, "rev-list", "--count", "--all") == "1"
    assert git(first_release, "branch", "--show-current") == "main"
    assert git(first_release, "status", "--porcelain", "--ignored") == ""
    [wheel] = wheels(first_release)
    assert git(first_release, "ls-files").splitlines() == sorted(
        [
            ".course.json", ".devcontainer/devcontainer.json", ".gitattributes", ".github/workflows/classroom.yml",
            ".gitignore", "README.md", "autograder.yml", "constraints.txt", f"course/{wheel}", "course/machine.py",
            CHECKING, "exercises/checks/contracts.json", "exercises/checks/quizzes.json", "exercises/checks/rules.json",
            STUB, SHEET, "exercises/checks/test_sums.py", "requirements.txt",
        ]
    )  # fmt: skip
    assert json.loads((first_release / ".devcontainer" / "devcontainer.json").read_bytes())["name"] == "A small course"


def test_the_record_lists_what_was_written(first_release: Path) -> None:
    record = json.loads((first_release / ".course.json").read_bytes())
    tracked = set(git(first_release, "ls-files").splitlines()) - {".course.json"}
    assert record == {path: hashlib.sha256((first_release / path).read_bytes()).hexdigest() for path in tracked}


@pytest.mark.proof(part="releases")
def test_of_the_instructors_settings_only_the_name_counts(first_course: Path, tmp_path: Path) -> None:
    hooks = tmp_path / "hooks"
    hooks.mkdir()
    for name in ("pre-commit", "commit-msg", "post-commit", "reference-transaction", "post-index-change"):
        (hooks / name).write_text(f"#!/bin/sh\necho x >> {tmp_path}/ran\nexit 1\n", encoding="utf-8")
        (hooks / name).chmod(0o755)
    (tmp_path / ".gitconfig").write_text(
        "[user]\nname = Grace Hopper\nemail = grace@example.org\n"
        f"[core]\nhooksPath = {hooks}\n[commit]\ngpgsign = true\n",
        encoding="utf-8",
    )
    home = {"HOME": str(tmp_path), "XDG_CONFIG_HOME": str(tmp_path), "GIT_DIR": "/nonexistent"}
    environment = {**courses.environment(first_course), **home}
    command = courses.grader_command("release", "github", tmp_path / "sums")
    done = subprocess.run(command, cwd=first_course, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "18 files in one commit" in done.stdout
    assert git(tmp_path / "sums", "log", "--format=%an <%ae> %cn <%ce>", "main") == " ".join(
        ["Grace Hopper <grace@example.org>"] * 2
    )
    assert not (tmp_path / "ran").exists()


def test_an_empty_folder_is_accepted_and_without_a_name_in_git_the_course_is_the_author(
    first_course: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in [name for name in os.environ if name.startswith("GIT_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", os.devnull)
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    monkeypatch.delenv("EMAIL", raising=False)
    (tmp_path / "sums").mkdir()
    assert release_github(tmp_path / "sums", load_course(first_course)).is_new
    assert git(tmp_path / "sums", "log", "--format=%an <%ae>") == "A small course <noreply@course.invalid>"


@pytest.mark.parametrize("where", ["other", "file", "link", "inside"])
def test_any_other_place_is_refused_and_unchanged(
    where: str, first_course: Path, first_release: Path, tmp_path: Path
) -> None:
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "thesis.txt").write_text("mine", encoding="utf-8")
    (tmp_path / "file").write_text("mine", encoding="utf-8")
    (tmp_path / "link").symlink_to(first_release)
    place = first_course / "inside" if where == "inside" else tmp_path / where
    before = sorted(tmp_path.rglob("*")), sorted(first_course.glob("*")), state(first_release)
    with pytest.raises(ReleaseError, match=f"{place.name} (holds|is not a folder|lies in).*: name "):
        release_github(place, load_course(first_course))
    assert (sorted(tmp_path.rglob("*")), sorted(first_course.glob("*")), state(first_release)) == before


def test_an_answer_that_was_tried_out_in_the_exercises_is_not_released(next_course: Path, tmp_path: Path) -> None:
    root = shutil.copytree(next_course, tmp_path / "course")
    courses.replace(root / STUB, "raise NotImplementedError()", "return a + b")
    with pytest.raises(ReleaseError, match=r"exercises/sums\.py is not what `grader build` makes"):
        release_github(tmp_path / "sums", load_course(root))
    assert not (tmp_path / "sums").exists()


# -- how it is graded ------------------------------------------------------------------------------------------------


@pytest.mark.proof(part="releases")
def test_the_workflow_with_a_key_names_the_instructors_repository(first_course: Path, tmp_path: Path) -> None:
    root = shutil.copytree(first_course, tmp_path / "course")
    with pytest.raises(ReleaseError, match=r"has no grader/: leave the option out"):
        release_github(tmp_path / "sums", load_course(root), "key")
    (root / "grader").mkdir()
    (root / "grader" / "__init__.py").touch()
    git(root, "init")
    with pytest.raises(ReleaseError, match="its remote `origin` says none: git remote remove origin; git"):
        release_github(tmp_path / "sums", load_course(root), "key")
    git(root, "remote", "add", "origin", "git@github.com:some-course/grader.git")
    release_github(tmp_path / "sums", load_course(root), "key")
    workflow = (tmp_path / "sums" / ".github" / "workflows" / "classroom.yml").read_text(encoding="utf-8")
    assert not release_github(tmp_path / "sums", load_course(root)).is_committed  # the next release keeps the mode
    assert "some-course/grader" in workflow
    assert "secrets.GRADER_DEPLOY_KEY" in workflow
    assert "Each push runs hidden tests" in (tmp_path / "sums" / "README.md").read_text(encoding="utf-8")


def test_a_release_that_called_a_workflow_of_the_instructor_needs_another_choice(
    first_course: Path, released: Path
) -> None:
    workflow = released / ".github" / "workflows" / "classroom.yml"
    workflow.write_text("jobs: {grade: {uses: a-course/grader/.github/workflows/grade-submission.yml@main}}\n")
    git(released, "commit", "--all", "--quiet", "--message", "As it was released before")
    before = state(released)
    with pytest.raises(ReleaseError, match=r"Nothing was changed .*`--grading reusable`.*Choose --grading record"):
        release_github(released, load_course(first_course))
    assert state(released) == before
    release_github(released, load_course(first_course), "record")
    assert "grader check" in workflow.read_text(encoding="utf-8")


def test_by_default_the_workflow_has_no_secret_and_the_readme_says_so(first_release: Path) -> None:
    workflow = (first_release / ".github" / "workflows" / "classroom.yml").read_text(encoding="utf-8")
    assert "secrets." not in workflow
    assert "grader check" in workflow
    readme = (first_release / "README.md").read_text(encoding="utf-8")
    assert "hidden tests with other sizes and\nnumbers, which your instructor runs" in readme
    assert "| Sums | `sums.py` | 1 January 2100, 00:00 (UTC) |" in readme


# -- updates of real releases ----------------------------------------------------------------------------------------


def test_a_second_release_without_changes_does_nothing(first_course: Path, released: Path) -> None:
    before = state(released)
    done = release_github(released, load_course(first_course))
    assert (done.is_committed, done.written, done.removed, done.kept) == (False, [], [], [])
    assert state(released) == before


def test_unchanged_files_are_updated_in_one_commit(next_course: Path, released: Path) -> None:
    [old_wheel] = wheels(released)
    done = release_github(released, load_course(next_course))
    assert (done.is_committed, done.kept, done.overwritten) == (True, [], [])
    assert done.removed == [f"course/{old_wheel}"]
    assert git(released, "rev-list", "--count", "HEAD") == "2"
    assert git(released, "status", "--porcelain") == ""
    assert done.push == "git push"
    assert '"""Add two tensors."""' in (released / STUB).read_text(encoding="utf-8")
    [new_wheel] = wheels(released)
    assert new_wheel in (released / "requirements.txt").read_text(encoding="utf-8")
    assert set(git(released, "show", "--format=", "--name-only", "--no-renames", "HEAD").splitlines()) == {
        ".course.json", "autograder.yml", CHECKING, f"course/{old_wheel}", f"course/{new_wheel}", "requirements.txt",
        STUB,
    }  # fmt: skip


@pytest.mark.proof(part="releases")
def test_the_command_prints_what_happened_to_each_file(next_course: Path, released: Path) -> None:
    [old_wheel] = wheels(released)
    work(released)
    commit(released, CHECKING, "TOLERANCE = 1000\n")
    said = courses.run_grader(next_course, "release", "github", released).stdout.splitlines()
    assert f"wrote {released / 'autograder.yml'}" in said
    assert f"removed, because the course no longer has it: {released / 'course' / old_wheel}" in said
    assert f"replaced, although somebody had changed it: {released / CHECKING}" in said
    assert f"kept, because somebody has worked on it: {released / STUB}" in said
    assert said[-1] == f"All of it is in one commit. Next: cd {released} && git push"
    said = courses.run_grader(next_course, "release", "github", released).stdout.splitlines()
    assert said[-1] == f"Nothing has changed in {released} since the last release: there is no new commit."


@pytest.mark.proof(part="releases")
def test_update_updates_several_repositories_and_creates_none(
    next_course: Path, first_release: Path, released: Path, tmp_path: Path
) -> None:
    git(tmp_path, "clone", str(first_release), "bob")
    work(released)
    answer = (released / STUB).read_bytes()
    places = [released, tmp_path / "eve", tmp_path / "bob"]
    done = courses.run_grader(next_course, "release", "github", "--update", *places)
    assert done.returncode == 1
    assert done.stderr.splitlines() == [
        f"{tmp_path / 'eve'} is not a repository that `grader release github` made: name the folder of a clone."
    ]
    assert (released / STUB).read_bytes() == answer
    assert wheels(released) == wheels(tmp_path / "bob") != wheels(first_release)
    assert (released / CHECKING).read_text(encoding="utf-8") == "TOLERANCE = 1e-5\n"
    assert not (tmp_path / "eve").exists()
    done = courses.run_grader(next_course, "release", "github", *places)
    assert (done.returncode, done.stderr) == (2, "Name one folder; with --update, those of several repositories.\n")


def test_a_release_with_a_leak_changes_nothing(next_course: Path, released: Path, tmp_path: Path) -> None:
    root = shutil.copytree(next_course, tmp_path / "course")
    with open(root / CHECKING, "a", encoding="utf-8") as file:
        file.write('ANSWER = "hidden_in_the_solution = a + b"\n')
    before = state(released)
    for place in (tmp_path / "new", released):
        with pytest.raises(ReleaseError, match=r"exercises/checks/checking\.py:2: .* solutions/sums\.py:15") as leak:
            release_github(place, load_course(root))
        assert "hidden_in_the_solution" not in str(leak.value)
    assert state(released) == before
    assert sorted(path.name for path in tmp_path.iterdir()) == ["clone", "course"]


def test_a_folder_of_another_repository_is_refused(first_course: Path, tmp_path: Path) -> None:
    git(tmp_path, "init")
    with pytest.raises(ReleaseError, match=f"sums lies in the git repository {tmp_path}: name a folder outside it"):
        release_github(tmp_path / "deep" / "sums", load_course(first_course))
    assert [path.name for path in tmp_path.iterdir()] == [".git"]


@pytest.mark.parametrize(
    ("address", "name"),
    [
        ("https://github.com/some-course/grader.git", "some-course/grader"),
        ("https://token@github.com/some-course/grader", "some-course/grader"),
        ("git@github.com:some-course/my.grader.git", "some-course/my.grader"),
        ("ssh://git@github.com/some-course/grader", "some-course/grader"),
        ("/home/grace/grader", None),
    ],
)
def test_the_instructors_repository_is_the_remote_origin(address: str, name: str | None, tmp_path: Path) -> None:
    git(tmp_path, "init")
    git(tmp_path, "remote", "add", "origin", address)
    assert origin(tmp_path) == name


# -- what an update does to each file --------------------------------------------------------------------------------


AUTHOR = {f"GIT_{role}_{key}": "grace@example.org" for role in ("AUTHOR", "COMMITTER") for key in ("NAME", "EMAIL")}


def release(**changes: str | None) -> dict[str, bytes]:
    """The files of a release, with changes: None for a file that it does not have."""
    texts = {
        "README.md": "# A course\n",
        STUB: "def add(a, b):\n    raise NotImplementedError()\n",
        SHEET: "- [ ] a)\n- [ ] b)\n",
        CHECKING: "TOLERANCE = 1e-4\n",
        "course/grader-1.whl": "a wheel",
    }
    files = {path: text.encode() for path, text in {**texts, **changes}.items() if text is not None}
    return {**files, RECORD: as_record({path: checksum(content) for path, content in files.items()})}


CHANGED_STUB = 'def add(a, b):\n    """Add two tensors."""\n    raise NotImplementedError()\n'
FIRST, WITH_A_NEW_FILE = release(), release(**{CONFTEST: "theirs = 1\n"})
NEXT = release(**{STUB: CHANGED_STUB, CHECKING: "TOLERANCE = 1e-5\n", "course/grader-1.whl": None})


def update(repository: Path, files: Mapping[str, bytes]) -> ReleasedRepository:
    return update_release(repository, files, {"README.md", STUB, SHEET, MORE}, AUTHOR)


@pytest.fixture(scope="module")
def handed_out(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A repository with the first release."""
    folder = tmp_path_factory.mktemp("handed_out") / "sums"
    write(folder, FIRST)
    Repository(folder, AUTHOR).create("The course")
    return folder


@pytest.fixture
def repository(handed_out: Path, tmp_path: Path) -> Path:
    """A student's own clone."""
    git(tmp_path, "clone", str(handed_out), "ada")
    return tmp_path / "ada"


def write(folder: Path, files: Mapping[str, bytes]) -> None:
    for path, content in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(content)


def work(repository: Path) -> None:
    """Do what a student may do: answers committed, staged and neither, own files, and a changed README."""
    courses.replace(repository / STUB, "raise NotImplementedError()", "return a + b")
    git(repository, "commit", "--all", "--message", "Add")
    courses.replace(repository / SHEET, "- [ ] b)", "- [x] b)")
    (repository / "notes.txt").write_text("staged\n", encoding="utf-8")
    git(repository, "add", SHEET, "notes.txt")
    (repository / "notes.txt").write_text("staged\nand more\n", encoding="utf-8")
    (repository / "README.md").write_text("My own words.\n", encoding="utf-8")
    (repository / "exercises" / "own.py").write_text("x = 1\n", encoding="utf-8")


def test_a_students_work_is_unchanged_and_not_committed(repository: Path) -> None:
    work(repository)
    _, status, before = state(repository)
    answers = git(repository, "rev-parse", f"HEAD:{STUB}")
    released = update(repository, NEXT)
    _, status_after, after = state(repository)
    assert released.kept == ["README.md", STUB, SHEET]
    assert status_after == status
    mine = [STUB, SHEET, "README.md", "notes.txt", "exercises/own.py"]
    assert {path: after[path] for path in mine} == {path: before[path] for path in mine}
    assert git(repository, "rev-parse", f"HEAD:{STUB}") == answers
    assert git(repository, "show", ":notes.txt") == "staged"
    changed = git(repository, "show", "--format=", "--name-only", "HEAD").splitlines()
    assert CHECKING in changed
    assert not set(mine) & set(changed)


def test_an_answer_is_kept_in_every_release_until_it_is_reverted(repository: Path) -> None:
    courses.replace(repository / STUB, "raise NotImplementedError()", "return a + b")
    for files in (NEXT, FIRST, NEXT):
        assert update(repository, files).kept == [STUB]
    (repository / STUB).write_bytes(FIRST[STUB])
    assert update(repository, NEXT).kept == []
    assert (repository / STUB).read_bytes() == NEXT[STUB]


def test_a_stub_with_a_staged_answer_is_kept(repository: Path) -> None:
    courses.replace(repository / STUB, "raise NotImplementedError()", "return a + b")
    git(repository, "add", STUB)
    (repository / STUB).write_bytes(FIRST[STUB])
    assert update(repository, NEXT).kept == [STUB]
    assert "return a + b" in git(repository, "show", f":{STUB}")
    assert (repository / STUB).read_bytes() == FIRST[STUB]


def test_a_stub_that_was_deleted_does_not_come_back(repository: Path) -> None:
    (repository / STUB).unlink()
    assert update(repository, NEXT).kept == [STUB]
    assert not (repository / STUB).exists()


def test_a_changed_or_deleted_visible_test_is_restored_and_reported(repository: Path) -> None:
    commit(repository, CHECKING, "TOLERANCE = 1000\n")
    for commits in ("3", "3"):
        assert update(repository, FIRST).overwritten == [CHECKING]
        assert (repository / CHECKING).read_bytes() == FIRST[CHECKING]
        assert git(repository, "status", "--porcelain") == ""
        assert git(repository, "rev-list", "--count", "HEAD") == commits
        (repository / CHECKING).unlink()


@pytest.mark.parametrize("how", ["staged", "staged alone", "not staged"])
def test_an_uncommitted_change_of_a_visible_test_is_not_lost(how: str, repository: Path) -> None:
    (repository / CHECKING).write_text("TOLERANCE = 1000\n", encoding="utf-8")
    if how != "not staged":
        git(repository, "add", CHECKING)
    if how == "staged alone":
        (repository / CHECKING).write_bytes(FIRST[CHECKING])
    before = state(repository)
    with pytest.raises(
        ReleaseError, match=r"in no commit: exercises/checks/checking\.py: commit them, or discard"
    ) as refusal:
        update(repository, NEXT)
    assert state(repository) == before
    [discard] = re.findall(r"`git (.*)`", str(refusal.value))
    git(repository, *discard.split())
    assert update(repository, NEXT).is_committed


@pytest.mark.parametrize("is_committed", [True, False])
def test_a_students_file_is_not_replaced_by_a_new_file_of_the_course(is_committed: bool, repository: Path) -> None:
    (repository / CONFTEST).write_text("mine = 1\n", encoding="utf-8")
    if is_committed:
        commit(repository, CONFTEST, "mine = 1\n")
    before = state(repository)
    with pytest.raises(ReleaseError, match=r"exercises/checks/conftest\.py: rename them or move them aside"):
        update(repository, WITH_A_NEW_FILE)
    assert state(repository) == before
    (repository / CONFTEST).rename(repository / "mine.py")
    update(repository, WITH_A_NEW_FILE)
    assert (repository / CONFTEST).read_bytes() == WITH_A_NEW_FILE[CONFTEST]
    assert git(repository, "status", "--porcelain") == "?? mine.py"


def test_a_file_that_equals_a_new_file_of_the_course_is_accepted(repository: Path) -> None:
    (repository / CONFTEST).write_bytes(WITH_A_NEW_FILE[CONFTEST])
    assert update(repository, WITH_A_NEW_FILE).is_committed
    assert git(repository, "status", "--porcelain") == ""


def test_a_students_file_is_not_replaced_by_a_new_stub(repository: Path) -> None:
    (repository / MORE).write_text("mine = 1\n", encoding="utf-8")
    assert update(repository, release(**{MORE: "def more():\n    ...\n"})).kept == [MORE]
    assert (repository / MORE).read_text(encoding="utf-8") == "mine = 1\n"


def test_the_tests_of_an_earlier_release_move_and_a_changed_one_is_kept_and_named(tmp_path: Path) -> None:
    flat = {f"exercises/{name}": name for name in ("conftest.py", "hints.json", "pytest.ini", "test_sums.py")}
    write(tmp_path, release(**{CHECKING: None}, **flat))
    Repository(tmp_path, AUTHOR).create("The course")
    commit(tmp_path, "exercises/test_sums.py", "print(1)\n")
    done = update(tmp_path, release(**{CONFTEST: "conftest.py"}))
    assert done.written == [CHECKING, CONFTEST, RECORD]
    assert done.removed == ["exercises/conftest.py", "exercises/hints.json", "exercises/pytest.ini"]
    assert done.kept == ["exercises/test_sums.py"]
    assert git(tmp_path, "status", "--porcelain") == ""


# -- refusals --------------------------------------------------------------------------------------------------------


def test_a_link_in_place_of_a_folder_is_not_followed(repository: Path, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    shutil.move(repository / "exercises", outside)
    (repository / "exercises").symlink_to(outside)
    files = [path for path in outside.rglob("*") if path.is_file()]
    before, head = {path: path.read_bytes() for path in files}, git(repository, "rev-parse", "HEAD")
    with pytest.raises(ReleaseError, match="exercises is not a folder"):
        update(repository, NEXT)
    assert {path: path.read_bytes() for path in files} == before
    assert git(repository, "rev-parse", "HEAD") == head


def test_a_link_in_place_of_a_file_is_replaced_and_not_followed(repository: Path, tmp_path: Path) -> None:
    (tmp_path / "outside.py").write_text("outside = 1\n", encoding="utf-8")
    (repository / CHECKING).unlink()
    (repository / CHECKING).symlink_to(tmp_path / "outside.py")
    git(repository, "commit", "--all", "--message", "A link")
    assert update(repository, NEXT).overwritten == [CHECKING]
    assert not (repository / CHECKING).is_symlink()
    assert (tmp_path / "outside.py").read_text(encoding="utf-8") == "outside = 1\n"


@pytest.mark.parametrize(
    "path", ["../outside.txt", "/outside.txt", "a/../../outside.txt", ".git/config", ".GIT/config"]
)
def test_a_record_with_other_paths_removes_no_file(path: str, repository: Path, tmp_path: Path) -> None:
    outside = tmp_path / "outside.txt"
    outside.write_text("mine", encoding="utf-8")
    record = json.loads((repository / RECORD).read_bytes())
    place = str(outside) if path.startswith("/") else path
    target = outside if "outside" in path else repository / ".git" / "config"
    content = target.read_bytes()
    record[place] = hashlib.sha256(content).hexdigest()
    commit(repository, RECORD, json.dumps(record))
    assert update(repository, FIRST).removed == []
    assert target.read_bytes() == content


def test_a_repository_in_a_merge_is_refused_and_unchanged(repository: Path) -> None:
    git(repository, "checkout", "-b", "other")
    courses.replace(repository / STUB, "raise NotImplementedError()", "return b + a")
    git(repository, "commit", "--all", "--message", "Other")
    git(repository, "checkout", "main")
    courses.replace(repository / STUB, "raise NotImplementedError()", "return a + b")
    git(repository, "commit", "--all", "--message", "One")
    with pytest.raises(subprocess.CalledProcessError):
        git(repository, "merge", "other")
    before = state(repository)
    with pytest.raises(ReleaseError, match="in the midst of a merge"):
        update(repository, NEXT)
    assert state(repository) == before


def test_the_repository_around_a_broken_one_is_not_used(repository: Path, tmp_path: Path) -> None:
    git(tmp_path, "init")
    git(tmp_path, "commit", "--allow-empty", "--message", "Around")
    (repository / ".git" / "HEAD").unlink()
    with pytest.raises(ReleaseError, match="not a git repository"):
        update(repository, NEXT)
    assert git(tmp_path, "rev-list", "--count", "HEAD") == "1"
    assert git(tmp_path, "ls-files") == ""


def test_no_hook_or_filter_of_the_students_repository_runs(repository: Path, tmp_path: Path) -> None:
    commit(repository, "exercises/.gitattributes", "* filter=mine\n")
    for name in ("clean", "smudge", "process"):
        git(repository, "config", f"filter.mine.{name}", f"echo x >> {tmp_path}/ran; cat")
    git(repository, "config", "filter.mine.required", "true")
    for name in ("pre-commit", "post-commit", "reference-transaction", "post-index-change"):
        hook = repository / ".git" / "hooks" / name
        hook.write_text(f"#!/bin/sh\necho x >> {tmp_path}/ran\nexit 1\n", encoding="utf-8")
        hook.chmod(0o755)
    assert update(repository, NEXT).is_committed
    assert not (tmp_path / "ran").exists()


def test_an_unreadable_record_is_an_error(repository: Path) -> None:
    commit(repository, RECORD, "[]")
    with pytest.raises(ReleaseError, match=r"\.course\.json cannot be read.*git checkout COMMIT -- \.course\.json"):
        update(repository, FIRST)


def test_a_repository_without_a_commit_is_an_error(repository: Path) -> None:
    shutil.rmtree(repository / ".git")
    git(repository, "init")
    with pytest.raises(ReleaseError, match="ada has no commit yet: commit what is in it"):
        update(repository, FIRST)


# -- all or nothing --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("lock", ["index.lock", "refs/heads/main.lock"])
def test_if_git_is_locked_nothing_changes_and_one_line_says_why(lock: str, repository: Path) -> None:
    before = state(repository)
    (repository / ".git" / lock).touch()
    with pytest.raises(ReleaseError, match=lock) as refusal:
        update(repository, NEXT)
    assert len(str(refusal.value).splitlines()) == 1
    assert (repository / ".git" / lock).exists()
    (repository / ".git" / lock).unlink()
    assert state(repository) == before
    assert update(repository, NEXT).is_committed


@pytest.mark.parametrize("is_staged", [False, True])
def test_a_release_that_was_killed_before_its_commit_is_finished_by_the_next(is_staged: bool, repository: Path) -> None:
    for path in FIRST.keys() - NEXT:
        (repository / path).unlink()
    write(repository, NEXT)
    if is_staged:
        git(repository, "add", "--all")
    assert update(repository, NEXT).is_committed
    assert git(repository, "status", "--porcelain") == ""
    assert git(repository, "ls-files").splitlines() == sorted(NEXT)


# -- how it is pushed ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("before", "push"),
    [
        ([], "git push"),
        (["branch --unset-upstream"], "git push --set-upstream origin main"),
        (["switch --create mine"], "git push --set-upstream origin mine"),
        (["branch --move mine"], "git push origin HEAD:refs/heads/main"),
        (["checkout --detach"], "git push origin HEAD:refs/heads/BRANCH"),
        (["remote remove origin"], "git push ADDRESS main"),
    ],
)
def test_the_command_that_pushes_a_release_works(
    before: list[str], push: str, repository: Path, handed_out: Path, tmp_path: Path
) -> None:
    git(tmp_path, "clone", "--bare", str(handed_out), "server")
    git(repository, "remote", "set-url", "origin", str(tmp_path / "server"))
    for command in before:
        git(repository, *command.split())
    commit(repository, "notes.txt", "mine\n")
    assert Repository(repository, {}).push() == push
    for word, meant in (("ADDRESS", str(tmp_path / "server")), ("BRANCH", "update")):
        push = push.replace(word, meant)
    git(repository, *push.split()[1:])
    assert git(repository, "rev-parse", "HEAD") in git(tmp_path / "server", "rev-parse", "--branches")
