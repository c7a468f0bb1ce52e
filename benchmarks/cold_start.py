"""Compares a cold `grader grade` of one submission with `python -c "import torch, pytest"`.

    python benchmarks/cold_start.py [--runs 11]

The two run in turn, as whole processes, so that changes in the machine's speed affect both. It prints the medians and
the median of the ratios. The suite's own time is that of the report: the time of grading after all imports.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
STUDENT = "ada"


def seconds(command: list[str]) -> float:
    """Wall time of one process, in seconds."""
    begun = time.perf_counter()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - begun


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--runs", type=int, default=11)
    runs = parser.parse_args().runs
    imports, grades, suites = [], [], []
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([sys.executable, str(ROOT / "examples" / "make_class.py"), f"{folder}/class"], check=True)
        import_only = [sys.executable, "-c", "import torch, pytest"]
        grade = [sys.executable, "-m", "grader", "grade", f"{folder}/class/{STUDENT}", "--out", folder, "--force"]
        for number in range(runs + 1):
            pair = seconds(import_only), seconds(grade)
            report = json.loads((Path(folder) / f"{STUDENT}.json").read_text(encoding="utf-8"))
            if number:  # the first pair only fills the disk cache
                imports.append(pair[0])
                grades.append(pair[1])
                suites.append(report["timing"]["seconds"])
    ratios = [(graded - suite) / imported for imported, graded, suite in zip(imports, grades, suites, strict=True)]
    median = statistics.median
    print(f"{runs} pairs, medians")
    print(f"  import torch, pytest         {median(imports):.2f} s")
    print(f"  grader grade, one submission {median(grades):.2f} s, of which the suite {median(suites):.2f} s")
    print(f"  (grade - suite) / import     {median(ratios):.2f}  (at most 1.5 is the goal)")


if __name__ == "__main__":
    main()
