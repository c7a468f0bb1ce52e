"""What a student process says becomes a value, a failure with a sentence for the student, or a line of the audit log.

Student code may have worded it. What becomes part of a reason is therefore reduced to one line of plain words.
"""

from __future__ import annotations

import builtins
import re
from collections import Counter
from collections.abc import Callable
from typing import Any

from grader.sandbox import loader, protocol
from grader.sandbox.audit_hook import IGNORED, MAX_OF_A_KIND, WORDS
from grader.sandbox.failures import NOT_PYTHON, FailedStatement, NotDefined, Raised, Refused
from grader.sandbox.protocol import Anomaly, Error, Failed, ProtocolError, Reply
from grader.sandbox.units import SETTINGS
from grader.sandbox.values import Decoder

# Tracebacks end at the line of the test: the frames below it help nobody.
__tracebackhide__ = True

ALWAYS_TRUE = "This assert is always true."
# Remarks about statements that ran, by their kinds.
REMARKS = {loader.ALWAYS_TRUE: ALWAYS_TRUE, **{name: setting.words for name, setting in SETTINGS.items()}}
# Those that are always a message. They cost no name.
NOTES = {
    loader.LATE_FUTURE: (
        "Python refuses the file, because `from __future__` belongs above all other code: move the line there. While "
        "grading it counts from here on."
    ),
    loader.ANNOTATION: "Python stops at an annotation here, which is left out while grading:",
    protocol.MORE: "Too many statements failed to show each. Those from here on that did not run:",
    loader.KEPT_MODULE: "It was not run, because it deletes a module that functions use: delete the line.",
}
TO_ANNOTATIONS = "Import what it needs, or begin the file with `from __future__ import annotations`."
# Characters that terminals and workflow logs may interpret.
CONTROL_CHARACTERS = re.compile(r"[^\w\s.,;'()/+-]")

# A tensor of the student's: a dotted name and a shape.
SHAPE = re.compile(r"[^\W\d][\w.]{0,99} \((?:\d+,|\d+(?:, \d+)+)?\)")

PLACE = re.compile(r"in line \d{1,9} of [\w.,() -]{1,200}")

Reader = Callable[[Reply | Error, bytearray], list[Any]]


def values_of(reply: Reply | Error, data: bytes | bytearray) -> list[Any]:
    """Return the values of a reply, whose tensors have these bytes.

    Raises:
        Failure: The reply is an error.
        ProtocolError: The value is malformed, or too large.
    """
    if isinstance(reply, Reply):
        decoder = Decoder(data, most_tensors=protocol.MAX_TENSORS)
        values = [decoder.decode(value) for value in reply.values]
        decoder.end()
        return values
    text, types = _plain(reply.text), tuple(reply.types)
    if types[:1] == ("Undefined",):
        raise NotDefined(f"{text}.")
    if types[:1] in (("Unsupported",), ("Unsendable",)):
        refused = Refused(f"{text[:1].upper()}{text[1:]}.")
        refused.about = types[1] if len(types) > 1 else ""
        raise refused
    raised = Raised(_errors(types) or ("Exception",), reply.text, reply.line, reply.file)
    raised.trace = tuple((file, line) for file, line in reply.trace)
    raised.shapes = tuple(filter(SHAPE.fullmatch, reply.shapes))
    raise raised


def failed_statements(reply: Reply | Error, data: bytes | bytearray) -> list[list[FailedStatement]]:
    """Return the statements that failed when a unit was loaded, as the only value. Raises what values_of raises."""
    match values_of(reply, data):
        case [list(found)] if len(found) <= protocol.MAX_FAILURES:
            return [[_statement(protocol.checked(Failed, one)) for one in found]]
    raise ProtocolError("another value than the statements that failed")


def _statement(failed: Failed) -> FailedStatement:
    kind = failed.types[0] if failed.types else ""
    reason = REMARKS.get(kind) or NOTES.get(kind)
    if not reason:
        kinds = _errors(tuple(failed.types))
        reason = NOT_PYTHON if "SyntaxError" in kinds else f"It raised {kinds[0] if kinds else 'an error'}."
    if kind in NOTES and kind != protocol.MORE:
        failed = failed._replace(names=(), kept=())
    file = None if failed.file is None else _plain(failed.file)
    kept = tuple(name for name in failed.kept if name.isidentifier())
    trace = tuple((label, line) for label, line in failed.trace)
    names = tuple(failed.names)
    hint = TO_ANNOTATIONS if kind == loader.ANNOTATION else ""
    return FailedStatement(names, reason, failed.text, failed.line, file, kept, trace, hint, ran=kind in REMARKS)


def _errors(types: tuple[str, ...]) -> tuple[str, ...]:
    """Return the names that are built-in errors."""
    found = ((name, getattr(builtins, name, None)) for name in types)
    return tuple(name for name, kind in found if isinstance(kind, type) and issubclass(kind, BaseException))


def _plain(text: str) -> str:
    return " ".join(CONTROL_CHARACTERS.sub(" ", text[:200]).split())


class AuditLog:
    """The anomalies of a submission, on the trusted side: a sentence for each, and a few of each kind.

    The student process reports them itself, so they can be forged.
    """

    def __init__(self) -> None:
        self._counts: Counter[tuple[str, str]] = Counter()  # by unit and kind
        self._is_new: dict[str, bool] = {}

    def add(self, unit: str, anomaly: Anomaly) -> None:
        """Note an anomaly of a known kind, unless it was noted before or there are many of its kind."""
        sentence = _sentence(anomaly.words, anomaly.argument)
        kind = (unit, anomaly.words)
        most = 1 if anomaly.words in IGNORED.values() else MAX_OF_A_KIND
        if anomaly.words in WORDS and sentence not in self._is_new and self._counts[kind] < most:
            self._counts[kind] += 1
            self._is_new[sentence] = True

    def take(self) -> list[str]:
        """Return the sentences that are new since the last call."""
        sentences = [sentence for sentence, is_new in self._is_new.items() if is_new]
        self._is_new.update(dict.fromkeys(sentences, False))
        return sentences


def _sentence(words: str, argument: str) -> str:
    """Return an anomaly as one line for the report."""
    if words in IGNORED.values():
        return words.replace(" is", f" {argument} is", 1) if PLACE.fullmatch(argument) else words
    return (
        f"It tried to {words}: {' '.join(argument.split())[: protocol.MAX_NAME]}"
        if argument
        else f"It tried to {words}."
    )
