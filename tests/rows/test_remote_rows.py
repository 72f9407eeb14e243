"""Rows of a remote store: how many sequential requests they take."""

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import write_deltalake

from benchmarks.round_trip import RoundTripStore
from headrace import Table
from headrace.rows import file_bytes

FILES, ROWS = 40, 500


def rows_of(number: int) -> pa.Table:
    ids = range(number * ROWS, (number + 1) * ROWS)
    return pa.table({"id": pa.array(ids, pa.int64()), "name": [f"name-{i}" for i in ids]})


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("rows") / "table"
    for number in range(FILES):
        write_deltalake(str(path), rows_of(number), mode="append")
    return path


def read(store: RoundTripStore, **options: Any) -> list[int]:
    rows = Table(store.root, store=store).snapshot().rows(**options).read_all()
    return sorted(rows["id"].to_pylist())


def test_small_files_take_one_request_each_at_once(table: Path) -> None:
    with RoundTripStore(table) as store:
        assert read(store) == list(range(FILES * ROWS))
        data = [path for path in store.requests if path.startswith("part-")]
        assert len(data) == len(set(data)) == FILES
        assert store.rounds <= 2 + 3  # groups of files double from one up, four at a time


def test_large_files_are_read_footer_first_and_then_by_chunks(
    table: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(file_bytes, "SMALL_BYTES", 0)
    with RoundTripStore(table) as store:
        assert read(store, columns=["id"]) == list(range(FILES * ROWS))
        data = [path for path in store.requests if path.startswith("part-")]
        assert len(data) == 2 * FILES


def test_row_groups_are_read_ahead(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(file_bytes, "SMALL_BYTES", 0)
    write_deltalake(str(tmp_path), rows_of(0))
    [file] = tmp_path.glob("*.parquet")
    whole, size_bytes = pq.read_table(file), file.stat().st_size
    pq.write_table(whole, file, row_group_size=50)
    [commit] = (tmp_path / "_delta_log").glob("*.json")
    text = commit.read_text().replace(f'"size":{size_bytes}', f'"size":{file.stat().st_size}')
    commit.write_text(text)
    with RoundTripStore(tmp_path) as store:
        assert read(store, columns=["id"]) == list(range(ROWS))
        assert store.rounds <= 2 + 2  # the log, the end of the file, all row groups


def test_a_limit_reads_one_file(table: Path) -> None:
    with RoundTripStore(table) as store:
        assert len(read(store, limit=5)) == 5
        data = [path for path in store.requests if path.startswith("part-")]
        assert len(data) == 1
