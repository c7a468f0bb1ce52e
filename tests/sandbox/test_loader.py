"""A source runs statement by statement, and a failure costs only the names that its statement defines."""

from __future__ import annotations

import sys
import traceback
import types
from dataclasses import dataclass, field
from textwrap import dedent
from typing import Any

import pytest

from grader.sandbox import loader, pieces


@dataclass
class Run:
    """A source that has run: its names, and for each failure the cell, the line, the names and the error."""

    names: dict[str, Any]
    failures: list[tuple[int, int, tuple[str, ...], BaseException]] = field(default_factory=list)


def run(*cells: str, is_notebook: bool = False, without: tuple[int, ...] = ()) -> Run:
    """Run cells. `without`: the lines of the pieces that must not run."""
    module = types.ModuleType("answers")
    done = Run(module.__dict__)
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(sys.modules, "answers", module)
        loader.Run(
            list(cells) if is_notebook else [dedent(cell) for cell in cells],
            [f"cell {number}" for number in range(len(cells))],
            module,
            is_notebook,
            lambda _, piece: piece.line not in without,
            lambda cell, piece, error: done.failures.append((cell, piece.line, piece.names, error)),
        ).run()
    return done


def places(done: Run) -> list[tuple[int, tuple[str, ...], str]]:
    return [(line, names, type(error).__name__) for _, line, names, error in done.failures]


def kinds(done: Run) -> list[str]:
    return [error.kind for *_, error in done.failures if isinstance(error, loader.Remark)]


def test_every_statement_is_a_piece_with_its_line_and_the_names_it_binds() -> None:
    source = dedent("""\
        import torch.nn as nn, os.path
        from math import pi as circle


        @decorated
        @twice
        def function(): ...
        class Class: inner = 1
        a, (b, *c) = 1, (2, 3)
        for d in []:
            e = 1
        if True:
            f: int = 1
        """)
    assert [(piece.line, piece.names) for piece in pieces.split(source)] == [
        (1, ("nn", "os")),
        (2, ("circle",)),
        (5, ("function",)),
        (8, ("Class",)),
        (9, ("a", "b", "c")),
        (10, ("d", "e")),
        (12, ("f",)),
    ]


def test_a_statement_that_raises_costs_only_what_it_defines() -> None:
    done = run("""\
        a = 1
        b = 1 / 0
        c = a + 1
        d = b + 1
        def e(): return c
        """)
    assert places(done) == [(2, ("b",), "ZeroDivisionError"), (4, ("d",), "NameError")]
    assert done.names["e"]() == 2


def test_a_syntax_error_costs_only_its_statement() -> None:
    done = run('''\
        def first():
            """A text of
        several lines, one of which is at the margin
        def looks_like_a_statement(): no
            """
            return 1

        def broken(x:
            return x

        @staticmethod
        def decorated():

            return 3

        value = [
            1,
        ]
        if value:
            last = 4
        else:
            last = 5
        try:
            tried = 1 / 0
        except ZeroDivisionError:
            tried = 6
        finally:
            final = 7
        ''')
    assert places(done) == [(8, ("broken",), "SyntaxError")]
    assert done.names["first"]() == 1
    assert done.names["decorated"]() == 3
    assert (done.names["value"], done.names["last"], done.names["tried"], done.names["final"]) == ([1], 4, 6, 7)


@pytest.mark.parametrize("stray", ["    x = 1", "else:", ")", '"""never closed', "    return 1"])
def test_a_first_line_that_begins_no_statement_is_reported_with_its_line(stray: str) -> None:
    done = run(f"# Unit 1\n\n{stray}\na = 1\n")
    assert places(done)[0][:2] == (3, ())
    assert done.names["a"] == 1


def test_a_docstring_is_one_piece_even_if_its_lines_look_like_statements() -> None:
    done = run('"""Unit 1.\n\nFill in the stubs.\n"""\na = 1\nb = = 2\n')
    assert places(done) == [(6, ("b",), "SyntaxError")]
    assert done.names["a"] == 1


def test_traceback_lines_are_those_of_the_file_even_after_a_syntax_error() -> None:
    done = run("""\
        broken = = 1


        def raises():
            x = 1
            raise ValueError(x)
        """)
    try:
        done.names["raises"]()
    except ValueError as error:
        last = traceback.extract_tb(error.__traceback__)[-1]
    assert (last.filename, last.lineno, last.line) == ("cell 0", 6, "raise ValueError(x)")


