"""Compares two folders of reports: python tests/compare_reports.py BEFORE AFTER. Exits with 1 if a grade differs.

Wording, versions, digests, times and the lines of messages may differ. Points, outcomes, names, misconceptions and the
number of messages of each kind may not.
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from pathlib import Path
from typing import Any

WORDING = {"sentence", "sentences", "reason", "remarks", "waiting_for", "problem", "summary", "explanation", "text"}
CHANGES = {"digest", "timing", "versions", "messages", "schema"}


def grades(report: dict[str, Any]) -> dict[str, Any]:
    """Return the parts of a report that may not differ."""
    kinds = Counter((one["unit"], one["exercise"], one["kind"]) for one in report["messages"])
    return {**without_wording(report), "messages": {"/".join(map(str, key)): count for key, count in kinds.items()}}


def without_wording(value: Any) -> Any:
    """Return a part of a report without its wording. A sentence becomes True, or False if it is empty."""
    if isinstance(value, dict):
        return {
            key: bool(found) if key in WORDING else without_wording(found)
            for key, found in value.items()
            if key not in CHANGES
        }
    return [without_wording(one) for one in value] if isinstance(value, list) else value


def differences(before: Any, after: Any, place: str = "") -> list[str]:
    """Return each place at which two values differ."""
    if isinstance(before, dict) and isinstance(after, dict):
        keys = before | after
        return [line for key in keys for line in differences(before.get(key), after.get(key), f"{place}/{key}")]
    if isinstance(before, list) and isinstance(after, list) and len(before) == len(after):
        pairs = zip(before, after, strict=True)
        return [line for n, pair in enumerate(pairs) for line in differences(*pair, f"{place}/{n}")]
    return [] if before == after else [f"{place}: {before!r} became {after!r}"]


def main() -> int:
    """Print the differences between two folders of reports."""
    before, after = (
        {path.stem: grades(json.loads(path.read_text(encoding="utf-8"))) for path in Path(folder).glob("*.json")}
        for folder in sys.argv[1:3]
    )
    found = differences(before, after)
    print("\n".join([*found, f"{len(before)} reports before, {len(after)} after, {len(found)} differences"]))
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main())
