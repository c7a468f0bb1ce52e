"""A line that is no Python costs nothing but itself between statements, and the whole statement inside one."""

from __future__ import annotations

import ast
from typing import Any

import pytest

from grader.sandbox import pieces, statements
from grader.sandbox.failures import NOT_PYTHON, FailedStatement
from grader.sandbox.statements import kind_of

ABOVE = '''\
def above(x):
    """Add

    !one
    ```
    """
    total = x
    total += 1
'''
BELOW = """\
class Below:
    size = (
        1
    )
"""

# What does not belong in a script, and what is said of it. Notebook commands are part of a notebook.
STRAYS = {
    "```python": "the line is a Markdown fence",
    "~~~": "the line is a Markdown fence",
    "!nvidia-smi": "the line is a notebook command",
    "%timeit above(1)": "the line is a notebook command",
    "files = !ls": "the line is a notebook command",
    "pip install einops": "the line is a command for the terminal",
    "$ python self_attention.py": "the line is a command for the terminal",
    ">>> above(1)": "the line is a prompt",
    "<<<<<<< HEAD": "the line is a conflict marker",
    ">>>>>>> main": "the line is a conflict marker",
    "Now I don't scale the scores:": "unterminated string literal (detected at line {line})",
    "This is my answer": "invalid syntax",
    "@Ada can you look at this?": "invalid syntax",
    "<pre class='code'>": "the line is an HTML tag",
    "Note that:": "invalid syntax",
    "| a | b |": "invalid syntax",
    "- a list of things": "invalid syntax",
    "---": "invalid syntax",
    "@@ -0,0 +1,62 @@": "invalid syntax",
    ")": "unmatched ')'",
    "~~~{.python}": "the line is a Markdown fence",
    "In [3]: %timeit above(1)": "the line is a prompt",
    "Out[3]: 0.5, and": "the line is printed output",
    "<function above at 0x7f>": "the line is printed output",
    "torch.softmax?": "the line is a notebook command",
    "(base) ana@laptop:~/hw$ ls | grep 'x": "the line is a command for the terminal",
    "C:\\Users\\Ana> python x.py": "the line is a command for the terminal",
    "root@host:/# ls -l": "the line is a command for the terminal",
    "ana@MacBook ~ % ls -l": "the line is a command for the terminal",
    "[ana@host hw]$ ls -l": "the line is a command for the terminal",
    "C:\\> dir /w": "the line is a command for the terminal",
    "cd ~/hw && git commit -m \"it's done": "the line is a command for the terminal",
    "-->": "the line is an HTML tag",
    "<<<<<<<HEAD": "the line is a conflict marker",
    "<<<<<<<<< Temporary merge branch 1": "the line is a conflict marker",
    "<!-- done -->": "the line is an HTML comment",
    "\u00a0": "the line is a blank line with invisible characters",
    "\u3000 # text": "the line is a blank line with invisible characters",
    "\v": "the line is a blank line with invisible characters",
    "\u200b": "the line is a blank line with invisible characters",
    "    \u200b": "the line is a blank line with invisible characters",
    '"""': "unterminated triple-quoted string literal (detected at line {line})",
}
COMMANDS = [stray for stray, text in STRAYS.items() if text == "the line is a notebook command"]

every_stray = pytest.mark.parametrize("stray", STRAYS)
in_both_forms = pytest.mark.parametrize("is_notebook", [False, True])


def lost(source: str, is_notebook: bool = False) -> list[tuple[int | None, tuple[str, ...], str]]:
    """The line of the error, the names and the text of each piece that cannot run."""
    found = [piece for piece in pieces.split(source, is_notebook) if piece.problem]
    return [(one.problem.lineno, one.names, one.problem.msg) for one in found if one.problem]


def kept(source: str, is_notebook: bool = False) -> list[str]:
    """The code of each statement, as `ast.unparse` writes it."""
    return [ast.unparse(piece.tree) for piece in pieces.split(source, is_notebook) if piece.tree]


def code(*statements: str) -> list[str]:
    return [ast.unparse(ast.parse(one)) for one in statements]


