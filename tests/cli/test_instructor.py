"""The command line: its output, its files and its exit codes."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import courses
import jsonschema
import pytest
from courses import hand_in, read_reports, run_grader, run_program, without_seconds
from typer.testing import CliRunner

from grader import __version__
from grader.cli.instructor import app
from grader.engine.error_hints import END
from grader.quizzes.quiz_source import load_quiz
from grader.quizzes.sheet import write_sheet
from grader.sandbox.sandbox_client import PUT_BELOW

Done = subprocess.CompletedProcess[str]
Reports = dict[str, dict[str, Any]]

SOLUTION = courses.SMALL_COURSE["solutions/sums.py"]
STUB = courses.SMALL_COURSE["exercises/sums.py"]
WRONG_ADD = SOLUTION.replace("a + b", "a - b")
TOP_LEVEL = f"import os\n{{}}\n{SOLUTION}"
IN_ADD = SOLUTION.replace("    hidden_in_the_solution = a + b", "    {}\n    hidden_in_the_solution = a + b")


def file(content: bytes) -> Callable[[Path], object]:
    return lambda path: path.write_bytes(content)


def sparse(path: Path) -> None:
    with open(path, "wb") as file:
        file.truncate(5 * 2**30)


def notebook(path: Path) -> None:
    cells = [
        {"cell_type": "code", "source": "%matplotlib inline\nimport matplotlib.pyplot as plt"},
        {"cell_type": "code", "source": SOLUTION.splitlines(keepends=True)},
        {"cell_type": "code", "source": "1 / 0"},
    ]
    path.with_suffix(".ipynb").write_text(
        json.dumps({"cells": cells, "nbformat": 4, "nbformat_minor": 5, "metadata": {}})
    )


# Each student's file, and its points of five: four for `add`, one for `Scale`.
CLASS: dict[str, tuple[Callable[[Path], object], int]] = {
    "right": (file(SOLUTION.encode()), 5),
    "untouched": (file(STUB.encode()), 0),
    "wrong": (file(WRONG_ADD.encode()), 1),
    "windows": (file(b"\xef\xbb\xbf" + SOLUTION.replace("\n", "\r\n").encode()), 5),
    "notebook": (notebook, 5),
    "empty": (file(b""), 0),
    "missing": (lambda path: (path.parent / "notes.txt").write_text("later"), 0),
    "latin": (file(SOLUTION.encode() + b"# \xe9"), 0),
    "binary": (file(b"\0" * 100), 0),
    "folder": (lambda path: path.mkdir(), 0),
    "pipe": (os.mkfifo, 0),
    "sparse": (sparse, 0),
    "link": (lambda path: path.symlink_to("/etc/passwd"), 0),
    "syntax": (file(SOLUTION.replace("def add(a, b):", "def add(a, b:").encode()), 1),
    "indented": (file(f"    stray = 1\n{SOLUTION}".encode()), 5),
    "renamed": (file(TOP_LEVEL.format("1 / 0").replace("def add(", "def plus(").encode()), 1),
    "raises": (file(TOP_LEVEL.format("1 / 0").encode()), 5),
    "loops": (file(TOP_LEVEL.format("while True: pass").encode()), 5),
    "exits": (file(TOP_LEVEL.format("os._exit(0)").encode()), 5),
    "quits": (file(TOP_LEVEL.format("raise SystemExit").encode()), 5),
    "hangs": (file(IN_ADD.format("while True: pass").encode()), 1),
    "crashes": (file(IN_ADD.format("import ctypes; ctypes.string_at(0)").encode()), 1),
    "talks": (file(IN_ADD.format("for _ in range(10): print('x' * 2**20)").encode()), 5),
    "half": (file(IN_ADD.format("raise ValueError('\\ud800\\x1b[31m[bold]')").encode()), 1),
    "large": (file(SOLUTION.encode() + b"# a long remark\n" * 60_000), 5),
}


@pytest.fixture(scope="session")
def classroom(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("class")
    for student, (write, _) in CLASS.items():
        (root / student).mkdir()
        write(root / student / "sums.py")
    return root


@pytest.fixture(scope="session")
def graded(small_course: Path, classroom: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Done, Path]:
    """The whole class, graded once."""
    into = tmp_path_factory.mktemp("graded") / "reports"
    return run_grader(small_course, "grade", classroom, "--out", into, "--jobs", 2), into


@pytest.fixture(scope="session")
def reports(graded: tuple[Done, Path]) -> Reports:
    return read_reports(graded[1])


@pytest.fixture
def ada(tmp_path: Path) -> Path:
    return hand_in(tmp_path / "ada", SOLUTION)


def has_no_traceback(done: Done) -> bool:
    return "Traceback" not in done.stdout + done.stderr


def test_the_version_is_printed() -> None:
    done = CliRunner().invoke(app, ["--version"])
    assert (done.exit_code, done.stdout) == (0, f"grader {__version__}\n")


# -- a class with damaged submissions -------------------------------------------------------------------------


def test_every_submission_gets_the_points_it_earned_in_isolation(reports: Reports) -> None:
    earned = {name: (report["points"], report["possible"]) for name, report in reports.items()}
    assert earned == {name: (points, 5) for name, (_, points) in CLASS.items()}
    assert [name for name, report in reports.items() if not report["isolation"]["enough"]] == []


def test_every_report_fits_the_published_schema_and_is_of_the_same_python(reports: Reports) -> None:
    schema = json.loads((courses.REPOSITORY / "docs" / "report.schema.json").read_text(encoding="utf-8"))
    validator = jsonschema.Draft202012Validator(schema)
    for report in reports.values():
        validator.validate(report)
        assert "course python" not in report["versions"]


def test_an_unreadable_file_is_the_reason_of_every_test(reports: Reports) -> None:
    for student in ("empty", "latin", "binary", "folder", "pipe", "sparse", "link", "missing"):
        unit = reports[student]["units"]["sums"]
        [remark] = unit["remarks"]
        assert remark.startswith("notes.txt is not a script" if student == "missing" else "sums.py"), student
        assert {test["reason"] for one in unit["exercises"].values() for test in one["tests"]} == {remark}


def test_a_failed_criterion_has_a_reason(reports: Reports) -> None:
    expected = {
        "untouched": "It is not written yet.",
        "syntax": "add is not defined. The cause is line 5 of sums.py: it is not valid Python.",
        "renamed": "add is not defined.",  # a line that defines nothing cannot be blamed for the missing name
        "hangs": "Stopped: all calls of an exercise may take 0.8 s together. Is there a loop that never ends?",
        "crashes": "It crashed the Python process (signal 11).",
        "half": "It raised a ValueError.",
    }
    exercises = {student: reports[student]["units"]["sums"]["exercises"]["add"] for student in expected}
    assert {student: exercise["tests"][0]["reason"] for student, exercise in exercises.items()} == expected


def test_a_statement_that_failed_is_reported_with_its_line(reports: Reports) -> None:
    stopped = "Stopped: all statements outside of functions may take 0.8 s together. Is there a loop that never ends?"
    unclosed = "It is not valid Python. '(' was never closed"
    expected = {
        "raises": (2, "1 / 0", "It raised ZeroDivisionError. division by zero", None),
        "loops": (2, "while True: pass", f"{stopped} {PUT_BELOW}", None),
        "exits": (2, "os._exit(0)", "It ended the Python process (exit code 0).", END),
        "quits": (2, "raise SystemExit", "It raised SystemExit.", END),
        "syntax": (5, "def add(a, b:", unclosed, "Count the brackets here and in the lines around."),
        "indented": (1, "stray = 1", "It is not valid Python. unexpected indent", "Begin it at the left margin."),
    }
    for student, (line, code, text, hint) in expected.items():
        place = {"unit": "sums", "exercise": None, "file": "sums.py", "line": line, "trace": [f"line {line}: {code}"]}
        assert {**place, "kind": "not run", "text": text, "hint": hint} in reports[student]["messages"], student


def test_a_known_mistake_is_named(reports: Reports) -> None:
    exercise = reports["wrong"]["units"]["sums"]["exercises"]["add"]
    assert exercise["misconceptions"] == [{"name": "subtracts", "sentence": "Adding is not taking away."}]


def test_a_log_lists_who_is_done(graded: tuple[Done, Path]) -> None:
    lines = without_seconds(graded[0].stderr).splitlines()
    assert {line.split()[1] for line in lines} == set(CLASS)
    assert [line.partition(" (")[2] for line in lines] == [f"{n} of {len(CLASS)})" for n in range(1, len(CLASS) + 1)]


def test_printed_output_is_truncated_and_counted(reports: Reports) -> None:
    [message, *_] = reports["talks"]["messages"]
    assert message["kind"] == "printed"
    counted, kept = message["text"].split("\n", maxsplit=1)
    assert re.fullmatch(r"\(Output truncated: \d+ more bytes were dropped\.\)", counted)
    assert kept.startswith("x" * 3900)
    assert len(message["text"]) < 5000


def test_a_students_text_does_not_control_the_terminal(reports: Reports) -> None:
    [message] = reports["half"]["messages"]
    assert message["text"] == "It raised a ValueError. ?[bold]".replace("?", "\N{REPLACEMENT CHARACTER}")


def test_grading_a_class_of_damaged_submissions_exits_0(graded: tuple[Done, Path]) -> None:
    done, into = graded
    assert done.returncode == 0
    assert {path.name for path in into.iterdir()} == {*(f"{student}.json" for student in CLASS), "instructor"}


def test_without_a_terminal_the_output_is_a_plain_table(graded: tuple[Done, Path]) -> None:
    done, into = graded
    assert "\x1b" not in done.stdout
    reading, table, _ = done.stdout.split("\n\n")
    assert reading.splitlines() == [
        "Layout: folders (a folder or an archive for each student).",
        "Ignored: notes.txt (not a script, a notebook or a sheet of the course: hand in sums.py) (missing).",
    ]
    header, *rows = table.splitlines()
    assert header.split() == ["student", "1", "total", "main", "issue"]
    assert [row.split()[0] for row in rows if not row.startswith(" ")] == sorted(CLASS)
    assert any(row.split() == ["wrong", "1", "1/5", "add:", "subtracts"] for row in rows)
    assert any(row.split()[:5] == ["right", "5", "5/5", "sums_quiz.md", "is"] for row in rows)
    legend = "1: sums, of 5 points; its quiz counts from 2100-01-01"
    assert done.stdout.splitlines()[-4:] == [
        legend,
        f"Reports: {into}/<student>.json",
        "Open cases (1), to decide before the grades are final:",
        "- crashes tried to read memory by its address (1). It was isolated, and no point is from it.",
    ]


@pytest.mark.proof(part="grading")
def test_pytest_by_hand_gives_the_same_outcomes(
    graded: tuple[Done, Path], reports: Reports, small_course: Path, classroom: Path
) -> None:
    results = small_course / "by-hand.json"
    done = subprocess.run(
        [
            sys.executable, "-m", "pytest", "-p", "grader.engine.plugin", "suites",
            "--submission", classroom / "wrong", "--json-report", f"--json-report-file={results}",
        ],
        cwd=small_course, env=courses.environment(small_course), capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 1, done.stdout + done.stderr
    found = json.loads(results.read_text())
    by_hand = {test["nodeid"].rpartition("::test_")[2]: test["outcome"] for test in found["tests"]}
    exercises = reports["wrong"]["units"]["sums"]["exercises"]
    graded_ones = {test["name"]: test["outcome"] for exercise in exercises.values() for test in exercise["tests"]}
    assert by_hand == graded_ones
    assert set(by_hand.values()) == {"passed", "failed"}
    # Pytest's own report says the same, although the grader runs no setup and no teardown.
    kept = json.loads((graded[1] / "instructor" / "wrong.pytest.json").read_text())
    assert _essence(kept) == _essence(found)
    assert kept["summary"] == found["summary"]
    assert kept["exitcode"] == found["exitcode"]
    assert kept["environment"] == found["environment"]
    assert kept.keys() == found.keys() - {"collectors"}


def _essence(report: dict[str, Any]) -> dict[str, Any]:
    """Return each test of pytest's JSON report by its name, with its outcome, place, metadata and error."""
    return {
        test["nodeid"].rpartition("/")[2]: (
            test["outcome"], test["lineno"], test.get("metadata"), test["call"]["outcome"], test["call"].get("crash"),
        )
        for test in report["tests"]
    }  # fmt: skip


