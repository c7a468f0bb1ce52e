"""Prints the changelog's section of a version: release_notes.py v1.2.3. Fails if the package has another version."""

from __future__ import annotations

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def section(changelog: str, version: str) -> str:
    """Return what the changelog says below the heading of a version, or nothing."""
    found = re.search(rf"^## \[{re.escape(version)}\][^\n]*\n(.*?)(?=^## |\Z)", changelog, re.MULTILINE | re.DOTALL)
    return found[1].strip() if found else ""


def main(tag: str, root: Path = ROOT) -> str:
    """Return the release notes of a tag, or exit with a message."""
    source = (root / "grader" / "__init__.py").read_text(encoding="utf-8")
    [version] = re.findall(r'^__version__ = "(.+)"$', source, re.MULTILINE)
    if tag != f"v{version}":
        sys.exit(f"The tag is {tag}, but grader/__init__.py has version {version}: change one of them.")
    notes = section((root / "CHANGELOG.md").read_text(encoding="utf-8"), version)
    if not notes:
        sys.exit(f"CHANGELOG.md says nothing about {version}: rename [Unreleased] to [{version}].")
    return notes


if __name__ == "__main__":
    print(main(sys.argv[1]))
