"""Hostile submissions that are more than a Python file: links, huge files, damaged notebooks, repositories, sheets.

Each function fills one folder of a class; its course is in `base`. To add an attack, add a function.
"""

from __future__ import annotations

import itertools
import json
import os
import re
import shutil
import socket
import subprocess
import textwrap
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from courses import REPOSITORY

from grader.quizzes.items import BugItem, ChoiceItem, Item, accepted_answer
from grader.quizzes.quiz_source import load_quiz
from grader.quizzes.sheet import BLANK, has_boxes, write_sheet
from grader.submissions.submission import SHEET_LIMIT

UNIT = "self_attention"
SCRIPT, NOTEBOOK, SHEET = f"{UNIT}.py", f"{UNIT}.ipynb", f"{UNIT}_quiz.md"
HERE = Path(__file__).resolve().parent
# The honest work of the attackers in these tests, by unit.
HONEST_PARTS = {path.stem: path.read_text(encoding="utf-8") for path in sorted((HERE / "honest_parts").glob("*.py"))}
HONEST_PART = HONEST_PARTS[UNIT]
SOLUTION, QUIZ_SOURCE = f"course/solutions/{SCRIPT}", f"course/solutions/{UNIT}_quiz.yml"
FIVE_GIGABYTES = 5 * 2**30
MEGABYTES_OF_OUTPUTS = 50
IS_ROOT = os.geteuid() == 0


@dataclass(frozen=True)
class Folder:
    """A hostile submission.

    Attributes:
        fill: Writes the submission to an existing folder; its second argument is the base.
        earns: Whether the honest part of its code can be read, and so earns points.
        expected: A text that its report must contain; "" if the report is that of the honest part alone.
        tries: Whether it prints TRIED.
        ticks_earn: Whether the boxes that it ticks in the quiz's sheet earn points.
    """

    fill: Callable[[Path, Path], str | None]
    earns: bool
    expected: str
    tries: bool
    ticks_earn: bool = True
    unit: str = UNIT


FOLDERS: dict[str, Folder] = {}


def hostile(
    expected: str, *, earns: bool, tries: bool = False, ticks_earn: bool = True
) -> Callable[[Callable[[Path, Path], str | None]], None]:
    def keep(fill: Callable[[Path, Path], str | None]) -> None:
        FOLDERS[fill.__name__] = Folder(fill, earns, expected, tries, ticks_earn)

    return keep


def right(item: Item) -> str:
    """Return the right answer as a student writes it."""
    match item:
        case ChoiceItem():
            return " ".join(letter for letter, choice in item.options().items() if choice.right)
        case BugItem():
            return next(letter for letter, line in item.options().items() if line.right)
    return accepted_answer(item, 0)


QUIZ = load_quiz(REPOSITORY / "solutions" / f"{UNIT}_quiz.yml")
RIGHT = {name: right(item) for name, item in QUIZ.items.items()}
TICKED = {name: answer for name, answer in RIGHT.items() if has_boxes(QUIZ.questions.items[name])}
RIGHT_SHEET = write_sheet(QUIZ.questions, None, RIGHT)
# In every folder of the class, unless an attack replaces it.
HONEST_SHEET = write_sheet(QUIZ.questions, None, TICKED)


# -- something else in the place of the answer ----------------------------------------------------------------


@hostile("self_attention.py is a symbolic link", earns=False)
def symbolic_link_to_the_solution(folder: Path, base: Path) -> None:
    (folder / SCRIPT).symlink_to(base / SOLUTION)


@hostile("self_attention.py is a symbolic link", earns=False)
def symbolic_link_to_a_neighbour(folder: Path, _: Path) -> None:
    (folder / SCRIPT).symlink_to(f"../honest/{SCRIPT}")


@hostile("exercises is a symbolic link", earns=False)
def exercises_linked_to_the_solutions(folder: Path, base: Path) -> None:
    (folder / "exercises").symlink_to(base / "course" / "solutions")


@hostile("self_attention.py is a hard link", earns=False)
def hard_link_to_the_solution(folder: Path, base: Path) -> None:
    (folder / SCRIPT).hardlink_to(base / SOLUTION)


@hostile("self_attention.py is a named pipe", earns=False)
def named_pipe(folder: Path, _: Path) -> None:
    os.mkfifo(folder / SCRIPT)


