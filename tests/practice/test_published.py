"""`grader release solutions` and `grader solution`: solutions for students, after the due date."""

from __future__ import annotations

import ast
import datetime
import io
import os
import shutil
import sys
from pathlib import Path

import pytest
from courses import COURSE
from rich.console import Console

from grader.course.model import find_course
from grader.errors import GraderError
from grader.integrations.release import ReleaseError
from grader.integrations.release.folder_releases import release_solutions, require_over
from grader.practice.check import answers_folder
from grader.practice.exercise_help import published_solution, show_code
from grader.submissions.reader import read_submission

ONE_MINUTE = datetime.timedelta(minutes=1)
UNIT, OTHER = "simple_attention", "self_attention"
OVER = COURSE.units[UNIT].due + ONE_MINUTE


@pytest.fixture
def ada(tmp_path: Path) -> Path:
    """The folder of a student with untouched stubs."""
    folder = tmp_path / "ada"
    shutil.copytree(COURSE.exercises, folder / "exercises", ignore=shutil.ignore_patterns("__pycache__"))
    return folder


def test_a_published_solution_is_printed(ada: Path) -> None:
    [path] = release_solutions(ada, COURSE, [UNIT], OVER)
    assert path == ada / "solutions" / "simple_attention.py"
    code = published_solution(COURSE, ada, "attention_scores", OVER)
    assert code.startswith("def attention_scores(query: torch.Tensor, inputs: torch.Tensor) -> torch.Tensor:\n")
    assert code.endswith("    return inputs @ query  # (T, d) @ (d,) -> (T,)\n")
    printed = io.StringIO()
    show_code(code, Console(file=printed, width=40))
    assert printed.getvalue() == code


def test_the_file_is_the_source_without_markers_hints_and_metadata(ada: Path) -> None:
    [path] = release_solutions(ada, COURSE, [UNIT], OVER)
    text = path.read_text(encoding="utf-8")
    assert text.startswith("# Published solutions: simple_attention.")
    assert not [
        word for word in ("nbgrader", "BEGIN", "END SOLUTION", "hints", "1. ") if word in text.partition("# 5.")[2]
    ]
    source = (COURSE.solutions / "simple_attention.py").read_text(encoding="utf-8")
    assert ast.dump(ast.parse(text)) == ast.dump(ast.parse(source))


def test_before_the_due_date_nothing_is_published_and_the_date_is_named(ada: Path) -> None:
    with pytest.raises(ReleaseError, match=r"^self_attention is due on 1 February 2027, 23:59 \(UTC\+01:00\)"):
        release_solutions(ada, COURSE, [UNIT, OTHER], OVER)
    assert not (ada / "solutions").exists()
    with pytest.raises(GraderError, match=r"not published yet: simple_attention is due on 25 January 2027, 23:59"):
        published_solution(COURSE, ada, "attention_scores", OVER - 2 * ONE_MINUTE)
    with pytest.raises(GraderError, match=r"^solutions/simple_attention\.py is not here: simple_attention was due on"):
        published_solution(COURSE, ada, "attention_scores", OVER)


def test_only_what_the_instructor_published_is_read_or_replaced(ada: Path) -> None:
    own = ada / "solutions" / "simple_attention.py"
    own.parent.mkdir()
    own.write_text("def attention_scores(query, inputs): ...\n", encoding="utf-8")
    with pytest.raises(GraderError, match="is not here"):
        published_solution(COURSE, ada, "attention_scores", OVER)
    with pytest.raises(ReleaseError, match="is from no `grader release solutions`"):
        release_solutions(ada, COURSE, [UNIT], OVER)
    own.unlink()
    assert release_solutions(ada, COURSE, [UNIT], OVER) == release_solutions(ada, COURSE, [UNIT], OVER)
    with pytest.raises(ReleaseError, match="lies in the course's own repository"):
        release_solutions(COURSE.root, COURSE, [UNIT], OVER)


@pytest.mark.skipif(sys.platform == "win32", reason="links need special rights on Windows")
def test_nothing_is_written_through_a_link_or_read_from_a_pipe_in_a_students_repository(ada: Path) -> None:
    (ada / "solutions").symlink_to(ada.parent)
    with pytest.raises(GraderError, match=r"solutions is a link in a student's folder"):
        release_solutions(ada, COURSE, [UNIT], OVER)
    assert [path.name for path in ada.parent.iterdir()] == ["ada"]
    (ada / "solutions").unlink()
    (ada / "solutions").mkdir()
    os.mkfifo(ada / "solutions" / "simple_attention.py")
    with pytest.raises(ReleaseError, match="is from no `grader release solutions`"):
        release_solutions(ada, COURSE, [UNIT], OVER)


def test_an_update_is_refused_while_solutions_of_a_unit_that_is_not_over_are_there(ada: Path) -> None:
    release_solutions(ada, COURSE, [UNIT], OVER)
    require_over(ada, COURSE, OVER)
    with pytest.raises(ReleaseError, match=r"holds the solutions of simple_attention, which is due on 25 January"):
        require_over(ada, COURSE, OVER - 2 * ONE_MINUTE)


def test_published_solutions_are_nobodys_answers(ada: Path) -> None:
    release_solutions(ada, COURSE, [UNIT], OVER)
    read = read_submission("ada", ada, [UNIT], COURSE.exercises)
    assert not read.handed_in
    (ada / "exercises" / "simple_attention.py").unlink()
    missing = read_submission("ada", ada, [UNIT], COURSE.exercises).units[UNIT]
    assert missing.code is None
    assert missing.problem.startswith("simple_attention.py is missing")


def test_a_repository_with_published_solutions_is_not_taken_for_a_course_of_an_instructor(ada: Path) -> None:
    shutil.copy(COURSE.root / "autograder.yml", ada)
    release_solutions(ada, COURSE, [UNIT], OVER)
    assert find_course(around=ada).root == COURSE.root  # the course around the grader itself


def test_inside_the_folder_of_published_solutions_the_answers_are_still_the_students(
    ada: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    release_solutions(ada, COURSE, [UNIT], OVER)
    monkeypatch.chdir(ada / "solutions")
    assert answers_folder(COURSE) == ada
