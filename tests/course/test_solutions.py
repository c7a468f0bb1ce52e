"""Every demo of the units runs, and the text about it is true."""

from __future__ import annotations

import contextlib
import io
import itertools
import math
import re
import runpy
import sys
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import torch
from courses import COURSE, REPOSITORY

from grader.course.build import read_source

torch.set_num_threads(1)  # threads only wait for each other on tensors this small

UNITS = list(COURSE.units)
SOLUTIONS = REPOSITORY / "solutions"
pytestmark = pytest.mark.proof(part="exercises")


@pytest.fixture(autouse=True)
def _beside_the_solutions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Units import one another, and one of them draws a picture."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(SOLUTIONS)
    monkeypatch.setenv("MPLBACKEND", "agg")
    for unit in UNITS:
        sys.modules.pop(unit, None)
    yield
    for unit in UNITS:
        sys.modules.pop(unit, None)


@cache
def demo(unit: str) -> tuple[dict[str, Any], str, list[Any]]:
    """Run a unit as a script and then the programs in its text: its names, its output, what the programs print."""
    output, printed = io.StringIO(), list[Any]()
    torch.manual_seed(0)
    with contextlib.redirect_stdout(output), warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="FigureCanvasAgg is non-interactive")
        names = runpy.run_path(str(SOLUTIONS / f"{unit}.py"), run_name="__main__")
    names["print"] = lambda *values: printed.extend(values)
    for cell in read_source(SOLUTIONS / f"{unit}.py", COURSE).cells:
        for program in re.findall(r"```python\n(.*?)```", cell.source, re.DOTALL):
            assert cell.cell_type == "markdown"
            exec(program, names)
    return names, output.getvalue(), printed


def text(unit: str) -> str:
    cells = read_source(SOLUTIONS / f"{unit}.py", COURSE).cells
    return " ".join(cell.source for cell in cells if cell.cell_type == "markdown")


@pytest.mark.parametrize("unit", UNITS)
def test_every_demo_runs_and_shows_an_example_of_each_exercise(unit: str) -> None:
    _, output, _ = demo(unit)
    assert [name for name in COURSE.units[unit].exercises if f"\n{name}:\n" not in f"\n{output}"] == []
    assert "not written yet" not in output
    assert output.isascii()  # every terminal can print it


