"""The changed lines of each operator on a small definition."""

from __future__ import annotations

import textwrap

import pytest

from grader.audit.mutation import OPERATORS, mutants_of

# operator: the parameters of a function, its body, and the new lines of each mutant or, without any, the lost ones
IN_A_FUNCTION: dict[str, tuple[str, str, set[str]]] = {
    "transpose_dims": ("x", "return x.transpose(-2, -1)", {"return x.transpose(-3, -2)", "return x.transpose(-3, -1)",
     "return x.transpose(0, 1)", "return x.transpose(1, 2)"}),
    "other_dim": ("x", "return x.mean(dim=-1)", {"return x.mean(dim=-2)", "return x.mean(dim=0)",
     "return x.mean(dim=1)"}),
    "keepdim": ("x", "return x / x.sum(dim=1, keepdim=True)", {"return x / x.sum(dim=1)"}),
    "reshape_for_transpose": ("x", "return x.T", {"return x.reshape(x.T.shape)"}),
    "transpose_before_reshape": ("x", "return x.flatten(1)", {"return x.transpose(0, 1).reshape(x.flatten(1).shape)",
     "return x.transpose(1, 2).reshape(x.flatten(1).shape)", "return x.transpose(-2, -1).reshape(x.flatten(1).shape)"}),
    "view_for_reshape": ("x", "return x.reshape(2, 3)", {"return x.view(2, 3)"}),
    "squeeze": ("x: torch.Tensor", "return x + 1", {"return (x + 1).squeeze()"}),
    "scale": ("scores, d_k", "return scores / d_k**0.5", {"return scores", "return scores * d_k ** 0.5",
     "return scores / d_k", "return scores / d_k ** (-0.5)", "return scores / d_k ** 2", "return scores / d_k * 0.5",
     "return scores / (d_k * 0.5)"}),
    "added_scale": ("x, y", "return x @ y", {"return x @ y / x.shape[-1] ** 0.5"}),
    "dropped_mask": ("x, mask", "return x.masked_fill(mask, 0)", {"return x"}),
    "inverted_mask": ("x, mask", "return x.masked_fill(mask, 0)", {"return x.masked_fill(~mask, 0)"}),
    "mask_value": ("x, mask", "return x.masked_fill(mask, -torch.inf)", {"return x.masked_fill(mask, 0)",
     "return x.masked_fill(mask, torch.inf)", "return x.masked_fill(mask, -1.0)"}),
    "added_mask": ("x", "return torch.softmax(x, dim=-1)", {"return torch.tril(torch.softmax(x, dim=-1))",
     "return torch.softmax(x.masked_fill(torch.ones(x.shape[-2:], dtype=torch.bool).triu(1), -torch.inf), dim=-1)"}),
    "asterisk": ("x, y", "return x @ y", {"return x * y"}),
    "swapped_operands": ("x, y", "return x @ y - 2", {"return 2 - x @ y", "return y @ x - 2"}),
    "transposed_operand": ("x, y", "return x @ y", {"return x @ y.mT"}),
    "power": ("x, y", "return x**2 * y", {"return (x ** 2) ** y", "return x * 2 * y"}),
    "residual": ("x", "return x + layer(x)", {"return x", "return layer(x)"}),
    "dropped_operand": ("x, bias", "return x - bias", {"return x", "return bias"}),
    "arithmetic": ("a, b", "return a // b", {"return a / b", "return a * b", "return a % b"}),
    "parentheses": ("a, b, c", "return a * (b + c)", {"return a * b + c"}),
    "off_by_one": ("x", "n = len(x)\nreturn [x[0, :n] for t in range(n)]", {"return [x[-1, :n] for t in range(n)]",
     "return [x[1, :n] for t in range(n)]", "return [x[0, :n - 1] for t in range(n)]",
     "return [x[0, :n + 1] for t in range(n)]", "return [x[0, :n] for t in range(1, n)]",
     "return [x[0, :n] for t in range(n - 1)]", "return [x[0, :n] for t in range(n + 1)]"}),
    "constant": ("x, eps=1e-05", "return x + 4", {"def example(x, eps=0.0001):",
     "def example(x, eps=1.0000000000000002e-06):", "def example(x, eps=0.0):", "return x + 3", "return x + 5"}),
    "flipped_bool": ("qkv_bias=False", "return qkv_bias", {"def example(qkv_bias=True):"}),
    "complement": ("x, p", "return x >= p", {"return x >= 1 - p"}),
    "other_name": ("queries: torch.Tensor, keys: torch.Tensor, size: int", "scores = queries @ keys\nreturn scores",
     {"scores = keys @ keys", "scores = queries @ queries", "return queries", "return keys"}),
    "other_function": ("x", "return x.sum()", {"return x.mean()", "return x.amax()"}),
    "swapped_arguments": ("a, b, c", "return f(a, b, c)", {"return f(b, a, c)", "return f(a, c, b)"}),
    "swapped_parameters": ("a, b, c=1", "return f(a)", {"def example(b, a, c=1):"}),
    "swapped_elements": ("a, b, c", "return a, b, c", {"return (b, a, c)", "return (c, b, a)", "return (a, c, b)"}),
    "swapped_calls": ("x", "return torch.relu(torch.exp(x))", {"return torch.exp(torch.relu(x))"}),
    "dropped_layer": ("self, x", "return self.norm(x)", {"return x"}),
    "dropped_method": ("x", "return x.unsqueeze(1) @ x.T", {"return x @ x.T", "return x.unsqueeze(1) @ x"}),
    "dropped_function": ("x", "return torch.tanh(x)", {"return x"}),
    "dropped_star": ("x", "return f(*x)", {"return f(x)"}),
    "bias": ("given", "return nn.Linear(4, 5, bias=given)", {"return nn.Linear(4, 5, bias=True)",
     "return nn.Linear(4, 5, bias=False)"}),
    "dropped_argument": ("x, kind", "return x.mean(dim=0, keepdim=True) + torch.ones(2, dtype=kind) + Block(2, 3)",
     {"return x.mean() + torch.ones(2, dtype=kind) + Block(2, 3)",
     "return x.mean(dim=0, keepdim=True) + torch.ones(2) + Block(2, 3)",
     "return x.mean(dim=0, keepdim=True) + torch.ones(2, dtype=kind) + Block(2)"}),
    "dropped_default": ("x, a=1, b=2", "return f(a, b)", {"def example(x, a, b=2):"}),
    "left_out": ("", "for name in ('a', 'b', 'c'):\n    print(name)", {"for name in ('b', 'c'):",
     "for name in ('a', 'c'):", "for name in ('a', 'b'):"}),
    "dropped_super": ("self", "super().__init__()\nself.x = 1", {"- super().__init__()"}),
    "dropped_check": ("x", "if x:\n    raise ValueError('no')\nreturn x", {"- if x:\n- raise ValueError('no')"}),
    "dropped_statement": ("x: torch.Tensor", "x = f(x)\ny = f(x)\ny.sort()\nreturn y", {"- x = f(x)", "- y.sort()",
     "- return y"}),
    "condition": ("x", "if x:\n    x = 1\nreturn x", {"if not x:", "if True:", "if False:"}),
    "comparison": ("a, b", "return a < b", {"return a <= b", "return a >= b"}),
    "boolean": ("a, b", "return a and b", {"return a or b", "return a", "return b", "return not a and b",
     "return a and (not b)"}),
    "other_error": ("x", "if x:\n    raise ValueError('no')\nreturn x", {"raise TypeError('no')",
     "raise RuntimeError('no')", "raise KeyError('no')"}),
    "other_result": ("x: torch.Tensor", "y = f(x)\nreturn f(1, y)", {"return x", "return y"}),
    "other_container": ("a, b", "return a, b", {"return [a, b]"}),
    "detached": ("x: torch.Tensor", "y = f(x)\nreturn f(y)", {"x = x.detach()", "y = f(x).detach()",
     "return f(y).detach()"}),
    "no_grad": ("a, b", "with torch.no_grad():\n    a.copy_(b)", {"a.copy_(b)"}),
    "frozen": ("x", "return nn.Parameter(x)", {"return nn.Parameter(x, requires_grad=False)"}),
    "cast": ("x: torch.Tensor", "return f(x)", {"x = x.float()", "return f(x).float()"}),
    "in_place": ("x: torch.Tensor, mask", "x = x + 1\nreturn torch.exp(x.masked_fill(mask, 0)), x - 1", {"x += 1",
     "return (x.masked_fill(mask, 0).exp_(), x - 1)", "return (torch.exp(x.masked_fill_(mask, 0)), x - 1)",
     "return (torch.exp(x.masked_fill(mask, 0)), x.sub_(1))"}),
    "changed_argument": ("x: torch.Tensor", "return f(x)", {"result = f(x)\nx.data.mul_(2)\nreturn result"}),
    "alias": ("a, b", "a.copy_(b)", {"a.data = b"}),
    "plain_tensor": ("x", "return nn.Parameter(x)", {"return x"}),
    "buffer": ("self, mask", "self.register_buffer('mask', mask, persistent=False)", {"self.mask = mask",
     "self.mask = nn.Parameter(mask, requires_grad=False)"}),
    "unregistered": ("self, sublayer: nn.Module", "self.sublayer = sublayer\nself.heads = nn.ModuleList(f(sublayer))",
     {"self.sublayer = sublayer.forward", "self.heads = list(f(sublayer))"}),
    "shared": ("n", "return f(Block() for _ in range(n))", {"return f([Block()] * n)"}),
    "mode": ("self, x", "return self.dropout(x)", {"return torch.nn.functional.dropout(x, self.dropout.p)"}),
    "generator": ("generator=None", "return torch.rand(2, generator=generator)", {"return torch.rand(2)",
     "return torch.rand(2, generator=torch.Generator().manual_seed(0))"}),
    "greedy": ("x", "return torch.multinomial(x, 1)", {"return torch.argmax(x, dim=-1, keepdim=True)"}),
    "backwards": ("x", "return [sorted(row) for row in x]", {"return [sorted(row, reverse=True) for row in x]",
     "return [sorted(row) for row in reversed(list(x))]"}),
    "tidied_text": ("text: str", "return f(text)", {"text = text.lower()", "text = text.strip()"}),
}  # fmt: skip

