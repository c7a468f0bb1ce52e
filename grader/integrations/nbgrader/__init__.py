"""The course in nbgrader. Within this package `nbgrader` is the real one.

The score of a notebook comes from the file that was handed in, read and graded as `grader grade` does; nbgrader keeps
the books.
"""

from __future__ import annotations

from typing import Any

IN_PLACE_OF = " in the place of: "
"""Behind `BEGIN SOLUTION` it names the line that a release has there."""


def configure(c: Any) -> None:
    """Set up nbgrader for this course. c: what get_config() gives in an nbgrader_config.py."""
    # By their names, for every command of nbgrader reads this, and few of them need any of it.
    ours, theirs = "grader.integrations.nbgrader", "nbgrader.preprocessors"
    c.GenerateAssignment.preprocessors = [
        f"{theirs}.IncludeHeaderFooter",
        f"{theirs}.InstantiateTests",
        f"{theirs}.LockCells",
        f"{ours}.clearing.ClearAnswers",
        f"{theirs}.ClearOutput",
        f"{theirs}.CheckCellMetadata",
        f"{theirs}.ComputeChecksums",
        f"{theirs}.SaveCells",
        f"{theirs}.ClearHiddenTests",
        f"{theirs}.ClearMarkScheme",
        f"{theirs}.ComputeChecksums",
        f"{theirs}.CheckCellMetadata",
        f"{ours}.clearing.SetDueDate",
    ]
    c.Autograde.exporter_class = f"{ours}.reading.SubmissionExporter"
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
        f"{ours}.grading.GradeSubmission",
        f"{theirs}.IgnorePattern",
        "nbconvert.preprocessors.ClearMetadataPreprocessor",
        f"{theirs}.LimitOutput",
        f"{theirs}.SaveAutoGrades",
        f"{theirs}.AssignLatePenalties",
        f"{theirs}.CheckCellMetadata",
    ]
    c.AssignLatePenalties.plugin_class = f"{ours}.late.LatePenalty"
