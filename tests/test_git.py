"""Git runs without hooks, prompts or anybody's settings, and within a time limit."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from grader.errors import GraderError
from grader.git import run_git

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    run_git(["init", "--quiet"], tmp_path)
    return tmp_path


def test_settings_of_the_user_and_the_environment_count_only_on_request(
    repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = repository / "settings"
    settings.write_text("[user]\n    name = Ada\n")
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(settings))
    monkeypatch.setenv("GIT_AUTHOR_NAME", "Eve")
    assert run_git(["config", "user.name"], repository).code == 1
    assert run_git(["config", "user.name"], repository, as_user=True).output == b"Ada\n"
    for name in ("GITHUB_TOKEN", "GIT_AUTHOR_NAME"):
        monkeypatch.setenv(name, "secret")
        alias = {"alias.see": f"!echo ${name}"}
        assert run_git(["see"], repository, settings=alias).output == b"\n"


def test_no_hook_of_the_repository_runs(repository: Path) -> None:
    hook = repository / ".git" / "hooks" / "pre-commit"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text("#!/bin/sh\ntouch pwned\n")
    hook.chmod(0o755)
    who = {"user.name": "Ada", "user.email": "ada@example.org"}
    assert run_git(["commit", "--quiet", "--allow-empty", "-m", "one"], repository, settings=who).code == 0
    assert not (repository / "pwned").exists()


def test_git_is_stopped_in_time_and_its_error_is_returned(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "not a git command" in run_git(["nonsense"], repository).error
    monkeypatch.setattr("grader.git._SECONDS", 0.1)
    assert run_git(["wait"], repository, settings={"alias.wait": "!sleep 60"}).code < 0


def test_missing_git_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(GraderError, match=r"^git is not installed"):
        run_git(["version"], tmp_path)
