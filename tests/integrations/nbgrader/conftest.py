"""Fixtures for nbgrader: one graded term, a copy of it for a test that changes it, and a course in this process."""

from __future__ import annotations

from pathlib import Path

import pytest
from graded_class import GradedTerm, make_graded_term
from small_course import SmallCourse
from terms import Term


@pytest.fixture(scope="session")
def graded_term(tmp_path_factory: pytest.TempPathFactory) -> GradedTerm:
    return make_graded_term(tmp_path_factory.mktemp("course"))


@pytest.fixture
def term(graded_term: GradedTerm) -> Term:
    """The term, for tests that do not change it."""
    return graded_term.term


@pytest.fixture
def own_term(term: Term, tmp_path: Path) -> Term:
    """A copy for a test that changes it."""
    return term.copied(tmp_path / "course")


@pytest.fixture(scope="session")
def course(tmp_path_factory: pytest.TempPathFactory) -> SmallCourse:
    """A generated course, in which each test has students of its own."""
    return SmallCourse(tmp_path_factory.mktemp("small"))
