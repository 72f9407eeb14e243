import errno
import os
import resource
from collections.abc import Callable
from pathlib import Path

import pytest

from headrace.errors import (
    ObjectNotFoundError,
    StoreFailedError,
    StoreFullError,
    UnsafePathError,
)
from headrace.storage.byte_range import ByteRange
from headrace.storage.local import LocalStore
from headrace.storage.local_file import LocalFile, find_local_file
from headrace.storage.location import local_root, resolve, scheme_of
from headrace.storage.store import PutMode


@pytest.fixture
def store(tmp_path: Path) -> LocalStore:
    folder = tmp_path / "log"
    folder.mkdir()
    for name in ("b", "a", "c"):
        (folder / name).write_bytes(name.encode() * 10)
    (folder / "nested").mkdir()
    return LocalStore(str(tmp_path))


def test_a_listing_is_sorted_and_holds_no_folders(store: LocalStore) -> None:
    assert [o.path for o in store.list("log")] == ["log/a", "log/b", "log/c"]


def test_a_listing_starts_at_the_given_name(store: LocalStore) -> None:
    assert [o.path for o in store.list("log", start_from="b")] == ["log/b", "log/c"]


def test_a_listing_has_sizes_and_times(store: LocalStore, tmp_path: Path) -> None:
    os.utime(tmp_path / "log" / "a", ns=(5_999_999, 5_999_999))
    first = next(store.list("log"))
    assert (first.size_bytes, first.modified_ms) == (10, 5)


def test_a_missing_folder_is_empty(store: LocalStore) -> None:
    assert list(store.list("nowhere")) == []


def test_a_dangling_link_is_ignored(store: LocalStore, tmp_path: Path) -> None:
    (tmp_path / "log" / "z").symlink_to(tmp_path / "gone")
    assert "log/z" not in [o.path for o in store.list("log")]


def test_a_file_deleted_during_the_listing_of_a_tree_is_ignored(
    store: LocalStore, tmp_path: Path
) -> None:
    listing = store.list_tree("log")
    first = next(listing)
    (tmp_path / "log" / "b").unlink()
    assert [first.path, *(o.path for o in listing if "/nested" not in o.path)] == ["log/a", "log/c"]


def test_a_folder_that_cannot_be_listed_fails_the_listing_of_its_tree(
    store: LocalStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise OSError(errno.EIO, os.strerror(errno.EIO), "nested")

    monkeypatch.setattr(os, "scandir", fail)
    with pytest.raises(StoreFailedError):
        list(store.list_tree("log"))


def test_a_file_is_read_whole_or_in_pieces(store: LocalStore) -> None:
    assert store.read("log/a") == b"a" * 10
    assert list(store.read_chunks("log/a", chunk_bytes=4)) == [b"aaaa", b"aaaa", b"aa"]
    with store.open("log/a") as file:
        file.seek(8)
        assert file.read() == b"aa"


def test_a_missing_file_is_a_typed_error(store: LocalStore) -> None:
    for read in (store.read, store.open, lambda p: list(store.read_chunks(p, chunk_bytes=1))):
        with pytest.raises(ObjectNotFoundError):
            read("log/none")


def test_a_permanent_failure_is_reported_as_permanent(store: LocalStore, tmp_path: Path) -> None:
    with pytest.raises(StoreFailedError) as raised:
        store.read("log/nested")
    assert not raised.value.transient
    (tmp_path / "log" / "loop").symlink_to("loop")
    with pytest.raises(StoreFailedError) as raised:
        list(store.list("log"))
    assert not raised.value.transient


@pytest.mark.parametrize("number", [errno.EIO, errno.ETIMEDOUT, errno.ECONNRESET, errno.EAGAIN])
def test_a_transient_failure_is_reported_as_transient(
    number: int, store: LocalStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(os, "open", fail)
    for read in (store.read, store.open, lambda p: list(store.read_chunks(p, chunk_bytes=1))):
        with pytest.raises(StoreFailedError) as raised:
            read("log/a")
        assert raised.value.transient


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("a/b.parquet", "/t/a/b.parquet"),
        ("a%20b.parquet", "/t/a b.parquet"),
        ("a%2520b.parquet", "/t/a%20b.parquet"),
        ("ts=2024-01-01 10:00:00/x", "/t/ts=2024-01-01 10:00:00/x"),
        ("file:/elsewhere/x", "/elsewhere/x"),
        ("file:///elsewhere/x%23y", "/elsewhere/x#y"),
        ("/elsewhere/x", "/elsewhere/x"),
        ("s3://bucket/x", "s3://bucket/x"),
        ("a..b/x", "/t/a..b/x"),
    ],
)
def test_a_path_of_the_log_is_decoded_exactly_once(path: str, expected: str) -> None:
    assert resolve("/t", path) == expected


