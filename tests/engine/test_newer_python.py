"""Code that only a newer Python can read: the sentence names the version, and is not said of any other mistake."""

from __future__ import annotations

import sys
from textwrap import indent

import pytest

from grader.engine.newer_python import hint_for_missing
from grader.engine.source_lines import SourceLines
from grader.machine import RUNNING
from grader.sandbox.failures import NOT_PYTHON, FailedStatement
from grader.sandbox.pieces import split
from grader.sandbox.sandbox_client import Source

BEFORE_3_14 = pytest.mark.skipif(sys.version_info >= (3, 14), reason="this Python has it")
OTHER = "3.14" if RUNNING != "3.14" else "3.13"


def failures(source: str, file: str = "answers.py") -> list[FailedStatement]:
    """The statements of a source that this Python cannot read, with the newer one that they need."""
    lines = SourceLines({"answers": Source.of(file, [source])})
    [label] = Source.of(file, [source]).labels
    found = [piece for piece in split(source, file.endswith(".ipynb")) if piece.tree is None]
    lost = [FailedStatement(one.names, NOT_PYTHON, str(one.problem), one.line, label) for one in found]
    return [lines.needing_newer_python(one, RUNNING) for one in lost]


def needed(source: str, file: str = "answers.py") -> set[tuple[str, int | None]]:
    """What the statements need that this Python cannot read, each with the line."""
    return {(one.reason, one.line) for one in failures(source, file)}


# The version, the line, and the code.
NEWER = [
    ("3.12", 1, 'x = f"{info["d"]}"'),
    ("3.12", 1, """print(f"{", ".join(names)}", 'a' "b" f'{c}')"""),
    ("3.12", 1, """x = f"{f'{f"{1}"}'}" """),
    ("3.12", 1, r"""x = f"{'\n'.join(names)}" """),
    ("3.12", 1, r"""x = rf"\d{names["a"]}\d" """),
    ("3.12", 1, 'x = f"{a!r:{"10"}} {{}}"'),
    ("3.12", 1, 'x = f"{a["b"] = :>{width}}"'),
    ("3.12", 1, 'x = f"""{\n    a  # the first\n}"""'),
    ("3.12", 2, 'x = 1, \\\n    f"{d["a"]}", \\\n    2'),
    ("3.12", 2, 'x = [1,\n     f"{\n    a\n}"]'),
    ("3.12", 1, 'for x in "a", f"{d["a"]}": pass'),
    ("3.12", 1, "type Number = int | float"),
    ("3.12", 1, "type Pair[T] = tuple[T, T]"),
    ("3.12", 1, "def first[T](items: list[T]) -> T:\n    return items[0]"),
    ("3.12", 2, "@decorator\nclass Stack[T: (int, str), *Ts, **P](list): pass"),
    ("3.12", 1, "def first[\n    T,\n](items): pass"),
    ("3.13", 1, "class Stack[T = int]: pass"),
    ("3.14", 3, "try:\n    x = 1\nexcept ValueError, torch.Error:\n    x = 2"),
    ("3.14", 3, "try:\n    x = 1\nexcept* ValueError, TypeError:\n    x = 2"),
    ("3.14", 1, 'x = t"{a}"'),
    ("3.14", 1, "x = tR'''{a}\n'''"),
    # The newest that a statement needs.
    ("3.14", 2, 'def f[T](x):\n    y = t"{x}"\n    return f"{d["a"]}"'),
]


@pytest.mark.parametrize(("version", "line", "code"), NEWER)
@pytest.mark.parametrize(
    "around", ["{}", "def f():\n    x = 'it''s'\n{}", "x = 1\nthis is no Python, isn't it\n{}\ny = 2"]
)
def test_the_python_that_a_statement_needs_is_named_with_its_line(
    version: str, line: int, code: str, around: str
) -> None:
    is_inside = around.startswith("def")
    source = around.format(indent(code, "    ") if is_inside else code)
    above = around.partition("{")[0].count("\n")
    said = {one for one in needed(source) if one[0] != NOT_PYTHON}
    is_here = tuple(map(int, version.split("."))) <= sys.version_info
    assert said == (set() if is_here else {(f"It needs Python {version} or later.", above + line)})


