"""JSON as both sides write it: no NaN, and no int beyond 64 bits."""

from __future__ import annotations

import json
import re
from typing import Any


def read(text: bytes) -> Any:
    """Return what a JSON text says. Raises ValueError or RecursionError."""
    return (_read if LONG_NUMBER.search(text) else _read_short_numbers)(text.decode())


def _parse_int(digits: str) -> int:
    if len(digits) > 20 or abs(number := int(digits)) >= 2**63:
        raise ValueError("an int of more than 64 bits")
    return number


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is not JSON")


write = json.JSONEncoder(allow_nan=False).encode
_read = json.JSONDecoder(parse_int=_parse_int, parse_constant=_refuse_constant).decode
# To have every number looked at takes long, and only long ones need it.
_read_short_numbers = json.JSONDecoder(parse_constant=_refuse_constant).decode
LONG_NUMBER = re.compile(rb"[0-9]{19}")
