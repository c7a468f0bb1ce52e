"""The students' commands without what only Linux has: fork, Unix sockets, poll, signals and more.

Windows and macOS themselves run the same commands in `.github/workflows/ci.yml`.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import venv
from pathlib import Path

import pytest
from courses import REPOSITORY
from received import PACKAGES

from grader.sandbox import processes


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A Python in which every process lacks what `like_windows` takes away."""
    folder = tmp_path_factory.mktemp("environment")
    venv.create(folder, symlinks=True)
    packages = folder / PACKAGES.relative_to(sys.prefix)
    shutil.copy(Path(__file__).with_name("like_windows.py"), packages)
    installed = f"import site; site.addsitedir({str(PACKAGES)!r})"
    (packages / "here.pth").write_text(f"import like_windows\n{REPOSITORY}\n{installed}\n", encoding="utf-8")
    return folder / Path(sys.executable).parent.name / "python"


def test_the_environment_lacks_what_it_should(python: Path) -> None:
    code = "import os, socket, sys; print(hasattr(os, 'fork'), hasattr(socket, 'AF_UNIX'), sys.platform)"
    assert subprocess.run([python, "-c", code], capture_output=True, text=True).stdout == "False False freebsd14\n"


@pytest.mark.proof(part="full")
def test_all_commands_work_there(python: Path, tmp_path: Path) -> None:
    clean = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    # What the grader keeps for this user stays in a folder of its own.
    folders = {"XDG_CACHE_HOME": str(tmp_path / "cache"), "XDG_STATE_HOME": str(tmp_path / "state")}
    script = REPOSITORY / "tests" / "workflows" / "students_desk.py"
    done = subprocess.run([python, script], env={**clean, **folders}, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def test_windows_passes_on_what_python_needs_there(monkeypatch: pytest.MonkeyPatch) -> None:
    started = []
    monkeypatch.setattr(sys, "platform", "win32")
    monkeypatch.setattr(subprocess, "Popen", lambda _, **options: started.append(options["env"]))
    for name, value in {"SYSTEMROOT": "C:\\Windows", "PATH": "C:\\conda", "PYTHONHOME": "elsewhere"}.items():
        monkeypatch.setenv(name, value)
    processes.start_module("grader.sandbox.serving")
    # Without SYSTEMROOT, no socket can be opened there.
    assert started[0].items() >= {"SYSTEMROOT": "C:\\Windows", "PATH": "C:\\conda"}.items()
    assert "PYTHONHOME" not in started[0]
