"""Addresses of schedulers: what leaves this machine is encrypted."""

from __future__ import annotations

import pytest
from courses import REPOSITORY

from grader.cluster.connection import CERTIFICATE_COMMAND, read_address, require_private
from grader.errors import GraderError


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("127.0.0.1:8786", "tcp://127.0.0.1:8786"),
        ("tcp://localhost:8786", "tcp://localhost:8786"),
        ("tcp://[::1]:8786", "tcp://[::1]:8786"),
        ("tls://node1.x.org:8786", "tls://node1.x.org:8786"),
        ("tls://10.0.0.7:8786", "tls://10.0.0.7:8786"),
    ],
)
def test_an_address_of_this_machine_or_with_tls_is_used(text: str, address: str) -> None:
    assert str(read_address(text)) == address


@pytest.mark.parametrize("text", ["tcp://node1:8786", "10.0.0.7:8786", "tcp://0.0.0.0:8786", "tcp://127.x.org:8786"])
def test_another_machine_without_tls_is_refused_with_the_command_for_certificates(text: str) -> None:
    with pytest.raises(GraderError) as refused:
        read_address(text)
    assert f"use tls://{text.removeprefix('tcp://')}" in str(refused.value)
    assert CERTIFICATE_COMMAND in str(refused.value)
    assert "export DASK_DISTRIBUTED__COMM__TLS__CA_FILE=$PWD/cert.pem" in str(refused.value)


def test_the_page_has_the_command_of_the_message() -> None:
    assert f"$ {CERTIFICATE_COMMAND}\n" in (REPOSITORY / "docs" / "many-machines.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("text", ["", "node1", "http://node1:8786", "inproc://1/2/3", "tls://node1:8786/x"])
def test_what_is_no_address_is_refused_with_an_example(text: str) -> None:
    with pytest.raises(GraderError, match=r"is no address: give one such as tls://node1:8786"):
        read_address(text)


def test_the_scheduler_local_of_earlier_versions_is_refused_with_what_to_give() -> None:
    with pytest.raises(GraderError, match="local no longer exists: `--jobs N` grades with N processes on this machine"):
        read_address("local")


@pytest.mark.parametrize("part", ["scheduler", "worker"])
def test_a_cluster_without_tls_that_other_machines_reach_is_refused(part: str) -> None:
    require_private([(part, "tcp://127.0.0.1:4711")])
    with pytest.raises(GraderError, match=rf"the {part} at tcp://10.0.0.7:4711 listens .* `dask {part} --host 127"):
        require_private([("scheduler", "tcp://127.0.0.1:8786"), (part, "tcp://10.0.0.7:4711")])
