"""`grader audit` on a small course: its report on a suite with gaps, and on one without."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import courses
import pytest

ADD, SCALE = "suites/sums/add.py", "suites/sums/Scale.py"
IMPORT = "from grader.testing.probes import call, probe\n"
# What each suite of the small course gets besides its tests and its misconception.
MORE = {
    ADD: """

@misconception("A number has no shape.")
def tensors_only(a, b):
    return a + b.reshape(a.shape)


@probe(draws=30)
def sums(unit, draw):
    yield from call(unit.add, draw.normal(2, 3), draw.normal(2, 3))


def wrong_answers():
    def multiplies(a, b):
        return a * b

    def name_misspelt(a, b):
        return a + bb  # noqa: F821

    def subtracts__from_the_other(a, b):
        return -(b - a)


def right_answers():
    import torch

    def plain(a, b):
        return torch.add(a, b)
""",
    SCALE: """

@probe(draws=30)
def outputs(unit, draw):
    yield "the outputs", unit.Scale(draw.normal(1).item())(draw.normal(3)).detach()


def right_answers():
    import torch

    class plain(torch.nn.Module):
        def __init__(self, factor):
            super().__init__()
            self.factor = torch.nn.Parameter(torch.tensor(float(factor)))

        def forward(self, x):
            return x * self.factor
""",
}
ORACLES = """\
def mean_of_two(a, b):
    return (a + b) / 2


def how_many_terms(shape):
    rows, columns = shape
    return rows * columns


def sum_over_rows(rows, columns):
    return (columns,)
"""


@pytest.fixture(scope="module")
def sound_course(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small course whose suite has no gaps, audited."""
    root = courses.make_small_course(tmp_path_factory.mktemp("sound"))
    for name, text in MORE.items():
        (root / name).write_text(f"{IMPORT}{courses.SMALL_COURSE[name]}{text}", encoding="utf-8")
    (root / "suites" / "sums" / "quiz_oracles.py").write_text(ORACLES, encoding="utf-8")
    found = courses.run_grader(root, "audit", "--unit", "sums")
    assert (found.returncode, "problems" in found.stderr) == (0, False), found.stderr
    return root


@pytest.fixture
def course(sound_course: Path, tmp_path: Path) -> Path:
    """A copy, for a test that changes it."""
    return Path(shutil.copytree(sound_course, tmp_path / "course"))


def remove(course: Path, name: str, start: str) -> None:
    """Remove the definition that begins so from a suite."""
    path = course / name
    before, _, rest = path.read_text(encoding="utf-8").partition(start)
    assert rest
    path.write_text(before + "\n\n\n".join(rest.split("\n\n\n")[1:]), encoding="utf-8")


def table(course: Path, exercise: str) -> dict[str, Any]:
    whole = json.loads((course / "build" / "audit" / "sums.json").read_text(encoding="utf-8"))
    return whole["exercises"][exercise]


@pytest.mark.proof(part="audit")
def test_a_sound_suite_has_a_table_with_the_fate_of_every_answer(sound_course: Path) -> None:
    add = table(sound_course, "add")
    fates = {mutant["name"]: mutant["fate"] for mutant in add["mutants"]}
    assert fates["add/arithmetic/1"] == "killed"
    assert fates["add/swapped_parameters/1"] == "equivalent"
    assert [one for one in add["misconceptions"] if one["named"] == ["subtracts"]] == [
        {"name": name, "missed": 2, "named": ["subtracts"]} for name in ("subtracts", "subtracts__from_the_other")
    ]
    assert add["unlisted_mistakes"][0] == {"name": "multiplies", "missed": 2, "named": []}
    page = (sound_course / "build" / "audit" / "sums.md").read_text(encoding="utf-8")
    assert "```diff\n- def add(a, b):\n+ def add(b, a):\n```" in page


