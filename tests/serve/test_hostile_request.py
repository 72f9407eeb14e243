"""Requests that no honest client sends: each gets its status, never a 500, and leaks nothing."""

import json
import os
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import grpc  # type: ignore[import-untyped]
import httpx
import pyarrow as pa
import pytest
from pyarrow import flight

from headrace.errors import HeadraceError
from headrace.serve.client_error import remote_errors
from headrace.serve.server import RunningServer
from headrace.serve.setting import ServerSettings
from tests.lake.action import add, metadata, opening, protocol
from tests.lake.log import write_history
from tests.serve.conftest import TOKEN, Start
from tests.waiting import wait_until

SERVICE = "/arrow.flight.protocol.FlightService"


@pytest.fixture(scope="module")
def odd(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[RunningServer, Path]]:
    """Serve a folder with a table, an empty log, a plain file and a name that is not UTF-8."""
    root = tmp_path_factory.mktemp("odd")
    write_history(root / "events", [[*opening(), add("a")]])
    (root / "file").write_text("not a table")
    (root / "empty" / "_delta_log").mkdir(parents=True)
    (root / os.fsdecode(b"bad\xff") / "_delta_log").mkdir(parents=True)
    with RunningServer(ServerSettings(roots=(f"lake={root}",), listen="127.0.0.1:0")) as running:
        yield running, root


def url_of(server: RunningServer, path: str) -> str:
    return f"http://127.0.0.1:{server.http_port}{path}"


NAMES = [
    *("file", "file/x", "é" * 200, "\U0001f600" * 250, "/".join(["a" * 200] * 19), "a/" * 2_000),
    *("events/_delta_log", "events/", "\ud800", "bad\udcff", "a\u202eb", "a\nb", " ", "~", "-"),
]


@pytest.mark.parametrize("name", NAMES, ids=range(len(NAMES)))
def test_an_invalid_table_name_is_not_found(odd: tuple[RunningServer, Path], name: str) -> None:
    server, root = odd
    for path in ("/v1/files", "/v1/rows", "/v1/snapshot"):
        body = json.dumps({"table": f"lake/{name}"})
        headers = {"content-type": "application/json"}
        response = httpx.post(url_of(server, path), content=body, headers=headers, trust_env=False)
        assert response.status_code in {400, 404}, response.text
        assert str(root) not in response.text


@pytest.mark.parametrize("moment", [{}, {"as_of": "2026-03-01"}, {"version": 0}])
def test_a_log_without_versions_is_not_a_table(
    odd: tuple[RunningServer, Path], moment: dict[str, Any]
) -> None:
    server, _ = odd
    for path in ("/v1/files", "/v1/rows", "/v1/snapshot"):
        params = {"table": "lake/empty", **moment}
        response = httpx.get(url_of(server, path), params=params, trust_env=False)
        assert response.status_code == 404, response.text


def test_a_folder_whose_name_is_not_utf8_does_not_hide_the_tables(
    odd: tuple[RunningServer, Path],
) -> None:
    server, _ = odd
    response = httpx.get(url_of(server, "/v1/tables"), trust_env=False)
    assert response.json() == {"tables": ["lake/empty", "lake/events"]}
    client = flight.connect(f"grpc://127.0.0.1:{server.flight_port}")
    assert len(list(client.list_flights())) == 2
    client.close()


@pytest.mark.parametrize("accept", ["application/x-ndjson", "application/vnd.apache.arrow.stream"])
def test_head_returns_the_headers_and_reads_nothing(server: RunningServer, accept: str) -> None:
    url = url_of(server, "/v1/files?table=lake/events")
    response = httpx.head(url, headers={"accept": accept}, trust_env=False)
    assert (response.status_code, response.headers["content-type"], response.content) == (
        200,
        accept,
        b"",
    )
    assert "content-length" not in response.headers
    assert httpx.head(url_of(server, "/v1/files?table=no"), trust_env=False).status_code == 404


