"""The Python client: a server returns what the library returns."""

import asyncio
import subprocess
import sys
from pathlib import Path
from typing import Any

import duckdb
import polars as pl
import pyarrow as pa
import pytest

import headrace
from headrace.errors import (
    HeadraceError,
    InvalidArgumentError,
    MalformedRequestError,
    PredicateTypeError,
    RemoteFailedError,
    SnapshotExpiredError,
    TableNotServedError,
    UnknownColumnError,
    VersionNotFoundError,
)
from headrace.serve.client import Connection, RemoteSnapshot
from headrace.serve.client_stream import RemoteBatches
from headrace.serve.server import RunningServer
from tests.lake.action import add, metadata, opening, protocol, remove
from tests.lake.checkpoint import Form, Shape, write_checkpoint
from tests.lake.log import state_at, write_history
from tests.listing import file_rows
from tests.serve.conftest import Start

WHERE = "date >= '2026-01-20' AND city = 'Bern'"


@pytest.fixture
def remote(connection: Connection) -> RemoteSnapshot:
    return connection.table("lake/events").snapshot()


@pytest.fixture
def local(lake: Path) -> headrace.Snapshot:
    return headrace.Table(lake / "events").snapshot()


def test_the_server_lists_its_tables(connection: Connection) -> None:
    assert connection.tables() == ["lake/events"]
    assert connection.tables("other") == []


def test_connect_finds_flight_from_the_http_address(server: RunningServer) -> None:
    with headrace.connect(f"http://127.0.0.1:{server.http_port}") as connected:
        assert connected.is_ready()


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"where": WHERE},
        {"where": "id < 300"},
        {"limit": 7},
        {"limit": 0},
        {"strategy": "forward"},
        {"tripwire": "strict"},
    ],
    ids=str,
)
def test_files_are_those_of_the_library(
    remote: RemoteSnapshot, local: headrace.Snapshot, options: dict[str, Any]
) -> None:
    assert file_rows(remote.scan(**options)) == file_rows(local.scan(**options))


def test_a_remote_snapshot_equals_the_local_one(
    remote: RemoteSnapshot, local: headrace.Snapshot
) -> None:
    assert (remote.version, remote.schema, remote.partition_columns, remote.properties) == (
        local.version,
        local.schema,
        local.partition_columns,
        local.properties,
    )
    assert remote == local


def test_rows_are_those_of_the_library(remote: RemoteSnapshot, local: headrace.Snapshot) -> None:
    options: dict[str, Any] = {"where": WHERE, "columns": ["id", "city"]}
    assert remote.rows(**options).read_all() == local.rows(**options).read_all()


def test_older_versions_are_served(connection: Connection, lake: Path) -> None:
    table = connection.table("lake/events")
    local = headrace.Table(lake / "events").snapshot(3)
    assert table.snapshot(3).scan().count() == local.scan().count()


def test_the_outcome_says_that_the_answer_is_complete(remote: RemoteSnapshot) -> None:
    scan = remote.scan()
    files = list(scan)
    outcome = scan.outcome
    assert outcome is not None
    assert (outcome.ending, outcome.count) == ("complete", len(files))
    assert scan.metrics["adds_emitted"] == len(files)


def test_other_libraries_read_from_the_server(
    remote: RemoteSnapshot, local: headrace.Snapshot
) -> None:
    scan = remote.scan()
    count = local.count()
    assert pl.DataFrame(scan).height == local.scan().count()
    assert pa.table(remote).num_rows == count
    assert duckdb.sql("SELECT count(*) FROM remote").fetchall() == [(count,)]
    assert remote.to_duckdb(where=WHERE).count("*").fetchall() == [(local.count(WHERE),)]
    assert remote.to_polars().filter(pl.col("id") < 10).collect().height == 10
    assert len(remote.to_pandas(columns=["id"])) == count


def test_files_can_be_iterated_in_asyncio_too(remote: RemoteSnapshot) -> None:
    async def listed() -> list[str]:
        return [file.path async for file in remote.scan()]

    assert len(asyncio.run(listed())) == 156


