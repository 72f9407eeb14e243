"""Incremental commits: what they write, what they reuse, and what they count."""

import msgspec
import pytest

from headrace.avro.state_file import decode_state, encode_state
from headrace.errors import (
    CommitConflictError,
    CorruptStateError,
    InvalidArgumentError,
    InvalidTableError,
    NotIndexTablesError,
    StateConflictError,
)
from tests.maintain import oracle
from tests.maintain.memory import MemoryStore
from tests.maintain.table import PLAIN, entry, metadata, table, writer


def manifests(store: MemoryStore, version: int) -> list[str]:
    return [info["path"] for info in oracle.record_of(store.objects, version)["manifests"]]


def test_the_first_commit_makes_version_one() -> None:
    store = MemoryStore()
    result = writer(store).commit([entry("x", size=7)], metadata=metadata())
    assert (result.version, result.attempts, result.retried) == (1, 1, False)
    assert result.state_dir == "state-v00000000000000000001"
    assert oracle.read(store.objects).files == {"x": 7}


def test_a_log_that_does_not_exist_needs_metadata() -> None:
    with pytest.raises(NotIndexTablesError):
        writer(MemoryStore()).commit([entry("x")])


def test_adding_files_writes_one_manifest_and_reuses_the_others() -> None:
    store = table("a", "b")
    before = dict(store.objects)
    result = writer(store).commit([entry("c"), entry("d")])
    assert result.version == 2
    assert manifests(store, 2)[:1] == manifests(store, 1)
    assert len(manifests(store, 2)) == 2
    assert all(store.objects[p] == c for p, c in before.items() if not p.endswith("_checkpoint"))
    assert oracle.read(store.objects).files == dict.fromkeys("abcd", 10)


def test_removing_files_writes_tombstones_and_no_manifest() -> None:
    store = table("a", "b", "c")
    result = writer(store).commit(removes=["a", "c"])
    assert manifests(store, 2) == manifests(store, 1)
    assert oracle.read(store.objects).record["tombstones"] == ["a", "c"]
    assert (result.removed, result.missed) == (2, ())
    (info,) = oracle.read(store.objects).record["manifests"]
    assert (info["liveEntryCount"], info["liveBytes"], info["tombstoneCount"]) == (1, 10, 2)


def test_adds_and_removes_of_one_commit_are_one_version() -> None:
    store = table("a", "b")
    writer(store).commit([entry("c")], ["a"])
    assert set(oracle.read(store.objects).files) == {"b", "c"}


def test_a_remove_of_a_file_that_is_not_live_is_reported_and_not_counted() -> None:
    store = table("a", "b")
    result = writer(store).commit(removes=["a", "zzz"])
    assert (result.removed, result.missed, result.num_files) == (1, ("zzz",), 1)
    again = writer(store).commit(removes=["a"])
    assert (again.removed, again.missed) == (0, ("a",))
    assert oracle.read(store.objects).files == {"b": 10}


def test_a_removed_path_that_is_added_again_is_live_for_old_readers_too() -> None:
    store = table("a", "b", "c")
    writer(store).commit(removes=["a"])
    writer(store).commit([entry("a", size=99)])
    read = oracle.read(store.objects)
    assert read.files == {"a": 99, "b": 10, "c": 10}
    assert read.record["tombstones"] == []


def test_a_live_path_that_is_added_again_replaces_its_entry() -> None:
    store = table("a", "b")
    result = writer(store).commit([entry("a", size=77)])
    assert oracle.read(store.objects).files == {"a": 77, "b": 10}
    assert (result.num_files, result.total_bytes) == (2, 87)


def test_a_path_is_removed_and_added_in_one_commit() -> None:
    store = table("a", "b")
    writer(store).commit([entry("a", size=5)], ["a"])
    assert oracle.read(store.objects).files == {"a": 5, "b": 10}


def test_a_duplicate_path_is_refused_and_nothing_is_left_over() -> None:
    store = table("a")
    before = dict(store.objects)
    with pytest.raises(InvalidArgumentError, match="twice"):
        writer(store).commit([entry("x"), entry("x")])
    assert store.objects == before


@pytest.mark.parametrize(
    "wrong",
    [{"path": "x"}, {"size": 1}, {"path": "x", "size": "1"}, {"path": "x", "size": 1, "y": 1}],
)
def test_an_invalid_entry_is_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(InvalidArgumentError):
        writer(table("a")).commit([wrong])


def test_a_chain_of_commits_counts_up_without_a_gap() -> None:
    store = table("f0")
    for number in range(1, 13):
        assert writer(store).commit([entry(f"f{number}")]).version == number + 1
    assert oracle.states(store.objects) == list(range(1, 14))
    assert len(oracle.read(store.objects).files) == 13


def test_entries_inherit_the_committed_version_and_not_the_attempted_one() -> None:
    store = table("a")
    other = writer(store.sharing())
    mine = store.sharing()

    def interfere(operation: str, path: str) -> None:
        if operation == "put" and path.endswith("state-v00000000000000000002/_manifest.avro"):
            mine.before = lambda *_: None
            other.commit([entry("b")])

    mine.before = interfere
    result = writer(mine).commit([entry("c")])
    assert (result.version, result.attempts, result.retried) == (3, 2, True)
    info = oracle.record_of(store.objects, 3)["manifests"][-1]
    assert (info["minAddedAtVersion"], info["maxAddedAtVersion"]) == (3, 3)


