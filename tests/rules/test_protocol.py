"""Rules 15, 16, 18 and 19: protocol checks, and the actions that are not files."""

import json
from pathlib import Path
from typing import Any

import pytest

from headrace.errors import InvalidTableError, UnsupportedFeatureError
from tests.lake.action import Line, add, domain, metadata, opening, protocol, txn
from tests.lake.checkpoint import write_checkpoint
from tests.lake.log import (
    commit_path,
    log_of,
    state_at,
    write_checksum,
    write_commit,
    write_history,
)
from tests.listing import open_snapshot, paths_of


def test_rule_15_the_newest_protocol_and_metadata_win_independently(tmp_path: Path) -> None:
    history: list[list[Line]] = [
        opening(v="0"),
        [protocol(features=["timestampNtz"])],
        [metadata(properties={"v": "2"})],
        [add("a")],
    ]
    snapshot = open_snapshot(write_history(tmp_path, history))
    assert snapshot.protocol.reader_features == ["timestampNtz"]
    assert snapshot.properties["v"] == "2"


def test_rule_15_both_may_come_from_the_checkpoint_or_from_commits(tmp_path: Path) -> None:
    history: list[list[Line]] = [opening(v="0"), [metadata(properties={"v": "1"})]]
    write_history(tmp_path, history)
    write_checkpoint(tmp_path, 0, state_at(history, 0))
    commit_path(tmp_path, 0).unlink()
    snapshot = open_snapshot(tmp_path)
    assert snapshot.protocol.min_reader_version == 3
    assert snapshot.properties["v"] == "1"


@pytest.mark.parametrize("line", [protocol(), metadata()], ids=["protocol", "metaData"])
def test_rule_15_a_log_without_one_of_them_is_refused(tmp_path: Path, line: Line) -> None:
    write_commit(tmp_path, 0, [line, add("a")])
    with pytest.raises(InvalidTableError):
        open_snapshot(tmp_path)


def test_rule_16_an_unknown_reader_feature_is_refused_by_name(tmp_path: Path) -> None:
    write_commit(tmp_path, 0, [protocol(features=["deletionVectors", "fromTheFuture"]), metadata()])
    with pytest.raises(UnsupportedFeatureError) as caught:
        open_snapshot(tmp_path)
    assert caught.value.features == ("fromTheFuture",)


@pytest.mark.parametrize("reader", [4, 99])
def test_rule_16_an_unknown_reader_version_is_refused(tmp_path: Path, reader: int) -> None:
    write_commit(tmp_path, 0, [protocol(reader=reader), metadata()])
    with pytest.raises(UnsupportedFeatureError):
        open_snapshot(tmp_path)


@pytest.mark.parametrize("reader", [1, 2])
def test_rule_16_early_reader_versions_are_read(tmp_path: Path, reader: int) -> None:
    write_commit(tmp_path, 0, [protocol(reader=reader), metadata(), add("a")])
    assert paths_of(tmp_path) == ["a"]


def test_rule_16_writer_features_never_block_a_read(tmp_path: Path) -> None:
    guarded = protocol(features=[])
    guarded["protocol"]["writerFeatures"] = ["fromTheFuture", "appendOnly"]
    write_commit(tmp_path, 0, [guarded, metadata(), add("a")])
    assert paths_of(tmp_path) == ["a"]


def test_rule_16_a_feature_counts_from_the_version_that_brings_it(tmp_path: Path) -> None:
    write_history(tmp_path, [[*opening(), add("a")], [protocol(features=["fromTheFuture"])]])
    assert paths_of(tmp_path, 0) == ["a"]
    with pytest.raises(UnsupportedFeatureError):
        open_snapshot(tmp_path, 1)


def test_rule_18_the_latest_transaction_of_an_application_wins(tmp_path: Path) -> None:
    history = [[*opening(), txn("p", 9), txn("q", 1)], [txn("p", 4)]]
    snapshot = open_snapshot(write_history(tmp_path, history))
    assert {app: transaction.version for app, transaction in snapshot.txns.items()} == {
        "p": 4,
        "q": 1,
    }


