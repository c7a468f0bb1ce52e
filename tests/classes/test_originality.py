"""The export for Dolos and JPlag: each student's code, and the folder as both programs read it.

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

from grader.cli.instructor import app

STUB = courses.SMALL_COURSE["exercises/sums.py"]
RIGHT = courses.SMALL_COURSE["solutions/sums.py"]
ONLY_ADD = STUB.replace("    raise NotImplementedError()", "    return b + a", 1)
BROKEN = RIGHT.replace("def add(a, b):", "def add(a, b:")


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
    cells = [code("%matplotlib inline"), code(ONLY_ADD)]
    write_notebook(root / "chen" / "Sums (1).ipynb", *cells)
    with zipfile.ZipFile(root / "dina.zip", "w") as archive:
        archive.writestr("sums.py", BROKEN)
    hand_in(root / "untouched", f"# My name\n{STUB}")
    (root / "missing").mkdir()
    return root


def test_the_code_of_each_student_is_exported_and_none_is_run(
    small_course: Path, classroom: Path, tmp_path: Path
) -> None:
    into = tmp_path / "out"
    exit_code, printed = export(small_course, classroom, into)
    assert exit_code == 0, printed
    files = {path: text.decode() for path, text in contents(into).items()}
    ada = files.pop("submissions/ada/sums.py")
    assert ada.startswith("open(")
    assert ada.endswith(f"\n{RIGHT}")
    assert not (tmp_path / "was-run").exists()
    assert files.pop("submissions/bela/sums.py") == ONLY_ADD
    assert files.pop("submissions/chen/sums.py") == f"pass  # %matplotlib inline\n\n\n{ONLY_ADD}"
    assert files.pop("submissions/dina/sums.py") == BROKEN
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
    assert "the code of 5 students in sums" in printed
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


def test_magics_become_comments_so_that_the_rest_is_python(small_course: Path, classroom: Path, tmp_path: Path) -> None:
    cells = ("%time x = 1\ny = 2", "if y:\n    !ls\nz = 3", "%%bash\nrm x", "    import torch\n    u = 4")
    write_notebook(classroom / "emil" / "sums.ipynb", *map(code, cells))
    export(small_course, classroom, tmp_path / "out")
    text = (tmp_path / "out" / "submissions" / "emil" / "sums.py").read_text(encoding="utf-8")
    names = {node.id for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Name)}
    assert names == {"y", "z", "u"}
    assert "pass  # %time x = 1\n" in text
    assert "    pass  # !ls\n" in text
    assert "# %%bash\n# rm x\n" in text
