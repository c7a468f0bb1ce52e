"""Each sentence that names a cause, an answer for which it is true and is said, and a near miss for which it is not."""

from __future__ import annotations

import ast
import contextlib
import datetime
import textwrap
from dataclasses import dataclass, field

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
        is_hidden: Whether it is graded by the hidden tests, not by the visible ones.
        others: Such code for other units, by their names.
        also: Other exercises that are tested. The other ones of the tested units are known to be right.
        is_notebook: Whether the code is the last cell of a notebook.
        without: Definitions that the solution lacks.
    """

    code: str
    exercise: str = "normalize_by_sum"
    is_hidden: bool = False
    others: dict[str, str] = field(default_factory=dict, hash=False)
    also: tuple[str, ...] = ()
    is_notebook: bool = False
    without: tuple[str, ...] = ()

    @property
    def unit(self) -> str:
        """The unit of the exercise."""
        return next(unit for unit, one in COURSE.units.items() if self.exercise in one.exercises)


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
GETS = "def normalize_by_sum(scores):\n    return Sum().get(scores, scores)\n"
CALLED = "def normalize_by_sum(scores):\n    return Sum()(scores)\n"
FIRST, SELF, RENORMALIZE = "simple_attention", "self_attention", "mask_then_renormalize"
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
LINE_OF_FORWARD = solution("self_attention", USES_SELF).splitlines().index("    def forward(x):") + 1
SCORES = 'def attention_scores({}):\n    """Takes `query` (d,) and `inputs` (T, d)."""\n    return {}\n'
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
# Sentences, code below the solution of the first unit for which one is said, and code for which it is not.
# The formatter would put each text on its own line.
# fmt: off
FILES = [
    # -- names ----------------------------------------------------------------------------------------------------
    ("Did you mean `scores`?",
     "def normalize_by_sum(scores):\n    return scors / scores.sum()",
     'def normalize_by_sum(x):\n    return scores / scores.sum()\nif __name__ == "__main__":\n'
     "    scores = torch.ones(2)"),
    ("It has a value only under `if __name__",
     'def normalize_by_sum(x):\n    return x / given.sum()\nif __name__ == "__main__":\n    given = torch.ones(2)',
     "def normalize_by_sum(scores):\n    return given / given.sum()"),
    ("It has a value only under `if __name__",
     "def normalize_by_sum(x):\n    return x / given.sum()\n"
     "if '__main__' == __name__ and torch.ones(2).sum() == 2:\n    given = torch.ones(2)",
     "def normalize_by_sum(x):\n    return x / given.sum()\nif x == '__main__':\n    given = 2"),
    ("Did you mean the unused argument `x`? Otherwise give it a value in this function.",
     'def normalize_by_sum(x):\n    return scores / scores.sum()\nif __name__ == "__main__":\n'
     "    scores = torch.ones(2)",
     'def normalize_by_sum(x):\n    return scores / x.sum()\nif __name__ == "__main__":\n    scores = torch.ones(2)'),
    ("Did you mean the unused argument",
     f"class Sum:\n    def get(self, x, y):\n        return scores + y\n{GETS}",
     f"class Sum:\n    def get(self, x, y=1):\n        return scores + x\n{GETS}"),
    ("Did you mean `self.total`?",
     "class Sum:\n    def __init__(self):\n        self.total = 0\n    def get(self):\n        return total\n"
     "def normalize_by_sum(scores):\n    return scores / Sum().get()",
     "def normalize_by_sum(scores):\n    scores.total = 1\n    return scores / total"),
    ("Give it a value in this function: names inside other functions do not exist here.",
     "def normalize_by_sum(scores):\n    def total():\n        summed = scores.sum()\n    return scores / summed",
     "division = lambda scores: scores / given\ndef normalize_by_sum(scores):\n    return division(scores)"),
    ("Add `import math` at the top of the file.",
     "def normalize_by_sum(scores):\n    return scores / math.fsum(scores)",
     'def normalize_by_sum(scores):\n    return scores / math.fsum(scores)\nif __name__ == "__main__":\n'
     "    import math"),
    ("The import of `math` in line",
     'def normalize_by_sum(scores):\n    return scores / math.fsum(scores)\nif __name__ == "__main__":\n'
     "    import math",
     "def normalize_by_sum(scores):\n    return scores / math.fsum(scores)"),
    ("The import of `math` in line",
     "def normalize_by_sum(scores):\n    return scores / math.fsum(scores)\ndef other():\n    import math",
     "def normalize_by_sum(scores):\n    return scores / math.fsum(scores)"),
    ("The import of `math` in line",
     "def normalize_by_sum(scores):\n    return scores / math.fsum(scores)\ntry:\n    import nothing_like_that\n"
     "    import math\nexcept ImportError:\n    pass",
     "def normalize_by_sum(scores):\n    return scores / math.fsum(scores)"),
    ("imports `fsum`: is it deleted afterwards?",
     "from math import fsum\nglobals().pop('fsum')\ndef normalize_by_sum(scores):\n    return scores / fsum(scores)",
     "import math\ndel math\ndef normalize_by_sum(scores):\n    return scores / math.fsum(scores)\n"
     "from math import fsum, nothing_like_that"),
    ("of simple_attention.py deletes `fsum`: remove it there.",
     "from math import fsum\nx = 1\ndel x, fsum\ndef normalize_by_sum(scores):\n    return scores / fsum(scores)",
     "import math\ndel math\ndef normalize_by_sum(scores):\n    return scores / math.fsum(scores)\n"
     "from math import fsum, nothing_like_that"),
    ("The import of `math` in line", "print(math.pi)\nimport math", "import math, nothing_like_that\nprint(math.pi)"),
    ("Give `total` a value before this line, on every way to it.",
     "if not torch:\n    total = 1\nprint(total)", "print(total)\ntotal = 1"),
    ("It gets its value below this line", "print(total)\ntotal = 1", "if not torch:\n    total = 1\nprint(total)"),
    ("It gets its value below this line", "print(below)\nbelow = 1", "print(below)\nbelow = nothing"),
    ("It is needed when the definition is read, before any call",
     "def other(x=nothing):\n    return x", "def other(x):\n    return nothing\nother(1)"),
    ("It is outside of every function: indent it if it belongs to one.",
     "def other(x):\n    total = x\nprint(total)", "def other(x):\n    return x\nprint(total)"),
    ("It is outside of every function: indent it if it belongs to one.",
     "return 3", "class Other:\n    size = nothing"),
    (error_hints.STDIN, "import sys\nint(sys.stdin.readline())", "import sys\nsys.stdin.read()\nint('one')"),
    (error_hints.STDIN, "import sys\nx = sys.stdin.read()\nfloat(x)", "import sys\nsys.stdin.read()\nfloat('x')"),
    (error_hints.STDIN, "import sys\nint(sys.stdin.readline())", "int('')"),
    (error_hints.RUNS_AT_ONCE,
     "import threading, time\nthreading.Thread(target=time.sleep, args=(60,)).start()",
     "import threading, time\ntime.sleep(60)"),
    # -- signs and comments of other languages ---------------------------------------------------------------------
    ("`&lt;` is HTML for `<`: type that.", "x = 1 &lt; 2", "x = '&lt;' +"),
    ("`&lt;` is HTML for `<`: type that.", "x = 1\ny = x &lt; x", "x = 1\ny = x & lt"),
    ("`&gt;` is HTML for `>`, and `&amp;` is HTML for `&`: type that.", "x = 2 &gt; 1 &amp; 3", "x = 2 > 1 & & 3"),
    ("A comment begins with `#` in each of its lines", "// the sum", "x = 4 // / 2"),
    ("A comment begins with `#` in each of its lines", "/* the sum", "x = / 2"),
    ("A comment begins with `#`: `//` divides.", "x = 1 // the sum", "x = 1 // 2 +"),
    ("A comment begins with `#`: `//` divides.", "x = 1 // here", "here2 = 2\nx = 1 // here"),
    ("Write a colon in place of the opening brace", "def other(x) {\n    return x\n}", "def other(x)\n    return x"),
    ("Write a colon in place of the opening brace", "while (x < 3) {\n    x += 1\n}", "while x in {\n    1 2\n}:"),
    ("If the `>` marks a quotation, delete it.", "> Note: use keepdim", "x = 1 > > 2"),
    ("If the `>` marks a quotation, delete it.", '> """', 'x = """'),
    (error_hints.COMMENT, "https://pytorch.org/docs", "https:/ pytorch.org/docs"),
    (error_hints.COMMENT, "[docs](https://pytorch.org)", "[1](x:y)"),
    (error_hints.COMMENT, "note: softmax of the scores", "note: softmax of (scores)"),
    (error_hints.COMMENT, "Let me know if you want more!", "x = 1 if 2"),
    (error_hints.COMMENT, "sum the scores", "print 'x'"),
    ("It belongs to no `if`, `for`, `while` or `try`: one must end directly above it",
     "def other(): ...\nelse:\n    x = 2", "if 1:\n    x = 1\nelse:\n    x = = 2"),
    ("It belongs to no `try`: one must end", "def other(): ...\nfinally:\n    x = 2", "x = 1\nfinally x:\n    x = 2"),
    ("Did you mean `import`?", "improt math", "improt is a word"),
    ("Did you mean `else`?", "if 0:\n    x = 1\nesle:\n    x = 2", "x = 1\nelse:\n    x = 2"),
    ("If it is code, write `else` in place of `Else`.", "if 0:\n    x = 1\nElse:\n    x = 2", "Else it fails"),
    ("All code from this line on is indented: move it to the left margin.",
     "def one():\n    return 1\n\n  def two():\n      return 2\n  x = 2",
     "def one():\n    return 1\n\n  def two():\n      return 2\nx = 2"),
    ("If it is from a notebook's file, open the notebook", '"x = 1\\n",\n    "y = 2\\n"', "x = 1\n    y = '2\\n'"),
    ("Indent all lines of this block with spaces", "if 1:\n        x = 1\n\ty = 2", "if 1:\n        x = 1\n    y = 2"),
    ("Delete it, and install packages in the terminal.", "!pip install einops", "!ls pipeline"),
    ("It is in 2 lines.", "x = [\n    1 ≤ 2,\n    2 ≤ 3,\n]", 'x = 1 ≤ 2  # 1 ≤ 3\n\'2 ≤ 3\'\n"""\n3 ≤ 4\n"""'),
    ("It is in 2 lines.", "x = 1 – 2\ny = 2 – 3", "x = 1 – 2\nIt’s done – I think"),
    ("write `x ** 0.5` for `√x`.", "x = 1 / √2", "x = 2²"),
    ("It begins a colour of a terminal", "\x1b[31mError\x1b[0m", "x = \x071"),
    # -- lines that are no code -----------------------------------------------------------------------------------
    ("The line is a Markdown fence, not code: delete it.", "~~~ python", "~~ python"),
    ("The line is a prompt, not code: delete it.", "In [3]: print(nothing)", "In: print(nothing)"),
    ("The line is printed output, not code: delete it.", "tensor([1., 2.])", "x = tensor([1., 2.])"),
    ("The line is a command for the terminal, not code", "cat > a.py << 'EOF'", "dog > a.py << 'EOF'"),
    (error_hints.COMMENT, "x = 1\n=======", "x = 1\n= 2"),
    ("Delete it, and type an empty line if you need one.", "\xa0", "x =\xa01"),
    ("Delete it.",
     'Traceback (most recent call last):\n  File "a.py", line 1\nTypeError: no', "Traceback: most recent call last"),
    ("Delete it, or begin each line of it with `#`.", "<!-- old\nx = 1\n-->", "<!--\nx = 1"),
    ("This line defines nothing: if it is a note, begin it with `#`.", "todo", "print(todo)"),
    ("This line defines nothing: if it is a note, begin it with `#`.", "done", "print(done)"),
    ("This line defines nothing: if it is a note, begin it with `#`.", "todo - later", "total = todo"),
    ("This line defines nothing: if it is a note, begin it with `#`.", "todo, maybe", "todo.later"),
    ("Nothing above gives it a value. If the line is text or output, delete it or begin it with `#`.",
     "Zeile(1)", "def other(x):\n    total = x\nprint(total)"),
    ("Add `from typing import Union` at the top of the file.", "Number = Union[int, float]", "Union"),
    ("Add `from typing import TypeVar` at the top of the file.", "T = TypeVar('T')", "T = torch.TypeVar('T')"),
    ("Add `from typing import Protocol` at the top of the file.", "class Sized(Protocol): ...", "Protocol"),
    ("Add `from typing import overload` at the top of the file.",
     "@overload\ndef other(): ...", "class X:\n    x = self.overload"),
    ("Add `from dataclasses import dataclass` at the top of the file.",
     "@dataclass\nclass Sizes: ...",
     "from dataclasses import dataclass, nothing_like_that\n@dataclass\nclass Sizes: ..."),
    # -- definitions in another place, and names with another value ------------------------------------------------
    ("which gives `normalize_by_sum` another value: use another name there.",
     "def normalize_by_sum(scores):\n    return scores / scores.sum()\n"
     "normalize_by_sum = normalize_by_sum(torch.ones(2))",
     "def normalize_by_sum(scores):\n    return scores / scores.sum(1, 2)\n"
     "normalize_by_sum = torch.no_grad()(normalize_by_sum)"),
    ("which gives `torch` another value: use another name there.",
     "def normalize_by_sum(scores):\n    return torch.exp(scores)\ntorch = None",
     "def normalize_by_sum(scores, torch=None):\n    return torch.exp(scores)\ntorch = None\nimport torch"),
    ("which gives `len` another value: use another name there.",
     "def normalize_by_sum(scores):\n    return scores / len(scores)\nlen = 2",
     'def normalize_by_sum(scores):\n    return scores / len(scores)(2)\nif __name__ == "__main__":\n    len = 2'),
    ("An earlier `normalize_by_sum` is used instead.",
     "def normalize_by_sum(scores) return scores", "total = 0\nfor total in [1]:\n    total += nothing"),
    # -- attributes -----------------------------------------------------------------------------------------------
    ("Did you mean `total`?",
     "class Sum:\n    def __init__(self):\n        self.total = 0\ndef normalize_by_sum(scores):\n"
     "    return scores / Sum().totl",
     "def normalize_by_sum(scores):\n    scores.total = scores.totl\n    return scores"),
    ("The class gives `total` a value: does that line run before this one?",
     "class Sum:\n    def add(self):\n        self.total = 0\ndef normalize_by_sum(scores):\n"
     "    return scores / Sum().total",
     "class Sum: ...\ndef normalize_by_sum(scores):\n    return scores / Sum().total"),
    # -- errors ---------------------------------------------------------------------------------------------------
    (error_hints.CALLS["input"], "name = input()", "raise EOFError  # as of input()"),
    (error_hints.CALLS["input"],
     "import sys\nsys.stdin.close()\ninput()",
     "import io\nfile = io.StringIO()\nfile.close()\nfile.read()  # not input()"),
    (error_hints.END, "exit()", "raise ValueError('SystemExit')"),
    (error_hints.END, "import os\nos._exit(0)", "raise ValueError('exit code')"),
    ("Begin `__init__` with `super().__init__()`.",
     "class Sum(torch.nn.Module):\n    def __init__(self):\n        self.layer = torch.nn.Linear(2, 2)\n"
     "def normalize_by_sum(scores):\n    return Sum().train() and scores",
     "class Sum(torch.nn.Module): ...\ndef normalize_by_sum(scores):\n"
     "    return scores._parameters.train() and scores"),
    ("Begin `__init__` with `super().__init__()`.",
     "class Sum(torch.nn.Module):\n    def __init__(self):\n        pass\ndef normalize_by_sum(scores):\n"
     "    return Sum().train() and scores",
     "class Sum(torch.nn.Module): ...\ndef normalize_by_sum(scores):\n"
     "    return scores._parameters.train() and scores"),
    ("Something in this line is None: is it `total`, whose default is None?",
     "def normalize_by_sum(scores, total=None):\n    return scores / total",
     "def normalize_by_sum(scores, total=None):\n    return scores / print()"),
    ("Define `forward` in the class",
     f"class Sum(torch.nn.Module):\n    def froward(self, x): ...\n{CALLED}",
     f"class Sum(torch.nn.Module):\n    def forward(self, x):\n        return super().forward(x)\n{CALLED}"),
    ("defines `forward` at the left margin: indent it as a method of `Sum`.",
     f"class Sum(torch.nn.Module): ...\ndef forward(self, x): ...\n{CALLED}",
     f"class Sum(torch.nn.Module): ...\nclass Other(torch.nn.Module): ...\ndef forward(self, x): ...\n{CALLED}"),
    ("defines `forward` inside `__init__`: indent it as a method of `Sum`.",
     "class Sum(torch.nn.Module):\n    def __init__(self):\n        super().__init__()\n"
     f"        def forward(self, x): ...\n{CALLED}",
     "class Sum(torch.nn.Module):\n    def __init__(self):\n        super().__init__()\n"
     f"        def froward(self, x): ...\n{CALLED}"),
    ("`super` lacks its brackets, as in `super().__init__()`.",
     f"class Sum(torch.nn.Module):\n    def __init__(self):\n        super.__init__()\n{CALLED}",
     f"class Sum(torch.nn.Module):\n    def __init__(self):\n        super().init()\n{CALLED}"),
    ("`super` lacks its brackets, as in `super().__init__()`.",
     f"class Sum(torch.nn.Module):\n    def __init__(self):\n        super.__init__(self)\n{CALLED}",
     f"class Sum(torch.nn.Module):\n    def __init__(self):\n        super().init()\n{CALLED}"),
    ("`super` lacks its brackets, as in `super().__init__()`.",
     f"class Sum(torch.nn.Module):\n    def __init__(self):\n        super.init()\n{CALLED}",
     f"class Sum(torch.nn.Module):\n    def __init__(self):\n        super().init()\n{CALLED}"),
    ("nn.Module has no `forward` of its own",
     f"class Sum(torch.nn.Module):\n    def forward(self, x):\n        return super().forward(x)\n{CALLED}",
     f"class Sum(torch.nn.Module):\n    def froward(self, x): ...\n{CALLED}"),
    ("The arguments of the `def` and of the call differ: compare them.",
     "def total(x): ...\ndef normalize_by_sum(scores):\n    return total(scores, scores)",
     "def normalize_by_sum(scores):\n    return torch.softmax(scores)"),
    ("A method has `self` first.",
     f"class Sum(torch.nn.Module):\n    def forward(x):\n        return x\n{CALLED}",
     f"class Sum(torch.nn.Module):\n    def forward(self):\n        return 0\n{CALLED}"),
    ("compare them. `self` is counted too.",
     f"class Sum(torch.nn.Module):\n    def forward(self):\n        return 0\n{CALLED}",
     f"class Sum(torch.nn.Module):\n    def forward(self, x, y):\n        return x\n{CALLED}"),
    ("The tests call it with the arguments of the stub: keep those in the `def`.",
     "def normalize_by_sum(): ...", "def normalize_by_sum(x):\n    normalize_by_sum()"),
    ("Delete it: notebook commands do not work here.", "%matplotlib inline", "x = (5\n% 3\n) = 2"),
    ("a Markdown fence. Delete it.", "```", "x = '```"),
    ("Delete the prompt at the beginning of the line.", ">>> x = 1", "x >>> 1"),
    ("Delete it, and run it in the terminal.", "pip install einops", "pip = install einops"),
    ("Delete it, after you have decided which version of the code to keep.", "<<<<<<< HEAD", "x = 1 <<<<<<< 2"),
    ("Keep one version, and delete the lines with `<<<<<<<`, `=======` and `>>>>>>>`.",
     "<<<<<<< HEAD\nx = 1\n=======\nx = 2\n>>>>>>> main", "======="),
    (error_hints.COMMENT, "This is my answer", "for x in range(3)"),
    (error_hints.COMMENT, "It’s done – I think", "total = 1 – 2"),
    (error_hints.COMMENT, "Scores – weights", "x = max(1,\n    Scores – 1）"),
    ("Delete it, and run it in the terminal.", "(base) ana@laptop:~/course$ ls 'a", "ana@laptop = 'a"),
    ("Delete it, and run it in the terminal.", "C:\\Users\\ana> python a.py", "C = \\Users"),
    ("Delete it: notebook commands", "torch.softmax?", "is this right?"),
    ("Delete it, after you have decided", "<<<<<<<HEAD", "x <<<<<<<HEAD"),
    ("If it is no part of your code, delete it.", ".:", "x .:"),
    ("Is something missing at the end of the line?", "x = 1 +", "x = = 1"),
    ("The quote in it opens a string that does not end", '"', "It's my answer"),
    ("Nothing may follow a `\\`, which joins two lines.", "\\begin{equation}", "x = 1 +"),
    (error_hints.COMMENT, "$$mathrm{softmax}(x)$$", "x = $"),
    ("If it is code, write `def` in place of `Def`.", "Def other(x):\n    return x", "Def is a word"),
    ("If it is code, write `def` in place of `function`.", "function other(x):\n    return x", "function of x"),
    ("If it is code, write `import` in place of `Import`.", "Import math", "Importing math now"),
    ("Begin it at the left margin.",
     "def one():\n    return 1\n\n\n  def two():\n      return 2",
     "class Other:\n    def one(self): ...\n      def two(self): ..."),
    ("Begin it at the left margin.", "import math\n    half = 0.5", "half = 0.5\n    + 1"),
    # -- lines that are not Python --------------------------------------------------------------------------------
    ("Put a colon at the end of the line.",
     "def other()\n    return 1", "x = 1\nif x > 1:\n    x = 2\nelse if x:\n    x = 3"),
    ("Put a colon before `return 1`.", "def other() return 1", "def other()\n    return 1"),
    ("Put a colon before `# one`.", "def x()  # one\n    return 1", "def x()\n    return 1  # one"),
    ("Put a colon at the end", "def other(\n    x)\n    return 1", "def other() return 1"),
    ("Write `elif`.", "x = 1\nif x > 1:\n    x = 2\nelse if x:\n    x = 3", "if 1:\n    x = 1\nelse\n    x = 2"),
    ("that belong to it.", "def other():\nreturn 1", "x = 1\n  + 2"),
    ("Indent it like the other lines of its block.", "x = 1\n  + 2", "def other():\nreturn 1"),
    ("Count the brackets here", "x = (1", "x = 1 +"),
    ("Count the brackets here", "def other(\n    x,\n    (\n):\n    pass", "def x(\n    y,\n）:\n    pass"),
    ("`）` (fullwidth right parenthesis) is not Python: type `)`.",
     "def other(\n    x,\n）:\n    pass", 'def other(\n    x="）",\n:\n    pass'),
    # -- what is not written, not returned or not defined ---------------------------------------------------------
    ("`normalize_by_sum` is defined in lines 371 and 373 of simple_attention.py: only the last one counts.",
     "def normalize_by_sum(x):\n    return x\ndef normalize_by_sum(y):\n    return y * 2",
     "def normalize_by_sum(x):\n    return x\ndef normalize_by_sum(x, y=nothing):\n    return x"),
    ("normalize_by_sum is not defined. The cause is line",
     "def normalize_by_sum(scores, x=nothing): ...", "def softmax_naive(x, y=nothing): ...\ndel normalize_by_sum"),
    # -- the form of an exercise ----------------------------------------------------------------------------------
    ("gives a coroutine, because it begins with `async`: delete `async`.",
     f"async {NORMALIZED}",
     "def normalize_by_sum(scores):\n    async def other():\n        return scores\n    return scores"),
    ("gives a coroutine, because it begins with `async`: delete `async`.",
     f"async {NORMALIZED}", "def other():\n    0"),
]
# The same of the body of `normalize_by_sum(scores)`.
BODIES = [
    ("Did you mean `torch.exp` or `math.exp`?", "return exp(scores)", "return exp / exp.sum()"),
    ("Did you mean `nn.Softmax`?", "return Softmax(0)(scores)", "return softmx(scores)"),
    ("Did you mean `input", "input1 = scores\nreturn scores / inputt.sum()", "return scores / inputs.sum()"),
    ("Did you mean `inner`?",
     "inner = scores.sum()\nreturn scores / innr", "def total(inner):\n    return inner\nreturn scores / innr"),
    ("Give `total` a value before this line, on every way to it.",
     "if scores.sum() > 1e6:\n    total = scores.sum()\nreturn scores / total", "return scores / total"),
    ("Did you mean `sum`?", "return scores / scores.Sum()", "return scores / scores.samples()"),
    ("Did you mean `exponential", "return scores.exponentia_()", "return scores.exponential()"),
    ("Did you mean `exp`?", "return torch.expo(scores)", "return torch.nothing_like_that(scores)"),
    (error_hints.CALLS["open"], "open('scores.txt')", "import numpy as np\nreturn np.load('scores.npy')  # not open()"),
    (error_hints.CALLS["input"], "input()", "raise EOFError  # as of input()"),
    (error_hints.END, "raise SystemExit", "raise KeyboardInterrupt"),
    ("A tensor in this line is too large for the memory: check its sizes.",
     "return torch.ones(10**6, 10**6)", "raise RuntimeError('you tried to allocate it')"),
    (error_hints.BREAKPOINT,
     "breakpoint()\nreturn scores", "from pathlib import Path\nPath('breakpoint()').read_text()"),
    ("With a dim, torch's `max`", "return scores / scores.max(0)", "return scores / torch.linalg.qr(scores[None])"),
    ("A plain number is no tensor", "return torch.exp(2)", "return torch.exp('2')"),
    ("Something in this line is None: does every function that it uses `return` its result?",
     "def total():\n    scores.sum()\nreturn scores / total()", "return scores / [scores.sum()]"),
    ("An `nn.ModuleList` only holds modules",
     "return torch.nn.ModuleList([torch.nn.Softmax(0)])(scores)", "return torch.nn.Module()(scores)"),
    ("A parameter is changed inside `with torch.no_grad():`",
     "weight = torch.nn.Parameter(torch.ones(2))\nweight += 1\nreturn scores", "raise RuntimeError('a leaf')"),
    ("The tensors in this line have different dtypes",
     "return scores @ torch.ones(len(scores), 1).double()",
     "return torch.nn.functional.cross_entropy(scores[None], torch.ones(1))"),
    ("Dims count from 0, so the last of two is dim 1, or -1. Counted from the end, they fit any number of dims.",
     "return scores / scores.sum(dim=1)", "return scores / scores[len(scores)]"),
    ("A function calls itself again and again", "return normalize_by_sum(scores)", "return [scores] * 10**9"),
    ("`shape` is no function", "return scores / scores.shape()", "return scores / scores.dtype()"),
    ("Use `reshape` in place of `view`", "return torch.ones(2, 3).T.view(-1)", "return torch.ones(2, 3).view(-1, 5)"),
    ("Something in this line is a tuple: unpack it first",
     "return (scores, 1).sum()", "return scores.shape.nothing_like_that"),
    ("Something in this line is a list: make a tensor", "return [1, 2].sum()", "return {1: 2}.sum()"),
    (error_hints.NUMPY,
     "import numpy as np\nreturn scores / np.sum(scores, axis=0, keepdims=True)",
     "import numpy as np\nreturn scores.sum(total=1) / np.sqrt(2)"),
    (error_hints.NO_GPU[1], "return (scores / scores.sum()).cuda()", "cuda = scores.sum(1)\nreturn scores / cuda"),
    ("arguments from the 'MPS' backend. There is no GPU while grading: delete what asks for one",
     "return scores / torch.ones(2, device='mps')", "raise NotImplementedError('mps')"),
    ("not written yet", '"""Text."""\nraise NotImplementedError()', "return torch.softmax(scores.long(), 0)"),
    ("raises NotImplementedError: write what this case needs.",
     "if len(scores) > 1:\n    raise NotImplementedError()\nreturn scores / scores",
     "raise NotImplementedError('no such dim')"),
    ("It raised a NotImplementedError: no such dim.",
     "raise NotImplementedError('no such dim')", "raise NotImplementedError"),
    ("still raises NotImplementedError: delete it.",
     "raise NotImplementedError\nreturn scores",
     "if len(scores) > 1:\n    raise NotImplementedError()\nreturn scores / scores"),
    ("still raises NotImplementedError: delete it.",
     "x = 1\nraise NotImplementedError()", '"""Text."""\nraise NotImplementedError()'),
    ("It needs `part`, which is not written yet.",
     "def part():\n    raise NotImplementedError()\nreturn part()", "x = 1\nraise NotImplementedError()"),
    ("`normalize_by_sum` has no `return`.", "scores / scores.sum()", "if len(scores) < 1:\n    return scores"),
    ("Is there a `return` on every way through it?", "if len(scores) < 1:\n    return scores", "return scores * 2"),
    ("ends the loop in its first pass: is it indented too far?",
     "for score in scores:\n    return scores / score",
     "for score in scores:\n    if score < 1:\n        continue\n    return scores * 2\nreturn scores * 3"),
    ("Check `.detach()` in line", "return (scores / scores.sum()).detach()", "return (scores / scores.sum()).sign()"),
    ("Check `torch.inference_mode()` in line",
     "with torch.inference_mode():\n    return scores / scores.sum()",
     "with torch.inference_mode():\n    scores.sum()\nreturn (scores / scores.sum()).sign()"),
    ("although the result depends on it. Do not cut it off",
     "return scores / scores.sum().detach()", "return scores / scores.sum() + torch.rand(())"),
    ("Two calls with the same arguments have different results.",
     "return scores / scores.sum() + torch.rand(())", "return scores / scores.sum().detach()"),
    ("A new tensor needs the dtype of the argument",
     "return scores / scores.sum() @ torch.eye(len(scores))", "return scores / scores.sum() + torch.rand(())"),
    ("gives a generator, because of the `yield` in line",
     "yield scores / scores.sum()", "def parts():\n    yield 2\nreturn scores * next(parts())"),
]
# The same of a file without the solution's `normalize_by_sum`.
LACKING = [
    ("defines it inside the `if` of line",
     "if torch.cuda.is_available():\n    def normalize_by_sum(scores):\n        return scores / scores.sum()",
     "if True:\n    def normalize_by_sum(scores):\n        return scores"),
    ("defines it inside the `async with` of line",
     "async def other():\n    async with x:\n        def normalize_by_sum(scores):\n"
     "            return scores / scores.sum()",
     "async def other():\n    async with x:\n        def other(): ..."),
    ("defines it inside the `async for` of line",
     "async def other():\n    async for x in y:\n        def normalize_by_sum(scores):\n"
     "            return scores / scores.sum()",
     "async def other():\n    async for x in y:\n        def other(): ..."),
    ("defines it inside the `try` of line",
     "if False:\n    try:\n        def normalize_by_sum(scores):\n            return scores / scores.sum()\n"
     "    except* ValueError: ...",
     "if False:\n    try:\n        def other(): ...\n    except* ValueError: ..."),
    ("defines it inside the `try` of line",
     "if True:\n    try: ...\n    except* ValueError:\n        def normalize_by_sum(scores):\n"
     "            return scores / scores.sum()",
     "if True:\n    try: ...\n    except* ValueError:\n        def other(): ..."),
    ("defines it inside the `match` of line",
     "match 1:\n    case 2:\n        def normalize_by_sum(scores):\n            return scores / scores.sum()",
     "match 1:\n    case 2:\n        def other(): ..."),
    ("defines it inside the class `Sums` of line",
     "class Sums:\n    def normalize_by_sum(self, scores): ...", "class Sums:\n    def normalise(self, scores): ..."),
    ("move it to the left margin and delete `self`.",
     "class Sums:\n    def normalize_by_sum(self, scores): ...", "class Sums:\n    def normalize_by_sum(scores): ..."),
    ("normalize_by_sum is not defined. The cause is line",
     "Def normalize_by_sum(scores):\n    return scores", "The normalize_by_sum(scores) is right"),
    ("normalize_by_sum is not defined. The cause is line",
     "dfe normalize_by_sum(scores):\n    return scores", "Def other(scores):\n    return scores"),
    ("normalize_by_sum is not defined. The cause is line",
     "def normalize\xad_by_sum(x): ...", "def normalize\xad_by(x): ..."),
    ("normalize_by_sum is not defined. The cause is line",
     "> def normalize_by_sum(scores):\n>     return scores", "> normalize_by_sum(scores)"),
    ("of simple_attention.py defines it in a comment: delete the `#` there.",
     "# def normalize_by_sum(scores):\nx = 1", "# def normalize_by(scores):\n# with normalize_by_sum(scores)"),
    ("It is only in the string that begins in line",
     "'''\ndef normalize_by_sum(scores):\n    return scores\n'''", "'normalize_by_sum(scores) is below'"),
    ("It is only in the string that begins in line",
     "b'x = 1\\ndef normalize_by_sum(s): ...'", "'normalize_by_sum(scores) is below'"),
]
ROWS = [
    *((sentence, Answer(said), Answer(not_said)) for sentence, said, not_said in FILES),
    *((sentence, of(said), of(not_said)) for sentence, said, not_said in BODIES),
    *((sentence, Answer(said, without=LACKS), Answer(not_said, without=LACKS)) for sentence, said, not_said in LACKING),
    ("Did you mean one of the unused arguments `q` and `x`?",
     Answer("def attention_scores(q, x):\n    return inputs @ query\n", "attention_scores"),
     Answer("def attention_scores(q, x):\n    return inputs @ x\n", "attention_scores")),
    ("Did you mean `layer`?",
     Answer(RESIDUAL, "Residual"), Answer(RESIDUAL.replace(" = sublayer", " = layer"), "Residual")),
    ("Did you mean `self.sublayer`?",
     Answer(RESIDUAL.replace("= sublayer", "= layer\n        sublayer"), "Residual"), Answer(RESIDUAL, "Residual")),
    ("defines it inside the function `other` of line",
     Answer(f"def other():\n    pass\n{textwrap.indent(NORMALIZED, '    ')}", without=LACKS),
     Answer(f"def other():\n{textwrap.indent(NORMALIZED, '    ')}def normalize_by_sum(x):\n    return x\n")),
    ("deletes it: remove `normalize_by_sum` there.",
     Answer("del normalize_by_sum\n"), Answer("if not torch:\n    del normalize_by_sum\n", without=LACKS)),
    ("deletes it: remove `normalize_by_sum` there.",
     Answer("del normalize_by_sum\n"), Answer(f"{MAIN}\n    del normalize_by_sum\n", without=LACKS)),
    ("of self_attention.py defines it: write it in simple_attention.py.",
     Answer("", others={SELF: NORMALIZED}, without=LACKS),
     Answer("def normalize_by_sum(x):\n    return x\n", others={SELF: NORMALIZED})),
    ("simple_attention.py defines the exercises of causal_attention: is it the wrong file?",
     Answer(OF_UNIT_3, without=tuple(COURSE.units[FIRST].exercises)), Answer(OF_UNIT_3, without=LACKS)),
    ("The files are in one folder: write `from simple_attention import softmax_stable`.",
     Answer("from .simple_attention import softmax_stable\n", "project_qkv", others={FIRST: ""}),
     Answer("from .softmax import softmax_stable\n", "project_qkv", others={FIRST: ""})),
    ("The files are in one folder: write `from simple_attention import softmax_stable`.",
     Answer("from exercises.simple_attention import softmax_stable\n", "project_qkv", others={FIRST: ""}),
     Answer("from simple_attention.exercises import softmax_stable\n", "project_qkv", others={FIRST: ""})),
    ("The files are in one folder: write `import simple_attention`.",
     Answer("from . import simple_attention\n", "project_qkv", others={FIRST: ""}),
     Answer("from . import softmax\n", "project_qkv", others={FIRST: ""})),
    ("The files are in one folder: write `import simple_attention as first`.",
     Answer("import exercises.simple_attention as first\n", "project_qkv", others={FIRST: ""}),
     Answer("import exercises.softmax as first\n", "project_qkv", others={FIRST: ""})),
    ("Did you mean `softmax_stable`?",
     Answer("from simple_attention import softmax_stabel\n", "project_qkv", others={FIRST: ""}),
     Answer("from simple_attention import softmax_stable\n", "project_qkv", others={FIRST: LOST_SOFTMAX})),
    ("Did you mean `simple_attention`?",
     Answer("from simple_atention import softmax_stable\n", "project_qkv", others={FIRST: ""}),
     Answer("from simple_attention import softmax_stable\n", "project_qkv")),
    ("The tests call it with the arguments of the stub: keep those in the `def`.",
     Answer(V1.replace("self, inputs", "self, x, mask"), "SelfAttention_v1"), Answer(WITHOUT_SELF, "SelfAttention_v2")),
    (f"`forward` in line {LINE_OF_FORWARD} lacks `self`, the first argument of a method.",
     Answer(USES_SELF, "SelfAttention_v2"), Answer(WITHOUT_SELF, "SelfAttention_v2")),
    ("begins with another argument than `self`, the first argument of a method.",
     Answer(USES_SELF.replace("(x)", "(x, self)"), "SelfAttention_v2"),
     Answer(USES_SELF.replace("(x)", "(self, x, y)"), "SelfAttention_v2")),
    ("Use torch's functions in place of numpy's: a numpy array has no gradients.",
     of("return torch.tensor(scores.numpy() / scores.numpy().sum())", is_hidden=True), of("return scores.numpyy()")),
    ("Delete that line if the code below it is part of your answer.",
     Answer("%%bash\nls\n", is_notebook=True), Answer("%%time\nx = = 1\n", is_notebook=True)),
    ("It needs `softmax_stable`, which is not written yet.",
     Answer(f"def softmax_naive(x, dim=-1):\n    return softmax_stable(x, dim)\n{STUB}", "softmax_naive"),
     Answer(f"def softmax_naive(x, dim=-1):\n    raise NotImplementedError()\n{STUB}", "softmax_naive")),
    ("Is there a `return` on every way through `forward`?",
     Answer(V1.replace("return inputs", "if not inputs.any():\n            return inputs"), "SelfAttention_v1"),
     Answer(V1.replace("return inputs", "print()"), "SelfAttention_v1")),
    ("Your file defines `normalise_by_sum`: rename it to `normalize_by_sum`.",
     Answer("def normalise_by_sum(scores): ...\n", without=LACKS),
     Answer("def normalise_by_sum(scores): ...\ndef normalize_by_sum(scores, x=nothing): ...\n")),
    *(("Write them after `return`, with commas between them.",
       Answer(PROJECT.replace("(q, k, v)", "{1: q, 2: k, 3: v}"), "project_qkv", is_hidden=is_hidden),
       Answer(PROJECT.replace("(q, k, v)", "(q, k)"), "project_qkv", is_hidden=is_hidden))
      for is_hidden in (False, True)),
    ("that is near 4000, the number of pairs.",
     Answer(VARIANCE.replace("samples, d_k)", "d_k, samples)"), "dot_product_variance"),
     Answer(VARIANCE.replace(".sum(-1)", ""), "dot_product_variance")),
    ("Your class assigns `self.W_queries`: rename it to `self.W_query`.",
     Answer(V1.replace("W_query", "W_queries"), "SelfAttention_v1", is_hidden=True),
     Answer(V1, "SelfAttention_v1", is_hidden=True)),
    ("Your class assigns",
     Answer(V1.replace("W_query", "W_queries"), "SelfAttention_v1", is_hidden=True),
     Answer(V1.replace("W_query", "matrix"), "SelfAttention_v1", is_hidden=True)),
    ("is only a variable of `__init__`: write `self.W_query`.",
     Answer(V1.replace("self.W_query", "W_query"), "SelfAttention_v1"),
     Answer(V1.replace("self.W_query =", "#").replace("return", "W_query = 1\n        return"), "SelfAttention_v1")),
    ("Your class assigns `self.W_queries`: rename it to `self.W_query`.",
     Answer(V1.replace("W_query", "W_queries"), "SelfAttention_v1"),
     Answer(V1.replace("W_query", "matrix"), "SelfAttention_v1")),
    ("It is a class that is not called, not an nn.Module.",
     Answer(BLOCK.replace("LayerNorm(emb_dim)", "LayerNorm"), "TransformerBlock"),
     Answer(BLOCK.replace("LayerNorm(emb_dim)", "sum"), "TransformerBlock")),
    ("Make `self.W_query` with `nn.Parameter(…)` in `__init__`.",
     Answer(V1.replace("nn.Parameter", ""), "SelfAttention_v1", is_hidden=True),
     Answer(V1.replace("W_query", "matrix"), "SelfAttention_v1", is_hidden=True)),
    ("No gradient flows back from the result.",
     of("return (scores / scores.sum()).detach()"), Answer(IN_FORWARD, "SelfAttention_v1")),
    *((sentence,
       Answer(PROJECTED.format("three, two, one"), "project_qkv", is_hidden=is_hidden),
       Answer(PROJECTED.format("two, two, three"), "project_qkv", is_hidden=is_hidden))
      for is_hidden, sentence in {
          False: "`project_qkv` should return queries, keys, values in this order; your third result is what the",
          True: "The order of the results is wrong; your third result is what the first should be.",
      }.items()),
    ("The results are returned in another order: check the `return`.",
     Answer(PROJECTED.format("two, one, three"), "project_qkv"),
     Answer(PROJECTED.format("two, two, three"), "project_qkv")),
    ("`sample_batch` should return idx, targets in this order",
     Answer(BATCH.format("len(data) - block_size", "data[places + 1], data[places]"), "sample_batch"),
     Answer(BATCH.format("len(data) - block_size", "data[places], data[places - 1]"), "sample_batch")),
    ("`torch.randint(high, …)` draws numbers below `high`: choose it so that all indices fit.",
     Answer(BATCH.format("len(data)", "data[places], data[places + 1]"), "sample_batch"),
     Answer(BATCH.format("3", "data[places + 0.5], data[places + 1]"), "sample_batch")),
    ("have each been divided by the sum of another row.",
     Answer("def mask_then_renormalize(x):\n    x = x.tril()\n    return x / x.sum(-1)\n", RENORMALIZE),
     Answer("def mask_then_renormalize(x):\n    x = x.tril()\n    return x / x.sum(0)\n", RENORMALIZE)),
    ("is there one division by its root too many, or is it one by another root?",
     Answer(UNSCALED.replace(", dim", " / keys.shape[-2] ** 0.5, dim"), "scaled_dot_product_attention"),
     Answer(TWICE_SCALED, "head_scores")),
    ("`forward` in line",
     Answer(RESIDUAL.replace(" = sublayer", " = layer").replace("return", "yield"), "Residual"),
     Answer(f"{PARTS}    def parts(self, x):\n        yield x\n", "Residual")),
    ("takes its arguments in another order than its docstring says: write `(query, inputs)`.",
     Answer(SCORES.format("inputs, query", "inputs @ query"), "attention_scores"),
     Answer(SCORES.format("query, inputs", "query @ inputs"), "attention_scores")),
    ("It takes only the module, and needs no width",
     Answer(RESIDUAL.replace("self, layer", "self, width, layer"), "Residual", is_hidden=True),
     Answer(RESIDUAL.replace("__init__(self", "_init_(self"), "Residual", is_hidden=True)),
    ("`torch.no_grad` and `.detach()` are for using a trained model.",
     Answer(PROJECT.replace("(q, k, v)", "q.detach(), k.detach(), v.detach()"), "project_qkv", is_hidden=True),
     Answer(f"torch.set_grad_enabled(False)\n{PROJECT}", "project_qkv", is_hidden=True)),
    ("If these shapes are right",
     Answer(SCORES.format("query, inputs", "query @ inputs"), "attention_scores"),
     Answer(SCORES.format("inputs, query", "inputs @ query"), "attention_scores")),
    ("Depends on `SelfAttention_v2`; fix that first.",
     Answer(f"{BROKEN_V2}{USES_V2}", "transfer_weights", also=("SelfAttention_v2",)),
     Answer(f"{BROKEN_V2}{UNTRANSPOSED}", "transfer_weights", also=("SelfAttention_v2",))),
    ("Some of its tests need `SelfAttention_v2`, which is not right yet.",
     Answer(f"{BROKEN_V2}{UNTRANSPOSED}", "transfer_weights", also=("SelfAttention_v2",)),
     Answer(UNTRANSPOSED, "transfer_weights", also=("SelfAttention_v2",))),
    ("Some of its tests need `unroll_heads`, which is not right yet.",
     Answer(INTERLEAVED, "MultiHeadAttention", also=("unroll_heads", "split_heads")),
     Answer(INTERLEAVED, "split_heads", also=("unroll_heads",))),
    ("done",
     Answer(UNSCALED, "transfer_weights", also=OF_V2),
     Answer(f"{UNSCALED}{BROKEN_V2}", "transfer_weights", also=OF_V2)),
]
# fmt: on


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
    ("the masked tensor was not used", Answer(UNMASKED, "CausalAttention", is_hidden=True)),
    ("Make each matrix an nn.Parameter, in its", Answer(IN_FORWARD, "SelfAttention_v1", is_hidden=True)),
    ("printed the result", Answer("def dot_product(a, b):\n    sum(a)\n", "dot_product", is_hidden=True)),
    ("This is torch's own dropout", Answer(BY_RAND_LIKE, "attention_dropout", is_hidden=True)),
    ("they have other names, are in", Answer(IN_FORWARD, "SelfAttention_v1", is_hidden=True)),
    ("come from torch's global generator", Answer(SEEDED, "dot_product_variance", is_hidden=True)),
    ("drawn once, when the module is made.", Answer(SEED_IN_FORWARD, "CausalAttention", is_hidden=True)),
    ("`torch.sqrt` takes no plain number", Answer(WITHOUT_SELF, "SelfAttention_v2", is_hidden=True)),
    ("Use tensor.detach().numpy()", of("return torch.tensor(scores.numpy())", is_hidden=True)),
    ("`About`", Answer(KEEPS_ALL, "attention_dropout")),
    (
        "Depends on",
        Answer("del softmax_stable\nfrom .simple_attention import softmax_stable\n", "scaled_dot_product_attention"),
    ),
    (
        "raises this when line",
        Answer(f"{MASKS}torch.set_default_device('cuda')\n", RENORMALIZE, is_hidden=True, also=("causal_mask",)),
    ),
    ("stays in force", Answer("total = 0\nfor total in [1]:\n    total += nothing\n")),
]


@pytest.fixture(scope="module")
def said() -> dict[Answer, str]:
    """What the reports of all these answers say: each answer is graded once."""
    answers = list(dict.fromkeys(answer for _, *both in ROWS for answer in both))
    answers += [answer for _, answer in UNTRUE]
    found: dict[Answer, str] = {}
    for suites in ("visible", "hidden"):
        graded = [answer for answer in answers if answer.is_hidden == (suites == "hidden")]
        with Engine(COURSE, suites=suites) as engine:
            criteria, now = engine.handshake().criteria, datetime.datetime.now(datetime.UTC)
            rubric = Rubric(criteria, {}, suites)
            for one, result in engine.turns(2).all(map(submission, range(len(graded)), graded)):
                assert isinstance(result, Result), result
                report = make_report(one, result, rubric, COURSE, {}, {}, now)
                answer = graded[int(one.student)]
                entry = next(entry for entry in entries(report) if entry.name == answer.exercise)
                texts = [sentence_of(message) for message in report.messages if message.kind != "printed"]
                texts += [entry.state, *(line.text for line in entry.feedback())]
                found[answer] = "\n".join(texts)
    return found


@pytest.mark.parametrize(("sentence", "answer", "near_miss"), ROWS, ids=lambda one: one if isinstance(one, str) else "")
def test_a_sentence_is_said_of_an_answer_for_which_it_is_true_and_not_of_a_near_miss(
    said: dict[Answer, str], sentence: str, answer: Answer, near_miss: Answer
) -> None:
    assert sentence in said[answer]
    assert said[near_miss]
    assert sentence not in said[near_miss]


@pytest.mark.parametrize(("sentence", "answer"), UNTRUE, ids=lambda one: one if isinstance(one, str) else "")
def test_a_sentence_that_was_untrue_of_an_answer_is_not_said(
    said: dict[Answer, str], sentence: str, answer: Answer
) -> None:
    assert "in progress" in said[answer] or "raised" in said[answer].lower()
    assert sentence not in said[answer]


def test_the_table_has_every_hint() -> None:
    known = [*error_hints.CALLS.values(), error_hints.NUMPY, error_hints.COMMENT]
    known += [sentence for _, sentence in error_hints.TEXTS]
    known += [sentence for _, sentence, *_ in error_hints.STATEMENTS]
    lacking = [one for one in known if not any(row[0] in one or row[0].endswith(one) for row in ROWS)]
    assert lacking == []
