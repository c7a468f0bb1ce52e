"""An exercise and a quiz without points in nbgrader are graded and explained; what is left out is missing."""

from __future__ import annotations

from pathlib import Path

import courses
import pytest
import terms
from handed_in import grade_id, is_test, read_notebook, solved, write_notebook

UNIT = next(iter(courses.LISTED))
EXERCISES = courses.LISTED[UNIT]


@pytest.mark.proof(part="nbgrader")
def test_exercises_and_quizzes_without_weight_are_graded_and_explained(tmp_path: Path) -> None:
    root, course = courses.make_changed_course(tmp_path / "root"), tmp_path / "course"
    made = courses.run_grader(root, "release", "nbgrader", course)
    assert made.returncode == 0, made.stderr
    source = read_notebook(course / "source" / UNIT / f"{UNIT}.ipynb")
    points = {grade_id(cell): cell["metadata"]["nbgrader"]["points"] for cell in source["cells"] if is_test(cell)}
    assert [name for name in points if not name.startswith("test_quiz_")] == [f"test_{name}" for name in EXERCISES]
    assert {points[name] for name in points if name.startswith("test_quiz_") or name == "test_project_qkv"} == {0}
    assert sorted(path.name for path in (course / "source").iterdir()) == sorted(courses.LISTED)

    def run(*arguments: str) -> None:
        terms.run_in_one_process(root, [(course, tmp_path, arguments)], tmp_path)

    run("generate_assignment", UNIT)
    notebook = solved(source, read_notebook(course / "release" / UNIT / f"{UNIT}.ipynb"))
    for cell in notebook["cells"]:
        if grade_id(cell) == "project_qkv":
            cell["source"] = "def project_qkv(inputs, W_query, W_key, W_value):\n    return inputs, inputs, inputs\n"
        if grade_id(cell) == "SelfAttention_v1":  # what it builds on is left out, and the students' own
            sdpa = (root / "solutions" / f"{UNIT}.py").read_text(encoding="utf-8").split("# %%")
            cell["source"] = next(one for one in sdpa if "def scaled_dot" in one).partition("\n")[2] + cell["source"]
    write_notebook(course / "submitted" / "ada" / UNIT / f"{UNIT}.ipynb", notebook)
    run("autograde", UNIT)
    run("generate_feedback", UNIT)
    assert terms.scores_of(course, "ada", UNIT) == points
    [feedback] = (course / "feedback" / "ada" / UNIT).glob("*.html")
    text = feedback.read_text(encoding="utf-8")
    assert ": 0 of 0 points" in text
    assert "#c77700" in text or "#808890" in text  # the colours of what is not all right
