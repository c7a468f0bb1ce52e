"""What to do about a statement that failed when its file was run: a sentence, by the error's text and the code."""

from __future__ import annotations

import ast
import keyword
import re
from typing import TYPE_CHECKING

from grader.engine.hints import hint_for
from grader.engine.names import (
    MISSING_NAME,
    NEAR,
    OUTSIDE,
    RELATIVE,
    on_missing_name_at_top,
    similar,
)
from grader.engine.outcomes import Outcome
from grader.sandbox.failures import NOT_PYTHON
from grader.sandbox.statements import parse
from grader.sandbox.strays import OUTPUT, kind_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from grader.engine.source_lines import SourceLines
    from grader.sandbox.failures import FailedStatement

COMMENT = "If it is text and not code, begin it with `#`."
# By the text of the error and the code.
STATEMENTS = (
    ("is a Markdown fence|is an HTML tag|is printed output", "", "Delete it."),
    ("is a blank line with invisible", "", "Delete it, and type an empty line if you need one."),
    (r"(?:is|are) a pasted error message", "", "Delete it."),
    (r"(?:is|are) an HTML comment", "", "Delete it, or begin each line of it with `#`."),
    ("is a prompt", "", "Delete the prompt at the beginning of the line."),
    ("is a notebook command", "", "Delete it: notebook commands do not work here. Install packages in the terminal."),
    ("is a command for the terminal", "", "Delete it, and run it in the terminal."),
    ("is a conflict marker", "", "Delete it, after you have decided which version of the code to keep."),
    ("unfinished merge", "", "Keep one version, and delete the lines with `<<<<<<<`, `=======` and `>>>>>>>`."),
    ("a cell that begins with", "", "Delete that line if the code below it is part of your answer."),
    ("invalid syntax|unterminated string", r"^(?:[$*]|([-=*_+])\1{2,}$)", COMMENT),
    ("invalid syntax", r"^[^\w\s()\[\]{}][^\w()\[\]{}]*$", "If it is no part of your code, delete it."),
    ("invalid syntax", r"[-+*/@%=&|]$", "Is something missing at the end of the line?"),
    ("unterminated", "", "The quote in it opens a string that does not end: close the string, or delete the quote."),
    ("after line continuation", "", f"Nothing may follow a `\\`, which joins two lines. {COMMENT}"),
    (r"'(?:return|yield)' outside", "", OUTSIDE),
    ("unindent|unexpected indent", "", "Indent it like the other lines of its block."),
    (r"expected an indented block after .* on line (\d+)", "", "Indent the lines below line {} that belong to it."),
    ("expected ':'", r"^else\s+if\b", "Write `elif`."),
    ("expected ':'", r"[^:]$", "Put a colon at the end of the line."),
    (r"was never closed|unmatched|does not match opening", "", "Count the brackets here and in the lines around."),
)
NOT_READ = re.compile("invalid syntax|unterminated string|invalid character")
# What may be meant by `def`.
DEF = re.compile(r"(?i:def(?:ine)?|fn|func?|function)\s+\w+\s*\(")
DEFINITION = re.compile(r"(?:(?:async\s+)?def|class)\s")


def hint_for_statement(failed: FailedStatement, lines: SourceLines, lost: Sequence[FailedStatement] = ()) -> str:
    """Return a sentence on what to do about a statement that failed when its file was run, or "".

    lost: all statements of its unit that failed.
    """
    file, line = failed.trace[-1] if failed.trace else (failed.file, failed.line)
    missing = MISSING_NAME.match(failed.detail) if len(failed.trace) < 2 else None
    code = lines.text(file, line)
    if missing:
        # Some lines happen to be Python, such as `~~~ python`.
        kind = kind_of(code) or ("printed output" if OUTPUT.match(code) else "")
        on_line = f"The line is {kind}, not code: delete it." if kind else ""
        return on_line or on_missing_name_at_top(missing[1], failed, lines, lost)
    if failed.reason != NOT_PYTHON:
        around = lines.around(file, line)
        raised = Outcome(False, "raised", failed.reason, failed.detail, line, file)
        return _on_import(failed.detail, around, lines) or hint_for(raised, around, lines, lost)
    if "unexpected indent" in failed.detail and DEFINITION.match(code) and lines.is_below_statement(file, line):
        return "Begin it at the left margin."
    if "invalid syntax" in failed.detail and (hint := _on_first_word(code)):
        return hint
    if NOT_READ.search(failed.detail) and lines.is_text(file, line):
        return COMMENT
    for error, begins, hint in STATEMENTS:
        if (found := re.search(error, failed.detail)) and re.search(begins, code):
            return hint.format(*found.groups())
    return ""


def _on_import(detail: str, around: Sequence[ast.AST], lines: SourceLines) -> str:
    """Return a sentence on an import of a unit from a folder: `from .unit import name`; or ""."""
    match around[-1:]:
        case [ast.ImportFrom(level=level, module=module, names=names)]:
            folder, _, unit = (module or "").rpartition(".")
            if unit in lines.exercises:
                meant: ast.stmt = ast.ImportFrom(unit, names, 0)
            elif all(one.name in lines.exercises for one in names):
                folder, meant = module or "", ast.Import(names)
            else:
                return ""
        case [ast.Import(names=[ast.alias(name=name, asname=asname)])]:
            folder, _, unit = name.rpartition(".")
            level, meant = 0, ast.Import([ast.alias(unit, asname)])
            if unit not in lines.exercises:
                return ""
        case _:
            return ""
    first = folder.partition(".")[0]
    if (level and RELATIVE in detail) or (first and detail.startswith(f"No module named '{first}'")):
        return f"The files are in one folder: write `{ast.unparse(meant)}`."
    return ""


def _on_first_word(code: str) -> str:
    """Return a sentence on a keyword that is misspelt at the beginning of a line, or ""."""
    word, _, rest = code.partition(" ")
    meant = "def" if DEF.match(code) else word.lower()
    ending = " pass" if code.endswith(":") else ""
    if word != meant in keyword.kwlist and not isinstance(parse(f"{meant} {rest}{ending}"), SyntaxError):
        return f"If it is code, write `{meant}` in place of `{word}`."
    near = similar(word, set(keyword.kwlist), NEAR)
    return f"Did you mean `{near}`?" if near else ""
