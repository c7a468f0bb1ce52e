"""autograder.yml is read into a course, and every mistake in it is reported with its place and its fix."""

from __future__ import annotations

import datetime
import sys
from pathlib import Path

import pytest

from grader.course.left_out import describe_left_out, left_out
from grader.course.model import load_course
from grader.documents import CourseError

GOOD = """\
course: Two units
version: "1"
limits:
  call_seconds: 5
  unit_seconds: 60
  cpu_seconds: 60
  memory_mb: 2048
  output_kb: 64
feedback:
  before_due: sentence
  after_due: points
  quiz_answers: true
units:
  first:
    title: The first
    due: 2027-02-01T23:59:00+01:00
    exercises:
      project: 2
      Attention: 1
"""
DAY = 86400
SOLUTION = "def project(): ...\n\n\nclass Attention: ...\n"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "solutions").mkdir()
    (tmp_path / "solutions" / "first.py").write_text(SOLUTION)
    (tmp_path / "autograder.yml").write_text(GOOD)
    return tmp_path


def problems(root: Path, text: str | bytes) -> list[str]:
    """The lines of the error that `text` as autograder.yml raises."""
    (root / "autograder.yml").write_bytes(text.encode() if isinstance(text, str) else text)
    with pytest.raises(CourseError) as caught:
        load_course(root)
    return str(caught.value).split("\n")


def changed(old: str, new: str) -> str:
    assert GOOD.count(old) == 1
    return GOOD.replace(old, new)


def test_the_whole_file_is_in_the_model_also_with_a_byte_order_mark(root: Path) -> None:
    (root / "autograder.yml").write_text(GOOD, encoding="utf-8-sig")
    course = load_course(root)
    assert (course.name, course.version) == ("Two units", "1")
    assert course.limits.call_seconds == 5
    assert course.limits.memory_mb == 2048
    assert course.units["first"].title == "The first"
    assert course.units["first"].exercises == {"project": 2, "Attention": 1}


def test_units_and_exercises_keep_their_order(root: Path) -> None:
    (root / "solutions" / "a_later_one.py").write_text("def b(): ...\ndef a(): ...\n")
    later = "  a_later_one:\n    title: Later\n    due: 2027-03-01T12:00:00Z\n    exercises: {b: 1, a: 1}\n"
    (root / "autograder.yml").write_text(GOOD + later)
    course = load_course(root)
    assert list(course.units) == ["first", "a_later_one"]
    assert list(course.units["a_later_one"].exercises) == ["b", "a"]


def test_the_due_time_itself_is_not_late(root: Path) -> None:
    course = load_course(root)
    due = datetime.datetime(2027, 2, 1, 22, 59, tzinfo=datetime.UTC)
    assert course.feedback_level("first", due) == "sentence"
    assert course.feedback_level("first", due + datetime.timedelta(seconds=1)) == "points"


def test_the_python_that_grades_is_the_one_named_or_else_the_one_that_runs(root: Path) -> None:
    assert load_course(root).python == "{}.{}".format(*sys.version_info)
    (root / "autograder.yml").write_text(changed('version: "1"', 'version: "1"\npython: "3.14"'))
    assert load_course(root).python == "3.14"


def late(percent_per_day: object, most: str = "most_percent: 25") -> str:
    return f"late:\n  percent_per_day: {percent_per_day}\n  {most}\nunits:\n"


