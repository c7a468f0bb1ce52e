"""The course in nbgrader. In this package, `import nbgrader` imports the real nbgrader.

The score of a notebook comes from the submitted file, read and graded as by `grader grade`. nbgrader records the scores
and shows the feedback.
"""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

from grader.course.model import Course, find_course

IN_PLACE_OF = " in the place of: "
"""Separates `BEGIN SOLUTION` from the line that replaces the solution in a release."""


def course_of(config: Any) -> Course:
    """Return the course that nbgrader's configuration names, or the one around the current folder."""
    named = config.Grader.get("course", None)
    return find_course(Path(named) if named else None)


def configure(c: Any, course: str | None = None) -> None:
    """Set up nbgrader for a course.

    Args:
        c: The result of get_config() in nbgrader_config.py.
        course: The course's folder; by default the course around the current folder.
    """
    c.Grader.course = course
    # nbgrader 0.9 causes this warning of SQLAlchemy with a student's first submission, which is saved.
    warnings.filterwarnings("ignore", r"Object of type <\w+> not in session", module=r"nbgrader\.api")
    # Classes are given by name because every command of nbgrader reads this, and few need them.
    ours, theirs = "grader.integrations.nbgrader", "nbgrader.preprocessors"
    c.GenerateAssignment.exporter_class = f"{ours}.generating.SourceExporter"
    c.GenerateAssignment.preprocessors = [
        f"{theirs}.IncludeHeaderFooter",
        f"{theirs}.InstantiateTests",
        f"{theirs}.LockCells",
        f"{ours}.generating.ClearAnswers",
        f"{theirs}.ClearOutput",
        f"{theirs}.CheckCellMetadata",
        f"{theirs}.ComputeChecksums",
        f"{ours}.generating.SaveCells",
        f"{theirs}.ClearHiddenTests",
        f"{theirs}.ClearMarkScheme",
        f"{theirs}.ComputeChecksums",
        f"{theirs}.CheckCellMetadata",
        f"{ours}.generating.SetDueDate",
    ]
    c.Autograde.exporter_class = f"{ours}.nbgrader_reading.SubmissionExporter"
    c.Autograde.sanitize_preprocessors = [
        f"{ours}.repair.RepairSubmission",
        f"{theirs}.ClearOutput",
        f"{theirs}.DeduplicateIds",
        f"{theirs}.OverwriteKernelspec",
        f"{theirs}.OverwriteCells",
        f"{theirs}.CheckCellMetadata",
    ]
    c.OverwriteCells.add_missing_cells = True
    c.Autograde.autograde_preprocessors = [
        f"{ours}.nbgrader_grading.GradeSubmission",
        f"{theirs}.IgnorePattern",
        "nbconvert.preprocessors.ClearMetadataPreprocessor",
        f"{theirs}.LimitOutput",
        f"{theirs}.SaveAutoGrades",
        f"{ours}.nbgrader_gradebook.LeaveQuizOpen",
        f"{ours}.nbgrader_gradebook.ApplyDecisions",
        f"{theirs}.CheckCellMetadata",
    ]
    c.GenerateFeedback.exporter_class = f"{ours}.nbgrader_grading.FeedbackExporter"
    c.ZipCollectApp.extractor_plugin = f"{ours}.nbgrader_reading.ExtractSubmissions"