@pytest.mark.parametrize(
    "code",
    [
        # f-strings that no Python can read.
        'x = f"{info["d"]"',
        'x = f"{info["d")}"',
        'x = f"{info["d"]}',
        'x = f"{info["d"]!x}"',
        'x = f"{info["d"] for info in y}"',
        'x = f"{*info["d"]}"',
        'x = f"{}" f"{info["d"]}"',
        'x = f"{info["d"]} }"',
        r"""x = f"\N{NO SUCH NAME} {info["d"]}" """,
        """x = b'' f"{info["d"]}" """,
        'match x:\n    case f"{info["d"]}": pass',
        # Something new beside something that is wrong.
        'print(f"{info["d"]}"',
        'print(f"{info["d"]}"))',
        'def f(a, b:\n    return f"{a["d"]}"',
        'def f():\n    x = f"{a["d"]}"\n  return x',
        "def first[T](items) -> T\n    return items[0]",
        "def first[](items): pass",
        "def first[T, *T](items): pass",
        "def first[*T: int](items): pass",
        "def first[T, /](items): pass",
        "class Stack[T]object: pass",
        "type Pair = int, str",
        "type Pair = Other = int",
        "type Pair = # int",
        "x = f(type Pair = int)",
        # Python 2, in which the second one is a variable.
        pytest.param("try:\n    x = 1\nexcept ValueError, error:\n    x = 2", marks=BEFORE_3_14),
        "try:\n    x = 1\nexcept ValueError, TypeError as error:\n    x = 2",
        "except ValueError, TypeError:\n    x = 2",
        'x = "text" t"{a}"',
        # Nothing new at all.
        "print(f'{x}'",
        "x = (1, 2",
        "retrun f'{x}'",
        "```python",
        "x = '''",
    ],
)
def test_another_mistake_is_not_said_to_need_a_newer_python(code: str) -> None:
    with pytest.raises(SyntaxError):
        compile(code, "answers.py", "exec")
    assert {reason for reason, _ in needed(code)} <= {NOT_PYTHON}


@BEFORE_3_14
def test_what_is_new_in_one_statement_is_not_said_of_another() -> None:
    assert needed("try:\n    x = 1\nexcept A, B: pass\ny = (1,\n") == {
        ("It needs Python 3.14 or later.", 3),
        (NOT_PYTHON, 4),
    }


@BEFORE_3_14
def test_a_cell_of_a_notebook_may_have_magics_beside_it() -> None:
    source = "%matplotlib inline\n!pip install 'einops\ntry: pass\nexcept A, B: pass"
    assert needed(source, "answers.ipynb") == {("It needs Python 3.14 or later.", 4)}


@BEFORE_3_14
def test_a_statement_keeps_the_names_that_it_would_bind() -> None:
    [failed] = failures("if x:\n    try: y = 1\n    except A, B: z = 2\n")
    assert set(failed.names) == {"y", "z"}
    [failed] = failures("def f(): return t'{x}'")
    assert failed.names == ("f",)


@BEFORE_3_14
def test_the_sentence_says_what_is_new_who_grades_and_what_to_do() -> None:
    [failed] = failures("try: pass\nexcept A, B: pass")
    assert failed.detail == "`except` has several types without brackets"
    assert failed.hint == f"Python {RUNNING} grades: write `except (A, B):`."


@BEFORE_3_14
def test_where_another_python_grades_the_one_that_runs_the_code_is_named() -> None:
    source = Source.of("answers.py", ["try: pass\nexcept A, B: pass"])
    lost = FailedStatement((), NOT_PYTHON, "invalid syntax", 2, "answers.py")
    failed = SourceLines({"answers": source}).needing_newer_python(lost, OTHER)
    assert failed.hint == f"Python {RUNNING} runs your code here: write `except (A, B):`."


@pytest.mark.parametrize(
    "text",
    [
        'f"{(',
        '" f"{(',
        'f"{a:{',
        "def f[",
        "type x[",
        "f'",
        'f"{d["a"]}"\n',
        "{x}",
        "'\n\"",
        "'''\\",
        '\\"',
        "f'''\\",
    ],
)
def test_a_hostile_source_is_read_to_its_end(text: str) -> None:
    source = f'f"{text * 25_000}'
    lost = FailedStatement((), NOT_PYTHON, "invalid syntax", 1, "answers.py")
    lines = SourceLines({"answers": Source.of("answers.py", [source])})
    assert lines.needing_newer_python(lost, RUNNING).reason in {NOT_PYTHON, "It needs Python 3.12 or later."}


@pytest.mark.parametrize(
    ("detail", "hint"),
    [
        (
            "cannot import name 'Placeholder' from 'functools' (/usr/lib/functools.py)",
            f"`functools.Placeholder` needs Python 3.14 or later. Python {RUNNING} grades: do without it.",
        ),
        (
            "module 'heapq' has no attribute 'heappush_max'",
            f"`heapq.heappush_max` needs Python 3.14 or later. Python {RUNNING} grades: do without it.",
        ),
        (
            "No module named 'annotationlib'",
            f"`annotationlib` needs Python 3.14 or later. Python {RUNNING} grades: do without it.",
        ),
        ("cannot import name 'sumprodd' from 'math' (unknown location)", ""),
        ("cannot import name 'sumprod' from 'maths'", ""),
        ("module 'torch' has no attribute 'fma'", ""),
        ("name 'Placeholder' is not defined", ""),
        # Every supported Python has it, so the cause is something else.
        ("module 'math' has no attribute 'cbrt'", ""),
    ],
)
@BEFORE_3_14
def test_a_name_of_a_newer_standard_library_is_named_with_its_version(detail: str, hint: str) -> None:
    assert hint_for_missing(detail, RUNNING) == hint
