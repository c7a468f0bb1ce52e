"""Runs the students' commands on this system as a student would, and fails at the first that does not work.

CI runs it on Windows and macOS, where the rest of the tests cannot run; tests/practice/test_other_systems.py runs it
without what only Linux has. It needs the grader alone: `python tests/workflows/students_desk.py`.
"""

from __future__ import annotations

import os
import queue
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections import deque
from pathlib import Path

EXERCISES = Path(__file__).resolve().parents[2] / "exercises"
UNIT = "simple_attention"
PATIENCE_SECONDS = 300
ANSWERS = """

def dot_product(a, b):
    assert len(a) == len(b)
    return sum(x * y for x, y in zip(a, b))


def attention_scores(query, inputs):
    print("seen")
    return query


def normalize_by_sum(scores):
    import os
    os._exit(0)


def softmax_naive(x, dim=-1):
    while True:
        pass
"""
FIXED = "\n\ndef attention_scores(query, inputs):\n    return inputs @ query\n"


def command(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "grader", *arguments]


def environment() -> dict[str, str]:
    return {**os.environ, "PYTHONUTF8": "1", "COLUMNS": "80"}


def expect(folder: Path, arguments: list[str], code: int, *texts: str, typed: str = "") -> None:
    """Run a command, and expect this exit code and these texts in its output."""
    begun = time.monotonic()
    done = subprocess.run(
        command(*arguments),
        cwd=folder,
        env=environment(),
        input=typed,
        capture_output=True,
        encoding="utf-8",
        timeout=PATIENCE_SECONDS,
        check=False,
    )
    print(f"grader {' '.join(arguments)}: {time.monotonic() - begun:.1f} s", flush=True)
    printed = " ".join((done.stdout + done.stderr).split())
    missing = [text for text in texts if text not in printed]
    if done.returncode != code or missing:
        sys.exit(f"exit code {done.returncode}, expected {code}; not printed: {missing}\n{done.stdout}{done.stderr}")


def expect_watch(folder: Path, file: Path) -> None:
    """Expect `grader watch` to show the verdict on an exercise, and another one when the file is saved."""
    lines: queue.Queue[str] = queue.Queue()
    watch = subprocess.Popen(
        command("watch"),
        cwd=folder,
        env=environment(),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
    )
    assert watch.stdout
    threading.Thread(target=lambda: deque(map(lines.put, watch.stdout or ()), maxlen=0), daemon=True).start()
    printed = ""
    try:
        for wanted in ("✗ attention_scores", "✓ attention_scores"):
            while wanted not in printed:
                printed += lines.get(timeout=PATIENCE_SECONDS)
            if wanted[0] == "✗":
                file.write_text(file.read_text(encoding="utf-8") + FIXED, encoding="utf-8")
    except queue.Empty:
        sys.exit(f"grader watch did not print {wanted!r}:\n{printed}")
    finally:
        watch.kill()
        watch.wait()
    print("grader watch: both verdicts", flush=True)


def main() -> None:
    """Run the commands in a folder of a student who has begun unit 1."""
    # The spare process may still be in a folder, which Windows then does not remove.
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as name:
        folder = Path(name, "ada")
        shutil.copytree(EXERCISES, folder / "exercises", ignore=shutil.ignore_patterns("__pycache__"))
        file = folder / "exercises" / f"{UNIT}.py"
        file.write_text(file.read_text(encoding="utf-8") + ANSWERS, encoding="utf-8")
        expect(folder, ["check", "dot_product", "--background"], 0, "✓ dot_product", "1 of 1 exercise passes")
        expect(folder, ["check", UNIT, "--background"], 1, "✗ normalize_by_sum", "✗ softmax_naive", "· softmax_stable")
        expect(folder, ["check", "attention_scores", "--no-background"], 1, "✗ attention_scores", "printed: seen")
        expect(folder, ["stop"], 0, "ended.")
        expect(folder, [], 0, "attention_scores")
        expect(folder, ["show", "attention_scores"], 1, "✗ attention_scores")
        expect(folder, ["hint", "softmax_stable"], 0, "softmax_stable")
        expect(folder, ["quiz", UNIT], 0, "1 of", typed="a\n")
        expect(folder, ["practice", UNIT], 0, "1 of", typed="a\n")
        expect_watch(folder, file)
        expect(folder, ["notebook", UNIT], 0, f"{UNIT}.ipynb")
        expect(folder, ["check", "attention_scores", "--no-background"], 0, "✓ attention_scores")
        expect(folder, ["script", UNIT], 0, f"{UNIT}.py")


if __name__ == "__main__":
    main()