# Each text of the good file, what replaces it, and all problems that are reported, each with its line and column.
WRONG = [
    ('version: "1"\n', 'version: "1"\nsuites: ../suites\n', "3:9: '../suites' is not below this file: move the suites "
     "there."),
    ("  output_kb: 64\n", "  output_kb: 64\n  memory: 3\n", "9:3: unknown key 'memory'. Allowed here: call_seconds, "
     "unit_seconds, cpu_seconds, memory_mb, output_kb. Did you mean 'memory_mb'?"),
    ("before_due: sentence", "before_due: sentense", "10:15: 'before_due' cannot be 'sentense'. Allowed: points, "
     "sentence, misconception. Did you mean 'sentence'?"),
    ("    title: The first\n", "", "14:3: the key 'title' is missing in 'first': add it."),
    ("      Attention: 1\n", "      Attention: 1\n      project: 3\n",
     "20:7: 'project' is already on line 18: keep one of the two."),
    ("project: 2", "project: -1", "18:16: 'project' should be greater than or equal to 0, not -1."),
    ("project: 2", "project: 1.5", "18:16: 'project' should be a whole number, not 1.5."),
    ("project: 2", "project: yes", "18:16: 'project' should be a whole number, not True."),
    ("project: 2", "project:", "18:15: 'project' should be a whole number, not empty."),
    ("call_seconds: 5", "call_seconds: -5", "4:17: 'call_seconds' should be greater than 0, not -5."),
    ("call_seconds: 5", "call_seconds: .inf", "4:17: 'call_seconds' should be a number, not inf."),
    ("memory_mb: 2048", "memory_mb: 512", "7:14: 'memory_mb' should be greater than or equal to 1024, not 512."),
    ("unit_seconds: 60", "unit_seconds: 3", "5:17: 'unit_seconds' should be at least call_seconds, not 3."),
    ("quiz_answers: true", "quiz_answers: 1", "12:17: 'quiz_answers' should be true or false, not 1."),
    ('"1"', '"1"\npython: 3.12', "3:9: 'python' should be text (put numbers and dates in quotes), not 3.12."),
    ('"1"', '"1"\npython: "3.9"', "3:9: 'python' should be one of the versions of Python that the grader supports, "
     "3.11, 3.12, 3.13 and 3.14, not '3.9'."),
    ('"1"', "1", "2:10: 'version' should be text (put numbers and dates in quotes), not 1."),
    ("course: Two units", 'course: ""', "1:9: 'course' should be some text, not ''."),
    ("2027-02-01T23", "2027-02-30T23", "16:10: '2027-02-30T23:59:00+01:00' cannot be read as a value: correct it."),
    ("      project: 2\n      Attention: 1\n", "      - project\n      - Attention\n",
     "18:7: 'exercises' should be a mapping ('key: value' lines), not a list."),
    (":\n      project: 2\n      Attention: 1\n", ": {}\n",
     "17:16: 'exercises' should be a mapping with at least one entry, not an empty mapping."),
    ("  first:", "  frist:", "14:3: there is no solutions/frist.py for the unit 'frist': write it or correct the name. "
     "Did you mean 'first'?"),
    ("Attention: 1", "Atention: 1", "19:7: solutions/first.py defines no 'Atention' at top level: define it or correct "
     "the name. Did you mean 'Attention'?"),
    ("    exercises:", "    quiz: -1\n    exercises:", "17:5: there is no solutions/first_quiz.yml: write it or take "
     "this line out.\n17:11: 'quiz' should be greater than or equal to 0, not -1."),
    ("units:\n", late(-1), "14:20: 'percent_per_day' should be greater than or equal to 0, not -1."),
    ("units:\n", late("ten"), "14:20: 'percent_per_day' should be a number, not 'ten'."),
    ("units:\n", late(10, "most_percent: 101"), "15:17: 'most_percent' should be less than or equal to 100, not 101."),
    ("units:\n", late(10, "most_percent: 5"), "15:17: 'most_percent' should be at least percent_per_day, not 5."),
    ("units:\n", late(10, ""), "13:1: the key 'most_percent' is missing in 'late': add it."),
]  # fmt: skip


@pytest.mark.parametrize(("old", "new", "problem"), WRONG)
def test_what_is_wrong_is_reported_with_its_place_and_what_is_expected(
    root: Path, old: str, new: str, problem: str
) -> None:
    assert "\n".join(problems(root, changed(old, new))).replace("autograder.yml:", "") == problem


@pytest.mark.parametrize("due", ["2027-02-01", "2027-02-01T23:59:00", "tomorrow", "20270201", '"2027-02-01T23:59:00Z"'])
def test_a_due_date_needs_a_time_and_an_offset(root: Path, due: str) -> None:
    (problem,) = problems(root, changed("2027-02-01T23:59:00+01:00", due))
    assert problem.startswith("autograder.yml:16:10: 'due' should be a date, time and offset from UTC")


@pytest.mark.parametrize(("indent", "column"), [("      ", 7), ("  ", 3), ("", 1)])
@pytest.mark.parametrize("key", ["on", "1", "2027-01-01", "[a]"])
def test_a_key_that_yaml_does_not_read_as_text_is_refused(root: Path, indent: str, column: int, key: str) -> None:
    (problem,) = problems(root, f"{GOOD}{indent}{key}: 1\n")
    name = "this" if key == "[a]" else repr(key)
    assert problem == (
        f"autograder.yml:20:{column}: {name} is not a name: write a key made of letters, or put it in quotes."
    )


def test_a_unit_name_cannot_lead_out_of_the_solutions(root: Path) -> None:
    (root / "outside.py").write_text(SOLUTION)
    (problem,) = problems(root, changed("  first:", "  ../outside:"))
    assert problem.startswith("autograder.yml:14:3: there is no solutions/../outside.py")


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("Attention", "'Attention' is already on line 19: rename one of the two."),
        ("attention", "'attention' differs in upper and lower case alone from 'Attention' on line 19: rename one of "
         "the two."),
        ("first", "'first' is already on line 14: rename one of the two."),
    ],
)  # fmt: skip
def test_a_name_that_another_unit_or_exercise_has_is_refused(root: Path, name: str, problem: str) -> None:
    (root / "solutions" / "second.py").write_text(f"def {name}(): ...\n")
    second = f"  second:\n    title: The second\n    due: 2027-03-01T23:59:00+01:00\n    exercises:\n      {name}: 1\n"
    assert problems(root, GOOD + second) == [f"autograder.yml:24:7: {problem}"]


