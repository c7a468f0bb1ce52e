"""docs/attacks.md names every attack, and every test that it names exists."""

from __future__ import annotations

import re

import pytest
from courses import REPOSITORY
from folders import HERE

TABLE = (REPOSITORY / "docs" / "attacks.md").read_text(encoding="utf-8")
ROWS = [line for line in TABLE.splitlines() if re.match(r"\| (?!tried|what happens)", line)]
# From the source text, because some of these are defined only for root.
FOLDERS = re.findall(r"def (\w+)\(folder: Path, (?:base|_): Path\)", (HERE / "folders.py").read_text(encoding="utf-8"))
ATTACKS = {path.stem for path in (HERE / "submissions").rglob("*.py")} | {*FOLDERS}
NOT_YET = "not yet: "


def shown_by(row: str) -> list[str]:
    return re.findall(r"`([^`]+)`", row.split(" | ")[-1])


@pytest.mark.parametrize("row", ROWS)
def test_each_row_names_existing_attacks_and_tests(row: str) -> None:
    assert shown_by(row) or NOT_YET in row
    for name in shown_by(row):
        path, _, test = name.partition("::")
        if test:
            assert f"\ndef {test}(" in (REPOSITORY / path).read_text(encoding="utf-8")
        else:
            assert name in ATTACKS


def test_no_attack_is_missing() -> None:
    assert ATTACKS - {name for row in ROWS for name in shown_by(row)} == set()
