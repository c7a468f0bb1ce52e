"""The sides of bench.py that are other graders: otter-grader and check50, each with tests from the suite's criteria.

They are installed in an environment of their own, which also sees this project's packages, such as torch. Neither
isolates an answer, uses substitutes or makes a diagnosis, and neither uses a network or a container here.
"""

from __future__ import annotations

import json
import subprocess
import sys
import venv
from collections.abc import Collection, Sequence
from pathlib import Path

from answers import COURSE, ROOT
from in_nbgrader import possible_points
from measuring import Took, run

REQUIREMENTS = ("otter-grader==7.0.0", "check50==3.5.0")

CRITERIA = """\
import importlib

from grader.engine.criteria import criteria_of
from grader.testing.student import InProcessBackend


def criteria(exercise):
    suite = importlib.import_module(f"grader.suites.{unit}.{{exercise}}")
    return criteria_of(suite, "{unit}", "{version}").values()


"""
# One file for each exercise, with a test case for each criterion.
OTTER_TESTS = """\
from otter.test_files import test_case

OK_FORMAT = False
name = "{exercise}"
points = {points}
backends = []


def case_of(criterion):
    def case(env):
        if not backends:
            backends.append(InProcessBackend("{unit}", env))
        assert criterion.run(backends[0]).passed, criterion.sentence

    return test_case(name=criterion.name)(case)


for criterion in criteria("{exercise}"):
    globals()[f"case_{{criterion.name}}"] = case_of(criterion)
"""
# One process for the whole class, which is the fastest way to use it without a container.
OTTER_CLASS = """\
import json, sys
from otter.api import grade_submission

grades = {path: grade_submission(path, sys.argv[1], quiet=True) for path in sys.argv[2:]}
print(json.dumps([path for path, grade in grades.items() if grade.total == grade.possible]))
"""
CHECK50_HEAD = """\
import check50
import check50.py


def judge(exercise):
    backend = InProcessBackend("{unit}", vars(check50.py.import_("{unit}.py")))
    for criterion in criteria(exercise):
        if not criterion.run(backend).passed:
            raise check50.Failure(criterion.sentence)
"""
# A check passes or fails, so it cannot give a part of an exercise's points.
CHECK50_CHECK = """\


@check50.check()
def check_{exercise}():
    "{exercise}"
    judge("{exercise}")
"""


def install(folder: Path) -> Path | None:
    """Install both in a new environment. Returns its interpreter, or nothing if they cannot be installed."""
    python = folder / "bin" / "python"
    try:
        venv.create(folder, with_pip=True)
        install_command = [str(python), "-m", "pip", "install", "--quiet", *REQUIREMENTS]
        subprocess.run(install_command, check=True, stdout=subprocess.DEVNULL)
    except subprocess.CalledProcessError:
        return None
    [packages] = (folder / "lib").glob("python*/site-packages")
    ours = [path for path in sys.path if Path(path).name == "site-packages"]
    (packages / "project.pth").write_text("\n".join([*ours, str(ROOT)]), encoding="utf-8")
    return python


def make_otter(python: Path, folder: Path, unit: str) -> Path:
    """Write the tests, and return the archive that otter makes of them."""
    (folder / "tests").mkdir(parents=True)
    for exercise, points in possible_points(unit).items():
        text = (CRITERIA + OTTER_TESTS).format(unit=unit, version=COURSE.version, exercise=exercise, points=points)
        (folder / "tests" / f"{exercise}.py").write_text(text, encoding="utf-8")
    run([str(python), "-m", "otter", "generate", "--no-environment", "--no-requirements"], folder)
    return folder / "autograder.zip"


def run_otter(
    python: Path, archive: Path, unit: str, submissions: Sequence[Path], cores: Collection[int]
) -> tuple[Took, set[str]]:
    """Grade all submissions. Returns what it took, and the students with full marks."""
    scripts = [str(submission / f"{unit}.py") for submission in submissions]
    command = [str(python), "-c", OTTER_CLASS, str(archive), *scripts]
    took, output = run(command, archive.parent, cores=cores)
    return took, {Path(path).parent.name for path in json.loads(output.splitlines()[-1])}


def make_check50(folder: Path, unit: str) -> Path:
    """Write the checks, and return their folder."""
    folder.mkdir(parents=True)
    checks = [CHECK50_CHECK.format(exercise=exercise) for exercise in COURSE.units[unit].exercises]
    text = (CRITERIA + CHECK50_HEAD).format(unit=unit, version=COURSE.version)
    (folder / "__init__.py").write_text("".join([text, *checks]), encoding="utf-8")
    (folder / ".cs50.yml").write_text("check50: true\n", encoding="utf-8")
    return folder


def run_check50(python: Path, checks: Path, submission: Path, cores: Collection[int]) -> tuple[Took, bool]:
    """Check one submission. Returns what it took, and whether all checks pass."""
    written = checks.parent / "results.json"
    written.unlink(missing_ok=True)
    options = ["--dev", "--log-level", "warning", "--output", "json", "--output-file", str(written)]
    # It ends with code 1 if a check fails.
    took, _ = run([str(python), "-m", "check50", *options, "--", str(checks)], submission, (0, 1), cores)
    found = json.loads(written.read_text(encoding="utf-8"))
    if "results" not in found:
        raise SystemExit(f"check50 could not check {submission}: {found}")
    return took, all(check["passed"] for check in found["results"])
