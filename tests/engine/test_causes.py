"""Each sentence that names a cause, an answer for which it is true and is said, and a near miss for which it is not."""

from __future__ import annotations

import ast
import datetime
import textwrap
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

import pytest
from courses import COURSE, REPOSITORY

from grader.engine import hints
from grader.engine.client import Engine
from grader.reports.reading import entries, sentence_of
from grader.reports.results import Result
from grader.reports.scoring import Rubric, make_report
from grader.submissions.source import Submission, UnitSource, UnitSubmission


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
    """

    code: str
    exercise: str = "normalize_by_sum"
    unit: str = "simple_attention"
    is_hidden: bool = False
    others: dict[str, str] = field(default_factory=dict, hash=False)
    also: tuple[str, ...] = ()


class Row(NamedTuple):
    """A sentence, or its beginning, an answer for which it is true, and one for which it must not be said."""

    sentence: str
    said: Answer
    not_said: Answer


def of(body: str, **more: object) -> Answer:
    """An answer to normalize_by_sum with this body."""
    return Answer(f"def normalize_by_sum(scores):\n{textwrap.indent(body, '    ')}\n", **more)  # type: ignore[arg-type]


def solution(unit: str, code: str) -> str:
    source = (REPOSITORY / "solutions" / f"{unit}.py").read_text(encoding="utf-8")
    try:
        own = {getattr(node, "name", ""): node for node in ast.parse(code).body}
    except SyntaxError:
        own = {}
    for node in reversed(ast.parse(source).body):
        if getattr(node, "name", None) in own:
            lines = source.splitlines(keepends=True)
            source = "".join([*lines[: node.lineno - 1], *lines[node.end_lineno :]])
    return f"{source}\n\n{code}\n"


def submission(number: int, answer: Answer) -> Submission:
    changed = {**answer.others, answer.unit: answer.code}
    sources = {unit: UnitSource(f"{unit}.py", (solution(unit, code),)) for unit, code in changed.items()}
    tested = {answer.exercise, *answer.also}
    units = {unit for unit in changed if tested & COURSE.units[unit].exercises.keys()}
    return Submission(
        str(number),
        Path(),
        None,
        {unit: UnitSubmission(sources[unit]) for unit in COURSE.units if unit in units},
        {unit: source for unit, source in sources.items() if unit not in units},
        untested=tuple(one for unit in units for one in COURSE.units[unit].exercises if one not in tested),
    )


MAIN = 'if __name__ == "__main__":'
CALLED = "def normalize_by_sum(scores):\n    return Sum()(scores)\n"
ELSE_IF = "x = 1\nif x > 1:\n    x = 2\nelse if x:\n    x = 3\n"
FIRST, SELF, CAUSAL, HEADED = "simple_attention", "self_attention", "causal_attention", "multi_head_attention"
BROKEN_SOFTMAX = "def softmax_stable(x, dim=-1):\n    return torch.softmax(x, dim) / 2\n"
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
FIRST_HEAD = """\
class MultiHeadAttentionWrapper(nn.Module):
    def __init__(self, d_in, d_out, context_length, dropout, num_heads, qkv_bias=False):
        super().__init__()
        self.heads = nn.ModuleList([CausalAttention(d_in, d_out, context_length, dropout, qkv_bias)])

    def forward(self, inputs):
        return self.heads[0](inputs)