@pytest.mark.parametrize("path", ["../x", "a/../../x", "a/%2E%2E/x", "a%00b", "a\nb", "a%FFb"])
def test_a_path_that_leads_out_of_the_table_is_refused(path: str) -> None:
    with pytest.raises(UnsafePathError):
        resolve("/t", path)


def test_an_address_is_a_path_or_a_uri(tmp_path: Path) -> None:
    assert scheme_of("s3://bucket/x") == "s3"
    assert scheme_of("/data/x") == "file"
    assert local_root("file:///data/a%20b/") == "/data/a b"
    assert local_root("file:/data/a#b") == "/data/a#b"
    assert local_root("FILE://localhost/data") == "/data"
    assert local_root(str(tmp_path)) == str(tmp_path)


def test_a_full_disk_is_reported(store: LocalStore, tmp_path: Path) -> None:
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4, limits[1]))
    try:
        with pytest.raises(StoreFullError, match="free some space") as raised:
            store.put("log/new", b"longer than allowed", mode=PutMode.CREATE)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert not raised.value.transient
    assert not (tmp_path / "log" / "new").exists()


def test_a_checksum_of_hadoop_does_not_outlive_the_content(
    store: LocalStore, tmp_path: Path
) -> None:
    """Hadoop refuses to read a local file that differs from its checksum."""
    checksums = [tmp_path / name for name in (".hint.crc", ".gone.crc", ".other.crc")]
    for checksum in checksums:
        checksum.write_bytes(b"crc\0")
    store.put("hint", b"old", mode=PutMode.OVERWRITE)
    store.put("gone", b"", mode=PutMode.OVERWRITE)
    checksums[1].write_bytes(b"crc\0")
    store.delete(["gone"])
    assert [checksum.exists() for checksum in checksums] == [False, False, True]


def local_file(store: LocalStore, path: str) -> LocalFile:
    file = find_local_file(store, path)
    assert file is not None
    return file


@pytest.mark.parametrize(
    "read",
    [
        LocalStore.read,
        LocalStore.open,
        lambda store, path: list(store.read_chunks(path, chunk_bytes=8)),
        lambda store, path: store.read_tail(path, size_bytes_wanted=8),
        lambda store, path: store.read_ranges(path, [ByteRange(0, 1)]),
        lambda store, path: local_file(store, path).read_small(most_bytes=8),
        lambda store, path: local_file(store, path).open(),
        lambda store, path: local_file(store, path).checked_path(),
    ],
)
@pytest.mark.parametrize("kind", ["pipe", "device"])
def test_what_is_no_regular_file_is_refused_and_not_waited_for(
    store: LocalStore, tmp_path: Path, read: Callable[[LocalStore, str], object], kind: str
) -> None:
    path = tmp_path / "log" / kind
    if kind == "pipe":
        os.mkfifo(path)
    else:
        path.symlink_to("/dev/zero")
    with pytest.raises((StoreFailedError, OSError), match="Not a regular file"):
        read(store, f"log/{kind}")
