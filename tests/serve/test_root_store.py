"""Served tables in an object store, with states, with deletion vectors, and while they change."""

import shutil
from collections.abc import Iterable, Iterator
from pathlib import Path

import httpx
import pyarrow as pa
import pytest

import headrace
from headrace.serve.client import Connection
from headrace.serve.request import make_request
from headrace.serve.root import Roots
from headrace.serve.server import RunningServer
from headrace.serve.setting import ServerSettings
from headrace.serve.table_cache import TableCache
from headrace.storage.store import PutMode
from tests.emulator.place import SECRET_KEY, Place
from tests.lake.action import add, opening
from tests.lake.log import commit_path, write_commit, write_history
from tests.serve.conftest import Start


@pytest.fixture(scope="module")
def bucket(s3: Place, lake: Path) -> Iterator[RunningServer]:
    """Run a server whose root is a bucket, with credentials from the environment."""
    s3.upload(lake / "events", "served/events")
    with pytest.MonkeyPatch.context() as patch:
        for name, value in s3.options.items():
            patch.setenv(name.upper() if name.startswith("aws") else f"AWS_{name.upper()}", value)
        roots = (f"lake={s3.uri('served')}",)
        with RunningServer(ServerSettings(roots=roots, listen="127.0.0.1:0")) as running:
            yield running


def connect(server: RunningServer) -> Connection:
    return Connection(f"grpc://127.0.0.1:{server.flight_port}")


def test_files_and_rows_of_a_bucket_are_those_of_the_library(
    bucket: RunningServer, s3: Place, lake: Path
) -> None:
    local = headrace.Table(lake / "events").snapshot()
    with connect(bucket) as connected:
        snapshot = connected.table("lake/events").snapshot()
        files = list(snapshot.scan())
        rows = snapshot.rows("city = 'Bern'").read_all()
    assert sorted(file.path for file in files) == sorted(file.path for file in local.scan())
    assert all(file.uri.startswith(f"{s3.uri('served')}/events/") for file in files)
    assert rows.sort_by("id").equals(local.rows("city = 'Bern'").read_all().sort_by("id"))


def test_a_new_commit_in_a_bucket_is_served_by_the_next_request(
    bucket: RunningServer, s3: Place, tmp_path: Path
) -> None:
    table = write_history(tmp_path / "fresh", [[*opening(), add("a")]])
    s3.upload(table, "served/fresh")
    with connect(bucket) as connected:
        remote = connected.table("lake/fresh")
        first = remote.snapshot()
        content = write_commit(table, 1, [add("b")]).read_bytes()
        path = commit_path(table, 1).relative_to(table).as_posix()
        s3.store("served/fresh").put(path, content, mode=PutMode.OVERWRITE)
        assert [file.path for file in remote.snapshot().scan()] == ["b", "a"]
        assert [file.path for file in first.scan()] == ["a"]


@pytest.mark.parametrize("path", ["s3://other/x", "/etc/passwd", "../secret"])
def test_a_hostile_log_in_a_bucket_reaches_nothing_else(
    bucket: RunningServer, s3: Place, tmp_path: Path, path: str
) -> None:
    name = f"hostile{len(path)}"
    s3.upload(write_history(tmp_path / name, [[*opening(), add(path)]]), f"served/{name}")
    for columns in ("path", "uri"):
        request = {"table": f"lake/{name}", "columns": columns}
        url = f"http://127.0.0.1:{bucket.http_port}/v1/files"
        response = httpx.get(url, params=request, trust_env=False)
        assert response.status_code == 502, response.text
        assert SECRET_KEY not in response.text
        assert s3.endpoint not in response.text


def test_a_missing_table_of_a_bucket_is_not_served(bucket: RunningServer) -> None:
    url = f"http://127.0.0.1:{bucket.http_port}/v1/files"
    response = httpx.get(url, params={"table": "lake/none"}, trust_env=False)
    assert response.status_code == 404
    assert response.json()["error"]["code"] == "TABLE_NOT_SERVED"


def test_a_server_reads_the_state_of_a_table(start: Start, lake: Path, tmp_path: Path) -> None:
    table = tmp_path / "lake" / "events"
    shutil.copytree(lake / "events", table)
    headrace.Table(table).state.sync()
    server = start(roots=(f"lake={tmp_path / 'lake'}",))
    with connect(server) as connected:
        scan = connected.table("lake/events").snapshot().scan()
        assert len(list(scan)) == 156
        assert scan.metrics["state_version"] == 40


def test_rows_with_deletion_vectors_are_those_of_the_library(
    start: Start, fixture_tables: Path
) -> None:
    server = start(roots=(f"tables={fixture_tables}",))
    with connect(server) as connected:
        for name in (
            "delta-rs/data/table-with-dv-small",
            "delta-kernel-rs/golden_data/dv-partitioned-with-checkpoint/delta",
        ):
            local = headrace.Table(fixture_tables / name).snapshot()
            served = connected.table(f"tables/{name}").snapshot()
            assert sorted_rows(served.rows().read_all()) == sorted_rows(local.rows().read_all())
            assert keys(served.scan()) == keys(local.scan())
            assert any(file.deletion_vector for file in served.scan())


def keys(files: Iterable[headrace.LiveFile]) -> list[tuple[str, str | None]]:
    return sorted((file.path, file.dv_id) for file in files)


def sorted_rows(rows: pa.Table) -> list[str]:
    return sorted(map(str, rows.to_pylist()))


def test_a_cache_keeps_few_tables_and_versions_and_serves_fresh_ones(tmp_path: Path) -> None:
    for name in "abc":
        write_history(tmp_path / name, [[*opening(), add("x")], [add("y")]])
    tables = TableCache(Roots.parse((f"lake={tmp_path}",)), reporter=lambda _: None, max_tables=2)
    for name in "abc":
        for version in (0, 1, None):
            tables.snapshot(make_request(f"lake/{name}", version=version))
    caches = (tables._newest, tables._tables, tables._pinned)
    assert [len(values._values) for values in caches] == [2, 2, 2]
    write_commit(tmp_path / "c", 2, [add("z")])
    assert tables.snapshot(make_request("lake/c")).version == 2


@pytest.mark.parametrize(
    ("text", "redacted"),
    [
        ("s3://bucket/team/data/events: gone", "lake/events: gone"),
        ("team/data/events/_delta_log: gone", "lake/events/_delta_log: gone"),
        ("'team/data/events' is gone", "'lake/events' is gone"),
        ("other/team/data/events, team/database/x", "other/team/data/events, team/database/x"),
    ],
)
def test_an_error_names_the_root_and_not_its_folder_in_a_bucket(text: str, redacted: str) -> None:
    assert Roots.parse(("lake=s3://bucket/team/data",)).redact(text) == redacted
