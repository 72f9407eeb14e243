"""A Delta table's state equals its live files at every version, and is anchored in its log."""

import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import fastavro
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headrace import Table
from headrace.avro.state_file import decode_state
from headrace.errors import InvalidTableError
from headrace.maintain.delta_sync import SyncKind, sync
from headrace.maintain.home import DELTA_HOME
from headrace.maintain.live_version import delta_version
from headrace.maintain.setting import StateSettings
from headrace.phases import scan
from headrace.storage.local import LocalStore
from tests.lake.action import add, metadata, opening, protocol, remove, statistics, vector
from tests.lake.checkpoint import Form, Shape, Statistics, write_checkpoint
from tests.lake.log import state_at, write_history
from tests.maintain.table import objects_of

Key = tuple[str, str | None]


def state_files(table: Path) -> dict[Key, int]:
    """Return the newest state's live files, with versioned tombstones, by fastavro alone."""
    stored = objects_of(table / "_headrace")
    newest = max(path for path in stored if path.endswith("_manifest.avro"))
    (record,) = fastavro.reader(io.BytesIO(stored[newest]))
    assert isinstance(record, dict)
    removed: dict[Key, int] = {}
    for tombstone in record["tombstoneEntries"]:
        key = (tombstone["path"], tombstone["dvId"])
        removed[key] = max(removed.get(key, -1), tombstone["removedAtVersion"])
    live: dict[Key, int] = {}
    for info in record["manifests"]:
        for entry in fastavro.reader(io.BytesIO(stored[info["path"]])):
            assert isinstance(entry, dict)
            key = (entry["path"], _dv_id(entry["deletionVector"]))
            if entry["addedAtVersion"] >= removed.get(key, -1):
                assert key not in live
                live[key] = entry["size"]
    assert record["tombstones"] == []
    assert record["numFiles"] == len(live)
    assert record["totalBytes"] == sum(live.values())
    return live


def _dv_id(vector: dict[str, Any] | None) -> str | None:
    if vector is None:
        return None
    base = vector["storageType"] + vector["pathOrInlineDv"]
    return base if vector["offset"] is None else f"{base}@{vector['offset']}"


def scanned(table: Path) -> dict[Key, int]:
    """Return the live files, by a naive replay of the commits."""
    live: dict[Key, int] = {}
    for path in sorted((table / "_delta_log").glob("*.json")):
        lines = [json.loads(line) for line in path.read_text().splitlines()]
        for line in lines:
            if "remove" in line:
                live.pop(_key(line["remove"]), None)
        for line in lines:
            if "add" in line:
                live[_key(line["add"])] = line["add"]["size"]
    return live


def _key(action: dict[str, Any]) -> Key:
    vector = action.get("deletionVector")
    return action["path"], _dv_id(None if vector is None else {"offset": None} | vector)


def write_more(table: Path, version: int, lines: list[Any]) -> None:
    body = "".join(json.dumps(line) + "\n" for line in lines)
    (table / "_delta_log" / f"{version:020}.json").write_text(body)


def test_the_first_sync_writes_all_files_and_the_next_only_new_ones(tmp_path: Path) -> None:
    values = {"part": "x", "n": "1"}
    write_history(
        tmp_path,
        [[*opening(), *(add(f"f{n}", size=n, partition_values=values) for n in range(50))]],
    )
    first = Table(str(tmp_path)).state.sync()
    assert (first.kind, first.version, first.num_files) == (SyncKind.FULL, 0, 50)
    write_more(tmp_path, 1, [add("new", size=7, partition_values=values), remove("f3")])
    second = Table(str(tmp_path)).state.sync()
    assert (second.kind, second.commits_read, second.added) == (SyncKind.INCREMENTAL, 1, 1)
    assert state_files(tmp_path) == scanned(tmp_path)
    assert Table(str(tmp_path)).state.sync().kind is SyncKind.UNCHANGED