def test_a_future_import_reaches_every_later_piece_and_cell() -> None:
    done = run("from __future__ import annotations\ndef f(x: not_defined): ...", "def g(x: not_defined): ...")
    assert done.failures == []
    assert done.names["g"].__annotations__ == {"x": "not_defined"}


def test_an_annotation_is_evaluated_if_it_can_be() -> None:
    done = run("from dataclasses import dataclass, fields\n@dataclass\nclass Pair:\n    a: int\n    b: float = 2.0\n")
    assert done.failures == []
    assert [one.type for one in done.names["fields"](done.names["Pair"])] == [int, float]


@pytest.mark.parametrize("is_notebook", [False, True])
@pytest.mark.parametrize(
    "definition",
    [
        "def f(x: Tensor) -> Tensor:\n    return x",
        "def f(x: Float[Tensor, 'tokens d_in'], *rest: Int['T'], **more: 1 / 0):\n    return x",
        "def f(x: torch.Tensr):\n    return x",
        "def f(x: Later):\n    return x\nclass Later: ...",
        "async def g(x: Tensor): ...\ndef f(x): return x",
        "class F:\n    size: Size = 3\n    def __call__(self, x: Tensor) -> 'Later':\n        return x\nf = F()",
        "f: Callable[[Tensor], Tensor] = lambda x: x",
        "@dataclass\nclass Pair:\n    a: Tensor\n    b: Tensor = 2\ndef f(x): return Pair(x).a",
        "class Pair(NamedTuple):\n    a: Tensor\n    b: Tensor = 2\ndef f(x): return Pair(x).a",
        "@singledispatch\ndef f(x: Tensor):\n    return -x\n@f.register\ndef _(x: int): return x",
    ],
)
def test_an_annotation_that_cannot_be_evaluated_costs_nothing(definition: str, is_notebook: bool) -> None:
    imports = (
        "from dataclasses import dataclass\nfrom functools import singledispatch\nfrom typing import NamedTuple\n"
        "import torch\n"
    )
    done = run(imports + definition, is_notebook=is_notebook)
    assert done.names["f"](1) == 1
    # Later versions of Python evaluate no annotation by themselves.
    assert kinds(done) == (["annotation"] if sys.version_info < (3, 14) else [])


@pytest.mark.parametrize("above", ["a = 1", "'text'\nimport math", "def f(): ..."])
@pytest.mark.parametrize("is_notebook", [False, True])
def test_a_future_import_below_other_code_counts_and_is_named(above: str, is_notebook: bool) -> None:
    done = run(f"{above}\nfrom __future__ import annotations\ndef g(x: Tensor): ...", is_notebook=is_notebook)
    assert kinds(done) == ["late future"]
    assert [line for _, line, *_ in done.failures] == [above.count("\n") + 2]
    assert done.names["g"].__annotations__ == {"x": "Tensor"}


@pytest.mark.parametrize("above", ["", "'text'", "# a comment", "'text'\nfrom __future__ import division"])
def test_a_future_import_above_all_other_code_is_not_named(above: str) -> None:
    assert run(f"{above}\nfrom __future__ import annotations\na = 1").failures == []
    cells = ("a = 1", f"{above}\nfrom __future__ import annotations\nb = 1")
    assert run(*cells, is_notebook=True).failures == []


@pytest.mark.parametrize("statement", ["del math", "del math, a", "del (math)"])
def test_a_module_that_a_function_uses_is_not_deleted(statement: str) -> None:
    done = run(f"import math\na = 1\ndef f(): return math.sqrt(4)\n{statement}")
    assert kinds(done) == ["kept module"]
    assert done.names["f"]() == 2


@pytest.mark.parametrize("statement", ["del math", "del f", "del a", "del a.b", "del x[0]"])
def test_what_is_no_module_or_not_used_is_deleted(statement: str) -> None:
    done = run(f"import math\nclass a: b = 1\nx = [1]\ndef f(): ...\n{statement}")
    assert done.failures == []
    with pytest.raises((NameError, AttributeError, IndexError)):
        eval(statement.removeprefix("del "), {**done.names})


