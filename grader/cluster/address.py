"""The addresses of schedulers: those of other machines must be encrypted, with certificates on both sides."""

from __future__ import annotations

import ipaddress
import re
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from grader.errors import GraderError

if TYPE_CHECKING:
    from collections.abc import Iterable

LOCAL = "local"
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
    address = _parsed(text)
    if not address:
        raise GraderError(
            f"--scheduler: {text!r} is no address: give one such as tls://node1:8786, tcp://127.0.0.1:8786 or {LOCAL}."
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
