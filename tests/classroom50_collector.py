"""Classroom 50's rules for `scores.json`: how its collector reads and merges it, and what its web app shows of it.

The rules are those of foundation50/classroom50 with its mode `team`, of September 2026, as read on 29 November 2026.
Comments name the file and the function. The repository has the GPL, so no text of it is here.
"""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

# What the runner sets for the autograder of a submission.
ENVIRONMENT = {
    "CLASSROOM": "spring",
    "ASSIGNMENT": "attention",
    "SUBMISSION_TAG": "submit/2027-01-20T12-00-00Z-0123abc",
    "USERNAME": "ada",
    "COMMIT_URL": "https://github.com/class/ada/commit/0",
    "RELEASE_URL": "https://github.com/class/ada/releases/tag/submit",
    "REVIEW_URL": "https://github.com/class/ada/compare/0...1",
}
KINDS = ("individual", "group", "team")
BY_HAND = "submit/manual-"
_KEYS = {"schema", "classroom", "assignment", "assignment_type", "owner", "submission", "commit", "release", "review"}
_KEYS |= {"datetime", "score", "max-score", "tests"}
_TIME = re.compile(r"\d{4}-\d{2}-\d{2}T([01]\d|2[0-3]):[0-5]\d:[0-5]\dZ")

Scores = dict[str, Any]
Entry = dict[str, Any]


class Refused(Exception):
    """The collector fails for the classroom, or leaves a result out."""


def load(path: Path) -> Scores:
    """Read the file as the collector does, and check each entry as schemas/scores-v1.schema.json says."""

    def refuse(constant: str) -> None:
        raise Refused(f"{constant} is not a number")

    # load_scores and normalize_assignments in cli/gh-teacher/skeleton/dotgithub/scripts/collect_scores.py
    scores = json.loads(path.read_text(encoding="utf-8"), parse_constant=refuse)
    _require(scores.keys() == {"schema", "assignments"}, "the keys of the file")
    _require(scores["schema"] == "classroom50/scores/v1", "schema")
    for slug, bucket in scores["assignments"].items():
        _require(re.fullmatch(r"[a-z0-9][a-z0-9-]{1,99}", slug) is not None, slug)
        _require(bucket["type"] in KINDS, "type")
        _require(isinstance(bucket["entries"], list), "entries")
        # row_key: the owner, in lower case, is the key of an entry.
        owners = [entry["owner"].lower() for entry in bucket["entries"]]
        _require(len({*owners}) == len(owners), "an owner twice")
        for entry in bucket["entries"]:
            _check_entry(entry, path.parent.name, bucket["type"])
    return scores


def _check_entry(entry: Entry, classroom: str, kind: str) -> None:
    _require(isinstance(entry.get("override", False), bool), "override")
    members = entry.get("member_usernames", ["x"])
    _require(bool(members) and all(isinstance(one, str) and one for one in members), "member_usernames")
    _require("member_usernames" not in entry or kind != "individual", "members of an individual entry")
    _require(bool(entry["submissions"]), "submissions")
    for record in entry["submissions"]:
        _check_record(record, classroom, entry["owner"], kind)


def check_result(result: Mapping[str, Any], classroom: str, owner: str) -> None:
    """Check an autograder's result.json by schemas/result-v1.schema.json: extra keys are allowed in tests only."""
    _require(_KEYS <= result.keys() <= _KEYS | {"graded_at", "submitted_by"}, "the keys of a result")
    _require(isinstance(result["assignment"], str) and bool(result["assignment"]), "assignment")
    _require("graded_at" not in result or _TIME.fullmatch(result["graded_at"]) is not None, "graded_at")
    _check_record(result, classroom, owner, "individual")


def _check_record(record: Mapping[str, Any], classroom: str, owner: str, kind: str) -> None:
    """Check a record by validate_result in collect_scores.py. The name of the assignment is the key of the bucket."""
    _require(record["schema"] == "classroom50/result/v1", "schema")
    _require(record["classroom"] == classroom, "classroom")
    _require(record["owner"].lower() == owner.lower(), "owner")
    _require(record["assignment_type"] == kind, "assignment_type")
    _require(record["submission"].startswith("submit/"), "submission")
    for key in ("submission", "commit", "release", "review"):
        _require(isinstance(record[key], str) and bool(record[key]), key)
    _require(_TIME.fullmatch(record["datetime"]) is not None, "datetime")
    _check_points(record)
    for test in record["tests"]:
        _require(isinstance(test["test-name"], str) and bool(test["test-name"]), "tests")
        _require(isinstance(test["passed"], bool), "tests")
        _check_points(test)


def _check_points(record: Mapping[str, Any]) -> None:
    score, most = record["score"], record["max-score"]
    _require(type(score) is int and type(most) is int and 0 <= score <= most, f"{score} of {most}")


def collect(scores: Scores, slug: str, found: Entry, kind: str = "individual") -> Scores:
    """Return the file after a collection found this entry: apply_updates in collect_scores.py."""
    after = copy.deepcopy(scores)
    bucket = after["assignments"].setdefault(slug, {"type": kind, "entries": []})
    bucket["type"] = kind
    for number, entry in enumerate(bucket["entries"]):
        if entry["owner"].lower() == found["owner"].lower():
            if entry.get("override") is not True:
                bucket["entries"][number] = found
            return after
    bucket["entries"].append(found)
    return after


def shown(scores: Scores, slug: str) -> dict[str, tuple[int, int]]:
    """Return the points of each student in the web app: bucketToRows in web/src/hooks/useGetScores.ts."""
    points: dict[str, tuple[int, int]] = {}
    for entry in scores["assignments"].get(slug, {"entries": []})["entries"]:
        latest = max(entry["submissions"], key=lambda record: record["datetime"])
        credited = entry.get("member_usernames") or [entry["owner"]]
        points |= dict.fromkeys(credited, (latest["score"], latest["max-score"]))
    return points


def cleared(scores: Scores, slug: str, owner: str) -> Scores:
    """Return the file after "Clear override": editScoreOverride in web/src/domain/assignments/scoreOverride.ts."""
    after = copy.deepcopy(scores)
    entries = after["assignments"][slug]["entries"]
    [entry] = [one for one in entries if one["owner"].lower() == owner.lower()]
    entry["submissions"] = [one for one in entry["submissions"] if not one["submission"].startswith(BY_HAND)]
    entry.pop("override", None)
    if not entry["submissions"]:
        entries.remove(entry)
    return after


def _require(is_right: bool, what: str) -> None:
    if not is_right:
        raise Refused(what)
