"""The ten steps of unit 4: the text, the run and the picture have the right numbers."""

from __future__ import annotations

import ast
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from courses import REPOSITORY

UNIT = REPOSITORY / "solutions" / "multi_head_attention.py"
WORDS = ["the", "cat", "sleeps"]
# The name of each result in the unit, and of the worked example with its numbers.
STEPS = {
    "1. the input": "input",
    "3. W_query": "W_query",
    "3. W_key": "W_key",
    "3. W_value": "W_value",
    "4. queries": "queries",
    "4. keys": "keys",
    "4. values": "values",
    "5. queries, unrolled": "unrolled_queries",
    "6. queries, by head": "grouped_queries",
    "7. scores": "scores",
    "8. weights": "weights",
    "9. contexts": "contexts",
    "10. merged": "merged",
}


def worked_examples() -> dict[str, torch.Tensor]:
    path = REPOSITORY / "exercises" / "checks" / "worked_examples.json"
    examples = json.loads(path.read_text(encoding="utf-8"))["examples"]
    return {
        name.removeprefix("ten_steps."): torch.tensor(example["value"], dtype=torch.float64)
        for name, example in examples.items()
        if name.startswith("ten_steps.")
    }


def computed() -> dict[str, torch.Tensor]:
    """Compute every result from the input and the matrices, with indexing and sums instead of reshapes."""
    given = {name: worked_examples()[name] for name in ("input", "W_query", "W_key", "W_value")}
    projected = {
        name: torch.einsum("bti,io->bto", given["input"], given[matrix])
        for name, matrix in [("queries", "W_query"), ("keys", "W_key"), ("values", "W_value")]
    }
    shares = {name: [whole[..., 0:3], whole[..., 3:6]] for name, whole in projected.items()}  # each (1, 3, 3)
    grouped = {f"grouped_{name}": torch.stack(heads, dim=1) for name, heads in shares.items()}  # (1, 2, 3, 3)
    scores = torch.einsum("bhqf,bhkf->bhqk", grouped["grouped_queries"], grouped["grouped_keys"])
    seen = (scores / 3**0.5).exp().tril()  # no key after the query
    weights = seen / seen.sum(dim=-1, keepdim=True)
    contexts = torch.einsum("bhqk,bhkf->bhqf", weights, grouped["grouped_values"])
    return {
        **given,
        **projected,
        **grouped,
        "unrolled_queries": torch.stack(shares["queries"], dim=2),  # (1, 3, 2, 3)
        "scores": scores,
        "weights": weights,
        "contexts": contexts,
        "merged": torch.cat([contexts[:, 0], contexts[:, 1]], dim=-1),  # (1, 3, 6)
    }


def shown(text: str) -> dict[str, tuple[str, torch.Tensor]]:
    """Return the results in a text by name: the shape as written, and the numbers."""
    blocks = re.findall(r"^(\d+\. [^\n]+) (\([\d, ]+\))\ntensor\((\[.+?\])\)$", text, re.MULTILINE | re.DOTALL)
    return {
        name: (shape, torch.tensor(ast.literal_eval(numbers), dtype=torch.float64)) for name, shape, numbers in blocks
    }


def expect_the_steps(results: dict[str, tuple[str, torch.Tensor]]) -> None:
    assert list(results) == list(STEPS)
    for name, (shape, numbers) in results.items():
        expected = worked_examples()[STEPS[name]]
        assert shape == str(tuple(expected.shape)), name
        assert torch.equal(numbers, expected), name


def run(folder: Path, *command: str) -> str:
    """Run Python in a folder with unit 4 and unit 3, and return the output."""
    for unit in ("causal_attention", "multi_head_attention"):
        shutil.copy(UNIT.with_stem(unit), folder)
    environment = {**os.environ, "MPLBACKEND": "agg", "OMP_NUM_THREADS": "1"}  # a drawing without a window
    return subprocess.run(
        [sys.executable, *command], cwd=folder, env=environment, capture_output=True, text=True, check=True
    ).stdout


def test_each_result_has_a_worked_example() -> None:
    assert worked_examples().keys() == computed().keys()


@pytest.mark.parametrize("name", list(computed()))
def test_a_worked_example_follows_from_the_input_and_the_matrices(name: str) -> None:
    assert torch.allclose(worked_examples()[name], computed()[name], rtol=0, atol=0.00005)


def test_the_text_shows_every_step_with_its_shape_and_numbers() -> None:
    text = re.sub("^# ?", "", UNIT.read_text(encoding="utf-8"), flags=re.MULTILINE)
    expect_the_steps(shown(text))


@pytest.mark.proof(part="exercises")
def test_a_run_prints_the_steps_and_draws_the_picture(tmp_path: Path) -> None:
    printed = run(tmp_path, "multi_head_attention.py")
    expect_the_steps(shown(printed))
    assert "\nThe picture is in the_cat_sleeps.png.\n" in printed
    assert (tmp_path / "the_cat_sleeps.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.proof(part="exercises")
def test_a_run_without_matplotlib_prints_what_to_install(tmp_path: Path) -> None:
    script = """
import runpy, sys
sys.path.insert(0, ".")
sys.modules["matplotlib"] = None  # so that its import fails
runpy.run_path("multi_head_attention.py", run_name="__main__")
"""
    printed = run(tmp_path, "-c", script)
    expect_the_steps(shown(printed))
    assert "matplotlib is missing: install it with `pip install matplotlib`.\n" in printed


def test_an_import_prints_and_draws_nothing(tmp_path: Path) -> None:
    assert run(tmp_path, "-c", "import multi_head_attention") == ""
    assert not list(tmp_path.glob("*.png"))


def test_the_picture_in_the_docs_shows_the_words_and_the_weights_of_both_heads() -> None:
    picture = (REPOSITORY / "docs" / "the_cat_sleeps.svg").read_text(encoding="utf-8")
    texts = re.findall(r"<text [^>]*>([^<]*)</text>", picture)
    numbers = [text for text in texts if re.fullmatch(r"\d\.\d\d", text)]
    assert numbers == [f"{weight:.2f}" for weight in worked_examples()["weights"].flatten().tolist()]
    assert [text for text in texts if text in WORDS] == WORDS * 3  # below each head, and beside the first
    assert {"head 0", "head 1"} <= set(texts)
