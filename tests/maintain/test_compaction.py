"""Compaction: when it runs, on which manifests, in which order; it changes no live file."""

import io
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import fastavro
import msgspec
import pytest

from headrace.avro.state_file import decode_state, encode_state
from headrace.errors import CorruptStateError
from headrace.maintain.commit_result import CommitResult
from headrace.maintain.compaction import Trigger
from headrace.maintain.distribution import RewriteTask, TaskOutcome, run_task
from headrace.maintain.setting import StateSettings
from headrace.protocol.state import ManifestInfo
from headrace.protocol.state_schema import ENTRY_FIELDS, entry_schema
from tests.maintain import oracle
from tests.maintain.memory import MemoryStore
from tests.maintain.table import PLAIN, entry, metadata, table, writer


def with_settings(**changed: object) -> StateSettings:
    return msgspec.structs.replace(PLAIN, **changed)


def trigger_of(result: CommitResult) -> Trigger | None:
    return None if result.compaction is None else result.compaction.trigger


def test_more_tombstones_than_the_threshold_start_a_compaction() -> None:
    store = table(*(f"f{n:02}" for n in range(20)))
    eager = with_settings(tombstone_threshold=0.10)
    assert trigger_of(writer(store, eager).commit(removes=["f00"])) is None
    result = writer(store, eager).commit(removes=["f01", "f02"])
    assert trigger_of(result) is Trigger.TOMBSTONES
    read = oracle.read(store.objects)
    assert (read.record["tombstones"], len(read.entries), len(read.files)) == ([], 17, 17)


def test_more_small_manifests_than_allowed_are_merged() -> None:
    store = table("f")
    eager = with_settings(max_manifests=5)
    triggers = [
        trigger_of(writer(store, eager).commit([entry(f"g{number}")])) for number in range(5)
    ]
    assert triggers == [None] * 4 + [Trigger.SMALL_MANIFESTS]
    read = oracle.read(store.objects)
    assert (len(read.record["manifests"]), len(read.files)) == (1, 6)


def test_a_large_manifest_is_not_rewritten_to_merge_small_ones() -> None:
    settings = with_settings(max_manifests=4, entries_per_manifest=10_000)
    store = MemoryStore()
    writer(store, settings).commit(
        (entry(f"big{number:05}") for number in range(4_000)), metadata=metadata()
    )
    large = oracle.read(store.objects).record["manifests"][0]["path"]
    for number in range(20):
        writer(store, settings).commit([entry(f"small{number}")])
    infos = oracle.read(store.objects).record["manifests"]
    assert large in [info["path"] for info in infos]
    assert len(infos) <= 5


def test_a_large_remove_starts_a_compaction() -> None:
    store = table("a", "b", "c", "d")
    result = writer(store, with_settings(large_remove_threshold=1)).commit(removes=["a", "b"])
    assert trigger_of(result) is Trigger.LARGE_REMOVE


@pytest.mark.parametrize(("is_on", "trigger"), [(True, Trigger.MERGE), (False, None)])
def test_a_merge_starts_a_compaction_if_the_setting_is_on(
    *, is_on: bool, trigger: Trigger | None
) -> None:
    store = table("a", "b", "c")
    settings = with_settings(compact_after_merge=is_on)
    result = writer(store, settings).commit([entry("ab")], ["a", "b"], is_merge=True)
    assert trigger_of(result) is trigger
    assert set(oracle.read(store.objects).files) == {"ab", "c"}


def test_a_state_without_live_files_is_emptied() -> None:
    store = table("a")
    assert trigger_of(writer(store).commit(removes=["a"])) is Trigger.EMPTY
    assert oracle.read(store.objects).record["manifests"] == []


def test_a_clean_state_is_not_rewritten() -> None:
    store = table("a", "b")
    assert writer(store).compact() is None
    assert oracle.states(store.objects) == [1]


def test_the_output_is_in_typed_partition_order_with_bounds_and_a_limit() -> None:
    columns = {"id": "long", "part": "integer"}
    store = MemoryStore()
    settings = with_settings(entries_per_manifest=200, entries_per_block=100)
    writer(store, settings).commit([], metadata=metadata(columns=columns))
    for number in range(10):
        writer(store, settings).commit(
            [entry(f"{number}/{n}", part=str(n % 12)) for n in range(120)]
        )
    writer(store, settings).compact()
    read = oracle.read(store.objects)
    order = [int(listed["partitionValues"]["part"]) for listed in read.entries]
    assert order == sorted(order)
    infos = read.record["manifests"]
    assert [info["numEntries"] for info in infos] == [200] * 6
    bounds = [info["partitionBounds"]["part"] for info in infos]
    assert [(b["min"], b["max"]) for b in bounds] == [
        (str(low), str(low + 1)) for low in range(0, 12, 2)
    ]
    assert writer(store, settings).compact() is None


