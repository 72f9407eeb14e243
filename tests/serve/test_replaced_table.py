"""A table that is dropped and created again at its address is never answered from the old one."""

import json
import os
import shutil
from pathlib import Path
from typing import Any

import httpx
import pytest

from headrace.errors import SnapshotExpiredError, VersionNotFoundError
from headrace.serve.client import Connection
from headrace.serve.client_stream import RemoteBatches
from headrace.serve.request import make_request
from headrace.serve.server import RunningServer
from tests.lake.action import add, metadata, protocol
from tests.lake.log import commit_path, write_history
from tests.serve.conftest import Start


def write_table(lake: Path, *names: str, table_id: str) -> Path:
    """Write a table with one commit per file, which replaces the one that was there."""
    table = lake / "events"
    shutil.rmtree(table, ignore_errors=True)
    created = metadata(columns={"id": "long"}, partition_columns=())
    created["metaData"]["id"] = table_id
    return write_history(table, [[protocol(), created], *([add(name)] for name in names)])


@pytest.fixture
def served(start: Start, tmp_path: Path) -> RunningServer:
    write_table(tmp_path, "old-1", "old-2", table_id="old")
    return start(roots=(f"lake={tmp_path}",))


def list_files(server: RunningServer, **options: Any) -> list[str]:
    response = httpx.get(
        f"http://127.0.0.1:{server.http_port}/v1/files",
        params={"table": "lake/events", "columns": "path", **options},
        trust_env=False,
    )
    *files, last = map(json.loads, response.text.splitlines())
    assert "$outcome" in last, response.text
    return sorted(file["path"] for file in files)


@pytest.mark.parametrize("options", [{}, {"version": "2"}, {"as_of": "2100-01-01"}])
def test_files_are_those_of_the_new_table(
    served: RunningServer, tmp_path: Path, options: dict[str, str]
) -> None:
    assert list_files(served, **options) == ["old-1", "old-2"]
    write_table(tmp_path, "new-1", "new-2", table_id="new")
    assert list_files(served, **options) == ["new-1", "new-2"]


def test_a_version_of_only_the_old_table_is_not_found(
    served: RunningServer, tmp_path: Path
) -> None:
    assert list_files(served, version="2") == ["old-1", "old-2"]
    write_table(tmp_path, "new-1", table_id="new")
    with (
        Connection(f"grpc://127.0.0.1:{served.flight_port}") as connected,
        pytest.raises(VersionNotFoundError),
    ):
        connected.table("lake/events").snapshot(2)


def test_a_ticket_of_the_old_table_is_refused(served: RunningServer, tmp_path: Path) -> None:
    with Connection(f"grpc://127.0.0.1:{served.flight_port}") as connected:
        info = connected.info(make_request("lake/events"))
        write_table(tmp_path, "new-1", "new-2", table_id="new")
        with pytest.raises(SnapshotExpiredError):
            list(RemoteBatches(connected, [info.endpoints[0].ticket]))


def test_a_repeated_request_by_time_is_answered_from_the_cache(served: RunningServer) -> None:
    request = make_request("lake/events", as_of="2100-01-01")
    snapshots = [served.service.open(request)._snapshot for _ in range(2)]
    assert snapshots[0] is snapshots[1]


def test_a_pinned_version_is_kept_while_its_commit_stays_the_same(
    served: RunningServer, tmp_path: Path
) -> None:
    request = make_request("lake/events", version=1)
    first = served.service.open(request)._snapshot
    assert served.service.open(request)._snapshot is first
    os.utime(commit_path(tmp_path / "events", 1), (1, 1))
    assert served.service.open(request)._snapshot is not first


def test_a_scan_of_the_old_table_does_not_read_the_new_one(
    served: RunningServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Connection(f"grpc://127.0.0.1:{served.flight_port}") as connected:
        snapshot = connected.table("lake/events").snapshot()
        monkeypatch.setattr(served.service.tickets, "lifetime_s", -1.0)
        scan = snapshot.scan()
        monkeypatch.undo()
        write_table(tmp_path, "new-1", "new-2", table_id="new")
        for read in (lambda: list(scan), snapshot.scan, snapshot.rows, scan.count):
            with pytest.raises(SnapshotExpiredError):
                read()