if IS_ROOT:  # only root can make a device

    @hostile("self_attention.py is a device", earns=False)
    def endless_device(folder: Path, _: Path) -> None:
        os.mknod(folder / SCRIPT, 0o020666, os.makedev(1, 5))  # like /dev/zero


@hostile("self_attention.py is a socket", earns=False)
def listening_socket(folder: Path, _: Path) -> None:
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(folder / SCRIPT))


@hostile("self_attention.py is a folder where a file belongs", earns=False)
def folder_in_the_place_of_the_file(folder: Path, _: Path) -> None:
    (folder / SCRIPT).mkdir()
    (folder / SCRIPT / "__init__.py").write_text(HONEST_PART, encoding="utf-8")


@hostile("exercises is a file where a folder belongs", earns=False)
def file_in_the_place_of_the_folder(folder: Path, _: Path) -> None:
    (folder / "exercises").write_text(HONEST_PART, encoding="utf-8")


@hostile("self_attention.py is 5.0 GB", earns=False)
def five_gigabytes(folder: Path, _: Path) -> None:
    with (folder / SCRIPT).open("wb") as file:
        file.truncate(FIVE_GIGABYTES)


@hostile("", earns=True)
def names_that_mislead(folder: Path, _: Path) -> None:
    (folder / SCRIPT).write_text(HONEST_PART, encoding="utf-8")
    names = [
        b"self_attention.py\n", b"self_attention.py ", b"..self_attention.py", b"...", b"-rf", b"$(reboot)", b"a\nb",
        b"\x1b[2J", b"\xff\xfe", b"*", b"::error::x", b"self_attention.PY", b"exercises ", b"x" * 255,
    ]  # fmt: skip
    for name in names:
        Path(os.fsdecode(os.fsencode(folder) + b"/" + name)).write_text("raise SystemExit", encoding="utf-8")


@hostile("", earns=True)
def path_longer_than_any_may_be(folder: Path, _: Path) -> None:
    (folder / SCRIPT).write_text(HONEST_PART, encoding="utf-8")
    here = os.open(folder, os.O_RDONLY)
    for _depth in range(20):  # 5,000 characters; a path may have 4,096
        os.mkdir("d" * 250, dir_fd=here)
        deeper = os.open("d" * 250, os.O_RDONLY, dir_fd=here)
        os.close(here)
        here = deeper
    os.close(os.open(SCRIPT, os.O_CREAT | os.O_WRONLY, 0o644, dir_fd=here))
    os.close(here)


# -- files that are no answer, or more than an answer ---------------------------------------------------------


@hostile("self_attention.py is missing", earns=False)
def nothing_handed_in(folder: Path, _: Path) -> None:
    (folder / "README.md").write_text("Full marks, please.\n", encoding="utf-8")


@hostile("self_attention.py is empty", earns=False)
def empty_file(folder: Path, _: Path) -> None:
    (folder / SCRIPT).touch()


@hostile("It is not written yet.", earns=False)
def untouched_stub(folder: Path, base: Path) -> None:
    shutil.copy(base / "course" / "exercises" / SCRIPT, folder / SCRIPT)


@hostile("self_attention.py is not UTF-8", earns=False)
def other_encoding(folder: Path, _: Path) -> None:
    (folder / SCRIPT).write_text(f"{HONEST_PART}\n# é\n", encoding="latin-1")


@hostile("self_attention.py has a zero byte in line", earns=False)
def zero_bytes(folder: Path, _: Path) -> None:
    (folder / SCRIPT).write_text(f"{HONEST_PART}\n\0\nx = 1\n", encoding="utf-8")


@hostile("It is not valid Python.", earns=True)
def syntax_error(folder: Path, _: Path) -> None:
    broken = "\n\ndef scaled_dot_product_attention(queries, keys, values:\n    return queries\n"
    (folder / SCRIPT).write_text(HONEST_PART + broken, encoding="utf-8")


@hostile("inconsistent use of tabs and spaces", earns=True)
def tabs_and_spaces(folder: Path, _: Path) -> None:
    mixed = "\n\ndef scaled_dot_product_attention(queries, keys, values):\n        a = queries\n\treturn a, a\n"
    (folder / SCRIPT).write_text(HONEST_PART + mixed, encoding="utf-8")


