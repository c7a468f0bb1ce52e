"""Each sentence that names a cause, an answer for which it is true and is said, and a near miss for which it is not."""

from __future__ import annotations

import ast
import contextlib
import datetime
import textwrap
from dataclasses import dataclass, field
from typing import NamedTuple

import pytest
from courses import COURSE, REPOSITORY

from grader.engine import error_hints
from grader.engine.engine_client import Engine
from grader.reports.reading import entries, sentence_of
from grader.reports.report_model import Result
from grader.reports.scoring import Rubric, make_report
from grader.submissions.submission import Submission, UnitSource, UnitSubmission


@dataclass(frozen=True)
class Answer:
    """The solution of a unit with other code.

    Attributes:
        code: Definitions that take the place of those of the solution, and statements below it.
        exercise: The exercise that is tested.
        unit: Its unit.
        is_hidden: Whether it is graded by the hidden tests, not by the visible ones.
        others: Such code for other units, by their names.
        also: Other exercises that are tested. The other ones of the tested units are known to be right.
        is_notebook: Whether the code is the last cell of a notebook.
        without: Definitions that the solution lacks.
    """

    code: str
    exercise: str = "normalize_by_sum"
    unit: str = "simple_attention"
    is_hidden: bool = False
    others: dict[str, str] = field(default_factory=dict, hash=False)
    also: tuple[str, ...] = ()
    is_notebook: bool = False
    without: tuple[str, ...] = ()


class Row(NamedTuple):
    """A sentence, or its beginning, an answer for which it is true, and one for which it must not be said."""

    sentence: str
    said: Answer
    not_said: Answer


def of(body: str, **more: object) -> Answer:
    """An answer to normalize_by_sum with this body."""
    return Answer(f"def normalize_by_sum(scores):\n{textwrap.indent(body, '    ')}\n", **more)  # type: ignore[arg-type]


def solution(unit: str, code: str, without: tuple[str, ...] = ()) -> str:
    source = (REPOSITORY / "solutions" / f"{unit}.py").read_text(encoding="utf-8")
    own = set(without)
    with contextlib.suppress(SyntaxError):
        own |= {getattr(node, "name", "") for node in ast.parse(code).body}
    for node in reversed(ast.parse(source).body):
        if getattr(node, "name", None) in own:
            lines = source.splitlines(keepends=True)
            source = "".join([*lines[: node.lineno - 1], *lines[node.end_lineno :]])
    return f"{source}\n\n{code}\n"


def submission(number: int, answer: Answer) -> Submission:
    changed = {**answer.others, answer.unit: answer.code}
    sources = {
        unit: UnitSource(f"{unit}.py", (solution(unit, code, answer.without),)) for unit, code in changed.items()
    }
    if answer.is_notebook:
        sources = {answer.unit: UnitSource(f"{answer.unit}.ipynb", (solution(answer.unit, ""), answer.code))}
    tested = {answer.exercise, *answer.also}
    units = {unit for unit in changed if tested & COURSE.units[unit].exercises.keys()}
    return Submission(
        str(number),
        None,
        {unit: UnitSubmission(sources[unit]) for unit in COURSE.units if unit in units},
        {unit: source for unit, source in sources.items() if unit not in units},
        untested=tuple(one for unit in units for one in COURSE.units[unit].exercises if one not in tested),
    )


