"""What students have: an environment of their own, into which pip brings the wheel alone."""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
from pathlib import Path

PACKAGES = Path(sysconfig.get_path("purelib"))


def make_environment(folder: Path) -> Path:
    """A fresh one, which sees what is installed here: so torch need not be fetched. Gives its folder of programs."""
    subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
    # What is installed here in editable form, this repository's grader, is not seen by it.
    packages = folder / PACKAGES.relative_to(sys.prefix)
    (packages / "installed_here.pth").write_text(f"{PACKAGES}\n", encoding="utf-8")
    return folder / Path(sysconfig.get_path("scripts")).relative_to(sys.prefix)


def run(program: Path, *arguments: object, folder: Path) -> subprocess.CompletedProcess[str]:
    """A program as a student runs it, in a folder."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    environment = {**clean, "COLUMNS": "160", "PIP_DISABLE_PIP_VERSION_CHECK": "1"}
    command = [str(program), *map(str, arguments)]
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
