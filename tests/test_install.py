"""Installing says what it does, and takes no other build of torch in silence."""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pexpect
import pytest
from courses import REPOSITORY

# Nothing listens there.
CLOSED = "http://127.0.0.1:9/simple"
# The build that a lock file names, in an index that is a folder.
TORCH = "torch==9.9"
WHEEL = {
    "torch/__init__.py": "",
    "torch-9.9.dist-info/METADATA": "Metadata-Version: 2.1\nName: torch\nVersion: 9.9\n",
    "torch-9.9.dist-info/WHEEL": "Wheel-Version: 1.0\nGenerator: a test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    "torch-9.9.dist-info/RECORD": "",
}
# A project that needs nothing to be built.
PROJECT = '[build-system]\nrequires = []\nbuild-backend = "backend"\nbackend-path = ["."]\n'
BACKEND = """\
import zipfile
def build_editable(folder, settings=None, metadata=None):
    with zipfile.ZipFile(folder + "/grader-1-py3-none-any.whl", "w") as wheel:
        wheel.writestr("grader-1.dist-info/METADATA", "Metadata-Version: 2.1\\nName: grader\\nVersion: 1\\n")
        wheel.writestr("grader-1.dist-info/WHEEL", "Wheel-Version: 1.0\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n")
        wheel.writestr("grader-1.dist-info/RECORD", "")
    return "grader-1-py3-none-any.whl"
"""
NEEDED = ("make", "sh", "grep", "touch")


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """What `make .venv/installed` needs, with a small project, and an index of wheels that is a folder."""
    root = tmp_path / "course"
    for name in ("Makefile", "install.py", "grader/machine.py"):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(REPOSITORY / name, root / name)
    for name, text in {"requirements.lock": f"{TORCH}\n", "pyproject.toml": PROJECT, "backend.py": BACKEND}.items():
        (root / name).write_text(text, encoding="utf-8")
    index = tmp_path / "index" / "torch"
    index.mkdir(parents=True)
    with zipfile.ZipFile(index / "torch-9.9-py3-none-any.whl", "w") as wheel:
        for name, text in WHEEL.items():
            wheel.writestr(name, text)
    (index / "index.html").write_text('<a href="torch-9.9-py3-none-any.whl">torch</a>', encoding="utf-8")
    programs = tmp_path / "bin"  # without uv, which would ask for other packages
    programs.mkdir()
    for name in NEEDED:
        (programs / name).symlink_to(str(shutil.which(name)))
    return root


def environment(checkout: Path) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PIP_", "MAKE", "MFLAGS", "CI"))}
    index = (checkout.parent / "index").as_uri()
    return {
        **kept, "PATH": str(checkout.parent / "bin"), "PIP_CONFIG_FILE": os.devnull, "PIP_INDEX_URL": index
    }  # fmt: skip


def arguments(torch_index: str) -> list[str]:
    return [".venv/installed", f"PYTHON={sys.executable}", f"TORCH_INDEX={torch_index}"]


def make(checkout: Path, torch_index: str, *others: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["make", *arguments(torch_index), *others],
        cwd=checkout,
        env=environment(checkout),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )


def has_torch(checkout: Path) -> bool:
    return bool([*checkout.glob(".venv/lib/*/site-packages/torch")])


def test_installing_names_each_step(checkout: Path) -> None:
    done = make(checkout, (checkout.parent / "index").as_uri())
    assert done.returncode == 0, done.stderr
    steps = [line[2:] for line in done.stdout.splitlines() if line.startswith("- ")]
    assert steps == [
        "an environment",
        f"{TORCH}, the CPU build",
        "the packages of requirements.lock",
        "the grader",
    ]
    assert "CUDA" not in done.stdout
    assert done.stdout.splitlines()[-1].startswith("Installed in ")
    assert has_torch(checkout)


@pytest.mark.proof(part="releases")
def test_without_a_terminal_another_build_of_torch_is_installed_with_a_message(checkout: Path) -> None:
    done = make(checkout, CLOSED)
    assert done.returncode == 0, done.stderr
    assert f"The CPU build of torch could not be installed from {CLOSED}:\n" in done.stdout
    assert "Connection refused" in done.stdout
    assert "has CUDA, which grading does not use: .venv takes 5.6 GB instead of 1.8." in done.stdout
    assert "`make TORCH_INDEX=ADDRESS ...`" in done.stdout
    assert f"- {TORCH}, the default build\n" in done.stdout
    assert has_torch(checkout)


@pytest.mark.proof(part="releases")
@pytest.mark.parametrize(("answer", "code"), [("", 2), ("y", 0)])
def test_in_a_terminal_another_build_of_torch_is_asked_about(checkout: Path, answer: str, code: int) -> None:
    terminal = pexpect.spawn("make", arguments(CLOSED), cwd=checkout, env=environment(checkout), timeout=120)
    terminal.expect_exact("Install the default build now? [y/N] ")
    assert b".venv takes 5.6 GB instead of 1.8" in terminal.before
    terminal.sendline(answer)
    terminal.expect(pexpect.EOF)
    terminal.close()
    assert terminal.exitstatus == code
    assert has_torch(checkout) == (checkout / ".venv" / "installed").exists() == (answer == "y")


@pytest.mark.proof(part="releases")
def test_a_wheel_that_is_named_is_installed_where_the_index_is_out_of_reach(checkout: Path) -> None:
    wheel = checkout.parent / "index" / "torch" / "torch-9.9-py3-none-any.whl"
    done = make(checkout, CLOSED, f"TORCH={wheel}")
    assert done.returncode == 0, done.stderr
    assert f"- {wheel}\n" in done.stdout
    assert "CUDA" not in done.stdout
    assert has_torch(checkout)


@pytest.mark.proof(part="releases")
def test_a_wheel_that_does_not_exist_is_named_and_nothing_else_is_installed(checkout: Path) -> None:
    done = make(checkout, CLOSED, "TORCH=torch-9.9.whl")
    assert done.returncode == 2
    assert "The wheel torch-9.9.whl does not exist: correct the name" in done.stderr
    assert "CUDA" not in done.stdout
    assert not has_torch(checkout)


def test_a_package_that_cannot_be_installed_is_named_with_what_pip_says(checkout: Path) -> None:
    with open(checkout / "requirements.lock", "a") as lock:
        lock.write("nowhere==1.0\n")
    done = make(checkout, (checkout.parent / "index").as_uri())
    assert done.returncode == 2
    assert "The packages of requirements.lock could not be installed:\n" in done.stderr
    assert "No matching distribution found for nowhere==1.0" in done.stderr
    assert not (checkout / ".venv" / "installed").exists()


def test_a_long_step_says_again_and_again_that_it_still_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    specification = importlib.util.spec_from_file_location("install", REPOSITORY / "install.py")
    assert specification
    assert specification.loader
    install = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(install)
    gate, said = tmp_path / "gate", []
    os.mkfifo(gate)

    def say(text: str) -> None:
        said.append(text)
        if len(said) == 3:  # the step waits until then
            gate.write_text("go on\n")

    monkeypatch.setattr(install, "SILENT_SECONDS", 0.01)
    monkeypatch.setattr(install, "say", say)
    assert install.run("a large package", ["cat", str(gate)]) is None
    assert said[:2] == ["- a large package", "- a large package: still at it after 0 s"]
