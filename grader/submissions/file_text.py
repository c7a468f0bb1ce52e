"""Reads the text of a file that others wrote, and says what it is if it is of another kind than its name says."""

from __future__ import annotations

import codecs
import contextlib
import json
import re
import sys
from pathlib import Path
from typing import Any, NamedTuple

from grader.submissions.tree import MEGABYTE, Files, UnreadableError, read_bytes

# How files begin that are no text, whatever their name says, and what they are.
_SIGNATURES = (
    (b"%PDF-", "a PDF document"),
    (b"{\\rtf", "an RTF document"),
    (b"\xd0\xcf\x11\xe0", "a document of Word or another Office program"),
    (b"PK\x03\x04", "a zip archive"),
    ((b"\x1f\x8b", b"BZh", b"\xfd7zXZ", b"7z\xbc\xaf", b"Rar!"), "an archive"),
    ((b"\x89PNG", b"\xff\xd8\xff", b"GIF8", b"RIFF"), "a picture"),
    (b"bplist00", "a web archive"),
)


# In the zip archives of Word and of LibreOffice.
_OFFICE = (b"[Content_Types].xml", b"word/document.xml", b"application/vnd.oasis.opendocument")


# Those of UTF-32 come first, because one of them begins like one of UTF-16.
_MARKS = (
    (codecs.BOM_UTF8, "UTF-8"),
    ((codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE), "UTF-32"),
    ((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE), "UTF-16"),
)


# In the first two lines of a script; PEP 263.
_DECLARED = re.compile(rb"(?:[ \t\f]*+(?:#[^\r\n]*+)?\r?\n)??[ \t\f]*+#[^\r\n]*?coding[:=][ \t]*([-\w.]{1,40})")


# Python's other encodings are no encodings of text, or take time that grows faster than the text.
_KNOWN = re.compile(r"utf-8(?:-sig)?|ascii|iso8859-\d+|cp\d+|koi8-\w|mac-\w+|shift_jis\w*|euc_\w+|gb\w+|big5\w*")

# Markdown, Quarto and R Markdown: the line that opens a block of code, and the language of that block.
_FENCE = re.compile(r"(`{3,}|~{3,})[ \t]*\{?[ \t]*\.?([\w-]*)")
_PYTHON = {"python", "python3", "py", "code-cell"}
_FRONT_MATTER = re.compile(r"\s*+---[ \t]*\n(?:.*\n)*?---[ \t]*\n")
_MYST = re.compile(r"^(?:`{3,}|~{3,})\{code-cell\}", re.MULTILINE)
_CHUNK = re.compile(r"^(?:`{3,}|~{3,})[ \t]*\{[ \t]*(?:python|code-cell)", re.MULTILINE)
# More of a definition than its first words, which prose has too.
_DEFINITION = re.compile(r"^(?:async[ \t]+)?(?:def[ \t]+\w+[ \t]*\(|class[ \t]+\w+[ \t]*[(:])", re.MULTILINE)
# A notebook begins with one of its keys, even if the rest is damaged.
_NOTEBOOK = re.compile(r'\s*+\{\s*+"(?:cells|metadata|nbformat|nbformat_minor|worksheets)"\s*:')
_MARIMO = re.compile(r"^app = marimo\.App\(", re.MULTILINE)
_CELLS = re.compile(r"^@app\.cell\b.*\n(?:[ )].*\n)*(?:async )?def ", re.MULTILINE)
_DOCUMENT = re.compile(r".*\.(?:md|markdown|qmd|rmd)(?:\.txt)?", re.IGNORECASE | re.DOTALL)
_CODE = re.compile(
    rf"{_DEFINITION.pattern}|^# %%|^from[ \t]+[\w.]+[ \t]+import\b|^import[ \t]+[\w.]+[ \t]*(?:as[ \t]+\w+[ \t]*)?$",
    re.MULTILINE,
)
_LONGEST_PART = 6
_PATCH = "is a patch (a diff)"
# A line of code and its indentation.
_INDENTED = re.compile(r"([ \t]*+)[^#\s]")
# Lines that all begin with a sign, below a few that say who wrote them; a prompt is no such sign.
_QUOTED = re.compile(r"(?:(?![>+]).*+\n){0,5}(?:>(?!>>).*+(?:\n[ \t]*+)*+){2,}+\Z")
_ADDED = re.compile(r"(?:@@.*+\n)?(?:\+.*+\n*+){2,}+\Z")
IS_DOCUMENT = "is a Markdown or Quarto document"
_OTHERS = (
    (re.compile(r"\s*+(?:<\?xml[^>]*+>\s*+)?<(?:!doctype html|html)\b|From: <Saved by ", re.IGNORECASE),
     "is a web page (HTML), such as an export or a page that shows the file"),
    (re.compile("version https://git-lfs"), "is a pointer of Git LFS without the file"),
    (re.compile(r"\s*+(?:https?://\S++\s*+\Z|\[InternetShortcut\])"), "holds only a link"),
    (re.compile(r"\s*+404: Not Found\s*+\Z"), "is the answer of a server that did not find the file (404)"),
    (re.compile(r"\s*+1\b.*\n\s*+2\b.*\n\s*+3\b"), "has the number of each line in front of it"),
    (re.compile(r"\s*+(?:diff --git |From [0-9a-f]{40} |--- \S.*+\n\+\+\+ )"), _PATCH),
)  # fmt: skip


