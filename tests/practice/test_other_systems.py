"""The students' commands without what only Linux has: fork, Unix sockets, poll, signals and more.

Windows and macOS themselves run these commands in `.github/workflows/ci.yml`.
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

pytestmark = pytest.mark.proof(part="students")

SCRIPTS = Path(sys.executable).parent.name


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A Python in which every process lacks what `like_windows` takes away."""
    folder = tmp_path_factory.mktemp("environment")
    venv.create(folder, symlinks=True)
    packages = folder / PACKAGES.relative_to(sys.prefix)
    shutil.copy(Path(__file__).with_name("like_windows.py"), packages)
    installed = f"import site; site.addsitedir({str(PACKAGES)!r})"
    (packages / "here.pth").write_text(f"import like_windows\n{REPOSITORY}\n{installed}\n", encoding="utf-8")
    return folder / SCRIPTS / "python"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A student's repository: one answer is right, one prints and is wrong, one ends its process, one never ends."""
    shutil.copytree(REPOSITORY / "exercises", tmp_path / "exercises", ignore=shutil.ignore_patterns("__pycache__"))
    answers = tmp_path / "exercises" / "simple_attention.py"
    text = answers.read_text(encoding="utf-8")
    for name, body in {
        "dot_product": "    assert len(a) == len(b)\n    return sum(x * y for x, y in zip(a, b))",
        "attention_scores": "    print('seen')\n    return query",
        "normalize_by_sum": "    import os\n    os._exit(0)",
        "softmax_naive": "    while True: pass",
    }.items():
        text += f"\n\ndef {name}(*a_b, **_):\n".replace("*a_b", ARGUMENTS[name]) + body + "\n"
    answers.write_text(text, encoding="utf-8")
    return tmp_path


ARGUMENTS = {
    "dot_product": "a, b", "attention_scores": "query, inputs", "normalize_by_sum": "scores", "softmax_naive": "x",
}  # fmt: skip


def grader(python: Path, folder: Path, *arguments: str, typed: str = "") -> subprocess.CompletedProcess[str]:
    clean = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    return subprocess.run(
        [str(python), "-m", "grader", *arguments],
        cwd=folder,
        input=typed,
        env={**clean, "COLUMNS": "80", "CI": "true"},
        capture_output=True,
        text=True,
    )


def test_the_environment_lacks_what_it_should(python: Path) -> None:
    code = "import os, socket, sys; print(hasattr(os, 'fork'), hasattr(socket, 'AF_UNIX'), sys.platform)"
    assert subprocess.run([python, "-c", code], capture_output=True, text=True).stdout == "False False freebsd14\n"


def test_check_gives_each_exercise_its_result(python: Path, folder: Path) -> None:
    done = grader(python, folder, "check", "simple_attention")
    assert done.returncode == 1, done.stderr
    lines = " ".join(done.stdout.split())
    assert "✓ dot_product" in lines
    assert "✗ attention_scores" in lines
    assert "✗ normalize_by_sum" in lines
    assert "✗ softmax_naive" in lines
    assert "· softmax_stable not written yet" in lines
    assert "Your code was not isolated while it ran" in lines


def test_check_shows_what_code_prints(python: Path, folder: Path) -> None:
    assert "printed: seen\n" in grader(python, folder, "check", "attention_scores").stdout


def test_the_quiz_saves_answers(python: Path, folder: Path) -> None:
    sheet = folder / "exercises" / "simple_attention_quiz.md"
    before = sheet.read_text(encoding="utf-8")
    done = grader(python, folder, "quiz", "simple_attention", typed="a\n")
    assert done.returncode == 0, done.stderr
    assert sheet.read_text(encoding="utf-8") != before


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
