"""Measures how long msgspec, pydantic, and dataclasses with json take to encode and decode the protocol's messages.

    python -m venv --system-site-packages /tmp/venv && /tmp/venv/bin/pip install msgspec
    PYTHONPATH=. /tmp/venv/bin/python benchmarks/message_libraries.py [--rounds 300]

Each library encodes a typed message to JSON and decodes it, with the same bounds on every size and count. Tensor bytes
are in a separate buffer, which no library touches; the last lines show how long that buffer takes. The libraries take
turns in every round; figures are medians, and ratios to dataclasses and json. A library that is missing is left out.
"""

import argparse
import functools
import importlib.util
import json
import operator
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any, Literal

import torch

from grader.sandbox import protocol
from grader.sandbox.values import Decoder, Encoder

REPEATS = 50
MAX_CALLS, MAX_TYPES, MAX_TEXT = 1000, 20, 2000
Codec = tuple[Callable[[Any], bytes], Callable[[bytes], Any]]

TARGET = {"tuple": ["self_attention", "attention_scores"]}
ARGUMENTS = {"tuple": [{"tensor": 0}, {"tensor": 1, "permute": [1, 0]}]}
CALL = ["call", {"target": TARGET, "arguments": ARGUMENTS, "options": {"dict": []}}]
PARAMETERS = {"dict": [[f"blocks.{n}.weight", {"tuple": [{"tensor": n}, True]}] for n in range(16)]}
MESSAGES = {
    "request, 1 call": {"kind": "request", "number": 7, "calls": [CALL]},
    "request, 4 calls": {"kind": "request", "number": 7, "calls": [["prepare", {"seed": 2**40}], *[CALL] * 3]},
    "reply, 1 tensor": {"kind": "reply", "number": 7, "value": {"tensor": 0}},
    "reply, 16 parameters": {"kind": "reply", "number": 7, "value": PARAMETERS},
    "error": {
        "kind": "error", "number": 7, "types": ["RuntimeError", "Exception", "BaseException", "object"],
        "text": "mat1 and mat2 shapes cannot be multiplied (3x4 and 3x4)", "line": 12, "file": "self_attention.py",
    },
}  # fmt: skip


def with_dataclasses() -> Codec:
    """Dataclasses that are checked by hand, and json of the standard library."""

    @dataclass(frozen=True)
    class Request:
        number: int
        calls: list[Any]

    @dataclass(frozen=True)
    class Reply:
        number: int
        value: Any

    @dataclass(frozen=True)
    class Error:
        number: int
        types: list[str]
        text: str
        line: int | None
        file: str | None

    kinds = {"request": Request, "reply": Reply, "error": Error}
    names = {kind: name for name, kind in kinds.items()}
    write, read = json.JSONEncoder(allow_nan=False).encode, json.JSONDecoder().decode

    def encode(message: Any) -> bytes:
        return write({"kind": names[type(message)], **vars(message)}).encode()

    def decode(text: bytes) -> Any:
        match read(text.decode()):
            case {"kind": "request", "number": int(number), "calls": list(calls)} if len(calls) <= MAX_CALLS:
                if not all(len(call) == 2 and type(call[0]) is str and type(call[1]) is dict for call in calls):
                    raise ValueError
                return Request(number, calls)
            case {"kind": "reply", "number": int(number), "value": value}:
                return Reply(number, value)
            case {
                "kind": "error",
                "number": int(number),
                "types": list(types),
                "text": str(words),
                "line": int() | None as line,
                "file": str() | None as file,
            } if len(types) <= MAX_TYPES and len(words) <= MAX_TEXT and all(type(one) is str for one in types):
                return Error(number, types, words, line, file)
        raise ValueError  # fmt: skip

    return encode, decode


