"""`python -m grader` is the command `grader`."""

from __future__ import annotations

import sys

# `-m` puts the current folder first, and that may be a submission with a yaml.py in it.
if not sys.flags.safe_path:
    del sys.path[0]

from grader.cli.instructor import main

if __name__ == "__main__":
    main()