def test_several_tokens_in_one_request_are_refused(start: Start, token_file: Path) -> None:
    server = start(token_file=token_file)
    right, wrong = ("authorization", f"Bearer {TOKEN}"), ("authorization", "Bearer wrong")
    for headers in ([right, wrong], [wrong, right], [right, right]):
        response = httpx.get(url_of(server, "/v1"), headers=headers, trust_env=False)
        assert response.status_code == 401


@pytest.mark.parametrize("host", [b"[", b"a/b", b"x?y", b"\xff", b"x:999999", b"", b"a@b", b"x#"])
def test_an_unknown_host_header_changes_nothing(server: RunningServer, host: bytes) -> None:
    head = b"GET /v1/files?table=no HTTP/1.1\r\nHost: " + host + b"\r\nConnection: close\r\n\r\n"
    with socket.create_connection(("127.0.0.1", server.http_port), timeout=5) as client:
        client.sendall(head)
        status = client.recv(100).split()[1]
    assert status in {b"400", b"404"}
    metrics = httpx.get(url_of(server, "/metrics"), trust_env=False).text
    assert 'method="GET /v1/files"' in metrics
    assert "/b/v1" not in metrics


@pytest.mark.parametrize("path", [b"/healthz", b"/v1/files", b"/v1/nowhere"])
def test_a_request_with_two_lengths_is_refused_and_ends_its_connection(
    server: RunningServer, path: bytes
) -> None:
    head = b"POST " + path + b" HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
    lengths = b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n"
    body = b'17\r\n{"table":"lake/events"}\r\n0\r\n\r\n'
    smuggled = b"GET /v1 HTTP/1.1\r\nHost: x\r\n\r\n"
    answer = b""
    with socket.create_connection(("127.0.0.1", server.http_port), timeout=5) as client:
        client.sendall(head + lengths + body + smuggled)
        while part := client.recv(65_536):
            answer += part
    assert answer.startswith(b"HTTP/1.1 400")
    assert answer.count(b"HTTP/1.1") == 1


def call(client: Any, method: str) -> None:
    """Make a Flight call that is refused."""
    command = flight.FlightDescriptor.for_command(b"{}")
    nowhere = flight.FlightDescriptor.for_command(b'{"table":"no"}')
    match method:
        case "do_get":
            client.do_get(flight.Ticket(b"x")).read_all()
        case "do_action":
            list(client.do_action("nope"))
        case "do_put":
            client.do_put(command, pa.schema([]))[0].close()
        case "do_exchange":
            client.do_exchange(command)[0].close()
        case "not found":
            client.get_flight_info(nowhere)
        case _:
            getattr(client, method)(command)


@pytest.mark.parametrize(
    "method",
    ["get_flight_info", "get_schema", "not found", "do_get", "do_action", "do_put", "do_exchange"],
)
def test_a_flight_refusal_carries_no_traceback(server: RunningServer, method: str) -> None:
    client = flight.connect(f"grpc://127.0.0.1:{server.flight_port}")
    with pytest.raises((flight.FlightError, pa.ArrowException)) as refused:
        call(client, method)
    client.close()
    text = str(refused.value)
    assert all(word not in text for word in ("Traceback", ".pyx", 'File "', "translating"))


@pytest.mark.parametrize(("method", "field"), [("DoGet", b"\x0a"), ("DoAction", b"\x12")])
def test_the_memory_of_an_oversized_message_is_released(
    start: Start, method: str, field: bytes
) -> None:
    server = start()
    released: list[int] = []
    server.service.slots._release = lambda: released.append(1)
    size = 5_000_000
    message = field + b"\xc0\x96\xb1\x02" + bytes(size)
    with grpc.insecure_channel(
        f"127.0.0.1:{server.flight_port}", options=[("grpc.max_send_message_length", -1)]
    ) as channel:
        send = channel.unary_stream(f"{SERVICE}/{method}")
        with pytest.raises(grpc.RpcError) as refused:
            list(send(message, compression=grpc.Compression.Gzip, timeout=60))
    assert refused.value.details().startswith(("INVALID_TICKET", "REQUEST_TOO_LARGE"))
    wait_until(lambda: bool(released), within_s=3.0)