class Text(NamedTuple):
    """The text of a file, whose lines end in a newline, and sentences for the student on its encoding."""

    text: str
    remarks: tuple[str, ...] = ()


def read_text(folder: Path | Files, relative: str, limit: int) -> str | None:
    """Return what `read_remarked` reads, without the remarks."""
    read = read_remarked(folder, relative, limit)
    return None if read is None else read.text


def read_remarked(folder: Path | Files, relative: str, limit: int) -> Text | None:
    """Read the text of a file.

    Args:
        folder: The folder or tree that contains it.
        relative: Its path from there.
        limit: The most bytes that it may have.

    Returns:
        The text; None if there is no such file.

    Raises:
        UnreadableError: It is too large, not a plain file, not text, or not readable.
    """
    content = read_bytes(folder, relative, limit) if isinstance(folder, Path) else folder.read_bytes(relative, limit)
    return None if content is None else _decoded(content, relative)


def unix_lines(text: str) -> str:
    """Return a text with newlines as the only line ends."""
    return text.replace("\r\n", "\n").replace("\r", "\n")


def itself(relative: str) -> str:
    """Return what to hand in, where a file is something else."""
    return f"hand in the {'sheet' if relative.endswith('.md') else 'script or the notebook'} itself"


def _decoded(content: bytes, relative: str) -> Text:
    what = next((what for start, what in _SIGNATURES if content.startswith(start)), None)
    if what == "a zip archive" and any(mark in content for mark in _OFFICE):
        what = "a document of Word or another Office program"
    if what is None and content[4:8] == b"ftyp":
        what = "a picture or a video"
    if what is None and content[2:4] == b"\r\n" and b"\0" in content[:16]:
        what = "compiled Python"
    if what:
        raise UnreadableError(f"{relative} is {what}: {itself(relative)}.")
    if content and not content.strip(b"\0"):
        raise UnreadableError(f"{relative} has only zero bytes, as a crash leaves them: hand in your own copy again.")
    encoding, remarks = _encoding(content, relative)
    if encoding == "UTF-8" and b"\0" in content and _is_wide(content):
        raise UnreadableError(f"{relative} is in UTF-16 without a byte order mark: save it as UTF-8.")
    try:
        text = content.decode(encoding).removeprefix("\ufeff")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        fix = "save it as UTF-8" if encoding.startswith("UTF") else "save it as UTF-8 and delete that declaration"
        declared = "" if encoding.startswith("UTF") else ", the encoding that it declares"
        raise UnreadableError(f"{relative} is not {encoding}{declared} (line {line}): {fix}.") from None
    text = unix_lines(text)
    if zeros := len(text) - len(text.rstrip("\0")):  # as a crash or a full disk leaves them
        text = text.rstrip("\0")
        what = f"{zeros} zero bytes" if zeros > 1 else "a zero byte"
        remarks = (*remarks, f"{relative} ends with {what}, which were not read: open it and save it again.")
    if "\0" in text:
        line = text.count("\n", 0, text.index("\0")) + 1
        raise UnreadableError(f"{relative} has a zero byte in line {line}, which no text has: delete it there.")
    return Text(text, remarks)