def test_an_error_beside_an_annotation_is_reported_with_its_own_text() -> None:
    done = run("def f(x: Tensor = missing): ...\nclass A:\n    size: Size = 1 / 0\n")
    assert [str(error) for *_, error in done.failures] == ["name 'missing' is not defined", "division by zero"]


def test_a_loop_with_an_annotation_runs_once() -> None:
    done = run("found = []\nfor i in range(3):\n    n: int = i\n    found.append(1 / (1 - n))\n")
    assert [str(error) for *_, error in done.failures] == ["division by zero"]
    assert done.names["found"] == [1.0]


def test_an_annotation_that_a_decorator_reads_must_exist() -> None:
    done = run(
        "from functools import singledispatch\n@singledispatch\ndef f(x): return x\n@f.register\ndef g(x: Tensor): ..."
    )
    assert places(done) == [(4, ("g",), "NameError")]


def test_a_refused_piece_is_skipped_and_the_rest_runs() -> None:
    done = run("a = 1\nb = 2\nc = 3\n", without=(2,))
    assert ("a" in done.names, "b" in done.names, "c" in done.names) == (True, False, True)


def test_an_exit_or_interrupt_is_a_failure_like_any_other() -> None:
    done = run("import sys\nsys.exit(0)\nraise KeyboardInterrupt\na = 1\n")
    assert [kind for _, _, kind in places(done)] == ["SystemExit", "KeyboardInterrupt"]
    assert done.names["a"] == 1


def test_cells_share_names_and_have_separate_line_numbers() -> None:
    done = run("a = 1\n", "\nb = a / 0\n", "c = a\n")
    assert [(cell, line) for cell, line, _, _ in done.failures] == [(1, 2)]
    assert done.names["c"] == 1


def test_magics_and_shell_lines_of_a_notebook_are_skipped() -> None:
    done = run(
        """\
        %matplotlib inline
        !pip install torch
        if True:
            %time x = 1
            y = 7 % 4
        """,
        "%%time\nz = 1\n",
        is_notebook=True,
    )
    assert done.failures == []
    assert (done.names["y"], done.names["z"]) == (3, 1)


@pytest.mark.parametrize("magic", ["%%writefile answers.py", "%%script python", "%%bash", "%%html"])
def test_a_cell_that_is_not_run_as_python_is_named(magic: str) -> None:
    done = run("a = 1", f"\n{magic}\ndef f(x):\n    return x\nb = 2", "c = 3", is_notebook=True)
    assert [(cell, *place) for (cell, *_), place in zip(done.failures, places(done), strict=True)] == [
        (1, 2, ("f",), "SyntaxError")
    ]
    assert done.failures[0][3].msg == f"a cell that begins with {magic.split()[0]} is not run as Python"  # type: ignore[attr-defined]
    assert {"f", "b"}.isdisjoint(done.names)
    assert done.names["c"] == 3


def test_a_magic_does_not_change_the_line_numbers_below_it() -> None:
    done = run("%%capture\n%load_ext x\n\na = 1 / 0\n", is_notebook=True)
    assert places(done) == [(4, ("a",), "ZeroDivisionError")]


@pytest.mark.parametrize(
    ("magic", "names"),
    [
        ("%matplotlib inline", None),
        ("!pip install einops", None),
        ("files = !ls", ("files",)),
        ("x = %pwd", ("x",)),
        ("?len", ()),
        ("f?", ()),
        ("f.g??", ()),
    ],
)
def test_a_magic_costs_nothing_but_itself_and_is_named_if_it_gives_a_value(
    magic: str, names: tuple[str, ...] | None
) -> None:
    done = run(f"def f(x):\n    return x  # right?\n\n{magic}\n\ndef g(x):\n    return -x\n", is_notebook=True)
    assert places(done) == ([(4, names, "SyntaxError")] if names is not None else [])
    assert {str(error.args[0]) for *_, error in done.failures} <= {"the line is a notebook command"}
    assert (done.names["f"](1), done.names["g"](1)) == (1, -1)


@pytest.mark.parametrize("magic", ["", "!ls\n", "\n%%time\n"])
def test_python_that_looks_like_a_magic_is_kept(magic: str) -> None:
    done = run(f'{magic}a = """\n%no magic\n"""\nb = (7\n%4)\n', is_notebook=True)
    assert done.failures == []
    assert (done.names["a"], done.names["b"]) == ("\n%no magic\n", 3)


