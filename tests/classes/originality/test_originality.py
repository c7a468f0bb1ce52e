"""The export for Dolos and JPlag: what is left of each student's code, and the folder as both programs read it.

These are the rules of their readers:

- Dolos 2.9.3, `Dataset.fromCSV` in lib/src/lib/dataset.ts: reads the columns filename, full_name, id, status,
  submission_id, name_en, name_nl, exercise_id, created_at, label or labels, and ignored. It reads each file relative to
  the folder of the CSV file, and fails if one cannot be read, or if `ignored` is "true" in more than one row. That file
  is the base code. `Dolos.analyze` needs two other files.
- JPlag 6.3.0, core/src/main/java/de/jplag/SubmissionSetBuilder.java: each entry of the root folder is a submission of
  that name, and all files in it whose suffix is the language's (.py of python3) belong to it. A file with another
  suffix in the root folder is an error in its log. `--base-code` is a folder or a file.
"""

from __future__ import annotations

import ast
import csv
import zipfile
from pathlib import Path

import courses
import pytest
from courses import hand_in
from notebooks import code, write_notebook
from typer.testing import CliRunner

from grader.classes.originality.own_code import Stub, own_code
from grader.cli.instructor import app
from grader.submissions.source import UnitSource

STUB = courses.SMALL_COURSE["exercises/sums.py"]
RIGHT = courses.SMALL_COURSE["solutions/sums.py"]
OWN = """\
def add(a, b):
    hidden_in_the_solution = a + b
    return hidden_in_the_solution


class Scale(nn.Module):

    def __init__(self, factor):
        super().__init__()
        self.factor = nn.Parameter(torch.tensor(float(factor)))

    def forward(self, x):
        return self.factor * x
"""
ONLY_ADD = STUB.replace("    raise NotImplementedError()", "    return b + a", 1)
OWN_ADD = "def add(a, b):\n    return b + a\n"


def export(course: Path, submissions: Path, into: Path, *options: str) -> tuple[int, str]:
    """Run the command; return its exit code and what it printed."""
    arguments = ["originality", str(submissions), "--unit", "sums", "--out", str(into), "--course", str(course)]
    done = CliRunner().invoke(app, [*arguments, *options])
    return done.exit_code, " ".join(done.output.split())


