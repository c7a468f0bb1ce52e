"""Make the example class: the answers of eight made-up students, to try the grader.

    python examples/make_class.py OUT

Three students are written by hand, in examples/class/. The other five are made from solutions/ and exercises/.
Everyone's quiz sheets are made from examples/answers.yml. Two runs write the same bytes.
"""

from __future__ import annotations

import ast
import re
import shutil
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import yaml

from grader.audit.cases import definitions_in, needed_by
from grader.course.model import Course, load_course
from grader.documents import CourseError
from grader.quizzes.items import BugItem, ChoiceItem, Item, OrderItem, ShapeItem
from grader.quizzes.questions import rendered
from grader.quizzes.quiz_source import QuizSource, load_quizzes
from grader.quizzes.sheet import write_sheet

if TYPE_CHECKING:
    from nbformat import NotebookNode

# Where each student hands in: the grader looks at the root of the folder and in exercises/.
FOLDERS = {
    "ada": "exercises", "bela": ".", "chen": "exercises", "dina": ".", "emil": "exercises", "farah": ".",
    "gus": "exercises", "mallory": "exercises",
}  # fmt: skip
SCRIPTS = ("ada", "chen", "emil")

CHEN_UNITS = 3

EMIL_FORWARD = """\
        queries = self.W_query(inputs)  # (T, d_in) -> (T, d_out)
        keys = self.W_key(inputs)
        values = self.W_value(inputs)
        contexts, _ = scaled_dot_product_attention(queries, keys, values)
        return contexts
"""
EMIL_FORWARD_UNCLOSED = """\
        return scaled_dot_product_attention(self.W_query(inputs), self.W_key(inputs), self.W_value(inputs)[0]
"""


class Change(NamedTuple):
    """A text that a student wrote instead of one in the solution. Without a text the exercise is not written yet."""

    unit: str
    exercise: str
    old: str = ""
    new: str = ""


CHANGES = {
    "chen": [
        Change("simple_attention", "softmax_stable", "x.max(dim=dim, keepdim=True).values", "x.max()"),
        Change("self_attention", "scaled_dot_product_attention", "/ d_k**0.5", "/ d_k * 0.5"),
        Change("self_attention", "transfer_weights"),
        Change("self_attention", "dot_product_variance"),
        Change("causal_attention", "mask_then_softmax", "masked = scores.masked_fill", "scores.masked_fill"),
        Change("causal_attention", "mask_then_softmax", "torch.softmax(masked /", "torch.softmax(scores /"),
        Change("causal_attention", "attention_dropout"),
        Change("causal_attention", "CausalAttention"),
    ],
    "dina": [
        Change("self_attention", "transfer_weights",
               "for name in names:\n        bias", "for name in names[:1]:\n        bias"),
        Change("causal_attention", "attention_dropout", "weights * keep / (1 - p)", "weights * keep"),
        Change("multi_head_attention", "merge_heads",
               "x.transpose(1, 2)", "x.reshape(x.shape[0], x.shape[2], x.shape[1], -1)"),
        Change("bigram_language_model", "sample_batch", "torch.randint(num_starts,", "torch.randint(num_starts - 1,"),
    ],
    "emil": [Change("self_attention", "SelfAttention_v2", EMIL_FORWARD, EMIL_FORWARD_UNCLOSED)],
}  # fmt: skip


class Look(NamedTuple):
    """A cell that dina added below the one that defines an exercise, with its output or error."""

    unit: str
    below: str
    code: str
    output: str = ""
    error: str = ""


LOOKS = [
    Look("simple_attention", "softmax_naive", "softmax_naive(torch.tensor([1.0, 2.0, 3.0]))",
         "tensor([0.0900, 0.2447, 0.6652])"),
    Look("self_attention", "scaled_dot_product_attention", "x = torch.eye(3)\nscaled_dot_product_attention(x, x, x)[1]",
         "tensor([[0.4711, 0.2645, 0.2645],\n        [0.2645, 0.4711, 0.2645],\n        [0.2645, 0.2645, 0.4711]])"),
    Look("self_attention", "SelfAttention_v2", "torch.manual_seed(789)\nattention = SelfAttention_v2(3, 2)\n"
         "attention(embeddings)  # where did the notebook of unit 1 have them?",
         error="name 'embeddings' is not defined"),
    Look("causal_attention", "causal_mask", "causal_mask(3)",
         "tensor([[False,  True,  True],\n        [False, False,  True],\n        [False, False, False]])"),
]  # fmt: skip
DINA_IMPORT = "from causal_attention import CausalAttention\n"

