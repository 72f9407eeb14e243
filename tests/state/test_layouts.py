"""Every layout of an IndexTables log, written by hand; and states that `sync` creates."""

import gzip
import json
import shutil
from pathlib import Path
from typing import Any

import pytest

import headrace
from headrace.errors import CorruptCheckpointError, LogGapError, VersionNotFoundError
from headrace.metrics.event import Event, LegacyCheckpointRead
from headrace.protocol.state import Tombstone
from tests.lake.action import add, opening, remove
from tests.lake.log import write_history
from tests.state.layout import METADATA, PROTOCOL, lines, put, put_state, split


def gone(path: str) -> dict[str, Any]:
    return {"remove": {"path": path, "dataChange": True}}


def paths(table: Path, version: int | None = None) -> list[str]:
    return sorted(file.path for file in headrace.Table(table).snapshot(version).scan())


@pytest.mark.parametrize(
    "pack", [lambda raw: raw, gzip.compress, lambda raw: b"\x01\x01" + gzip.compress(raw)]
)
def test_version_files_are_recognised_by_their_bytes(tmp_path: Path, pack: Any) -> None:
    put(tmp_path, f"{0:020}.json", pack(lines(PROTOCOL, METADATA, split("a"))))
    put(tmp_path, f"{1:020}.json", pack(lines(split("b"), gone("a"), {"mergeskip": {"path": "c"}})))
    assert (paths(tmp_path), paths(tmp_path, 0)) == (["b"], ["a"])


@pytest.mark.parametrize(
    "manifest", ["manifests/manifest-1.avro", f"state-v{1:020}/manifest-1.avro", "manifest-1.avro"]
)
def test_manifests_are_found_by_every_form_of_path(tmp_path: Path, manifest: str) -> None:
    put(tmp_path, f"{0:020}.json", lines(PROTOCOL, METADATA))
    put_state(tmp_path, 1, ["a", "b"], manifest=manifest)
    assert paths(tmp_path) == ["a", "b"]


def test_version_files_after_a_state_are_replayed(tmp_path: Path) -> None:
    put(tmp_path, f"{0:020}.json", lines(PROTOCOL, METADATA, split("a"), split("b")))
    put_state(tmp_path, 1, ["a", "b", "c"], manifest="manifests/manifest-1.avro")
    put(tmp_path, f"{1:020}.json", lines(split("c")))
    put(tmp_path, f"{2:020}.json", lines(gone("a"), split("d")))
    assert paths(tmp_path) == ["b", "c", "d"]
    assert paths(tmp_path, 1) == ["a", "b", "c"]


@pytest.mark.parametrize("is_checkpoint", [False, True])
def test_of_the_lines_on_a_path_the_last_counts(tmp_path: Path, *, is_checkpoint: bool) -> None:
    name = f"{1:020}.checkpoint.json" if is_checkpoint else f"{1:020}.json"
    put(tmp_path, f"{0:020}.json", lines(PROTOCOL, METADATA, split("a"), split("b")))
    replaced, dropped = (gone("a"), split("a")), (split("c"), gone("c"), gone("b"))
    put(tmp_path, name, lines(PROTOCOL, METADATA, *replaced, *dropped))
    assert paths(tmp_path) == ["a"]
    assert headrace.Table(tmp_path).state.describe().num_files == 1
    headrace.Table(tmp_path).state.commit([{"path": "d", "size": 1}])
    assert paths(tmp_path) == ["a", "d"]


def test_a_json_checkpoint_is_read_and_reported(tmp_path: Path) -> None:
    put(tmp_path, f"{5:020}.checkpoint.json", lines(PROTOCOL, METADATA, split("a"), split("b")))
    put(tmp_path, f"{6:020}.json", lines(gone("a"), split("c")))
    events: list[Event] = []
    snapshot = headrace.Table(tmp_path, reporter=events.append).snapshot()
    assert sorted(file.path for file in snapshot.scan()) == ["b", "c"]
    (event,) = (e for e in events if isinstance(e, LegacyCheckpointRead))
    assert "CHECKPOINT INDEXTABLES" in str(event)


