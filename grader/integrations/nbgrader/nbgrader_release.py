"""The source of an nbgrader course: the notebook of each unit, from its source and its quiz, and the configuration.

What an instructor has added or edited stays, and old notebooks are kept.
"""

from __future__ import annotations

import ast
import datetime
import json
import re
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import nbformat
from nbformat import NotebookNode

from grader.course.build import BEGIN_SOLUTION, END_SOLUTION, BuildError, read_source
from grader.course.model import Course
from grader.files import PACKAGE, write_atomically
from grader.integrations.nbgrader import IN_PLACE_OF
from grader.integrations.nbgrader.notebook_merge import Merge
from grader.integrations.release import ReleaseError
from grader.quizzes.items import (
    BugItem,
    ChoiceItem,
    Item,
    NumberItem,
    OrderItem,
    ShapeItem,
    accepted_answer,
    right_letters,
)
from grader.quizzes.questions import Question
from grader.quizzes.quiz_source import QuizSource
from grader.quizzes.sheet import heading, kind_line
from grader.quizzes.sheet_reader import WHAT_TO_WRITE
from grader.reports.scoring import Rubric, quiz_points
from grader.sandbox.statements import bound_names
from grader.submissions.notebook import METADATA

CONFIGURATION = "nbgrader_config.py"
_ABOUT_THE_NOTEBOOK = """\
**About this notebook.** Hand in the whole notebook; it is graded afterwards. The cell below each exercise will show its
points; there is nothing to do there. You may add cells anywhere, but keep the ones that are here. To check your work,
run your code with the numbers of the text. Notes on a file and on `pytest` are about the same unit as a script."""

_ABOUT_THE_QUIZ = """\
How to answer: replace each `...` with your answer, in the form that the comment above it shows. Text needs quotes,
numbers and shapes do not. Keep the names `answer_1`, `answer_2` and so on. The quiz counts once the due date has
passed; before it, nothing is marked as right or wrong.

How points are given: an answer earns all points of its question or none, except in two kinds of questions. Of several
choices, from one to all but one are right: you earn the share of the right choices that you chose, less the share of
the wrong choices that you chose. If steps are to be put in order, each pair of steps in the right order earns its share
of the points, and each other pair costs as much. The points of a question are never below zero, and are rounded down. A
missing answer earns nothing. A number is right within one unit of the last decimal that is asked for, so 0.25 is right
for 0.250."""

# nbgrader gives full marks to a test cell without output. If nbgrader's own Execute runs this cell, it fails instead,
# because only `grader` may give points. For anyone else who runs the notebook it passes.
_TEST_CELL = """\
# {name} is graded by `grader` once you have handed in: there is nothing to do in this cell.
### BEGIN HIDDEN TESTS
import os
assert os.environ.get("NBGRADER_EXECUTION") != "autograde", "graded by `grader` alone"
### END HIDDEN TESTS"""

HISTORY = "source_history"
"""The folder of earlier notebooks. It is beside source/, whose files students receive."""
AS_RELEASED = "as_released"
"""The folder in HISTORY with each notebook as the last release made it. What differs from it is the instructor's."""


def notebooks_of(course: Course, rubric: Rubric) -> dict[str, NotebookNode]:
    """Return the notebook of every unit. Raises ReleaseError if the units do not match their sources."""
    notebooks: dict[str, NotebookNode] = {}
    for unit, points in rubric.possible(course).items():
        cells = _unit_cells(course.solutions / f"{unit}.py", course, points)
        if isinstance(quiz := rubric.quizzes.get(unit), QuizSource):
            cells += _quiz_cells(quiz, quiz_points(quiz, course))
        for position, cell in enumerate(cells):
            # These ids are the same in each release; jupytext's are random.
            cell.id = cell.metadata.get("nbgrader", {}).get("grade_id", f"text-{position}")
            cell.metadata.pop("lines_to_next_cell", None)
        notebooks[unit] = nbformat.v4.new_notebook(cells=cells, metadata=METADATA)
        nbformat.validate(notebooks[unit])
    return notebooks


