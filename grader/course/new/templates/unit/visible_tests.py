"""Examples of $title that you can check by hand. Run `grader check`, or `pytest` in this folder."""

from __future__ import annotations

import pytest

from grader.testing.checks import expect_number
from grader.testing.student import Student