@in_both_forms
@every_stray
def test_between_statements_a_stray_line_costs_nothing_but_itself_and_is_named(stray: str, is_notebook: bool) -> None:
    source = f"{ABOVE}\n{stray}\n\n{BELOW}\n"
    line = ABOVE.count("\n") + 2
    names = ("files",) if stray.startswith("files") else ()
    is_left_out = is_notebook and stray in COMMANDS and stray.startswith(("%", "!"))
    named = [] if is_left_out else [(line, names, STRAYS[stray].format(line=line))]
    assert lost(source, is_notebook) == named
    assert kept(source, is_notebook) == code(ABOVE, BELOW)


def test_a_line_of_a_known_kind_could_define_nothing() -> None:
    def could_define(stray: str) -> bool:
        return any(
            FailedStatement(names, NOT_PYTHON, text, line, "").may_define_anything for line, names, text in lost(stray)
        )

    known = {stray for stray, text in STRAYS.items() if text.startswith("the line is")}
    assert [stray for stray in STRAYS if could_define(stray) == (stray in known)] == []


@in_both_forms
@every_stray
def test_inside_a_function_a_stray_line_costs_the_function_and_is_named(stray: str, is_notebook: bool) -> None:
    source = f"first = 1\n{ABOVE}{stray}\n    return total\n{BELOW}"
    line = ABOVE.count("\n") + 2
    end_of_string = line + (stray == '"""')
    assert lost(source, is_notebook) == [(line, ("above",), STRAYS[stray].format(line=end_of_string))]
    assert kept(source, is_notebook) == code("first = 1", BELOW)


@in_both_forms
@pytest.mark.parametrize("stray", sorted(STRAYS.keys() - {"~~~", "---"}))  # signs of a number in brackets
def test_inside_a_class_or_its_brackets_a_stray_line_costs_the_class(stray: str, is_notebook: bool) -> None:
    for place in range(1, BELOW.count("\n")):
        lines = BELOW.split("\n")
        source = ABOVE + "\n".join([*lines[:place], stray, *lines[place:]])
        [(line, names, _), *others] = lost(source, is_notebook)
        assert names == ("Below",)
        assert line
        assert 0 < line - ABOVE.count("\n") <= place + 1
        assert all(one[1] in ((), ("files",)) for one in others)
        assert kept(source, is_notebook) == code(ABOVE)


@in_both_forms
@pytest.mark.parametrize("marker", ["@missing(", "@missing(1", "@1 +", "@cache\n!ls"])
def test_a_definition_is_lost_with_its_decorator(marker: str, is_notebook: bool) -> None:
    source = f"{ABOVE}{marker}\ndef decorated(x):\n    return x\n{BELOW}"
    assert [names for _, names, _ in lost(source, is_notebook)] == [("decorated",)]
    assert kept(source, is_notebook) == code(ABOVE, BELOW)


@in_both_forms
@pytest.mark.parametrize(
    "broken",
    [
        "def broken(x:\n    return x",
        "def broken(x)\n    return x",
        "def broken(\n    x,\n!ls\n):\n    return x",
        "def broken(x):\n!ls\n    return x",
        "def broken(x):\n<<<<<<< HEAD\n=======\n>>>>>>> main\n    return x",
        "def broken(x):\nreturn x",
        "class broken(:\n    def forward(self):\n        return 1\n\n    def more(self):\n        return 2",
        "broken = (\n    1,\n!ls\n    2,\n)",
        "broken = [1, 2",
        "if 1:\n    broken = 1\n!ls\nelse:\n    broken = 2",
    ],
)
def test_a_broken_statement_costs_nothing_but_itself(broken: str, is_notebook: bool) -> None:
    source = f"{ABOVE}{broken}\n{BELOW}"
    assert lost(source, is_notebook)[0][1] == ("broken",)
    assert [one for one in kept(source, is_notebook) if not one.startswith("return")] == code(ABOVE, BELOW)


