"""The repository's settings agree with each other: lock, pre-commit, issue forms, changelog and release notes."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml
from breakages import BREAKAGES
from courses import REPOSITORY

import grader

LOCK = dict(
    re.findall(r"^([\w.-]+)==([^;\s]+)", (REPOSITORY / "requirements.lock").read_text(encoding="utf-8"), re.MULTILINE)
)
PROJECT = tomllib.loads((REPOSITORY / "pyproject.toml").read_text(encoding="utf-8"))
CHANGELOG = (REPOSITORY / "CHANGELOG.md").read_text(encoding="utf-8")


def normalized(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def release_notes(tag: str, root: Path) -> subprocess.CompletedProcess[str]:
    script = root / ".ci" / "release_notes.py"
    return subprocess.run([sys.executable, script, tag], capture_output=True, text=True, check=False)


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """The files that a release reads, with a changelog of two versions."""
    for file in (".ci/release_notes.py", "grader/__init__.py"):
        (tmp_path / file).parent.mkdir()
        shutil.copy(REPOSITORY / file, tmp_path / file)
    text = f"## [Unreleased]\n\n## [{grader.__version__}] - 2027-01-01\n\n- New.\n\n## [0.0.1] - 2026-01-01\n\n- Old.\n"
    (tmp_path / "CHANGELOG.md").write_text(text, encoding="utf-8")
    return tmp_path


def test_the_lock_has_every_dependency_of_the_package_its_extras_and_its_groups() -> None:
    project = PROJECT["project"]
    lists = [
        project["dependencies"],
        *project["optional-dependencies"].values(),
        *PROJECT["dependency-groups"].values(),
    ]
    names = {normalized(re.split(r"[^\w.-]", line)[0]) for lines in lists for line in lines}
    assert names - {normalized(project["name"])} <= {normalized(name) for name in LOCK}


def test_pre_commit_has_the_versions_of_the_lock() -> None:
    repositories = yaml.safe_load((REPOSITORY / ".pre-commit-config.yaml").read_text(encoding="utf-8"))["repos"]
    revisions = {one["repo"].rpartition("/")[2]: one.get("rev") for one in repositories}
    assert revisions["ruff-pre-commit"] == f"v{LOCK['ruff']}"
    [mypy] = [hook for one in repositories if one["repo"] == "local" for hook in one["hooks"]]
    assert (mypy["entry"], mypy["language"]) == (".venv/bin/mypy", "system")  # installed from the lock


@pytest.mark.parametrize(
    ("schema", "pattern"), [("github-issue-forms", "ISSUE_TEMPLATE/*.yml"), ("dependabot", "dependabot.yml")]
)
def test_githubs_forms_and_settings_match_their_schemas(schema: str, pattern: str) -> None:
    files = sorted((REPOSITORY / ".github").glob(pattern))
    assert files
    tool = Path(sys.executable).parent / "check-jsonschema"
    done = subprocess.run(
        [tool, "--builtin-schema", f"vendor.{schema}", *files], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_dependabot_updates_packages_and_actions_each_week() -> None:
    settings: dict[str, Any] = yaml.safe_load((REPOSITORY / ".github" / "dependabot.yml").read_text(encoding="utf-8"))
    updates = {one["package-ecosystem"]: one["schedule"]["interval"] for one in settings["updates"]}
    assert updates == {"pip": "weekly", "github-actions": "weekly"}


def test_the_site_shows_every_page() -> None:
    navigation = (REPOSITORY / "mkdocs.yml").read_text(encoding="utf-8").partition("\nnav:\n")[2]
    assert sorted(re.findall(r": (\S+\.md)$", navigation, re.MULTILINE)) == sorted(
        path.name for path in (REPOSITORY / "docs").glob("*.md")
    )


def test_the_changelog_has_its_format() -> None:
    versions = re.findall(r"^## \[(.+?)\]", CHANGELOG, re.MULTILINE)
    assert versions[0] == "Unreleased"
    assert set(re.findall(r"^### (.+)$", CHANGELOG, re.MULTILINE)) <= {"Added", "Changed", "Fixed", "Removed"}
    entries = CHANGELOG.partition("\n## ")[2].splitlines()[1:]
    assert not [line for line in entries if line and not line.startswith(("- ", "### ", "## ["))]  # one line each


def test_release_notes_are_the_section_of_the_version(checkout: Path) -> None:
    done = release_notes(f"v{grader.__version__}", checkout)
    assert (done.returncode, done.stdout) == (0, "- New.\n")


def test_a_tag_that_differs_from_the_version_is_refused(checkout: Path) -> None:
    done = release_notes("v0.0.1", checkout)
    assert (done.returncode, done.stdout) == (1, "")
    assert f"grader/__init__.py has version {grader.__version__}" in done.stderr


def test_a_version_without_a_section_is_refused(checkout: Path) -> None:
    (checkout / "CHANGELOG.md").write_text("## [Unreleased]\n\n- Newest.\n", encoding="utf-8")
    done = release_notes(f"v{grader.__version__}", checkout)
    assert (done.returncode, done.stdout) == (1, "")
    assert "rename [Unreleased]" in done.stderr


def test_no_module_of_the_package_is_longer_than_400_lines() -> None:
    lengths = {
        str(path.relative_to(REPOSITORY)): len(path.read_text(encoding="utf-8").splitlines())
        for path in (REPOSITORY / "grader").rglob("*.py")
        if not {"suites", "templates"} & set(path.parts)
    }
    assert {name: length for name, length in lengths.items() if length > 400} == {}


def test_every_line_that_make_breakages_breaks_is_still_there_once() -> None:
    changes = [change for changes in BREAKAGES.values() for change in changes]
    counts = {one.name: (REPOSITORY / one.file).read_text(encoding="utf-8").count(one.old) for one in changes}
    assert {name: count for name, count in counts.items() if count != 1} == {}


def test_make_breakages_breaks_every_module_that_students_and_instructors_use() -> None:
    broken = {change.file for changes in BREAKAGES.values() for change in changes}
    modules = {
        path.relative_to(REPOSITORY).as_posix()
        for path in (REPOSITORY / "grader").rglob("*.py")
        if path.name != "__init__.py" and not {"audit", "suites", "templates"} & set(path.parts)
    }
    assert modules - broken == set()
