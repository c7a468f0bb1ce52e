"""Whatever a student process does, the trusted side gets a value or a failure with a sentence, in time."""

from __future__ import annotations

import contextlib
import os
import select
import signal
from collections.abc import Callable
from functools import partial
from textwrap import dedent
from typing import Any

import processes
import pytest
import torch

from grader.sandbox import sandbox_client as clients
from grader.sandbox.failures import Ended, Failure, NotDefined, Raised, Refused, TimedOut
from grader.sandbox.limits import Limits
from grader.sandbox.processes import ForkedProcess, ForkServer, PracticeServer, ServerLost
from grader.sandbox.protocol import Progress
from grader.sandbox.sandbox_client import LeftOut, SandboxClient, Source
from grader.testing.student import Student

Opens = Callable[..., SandboxClient]
LIMITS = Limits(call_seconds=5, unit_seconds=20, cpu_seconds=30, memory_mb=2048, output_kb=64)
CALL = 0.5
STOPPED = (
    r"^Stopped: a call may take {} s, and all calls of an exercise may take {} s together\. "
    r"Is there a loop that never ends\?$"
)

# Forges frames with the functions that the protocol uses; a student could also write the bytes directly.
FORGING = """\
import json, os, struct, sys, threading, time
def frame(message, blob=b""):
    text = json.dumps(message).encode()
    return struct.pack(">II", len(text), len(blob)) + text + blob
def number():
    found = sys._getframe()
    while found.f_code.co_name != "serve":
        found = found.f_back
    return found.f_locals["request"].number
def right(): return 1
"""


def failure(call: Callable[[], Any], kind: type[Failure] = Failure) -> str:
    with pytest.raises(kind) as caught:
        call()
    return str(caught.value)


def answers(open_client: Opens, source: str, **limits: float) -> tuple[Student, SandboxClient]:
    client = open_client(dedent(source), **limits)
    return Student(client, "answers"), client


# -- time -----------------------------------------------------------------------------------------------------


def test_a_call_that_never_returns_is_stopped_at_its_deadline_and_has_the_line_that_ran(open_client: Opens) -> None:
    source = "def f():\n    x = 0\n    while True:\n        x += 1\ndef g(): return 1"
    student, _ = answers(open_client, source, call_seconds=1)
    with pytest.raises(TimedOut, match=STOPPED.format(1, 20)) as caught:
        student.f()
    assert caught.value.file == "answers.py"
    assert caught.value.line in (3, 4)
    assert student.g() == 1


def test_a_call_on_which_python_has_no_line_gets_its_value_or_its_error(open_client: Opens) -> None:
    source = """\
        import time
        def without_lines(function):
            function.__code__ = function.__code__.replace(co_linetable=b"")
            return function
        @without_lines
        def f():
            begin = time.process_time()
            while time.process_time() < begin + 1: pass
            return 1
        @without_lines
        def g(): return 1 / 0
        """
    student, _ = answers(open_client, source)
    assert student.f() == 1
    assert "ZeroDivisionError" in failure(student.g, Raised)


def test_a_call_that_ignores_every_signal_is_stopped_too(open_client: Opens) -> None:
    source = """\
        import signal, time
        for number in range(1, 32):
            try: signal.signal(number, signal.SIG_IGN)
            except (OSError, ValueError): pass
        def f():
            while True:
                try: time.sleep(100)
                except BaseException: pass
        """
    student, _ = answers(open_client, source, call_seconds=CALL)
    failure(student.f, TimedOut)


def test_a_reply_sent_byte_by_byte_gains_no_time(open_client: Opens) -> None:
    source = FORGING + dedent("""\
        def f():
            for byte in frame(["Reply", 1, 1]) * 1000:
                os.write(3, bytes([byte]))
                time.sleep(0.05)
        """)
    student, client = answers(open_client, source, call_seconds=CALL, unit_seconds=3 * CALL)
    client.budget.use("f", 1)
    failure(student.f)
    assert student.right() == 1, "time was left for it"


