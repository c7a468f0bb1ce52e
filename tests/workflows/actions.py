"""Small local versions of the published actions that our workflows use, without network or service."""

from __future__ import annotations

import base64
import json
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import zipfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

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
    _only(inputs, "python-version", "cache", "cache-dependency-path")
    if tuple(map(int, inputs["python-version"].split("."))) > sys.version_info:
        raise ActionError(f"Python {inputs['python-version']} is not here")
    for pattern in inputs.get("cache-dependency-path", "").split():
        if not (place.workspace / pattern).is_file():
            raise ActionError(f"No file in {place.workspace} matched to [{pattern}]")
    folder = place.temporary / "python"
    new_environment(folder)
    return Done(["Installed versions"], {"python-version": inputs["python-version"]}, [folder / "bin"])


def new_environment(folder: Path) -> None:
    """Make an environment with the packages of this one, as if pip had installed them, but without the grader."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder], check=True)
    # Only this folder counts: its `.pth` files, such as that of an editable install of the grader, are not read.
    packages = folder / "lib" / f"python{sys.version_info.major}.{sys.version_info.minor}" / "site-packages"
    (packages / "installed.pth").write_text(sysconfig.get_path("purelib") + "\n")
    pip = folder / "bin" / "pip"
    pip.write_text(
        f"#!{folder / 'bin' / 'python'}\nfrom pip._internal.cli.main import main\nraise SystemExit(main())\n"
    )
    pip.chmod(0o755)


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
    for beginning in (inputs["key"], *inputs["restore-keys"].split()):
        if found := next((folder for folder in kept if folder.name.startswith(beginning)), None):
            shutil.copytree(found, place.workspace, dirs_exist_ok=True)
            return Done(
                [f"Cache restored from key: {found.name}"], {"cache-hit": str(found.name == inputs["key"]).lower()}
            )
    return Done(["Cache not found"])


def save_cache(inputs: Inputs, place: Workplace) -> Done:
    """Save the files and folders that `path` names for later runs. A key is never written twice."""
    _only(inputs, "path", "key")
    folder = _caches(place) / inputs["key"]
    folder.mkdir()
    for name in filter(None, (line.strip() for line in inputs["path"].splitlines())):
        source, target = place.workspace / name, folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        if source.is_dir():
            shutil.copytree(source, target)
        elif source.exists():
            shutil.copy2(source, target)
    return Done([f"Cache saved with key: {inputs['key']}"])


def _caches(place: Workplace) -> Path:
    if place.caches is None:
        raise ActionError("nothing is kept between runs here")
    return place.caches


def report_to_classroom(inputs: Inputs, place: Workplace) -> Done:
    """Follow the reporter's rules: a table in the log, two notices, and failure if a runner failed."""
    _only(inputs, "runners")
    runners = {
        name: json.loads(base64.b64decode(place.environment[f"{name.upper()}_RESULTS"], validate=True))
        for name in inputs["runners"].split(",")
    }
    lines, points, most, in_table = [], 0, 0, 0.0
    for name, results in runners.items():
        _require_well_formed(name, results)
        tests = results["tests"]
        lines.append(f"Processing: {name}")
        for test in tests:
            # The real one prints its input, and the log is read for commands.
            lines += [test["name"], *str(test.get("message") or "").split("\n"), *test["test_code"].split("\n")]
        # JavaScript and Python compute the same; a fraction would appear in the table.
        shown = sum(test["status"] == "pass" for test in tests) / len(tests) * results["max_score"]
        if not shown.is_integer():
            raise ActionError(f"the table says {shown} of {name}")
        lines.append(f"Total points for {name}: {shown:.2f}/{results['max_score']}")
        in_table += shown
        if results["max_score"]:
            points += sum(test["score"] for test in tests)
            most += results["max_score"]
    if in_table != points:
        raise ActionError(f"the table says {in_table} and the notice {points}")
    lines.append(f"::notice title=Autograding complete::Points {points}/{most}")
    lines.append("::notice title=Autograding report::" + json.dumps({"totalPoints": points, "maxPoints": most}))
    if any(results["status"] != "pass" for results in runners.values()):
        lines.append("::error::Some tests failed.")
        raise FailedAfter(Done(lines))
    return Done(lines)


class FailedAfter(ActionError):
    """A failure at the end, after all the work."""

    def __init__(self, done: Done) -> None:
        super().__init__("Some tests failed.")
        self.done = done


def _require_well_formed(name: str, results: dict[str, Any]) -> None:
    if not re.fullmatch(r"[a-zA-Z0-9]+", name):
        raise ActionError(f"{name} is no name of a runner")
    if not (results["version"] == 1 and results["status"] in ("pass", "fail", "error") and results["tests"]):
        raise ActionError(f"{name}: {results}")
    for test in results["tests"]:
        if not (isinstance(test["score"], int | float) and isinstance(test["line_no"], int)):
            raise ActionError(f"{name}: {test}")


def _only(inputs: Inputs, *known: str) -> None:
    if unknown := set(inputs) - set(known):
        raise ActionError(f"these inputs are not known here: {unknown}")


ACTIONS: dict[str, Callable[[Inputs, Workplace], Done]] = {
    "actions/checkout@v7": checkout,
    "actions/setup-python@v7": setup_python,
    "actions/upload-artifact@v7": upload_artifact,
    "actions/download-artifact@v8": download_artifact,
    "actions/cache/restore@v6": restore_cache,
    "actions/cache/save@v6": save_cache,
    "classroom-resources/autograding-grading-reporter@v1": report_to_classroom,
}
