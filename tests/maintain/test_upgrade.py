"""Logs of version files and JSON checkpoints: read, upgraded, written to, their states dropped."""

import gzip
import json
from typing import Any

import msgspec
import pytest

from headrace.avro.state_file import decode_state
from headrace.errors import CorruptLogError, DowngradeRefusedError, LogGapError
from headrace.maintain.base import Layout, read_base
from headrace.maintain.command import run_statement
from headrace.maintain.downgrade import drop_states
from headrace.maintain.home import INDEXTABLES_HOME
from headrace.maintain.setting import StateFormat
from headrace.maintain.statement import Checkpoint, TableName
from headrace.maintain.version_file import mapping_hash
from tests.maintain import oracle
from tests.maintain.memory import MemoryStore
from tests.maintain.table import PLAIN, entry, metadata, writer

MAPPING = '[{"name":"id"}]'


def line_of(path: str, **more: Any) -> dict[str, Any]:
    return {"add": entry(path, modificationTime=1, dataChange=True, **more)}


def encoded(lines: list[dict[str, Any]], form: str = "plain") -> bytes:
    body = "".join(json.dumps(line) + "\n" for line in lines).encode()
    packed = gzip.compress(body)
    return {"plain": body, "gzip": packed, "prefixed": b"\x01\x01" + packed}[form]


def legacy(*, form: str = "plain", protocol: int = 2, checkpoint: str | None = None) -> MemoryStore:
    """Write versions 0 to 4, and optionally a JSON checkpoint at version 2."""
    first: list[dict[str, Any]] = [
        {"protocol": {"minReaderVersion": protocol, "minWriterVersion": protocol}},
        {"metaData": metadata()},
    ]
    versions: list[list[dict[str, Any]]] = [
        first,
        [line_of("a", size=1, numRecords=5, minValues={"id": "1"}, stats="{}")],
        [line_of("b", size=2, part="b"), line_of("c", size=3)],
        [{"remove": {"path": "a", "dataChange": True}}, {"mergeskip": {"path": "b"}}],
        [line_of("d", size=4, docMappingJson=MAPPING)],
    ]
    store = MemoryStore()
    for version, lines in enumerate(versions):
        store.objects[f"_transaction_log/{version:020}.json"] = encoded(lines, form)
    summed = [*first, *versions[1], *versions[2]]
    name = f"_transaction_log/{2:020}.checkpoint"
    if checkpoint == "single":
        store.objects[f"{name}.json"] = encoded(summed, form)
    if checkpoint == "parts":
        parts = [f"{2:020}.checkpoint.abc123.{n:05}.json" for n in (1, 2)]
        for part, lines in zip(parts, (summed[:3], summed[3:]), strict=True):
            store.objects[f"_transaction_log/{part}"] = encoded(lines, form)
        manifest = {"version": 2, "checkpointId": "abc123", "parts": parts, "createdTime": 1}
        store.objects[f"{name}.json"] = json.dumps(manifest).encode()
    if checkpoint:
        for version in (0, 1, 2):
            del store.objects[f"_transaction_log/{version:020}.json"]
    return store


def checkpoint(store: MemoryStore, **settings: Any) -> dict[str, Any]:
    chosen = msgspec.structs.replace(PLAIN, **settings)
    statement = Checkpoint(table=TableName(text="t"))
    result = run_statement(statement, open_store=lambda _: store, settings=chosen)
    (row,) = result.dicts()
    return row


@pytest.mark.parametrize("form", ["plain", "gzip", "prefixed"])
@pytest.mark.parametrize("kind", [None, "single", "parts"])
def test_a_legacy_log_is_upgraded_without_loss(form: str, kind: str | None) -> None:
    store = legacy(form=form, checkpoint=kind)
    row = checkpoint(store)
    previous = {None: "none", "single": "json", "parts": "json-multipart"}[kind]
    assert (row["previousFormat"], row["newFormat"]) == (previous, "avro-state")
    assert (row["version"], row["numFiles"]) == (4, 3)
    read = oracle.read(store.objects)
    assert read.files == {"b": 2, "c": 3, "d": 4}
    entries = {e["path"]: e for e in read.entries}
    assert entries["b"]["partitionValues"] == {"part": "b"}
    assert entries["d"]["docMappingRef"] == mapping_hash(MAPPING)
    assert read.record["schemaRegistry"] == {mapping_hash(MAPPING): MAPPING}
    assert read.record["protocolVersion"] == 4
    assert json.loads(read.record["metadata"])["metaData"]["partitionColumns"] == ["part"]


def test_statistics_survive_the_upgrade() -> None:
    store = legacy()
    del (
        store.objects[f"_transaction_log/{3:020}.json"],
        store.objects[f"_transaction_log/{4:020}.json"],
    )
    checkpoint(store)
    listed = {e["path"]: e for e in oracle.read(store.objects).entries}["a"]
    assert (listed["numRecords"], listed["minValues"], listed["stats"]) == (5, {"id": "1"}, "{}")


OTHERS: dict[str, Any] = {
    "deleteOpstamp": 7,
    "timeRangeStart": "2026",
    "tags": {"a": "b", "c": None},
    "fromTheFuture": ["x"],
    "score": 1.5,
}


