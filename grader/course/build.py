"""Build what students receive from the course's sources: the files of the units and the sheets of the quizzes."""

from __future__ import annotations

import ast
import itertools
import re
from pathlib import Path
from typing import TYPE_CHECKING

from grader.course import guidance
from grader.course.left_out import cells_listed, imports_left_out, left_out
from grader.course.model import Course
from grader.documents import nearest
from grader.errors import GraderError
from grader.files import write_atomically
from grader.quizzes import practice_items
from grader.quizzes.questions import FILENAME, QUIZ_SUFFIX, to_json
from grader.quizzes.quiz_source import load_practice, load_quizzes
from grader.quizzes.sheet import write_sheet
from grader.submissions.notebook import marks_of
from grader.submissions.submission import DEFINITION, SHEET_SUFFIX

if TYPE_CHECKING:
    from nbformat import NotebookNode

BEGIN_SOLUTION = "BEGIN SOLUTION"
END_SOLUTION = "END SOLUTION"
_HINTS = re.compile(rf"\btags=\[[^]]*\"{guidance.HINTS_TAG}\"")


class BuildError(GraderError):
    """A source that cannot be built; one sentence with its file and line."""


def build(course: Course) -> list[Path]:
    """Write what students receive of every unit and quiz to exercises/.

    Files from an earlier build are removed if autograder.yml now leaves out their unit or quiz.

    Returns:
        The files that were written or removed.

    Raises:
        BuildError: A unit's source is malformed, or nbgrader is missing. Nothing was written.
        CourseError: A quiz is malformed. Nothing was written.
    """
    files = _files(course)
    for path, text in files.items():
        if text is None:
            path.unlink()
        else:
            path.parent.mkdir(exist_ok=True)
            write_atomically(path, text)
    return list(files)


def check(course: Course) -> list[str]:
    """Return the names of the files that differ from what `build` would write."""
    return [
        path.name
        for path, text in _files(course).items()
        if text is None or not path.is_file() or path.read_text(encoding="utf-8") != text
    ]


def read_source(path: Path, course: Course) -> NotebookNode:
    """Read a unit's source as a notebook with its answer cells marked, without the cells of hints.

    What autograder.yml leaves out is removed: exercises that are not listed, and other code that needs them, such as
    an import from another unit. The text above them is removed too if no other code is below it.

    Raises:
        BuildError: The source is not Python, a marker is misplaced or has no TODO above it, an exercise has no
            docstring, or hints are malformed.
    """
    import jupytext

    if not path.is_file():
        raise BuildError(f"solutions/{path.name} does not exist: write the unit's source there.")
    text = path.read_text(encoding="utf-8")
    notebook: NotebookNode = jupytext.reads(text, fmt="py:percent")
    parts = _cells(text)
    if len(parts) != len(notebook.cells):
        raise _problem(path, 1, "there is text above the first cell: begin with a line `# %%`.")
    cells = [*zip(parts, notebook.cells, strict=True)]
    for (start, lines), cell in cells:
        _check_markers(path, start, lines, cell)
    _check_docstrings(path, text)
    _hints(path, text)
    for (start, _), cell in cells:
        _check_tags(path, start, cell)
    notebook.cells = [cell for cell in notebook.cells if guidance.HINTS_TAG not in cell.metadata.get("tags", ())]
    missing = left_out(course)
    if names := {*missing.get(path.stem, ()), *imports_left_out(text, missing, course)}:
        notebook.cells = cells_listed(notebook.cells, names)
    return notebook


def _files(course: Course) -> dict[Path, str | None]:
    """Return the text of each file to build, and None for each file to remove."""
    sheets = _sheets(course)  # first, because this finds mistakes fast
    sources = {f"{unit}.py": course.solutions / f"{unit}.py" for unit in sorted(course.units)}
    files = {course.exercises / name: stub(source, course) for name, source in sources.items()} | sheets
    names = [path.name for path in course.solutions.glob("*.py")]
    names += [path.name.removesuffix(QUIZ_SUFFIX) + SHEET_SUFFIX for path in course.solutions.glob(f"*{QUIZ_SUFFIX}")]
    possible = [course.exercises / name for name in sorted(names)]
    return {**files, **{path: None for path in possible if path not in files and path.exists()}}


def _sheets(course: Course) -> dict[Path, str]:
    """Return a sheet for each quiz."""
    questions = [quiz.questions for quiz in load_quizzes(course.solutions, sorted(course.quizzes)).values()]
    return {course.exercises / one.filename: write_sheet(one, None, {}) for one in questions}


def data_files(course: Course) -> dict[str, str]:
    """Return the text of each file with the quizzes' questions, the practice items and the hints, by name.

    Raises:
        BuildError: Hints are malformed.
        CourseError: A quiz is malformed, or an item is both graded and for practice.
    """
    quizzes = load_quizzes(course.solutions, sorted(course.quizzes))
    practice = load_practice(course.solutions, course.units, quizzes.values())
    hints = _all_hints(course)
    return {
        **({FILENAME: to_json(quiz.questions for quiz in quizzes.values())} if quizzes else {}),
        **({practice_items.FILENAME: practice_items.to_json(practice.values())} if practice else {}),
        **({guidance.HINTS: guidance.to_json(hints)} if hints else {}),
    }