@pytest.mark.proof(part="audit")
@pytest.mark.parametrize("has_others", [True, False])
def test_an_exercise_without_a_probe_is_audited_with_derived_probes(course: Path, has_others: bool) -> None:
    for name in (SCALE,) if has_others else (ADD, SCALE):
        remove(course, name, "@probe(")
    before = {mutant["name"]: mutant["fate"] for mutant in table(course, "Scale")["mutants"]}

    found = courses.run_grader(course, "audit", "--unit", "sums")

    assert (found.returncode, "problems" in found.stderr) == (0, False), found.stderr
    mutants = table(course, "Scale")["mutants"]
    assert {mutant["name"]: mutant["fate"] for mutant in mutants} == before
    assert {"killed", "equivalent"} == set(before.values())
    assert any(mutant["evidence"].endswith(" of scale_multiplies") for mutant in mutants)


@pytest.mark.proof(part="audit")
def test_a_sample_writes_nothing(course: Path) -> None:
    shutil.rmtree(course / "build" / "audit")
    found = courses.run_grader(course, "audit", "--quick")
    assert found.returncode == 0, found.stderr
    assert not (course / "build" / "audit").exists()


@pytest.mark.proof(part="audit")
def test_a_surviving_mutant_is_shown_with_its_difference(course: Path) -> None:
    courses.replace(course / SCALE, '"Scale", 3.0)(x), 3.0 * x', '"Scale", 1.0)(x), x')
    found = courses.run_grader(course, "audit", "--unit", "sums")
    assert found.returncode == 1
    assert (
        "sums/Scale: the mutant Scale/dropped_operand/2 keeps all points (the outputs: draw 0 of outputs)"
        in found.stderr
    )
    assert "\n- return self.factor * x\n+ return x\n" in found.stderr
    # The tables show it too.
    assert "survived" in {mutant["fate"] for mutant in table(course, "Scale")["mutants"]}


@pytest.mark.proof(part="audit")
def test_a_right_answer_may_be_alone_in_its_style_and_wrong_answers_may_be_missing(course: Path) -> None:
    remove(course, ADD, "def wrong_answers")
    with (course / ADD).open("a", encoding="utf-8") as suite:
        suite.write("\n    def one(a, b):\n        return torch.sub(a, -b)\n")

    found = courses.run_grader(course, "audit", "--unit", "sums")

    assert (found.returncode, "problems" in found.stderr) == (0, False), found.stderr
    assert (table(course, "add")["accepted_answers"], table(course, "Scale")["accepted_answers"]) == (3, 2)
    assert (table(course, "add")["pairs"], table(course, "add")["unlisted_mistakes"]) == ([], [])
    page = (course / "build" / "audit" / "sums.md").read_text(encoding="utf-8")
    assert [line.endswith(" none | none |") for line in page.splitlines() if line.startswith("| `")] == [True, True]


@pytest.mark.parametrize("name", ["multiplies__by_two", "subtracts__and__multiplies"])
def test_a_wrong_answer_whose_name_names_no_misconception_is_refused_with_its_line(
    own_small_course: Path, name: str
) -> None:
    suite = own_small_course / ADD
    text = suite.read_text(encoding="utf-8")
    suite.write_text(f"{text}\n\ndef wrong_answers():\n    def {name}(a, b):\n        return a * b\n", encoding="utf-8")
    found = courses.run_grader(own_small_course, "audit")
    assert found.returncode == 2
    place = f"{ADD}:{len(text.splitlines()) + 4}"
    sentence = f"it is not clear which mistake {name} is: begin its name with misconceptions of add, or use single"
    assert f"{place}: {sentence} underscores." in " ".join(found.stderr.split())


def test_a_file_that_is_not_python_is_named_with_its_line(own_small_course: Path) -> None:
    courses.replace(own_small_course / ADD, "return a - b", "return return")
    found = courses.run_grader(own_small_course, "audit")
    assert found.returncode == 2
    assert f"{ADD}:22 is not valid Python: correct it first." in found.stderr


def test_a_unit_that_does_not_exist_is_bad_input(small_course: Path) -> None:
    found = courses.run_grader(small_course, "audit", "--unit", "sum")
    assert found.returncode == 2
    assert "There is no unit 'sum'" in found.stderr