# -- a unit that depends on another ---------------------------------------------------------------------------

CAUSAL, HEADS = (
    (courses.REPOSITORY / "solutions" / f"{unit}_attention.py").read_text() for unit in ("causal", "multi_head")
)
SIDE_BY_SIDE = "torch.cat([head(inputs) for head in self.heads], dim=-1)"
# Each student's causal_attention.py and multi_head_attention.py.
BUILT_ON_ANOTHER = {
    "right": (CAUSAL, HEADS),
    "ends": (CAUSAL.replace("        queries = self.W_query(inputs)", "        import os; os._exit(0)\n"), HEADS),
    "waits": (
        f"{CAUSAL}\n\ndef attention_dropout(weights, probability):\n    raise NotImplementedError()\n",
        HEADS.replace("import CausalAttention", "import CausalAttention, attention_dropout").replace(
            SIDE_BY_SIDE, f"attention_dropout({SIDE_BY_SIDE}, 0.0)"
        ),
    ),
}


@pytest.fixture(scope="module")
def whole_and_alone(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path, Done]:
    """The reports on both units, those on the second alone, and the output of the latter."""
    root = tmp_path_factory.mktemp("built-on-another")
    for student, (causal, heads) in BUILT_ON_ANOTHER.items():
        hand_in(root / "class" / student, causal, "causal_attention")
        (root / "class" / student / "multi_head_attention.py").write_text(heads)
    command = ("grade", root / "class", "--out")
    run_grader(courses.REPOSITORY, *command, root / "whole")
    alone = run_grader(courses.REPOSITORY, *command, root / "alone", "--unit", "multi_head_attention")
    return root / "whole", root / "alone", alone