def stub(path: Path, course: Course) -> str:
    """Return a unit's source as students receive it. Raises BuildError.

    nbgrader's own preprocessor clears the solutions, as in nbgrader's release of the unit.
    """
    import jupytext

    try:
        from nbgrader.preprocessors import ClearSolutions
    except ImportError as error:
        raise BuildError("Building needs nbgrader: run `pip install -e .[nbgrader]`.") from error

    notebook, _ = ClearSolutions().preprocess(read_source(path, course), {})
    # Students get plain cells: only the notebook that nbgrader releases needs its metadata.
    notebook.metadata["jupytext"] |= {"notebook_metadata_filter": "-all", "cell_metadata_filter": "-all"}
    return str(jupytext.writes(notebook, fmt="py:percent")).rstrip("\n") + "\n"


def _all_hints(course: Course) -> guidance.Hints:
    """Return the hints of all exercises that the course lists."""
    found = {}
    for unit, described in course.units.items():
        path = course.solutions / f"{unit}.py"
        own = _hints(path, path.read_text(encoding="utf-8"))
        if listed := {name: own[name] for name in described.exercises if name in own}:
            found[unit] = listed
    return found


def _hints(path: Path, text: str) -> dict[str, list[str]]:
    """Return the hints in a unit's source by exercise."""
    found: dict[str, list[str]] = {}
    above: list[str] = []
    for start, (header, *lines) in _cells(text):
        if _HINTS.search(header):
            names = DEFINITION.findall("\n".join(above))
            if not names or not any(BEGIN_SOLUTION in line for line in above):
                raise _problem(path, start, "no exercise is above these hints: move them below its answer cell.")
            items = guidance.parse_list([line.removeprefix("#") for line in lines if line.startswith("#")])
            if "[markdown]" not in header or items is None:
                numbered = ", ".join(f"{number}. {level}" for number, level in enumerate(guidance.HINT_LEVELS, start=1))
                raise _problem(path, start, f"hints are a text cell with a numbered list: {numbered}.")
            found[names[-1]] = items
        above = [header, *lines]
    return found


def _check_tags(path: Path, start: int, cell: NotebookNode) -> None:
    """Raise BuildError if a tag looks like that of hints, which students would find in their stub."""
    for tag in cell.metadata.get("tags", ()):
        if tag != guidance.HINTS_TAG and (like := nearest(tag, [guidance.HINTS_TAG])):
            raise _problem(path, start, f"the tag {tag!r} is unknown, so the cell stays in the stub.{like}")


def _check_markers(path: Path, start: int, lines: list[str], cell: NotebookNode) -> None:
    marks = marks_of(cell)
    is_answer = marks.get("solution", False)
    begun = None
    for number, line in enumerate(lines, start):
        if BEGIN_SOLUTION in line:
            _check_begin(path, number, begun, is_answer, lines[: number - start])
            begun = number
        elif END_SOLUTION in line:
            if begun is None:
                raise _problem(path, number, "a solution ends that has not begun: remove this line.")
            begun = None
    if begun is not None:
        raise _problem(path, begun, f"the solution is not closed: add `### {END_SOLUTION}` below it.")
    # nbgrader would clear the whole cell, including its docstring.
    if is_answer and not any(BEGIN_SOLUTION in line for line in lines):
        raise _problem(path, start, f"the answer cell marks no solution: add `### {BEGIN_SOLUTION}`.")
    name, defined = marks.get("grade_id"), DEFINITION.findall(cell.source)
    if is_answer and defined and name not in defined:
        raise _problem(path, start, f"the grade_id {name!r} is not what the cell defines: {', '.join(defined)}.")


def _check_begin(path: Path, number: int, begun: int | None, is_answer: bool, lines_above: list[str]) -> None:
    """Check that a solution may begin in this line of a cell."""
    if begun is not None:
        raise _problem(path, number, "a solution begins inside another: close that one first.")
    if not is_answer:
        raise _problem(path, number, 'not an answer cell: put "solution": true in its header.')
    comment = itertools.takewhile(lambda line: line.startswith("#"), map(str.lstrip, reversed(lines_above)))
    if not any(line.startswith("# TODO: ") for line in comment):
        raise _problem(path, number, "no sentence says what to do: write `# TODO: …` above.")


def _cells(text: str) -> list[tuple[int, list[str]]]:
    """Return the line number of each cell's header, and the cell's lines from there on."""
    lines = text.splitlines()
    starts = [index for index, line in enumerate(lines) if line.startswith("# %%")]
    return [(start + 1, lines[start:end]) for start, end in itertools.pairwise([*starts, len(lines)])]


def _check_docstrings(path: Path, text: str) -> None:
    try:
        module = ast.parse(text)
    except SyntaxError as error:
        raise _problem(path, error.lineno or 1, f"this is not Python ({error.msg}): fix it first.") from error
    lines = text.splitlines()
    for node in module.body:
        if not isinstance(node, ast.FunctionDef | ast.ClassDef):
            continue
        docstring = ast.get_docstring(node)
        is_exercise = any(BEGIN_SOLUTION in line for line in lines[node.lineno - 1 : node.end_lineno])
        if is_exercise and not docstring:
            raise _problem(path, node.lineno, f"{node.name} has no docstring: state its shapes and rules.")
        last = (docstring or "").rpartition("\n")[2]
        if last.startswith("Time:") and not guidance.EFFORT.fullmatch(last):
            advice = "write `Time: 10 minutes. Difficulty: easy.`, or medium or hard."
            raise _problem(path, node.lineno, f"the last line of {node.name}'s docstring has another form: {advice}")


def _problem(path: Path, number: int, sentence: str) -> BuildError:
    return BuildError(f"solutions/{path.name}:{number}: {sentence}")
