"""Connects to the scheduler of a cluster, or makes a cluster of threads in this process."""

from __future__ import annotations

import contextlib
import logging
from dataclasses import dataclass, field
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from grader.cluster.address import LOCAL, Address, read_address, require_certificates, require_private
from grader.cluster.worker import WORKER
from grader.errors import GraderError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from distributed import Client, SpecCluster

    from grader.course.model import Course

INSTALL = "pip install 'attention-from-scratch[cluster]'"
CONNECT_SECONDS = 10
# Until the first worker is there.
WORKER_SECONDS = 60


@dataclass(frozen=True)
class Connection:
    """A connection to a scheduler; `local` ends a cluster of this process."""

    name: str
    client: Client
    local: contextlib.ExitStack = field(default_factory=contextlib.ExitStack)

    def close(self) -> None:
        """Disconnect. The scheduler drops what is not graded yet; a local cluster ends."""
        with self.local, contextlib.suppress(OSError, TimeoutError):  # the scheduler may be gone
            self.client.close()


def connect(scheduler: str, course: Course, workers: int) -> Connection:
    """Connect to a scheduler with a worker.

    Args:
        scheduler: The scheduler's address, or `local`.
        course: The course to grade.
        workers: How many submissions a local cluster grades at once.

    Raises:
        GraderError: Dask is missing, the address is refused, or no scheduler or no worker is there.
    """
    try:
        import distributed  # noqa: F401 - before anything else
    except ModuleNotFoundError as error:
        raise GraderError(f"--scheduler needs {error.name}, which is not installed: {INSTALL}.") from None
    if scheduler == LOCAL:
        from distributed import Client

        local = contextlib.ExitStack()
        cluster = local.enter_context(_cluster(course, workers))
        return Connection("of this process", Client(cluster, set_as_default=False), local)
    address = read_address(scheduler)
    if address.is_encrypted:
        require_certificates()
    client = _client(address)
    try:
        if not address.is_encrypted:
            info = client.scheduler_info()
            require_private([("scheduler", info["address"]), *(("worker", worker) for worker in info["workers"])])
        client.wait_for_workers(1, timeout=WORKER_SECONDS)
    except TimeoutError:
        client.close()
        raise GraderError(f"--scheduler: {address} has no worker: start one, {start_worker(str(address))}.") from None
    except BaseException:
        client.close()
        raise
    return Connection(str(address), client)


def start_worker(scheduler: str) -> str:
    """Return how to start a worker."""
    return f"in the course's folder on any machine with this grader: `dask worker {scheduler}`"


@contextlib.contextmanager
def _cluster(course: Course, workers: int) -> Iterator[SpecCluster]:
    """Make a scheduler and a worker in this process. They listen nowhere, so nobody else can send them code."""
    import dask
    from distributed import Scheduler, SpecCluster, Worker

    class WithoutPages:
        def start_http_server(self, *given: Any, **named: Any) -> None:
            """Serve no web pages, which Dask does even without its dashboard, on all addresses of the machine."""

    class LocalScheduler(WithoutPages, Scheduler): ...

    class LocalWorker(WithoutPages, Worker): ...

    protocol = {"protocol": "inproc://"}
    WORKER.use(course)
    with (
        contextlib.closing(WORKER),
        # Dask puts this folder first in sys.path, and its usual parent may belong to another user.
        TemporaryDirectory() as folder,
        dask.config.set({"temporary-directory": folder}),
        SpecCluster(
            scheduler={"cls": LocalScheduler, "options": {"dashboard": False, **protocol}},
            workers={0: {"cls": LocalWorker, "options": {"nthreads": workers, "memory_limit": 0, **protocol}}},
            silence_logs=logging.CRITICAL,  # when it ends, parts of it report others that do not reply any more
        ) as cluster,
    ):
        yield cluster


def _client(address: Address) -> Client:
    from distributed import Client, Security

    security = Security(require_encryption=address.is_encrypted)
    try:
        return Client(str(address), timeout=CONNECT_SECONDS, set_as_default=False, security=security)
    except (OSError, ValueError) as error:
        reason = " ".join(str(error).split())
        raise GraderError(
            f"--scheduler: there is no scheduler at {address} ({reason}): start `dask scheduler`, or correct it."
        ) from None