def test_a_new_deletion_vector_is_another_file(tmp_path: Path) -> None:
    write_history(tmp_path, [[*opening(), add("a", size=1), add("b", size=2)]])
    Table(str(tmp_path)).state.sync()
    write_more(tmp_path, 1, [remove("a"), add("a", size=1, vector=vector("v1"))])
    Table(str(tmp_path)).state.sync()
    assert state_files(tmp_path) == scanned(tmp_path)
    write_more(tmp_path, 2, [remove("a", vector=vector("v1")), add("a", size=1)])
    Table(str(tmp_path)).state.sync()
    assert state_files(tmp_path) == scanned(tmp_path) == {("a", None): 1, ("b", None): 2}


ROW_FIELDS = ("baseRowId", "defaultRowCommitVersion", "clusteringProvider")


def tracked(path: str, base: int | None, *, provider: str | None = None) -> Any:
    """Return an add with row ids, or without if `base` is None."""
    values = (base, base and 3, provider)
    fields = {n: v for n, v in zip(ROW_FIELDS, values, strict=True) if v is not None}
    return {"add": add(path)["add"] | fields}


def row_fields(table: Path) -> dict[str, tuple[Any, ...]]:
    """Return the row ids and clustering provider of the entries of the newest state."""
    stored = objects_of(table / "_headrace")
    newest = max(path for path in stored if path.endswith("_manifest.avro"))
    (record,) = fastavro.reader(io.BytesIO(stored[newest]))
    assert isinstance(record, dict)
    entries: list[Any] = []
    for info in record["manifests"]:
        entries += fastavro.reader(io.BytesIO(stored[info["path"]]))
    return {entry["path"]: tuple(entry[name] for name in ROW_FIELDS) for entry in entries}


@pytest.mark.parametrize("form", [None, *Form])
def test_a_full_sync_keeps_row_ids_and_the_clustering_provider(
    form: Form | None, tmp_path: Path
) -> None:
    history = [
        [*opening(), tracked("a", 10, provider="liquid"), tracked("b", 20), tracked("c", None)],
        [tracked("d", 30, provider="liquid"), remove("b")],
    ]
    write_history(tmp_path, history)
    if form is not None:
        write_checkpoint(tmp_path, 0, state_at(history, 0), Shape(form=form))
    expected = {"a": (10, 3, "liquid"), "c": (None, None, None), "d": (30, 3, "liquid")}
    assert Table(str(tmp_path)).state.sync().kind is SyncKind.FULL
    assert row_fields(tmp_path) == expected
    # The scan of the next full sync reads the state.
    write_more(tmp_path, 2, [metadata(properties={"a": "b"}), tracked("e", 40)])
    assert Table(str(tmp_path)).state.sync().kind is SyncKind.FULL
    assert row_fields(tmp_path) == expected | {"e": (40, 3, None)}


@pytest.mark.parametrize("rows", [3, 300])
def test_an_encoded_path_that_is_added_again_is_listed_once(tmp_path: Path, rows: int) -> None:
    name = "at=2026-01-01 00%3A00%3A00/f"
    others = [add(f"at=2026-01-01 00%3A00%3A00/g{n:03}", size=1) for n in range(rows)]
    write_history(tmp_path, [[*opening(), add(name, size=1), *others]])
    Table(str(tmp_path)).state.sync()
    write_more(tmp_path, 1, [add(name, size=2)])
    Table(str(tmp_path)).state.sync()
    assert state_files(tmp_path) == scanned(tmp_path)
    write_more(tmp_path, 2, [remove(name)])
    Table(str(tmp_path)).state.sync()
    assert state_files(tmp_path) == scanned(tmp_path)
    write_more(tmp_path, 3, [add(name, size=3)])
    Table(str(tmp_path)).state.sync()
    assert state_files(tmp_path) == scanned(tmp_path)
    assert Table(str(tmp_path)).state.verify().is_sound


def test_a_file_that_is_replaced_under_another_spelling_is_listed_once(tmp_path: Path) -> None:
    write_history(tmp_path, [[*opening(), add("a%2Db", size=1), add("c", size=2)]])
    Table(str(tmp_path)).state.sync()
    write_more(tmp_path, 1, [remove("a-b")])
    write_more(tmp_path, 2, [add("a-b", size=3)])
    Table(str(tmp_path)).state.sync()
    assert state_files(tmp_path) == {("a-b", None): 3, ("c", None): 2}


