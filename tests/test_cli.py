"""The command line: what it says, what it writes, and the code it exits with."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import courses
import jsonschema
import pytest
from courses import hand_in, read_reports, run_grader

Done = subprocess.CompletedProcess[str]

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


# Each student's file, and the points that it earns of five: four for `add`, one for `Scale`.
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
    "renamed": (file(TOP_LEVEL.format("1 / 0").replace("def add(", "def plus(").encode()), 1),
    "raises": (file(TOP_LEVEL.format("1 / 0").encode()), 5),
    "loops": (file(TOP_LEVEL.format("while True: pass").encode()), 5),
    "exits": (file(TOP_LEVEL.format("os._exit(0)").encode()), 5),
    "quits": (file(TOP_LEVEL.format("raise SystemExit").encode()), 5),
    "hangs": (file(IN_ADD.format("while True: pass").encode()), 1),
    "crashes": (file(IN_ADD.format("import ctypes; ctypes.string_at(0)").encode()), 1),
    "talks": (file(IN_ADD.format("for _ in range(100): print('x' * 2**20)").encode()), 5),
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


@pytest.fixture
def ada(tmp_path: Path) -> Path:
    return hand_in(tmp_path / "ada", SOLUTION)


def steady(report: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in report.items() if name not in ("timing", "messages", "versions")}


def has_no_traceback(done: Done) -> bool:
    return "Traceback" not in done.stdout + done.stderr


# -- a class, damaged submissions and all ---------------------------------------------------------------------


@pytest.mark.parametrize("student", CLASS)
def test_every_submission_gets_the_points_it_earned_whatever_befell_it(graded: tuple[Done, Path], student: str) -> None:
    report = read_reports(graded[1])[student]
    assert (report["points"], report["possible"]) == (CLASS[student][1], 5)
    assert report["isolation"]["enough"]


@pytest.mark.parametrize("student", CLASS)
def test_every_report_fits_the_published_schema(graded: tuple[Done, Path], student: str) -> None:
    schema = json.loads((courses.REPOSITORY / "docs" / "report.schema.json").read_text(encoding="utf-8"))
    jsonschema.validate(read_reports(graded[1])[student], schema)


@pytest.mark.parametrize(
    ("student", "words"),
    [
        ("empty", "is empty"),
        ("missing", "is missing"),
        ("latin", "is not UTF-8"),
        ("binary", "is not a text file"),
        ("folder", "is a folder"),
        ("pipe", "is a named pipe"),
        ("sparse", "is 5.0 GB"),
        ("link", "is a symbolic link"),
    ],
)
def test_a_file_that_cannot_be_read_is_told_in_a_sentence(graded: tuple[Done, Path], student: str, words: str) -> None:
    unit = read_reports(graded[1])[student]["units"]["sums"]
    [remark] = unit["remarks"]
    assert remark.startswith("sums.py")
    assert words in remark
    assert {test["reason"] for exercise in unit["exercises"].values() for test in exercise["tests"]} == {remark}


@pytest.mark.parametrize(
    ("student", "reason"),
    [
        ("untouched", "It is not written yet."),
        ("syntax", "add is not defined. The cause is line 5 of sums.py: it is not valid Python."),
        # Of a line that defines nothing it cannot be told that it would have defined this.
        ("renamed", "add is not defined."),
        ("hangs", "It did not finish within 1 seconds."),
        ("crashes", "It crashed the Python process (signal 11)."),
        ("half", "It raised a ValueError."),
    ],
)
def test_a_criterion_that_was_missed_says_why(graded: tuple[Done, Path], student: str, reason: str) -> None:
    tests = read_reports(graded[1])[student]["units"]["sums"]["exercises"]["add"]["tests"]
    assert tests[0]["reason"] == reason


@pytest.mark.parametrize(
    ("student", "line", "text"),
    [
        ("raises", 2, "It raised ZeroDivisionError. division by zero"),
        ("loops", 2, "It did not finish within 1 seconds. "),
        ("exits", 2, "It ended the Python process (exit code 0). "),
        ("quits", 2, "It raised SystemExit. "),
        ("syntax", 5, "It is not valid Python. '(' was never closed"),
    ],
)
def test_a_line_that_could_not_be_run_is_told_of_with_its_place(
    graded: tuple[Done, Path], student: str, line: int, text: str
) -> None:
    messages = read_reports(graded[1])[student]["messages"]
    assert {
        "unit": "sums",
        "exercise": None,
        "kind": "not run",
        "text": text,
        "file": "sums.py",
        "line": line,
    } in messages


def test_a_known_mistake_is_named(graded: tuple[Done, Path]) -> None:
    exercise = read_reports(graded[1])["wrong"]["units"]["sums"]["exercises"]["add"]
    assert exercise["misconceptions"] == [{"name": "subtracts", "sentence": "Adding is not taking away."}]


def test_a_log_is_told_who_is_done(graded: tuple[Done, Path]) -> None:
    lines = graded[0].stderr.splitlines()
    assert {line.split()[1] for line in lines} == set(CLASS)
    assert [line.partition(" (")[2] for line in lines] == [f"{n} of {len(CLASS)})" for n in range(1, len(CLASS) + 1)]


def test_what_is_printed_is_cut_and_counted(graded: tuple[Done, Path]) -> None:
    [message, *_] = read_reports(graded[1])["talks"]["messages"]
    assert message["kind"] == "printed"
    assert message["text"].startswith("x" * 4000)
    assert len(message["text"]) < 5000


def test_a_students_text_steers_no_terminal(graded: tuple[Done, Path]) -> None:
    [message] = read_reports(graded[1])["half"]["messages"]
    assert message["text"] == "It raised a ValueError. ??[31m[bold]".replace("?", "\N{REPLACEMENT CHARACTER}")


def test_grading_a_class_of_damaged_submissions_exits_0(graded: tuple[Done, Path]) -> None:
    done, into = graded
    assert done.returncode == 0
    assert {path.name for path in into.iterdir()} == {*(f"{student}.json" for student in CLASS), "instructor"}


def test_where_no_one_watches_the_output_is_a_plain_table(graded: tuple[Done, Path]) -> None:
    done, into = graded
    assert "\x1b" not in done.stdout
    header, *rows = done.stdout.split("\n\n")[0].splitlines()
    assert header.split() == ["student", "sums", "total", "what", "stands", "out"]
    assert [row.split()[0] for row in rows if not row.startswith(" ")] == sorted(CLASS)
    assert any(row.split() == ["wrong", "1/5", "1/5", "add:", "subtracts"] for row in rows)
    assert done.stdout.endswith(f"Reports: {into}/<student>.json\n")


def test_regrading_gives_the_same_reports_but_for_messages_timing_and_versions(
    graded: tuple[Done, Path], small_course: Path, classroom: Path, tmp_path: Path
) -> None:
    some = ["wrong", "syntax", "exits", "latin", "talks"]
    run_grader(small_course, "grade", *(classroom / student for student in some), "--out", tmp_path, "--jobs", 1)
    again = read_reports(tmp_path)
    assert sorted(again) == sorted(some)
    for student, report in again.items():
        assert json.dumps(steady(report)) == json.dumps(steady(read_reports(graded[1])[student]))


def test_pytest_by_hand_comes_to_the_same_outcomes(
    graded: tuple[Done, Path], small_course: Path, classroom: Path
) -> None:
    results = small_course / "by-hand.json"
    done = subprocess.run(
        [
            sys.executable, "-m", "pytest", "grader/suites", "--submission", classroom / "wrong",
            "--json-report", f"--json-report-file={results}",
        ],
        cwd=small_course, env=courses.environment(small_course), capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 1, done.stdout + done.stderr
    by_hand = {
        test["nodeid"].rpartition("::test_")[2]: test["outcome"] for test in json.loads(results.read_text())["tests"]
    }
    exercises = read_reports(graded[1])["wrong"]["units"]["sums"]["exercises"]
    graded_ones = {test["name"]: test["outcome"] for exercise in exercises.values() for test in exercise["tests"]}
    assert by_hand == graded_ones
    assert set(by_hand.values()) == {"passed", "failed"}


# -- options and exit codes -----------------------------------------------------------------------------------


def test_strict_exits_0_for_full_marks_and_1_for_less(small_course: Path, ada: Path, tmp_path: Path) -> None:
    assert run_grader(small_course, "grade", ada, "--out", tmp_path / "reports", "--strict").returncode == 0
    bob = hand_in(tmp_path / "bob", WRONG_ADD)
    assert run_grader(small_course, "grade", ada, bob, "--out", tmp_path / "reports", "--strict").returncode == 1
    assert set(read_reports(tmp_path / "reports")) == {"ada", "bob"}


def test_a_student_can_be_named_and_a_unit_chosen(small_course: Path, ada: Path, tmp_path: Path) -> None:
    done = run_grader(small_course, "grade", ada, "--out", tmp_path, "--student", "Grace", "--unit", "sums")
    assert done.returncode == 0
    assert read_reports(tmp_path)["Grace"]["student"] == "Grace"


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["{ada}", "--out", "{out}", "--unit", "sum"], "autograder.yml has sums. Did you mean 'sums'?"),
        (["{ada}", "--out", "{out}", "--unit", "history"], "there is no unit 'history'; autograder.yml has sums.\n"),
        (["{ada}", "--out", "{ada}/sums.py"], "sums.py cannot be made a folder (File exists): name another."),
        (["{ada}/nowhere", "--out", "{out}"], "does not exist: give the folder of a submission or of a class."),
        (["{ada}/sums.py", "--out", "{out}"], "is not a folder: give the folder that the file lies in."),
        (["{ada}", "--out", "{out}", "--student", "../eve"], "cannot be graded as '../eve'"),
        (["{ada}", "{ada}", "--out", "{out}"], "are both called 'ada': rename one of the folders."),
        (["{ada}", "--out", "{out}", "--jobs", "0"], "--jobs"),
        (["{ada}"], "--out"),
        (["--out", "{out}"], "Missing argument"),
    ],
)  # fmt: skip
def test_bad_input_exits_2_with_a_sentence_and_writes_nothing(
    small_course: Path, ada: Path, tmp_path: Path, arguments: list[str], sentence: str
) -> None:
    out = tmp_path / "reports"
    done = run_grader(small_course, "grade", *(text.format(ada=ada, out=out) for text in arguments))
    assert done.returncode == 2
    assert sentence in done.stderr
    assert done.stdout == ""
    assert has_no_traceback(done)
    assert not out.exists()


def test_a_mistake_in_the_course_exits_2_with_its_line_and_writes_nothing(own_small_course: Path, ada: Path) -> None:
    course = own_small_course / "autograder.yml"
    course.write_text(course.read_text().replace("add: 2", "add: none"))
    out = own_small_course / "reports"
    done = run_grader(own_small_course, "grade", ada, "--out", out)
    assert done.returncode == 2
    assert done.stderr.startswith("autograder.yml:17:")
    assert has_no_traceback(done)
    assert not out.exists()


def test_where_the_room_ends_no_partial_file_is_left_and_it_is_said(
    small_course: Path, classroom: Path, tmp_path: Path
) -> None:
    limited = "import os, resource, sys\nresource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))\n"
    limited += "os.execv(sys.argv[1], sys.argv[1:])"
    out = tmp_path / "reports"
    done = run_grader(small_course, "grade", classroom / "talks", "--out", out, prefix=[sys.executable, "-c", limited])
    assert done.returncode == 3
    assert f"A report could not be written to {out}: File too large. Those before it are whole." in done.stderr
    assert has_no_traceback(done)
    assert {path.name for path in out.rglob("*") if path.is_file()} <= {"talks.pytest.json"}


# -- systems that cannot lock student code in -----------------------------------------------------------------

only_linux = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="elsewhere nothing isolates anyhow")


@only_linux
def test_where_nothing_isolates_nothing_is_graded_and_the_mend_is_told(
    small_course: Path, ada: Path, tmp_path: Path
) -> None:
    done = run_grader(small_course, "grade", ada, "--out", tmp_path / "reports", prefix=courses.WHERE_NOTHING_ISOLATES)
    assert done.returncode == 3
    first, second, last = done.stderr.splitlines()
    assert first == "Student code cannot be locked in here, so nothing was graded."
    assert second.startswith("seccomp: This system refuses seccomp filters")
    assert last == "To run it unprotected all the same: --allow-unisolated"
    assert list((tmp_path / "reports").iterdir()) == []


@only_linux
def test_with_leave_to_run_unprotected_it_grades_and_every_report_says_so(
    small_course: Path, ada: Path, tmp_path: Path
) -> None:
    bob = hand_in(tmp_path / "bob", WRONG_ADD)
    arguments = ("grade", ada, bob, "--out", tmp_path / "reports", "--allow-unisolated")
    done = run_grader(small_course, *arguments, prefix=courses.WHERE_NOTHING_ISOLATES)
    assert done.returncode == 0
    assert "These submissions were not locked in while they ran" in done.stdout
    reports = read_reports(tmp_path / "reports")
    assert {name: report["points"] for name, report in reports.items()} == {"ada": 5, "bob": 1}
    for report in reports.values():
        assert report["isolation"]["enough"] is False
        assert report["isolation"]["layers"]["seccomp"] is False
        assert report["isolation"]["layers"]["landlock"] is False


@only_linux
def test_the_doctor_names_what_is_missing_there_and_exits_1(small_course: Path) -> None:
    done = run_grader(small_course, "doctor", prefix=courses.WHERE_NOTHING_ISOLATES)
    assert done.returncode == 1
    assert "\nseccomp: This system refuses seccomp filters" in done.stdout
    assert "\nlandlock: This kernel offers no Landlock" in done.stdout
    assert done.stdout.endswith("Student code cannot be locked in here.\n")
    assert has_no_traceback(done)


@only_linux
@pytest.mark.skipif(os.geteuid() != 0, reason="only root can hide a library from one program")
def test_where_libseccomp_is_missing_the_package_to_install_is_named(small_course: Path) -> None:
    # In a mount namespace of its own, an empty file lies over the library.
    hide = (
        'for library in $(ldconfig -p | sed -n "s/.*libseccomp.* => //p"); do mount --bind /dev/null "$library"; done; '
        'exec "$@"'
    )
    hidden = ["unshare", "--mount", "sh", "-c", hide, "sh"]
    if subprocess.run([*hidden, "true"], capture_output=True, check=False).returncode:
        assert "CI" not in os.environ, "CI has to be allowed to mount: this is proved nowhere else"
        pytest.skip("mounting is not allowed here")
    done = run_grader(small_course, "doctor", prefix=hidden)
    assert done.returncode == 1
    assert "seccomp: The library libseccomp is missing: sudo apt-get install libseccomp2" in done.stdout
    assert has_no_traceback(done)


# -- starting up ----------------------------------------------------------------------------------------------


def test_without_a_command_the_help_is_shown(small_course: Path) -> None:
    done = run_grader(small_course)
    for command in ("grade", "build", "release", "doctor"):
        assert command in done.stdout + done.stderr


def test_the_command_line_starts_without_the_heavy_libraries(small_course: Path) -> None:
    code = (
        "import sys, grader.cli, grader.course, grader.submission, grader.report\n"
        "print({'torch', 'numpy', 'nbgrader', 'jupytext', 'nbformat', 'pytest'} & set(sys.modules))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=small_course, env=courses.environment(small_course),
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert done.stdout == "set()\n"


def test_modules_in_the_current_folder_are_not_imported(small_course: Path, ada: Path, tmp_path: Path) -> None:
    for name in ("yaml", "typer", "pydantic", "torch", "pytest", "numpy"):
        (ada / f"{name}.py").write_text("raise SystemExit('imported from the submission')\n", encoding="utf-8")
    command = courses.grader_command("grade", ".", "--out", tmp_path / "reports")
    environment = courses.environment(small_course)
    done = subprocess.run(command, cwd=ada, env=environment, capture_output=True, text=True, check=False)
    assert (done.returncode, "imported" in done.stdout + done.stderr) == (0, False)
    assert read_reports(tmp_path / "reports")["ada"]["points"] == 5
