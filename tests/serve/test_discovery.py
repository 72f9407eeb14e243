"""`connect` with the address of the HTTP endpoint: where Flight is, and who may ask."""

import socket
from pathlib import Path

import pytest

import headrace
from headrace.errors import RemoteFailedError, UnauthenticatedError
from tests.serve.conftest import TOKEN, Start


def test_a_wrong_token_is_the_same_error_as_over_flight(start: Start, token_file: Path) -> None:
    server = start(token_file=token_file)
    url = f"http://127.0.0.1:{server.http_port}"
    for token in (None, "a-wrong-token-of-tests"):
        with pytest.raises(UnauthenticatedError):
            headrace.connect(url, token=token)
    with headrace.connect(url, token=TOKEN) as connected:
        assert connected.tables() == ["lake/events"]


def test_mutual_tls_works_by_the_https_address(start: Start, pem: dict[str, Path]) -> None:
    server = start(tls_cert=pem["server"], tls_key=pem["server-key"], mtls_ca=pem["ca"])
    url, authority = f"https://127.0.0.1:{server.http_port}", pem["ca"].read_bytes()
    with headrace.connect(
        url,
        tls_root_certs=authority,
        cert_chain=pem["client"].read_bytes(),
        private_key=pem["client-key"].read_bytes(),
    ) as connected:
        assert connected.tables() == ["lake/events"]
    with pytest.raises(RemoteFailedError):
        headrace.connect(url, tls_root_certs=authority)


def test_an_invalid_certificate_is_an_error_with_the_address() -> None:
    with pytest.raises(RemoteFailedError, match="localhost"):
        headrace.connect("https://localhost:1", cert_chain=b"x", private_key=b"y")


@pytest.mark.skipif(not socket.has_ipv6, reason="this machine has no IPv6")
def test_an_ipv6_address_leads_to_flight(start: Start) -> None:
    try:
        server = start(listen="[::1]:0")
    except headrace.HeadraceError:
        pytest.skip("the loopback interface has no IPv6")
    with headrace.connect(f"http://[::1]:{server.http_port}") as connected:
        assert connected.location == f"grpc+tcp://[::1]:{server.flight_port}"
        assert connected.tables() == ["lake/events"]
