"""What code needs of a newer Python than the one that runs it, in words: new syntax, and new names of the library."""

from __future__ import annotations

import re
import sys
from dataclasses import replace

from grader.engine.newer_syntax import Statement
from grader.machine import RUNNING
from grader.sandbox.failures import FailedStatement

# Of the standard library, by the version that they are new in: modules, and names in modules.
NAMES = {
    "3.12": "itertools.batched math.sumprod random.binomialvariate typing.override typing.TypeAliasType",
    "3.13": "copy.replace math.fma typing.NoDefault typing.ReadOnly typing.TypeIs warnings.deprecated",
    "3.14": "annotationlib compression functools.Placeholder heapq.heappush_max string.templatelib",
}
MISSING = re.compile(
    r"cannot import name '(?P<name>\w+)' from '(?P<source>[\w.]+)'"
    r"|module '(?P<owner>[\w.]+)' has no attribute '(?P<attribute>\w+)'"
    r"|No module named '(?P<module>[\w.]+)'"
)


def needing(statement: Statement, failed: FailedStatement, grades: str) -> FailedStatement:
    """Return a failed statement with the newer Python that it needs. grades: what the course is graded with."""
    (major, minor), what, instead = statement.novelty
    return replace(
        failed,
        names=failed.names or statement.names,
        reason=f"It needs Python {major}.{minor} or later.",
        detail=what,
        line=statement.line,
        hint=f"{_who(grades)}: {instead}.",
    )


def hint_for_missing(detail: str, grades: str) -> str:
    """Return what to do about an error, if it is about a name that only a newer Python has; otherwise ""."""
    missing = MISSING.match(detail)
    if not missing:
        return ""
    names = [missing["source"], missing["name"]] if missing["name"] else [missing["owner"], missing["attribute"]]
    name = missing["module"] or ".".join(names)
    for since, new in NAMES.items():
        if name in new.split() and tuple(map(int, since.split("."))) > sys.version_info:
            return f"`{name}` needs Python {since} or later. {_who(grades)}: do without it."
    return ""


def _who(grades: str) -> str:
    return f"Python {RUNNING} {'grades' if grades == RUNNING else 'runs your code here'}"