@pytest.mark.proof(part="grading")
@pytest.mark.parametrize("student", BUILT_ON_ANOTHER)
def test_a_unit_graded_alone_finds_what_it_imports_and_earns_the_same(
    whole_and_alone: tuple[Path, Path, Done], student: str
) -> None:
    whole, alone = (read_reports(folder)[student]["units"] for folder in whole_and_alone[:2])
    assert alone.keys() == {"multi_head_attention"}
    assert alone["multi_head_attention"]["points"] == whole["multi_head_attention"]["points"]
    if student != "waits":
        assert alone["multi_head_attention"] == whole["multi_head_attention"]  # a substitute would add a remark


@pytest.mark.proof(part="grading")
def test_the_main_issue_names_what_an_exercise_waits_for(whole_and_alone: tuple[Path, Path, Done]) -> None:
    sentence = "  MultiHeadAttentionWrapper: It needs `attention_dropout`, which is not written yet."
    assert sentence in whole_and_alone[2].stdout


# -- options and exit codes -----------------------------------------------------------------------------------


UNIT = "simple_attention"


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["{ada}", "--out", "{out}", "--unit", "simple_atention"], f"Did you mean '{UNIT}'?"),
        (["{ada}", "--out", "{out}", "--unit", "history"], f"There is no unit 'history': autograder.yml has {UNIT}, "),
        (["{ada}", "--out", "{ada}/sums.py"], "sums.py cannot be made a folder (File exists): name another."),
        (["{ada}/nowhere", "--out", "{out}"], "does not exist: give the folder of a submission or of a class."),
        (["{ada}/sums.py", "--out", "{out}"], "is not a folder: give the folder that the file lies in."),
        (["{ada}", "--out", "{out}", "--student", "../eve"], "cannot be graded as '../eve'"),
        (["{ada}", "{ada}", "--out", "{out}"], "is given twice: give it once."),
        (["{ada}", "--out", "{out}", "--jobs", "0"], "--jobs"),
        (["{ada}"], "--out"),
        (["--out", "{out}"], "Missing argument"),
    ],
)  # fmt: skip
def test_bad_input_exits_2_with_a_sentence_and_writes_nothing(
    ada: Path, tmp_path: Path, arguments: list[str], sentence: str
) -> None:
    out = tmp_path / "reports"
    done = CliRunner().invoke(app, ["grade", *(text.format(ada=ada, out=out) for text in arguments)])
    assert done.exit_code == 2
    assert sentence in done.stderr
    assert done.stdout == ""
    assert "Traceback" not in done.output
    assert not out.exists()


