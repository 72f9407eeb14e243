"""Who may ask, and what is refused: each attempt gets its status, and leaks nothing."""

import json
import math
import socket
import ssl
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import msgspec
import pyarrow as pa
import pytest
from pyarrow import flight

from headrace.errors import (
    HeadraceError,
    InvalidArgumentError,
    InvalidTicketError,
    RemoteFailedError,
    RequestTooLargeError,
    TableNotServedError,
    TicketExpiredError,
    UnauthenticatedError,
)
from headrace.serve import slow_client
from headrace.serve.client import Connection
from headrace.serve.client_stream import RemoteBatches
from headrace.serve.request import MAX_REQUEST_BYTES
from headrace.serve.server import RunningServer
from headrace.serve.setting import ServerSettings
from tests.lake.action import add, metadata, opening, protocol
from tests.lake.log import commit_path, log_of, write_history
from tests.serve.conftest import TOKEN, Start


@pytest.fixture(scope="module")
def guarded(lake: Path, token_file: Path) -> Iterator[RunningServer]:
    settings = ServerSettings(roots=(f"lake={lake}",), listen="127.0.0.1:0", token_file=token_file)
    with RunningServer(settings) as running:
        yield running


def location(server: RunningServer, *, scheme: str = "grpc") -> str:
    return f"{scheme}://127.0.0.1:{server.flight_port}"


def get(server: RunningServer, path: str = "/v1/files", **options: Any) -> httpx.Response:
    url = f"http://127.0.0.1:{server.http_port}{path}"
    return httpx.get(url, trust_env=False, **options)


@pytest.mark.parametrize("token", [None, "wrong-token-of-tests", TOKEN[:-1], TOKEN + "x"])
def test_without_the_right_token_nothing_is_served(
    guarded: RunningServer, token: str | None
) -> None:
    with Connection(location(guarded), token=token) as connected:
        for call in (
            connected.tables,
            connected.table("lake/events").snapshot,
            lambda: list(RemoteBatches(connected, [flight.Ticket(b"x")])),
        ):
            with pytest.raises(UnauthenticatedError):
                call()
        assert not connected.is_ready()
    headers = {} if token is None else {"authorization": f"Bearer {token}"}
    for path in ("/v1", "/v1/tables", "/v1/files", "/v1/rows", "/v1/snapshot", "/metrics"):
        assert get(guarded, path, headers=headers).status_code == 401


def test_another_scheme_than_bearer_is_refused(guarded: RunningServer) -> None:
    assert get(guarded, "/v1", headers={"authorization": f"Basic {TOKEN}"}).status_code == 401


def test_health_needs_no_token(guarded: RunningServer) -> None:
    assert get(guarded, "/healthz").status_code == get(guarded, "/readyz").status_code == 200


@pytest.fixture
def tester(guarded: RunningServer) -> Iterator[Connection]:
    with Connection(location(guarded), token=TOKEN) as connected:
        yield connected


def read(connected: Connection, ticket: bytes) -> list[Any]:
    return list(RemoteBatches(connected, [flight.Ticket(ticket)]))


def ticket_of(connected: Connection) -> bytes:
    scan = connected.table("lake/events").snapshot().scan()
    ticket: bytes = scan._info.endpoints[0].ticket.ticket
    return ticket


def test_a_ticket_grants_its_stream(tester: Connection) -> None:
    assert sum(batch.num_rows for batch in read(tester, ticket_of(tester))) == 156


def test_no_bit_of_a_ticket_can_be_changed(tester: Connection) -> None:
    ticket = ticket_of(tester)
    for position in range(0, len(ticket), 7):
        forged = bytearray(ticket)
        forged[position] ^= 1
        with pytest.raises(InvalidTicketError):
            read(tester, bytes(forged))
    for other in (b"", ticket[:-1], ticket + b" ", b'{"table": "lake/events"}', b"x" * 1_000_000):
        with pytest.raises(InvalidTicketError):
            read(tester, other)


