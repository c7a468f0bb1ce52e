"""A unit's mutants: each changes one exercise by one slip, and nothing else."""

from __future__ import annotations

import ast
import functools
from collections import Counter

import pytest
from courses import COURSE, REPOSITORY

from grader.audit.mutation import OPERATORS, Mutant, mutants_of

UNITS = COURSE.units
SMALL = '''\
"""A unit."""
import torch


def double(x: torch.Tensor, times: int = 2) -> torch.Tensor:
    """Give 2 * x."""
    if times < 0:
        raise ValueError(f"{times - 1} is too few")
    return times * x


# A comment, and an exercise that follows it.
def other(x):
    return x
'''


def solution(unit: str) -> str:
    return (REPOSITORY / "solutions" / f"{unit}.py").read_text(encoding="utf-8")


@functools.cache
def mutants(unit: str) -> list[Mutant]:
    return mutants_of(solution(unit), list(UNITS[unit].exercises))


def around(source: str, exercise: str) -> tuple[str, str]:
    """The text above an exercise's definition, and the text below it."""
    [node] = [node for node in ast.parse(source).body if getattr(node, "name", None) == exercise]
    lines = source.splitlines(keepends=True)
    return "".join(lines[: node.lineno - 1]), "".join(lines[node.end_lineno :])


@functools.cache
def codes(unit: str) -> dict[str, str]:
    """The code of the changed definition in each mutant, by the mutant's id."""
    texts = {exercise: around(solution(unit), exercise) for exercise in UNITS[unit].exercises}
    found = {}
    for mutant in mutants(unit):
        above, below = texts[mutant.exercise]
        assert mutant.source.startswith(above), mutant.id
        assert mutant.source.endswith(below), mutant.id
        found[mutant.id] = mutant.source[len(above) : len(mutant.source) - len(below)]
    return found


def plain(code: str) -> ast.Module:
    """The tree of a definition without its docstrings, which mutants do not have."""
    tree = ast.parse(code)
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.ClassDef) and ast.get_docstring(node) is not None:
            node.body = node.body[1:]
    return tree


def messages(tree: ast.Module) -> Counter[str]:
    raised = [node.exc for node in ast.walk(tree) if isinstance(node, ast.Raise)]
    return Counter(ast.unparse(error.args[0]) for error in raised if isinstance(error, ast.Call))


def annotated(tree: ast.Module) -> Counter[str]:
    arguments = [node for node in ast.walk(tree) if isinstance(node, ast.arg) and node.annotation]
    return Counter(f"{node.arg}: {ast.unparse(node.annotation)}" for node in arguments if node.annotation)


every_unit = pytest.mark.parametrize("unit", UNITS)


@pytest.mark.proof(part="audit")
def test_every_operator_applies_somewhere_in_the_course_which_has_between_1500_and_about_3300_mutants() -> None:
    assert {mutant.operator for unit in UNITS for mutant in mutants(unit)} == set(OPERATORS)
    assert 1500 <= sum(len(mutants(unit)) for unit in UNITS) <= 3350


@pytest.mark.proof(part="audit")
@every_unit
def test_every_class_has_at_least_a_dozen_mutants_and_every_exercise_ten(unit: str) -> None:
    counts = Counter(mutant.exercise for mutant in mutants(unit))
    for exercise in UNITS[unit].exercises:
        assert counts[exercise] >= (12 if exercise[0].isupper() else 10), exercise


@pytest.mark.proof(part="audit")
@every_unit
def test_each_mutant_changes_the_code_of_its_exercise_in_another_way_and_nothing_else(unit: str) -> None:
    solved = {
        node.name: node for node in plain(solution(unit)).body if isinstance(node, ast.FunctionDef | ast.ClassDef)
    }
    seen = {ast.unparse(node) for node in solved.values()}
    for mutant in mutants(unit):
        old, new = ast.Module([solved[mutant.exercise]], []), ast.parse(codes(unit)[mutant.id])
        compile(new, mutant.id, "exec")  # the rest is the solution
        assert [getattr(node, "name", None) for node in new.body] == [mutant.exercise], mutant.id
        assert ast.unparse(new) not in seen, mutant.id
        seen.add(ast.unparse(new))
        assert messages(new) <= messages(old), mutant.id  # a check that was left out has no message
        assert annotated(new) == annotated(old), mutant.id


@pytest.mark.proof(part="audit")
@every_unit
def test_ids_are_unique_and_the_same_in_the_next_run(unit: str) -> None:
    ids = [mutant.id for mutant in mutants(unit)]
    assert len(set(ids)) == len(ids)
    assert mutants_of(solution(unit), list(UNITS[unit].exercises)) == mutants(unit)


def test_a_mutant_has_its_line_and_a_diff() -> None:
    [mutant] = [mutant for mutant in mutants_of(SMALL, ["double"]) if mutant.operator == "power"]
    assert mutant.id == "double/power/1"
    assert SMALL.splitlines()[mutant.line - 1] == "    return times * x"
    assert mutant.diff == "- return times * x\n+ return times ** x"


def test_default_values_are_changed_and_the_rest_of_the_file_is_not() -> None:
    above, _, rest = SMALL.partition("def double")
    below = rest[rest.index("\n\n\n# A comment") :]
    assert [one for one in mutants_of(SMALL, ["double"]) if "times: int=3" in one.diff]
    for mutant in mutants_of(SMALL, ["double"]):
        assert mutant.source.startswith(f"{above}def double")
        assert mutant.source.endswith(below)


def test_numbers_and_words_of_docstrings_and_messages_are_not_changed() -> None:
    source = 'def example(x):\n    """Give 2."""\n    raise ValueError(f"{x - 1} is too few")\n'
    assert {mutant.operator for mutant in mutants_of(source, ["example"])} == {"other_error"}


def test_only_the_given_exercises_are_changed() -> None:
    assert {mutant.exercise for mutant in mutants_of(SMALL, ["other"])} == {"other"}