def test_fields_of_other_writers_survive_the_upgrade_and_a_compaction() -> None:
    store = legacy()
    line = line_of("e", size=5, nested={"a": [1]}, **OTHERS)
    store.objects[f"_transaction_log/{5:020}.json"] = encoded([line])
    checkpoint(store)
    for _ in range(2):
        listed = {e["path"]: e for e in oracle.read(store.objects).entries}
        assert {name: listed["e"][name] for name in OTHERS} == OTHERS
        assert "nested" not in listed["e"]
        writer(store).commit(removes=["b"], force_compaction=True)


def test_the_protocol_is_raised_from_2_to_4() -> None:
    store = legacy(protocol=2)
    checkpoint(store)
    protocol = json.loads(oracle.read(store.objects).record["protocol"])["protocol"]
    assert (protocol["minReaderVersion"], protocol["minWriterVersion"]) == (4, 4)


def test_reading_a_legacy_log_writes_nothing() -> None:
    store = legacy(checkpoint="single")
    before = dict(store.objects)
    base = read_base(store, INDEXTABLES_HOME)
    assert (base.version, base.state, base.layout, base.format) == (
        4,
        None,
        Layout.VERSIONS,
        "json",
    )
    assert store.objects == before


def test_commits_to_a_legacy_log_are_version_files_and_states_at_the_interval() -> None:
    store = legacy()
    settings = msgspec.structs.replace(PLAIN, checkpoint_interval=6)
    first = writer(store, settings).commit([entry("e", size=5)], ["b"])
    assert (first.version, first.state_dir, first.num_files) == (5, None, 3)
    assert oracle.states(store.objects) == []
    second = writer(store, settings).commit([entry("f", size=6)])
    assert (second.version, oracle.states(store.objects)) == (6, [6])
    third = writer(store, settings).commit([entry("g", size=7)], ["zzz"])
    assert (third.version, third.missed, oracle.states(store.objects)) == (7, ("zzz",), [6, 7])
    expected = {"c": 3, "d": 4, "e": 5, "f": 6, "g": 7}
    assert oracle.read(store.objects).files == expected == oracle.replay_json(store.objects)


def test_commits_of_version_files_leave_no_manifest_behind() -> None:
    store = legacy()
    settings = msgspec.structs.replace(PLAIN, checkpoint_interval=2)
    for number in range(4):
        writer(store, settings).commit([entry(f"x{number}")])
    (newest,) = (p for p in store.objects if p.endswith(f"{8:020}/_manifest.avro"))
    states = [decode_state(store.objects[p], path=p) for p in store.objects if "state-v" in p]
    referenced = {f"_transaction_log/{info.path}" for s in states for info in s.manifests}
    assert newest
    assert {path for path in store.objects if "/manifests/" in path} == referenced


def test_the_result_of_a_commit_counts_its_own_version_even_if_others_follow() -> None:
    store = legacy()
    client = store.sharing()

    def follow(_operation: str, path: str) -> None:
        if path.endswith(f"{5:020}.json"):
            client.after = lambda *_: None
            writer(store).commit([entry("z")])

    client.after = follow
    result = writer(client).commit([entry("x", size=7)], ["b"])
    assert (result.version, result.num_files, result.total_bytes) == (5, 3, 3 + 4 + 7)


def test_json_checkpoints_are_written_at_the_interval_if_the_format_is_json() -> None:
    store = legacy()
    settings = msgspec.structs.replace(PLAIN, checkpoint_interval=5, format=StateFormat.JSON)
    writer(store, settings).commit([entry("e", size=5)])
    assert f"_transaction_log/{5:020}.checkpoint.json" in store.objects
    assert oracle.states(store.objects) == []
    for version in range(6):
        del store.objects[f"_transaction_log/{version:020}.json"]
    assert oracle.replay_json(store.objects) == {"b": 2, "c": 3, "d": 4, "e": 5}


def test_states_are_dropped_only_if_all_version_files_exist() -> None:
    store = legacy()
    checkpoint(store)
    assert drop_states(store, INDEXTABLES_HOME, dry_run=True) == (4,)
    assert drop_states(store, INDEXTABLES_HOME, dry_run=False) == (4,)
    assert oracle.states(store.objects) == []
    checkpoint(store)
    del store.objects[f"_transaction_log/{2:020}.json"]
    with pytest.raises(DowngradeRefusedError, match="version files 2 are missing"):
        drop_states(store, INDEXTABLES_HOME, dry_run=False)


def test_a_gap_between_version_files_is_an_error() -> None:
    store = legacy()
    del store.objects[f"_transaction_log/{2:020}.json"]
    with pytest.raises(LogGapError):
        read_base(store, INDEXTABLES_HOME)


def test_a_missing_part_of_a_checkpoint_is_an_error_that_names_it() -> None:
    store = legacy(checkpoint="parts")
    del store.objects[f"_transaction_log/{2:020}.checkpoint.abc123.00002.json"]
    with pytest.raises(CorruptLogError, match=r"abc123\.00002"):
        read_base(store, INDEXTABLES_HOME)


@pytest.mark.parametrize("name", ["../x.json", "a/b.json", "", 7])
def test_a_checkpoint_part_outside_the_log_is_refused(name: object) -> None:
    store = legacy(checkpoint="single")
    manifest = {"version": 2, "checkpointId": "x", "parts": [name]}
    path = f"_transaction_log/{2:020}.checkpoint.json"
    store.objects[path] = json.dumps(manifest).encode()
    with pytest.raises(CorruptLogError):
        read_base(store, INDEXTABLES_HOME)
