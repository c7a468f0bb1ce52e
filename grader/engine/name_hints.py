"""What a missing name, attribute or import probably means, or a character that only looks like a part of Python.

A name is suggested only if it exists in that place.
"""

from __future__ import annotations

import ast
import builtins
import difflib
import functools
import html
import math
import re
import sys
import unicodedata
from collections.abc import Sequence

import torch

from grader.engine.source_lines import COMPREHENSIONS, DEFINITIONS, SourceLine, SourceLines, bound_by, in_scope
from grader.sandbox.failures import FailedStatement
from grader.sandbox.statements import QUOTES, TYPED, is_note, is_text
from grader.text import in_words

IMPORTS = {
    "F": "import torch.nn.functional as F",
    "math": "import math",
    "nn": "from torch import nn",
    "np": "import numpy as np",
    "numpy": "import numpy",
    "random": "import random",
    "Tensor": "from torch import Tensor",
    "torch": "import torch",
}
# Names that mean nothing else, by the module that they are imported from.
LIBRARY = {
    "abc": "ABC abstractmethod",
    "collections": "OrderedDict defaultdict namedtuple",
    "contextlib": "contextmanager suppress",
    "dataclasses": "dataclass",
    "enum": "Enum IntEnum",
    "functools": "cached_property lru_cache partial singledispatch",
    "pathlib": "Path",
    "typing": "Any Callable ClassVar Dict Final FrozenSet Generic Iterable Iterator List Literal Mapping NamedTuple "
    "NewType Optional ParamSpec Protocol Self Sequence Set SupportsFloat Tuple Type TypeAlias TypedDict TypeVar Union "
    "overload runtime_checkable",
}
IMPORTS |= {name: f"from {module} import {name}" for module, names in LIBRARY.items() for name in names.split()}
LONGEST_NAME, MOST_NAMES = 100, 2000
# How similar a name of a library has to be: there are many.
NEAR = 0.75
MISSING_NAME = re.compile(r"name '(\w+)' is not defined")
MISSING_IMPORT = re.compile(
    r"cannot import name '(?P<name>\w+)' from '(?P<source>[\w.]+)'|No module named '(?P<module>\w+)'"
)
RELATIVE = "attempted relative import"
NO_SLASHES = "A comment begins with `#`: `//` divides."
OUTSIDE = "It is outside of every function: indent it if it belongs to one."
MODULES = ("math", "numpy", "random", "torch")
# Loaded with torch.
PARTS = (*MODULES, "torch.nn", "torch.nn.functional", "torch.nn.init")
# Where a function or a layer may be that is called without its module.
HOMES = {"torch": torch, "nn": torch.nn, "torch.nn.functional": torch.nn.functional, "math": math}
MISSING_ATTRIBUTE = re.compile(
    r"(?:'(?P<kind>\w+)' object|module '(?P<module>[\w.]+)') has no attribute '(?P<name>\w+)'"
)

# As Python's parser says it, with the column that the worker adds.
_INVALID = re.compile(r"invalid (?:non-printable )?character .*?U\+((?:10|[0-9A-F])?[0-9A-F]{4})\)? in column \d+")
_UNTERMINATED = re.compile(r"^unterminated .*string literal")
# A name in an error, or in a hint on it.
_NAME = re.compile(
    r"(?:\b(?:name|attribute|argument|variable|named) '|(?:Did you mean|defines|assigns) `(?:self\.)?)([^\W\d]\w*)['`]"
)
# Letters of the Cyrillic and the Greek alphabet, and the Latin ones that they look like.
_LATIN = str.maketrans(
    "\u0430\u0441\u0435\u043e\u0440\u0445\u0443\u0456\u0458\u0455\u0501\u04bb\u0410\u0412\u0421\u0415\u041d\u0406\u041a"
    "\u041c\u041e\u0420\u0405\u0422\u0425\u03bf\u0391\u0392\u0395\u0396\u0397\u0399\u039a\u039c\u039d\u039f\u03a1\u03a4"
    "\u03a5\u03a7",
    "aceopxyijsdhABCEHIKMOPSTXoABEZHIKMNOPTYX",
)
# Strings and comments. A quote behind a backslash begins no string: a string before it that is not closed would be read
# to the end of the source again for each such quote.
NO_CODE = re.compile(
    r'(?<!\\)(?:("""|' r"'''" r')(?:\\.|[^\\])*?\1|"(?:\\.|[^"\\\n])*"' r"|'(?:\\.|[^'\\\n])*')" r"|#[^\n]*",
    re.DOTALL,
)
# Names that HTML has for signs.
ENTITY = re.compile(r"&(?:lt|gt|amp|quot|apos|nbsp|#\d{2,4});")


