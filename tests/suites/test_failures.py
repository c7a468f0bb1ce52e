"""Each known mistake loses the points of its line in failures.txt, and no others."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from courses import REPOSITORY
from failures import FILE, WRITE_ANEW, of_misconceptions, of_other_mistakes
from units import SUITES, Suite

# As on a processor without wide vectors, which adds up sums in another order.
NARROW = {"ATEN_CPU_CAPABILITY": "default", "MKL_ENABLE_INSTRUCTIONS": "SSE4_2", "ONEDNN_MAX_CPU_ISA": "SSE41"}
PROGRAM = """
import sys
from pathlib import Path
from failures import on_this_processor
from units import SUITES
Path(sys.argv[2]).write_text("\\n".join(on_this_processor(SUITES[sys.argv[1]])), encoding="utf-8")
"""
COMMITTED = set(FILE.read_text(encoding="utf-8").splitlines())


@pytest.mark.parametrize("suite", SUITES.values(), ids=SUITES)
def test_each_misconception_fails_the_criteria_of_its_line(suite: Suite) -> None:
    assert sorted(set(of_misconceptions(suite)) - COMMITTED) == [], f"Not in failures.txt: {WRITE_ANEW}."


@pytest.mark.proof(part="audit")
def test_every_line_is_of_a_mistake_that_fails_these_criteria() -> None:
    found = {line for suite in SUITES.values() for line in (*of_misconceptions(suite), *of_other_mistakes(suite))}
    assert sorted(found ^ COMMITTED) == [], f"Not both in failures.txt and true: {WRITE_ANEW}."


@pytest.mark.proof(part="full")
@pytest.mark.parametrize("unit", SUITES)
def test_another_processor_gives_the_same_points(unit: str, tmp_path: Path) -> None:
    lines = tmp_path / "lines"
    folders = os.pathsep.join([str(REPOSITORY), str(REPOSITORY / "tests")])
    environment = {**os.environ, **NARROW, "PYTHONPATH": folders}
    command = [sys.executable, "-c", PROGRAM, unit, str(lines)]
    subprocess.run(command, cwd=tmp_path, env=environment, stdout=subprocess.DEVNULL, check=True)
    own = {line for line in COMMITTED if line.startswith(f"{unit}/")}
    assert sorted(own ^ set(lines.read_text(encoding="utf-8").splitlines())) == []