def test_a_ticket_of_another_caller_is_refused(guarded: RunningServer, tester: Connection) -> None:
    with (
        Connection(location(guarded), token="another-token-of-tests") as other,
        pytest.raises(InvalidTicketError),
    ):
        read(other, ticket_of(tester))


def test_an_expired_ticket_is_refused(
    guarded: RunningServer, tester: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(guarded.service.tickets, "lifetime_s", -1.0)
    with pytest.raises(TicketExpiredError):
        read(tester, ticket_of(tester))


NAMES = [
    "lake/../lake/events",
    "lake/..",
    "..",
    "/etc",
    "lake//etc",
    "lake/./events",
    "lake/events/../../../etc",
    "lake/%2e%2e/x",
    "lake/..\\..\\etc",
    "file:///etc",
    "lake/events\x00",
    "lake/" + "a" * 300,
    "LAKE/events",
    "lake/link",
    "lake/link/x",
    "s3://bucket/table",
]


@pytest.fixture(scope="module")
def linked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[RunningServer, Path]]:
    """Run a server over a root with a link that leads out of it; yield it and the folder."""
    folder = tmp_path_factory.mktemp("linked")
    root, outside = folder / "root", folder / "outside"
    write_history(root / "events", [[*opening(), add("a")]])
    write_history(outside / "x", [[*opening(), add("secret")]])
    (root / "link").symlink_to(outside)
    with RunningServer(ServerSettings(roots=(f"lake={root}",), listen="127.0.0.1:0")) as running:
        yield running, folder


@pytest.mark.parametrize("name", NAMES)
def test_no_name_leads_out_of_a_root(linked: tuple[RunningServer, Path], name: str) -> None:
    server, folder = linked
    with Connection(location(server)) as connected, pytest.raises(TableNotServedError) as raised:
        connected.table(name).snapshot()
    assert str(folder) not in str(raised.value)
    response = get(server, params={"table": name})
    assert response.status_code == 404
    assert str(folder) not in response.text


HOSTILE = [
    *("/etc/passwd", "file:///etc/passwd", "%2Fetc/passwd", "../outside/x", "s3://b/x", "link/x"),
    *("a/../../../outside/x", "%2e%2E/outside/x", "a/.%2e/.%2e/x", "a/..%2f..%2fx", ".."),
]


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    """Run a server over one table per hostile path; the file outside holds the number 42."""
    folder = tmp_path_factory.mktemp("hostile")
    root, outside = folder / "root", folder / "outside"
    outside.mkdir()
    pa.parquet.write_table(pa.table({"id": [42]}), outside / "x")
    columns = metadata(columns={"id": "long"}, partition_columns=())
    for number, path in enumerate(HOSTILE):
        table = root / f"t{number}"
        write_history(table, [[protocol(), columns, add(path, size=100)]])
        (table / "link").symlink_to(outside)
    with RunningServer(ServerSettings(roots=(f"lake={root}",), listen="127.0.0.1:0")) as running:
        yield running


@pytest.mark.parametrize(
    ("path", "kind", "columns"),
    [
        (path, kind, columns)
        for path in HOSTILE
        for kind, columns in (("files", None), ("files", "path"), ("files", "uri"), ("rows", None))
        if kind == "rows" or path != "link/x"  # only reading a link shows where it leads
    ],
)
def test_a_hostile_log_reaches_nothing_outside(
    hostile: RunningServer, path: str, kind: str, columns: str | None
) -> None:
    params = {"table": f"lake/t{HOSTILE.index(path)}"}
    if columns is not None:
        params["columns"] = columns
    response = get(hostile, f"/v1/{kind}", params=params)
    assert response.status_code == 502, response.text
    assert response.json()["error"]["code"] in {"UNSAFE_PATH", "UNSUPPORTED_STORE"}
    assert "42" not in response.text


