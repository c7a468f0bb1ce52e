"""How submitted notebooks are read, whichever program wrote them, and what replaces unreadable ones."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbformat import NotebookNode
from nbgrader.api import Gradebook
from nbgrader.converters.base import NbGraderException
from small_course import UNIT, SmallCourse

ADD = "def add(a, b):\n    return a + b"
OWN = "print('a cell of my own')"

Notebook = dict[str, Any]
Written = Callable[[Notebook], Notebook | str | bytes]
"""Takes the answered release and returns it as some program writes it, or another content of the file."""


@pytest.fixture(scope="module")
def course(tmp_path_factory: pytest.TempPathFactory) -> SmallCourse:
    return SmallCourse(tmp_path_factory.mktemp("course"))


@pytest.fixture
def answered(course: SmallCourse) -> Notebook:
    """The release with an answer to `add` and a cell of the student's own."""
    notebook: Notebook = json.loads(course.release_path.read_text(encoding="utf-8"))
    [cell] = [cell for cell in notebook["cells"] if marks_of(cell).get("grade_id") == "add"]
    cell["source"] = ADD.splitlines(keepends=True)
    notebook["cells"].insert(0, code_cell(OWN))
    return notebook


def marks_of(cell: Any) -> dict[str, Any]:
    marks: dict[str, Any] = cell["metadata"].get("nbgrader", {})
    return marks


def code_cell(source: str) -> dict[str, Any]:
    return {"cell_type": "code", "id": "own", "execution_count": 1, "metadata": {}, "outputs": [], "source": source}


def sources(notebook: NotebookNode) -> dict[str, str]:
    return {cell.metadata.nbgrader.grade_id: cell.source for cell in notebook.cells if cell.metadata.get("nbgrader")}


def read(course: SmallCourse, student: str, content: Notebook | str | bytes) -> NotebookNode:
    """The notebook in autograded/ that is made from a submission, which is unchanged."""
    content = json.dumps(content) if isinstance(content, dict) else content
    content = content.encode() if isinstance(content, str) else content
    path = course.handed_in(student)
    path.write_bytes(content)
    course.autograde(student)
    assert path.read_bytes() == content
    return course.autograded(student)


# -- as programs write them --------------------------------------------------------------------------------------


def by_colab(notebook: Notebook) -> Notebook:
    for number, cell in enumerate(notebook["cells"]):
        cell.pop("id")
        cell["metadata"]["id"] = f"Xy{number}"
        if cell["cell_type"] == "code":
            cell["metadata"]["colab"] = {"base_uri": "https://localhost:8080/"}
            cell["outputs"] = [
                {"output_type": "display_data", "data": {"text/plain": ["7"]}, "metadata": {"tags": []}},
            ]
    kernel = {"display_name": "Python 3", "name": "python3"}
    metadata = {"colab": {"provenance": [], "toc_visible": True}, "kernelspec": kernel, "accelerator": "GPU"}
    return {"nbformat": 4, "nbformat_minor": 0, "metadata": metadata, "cells": notebook["cells"]}


def by_visual_studio_code(notebook: Notebook) -> Notebook:
    for cell in notebook["cells"]:
        cell.pop("id")
        cell["metadata"]["vscode"] = {"languageId": "python"}
    metadata = {"kernelspec": {"display_name": ".venv", "language": "python", "name": "venv"}, "orig_nbformat": 4}
    return {"nbformat": 4, "nbformat_minor": 2, "metadata": metadata, "cells": notebook["cells"]}


def by_jupyterlab(notebook: Notebook) -> Notebook:
    for number, cell in enumerate(notebook["cells"]):
        cell["id"] = f"3f1c{number:04}-9d7e-4c0a"
        if cell["cell_type"] == "code":
            cell["metadata"]["execution"] = {"iopub.execute_input": "2027-02-01T10:00:00.000Z"}
            cell["metadata"]["trusted"] = True
            cell["outputs"] = [{"output_type": "stream", "name": "stderr", "text": ["a warning\n"]}]
    return {**notebook, "nbformat_minor": 5}


def by_an_older_jupyter(minor: int) -> Written:
    def write(notebook: Notebook) -> Notebook:
        for cell in notebook["cells"]:
            cell.pop("id")
        return {**notebook, "nbformat_minor": minor}

    return write


def by_a_very_old_jupyter(notebook: Notebook) -> Notebook:
    cells = notebook["cells"]
    for cell in cells:
        cell.pop("id")
        if cell["cell_type"] == "code":
            cell["input"] = cell.pop("source")
            cell["prompt_number"] = cell.pop("execution_count")
            cell["language"] = "python"
    cells.append({"cell_type": "heading", "level": 2, "source": ["The end"], "metadata": {}})
    return {"nbformat": 3, "nbformat_minor": 0, "metadata": {"name": ""}, "worksheets": [{"cells": cells}]}


