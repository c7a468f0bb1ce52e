"""Notebooks for tests, written as JSON, valid or not."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any


def code(text: Any, **metadata: Any) -> dict[str, Any]:
    """Make a code cell."""
    return {"cell_type": "code", "source": text, "metadata": metadata, "outputs": [], "execution_count": 1}


def write_notebook(path: Path, *cells: Any) -> None:
    """Write a notebook with these cells."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": cells}))