@pytest.mark.parametrize(
    ("old", "new"),
    [("a%2Db", "a-b"), ("a-b", "a%2Db"), ("file:/x/q", "/x/q"), ("/x/q", "file:///x/q")],
)
@pytest.mark.parametrize("later", [False, True])
def test_a_file_that_is_added_again_under_another_spelling_is_listed_once(
    tmp_path: Path, old: str, new: str, *, later: bool
) -> None:
    write_history(tmp_path, [[*opening(), add("c", size=2)]])
    if later:  # the old entry is in the manifest of an incremental sync
        Table(str(tmp_path)).state.sync()
    write_more(tmp_path, 1, [add(old, size=1)])
    Table(str(tmp_path)).state.sync()
    write_more(tmp_path, 2, [add(new, size=3)])
    Table(str(tmp_path)).state.sync()
    assert state_files(tmp_path) == {(new, None): 3, ("c", None): 2}


def test_a_path_that_is_not_utf_8_when_decoded_is_found_again(tmp_path: Path) -> None:
    write_history(tmp_path, [[*opening(), add("%FF", size=1), add("ä%FFü", size=2)]])
    Table(str(tmp_path)).state.sync()
    write_more(tmp_path, 1, [add("%ff", size=3), remove("%C3%A4%ffü")])
    Table(str(tmp_path)).state.sync()
    assert state_files(tmp_path) == {("%ff", None): 3}
    write_more(tmp_path, 2, [add(f"b{n:02}", size=4) for n in range(30)])
    Table(str(tmp_path)).state.sync()
    write_more(tmp_path, 3, [remove("%ff")])  # too few for a compaction: a tombstone stays
    Table(str(tmp_path)).state.sync()
    paths = sorted(file.path for file in Table(str(tmp_path)).snapshot().scan())
    assert paths == [f"b{n:02}" for n in range(30)]


def test_a_path_in_another_spelling_is_the_same_file(tmp_path: Path) -> None:
    write_history(tmp_path, [[*opening(), add("a%2Db", size=1), add("c", size=2)]])
    Table(str(tmp_path)).state.sync()
    write_more(tmp_path, 1, [remove("a-b")])
    Table(str(tmp_path)).state.sync()
    assert {path for path, _ in state_files(tmp_path)} == {"c"}


def test_a_replaced_log_is_synced_in_full(tmp_path: Path) -> None:
    write_history(tmp_path, [[*opening(), add("old")]])
    Table(str(tmp_path)).state.sync()
    log = tmp_path / "_delta_log"
    (log / f"{0:020}.json").unlink()
    write_history(tmp_path, [[*opening(), add("quite-another-file", size=5)]])
    result = Table(str(tmp_path)).state.sync()
    assert result.kind is SyncKind.FULL
    assert "another log" in str(result.reason)
    assert state_files(tmp_path) == {("quite-another-file", None): 5}


def test_a_damaged_state_is_rewritten(tmp_path: Path) -> None:
    write_history(tmp_path, [[*opening(), add("a", size=1)], [add("b", size=2)]])
    Table(str(tmp_path)).state.sync()
    (path,) = (tmp_path / "_headrace").glob("state-v*/_manifest.avro")
    path.write_bytes(path.read_bytes()[:-7])
    result = Table(str(tmp_path)).state.sync()
    assert result.kind is SyncKind.FULL
    assert state_files(tmp_path) == scanned(tmp_path)


@pytest.mark.parametrize("commits", [0, 1])
@pytest.mark.parametrize("damage", [Path.unlink, lambda path: path.write_bytes(b"Obj")])
def test_a_sync_writes_a_lost_manifest_again(
    tmp_path: Path, damage: Callable[[Path], object], commits: int
) -> None:
    write_history(tmp_path, [[*opening(), add("a", size=1)], [add("b", size=2)]])
    Table(str(tmp_path)).state.sync()
    damage(next((tmp_path / "_headrace" / "manifests").iterdir()))
    for version in range(2, 2 + commits):
        write_more(tmp_path, version, [add("c", size=3)])
    result = Table(str(tmp_path)).state.sync()
    assert (result.kind, result.version) == (SyncKind.FULL, 1 + commits)
    assert "manifest" in str(result.reason)
    assert state_files(tmp_path) == scanned(tmp_path)
    assert Table(str(tmp_path)).state.verify().is_sound
    assert Table(str(tmp_path)).state.sync().kind is SyncKind.UNCHANGED