def test_rule_18_a_removed_domain_is_hidden(tmp_path: Path) -> None:
    history: list[list[Line]] = [
        [*opening(), domain("kept", "{}"), domain("gone", "{}"), domain("back", "old")],
        [domain("gone", removed=True), domain("back", removed=True)],
        [domain("back", "new")],
    ]
    write_history(tmp_path, history)
    write_checkpoint(tmp_path, 0, state_at(history, 0))
    domains = open_snapshot(tmp_path).domains
    assert {name: one.configuration for name, one in domains.items()} == {
        "kept": "{}",
        "back": "new",
    }


@pytest.mark.parametrize("content", [b"", b"{", b"\xff", b'{"protocol": 3}', b"[]"])
def test_rule_19_a_corrupt_checksum_is_ignored(tmp_path: Path, content: bytes) -> None:
    write_commit(tmp_path, 0, [*opening(v="0"), add("a")])
    (log_of(tmp_path) / f"{0:020}.crc").write_bytes(content)
    assert open_snapshot(tmp_path).properties["v"] == "0"


@pytest.mark.parametrize("version", [0, 1, 2])
def test_rule_19_commits_after_the_checksum_take_precedence(tmp_path: Path, version: int) -> None:
    history: list[list[Line]] = [
        opening(v="0"),
        [metadata(properties={"v": "1"})],
        [metadata(properties={"v": "2"}), protocol(features=["timestampNtz"])],
    ]
    write_history(tmp_path, history)
    write_checksum(tmp_path, version, state_at(history, version))
    snapshot = open_snapshot(tmp_path)
    assert snapshot.properties["v"] == "2"
    assert snapshot.protocol.reader_features == ["timestampNtz"]


def test_rule_19_a_checksum_of_another_version_is_not_used(tmp_path: Path) -> None:
    history: list[list[Line]] = [opening(v="0"), [metadata(properties={"v": "1"})]]
    write_history(tmp_path, history)
    write_checksum(tmp_path, 1, state_at(history, 1))
    assert open_snapshot(tmp_path, 0).properties["v"] == "0"


def _lying_checksum(table: Path, **claims: Any) -> Path:
    """Write a `.crc` of version 0 that is right except for its claims."""
    path = write_checksum(table, 0, state_at([opening(v="0")], 0))
    path.write_text(json.dumps(json.loads(path.read_text()) | claims))
    return path


_CHANGED = {"delta.typeChanges": [{"fromType": "string", "toType": "integer"}]}
_SCHEMA = {
    "type": "struct",
    "fields": [{"name": "id", "type": "integer", "nullable": True, "metadata": _CHANGED}],
}


@pytest.mark.parametrize(
    "claims",
    [
        protocol(reader=99),
        protocol(features=["fromTheFuture"]),
        protocol(features=["catalogManaged"]),
        {"protocol": {"minReaderVersion": 3, "minWriterVersion": 7}},
        {"metadata": metadata()["metaData"] | {"schemaString": "no schema"}},
        {"metadata": metadata()["metaData"] | {"schemaString": json.dumps(_SCHEMA)}},
    ],
    ids=["version", "feature", "catalog", "no features", "no schema", "type change"],
)
def test_rule_19_a_table_is_refused_for_its_log_and_not_for_a_checksum(
    tmp_path: Path, claims: Line, caplog: pytest.LogCaptureFixture
) -> None:
    write_commit(tmp_path, 0, [*opening(v="0"), add("a")])
    path = _lying_checksum(tmp_path, **claims)
    snapshot = open_snapshot(tmp_path)
    assert [file.path for file in snapshot.scan()] == ["a"]
    assert snapshot.properties["v"] == "0"
    assert any(path.name in record.getMessage() for record in caplog.records)


def test_rule_19_a_checksum_with_an_unknown_feature_may_be_right(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    history: list[list[Line]] = [[protocol(features=["fromTheFuture"]), metadata()]]
    write_history(tmp_path, history)
    write_checksum(tmp_path, 0, state_at(history, 0))
    with pytest.raises(UnsupportedFeatureError):
        open_snapshot(tmp_path)
    assert not caplog.records


def test_rule_19_a_mismatch_is_reported(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    history = [[*opening(), add("a", size=5), add("b", size=6)]]
    write_history(tmp_path, history)
    path = write_checksum(tmp_path, 0, state_at(history, 0))
    claims = json.loads(path.read_text())
    path.write_text(json.dumps(claims | {"numFiles": 3}))
    assert paths_of(tmp_path) == ["a", "b"]
    assert any(path.name in record.getMessage() for record in caplog.records)