# Names that some program might import, read or obey if it searched the folder of a submission.
BESIDE = """\
conftest.py pytest.ini tox.ini setup.cfg pyproject.toml .env sitecustomize.py usercustomize.py site.py torch.py
torch/__init__.py numpy.py json.py struct.py safetensors.py pydantic.py typer.py random.py grader.py grader/__init__.py
grader/engine/engine_server.py __init__.py __main__.py autograder.yml self_attention/__init__.py
solutions/self_attention.py exercises/conftest.py test_self_attention.py .coveragerc .python-version PYTEST.ini
""".split()  # noqa: SIM905 - a table to read


@hostile("Files beside self_attention.py are neither read nor run: conftest.py, sitecustomize.py,", earns=True)
def files_beside_the_answer(folder: Path, base: Path) -> None:
    (folder / SCRIPT).write_text(HONEST_PART, encoding="utf-8")
    for name in BESIDE:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(_obeyed(path, base / "planted"), encoding="utf-8")


def _obeyed(path: Path, marker: Path) -> str:
    """Return contents that leave a trace, or end the grading, if any program uses them."""
    match path.suffix:
        case ".py":
            return f"open({str(marker)!r}, 'w').write({path.name!r})\nimport os\nos._exit(0)\n"
        case ".yml":
            return "course: Everybody has full marks\nversion: '1'\n"
        case ".toml":
            return '[tool.pytest.ini_options]\naddopts = "--collect-only -p torch"\n'
    return "[pytest]\naddopts = --collect-only -p torch\n[tool:pytest]\naddopts = --collect-only -p torch\n"


# -- notebooks ------------------------------------------------------------------------------------------------


def code_cell(source: Any, **more: Any) -> dict[str, Any]:
    return {"cell_type": "code", "source": source, "metadata": {}, "outputs": [], "execution_count": None, **more}


def write_notebook(folder: Path, cells: list[Any], **more: Any) -> None:
    notebook = {"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": cells, **more}
    (folder / NOTEBOOK).write_text(json.dumps(notebook), encoding="utf-8")


@hostile("self_attention.ipynb is damaged: cell 1 and 4 more cannot be read", earns=True)
def notebook_with_damaged_cells(folder: Path, _: Path) -> None:
    damaged = [42, {"cell_type": "code"}, code_cell(5), {"cell_type": ["code"]}, code_cell(["a", None])]
    write_notebook(folder, [*damaged, code_cell(HONEST_PART)])


@hostile("scaled_dot_product_attention is not defined", earns=True)
def notebook_with_deleted_cells(folder: Path, _: Path) -> None:
    write_notebook(folder, [code_cell(HONEST_PART)])


@hostile("It raised ZeroDivisionError.", earns=True)
def notebook_with_duplicated_cells(folder: Path, _: Path) -> None:
    wrong = code_cell("def project_qkv(*arguments):\n    return arguments\n1 / 0")
    write_notebook(folder, [wrong, wrong, *[code_cell(HONEST_PART, id="same")] * 3])


@hostile("It raised NameError.", earns=True)
def notebook_with_reordered_cells(folder: Path, _: Path) -> None:
    write_notebook(folder, [code_cell("project_qkv(torch.ones(1), 1, 1)"), code_cell(HONEST_PART)])


@hostile("", earns=True)
def notebook_of_no_known_schema(folder: Path, _: Path) -> None:
    write_notebook(folder, [code_cell(HONEST_PART, metadata=7)], nbformat="four", nbformat_minor=[], metadata=None)


@hostile("", earns=True)
def notebook_without_metadata(folder: Path, _: Path) -> None:
    cells = [{"cell_type": "code", "source": HONEST_PART.splitlines(keepends=True)}]
    (folder / NOTEBOOK).write_text(json.dumps({"cells": cells}), encoding="utf-8")


@hostile("", earns=True)
def notebook_with_megabytes_of_outputs(folder: Path, _: Path) -> None:
    output = {"output_type": "stream", "name": "stdout", "text": "x" * MEGABYTES_OF_OUTPUTS * 2**20}
    write_notebook(folder, [code_cell(HONEST_PART, outputs=[output])])