"""
BROKEN_ATTENTION = "class CausalAttention(nn.Module): ...\n"
ROWS = [
    # -- names ----------------------------------------------------------------------------------------------------
    Row(
        "Did you mean `scores`?",
        of("return scors / scores.sum()"),
        Answer(f"def normalize_by_sum(x):\n    return scores / scores.sum()\n{MAIN}\n    scores = torch.ones(2)\n"),
    ),
    Row(
        "It has a value only under `if __name__",
        Answer(f"def normalize_by_sum(x):\n    return given / given.sum()\n{MAIN}\n    given = torch.ones(2)\n"),
        of("return given / given.sum()"),
    ),
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
    Row(
        "imports `math`: is it deleted afterwards?",
        Answer("import math\ndel math\ndef normalize_by_sum(scores):\n    return scores / math.fsum(scores)\n"),
        Answer(
            "def normalize_by_sum(scores):\n    return scores / math.fsum(scores)\nimport math, nothing_like_that\n"
        ),
    ),
    Row(
        "The import of `math` in line",
        Answer("print(math.pi)\nimport math\n"),
        Answer("import math, nothing_like_that\nprint(math.pi)\n"),
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
        Answer("print(nothing)\n"),
        Answer("class Other:\n    size = nothing\n"),
    ),
    Row(
        "An earlier `normalize_by_sum` is used instead.",
        Answer("def normalize_by_sum(scores) return scores\n"),
        Answer("total = 0\nfor total in [1]:\n    total += nothing\n"),
    ),
    # -- attributes -----------------------------------------------------------------------------------------------
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
        hints.CALLS["open"],
        of("open('scores.txt')"),
        of("import numpy as np\nreturn np.load('scores.npy')  # not open()"),
    ),
    Row(hints.CALLS["input"], of("input()"), of("raise EOFError  # as of input()")),
    Row(
        hints.BREAKPOINT,
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
        "Dims count from 0, so the last of two is dim 1, or -1.",
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
        "Stay with torch: a numpy array has no gradients.",
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
        hints.NUMPY,
        of("import numpy as np\nreturn scores / np.sum(scores, axis=0, keepdims=True)"),
        of("import numpy as np\nreturn scores.sum(total=1) / np.sqrt(2)"),
    ),
    Row("Delete it: notebook commands", Answer("%matplotlib inline\n"), Answer("x = (5\n% 3\n")),
    # -- lines that are not Python --------------------------------------------------------------------------------
    Row("Put a colon at the end of the line.", Answer("def other()\n    return 1\n"), Answer(ELSE_IF)),
    Row("Write `elif`.", Answer(ELSE_IF), Answer("if 1:\n    x = 1\nelse\n    x = 2\n")),
    Row(
        "that belong to it.",
        Answer("def other():\nreturn 1\n"),
        Answer("x = 1\n  y = 2\n"),
    ),
    Row("Indent it like the other lines of its block.", Answer("x = 1\n  y = 2\n"), Answer("def other():\nreturn 1\n")),
    Row("Count the brackets here", Answer("x = (1\n"), Answer("x = 1 +\n")),
    # -- other exercises ------------------------------------------------------------------------------------------
    Row(
        "Depends on `softmax_stable`; fix that first.",
        Answer(BROKEN_SOFTMAX, "simple_self_attention", also=("softmax_stable",)),
        Answer(
            "def simple_self_attention(inputs):\n    return inputs.T, softmax_stable(inputs)\n",
            "simple_self_attention",
            also=("softmax_stable",),
        ),
    ),
    Row(
        "Depends on `CausalAttention`; fix that first.",
        Answer(
            FIRST_HEAD,
            "MultiHeadAttentionWrapper",
            HEADED,
            others={CAUSAL: BROKEN_ATTENTION},
            also=("CausalAttention",),
        ),
        Answer(FIRST_HEAD, "MultiHeadAttentionWrapper", HEADED, others={CAUSAL: ""}),
    ),
    Row(
        "Depends on `SelfAttention_v2`; fix that first.",
        Answer(f"{BROKEN_V2}{USES_V2}", "transfer_weights", SELF, also=("SelfAttention_v2",)),
        Answer(f"{BROKEN_V2}{UNTRANSPOSED}", "transfer_weights", SELF, also=("SelfAttention_v2",)),
    ),
    Row(
        "Some of its tests also need `SelfAttention_v2`, which is not right yet.",
        Answer(f"{BROKEN_V2}{UNTRANSPOSED}", "transfer_weights", SELF, also=("SelfAttention_v2",)),
        Answer(UNTRANSPOSED, "transfer_weights", SELF, also=("SelfAttention_v2",)),
    ),
]


class Said(NamedTuple):
    """What a report says of an answer."""

    text: str
    state: str


@pytest.fixture(scope="module")
def said() -> dict[Answer, Said]:
    """What the reports of all these answers say: each answer is graded once."""
    answers = list(dict.fromkeys(answer for row in ROWS for answer in (row.said, row.not_said)))
    found: dict[Answer, Said] = {}
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
                texts += [line.text for line in entry.feedback()]
                found[answer] = Said("\n".join(texts), entry.state)
    return found


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.sentence)
def test_a_sentence_is_said_of_an_answer_for_which_it_is_true(said: dict[Answer, Said], row: Row) -> None:
    assert row.sentence in said[row.said].text


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.sentence)
def test_a_sentence_is_not_said_of_a_near_miss(said: dict[Answer, Said], row: Row) -> None:
    assert said[row.not_said].text
    assert row.sentence not in said[row.not_said].text


def test_the_table_has_every_hint() -> None:
    known = [sentence for _, sentence in hints.TEXTS] + [*hints.CALLS.values(), hints.NUMPY]
    known += [sentence for *_, sentence in hints.STATEMENTS]
    lacking = [one for one in known if not any(row.sentence in one for row in ROWS)]
    assert lacking == []
