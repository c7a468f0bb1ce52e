"""The notebook of each unit, made from its source and its quiz, and the configuration of an nbgrader course."""

from __future__ import annotations

import ast
import json
import re
from pathlib import Path
from typing import TYPE_CHECKING

from grader.course.build import BEGIN_SOLUTION, END_SOLUTION, BuildError, read_source
from grader.files import PACKAGE
from grader.integrations.nbgrader import IN_PLACE_OF
from grader.integrations.release import ReleaseError
from grader.quizzes.items import BugItem, ChoiceItem, Item, OrderItem, ShapeItem
from grader.quizzes.quiz_source import Quiz
from grader.quizzes.sheet import heading, kind_line
from grader.quizzes.sheet_reader import WHAT_TO_WRITE
from grader.reports.scoring import quiz_points

if TYPE_CHECKING:
    from collections.abc import Iterator

    from nbformat import NotebookNode

    from grader.course.model import Course
    from grader.quizzes.questions import Question
    from grader.reports.scoring import Rubric

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


def notebooks_of(course: Course, rubric: Rubric) -> dict[str, NotebookNode]:
    """Return the notebook of every unit. Raises ReleaseError if the units do not match their sources."""
    notebooks = {}
    for unit, points in rubric.possible(course).items():
        cells = _unit_cells(course.solutions / f"{unit}.py", course, points)
        if isinstance(quiz := rubric.quizzes.get(unit), Quiz):
            cells += _quiz_cells(quiz, quiz_points(quiz, course))
        notebooks[unit] = _notebook(cells)
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


def _notebook(cells: list[NotebookNode]) -> NotebookNode:
    """Return a notebook with these cells."""
    import nbformat

    for position, cell in enumerate(cells):
        # These ids are the same in each release; jupytext's are random.
        cell.id = cell.metadata.get("nbgrader", {}).get("grade_id", f"text-{position}")
        cell.metadata.pop("lines_to_next_cell", None)
    metadata = {
        "kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"},
        "language_info": {"name": "python"},
    }
    notebook: NotebookNode = nbformat.v4.new_notebook(cells=cells, metadata=metadata)
    nbformat.validate(notebook)
    return notebook


def _unit_cells(source: Path, course: Course, points: dict[str, int]) -> list[NotebookNode]:
    """Return the cells of a unit's source, with a test cell below each exercise."""
    import nbformat

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


def _quiz_cells(quiz: Quiz, points: dict[str, int]) -> Iterator[NotebookNode]:
    """Yield the cells of a quiz: for each item a question, a cell for the answer, and a test cell."""
    import nbformat

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
        case ChoiceItem():
            right = [letter for letter, choice in item.options().items() if choice.right]
            if item.kind == "true_false":
                return str(item.options()[right[0]].text == "true")
        case BugItem():
            right = [letter for letter, number in item.options().items() if number == item.wrong_line()]
        case OrderItem():
            right = item.answer.split()
        case ShapeItem():
            return repr(tuple(item.row(0)["answer"]))
        case _:
            return repr(item.row(0)["answer"])
    return json.dumps(" ".join(right))


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
    while missing := [one for one in statements if one not in needed and names & _bound(one)]:
        needed += missing
        used = (node.id for statement in missing for node in ast.walk(statement) if isinstance(node, ast.Name))
        names = names.union(used)
    return "\n\n\n".join(ast.unparse(statement) for statement in statements if statement in needed)


def _bound(statement: ast.stmt) -> set[str]:
    """Return the names that a top-level statement binds."""
    if isinstance(statement, ast.FunctionDef | ast.ClassDef):
        return {statement.name}
    if isinstance(statement, ast.Import | ast.ImportFrom):
        return {alias.asname or alias.name.split(".")[0] for alias in statement.names}
    return {node.id for node in ast.walk(statement) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}


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
    import nbformat

    metadata = {"nbgrader": {"schema_version": 3, "task": False, **marks}}
    made: NotebookNode = nbformat.v4.new_code_cell(source, metadata=metadata)
    return made