def test_forged_progress_messages_gain_no_time_for_a_call(open_client: Opens) -> None:
    source = FORGING + dedent("""\
        def f():
            while True:
                os.write(3, frame(["Progress", number(), "answers", 0, 1, []]))
                time.sleep(0.05)
        """)
    student, client = answers(open_client, source, call_seconds=CALL, unit_seconds=3 * CALL)
    client.load("answers")
    client.budget.use("f", 1)
    with pytest.raises(TimedOut, match=STOPPED.format(0.5, 1.5)):
        student.f()
    assert student.right() == 1, "time was left for it"


def test_each_repetition_of_a_call_has_its_own_time(open_client: Opens) -> None:
    source = f"""\
        import time
        count = 0
        def f():
            global count
            count += 1
            time.sleep({CALL} / 2)
            while count > 4: pass
            return count
        def right(): return 1
        """
    student, client = answers(open_client, source, call_seconds=CALL, unit_seconds=8 * CALL)
    client.load("answers")
    client.budget.use("f", 1)
    assert student.f.repeated(4) == [1, 2, 3, 4]
    assert "a call may take 0.5 s" in failure(lambda: student.f.repeated(4), TimedOut)
    assert student.right() == 1


def test_all_repetitions_of_a_call_share_the_time_of_their_exercise(open_client: Opens) -> None:
    source = f"import time\ndef f(): time.sleep({CALL} / 2)\ndef right(): return 1"
    student, client = answers(open_client, source, call_seconds=CALL, unit_seconds=CALL)
    client.load("answers")
    client.budget.use("f", 1)
    failure(lambda: student.f.repeated(100), TimedOut)
    failure(student.right, TimedOut)
    client.budget.use("right", 1)
    assert student.right() == 1


def test_one_exercise_cannot_use_up_the_time_of_another(open_client: Opens) -> None:
    student, client = answers(
        open_client, "def hangs():\n    while True: pass\ndef right(): return 1", call_seconds=CALL, unit_seconds=2
    )
    client.budget.use("hangs", 2)
    reasons = {failure(student.hangs, TimedOut) for _ in range(5)}
    assert len(reasons) == 1, "also of the calls for which no time was left"
    client.budget.use("right", 2)
    assert student.right() == 1


def test_too_much_processor_time_ends_the_process(open_client: Opens) -> None:
    student, _ = answers(open_client, "def f():\n    while True: pass", cpu_seconds=1, call_seconds=10)
    reason = "Stopped after 1 s of processor time, which is all that a unit gets."
    assert failure(student.f, Ended) == reason


def test_processor_time_between_two_ticks_of_the_clock_ends_the_process_too(open_client: Opens) -> None:
    """The limit counts whole ticks in which it runs, however short; the usage that is reported for it is far less."""
    source = """\
        import time
        def f():
            while True:
                tick = time.clock_gettime(6)
                while time.clock_gettime(6) == tick: pass
                time.sleep(0.003)
        """
    student, _ = answers(open_client, source, cpu_seconds=2, call_seconds=10)
    assert failure(student.f).startswith("Stopped")


# -- lost processes -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("body", "sentence"),
    [
        ("os._exit(0)", "It ended the Python process (exit code 0)."),
        ("os._exit(7)", "It ended the Python process (exit code 7)."),
        ("ctypes.string_at(0)", "It crashed the Python process (signal 11)."),
        ("os.close(3); time.sleep(100)", "Its process closed the connection to the grader."),
        ("os.dup2(0, 3)", ""),
    ],
)
def test_a_process_that_is_lost_is_reported_and_started_again(open_client: Opens, body: str, sentence: str) -> None:
    student, _ = answers(open_client, f"import os, ctypes, time\ndef f(): {body}\ndef g(): return 1", call_seconds=2)
    assert sentence in failure(student.f, Ended)
    assert student.g() == 1


def test_garbage_of_student_code_is_collected(open_client: Opens) -> None:
    client = open_client("import gc\n\n\ndef collects():\n    return gc.isenabled()\n")
    assert client.call("call", target=("answers", "collects"), arguments=(), options={})


def test_an_object_of_a_lost_process_cannot_be_used(open_client: Opens) -> None:
    student, _ = answers(open_client, "import os\nclass Box: ...\ndef f(): os._exit(0)")
    box = student.Box()
    failure(student.f, Ended)
    failure(lambda: box.get("x"))