def _public(owner: object) -> set[str]:
    """Return the public names of a module, or of the objects of a class."""
    return {name for name in (*dir(owner), *getattr(owner, "__annotations__", ())) if not name.startswith("_")}


# Some of Python's names are of no use in an answer.
PYTHONS = _public(builtins) - {"copyright", "credits", "exit", "help", "input", "license", "quit"}


def on_missing_name(name: str, place: SourceLine, lost: Sequence[FailedStatement]) -> str:
    """Return a sentence on a name that does not exist in a function."""
    lines, code, around, (owner, method) = place.lines, place.text, place.around, (*place.around, None, None)[:2]
    if _is_lost(name, lost):
        return ""  # that statement has a message of its own
    known = variables(around, place.number)
    if hint := _on_import(name, place) or _on_sign(name, code, known):
        return hint
    this = self_of(method) if isinstance(owner, ast.ClassDef) and name in attributes_of(owner) else None
    if this and not re.search(rf"\b{this}\.{name}\s*=(?!=)", code):
        return f"Did you mean `{this}.{name}`?"
    is_called = re.search(rf"(?<![\w.]){name}\(", code)
    if is_called and (homes := [home for home, module in HOMES.items() if name in _public(module)]):
        return f"Did you mean {' or '.join(f'`{home}.{name}`' for home in homes[:2])}?"
    if near := similar(name, known):
        return f"Did you mean `{near}`?"
    if not is_called and (unused := _unused_arguments(around)):
        which = "the unused argument" if len(unused) == 1 else "one of the unused arguments"
        quoted = in_words([f"`{one}`" for one in unused])
        return f"Did you mean {which} {quoted}? Otherwise give it a value in this function."
    if name in lines.names_of_program(place.unit):
        return (
            'It has a value only under `if __name__ == "__main__":`, which does not run here: make it an argument, or '
            "give it a value in this function."
        )
    if near := similar(name, lines.names_at_top(place.unit, lost)) or similar(name, PYTHONS, NEAR):
        return f"Did you mean `{near}`?"
    is_inside = any(isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) for node in around)
    return "Give it a value in this function: names inside other functions do not exist here." if is_inside else ""


def on_missing_name_at_top(
    name: str, failed: FailedStatement, lines: SourceLines, lost: Sequence[FailedStatement]
) -> str:
    """Return a sentence on a name that does not exist outside of functions."""
    if _is_lost(name, [one for one in lost if one != failed]):
        return ""
    place = lines.at(failed.file, failed.line)
    above = lines.names_at_top(place.unit, lost, place)
    if hint := _on_sign(name, place.text, above):
        return hint
    is_word = place.text == name  # a title rather than a use
    if not is_word and (hint := _on_import(name, place, is_at_top=True)):
        return hint
    if name in above:
        return f"Give `{name}` a value before this line, on every way to it."
    if name in lines.names_at_top(place.unit, lost):
        return "It gets its value below this line: move that up, or this line down."
    statement = place.around[:1]
    is_alone = any(map(is_note, statement))
    if near := similar(name, above) or (not is_alone and similar(name, PYTHONS, NEAR)):
        return f"Did you mean `{near}`?"
    if is_alone:
        return "This line defines nothing: if it is a note, begin it with `#`."
    if any(isinstance(node, DEFINITIONS) for node in statement):
        return "It is needed when the definition is read, before any call: give it a value above."
    last = [node for node in place.source.statements if node.lineno < place.number][-1:]
    if name in variables([*last, *(method for one in last for method in methods_of(one)[-1:])], place.number):
        return OUTSIDE
    return "Nothing above gives it a value. If the line is text or output, delete it or begin it with `#`."


def _on_sign(name: str, code: str, known: set[str]) -> str:
    """Return a sentence on a sign of HTML, or on a comment of another language, that was read as a name; or ""."""
    if f"&{name};" in code:
        return on_html(code)
    is_comment = re.search(rf"\S\s*//\s*{name}\b[\w\s]*$", code) and not similar(name, known)
    return NO_SLASHES if is_comment else ""


def on_html(code: str) -> str:
    """Return a sentence on a sign that is written as in HTML, or ""."""
    found = list(dict.fromkeys(ENTITY.findall(NO_CODE.sub("", code))))
    signs = (f"`{one}` is HTML for `{html.unescape(one)}`".replace("\xa0", " ") for one in found)
    return f"{', and '.join(signs)}: type that." if found else ""


def _is_lost(name: str, lost: Sequence[FailedStatement]) -> bool:
    """Return whether a statement that failed would have bound a name."""
    return any(name in one.names and name not in one.kept for one in lost)