@hostile("self_attention.ipynb cannot be read, because it is nested too deeply", earns=False)
def notebook_that_is_not_json(folder: Path, _: Path) -> None:
    (folder / NOTEBOOK).write_text('{"cells": [' + "[" * 100_000, encoding="utf-8")


@hostile("It tried to replace a function: builtins.exec", earns=True, tries=True)
def notebook_that_patches_the_shell(folder: Path, _: Path) -> None:
    patches = textwrap.dedent(
        """\
        import builtins, IPython
        shell = get_ipython()
        shell.run_cell = shell.run_cell_async = shell.ast_node_interactivity = lambda *_, **__: 100
        IPython.core.interactiveshell.InteractiveShell.run_cell = shell.run_cell
        IPython.get_ipython().events.register("post_run_cell", lambda *_: 100)
        %autoawait off
        !touch planted
        print("TRIED")
        builtins.exec = builtins.eval = builtins.compile = lambda *_, **__: 100
        """
    )
    as_graded = {"nbgrader": {"grade": True, "solution": True, "points": 100, "grade_id": "a", "schema_version": 3}}
    number = {"output_type": "execute_result", "data": {"text/plain": "100"}, "metadata": {}, "execution_count": 1}
    write_notebook(
        folder, [code_cell(HONEST_PART), code_cell(patches), code_cell("100", metadata=as_graded, outputs=[number])]
    )


# -- repositories ---------------------------------------------------------------------------------------------


def git(folder: Path, *arguments: str, **environment: str) -> str:
    """Run git in this repository, without the settings of the machine and the user."""
    command = ["git", "-c", "user.name=A", "-c", "user.email=a@example.org", "-c", "core.hooksPath=/nonexistent"]
    own = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull, "HOME": str(folder)}
    done = subprocess.run(
        [*command, *arguments],
        cwd=folder,
        env={**os.environ, **own, **environment},
        check=True,
        capture_output=True,
        text=True,
    )
    return done.stdout.strip()


def make_repository(folder: Path, branch: str = "main", message: str = "Hand in", **environment: str) -> str:
    """Commit everything in the folder together with an honest part, and return the hash."""
    (folder / SCRIPT).write_text(HONEST_PART, encoding="utf-8")
    git(folder, "init", "--quiet")
    git(folder, "symbolic-ref", "HEAD", f"refs/heads/{branch}")
    git(folder, "add", "--all")
    git(folder, "commit", "--quiet", "--message", message, **environment)
    return git(folder, "rev-parse", "HEAD")


@hostile("", earns=True)
def repository_whose_settings_run_programs(folder: Path, base: Path) -> str:
    program = folder / "program"
    program.write_text(f"#!/bin/sh\ntouch '{base}/planted'\n", encoding="utf-8")
    program.chmod(0o755)
    commit = make_repository(folder)
    (folder / ".gitattributes").write_text("* filter=planted diff=planted merge=planted\n", encoding="utf-8")
    settings = (
        "core.fsmonitor core.sshCommand core.pager core.editor core.gitProxy core.askPass credential.helper "
        "gpg.program diff.external diff.planted.textconv "
        "filter.planted.clean filter.planted.smudge filter.planted.process"
    )
    for name in settings.split():
        git(folder, "config", name, str(program))
    git(folder, "config", "core.hooksPath", str(folder / ".git" / "hooks"))
    for hook in ("post-checkout", "pre-commit", "post-index-change", "reference-transaction", "fsmonitor-watchman"):
        shutil.copy(program, folder / ".git" / "hooks" / hook)
    git(folder, "config", "include.path", str(base / SOLUTION))
    return commit


@hostile("", earns=True)
def repository_whose_names_are_commands(folder: Path, base: Path) -> str:
    command = f"$(touch${{IFS}}{base}/planted)`id`;id|id&&id<b>'\"#!--x]"
    commit = make_repository(
        folder, command, f"::set-output name=points::100\n\n{command}\n# Heading\n\x1b[2J<b>[x](y)"
    )
    git(folder, "tag", "--", command)
    git(folder, "tag", "--annotate", "--message", command, "v1")
    return commit