def on_windows(notebook: Notebook) -> bytes:
    for cell in notebook["cells"]:
        cell["source"] = "".join(cell["source"]).replace("\n", "\r\n")
    return b"\xef\xbb\xbf" + json.dumps(notebook, indent=1).replace("\n", "\r\n").encode()


def without_any_metadata(notebook: Notebook) -> Notebook:
    cells = [{"cell_type": cell["cell_type"], "source": cell["source"]} for cell in notebook["cells"]]
    return {"cells": cells}


def with_cells_that_are_none(notebook: Notebook) -> Notebook:
    halves = {"cell_type": "code", "source": "print('\ud800')", "metadata": {}, "outputs": []}
    nonsense: list[Any] = [None, 3, "cell", [], {}, {"cell_type": []}, {"cell_type": "code"}, {"cell_type": "poem"}]
    nonsense += [{"cell_type": "code", "source": source, "metadata": 3} for source in (None, 7, ["a", 1], {"a": 1})]
    nonsense += [{"cell_type": "html", "source": "<b>", "metadata": []}, halves]
    return {**notebook, "cells": [*nonsense, *notebook["cells"]]}


def with_outputs_of_50_MB(notebook: Notebook) -> Notebook:
    code = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    for cell in code[:5]:
        cell["outputs"] = [{"output_type": "no such type", "data": {"image/png": "iVBORw0K" * (10 * 2**17)}}]
    return notebook


WRITTEN: list[Written] = [
    by_colab, by_visual_studio_code, by_jupyterlab, *map(by_an_older_jupyter, (1, 2, 3, 4)), by_a_very_old_jupyter,
    on_windows, with_cells_that_are_none, with_outputs_of_50_MB,
]  # fmt: skip


@pytest.mark.parametrize("write", WRITTEN, ids=lambda write: write.__name__)
def test_notebooks_of_all_programs_are_read(write: Written, answered: Notebook, course: SmallCourse) -> None:
    notebook = read(course, f"student-{WRITTEN.index(write)}", write(answered))
    nbformat.validate(notebook)
    assert (notebook.nbformat, notebook.nbformat_minor) == (4, 5)
    assert notebook.metadata == course.release.metadata
    assert sources(notebook) == {**sources(course.release), "add": ADD}
    assert OWN in [cell.source for cell in notebook.cells]
    assert not any(cell.get("outputs") or cell.get("execution_count") for cell in notebook.cells)


def test_without_metadata_code_is_found_by_its_definitions(answered: Notebook, course: SmallCourse) -> None:
    notebook = read(course, "bare", without_any_metadata(answered))
    assert sources(notebook) == {**sources(course.release), "add": ADD}


def test_too_many_or_too_large_cells_are_left_out(answered: Notebook, course: SmallCourse) -> None:
    large = {"cell_type": "markdown", "metadata": {}, "source": "data:image/png;base64," + "A" * 2**21}
    many = [code_cell(f"print({number})") for number in range(3000)]
    notebook = read(course, "much", {**answered, "cells": [large, *answered["cells"], *many]})
    assert sources(notebook) == {**sources(course.release), "add": ADD}
    assert len(notebook.cells) == 1000
    assert max(len(cell.source) for cell in notebook.cells) < 10_000


def test_cells_beyond_the_limit_for_all_cells_are_left_out(answered: Notebook, course: SmallCourse) -> None:
    large = [code_cell(f"print({number})  # {'A' * 600_000}") for number in range(2)]
    notebook = read(course, "much-together", {**answered, "cells": [*answered["cells"], *large]})
    assert sources(notebook) == {**sources(course.release), "add": ADD}
    assert [cell.source[:8] for cell in notebook.cells if len(cell.source) > 10_000] == ["print(0)"]


# -- what cannot be read -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("student", "content", "why"),
    [
        ("empty", "", "is empty"),
        ("cut-off", '{"cells": [{"cell_type": "co', "is a notebook that is cut off in line 1"),
        ("deep", "[" * 100_000, "cannot be read, because it is nested too deeply"),
        ("list", "[1, 2]", "is not a notebook (it has no cells)"),
        ("no-cells", '{"cells": "many"}', "is not a notebook (it has no cells)"),
        ("archive", b"PK\x03\x04\x00\x00", "is a zip archive"),
        ("zeros", b"{\x00\x00}", "has a zero byte in line 1"),
        ("no-text", b'{"cells": ["\xff"]}', "is not UTF-8"),
    ],
)
def test_the_release_replaces_a_file_that_is_not_a_notebook(
    student: str, content: str | bytes, why: str, course: SmallCourse, caplog: pytest.LogCaptureFixture
) -> None:
    assert read(course, student, content).cells == with_their_checksums(course)
    assert f"positional_encoding/positional_encoding.ipynb {why}" in caplog.text


