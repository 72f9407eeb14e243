"""Real tables of other projects: their contents at every version, or why we refuse them."""

import json
from pathlib import Path

import pytest

from headrace.errors import HeadraceError, VersionNotFoundError
from tests import oracle
from tests.conformance.fixture import Fixture, fixture_params, read_json
from tests.listing import batch_rows, by_key, file_rows, open_snapshot

REFUSALS: dict[str, dict[str, str]] = read_json("refusals.json")
CANONICALIZED = "canonicalized-paths-"
every_table = pytest.mark.parametrize("fixture", fixture_params())


def _readable(fixture: Fixture) -> list[int]:
    """Return the versions that the oracle can reconstruct, unless we refuse the whole table."""
    readable = []
    for version in oracle.versions(fixture.table):
        try:
            state = oracle.replay(fixture.table, version)
        except KeyError:
            continue
        if state.protocol and state.metadata and not _is_refused_at(fixture, state):
            readable.append(version)
    return readable


def _is_refused_at(fixture: Fixture, state: oracle.State) -> bool:
    refusal = REFUSALS.get(fixture.name, {})
    guarded = {"UNSUPPORTED_FEATURE", "CATALOG_MANAGED"}
    return state.protocol is None or refusal.get("code") in guarded


def _skip_if_refused(fixture: Fixture) -> None:
    if fixture.name in REFUSALS:
        pytest.skip(REFUSALS[fixture.name]["reason"])


@every_table
def test_a_table_is_refused_only_if_listed_and_with_the_listed_code(fixture: Fixture) -> None:
    expected = REFUSALS.get(fixture.name, {}).get("code")
    try:
        by_key(open_snapshot(fixture.table).scan(limit=1))
        code = None
    except HeadraceError as refusal:
        code = refusal.code
    assert code == expected


@every_table
def test_count_and_bytes_at_every_version_equal_the_index(fixture: Fixture) -> None:
    _skip_if_refused(fixture)
    if CANONICALIZED in fixture.name:
        pytest.skip("the index takes two spellings of one path for two files")
    totals = {}
    for version in fixture.counts:
        files = list(open_snapshot(fixture.table, version).scan())
        totals[version] = (len(files), sum(file.size_bytes for file in files))
    assert totals == fixture.counts


@every_table
def test_the_latest_files_equal_the_index(fixture: Fixture) -> None:
    _skip_if_refused(fixture)
    if fixture.live is None:
        pytest.skip("the index lists no files for this table")
    files = by_key(open_snapshot(fixture.table).scan())
    listed = {(key.path, key.dv_id, file.size_bytes) for key, file in files.items()}
    expected = {(oracle.canonical(path), dv, size) for path, dv, size in fixture.live}
    assert listed == (set() if CANONICALIZED in fixture.name else expected)


@every_table
def test_keys_at_every_version_equal_the_oracle(fixture: Fixture) -> None:
    versions = _readable(fixture)
    for version in versions[-1:] if fixture.is_large else versions:
        live_files = by_key(open_snapshot(fixture.table, version).scan())
        assert live_files.keys() == oracle.live_files(fixture.table, version).keys(), version


@every_table
def test_other_actions_at_every_version_equal_the_oracle(fixture: Fixture) -> None:
    for version in _readable(fixture):
        snapshot = open_snapshot(fixture.table, version)
        state = oracle.replay(fixture.table, version)
        assert state.protocol is not None
        assert state.metadata is not None
        assert snapshot.protocol.min_reader_version == state.protocol["minReaderVersion"]
        assert snapshot.metadata.id == state.metadata["id"]
        assert list(snapshot.partition_columns) == list(state.metadata["partitionColumns"])
        assert {app: txn.version for app, txn in snapshot.txns.items()} == {
            app: txn["version"] for app, txn in state.txns.items()
        }
        assert {name: domain.configuration for name, domain in snapshot.domains.items()} == {
            name: domain["configuration"] for name, domain in state.domains.items()
        }


@every_table
def test_versions_that_cannot_be_rebuilt_are_not_found(fixture: Fixture) -> None:
    _skip_if_refused(fixture)
    for version in set(oracle.versions(fixture.table)) - set(_readable(fixture)):
        with pytest.raises(VersionNotFoundError):
            open_snapshot(fixture.table, version)


@every_table
def test_batches_have_the_same_files_as_iteration(fixture: Fixture) -> None:
    _skip_if_refused(fixture)
    scan = open_snapshot(fixture.table).scan()
    assert batch_rows(scan.batches()) == file_rows(scan)


def test_every_listed_table_is_in_the_index(fixture_tables: Path) -> None:
    index = json.loads((fixture_tables / "index.json").read_text(encoding="utf-8"))
    listed = REFUSALS.keys() | read_json("deltalake_differences.json")["fixtures"].keys()
    assert listed <= {row["table"] for row in index}