def _encoding(content: bytes, relative: str) -> tuple[str, tuple[str, ...]]:
    """Return the encoding that a file says it has, otherwise UTF-8, and a remark if that should change."""
    for marks, name in _MARKS:
        if content.startswith(marks):
            remark = f"{relative} was read as {name}, which Python and other programs refuse: save it as UTF-8."
            return name, () if name == "UTF-8" else (remark,)
    declared = _DECLARED.match(content[:1000]) if relative.endswith(".py") else None
    if declared is None:
        return "UTF-8", ()
    name = declared[1].decode()
    with contextlib.suppress(LookupError):
        known = codecs.lookup(name).name
        if known == "ascii" and not content.isascii():
            remark = f"{relative} declares the encoding {name}, but has other characters; it was read as UTF-8"
            return "UTF-8", (f"{remark}: delete that declaration.",)
        if _KNOWN.fullmatch(known):
            return "UTF-8" if known.startswith(("utf-8", "ascii")) else name, ()
    return "UTF-8", (
        f"{relative} declares the encoding {name}, which is not read; it was read as UTF-8: delete that declaration.",
    )


def _is_wide(content: bytes) -> bool:
    """Return whether zeros are most of every second byte, as in UTF-16, and no other byte."""
    halves = sorted((content[::2].count(0), content[1::2].count(0)))
    return halves[0] == 0 and halves[1] > len(content) // 4


class MisnamedError(UnreadableError):
    """A file is of a kind that is read under another name.

    Attributes:
        right: The path that it should have.
    """

    def __init__(self, relative: str, what: str, right: str) -> None:
        """Say what the file is."""
        super().__init__(f"{relative} is {what}: rename it to {right.rpartition('/')[2]}.")
        self.right = right


def _is_shown(text: str) -> bool:
    """Return whether a whole file is one string as Python shows it."""
    # Without a regular expression: one that looks for the last quote from each `\n` takes quadratic time.
    shown = text.strip().removeprefix("b")
    is_string = shown[:1] in {"'", '"'} and shown[0] == shown[-1] and not shown.startswith('"""')
    return is_string and "\\n" in shown[1:-1] and "\n" not in shown


_NO_SCRIPTS = (
    (_QUOTED.match, "is quoted as in a mail, with `>` in front of each line"),
    (_ADDED.match, _PATCH),
    (_is_shown, "holds its code in quotes and with `\\n` for each line end, as Python shows a string"),
)


def require_script(text: str, relative: str) -> None:
    """Raise MisnamedError if a text is a notebook, UnreadableError if it is something else that is no script."""
    if _NOTEBOOK.match(text):
        raise MisnamedError(relative, "a notebook", f"{relative.removesuffix('.py')}.ipynb")
    refuse_others(text, relative)
    text = text[:MEGABYTE]  # no script is longer
    for matches, what in _NO_SCRIPTS:
        if matches(text) and not _DEFINITION.search(text):
            raise UnreadableError(f"{relative} {what}: {itself(relative)}.")


