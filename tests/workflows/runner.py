"""GitHub's runner, as far as our workflows need it: it runs each job step by step in its own workspace."""

from __future__ import annotations

import hashlib
import os
import re
import subprocess
import sysconfig
import uuid
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any

import yaml
from actions import ACTIONS, ActionError, Done, Hosted, Workplace
from expressions import condition, expand
from workflow_commands import Command, commands

SUMMARY_LIMIT = 2**20
OUTPUTS_LIMIT = 2**20
# The settings of pip, and nothing else of this environment.
_PASSED_ON = ("PIP_", "SSL_CERT_", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY")
_OWN_SCRIPTS = sysconfig.get_path("scripts")
_STEP_KEYS = {"name", "id", "if", "uses", "with", "env", "run"}
_JOB_KEYS = {
    "name", "if", "needs", "runs-on", "timeout-minutes", "env", "environment", "outputs", "steps", "strategy",
}  # fmt: skip


def read_workflow(text: str) -> dict[str, Any]:
    # Read all values as text, because in YAML 1.1 the key `on` is a boolean.
    return yaml.load(text, yaml.BaseLoader)


def is_started(on: Any, event_name: str, ref: str) -> bool:
    """Return whether an event starts a workflow. The filter of a push names branches or tags; `*` ends at a slash."""
    if event_name not in on:
        return False
    filters: Any = on[event_name] if isinstance(on, dict) else ""
    if event_name != "push" or not filters:
        return True
    [(name, patterns)] = filters.items()
    _, kind, short = ref.split("/", 2)
    is_named = any(re.fullmatch(re.escape(one).replace(r"\*", "[^/]*"), short) for one in patterns)
    is_of_kind = name.removesuffix("-ignore") == {"heads": "branches", "tags": "tags"}[kind]
    return is_of_kind and is_named != name.endswith("-ignore")


@dataclass
class Step:
    """The result of a step. The log holds its output and, as on GitHub, its script and its variables."""

    name: str
    outcome: str = "skipped"
    log: list[str] = field(default_factory=list)
    summary: str = ""
    outputs: dict[str, str] = field(default_factory=dict)

    @property
    def commands(self) -> list[Command]:
        return commands(self.log)


@dataclass
class Push:
    """A push, and who pushed."""

    repository: str
    sha: str
    ref: str = "refs/heads/main"
    actor: str = "somebody-else"
    message: str = "A message"
    sender: str = "User"
    is_deletion: bool = False


@dataclass
class Runner:
    """Runs workflows for one push.

    hosted: the repositories of the server. caches: where runs keep files for later ones. before: what to do in the
    workspace before a step of that name.
    """

    folder: Path
    hosted: Mapping[str, Hosted]
    push: Push
    secrets: Mapping[str, str] = field(default_factory=dict)
    server_url: str = "https://github.com"
    api_url: str = "https://api.github.com"
    event_name: str = "push"
    run_id: str = "7654321"
    caches: Path | None = None
    before: Mapping[str, Callable[[Path], None]] = field(default_factory=dict)
    jobs: list[str] = field(default_factory=list)
    steps: list[Step] = field(default_factory=list)
    failed: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.artifacts.mkdir(parents=True)

    @property
    def artifacts(self) -> Path:
        return self.folder / "artifacts"

    @property
    def workspace(self) -> Path:
        """The workspace of the current or last job."""
        return self.folder / self.jobs[-1] / "workspace"

    @property
    def is_success(self) -> bool:
        """Whether no job failed."""
        return not self.failed

    @property
    def log(self) -> str:
        return "\n".join(line for step in self.steps for line in step.log)

    @property
    def summary(self) -> str:
        return "".join(step.summary for step in self.steps)

    @property
    def commands(self) -> list[Command]:
        return [command for step in self.steps for command in step.commands]

    def step(self, name: str) -> Step:
        [found] = [step for step in self.steps if step.name == name]
        return found

    def run(self, workflow: Mapping[str, Any], inputs: Mapping[str, Any] | None = None) -> None:
        """Run each job in order, if the event starts the workflow."""
        if not is_started(workflow["on"], self.event_name, self.push.ref):
            return
        finished: dict[str, Any] = {}  # each job's outputs, and whether it succeeded
        for name, job in workflow["jobs"].items():
            cells = [Job(self, name, workflow, inputs or {}, finished, cell) for cell in _cells(job)]
            outputs = [cell.run(job) for cell in cells]
            has_failed = any(cell.has_failed for cell in cells)
            finished[name] = {"outputs": outputs[-1], "result": "failure" if has_failed else "success"}
            if has_failed:
                self.failed.append(name)


class Job:
    """A running job: the variables, outputs and paths that its steps have set."""

    def __init__(
        self,
        runner: Runner,
        name: str,
        workflow: Mapping[str, Any],
        inputs: Mapping[str, Any],
        finished: Mapping[str, Any],
        matrix: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        self.runner, self.inputs, self.finished, self.matrix = runner, inputs, finished, matrix
        self.name = name = "-".join([name, *matrix.values()])
        self.declared: dict[str, str] = dict(workflow.get("env", {}))
        self.set_by_steps: dict[str, str] = {}
        self.path: list[Path] = []
        self.outputs: dict[str, dict[str, Any]] = {}
        self.has_failed = False
        self.workspace, self.temporary, self.home = (
            runner.folder / name / kind for kind in ("workspace", "temporary", "home")
        )

    def run(self, job: Mapping[str, Any]) -> dict[str, str]:
        """Run its steps in order, unless it is skipped. Return its outputs."""
        assert set(job) <= _JOB_KEYS, f"not known here: {set(job) - _JOB_KEYS}"
        assert {job["needs"]} <= set(self.finished) if "needs" in job else True
        needed_failed = "needs" in job and self.finished[job["needs"]]["result"] != "success"
        functions = {**self._functions(), "success": lambda: not needed_failed, "failure": lambda: needed_failed}
        if not condition(job.get("if", "true"), self._contexts({}), functions):
            return {}
        self.runner.jobs.append(self.name)
        for folder in (self.workspace, self.temporary, self.home):
            folder.mkdir(parents=True)
        self.declared |= {name: self.expanded(value) for name, value in job.get("env", {}).items()}
        for number, step in enumerate(job["steps"]):
            assert set(step) <= _STEP_KEYS, f"not known here: {set(step) - _STEP_KEYS}"
            self._take(step, Step(step.get("name", f"step {number}")))
        return {name: self.expanded(value) for name, value in job.get("outputs", {}).items()}

    def expanded(self, text: str, environment: Mapping[str, str] | None = None) -> str:
        return expand(text, self._contexts(environment or {}), self._functions())

    def _take(self, step: Mapping[str, Any], done: Step) -> None:
        self.runner.steps.append(done)
        if step.get("id"):
            self.outputs[step["id"]] = {"outputs": done.outputs, "outcome": "skipped"}
        if not condition(step.get("if", "true"), self._contexts({}), self._functions()):
            return
        if before := self.runner.before.get(done.name):
            before(self.workspace)
        own = {name: self.expanded(value) for name, value in step.get("env", {}).items()}
        # Only here are secrets masked as on GitHub: the steps themselves must not print any.
        hidden = set(self.runner.secrets.values())
        done.log += [f"{name}: {'***' if value in hidden else value}" for name, value in own.items()]
        take = self._run_script if "run" in step else self._use_action
        done.outcome = "success" if take(step, done, own) else "failure"
        if step.get("id"):
            self.outputs[step["id"]]["outcome"] = done.outcome
        self.has_failed |= done.outcome == "failure"

    def _run_script(self, step: Mapping[str, Any], done: Step, own: Mapping[str, str]) -> bool:
        assert "${{" not in step["run"]
        script = self.temporary / f"{uuid.uuid4()}.sh"
        script.write_text(step["run"], encoding="utf-8")
        done.log += step["run"].splitlines()
        files = {name: self.temporary / f"{name}_{uuid.uuid4()}" for name in ("ENV", "OUTPUT", "PATH", "SUMMARY")}
        for file in files.values():
            file.touch()
        environment = self._environment(own) | {
            "GITHUB_ENV": str(files["ENV"]),
            "GITHUB_OUTPUT": str(files["OUTPUT"]),
            "GITHUB_PATH": str(files["PATH"]),
            "GITHUB_STEP_SUMMARY": str(files["SUMMARY"]),
        }
        finished = subprocess.run(
            ["bash", "-e", str(script)],
            cwd=self.workspace,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            check=False,
        )
        done.log += [line.decode("utf-8", "replace") for line in finished.stdout.splitlines()]
        done.summary = files["SUMMARY"].read_text(encoding="utf-8")
        assert len(done.summary.encode()) <= SUMMARY_LIMIT
        done.outputs |= dict(_assignments(files["OUTPUT"]))
        assert sum(map(len, done.outputs.values())) <= OUTPUTS_LIMIT
        for name, value in _assignments(files["ENV"]):
            assert not name.startswith(("GITHUB_", "RUNNER_")), f"{name} is not to be set"
            self.set_by_steps[name] = value
        self.path[:0] = map(Path, reversed(files["PATH"].read_text(encoding="utf-8").splitlines()))
        return finished.returncode == 0

    def _use_action(self, step: Mapping[str, Any], done: Step, own: Mapping[str, str]) -> bool:
        inputs = {name: self.expanded(value, own) for name, value in step.get("with", {}).items()}
        runner = self.runner
        place = Workplace(
            self.workspace, self.temporary, runner.artifacts, runner.caches, runner.hosted, self._environment(own)
        )
        try:
            left = ACTIONS[step["uses"]](inputs, place)
            has_failed = False
        except ActionError as error:
            left, has_failed = Done([f"::error::{str(error).encode('unicode_escape').decode()}"]), True
        done.log += left.lines
        done.outputs |= left.outputs
        self.path[:0] = left.path
        return not has_failed

    def _environment(self, own: Mapping[str, str]) -> dict[str, str]:
        runner = self.runner
        handed_on = {name: value for name, value in os.environ.items() if name.upper().startswith(_PASSED_ON)}
        paths = [*map(str, self.path), *(part for part in os.environ["PATH"].split(":") if part != _OWN_SCRIPTS)]
        return {
            **handed_on,
            "HOME": str(self.home),
            "CI": "true",
            "GITHUB_ACTIONS": "true",
            **{f"GITHUB_{name.upper()}": value for name, value in self._github().items() if isinstance(value, str)},
            "GITHUB_REPOSITORY_OWNER": runner.push.repository.partition("/")[0],
            "RUNNER_TEMP": str(self.temporary),
            "RUNNER_OS": "Linux",
            **self.declared,
            **self.set_by_steps,
            **own,
            "PATH": ":".join(paths),
        }

    def _github(self) -> dict[str, Any]:
        runner, push = self.runner, self.runner.push
        return {
            "repository": push.repository,
            "repository_owner": push.repository.partition("/")[0],
            "sha": push.sha,
            "ref": push.ref,
            "ref_name": push.ref.removeprefix("refs/heads/"),
            "actor": push.actor,
            "triggering_actor": push.actor,
            "event_name": runner.event_name,
            "job": self.name,
            "run_id": runner.run_id,
            "run_number": "3",
            "run_attempt": "1",
            "server_url": runner.server_url,
            "api_url": runner.api_url,
            "workspace": str(self.workspace),
            "event": {
                "head_commit": {"message": push.message},
                "repository": {"name": push.repository.partition("/")[2]},
                "sender": {"type": push.sender},
                "deleted": push.is_deletion,
            },
        }

    def _contexts(self, own: Mapping[str, str]) -> dict[str, Any]:
        return {
            "github": self._github(),
            "env": {**self.declared, **self.set_by_steps, **own},
            "steps": self.outputs,
            "secrets": self.runner.secrets,
            "inputs": self.inputs,
            "needs": self.finished,
            "matrix": self.matrix,
            "runner": {"temp": str(self.temporary)},
        }

    def _functions(self) -> dict[str, Callable[..., Any]]:
        return {
            "success": lambda: not self.has_failed,
            "failure": lambda: self.has_failed,
            "always": lambda: True,
            "cancelled": lambda: False,
            "hashFiles": self._hash_of,
        }

    def _hash_of(self, *patterns: str) -> str:
        """Return the hash of the files that the patterns name, or nothing if there are none."""
        files = sorted(path for pattern in patterns for path in self.workspace.glob(pattern))
        return hashlib.sha256(b"".join(map(Path.read_bytes, files))).hexdigest() if files else ""


def _cells(job: Mapping[str, Any]) -> list[dict[str, str]]:
    """Return the values of a job's matrix for each of its runs; it has at most one variable."""
    [*matrix] = job.get("strategy", {}).get("matrix", {}).items()
    assert len(matrix) <= 1
    return [{name: value} for name, values in matrix for value in values] or [{}]


def _assignments(file: Path) -> Iterator[tuple[str, str]]:
    """Read a file of variables or outputs: NAME=VALUE. Values of several lines are not known here."""
    for line in filter(None, file.read_text(encoding="utf-8").split("\n")):
        name, _, value = line.partition("=")
        assert re.match(r"\w+=", line), f"not NAME=VALUE: {line}"
        yield name, value