@pytest.mark.parametrize("command", [("grade", "{ada}", "--out", "{out}"), ("build",)], ids=["grade", "build"])
@pytest.mark.parametrize(
    ("file", "old", "new", "sentence"),
    [
        ("autograder.yml", "add: 2", "add: none", "autograder.yml:20:"),
        ("solutions/sums_quiz.yml", "kind: true_false", "kind: yes_no", "'kind' cannot be 'yes_no'"),
    ],
)
def test_a_mistake_in_the_course_or_a_quiz_exits_2_with_its_place_and_writes_nothing(
    own_small_course: Path, ada: Path, command: tuple[str, ...], file: str, old: str, new: str, sentence: str
) -> None:
    path = own_small_course / file
    path.write_text(path.read_text().replace(old, new))
    out = own_small_course / "reports"
    given = [part.format(ada=ada, out=out) for part in command]
    done = CliRunner().invoke(app, [*given, "--course", str(own_small_course)])
    assert done.exit_code == 2
    assert done.stderr.startswith(f"{file}:")
    assert sentence in done.stderr
    assert "Traceback" not in done.output
    assert not out.exists()
    assert not (own_small_course / "exercises" / "sums_quiz.md").exists()


@pytest.mark.proof(part="quizzes")
def test_after_the_due_date_the_quiz_counts(own_small_course: Path, ada: Path, tmp_path: Path) -> None:
    quiz = load_quiz(own_small_course / "solutions" / "sums_quiz.yml")
    (ada / "sums_quiz.md").write_text(write_sheet(quiz.questions, 1, {"mean_of_two": "2.75", "is_larger": "a"}))
    command = ("grade", ada, "--out", tmp_path / "reports")
    before = run_grader(own_small_course, *command)
    assert before.stdout.splitlines()[-2] == "1: sums, of 5 points; its quiz counts from 2100-01-01"
    assert read_reports(tmp_path / "reports")["ada"]["points"] == 5

    course = own_small_course / "autograder.yml"
    course.write_text(course.read_text().replace("2100-", "2020-"))
    after = run_grader(own_small_course, *command)
    assert without_seconds(after.stderr) == "graded ada (1 of 1)\n"
    assert after.stdout.splitlines()[-2] == "1: sums, of 18 points, 13 of them the quiz's"
    report = read_reports(tmp_path / "reports")["ada"]
    assert (report["points"], report["possible"]) == (7, 18)
    assert report["units"]["sums"]["quiz"]["points"] == 2


