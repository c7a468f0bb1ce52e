"""Connects to the scheduler of a cluster.

Schedulers of other machines must be encrypted, with certificates on both sides.
"""

from __future__ import annotations

import contextlib
import ipaddress
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from grader.errors import GraderError

if TYPE_CHECKING:
    from distributed import Client

CERTIFICATE_COMMAND = (
    "openssl req -x509 -newkey rsa:3072 -nodes -days 365 -subj /CN=grader -keyout key.pem -out cert.pem"
)
_ADDRESS = re.compile(r"(?:(?P<protocol>\w+)://)?(?P<host>\[[\da-fA-F:]+\]|[\w.-]+):(?P<port>\d{1,5})")
# Dask's own settings, by what they are.
_SETTINGS = {
    "the certificate of the authority": "distributed.comm.tls.ca-file",
    "the certificate of this machine": "distributed.comm.tls.client.cert",
    "its key": "distributed.comm.tls.client.key",
}
INSTALL = "pip install 'attention-from-scratch[cluster]'"
CONNECT_SECONDS = 10
# Until the first worker is there.
WORKER_SECONDS = 60


@contextlib.contextmanager
def connect(scheduler: str) -> Iterator[tuple[str, Client]]:
    """Connect to a scheduler with a worker; at the end it drops what is not graded yet.

    Args:
        scheduler: The scheduler's address.

    Yields:
        The name of the scheduler for messages, and the connection.

    Raises:
        GraderError: Dask is missing, the address is refused, or no scheduler or no worker is there.
    """
    try:
        import distributed  # noqa: F401 - before anything else
    except ModuleNotFoundError as error:
        raise GraderError(f"--scheduler needs {error.name}, which is not installed: {INSTALL}.") from None
    address = read_address(scheduler)
    client = _client(address)
    try:
        _require_worker(client, address)
        yield str(address), client
    finally:
        with contextlib.suppress(OSError, TimeoutError):  # the scheduler may be gone
            client.close()


def _require_worker(client: Client, address: Address) -> None:
    """Wait for a worker. Raises GraderError if there is none, or if others could reach a cluster without encryption."""
    if not address.is_encrypted:
        info = client.scheduler_info()
        require_private([("scheduler", info["address"]), *(("worker", worker) for worker in info["workers"])])
    try:
        client.wait_for_workers(1, timeout=WORKER_SECONDS)
    except TimeoutError:
        raise GraderError(f"--scheduler: {address} has no worker: start one, {start_worker(str(address))}.") from None


def start_worker(scheduler: str) -> str:
    """Return how to start a worker."""
    return f"in the course's folder on any machine with this grader: `dask worker {scheduler}`"


def _client(address: Address) -> Client:
    """Connect to a scheduler. Raises GraderError if it is not there, or if Dask has no certificates for it."""
    from distributed import Client, Security

    if address.is_encrypted:
        require_certificates()
    security = Security(require_encryption=address.is_encrypted)
    try:
        return Client(str(address), timeout=CONNECT_SECONDS, set_as_default=False, security=security)
    except (OSError, ValueError) as error:
        reason = " ".join(str(error).split())
        raise GraderError(
            f"--scheduler: there is no scheduler at {address} ({reason}): start `dask scheduler`, or correct it."
        ) from None


class Address(NamedTuple):
    """The address of a scheduler."""

    protocol: str
    host: str
    port: str

    def __str__(self) -> str:
        return f"{self.protocol}://{self.host}:{self.port}"

    @property
    def is_encrypted(self) -> bool:
        """Whether both sides need a certificate."""
        return self.protocol == "tls"

    @property
    def is_of_this_machine(self) -> bool:
        """Whether other machines cannot reach it."""
        if self.host == "localhost":
            return True
        try:
            return ipaddress.ip_address(self.host.strip("[]")).is_loopback
        except ValueError:
            return False


def read_address(text: str) -> Address:
    """Return the address of a scheduler.

    Raises:
        GraderError: It is no address, or it would be used without encryption on a network.
    """
    if text == "local":
        raise GraderError("--scheduler local no longer exists: `--jobs N` grades with N processes on this machine.")
    address = _parsed(text)
    if not address:
        raise GraderError(
            f"--scheduler: {text!r} is no address: give one such as tls://node1:8786 or tcp://127.0.0.1:8786."
        )
    if not address.is_encrypted and not address.is_of_this_machine:
        raise GraderError(
            f"--scheduler: {address} is another machine, and without TLS anybody on the way could change grades: use "
            f"tls://{address.host}:{address.port}. {how_to_encrypt()}"
        )
    return address


def require_private(found: Iterable[tuple[str, str]]) -> None:
    """Check that no part of a cluster without encryption can be reached from other machines.

    Args:
        found: Each part, `scheduler` or `worker`, with the address that it listens on.

    Raises:
        GraderError: One can be reached.
    """
    for part, text in found:
        address = _parsed(text)
        if not address or not address.is_of_this_machine:
            raise GraderError(
                f"--scheduler: the {part} at {text} listens to other machines without TLS, so anybody there could "
                f"change grades: start it with `dask {part} --host 127.0.0.1`, or use TLS. {how_to_encrypt()}"
            )


def require_certificates() -> None:
    """Check that Dask's settings name the files that TLS needs. Raises GraderError."""
    import distributed  # noqa: F401 - adds its settings to those of Dask
    from dask import config

    for what, name in _SETTINGS.items():
        value = config.get(name, None)
        if not value:
            raise GraderError(f"--scheduler: Dask's settings do not name {what} ({name}). {how_to_encrypt()}")
        # It may also be the text of a certificate.
        if "\n" not in str(value) and not Path(value).is_file():
            raise GraderError(f"--scheduler: {what} is not in {value} ({name}). {how_to_encrypt()}")


def _parsed(text: str) -> Address | None:
    found = _ADDRESS.fullmatch(text)
    if not found or found["protocol"] not in (None, "tcp", "tls"):
        return None
    return Address(found["protocol"] or "tcp", found["host"], found["port"])


def how_to_encrypt() -> str:
    """Return the commands that make certificates, and tell Dask about them."""
    variables = (f"DASK_{name.upper().replace('.', '__').replace('-', '_')}" for name in _SETTINGS.values())
    values = ("cert.pem", "cert.pem", "key.pem")
    exports = " ".join(f"{name}=$PWD/{value}" for name, value in zip(variables, values, strict=True))
    return (
        f"To make a certificate and its key:\n  {CERTIFICATE_COMMAND}\n"
        f"Copy both to the scheduler and to each worker. Here, tell Dask where they are:\n  export {exports}"
    )
