"""Explains the failure of a student's code by its source: the lines that led there, their text, and what to do.

The text of a line comes from the submission, not from the student process. That process only says which line it was.
"""

from __future__ import annotations

import ast
import itertools
import re
from collections.abc import Collection, Sequence
from dataclasses import replace

from grader.engine.definition_hints import LOOPS, on_form, on_methods, on_source, on_undefined, with_replacement
from grader.engine.error_hints import hint_for
from grader.engine.name_hints import (
    MISSING_IMPORT,
    MISSING_NAME,
    RELATIVE,
    hint_on_characters,
    methods_of,
)
from grader.engine.outcomes import Outcome
from grader.engine.source_lines import SourceLines
from grader.engine.tensor_hints import uncalled
from grader.sandbox.failures import FailedStatement
from grader.text import in_words

# A size of an argument, as the sentence on equal sizes says it.
SIZE = re.compile(r"(?:dimension (?P<dim>-\d) of )?argument (?P<place>\d+)(?P<made> of the class)?")


def explained(
    outcome: Outcome,
    unit: str,
    exercise: str,
    others: Collection[str],
    lines: SourceLines,
    lost: Sequence[FailedStatement] = (),
) -> Outcome:
    """Return the outcome of a failed test of an exercise with what the source says about it.

    others: the other exercises and the units. lost: the statements of the unit that failed.
    """
    if outcome.passed or outcome.kind == "waiting":
        return outcome
    definitions = lines.definitions(unit)
    own = [(label, node) for label, node in definitions if node.name == exercise]
    outcome = _still_raises(_place_of_loop(outcome, lines), exercise, lines)
    outcome = with_replacement(outcome, unit, exercise, lines, lost)
    hints = on_form(outcome.reason, exercise, unit, lines)
    if own and outcome.kind == "raised" and isinstance(own[-1][1], ast.ClassDef):
        hints += on_methods(outcome.detail, own[-1][1])
    outcome = replace(outcome, is_explained=outcome.is_explained or bool(hints))
    if outcome.reason == f"{exercise} is not defined.":
        hints.append(on_undefined(exercise, unit, others, lines, lost))
    elif own:
        label, node = own[-1]
        hints += on_source(outcome, node)
        hints = [hint_on_characters(hint, "", lines.at(label, node.lineno)) for hint in hints]
    if len(own) > 1 and not any(exercise in one.names for one in lost):
        places = []
        for label, some in itertools.groupby(own, lambda one: one[0]):
            numbers = [str(node.lineno) for _, node in some]
            places.append(f"{'lines' if numbers[1:] else 'line'} {in_words(numbers)} of {_name_of(label)}")
        hints.append(f"`{exercise}` is defined in {in_words(places)}: only the last one counts.")
    return replace(outcome, reason=" ".join(filter(None, [outcome.reason, *hints])))


def with_own_names(sentence: str, unit: str, exercise: str, lines: SourceLines) -> str:
    """Return a sentence with the student's names for the arguments of an exercise in place of their numbers."""
    own = [node for _, node in lines.definitions(unit) if node.name == exercise]
    methods = {one.name: one for node in own[-1:] for one in methods_of(node)}

    def named(found: re.Match[str]) -> str:
        method = methods.get("__init__" if found["made"] else "forward")
        function = own[-1] if isinstance(own[-1], ast.FunctionDef) else method
        arguments = [one.arg for one in function.args.args if one.arg != "self"] if function else []
        place = int(found["place"]) - 1
        if place >= len(arguments):
            return found[0]
        return f"`{arguments[place]}.shape[{found['dim']}]`" if found["dim"] else f"`{arguments[place]}`"

    return SIZE.sub(named, sentence) if own else sentence


def _name_of(label: str | None) -> str:
    """Return a label without the folder: in plain pytest, labels are paths."""
    return (label or "").rpartition("/")[2]


def _place_of_loop(outcome: Outcome, lines: SourceLines) -> Outcome:
    """Return the outcome of a call that ran out of time with the line of the loop that was running, if there is one.

    The process says where it was last. That is any line of a loop, and it may be inside a short loop in a long one, so
    the outermost `while` counts, or else the outermost `for`.
    """
    if outcome.kind != "timed out" or not outcome.line:
        return outcome
    loops = [node for node in lines.at(outcome.file, outcome.line).around if isinstance(node, LOOPS)]
    line = next((loop.lineno for kind in LOOPS for loop in loops if isinstance(loop, kind)), outcome.line)
    return replace(outcome, line=line)


