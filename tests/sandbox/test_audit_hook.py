"""What student code does that no answer needs is reported, once, and a few times of each kind."""

from __future__ import annotations

import contextlib
from collections.abc import Callable

import pytest

from grader.sandbox import audit_hook
from grader.sandbox.failures import Failure
from grader.sandbox.protocol import MAX_NAME, Anomaly
from grader.sandbox.replies import AuditLog
from grader.sandbox.sandbox_client import SandboxClient

Opens = Callable[..., SandboxClient]


def anomalies(open_client: Opens, source: str) -> list[str]:
    """The anomalies after running the source and calling f, if it defines one."""
    client = open_client(f"{source}\n")
    with contextlib.suppress(Failure):
        client.load("answers")
        client.call("call", target=("answers", "f"), arguments=(), options={})
    return client.take_anomalies()


@pytest.mark.parametrize(
    ("source", "sentence"),
    [
        ("open('/etc/passwd')", "It tried to open a file: /etc/passwd"),
        ("import os; os.listdir('/')", "It tried to list a folder: /"),
        ("import pathlib; pathlib.Path('/tmp/a').mkdir()", "It tried to make a file or a folder: /tmp/a"),
        ("import os; os.remove('a')", "It tried to delete a file or a folder: a"),
        ("import socket; socket.socket()", "It tried to open a socket."),
        ("import os; os.fork()", "It tried to start a process."),
        ("import os; os.system('id')", "It tried to start a process: id"),
        ("import os; os.kill(1, 9)", "It tried to send a signal."),
        ("import ctypes; ctypes.CDLL(None).ptrace", "It tried to call a function of the system: ptrace"),
        ("import sys; sys._getframe()", "It tried to look at the frames of other code."),
        ("import gc; gc.get_objects()", "It tried to look through all objects."),
        ("import torch; torch.allclose = print", "It tried to replace a function: torch.allclose"),
        (
            "import _thread\n    try: _thread.start_new_thread(print, ())\n    except RuntimeError: pass",
            "It tried to start a thread.",
        ),
    ],
)
def test_an_anomaly_is_reported(open_client: Opens, source: str, sentence: str) -> None:
    assert sentence in anomalies(open_client, f"try:\n    {source}\nexcept OSError:\n    pass")


def test_what_libraries_do_by_themselves_is_no_anomaly(open_client: Opens) -> None:
    assert (
        anomalies(open_client, "import torch, random, dataclasses, typing\ntorch.manual_seed(1)\nprint(torch.rand(3))")
        == []
    )


def test_anomalies_survive_the_end_of_the_process(open_client: Opens) -> None:
    assert anomalies(open_client, "import os\ndef f():\n    os.system('id')\n    os._exit(0)") == [
        "It tried to start a process: id"
    ]


def test_an_anomaly_is_reported_once_and_only_a_few_of_each_kind(open_client: Opens) -> None:
    removing = "try: os.remove(str(number))\n    except OSError: pass"
    sentences = anomalies(open_client, f"import os\nfor number in [*range(100), *range(100)]:\n    {removing}")
    assert len(sentences) == len(set(sentences)) == audit_hook.MAX_OF_A_KIND


def test_an_anomaly_that_was_reported_is_not_reported_again(open_client: Opens) -> None:
    client = open_client("def f():\n    try: open('a')\n    except OSError: pass\n")
    for expected in (["It tried to open a file: a"], []):
        client.call("call", target=("answers", "f"), arguments=(), options={})
        assert client.take_anomalies() == expected


def test_an_anomaly_is_one_short_line_of_a_known_kind() -> None:
    log = AuditLog()
    for words, argument in [("open a file", "a\nb"), ("earn a point", ""), ("open a file", "x" * 10**6)]:
        log.add("unit", Anomaly(1, words, argument))
    first, second = log.take()
    assert first == "It tried to open a file: a b"
    assert len(second) < MAX_NAME + 50


def test_what_is_not_compiled_is_remarked_once_with_a_place_that_looks_like_one() -> None:
    log, words = AuditLog(), audit_hook.IGNORED["torch.compile"]
    for argument in ("in line 3 of answers.ipynb, cell 2", "in line 5 of answers.ipynb, cell 2"):
        log.add("unit", Anomaly(1, words, argument))
    log.add("other", Anomaly(1, words, "in line\n`x`"))
    assert log.take() == [words.replace(" is", " in line 3 of answers.ipynb, cell 2 is", 1), words]
