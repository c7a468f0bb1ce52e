"""Fixtures that many tests share: a fork server, sandbox clients, the engine, and a small course."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import courses
import forks
import pytest
from courses import COURSE, REPOSITORY
from example_class import make_class

from grader.course import generated
from grader.engine import engine_server
from grader.engine.engine_client import Engine
from grader.engine.engine_messages import EngineHandshake
from grader.quizzes.quiz_source import QuizSource, load_quiz
from grader.sandbox.limits import Limits
from grader.sandbox.processes import ForkServer, start_module
from grader.sandbox.sandbox_client import SandboxClient, Source

# A check in a test leaves no spare process for the next one: as in CI, but tests that ask for CI take "" for no.
os.environ.setdefault("CI", "")
LIMITS = {"call_seconds": 5, "unit_seconds": 20, "cpu_seconds": 30, "memory_mb": 2048, "output_kb": 64}


@pytest.fixture(scope="session", autouse=True)
def users_folders(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """What the grader remembers of a student's folder is not kept in the folders of who runs the tests."""
    with pytest.MonkeyPatch.context() as patch:
        for kind in ("CACHE", "STATE"):
            patch.setenv(f"XDG_{kind}_HOME", str(tmp_path_factory.mktemp(kind.lower())))
        yield


@pytest.fixture(autouse=True)
def forgotten_courses(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Forget the suites of courses in temporary folders, because other courses have modules of these names."""
    path, temporary = [*sys.path], str(tmp_path_factory.getbasetemp())
    yield
    sys.path[:] = path
    for name, module in [*sys.modules.items()]:
        if (getattr(module, "__file__", None) or "").startswith(temporary):
            del sys.modules[name]


@pytest.fixture(scope="session", autouse=True)
def forked_engines() -> Iterator[None]:
    """Fork engines and builders of tests from a process that has imported torch, where processes can be forked."""
    with pytest.MonkeyPatch.context() as patch:
        if sys.platform == "linux":
            patch.setattr(engine_server, "start_module", forks.engine_process)
            patch.setattr(generated, "run_builder", forks.builder_process)
        yield


@pytest.fixture
def true_engines(monkeypatch: pytest.MonkeyPatch) -> None:
    """Engines in a test's own process start as users' do."""
    monkeypatch.setattr(engine_server, "start_module", start_module)


@pytest.fixture(scope="session")
def server() -> Iterator[ForkServer]:
    server = ForkServer.spawned()
    yield server
    server.close()


@pytest.fixture
def open_client(server: ForkServer) -> Iterator[Callable[..., SandboxClient]]:
    """Open a sandbox client for source texts: of one unit called `answers`, or of several units by name."""
    clients: list[SandboxClient] = []

    def open_client(units: str | dict[str, str], **limits: int | float) -> SandboxClient:
        texts = {"answers": units} if isinstance(units, str) else units
        sources = {unit: Source.of(f"{unit}.py", [text]) for unit, text in texts.items()}
        clients.append(SandboxClient(server, sources, Limits(**{**LIMITS, **limits})))  # type: ignore[arg-type]
        return clients[-1]

    yield open_client
    for client in clients:
        client.close()


@pytest.fixture(scope="session")
def started_engine() -> Iterator[tuple[Engine, EngineHandshake]]:
    with Engine(COURSE) as engine:
        yield engine, engine.handshake()


@pytest.fixture
def engine(started_engine: tuple[Engine, EngineHandshake]) -> Engine:
    """The engine of this repository's own course, after its handshake."""
    return started_engine[0]


@pytest.fixture
def handshake(started_engine: tuple[Engine, EngineHandshake]) -> EngineHandshake:
    return started_engine[1]


@pytest.fixture(scope="session")
def example_class(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder with the answers of the example class. Tests do not change it."""
    folder = tmp_path_factory.mktemp("example") / "class"
    make_class(REPOSITORY, folder)
    return folder


@pytest.fixture(scope="session")
def small_course(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A course of one unit with three criteria, worth five points."""
    return courses.make_small_course(tmp_path_factory.mktemp("small"))


@pytest.fixture(scope="session")
def quiz(small_course: Path) -> QuizSource:
    """The quiz of the small course, with an item of each kind."""
    return load_quiz(small_course / "solutions" / "sums_quiz.yml")


@pytest.fixture
def own_small_course(tmp_path: Path) -> Path:
    """A small course that the test may change."""
    return courses.make_small_course(tmp_path / "course")