def test_a_process_is_not_started_again_without_end(open_client: Opens) -> None:
    student, _ = answers(open_client, "import os\ndef f(): os._exit(0)", unit_seconds=60)
    reasons = [failure(student.f, Ended) for _ in range(clients.MAX_STARTS + 1)]
    assert reasons[-1] == f"Its process was lost {clients.MAX_STARTS} times and is not started again."


def test_a_top_level_statement_that_exits_is_skipped_and_the_rest_runs(open_client: Opens) -> None:
    student, client = answers(open_client, "import os\na = 1\nb = os._exit(3)\ndef f(): return a\ndef g(): return b")
    client.load("answers")
    assert student.f() == 1
    assert failure(student.g, Raised) == "It raised a NameError."
    [lost] = client.failures["answers"]
    assert (lost.names, lost.line, lost.reason) == (("b",), 3, "It ended the Python process (exit code 3).")


@pytest.mark.parametrize("slow", ["while True: pass", "time.sleep(99)", "for _ in range(99): time.sleep(0.3)"])
def test_once_a_statement_hangs_the_other_calls_and_loops_cost_no_exercise_its_time(
    open_client: Opens, slow: str
) -> None:
    source = f"import time\na = 1; print('once')\n{slow}\ndef f(): return a\n" + f"{slow}\n" * 9
    student, client = answers(open_client, source, call_seconds=CALL, unit_seconds=3 * CALL)
    client.budget.use("answers", 3)
    failure(lambda: client.load("answers"), TimedOut)
    client.budget.use("answers/f", 3)
    client.load("answers")
    assert student.f() == 1
    [lost] = client.failures["answers"]
    assert (lost.line, lost.reason) == (
        3,
        "Stopped: all statements outside of functions may take 0.5 s together. Is there a loop that never ends?",
    )
    assert lost.detail == (
        "So the file's other calls and loops outside of functions were left out, too: lines 2, 5 to 13. Put what takes "
        'long under `if __name__ == "__main__":`.'
    )
    assert client.take_printed() == ("once\n", 0)


def test_of_too_many_statements_that_fail_the_last_ones_are_counted(open_client: Opens) -> None:
    source = (
        "import torch\ntorch.set_default_dtype(torch.float64)\n" + "1 / 0\n" * 250 + "def f(: ...\ndef g(x: y): ...\n"
    )
    _, client = answers(open_client, source)
    client.load("answers")
    *failed, last, setting = client.failures["answers"]
    assert (last.line, last.names, last.reason) == (
        len(failed) + 3,
        ("f",),
        "Too many statements failed to show each. Those from here on that did not run:",
    )
    assert last.detail == f"{251 - len(failed)}."
    assert setting.reason == "changes torch's default dtype"


@pytest.mark.parametrize(
    ("cells", "others"),
    [
        (["'A text.'\nwhile True: pass\na = 1"], ""),
        (["while True: pass\nprint(1)\n\n# more\nfor b in []:\n    b\na = 1\nprint(\n1)"], "lines 2 to 6, 8 to 9"),
        (["a = 1\nprint(1)\nwhile True: pass\na = 2"], "line 2"),
        (["print(1)\n!pip\nprint(1)", "a = 1", "while True: pass\nprint(1)"],
         "lines 1 to 3 of answers.ipynb, cell 1; line 2 of answers.ipynb, cell 3"),
    ],
)  # fmt: skip
def test_what_is_left_out_for_want_of_time_is_named(cells: list[str], others: str) -> None:
    source = Source.of("answers.ipynb" if len(cells) > 1 else "answers.py", cells)
    left_out = LeftOut({"answers": source})
    cell, line = next(
        (n, text[: text.index("while")].count("\n") + 1) for n, text in enumerate(cells) if "while" in text
    )
    assert left_out.add(Progress(1, "answers", cell, line, ()), TimedOut("Stopped."), "answers")
    [lost] = left_out.failures["answers"]
    begin = "So the file's other calls and loops outside of functions were left out, too"
    assert lost.detail.partition("Put")[0] == (f"{begin}: {others}. " if others else "")


