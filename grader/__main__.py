"""The command `grader`, also as `python -m grader`: the instructor's, or the student's where that is all there is."""

from __future__ import annotations

import importlib
import importlib.util
import sys

# `-m` puts the current folder first, and that may be a submission with a yaml.py in it.
if __name__ == "__main__" and not sys.flags.safe_path:
    del sys.path[0]


def main() -> None:
    """Run the command that was typed."""
    has_instructors = importlib.util.find_spec("grader.cli.instructor") is not None
    importlib.import_module(f"grader.cli.{'instructor' if has_instructors else 'student'}").main()


if __name__ == "__main__":
    main()
