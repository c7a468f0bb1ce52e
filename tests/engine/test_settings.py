"""A setting of torch that a file changes for all code is named where it is the cause, and what compiles is left out."""

from __future__ import annotations

import courses
import pytest

from grader.engine.engine_client import Engine
from grader.reports.report_model import Result
from grader.sandbox.audit_hook import IGNORED
from grader.submissions.submission import Submission, UnitSource, UnitSubmission

RIGHT = (courses.REPOSITORY / "solutions" / "self_attention.py").read_text(encoding="utf-8")
IMPORT = "from torch import nn\n"
LINE = RIGHT[: RIGHT.index(IMPORT)].count("\n") + 2
REPLACES = "replaces a part of a library"
WRONG_KEYS = RIGHT.replace("keys = inputs @ W_key\n", "keys = inputs @ W_query\n")


def graded(engine: Engine, text: str) -> Result:
    unit = UnitSubmission(UnitSource("self_attention.py", (text,)))
    [(_, result)] = engine.turns(1).all([Submission("ada", None, {"self_attention": unit})])
    assert isinstance(result, Result)
    return result


def reasons(result: Result) -> dict[str, str]:
    return {outcome.name: outcome.reason or "" for outcome in result.outcomes if not outcome.passed}


@pytest.mark.parametrize(
    ("statement", "criterion", "doing"),
    [
        ("torch.set_default_dtype(torch.float64)", "output_of_three_layers", "changes torch's default dtype"),
        ("torch.set_default_device('meta')", "gradients_of_attention", "changes torch's default device"),
        ("torch.set_grad_enabled(False)", "gradients_of_attention", "switches gradients off"),
        ("torch.no_grad().__enter__()", "gradients_of_attention", "switches gradients off"),
        ("m = torch.inference_mode(); m.__enter__()", "gradients_of_attention", "switches gradients off"),
        ("torch.device('meta').__enter__()", "gradients_of_attention", "changes torch's default device"),
        ("torch.autocast('cpu').__enter__()", "output_of_three_layers", "switches autocast on"),
        ("torch.set_autocast_enabled('cpu', True)", "output_of_three_matrices", "switches autocast on"),
        ("torch.softmax = lambda x, dim=-1: x", "output_of_three_matrices", REPLACES),
        ("nn.functional.softmax = torch.softmax = torch.Tensor.softmax = lambda x, dim=-1: x",
         "output_of_three_layers", REPLACES),
        ("torch.Tensor.__matmul__ = lambda x, y: x", "keys_are_the_inputs_times_W_key", REPLACES),
        ("nn.Linear.forward = lambda self, x: x", "output_of_three_layers", REPLACES),
        ("setattr(torch, 'softmax', lambda x, dim=-1: x)", "output_of_three_matrices", REPLACES),
        ("del torch.softmax", "output_of_three_matrices", REPLACES),
    ],
)  # fmt: skip
def test_a_changed_setting_is_the_cause_where_a_test_passes_without_it(
    engine: Engine, statement: str, criterion: str, doing: str
) -> None:
    found = reasons(graded(engine, RIGHT.replace(IMPORT, f"{IMPORT}{statement}\n", 1)))
    cause = f"The cause is line {LINE} of self_attention.py, which {doing} for all code after it: delete it, or undo it"
    assert cause in found[criterion]
    assert [name for name, reason in found.items() if cause not in reason] == []  # no exercise waits for another one


def test_a_replaced_part_of_torch_is_not_the_cause_of_another_mistake(engine: Engine) -> None:
    replaced = f"{IMPORT}torch.Tensor.sigmoid = torch.exp = nn.my = print\n"
    assert reasons(graded(engine, RIGHT.replace(IMPORT, replaced, 1))) == {}
    assert "replaces" not in str(reasons(graded(engine, WRONG_KEYS.replace(IMPORT, replaced, 1))))


def test_the_detection_of_anomalies_is_the_cause_where_it_stops_a_gradient_that_is_not_used(engine: Engine) -> None:
    unused = "x = torch.zeros(1, requires_grad=True)\n    (x / x).backward()\n"
    source = RIGHT.replace("keys = inputs @ W_key\n", f"keys = inputs @ W_key\n    {unused}")
    assert reasons(graded(engine, source)) == {}
    found = reasons(graded(engine, source.replace(IMPORT, f"{IMPORT}torch.autograd.set_detect_anomaly(True)\n", 1)))
    assert "switches the detection of anomalies on" in found["keys_are_the_inputs_times_W_key"]


def test_of_several_changed_settings_only_those_that_make_a_difference_are_the_cause(engine: Engine) -> None:
    statements = "torch.set_default_device('cpu')\ntorch.set_default_dtype(torch.float64)\n"
    found = reasons(graded(engine, RIGHT.replace(IMPORT, f"{IMPORT}{statements}", 1)))
    assert (
        f"line {LINE + 1} of self_attention.py, which changes torch's default dtype"
        in (found["output_of_three_layers"])
    )
    assert "device" not in found["output_of_three_layers"]
    both = reasons(graded(engine, RIGHT.replace(IMPORT, f"{IMPORT}{statements.replace('cpu', 'meta')}", 1)))
    assert any("default dtype" in reason and "default device" in reason for reason in both.values())