def test_a_slow_statement_takes_no_time_from_the_next(open_client: Opens) -> None:
    source = "import time\n" + "time.sleep(0.3)\n" * 3 + "def f(): return 1"
    student, client = answers(open_client, source, call_seconds=CALL)
    client.load("answers")
    assert client.failures["answers"] == []
    assert student.f() == 1


def test_a_process_that_reads_no_requests_is_stopped_while_sending(open_client: Opens) -> None:
    # It answers its first call itself, and never reads the second.
    source = FORGING + "def f():\n    os.write(3, frame(['Reply', number(), [1]]))\n    time.sleep(100)\n"
    student, client = answers(open_client, source, call_seconds=CALL)
    client.load("answers")
    assert student.f() == 1
    failure(lambda: student.right([torch.zeros(2**22)] * 3), TimedOut)


# -- output ---------------------------------------------------------------------------------------------------


def test_output_is_kept_up_to_the_limit_and_the_rest_is_counted(open_client: Opens) -> None:
    student, client = answers(
        open_client, "def f():\n    for _ in range(100): print('x' * (2**20 - 1))\n    return 1", output_kb=4
    )
    assert student.f() == 1
    text, dropped = client.take_printed()
    assert text == "x" * 4096
    assert len(text) + dropped == 100 * 2**20


def test_standard_error_raw_writes_and_invalid_bytes_are_kept(open_client: Opens) -> None:
    source = """\
        import os, sys, warnings
        print("out")
        print("err", file=sys.stderr)
        os.write(1, b"\\xff raw\\n")
        warnings.warn("careful")
        print("\\ud800")
        """
    _, client = answers(open_client, source)
    client.load("answers")
    text, dropped = client.take_printed()
    assert text.startswith("out\nerr\n\N{REPLACEMENT CHARACTER} raw\n")
    assert "careful" in text
    assert dropped == 0
    assert client.take_printed() == ("", 0)


def test_a_coroutine_that_the_grader_does_not_await_prints_no_warning(open_client: Opens) -> None:
    student, client = answers(open_client, "async def f(): return 1\ndef g():\n    f()\n    return 1")
    student.f()
    client.notify("prepare", seed=1)  # drops what f gave
    assert student.g() == 1
    printed = client.take_printed()[0]
    assert printed.count("never awaited") == 1  # in g, whose own line it is
    assert "grader/" not in printed


def test_a_warning_of_torch_is_kept_without_the_place_in_its_code_and_its_advice(open_client: Opens) -> None:
    source = """\
        import torch
        torch.ones(2, 3, 4).T
        float(torch.ones(1, requires_grad=True))
        """
    _, client = answers(open_client, source)
    client.load("answers")
    text, _ = client.take_printed()
    assert "The use of `x.T` on tensors" in text
    assert "Converting a tensor with requires_grad=True to a scalar" in text
    assert "Triggered internally" not in text
    assert "detach" not in text


def test_output_before_the_end_of_a_process_is_not_lost(open_client: Opens) -> None:
    student, client = answers(open_client, "import os\ndef f():\n    print('last words')\n    os._exit(0)")
    failure(student.f, Ended)
    assert client.take_printed() == ("last words\n", 0)


def test_output_of_a_unit_that_runs_again_in_a_new_process_counts_once(open_client: Opens) -> None:
    student, client = answers(open_client, "import os\nprint('hello')\ndef f(): os._exit(0)")
    client.load("answers")
    failure(student.f, Ended)
    client.load("answers")
    assert client.take_printed() == ("hello\n", 0)


def test_closing_standard_output_does_no_harm(open_client: Opens) -> None:
    student, _ = answers(open_client, "import os, sys\nos.close(1); os.close(2)\nsys.stdout = None\ndef f(): return 1")
    assert student.f() == 1