@in_both_forms
@pytest.mark.parametrize(
    ("broken", "line", "text"),
    [
        ("def broken(\n    x,\n):\n    return x +", 4, "invalid syntax"),
        ("def broken(\n    x,\n)\n    return x", 3, "expected ':'"),
        ("def broken(\n    x,\n）:\n    return x", 3, "invalid character '）' (U+FF09)"),
        ("def broken（\n    x,\n):\n    return x", 1, "invalid character '（' (U+FF08)"),
        ("def broken(\n    x,\n):\n    return (x –\n    1)", 4, "invalid character '–' (U+2013)"),
        ("broken = max(\n    1 = 2,\n)", 2, 'expression cannot contain assignment, perhaps you meant "=="?'),
        ("@decorated（\n    1,\n)\nclass broken:\n    x = 1", 1, "invalid character '（' (U+FF08)"),
        ("broken = (1", 1, "'(' was never closed"),
    ],
)
def test_a_bracket_that_closes_in_the_first_column_belongs_to_the_statement_above(
    broken: str, line: int, text: str, is_notebook: bool
) -> None:
    source = f"{ABOVE}{broken}\n{BELOW}"
    rest = f"; lines 9 to {9 + broken.count(chr(10))} are not run" if "\n" in broken and "character" not in text else ""
    assert lost(source, is_notebook) == [(ABOVE.count("\n") + line, ("broken",), f"{text}{rest}")]
    assert kept(source, is_notebook) == code(ABOVE, BELOW)


@in_both_forms
@pytest.mark.parametrize(
    ("broken", "names", "text"),
    [
        ("values = [\nprint(1\nprint(2)", ("values",), "; lines 9 to 10 are not run"),
        ("def broken(x) {\n    return x;\n}", ("broken",), "; lines 9 to 11 are not run"),
        ("def g():\n    return 1\nelse:\n    a = 1\n    b = 2", (), "; lines 11 to 13 are not run"),
        ("/* a\n   text */", (), "; lines 9 to 10 are not run"),
        ("x = 1\n  def broken(x):\n      return x\n\n  class More:\n      y = 1", ("broken", "More"),
         "; lines 10 to 14 are not run, with broken, More"),
        ("def broken(x:\n    return x", ("broken",), ""),
        ("@cache\ndef broken(x):\n    return (x\n", ("broken",), "; lines 9 to 11 are not run"),
    ],
)  # fmt: skip
def test_all_lines_that_are_lost_are_named_if_they_are_no_definition(
    broken: str, names: tuple[str, ...], text: str, is_notebook: bool
) -> None:
    found = lost(f"{ABOVE}{broken}\n{BELOW}", is_notebook)
    assert [(found, message.partition(";")[1] + message.partition(";")[2]) for _, found, message in found] == [
        (names, text)
    ]


CLASS = "class Above:\n    def one(self, x):\n        self.x = x\n\n"


@pytest.mark.parametrize("above", [ABOVE, CLASS])
@pytest.mark.parametrize(
    "broken",
    [
        "dfe broken(x):\n    return x", "whlie x > 0:\n    return x", "fro x in range(3):\n    return x",
        "deff broken(\n    x,\n):\n    return x", "if above(2) == 3\n    print(3)", "for i in range(3)\n    print(i)",
        "while True  # for ever\n    break", "with x\n    print(x)", "if x = 3:\n    print(x)", "try\n    print(x)",
        "for i on range(3):\n    print(i)", "else if x:\n    print(x)", "try:\n    print(x)", "Output:\n    tensor(3)",
        "- one\n    - two", "print('one'\n    'two'",
    ],
)  # fmt: skip
def test_what_is_below_a_wrong_header_or_in_a_list_is_no_part_of_the_statement_above(above: str, broken: str) -> None:
    source = f"{above}{broken}\n{BELOW}"
    assert {names for _, names, _ in lost(source)} == {()}
    assert kept(source) == code(above, BELOW)


def test_what_is_below_a_text_in_a_definition_may_be_a_part_of_it() -> None:
    assert [names for _, names, _ in lost(f"{CLASS}for more see the lecture\n    y = 1\n{BELOW}")] == [("Above",)]


@pytest.mark.parametrize("above", ["import math", "from math import pi", "x = 5"])
@pytest.mark.parametrize(
    "stray", ["    see the lecture", "    y = 3", "    print(3)", "else:\n    y = 1", "except:\n    y = 1"]
)
def test_what_cannot_go_on_with_a_simple_statement_costs_only_itself(above: str, stray: str) -> None:
    source = f"{ABOVE}{above}\n{stray}\n{BELOW}"
    assert [names for _, names, _ in lost(source)] == [()]
    assert kept(source) == code(ABOVE, f"{above}\n", BELOW)