def _on_import(name: str, place: SourceLine, is_at_top: bool = False) -> str:
    """Return a sentence on the import of a name that is missing or does not count; "" if it is not one to import.

    is_at_top: Whether the statement that lacks it is outside of functions.
    """
    lines, unit, where = place.lines, place.unit, "at the top of the file"
    if ".ipynb, cell " in (place.file or ""):
        where = "in the first code cell"
    found = lines.import_in(unit, name)
    if not found:
        needed = IMPORTS.get(name) or lines.import_of(name, unit)
        return f"Add `{needed}` {where}." if needed else ""
    label, line, is_top = found
    at = f"line {line}" if label == place.file else f"line {line} of {label}"
    if is_top and name in lines.names_at_top(unit, (), place if is_at_top else None):
        for source, _, number in lines.deletions(unit, name):
            return f"Line {number} of {source} deletes `{name}`: remove it there."
        return f"{at[0].upper()}{at[1:]} imports `{name}`: is it deleted afterwards?"
    return f"The import of `{name}` in {at} does not count here: it belongs {where}."


def near_import(detail: str, lines: SourceLines) -> str | None:
    """Return what an import probably means: a name of another unit or of a library, or a module."""
    missing = MISSING_IMPORT.match(detail)
    if not missing:
        return None
    if source := missing["source"]:
        known = _public(sys.modules[source]) if source in PARTS else lines.names_at_top(source)
        # A name that is there in the source has failed.
        return None if missing["name"] in known else similar(missing["name"], known)
    known = {*MODULES, *lines.exercises}
    return None if missing["module"] in known else similar(missing["module"], known, NEAR)


def on_missing_attribute(detail: str, lines: SourceLines) -> str:
    """Return a sentence on an attribute that an object or a module does not have, or ""."""
    missing = MISSING_ATTRIBUTE.search(detail)
    if not missing:
        return ""
    own = lines.classes(missing["kind"] or "")
    if module := missing["module"]:
        near = similar(missing["name"], _public(sys.modules[module]), NEAR) if module in PARTS else None
    elif own:
        attributes = attributes_of(own[-1])
        if missing["name"] in attributes:
            return f"The class gives `{missing['name']}` a value: does that line run before this one?"
        near = similar(missing["name"], attributes) or similar(missing["name"], _public(torch.nn.Module), NEAR)
    else:
        places = (torch, builtins, torch.nn, torch.nn.parameter)
        kinds = [getattr(place, missing["kind"], None) for place in places]
        near = next((similar(missing["name"], _public(kind), NEAR) for kind in kinds if isinstance(kind, type)), None)
    return f"Did you mean `{near}`?" if near else ""


def similar(name: str, names: set[str], cutoff: float = 0.6) -> str | None:
    """Return the other name that is most similar to this one, if there is one."""
    # Sorted, so that the result is always the same; bounded, because a student may define any number.
    some = sorted(one for one in names - {name} if len(one) <= LONGEST_NAME)[:MOST_NAMES]
    # Torch's methods with an underscore at the end change a tensor.
    some = [one for one in some if name.endswith("_") or not one.endswith("_")]
    if same := [one for one in some if one.lower() == name.lower()]:
        return same[0]
    found = difflib.get_close_matches(name[:LONGEST_NAME], some, n=1, cutoff=cutoff)
    return found[0] if found else None


def variables(around: Sequence[ast.AST], line: int) -> set[str]:
    """Return the arguments and variables that a line in these functions can use."""
    found: set[str] = set()
    for function in around:
        if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
            found |= {one.arg for one in ast.walk(function.args) if isinstance(one, ast.arg)}
            for node in in_scope(function.body):
                found.update(bound_by(node))
                if isinstance(node, (*COMPREHENSIONS, ast.Lambda)) and node.lineno <= line <= (node.end_lineno or 0):
                    found |= {name for one in ast.walk(node) for name in bound_by(one)}
                    found |= {one.arg for one in ast.walk(node) if isinstance(one, ast.arg)}
    return found


def _unused_arguments(around: Sequence[ast.AST]) -> list[str]:
    """Return the arguments that a line's innermost function never uses: not `self`, and none with a default."""
    functions = [one for one in around if isinstance(one, ast.FunctionDef)]
    if not functions:
        return []
    given = functions[-1].args
    names = [one.arg for one in [*given.posonlyargs, *given.args]]
    needed = names[: len(names) - len(given.defaults)]
    used = {node.id for one in functions[-1].body for node in ast.walk(one) if isinstance(node, ast.Name)}
    return [one for one in needed if one not in used | {"self"}]


def methods_of(owner: ast.AST, name: str | None = None) -> list[ast.FunctionDef]:
    """Return the methods of a class, or those of this name."""
    body = owner.body if isinstance(owner, ast.ClassDef) else []
    return [one for one in body if isinstance(one, ast.FunctionDef) and name in (None, one.name)]