# -- forged replies -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "forgery",
    [
        'frame(["Reply", 0, [1]])',
        'frame(["Reply", NUMBER + 1, [1]])',
        'frame(["Reply", True, [1]])',
        'frame(["Reply", float(NUMBER), [1]])',
        'frame(["Reply", [1]])',
        'frame(["Reply", NUMBER])',
        'frame(["Reply", NUMBER, 1])',
        'frame(["Reply", NUMBER, []])',
        'frame(["Reply", NUMBER, [1, 1]])',
        'frame(["Reply", NUMBER, [1], 1])',
        'frame(["Unknown", NUMBER, [1]])',
        'frame(["Request", NUMBER, [], 1])',
        'frame(["Handshake", {"seccomp": True}, 1])',
        'frame(["Reply", NUMBER, [[1]]])',
        'frame(["Reply", NUMBER, [{"list": []}]])',
        'frame(["Reply", NUMBER, [["tensor", "float32", [1]]]])',
        'frame(["Error", NUMBER, 1])',
        'frame(["Error", NUMBER, "ValueError", "", None, None])',
        'frame(["Error", NUMBER, ["ValueError"], "x" * 2001, None, None])',
        'frame(["Error", NUMBER, ["ValueError"] * 21, "", None, None])',
        'frame(["Error", NUMBER, ["ValueError"], "", "1", None])',
        'frame(["Progress", NUMBER, "answers", 0, 1, ["x" * 201]])',
        'frame(["Progress", NUMBER, "answers", 0, 1, ["x"] * 101])',
        'frame(["Anomaly", NUMBER, "open a file", "x" * 201])',
        'frame(["Reply", NUMBER, [["tensor", "float32", [2]]]], b"\\0" * 100)',
        'frame({"number": NUMBER, "value": 1})',
        'frame([])',
        'struct.pack(">II", 2**32 - 1, 2**32 - 1)',
        'struct.pack(">II", 10, 2**31) + b"{}" * 100',
        'b"\\0" * 8',
        'b"garbage" * 100',
        'os.urandom(10**5)',
    ],
)  # fmt: skip
def test_a_forged_reply_ends_the_process_and_has_no_effect(open_client: Opens, forgery: str) -> None:
    source = FORGING + f"def f():\n    NUMBER = number()\n    os.write(3, {forgery})\n    time.sleep(100)\n"
    student, client = answers(open_client, source, call_seconds=2)
    client.load("answers")
    reason = failure(student.f, Ended)
    assert reason.startswith("The student process sent ")
    assert reason.endswith(" and was stopped.")
    assert student.right() == 1


@pytest.mark.parametrize("values", [[1] * 3, []], ids=["more", "none"])
def test_a_process_that_sends_another_number_of_values_is_stopped(open_client: Opens, values: list[int]) -> None:
    source = FORGING + f"def f():\n    os.write(3, frame(['Reply', number(), {values}]))\n    time.sleep(100)\n"
    student, client = answers(open_client, source)
    client.load("answers")
    assert "malformed reply" in failure(lambda: student.f.repeated(2), Ended)
    assert student.right() == 1


def test_a_process_that_sends_fewer_values_is_waited_for(open_client: Opens) -> None:
    source = FORGING + "def f():\n    os.write(3, frame(['Reply', number(), [1]]))\n    time.sleep(100)\n"
    student, client = answers(open_client, source, call_seconds=CALL)
    client.load("answers")
    failure(lambda: student.f.repeated(2), TimedOut)
    assert student.right() == 1


def test_the_tensors_of_all_repetitions_of_a_call_have_one_bound(open_client: Opens) -> None:
    student, _ = answers(open_client, "import torch\ndef f(): return torch.ones(2**20)")
    assert len(student.f.repeated(4)) == 4
    sentence = "The student process sent tensors of more than 16 MB in one reply and was stopped."
    assert failure(lambda: student.f.repeated(5), Ended) == sentence
    assert len(student.f.repeated(4)) == 4


def test_a_process_never_holds_a_later_request_while_it_answers_one(open_client: Opens) -> None:
    source = """\
        import select
        def f(x): return bool(select.select([3], [], [], 0.05)[0])
        """
    student, client = answers(open_client, source)
    client.load("answers")
    for value in range(3):
        client.notify("seed", seed=value)
        assert student.f(torch.full((2,), value)) is False
    assert student.f.repeated(3, 1) == [False] * 3


def test_a_reply_sent_before_its_request_is_refused(open_client: Opens) -> None:
    source = FORGING + dedent("""\
        def f():
            os.write(3, frame(["Reply", number(), ["honest"]]) + frame(["Reply", number() + 1, ["forged"]]))
            time.sleep(100)
        """)
    student, client = answers(open_client, source)
    client.load("answers")
    assert student.f() == "honest"
    assert "malformed reply" in failure(student.right, Ended)
    assert student.right() == 1