def multi_part(table: Path) -> str:
    names = [f"{5:020}.checkpoint.abc123def456.{part:05}.json" for part in (1, 2)]
    hint = {"version": 5, "checkpointId": "abc123def456", "parts": names, "format": "json"}
    put(table, f"{5:020}.checkpoint.json", lines(hint))
    put(table, names[0], lines(PROTOCOL, METADATA, split("a")))
    put(table, names[1], b"\x01\x01" + gzip.compress(lines(split("b"))))
    return names[1]


def test_a_json_checkpoint_in_parts_is_read(tmp_path: Path) -> None:
    multi_part(tmp_path)
    assert paths(tmp_path) == ["a", "b"]


def test_a_missing_part_is_named(tmp_path: Path) -> None:
    name = multi_part(tmp_path)
    (tmp_path / "_transaction_log" / name).unlink()
    with pytest.raises(CorruptCheckpointError, match=name):
        paths(tmp_path)


def test_missing_version_files_are_named(tmp_path: Path) -> None:
    put(tmp_path, f"{0:020}.json", lines(PROTOCOL, METADATA))
    put(tmp_path, f"{2:020}.json", lines(split("a")))
    with pytest.raises(LogGapError, match="commit 1 is missing"):
        paths(tmp_path)


def test_metadata_comes_from_the_newest_older_state_that_has_it(tmp_path: Path) -> None:
    put(tmp_path, f"{0:020}.json", lines(PROTOCOL, METADATA))
    newer = json.dumps({"metaData": {**METADATA["metaData"], "name": "newer"}})
    put_state(tmp_path, 1, ["a"], manifest="manifests/1.avro", metadata=newer)
    put_state(tmp_path, 2, ["a"], manifest="manifests/2.avro")
    assert headrace.Table(tmp_path).snapshot().metadata.name == "newer"


def test_metadata_of_a_version_file_between_two_states_is_newer_than_the_older_state(
    tmp_path: Path,
) -> None:
    put(tmp_path, f"{0:020}.json", lines(PROTOCOL, METADATA))
    older, newer = ({**METADATA["metaData"], "name": name} for name in ("older", "newer"))
    put_state(
        tmp_path, 1, ["a"], manifest="manifests/1.avro", metadata=json.dumps({"metaData": older})
    )
    put(tmp_path, f"{1:020}.json", lines(split("a")))
    put(tmp_path, f"{2:020}.json", lines({"metaData": newer}))
    put(tmp_path, f"{3:020}.json", lines(split("b")))
    put_state(tmp_path, 3, ["a", "b"], manifest="manifests/3.avro")
    assert headrace.Table(tmp_path).snapshot().metadata.name == "newer"
    headrace.Table(tmp_path).state.commit([{"path": "c", "size": 1}])
    assert headrace.Table(tmp_path).snapshot().metadata.name == "newer"
    assert paths(tmp_path) == ["a", "b", "c"]


def test_a_truncated_log_has_its_metadata_in_the_state_of_version_0(tmp_path: Path) -> None:
    """A purge by the original writes such a state, with the newest files and the metadata."""
    text = json.dumps(METADATA)
    put_state(tmp_path, 0, ["a", "b"], manifest="manifests/0.avro", metadata=text)
    put_state(tmp_path, 5, ["a", "b"], manifest="manifests/5.avro")
    snapshot = headrace.Table(tmp_path).snapshot()
    assert (snapshot.version, snapshot.metadata.id) == (5, "t")
    assert paths(tmp_path) == ["a", "b"]
    assert headrace.Table(tmp_path).state.commit([{"path": "c", "size": 1}]).version == 6
    assert paths(tmp_path) == ["a", "b", "c"]


def test_a_json_checkpoint_that_is_newer_than_the_state_is_the_base(tmp_path: Path) -> None:
    """A log that went back to JSON, and whose older version files were deleted."""
    put_state(tmp_path, 1, ["old"], manifest="manifests/1.avro", metadata=json.dumps(METADATA))
    put(tmp_path, f"{3:020}.checkpoint.json", lines(PROTOCOL, METADATA, split("a"), split("b")))
    put(tmp_path, f"{3:020}.json", lines(split("b")))
    put(tmp_path, f"{4:020}.json", lines(split("c"), gone("a")))
    assert paths(tmp_path) == ["b", "c"]
    result = headrace.Table(tmp_path).state.commit([{"path": "d", "size": 1}])
    assert result.version == 5
    assert paths(tmp_path) == ["b", "c", "d"]