MAIN = 'if __name__ == "__main__":'
REVERSED = "if '__main__' == __name__ and torch.ones(2).sum() == 2:"
GETS = "def normalize_by_sum(scores):\n    return Sum().get(scores, scores)\n"
CALLED = "def normalize_by_sum(scores):\n    return Sum()(scores)\n"
ELSE_IF = "x = 1\nif x > 1:\n    x = 2\nelse if x:\n    x = 3\n"
FIRST, SELF, CAUSAL, BLOCKS = "simple_attention", "self_attention", "causal_attention", "transformer_block"
BIGRAM, RENORMALIZE = "bigram_language_model", "mask_then_renormalize"
LOST_SOFTMAX = "def softmax_stable(x, dim=nothing):\n    return torch.softmax(x, dim)\n"
# Without its queries nothing can use it.
BROKEN_V2 = "class SelfAttention_v2(nn.Module): ...\n"
UNTRANSPOSED = """\
def transfer_weights(attention_v2, attention_v1):
    attention_v1.W_query = attention_v2.W_query.weight
"""
USES_V2 = """\
def transfer_weights(attention_v2, attention_v1):
    SelfAttention_v2(2, 3)(torch.ones(4, 2))
"""
RESIDUAL = """\
class Residual(nn.Module):
    def __init__(self, layer):
        super().__init__()
        self.sublayer = sublayer

    def forward(self, x):
        return x + self.sublayer(x)
"""
BLOCK = """\
class TransformerBlock(nn.Module):
    def __init__(self, attention, feed_forward, emb_dim, dropout):
        super().__init__()
        self.attention, self.feed_forward = attention, feed_forward
        self.norm1 = self.norm2 = LayerNorm(emb_dim)

    def forward(self, x):
        return x
"""
PROJECT = """\
def project_qkv(inputs, W_query, W_key, W_value):
    q, k, v = inputs @ W_query, inputs @ W_key, inputs @ W_value
    return (q, k, v)
"""
VARIANCE = """\
def dot_product_variance(d_k, samples, generator=None):
    q, k = (torch.randn(samples, d_k) for _ in range(2))
    products = (q * k).sum(-1)
    return products.var().item(), (products / d_k**0.5).var().item()
"""
V1 = """\
class SelfAttention_v1(nn.Module):
    def __init__(self, d_in, d_out):
        super().__init__()
        self.W_query = nn.Parameter(torch.rand(d_in, d_out))
        self.W_key = nn.Parameter(torch.rand(d_in, d_out))
        self.W_value = nn.Parameter(torch.rand(d_in, d_out))

    def forward(self, inputs):
        return inputs
"""
IN_FORWARD = """\
class SelfAttention_v1(nn.Module):
    def __init__(self, d_in, d_out):
        super().__init__()
        self.sizes = d_in, d_out

    def forward(self, inputs):
        self.W_query, self.W_key, self.W_value = (nn.Parameter(torch.rand(self.sizes)) for _ in range(3))
        return scaled_dot_product_attention(inputs @ self.W_query, inputs @ self.W_key, inputs @ self.W_value)[0]
"""
PROJECTED = "def project_qkv(inputs, *W):\n    one, two, three = (inputs @ w for w in W)\n    return {}\n"
BATCH = """\
def sample_batch(data, block_size, batch_size, generator=None):
    if len(data) <= block_size:
        raise ValueError(data)
    places = torch.randint({}, (batch_size, 1), generator=generator) + torch.arange(block_size)
    return {}
"""
LACKS = ("normalize_by_sum",)
NORMALIZED = "def normalize_by_sum(scores):\n    return scores / scores.sum()\n"
OF_UNIT_3 = "def causal_mask(T): ...\ndef mask_then_softmax(scores): ...\n"
WITHOUT_SELF = "class SelfAttention_v2(nn.Module):\n    def forward(inputs):\n        return inputs\n"
USES_SELF = "class SelfAttention_v2(nn.Module):\n    def forward(x):\n        return self.W_query(x)\n"
SCORES = 'def attention_scores({}):\n    """Takes `query` (d,) and `inputs` (T, d)."""\n    return {}\n'
EXPONENTIALS = "def softmax_naive(x, dim=-1):\n    return torch.exp(x) / torch.exp(x).sum()\n"
PARTS = f"{RESIDUAL.replace(' = sublayer', ' = layer').replace('return x', 'return list(self.parts(x))[0] * 2')}\n"
INTERLEAVED = """\
def unroll_heads(x, num_heads):
    batch, num_tokens, d_out = x.shape
    if d_out % num_heads:
        raise ValueError(d_out)
    return x.reshape(batch, num_tokens, d_out // num_heads, num_heads).transpose(-2, -1)
"""
UNSCALED = """\
def scaled_dot_product_attention(queries, keys, values):
    weights = torch.softmax(queries @ keys.transpose(-2, -1), dim=-1)
    return weights @ values, weights
"""
TWICE_SCALED = "def head_scores(queries, keys):\n    return queries @ keys.mT / queries.shape[-1] ** 0.5\n"
OF_V2 = ("scaled_dot_product_attention", "SelfAttention_v1", "SelfAttention_v2")
STUB = "def softmax_stable(x, dim=-1):\n    raise NotImplementedError()\n"
ROWS = [
    # -- names ----------------------------------------------------------------------------------------------------
    Row(
        "Did you mean `scores`?",
        of("return scors / scores.sum()"),
        Answer(f"def normalize_by_sum(x):\n    return scores / scores.sum()\n{MAIN}\n    scores = torch.ones(2)\n"),
    ),
    Row(
        "It has a value only under `if __name__",
        Answer(f"def normalize_by_sum(x):\n    return x / given.sum()\n{MAIN}\n    given = torch.ones(2)\n"),
        of("return given / given.sum()"),
    ),
    Row(
        "It has a value only under `if __name__",
        Answer(f"def normalize_by_sum(x):\n    return x / given.sum()\n{REVERSED}\n    given = torch.ones(2)\n"),
        Answer("def normalize_by_sum(x):\n    return x / given.sum()\nif x == '__main__':\n    given = 2\n"),
    ),
    Row(
        "Did you mean the unused argument `x`? Otherwise give it a value in this function.",
        Answer(f"def normalize_by_sum(x):\n    return scores / scores.sum()\n{MAIN}\n    scores = torch.ones(2)\n"),
        Answer(f"def normalize_by_sum(x):\n    return scores / x.sum()\n{MAIN}\n    scores = torch.ones(2)\n"),
    ),
    Row(
        "Did you mean one of the unused arguments `q` and `x`?",
        Answer("def attention_scores(q, x):\n    return inputs @ query\n", "attention_scores"),
        Answer("def attention_scores(q, x):\n    return inputs @ x\n", "attention_scores"),
    ),
    Row(
        "Did you mean `layer`?",
        Answer(RESIDUAL, "Residual", "transformer_block"),
        Answer(RESIDUAL.replace(" = sublayer", " = layer"), "Residual", "transformer_block"),
    ),
    Row(
        "Did you mean `self.sublayer`?",
        Answer(RESIDUAL.replace("= sublayer", "= layer\n        sublayer"), "Residual", "transformer_block"),
        Answer(RESIDUAL, "Residual", "transformer_block"),
    ),
    Row(
        "Did you mean the unused argument",
        Answer("class Sum:\n    def get(self, x, y):\n        return scores + y\n" + GETS),
        Answer("class Sum:\n    def get(self, x, y=1):\n        return scores + x\n" + GETS),
    ),
    Row("Did you mean `torch.exp` or `math.exp`?", of("return exp(scores)"), of("return exp / exp.sum()")),
    Row("Did you mean `nn.Softmax`?", of("return Softmax(0)(scores)"), of("return softmx(scores)")),
    Row("Did you mean `input", of("input1 = scores\nreturn scores / inputt.sum()"), of("return scores / inputs.sum()")),
    Row(
        "Did you mean `inner`?",
        of("inner = scores.sum()\nreturn scores / innr"),
        of("def total(inner):\n    return inner\nreturn scores / innr"),
    ),
    Row(
        "Did you mean `self.total`?",
        Answer(
            "class Sum:\n    def __init__(self):\n        self.total = 0\n    def get(self):\n        return total\n"
            "def normalize_by_sum(scores):\n    return scores / Sum().get()\n"
        ),
        Answer("def normalize_by_sum(scores):\n    scores.total = 1\n    return scores / total\n"),
    ),
    Row(
        "Give it a value in this function: names inside other functions do not exist here.",
        of("def total():\n    summed = scores.sum()\nreturn scores / summed"),
        Answer("division = lambda scores: scores / given\ndef normalize_by_sum(scores):\n    return division(scores)"),
    ),
    Row(
        "Give `total` a value before this line, on every way to it.",
        of("if scores.sum() > 1e6:\n    total = scores.sum()\nreturn scores / total"),
        of("return scores / total"),
    ),
    Row(
        "Add `import math` at the top of the file.",
        of("return scores / math.fsum(scores)"),
        Answer(f"def normalize_by_sum(scores):\n    return scores / math.fsum(scores)\n{MAIN}\n    import math\n"),
    ),
    *(
        Row("The import of `math` in line", Answer(f"{call}{imports}"), Answer(call))
        for call in ["def normalize_by_sum(scores):\n    return scores / math.fsum(scores)\n"]
        for imports in (
            f"{MAIN}\n    import math\n",
            "def other():\n    import math\n",
            "try:\n    import nothing_like_that\n    import math\nexcept ImportError:\n    pass\n",
        )
    ),
    *(
        Row(
            sentence,
            Answer(
                f"from math import fsum\n{deletion}\ndef normalize_by_sum(scores):\n    return scores / fsum(scores)\n"
            ),
            Answer(
                "import math\ndel math\ndef normalize_by_sum(scores):\n    return scores / math.fsum(scores)\n"
                "from math import fsum, nothing_like_that\n"
            ),
        )
        for sentence, deletion in {
            "imports `fsum`: is it deleted afterwards?": "globals().pop('fsum')",
            "of simple_attention.py deletes `fsum`: remove it there.": "x = 1\ndel x, fsum",
        }.items()
    ),
    Row(
        "The import of `math` in line",
        Answer("print(math.pi)\nimport math\n"),
        Answer("import math, nothing_like_that\nprint(math.pi)\n"),
    ),
    Row(
        "Give `total` a value before this line, on every way to it.",
        Answer("if not torch:\n    total = 1\nprint(total)\n"),
        Answer("print(total)\ntotal = 1\n"),
    ),
    Row(
        "It gets its value below this line",
        Answer("print(total)\ntotal = 1\n"),
        Answer("if not torch:\n    total = 1\nprint(total)\n"),
    ),
    Row(
        "It gets its value below this line",
        Answer("print(below)\nbelow = 1\n"),
        Answer("print(below)\nbelow = nothing\n"),
    ),
    Row(
        "It is needed when the definition is read, before any call",
        Answer("def other(x=nothing):\n    return x\n"),
        Answer("def other(x):\n    return nothing\nother(1)\n"),
    ),
    Row(
        "It is outside of every function: indent it if it belongs to one.",
        Answer("def other(x):\n    total = x\nprint(total)\n"),
        Answer("def other(x):\n    return x\nprint(total)\n"),
    ),
    Row(
        "It is outside of every function: indent it if it belongs to one.",
        Answer("return 3\n"),
        Answer("class Other:\n    size = nothing\n"),
    ),
    *(
        Row(error_hints.STDIN, Answer(f"import sys\n{one}\n"), Answer(f"import sys\nsys.stdin.read()\n{other}\n"))
        for one, other in [
            ("int(sys.stdin.readline())", "int('one')"),
            ("x = sys.stdin.read()\nfloat(x)", "float('x')"),
        ]
    ),
    Row(error_hints.STDIN, Answer("import sys\nint(sys.stdin.readline())\n"), Answer("int('')\n")),
    Row(
        error_hints.RUNS_AT_ONCE,
        Answer("import threading, time\nthreading.Thread(target=time.sleep, args=(60,)).start()\n"),
        Answer("import threading, time\ntime.sleep(60)\n"),
    ),
    # -- signs and comments of other languages ---------------------------------------------------------------------
    *(
        Row(sentence, Answer(f"{code}\n"), Answer(f"{other}\n"))
        for sentence, code, other in [
            ("`&lt;` is HTML for `<`: type that.", "x = 1 &lt; 2", "x = '&lt;' +"),
            ("`&lt;` is HTML for `<`: type that.", "x = 1\ny = x &lt; x", "x = 1\ny = x & lt"),
            (
                "`&gt;` is HTML for `>`, and `&amp;` is HTML for `&`: type that.",
                "x = 2 &gt; 1 &amp; 3",
                "x = 2 > 1 & & 3",
            ),
            ("A comment begins with `#` in each of its lines", "// the sum", "x = 4 // / 2"),
            ("A comment begins with `#` in each of its lines", "/* the sum", "x = / 2"),
            ("A comment begins with `#`: `//` divides.", "x = 1 // the sum", "x = 1 // 2 +"),
            ("A comment begins with `#`: `//` divides.", "x = 1 // here", "here2 = 2\nx = 1 // here"),
            (
                "Write a colon in place of the opening brace",
                "def other(x) {\n    return x\n}",
                "def other(x)\n    return x",
            ),
            (
                "Write a colon in place of the opening brace",
                "while (x < 3) {\n    x += 1\n}",
                "while x in {\n    1 2\n}:",
            ),
            ("If the `>` marks a quotation, delete it.", "> Note: use keepdim", "x = 1 > > 2"),
            ("If the `>` marks a quotation, delete it.", '> """', 'x = """'),
            ("If it is text and not code, begin it with `#`.", "https://pytorch.org/docs", "https:/ pytorch.org/docs"),
            ("If it is text and not code, begin it with `#`.", "[docs](https://pytorch.org)", "[1](x:y)"),
            (
                "If it is text and not code, begin it with `#`.",
                "note: softmax of the scores",
                "note: softmax of (scores)",
            ),
            ("If it is text and not code, begin it with `#`.", "Let me know if you want more!", "x = 1 if 2"),
            ("If it is text and not code, begin it with `#`.", "sum the scores", "print 'x'"),
            (
                "It belongs to no `if`, `for`, `while` or `try`: one must end directly above it",
                "def other(): ...\nelse:\n    x = 2",
                "if 1:\n    x = 1\nelse:\n    x = = 2",
            ),
            (
                "It belongs to no `try`: one must end",
                "def other(): ...\nfinally:\n    x = 2",
                "x = 1\nfinally x:\n    x = 2",
            ),
            ("Did you mean `import`?", "improt math", "improt is a word"),
            ("Did you mean `else`?", "if 0:\n    x = 1\nesle:\n    x = 2", "x = 1\nelse:\n    x = 2"),
            ("If it is code, write `else` in place of `Else`.", "if 0:\n    x = 1\nElse:\n    x = 2", "Else it fails"),
            (
                "All code from this line on is indented: move it to the left margin.",
                "def one():\n    return 1\n\n  def two():\n      return 2\n  x = 2",
                "def one():\n    return 1\n\n  def two():\n      return 2\nx = 2",
            ),
            (
                "If it is from a notebook's file, open the notebook",
                '"x = 1\\n",\n    "y = 2\\n"',
                "x = 1\n    y = '2\\n'",
            ),
            (
                "Indent all lines of this block with spaces",
                "if 1:\n        x = 1\n\ty = 2",
                "if 1:\n        x = 1\n    y = 2",
            ),
            ("Delete it, and install packages in the terminal.", "!pip install einops", "!ls pipeline"),
        ]
    ),
    *(
        Row("It is in 2 lines.", Answer(code), Answer(other))
        for code, other in {
            "x = [\n    1 ≤ 2,\n    2 ≤ 3,\n]\n": 'x = 1 ≤ 2  # 1 ≤ 3\n\'2 ≤ 3\'\n"""\n3 ≤ 4\n"""\n',
            "x = 1 – 2\ny = 2 – 3\n": "x = 1 – 2\nIt’s done – I think\n",
        }.items()
    ),
    Row("write `x ** 0.5` for `√x`.", Answer("x = 1 / √2\n"), Answer("x = 2²\n")),
    Row("It begins a colour of a terminal", Answer("\x1b[31mError\x1b[0m\n"), Answer("x = \x071\n")),
    # -- lines that are no code -----------------------------------------------------------------------------------
    *(
        Row(sentence, Answer(f"{stray}\n"), Answer(f"{near_miss}\n"))
        for sentence, stray, near_miss in (
            ("The line is a Markdown fence, not code: delete it.", "~~~ python", "~~ python"),
            ("The line is a prompt, not code: delete it.", "In [3]: print(nothing)", "In: print(nothing)"),
            ("The line is printed output, not code: delete it.", "tensor([1., 2.])", "x = tensor([1., 2.])"),
            ("The line is a command for the terminal, not code", "cat > a.py << 'EOF'", "dog > a.py << 'EOF'"),
            ("If it is text and not code, begin it with `#`.", "x = 1\n=======", "x = 1\n= 2"),
            ("Delete it, and type an empty line if you need one.", "\u00a0", "x =\u00a01"),
            (
                "Delete it.",
                'Traceback (most recent call last):\n  File "a.py", line 1\nTypeError: no',
                "Traceback: most recent call last",
            ),
            ("Delete it, or begin each line of it with `#`.", "<!-- old\nx = 1\n-->", "<!--\nx = 1"),
        )
    ),
    *(
        Row("This line defines nothing: if it is a note, begin it with `#`.", Answer(f"{note}\n"), Answer(f"{code}\n"))
        for note, code in {
            "todo": "print(todo)",
            "done": "print(done)",
            "todo - later": "total = todo",
            "todo, maybe": "todo.later",
        }.items()
    ),
    Row(
        "Nothing above gives it a value. If the line is text or output, delete it or begin it with `#`.",
        Answer("Zeile(1)\n"),
        Answer("def other(x):\n    total = x\nprint(total)\n"),
    ),
    *(
        Row(f"Add `{imports}` at the top of the file.", Answer(use), Answer(near_miss))
        for imports, use, near_miss in [
            ("from typing import Union", "Number = Union[int, float]\n", "Union\n"),
            ("from typing import TypeVar", "T = TypeVar('T')\n", "T = torch.TypeVar('T')\n"),
            ("from typing import Protocol", "class Sized(Protocol): ...\n", "Protocol\n"),
            ("from typing import overload", "@overload\ndef other(): ...\n", "class X:\n    x = self.overload\n"),
            (
                "from dataclasses import dataclass",
                "@dataclass\nclass Sizes: ...\n",
                "from dataclasses import dataclass, nothing_like_that\n@dataclass\nclass Sizes: ...\n",
            ),
        ]
    ),
    # -- definitions in another place, and names with another value ------------------------------------------------
    Row(
        "defines it inside the `if` of line",
        Answer(f"if torch.cuda.is_available():\n{textwrap.indent(NORMALIZED, '    ')}", without=LACKS),
        Answer("if True:\n    def normalize_by_sum(scores):\n        return scores\n", without=LACKS),
    ),
    *(
        Row(
            f"defines it inside the `{kind}` of line",
            Answer(f"{around}\n{textwrap.indent(NORMALIZED, '        ')}{below}", without=LACKS),
            Answer(f"{around}\n        def other(): ...\n{below}", without=LACKS),
        )
        for kind, around, below in [
            ("async with", "async def other():\n    async with x:", ""),
            ("async for", "async def other():\n    async for x in y:", ""),
            ("try", "if False:\n    try:", "    except* ValueError: ..."),
            ("try", "if True:\n    try: ...\n    except* ValueError:", ""),
            ("match", "match 1:\n    case 2:", ""),
        ]
    ),
    Row(
        "defines it inside the function `other` of line",
        Answer(f"def other():\n    pass\n{textwrap.indent(NORMALIZED, '    ')}", without=LACKS),
        Answer(f"def other():\n{textwrap.indent(NORMALIZED, '    ')}def normalize_by_sum(x):\n    return x\n"),
    ),
    Row(
        "defines it inside the class `Sums` of line",
        Answer("class Sums:\n    def normalize_by_sum(self, scores): ...\n", without=LACKS),
        Answer("class Sums:\n    def normalise(self, scores): ...\n", without=LACKS),
    ),
    Row(
        "move it to the left margin and delete `self`.",
        Answer("class Sums:\n    def normalize_by_sum(self, scores): ...\n", without=LACKS),
        Answer("class Sums:\n    def normalize_by_sum(scores): ...\n", without=LACKS),
    ),
    Row(
        "deletes it: remove `normalize_by_sum` there.",
        Answer("del normalize_by_sum\n"),
        Answer("if not torch:\n    del normalize_by_sum\n", without=LACKS),
    ),
    Row(
        "deletes it: remove `normalize_by_sum` there.",
        Answer("del normalize_by_sum\n"),
        Answer(f"{MAIN}\n    del normalize_by_sum\n", without=LACKS),
    ),
    Row(
        "of self_attention.py defines it: write it in simple_attention.py.",
        Answer("", others={SELF: NORMALIZED}, without=LACKS),
        Answer("def normalize_by_sum(x):\n    return x\n", others={SELF: NORMALIZED}),
    ),
    Row(
        "simple_attention.py defines the exercises of causal_attention: is it the wrong file?",
        Answer(OF_UNIT_3, without=tuple(COURSE.units[FIRST].exercises)),
        Answer(OF_UNIT_3, without=LACKS),
    ),
    *(
        Row(
            "normalize_by_sum is not defined. The cause is line",
            Answer(one, without=LACKS),
            Answer(other, without=LACKS),
        )
        for one, other in {
            "Def normalize_by_sum(scores):\n    return scores\n": "The normalize_by_sum(scores) is right\n",
            "dfe normalize_by_sum(scores):\n    return scores\n": "Def other(scores):\n    return scores\n",
            "def normalize\u00ad_by_sum(x): ...\n": "def normalize\u00ad_by(x): ...\n",
            "> def normalize_by_sum(scores):\n>     return scores\n": "> normalize_by_sum(scores)\n",
        }.items()
    ),
    Row(
        "of simple_attention.py defines it in a comment: delete the `#` there.",
        Answer("# def normalize_by_sum(scores):\nx = 1\n", without=LACKS),
        Answer("# def normalize_by(scores):\n# with normalize_by_sum(scores)\n", without=LACKS),
    ),
    *(
        Row(
            "It is only in the string that begins in line",
            Answer(code, without=LACKS),
            Answer("'normalize_by_sum(scores) is below'\n", without=LACKS),
        )
        for code in [
            "'''\ndef normalize_by_sum(scores):\n    return scores\n'''\n",
            "b'x = 1\\ndef normalize_by_sum(s): ...'\n",
        ]
    ),
    Row(
        "which gives `normalize_by_sum` another value: use another name there.",
        Answer(f"{NORMALIZED}normalize_by_sum = normalize_by_sum(torch.ones(2))\n"),
        Answer(f"{NORMALIZED.replace('sum()', 'sum(1, 2)')}normalize_by_sum = torch.no_grad()(normalize_by_sum)\n"),
    ),
    Row(
        "which gives `torch` another value: use another name there.",
        Answer("def normalize_by_sum(scores):\n    return torch.exp(scores)\ntorch = None\n"),
        Answer("def normalize_by_sum(scores, torch=None):\n    return torch.exp(scores)\ntorch = None\nimport torch\n"),
    ),
    Row(
        "which gives `len` another value: use another name there.",
        Answer("def normalize_by_sum(scores):\n    return scores / len(scores)\nlen = 2\n"),
        Answer(f"def normalize_by_sum(scores):\n    return scores / len(scores)(2)\n{MAIN}\n    len = 2\n"),
    ),
    Row(
        "The files are in one folder: write `from simple_attention import softmax_stable`.",
        Answer("from .simple_attention import softmax_stable\n", "project_qkv", SELF, others={FIRST: ""}),
        Answer("from .softmax import softmax_stable\n", "project_qkv", SELF, others={FIRST: ""}),
    ),
    Row(
        "The files are in one folder: write `from simple_attention import softmax_stable`.",
        Answer("from exercises.simple_attention import softmax_stable\n", "project_qkv", SELF, others={FIRST: ""}),
        Answer("from simple_attention.exercises import softmax_stable\n", "project_qkv", SELF, others={FIRST: ""}),
    ),
    Row(
        "The files are in one folder: write `import simple_attention`.",
        Answer("from . import simple_attention\n", "project_qkv", SELF, others={FIRST: ""}),
        Answer("from . import softmax\n", "project_qkv", SELF, others={FIRST: ""}),
    ),
    Row(
        "The files are in one folder: write `import simple_attention as first`.",
        Answer("import exercises.simple_attention as first\n", "project_qkv", SELF, others={FIRST: ""}),
        Answer("import exercises.softmax as first\n", "project_qkv", SELF, others={FIRST: ""}),
    ),
    Row(
        "An earlier `normalize_by_sum` is used instead.",
        Answer("def normalize_by_sum(scores) return scores\n"),
        Answer("total = 0\nfor total in [1]:\n    total += nothing\n"),
    ),
    # -- attributes -----------------------------------------------------------------------------------------------
    Row("Did you mean `sum`?", of("return scores / scores.Sum()"), of("return scores / scores.samples()")),
    Row("Did you mean `exponential", of("return scores.exponentia_()"), of("return scores.exponential()")),
    Row("Did you mean `exp`?", of("return torch.expo(scores)"), of("return torch.nothing_like_that(scores)")),
    Row(
        "Did you mean `total`?",
        Answer(
            "class Sum:\n    def __init__(self):\n        self.total = 0\n"
            "def normalize_by_sum(scores):\n    return scores / Sum().totl\n"
        ),
        Answer("def normalize_by_sum(scores):\n    scores.total = scores.totl\n    return scores\n"),
    ),
    Row(
        "The class gives `total` a value: does that line run before this one?",
        Answer(
            "class Sum:\n    def add(self):\n        self.total = 0\n"
            "def normalize_by_sum(scores):\n    return scores / Sum().total\n"
        ),
        Answer("class Sum: ...\ndef normalize_by_sum(scores):\n    return scores / Sum().total\n"),
    ),
    # -- modules --------------------------------------------------------------------------------------------------
    Row(
        "Did you mean `softmax_stable`?",
        Answer("from simple_attention import softmax_stabel\n", "project_qkv", SELF, others={FIRST: ""}),
        Answer("from simple_attention import softmax_stable\n", "project_qkv", SELF, others={FIRST: LOST_SOFTMAX}),
    ),
    Row(
        "Did you mean `simple_attention`?",
        Answer("from simple_atention import softmax_stable\n", "project_qkv", SELF, others={FIRST: ""}),
        Answer("from simple_attention import softmax_stable\n", "project_qkv", SELF),
    ),
    # -- errors ---------------------------------------------------------------------------------------------------
    Row(
        error_hints.CALLS["open"],
        of("open('scores.txt')"),
        of("import numpy as np\nreturn np.load('scores.npy')  # not open()"),
    ),
    Row(error_hints.CALLS["input"], of("input()"), of("raise EOFError  # as of input()")),
    Row(error_hints.CALLS["input"], Answer("name = input()\n"), Answer("raise EOFError  # as of input()\n")),
    Row(
        error_hints.CALLS["input"],
        Answer("import sys\nsys.stdin.close()\ninput()\n"),
        Answer("import io\nfile = io.StringIO()\nfile.close()\nfile.read()  # not input()\n"),
    ),
    Row(error_hints.END, Answer("exit()\n"), Answer("raise ValueError('SystemExit')\n")),
    Row(error_hints.END, Answer("import os\nos._exit(0)\n"), Answer("raise ValueError('exit code')\n")),
    Row(error_hints.END, of("raise SystemExit"), of("raise KeyboardInterrupt")),
    Row(
        "A tensor in this line is too large for the memory: check its sizes.",
        of("return torch.ones(10**6, 10**6)"),
        of("raise RuntimeError('you tried to allocate it')"),
    ),
    Row(
        error_hints.BREAKPOINT,
        of("breakpoint()\nreturn scores"),
        of("from pathlib import Path\nPath('breakpoint()').read_text()"),
    ),
    Row(
        "With a dim, torch's `max`",
        of("return scores / scores.max(0)"),
        of("return scores / torch.linalg.qr(scores[None])"),
    ),
    Row("A plain number is no tensor", of("return torch.exp(2)"), of("return torch.exp('2')")),
    *(
        Row(
            "Begin `__init__` with `super().__init__()`.",
            Answer(f"class Sum(torch.nn.Module):\n    def __init__(self):\n        {line}\n{use}"),
            Answer(f"class Sum(torch.nn.Module): ...\n{use.replace('Sum()', 'scores._parameters')}"),
        )
        for use in ["def normalize_by_sum(scores):\n    return Sum().train() and scores\n"]
        for line in ("self.layer = torch.nn.Linear(2, 2)", "pass")
    ),
    Row(
        "Something in this line is None: is it `total`, whose default is None?",
        Answer("def normalize_by_sum(scores, total=None):\n    return scores / total\n"),
        Answer("def normalize_by_sum(scores, total=None):\n    return scores / print()\n"),
    ),
    Row(
        "Something in this line is None: does every function that it uses `return` its result?",
        of("def total():\n    scores.sum()\nreturn scores / total()"),
        of("return scores / [scores.sum()]"),
    ),
    Row(
        "An `nn.ModuleList` only holds modules",
        of("return torch.nn.ModuleList([torch.nn.Softmax(0)])(scores)"),
        of("return torch.nn.Module()(scores)"),
    ),
    Row(
        "Define `forward` in the class",
        Answer(f"class Sum(torch.nn.Module):\n    def froward(self, x): ...\n{CALLED}"),
        Answer(f"class Sum(torch.nn.Module):\n    def forward(self, x):\n        return super().forward(x)\n{CALLED}"),
    ),
    *(
        Row(
            f"defines `forward` {where}: indent it as a method of `Sum`.",
            Answer(f"{code}{CALLED}"),
            Answer(f"{other}{CALLED}"),
        )
        for where, code, other in [
            (
                "at the left margin",
                "class Sum(torch.nn.Module): ...\ndef forward(self, x): ...\n",
                "class Sum(torch.nn.Module): ...\nclass Other(torch.nn.Module): ...\ndef forward(self, x): ...\n",
            ),
            (
                "inside `__init__`",
                "class Sum(torch.nn.Module):\n    def __init__(self):\n        super().__init__()\n"
                "        def forward(self, x): ...\n",
                "class Sum(torch.nn.Module):\n    def __init__(self):\n        super().__init__()\n"
                "        def froward(self, x): ...\n",
            ),
        ]
    ),
    *(
        Row(
            "`super` lacks its brackets, as in `super().__init__()`.",
            Answer(f"class Sum(torch.nn.Module):\n    def __init__(self):\n        {line}\n{CALLED}"),
            Answer(f"class Sum(torch.nn.Module):\n    def __init__(self):\n        super().init()\n{CALLED}"),
        )
        for line in ("super.__init__()", "super.__init__(self)", "super.init()")
    ),
    Row(
        "nn.Module has no `forward` of its own",
        Answer(f"class Sum(torch.nn.Module):\n    def forward(self, x):\n        return super().forward(x)\n{CALLED}"),
        Answer(f"class Sum(torch.nn.Module):\n    def froward(self, x): ...\n{CALLED}"),
    ),
    Row(
        "The arguments of the `def` and of the call differ: compare them.",
        Answer("def total(x): ...\ndef normalize_by_sum(scores):\n    return total(scores, scores)\n"),
        of("return torch.softmax(scores)"),
    ),
    Row(
        "A method has `self` first.",
        Answer(f"class Sum(torch.nn.Module):\n    def forward(x):\n        return x\n{CALLED}"),
        Answer(f"class Sum(torch.nn.Module):\n    def forward(self):\n        return 0\n{CALLED}"),
    ),
    Row(
        "compare them. `self` is counted too.",
        Answer(f"class Sum(torch.nn.Module):\n    def forward(self):\n        return 0\n{CALLED}"),
        Answer(f"class Sum(torch.nn.Module):\n    def forward(self, x, y):\n        return x\n{CALLED}"),
    ),
    *(
        Row("The tests call it with the arguments of the stub: keep those in the `def`.", said, not_said)
        for said, not_said in [
            (Answer("def normalize_by_sum(): ...\n"), Answer("def normalize_by_sum(x):\n    normalize_by_sum()\n")),
            (
                Answer(V1.replace("self, inputs", "self, x, mask"), "SelfAttention_v1", SELF),
                Answer(WITHOUT_SELF, "SelfAttention_v2", SELF),
            ),
        ]
    ),
    *(
        Row(sentence, Answer(said, "SelfAttention_v2", SELF), Answer(not_said, "SelfAttention_v2", SELF))
        for sentence, said, not_said in [
            ("`forward` in line 339 lacks `self`, the first argument of a method.", USES_SELF, WITHOUT_SELF),
            (
                "begins with another argument than `self`, the first argument of a method.",
                USES_SELF.replace("(x)", "(x, self)"),
                USES_SELF.replace("(x)", "(self, x, y)"),
            ),
        ]
    ),
    Row(
        "A parameter is changed inside `with torch.no_grad():`",
        of("weight = torch.nn.Parameter(torch.ones(2))\nweight += 1\nreturn scores"),
        of("raise RuntimeError('a leaf')"),
    ),
    Row(
        "The tensors in this line have different dtypes",
        of("return scores @ torch.ones(len(scores), 1).double()"),
        of("return torch.nn.functional.cross_entropy(scores[None], torch.ones(1))"),
    ),
    Row(
        "Dims count from 0, so the last of two is dim 1, or -1. Counted from the end, they fit any number of dims.",
        of("return scores / scores.sum(dim=1)"),
        of("return scores / scores[len(scores)]"),
    ),
    Row(
        "A function calls itself again and again",
        of("return normalize_by_sum(scores)"),
        of("return [scores] * 10**9"),
    ),
    Row("`shape` is no function", of("return scores / scores.shape()"), of("return scores / scores.dtype()")),
    Row(
        "Use torch's functions in place of numpy's: a numpy array has no gradients.",
        of("return torch.tensor(scores.numpy() / scores.numpy().sum())", is_hidden=True),
        of("return scores.numpyy()"),
    ),
    Row(
        "Use `reshape` in place of `view`",
        of("return torch.ones(2, 3).T.view(-1)"),
        of("return torch.ones(2, 3).view(-1, 5)"),
    ),
    Row(
        "Something in this line is a tuple: unpack it first",
        of("return (scores, 1).sum()"),
        of("return scores.shape.nothing_like_that"),
    ),
    Row("Something in this line is a list: make a tensor", of("return [1, 2].sum()"), of("return {1: 2}.sum()")),
    Row(
        error_hints.NUMPY,
        of("import numpy as np\nreturn scores / np.sum(scores, axis=0, keepdims=True)"),
        of("import numpy as np\nreturn scores.sum(total=1) / np.sqrt(2)"),
    ),
    Row(
        error_hints.NO_GPU[1],
        of("return (scores / scores.sum()).cuda()"),
        of("cuda = scores.sum(1)\nreturn scores / cuda"),
    ),
    Row(
        "arguments from the 'MPS' backend. There is no GPU while grading: delete what asks for one",
        of("return scores / torch.ones(2, device='mps')"),
        of("raise NotImplementedError('mps')"),
    ),
    Row(
        "Delete it: notebook commands do not work here.",
        Answer("%matplotlib inline\n"),
        Answer("x = (5\n% 3\n) = 2\n"),
    ),
    Row("a Markdown fence. Delete it.", Answer("```\n"), Answer("x = '```\n")),
    Row("Delete the prompt at the beginning of the line.", Answer(">>> x = 1\n"), Answer("x >>> 1\n")),
    Row("Delete it, and run it in the terminal.", Answer("pip install einops\n"), Answer("pip = install einops\n")),
    Row(
        "Delete it, after you have decided which version of the code to keep.",
        Answer("<<<<<<< HEAD\n"),
        Answer("x = 1 <<<<<<< 2\n"),
    ),
    Row(
        "Keep one version, and delete the lines with `<<<<<<<`, `=======` and `>>>>>>>`.",
        Answer("<<<<<<< HEAD\nx = 1\n=======\nx = 2\n>>>>>>> main\n"),
        Answer("=======\n"),
    ),
    Row(
        "Delete that line if the code below it is part of your answer.",
        Answer("%%bash\nls\n", is_notebook=True),
        Answer("%%time\nx = = 1\n", is_notebook=True),
    ),
    *(
        Row("If it is text and not code, begin it with `#`.", Answer(f"{text}\n"), Answer(f"{code}\n"))
        for text, code in {
            "This is my answer": "for x in range(3)",
            "It’s done – I think": "total = 1 – 2",
            "Scores – weights": "x = max(1,\n    Scores – 1）",
        }.items()
    ),
    Row(
        "Delete it, and run it in the terminal.",
        Answer("(base) ana@laptop:~/course$ ls 'a\n"),
        Answer("ana@laptop = 'a\n"),
    ),
    Row("Delete it, and run it in the terminal.", Answer("C:\\Users\\ana> python a.py\n"), Answer("C = \\Users\n")),
    Row("Delete it: notebook commands", Answer("torch.softmax?\n"), Answer("is this right?\n")),
    Row("Delete it, after you have decided", Answer("<<<<<<<HEAD\n"), Answer("x <<<<<<<HEAD\n")),
    Row("If it is no part of your code, delete it.", Answer(".:\n"), Answer("x .:\n")),
    Row("Is something missing at the end of the line?", Answer("x = 1 +\n"), Answer("x = = 1\n")),
    Row("The quote in it opens a string that does not end", Answer('"\n'), Answer("It's my answer\n")),
    Row("Nothing may follow a `\\`, which joins two lines.", Answer("\\begin{equation}\n"), Answer("x = 1 +\n")),
    Row(
        "If it is text and not code, begin it with `#`.",
        Answer("$$\\mathrm{softmax}(x)$$\n".replace("\\", "")),
        Answer("x = $\n"),
    ),
    Row(
        "If it is code, write `def` in place of `Def`.",
        Answer("Def other(x):\n    return x\n"),
        Answer("Def is a word\n"),
    ),
    Row(
        "If it is code, write `def` in place of `function`.",
        Answer("function other(x):\n    return x\n"),
        Answer("function of x\n"),
    ),
    Row("If it is code, write `import` in place of `Import`.", Answer("Import math\n"), Answer("Importing math now\n")),
    Row(
        "Begin it at the left margin.",
        Answer("def one():\n    return 1\n\n\n  def two():\n      return 2\n"),
        Answer("class Other:\n    def one(self): ...\n      def two(self): ...\n"),
    ),
    Row("Begin it at the left margin.", Answer("import math\n    half = 0.5\n"), Answer("half = 0.5\n    + 1\n")),
    # -- lines that are not Python --------------------------------------------------------------------------------
    Row("Put a colon at the end of the line.", Answer("def other()\n    return 1\n"), Answer(ELSE_IF)),
    Row("Put a colon before `return 1`.", Answer("def other() return 1\n"), Answer("def other()\n    return 1\n")),
    Row(
        "Put a colon before `# one`.",
        Answer("def x()  # one\n    return 1\n"),
        Answer("def x()\n    return 1  # one\n"),
    ),
    Row("Put a colon at the end", Answer("def other(\n    x)\n    return 1\n"), Answer("def other() return 1\n")),
    Row("Write `elif`.", Answer(ELSE_IF), Answer("if 1:\n    x = 1\nelse\n    x = 2\n")),
    Row(
        "that belong to it.",
        Answer("def other():\nreturn 1\n"),
        Answer("x = 1\n  + 2\n"),
    ),
    Row("Indent it like the other lines of its block.", Answer("x = 1\n  + 2\n"), Answer("def other():\nreturn 1\n")),
    Row("Count the brackets here", Answer("x = (1\n"), Answer("x = 1 +\n")),
    Row(
        "Count the brackets here",
        Answer("def other(\n    x,\n    (\n):\n    pass\n"),
        Answer("def x(\n    y,\n）:\n    pass\n"),
    ),
    Row(
        "`）` (fullwidth right parenthesis) is not Python: type `)`.",
        Answer("def other(\n    x,\n）:\n    pass\n"),
        Answer('def other(\n    x="）",\n:\n    pass\n'),
    ),
    # -- what is not written, not returned or not defined ---------------------------------------------------------
    Row(
        "not written yet",
        of('"""Text."""\nraise NotImplementedError()'),
        of("return torch.softmax(scores.long(), 0)"),
    ),
    Row(
        "It needs `softmax_stable`, which is not written yet.",
        Answer(f"def softmax_naive(x, dim=-1):\n    return softmax_stable(x, dim)\n{STUB}", "softmax_naive"),
        Answer(f"def softmax_naive(x, dim=-1):\n    raise NotImplementedError()\n{STUB}", "softmax_naive"),
    ),
    Row(
        "raises NotImplementedError: write what this case needs.",
        of("if len(scores) > 1:\n    raise NotImplementedError()\nreturn scores / scores"),
        of("raise NotImplementedError()\nreturn scores"),
    ),
    Row(
        "still raises NotImplementedError: delete it.",
        of("raise NotImplementedError()\nreturn scores"),
        of("if len(scores) > 1:\n    raise NotImplementedError()\nreturn scores / scores"),
    ),
    Row(
        "`normalize_by_sum` has no `return`.",
        of("scores / scores.sum()"),
        of("if len(scores) < 1:\n    return scores"),
    ),
    Row(
        "Is there a `return` on every way through it?",
        of("if len(scores) < 1:\n    return scores"),
        of("return scores * 2"),
    ),
    Row(
        "Is there a `return` on every way through `forward`?",
        Answer(
            V1.replace("return inputs", "if not inputs.any():\n            return inputs"), "SelfAttention_v1", SELF
        ),
        Answer(V1.replace("return inputs", "print()"), "SelfAttention_v1", SELF),
    ),
    Row(
        "ends the loop in its first pass: is it indented too far?",
        of("for score in scores:\n    return scores / score"),
        of("for score in scores:\n    if score < 1:\n        continue\n    return scores * 2\nreturn scores * 3"),
    ),
    Row(
        "only the last one counts.",
        Answer("def normalize_by_sum(x):\n    return x\ndef normalize_by_sum(y):\n    return y * 2\n"),
        Answer("def normalize_by_sum(x):\n    return x\ndef normalize_by_sum(x, y=nothing):\n    return x\n"),
    ),
    Row(
        "Your file defines `normalise_by_sum`: rename it to `normalize_by_sum`.",
        Answer("def normalise_by_sum(scores): ...\n", without=LACKS),
        Answer("def normalise_by_sum(scores): ...\ndef normalize_by_sum(scores, x=nothing): ...\n"),
    ),
    Row(
        "normalize_by_sum is not defined. The cause is line",
        Answer("def normalize_by_sum(scores, x=nothing): ...\n"),
        Answer("def softmax_naive(x, y=nothing): ...\ndel normalize_by_sum\n"),
    ),
    *(
        Row(
            "Write them after `return`, with commas between them.",
            Answer(PROJECT.replace("(q, k, v)", "{1: q, 2: k, 3: v}"), "project_qkv", SELF, is_hidden=is_hidden),
            Answer(PROJECT.replace("(q, k, v)", "(q, k)"), "project_qkv", SELF, is_hidden=is_hidden),
        )
        for is_hidden in (False, True)
    ),
    Row(
        "that is near 4000, the number of pairs.",
        Answer(VARIANCE.replace("samples, d_k)", "d_k, samples)"), "dot_product_variance", SELF),
        Answer(VARIANCE.replace(".sum(-1)", ""), "dot_product_variance", SELF),
    ),
    # -- parameters and gradients ---------------------------------------------------------------------------------
    Row(
        "Check `.detach()` in line",
        of("return (scores / scores.sum()).detach()"),
        of("return (scores / scores.sum()).sign()"),
    ),
    Row(
        "Check `torch.inference_mode()` in line",
        of("with torch.inference_mode():\n    return scores / scores.sum()"),
        of("with torch.inference_mode():\n    scores.sum()\nreturn (scores / scores.sum()).sign()"),
    ),
    Row(
        "Your class assigns `self.W_queries`: rename it to `self.W_query`.",
        Answer(V1.replace("W_query", "W_queries"), "SelfAttention_v1", SELF, is_hidden=True),
        Answer(V1, "SelfAttention_v1", SELF, is_hidden=True),
    ),
    Row(
        "Your class assigns",
        Answer(V1.replace("W_query", "W_queries"), "SelfAttention_v1", SELF, is_hidden=True),
        Answer(V1.replace("W_query", "matrix"), "SelfAttention_v1", SELF, is_hidden=True),
    ),
    *(
        Row(
            sentence,
            Answer(V1.replace("self.W_query", name), "SelfAttention_v1", SELF),
            Answer(V1.replace("self.W_query", "self.matrix"), "SelfAttention_v1", SELF),
        )
        for name, sentence in [
            ("W_query", "is only a variable of `__init__`: write `self.W_query`."),
            ("self.W_queries", "Your class assigns `self.W_queries`: rename it to `self.W_query`."),
        ]
    ),
    Row(
        "It is a class that is not called, not an nn.Module.",
        Answer(BLOCK.replace("LayerNorm(emb_dim)", "LayerNorm"), "TransformerBlock", "transformer_block"),
        Answer(BLOCK.replace("LayerNorm(emb_dim)", "sum"), "TransformerBlock", "transformer_block"),
    ),
    Row(
        "Make `self.W_query` with `nn.Parameter(…)` in `__init__`.",
        Answer(V1.replace("nn.Parameter", ""), "SelfAttention_v1", SELF, is_hidden=True),
        Answer(V1.replace("W_query", "matrix"), "SelfAttention_v1", SELF, is_hidden=True),
    ),
    Row(
        "although the result depends on it. Do not cut it off",
        of("return scores / scores.sum().detach()"),
        of("return scores / scores.sum() + torch.rand(())"),
    ),
    Row(
        "No gradient flows back from the result.",
        of("return (scores / scores.sum()).detach()"),
        Answer(IN_FORWARD, "SelfAttention_v1", SELF),
    ),
    Row(
        "Two calls with the same arguments have different results.",
        of("return scores / scores.sum() + torch.rand(())"),
        of("return scores / scores.sum().detach()"),
    ),
    Row(
        "A new tensor needs the dtype of the argument",
        of("return scores / scores.sum() @ torch.eye(len(scores))"),
        of("return scores / scores.sum() + torch.rand(())"),
    ),
    # -- several results, and sums --------------------------------------------------------------------------------
    *(
        Row(
            sentence,
            Answer(PROJECTED.format("three, two, one"), "project_qkv", SELF, is_hidden=is_hidden),
            Answer(PROJECTED.format("two, two, three"), "project_qkv", SELF, is_hidden=is_hidden),
        )
        for is_hidden, sentence in {
            False: "`project_qkv` should return queries, keys, values in this order; your third result is what the",
            True: "The order of the results is wrong; your third result is what the first should be.",
        }.items()
    ),
    Row(
        "The results are returned in another order: check the `return`.",
        Answer(PROJECTED.format("two, one, three"), "project_qkv", SELF),
        Answer(PROJECTED.format("two, two, three"), "project_qkv", SELF),
    ),
    Row(
        "`sample_batch` should return idx, targets in this order",
        Answer(BATCH.format("len(data) - block_size", "data[places + 1], data[places]"), "sample_batch", BIGRAM),
        Answer(BATCH.format("len(data) - block_size", "data[places], data[places - 1]"), "sample_batch", BIGRAM),
    ),
    Row(
        "`torch.randint(high, …)` draws numbers below `high`: choose it so that all indices fit.",
        Answer(BATCH.format("len(data)", "data[places], data[places + 1]"), "sample_batch", BIGRAM),
        Answer(BATCH.format("3", "data[places + 0.5], data[places + 1]"), "sample_batch", BIGRAM),
    ),
    Row(
        "have each been divided by the sum of another row.",
        Answer("def mask_then_renormalize(x):\n    x = x.tril()\n    return x / x.sum(-1)\n", RENORMALIZE, CAUSAL),
        Answer("def mask_then_renormalize(x):\n    x = x.tril()\n    return x / x.sum(0)\n", RENORMALIZE, CAUSAL),
    ),
    Row(
        "is there one division by its root too many, or is it one by another root?",
        Answer(UNSCALED.replace(", dim", " / keys.shape[-2] ** 0.5, dim"), "scaled_dot_product_attention", SELF),
        Answer(TWICE_SCALED, "head_scores", "multi_head_attention"),
    ),
    # -- the form of an exercise ----------------------------------------------------------------------------------
    *(
        Row("gives a coroutine, because it begins with `async`: delete `async`.", Answer(code), near_miss)
        for code in ["async def normalize_by_sum(scores):\n    return scores / scores.sum()\n"]
        for near_miss in (of("async def other():\n    return scores\nreturn scores"), Answer("def other():\n    0\n"))
    ),
    Row(
        "gives a generator, because of the `yield` in line",
        of("yield scores / scores.sum()"),
        of("def parts():\n    yield 2\nreturn scores * next(parts())"),
    ),
    Row(
        "`forward` in line",
        Answer(RESIDUAL.replace(" = sublayer", " = layer").replace("return", "yield"), "Residual", BLOCKS),
        Answer(f"{PARTS}    def parts(self, x):\n        yield x\n", "Residual", BLOCKS),
    ),
    Row(
        "takes its arguments in another order than its docstring says: write `(query, inputs)`.",
        Answer(SCORES.format("inputs, query", "inputs @ query"), "attention_scores"),
        Answer(SCORES.format("query, inputs", "query @ inputs"), "attention_scores"),
    ),
    # Where a line is named as the cause, no misconception is.
    Row(
        "It takes only the module, and needs no width",
        Answer(RESIDUAL.replace("self, layer", "self, width, layer"), "Residual", BLOCKS, is_hidden=True),
        Answer(RESIDUAL.replace("__init__(self", "_init_(self"), "Residual", BLOCKS, is_hidden=True),
    ),
    Row(
        "`torch.no_grad` and `.detach()` are for using a trained model.",
        Answer(PROJECT.replace("(q, k, v)", "q.detach(), k.detach(), v.detach()"), "project_qkv", SELF, is_hidden=True),
        Answer(f"torch.set_grad_enabled(False)\n{PROJECT}", "project_qkv", SELF, is_hidden=True),
    ),
    Row(
        "If these shapes are right",
        Answer(SCORES.format("query, inputs", "query @ inputs"), "attention_scores"),
        Answer(SCORES.format("inputs, query", "inputs @ query"), "attention_scores"),
    ),
    # -- other exercises ------------------------------------------------------------------------------------------
    Row(
        "Depends on `SelfAttention_v2`; fix that first.",
        Answer(f"{BROKEN_V2}{USES_V2}", "transfer_weights", SELF, also=("SelfAttention_v2",)),
        Answer(f"{BROKEN_V2}{UNTRANSPOSED}", "transfer_weights", SELF, also=("SelfAttention_v2",)),
    ),
    Row(
        "Some of its tests need `SelfAttention_v2`, which is not right yet.",
        Answer(f"{BROKEN_V2}{UNTRANSPOSED}", "transfer_weights", SELF, also=("SelfAttention_v2",)),
        Answer(UNTRANSPOSED, "transfer_weights", SELF, also=("SelfAttention_v2",)),
    ),
    Row(
        "Some of its tests need `unroll_heads`, which is not right yet.",
        Answer(INTERLEAVED, "MultiHeadAttention", "multi_head_attention", also=("unroll_heads", "split_heads")),
        Answer(INTERLEAVED, "split_heads", "multi_head_attention", also=("unroll_heads",)),
    ),
    # A class that is right itself needs no substitute: then what it calls has one.
    Row(
        "done",
        Answer(UNSCALED, "transfer_weights", SELF, also=OF_V2),
        Answer(f"{UNSCALED}{BROKEN_V2}", "transfer_weights", SELF, also=OF_V2),
    ),
]