def test_the_types_of_an_error_are_only_built_in_types(open_client: Opens) -> None:
    names = ["Wrong", "int", "Undefined", "none"]
    source = "".join(f"class {name}(Exception): ...\n" for name in names[:-1])
    student, _ = answers(open_client, f"{source}def f(name): raise globals().get(name, KeyError)('x')")
    raised = {name: failure(partial(student.f, name), Raised) for name in names}
    assert raised == {**dict.fromkeys(raised, "It raised an Exception."), "none": "It raised a KeyError."}


def test_of_the_shapes_in_an_error_only_names_and_numbers_are_kept(open_client: Opens) -> None:
    shapes = ["x (2, 3)", "y ()", "z (4,)", "see https://example.org", "x (2, 3) is right", "\x1b (1,)"]
    error = ["ValueError"], "text", 1, "answers.py", [["answers.py", 1]], shapes
    source = FORGING + f"def f():\n    os.write(3, frame(['Error', number(), *{error!r}]))\n    time.sleep(100)\n"
    student, client = answers(open_client, source)
    client.load("answers")
    with pytest.raises(Raised) as caught:
        student.f()
    assert caught.value.shapes == ("x (2, 3)", "y ()", "z (4,)")


def test_a_value_that_is_too_large_is_refused_and_the_process_continues(open_client: Opens) -> None:
    student, _ = answers(
        open_client,
        "import torch\nkept = []\ndef f():\n    kept.append(1)\n    return 'x' * 2**23\ndef g(): return len(kept)",
    )
    assert failure(student.f, Refused) == "It gave a message of more than 4 MB."
    assert student.g() == 1


def test_a_value_beyond_the_memory_limit_is_refused_and_the_process_continues(open_client: Opens) -> None:
    student, _ = answers(open_client, "import torch\ndef f(): return torch.empty(2**36)\ndef g(): return 1")
    assert failure(student.f, Raised) in ("It raised a RuntimeError.", "It raised a MemoryError.")
    assert student.g() == 1


# -- the life of processes and servers ------------------------------------------------------------------------


def test_closing_the_client_leaves_no_process(open_client: Opens, server: ForkServer) -> None:
    student, client = answers(open_client, "def f(): return 1")
    assert student.f() == 1
    [child] = processes.children(server.pid)
    client.close()
    assert processes.running([child]) == []
    assert processes.children(server.pid) == []


HOLDS = """\
def f(megabytes):
    held = bytearray(megabytes * 2**20)
    for place in range(0, len(held), 4096): held[place] = 1
    return held.count(1)
"""


def kill(process: int, number: int) -> None:
    """Send a signal until the process ends: Python can lose one between two requests, and it may answer before."""
    descriptor = os.pidfd_open(process)
    os.kill(process, number)
    while not select.select([descriptor], [], [], 1)[0]:
        os.kill(process, number)
    os.close(descriptor)


@pytest.mark.parametrize("name", ["SIGKILL", "SIGTERM", "SIGINT", "SIGHUP", "SIGQUIT"])
def test_a_process_that_is_killed_from_outside_is_an_error_of_the_machine(
    open_client: Opens, server: ForkServer, name: str
) -> None:
    # The second of processor time that it has is not used up.
    student, _ = answers(open_client, "def f(): return 1", cpu_seconds=1)
    assert student.f() == 1
    [child] = processes.children(server.pid)
    number = signal.Signals[name]
    kill(child, number)
    with pytest.raises(ServerLost, match=rf"a student's process was killed from outside \(signal {number}\)"):
        student.f()


def test_a_large_process_that_is_killed_from_outside_is_an_error_of_the_machine(
    open_client: Opens, server: ForkServer
) -> None:
    # It holds more than half of what it may. A machine with little free memory takes long to give it that much.
    kept = "kept = bytearray(b'1') * 600 * 2**20\n"
    student, _ = answers(open_client, HOLDS + kept, memory_mb=1024, call_seconds=20)
    assert student.f(1) == 256
    [child] = processes.children(server.pid)
    kill(child, signal.SIGKILL)
    with pytest.raises(ServerLost, match="killed from outside"):
        student.f(1)