@pytest.mark.parametrize("kind", ["files", "rows"])
@pytest.mark.parametrize("columns", [None, "path", "uri"])
def test_an_absolute_path_that_leaves_its_root_again_is_refused(
    start: Start, tmp_path: Path, kind: str, columns: str | None
) -> None:
    root, outside = tmp_path / "root", tmp_path / "outside"
    outside.mkdir()
    pa.parquet.write_table(pa.table({"id": [42]}), outside / "x")
    created = metadata(columns={"id": "long"}, partition_columns=())
    paths = [f"{root}/../outside/x", f"file://{root}/../outside/x", f"{root}/t2/..%2f../outside/x"]
    for number, path in enumerate(paths):
        write_history(root / f"t{number}", [[protocol(), created, add(path, size=100)]])
    server = start(roots=(f"lake={root}",))
    for number in range(len(paths)):
        params = {"table": f"lake/t{number}"}
        if columns is not None and kind == "files":
            params["columns"] = columns
        response = httpx.get(url_of(server, f"/v1/{kind}"), params=params, trust_env=False)
        assert response.status_code == 502, response.text
        assert response.json()["error"]["code"] == "UNSAFE_PATH"


LONG_REQUESTS: list[dict[str, Any]] = [
    {"table": "\U0001f600" * 4_096},
    {"table": "lake/events", "where": "é" * 30_000},
    {"table": "lake/events", "where": "`" + "é" * 30_000 + "` = 1"},
    {"table": "lake/events", "where": {"\x01" * 10_000: 1}},
    {"table": "lake/events", "columns": ["é" * 30_000]},
    {"table": "lake/events", "as_of": "\U0001f600" * 100},
]


@pytest.mark.parametrize("request_", LONG_REQUESTS, ids=range(len(LONG_REQUESTS)))
def test_a_refusal_that_quotes_a_long_request_keeps_its_status(
    server: RunningServer, request_: dict[str, Any]
) -> None:
    command = json.dumps(request_, ensure_ascii=False).encode()
    descriptor = flight.FlightDescriptor.for_command(command)
    client = flight.connect(f"grpc://127.0.0.1:{server.flight_port}")
    with pytest.raises(HeadraceError) as refused, remote_errors("server"):
        client.get_flight_info(descriptor)
    client.close()
    headers = {"content-type": "application/json"}
    url = url_of(server, "/v1/files")
    response = httpx.post(url, content=command, headers=headers, trust_env=False)
    assert refused.value.code == response.json()["error"]["code"]
    assert response.status_code in {400, 404}


@pytest.mark.parametrize("path", ["/v1/files/", "/healthz/", "/v1/"])
def test_a_path_with_a_slash_at_its_end_does_not_redirect_to_another_host(
    server: RunningServer, path: str
) -> None:
    headers = {"host": "elsewhere.example"}
    response = httpx.get(url_of(server, path), headers=headers, trust_env=False)
    assert response.status_code == 404
    assert "elsewhere" not in str(response.headers)


@pytest.mark.parametrize("path", [f"_delta_log/{1:020}.json", f"_delta_log/{0:020}.crc", "a"])
def test_a_pipe_in_a_table_does_not_block_its_requests(
    start: Start, tmp_path: Path, path: str
) -> None:
    table = write_history(tmp_path / "root" / "events", [[*opening(), add("a")]])
    os.mkfifo(table / path)
    server = start(roots=(f"lake={tmp_path / 'root'}",))
    url = f"http://127.0.0.1:{server.http_port}/v1/rows"
    reply = httpx.get(url, params={"table": "lake/events"}, trust_env=False, timeout=20)
    assert reply.status_code == 502
    code = "DATA_FILE_NOT_FOUND" if path.endswith(".crc") else "STORE_FAILED"
    assert reply.json()["error"]["code"] == code
    assert str(tmp_path) not in reply.text
