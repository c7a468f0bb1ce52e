"""However a process brings about its own end, the run ends as usual, and only what did not come back has no points.

One class has a student for each way to end. All other code of theirs is right.
"""

from __future__ import annotations

import platform
from typing import Any

import pytest
from courses import SMALL_COURSE, hand_in, make_small_course, read_reports, run_grader

pytestmark = pytest.mark.proof(part="attacks")

RIGHT = SMALL_COURSE["solutions/sums.py"]
ADDS = "    hidden_in_the_solution = a + b\n    return hidden_in_the_solution\n"
IMPORTS = "import ctypes, mmap, os, resource, select, signal, sys, threading, time\nlibc = ctypes.CDLL(None)\n"
RUNS_BYTES = """\
def run(code):
    page = mmap.mmap(-1, 4096, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, 7)
    page.write(code)
    ctypes.CFUNCTYPE(None)(ctypes.addressof(ctypes.c_char.from_buffer(page)))()
"""

CRASHED, ENDED = "It crashed the Python process (signal {}).", "It ended the Python process (exit code {})."
CLOSED = "Its process closed the connection to the grader."
FOR_EVER = "Is there a loop that never ends?"
REFUSED = "It raised a PermissionError."
UNCHANGED = "It raised a ValueError."
NO_TENSOR = "A tensor was expected; yours gave "
# What `add` does instead of adding, and what its report says.
ENDS: dict[str, tuple[str, str]] = {
    **{f"exit code {code}": (f"os._exit({code})", ENDED.format(code & 255)) for code in (0, 1, 9, 70, 137, 139, -9)},
    "exit in a thread": ("threading.Thread(target=os._exit, args=(3,)).start()", ENDED.format(3)),
    "sys.exit": ("sys.exit(137)", "It raised a SystemExit."),
    "sys.exit in a thread": ("threading.Thread(target=sys.exit, args=(137,)).start()", f"{NO_TENSOR}None."),
    "exit by system call": ("libc._exit(5)", ENDED.format(5)),
    "abort": ("os.abort()", CRASHED.format(11)),
    "null pointer": ("ctypes.string_at(0)", CRASHED.format(11)),
    "deep nesting": (
        "deep = []\nsys.setrecursionlimit(10**9)\nfor _ in range(10**6): deep = [deep]\nrepr(deep)", CRASHED.format(11)
    ),
    "recursion": ("add(a, b)", "It raised a RecursionError."),
    "timer of its processor time": (
        "signal.signal(signal.SIGPROF, signal.SIG_DFL)\nwhile True: pass", CRASHED.format(27)
    ),
    "alarm": ("signal.setitimer(signal.ITIMER_REAL, 0.01)\ntime.sleep(1)", "It raised an OSError."),
    "raised SIGKILL": ("signal.raise_signal(signal.SIGKILL)", REFUSED),
    "raised SIGSTOP": ("signal.raise_signal(signal.SIGSTOP)", REFUSED),
    "sent SIGTERM": ("os.kill(os.getpid(), signal.SIGTERM)", REFUSED),
    "sent SIGKILL to a thread": ("signal.pthread_kill(threading.get_ident(), signal.SIGKILL)", REFUSED),
    "signal at the death of its parent": ("assert libc.prctl(1, 9, 0, 0, 0) == 0", "It raised an AssertionError."),
    "memory kept from being swapped": ("assert libc.mlockall(3) == 0", "It raised an AssertionError."),
    "processor time": ("resource.setrlimit(resource.RLIMIT_CPU, (1, 1))\nwhile True: pass", UNCHANGED),
    "processor time with a signal": ("resource.setrlimit(resource.RLIMIT_CPU, (1, 30))\nwhile True: pass", UNCHANGED),
    "processor time of this process": ("resource.prlimit(0, resource.RLIMIT_CPU, (1, 1))", REFUSED),
    "processor time by system call": (
        "assert libc.prlimit(0, 0, (ctypes.c_ulong * 2)(1, 1), None) == 0", "It raised an AssertionError."
    ),
    **{
        f"limit of {name}": (f"resource.setrlimit(resource.RLIMIT_{name}, (0, 0))\nos.dup(1)", UNCHANGED)
        for name in ("AS", "DATA", "STACK", "NOFILE", "NPROC", "RTPRIO", "RTTIME", "SIGPENDING")
    },
    "a file that is too large": ("os.write(0, b'x')", "It raised an OSError."),
    "memory": ("held = []\nwhile True: held.append(bytes(10**8))", "It raised a MemoryError."),
    "memory of torch": ("held = []\nwhile True: held.append(torch.empty(10**8))", "It raised a RuntimeError."),
    "memory, without giving up": (
        "held = []\nwhile True:\n    try: held.append(bytearray(10**7))\n    except MemoryError: pass", FOR_EVER
    ),
    "closed connection": ("os.close(3)\ntime.sleep(100)", CLOSED),
    "closed connection and a loop": ("os.close(3)\nwhile True: pass", CLOSED),
    "output in place of the connection": ("os.dup2(1, 3)\ntime.sleep(100)", CLOSED),
    "everything closed": ("os.closerange(0, 100)", "It ended the Python process"),
    "nothing in place of the connection": ("os.dup2(0, 3)", "It ended the Python process"),
    "sleep": ("time.sleep(10**6)", FOR_EVER),
    "wait": ("select.select([], [], [])", FOR_EVER),
    "loop that ignores all signals": (
        "for number in range(1, 65):\n    if number not in (9, 19, 32, 33): signal.signal(number, signal.SIG_IGN)\n"
        "while True: pass", FOR_EVER
    ),
}  # fmt: skip
if platform.machine() == "x86_64":
    ENDS |= {
        "no instruction": (r"run(b'\x0f\x0b')", CRASHED.format(4)),
        "breakpoint": (r"run(b'\xcc')", CRASHED.format(5)),
        "misaligned address": (
            r"run(b'\x9c\x81\x0c\x24\x00\x00\x04\x00\x9d\x48\x8b\x44\x24\xf9\xc3')", CRASHED.format(7)
        ),
        "division by zero": (r"run(b'\x31\xc9\xf7\xf1')", CRASHED.format(8)),
        "system call of 32 bits": (r"run(b'\xb8\x01\x00\x00\x00\xcd\x80\xc3')", CRASHED.format(31)),
        "system call of another kind": ("libc.syscall(ctypes.c_long(0x40000000 + 39))", CRASHED.format(31)),
    }  # fmt: skip


