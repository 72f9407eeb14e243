"""The contract of every store, on local disk, S3 and Azure."""

import json
import pickle
import subprocess
import sys

import pytest

from headrace.errors import ObjectExistsError, ObjectNotFoundError, ObjectTooShortError
from headrace.storage.byte_range import ByteRange
from headrace.storage.store import PutMode, WritableStore
from tests.emulator.place import Place

DATA = bytes(range(256)) * 5000


@pytest.fixture
def store(place: Place, request: pytest.FixtureRequest) -> WritableStore:
    return place.store(f"port/{request.node.name.replace('[', '-').replace(']', '')}")


def fill(store: WritableStore, *paths: str) -> None:
    for path in paths:
        store.put(path, path.encode(), mode=PutMode.OVERWRITE)


def names(store: WritableStore, directory: str, start_from: str = "") -> list[str]:
    return [meta.path for meta in store.list(directory, start_from=start_from)]


def test_a_listing_is_sorted_starts_after_a_name_and_has_no_folders(store: WritableStore) -> None:
    fill(store, "log/b", "log/a", "log/c", "log/deep/x", "log2/y", "other")
    assert names(store, "log") == ["log/a", "log/b", "log/c"]
    assert names(store, "log", "b") == ["log/b", "log/c"]
    assert names(store, "log", "bb") == ["log/c"]
    assert names(store, "log", "d") == []
    assert names(store, "nowhere") == []
    assert [meta.path for meta in store.list_tree("log")][-1] == "log/deep/x"


def test_an_object_is_read_whole_by_tail_by_ranges_in_chunks_and_by_seeking(
    store: WritableStore,
) -> None:
    store.put("a b/ü+%20.bin", DATA, mode=PutMode.OVERWRITE)
    path, size = "a b/ü+%20.bin", len(DATA)
    assert store.read(path) == DATA
    assert store.head(path).size_bytes == size
    assert store.read_tail(path, size_bytes_wanted=9)[:2] == (DATA[-9:], size)
    assert store.read_tail(path, size_bytes_wanted=9, object_size=size)[:2] == (DATA[-9:], size)
    assert store.read_tail(path, size_bytes_wanted=2 * size)[:2] == (DATA, size)
    parts = [ByteRange(size - 3, 3), ByteRange(0, 2), ByteRange(5, 0), ByteRange(700_000, 11)]
    assert [bytes(part) for part in store.read_ranges(path, parts)] == [
        DATA[part.start : part.stop] for part in parts
    ]
    assert b"".join(store.read_chunks(path, chunk_bytes=100_000)) == DATA
    for known in (None, size):
        with store.open(path, size_bytes=known) as file:
            file.seek(-4, 2)
            assert file.read() == DATA[-4:]
            file.seek(1000)
            assert file.read(10) == DATA[1000:1010]


def test_an_empty_object_has_no_tail(store: WritableStore) -> None:
    store.put("empty", b"", mode=PutMode.CREATE)
    assert store.read("empty") == b""
    assert store.read_tail("empty", size_bytes_wanted=8)[:2] == (b"", 0)
    assert list(store.read_chunks("empty", chunk_bytes=8)) == []


def test_a_missing_or_too_short_object_is_a_typed_error(store: WritableStore) -> None:
    fill(store, "short")
    for read in (store.read, store.head, lambda p: list(store.read_chunks(p, chunk_bytes=1))):
        with pytest.raises(ObjectNotFoundError):
            read("missing")
    with pytest.raises(ObjectNotFoundError):
        store.read_ranges("missing", [ByteRange(0, 1)])
    for beyond in (ByteRange(3, 10), ByteRange(100, 10)):
        with pytest.raises(ObjectTooShortError):
            store.read_ranges("short", [beyond])


def test_one_create_succeeds_and_an_overwrite_replaces(store: WritableStore) -> None:
    store.put("log/1", b"first", mode=PutMode.CREATE)
    with pytest.raises(ObjectExistsError):
        store.put("log/1", b"second", mode=PutMode.CREATE)
    assert store.read("log/1") == b"first"
    store.put("log/1", b"third", mode=PutMode.OVERWRITE)
    assert store.read("log/1") == b"third"


def test_many_objects_are_deleted_and_a_missing_one_is_no_error(store: WritableStore) -> None:
    fill(store, "x/1", "x/2", "x/3")
    store.delete(["x/1", "x/never", "x/3"])
    assert names(store, "x") == ["x/2"]
    store.persist(["x/2"])
    with pytest.raises(ObjectNotFoundError):
        store.persist(["x/2", "x/1"])


def test_a_pickled_store_has_its_own_client(place: Place) -> None:
    fill(place.store("pickled"), "a")
    copy = pickle.loads(pickle.dumps(place.store("pickled")))
    assert copy.read("a") == b"a"


def test_the_etag_of_an_object_changes_with_it(remote: Place) -> None:
    store = remote.store("marks")
    store.put("a", b"one", mode=PutMode.OVERWRITE)
    first = next(store.list("")).etag
    assert first == store.head("a").etag
    store.put("a", b"two", mode=PutMode.OVERWRITE)
    assert first is not None
    assert next(store.list("")).etag != first


LEAVE_AT_ONCE = """
import json, sys
from headrace import wiring
options = json.loads(sys.argv[2])
print(wiring.open_store(sys.argv[1], options=options).read("a"))
"""


def test_a_process_may_exit_right_after_a_request(s3: Place) -> None:
    fill(s3.store("exit"), "a")
    command = [sys.executable, "-c", LEAVE_AT_ONCE, s3.uri("exit"), json.dumps(s3.options)]
    processes = [subprocess.Popen(command, stdout=subprocess.PIPE) for _ in range(6)]
    ends = [(process.communicate(timeout=60)[0], process.returncode) for process in processes]
    assert ends == [(b"b'a'\n", 0)] * 6