def configuration_of(course: Course) -> str:
    """Return the text of nbgrader_config.py."""
    imported, configured = configure_lines(course)
    identifier = re.sub(r"\W+", "_", course.name.lower()).strip("_")
    lines = [imported, "", "c = get_config()", f'c.CourseDirectory.course_id = "{identifier}"', configured, ""]
    return "\n".join(lines)


def configure_lines(course: Course) -> tuple[str, str]:
    """Return the two lines of nbgrader_config.py without which nbgrader grades by itself and gives no points."""
    folder = "" if course.root == PACKAGE.parent else f", course={str(course.root)!r}"
    return "from grader.integrations.nbgrader import configure", f"configure(c{folder})"


def is_configured(directory: Path) -> bool:
    """Return whether the nbgrader_config.py in `directory` calls `configure`."""
    try:
        tree = ast.parse((directory / CONFIGURATION).read_bytes())
    except (OSError, SyntaxError, ValueError):
        return False
    calls = (node.func for node in ast.walk(tree) if isinstance(node, ast.Call))
    return any("configure" in (getattr(call, "id", ""), getattr(call, "attr", "")) for call in calls)


def _unit_cells(source: Path, course: Course, points: dict[str, int]) -> list[NotebookNode]:
    """Return the cells of a unit's source, with a test cell below each exercise."""
    try:
        read = read_source(source, course)
    except BuildError as error:
        raise ReleaseError(str(error)) from error
    first, *others = read.cells
    cells = [first, nbformat.v4.new_markdown_cell(_ABOUT_THE_NOTEBOOK)]
    exercises = []
    for cell in others:
        marks = cell.metadata.get("nbgrader", {})
        cells.append(cell if marks or cell.cell_type != "code" else _self_contained(cell, source.parent))
        if marks.get("solution"):
            exercises.append(marks["grade_id"])
            cells.append(_test_cell(marks["grade_id"], marks["grade_id"], points.get(marks["grade_id"], 0)))
    if set(exercises) != set(points):
        wrong = ", ".join(sorted(set(exercises) ^ set(points)))
        raise ReleaseError(
            f"solutions/{source.name} and the course do not name the same exercises ({wrong}): "
            "fix the one that is wrong."
        )
    return cells


def _quiz_cells(quiz: QuizSource, points: dict[str, int]) -> Iterator[NotebookNode]:
    """Yield the cells of a quiz: for each item a question, a cell for the answer, and a test cell."""
    yield nbformat.v4.new_markdown_cell(f"# {quiz.title}\n\n{_ABOUT_THE_QUIZ}")
    for number, (name, item) in enumerate(quiz.items.items(), start=1):
        question, answer = item.asked(), f"answer_{number}"
        yield nbformat.v4.new_markdown_cell(f"## {number}. {heading(name)}\n\n{_asked(question)}")
        solution = _solution(f"{answer} = {_right_answer(item)}", f"{answer} = ...")
        form = WHAT_TO_WRITE[question.kind]
        yield _answer_cell(f"quiz_{name}", f"# {form[0].upper()}{form[1:]}.\n{solution}")
        yield _test_cell(f"quiz_{name}", answer, points[name])


def _asked(question: Question) -> str:
    """Return a question as Markdown. All notebooks have the same variant."""
    blocks = [f"*{kind_line(question)}*", question.text(0)]
    if question.code:
        blocks.append(f"```python\n{question.code}\n```")
    if question.kind != "true_false":  # its answer is a Python keyword
        options = (f"- {letter}) {text}" for letter, text in question.options(0).items())
        blocks.append("\n".join(option.replace("\n", "\n  ") for option in options))
    return "\n\n".join(filter(None, blocks))


def _right_answer(item: Item) -> str:
    """Return the right answer as Python, in the form that students are asked for."""
    match item:
        case ChoiceItem(kind="true_false"):
            return str(accepted_answer(item, 0) == "true")
        case ChoiceItem() | BugItem() | OrderItem():
            return json.dumps(" ".join(right_letters(item)))
        case ShapeItem():
            return repr(tuple(item.row(0)["answer"]))
        case NumberItem():
            return repr(item.row(0)["answer"])