def test_a_full_sync_reads_the_log_and_not_a_damaged_state(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scan, "_HELD_BYTES", 0)  # as for a state of many files
    adds = [add(f"f{number}", size=number) for number in range(40)]
    write_history(tmp_path, [opening(), adds])
    state = Table(str(tmp_path)).state
    state.with_settings(StateSettings(entries_per_manifest=1)).sync()
    (place,) = (tmp_path / "_headrace").glob("state-v*/_manifest.avro")
    last = decode_state(place.read_bytes(), path="state").manifests[-1]
    manifest = tmp_path / "_headrace" / last.path
    content = bytearray(manifest.read_bytes())
    content[-25] ^= 1
    manifest.write_bytes(content)
    write_more(tmp_path, 2, [metadata(properties={"a": "b"})])
    assert Table(str(tmp_path)).state.sync().kind is SyncKind.FULL
    assert state_files(tmp_path) == scanned(tmp_path)


def test_a_damaged_newer_state_does_not_cost_a_full_sync_every_time(tmp_path: Path) -> None:
    write_history(tmp_path, [[*opening(), add("a", size=1)], [add("b", size=2)]])
    Table(str(tmp_path)).state.sync()
    damaged = tmp_path / "_headrace" / f"state-v{2:020}" / "_manifest.avro"
    damaged.parent.mkdir()
    damaged.write_bytes(b"Obj")
    assert Table(str(tmp_path)).state.sync().kind is SyncKind.UNCHANGED
    assert Table(str(tmp_path)).state.verify().live_files == 2
    write_more(tmp_path, 2, [add("c", size=3)])
    assert Table(str(tmp_path)).state.sync().kind is SyncKind.INCREMENTAL
    assert state_files(tmp_path) == scanned(tmp_path)


@pytest.mark.parametrize("lost", ["missing", "older"])
def test_a_sync_repairs_the_hint_that_an_interrupted_one_left(tmp_path: Path, lost: str) -> None:
    write_history(tmp_path, [[*opening(), add("a", size=1)]])
    hint = tmp_path / "_headrace" / "_last_checkpoint"
    Table(str(tmp_path)).state.sync()
    before = hint.read_bytes()
    write_more(tmp_path, 1, [add("b", size=2)])
    Table(str(tmp_path)).state.sync()
    hint.unlink() if lost == "missing" else hint.write_bytes(before)
    assert Table(str(tmp_path)).state.sync().kind is SyncKind.UNCHANGED
    assert Table(str(tmp_path)).snapshot().scan().decision.state_version == 1


def test_new_metadata_causes_a_full_sync(tmp_path: Path) -> None:
    write_history(tmp_path, [[*opening(), add("a", size=1)]])
    Table(str(tmp_path)).state.sync()
    write_more(tmp_path, 1, [metadata(properties={"a": "b"})])
    assert Table(str(tmp_path)).state.sync().kind is SyncKind.FULL


def test_a_version_without_its_commit_file_cannot_anchor_a_state(tmp_path: Path) -> None:
    write_history(tmp_path, [[*opening(), add("a", size=1)]])
    version = delta_version(Table(str(tmp_path)).snapshot())
    (tmp_path / "_delta_log" / f"{0:020}.json").unlink()
    store = LocalStore(str(tmp_path))
    with pytest.raises(InvalidTableError, match="is gone"):
        sync(store, store, DELTA_HOME, version, settings=StateSettings())