def test_a_log_behind_a_link_out_of_the_root_is_not_read(start: Start, tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text('{"password": "hunter2"}\n')
    table = tmp_path / "root" / "events"
    write_history(table, [[*opening(), add("a")]])
    log_of(table)
    commit_path(table, 1).symlink_to(secret)
    server = start(roots=(f"lake={tmp_path / 'root'}",))
    response = get(server, params={"table": "lake/events"})
    assert response.status_code == 502, response.text
    assert "hunter2" not in response.text
    assert str(tmp_path) not in response.text


def test_an_error_names_the_table_and_not_its_folder(start: Start, tmp_path: Path) -> None:
    table = tmp_path / "root" / "events"
    write_history(table, [[*opening(), add("a")]])
    commit_path(table, 1).write_text("not json\n")
    server = start(roots=(f"lake={tmp_path / 'root'}",))
    response = get(server, params={"table": "lake/events"})
    assert response.status_code == 502
    assert str(tmp_path) not in response.text
    with Connection(location(server)) as connected, pytest.raises(HeadraceError) as raised:
        list(connected.table("lake/events").snapshot().scan())
    assert str(tmp_path) not in str(raised.value)
    assert "site-packages" not in str(raised.value.__cause__)
    assert "/headrace/" not in str(raised.value.__cause__)


def test_huge_requests_are_refused(server: RunningServer) -> None:
    where = "id = 1 OR " * (MAX_REQUEST_BYTES // 5) + "TRUE"
    body = json.dumps({"table": "lake/events", "where": where}).encode()
    url = f"http://127.0.0.1:{server.http_port}/v1/files"
    headers = {"content-type": "application/json"}
    assert httpx.post(url, content=body, headers=headers, trust_env=False).status_code == 413
    long = httpx.get(url + "?table=" + "x" * 60_000, trust_env=False)
    assert long.status_code == 400
    try:
        refused = httpx.get(url, headers={"x": "y" * 300_000}, trust_env=False)
        assert refused.status_code == 400
    except httpx.NetworkError:
        pass  # the server closed the connection before the whole request was sent
    with Connection(location(server)) as connected, pytest.raises(RequestTooLargeError):
        connected.info(_Raw(body))  # type: ignore[arg-type]


class _Raw:
    """A request with exactly the bytes that a test sets."""

    def __init__(self, content: bytes) -> None:
        self._content = content

    def encode(self) -> bytes:
        return self._content


def test_slow_headers_time_out(start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(slow_client, "HEADERS_S", 0.3)
    server = start()
    began = time.monotonic()
    with socket.create_connection(("127.0.0.1", server.http_port)) as slow:
        slow.settimeout(5)
        slow.sendall(b"GET /healthz HTTP/1.1\r\nHost: x\r\n")
        try:
            while slow.recv(100):
                pass
        except ConnectionResetError:
            pass
    assert 0.2 < time.monotonic() - began < 3


@pytest.mark.parametrize("root", ["missing", "file"])
def test_a_root_that_is_no_folder_is_refused(tmp_path: Path, root: str) -> None:
    (tmp_path / "file").write_text("")
    for uri in (str(tmp_path / root), (tmp_path / root).as_uri()):
        with pytest.raises(InvalidArgumentError, match=root):
            ServerSettings(roots=(f"a={uri}",)).check()


def test_anonymous_access_from_other_machines_is_refused_by_default() -> None:
    with pytest.raises(InvalidArgumentError, match="token-file"):
        ServerSettings(roots=("a=/tmp",), listen="0.0.0.0:0").check()
    with pytest.raises(InvalidArgumentError, match="tls-key"):
        ServerSettings(roots=("a=/tmp",), tls_cert=Path("x")).check()


@pytest.mark.parametrize("name", ["deadline_s", "drain_s"])
@pytest.mark.parametrize("seconds", [math.nan, math.inf, -math.inf, -1.0])
def test_a_time_limit_that_no_clock_reaches_is_refused(name: str, seconds: float) -> None:
    with pytest.raises(InvalidArgumentError, match=name.removesuffix("_s")):
        msgspec.structs.replace(ServerSettings(roots=("a=/tmp",)), **{name: seconds}).check()


@pytest.mark.parametrize("line", ["short:x", "no-colon-in-this-line", "a b:0123456789abcdef", ""])
def test_a_token_file_with_a_mistake_is_refused(tmp_path: Path, line: str) -> None:
    path = tmp_path / "tokens"
    path.write_text(line)
    with pytest.raises(InvalidArgumentError):
        ServerSettings(roots=("a=/tmp",), token_file=path).check()


def test_tls_requires_a_trusted_authority(start: Start, pem: dict[str, Path]) -> None:
    server = start(tls_cert=pem["server"], tls_key=pem["server-key"])
    url = f"https://127.0.0.1:{server.http_port}/healthz"
    trusting = ssl.create_default_context(cafile=str(pem["ca"]))
    assert httpx.get(url, verify=trusting, trust_env=False).status_code == 200
    with pytest.raises(httpx.HTTPError):
        httpx.get(url, trust_env=False)
    with pytest.raises(httpx.HTTPError):
        httpx.get(url.replace("https", "http"), trust_env=False)
    secure = location(server, scheme="grpc+tls")
    with Connection(secure, tls_root_certs=pem["ca"].read_bytes()) as connected:
        assert connected.tables() == ["lake/events"]
    with Connection(location(server)) as plain, pytest.raises(RemoteFailedError):
        plain.tables()


def test_mutual_tls_requires_a_client_certificate(start: Start, pem: dict[str, Path]) -> None:
    server = start(tls_cert=pem["server"], tls_key=pem["server-key"], mtls_ca=pem["ca"])
    secure, authority = location(server, scheme="grpc+tls"), pem["ca"].read_bytes()
    known: dict[str, Any] = {
        "cert_chain": pem["client"].read_bytes(),
        "private_key": pem["client-key"].read_bytes(),
    }
    with Connection(secure, tls_root_certs=authority, **known) as connected:
        assert connected.tables() == ["lake/events"]
    stranger: dict[str, Any] = {
        "cert_chain": pem["stranger"].read_bytes(),
        "private_key": pem["stranger-key"].read_bytes(),
    }
    for certificates in ({}, stranger):
        with (
            Connection(secure, tls_root_certs=authority, **certificates) as connected,
            pytest.raises(RemoteFailedError),
        ):
            connected.tables()
    url = f"https://127.0.0.1:{server.http_port}/healthz"
    with pytest.raises((httpx.HTTPError, ssl.SSLError)):
        httpx.get(url, verify=ssl.create_default_context(cafile=str(pem["ca"])), trust_env=False)
    mutual = ssl.create_default_context(cafile=str(pem["ca"]))
    mutual.load_cert_chain(pem["client"], pem["client-key"])
    assert httpx.get(url, verify=mutual, trust_env=False).status_code == 200


def test_paths_that_only_look_suspicious_are_served(start: Start, tmp_path: Path) -> None:
    names = ["a..b/c", "d%20e/f", "g/.h", "...", "i%3Aj"]
    write_history(tmp_path / "events", [[*opening(), *(add(name) for name in names)]])
    server = start(roots=(f"lake={tmp_path}",))
    response = get(server, params={"table": "lake/events", "columns": "path"})
    paths = [json.loads(line).get("path") for line in response.text.splitlines()]
    assert sorted(paths[:-1]) == sorted(names)


def test_an_address_in_use_is_named_with_its_option(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        for option, listen in (("--flight-listen", "127.0.0.1:0"), ("--listen", address)):
            flight_address = address if option == "--flight-listen" else "127.0.0.1:0"
            settings = ServerSettings(
                roots=(f"a={tmp_path}",), listen=listen, flight_listen=flight_address
            )
            with pytest.raises(
                InvalidArgumentError, match=f"^{option}: {address}: Address already in use; free it"
            ):
                RunningServer(settings)
