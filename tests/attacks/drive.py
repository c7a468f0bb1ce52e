"""A program that grades every attack between honest students, and alone, as the user who runs it.

`drive.py BASE [alone] batch`: BASE contains a course, a class of submissions, the units of each submission, and an
empty folder for the reports. Everything is graded as if after its due date, so that reports contain quiz answers.
"""

from __future__ import annotations

import ctypes
import datetime
import hashlib
import json
import os
import signal
import stat
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

from grader.course.model import load_course
from grader.engine.engine_client import Engine
from grader.files import PACKAGE
from grader.quizzes.quiz_source import load_quizzes
from grader.reports.folder import write_report
from grader.reports.scoring import Rubric, make_report
from grader.submissions.reader import read_submission
from grader.submissions.submission import Submission

HONEST = ("honest", "honest_part")
NEIGHBOUR = "neighbour_before_"
PR_SET_CHILD_SUBREAPER = 36
SECONDS_TO_END = 10
LARGEST_READ = 100 * 2**20


def drive(base: Path, ways: Sequence[str]) -> None:
    """Write the reports to BASE/reports/<how>/, and what this program observed to BASE/reports/drive.json."""
    assert base / "course" == PACKAGE.parent, "another copy of the grader was imported"
    # Each process that a submission leaves running, in any session, becomes a child of this process.
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    course = load_course(base / "course")
    now = max(unit.due for unit in course.units.values()) + datetime.timedelta(days=1)
    with_quiz = [name for name, unit in course.units.items() if unit.quiz]
    quizzes = load_quizzes(course.solutions, with_quiz)
    units = json.loads((base / "units.json").read_text(encoding="utf-8"))
    attacks = sorted(path.name for path in (base / "class").iterdir() if path.name not in HONEST)
    faults: list[str] = []

    def submission(name: str, student: str) -> Submission:
        quiz_names = [unit for unit in units[name] if unit in with_quiz]
        return read_submission(student, base / "class" / name, units[name], course.exercises, course.units, quiz_names)

    with Engine(course) as engine:
        handshake = engine.handshake()
        rubric = Rubric(handshake.criteria, quizzes)

        def grade(how: str, submissions: Iterable[Submission], at_once: int) -> None:
            for graded, result in engine.turns(at_once).all(submissions):
                if isinstance(result, str):
                    faults.append(f"{graded.student}, {how}: {result}\n{engine.last_words()}")
                    continue
                report = make_report(graded, result, rubric, course, handshake.missing, handshake.versions, now)
                write_report(report, result.pytest, base / "reports" / how)

        for name in HONEST:
            grade("alone", [submission(name, name)], 1)
        before = contents(base)
        for name in attacks if "alone" in ways else ():
            grade("alone", [submission(name, name)], 1)
        queue = [one for name in attacks for one in (submission("honest", NEIGHBOUR + name), submission(name, name))]
        grade("batch", [*queue, submission("honest", f"{NEIGHBOUR}the_end")], 2)
        after = contents(base)

    seen = {
        "faults": faults,
        "changed": sorted(path for path in before.keys() | after.keys() if before.get(path) != after.get(path)),
        "left_running": left_running(),
        "user": os.geteuid(),
    }
    (base / "reports" / "drive.json").write_text(json.dumps(seen), encoding="utf-8")


def contents(base: Path) -> dict[str, str]:
    """Return everything in BASE except the reports: its kind and its contents."""
    found = {}
    # By descriptors, because some paths are longer than a path may be.
    for folder, folders, files, descriptor in os.fwalk(base):
        if Path(folder) == base:
            folders.remove("reports")
        for name in [*folders, *files]:
            status = os.stat(name, dir_fd=descriptor, follow_symlinks=False)
            kind = f"{status.st_mode:o} {status.st_uid} {status.st_nlink} {status.st_size}"
            found[f"{folder}/{name}"] = f"{kind} {held(name, status, descriptor)}"
    return found


def held(name: str, status: os.stat_result, folder: int) -> str:
    if stat.S_ISLNK(status.st_mode):
        return os.readlink(name, dir_fd=folder)
    if not stat.S_ISREG(status.st_mode) or status.st_size > LARGEST_READ:
        return str(status.st_mtime_ns)
    with open(os.open(name, os.O_RDONLY | os.O_NOFOLLOW, dir_fd=folder), "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def left_running() -> list[str]:
    """Return the names of descendants that do not end by themselves after the engine has ended."""
    signal.signal(signal.SIGALRM, _give_up)
    signal.alarm(SECONDS_TO_END)
    try:
        while True:
            os.waitpid(-1, 0)
    except ChildProcessError:
        return []
    except TimeoutError:
        children = Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()
        return [Path(f"/proc/{pid}/comm").read_text().strip() for pid in children]
    finally:
        signal.alarm(0)


def _give_up(*_: object) -> None:
    raise TimeoutError


if __name__ == "__main__":
    drive(Path(sys.argv[1]), sys.argv[2:])
