"""Small local versions of the published actions that our workflows use, without network or service."""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
import sys
import sysconfig
import zipfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

Inputs = Mapping[str, str]


class ActionError(Exception):
    """An action that failed, as the real one would have."""


@dataclass(frozen=True)
class Hosted:
    """A repository on the server: its bare repository, and the deploy key that it needs, if any."""

    bare: Path
    key: str | None = None


@dataclass
class Done:
    """The results of an action besides its files."""

    lines: list[str] = field(default_factory=list)
    outputs: dict[str, str] = field(default_factory=dict)
    path: list[Path] = field(default_factory=list)


@dataclass(frozen=True)
class Workplace:
    """The part of a job that its actions see."""

    workspace: Path
    temporary: Path
    artifacts: Path
    caches: Path | None
    hosted: Mapping[str, Hosted]
    environment: Mapping[str, str]


def checkout(inputs: Inputs, place: Workplace) -> Done:
    """Make the folder new, with the workflow's commit, or with the newest one of another repository."""
    _only(inputs, "repository", "ref", "ssh-key", "path", "persist-credentials", "fetch-depth")
    own = place.environment["GITHUB_REPOSITORY"]
    name = inputs.get("repository") or own
    hosted = place.hosted[name]
    if hosted.key is not None and inputs.get("ssh-key") != hosted.key:
        raise ActionError(f"{name} cannot be read without its key")
    commit = inputs.get("ref") or (place.environment["GITHUB_SHA"] if name == own else "HEAD")
    folder = place.workspace / inputs.get("path", "")
    folder.mkdir(parents=True, exist_ok=True)
    if any(folder.iterdir()):
        raise ActionError("only an empty folder is checked out to in these tests")
    branch = place.environment["GITHUB_REF_NAME"] if name == own else "main"
    # As on GitHub, a pushed commit can be fetched by its id.
    serving = "git -c uploadpack.allowAnySHA1InWant=true upload-pack"
    for command in (
        ["init", "--quiet", "--initial-branch=main"],
        ["fetch", "--quiet", "--depth=1", f"--upload-pack={serving}", f"file://{hosted.bare}", commit],
        ["checkout", "--quiet", "-B", branch, "FETCH_HEAD"],
    ):
        done = subprocess.run(
            ["git", *command], cwd=folder, env=dict(place.environment), capture_output=True, text=True, check=False
        )
        if done.returncode:
            raise ActionError(done.stderr)
    return Done([f"Fetching {name}"])


def setup_python(inputs: Inputs, place: Workplace) -> Done:
    """Put a new Python first in the path. The one that runs the tests replaces any that is not newer."""
    _only(inputs, "python-version")
    if tuple(map(int, inputs["python-version"].split("."))) > sys.version_info:
        raise ActionError(f"Python {inputs['python-version']} is not here")
    folder = place.temporary / "python"
    new_environment(folder)
    _program(folder / "bin" / "uv", sys.executable, _UV)
    return Done(["Installed versions"], {"python-version": platform.python_version()}, [folder / "bin"])


_PIP = """\
import sys
from pip._internal.cli.main import main
# The place of uv is taken by the program below.
sys.exit(0 if sys.argv[-1].startswith("uv==") else main())
"""
# uv would not see the packages that a `.pth` file names, so pip does its work.
_UV = f"""\
import subprocess, sys
from pathlib import Path
sys.path.insert(0, {str(Path(__file__).parent)!r})
from actions import new_environment
new_environment(Path(".venv"))
arguments = [one for one in sys.argv[2:] if one not in ("--compile-bytecode", "--python", ".venv/bin/python")]
sys.exit(subprocess.call([".venv/bin/pip", *arguments]) if sys.argv[1] == "pip" else 0)
"""