@hostile("Files beside self_attention.py are neither read nor run: conftest.py, autograder.yml.", earns=True)
def repository_with_a_changed_course(folder: Path, base: Path) -> str:
    (folder / ".github" / "workflows").mkdir(parents=True)
    (folder / ".github" / "workflows" / "classroom.yml").write_text("on: push\njobs: {grade: {steps: [run: 'true']}}\n")
    (folder / f"test_{UNIT}.py").write_text("def test_all():\n    assert True\n", encoding="utf-8")
    (folder / "conftest.py").write_text(f"open({str(base / 'planted')!r}, 'w')\n", encoding="utf-8")
    (folder / "autograder.yml").write_text("course: Full marks\nversion: '1'\nunits: {}\n", encoding="utf-8")
    return make_repository(folder)


@hostile("", earns=True)
def repository_with_a_date_of_last_century(folder: Path, _: Path) -> str:
    long_ago = "1999-12-31T23:59:59+00:00"
    return make_repository(folder, GIT_AUTHOR_DATE=long_ago, GIT_COMMITTER_DATE=long_ago)


@hostile("", earns=True)
def repository_whose_head_leads_outside(folder: Path, base: Path) -> None:
    make_repository(folder)
    (folder / ".git" / "HEAD").write_text(f"ref: refs/../../../../{SOLUTION}\n", encoding="utf-8")
    (folder / ".git" / "packed-refs").symlink_to(base / SOLUTION)


# -- sheets of the quiz ---------------------------------------------------------------------------------------


def hand_in_sheet(folder: Path, text: str) -> None:
    (folder / SCRIPT).write_text(HONEST_PART, encoding="utf-8")
    (folder / SHEET).write_text(text, encoding="utf-8")


def hand_in_no_sheet(folder: Path) -> Path:
    """Submit an answer without a sheet, and return the path of the sheet."""
    (folder / SCRIPT).write_text(HONEST_PART, encoding="utf-8")
    (folder / SHEET).unlink()
    return folder / SHEET


def with_answers(*answers: str) -> str:
    """Return the honest sheet with these answers in the first blanks."""
    sheet = HONEST_SHEET
    for answer in answers:
        assert f"Answer: {BLANK}" in sheet
        sheet = sheet.replace(f"Answer: {BLANK}", f"Answer: {answer}", 1)
    return sheet


@hostile(f"{SHEET} is a symbolic link", earns=True, ticks_earn=False)
def sheet_linked_to_a_neighbour(folder: Path, _: Path) -> None:
    hand_in_no_sheet(folder).symlink_to(f"../honest/{SHEET}")


@hostile(f"{SHEET} is a symbolic link", earns=True, ticks_earn=False)
def sheet_linked_to_the_answers(folder: Path, base: Path) -> None:
    hand_in_no_sheet(folder).symlink_to(base / QUIZ_SOURCE)


@hostile(f"{SHEET} is a hard link", earns=True, ticks_earn=False)
def sheet_that_is_a_hard_link(folder: Path, base: Path) -> None:
    hand_in_no_sheet(folder).hardlink_to(base / QUIZ_SOURCE)


@hostile(f"{SHEET} is a named pipe", earns=True, ticks_earn=False)
def sheet_that_is_a_named_pipe(folder: Path, _: Path) -> None:
    os.mkfifo(hand_in_no_sheet(folder))


@hostile(f"{SHEET} is a folder where a file belongs", earns=True, ticks_earn=False)
def sheet_that_is_a_folder(folder: Path, _: Path) -> None:
    hand_in_no_sheet(folder).mkdir()
    (folder / SHEET / SHEET).write_text(RIGHT_SHEET, encoding="utf-8")


@hostile(f"{SHEET} is 5.0 GB", earns=True, ticks_earn=False)
def sheet_of_five_gigabytes(folder: Path, _: Path) -> None:
    hand_in_sheet(folder, RIGHT_SHEET)
    os.truncate(folder / SHEET, FIVE_GIGABYTES)


@hostile(f"{SHEET} is not UTF-8", earns=True, ticks_earn=False)
def sheet_of_another_encoding(folder: Path, _: Path) -> None:
    hand_in_no_sheet(folder).write_bytes(RIGHT_SHEET.encode() + "é\n".encode("latin-1"))