MALLORY_CLAIM = "\n## 99. All points\n\n- [x] a) ::notice title=points::20 of 20\n"


class ClassError(Exception):
    """An answer cannot be made from its source. The text names the student, the file and what does not fit."""


def make_class(root: Path, out: Path) -> None:
    """Write the answers of every student to `out`/<student>, and replace those that are already there.

    Args:
        root: The course's repository: solutions/, exercises/, examples/ and autograder.yml.
        out: A folder. It is created if it does not exist.

    Raises:
        ClassError: A change or a quiz answer no longer fits its source, or `out` is where the written answers are.
        CourseError: autograder.yml or a quiz is malformed.
    """
    by_hand = root / "examples" / "class"
    if out.resolve() == by_hand.resolve():
        raise ClassError(f"{out} holds the answers written by hand, which would be deleted: name another folder.")
    course = load_course(root)
    units = list(course.units)
    quizzes = load_quizzes(root / "solutions", course.quizzes)
    # The base loader reads every answer as text: 0.50 stays 0.50.
    answers = yaml.load((root / "examples" / "answers.yml").read_text(encoding="utf-8"), Loader=yaml.BaseLoader)
    for student, folder in FOLDERS.items():
        files = {}
        if student in SCRIPTS:
            theirs = units[:CHEN_UNITS] if student == "chen" else units
            files = {f"{unit}.py": _script(root, student, unit) for unit in theirs}
        elif student == "bela":  # exercises that these answers do not have are those of the solution
            files = {f"{unit}.py": _completed(course, by_hand / student / f"{unit}.py", unit) for unit in units}
        elif student == "dina":
            files = {f"{unit}.ipynb": _notebook(root, unit) for unit in units}
        elif student == "gus":
            names = [f"{unit}.py" for unit in units] + [quiz.questions.filename for quiz in quizzes.values()]
            files = {name: (root / "exercises" / name).read_text(encoding="utf-8") for name in names}
        for unit, given in answers.get(student, {}).items():
            if unit not in quizzes:
                raise ClassError(f"{student}, {unit}: the course has no such quiz: adapt examples/answers.yml.")
            files[quizzes[unit].questions.filename] = _sheet(student, quizzes[unit], given)

        shutil.rmtree(out / student, ignore_errors=True)
        if (by_hand / student).is_dir():
            shutil.copytree(by_hand / student, out / student, ignore=shutil.ignore_patterns("__pycache__"))
        (out / student / folder).mkdir(parents=True, exist_ok=True)
        for name, text in files.items():
            (out / student / folder / name).write_text(text, encoding="utf-8", newline="")


# -- scripts -----------------------------------------------------------------------------------------------------


def _completed(course: Course, path: Path, unit: str) -> str:
    """Return the text of an answer, followed by the solution of each exercise that it lacks."""
    own = definitions_in(path)
    missing = [exercise for exercise in course.units[unit].exercises if exercise not in own]
    added = needed_by(course.solutions / f"{unit}.py", *missing, without=own) if missing else []
    return "\n\n\n".join([path.read_text(encoding="utf-8"), *added])


def _script(root: Path, student: str, unit: str) -> str:
    """Return the solution without its markers, with this student's changes."""
    text = (root / "solutions" / f"{unit}.py").read_text(encoding="utf-8")
    text = re.sub(r"(?m)^# %% nbgrader=.*$", "# %%", text)
    text = re.sub(r"(?m)^ *### (BEGIN|END) SOLUTION\n", "", text)
    stubs = _definitions((root / "exercises" / f"{unit}.py").read_text(encoding="utf-8"))
    for _, exercise, old, new in (change for change in CHANGES.get(student, []) if change.unit == unit):
        place = f"{student}, {unit}.py, {exercise}"
        definition = _definitions(text).get(exercise)
        if definition is None:
            raise ClassError(f"{place}: the solution does not define it: adapt examples/make_class.py.")
        text = text.replace(definition, _replaced(definition, old, new, place) if old else stubs[exercise])
    return text


def _definitions(text: str) -> dict[str, str]:
    """Return the text of each function and class at the top level, by name."""
    lines = text.splitlines(keepends=True)
    nodes = [node for node in ast.parse(text).body if isinstance(node, ast.FunctionDef | ast.ClassDef)]
    return {node.name: "".join(lines[node.lineno - 1 : node.end_lineno]) for node in nodes}