BY_RAND_LIKE = """\
def attention_dropout(weights, p, generator=None):
    if p < 0 or p > 1:
        raise ValueError(p)
    return weights * (torch.rand_like(weights) >= p) / (1 - p)
"""
SEEDED = """\
def dot_product_variance(d_k, samples, generator=None):
    torch.manual_seed(1)
    queries, keys = torch.randn(samples, d_k, generator=generator), torch.randn(samples, d_k)
    products = (queries * keys).sum(-1)
    return products.var().item(), (products / d_k**0.5).var().item()
"""
KEEPS_ALL = """\
def attention_dropout(weights, p, generator=None):
    if p < 0 or p >= 1:
        raise ValueError(p)
    return weights * (torch.rand(weights.shape, generator=generator) >= p / 2) / (1 - p)
"""
MASKS = "def mask_then_renormalize(x):\n    return x.masked_fill(causal_mask(len(x)), 0)\n"
SEED_IN_FORWARD = """\
class CausalAttention(nn.Module):
    def __init__(self, d_in, d_out, context_length, dropout, qkv_bias=False):
        super().__init__()
        self.W_query, self.W_key, self.W_value = (nn.Linear(d_in, d_out, bias=qkv_bias) for _ in range(3))
        self.dropout = nn.Dropout(dropout)

    def forward(self, inputs):
        torch.manual_seed(123)
        queries, keys, values = self.W_query(inputs), self.W_key(inputs), self.W_value(inputs)
        scores = mask_then_softmax(queries @ keys.mT, queries.shape[-1])
        return self.dropout(scores) @ values
"""
UNMASKED = SEED_IN_FORWARD.replace("        torch.manual_seed(123)\n", "").replace(
    "mask_then_softmax(queries @ keys.mT, queries.shape[-1])",
    "torch.softmax(queries @ keys.mT / queries.shape[-1] ** 0.5, dim=-1)",
)
# What was once said of answers for which it is not true.
UNTRUE = [
    ("the masked tensor was not used", Answer(UNMASKED, "CausalAttention", CAUSAL, is_hidden=True)),
    ("Make each matrix an nn.Parameter, in its", Answer(IN_FORWARD, "SelfAttention_v1", SELF, is_hidden=True)),
    ("printed the result", Answer("def dot_product(a, b):\n    sum(a)\n", "dot_product", is_hidden=True)),
    ("This is torch's own dropout", Answer(BY_RAND_LIKE, "attention_dropout", CAUSAL, is_hidden=True)),
    ("they have other names, are in", Answer(IN_FORWARD, "SelfAttention_v1", SELF, is_hidden=True)),
    ("come from torch's global generator", Answer(SEEDED, "dot_product_variance", SELF, is_hidden=True)),
    ("drawn once, when the module is made.", Answer(SEED_IN_FORWARD, "CausalAttention", CAUSAL, is_hidden=True)),
    ("`torch.sqrt` takes no plain number", Answer(WITHOUT_SELF, "SelfAttention_v2", SELF, is_hidden=True)),
    ("Use tensor.detach().numpy()", of("return torch.tensor(scores.numpy())", is_hidden=True)),
    ("`About`", Answer(KEEPS_ALL, "attention_dropout", CAUSAL)),
    (
        "Depends on",
        Answer(
            "del softmax_stable\nfrom .simple_attention import softmax_stable\n", "scaled_dot_product_attention", SELF
        ),
    ),
    (
        "raises this when line",
        Answer(
            f"{MASKS}torch.set_default_device('cuda')\n", RENORMALIZE, CAUSAL, is_hidden=True, also=("causal_mask",)
        ),
    ),
    ("stays in force", Answer("total = 0\nfor total in [1]:\n    total += nothing\n")),
]