@pytest.mark.parametrize(
    "statements",
    [
        "torch.set_default_dtype(torch.float64)\ntorch.set_default_dtype(torch.float32)",
        "with torch.no_grad(), torch.device('meta'): nn.Linear(2, 2)",
        "with torch.inference_mode(), torch.autocast('cpu'), torch.autograd.set_detect_anomaly(True): nn.Linear(2, 2)",
        "torch.autograd.set_detect_anomaly(True)",
        "torch.inference_mode().__enter__()",  # undone when the object is deleted
        "torch.set_default_dtype(torch.float32)",
    ],
)
def test_a_setting_that_is_undone_costs_nothing_and_is_not_mentioned(engine: Engine, statements: str) -> None:
    result = graded(engine, RIGHT.replace(IMPORT, f"{IMPORT}{statements}\n", 1))
    assert reasons(result) == {}
    assert result.messages == []


@pytest.mark.parametrize(
    "statement",
    [
        "torch.set_default_device('cuda')",
        "torch.set_default_device(torch.device('mps'))",
        "if True: torch.set_default_device('cuda:0'); SEED = 1",
    ],
)
def test_a_default_device_that_is_not_there_is_ignored_and_one_remark_says_so(engine: Engine, statement: str) -> None:
    result = graded(engine, RIGHT.replace(IMPORT, f"{IMPORT}{statement}\n", 1))
    assert reasons(result) == {}
    text = IGNORED["torch.set_default_device"].replace(" is", f" in line {LINE} of self_attention.py is", 1)
    assert [(one.kind, one.text) for one in result.messages] == [("not run", text)]


@pytest.mark.parametrize("statement", ["torch.cuda.set_device(0)", "torch.set_default_device('gpu')"])
def test_a_statement_that_needs_another_device_costs_nothing_but_itself(engine: Engine, statement: str) -> None:
    result = graded(engine, RIGHT.replace(IMPORT, f"{IMPORT}{statement}\n", 1))
    assert reasons(result) == {}
    assert [(one.kind, one.line) for one in result.messages] == [("not run", LINE)]


@pytest.mark.parametrize(
    ("changed", "text", "hint"),
    [
        (
            ("class SelfAttention_v1", "from __future__ import annotations\n\n\nclass SelfAttention_v1"),
            "Python refuses the file, because `from __future__` belongs above all other code: move the line there. "
            "While grading it counts from here on.",
            None,
        ),
        (
            ("inputs: torch.Tensor", "inputs: Tensor"),
            "Python stops at an annotation here, which is left out while grading: name 'Tensor' is not defined",
            "Import what it needs, or begin the file with `from __future__ import annotations`.",
        ),
        (
            ("class SelfAttention_v1", "del torch, nn\n\n\nclass SelfAttention_v1"),
            "It was not run, because it deletes a module that functions use: delete the line.",
            None,
        ),
    ],
)
def test_what_python_refuses_and_the_grader_does_not_is_named_once_and_costs_nothing(
    engine: Engine, changed: tuple[str, str], text: str, hint: str | None
) -> None:
    source = RIGHT.replace(*changed)
    line = next(number for number, text in enumerate(source.split("\n"), 1) if text not in RIGHT.split("\n"))
    result = graded(engine, source)
    assert reasons(result) == {}
    found = [(one.kind, one.exercise, one.text, one.line, one.hint) for one in result.messages]
    assert found == [("not run", None, text, line, hint)]


def test_a_changed_setting_is_not_the_cause_of_another_mistake(engine: Engine) -> None:
    source = WRONG_KEYS.replace(IMPORT, f"{IMPORT}torch.set_default_dtype(torch.float64)\n", 1)
    found = reasons(graded(engine, source))
    assert "changes" not in found["keys_are_the_inputs_times_W_key"]
    assert "changes" in found["output_of_three_layers"]


@pytest.mark.parametrize(
    ("changed", "event"),
    [
        (("def scaled_dot", "@torch.compile\ndef scaled_dot"), "torch.compile"),
        (("def scaled_dot", "@torch.compile(fullgraph=True, mode='default')\ndef scaled_dot"), "torch.compile"),
        (("def scaled_dot", "@torch.jit.script\ndef scaled_dot"), "torch.jit.script"),
        (("        self.W_query = nn.Linear", "        self.compile()\n        self.W_query = nn.Linear"),
         "torch.nn.Module.compile"),
        (("class SelfAttention_v1", "project_qkv = torch.compile(project_qkv)\nclass SelfAttention_v1"),
         "torch.compile"),
    ],
)  # fmt: skip
def test_what_is_to_be_compiled_is_used_as_it_is_and_one_remark_says_so(
    engine: Engine, changed: tuple[str, str], event: str
) -> None:
    source = RIGHT.replace(*changed, 1)
    line = next(number for number, text in enumerate(source.split("\n"), 1) if text not in RIGHT.split("\n"))
    result = graded(engine, source)
    assert reasons(result) == {}
    text = IGNORED[event].replace(" is", f" in line {line} of self_attention.py is", 1)
    assert [(one.kind, one.text) for one in result.messages] == [("not run", text)]