def with_msgspec() -> Codec:
    """Structs, which are checked while the JSON is read."""
    msgspec: Any = importlib.import_module("msgspec")

    bounded = msgspec.Meta
    fields = {
        "request": [
            ("number", int),
            ("calls", Annotated[list[tuple[str, dict[str, Any]]], bounded(max_length=MAX_CALLS)]),
        ],
        "reply": [("number", int), ("value", Any)],
        "error": [
            ("number", int),
            ("types", Annotated[list[str], bounded(max_length=MAX_TYPES)]),
            ("text", Annotated[str, bounded(max_length=MAX_TEXT)]),
            ("line", int | None),
            ("file", str | None),
        ],
    }
    kinds = [msgspec.defstruct(kind, found, tag_field="kind", tag=kind) for kind, found in fields.items()]
    return msgspec.json.Encoder().encode, msgspec.json.Decoder(functools.reduce(operator.or_, kinds)).decode


def with_pydantic() -> Codec:
    """Models in a union, which are checked while the JSON is read."""
    from pydantic import BaseModel, Field, TypeAdapter

    class Request(BaseModel):
        kind: Literal["request"]
        number: int
        calls: Annotated[list[tuple[str, dict[str, Any]]], Field(max_length=MAX_CALLS)]

    class Reply(BaseModel):
        kind: Literal["reply"]
        number: int
        value: Any

    class Error(BaseModel):
        kind: Literal["error"]
        number: int
        types: Annotated[list[str], Field(max_length=MAX_TYPES)]
        text: Annotated[str, Field(max_length=MAX_TEXT)]
        line: int | None
        file: str | None

    adapter: Any = TypeAdapter(Annotated[Request | Reply | Error, Field(discriminator="kind")])
    return adapter.dump_json, adapter.validate_json


def seconds(action: Callable[[], object]) -> float:
    """Return how long one run of `action` takes, from the mean of some in a row."""
    begun = time.perf_counter()
    for _ in range(REPEATS):
        action()
    return (time.perf_counter() - begun) / REPEATS


def medians(actions: dict[str, Callable[[], object]], rounds: int) -> dict[str, float]:
    """Return the median time of each action; all of them take turns in every round."""
    times: dict[str, list[float]] = {name: [] for name in actions}
    for _ in range(rounds):
        for name, action in actions.items():
            times[name].append(seconds(action))
    return {name: statistics.median(found) for name, found in times.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=300)
    rounds = parser.parse_args().rounds
    codecs = {"dataclasses": with_dataclasses(), "pydantic": with_pydantic()}
    if importlib.util.find_spec("msgspec"):
        codecs["msgspec"] = with_msgspec()
    print(f"µs to encode / to decode, medians of {rounds} rounds (ratio to dataclasses and json)")
    for title, plain in MESSAGES.items():
        text = json.dumps(plain).encode()
        actions: dict[str, Callable[[], object]] = {}
        for name, (encode, decode) in codecs.items():
            actions[f"{name} encode"] = functools.partial(encode, decode(text))
            actions[f"{name} decode"] = functools.partial(decode, text)
        found = medians(actions, rounds)
        cells = [
            f"{name} " + " / ".join(
                f"{found[f'{name} {way}'] * 1e6:.1f} ({found[f'{name} {way}'] / found[f'dataclasses {way}']:.2f})"
                for way in ("encode", "decode")
            )
            for name in codecs
        ]  # fmt: skip
        print(f"  {title:22} {'   '.join(cells)}")
    tensors = [torch.randn(2, 5, 3), torch.randn(4, 3)]
    values: Any = {"arguments": tuple(tensors), "options": {}}
    found = medians(
        {
            "two small tensors to a frame and back": lambda: there_and_back(values),
            "a frame without tensors": lambda: there_and_back({}),
            "two arguments to plain values": lambda: Encoder().encode(values),
        },
        rounds,
    )
    print("Whatever the library: " + ", ".join(f"{name} {time * 1e6:.1f} µs" for name, time in found.items()))


def there_and_back(value: object) -> object:
    encoder = Encoder()
    text, data = protocol.halves(protocol.pack(encoder.encode(value), encoder.data))
    return Decoder(data).decode(protocol.unpack(text))


if __name__ == "__main__":
    main()
