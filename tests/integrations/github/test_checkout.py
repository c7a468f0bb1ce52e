"""A commit as plain files: each file is written exactly or not at all, and nothing in the repository has an effect."""

from __future__ import annotations

import datetime
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from local_github import NOTHING, LocalGitHub, Repository, git, tree

from grader.integrations.github import git_repositories
from grader.integrations.github.git_repositories import FILE_LIMIT, FetchError, Store
from grader.submissions.reader import read_submission

AT = "2020-01-20T10:00:00+00:00"
NAME = "our-course/attention-ada"


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    hub = LocalGitHub(tmp_path / "hub")
    hub.server.server_close()
    return hub.create(NAME)


@pytest.fixture
def store(tmp_path: Path, repository: Repository) -> Store:
    assert repository.bare.is_dir()
    return Store(tmp_path / "store", (tmp_path / "hub").as_uri(), NAME, None)


def written(store: Store, commit: str, into: Path) -> Path:
    store.fetch(commit)
    into.mkdir()
    store.write_out(commit, ["sums"], into)
    return into


def files(folder: Path) -> set[str]:
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*")}


def link_to(target: str) -> Callable[[Path], object]:
    return lambda path: path.symlink_to(target)


def commit_of(repository: Repository, tree: str) -> str:
    """Push a commit of a tree that git itself would not make."""
    commit = git(repository.work, "commit-tree", tree, "-m", "odd", date=AT)
    # Fetching and pushing would check the tree; copying does not.
    shutil.copytree(repository.work / ".git" / "objects", repository.bare / "objects", dirs_exist_ok=True)
    git(repository.bare, "update-ref", "refs/heads/main", commit)
    return commit


def test_files_that_the_grader_reads_are_written_exactly(repository: Repository, store: Store, tmp_path: Path) -> None:
    content = {"sums.py": b"a = 1\r\n", "exercises/sums_quiz.md": b"\xff\0", "sums/sums.ipynb": b"{}\n"}
    commit = repository.push({**content, "data/large.csv": "1", "exercises/deep/er.py": ""}, AT)
    folder = written(store, commit, tmp_path / "ada")
    assert {path: (folder / path).read_bytes() for path in content} == content
    assert files(folder) == {"exercises", "sums", ".git", ".git/HEAD", *content}
    assert read_submission("ada", folder, ["sums"], tmp_path).commit == commit


def test_attributes_of_the_repository_change_nothing(repository: Repository, store: Store, tmp_path: Path) -> None:
    trace = tmp_path / "trace"
    attributes = "*.py export-ignore filter=mine ident text eol=crlf\n* export-subst\n"
    (repository.bare / "hooks" / "post-checkout").write_text(f"#!/bin/sh\ntouch '{trace}'\n")
    text = "# $Id$ $Format:%H$\n"
    commit = repository.push({".gitattributes": attributes, "sums.py": text, ".gitmodules": "[submodule"}, AT)
    assert (written(store, commit, tmp_path / "ada") / "sums.py").read_text() == text
    assert not trace.exists()


def test_links_are_kept_but_lead_nowhere(repository: Repository, store: Store, tmp_path: Path) -> None:
    secret = tmp_path / "secret.py"
    secret.write_text("a = 1\n")
    commit = repository.push({"sums.py": link_to(str(secret)), "exercises": link_to(str(tmp_path))}, AT)
    folder = written(store, commit, tmp_path / "ada")
    assert (folder / "sums.py").is_symlink()
    assert not (folder / "sums.py").exists()
    assert not (folder / "exercises").exists()
    problem = read_submission("ada", folder, ["sums"], tmp_path).units["sums"].problem
    assert problem.startswith("sums.py is a symbolic link: put the file itself there.")


def test_names_that_lead_out_of_the_folder_are_left_out(repository: Repository, store: Store, tmp_path: Path) -> None:
    blob = git(repository.work, "hash-object", "-w", "--stdin", content=b"a = 1\n")
    inner = tree(repository.work, [("100644", b"sums.py", blob)])
    odd = [b"..", b".git", b".GIT", b"exercises/../../out.py", b"/out.py", b"a\nb.py", b"-rf.py", b"\xff.py"]
    entries = [("100644", name, blob) for name in odd[3:]] + [("40000", name, inner) for name in odd[:3]]
    commit = commit_of(repository, tree(repository.work, [*entries, ("100644", b"sums.py", blob)]))
    (tmp_path / "class").mkdir()
    folder = written(store, commit, tmp_path / "class" / "ada")
    assert files(tmp_path / "class") == {"ada", "ada/.git", "ada/.git/HEAD", "ada/sums.py"}
    assert (folder / ".git" / "HEAD").read_text() == f"{commit}\n"


