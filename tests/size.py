"""Counts the repository's lines and modules by folder, and what has changed since the last release: `make size`.

A line of Python is neither blank nor a comment. `python tests/size.py REVISION` compares with that revision instead of
the last release, which is the newest tag that begins with `v`.
"""

from __future__ import annotations

import io
import subprocess
import sys
import tarfile
from collections import Counter, defaultdict
from collections.abc import Iterator
from fnmatch import fnmatch
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
# The first pattern that matches a path gives its part; `*` also matches slashes. `{}` stands for a folder's name.
PARTS = {
    "suites: substitutes": "grader/suites/*/substitutes.py",
    "suites: oracles of quizzes": "grader/suites/*/quiz_oracles.py",
    "suites: shared": "grader/suites/*/shared.py",
    "suites": "grader/suites/*",
    "audit": "grader/audit/*",
    "grader/{}": "grader/*/*",
    "grader": "grader/*",
    "solutions and quizzes": "solutions/*",
    "exercises: checks": "exercises/checks/*",
    "exercises": "exercises/*",
    "examples": "examples/*",
    "tests/{}": "tests/*/*",
    "tests": "tests/*",
    "benchmarks": "benchmarks/*",
    "docs": "docs/*",
    "everything else": "*",
}
SUMS = {"library, without audit and suites": "grader*", "tests together": "tests*", "all": "*"}
COLUMNS = ("lines", "Python", "modules")


def main() -> None:
    since = sys.argv[1] if len(sys.argv) > 1 else last_release()
    now, before = sizes(tracked()), sizes(archived(since)) if since else {}
    for table in (now, before):
        parts = dict(table)
        for name, pattern in SUMS.items():
            table[name] = sum((size for part, size in parts.items() if fnmatch(part, pattern)), Counter())
    order = [*sorted((now | before).keys() - SUMS.keys()), *SUMS]
    width = max(map(len, order))
    print(f"{'part':<{width}}" + "".join(f"{column:>9}{'since' if since else '':>8}" for column in COLUMNS))
    for part in order:
        counts = [now.get(part, Counter()), before.get(part, Counter())]
        cells = [f"{counts[0][column]:>9,}{change(column, *counts) if since else '':>8}" for column in COLUMNS]
        print(f"{part:<{width}}" + "".join(cells))
    print(f"since: compared with {since}" if since else "There is no release to compare with: no tag begins with v.")


def last_release() -> str:
    found = git("tag", "--list", "v*", "--sort=-version:refname").decode().split()
    return found[0] if found else ""


def git(*words: str) -> bytes:
    return subprocess.run(["git", *words], cwd=ROOT, capture_output=True, check=True).stdout


def tracked() -> Iterator[tuple[str, bytes]]:
    for name in filter(None, git("ls-files", "-z").decode().split("\0")):
        if (path := ROOT / name).is_file():
            yield name, path.read_bytes()


def archived(revision: str) -> Iterator[tuple[str, bytes]]:
    with tarfile.open(fileobj=io.BytesIO(git("archive", revision))) as archive:
        for member in archive:
            if (file := archive.extractfile(member)) is not None:
                yield member.name, file.read()


def sizes(files: Iterator[tuple[str, bytes]]) -> dict[str, Counter[str]]:
    found: dict[str, Counter[str]] = defaultdict(Counter)
    for name, content in files:
        size = found[part_of(name)]
        size["lines"] += content.count(b"\n")
        if name.endswith(".py"):
            stripped = [line.strip() for line in content.splitlines()]
            size["Python"] += sum(1 for line in stripped if line and not line.startswith(b"#"))
            size["modules"] += 1
    return dict(found)


def part_of(name: str) -> str:
    part = next(part for part, pattern in PARTS.items() if fnmatch(name, pattern))
    return part.format(name.split("/")[1] if "/" in name else "")


def change(column: str, now: Counter[str], before: Counter[str]) -> str:
    return f"{now[column] - before[column]:+,}" if now[column] != before[column] else "="


if __name__ == "__main__":
    main()