def new_environment(folder: Path) -> None:
    """Make an environment with the packages of this one, as if pip had installed them, but without the grader."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder], check=True)
    # Only this folder counts: its `.pth` files, such as that of an editable install of the grader, are not read.
    packages = folder / "lib" / f"python{sys.version_info.major}.{sys.version_info.minor}" / "site-packages"
    (packages / "installed.pth").write_text(sysconfig.get_path("purelib") + "\n")
    _program(folder / "bin" / "pip", folder.absolute() / "bin" / "python", _PIP)


def _program(path: Path, python: str | Path, script: str) -> None:
    path.write_text(f"#!{python}\n{script}")
    path.chmod(0o755)


def upload_artifact(inputs: Inputs, place: Workplace) -> Done:
    """Zip exactly the files that `path` names, relative to its folder, or to the common one of several paths."""
    _only(inputs, "name", "path", "if-no-files-found", "retention-days")
    files: list[Path] = []
    patterns = list(filter(None, (line.strip() for line in inputs["path"].splitlines())))
    for pattern in patterns:
        for found in sorted(Path("/").glob(str(place.workspace / pattern)[1:])):
            files += [path for path in sorted(found.rglob("*")) if path.is_file()] if found.is_dir() else [found]
    if not files:
        if inputs.get("if-no-files-found") == "error":
            raise ActionError(f"No files were found with the provided path: {inputs['path']}")
        return Done(["No files were found"])
    searched = [place.workspace / pattern.partition("*")[0] for pattern in patterns]
    common = Path(os.path.commonpath(searched))
    common = common if common.is_dir() else common.parent
    archive = place.artifacts / f"{inputs['name']}.zip"
    if archive.exists():
        raise ActionError(f"an artifact with the name {inputs['name']} is there already")
    with zipfile.ZipFile(archive, "x") as zipped:
        for file in files:
            zipped.write(file, file.relative_to(common))
    return Done([f"Artifact {inputs['name']} has been uploaded"])


def download_artifact(inputs: Inputs, place: Workplace) -> Done:
    """Unpack the artifact of that name into the workspace, or those that fit a pattern together into a folder."""
    _only(inputs, "name", "pattern", "path", "merge-multiple")
    if "pattern" in inputs:
        assert inputs["merge-multiple"] == "true"
        archives = sorted(place.artifacts.glob(f"{inputs['pattern']}.zip"))
    else:
        archives = [place.artifacts / f"{inputs['name']}.zip"]
        if not archives[0].is_file():
            raise ActionError(f"Artifact not found for name: {inputs['name']}")
    for archive in archives:
        with zipfile.ZipFile(archive) as zipped:
            zipped.extractall(place.workspace / inputs.get("path", ""))
    return Done([f"Artifact {archive.stem} has been downloaded" for archive in archives])


def restore_cache(inputs: Inputs, place: Workplace) -> Done:
    """Restore the files of this key, or the latest whose key begins with one of `restore-keys`."""
    _only(inputs, "path", "key", "restore-keys")
    kept = sorted(_caches(place).iterdir(), key=lambda folder: folder.stat().st_mtime_ns, reverse=True)
    name, outputs = _name_of_cache(inputs), {"cache-primary-key": inputs["key"], "cache-hit": ""}
    for beginning in (name, *inputs.get("restore-keys", "").split()):
        if found := next((folder for folder in kept if folder.name.startswith(beginning)), None):
            shutil.copytree(found, place.workspace, symlinks=True, dirs_exist_ok=True)
            return Done(["Cache restored"], outputs | {"cache-hit": str(found.name == name).lower()})
    return Done(["Cache not found"], outputs)


def save_cache(inputs: Inputs, place: Workplace) -> Done:
    """Save the files and folders that `path` names for later runs. A key is never written twice."""
    _only(inputs, "path", "key")
    folder = _caches(place) / _name_of_cache(inputs)
    folder.mkdir()
    for name in filter(None, (line.strip() for line in inputs["path"].splitlines())):
        source, target = place.workspace / name, folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        if source.is_dir():
            shutil.copytree(source, target, symlinks=True)
        elif source.exists():
            shutil.copy2(source, target)
    return Done([f"Cache saved with key: {inputs['key']}"])


def _name_of_cache(inputs: Inputs) -> str:
    return inputs["key"].replace("/", " ")


def _caches(place: Workplace) -> Path:
    if place.caches is None:
        raise ActionError("nothing is kept between runs here")
    return place.caches


def _only(inputs: Inputs, *known: str) -> None:
    if unknown := set(inputs) - set(known):
        raise ActionError(f"these inputs are not known here: {unknown}")


ACTIONS: dict[str, Callable[[Inputs, Workplace], Done]] = {
    "actions/checkout@3d3c42e5aac5ba805825da76410c181273ba90b1": checkout,  # v7.0.1
    "actions/setup-python@5fda3b95a4ea91299a34e894583c3862153e4b97": setup_python,  # v7.0.0
    "actions/upload-artifact@043fb46d1a93c77aae656e7c1c64a875d1fc6a0a": upload_artifact,  # v7.0.1
    "actions/download-artifact@3e5f45b2cfb9172054b4087a40e8e0b5a5461e7c": download_artifact,  # v8.0.1
    "actions/cache/restore@55cc8345863c7cc4c66a329aec7e433d2d1c52a9": restore_cache,  # v6.1.0
    "actions/cache/save@55cc8345863c7cc4c66a329aec7e433d2d1c52a9": save_cache,  # v6.1.0
}
"""The actions that our workflows use, each at the commit of the version beside it."""