def _still_raises(outcome: Outcome, exercise: str, lines: SourceLines) -> Outcome:
    """Return the outcome of code that raises NotImplementedError with what raises it, unless that is a whole stub."""
    place = lines.at(outcome.file, outcome.line)
    around = place.around if outcome.kind == "not written" else []
    places = [*outcome.trace, (outcome.file, outcome.line)]
    if not around or exercise not in [lines.at(*one).owner for one in places]:
        return outcome  # the test itself uses another exercise
    where = f"Line {outcome.line} of {_name_of(outcome.file)}"
    owner, function, statement = around[0], *([None, *around][-2:])
    if not isinstance(statement, ast.Raise):
        return replace(outcome, reason=f"{where} raises NotImplementedError.")
    if not isinstance(function, ast.FunctionDef):
        return replace(outcome, reason=f"{where} raises NotImplementedError: write what this case needs.")
    if place.owner != exercise or (function is not owner and isinstance(owner, ast.FunctionDef)):
        name = owner.name if isinstance(owner, ast.ClassDef) else function.name
        return replace(outcome, reason=f"It needs `{name}`, which is not written yet.")
    if _is_written(function):
        return replace(outcome, reason=f"{where} still raises NotImplementedError: delete it.")
    if any(map(_is_written, methods_of(owner))):
        return replace(outcome, reason=f"{where} still raises NotImplementedError: write `{function.name}`.")
    return outcome


def _is_written(function: ast.FunctionDef) -> bool:
    """Return whether a function has code beside what the stub contains."""
    for statement in function.body:
        match statement:
            case ast.Expr(ast.Constant()) | ast.Expr(ast.Call(func=ast.Attribute(attr="__init__"))):
                continue
            case ast.Raise() | ast.Pass():
                continue
        return True
    return False


def lacks_import(
    outcome: Outcome, lost: Collection[FailedStatement], unit: str, others: Collection[str], lines: SourceLines
) -> bool:
    """Return whether a test failed because the file lacks an import, or imports from where the name is not.

    lost: the statements of the unit that failed. others: the other exercises and the units.
    """
    missing = MISSING_NAME.match(outcome.detail) if outcome.kind == "raised" else None
    place = lines.at(outcome.file, outcome.line)
    if not missing or place.unit != unit or place.owner in others:  # then it is about that exercise
        return False
    binding = [one for one in lost if not {missing[1], "*"}.isdisjoint(one.names) or one.may_define_anything]
    if not binding:
        return lines.import_of(missing[1], unit) is not None
    causes = [MISSING_IMPORT.match(one.detail) for one in binding if RELATIVE not in one.detail]
    return all(cause and (cause["name"] or cause["module"]) not in others for cause in causes)


def trace_of(outcome: Outcome, lines: SourceLines) -> list[str]:
    """Return the lines that led to a failure as text, the outermost first: `line 12: scores = dot(query, inputs)`."""
    trace = outcome.trace or ([(outcome.file, outcome.line)] if outcome.file and outcome.line else [])
    found = [(file, line, text) for file, line in trace if (text := lines.at(file, line).text)]
    return [f"{'' if file == outcome.file else f'{_name_of(file)}, '}line {line}: {text}" for file, line, text in found]


def advice(outcome: Outcome, others: Collection[str], lines: SourceLines, lost: Sequence[FailedStatement] = ()) -> str:
    """Return what to do about a failure: sentences, or "".

    others: the other exercises and the units. lost: the statements that failed in the unit of the line.
    """
    if outcome.kind == "not written" or outcome.is_explained:
        return ""
    place = lines.at(outcome.file, outcome.line)
    owner = place.owner
    if owner not in others:
        hint = hint_for(outcome, place, lost)
    elif caller := next((line for file, line in outcome.trace if lines.at(file, line).owner != owner), None):
        hint = f"`{owner}` raises this when line {caller} calls it: check its arguments there, then `{owner}` itself."
        hint = f"{hint} {uncalled(outcome.detail, lines)}".strip()
    else:
        hint = f"`{owner}` raises this: check that exercise first."
    shapes = f"Shapes in this line: {in_words(outcome.shapes)}." if outcome.shapes else ""
    return " ".join(filter(None, [hint, shapes]))