# The system ends the largest process. The server has 220 MB, and 800 MB with torch's build with CUDA; the student's
# process becomes larger than that.
@pytest.mark.proof(part="grading")
@pytest.mark.parametrize(
    ("machine", "megabytes", "kind", "reason"),
    [
        (1100, 1250, Ended, "Stopped: the machine ran out of memory, and its process held over half of its 2048 MB."),
        (
            550,
            1000,
            ServerLost,
            "the machine ran out of memory before a student's process held half of the 2048 MB it may use",
        ),
    ],
    ids=["by the student", "by the machine"],
)
def test_who_is_the_reason_that_memory_ran_out_depends_on_what_the_process_held(
    machine: int, megabytes: int, kind: type[Exception], reason: str
) -> None:
    with contextlib.closing(ForkServer.spawned()) as server:
        assert "limits" not in server.missing
        # A machine that has no more memory to give takes long over the last of it.
        limits = LIMITS.model_copy(update={"call_seconds": 20})
        client = SandboxClient(server, {"answers": Source.of("answers.py", [HOLDS])}, limits)
        with processes.little_memory(server.pid, machine), contextlib.closing(client):
            student = Student(client, "answers")
            with pytest.raises(kind) as caught:
                student.f(megabytes)
            assert str(caught.value) == reason
            assert student.f(1) == 256


def test_the_student_process_ends_with_its_grader(server: ForkServer) -> None:
    process = server.start(cpu_seconds=30, memory_mb=2048)
    [child] = processes.until(lambda: processes.children(server.pid))
    assert isinstance(process, ForkedProcess)
    for end in (process.connection, process.output, process.lifeline):
        end.close()
    processes.until_ended([child])


def test_all_children_end_with_the_server_and_the_server_is_reported_as_lost() -> None:
    server = ForkServer.spawned()
    assert server.missing.keys() <= {"landlock", "user", "own_user"}
    client = SandboxClient(server, {"answers": Source.of("answers.py", ["def f(): return 1"])}, LIMITS)
    assert Student(client, "answers").f() == 1
    [child] = processes.children(server.pid)
    assert server.is_alive
    assert server.process
    server.process.kill()
    processes.until_ended([child])
    with pytest.raises(ServerLost):
        Student(client, "answers").f()
    with pytest.raises(ServerLost):
        server.start(cpu_seconds=30, memory_mb=2048)
    assert not server.is_alive
    server.close()


def test_closing_the_server_ends_every_child() -> None:
    server = ForkServer.spawned()
    client = SandboxClient(server, {"answers": Source.of("answers.py", ["def f(): return 1"])}, LIMITS)
    Student(client, "answers").f()
    pids = [server.pid, *processes.children(server.pid)]
    server.close()
    processes.until_ended(pids)
    with pytest.raises(ServerLost):
        client.close()


def test_for_practice_each_submission_has_a_process_of_its_own_without_layers_and_none_is_left() -> None:
    code = """\
        import os, yaml
        calls = []
        def f():
            print("printed")
            calls.append(1)
            return [os.getpid(), *calls]
        """

    def has_printed(student: Student, client: SandboxClient) -> bool:
        return bool(student.f()) and "printed" in client.take_printed()[0]

    before = processes.children(os.getpid())
    server = PracticeServer(["yaml"])
    pids = []
    for _ in range(2):
        client = SandboxClient(server, {"answers": Source.of("answers.py", [dedent(code)])}, LIMITS)
        student = Student(client, "answers")
        pid, *calls = student.f()
        pids.append(pid)
        assert (calls, client.layers) == ([1], {})
        processes.until(partial(has_printed, student, client))
        client.close()
        server.prepare()
    server.close()
    assert len(set(pids)) == 2
    processes.until(lambda: set(before).issuperset(processes.running(processes.children(os.getpid()))))


def test_an_undefined_name_is_reported_as_undefined(open_client: Opens) -> None:
    student, _ = answers(open_client, "def f(): ...")
    assert failure(student.g, NotDefined) == "g is not defined."
