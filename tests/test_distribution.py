"""The wheel and the source distribution of the whole package, which are for instructors."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tarfile
import zipfile
from email import message_from_string
from email.message import Message
from pathlib import Path

import pytest
from courses import REPOSITORY

import grader
from grader import machine

ADDRESS = "https://school.example/attention/course"
BUILD = """
import sys
from setuptools import build_meta
build, into = sys.argv.pop(1), sys.argv.pop(1)
getattr(build_meta, build)(into)
"""
# Tests of all kinds: texts, the repository's files, a course, quizzes, a student's process and the engine.
SOME_TESTS = (
    *("tests/test_text.py", "tests/test_repository.py", "tests/test_readme.py", "tests/course/test_course.py"),
    *("tests/quizzes/test_marking.py", "tests/sandbox/test_worker.py", "tests/engine/test_criteria.py"),
)


@pytest.fixture(scope="module")
def tracked() -> set[str]:
    if not (REPOSITORY / ".git").exists():
        pytest.skip("git lists what a source distribution holds, and this is no checkout")
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=REPOSITORY, capture_output=True, check=True, text=True)
    return {name for name in listed.stdout.split("\0") if (REPOSITORY / name).is_file()}


@pytest.fixture(scope="module")
def built(tracked: set[str], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder with the wheel and the source distribution of a clean checkout."""
    sources, into = tmp_path_factory.mktemp("sources"), tmp_path_factory.mktemp("built")
    for name in tracked:
        (sources / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(REPOSITORY / name, sources / name)
    server, _, repository = ADDRESS.partition("/attention")
    environment = {**os.environ, "GITHUB_SERVER_URL": server, "GITHUB_REPOSITORY": f"attention{repository}"}
    for build in ("build_sdist", "build_wheel"):
        done = subprocess.run(
            [sys.executable, "-c", BUILD, build, into], cwd=sources, env=environment, capture_output=True, text=True
        )
        assert done.returncode == 0, done.stderr
    return into


@pytest.fixture(scope="module")
def about(built: Path) -> Message:
    [wheel] = built.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        [name] = [name for name in archive.namelist() if name.endswith("/METADATA")]
        return message_from_string(archive.read(name).decode("utf-8"))


@pytest.fixture(scope="module")
def unpacked(built: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("unpacked")
    [packed] = built.glob("*.tar.gz")
    with tarfile.open(packed) as archive:
        archive.extractall(folder, filter="data")
    return folder / f"attention_from_scratch-{grader.__version__}"


@pytest.mark.proof(part="releases")
def test_the_metadata_names_the_project_its_authors_and_the_versions_of_python(about: Message) -> None:
    addresses = dict(one.split(", ") for one in about.get_all("Project-URL", []))
    assert addresses["Repository"] == ADDRESS
    assert all(one.startswith(ADDRESS) for one in addresses.values())
    assert about["Author"]
    named = [one.rpartition(" :: ")[2] for one in about.get_all("Classifier", []) if ":: Python :: 3." in one]
    assert named == [f"3.{minor}" for minor in range(machine.OLDEST[1], machine.NEWEST[1] + 1)]


@pytest.mark.proof(part="releases")
def test_every_link_and_picture_of_the_description_leads_to_the_repository(about: Message) -> None:
    text = str(about.get_payload())
    links = re.findall(r"(!?)\[[^\]]*\]\(([^)\s]+)\)", text)
    assert len(links) == len(re.findall(r"\]\(", (REPOSITORY / "README.md").read_text(encoding="utf-8")))
    for picture, link in links:
        found = re.fullmatch(rf"{ADDRESS}/{'raw' if picture else 'blob'}/v{grader.__version__}/([^#]+)(#.+)?", link)
        assert found, link
        assert (REPOSITORY / found[1]).exists()


@pytest.mark.proof(part="releases")
def test_the_source_distribution_holds_every_file_of_the_repository(unpacked: Path, tracked: set[str]) -> None:
    held = {path.relative_to(unpacked).as_posix() for path in unpacked.rglob("*") if path.is_file()}
    assert tracked - held == set()
    assert {name for name in held - tracked if ".egg-info/" not in name} == {"PKG-INFO", "setup.cfg"}


@pytest.mark.proof(part="releases")
def test_the_tests_run_from_the_source_distribution(unpacked: Path, tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "--basetemp", tmp_path / "tests", *SOME_TESTS, "-m", "not proof"],
        cwd=unpacked,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout
    assert str(unpacked) in subprocess.check_output(
        [sys.executable, "-c", "import grader; print(grader.__file__)"], cwd=unpacked, text=True
    )


def test_no_workflow_uploads_or_links_the_source_distribution() -> None:
    folders = [REPOSITORY / ".github" / "workflows", REPOSITORY / "grader" / "integrations" / "github" / "templates"]
    texts = {path.name: path.read_text(encoding="utf-8") for folder in folders for path in folder.iterdir()}
    assert {"release.yml", "ci.yml"} <= texts.keys()
    assert [name for name, text in texts.items() if re.search(r"sdist|tar\.gz|-m build|(?<!--)twine", text)] == []
    assert re.findall(r"gh release create \S+ (\S+)", texts["release.yml"]) == ["dist/*.whl"]
