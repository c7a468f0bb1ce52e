"""The example class: its generator, and the names of its students."""

from __future__ import annotations

import sys

from courses import REPOSITORY

sys.path.insert(0, str(REPOSITORY / "examples"))
from make_class import FOLDERS, ClassError, make_class

__all__ = ["CLASS", "ClassError", "make_class"]

CLASS = list(FOLDERS)