# -- regrading, and failures while writing ---------------------------------------------------------------------


def files(folder: Path) -> dict[str, int]:
    """Return every file with a number that changes when it is written again."""
    return {path.relative_to(folder).as_posix(): path.stat().st_ino for path in folder.rglob("*") if path.is_file()}


def test_students_graded_already_are_skipped_and_still_shown_without_force(
    small_course: Path, ada: Path, tmp_path: Path
) -> None:
    bob, out = hand_in(tmp_path / "bob", SOLUTION), tmp_path / "reports"
    arguments = ("grade", ada, bob, "--out", out, "--strict")
    assert run_grader(small_course, *arguments).returncode == 0
    before = files(out)
    (bob / "sums.py").write_text(WRONG_ADD)
    done = run_grader(small_course, *arguments)
    assert done.returncode == 1
    assert without_seconds(done.stderr).splitlines() == ["skipped ada (1 of 2)", "graded bob (2 of 2)"]
    assert "1 of 2 reports is up to date and was skipped (--force regrades it).\n" in done.stdout
    assert [line.split()[:2] for line in done.stdout.splitlines()[3:5]] == [["ada", "5"], ["bob", "1"]]
    assert {name for name, number in files(out).items() if before.get(name) == number} == {
        "ada.json", "instructor/ada.pytest.json",
    }  # fmt: skip
    before = {name: number for name, number in files(out).items() if not name.startswith("earlier/")}
    done = run_grader(small_course, *arguments, "--force")
    assert {line.partition(" ")[0] for line in without_seconds(done.stderr).splitlines()} == {"graded"}
    assert {name for name, number in files(out).items() if before.get(name) == number} == set()


@pytest.mark.proof(part="grading")
def test_a_report_inside_the_submission_is_not_trusted(small_course: Path, ada: Path, tmp_path: Path) -> None:
    (ada / "sums.py").write_text(WRONG_ADD)
    run_grader(small_course, "grade", ada, "--out", tmp_path / "elsewhere")
    forged = {**read_reports(tmp_path / "elsewhere")["ada"], "points": 5}
    (ada / "reports").mkdir()
    (ada / "reports" / "ada.json").write_text(json.dumps(forged))
    done = run_grader(small_course, "grade", ada, "--out", ada / "reports")
    assert without_seconds(done.stderr) == "graded ada (1 of 1)\n"
    assert read_reports(ada / "reports")["ada"]["points"] == 1


