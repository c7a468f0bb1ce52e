"""What is made from the course's sources: the files that students edit, and the list of exercises in a workflow."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from grader.course import QUIZ_SUFFIX, ROOT, load_course
from grader.files import write_atomically
from grader.quiz.questions import FILENAME, to_json
from grader.quiz.sheet import write_sheet
from grader.quiz.source import load_quizzes

if TYPE_CHECKING:
    from nbformat import NotebookNode

BEGIN_SOLUTION = "BEGIN SOLUTION"
END_SOLUTION = "END SOLUTION"


class BuildError(Exception):
    """A source that cannot be built; one sentence naming its file and line."""


def build(root: Path = ROOT) -> list[Path]:
    """Write what students receive of every unit and quiz in solutions/ to exercises/, and return the files written.

    With them goes the workflow that students' repositories can call. Raises BuildError, or CourseError for a quiz or
    autograder.yml, before anything is written when a source is malformed or nbgrader is missing.
    """
    files = _files(root)
    for path, text in files.items():
        path.parent.mkdir(exist_ok=True)
        write_atomically(path, text)
    return list(files)


def check(root: Path = ROOT) -> list[str]:
    """Return the names of the files that differ from what `build` would write there."""
    return [
        path.name
        for path, text in _files(root).items()
        if not path.is_file() or path.read_text(encoding="utf-8") != text
    ]


def read_source(path: Path) -> NotebookNode:
    """Read one unit's source as a notebook in which every answer can be told from what surrounds it.

    Raises BuildError when the source is no Python, a marker is out of place or has no TODO above it, or an
    exercise has no docstring.
    """
    import jupytext

    if not path.is_file():
        raise BuildError(f"solutions/{path.name} does not exist: write the unit's source there.")
    text = path.read_text(encoding="utf-8")
    notebook = jupytext.reads(text, fmt="py:percent")
    _check_markers(path, text, notebook)
    _check_docstrings(path, text)
    return notebook


def _files(root: Path) -> dict[Path, str]:
    sheets = _sheets(root)  # first, for a mistake is found there at once
    return {**_stubs(root), **sheets, **_workflow(root)}


def _workflow(root: Path) -> dict[Path, str]:
    """The one that grades for another repository, where there are workflows: it has a line for each exercise."""
    from grader.release.github import render

    folder = root / ".github" / "workflows"
    if not folder.is_dir():
        return {}
    return {folder / "grade-submission.yml": render("grade_submission.yml.j2", load_course(root))}


def _sheets(root: Path) -> dict[Path, str]:
    """A sheet for each quiz, and the file from which `grader quiz` writes others."""
    sources = sorted((root / "solutions").glob(f"*{QUIZ_SUFFIX}"))
    quizzes = load_quizzes(root / "solutions", [source.name.removesuffix(QUIZ_SUFFIX) for source in sources])
    questions = [quiz.questions for quiz in quizzes.values()]
    sheets = {root / "exercises" / quiz.filename: write_sheet(quiz, None, {}) for quiz in questions}
    return {**sheets, root / "exercises" / FILENAME: to_json(questions)} if sheets else {}


def _stubs(root: Path) -> dict[Path, str]:
    sources = sorted((root / "solutions").glob("*.py"))
    if not sources:
        raise BuildError(f"{root / 'solutions'} holds no source: run this in a checkout of the course.")
    return {root / "exercises" / source.name: _stub(source) for source in sources}


def _stub(path: Path) -> str:
    """Clear the solutions with nbgrader's own preprocessor, as its release of the same unit does."""
    import jupytext

    try:
        from nbgrader.preprocessors import ClearSolutions
    except ImportError as error:
        raise BuildError("Building needs nbgrader: run `pip install -e .[nbgrader]`.") from error

    notebook, _ = ClearSolutions().preprocess(read_source(path), {})
    # Students get plain cells: nbgrader's metadata belongs to the notebook that it releases.
    notebook.metadata["jupytext"] |= {"notebook_metadata_filter": "-all", "cell_metadata_filter": "-all"}
    return jupytext.writes(notebook, fmt="py:percent")


def _check_markers(path: Path, text: str, notebook: NotebookNode) -> None:
    cells = list(_cells(text))
    if len(cells) != len(notebook.cells):
        raise _problem(path, 1, "there is text above the first cell: begin with a line `# %%`.")
    for (start, lines), cell in zip(cells, notebook.cells, strict=True):
        is_answer = cell.metadata.get("nbgrader", {}).get("solution", False)
        has_solution = False
        begun = None
        for number, line in enumerate(lines, start):
            if BEGIN_SOLUTION in line:
                if begun is not None:
                    raise _problem(path, number, "a solution begins inside another: close that one first.")
                if not is_answer:
                    raise _problem(path, number, 'not an answer cell: put "solution": true in its header.')
                if not _has_todo(lines[: number - start]):
                    raise _problem(path, number, "no sentence says what to do: write `# TODO: …` above.")
                begun, has_solution = number, True
            elif END_SOLUTION in line:
                if begun is None:
                    raise _problem(path, number, "a solution ends that has not begun: remove this line.")
                begun = None
        if begun is not None:
            raise _problem(path, begun, f"the solution is not closed: add `### {END_SOLUTION}` below it.")
        # nbgrader would clear such a cell as a whole, its docstring included.
        if is_answer and not has_solution:
            raise _problem(path, start, f"the answer cell marks no solution: add `### {BEGIN_SOLUTION}`.")


def _cells(text: str) -> Iterator[tuple[int, list[str]]]:
    """Yield the line number of each cell's header, and the cell's lines from there on."""
    lines = text.splitlines()
    starts = [index for index, line in enumerate(lines) if line.startswith("# %%")]
    for start, end in zip(starts, [*starts[1:], len(lines)], strict=True):
        yield start + 1, lines[start:end]


def _has_todo(lines_above: list[str]) -> bool:
    for line in reversed(lines_above):
        if line.lstrip().startswith("# TODO: "):
            return True
        if not line.lstrip().startswith("#"):
            return False
    return False


def _check_docstrings(path: Path, text: str) -> None:
    try:
        module = ast.parse(text)
    except SyntaxError as error:
        raise _problem(path, error.lineno or 1, f"this is not Python ({error.msg}): mend it first.") from error
    lines = text.splitlines()
    for node in module.body:
        if not isinstance(node, ast.FunctionDef | ast.ClassDef):
            continue
        is_exercise = any(BEGIN_SOLUTION in line for line in lines[node.lineno - 1 : node.end_lineno])
        if is_exercise and not ast.get_docstring(node):
            raise _problem(path, node.lineno, f"{node.name} has no docstring: state its shapes and rules.")


def _problem(path: Path, number: int, sentence: str) -> BuildError:
    return BuildError(f"solutions/{path.name}:{number}: {sentence}")