@pytest.mark.parametrize("stray", ["    .sum()", "    + 1", "    if y else 2", "    not in y"])
def test_what_may_go_on_with_an_expression_costs_the_statement_but_no_import(stray: str) -> None:
    assert kept(f"x = 5\n{stray}\n{BELOW}") == code(BELOW)
    assert kept(f"import math\n{stray}\n{BELOW}") == code("import math\n", BELOW)


@pytest.mark.parametrize(
    "line",
    ["total@x) # or x@total", "total @ x) % 2", "x = ?", "cd = 1)", "EOF = 1)", "tensor(1))", "Error: 1)", "x <<<< 1"],
)
def test_a_line_of_code_with_a_mistake_is_called_nothing_else(line: str) -> None:
    [(number, _, text)] = lost(f"{ABOVE}{BELOW}{line}\n")
    assert number == 13
    assert not text.startswith("the line is")


ERROR = """\
Traceback (most recent call last):
  File "answers.py", line 9, in <module>
    above(1)
    ~~~~~^^^
  [Previous line repeated 3 more times]
TypeError: it (is"""
BLOCKS = {
    ERROR: "a pasted error message",
    ERROR.partition("\n")[2]: "a pasted error message",
    f"{ERROR}\n\nDuring handling of the above exception, another one occurred:\n\n{ERROR}": "a pasted error message",
    'Traceback (most recent call last):\n  File "answers.py", line 9\n    x = 1': "a pasted error message",
    "------------\nTypeError       Traceback (most recent call last)\nCell In[3], line 1\n----> 1 above(1)\n\n"
    "File ~/answers.py:2, in above(x)\n      1 def above(x):\n----> 2     x += 1\n\nTypeError: no": (
        "a pasted error message"
    ),
    "<!-- my first try\n    def above(x): ...\nclass Below:\n    x = 1\n-->": "an HTML comment",
}


@in_both_forms
@pytest.mark.parametrize("block", BLOCKS)
@pytest.mark.parametrize("statement", [ABOVE, BELOW, "import math\n"])
def test_a_block_of_stray_lines_costs_nothing_but_itself_and_is_named(
    block: str, statement: str, is_notebook: bool
) -> None:
    source = f"{statement}{block}\n{BELOW}"
    first = statement.count("\n") + 1
    names = ("Below",) if block.startswith("<!--") else ()
    text = f"lines {first} to {first + block.count(chr(10))} are {BLOCKS[block]}"
    assert lost(source, is_notebook) == [(first, names, text)]
    assert kept(source, is_notebook) == code(statement, BELOW)


@in_both_forms
@pytest.mark.parametrize("block", BLOCKS)
@pytest.mark.parametrize(
    ("begin", "end"), [("def broken():\n    x = 1\n", "    return x\n"), ("broken = (\n    1,\n", "    2,\n)\n")]
)
def test_a_block_of_stray_lines_inside_a_statement_costs_the_statement(
    block: str, begin: str, end: str, is_notebook: bool
) -> None:
    [(line, names, text)] = lost(f"{ABOVE}{begin}{block}\n{end}{BELOW}", is_notebook)
    assert (line, names) == (ABOVE.count("\n") + begin.count("\n") + 1, ("broken",))
    rest = f"; lines 9 to {9 + (begin + block + end).count(chr(10))} are not run" if "(\n" in begin else ""
    assert text.endswith(f"{BLOCKS[block]}{rest}")
    assert kept(f"{ABOVE}{begin}{block}\n{end}{BELOW}", is_notebook) == code(ABOVE, BELOW)


def test_a_word_below_a_text_is_no_part_of_the_class_above() -> None:
    assert kept(f"{BELOW}Hello there:\n  two\n    four\n{ABOVE}") == code(BELOW, ABOVE)
    assert kept(f"{BELOW}Hello there:\n  two\n    x = 4\n{ABOVE}") == code(ABOVE)


@pytest.mark.parametrize("junk", [" <<<<<<< HEAD", "  def broken(x):\n    return x"])
def test_what_is_indented_below_a_simple_statement_costs_nothing_but_itself(junk: str) -> None:
    assert kept(f"import math\n{junk}\n{BELOW}") == code("import math", BELOW)


