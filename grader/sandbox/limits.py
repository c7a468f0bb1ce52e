"""The limits of a student process, as the course sets them. Needs pydantic, which no student process loads."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field, field_validator
from pydantic_core import PydanticCustomError

from grader.documents import Model

Count = Annotated[int, Field(ge=1)]
Seconds = Annotated[float, Field(gt=0, allow_inf_nan=False)]


class Limits(Model):
    """What the process that runs a submission may use."""

    call_seconds: Seconds
    unit_seconds: Seconds
    cpu_seconds: Count
    memory_mb: Annotated[int, Field(ge=1024)]  # torch's oneDNN breaks below about 750
    output_kb: Count

    @field_validator("unit_seconds")
    @classmethod
    def _holds_one_call(cls, unit_seconds: float, info: Any) -> float:
        if unit_seconds < info.data.get("call_seconds", 0):
            raise PydanticCustomError("too_short_for_a_call", "Input should be at least call_seconds")
        return unit_seconds