# In its own mount namespace, so that mounts end with the program: a disk that is too small, then large enough.
ON_A_SMALL_DISK = """\
disk=$1 seen=$2; shift 2
mount -t tmpfs -o size=64k none "$disk" || exit 99
"$@" >"$seen/stdout" 2>"$seen/stderr"; echo $? >"$seen/code"
cp -R "$disk" "$seen/full"
mount -o remount,size=4m "$disk"
"$@"; code=$?
cp -R "$disk" "$seen/larger"
exit $code
"""


# A disk with space, and no other place to write to.
ON_THE_ONLY_DISK = """\
mount -t tmpfs none "$1" || exit 99; shift
for place in / /tmp /var/tmp; do mount -o remount,ro,bind $place 2>&-; done
rm "$0" 2>&- && exit 99
exec "$@"
"""

only_root = pytest.mark.skipif(sys.platform != "linux" or os.geteuid() != 0, reason="only root can mount disks")


def skip_unless_mounted(done: Done) -> None:
    if done.returncode == 99 or "unshare" in done.stderr:
        assert not os.environ.get("CI"), "CI has to be allowed to mount: this is proved nowhere else"
        pytest.skip("mounting is not allowed here")


@pytest.mark.proof(part="grading")
@only_root
def test_on_a_full_disk_complete_reports_remain_and_the_next_run_continues(small_course: Path, tmp_path: Path) -> None:
    students = [f"student{number}" for number in range(9)]
    for student in students:
        hand_in(tmp_path / "class" / student, SOLUTION)
    disk, seen = tmp_path / "disk", tmp_path / "seen"
    disk.mkdir()
    seen.mkdir()
    prefix = ["unshare", "--mount", "sh", "-c", ON_A_SMALL_DISK, "sh", str(disk), str(seen)]
    done = run_program(small_course, "grade", tmp_path / "class", "--out", disk, "--jobs", 1, prefix=prefix)
    skip_unless_mounted(done)
    assert (seen / "code").read_text() == "3\n"
    *graded, sentence, rest = (seen / "stderr").read_text().splitlines()
    assert sentence == f"A report could not be written to {disk}: No space left on device. Those before it are whole."
    again = "remove the cause, and the same command continues with them."
    assert rest == f"{9 - len(graded)} of 9 were not graded: {again}"
    assert 0 < len(graded) < 9
    whole = read_reports(seen / "full")
    assert len(whole) == len(graded)
    assert not list((seen / "full").rglob(".*"))
    table = (seen / "stdout").read_text().splitlines()[3:12]
    assert [line.split()[0] for line in table] == students
    assert [line.split()[0] for line in table if line.split()[3:] == ["not", "graded"]] == students[len(graded) :]

    assert done.returncode == 0
    assert sum(line.startswith("skipped") for line in done.stderr.splitlines()) == len(graded)
    assert {name: report["points"] for name, report in read_reports(seen / "larger").items()} == dict.fromkeys(
        students, 5
    )


@pytest.mark.proof(part="grading")
@only_root
def test_grading_needs_space_only_for_the_reports(small_course: Path, ada: Path, tmp_path: Path) -> None:
    disk, spare = tmp_path / "disk", tmp_path / "spare"
    disk.mkdir()
    spare.write_text("to be removed, were it possible")
    prefix = ["unshare", "--mount", "sh", "-c", ON_THE_ONLY_DISK, str(spare), str(disk)]
    done = run_program(small_course, "grade", ada, "--out", disk, "--strict", prefix=prefix)
    skip_unless_mounted(done)
    assert (done.returncode, without_seconds(done.stderr)) == (0, "graded ada (1 of 1)\n")


# -- systems that cannot isolate student code -----------------------------------------------------------------

only_linux = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="elsewhere nothing isolates anyhow")


@only_linux
def test_without_isolation_nothing_is_graded_and_the_fix_is_named(
    small_course: Path, ada: Path, tmp_path: Path
) -> None:
    done = run_program(small_course, "grade", ada, "--out", tmp_path / "reports", prefix=courses.WHERE_NOTHING_ISOLATES)
    assert done.returncode == 3
    first, second, last = without_seconds(done.stderr).splitlines()
    assert first == "Student code cannot be isolated here, so nothing was graded."
    assert second.startswith("seccomp: This system refuses seccomp filters")
    assert last == "To grade without isolation: --allow-unisolated"
    assert list((tmp_path / "reports").iterdir()) == []


