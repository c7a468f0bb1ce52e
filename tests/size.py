"""Counts the repository's lines by part: `make size`. For Python, also lines that are neither blank nor comments."""

from __future__ import annotations

import subprocess
from fnmatch import fnmatch
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
# The first pattern that matches a path gives its part; `*` also matches slashes.
PARTS = {
    "suites: paraphrases": "grader/suites/*/paraphrases.py",
    "suites: pairs": "grader/suites/*/pairs.py",
    "suites: unlisted mistakes": "grader/suites/*/unlisted_mistakes.py",
    "suites: misconceptions": "grader/suites/*/misconceptions.py",
    "suites: right answers": "grader/suites/*/accepted_answers/*",
    "suites": "grader/suites/*",
    "audit": "grader/audit/*",
    "grader": "grader/*",
    "solutions and quizzes": "solutions/*",
    "exercises": "exercises/*",
    "examples": "examples/*",
    "tests": "tests/*",
    "benchmarks": "benchmarks/*",
    "docs": "docs/*",
    "everything else": "*",
}


def main() -> None:
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    lines, code = dict.fromkeys(PARTS, 0), dict.fromkeys(PARTS, 0)
    for name in filter(None, listed.split("\0")):
        path = ROOT / name
        if not path.is_file():
            continue
        part = part_of(name)
        content = path.read_bytes()
        lines[part] += content.count(b"\n")
        if path.suffix == ".py":
            stripped = [line.strip() for line in content.splitlines()]
            code[part] += sum(1 for line in stripped if line and not line.startswith(b"#"))
    width = max(map(len, PARTS))
    print(f"{'part':<{width}} {'lines':>9} {'Python':>9}")
    for part in PARTS:
        print(f"{part:<{width}} {lines[part]:>9,} {code[part]:>9,}")
    print(f"{'all':<{width}} {sum(lines.values()):>9,} {sum(code.values()):>9,}")


def part_of(name: str) -> str:
    return next(part for part, pattern in PARTS.items() if fnmatch(name, pattern))


if __name__ == "__main__":
    main()