# operator: the bodies of a module's __init__(self, size) and forward(self, x), and each mutant's new lines
IN_A_MODULE: dict[str, tuple[str, str, set[str]]] = {
    "other_name": ("self.one = nn.Linear(2, 3)\nself.two = nn.Linear(3, 2)\nself.norm = LayerNorm(3)",
     "return self.norm(self.one(x))", {"return self.norm(self.two(x))"}),
    "shared": ("self.one = nn.Linear(2, 3)\nself.norm = LayerNorm(3)\nself.two = nn.Linear(3, 2)", "return x",
     {"self.two = self.one"}),
    "detached": ("self.scale = nn.Parameter(size)", "return self.scale * x", {"x = x.detach()",
     "return self.scale.detach() * x", "return (self.scale * x).detach()"}),
    "mode": ("self.dropout = nn.Dropout(0.5)", "return x + 1", {"self.train()", "self.eval()"}),
    "no_grad": ("self.scale = size", "return x", {"with torch.no_grad():\nreturn x"}),
    "bias": ("self.layer = nn.Linear(size, 3)", "return x", {"self.layer = nn.Linear(size, 3, bias=False)"}),
}  # fmt: skip


def new_lines(operator: str, source: str) -> set[str]:
    """The new lines of each mutant of a definition named `example`; if there are none, the lost ones."""

    def shown(diff: str) -> str:
        lines = [(line[0], line[2:].strip()) for line in diff.splitlines()]
        return "\n".join(line for sign, line in lines if sign == "+") or "\n".join(f"- {line}" for _, line in lines)

    return {shown(mutant.diff) for mutant in mutants_of(source, ["example"]) if mutant.operator == operator}