@pytest.mark.parametrize(
    ("call", "error"),
    [
        (lambda s: s.scan("nope = 1"), UnknownColumnError),
        (lambda s: s.scan("id = 'x'"), PredicateTypeError),
        (lambda s: s.rows(columns=["nope"]), UnknownColumnError),
        (lambda s: s.scan(batch_rows=10_000_000), MalformedRequestError),
        (lambda s: s.scan(nope=1), InvalidArgumentError),
        (lambda s: s.table.snapshot(99), VersionNotFoundError),
        (lambda s: s.table.connection.table("lake/none").snapshot(), TableNotServedError),
        (lambda s: s.scan().batches(columns=["nope"]), InvalidArgumentError),
    ],
)
def test_mistakes_raise_the_errors_of_the_library(
    remote: RemoteSnapshot, call: Any, error: type[HeadraceError]
) -> None:
    with pytest.raises(error) as raised:
        call(remote)
    assert "Traceback" not in str(raised.value)


def test_an_unreachable_server_is_an_error() -> None:
    with Connection("grpc://127.0.0.1:9") as nowhere:
        assert not nowhere.is_ready()
        with pytest.raises(RemoteFailedError):
            nowhere.table("lake/events").snapshot()


@pytest.mark.parametrize("form", [Form.CLASSIC, Form.MULTI_PART, Form.V2_PARQUET])
@pytest.mark.parametrize("endpoints", [2, 5])
def test_endpoints_return_every_file_once(
    start: Start, tmp_path: Path, form: Form, endpoints: int
) -> None:
    table = tmp_path / "lake" / "t"
    history = [
        [*opening(), *(add(f"a{number}") for number in range(20))],
        [remove("a3"), add("b")],
        [remove("a4"), add("a5"), add("c")],
    ]
    write_history(table, history)
    write_checkpoint(table, 1, state_at(history, 1), Shape(form=form))
    server = start(roots=(f"lake={tmp_path / 'lake'}",))
    with Connection(f"grpc://127.0.0.1:{server.flight_port}") as connected:
        scan = connected.table("lake/t").snapshot().scan(endpoints=endpoints)
        parts = [
            [path for batch in part for path in batch["path"].to_pylist()]
            for part in scan.open_parts()
        ]
    expected = sorted(file.path for file in headrace.Table(table).snapshot().scan())
    assert sorted(path for part in parts for path in part) == expected
    assert len(parts) == endpoints


def test_a_replaced_table_is_not_served_as_the_old_one(start: Start, tmp_path: Path) -> None:
    table = tmp_path / "lake" / "t"
    one, two = metadata(), metadata()
    two["metaData"]["id"] = "another-table"
    write_history(table, [[protocol(), one, add("a")]])
    first = start(roots=(f"lake={tmp_path / 'lake'}",))
    with Connection(f"grpc://127.0.0.1:{first.flight_port}") as connected:
        info = connected.table("lake/t").snapshot().scan()._info
        write_history(table, [[protocol(), two, add("b")]])
        second = start(roots=(f"lake={tmp_path / 'lake'}",))
        second.service.tickets._key = first.service.tickets._key
    with (
        Connection(f"grpc://127.0.0.1:{second.flight_port}") as connected,
        pytest.raises(SnapshotExpiredError),
    ):
        list(RemoteBatches(connected, [info.endpoints[0].ticket]))


def test_a_client_needs_nothing_of_the_extra_for_servers(server: RunningServer) -> None:
    code = f"""
import sys
for name in ("cffi", "prometheus_client", "starlette", "uvicorn"):
    sys.modules[name] = None  # as if it were not installed
import headrace
server = headrace.connect("http://127.0.0.1:{server.http_port}")
print(server.table("lake/events").snapshot().scan().count())
"""
    done = subprocess.run(
        [sys.executable, "-c", code], check=False, capture_output=True, text=True, timeout=60
    )
    assert done.stdout == "156\n", done.stderr