def test_a_pasted_paragraph_is_one_piece_and_costs_nothing() -> None:
    text = "The scores are scaled:\n\n    softmax(Q · Kᵀ / √d_k) · V\n\nIt doesn't matter how (see below).\n1. First"
    assert lost(f"{ABOVE}\n{text}\n{BELOW}") == [(10, (), "invalid syntax in lines 10 to 15")]
    assert kept(f"{ABOVE}\n{text}\n{BELOW}") == code(ABOVE, BELOW)


@pytest.mark.parametrize("junk", [" 12 def copied(x):\n 13     return x", "  Page 3 of 7", "\fPage 4", "  § 3"])
def test_indented_junk_that_can_belong_to_nothing_costs_nothing(junk: str) -> None:
    assert kept(f"{BELOW}\n{junk}\n{ABOVE}") == code(BELOW, ABOVE)


def test_indented_junk_below_a_header_of_several_lines_costs_nothing() -> None:
    function = "def many(\n    x,\n) -> int:\n    return x\n"
    assert kept(f"{function}\n [markdown]\n{BELOW}") == code(function, BELOW)


@pytest.mark.parametrize(
    "line", ["  return total", " if total:\n     return 1", "\u00a0   return total", "\u00a0   total"]
)
def test_a_line_with_the_wrong_indentation_costs_its_function(line: str) -> None:
    assert [names for _, names, _ in lost(f"{ABOVE}{line}\n{BELOW}")] == [("above",)]


def test_a_function_that_has_returned_is_complete_whatever_is_below() -> None:
    function = f"{ABOVE}    return total\n"
    assert kept(f"{function}else:\n    return 1\n{BELOW}") == code(function, BELOW)
    assert kept(f"{function}```\n    scores = queries @ keys.T\n{BELOW}") == code(function, BELOW)
    assert kept(f"{ABOVE}else:\n    return 1\n{BELOW}") == code(BELOW)


@in_both_forms
@pytest.mark.parametrize(
    "odd",
    [
        "lambda:\n\\\n    ",
        "\\\n    \nclass A:\n\t x",
        f"{ABOVE}\\\n    return x\n= 1",
        "@a\n" * 5000 + "def f(): ...\n= 1",
    ],
)
def test_an_odd_source_raises_nothing(odd: str, is_notebook: bool) -> None:
    assert pieces.split(odd, is_notebook)


# -- unfinished merges ------------------------------------------------------------------------------------------

MERGES = {
    "both sides": "<<<<<<< HEAD\ndef one():\n    return 1\n=======\ndef one():\n    return 2\n>>>>>>> main",
    "with the common ancestor": "<<<<<<< HEAD\none = 1\n||||||| base\none = 0\n=======\none = 2\n>>>>>>> main",
    "without the first marker": "=======\none = 1\n>>>>>>> main",
    "without the last marker": "<<<<<<< HEAD\none = 1\n=======",
    "without spaces": "<<<<<<<HEAD\none = 1\n=======\none = 2\n>>>>>>>main",
    "inside another": "<<<<<<<<< a\n<<<<<<< b\none = 1\n=======\n>>>>>>> c\n=========\none = 2\n>>>>>>>>> d",
}


@in_both_forms
@pytest.mark.parametrize("merge", MERGES.values(), ids=MERGES)
def test_what_is_between_conflict_markers_is_lost_and_the_rest_is_kept(merge: str, is_notebook: bool) -> None:
    source = f"{ABOVE}\n{merge}\n{BELOW}"
    begin = ABOVE.count("\n") + 2
    text = f"lines {begin} to {begin + merge.count(chr(10))} are an unfinished merge"
    assert lost(source, is_notebook) == [(begin, ("one",), text)]
    assert kept(source, is_notebook) == code(ABOVE, BELOW)


@in_both_forms
@pytest.mark.parametrize("sides", ["=======", "    total = 2\n=======\n    total = 3"])
def test_a_function_with_an_unfinished_merge_in_it_is_lost(sides: str, is_notebook: bool) -> None:
    source = f"{ABOVE}<<<<<<< HEAD\n{sides}\n>>>>>>> main\n    return total\n{BELOW}"
    [(line, names, text)] = lost(source, is_notebook)
    assert (line, names) == (ABOVE.count("\n") + 1, ("above",))
    assert text.endswith("are an unfinished merge")
    assert kept(source, is_notebook) == code(BELOW)