def test_a_tombstone_hides_only_what_was_added_before_it(tmp_path: Path) -> None:
    put(tmp_path, f"{0:020}.json", lines(PROTOCOL, METADATA))
    hidden = (Tombstone(path="a", removed_at_version=1), Tombstone(path="b", removed_at_version=2))
    put_state(tmp_path, 3, ["a", "b", "c"], manifest="manifests/1.avro", tombstone_entries=hidden)
    assert paths(tmp_path) == ["a", "c"]  # version 1 added all of them


def test_a_plain_tombstone_hides_its_path(tmp_path: Path) -> None:
    put(tmp_path, f"{0:020}.json", lines(PROTOCOL, METADATA))
    put_state(tmp_path, 3, ["a", "b"], manifest="manifests/1.avro", tombstones=("b",))
    assert paths(tmp_path) == ["a"]


def test_a_synchronised_state_is_the_base_of_the_next_scan(tmp_path: Path) -> None:
    history = [[*opening(), add("a"), add("b")], [remove("a"), add("c")]]
    write_history(tmp_path, history)
    headrace.Table(tmp_path).state.sync()
    write_history(tmp_path, [*history, [add("d"), remove("b")]])
    scan = headrace.Table(tmp_path).snapshot().scan()
    assert scan.decision.state_version == 1
    assert sorted(file.path for file in scan) == ["c", "d"]
    headrace.Table(tmp_path).state.sync()
    again = headrace.Table(tmp_path).snapshot().scan()
    assert again.decision.state_version == 2
    assert sorted(file.path for file in again) == ["c", "d"]


def test_a_purge_leaves_no_version_0_to_travel_to(
    fixture_indextables: Path, tmp_path: Path
) -> None:
    """The original's purge names a state of the newest files version 0; nothing else records it."""
    table = tmp_path / "t"
    shutil.copytree(fixture_indextables / "13_after_purge", table)
    newest = paths(table)
    assert paths(table, 0) != newest
    (table / "_transaction_log" / f"{0:020}.json").chmod(0o600)
    (table / "_transaction_log" / f"{0:020}.json").unlink()
    with pytest.raises(VersionNotFoundError) as refused:
        paths(table, 0)
    assert refused.value.available == (range(1, 6),)
    assert paths(table) == newest
    with pytest.raises(LogGapError, match="commit 0 is missing"):
        list(headrace.Table(table).changes(0))
    with pytest.raises(LogGapError, match="commit 1 is missing"):
        list(headrace.Table(table).changes(1))
    assert {change.version for change in headrace.Table(table).changes(2)} == {2, 3, 4, 5}


def test_version_files_after_a_doubtful_state_of_version_0_make_only_the_newest_version(
    tmp_path: Path,
) -> None:
    """Whatever version the state is of, replaying all version files on it ends at the newest."""
    text = json.dumps(METADATA)
    put_state(tmp_path, 0, ["b", "c"], manifest="manifests/0.avro", metadata=text)
    put(tmp_path, f"{1:020}.json", lines(PROTOCOL, split("b")))
    put(tmp_path, f"{2:020}.json", lines(gone("a"), split("c")))
    assert paths(tmp_path) == ["b", "c"]
    for version in (0, 1):
        with pytest.raises(VersionNotFoundError):
            paths(tmp_path, version)


def test_a_state_of_version_0_with_a_commit_id_is_what_it_says(tmp_path: Path) -> None:
    """The writer of such a state never names the newest files version 0."""
    text = json.dumps(METADATA)
    put_state(tmp_path, 0, ["a"], manifest="manifests/0.avro", metadata=text, commit_id="e1")
    put_state(tmp_path, 1, ["a", "b"], manifest="manifests/1.avro")
    assert (paths(tmp_path, 0), paths(tmp_path)) == (["a"], ["a", "b"])
    changes = [(c.version, c.path) for c in headrace.Table(tmp_path).changes(0)]
    assert changes == [(0, "a"), (1, "b")]