def test_untouched_blocks_are_copied_and_only_blocks_with_tombstones_are_decoded() -> None:
    store = MemoryStore()
    settings = with_settings(entries_per_block=100, entries_per_manifest=5_000)
    writer(store, settings).commit((entry(f"a/{n:05}") for n in range(1_000)), metadata=metadata())
    writer(store, settings).commit(entry(f"b/{n:05}") for n in range(1_000))
    writer(store, settings).commit(removes=["a/00005", "a/00555"])
    result = writer(store, settings).compact()
    assert result is not None
    assert result.compaction is not None
    count = result.compaction.count
    assert (count.entries_in, count.entries_dropped, count.entries_out) == (2_000, 2, 1_998)
    assert (count.blocks_copied, count.entries_decoded) == (18, 200)
    assert len(oracle.read(store.objects).files) == 1_998


def test_copied_blocks_keep_the_versions_that_added_their_files() -> None:
    store = MemoryStore()
    writer(store).commit((entry(f"a{n:03}") for n in range(70)), metadata=metadata())
    writer(store).commit(entry(f"b{n:03}") for n in range(70))
    writer(store).compact()
    (info,) = oracle.read(store.objects).record["manifests"]
    assert (info["minAddedAtVersion"], info["maxAddedAtVersion"]) == (1, 2)
    writer(store).commit(removes=["a001", "b001"])
    writer(store).compact()
    versions = {
        listed["path"]: listed["addedAtVersion"] for listed in oracle.read(store.objects).entries
    }
    assert (versions["a002"], versions["b002"]) == (1, 2)


def test_the_registry_is_rebuilt_from_the_live_files() -> None:
    store = table("a")
    writer(store).commit([entry("b", docMappingRef="h1")], schema_registry={"h1": "1"})
    writer(store).commit([entry("c", docMappingRef="h2")], schema_registry={"h2": "2"})
    writer(store).commit(removes=["b"])
    writer(store).compact()
    assert oracle.read(store.objects).record["schemaRegistry"] == {"h2": "2"}


def test_a_damaged_manifest_is_not_copied() -> None:
    store = table(*(f"f{n:03}" for n in range(100)))
    writer(store).commit([entry("g")])
    path = max(
        (p for p in store.objects if "/manifests/" in p), key=lambda p: len(store.objects[p])
    )
    content = bytearray(store.objects[path])
    content[-40] ^= 1
    store.objects[path] = bytes(content)
    with pytest.raises(CorruptStateError):
        writer(store).compact()
    assert oracle.states(store.objects) == [1, 2]


def test_a_state_with_wrong_counts_is_not_compacted() -> None:
    store = table("a", "b")
    writer(store).commit([entry("c")], ["a"])
    path = f"_transaction_log/state-v{2:020}/_manifest.avro"
    state = decode_state(store.objects[path], path=path)
    lying = msgspec.structs.replace(state.manifests[0], live_entry_count=2)
    state = msgspec.structs.replace(state, manifests=(lying, *state.manifests[1:]))
    store.objects[path] = encode_state(state)
    with pytest.raises(CorruptStateError, match="counts"):
        writer(store).compact()


def test_unknown_fields_survive_a_compaction() -> None:
    store = table("a")
    path = next(p for p in store.objects if "/manifests/" in p)
    reader = fastavro.reader(io.BytesIO(store.objects[path]))
    schema = reader.writer_schema
    assert isinstance(schema, dict)
    records = [dict(r, fromTheFuture="kept") for r in reader]  # type: ignore[arg-type]
    field = {"name": "fromTheFuture", "type": ["null", "string"], "default": None, "field-id": 159}
    newer = {**schema, "fields": [*schema["fields"], field]}
    out = io.BytesIO()
    fastavro.writer(out, newer, records)
    foreign = f"_transaction_log/state-v{1:020}/_manifest.avro"
    state = decode_state(store.objects[foreign], path=foreign)
    info = ManifestInfo(
        path=state.manifests[0].path, num_entries=1, min_added_at_version=0, max_added_at_version=0
    )
    store.objects[foreign] = encode_state(msgspec.structs.replace(state, manifests=(info,)))
    store.objects[path] = out.getvalue()
    writer(store).compact()
    (listed,) = oracle.read(store.objects).entries
    assert listed["fromTheFuture"] == "kept"