def a_folder(path: Path) -> None:
    path.mkdir()
    (path / "file").write_text("", encoding="utf-8")


def a_link(path: Path) -> None:
    shutil.copy(path.parents[3] / "source" / UNIT / path.name, path.parents[3] / "solutions.ipynb")
    path.symlink_to(path.parents[3] / "solutions.ipynb")


def a_link_to_nothing(path: Path) -> None:
    path.symlink_to("nowhere")


def a_hard_link(path: Path) -> None:
    os.link(path.parents[3] / "release" / UNIT / path.name, path)


def a_pipe(path: Path) -> None:
    os.mkfifo(path)


def a_large_file(path: Path) -> None:
    with path.open("wb") as file:
        file.truncate(5 * 2**30)


def another_name(path: Path) -> None:
    path.with_name("Untitled.ipynb").write_text('{"cells": []}', encoding="utf-8")
    path.with_name("small-Copy1.ipynb").write_text('{"cells": []}', encoding="utf-8")


@pytest.mark.proof(part="nbgrader")
@pytest.mark.parametrize(
    ("make", "why"),
    [
        (a_folder, "is a folder"),
        (a_link, "is a symbolic link"),
        (a_link_to_nothing, "is a symbolic link"),
        (a_hard_link, "is a hard link"),
        (a_pipe, "is a named pipe"),
        (a_large_file, "is 5.0 GB"),
        (another_name, "is missing"),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_the_release_replaces_something_that_is_not_a_file(
    make: Callable[[Path], None], why: str, course: SmallCourse, caplog: pytest.LogCaptureFixture
) -> None:
    path = course.handed_in(make.__name__)
    make(path)
    listed = sorted(path.parent.iterdir())
    course.autograde(make.__name__)
    assert course.autograded(make.__name__).cells == with_their_checksums(course)
    assert f"positional_encoding/positional_encoding.ipynb {why}" in caplog.text
    assert sorted(path.parent.iterdir()) == listed


def with_their_checksums(course: SmallCourse) -> list[NotebookNode]:
    """The release's cells, as nbgrader writes them into autograded/: it takes the checksums from the gradebook."""
    cells: list[NotebookNode] = nbformat.read(course.release_path, as_version=4).cells
    with Gradebook(f"sqlite:///{course.folder}/gradebook.db") as gradebook:
        for cell in cells:
            if marks := marks_of(cell):
                marks["checksum"] = gradebook.find_source_cell(marks["grade_id"], UNIT, UNIT).checksum
    return cells


def test_another_notebook_in_the_folder_is_ignored(answered: Notebook, course: SmallCourse) -> None:
    another_name(course.handed_in("two"))
    assert sources(read(course, "two", answered))["add"] == ADD
    assert [path.name for path in (course.folder / "autograded" / "two" / UNIT).iterdir()] == [f"{UNIT}.ipynb"]


@pytest.mark.proof(part="nbgrader")
def test_after_an_unreadable_notebook_all_others_are_graded(answered: Notebook, course: SmallCourse) -> None:
    for student, content in {"a": json.dumps(answered), "b": "{", "c": json.dumps(answered)}.items():
        course.handed_in(f"class-{student}").write_text(content, encoding="utf-8")
    course.autograde("class-*")
    with Gradebook(f"sqlite:///{course.folder}/gradebook.db") as gradebook:
        submissions = {one.student.id: one for one in gradebook.assignment_submissions(UNIT)}
        for student in ("class-a", "class-b", "class-c"):
            assert len(submissions[student].notebooks[0].grades) == 7


# -- what belongs to the course ----------------------------------------------------------------------------------


@pytest.mark.proof(part="nbgrader")
def test_a_missing_release_is_reported_with_the_fix(
    answered: Notebook, course: SmallCourse, caplog: pytest.LogCaptureFixture
) -> None:
    hidden = course.release_path.rename(course.release_path.with_suffix(".hidden"))
    try:
        with pytest.raises(NbGraderException):
            read(course, "early", answered)
    finally:
        hidden.rename(course.release_path)
    assert "run `nbgrader generate_assignment positional_encoding --force`" in (caplog.text)


def test_a_release_without_ids_is_accepted(answered: Notebook, course: SmallCourse) -> None:
    kept = course.release_path.read_bytes()
    try:
        course.release_path.write_text(json.dumps(by_an_older_jupyter(4)(json.loads(kept))), encoding="utf-8")
        notebook = read(course, "ada", answered)
    finally:
        course.release_path.write_bytes(kept)
    nbformat.validate(notebook)
    assert sources(notebook)["add"] == ADD