def test_a_file_that_another_writer_removed_first_is_a_conflict_and_nothing_is_committed() -> None:
    store = table("a", "b")
    mine, other = store.sharing(), writer(store.sharing())

    def interfere(operation: str, path: str) -> None:
        if operation == "put" and path.endswith("state-v00000000000000000002/_manifest.avro"):
            mine.before = lambda *_: None
            other.commit(removes=["a"])

    mine.before = interfere
    with pytest.raises(StateConflictError) as caught:
        writer(mine).commit([entry("c")], ["a"])
    assert caught.value.paths == ("a",)
    assert oracle.read(store.objects).files == {"b": 10}
    named = {f"_transaction_log/{path}" for path in manifests(store, 2)}
    assert {path for path in store.objects if "/manifests/" in path} == named


def test_a_writer_that_always_loses_gives_up_after_max_attempts() -> None:
    store = table("a")
    mine, other = store.sharing(), writer(store.sharing())
    count = 0

    def interfere(operation: str, path: str) -> None:
        nonlocal count
        if operation == "put" and path.endswith("_manifest.avro"):
            count += 1
            other.commit([entry(f"other{count}")])

    mine.before = interfere
    settings = msgspec.structs.replace(PLAIN, max_attempts=3)
    with pytest.raises(CommitConflictError) as caught:
        writer(mine, settings).commit([entry("mine")])
    assert caught.value.attempts == 3
    assert "mine" not in oracle.read(store.objects).files


def test_the_registry_is_merged_on_commit() -> None:
    store = table("a")
    writer(store).commit([entry("b", docMappingRef="h1")], schema_registry={"h1": "[1]"})
    writer(store).commit([entry("c", docMappingRef="h2")], schema_registry={"h2": "[2]"})
    assert oracle.read(store.objects).record["schemaRegistry"] == {"h1": "[1]", "h2": "[2]"}


def test_the_hint_has_the_eight_fields() -> None:
    store = table("a")
    hint = msgspec.json.decode(store.objects["_transaction_log/_last_checkpoint"])
    assert hint | {"createdTime": 0} == {
        "version": 1,
        "size": 1,
        "sizeInBytes": 10,
        "numFiles": 1,
        "createdTime": 0,
        "format": "avro-state",
        "stateDir": "state-v00000000000000000001",
        "protocolVersion": 4,
    }


def test_a_commit_follows_the_newest_state_despite_a_stale_hint_and_a_missing_state() -> None:
    store = table("a")
    hint = store.objects["_transaction_log/_last_checkpoint"]
    for name in "bcd":
        writer(store).commit([entry(name)])
    store.objects["_transaction_log/_last_checkpoint"] = hint
    del store.objects["_transaction_log/state-v00000000000000000002/_manifest.avro"]
    assert writer(store).commit([entry("e")]).version == 5
    assert set(oracle.read(store.objects).files) == set("abcde")


@pytest.mark.parametrize("hint", [None, b"nonsense", b'{"version": 0}', b'{"version": 77}'])
def test_a_wrong_hint_changes_no_commit(hint: bytes | None) -> None:
    store = table("a")
    writer(store).commit([entry("b")])
    if hint is None:
        del store.objects["_transaction_log/_last_checkpoint"]
    else:
        store.objects["_transaction_log/_last_checkpoint"] = hint
    assert writer(store).commit([entry("c")]).version == 3


def test_a_state_that_claims_another_version_is_damage() -> None:
    store = table("a")
    place = "_transaction_log/state-v{:020}/_manifest.avro"
    store.objects[place.format(7)] = store.objects[place.format(1)]
    with pytest.raises(CorruptStateError, match="claims to be of version 1"):
        writer(store).commit([entry("x")])


def test_nothing_follows_the_last_version_that_a_log_can_have() -> None:
    store = table("a")
    place, last = "_transaction_log/state-v{:020}/_manifest.avro", (1 << 63) - 1
    state = decode_state(store.objects[place.format(1)], path="state")
    moved = msgspec.structs.replace(state, state_version=last)
    store.objects[place.format(last)] = encode_state(moved)
    before = set(store.objects)
    with pytest.raises(InvalidTableError, match="cannot have another"):
        writer(store).commit([entry("x")])
    assert set(store.objects) == before


def test_many_adds_are_split_into_manifests() -> None:
    settings = msgspec.structs.replace(PLAIN, entries_per_manifest=100)
    store = MemoryStore()
    writer(store, settings).commit(
        (entry(f"f{n:04}", part=str(n % 3)) for n in range(250)), metadata=metadata()
    )
    infos = oracle.read(store.objects).record["manifests"]
    assert [info["numEntries"] for info in infos] == [100, 100, 50]
    assert [info["partitionBounds"]["part"]["min"] for info in infos] == ["0", "1", "2"]


def test_a_missing_manifest_is_an_error_that_names_it() -> None:
    store = table("a")
    (path,) = (path for path in store.objects if "/manifests/" in path)
    del store.objects[path]
    with pytest.raises(CorruptStateError) as caught:
        writer(store).commit(removes=["a"])
    assert caught.value.path == path


def test_bytes_written_do_not_depend_on_the_size_of_the_table() -> None:
    written = []
    for count in (1_000, 20_000):
        store = MemoryStore()
        writer(store).commit(
            (entry(f"part=a/{n:08}", part="a") for n in range(count)), metadata=metadata()
        )
        store.bytes_written = 0
        writer(store).commit([entry(f"part=b/{n:08}", part="b") for n in range(100)])
        written.append(store.bytes_written)
    assert abs(written[1] - written[0]) < 200


def test_one_commit_removes_a_file_and_adds_its_neighbour_again() -> None:
    store = table("a", "b", "c")
    result = writer(store).commit([entry("b", size=5)], ["a"])
    assert oracle.read(store.objects).files == {"b": 5, "c": 10}
    assert (result.num_files, result.total_bytes) == (2, 15)