def replaced_manifest(store: MemoryStore, schema: dict[str, Any], records: list[Any]) -> None:
    """Replace the manifest of a table by one of another writer, without a block index."""
    path = next(p for p in store.objects if "/manifests/" in p)
    out = io.BytesIO()
    fastavro.writer(out, schema, records)
    store.objects[path] = out.getvalue()
    place = f"_transaction_log/state-v{1:020}/_manifest.avro"
    state = decode_state(store.objects[place], path=place)
    info = ManifestInfo(
        path=state.manifests[0].path,
        num_entries=len(records),
        min_added_at_version=0,
        max_added_at_version=0,
    )
    store.objects[place] = encode_state(msgspec.structs.replace(state, manifests=(info,)))


def test_renamed_widened_and_absent_fields_are_rewritten_as_ours() -> None:
    store = table("a", "b")
    renamed = {"path": "file", "size": "sizeInBytes", "addedAtVersion": "version"}
    fields: list[dict[str, Any]] = [
        {**field, "name": renamed.get(field["name"], field["name"])}
        for field in ENTRY_FIELDS
        if field["name"] not in {"dataChange", "addedAtTimestamp", "splitTags"}
    ]
    for field in fields:
        if field["name"] == "numMergeOps":
            field["type"] = ["null", "long"]
        if field["name"] == "hasFooterOffsets":
            field |= {"type": ["null", "boolean"], "default": None}
    fields.append({"name": "size", "type": ["null", "string"], "default": None, "field-id": 159})
    record = {"partitionValues": {"part": "a"}, "sizeInBytes": 10, "modificationTime": 1}
    records = [
        {**record, "file": name, "version": 1, "numMergeOps": 1 << 40, "size": "large"}
        for name in ("a", "b")
    ]
    replaced_manifest(store, entry_schema(*fields), records)
    writer(store).commit([entry("c")], ["b"], force_compaction=True)
    read = oracle.read(store.objects)
    assert read.files == {"a": 10, "c": 10}
    kept = next(listed for listed in read.entries if listed["path"] == "a")
    assert (kept["addedAtVersion"], kept["numMergeOps"], kept["dataChange"]) == (1, 1 << 40, True)


@pytest.mark.parametrize(("field", "kind"), [("path", None), ("splitTags", "string")])
def test_a_manifest_without_paths_or_with_another_type_is_damage(
    field: str, kind: str | None
) -> None:
    store = table("a")
    fields = [f for f in ENTRY_FIELDS if f["name"] != field]
    number = next(f["field-id"] for f in ENTRY_FIELDS if f["name"] == field)
    if kind is not None:
        fields.append({"name": field, "type": kind, "field-id": number})
    record = {**oracle.read(store.objects).entries[0], "splitTags": "x" if kind else None}
    schema = entry_schema(*fields)
    replaced_manifest(store, schema, [record])
    for use in (writer(store).compact, lambda: writer(store).commit(removes=["a"])):
        with pytest.raises(CorruptStateError, match=field):
            use()


def test_a_divided_compaction_gives_the_same_files_in_partition_order() -> None:
    settings = with_settings(entries_per_manifest=100, entries_per_block=20, distribute_entries=0)
    store = MemoryStore()
    adds = [entry(f"a{n}", size=n, part=str(n % 9)) for n in range(700)]
    writer(store, settings).commit(adds, metadata=metadata())
    more = [entry(f"b{n}", size=n, part=str(n % 9)) for n in range(300)]
    writer(store, settings).commit(more, ["a5", "a77"])
    before = oracle.read(store.objects).files

    def run_tasks(tasks: Sequence[RewriteTask]) -> list[TaskOutcome]:
        return [run_task(task) for task in tasks]

    result = writer(store, settings, run_tasks=run_tasks).compact()
    assert result is not None
    assert result.compaction is not None
    assert result.compaction.tasks == 3
    assert (result.compaction.count.entries_in, result.compaction.count.entries_out) == (1000, 998)
    read = oracle.read(store.objects)
    assert read.files == before
    manifests = read.record["manifests"]
    assert (read.record["tombstones"], max(info["numEntries"] for info in manifests) <= 100) == (
        [],
        True,
    )
    bounds = [info["partitionBounds"]["part"] for info in manifests]
    assert all(one["max"] <= two["min"] for one, two in pairwise(bounds))
    assert writer(store, settings, run_tasks=run_tasks).compact() is None
