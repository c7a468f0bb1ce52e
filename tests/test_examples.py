"""The example class, graded in one run as `make grade` does: the points and messages of each student."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import courses
import pytest
from courses import COURSE, REPOSITORY
from units import fill

from grader.reports.reading import not_handed_in
from grader.reports.report_model import Report

pytestmark = pytest.mark.proof(part="grading")

Reports = dict[str, dict[str, Any]]
"""The report of each student, by name."""

# The share of its points that most exercises of a student earn, and the exercises with another share.
EARNED: dict[str, tuple[str, dict[str, str]]] = {
    "ada": ("all", {}),
    "bela": ("all", {}),
    "chen": (
        "all",
        {
            "softmax_stable": "some",
            "scaled_dot_product_attention": "some",
            "transfer_weights": "none",
            "dot_product_variance": "none",
            "mask_then_softmax": "some",
            "attention_dropout": "none",
            "CausalAttention": "none",
            **{name: "none" for unit in list(COURSE.units)[3:] for name in COURSE.units[unit].exercises},
        },
    ),
    "dina": ("all", dict.fromkeys(("transfer_weights", "attention_dropout", "merge_heads", "sample_batch"), "some")),
    "emil": ("all", {"SelfAttention_v2": "none"}),
    "farah": (
        "some",
        {
            "attention_scores": "all",
            "softmax_stable": "all",
            "context_vector": "none",
            "project_qkv": "all",
            "scaled_dot_product_attention": "none",
            "SelfAttention_v1": "none",
            "mask_then_renormalize": "all",
            "mask_then_softmax": "all",
            "head_scores": "all",
            "split_heads": "all",
            "flatten_for_cross_entropy": "all",
            "running_mean_matmul": "none",
            "running_mean_softmax": "all",
            "Residual": "all",
            "rnn_hidden_states": "none",
            "bahdanau_context": "all",
        },
    ),
    "gus": ("none", {}),
    "mallory": ("none", {"project_qkv": "all"}),
}


def graded(folder: Path, example_class: Path, due: str) -> Reports:
    """Grade the class in a course with this due date, and return the report of each student."""
    for unit in COURSE.units:
        fill(unit)
    course = courses.copy_course_alone(folder / "course")
    courses.set_due(course, due)
    run = courses.run_grader(course, "grade", example_class, "--out", folder / "reports")
    assert run.returncode == 0, run.stderr
    return dict(sorted(courses.read_reports(folder / "reports").items()))


@pytest.fixture(scope="module")
def reports(tmp_path_factory: pytest.TempPathFactory, example_class: Path) -> Reports:
    return graded(tmp_path_factory.mktemp("before"), example_class, courses.LONG_TO_COME)


@pytest.fixture(scope="module")
def reports_after_the_due_date(tmp_path_factory: pytest.TempPathFactory, example_class: Path) -> Reports:
    return graded(tmp_path_factory.mktemp("after"), example_class, courses.LONG_PAST)


def exercises(report: dict[str, Any]) -> dict[str, Any]:
    """Return the exercises of all units, which all have different names."""
    return {name: exercise for unit in report["units"].values() for name, exercise in unit["exercises"].items()}


def misconceptions(report: dict[str, Any]) -> dict[str, list[str]]:
    return {
        name: [found["name"] for found in exercise["misconceptions"]]
        for name, exercise in exercises(report).items()
        if exercise["misconceptions"]
    }


def messages(report: dict[str, Any], kind: str) -> list[tuple[str, int, str]]:
    return [
        (message["file"], message["line"], message["text"]) for message in report["messages"] if message["kind"] == kind
    ]


def test_every_student_of_the_class_gets_a_report(reports: Reports) -> None:
    assert list(reports) == list(EARNED)


@pytest.mark.parametrize("student", EARNED)
def test_each_student_earns_the_expected_share_of_each_exercise(
    reports: Reports, example_class: Path, student: str
) -> None:
    def share(exercise: dict[str, Any]) -> str:
        return {0: "none", exercise["possible"]: "all"}.get(exercise["points"], "some")

    mostly, otherwise = EARNED[student]
    earned = {name: share(exercise) for name, exercise in exercises(reports[student]).items()}
    if student == "farah":  # farah's files do not answer the newer exercises
        answers = "".join(path.read_text(encoding="utf-8") for path in (example_class / student).rglob("*.py"))
        otherwise = {**{name: "none" for name in earned if name not in answers}, **otherwise}
    assert earned == {**dict.fromkeys(earned, mostly), **otherwise}


def test_right_answers_in_different_styles_have_full_marks_and_no_misconception(reports: Reports) -> None:
    for student in ("ada", "bela"):
        assert reports[student]["points"] == reports[student]["possible"]
        assert misconceptions(reports[student]) == {}


def test_prints_cost_nothing_and_are_in_the_report(reports: Reports) -> None:
    assert any("bela: torch" in text for _, _, text in messages(reports["bela"], "printed"))


def test_a_stub_has_the_reason_that_it_is_not_written_yet(reports: Reports) -> None:
    first = [exercise["tests"][0]["reason"] for exercise in exercises(reports["gus"]).values()]
    assert set(first) == {"It is not written yet."}


def test_a_cell_that_raises_is_reported_with_its_line(reports: Reports) -> None:
    [(file, line, text)] = messages(reports["dina"], "not run")
    assert (line, "embeddings" in text) == (3, True)
    assert file.startswith("self_attention.ipynb, cell ")


def test_a_mistake_in_one_exercise_costs_no_point_in_another_that_calls_it(reports: Reports) -> None:
    found = exercises(reports["farah"])
    for name in ("mask_then_renormalize", "mask_then_softmax"):
        assert found[name]["points"] == found[name]["possible"]
        [remark] = found[name]["remarks"]
        assert remark.startswith("It was tested with a substitute for your causal_mask")


def test_a_check_of_one_bias_of_three_loses_the_points_of_the_other_two(reports: Reports) -> None:
    lost = [test["name"] for test in exercises(reports["dina"])["transfer_weights"]["tests"] if not test["points"]]
    assert lost == ["a_bias_in_W_key_is_refused", "a_bias_in_W_value_is_refused"]


def test_a_syntax_error_is_reported_with_its_line(reports: Reports, example_class: Path) -> None:
    source = (example_class / "emil" / "exercises" / "self_attention.py").read_text(encoding="utf-8")
    [(file, line, _)] = messages(reports["emil"], "not run")
    assert file == "self_attention.py"
    assert source.splitlines()[line - 1].lstrip().startswith("return scaled_dot_product_attention(self.W_query")


def test_many_mistakes_in_one_submission_are_named(reports: Reports) -> None:
    found = misconceptions(reports["farah"])
    assert len(found) == 41
    # These call wrong answers or have a substitute for one, and are named all the same.
    assert (
        found.items()
        >= {
            "CausalAttention": ["dropout_before_softmax"],
            "MultiHeadAttentionWrapper": ["one_head_many_times"],
            "two_dimensional_output": ["two_features_for_each_head"],
            "MultiHeadAttention": ["scaled_by_d_out"],
            "stack_heads": ["biases_left_behind", "bias_of_attention_accepted"],
            "gpt2_small_attention": ["biases_as_in_gpt2_itself"],
            "TransformerBlock": ["norm1_used_twice"],
            "stack_blocks": ["one_block_many_times"],
        }.items()
    )


def quiz_points(report: dict[str, Any]) -> list[int | None]:
    return [unit["quiz"]["points"] for unit in report["units"].values() if unit["quiz"]]


def test_before_the_due_date_no_quiz_has_points(reports: Reports) -> None:
    assert {points for report in reports.values() for points in quiz_points(report)} == {None}


def test_right_answers_to_every_quiz_have_full_marks_in_both_styles(reports_after_the_due_date: Reports) -> None:
    for student in ("ada", "bela"):
        report = reports_after_the_due_date[student]
        assert report["points"] == report["possible"]
        assert quiz_points(report) == [unit["quiz"]["possible"] for unit in report["units"].values() if unit["quiz"]]


def test_a_sheet_with_two_damaged_items_keeps_its_other_answers(reports_after_the_due_date: Reports) -> None:
    quiz = reports_after_the_due_date["farah"]["units"]["self_attention"]["quiz"]
    assert len([item for item in quiz["items"].values() if item["problem"]]) == 2
    assert quiz["summary"] == f"{len(quiz['items']) - 2} of {len(quiz['items'])} answered"
    assert quiz["points"] > 0


def test_a_sheet_with_every_box_ticked_and_claimed_points_earns_nothing(reports_after_the_due_date: Reports) -> None:
    assert sum(points or 0 for points in quiz_points(reports_after_the_due_date["mallory"])) == 0


def test_a_hostile_student_finds_no_hidden_test_and_no_solution(reports: Reports) -> None:
    [(_, _, printed), *_] = messages(reports["mallory"], "printed")
    hidden = [
        *(REPOSITORY / "grader" / "suites" / "self_attention").glob("*.py"),
        REPOSITORY / "solutions" / "self_attention.py",
    ]
    lines = {line.strip() for path in hidden for line in path.read_text(encoding="utf-8").splitlines()}
    assert not {line for line in map(str.strip, printed.splitlines()) if len(line) > 8} & lines
    assert str(REPOSITORY) not in json.dumps(reports["mallory"])


def test_the_documentation_quotes_the_report_of_chen(reports: Reports) -> None:
    page = (REPOSITORY / "docs" / "grading.md").read_text(encoding="utf-8")
    exercise = exercises(reports["chen"])["scaled_dot_product_attention"]
    test, misconception = map(json.loads, re.findall(r"```json\n(.*?)```", page, re.DOTALL))
    assert test in exercise["tests"]
    assert exercise["misconceptions"] == [misconception]


def test_the_readmes_picture_shows_these_points(reports: Reports) -> None:
    picture = (REPOSITORY / "docs" / "grade.svg").read_text(encoding="utf-8")
    shown = " ".join(re.findall(r"<text [^>]*>([^<]*)</text>", picture)).replace("&#160;", " ").split()
    assert "total main issue" in " ".join(shown)
    legend = dict(re.findall(r"(\w+), of (\d+) points", " ".join(shown)))
    assert legend.keys() == COURSE.units.keys()
    for student, report in reports.items():
        place = shown.index(student) + 1
        blank = {*report["units"]} if not report["handed_in"] else {*not_handed_in(Report.model_validate(report))}
        for points, (name, unit) in zip(shown[place:], report["units"].items(), strict=False):
            if legend[name] == str(unit["possible"]):  # a unit with a new exercise may be drawn without it
                expected = "-" if name in blank else str(unit["points"])
                assert points == expected, "draw it again: make grade, then docs/picture.py"
