"""Which course a command works on."""

from __future__ import annotations

from pathlib import Path

import pytest

from grader.course import root
from grader.course.model import find_course
from grader.course.new import new_course
from grader.documents import CourseError


@pytest.fixture(autouse=True)
def installed_grader(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Act as a grader that is installed apart from any course."""
    monkeypatch.setattr(root, "PACKAGE", tmp_path / "site-packages" / "grader")


@pytest.fixture
def course(tmp_path: Path) -> Path:
    new_course(tmp_path / "course", "Lists")
    return tmp_path / "course"


def test_it_is_the_course_of_the_nearest_parent_folder(course: Path) -> None:
    assert find_course(around=course / "suites" / "averages").root == course


def test_a_named_course_comes_first(course: Path, tmp_path: Path) -> None:
    new_course(tmp_path / "other", "Sums")
    assert find_course(tmp_path / "other", around=course).name == "Sums"


def test_a_named_folder_without_a_course_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(CourseError, match=r"--course: .* has no autograder\.yml: give the folder of a course\."):
        find_course(tmp_path)


def test_a_folder_without_a_course_is_an_error_with_the_next_commands(tmp_path: Path) -> None:
    with pytest.raises(CourseError, match=r"There is no course here: .* --course DIR.*`grader new course DIR`"):
        find_course(around=tmp_path)


def test_a_students_repository_needs_the_students_grader(course: Path, tmp_path: Path) -> None:
    repository = tmp_path / "repository"
    repository.mkdir()
    (course / "autograder.yml").rename(repository / "autograder.yml")
    with pytest.raises(CourseError, match=r"is a students' repository.*`pip install -r requirements\.txt`"):
        find_course(around=repository)