def test_an_await_outside_a_function_costs_nothing_but_itself() -> None:
    done = run("import asyncio\nx = await asyncio.sleep(0, 1)\ny = 2\n", is_notebook=True)
    assert places(done) == [(2, ("x",), "SyntaxError")]
    assert done.names["y"] == 2


@pytest.mark.parametrize("is_notebook", [False, True])
@pytest.mark.parametrize("deep", ["-" * 50_000 + "1", "a" + ".real" * 100_000])
def test_a_statement_that_is_nested_too_deeply_costs_nothing_but_itself(deep: str, is_notebook: bool) -> None:
    done = run(f"a = 1\nb = {deep}\nc = a + 1", "d = c + 1", is_notebook=is_notebook)
    assert places(done) == [(2, ("b",), "SyntaxError")]
    assert done.names["d"] == 3


def test_odd_characters_raise_nothing() -> None:
    for source in ("", "\n\n", "\0", "a = 1\0\nb = 2", "\\", "é = 1", ")" * 1000, "(" * 1000, "#" * 10):
        run(source)


# -- cells that were moved or split ---------------------------------------------------------------------------


def test_a_definition_may_be_above_the_import_that_it_needs() -> None:
    cells = ["class B(A): ...", "class A:\n    def f(self, x=Decimal): ...", "from decimal import Decimal"]
    done = run(*cells, is_notebook=True)
    assert done.failures == []
    assert issubclass(done.names["B"], done.names["A"])


def test_the_order_matters_in_a_script() -> None:
    assert places(run("def f(x=Decimal): ...\nfrom decimal import Decimal")) == [(1, ("f",), "NameError")]


def test_a_later_definition_of_the_same_name_is_kept() -> None:
    done = run("def f(x=Late): ...", "def f(x):\n    return x\nLate = int", is_notebook=True)
    assert places(done) == [(1, ("f",), "NameError")]
    assert done.names["f"](1) == 1


def test_a_name_that_nothing_defines_is_reported_once() -> None:
    assert places(run("def f(x=Missing): ...\na = 1", is_notebook=True)) == [(1, ("f",), "NameError")]


def test_an_indented_cell_runs_as_in_jupyter() -> None:
    indented = "\n    # mine\n    def f(x):\n        return x\n\n    %time y = 2\n    z = 3"
    done = run("def g():\n    return 1", indented, is_notebook=True)
    assert done.failures == []
    assert (done.names["f"](1), done.names["g"](), done.names["z"]) == (1, 1, 3)


METHODS = '''\
class Pair:
    """Two."""

    def __init__(self, a, b):
        self.a = a
        self.b = b

    def sum(self):
        total = self.a
        total += self.b
        return total
'''

FUNCTION = '''\
def fill(numbers):
    """Fill
    with numbers.
    """
    size = 2
    for number in range(size):
        square = number * number
        numbers.append(square)

    numbers.append(size)
'''


@pytest.mark.parametrize("place", range(1, 11))
def test_a_split_class_is_joined(place: int) -> None:
    lines = METHODS.split("\n")
    done = run("\n".join(lines[:place]), "", "\n".join(lines[place:]), is_notebook=True)
    assert done.failures == []
    assert done.names["Pair"](1, 2).sum() == 3


@pytest.mark.parametrize("place", range(1, 10))
def test_a_split_function_is_joined(place: int) -> None:
    lines = FUNCTION.split("\n")
    done = run("\n".join(lines[:place]), "\n".join(lines[place:]), is_notebook=True)
    numbers: list[int] = []
    done.names["fill"](numbers)
    assert (done.failures, numbers) == ([], [0, 1, 2])


def test_cells_below_so_many_characters_are_not_joined(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("grader.sandbox.pieces.MOST_COMPARED", 50)
    split = ["def {}(x):\n    y = x", "    y = y + 1", "    return y"]
    done = run(*(line.format(name) for name in "fgh" for line in split), is_notebook=True)
    assert (done.names["f"](1), done.names["g"](1), done.names["h"](1)) == (2, None, None)


def test_a_function_split_in_three_is_joined() -> None:
    done = run("def f(x):\n    y = x", "    y = y + 1", "    return y", "z = f(1) / 0", is_notebook=True)
    assert done.names["f"](1) == 2
    assert [(cell, line) for cell, line, _, _ in done.failures] == [(3, 1)]
