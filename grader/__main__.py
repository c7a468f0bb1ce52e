"""The command `grader`, also as `python -m grader`: the instructor's if it is installed, or else the student's."""

from __future__ import annotations

import contextlib
import gc
import importlib
import importlib.util
import sys

GRADING = ("check", "grade", "show", "watch")
"""The commands that start the grading engine."""

# `-m` puts the current folder first in sys.path, and it may be a submission with a yaml.py.
if __name__ == "__main__" and not sys.flags.safe_path:
    del sys.path[0]


def main() -> None:
    """Run the command."""
    from grader.cli.quick import run_quickly

    code = run_quickly(sys.argv[1:])
    if code is not None:
        sys.exit(code)
    if sys.argv[1:2] and sys.argv[1] in GRADING:
        from grader.engine.engine_server import start_early

        # Loading the command line takes a third of the time that the engine takes to import torch.
        with contextlib.suppress(OSError):
            start_early()
    has_instructors = importlib.util.find_spec("grader.cli.instructor") is not None
    # Imports leave little garbage, and looking for it takes a tenth of their time.
    gc.disable()
    command = importlib.import_module(f"grader.cli.{'instructor' if has_instructors else 'student_cli'}")
    gc.freeze()
    gc.enable()
    command.main()


if __name__ == "__main__":
    main()
