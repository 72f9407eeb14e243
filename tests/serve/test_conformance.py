"""Every way out of a server and of the C library returns the tables that the library reads.

The judge is the library, which the conformance tests compare with other readers: the files and the
rows must be the same, of the same types, and a refusal must have the same code.
"""

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import httpx
import pyarrow as pa
import pytest
from pyarrow import flight

import headrace
from headrace.errors import HeadraceError
from headrace.serve.json_value import encode_lines
from headrace.serve.record_format import ARROW, NDJSON
from headrace.serve.server import RunningServer
from tests.conformance.fixture import Fixture, fixture_params
from tests.serve.listed import small_tables

Records: TypeAlias = tuple[pa.Schema | None, list[bytes]] | str
"""The schema, if the format has one, and the sorted records as JSON; or the code of a refusal."""
KINDS = ("files", "rows")


def records_of(table: pa.Table) -> Records:
    batches = table.to_batches()
    return table.schema, sorted(line for b in batches for line in encode_lines(b).splitlines())


def read_library(table: Path, kind: str) -> Records:
    try:
        snapshot = headrace.Table(table).snapshot()
        if kind == "rows":
            return records_of(snapshot.rows().read_all())
        scan = snapshot.scan()
        hidden = set() if snapshot.partition_columns else {"typed_partition_values"}
        names = [name for name in scan.arrow_schema().names if name not in hidden]
        schema = scan.arrow_schema(columns=names)
        return records_of(pa.Table.from_batches(scan.batches(columns=names), schema))
    except HeadraceError as error:
        return error.code


@dataclass(frozen=True)
class Clients:
    """Open connections to one server."""

    flight: flight.FlightClient
    http: httpx.Client


@pytest.fixture(scope="module")
def clients(tables: RunningServer) -> Iterator[Clients]:
    url = f"http://127.0.0.1:{tables.http_port}/v1/"
    with (
        flight.connect(f"grpc://127.0.0.1:{tables.flight_port}") as over_flight,
        httpx.Client(base_url=url, timeout=60, trust_env=False) as over_http,
    ):
        yield Clients(over_flight, over_http)


def read_flight(clients: Clients, request: dict[str, Any]) -> Records:
    command = flight.FlightDescriptor.for_command(json.dumps(request))
    try:
        (endpoint,) = clients.flight.get_flight_info(command).endpoints
        return records_of(clients.flight.do_get(endpoint.ticket).read_all())
    except (flight.FlightError, pa.ArrowException) as error:
        return str(error).partition(":")[0]


def read_arrow(clients: Clients, request: dict[str, Any]) -> Records:
    try:
        reply = clients.http.post(request["kind"], json=request, headers={"accept": ARROW})
    except httpx.RemoteProtocolError:  # it failed in the middle, which only JSON lines explain
        return read_lines(clients, request)
    if reply.is_error:
        return str(reply.json()["error"]["code"])
    return records_of(read_ipc(reply.content))


def read_ipc(content: bytes) -> pa.Table:
    return pa.ipc.open_stream(content).read_all()


def read_lines(clients: Clients, request: dict[str, Any]) -> Records:
    reply = clients.http.post(request["kind"], json=request, headers={"accept": NDJSON})
    *lines, last = reply.content.splitlines()
    ending = json.loads(last)
    if "$outcome" not in ending:
        return str((ending.get("error") or ending["$error"])["code"])
    assert ending["$outcome"]["count"] == len(lines)
    return None, sorted(lines)


@pytest.mark.parametrize(
    ("kind", "read"),
    [
        ("files", read_flight),  # curl lists them as JSON lines, and C# too
        ("rows", read_flight),
        ("rows", read_arrow),
        ("rows", read_lines),
    ],
)
@pytest.mark.parametrize("fixture", fixture_params())
def test_a_server_returns_what_the_library_reads(
    clients: Clients,
    fixture_tables: Path,
    fixture: Fixture,
    read: Callable[[Clients, dict[str, Any]], Records],
    kind: str,
) -> None:
    if fixture.is_large:
        pytest.skip("too large to compare as text")
    name = f"tables/{fixture.table.relative_to(fixture_tables)}"
    assert_same(read(clients, {"table": name, "kind": kind}), library_records(fixture.table, kind))


def assert_same(records: Records, expected: Records) -> None:
    if isinstance(records, str) or isinstance(expected, str):
        assert records == expected
        return
    assert records[0] in {None, expected[0]}
    assert records[1] == expected[1]


_READ: dict[tuple[Path, str], Records] = {}


def library_records(table: Path, kind: str) -> Records:
    """Return what the library reads, which is read once for all protocols."""
    if (table, kind) not in _READ:
        _READ[table, kind] = read_library(table, kind)
    return _READ[table, kind]


@pytest.mark.parametrize("kind", KINDS)
def test_the_stream_of_the_c_library_is_what_the_library_reads(
    library: Path, tmp_path: Path, kind: str
) -> None:
    folders = [fixture.table for fixture in small_tables()]
    requests = [json.dumps({"table": str(folder), "kind": kind}) for folder in folders]
    program = Path(__file__).with_name("c_stream.py")
    words = [sys.executable, f"{program}", f"{library}/libheadrace.so", f"{tmp_path}", *requests]
    subprocess.run(words, check=True)
    for number, folder in enumerate(folders):
        content = (tmp_path / str(number)).read_bytes()
        is_code = content.decode("ascii", "replace").replace("_", "").isupper()
        records = (
            content.decode() if is_code else records_of(pa.ipc.open_stream(content).read_all())
        )
        assert_same(records, library_records(folder, kind))
