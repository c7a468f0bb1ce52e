"""An environment of a student or an instructor, into which pip installs only a wheel of the grader."""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
from pathlib import Path

PACKAGES = Path(sysconfig.get_path("purelib"))


def make_environment(folder: Path) -> Path:
    """Make an environment that sees the packages installed here, such as torch. Returns its folder of programs."""
    subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
    # It does not see this repository's grader, which is installed here in editable form.
    packages = folder / PACKAGES.relative_to(sys.prefix)
    (packages / "installed_here.pth").write_text(f"{PACKAGES}\n", encoding="utf-8")
    return folder / Path(sysconfig.get_path("scripts")).relative_to(sys.prefix)


def run(program: Path, *arguments: object, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run a program in a folder, without the variables that change where Python imports from."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    environment = {**clean, "COLUMNS": "160", "PIP_DISABLE_PIP_VERSION_CHECK": "1"}
    command = [str(program), *map(str, arguments)]
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
