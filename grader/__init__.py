"""The grader of the course: the verdict never lives with student code."""

import importlib

__version__ = "0.1.0"


def load_ipython_extension(shell: object) -> None:
    """Add the checks to a notebook. IPython calls this for `%load_ext grader`."""
    importlib.import_module("grader.cli.magic").load(shell)
