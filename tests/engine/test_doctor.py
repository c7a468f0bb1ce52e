"""`grader doctor` reports what is installed, what works here, and what to do about the rest."""

from __future__ import annotations

import platform

import torch
from courses import REPOSITORY, run_grader

from grader.engine import grading
from grader.sandbox import lockdown


def test_versions_name_python_and_what_grading_uses() -> None:
    versions = grading.versions()
    assert versions["python"] == platform.python_version()
    # The name of a build with CUDA is not in its package's metadata.
    assert versions["torch"] == (torch.__version__.partition("+")[0] if torch.version.cuda else torch.__version__)
    assert set(grading.PACKAGES) < set(versions)


def test_every_layer_is_tried_and_described() -> None:
    done = run_grader(REPOSITORY, "doctor")
    missing = lockdown.missing_layers()
    rows = [line.split() for line in done.stdout.splitlines() if line.rstrip().endswith(("works", "missing"))]
    assert [(row[0], row[-1]) for row in rows] == [
        (name, "missing" if name in missing else "works") for name in lockdown.LAYERS
    ]
    assert {name for name in lockdown.LAYERS if f"\n{name}: " in done.stdout} == missing.keys()
    assert [*grading.purposes()] == [*lockdown.LAYERS]


def test_a_machine_with_all_needed_layers_exits_0() -> None:
    done = run_grader(REPOSITORY, "doctor")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.endswith("Student code can be isolated here.\n")
    for name in (*lockdown.LAYERS, "torch", platform.python_version()):
        assert name in done.stdout