def test_compacting_the_state_of_a_delta_table_changes_no_file(tmp_path: Path) -> None:
    write_history(tmp_path, [[*opening(), add("a", size=1), add("b", size=2)]])
    Table(str(tmp_path)).state.sync()
    write_more(tmp_path, 1, [remove("a"), add("c", size=3)])
    quiet = StateSettings(tombstone_threshold=100.0)
    keeper = Table(str(tmp_path)).state.with_settings(quiet)
    keeper.sync()
    before = state_files(tmp_path)
    result = keeper.compact()
    assert result is not None
    assert state_files(tmp_path) == before == scanned(tmp_path)
    assert keeper.verify().is_sound
    assert keeper.compact() is None


def test_compaction_keeps_the_bounds_of_mapped_columns(tmp_path: Path) -> None:
    """The columns were renamed so that each now has the other's physical name."""
    opened = metadata(properties={"delta.columnMapping.mode": "name"})
    schema = json.loads(opened["metaData"]["schemaString"])
    physical = {"id": "id", "part": "n", "n": "part"}
    for number, field in enumerate(schema["fields"], start=1):
        field["metadata"] = {
            "delta.columnMapping.id": number,
            "delta.columnMapping.physicalName": physical[field["name"]],
        }
    opened["metaData"]["schemaString"] = json.dumps(schema)
    values = [(f"f{n}", {"part": text, "n": "x"}) for n, text in enumerate(("2", "30", "4", "5"))]
    adds = [add(path, partition_values=parts) for path, parts in values]
    first = [protocol(features=("columnMapping",)), opened, *adds[:2]]
    write_history(tmp_path, [first])
    keeper = Table(str(tmp_path)).state.with_settings(StateSettings(tombstone_threshold=100.0))
    keeper.sync()
    write_more(tmp_path, 1, adds[2:])
    keeper = Table(str(tmp_path)).state.with_settings(StateSettings(tombstone_threshold=100.0))
    keeper.sync()
    assert keeper.compact() is not None
    scan = Table(str(tmp_path)).snapshot().scan("n = 30")
    assert [file.path for file in scan] == ["f1"]
    assert "state 1" in str(scan.decision)


paths = st.sampled_from([f"f{n}" for n in range(6)])


@pytest.mark.property
@settings(max_examples=25, deadline=None)
@given(
    st.lists(
        st.lists(st.tuples(st.booleans(), paths), max_size=4, unique_by=lambda pair: pair[1]),
        min_size=1,
        max_size=8,
    ),
    st.data(),
)
def test_after_any_history_the_state_has_the_files_of_the_log(
    tmp_path_factory: pytest.TempPathFactory,
    commits: list[list[tuple[bool, str]]],
    data: st.DataObject,
) -> None:
    table = tmp_path_factory.mktemp("table")
    write_history(table, [opening()])
    for version, commit in enumerate(commits, start=1):
        lines = [add(p, size=version) if comes else remove(p) for comes, p in commit]
        write_more(table, version, lines)
        if data.draw(st.booleans()):
            Table(str(table)).state.sync()
    Table(str(table)).state.sync()
    assert state_files(table) == scanned(table)


@pytest.mark.parametrize("form", [Form.CLASSIC, Form.MULTI_PART, Form.V2_PARQUET])
def test_typed_statistics_of_a_checkpoint_still_skip_files(tmp_path: Path, form: Form) -> None:
    opened = opening(**{"delta.checkpoint.writeStatsAsJson": "false"})
    values = {"part": "x", "n": "1"}
    adds = [
        add(f"f{n}", partition_values=values, stats=statistics(5, low=n, high=n + 1))
        for n in range(9)
    ]
    history = [[*opened, *adds, add("unknown", partition_values=values)], [remove("f8")]]
    write_history(tmp_path, history)
    shape = Shape(form=form, statistics=Statistics.STRUCT)
    write_checkpoint(tmp_path, 1, state_at(history, 1), shape)
    Table(str(tmp_path)).state.sync()
    scan = Table(str(tmp_path)).snapshot().scan("n = 1 AND id < 3")
    assert scan.decision.state_version == 1
    assert sorted(file.path for file in scan) == ["f0", "f1", "f2", "unknown"]
    assert {file.num_records for file in scan} == {5, None}