def self_of(method: ast.AST | None) -> str | None:
    """Return what a method calls its object."""
    arguments = method.args.args if isinstance(method, ast.FunctionDef) else []
    return arguments[0].arg if arguments else None


def attributes_of(owner: ast.AST) -> set[str]:
    """Return the attributes that a class gives its objects, with its methods."""
    found = {name for node in in_scope(getattr(owner, "body", [])) for name in bound_by(node)}
    for method in methods_of(owner):
        for node in ast.walk(method):
            match node:
                case ast.Attribute(value=ast.Name(id=name), attr=attribute, ctx=ast.Store()):
                    if name == self_of(method):
                        found.add(attribute)
                case ast.Call(func=ast.Attribute(attr=function), args=[ast.Constant(value=str(attribute)), *_]):
                    if function in ("register_buffer", "register_parameter", "register_module", "add_module"):
                        found.add(attribute)
    return found


@functools.lru_cache(maxsize=8)
def lines_with(character: str, source: str) -> int:
    """Return how many lines of code have a character: it is allowed in strings and comments, and usual in texts."""
    code = NO_CODE.sub(lambda found: "\n" * found[0].count("\n"), source)
    return sum(character in line and not is_text(line) for line in code.split("\n"))


def hint_on_characters(hint: str, detail: str, place: SourceLine) -> str:
    """Return what to type, if an error in this line is about a character or a name that only looks right.

    hint: What to do about the error otherwise.
    """
    if (invalid := _INVALID.fullmatch(detail)) and not place.is_text:
        character = chr(int(invalid[1], 16))
        count = lines_with(character, place.source.code)
        return f"{_instead_of(character)}{f' It is in {count} lines.' if count > 1 else ''}"
    if _UNTERMINATED.search(detail) and not place.is_text:
        found = next((one for one in place.text if TYPED.get(one) in QUOTES), None)
        return f"A string ends with the quote that it begins with. {_instead_of(found)}" if found else hint
    sentences = (on_name(name, place) for name in _NAME.findall(f"{detail} {hint}"))
    return next(filter(None, sentences), hint)


def on_name(name: str, place: SourceLine) -> str:
    """Return a sentence on a letter that looks like a Latin one and is none, in a name or its twin; otherwise ""."""
    latin = name.translate(_LATIN)
    if not latin.isascii():
        return ""
    names = place.source.names
    near = [one for one in names if one[0] == latin or (not one[0].isascii() and one[0].translate(_LATIN) == latin)]
    top = [one for one in place.around[:1] if isinstance(one, ast.stmt)]
    numbers = range(top[0].lineno, (top[0].end_lineno or 0) + 1) if top else ()
    odd = [(one, line) for one, line in near if one != latin and (name != latin or line in numbers)]
    # A name may also be a word of another language.
    if not odd or not (any(map(str.isascii, name.replace("_", ""))) or latin in dict(near)):
        return ""
    word, number = next((one for one in odd if one[1] == place.number), odd[0])
    at = next(index for index, letter in enumerate(word) if letter != latin[index])
    found = re.search(rf"\b{re.escape(word)}\b", place.source.line(number))
    where = f" (line {number}, column {found.start() + 1 + at})" if found else ""
    alphabet = unicodedata.name(word[at]).partition(" ")[0].capitalize()
    return f"`{word}`{where} has a {alphabet} `{word[at]}`: type the Latin `{latin[at]}`."


def _instead_of(character: str) -> str:
    """Return a sentence on what to type instead of a character."""
    name, category = unicodedata.name(character, "control character").lower(), unicodedata.category(character)
    plain = unicodedata.normalize("NFKC", character)
    a_name = f"{'an' if name[0] in 'aeiou' else 'a'} {name}"
    if character == "\x1b":
        return "It begins a colour of a terminal: if the line is output, delete it; otherwise delete such codes in it."
    if category == "Zs":
        return f"It is {a_name}, which looks like a space: delete it and type a space."
    if category.startswith(("C", "Z")):
        return f"It is {a_name}, which cannot be seen: delete the characters around it and type these again."
    if unicodedata.decomposition(character).startswith("<super>"):
        return f"`{character}` is not Python: type `** {plain}`."
    typed = TYPED.get(character) or (plain if plain != character and plain.isascii() else "")
    if typed.startswith("** "):
        return f"`{character}` ({name}) is not Python: write `x {typed}` for `{character}x`."
    if typed:
        return f"`{character}` ({name}) is not Python: type `{typed}`."
    return f"`{character}` ({name}) is not Python: delete it, or write it in a string or a comment."
