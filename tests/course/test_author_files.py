"""The Python files of a course's author are imported, and an error in one has its file and line."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from grader.course.modules import SuiteError, import_file


@pytest.fixture
def author(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of an author, in which one file calls another, and one has the name of a library."""
    monkeypatch.setattr(sys, "path", [*sys.path])
    (tmp_path / "author_helps.py").write_text("def fails():\n    return 1 / 0\n")
    (tmp_path / "author_tests.py").write_text("import author_helps\n\n\nauthor_helps.fails()\n")
    (tmp_path / "statistics.py").write_text("mean = sum\n")
    return tmp_path


def test_an_error_has_the_innermost_of_the_authors_lines(author: Path) -> None:
    with pytest.raises(SuiteError, match=r"author_helps\.py:2: ZeroDivisionError: division by zero\. Correct it\.$"):
        import_file(author / "author_tests.py")


def test_a_file_with_the_name_of_a_library_is_refused_and_hides_it_from_nobody(author: Path) -> None:
    with pytest.raises(SuiteError, match=r"statistics\.py has the name of another module, .*: rename it"):
        import_file(author / "statistics.py")
