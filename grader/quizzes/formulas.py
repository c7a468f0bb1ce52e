"""Formulas in texts of a course, for readers that cannot draw them: a terminal, and a log."""

from __future__ import annotations

import re

# Code is found first, because a dollar in it is a dollar. Numbers on both sides of a dollar are prices.
_FORMULA = re.compile(r"(`+).+?\1|(\$\$?)(?=[^\s$])([^$]+?)(?<=[^\s\\])\2(?!\d)", re.DOTALL)
# A command with its groups, of which none has another one inside.
_INNERMOST = re.compile(
    r"\\frac\{([^{}]*)\}\{([^{}]*)\}|\\sqrt\{([^{}]*)\}|([\^_])\{([^{}]*)\}|\\(?:text|mathrm|operatorname)\{([^{}]*)\}"
)
_COMMAND = re.compile(r"\\([A-Za-z]+)")
_SYMBOLS = {"cdot": "·", "times": "×", "approx": "≈", "infty": "∞", "pi": "π", "le": "≤", "ge": "≥", "ne": "≠"}
_SYMBOLS |= {"left": "", "right": ""}


def as_text(text: str) -> str:
    r"""Return a text with its formulas as one writes them without a formula editor.

    For example, `$\frac{1}{\sqrt{d_k}}$` becomes 1 / √d_k. Everything else stays.
    """
    return _FORMULA.sub(lambda found: _plain(found[3]) if found[3] else found[0], text)


def _plain(latex: str) -> str:
    before = None
    while latex != before:
        before, latex = latex, _INNERMOST.sub(_without_groups, latex)
    return _COMMAND.sub(lambda found: _SYMBOLS.get(found[1], found[1]), latex).replace("-", "−").strip()


def _without_groups(found: re.Match[str]) -> str:
    above, below, under_root, sign, raised, words = found.groups()
    if above is not None:
        return f"{_bracketed(above)} / {_bracketed(below)}"
    if under_root is not None:
        return f"√{_bracketed(under_root)}"
    return f"{sign}{_bracketed(raised)}" if sign else words


def _bracketed(part: str) -> str:
    return part if re.fullmatch(r"√?[\w.]+", part) else f"({part})"
