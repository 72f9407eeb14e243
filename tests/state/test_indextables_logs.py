"""Real IndexTables logs, against a reader of fifteen lines that shares no code with ours."""

from pathlib import Path

import datafusion
import pytest

import headrace
from headrace.errors import (
    TableNotFoundError,
    TimestampNotFoundError,
    UnsupportedFeatureError,
    VersionNotFoundError,
)
from tests.state.real_log import NAMES, entries_of, first_lines, state_of, versions_of


@pytest.fixture(params=NAMES)
def real(request: pytest.FixtureRequest, fixture_indextables: Path) -> Path:
    return fixture_indextables / str(request.param)


def test_the_newest_version_is_that_of_the_newest_state(real: Path) -> None:
    assert headrace.Table(real).snapshot().version == max(versions_of(real))


def test_every_version_has_the_files_of_its_state(real: Path) -> None:
    for version in filter(None, versions_of(real)):
        files = {file.path: file for file in headrace.Table(real).snapshot(version).scan()}
        expected = entries_of(real, version)
        assert {path: file.size_bytes for path, file in files.items()} == {
            path: entry["size"] for path, entry in expected.items()
        }
        for path, file in files.items():
            assert file.modified_ms == expected[path]["modificationTime"]
            assert dict(file.partition_values) == expected[path]["partitionValues"]
            assert file.num_records == expected[path]["numRecords"]


def test_counts_and_bytes_are_those_of_the_state(real: Path) -> None:
    snapshot = headrace.Table(real).snapshot()
    state = state_of(real, snapshot.version)
    files = list(snapshot.scan())
    assert len(files) == state["numFiles"] == snapshot.scan().count()
    assert sum(file.size_bytes for file in files) == state["totalBytes"]


def test_metadata_is_that_of_the_first_version_file(real: Path) -> None:
    snapshot, lines = headrace.Table(real).snapshot(), first_lines(real)
    assert snapshot.metadata.id == lines["metaData"]["id"]
    assert snapshot.metadata.schema_string == lines["metaData"]["schemaString"]
    assert list(snapshot.partition_columns) == lines["metaData"]["partitionColumns"]
    assert snapshot.protocol.min_reader_version == 4


def test_the_schema_registry_is_that_of_the_state(real: Path) -> None:
    snapshot = headrace.Table(real).snapshot()
    state = snapshot.segment.state
    assert state is not None
    assert state.manifest.schema_registry == state_of(real, snapshot.version)["schemaRegistry"]


def test_version_0_has_no_files_even_after_a_purge(real: Path) -> None:
    assert list(headrace.Table(real).snapshot(0).scan()) == []


def test_every_file_exists(real: Path) -> None:
    for file in headrace.Table(real).snapshot().scan():
        assert (real / file.path).stat().st_size == file.size_bytes


def test_arrow_batches_have_the_same_files(real: Path) -> None:
    snapshot = headrace.Table(real).snapshot()
    paths = {p for b in snapshot.scan().batches() for p in b.column("path").to_pylist()}
    assert paths == {file.path for file in snapshot.scan()}


def test_datafusion_reads_the_same_entries(real: Path) -> None:
    version = max(versions_of(real))
    session = datafusion.SessionContext()
    paths: set[str] = set()
    for info in state_of(real, version)["manifests"]:
        table = session.read_avro(str(real / "_transaction_log" / info["path"])).to_arrow_table()
        paths.update(table["path"].to_pylist())
    paths -= set(state_of(real, version)["tombstones"])
    assert paths == {file.path for file in headrace.Table(real).snapshot().scan()}


@pytest.mark.parametrize(
    ("where", "count"), [("date = '2024-01-01'", 2), ("date > '2024-03-15'", 4)]
)
def test_partitions_are_pruned(fixture_indextables: Path, where: str, count: int) -> None:
    table = headrace.Table(fixture_indextables / "09_partitioned_multi_append")
    scan = table.snapshot().scan(where)
    assert len(list(scan)) == count
    assert scan.metrics.counts.rows_filtered_by_partition_pruning == 10 - count


def test_statistics_skip_splits(fixture_indextables: Path) -> None:
    table = headrace.Table(fixture_indextables / "02_five_appends")
    files = list(table.snapshot().scan("id = 103"))
    expected = [
        path
        for path, entry in entries_of(fixture_indextables / "02_five_appends", 5).items()
        if int(entry["minValues"]["id"]) <= 103 <= int(entry["maxValues"]["id"])
    ]
    assert sorted(file.path for file in files) == sorted(expected)
    assert len(expected) < 10


def test_a_missing_version_is_named(real: Path) -> None:
    with pytest.raises(VersionNotFoundError, match="version 99"):
        headrace.Table(real).snapshot(99)


def test_a_time_before_the_table_is_refused(real: Path) -> None:
    with pytest.raises(TimestampNotFoundError):
        headrace.Table(real).snapshot(as_of="1999-01-01")


def test_a_folder_without_a_log_is_not_a_table(tmp_path: Path) -> None:
    with pytest.raises(TableNotFoundError):
        headrace.Table(tmp_path).snapshot()


def test_explain_names_the_phases_of_the_log(real: Path) -> None:
    table = headrace.Table(real)
    assert "ListTransactionLog" in table.explain()
    assert "StateReplay" in table.snapshot().scan().explain()


def test_rows_of_splits_are_refused(real: Path) -> None:
    with pytest.raises(UnsupportedFeatureError, match="splits"):
        headrace.Table(real).snapshot().rows()