def _self_contained(cell: NotebookNode, solutions: Path) -> NotebookNode:
    """Return a code cell with definitions in place of its imports from other units, which a notebook cannot import.

    Students get a cell with the imports, and paste their own answers over them.
    """
    statements = ast.parse(cell.source).body
    siblings = [
        statement
        for statement in statements
        if isinstance(statement, ast.ImportFrom) and (solutions / f"{statement.module}.py").is_file()
    ]
    if not siblings:
        return cell
    # Comments are dropped: beside such an import they are for formatters of scripts.
    texts = []
    for statement in statements:
        text = ast.unparse(statement)
        if statement in siblings:
            names = {alias.name for alias in statement.names}
            text = _solution(_definitions(solutions / f"{statement.module}.py", names), text)
        texts.append(text)
    return _answer_cell(f"from_{siblings[0].module}", "\n".join(texts))


def _definitions(source: Path, names: set[str]) -> str:
    """Return the definitions of these names in a unit's solution, and of all names that they use."""
    # A demo binds names too, but no definition uses them.
    statements = [one for one in ast.parse(source.read_text(encoding="utf-8")).body if not isinstance(one, ast.If)]
    needed: list[ast.stmt] = []
    while missing := [one for one in statements if one not in needed and names.intersection(bound_names(one))]:
        needed += missing
        used = (node.id for statement in missing for node in ast.walk(statement) if isinstance(node, ast.Name))
        names = names.union(used)
    return "\n\n\n".join(ast.unparse(statement) for statement in statements if statement in needed)


def _solution(solution: str, stub: str) -> str:
    """Return a solution that a release replaces by one line."""
    return f"### {BEGIN_SOLUTION}{IN_PLACE_OF}{stub}\n{solution}\n### {END_SOLUTION}"


def _answer_cell(grade_id: str, source: str) -> NotebookNode:
    return _cell(source, grade_id=grade_id, grade=False, locked=False, solution=True)


def _test_cell(of: str, name: str, points: int) -> NotebookNode:
    """Return the cell that gets the points of the answer cell `of`. Students know the answer as `name`."""
    source = _TEST_CELL.format(name=name)
    return _cell(source, grade_id=f"test_{of}", grade=True, locked=True, solution=False, points=points)


def _cell(source: str, **marks: str | int) -> NotebookNode:
    metadata = {"nbgrader": {"schema_version": 3, "task": False, **marks}}
    made: NotebookNode = nbformat.v4.new_code_cell(source, metadata=metadata)
    return made


@dataclass
class ReleasedNotebooks:
    """What a release did.

    Attributes:
        written: The files that are new.
        replaced: The notebooks that changed, and where the old ones are.
        kept: Sentences on texts of the instructor's that the course has changed too.
    """

    written: list[Path] = field(default_factory=list)
    replaced: dict[Path, Path] = field(default_factory=dict)
    kept: list[str] = field(default_factory=list)


def release_nbgrader(directory: Path, course: Course, rubric: Rubric) -> ReleasedNotebooks:
    """Write the source of an nbgrader course: source/<unit>/<unit>.ipynb for every unit, and nbgrader_config.py.

    A notebook that is there is merged with the new one. An existing nbgrader_config.py is not changed.

    Raises:
        ReleaseError: The units do not match their sources, or a cell cannot be merged. Nothing was written.
    """
    if directory.exists() and not directory.is_dir():
        raise ReleaseError(f"{directory} is a file: name a directory for the nbgrader course.")
    updates = [_Update(directory, unit, notebook) for unit, notebook in notebooks_of(course, rubric).items()]
    if refused := [sentence for update in updates for sentence in update.refused]:
        raise ReleaseError("\n".join(["Nothing was written.", *refused]))
    released = ReleasedNotebooks(kept=[sentence for update in updates for sentence in update.kept])
    earlier = _new_folder(directory / HISTORY)
    for update in updates:
        update.write(earlier, released)
    configuration = directory / CONFIGURATION
    if not configuration.exists():
        write_atomically(configuration, configuration_of(course))
        released.written.append(configuration)
    return released


