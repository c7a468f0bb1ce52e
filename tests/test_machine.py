"""Machines without PyTorch: what installing says first, and what commands say where it is missing."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
import venv
from pathlib import Path

import pytest
from courses import REPOSITORY
from received import PACKAGES

from grader import machine

LINUX = {"system": "Linux", "machine": "x86_64", "libc_ver": ("glibc", "2.36"), "mac_ver": ("", "", "")}


@pytest.mark.parametrize(
    ("found", "sentence"),
    [
        ({}, ""),
        ({"machine": "aarch64"}, ""),
        ({"libc_ver": ("", "")}, "PyTorch needs glibc 2.28 or later"),
        ({"libc_ver": ("glibc", "2.17")}, "PyTorch needs glibc 2.28 or later"),
        ({"machine": "armv7l"}, "There is no PyTorch for Linux on armv7l."),
        ({"system": "Darwin", "machine": "arm64", "mac_ver": ("14.5", "", "")}, ""),
        ({"system": "Darwin", "machine": "arm64", "mac_ver": ("13.6", "", "")}, "PyTorch needs macOS 14 or later"),
        ({"system": "Darwin", "mac_ver": ("14.5", "", "")}, "PyTorch needs a Mac with Apple silicon"),
        ({"system": "Windows", "machine": "AMD64"}, ""),
        ({"system": "Windows", "machine": "ARM64"}, "PyTorch needs the x64 version of Python"),
    ],
)
def test_a_machine_without_pytorch_is_named(
    found: dict[str, object], sentence: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in {**LINUX, **found}.items():
        monkeypatch.setattr(platform, name, lambda value=value: value)
    assert machine.problem().startswith(sentence)
    assert bool(machine.problem()) == bool(sentence)


@pytest.mark.parametrize("version", [(3, 10, 9), (3, 15, 0)])
def test_a_python_that_is_too_old_or_too_new_is_named(
    version: tuple[int, int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "version_info", version)
    assert machine.problem().startswith("Python 3.11 to 3.14 is needed, and this is Python")


def test_the_file_alone_says_what_installing_takes(tmp_path: Path) -> None:
    file = tmp_path / "machine.py"
    file.write_bytes(Path(machine.__file__).read_bytes())
    done = subprocess.run([sys.executable, "-I", file], cwd=tmp_path, capture_output=True, text=True)
    assert (done.returncode, done.stdout[:36]) == (0, "PyTorch can be installed here. It ta")


# The exit code of `doctor` says whether this machine can isolate student code.
@pytest.mark.parametrize(
    ("arguments", "codes"),
    [(("check", "softmax_naive"), {2}), (("grade", "ada", "--out", "reports"), {2}), (("doctor",), {0, 1})],
)
def test_without_pytorch_a_command_says_how_to_install_it(
    arguments: tuple[str, ...], codes: set[int], tmp_path: Path
) -> None:
    environment, ada = tmp_path / "environment", tmp_path / "ada"
    venv.create(environment, symlinks=True)
    packages = environment / PACKAGES.relative_to(sys.prefix)
    (packages / "no_torch.py").write_text(
        "import sys\n"
        "class NoTorch:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        "        if name == 'torch':\n"
        "            raise ModuleNotFoundError(\"No module named 'torch'\", name='torch')\n"
        "sys.meta_path.insert(0, NoTorch())\n"
    )
    installed = f"import no_torch, site; site.addsitedir({str(PACKAGES)!r})"
    (packages / "here.pth").write_text(f"{REPOSITORY}\n{installed}\n")
    ada.mkdir()
    (ada / "simple_attention.py").write_text("a = 1\n")
    folder = ada if arguments[0] == "check" else tmp_path
    python = environment / Path(sys.executable).parent.name / "python"
    done = subprocess.run(
        [python, "-m", "grader", *arguments],
        cwd=folder,
        env={**os.environ, "CI": "true"},
        capture_output=True,
        text=True,
    )
    assert "PyTorch is not installed for this Python" in done.stdout + done.stderr
    assert "Traceback" not in done.stderr
    assert done.returncode in codes
