"""`configure` under the name that nbgrader courses released before December 2026 have in their nbgrader_config.py."""

from grader.integrations.nbgrader import configure

__all__ = ["configure"]