def next_commands(directory: Path, units: list[str]) -> list[str]:
    """Return nbgrader's commands that bring its files up to date with the source; if they are, that begin a unit."""
    commands: list[str] = []
    for unit in units:
        made = directory / "release" / unit / f"{unit}.ipynb"
        if made.exists() and made.stat().st_mtime_ns < _source(directory, unit).stat().st_mtime_ns:
            commands.append(f"nbgrader generate_assignment {unit} --force")
            for command, folder in {"autograde": "autograded", "generate_feedback": "feedback"}.items():
                if any(directory.glob(f"{folder}/*/{unit}")):
                    commands.append(f"nbgrader {command} {unit} --force")
    fresh = (unit for unit in units if not (directory / "release" / unit).exists())
    return commands or [f"nbgrader generate_assignment {unit}" for unit in [next(fresh, None)] if unit]


class _Update:
    """The notebook of a unit in a course folder, and what becomes of it."""

    def __init__(self, directory: Path, unit: str, new: NotebookNode) -> None:
        self._path, self._base_path = _source(directory, unit), directory / HISTORY / AS_RELEASED / f"{unit}.ipynb"
        self._new = new
        self._own = own = read_notebook(self._path) if self._path.exists() else None
        self.refused: list[str] = []
        self.kept: list[str] = []
        self._merged: list[NotebookNode] = new.cells
        if own:
            base = read_notebook(self._base_path) if self._base_path.exists() else None
            merge = Merge(base.cells if base else None, own.cells, new.cells)
            self._merged = merge.cells
            self.refused = [f"{self._path}, {sentence}" for sentence in merge.refused]
            self.kept = [f"{self._path}, {sentence}" for sentence in merge.kept]
            if self.refused:
                self.refused.append(
                    f"The cells of the last release are in {self._base_path}."
                    if base
                    else f"There is no {self._base_path} to compare with: move {self._path} to another folder, release "
                    "again, and copy your own cells into the new notebook."
                )

    def write(self, earlier: Path, released: ReleasedNotebooks) -> None:
        """Write the notebook if it changes, after a copy of the old one."""
        if self._own is None:
            _write(self._path, self._new)
            released.written.append(self._path)
        elif self._own.cells != self._merged:
            kept = earlier / self._path.name
            kept.parent.mkdir(parents=True, exist_ok=True)
            write_atomically(kept, self._path.read_bytes())
            self._own.cells = self._merged
            _write(self._path, self._own)
            released.replaced[self._path] = kept
        # At the end: a release that is cut off is merged again by the next one.
        _write(self._base_path, self._new)


def _source(directory: Path, unit: str) -> Path:
    return directory / "source" / unit / f"{unit}.ipynb"


def _new_folder(parent: Path) -> Path:
    """Return a folder that does not exist, named by the current time."""
    now = datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%d_%H%M%S")
    names = (f"{now}_{number}" if number else now for number in range(1000))
    return next(parent / name for name in names if not (parent / name).exists())


def read_notebook(path: Path) -> NotebookNode:
    """Return a notebook, with an id for each cell. Raises ReleaseError."""
    line = ""
    try:
        with warnings.catch_warnings(action="ignore"):  # nbformat's, about the ids that it corrects
            notebook: NotebookNode = nbformat.read(path, as_version=4)
        if notebook.nbformat_minor < 5:
            notebook = nbformat.v4.upgrade(notebook)
        is_notebook = all(isinstance(cell.source, str) and isinstance(cell.metadata, dict) for cell in notebook.cells)
    except (OSError, ValueError, AttributeError, KeyError, TypeError, nbformat.ValidationError) as error:
        is_notebook = False
        if isinstance(error.__cause__, json.JSONDecodeError):
            line = f":{error.__cause__.lineno}"
    if not is_notebook:
        raise ReleaseError(
            f"{path}{line} is not a notebook: correct it, or move it to another folder and release again."
        )
    return notebook


def _write(path: Path, notebook: NotebookNode) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(path, f"{nbformat.writes(notebook)}\n")