@pytest.fixture(scope="module")
def said() -> dict[Answer, str]:
    """What the reports of all these answers say: each answer is graded once."""
    answers = list(dict.fromkeys(answer for row in ROWS for answer in row[1:]))
    answers += [answer for _, answer in UNTRUE]
    found: dict[Answer, str] = {}
    for suites in ("visible", "hidden"):
        graded = [answer for answer in answers if answer.is_hidden == (suites == "hidden")]
        with Engine(COURSE, suites=suites) as engine:
            criteria, now = engine.handshake().criteria, datetime.datetime.now(datetime.UTC)
            rubric = Rubric(criteria, {}, suites)
            for one, result in engine.grade(map(submission, range(len(graded)), graded), 2):
                assert isinstance(result, Result), result
                report = make_report(one, result, rubric, COURSE, {}, {}, now)
                answer = graded[int(one.student)]
                entry = next(entry for entry in entries(report) if entry.name == answer.exercise)
                texts = [sentence_of(message) for message in report.messages if message.kind != "printed"]
                texts += [entry.state, *(line.text for line in entry.feedback())]
                found[answer] = "\n".join(texts)
    return found


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.sentence)
def test_a_sentence_is_said_of_an_answer_for_which_it_is_true(said: dict[Answer, str], row: Row) -> None:
    assert row.sentence in said[row.said]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.sentence)
def test_a_sentence_is_not_said_of_a_near_miss(said: dict[Answer, str], row: Row) -> None:
    assert said[row.not_said]
    assert row.sentence not in said[row.not_said]


@pytest.mark.parametrize(("sentence", "answer"), UNTRUE, ids=lambda one: one if isinstance(one, str) else "")
def test_a_sentence_that_was_untrue_of_an_answer_is_not_said(
    said: dict[Answer, str], sentence: str, answer: Answer
) -> None:
    assert "in progress" in said[answer] or "raised" in said[answer].lower()
    assert sentence not in said[answer]


def test_the_table_has_every_hint() -> None:
    known = [sentence for _, sentence in error_hints.TEXTS] + [
        *error_hints.CALLS.values(),
        error_hints.NUMPY,
        error_hints.COMMENT,
    ]
    known += [sentence for _, sentence, *_ in error_hints.STATEMENTS]
    lacking = [one for one in known if not any(row.sentence in one or row.sentence.endswith(one) for row in ROWS)]
    assert lacking == []