def test_a_unit_may_have_a_quiz_with_a_weight(root: Path) -> None:
    assert load_course(root).units["first"].quiz is None
    (root / "solutions" / "first_quiz.yml").write_text("")
    (root / "autograder.yml").write_text(changed("    exercises:", "    quiz: 2\n    exercises:"))
    assert load_course(root).units["first"].quiz == 2


def test_definitions_that_the_course_does_not_list_are_left_out_and_named(root: Path) -> None:
    assert (left_out(load_course(root)), describe_left_out(load_course(root))) == ({}, [])
    (root / "solutions" / "first.py").write_text("def given(): ...\ndef project(): given()\nclass Attention: ...\n")
    (root / "solutions" / "draft.py").write_text("def (")
    assert left_out(load_course(root)) == {"draft": [], "first": ["given"]}
    assert describe_left_out(load_course(root)) == [
        "autograder.yml leaves out the unit draft.",
        "autograder.yml leaves out first/given.",
        "project builds on given: students write what they need of it themselves. To ask for it without points, give "
        "it the weight 0.",
    ]


@pytest.mark.parametrize(
    ("seconds", "percent"),
    [(1, 0), (600, 0), (601, 10), (DAY, 10), (DAY + 1, 20), (2.5 * DAY, 25), (100 * DAY, 25)],
)
def test_each_day_that_has_begun_costs_its_share_up_to_the_maximum(root: Path, seconds: float, percent: int) -> None:
    free = load_course(root).late
    assert free.percent(free.days(seconds)) == 0
    (root / "autograder.yml").write_text(changed("units:\n", late("10\n  grace_minutes: 10")))
    costly = load_course(root).late
    assert costly.percent(costly.days(seconds)) == percent


def test_a_solution_file_that_is_not_python_is_named_with_its_line(root: Path) -> None:
    (root / "solutions" / "first.py").write_text("def project(): ...\nclass Attention\n")
    assert problems(root, GOOD) == ["autograder.yml:14:3: solutions/first.py:2 is not valid Python: correct it first."]


def test_all_problems_are_reported_at_once_in_the_order_of_the_lines(root: Path) -> None:
    text = changed("Attention: 1", "Atention: 1").replace("call_", "cal_").replace("sentence", "all")
    text += "      project: 1\n"
    assert [int(problem.split(":")[1]) for problem in problems(root, text)] == [3, 4, 10, 19, 20]


@pytest.mark.parametrize(
    ("text", "start"),
    [
        ("", "autograder.yml:1:1: the file is empty: course, version, limits, feedback and units belong"),
        ("# only a comment\n", "autograder.yml:1:1: the file is empty"),
        ("- a\n- b\n", "autograder.yml:1:1: the file should be a mapping ('key: value'), not a list"),
        ("hello\n", "autograder.yml:1:1: the file should be a mapping ('key: value'), not a single value"),
        ("a: 1\nb: [\n", "autograder.yml:3:1: this is not YAML"),
        ("a: b: c\n", "autograder.yml:1:5: this is not YAML: mapping values are not allowed here"),
        ("a: *b\n", "autograder.yml:1:4: this is not YAML: found undefined alias"),
        ("a: 1\n---\nb: 2\n", "autograder.yml:2:1: this is not YAML"),
        ("a: 1\nb: \x01\n", "autograder.yml:2:4: the character U+0001 is not allowed in YAML"),
        (b"a: 1\nb: caf\xe9\n", "autograder.yml:2:7: the text is not UTF-8: save the file as UTF-8"),
    ],
)
def test_a_file_that_is_not_a_yaml_mapping_is_reported_with_the_place(
    root: Path, text: str | bytes, start: str
) -> None:
    (problem,) = problems(root, text)
    assert problem.startswith(start)


def test_an_alias_inside_its_own_anchor_is_refused(root: Path) -> None:
    found = problems(root, changed("course: Two units", "course: &a [*a]"))
    assert "autograder.yml:1:9: this alias is inside its own anchor: write the value out." in found


def test_a_missing_file_says_how_to_name_the_course(tmp_path: Path) -> None:
    with pytest.raises(CourseError, match=r"^autograder\.yml is missing in .*: give the folder of a course"):
        load_course(tmp_path)


def test_a_folder_in_place_of_the_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "autograder.yml").mkdir()
    with pytest.raises(CourseError, match=r"^autograder\.yml cannot be read"):
        load_course(tmp_path)
