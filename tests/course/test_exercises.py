"""The visible tests, run as a student runs them: with pytest, in a folder of their own."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import forks
import pytest
from courses import REPOSITORY, run_forked

from grader.course.generated import FILES, STAMP

proof = pytest.mark.proof(part="exercises")
UNITS = sorted(path.stem for path in (REPOSITORY / "solutions").glob("*.py"))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A student's copy of exercises/ in a new clone, in which nothing was built before."""
    built = shutil.ignore_patterns(*FILES, STAMP)
    return shutil.copytree(REPOSITORY / "exercises", tmp_path / "exercises", ignore=built)


def visible_tests(folder: Path, *units: str) -> tuple[dict[str, int], str]:
    """Run the tests of some units; return how many passed and failed, and the output of pytest."""
    options = ["-W", "ignore:Module already imported"]  # pytest's plugins
    files = [f"checks/test_{unit}.py" for unit in units]
    output = run_forked(forks.PYTEST, *options, *files, folder=folder, environment=os.environ).stdout
    summary = output.splitlines()[-1]
    return {outcome: int(count) for count, outcome in re.findall(r"(\d+) ([a-z]+)", summary)}, output


def answer(folder: Path, *changes: tuple[str, str]) -> None:
    """Put the solutions of all units in place, with these pieces of unit 2's changed."""
    for unit in UNITS:
        shutil.copy(REPOSITORY / "solutions" / f"{unit}.py", folder)
    text = (folder / "self_attention.py").read_text(encoding="utf-8")
    for right, wrong in changes:
        assert right in text
        text = text.replace(right, wrong)
    (folder / "self_attention.py").write_text(text, encoding="utf-8")


@proof
def test_the_solutions_pass_every_visible_test(folder: Path) -> None:
    answer(folder)
    outcomes, output = visible_tests(folder, *UNITS)
    assert outcomes.keys() == {"passed"}, output


@proof
def test_an_untouched_stub_fails_every_visible_test_with_one_sentence(folder: Path) -> None:
    outcomes, output = visible_tests(folder, *UNITS)
    assert outcomes.keys() == {"failed"}, output
    sentences = re.findall(r"^It is not written yet\. \((\w+)\.py, line \d+\)$", output, re.MULTILINE)
    assert len(sentences) == outcomes["failed"]
    assert sorted(set(sentences)) == UNITS
    assert "Traceback" not in output
    assert "checking.py" not in output


@proof
@pytest.mark.parametrize(
    ("right", "wrong", "sentence"),
    [
        ("return queries, keys, values", "return queries.T, keys, values", "`queries` should have shape (T, d_out) = "
         "(6, 2), yours is (2, 6): inputs @ W_query has one row for each token."),
        ("return queries, keys, values", "return queries, keys",
         "`project_qkv` should return queries, keys, values; yours returns a tuple of 2 values."),
        ("torch.softmax(scores, dim=-1)", "torch.softmax(scores, dim=0)",
         "softmax of queries · keysᵀ / √d_k over the keys, one row for each query."),
        ("return contexts, weights", "return contexts.tolist(), weights", "`contexts` should be a tensor, yours is a "
         "list of 6 values: a context vector is the sum of the values, each times its weight."),
        ("self.W_key = nn.Parameter(torch.rand(d_in, d_out))", "self.W_key = torch.rand(d_in, d_out)",
         "W_key should be an nn.Parameter of its own, yours is a tensor of shape (3, 2): an optimiser finds only "
         "parameters, and each one once."),
        ("self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)", "self.W_value = nn.Linear(d_in, d_out)",
         "W_value should have no bias here, yours has one: qkv_bias is False unless the caller says else."),
        ("raise ValueError(", "print(", "The bias [1.0, 1.0] of W_query should be refused with a ValueError or an "
         "AssertionError, because attention_v1 has no bias, so it could not give the same outputs. Yours raises no "
         "error."),
        ("weight.T)", "weight)", "It raised a RuntimeError. (self_attention.py, line "),
        ("scaled = dot_products / d_k**0.5", "scaled = dot_products / d_k",
         "divide each dot product by √d_k, then measure."),
    ],
)  # fmt: skip
def test_a_mistake_is_reported_in_one_sentence(folder: Path, right: str, wrong: str, sentence: str) -> None:
    answer(folder, (right, wrong))
    outcomes, output = visible_tests(folder, "self_attention")
    assert outcomes["failed"] >= 1
    assert sentence in output


@proof
def test_one_mistake_does_not_fail_the_other_exercises(folder: Path) -> None:
    answer(folder, ("scaled = dot_products / d_k**0.5", "scaled = dot_products / d_k"))
    _, output = visible_tests(folder, "self_attention")
    failed = re.findall(r"^FAILED \S+::(\w+)", output, re.MULTILINE)
    assert set(failed) == {"test_dot_product_variance_for_d_k"}


@proof
def test_the_visible_tests_run_from_the_root_of_the_repository_too(tmp_path: Path) -> None:
    shutil.copy(REPOSITORY / "pyproject.toml", tmp_path)
    folder = shutil.copytree(REPOSITORY / "exercises", tmp_path / "exercises")
    answer(folder)
    command = [sys.executable, "-m", "pytest", "exercises/checks"]
    run = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert run.returncode == 0, run.stdout


def test_an_error_shows_the_way_from_the_test_to_the_students_line(folder: Path) -> None:
    answer(folder, ("return queries, keys, values", "return queires, keys, values"))
    _, output = visible_tests(folder, "self_attention")
    assert re.search(
        r"^checks/test_self_attention\.py:\d+: in test_project_qkv\n.*\n.*\n"
        r"self_attention\.py:\d+: in project_qkv\n    return queires, keys, values\n.*\n"
        r"E   NameError: name 'queires' is not defined\n"
        r"E   It raised a NameError\. \(self_attention\.py, line \d+\) Did you mean `queries`\?$",
        output,
        re.MULTILINE,
    )
    assert "grader/" not in output


@pytest.mark.parametrize(
    ("wrong", "typed", "shown"),
    [
        ("return queries, keys @ keys, values", "p tuple(keys.shape)", "(Pdb) (6, 2)"),
        pytest.param("return inputs.missing, keys, values", "p tuple(inputs.shape)", "(Pdb) (6, 3)", marks=proof),
        # No student code is running when a wrong result is found, so it stops in the test.
        pytest.param("return queries + 1, keys, values", "p type(student).__name__", "(Pdb) 'Student'", marks=proof),
    ],
)
def test_the_debugger_stops_in_the_students_function(folder: Path, wrong: str, typed: str, shown: str) -> None:
    answer(folder, ("return queries, keys, values", wrong))
    command = [sys.executable, "-m", "pytest", "--pdb", "checks/test_self_attention.py", "-k", "project_qkv"]
    output = subprocess.run(command, cwd=folder, input=f"{typed}\nq\n", capture_output=True, text=True).stdout
    assert shown in output