def code_of(read: Text, relative: str, own: str) -> Text:
    """Return the code of a script. Of a document with blocks of Python, only these remain, each in its own lines.

    If all code has the same indentation, which Python refuses, it is taken away. own: The path that the student gave
    it. Raises UnreadableError.
    """
    lines = read.text.split("\n")
    indentations = {number: found[1] for number, line in enumerate(lines, 1) if (found := _INDENTED.match(line))}
    first = next(iter(indentations), 0)
    indentation = indentations.get(first, "")
    if indentation and all(one.startswith(indentation) for one in indentations.values()):
        remark = (
            f"{relative} is indented as a whole, from line {first} on, which Python refuses; it was read without that "
            "indentation: move all lines to the left margin."
        )
        read = Text("\n".join(line.removeprefix(indentation) for line in lines), (*read.remarks, remark))
    if not any(mark in read.text for mark in ("```", "~~~", "marimo.App(")):
        return read
    cells = len(_CELLS.findall(read.text)) if _MARIMO.search(read.text) else 0
    if cells and cells == len(_DEFINITION.findall(read.text)):
        raise UnreadableError(
            f"{relative} is a marimo notebook, whose functions exist only inside its cells: run `marimo export ipynb "
            f"{relative} -o {relative.removesuffix('.py')}.ipynb` and hand in that notebook."
        )
    if cells:
        remark = (
            f"{relative} is a marimo notebook: what its cells (`@app.cell`) define was not read, only what is outside."
        )
        return Text(read.text, (*read.remarks, remark))
    is_document = _DOCUMENT.fullmatch(own) or _FRONT_MATTER.match(read.text) or _CHUNK.search(read.text)
    chunks = _chunks(read.text) if is_document else ""
    # A script can have such lines in a string.
    if not chunks.strip() or len(_CODE.findall(chunks)) < len(_CODE.findall(read.text)):
        return read
    command = "jupytext --from md:myst --to ipynb" if _MYST.search(read.text) else "quarto convert"
    remark = (
        f"{relative} {IS_DOCUMENT}, of which the Python blocks were read: convert it to a notebook, for example with "
        f"`{command}`."
    )
    return Text(chunks, (*read.remarks, remark))


def as_notebook(text: str, relative: str) -> Any:
    """Return the JSON of a notebook.

    Raises:
        MisnamedError: It is a script.
        UnreadableError: It is another kind of file, or damaged.
    """
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise _not_json(text, relative, error) from None


def _not_json(text: str, relative: str, error: Exception) -> UnreadableError:
    """Return the error for a notebook that cannot be parsed."""
    if not text.strip():
        return UnreadableError(f"{relative} is empty: write your answers there and save it.")
    refuse_others(text, relative)
    is_notebook = _NOTEBOOK.match(text) is not None
    if not is_notebook and _CODE.search(text[:MEGABYTE]):
        return MisnamedError(relative, "Python code as text, not a notebook", f"{relative.removesuffix('.ipynb')}.py")
    if not isinstance(error, json.JSONDecodeError):
        digits = f"a number in it has more than {sys.get_int_max_str_digits():,} digits"
        why = "it is nested too deeply" if isinstance(error, RecursionError) else digits
        return UnreadableError(
            f"{relative} cannot be read, because {why}: copy your cells into a new notebook and hand in that one."
        )
    if not is_notebook:
        return UnreadableError(f"{relative} is not a notebook (it is not JSON): open it in Jupyter and save it again.")
    # The last characters may be half a word, a number or an escape.
    is_at_end = len(text.rstrip()) - error.pos <= _LONGEST_PART and not error.msg.startswith("Extra data")
    is_cut = is_at_end or error.msg.startswith("Unterminated string")
    what = f"cut off in line {error.lineno}" if is_cut else f"damaged in line {error.lineno}, column {error.colno}"
    return UnreadableError(f"{relative} is a notebook that is {what}: hand in the whole file, as Jupyter saves it.")


def refuse_others(text: str, relative: str) -> None:
    """Raise UnreadableError if a text is no script, no notebook and no sheet, but something that is known."""
    text = text[:MEGABYTE]  # its beginning tells
    for pattern, what in _OTHERS:
        if pattern.match(text) and ("<html" in text.lower() or not _DEFINITION.search(text)):
            raise UnreadableError(f"{relative} {what}: {itself(relative)}.")


def _chunks(text: str) -> str:
    """Return a text in which all lines are blank but those of the Python blocks."""
    lines: list[str] = []
    fence = language = ""  # of the block that is open
    for line in text.split("\n"):
        opening = _FENCE.match(line)
        if fence:
            is_end = line.startswith(fence) and not line.strip().strip(fence[0])
            lines.append("" if is_end or language not in _PYTHON else line)
            fence = "" if is_end else fence
        else:
            fence, language = opening.groups() if opening else ("", "")
            lines.append("")
    return "\n".join(lines)