def contents(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.fixture
def classroom(tmp_path: Path) -> Path:
    root = tmp_path / "class"
    hand_in(root / "ada", f"open({str(tmp_path / 'was-run')!r}, 'w')\n{RIGHT}")
    hand_in(root / "bela", ONLY_ADD)
    cells = [code("%matplotlib inline"), code(STUB.replace("    raise NotImplementedError()", "    return b + a", 1))]
    write_notebook(root / "chen" / "Sums (1).ipynb", *cells)
    with zipfile.ZipFile(root / "dina.zip", "w") as archive:
        archive.writestr("sums.py", RIGHT.replace("def add(a, b):", "def add(a, b:"))
    hand_in(root / "untouched", f"# My name\n{STUB}")
    (root / "missing").mkdir()
    return root


def test_each_student_s_own_code_is_exported(small_course: Path, classroom: Path, tmp_path: Path) -> None:
    into = tmp_path / "out"
    exit_code, printed = export(small_course, classroom, into)
    assert exit_code == 0, printed
    files = {path: text.decode() for path, text in contents(into).items()}
    ada = files.pop("submissions/ada/sums.py")
    assert ada.startswith("open(")
    assert ada.endswith(f"\n\n\n{OWN}")
    assert not (tmp_path / "was-run").exists()
    assert files.pop("submissions/bela/sums.py") == OWN_ADD
    assert files.pop("submissions/chen/sums.py") == f"# %matplotlib inline\n\n\n{OWN_ADD}"
    assert files.pop("submissions/dina/sums.py") == OWN.replace("def add(a, b):", "def add(a, b:")
    assert files.pop("base-code/sums.py") == STUB
    assert list(files) == ["info.csv"]
    assert "Without code of sums: missing, untouched." in printed
    assert "so that JPlag may leave them out: dina." in printed
    assert printed.endswith(
        f"Next, with Dolos: dolos run --language python {into}/info.csv Next, with JPlag: java -jar jplag.jar "
        f"--language python3 --base-code {into}/base-code {into}/submissions"
    )


def test_both_programs_read_the_folder_by_their_own_rules(small_course: Path, classroom: Path, tmp_path: Path) -> None:
    """The rules are in the docstring of this file."""
    into = tmp_path / "out"
    export(small_course, classroom, into)
    with open(into / "info.csv", encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert rows[0].keys() <= {"filename", "full_name", "id", "status", "created_at", "label", "labels", "ignored"}
    assert all((into / row["filename"]).read_text(encoding="utf-8") for row in rows)
    [base_code] = [row["filename"] for row in rows if row["ignored"] == "true"]
    named = {row["full_name"]: row["filename"] for row in rows if row["filename"] != base_code}
    root = into / "submissions"
    assert sorted(named) == sorted(entry.name for entry in root.iterdir() if entry.is_dir())
    assert not [entry for entry in root.iterdir() if not entry.is_dir()]
    assert {name: [into / path] for name, path in named.items()} == {
        name: [path for path in (root / name).rglob("*") if path.suffix == ".py"] for name in named
    }
    assert [into / base_code] == list((into / "base-code").iterdir())


def test_an_export_replaces_an_earlier_one_and_nothing_else(
    small_course: Path, classroom: Path, tmp_path: Path
) -> None:
    into = tmp_path / "out"
    export(small_course, classroom, into)
    first = contents(into)
    assert export(small_course, classroom, into)[0] == 0
    assert contents(into) == first
    (classroom / "dina.zip").unlink()
    export(small_course, classroom, into)
    assert first.keys() - contents(into).keys() == {"submissions/dina/sums.py"}
    assert not (into / "submissions" / "dina").exists()
    (into / "submissions" / "ada" / "notes.txt").write_text("mine")
    before = contents(into)
    exit_code, printed = export(small_course, classroom, into)
    assert exit_code == 2
    assert "out holds submissions/ada/notes.txt, which is not from `grader originality`" in printed
    assert contents(into) == before


def test_code_that_cannot_be_read_is_named_and_the_others_are_exported(
    small_course: Path, classroom: Path, tmp_path: Path
) -> None:
    (classroom / "emil").mkdir()
    (classroom / "emil" / "sums.py").write_bytes(b"\xff")
    exit_code, printed = export(small_course, classroom, tmp_path / "out")
    assert exit_code == 1
    assert "emil: sums.py is not UTF-8" in printed
    assert (tmp_path / "out" / "submissions" / "ada").is_dir()


def test_a_groups_submission_is_exported_once_with_all_names(
    small_course: Path, classroom: Path, tmp_path: Path
) -> None:
    roster = tmp_path / "roster.csv"
    roster.write_text("student,folder\nfay,ada\ngil,ada\nbela,\nchen,chen\nemil,missing\n", encoding="utf-8")
    exit_code, printed = export(small_course, classroom, tmp_path / "out", "--roster", str(roster))
    assert exit_code == 0, printed
    assert "what 5 students wrote of sums" in printed
    assert "Handed in together, and exported once, as the first one's: fay and gil." in printed
    info = (tmp_path / "out" / "info.csv").read_text(encoding="utf-8")
    assert ["submissions/fay/sums.py", "fay, gil", ""] in list(csv.reader(info.splitlines()))
    assert not (tmp_path / "out" / "submissions" / "gil").exists()


def test_one_student_alone_is_not_exported(small_course: Path, tmp_path: Path) -> None:
    hand_in(tmp_path / "class" / "ada", RIGHT)
    hand_in(tmp_path / "class" / "bela", STUB)
    exit_code, printed = export(small_course, tmp_path / "class", tmp_path / "out")
    assert exit_code == 2
    assert "only ada has code of sums" in printed
    assert not (tmp_path / "out").exists()


HARD_STUB = '''\
# %% [markdown]
# # Sums
import torch

LIMIT = 3


@decorated
def given(x):
    """Give it."""
    return x  # as it is


class Net:
    """A net."""

    size = 2

    def __init__(self):
        raise NotImplementedError()

    def helper(self):
        """Help.

        return 7
        """
        # Once.
        return 7
'''


@pytest.mark.parametrize(
    ("written", "left"),
    [
        pytest.param("import torch; y = 1\n", "import torch; y = 1\n", id="two statements in one line"),
        pytest.param("import torch  # mine\nLIMIT = 4\n", "LIMIT = 4\n", id="another value"),
        pytest.param("@decorated\ndef given(x):\n    'Mine.'\n    return (x)\n", "", id="only the layout is new"),
        pytest.param("def given(x):\n    return x\n", "def given(x):\n    return x\n", id="a decorator is gone"),
        pytest.param(
            'TEXT = """\n# # Sums\n\n\n\nimport torch\n"""\n',
            'TEXT = """\n# # Sums\n\n\n\nimport torch\n"""\n',
            id="the stub's lines in a string",
        ),
        pytest.param(
            HARD_STUB.replace("raise NotImplementedError()", "self.x = 1  # one"),
            "class Net:\n\n\n    def __init__(self):\n        self.x = 1  # one\n",
            id="one method",
        ),
        pytest.param(
            HARD_STUB.replace("class Net:", "class Net(Other):"),
            "class Net(Other):\n\n    size = 2\n\n    def __init__(self):\n        raise NotImplementedError()\n\n"
            "    def helper(self):\n        return 7\n",
            id="another base",
        ),
        pytest.param(
            HARD_STUB.replace("raise NotImplementedError()", "self.x = (1\n        return 7"),
            "class Net:\n\n    size = 2\n\n    def __init__(self):\n        self.x = (1\n        return 7\n",
            id="a syntax error",
        ),
        pytest.param("def mine(x):\n    return 7\n" * 2, "def mine(x):\n    return 7\n" * 2, id="own helpers"),
        pytest.param(f"x = {'-' * 50_000}1\n", f"x = {'-' * 50_000}1\n", id="nested too deeply"),
        pytest.param(f"x = a{'.a' * 20_000}\n", f"x = a{'.a' * 20_000}\n", id="a long chain"),
        pytest.param("# %% [markdown]\n# # Sums\n", "", id="comments alone"),
    ],
)
def test_no_written_code_is_lost_and_what_the_stub_has_is_left_out(written: str, left: str) -> None:
    assert own_code(UnitSource("sums.py", (written,)), Stub(HARD_STUB)) == left


def test_magics_become_comments_so_that_the_rest_is_python() -> None:
    cells = ("%time x = 1\ny = 2", "if y:\n    !ls\nz = 3", "%%bash\nrm x", "import torch\n\nu = 4")
    text = own_code(UnitSource("sums.ipynb", cells), Stub(HARD_STUB))
    names = {node.id for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Name)}
    assert names == {"y", "z", "u"}
    assert "# %time x = 1\n" in text
    assert "    pass  # !ls\n" in text
    assert "# %%bash\n# rm x\n" in text