def test_two_unfinished_merges_are_two_pieces() -> None:
    merge = "<<<<<<< HEAD\n=======\n>>>>>>> main\n"
    assert [text for *_, text in lost(f"{merge}{ABOVE}{merge}")] == [
        "lines 1 to 3 are an unfinished merge",
        "lines 12 to 14 are an unfinished merge",
    ]


@in_both_forms
@pytest.mark.parametrize(
    ("ours", "theirs", "imports", "names"),
    [
        ("import torch", "import torch", ["import torch"], ()),
        ("import torch.nn as nn", "import torch\nfrom torch import nn", ["import torch.nn as nn", "import torch",
                                                                        "from torch import nn"], ()),
        ("import torch", "import math, torch", ["import torch", "import math, torch"], ()),
        ("from torch import exp", "from math import exp\nimport math", ["import math"], ("exp",)),
        ("import torch\nfrom math import exp", "def exp(x):\n    return 1", ["import torch"], ("exp",)),
        ("import torch\ndef one(x):", "import torch\ndef one(x, y):", ["import torch"], ("one",)),
        ("from math import *", "import torch", ["import torch"], ()),
        ("if 1:\n    import torch", "", [], ()),
    ],
)  # fmt: skip
def test_an_import_in_an_unfinished_merge_runs_if_both_sides_mean_the_same(
    ours: str, theirs: str, imports: list[str], names: tuple[str, ...], is_notebook: bool
) -> None:
    source = f"<<<<<<< HEAD\n{ours}\n||||||| base\nimport old\n=======\n{theirs}\n>>>>>>> main\n{ABOVE}"
    [(_, found, text)] = lost(source, is_notebook)
    assert found == names
    assert kept(source, is_notebook) == code(*imports, ABOVE)
    lines = [piece.line for piece in pieces.split(source, is_notebook) if piece.tree]
    run = f" and {lines[-2]} are run" if imports[1:] else "; its import is run" if imports else "an unfinished merge"
    assert text.endswith(run)
    assert [source.split("\n")[line - 1] for line in lines] == [*imports, "def above(x):"]


def test_no_import_in_half_a_merge_runs() -> None:
    assert kept(f"<<<<<<< HEAD\nimport torch\n=======\n{ABOVE}") == code(ABOVE)


def test_lines_of_equals_signs_alone_are_no_merge() -> None:
    assert lost(f"Title\n=======\n{ABOVE}Title\n=======\n") == [(2, (), "invalid syntax"), (12, (), "invalid syntax")]
    assert len(kept(f"Title\n=======\n<<<<<<< HEAD\n=======\n>>>>>>> main\n{ABOVE}Title\n=======\n")) == 3


@pytest.fixture
def parsed(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The sources that the compiler reads."""
    found: list[str] = []

    def compiled(source: str, *arguments: Any, **options: Any) -> Any:
        found.append(source)
        return compile(source, *arguments, **options)

    monkeypatch.setattr(statements, "compile", compiled, raising=False)
    return found


def test_a_line_that_does_not_parse_is_parsed_once(parsed: list[str]) -> None:
    strays = [f"{stray}{number}" for number in range(3) for stray in ("a $ ", "```", ">>> ", "%", "'", "\u00a0 #")]
    source = "\n".join(strays + strays)
    assert len(lost(source)) == 36
    assert sorted(parsed) == sorted([source, *strays])


def test_long_lines_in_an_open_bracket_are_not_parsed_again_for_each_line_below(parsed: list[str]) -> None:
    source = "x = (\n" + f"{'1, ' * 1000}\n" * 200
    assert lost(source)
    assert sum(map(len, parsed)) < 10 * len(source)


@pytest.mark.parametrize("line", [f"{'1' * 60_000}x!", f"a@{'b' * 200_000}", f"cat {'>' * 200_000}"])
def test_what_a_long_line_is_is_known_in_one_pass(line: str) -> None:
    assert kind_of(line) == ""
