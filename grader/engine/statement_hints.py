"""What to do about a statement that failed when its file was run: a sentence, by the error's text and the code."""

from __future__ import annotations

import ast
import difflib
import keyword
import re
from typing import TYPE_CHECKING

from grader.engine.hints import hint_for
from grader.engine.names import (
    MISSING_NAME,
    NEAR,
    NO_SLASHES,
    OUTSIDE,
    RELATIVE,
    on_missing_name_at_top,
)
from grader.engine.outcomes import Outcome
from grader.engine.unread import is_indented_together, on_html
from grader.sandbox.failures import NOT_PYTHON
from grader.sandbox.statements import parse
from grader.sandbox.strays import CONTINUING, OUTPUT, WORDS, kind_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from grader.engine.source_lines import SourceLines
    from grader.sandbox.failures import FailedStatement

COMMENT = "If it is text and not code, begin it with `#`."
# A line of code in the file of a notebook.
OF_NOTEBOOK = r'^".*\\n",?$'
# By the text of the error and the code.
STATEMENTS = (
    ("is a Markdown fence|is an HTML tag|is printed output", "", "Delete it."),
    ("is a blank line with invisible", "", "Delete it, and type an empty line if you need one."),
    (r"(?:is|are) a pasted error message", "", "Delete it."),
    (r"(?:is|are) an HTML comment", "", "Delete it, or begin each line of it with `#`."),
    ("is a prompt", "", "Delete the prompt at the beginning of the line."),
    ("is a notebook command", r"\b(?:pip3?|conda|mamba)\b", "Delete it, and install packages in the terminal."),
    ("is a notebook command", "", "Delete it: notebook commands do not work here."),
    ("is a command for the terminal", "", "Delete it, and run it in the terminal."),
    ("is a conflict marker", "", "Delete it, after you have decided which version of the code to keep."),
    ("unfinished merge", "", "Keep one version, and delete the lines with `<<<<<<<`, `=======` and `>>>>>>>`."),
    ("a cell that begins with", "", "Delete that line if the code below it is part of your answer."),
    ("inconsistent use of tabs", "", "Indent all lines of this block with spaces, or all of them with tabs."),
    (
        "unexpected indent",
        OF_NOTEBOOK,
        "If it is from a notebook's file, open the notebook and copy the code from there.",
    ),
    ("invalid syntax|unterminated", r"^>+(?: |$)", f"If the `>` marks a quotation, delete it. {COMMENT}"),
    ("invalid syntax", r"^(?:<?https?://|\[[^\[\]]*\]\(https?:)", COMMENT),
    (
        "invalid syntax|unterminated",
        r"^/[/*]|\*/$",
        "A comment begins with `#` in each of its lines, not with `//` or `/*`.",
    ),
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
THREAD = re.compile(r"\bThread\(|\.start\(\)")
RUNS_AT_ONCE = "While grading, the `start()` of a thread runs the thread's function to its end, and then returns."
# About the lines around it, said by `kind_of`, or of a call as in Python 2.
NO_TEXT = re.compile(r"(?:the line is|lines \d|a cell that|Missing parentheses)\b|.*\b(?:un)?indent")
BRACE = "Write a colon in place of the opening brace, and delete the closing one."
# What may be meant by `def`.
DEF = re.compile(r"(?i:def(?:ine)?|fn|func?|function)\s+\w+\s*\(")
# What statements begin with, and what the rest of a statement can belong to.
STARTS = {*keyword.kwlist} - {"False", "None", "True", "and", "as", "in", "is", "lambda", "not", "or"}
OWNERS = {
    "else": ("if 1: pass\n", "`if`, `for`, `while` or `try`"),
    "elif": ("if 1: pass\n", "`if`"),
    "except": ("try: pass\n", "`try`"),
    "finally": ("try: pass\n", "`try`"),
}


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
    if failed.reason.startswith("Stopped") and THREAD.search(code) and "Thread" in dict(lines.names(file)):
        return RUNS_AT_ONCE
    if failed.reason != NOT_PYTHON:
        around = lines.around(file, line)
        raised = Outcome(False, "raised", failed.reason, failed.detail, line, file)
        return _on_import(failed.detail, around, lines) or hint_for(raised, around, lines, lost)
    if "unexpected indent" in failed.detail and (hint := _on_margin(code, file, line, lines)):
        return hint
    if hint := _on_code(failed.detail, code):
        return hint
    if not NO_TEXT.match(failed.detail) and lines.is_text(file, line):
        return COMMENT
    if hint := on_html(code):
        return hint
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


def _on_margin(code: str, file: str | None, line: int | None, lines: SourceLines) -> str:
    """Return a sentence on an indented line that begins a statement, or ""."""
    if not lines.is_below_statement(file, line) or re.match(OF_NOTEBOOK, code):
        return ""
    if is_indented_together(lines.from_line(file, line)):
        return "All code from this line on is indented: move it to the left margin."
    if lines.is_text(file, line):
        return COMMENT
    return "" if CONTINUING.match(code) else "Begin it at the left margin."


def _on_code(detail: str, code: str) -> str:
    """Return a sentence on what is nearly Python in a line, or ""."""
    is_colon = "expected ':'" in detail
    if is_colon and (hint := _on_colon(code)):
        return hint
    return (_on_first_word(code) or _on_comment(code)) if is_colon or "invalid syntax" in detail else ""


def _on_colon(code: str) -> str:
    """Return a sentence on a colon that is missing within a line, or ""."""
    for space in re.finditer(r"\s+", code):
        before, after = code[: space.start()], code[space.end() :]
        if not isinstance(parse(f"{before}: {'pass ' if after.startswith('#') else ''}{after}"), SyntaxError):
            return f"Put a colon before `{after}`."
    return ""


def _on_first_word(code: str) -> str:
    """Return a sentence on a keyword that is misspelt at the beginning of a line, or has not what it needs, or ""."""
    [word, rest] = re.fullmatch(r"(\w*)(.*)", code, re.DOTALL).groups()  # type: ignore[union-attr]
    if rest.endswith("{") and _is_line(word, f"{rest[:-1].rstrip()}:"):
        return BRACE
    if word in OWNERS and _is_line(word, rest):
        return f"It belongs to no {OWNERS[word][1]}: one must end directly above it, with the same indentation."
    meant = "def" if DEF.match(code) else word.lower()
    if word != meant in STARTS and _is_line(meant, rest):
        return f"If it is code, write `{meant}` in place of `{word}`."
    near = difflib.get_close_matches(word, STARTS, cutoff=NEAR) if word not in STARTS else []
    return next((f"Did you mean `{one}`?" for one in near if _is_line(one, rest)), "")


def _is_line(word: str, rest: str) -> bool:
    """Return whether a line that begins with this keyword is Python, with the lines that it needs around it."""
    above, ending = OWNERS.get(word, ("",))[0], " pass" if rest.endswith(":") else ""
    return not isinstance(parse(f"{above}{word}{rest}{ending}"), SyntaxError)


def _on_comment(code: str) -> str:
    """Return a sentence on a comment of another language behind code, or ""."""
    before, _, comment = code.partition("//")
    is_comment = WORDS.fullmatch(comment.strip()) and before.strip() and _is_line("", before.rstrip())
    return NO_SLASHES if is_comment else ""