@pytest.mark.parametrize("operator", OPERATORS)
def test_every_operator_makes_its_slip_and_no_other(operator: str) -> None:
    parameters, body, expected = IN_A_FUNCTION[operator]
    returns = " -> torch.Tensor" if "x: torch.Tensor" in parameters else ""
    source = f"def example({parameters}){returns}:\n{textwrap.indent(body, '    ')}\n"
    assert new_lines(operator, source) == {line.replace("):", f"){returns}:") for line in expected}


@pytest.mark.parametrize("operator", IN_A_MODULE)
def test_operators_know_the_attributes_of_a_module(operator: str) -> None:
    init, forward, expected = IN_A_MODULE[operator]
    source = (
        "class example(nn.Module):\n    def __init__(self, size: int) -> None:\n"
        f"{textwrap.indent(init, ' ' * 8)}\n"
        "    def forward(self, x: torch.Tensor) -> torch.Tensor:\n"
        f"{textwrap.indent(forward, ' ' * 8)}\n"
    )
    assert new_lines(operator, source) == expected


def test_the_table_has_one_sentence_for_each_operator() -> None:
    for name, operator in OPERATORS.items():
        sentence = operator.__doc__ or ""
        assert sentence.endswith("."), name
        assert "\n" not in sentence, name


def test_a_local_replaces_another_only_after_its_assignment() -> None:
    source = """\
def example(x: torch.Tensor):
    first = f(x)
    second = f(first)
    return g(second)
"""
    assert new_lines("other_name", source) == {"second = f(x)", "return g(x)", "return g(first)"}


def test_a_gradient_that_no_input_can_have_is_not_cut() -> None:
    assert new_lines("detached", "def example(idx: torch.Tensor) -> torch.Tensor:\n    return f(idx)\n") == set()
