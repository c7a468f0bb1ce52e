"""How submitted notebooks are read, whichever program wrote them, and what replaces unreadable ones."""

from __future__ import annotations

import copy
import json
import os
import shutil
from collections.abc import Callable, Mapping
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
Written = Callable[[Notebook], Notebook | bytes]
"""Takes the answered release and returns it as some program writes it, or another content of the file."""


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


def as_bytes(content: Notebook | bytes) -> bytes:
    return content if isinstance(content, bytes) else json.dumps(content).encode()


def read(course: SmallCourse, prefix: str, contents: Mapping[str, bytes]) -> dict[str, NotebookNode]:
    """The notebooks in autograded/ that are made from submissions, which are unchanged. All are read in one run."""
    paths = {name: course.handed_in(f"{prefix}-{name}") for name in contents}
    for name, path in paths.items():
        path.write_bytes(contents[name])
    course.autograde(f"{prefix}-*")
    assert [name for name, path in paths.items() if path.read_bytes() != contents[name]] == []
    return {name: course.autograded(f"{prefix}-{name}") for name in contents}


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


def by_jupyterlab(notebook: Notebook) -> Notebook:
    for number, cell in enumerate(notebook["cells"]):
        cell["id"] = f"3f1c{number:04}-9d7e-4c0a"
        if cell["cell_type"] == "code":
            cell["metadata"]["execution"] = {"iopub.execute_input": "2027-02-01T10:00:00.000Z"}
            cell["metadata"]["trusted"] = True
            cell["outputs"] = [{"output_type": "stream", "name": "stderr", "text": ["a warning\n"]}]
    return {**notebook, "nbformat_minor": 5}


def by_an_older_jupyter(notebook: Notebook) -> Notebook:
    for cell in notebook["cells"]:
        cell.pop("id")
    return {**notebook, "nbformat_minor": 4}


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


def with_too_many_and_too_large_cells(notebook: Notebook) -> Notebook:
    large = {"cell_type": "markdown", "metadata": {}, "source": "data:image/png;base64," + "A" * 2**21}
    many = [code_cell(f"print({number})") for number in range(3000)]
    return {**notebook, "cells": [large, *notebook["cells"], *many]}


WRITTEN: list[Written] = [
    by_colab, by_jupyterlab, by_an_older_jupyter, by_a_very_old_jupyter, on_windows, without_any_metadata,
    with_cells_that_are_none, with_outputs_of_50_MB, with_too_many_and_too_large_cells,
]  # fmt: skip


def test_notebooks_of_all_programs_are_read(answered: Notebook, course: SmallCourse) -> None:
    contents = {write.__name__: as_bytes(write(copy.deepcopy(answered))) for write in WRITTEN}
    for name, notebook in read(course, "written", contents).items():
        nbformat.validate(notebook)
        assert (notebook.nbformat, notebook.nbformat_minor) == (4, 5), name
        assert notebook.metadata == course.release.metadata, name
        assert sources(notebook) == {**sources(course.release), "add": ADD}, name
        assert OWN in [cell.source for cell in notebook.cells], name
        assert not any(cell.get("outputs") or cell.get("execution_count") for cell in notebook.cells), name
        assert len(notebook.cells) <= 1000, name
        assert max(len(cell.source) for cell in notebook.cells) < 10_000, name


def test_cells_beyond_the_limit_for_all_cells_are_left_out(answered: Notebook, course: SmallCourse) -> None:
    large = [code_cell(f"print({number})  # {'A' * 600_000}") for number in range(2)]
    content = as_bytes({**answered, "cells": [*answered["cells"], *large]})
    notebook = read(course, "large", {"one": content})["one"]
    assert sources(notebook) == {**sources(course.release), "add": ADD}
    assert [cell.source[:8] for cell in notebook.cells if len(cell.source) > 10_000] == ["print(0)"]


# -- what cannot be read -----------------------------------------------------------------------------------------


def a_folder(path: Path) -> None:
    path.mkdir()
    (path / "file").write_text("", encoding="utf-8")


def a_link(path: Path) -> None:
    shutil.copy(path.parents[3] / "source" / UNIT / path.name, path.parents[3] / "solutions.ipynb")
    path.symlink_to(path.parents[3] / "solutions.ipynb")


def a_hard_link(path: Path) -> None:
    os.link(path.parents[3] / "release" / UNIT / path.name, path)


def a_large_file(path: Path) -> None:
    with path.open("wb") as file:
        file.truncate(5 * 2**30)


def another_name(path: Path) -> None:
    path.with_name("Untitled.ipynb").write_text('{"cells": []}', encoding="utf-8")
    path.with_name("small-Copy1.ipynb").write_text('{"cells": []}', encoding="utf-8")


UNREADABLE: dict[Callable[[Path], object], str] = {
    lambda path: path.write_text("[1, 2]"): "is not a notebook (it has no cells)",
    lambda path: path.write_bytes(b"PK\x03\x04\x00\x00"): "is a zip archive",
    a_folder: "is a folder",
    a_link: "is a symbolic link",
    a_hard_link: "is a hard link",
    os.mkfifo: "is a named pipe",
    a_large_file: "is 5.0 GB",
    another_name: "is missing",
}


def test_the_release_replaces_what_is_not_a_notebook_and_all_others_are_graded(
    answered: Notebook, course: SmallCourse, caplog: pytest.LogCaptureFixture
) -> None:
    students = {f"unread-{number}": why for number, why in enumerate(UNREADABLE.values())}
    for student, make in zip(students, UNREADABLE, strict=True):
        make(course.handed_in(student))
    notebook = read(course, "unread", {"last": as_bytes(answered)})["last"]
    assert sources(notebook)["add"] == ADD
    for student, why in students.items():
        assert course.autograded(student).cells == with_their_checksums(course), why
        assert f"{student}: {UNIT}/{UNIT}.ipynb {why}" in caplog.text
    with Gradebook(f"sqlite:///{course.folder}/gradebook.db") as gradebook:
        submitted = {one.student.id: one.notebooks[0] for one in gradebook.assignment_submissions(UNIT)}
        assert [student for student in [*students, "unread-last"] if len(submitted[student].grades) != 7] == []


def with_their_checksums(course: SmallCourse) -> list[NotebookNode]:
    """The release's cells, as nbgrader writes them into autograded/: it takes the checksums from the gradebook."""
    cells: list[NotebookNode] = nbformat.read(course.release_path, as_version=4).cells
    with Gradebook(f"sqlite:///{course.folder}/gradebook.db") as gradebook:
        for cell in cells:
            if marks := marks_of(cell):
                marks["checksum"] = gradebook.find_source_cell(marks["grade_id"], UNIT, UNIT).checksum
    return cells


# -- what belongs to the course ----------------------------------------------------------------------------------


def test_a_missing_release_is_reported_with_the_fix_and_one_without_ids_is_accepted(
    answered: Notebook, course: SmallCourse, caplog: pytest.LogCaptureFixture
) -> None:
    kept = course.release_path.read_bytes()
    try:
        course.release_path.unlink()
        with pytest.raises(NbGraderException):
            read(course, "early", {"one": as_bytes(answered)})
        assert "run `nbgrader generate_assignment positional_encoding --force`" in caplog.text
        course.release_path.write_bytes(as_bytes(by_an_older_jupyter(json.loads(kept))))
        notebook = read(course, "early", {"one": as_bytes(answered)})["one"]
    finally:
        course.release_path.write_bytes(kept)
    nbformat.validate(notebook)
    assert sources(notebook)["add"] == ADD
