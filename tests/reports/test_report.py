"""The report has one published format, and is written atomically."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import pydantic
import pytest
from courses import REPOSITORY

from grader.reports import folder, report_model

SCHEMA = REPOSITORY / "docs" / "report.schema.json"
WRITE_ANEW = (
    "python -c 'from pathlib import Path; from grader.reports.report_model import json_schema; "
    'Path("docs/report.schema.json").write_text(json_schema(), encoding="utf-8")\''
)

REPORT: dict[str, Any] = {
    "schema": "attention-from-scratch/report/v1",
    "course": "A course",
    "student": "ada",
    "name": "Ada Doe",
    "together": ["ada", "bob"],
    "timezone": "Europe/Berlin",
    "comments": [{"kind": "comment", "points": 0.0, "reason": "See me.", "exercise": None, "by": "Ms Roe"}],
    "commit": None,
    "suites": "hidden",
    "handed_in": True,
    "points": 1,
    "possible": 2,
    "units": {
        "sums": {
            "points": 1,
            "possible": 2,
            "earned": 1,
            "changes": [],
            "received": None,
            "due": None,
            "extended": False,
            "exempt": False,
            "feedback": "sentence",
            "path": "exercises/sums.py",
            "remarks": [],
            "exercises": {
                "add": {
                    "points": 1,
                    "possible": 2,
                    "tests": [
                        {"name": "a", "outcome": "passed", "points": 1, "possible": 1, "sentence": "A", "reason": None},
                        {"name": "b", "outcome": "failed", "points": 0, "possible": 1, "sentence": "B", "reason": "É"},
                    ],
                    "misconceptions": [{"name": "subtracts", "sentence": "Not so."}],
                    "waiting_for": None,
                    "main": None,
                    "line": 12,
                    "remarks": [],
                }
            },
            "quiz": {
                "points": None,
                "possible": 3,
                "summary": "1 of 1 answered",
                "variant": 7,
                "remarks": [],
                "items": {
                    "half": {
                        "answered": True, "points": None, "possible": 3, "problem": None, "sentences": [],
                        "answer": None, "explanation": None,
                    },
                },
            },
            "digest": "1" * 64,
            "answers": "2" * 64,
            "tests": "3" * 64,
            "key": "4" * 64,
        }
    },
    "messages": [
        {
            "unit": "sums", "exercise": None, "kind": "not run", "text": "It raised NameError. no", "file": "sums.py",
            "line": 1, "trace": ["line 1: x = y"], "hint": "Define it.",
        },
    ],
    "timing": {"started": "2027-01-01T00:00:00+00:00", "seconds": 0.5},
    "isolation": {"enough": True, "layers": {"seccomp": True}},
    "versions": {"grader": "0"},
    "digest": "0" * 64,
}  # fmt: skip


def test_the_published_schema_matches_the_model() -> None:
    is_in_step = SCHEMA.is_file() and SCHEMA.read_text(encoding="utf-8") == report_model.json_schema()
    assert is_in_step, (
        f"docs/report.schema.json does not match grader/reports/report_model.py; rewrite it:\n{WRITE_ANEW}"
    )


def test_the_schema_is_valid_and_describes_every_field() -> None:
    schema = json.loads(report_model.json_schema())
    jsonschema.Draft202012Validator.check_schema(schema)
    assert schema["$id"] == "urn:attention-from-scratch:report:v1"
    for part in (schema, *schema["$defs"].values()):
        assert part["description"]
        assert [name for name, field in part["properties"].items() if not field.get("description")] == []


def test_a_report_is_written_as_json_that_fits_the_schema() -> None:
    text = report_model.Report.model_validate(REPORT).to_json()
    assert json.loads(text) == REPORT
    assert text.endswith("}\n")
    jsonschema.validate(json.loads(text), json.loads(report_model.json_schema()))


def test_a_message_of_an_earlier_version_has_no_trace_and_no_hint() -> None:
    earlier = {name: value for name, value in REPORT["messages"][0].items() if name not in ("trace", "hint")}
    [message] = report_model.Report.model_validate({**REPORT, "messages": [earlier]}).messages
    assert (message.trace, message.hint) == ([], None)


@pytest.mark.parametrize(
    "change",
    [
        {"schema": "attention-from-scratch/report/v2"},
        {"points": -1},
        {"points": 0.5},
        {"points": "1"},
        {"digest": "abc"},
        {"grade": 1},
        {"messages": [{}]},
    ],
    ids=str,
)
def test_another_format_fits_neither_the_model_nor_the_schema(change: dict[str, Any]) -> None:
    with pytest.raises(pydantic.ValidationError):
        report_model.Report.model_validate({**REPORT, **change})
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({**REPORT, **change}, json.loads(report_model.json_schema()))


def test_the_student_and_the_instructor_have_separate_files_if_there_is_something_for_both(tmp_path: Path) -> None:
    made = report_model.Report.model_validate(REPORT)
    assert folder.write_report(made, None, tmp_path) == tmp_path / "ada.json"
    assert list((tmp_path / "instructor").iterdir()) == []
    folder.write_report(made, {"tests": []}, tmp_path)
    assert json.loads((tmp_path / "ada.json").read_text(encoding="utf-8")) == REPORT
    assert json.loads((tmp_path / "instructor" / "ada.pytest.json").read_text()) == {"tests": []}
    assert folder.read_report("ada", tmp_path) == made


def test_if_the_instructors_file_cannot_be_written_the_students_is_not_written(tmp_path: Path) -> None:
    (tmp_path / "instructor").write_text("a file where the folder belongs")
    with pytest.raises(OSError, match="exists"):
        folder.write_report(report_model.Report.model_validate(REPORT), {}, tmp_path)
    assert not (tmp_path / "ada.json").exists()


def test_a_damaged_report_or_another_format_counts_as_none(tmp_path: Path) -> None:
    other = {**REPORT, "schema": "attention-from-scratch/report/v2"}
    whole = json.dumps(REPORT).encode()
    path = tmp_path / "ada.json"
    for content in (b"", b"{", b"\xff", b"[" * 100_000, b"null", json.dumps(other).encode(), whole[:-1]):
        path.write_bytes(content)
        assert folder.read_report("ada", tmp_path) is None
    path.unlink()
    assert folder.read_report("ada", tmp_path) is None
    path.mkdir()
    assert folder.read_report("ada", tmp_path) is None


def test_only_half_written_files_are_removed_from_the_folder_of_reports(tmp_path: Path) -> None:
    folder.write_report(report_model.Report.model_validate(REPORT), {}, tmp_path)
    for half_written in (".ada.json.x1.partial", "instructor/.ada.pytest.json.x2.partial"):
        (tmp_path / half_written).write_text("{")
    with folder.reports_folder(tmp_path):
        pass
    files = {path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*") if path.is_file()}
    assert files == {"ada.json", "instructor/ada.pytest.json"}
