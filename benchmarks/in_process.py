"""The baseline of bench.py: a pytest plugin that runs the suites on a submission in the same process."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

import pytest

from grader.course.model import load_course
from grader.engine.criteria import criteria_of
from grader.testing.draws import Fresh
from grader.testing.student import InProcessBackend, Student
from grader.testing.substitutes import hidden_substitutes

COURSE = load_course(Path(__file__).resolve().parents[1])
SUBSTITUTES = hidden_substitutes(COURSE)
BACKEND = pytest.StashKey[InProcessBackend]()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--submission", type=Path, required=True)


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "rule(words): as in grader/suites")
    sys.path.insert(0, str(config.getoption("--submission")))


def pytest_sessionstart(session: pytest.Session) -> None:
    backend = session.config.stash[BACKEND] = InProcessBackend("", {})
    submission = session.config.getoption("--submission")
    given = [unit for unit in COURSE.units if (submission / f"{unit}.py").is_file()]
    backend.worker.units.modules.update({unit: importlib.import_module(unit) for unit in given})


@pytest.fixture
def student(request: pytest.FixtureRequest) -> Student:
    return Student(request.config.stash[BACKEND], request.path.parent.name, SUBSTITUTES)


@pytest.fixture
def fresh(request: pytest.FixtureRequest) -> Fresh:
    criteria = criteria_of(request.module, request.path.parent.name, COURSE.version)
    case = max(request.node.callspec.indices.values(), default=0) if hasattr(request.node, "callspec") else 0
    return criteria[request.node.originalname, case].fresh()