@pytest.mark.proof(part="grading")
@only_linux
def test_allow_unisolated_grades_and_every_report_says_so_until_it_is_made_in_isolation(
    small_course: Path, ada: Path, tmp_path: Path
) -> None:
    bob = hand_in(tmp_path / "bob", WRONG_ADD)
    arguments = ("grade", ada, bob, "--out", tmp_path / "reports", "--allow-unisolated")
    done = run_program(small_course, *arguments, prefix=courses.WHERE_NOTHING_ISOLATES)
    assert done.returncode == 0
    assert "These submissions were not isolated while they ran" in done.stdout
    reports = read_reports(tmp_path / "reports")
    assert {name: report["points"] for name, report in reports.items()} == {"ada": 5, "bob": 1}
    for report in reports.values():
        assert report["isolation"]["enough"] is False
        assert report["isolation"]["layers"]["seccomp"] is False
        assert report["isolation"]["layers"]["landlock"] is False
    assert without_seconds(run_grader(small_course, *arguments).stderr).splitlines()[0] == "skipped ada (1 of 2)"
    run_grader(small_course, *arguments[:-1])
    assert all(report["isolation"]["enough"] for report in read_reports(tmp_path / "reports").values())


@pytest.mark.proof(part="grading")
@only_linux
def test_the_doctor_names_what_is_missing_there_and_exits_1(small_course: Path) -> None:
    done = run_program(small_course, "doctor", prefix=courses.WHERE_NOTHING_ISOLATES)
    assert done.returncode == 1
    assert "\nseccomp: This system refuses seccomp filters" in done.stdout
    assert "\nlandlock: This kernel offers no Landlock" in done.stdout
    assert done.stdout.endswith("Student code cannot be isolated here.\n")
    assert has_no_traceback(done)


@pytest.mark.proof(part="grading")
@only_linux
@pytest.mark.skipif(os.geteuid() != 0, reason="only root can hide a library from one program")
def test_if_libseccomp_is_missing_the_package_to_install_is_named(small_course: Path) -> None:
    # In its own mount namespace, an empty file hides the library.
    hide = (
        'for library in $(ldconfig -p | sed -n "s/.*libseccomp.* => //p"); do mount --bind /dev/null "$library"; done; '
        'exec "$@"'
    )
    hidden = ["unshare", "--mount", "sh", "-c", hide, "sh"]
    if subprocess.run([*hidden, "true"], capture_output=True, check=False).returncode:
        assert not os.environ.get("CI"), "CI has to be allowed to mount: this is proved nowhere else"
        pytest.skip("mounting is not allowed here")
    done = run_program(small_course, "doctor", prefix=hidden)
    assert done.returncode == 1
    assert "seccomp: The library libseccomp is missing: sudo apt-get install libseccomp2" in done.stdout
    assert has_no_traceback(done)


# -- starting up ----------------------------------------------------------------------------------------------


def test_the_command_line_starts_without_the_heavy_libraries(small_course: Path) -> None:
    code = (
        "import sys, grader.cli.instructor\n"
        "print({'pydantic', 'yaml'} & set(sys.modules))\n"
        "import grader.course.model, grader.submissions.reader, grader.reports.report_model\n"
        "print({'torch', 'numpy', 'nbgrader', 'jupytext', 'nbformat', 'pytest'} & set(sys.modules))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=small_course, env=courses.environment(small_course),
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert done.stdout == "set()\nset()\n"


@pytest.mark.proof(part="grading")
def test_modules_in_the_current_folder_are_not_imported(small_course: Path, ada: Path, tmp_path: Path) -> None:
    for name in ("yaml", "typer", "pydantic", "torch", "pytest", "numpy"):
        (ada / f"{name}.py").write_text("raise SystemExit('imported from the submission')\n", encoding="utf-8")
    command = courses.grader_command("grade", ".", "--out", tmp_path / "reports", "--course", small_course)
    environment = courses.environment(small_course)
    done = subprocess.run(command, cwd=ada, env=environment, capture_output=True, text=True, check=False)
    assert (done.returncode, "imported" in done.stdout + done.stderr) == (0, False)
    assert read_reports(tmp_path / "reports")["ada"]["points"] == 5