@pytest.fixture(scope="module")
def reports(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Any]]:
    folder = tmp_path_factory.mktemp("ends")
    course = make_small_course(folder / "course")
    settings = SMALL_COURSE["autograder.yml"]
    for limit, seconds in {"call_seconds: 1": "call_seconds: 3", "unit_seconds: 4": "unit_seconds: 60"}.items():
        assert limit in settings
        settings = settings.replace(limit, seconds)
    (course / "autograder.yml").write_text(settings)
    assert ADDS in RIGHT
    for number, (body, _) in enumerate(ENDS.values()):
        ends = RIGHT.replace(ADDS, "".join(f"    {line}\n" for line in body.splitlines()))
        hand_in(folder / "class" / f"s{number}", f"{IMPORTS}{RUNS_BYTES}{ends}")
    run = run_grader(course, "grade", folder / "class", "--out", folder / "reports")
    assert run.returncode == 0, run.stderr
    return read_reports(folder / "reports")


@pytest.mark.parametrize("end", ENDS)
def test_what_did_not_come_back_has_no_points_and_the_reason(reports: dict[str, dict[str, Any]], end: str) -> None:
    report = reports[f"s{[*ENDS].index(end)}"]
    exercises = report["units"]["sums"]["exercises"]
    reasons = [test["reason"] for test in exercises["add"]["tests"]]
    assert [ENDS[end][1] in reason for reason in reasons] == [True, True], reasons
    assert [test["outcome"] for test in exercises["Scale"]["tests"]] == ["passed"]
    assert report["points"] == 1
