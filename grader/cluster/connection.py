"""Connects to the scheduler of a cluster, or starts a cluster on this machine."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from typing import TYPE_CHECKING

from grader.cluster.address import LOCAL, Address, read_address, require_certificates, require_private
from grader.cluster.worker import COURSE_VARIABLE
from grader.errors import GraderError

if TYPE_CHECKING:
    from distributed import Client, LocalCluster

    from grader.course.model import Course

INSTALL = "pip install 'attention-from-scratch[cluster]'"
CONNECT_SECONDS = 10
# Until the first worker is there.
WORKER_SECONDS = 60
# When a local cluster ends, its workers report the heartbeats that get no reply any more as errors.
# What matters is said by the nannies, which run in this process.
QUIET_WORKERS = {"distributed.nanny.pre-spawn-environ.DASK_DISTRIBUTED__LOGGING__DISTRIBUTED": "critical"}


@dataclass(frozen=True)
class Connection:
    """A connection to a scheduler; `local` is a cluster that ends with it."""

    name: str
    client: Client
    local: LocalCluster | None = None

    def close(self) -> None:
        """Disconnect. The scheduler drops what is not graded yet; a local cluster ends."""
        with contextlib.suppress(OSError, TimeoutError):  # the scheduler may be gone
            self.client.close()
        if self.local:
            self.local.close()


def connect(scheduler: str, course: Course, workers: int) -> Connection:
    """Connect to a scheduler with a worker.

    Args:
        scheduler: The scheduler's address, or `local`.
        course: The course to grade.
        workers: How many processes a local cluster has.

    Raises:
        GraderError: Dask is missing, the address is refused, or no scheduler or no worker is there.
    """
    try:
        import distributed  # noqa: F401 - before anything else
    except ModuleNotFoundError as error:
        raise GraderError(f"--scheduler needs {error.name}, which is not installed: {INSTALL}.") from None
    if scheduler == LOCAL:
        return _start(course, workers)
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


def _start(course: Course, workers: int) -> Connection:
    """Start a cluster of worker processes, which no other machine can reach."""
    import dask
    from distributed import Client, LocalCluster

    with dask.config.set(QUIET_WORKERS):
        local = LocalCluster(
            n_workers=workers,
            threads_per_worker=1,
            processes=True,
            host="127.0.0.1",
            dashboard_address=None,
            worker_dashboard_address=None,
            env={COURSE_VARIABLE: str(course.root.resolve())},
        )
    return Connection("of this machine", Client(local, set_as_default=False), local)


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