@pytest.mark.parametrize("unit", UNITS)
def test_a_stub_names_the_exercises_that_are_not_written_yet(unit: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(COURSE.exercises)
    output = io.StringIO()
    with contextlib.redirect_stdout(output):
        runpy.run_path(str(COURSE.exercises / f"{unit}.py"), run_name="__main__")
    named = re.findall(r"^(\w+): not written yet$", output.getvalue(), re.MULTILINE)
    assert named == list(COURSE.units[unit].exercises)


@pytest.mark.parametrize("unit", UNITS)
def test_the_examples_print_the_numbers_that_the_text_above_them_states(unit: str) -> None:
    _, output, _ = demo(unit)
    cells = read_source(SOLUTIONS / f"{unit}.py", COURSE).cells
    [above] = [text for text, code in itertools.pairwise(cells) if "    examples = {\n" in code.source]
    stated = re.findall(r"\d+\.\d{3,}", above.source)
    assert [number for number in stated if number not in output] == []


# -- unit 1


def test_the_softmax_of_the_formula_fails_at_both_ends_and_the_stable_one_at_neither() -> None:
    names, _, _ = demo("simple_attention")
    for scores in (torch.tensor([1000.0, 999.0]), torch.tensor([-1000.0, -999.0])):
        assert names["softmax_naive"](scores).isnan().all()
        assert torch.allclose(names["softmax_stable"](scores), torch.softmax(scores.double(), 0).float())


# -- units 3, 4 and 6


def test_dropout_on_the_weights_drops_tokens_and_on_the_outputs_features() -> None:
    weights = demo("causal_attention")[0]["mask_then_softmax"](torch.zeros(3, 3), 4)[2]
    values = torch.tensor([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
    first, second = (2 * weights * torch.tensor([0.0, 1.0, 1.0])) @ values
    assert f"({first:.4f}, {second:.4f})" in text("causal_attention")
    assert torch.allclose(2 * (weights @ values), torch.tensor([6.0, 8.0]))
    assert "the other is kept,\n  it is (0, 8)" in text("causal_attention")


def test_one_product_of_four_dimensions_is_a_loop_over_the_heads() -> None:
    product, loop = demo("multi_head_attention")[2]
    assert torch.equal(product[0], loop)
    assert "print {} for head 0 and {} for head 1".format(*product[0].int().tolist()) in text("multi_head_attention")


@pytest.mark.parametrize(
    ("unit", "name", "arguments"),
    [
        ("causal_attention", "CausalAttention", (4, 4, 1, 0.0)),
        ("multi_head_attention", "MultiHeadAttentionWrapper", (4, 2, 1, 0.0, 2)),
        ("multi_head_attention", "MultiHeadAttention", (4, 4, 1, 0.0, 2)),
        ("bigram_language_model", "Head", (4, 4, 1, 0.0)),
    ],
)
def test_a_text_that_is_too_long_for_the_mask_is_refused(unit: str, name: str, arguments: tuple[Any, ...]) -> None:
    module = demo(unit)[0][name](*arguments)
    with pytest.raises(ValueError, match=r"3 tokens are more than the (context length|block size) of 1"):
        module(torch.ones(1, 3, 4))


def test_gpt2s_attention_has_as_many_parameters_as_the_text_says() -> None:
    names, _, _ = demo("multi_head_attention")
    count = sum(parameter.numel() for parameter in names["gpt2_small_attention"]().parameters())
    for number in (count, count + 3 * 768):
        assert f"{number:,}" in text("multi_head_attention").replace("{,}", ",")


# -- unit 5


def test_only_with_positions_added_does_the_order_count() -> None:
    without, with_positions = demo("positional_encoding")[2]
    assert torch.allclose(without, torch.zeros_like(without), atol=1e-6)
    assert not torch.allclose(with_positions, torch.zeros_like(with_positions), atol=1e-3)


@pytest.mark.parametrize(("layers", "is_seen"), [(1, False), (2, True)])
def test_a_causal_mask_shows_the_order_of_the_past_to_deeper_layers_only(layers: int, is_seen: bool) -> None:
    attention = demo("causal_attention")[0]["CausalAttention"]
    torch.manual_seed(0)
    model = torch.nn.Sequential(*(attention(6, 6, 5, 0.0) for _ in range(layers))).double()
    inputs = torch.randn(1, 5, 6, dtype=torch.float64)
    last, moved = model(inputs)[0, -1], model(inputs[:, [1, 0, 2, 3, 4]])[0, -1]
    assert torch.allclose(last, moved, atol=1e-9) is not is_seen


def test_the_hands_of_a_short_text_move_as_far_as_the_text_says() -> None:
    encoding = demo("positional_encoding")[0]["sinusoidal_encoding"](8, 32)
    turns = [2 * math.pi * 10000 ** (2 * hand / 32) for hand in range(16)]
    moved = (encoding[7] - encoding[0]).reshape(16, 2).norm(dim=1)
    said = " ".join(text("positional_encoding").split())
    assert f"Hand 0 makes a full turn in {turns[0]:.2f} positions, hand 1 in {turns[1]:.2f}, hand 8 in" in said
    assert f"hand 8 in {turns[8]:.0f} and hand 15 in {turns[15]:,.0f}." in said
    assert f"hand 2 moves by {moved[2]:.4f}, the tip of hand 8 by {moved[8]:.4f}" in said
    assert f"the tip of hand 15 by {moved[15]:.4f}." in said


# -- unit 6


def test_the_losses_of_the_text_are_those_of_the_run() -> None:
    _, output, _ = demo("bigram_language_model")
    rows = re.findall(r"^step +(\d+): training (\S+), validation (\S+)$", output, re.MULTILINE)
    table = re.findall(r"^\| (\d+) \| (\d\.\d+) \| (\d\.\d+) \|$", text("bigram_language_model"), re.MULTILINE)
    assert len(table) == 4
    assert set(table) <= set(rows)
    assert min(rows, key=lambda row: float(row[2]))[0] == "75"
    [(floor, trained)] = re.findall(r"^floor (\S+), the first model (\S+)$", output, re.MULTILINE)
    said = " ".join(text("bigram_language_model").split())
    assert f"**floor** is {floor}, and the estimate for the model that you trained on them is {trained}." in said


def test_the_loss_begins_above_that_of_a_model_that_knows_nothing_and_ends_near_that_of_counting_pairs() -> None:
    names, output, _ = demo("bigram_language_model")
    losses = [float(loss) for loss in re.findall(r"^step \d+: loss (.+)$", output, re.MULTILINE)]
    pairs = Counter(zip(names["text"], names["text"][1:], strict=False))
    firsts = Counter(names["text"][:-1])
    counted = -sum(n * math.log(n / firsts[pair[0]]) for pair, n in pairs.items()) / pairs.total()
    assert losses[0] > math.log(len(names["vocabulary"]))
    assert all(abs(loss - counted) < 0.4 for loss in losses[2:])


def test_the_text_of_the_sixth_unit_has_the_patterns_that_it_speaks_of() -> None:
    learnt = demo("bigram_language_model")[0]["text"]
    assert set(re.findall("q(.)", learnt)) == {"u"}
    assert Counter(re.findall(" (.)", learnt)).most_common(1)[0][0] == "t"
    places = {"on", "in", "under"}
    assert set(re.findall(r"\bsat (\w+)", learnt)) == places
    assert not places & set(re.findall(r"\bthe (\w+)", learnt))
    assert f"with 65 characters {math.log(65):.2f}" in text("bigram_language_model")


def test_the_loop_of_the_bigram_model_serves_a_model_with_attention_that_gets_the_last_tokens() -> None:
    names, output, _ = demo("bigram_language_model")
    model, prompt = names["model_with_attention"], names["prompt"]
    assert type(model).generate is names["BigramLanguageModel"].generate
    longer = model.generate(prompt, 20)
    assert longer.shape == (1, 24)
    assert torch.equal(longer[:, :4], prompt)
    assert len(output.splitlines()[-1]) <= 24
    assert torch.equal(model(longer)[0], model(longer[:, -8:])[0])
    with pytest.raises(ValueError, match="9 tokens"):
        model.head(model.token_embedding_table(longer[:, :9]))


# -- unit 7


def test_numbers_grow_from_block_to_block_and_the_last_norm_brings_them_back() -> None:
    *_, before, after_12, normalized, _, after_48, again = demo("transformer_block")[2]
    said = " ".join(text("transformer_block").split())
    assert f"`x` is {before:.2f}. After 12 blocks it is {after_12:.2f}, and after 48 blocks {after_48:.2f}." in said
    assert f"{normalized:.2f}" == f"{again:.2f}" == "1.00"


def test_the_sizes_of_gpt2_are_those_of_the_table_and_of_the_demo() -> None:
    names, _, _ = demo("transformer_block")
    count: Callable[[int, int], int] = names["gpt2_parameter_count"]
    rows = re.findall(
        r"^\| (?:small|medium|large|XL) \| (\d+) \| (\d+) \| ([\d,]+) \|$", text("transformer_block"), re.M
    )
    assert [f"{count(int(blocks), int(width)):,}" for blocks, width, _ in rows] == [number for *_, number in rows]
    assert len(rows) == 4
    one_block = sum(parameter.numel() for parameter in names["make_block"]().parameters())
    assert one_block == count(1, 768) - count(0, 768)