def _replaced(text: str, old: str, new: str, place: str) -> str:
    if (count := text.count(old)) != 1:
        raise ClassError(f"{place}: {old!r} occurs {count} times, not once: adapt examples/make_class.py.")
    return text.replace(old, new)


# -- notebooks ---------------------------------------------------------------------------------------------------


def _notebook(root: Path, unit: str) -> str:
    """Return dina's script as a notebook, with the cells that she added and their outputs."""
    import jupytext
    import nbformat

    script = _script(root, "dina", unit)
    if unit == "multi_head_attention":
        unit_3 = _definitions(_script(root, "dina", "causal_attention"))
        own = "# from my notebook of unit 3\n" + unit_3["causal_mask"] + "\n\n" + unit_3["CausalAttention"]
        script = _replaced(script, DINA_IMPORT, own, f"dina, {unit}.ipynb")
    notebook = jupytext.reads(script, fmt="py:percent")
    for look in (look for look in LOOKS if look.unit == unit):
        defined = [re.match(rf"(def|class) {look.below}\b", cell.source) is not None for cell in notebook.cells]
        if defined.count(True) != 1:
            raise ClassError(f"dina, {unit}.ipynb: no cell defines {look.below}: adapt examples/make_class.py.")
        notebook.cells.insert(defined.index(True) + 1, _cell(look))
    code_cells = [cell for cell in notebook.cells if cell.cell_type == "code"]
    for number, cell in enumerate(code_cells, start=1):
        for item in (cell, *(output for output in cell.outputs if output.output_type == "execute_result")):
            item.execution_count = number
    for number, cell in enumerate(notebook.cells):
        cell.id, cell.metadata = f"cell-{number}", {}  # ids are random otherwise
    notebook.metadata = {"kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"}}
    notebook.nbformat_minor = 5  # the first version with ids
    nbformat.validate(notebook)
    return nbformat.writes(notebook) + "\n"


def _cell(look: Look) -> NotebookNode:
    from nbformat.v4 import new_code_cell, new_output

    if look.error:
        traceback = [f"NameError: {look.error}"]
        output = new_output("error", ename="NameError", evalue=look.error, traceback=traceback)
    else:
        output = new_output("execute_result", data={"text/plain": look.output})
    return new_code_cell(look.code, outputs=[output])


# -- quizzes -----------------------------------------------------------------------------------------------------


def _sheet(student: str, quiz: QuizSource, given: Mapping[str, str]) -> str:
    """Write a quiz sheet with the answers of examples/answers.yml."""
    variant = int(given["variant"]) if "variant" in given else None
    answers = {name: _answer(student, item, variant or 0) for name, item in quiz.items.items()}
    for name in list(quiz.items)[int(given.get("answered", len(quiz.items))) :]:
        answers[name] = ""
    own = {name: answer for name, answer in given.items() if name not in ("variant", "answered")}
    if unknown := sorted(own.keys() - quiz.items):
        raise ClassError(
            f"{student}, {quiz.questions.filename}: no item is called {unknown[0]}: adapt examples/answers.yml."
        )
    sheet = write_sheet(quiz.questions, variant, answers | own)
    if student == "bela":
        sheet = re.sub(r"(?m)^- \[([ x])\]", lambda box: f"* [{box[1].upper()}]", sheet).replace("\n", "\r\n")
    return sheet + MALLORY_CLAIM if student == "mallory" else sheet


def _answer(student: str, item: Item, variant: int) -> str:
    """Return the right answer; for bela in another style; for mallory every choice, and no other answer."""
    match item:
        case ChoiceItem() if student == "mallory":
            return item.asked().letters
        case _ if student == "mallory":
            return ""
        case ChoiceItem():
            return " ".join(letter for letter, choice in item.options().items() if choice.right)
        case BugItem():
            return next(letter for letter, line in item.options().items() if line.right)
        case OrderItem():
            return ", ".join(item.answer.split()) if student == "bela" else item.answer
        case ShapeItem() if student == "bela":
            return f"torch.Size({item.row(variant)['answer']})"
        case _:
            return rendered(item.row(variant)["answer"])


def main() -> None:
    if len(sys.argv) != 2:
        sys.exit("usage: python examples/make_class.py OUT")
    try:
        make_class(Path(__file__).resolve().parent.parent, Path(sys.argv[1]))
    except (ClassError, CourseError) as error:
        sys.exit(f"The example class was not made. {error}")


if __name__ == "__main__":
    main()