@hostile("characters: write nothing but the answer.", earns=True)
def sheet_of_nested_markup(folder: Path, _: Path) -> None:
    kinds = [">", "- ", "[", "`", "<div>", "![](", "**_", "1. ", "> - ", "\\", "|", "&amp;"]
    floods = ["".join(kind * (20_000 // len(kind)) for kind in kinds[start::4]) for start in range(4)]
    sheet = with_answers(*floods)
    assert 240_000 < len(sheet) < SHEET_LIMIT
    hand_in_sheet(folder, sheet)


@hostile("", earns=True)
def sheet_with_a_bomb_of_yaml(folder: Path, _: Path) -> None:
    names = "abcdefghi"
    bomb = "".join(f"{here}: &{here} [{', '.join([f'*{one}'] * 9)}]\n" for one, here in itertools.pairwise(names))
    objects = "object: !!python/object/apply:os.system ['touch planted']\n"
    front = f"quiz: {UNIT}\n"
    hand_in_sheet(folder, HONEST_SHEET.replace(front, f"a: &a [lol]\n{bomb}{objects}<<: *i\n{front}", 1))


@hostile("the variant is not a whole number", earns=True)
def sheet_with_an_endless_variant(folder: Path, _: Path) -> None:
    front = f"quiz: {UNIT}\n"
    hand_in_sheet(folder, HONEST_SHEET.replace(front, f"{front}variant: 1{'0' * 400}\n", 1))


@hostile("this heading is there more than once", earns=True, ticks_earn=False)
def sheet_with_every_heading_twice(folder: Path, _: Path) -> None:
    hand_in_sheet(folder, HONEST_SHEET + RIGHT_SHEET)


@hostile("only one letter can be the answer", earns=True, ticks_earn=False)
def sheet_with_every_box_ticked(folder: Path, _: Path) -> None:
    hand_in_sheet(folder, HONEST_SHEET.replace("- [ ]", "- [x]"))


@hostile("is not a number: write it like", earns=True)
def sheet_with_markup_in_answers(folder: Path, _: Path) -> None:
    hand_in_sheet(
        folder,
        with_answers(
            "::set-output name=points::100 ##[add-mask]points ::error::x ::error::x ::error::x ::error::x",
            "\x1b[2J\x1b]0;title\x07\u202e001\u202c\u200b [bold red]100[/]",
            "<script>alert(1)</script> [link](javascript:alert) |table| `code` [[answer]] {answer} %s",
            "(2, 3)\x85::error::x\u2028::stop-commands::x\x0c# Heading",
        ),
    )


@hostile("", earns=True)
def answers_beside_the_sheet(folder: Path, _: Path) -> None:
    hand_in_sheet(folder, HONEST_SHEET)
    (folder / "exercises").mkdir()
    claims = {"answers": RIGHT, "points": 100, "quiz": {"points": 100, "items": dict.fromkeys(RIGHT, 100)}}
    for name in ("answers.json", "quizzes.json", "exercises/quizzes.json", f"{UNIT}_quiz.json", "report.json"):
        (folder / name).write_text(json.dumps(claims), encoding="utf-8")
    source = (REPOSITORY / "solutions" / f"{UNIT}_quiz.yml").read_text(encoding="utf-8")
    (folder / f"{UNIT}_quiz.yml").write_text(source, encoding="utf-8")
    for name in ("simple_attention_quiz.md", f"{UNIT}_quiz.txt", f"{UNIT}_QUIZ.md", "quiz.md"):
        (folder / name).write_text(RIGHT_SHEET, encoding="utf-8")


@hostile("this is the sheet of another quiz", earns=True, ticks_earn=False)
def sheet_of_another_quiz(folder: Path, _: Path) -> None:
    hand_in_sheet(folder, RIGHT_SHEET.replace(f"quiz: {UNIT}", "quiz: simple_attention", 1))


@hostile("", earns=True)
def sheet_that_claims_points(folder: Path, _: Path) -> None:
    claimed = re.sub(r", \d+ points?\*", ", 100 points*", HONEST_SHEET)
    front = f"quiz: {UNIT}\n"
    claimed = claimed.replace(front, f"{front}points: 100\nweight: 100\nright: true\nanswer: a\n", 1)
    hand_in_sheet(folder, f"{claimed}\n## Points\n\nPoints: 100/100\n\nAnswer: all right\n\n- [x] a) right: true\n")