def test_a_submodule_is_an_empty_folder(repository: Repository, store: Store, tmp_path: Path) -> None:
    commit = commit_of(repository, tree(repository.work, [("160000", b"exercises", "1" * 40)]))
    folder = written(store, commit, tmp_path / "ada")
    assert (folder / "exercises").is_dir()
    assert not list((folder / "exercises").iterdir())


def test_a_huge_file_keeps_its_size_without_content(repository: Repository, store: Store, tmp_path: Path) -> None:
    size = FILE_LIMIT + 1
    commit = repository.push({"sums.py": bytes(size)}, AT)
    folder = written(store, commit, tmp_path / "ada")
    status = (folder / "sums.py").stat()
    assert status.st_size == size
    assert status.st_blocks * 512 < size
    assert "sums.py is 64.0 MB" in read_submission("ada", folder, ["sums"], tmp_path).units["sums"].problem


@pytest.mark.skipif(sys.platform != "linux", reason="other systems do not limit a process's memory")
def test_a_commit_that_unpacks_to_more_than_git_may_take_cannot_be_fetched(
    repository: Repository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    blob = git(repository.work, "hash-object", "-w", "--stdin", content=b"a = 1\n")
    root = tree(repository.work, [("100644", b"sums.py", blob)])
    message = git(repository.work, "commit-tree", root, "-F", "-", date=AT, content=b"x" * 2**26)
    git(repository.work, "push", "-q", str(repository.bare), f"{message}:refs/heads/main")
    monkeypatch.setattr("grader.git._MOST_MEMORY", 2**26)
    store = Store(tmp_path / "store", (tmp_path / "hub").as_uri(), NAME, None)
    monkeypatch.setattr(git_repositories, "_PAUSE", 0)
    with pytest.raises(FetchError):
        store.fetch(message)
    monkeypatch.undo()
    Store(tmp_path / "roomy", (tmp_path / "hub").as_uri(), NAME, None).fetch(message)


def test_a_tree_bomb_is_not_expanded(repository: Repository, store: Store, tmp_path: Path) -> None:
    blob = git(repository.work, "hash-object", "-w", "--stdin", content=b"a = 1\n")
    bomb = tree(repository.work, [("100644", b"a.py", blob)])
    for _ in range(20):
        bomb = tree(repository.work, [("40000", b"%04d" % number, bomb) for number in range(20)])
    root = tree(repository.work, [("40000", b"exercises", bomb), ("100644", b"sums.py", blob)])
    folder = written(store, commit_of(repository, root), tmp_path / "ada")
    assert files(folder) == {"exercises", "sums.py", ".git", ".git/HEAD"}


def test_a_commit_removed_by_a_force_push_can_be_fetched(repository: Repository, store: Store, tmp_path: Path) -> None:
    first = repository.push({"sums.py": "a = 0\n"}, AT)
    lost = repository.push({"sums.py": "a = 1\n"}, AT)
    assert repository.push({"sums.py": "a = 2\n"}, AT, replacing=first) == store.head()
    assert (written(store, lost, tmp_path / "ada") / "sums.py").read_text() == "a = 1\n"


def test_a_commits_date_is_not_read_from_its_message(repository: Repository, store: Store) -> None:
    message = "On time\n\ncommitter X <x> 0 +0000\n"
    commit = repository.push({}, AT, dated="2019-12-31T23:00:00-01:00", message=message)
    store.fetch(commit)
    assert store.committed(commit) == datetime.datetime(2020, 1, 1, tzinfo=datetime.UTC)


def test_an_invalid_date_is_left_out(repository: Repository, store: Store) -> None:
    commit = repository.push({}, AT)
    text = git(repository.work, "cat-file", "commit", commit).replace("1579514400", "999999999999")
    odd = git(repository.work, "hash-object", "-t", "commit", "-w", "--literally", "--stdin", content=text.encode())
    store.fetch(repository.pushed(odd, AT))
    assert store.committed(odd) is None


def test_an_empty_repository_has_no_head(store: Store) -> None:
    assert store.head() is None


@pytest.mark.parametrize("commit", ["1" * 40, NOTHING, "main", "--upload-pack=touch x", "HEAD"])
def test_an_unknown_commit_cannot_be_fetched(repository: Repository, store: Store, commit: str) -> None:
    repository.push({}, AT)
    with pytest.raises(FetchError, match=r"of our-course/attention-ada cannot be fetched: it is gone from GitHub"):
        store.fetch(commit)


def test_a_missing_repository_cannot_be_read(tmp_path: Path) -> None:
    store = Store(tmp_path / "store", tmp_path.as_uri(), NAME, None)
    with pytest.raises(FetchError, match="our-course/attention-ada cannot be read with git"):
        store.head()
