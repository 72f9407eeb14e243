"""Objects that are replaced while they are read: one version or an error, never a mixture."""

from collections.abc import Callable
from pathlib import Path

import pytest

from headrace import Table
from headrace.engines.fetched_file import FetchedFile
from headrace.errors import HeadraceError, ObjectChangedError, ObjectTooShortError
from headrace.storage.byte_range import ByteRange
from headrace.wiring import open_store
from tests.emulator.bucket import Bucket, etag, served
from tests.emulator.saboteur import Answer, always, s3_options, sabotaged
from tests.lake.action import add, opening
from tests.lake.checkpoint import Encoding, Form, Shape, write_checkpoint
from tests.lake.log import state_at, write_history

OLD, NEW = b"o" * 400_000, b"n" * 400_000
FAR = [ByteRange(0, 10), ByteRange(300_000, 10)]


def unchanging(content: bytes) -> Callable[[int], bytes]:
    return lambda _read: content


def changing_at(number: int, old: bytes = OLD, new: bytes = NEW) -> Callable[[int], bytes]:
    return lambda read: old if read < number else new


def alternating(old: bytes = OLD, new: bytes = NEW) -> Callable[[int], bytes]:
    return lambda read: new if read % 2 else old


def test_ranges_of_two_versions_are_not_returned_together() -> None:
    with served(Bucket({"t/x": changing_at(1)})) as options:
        store = open_store("s3://lake/t", options=options)
        with pytest.raises(ObjectChangedError, match="open the table again"):
            store.read_ranges("x", FAR)
        assert {bytes(part) for part in store.read_ranges("x", FAR)} == {b"n" * 10}


@pytest.mark.parametrize("known", [None, len(OLD)])
def test_ranges_are_of_the_version_of_the_tail(known: int | None) -> None:
    with served(Bucket({"t/x": changing_at(1)})) as options:
        store = open_store("s3://lake/t", options=options)
        tail = store.read_tail("x", size_bytes_wanted=9, object_size=known)
        assert (tail.content, tail.object_size, tail.etag) == (b"o" * 9, len(OLD), etag(OLD))
        with pytest.raises(ObjectChangedError):
            store.read_ranges("x", [ByteRange(0, 10)], etag=tail.etag)


def test_an_open_file_is_one_version() -> None:
    with served(Bucket({"t/x": changing_at(1)})) as options:
        store = open_store("s3://lake/t", options=options)
        with store.open("x", size_bytes=len(OLD)) as file:
            assert file.read(4) == b"oooo"
            with pytest.raises(ObjectChangedError):
                file.read(4)


def test_a_data_file_is_one_version() -> None:
    with served(Bucket({"t/x": changing_at(1)})) as options:
        store = open_store("s3://lake/t", options=options)
        tail = store.read_tail("x", size_bytes_wanted=9, object_size=len(OLD))
        with FetchedFile.with_tail(store, "x", tail) as file, pytest.raises(ObjectChangedError):
            file.fetch(FAR)


def test_a_tail_that_is_shorter_than_promised_is_an_error() -> None:
    short = Answer(206, b"abc", {"Content-Range": "bytes 92-99/100"})
    with sabotaged(always(short)) as server:
        store = open_store("s3://lake/t", options=s3_options(server.endpoint))
        with pytest.raises((ObjectTooShortError, ObjectChangedError)):
            store.read_tail("x", size_bytes_wanted=8)


def lake(folder: Path, name: str) -> dict[str, bytes]:
    """Return the objects of a table with one checkpoint, whose size does not depend on `name`."""
    files = [add(f"{name}-{etag(str(number).encode())}") for number in range(8000)]
    history = [[*opening(), *files], [add("c")]]
    write_history(folder, history)
    uncompressed = Shape(form=Form.CLASSIC, encoding=Encoding.BARE)
    write_checkpoint(folder, 0, state_at(history, 0), uncompressed)
    return {
        f"t/{file.relative_to(folder).as_posix()}": file.read_bytes()
        for file in folder.rglob("*")
        if file.is_file()
    }


CHECKPOINT = f"t/_delta_log/{0:020}.checkpoint.parquet"


@pytest.fixture(scope="module")
def tables(tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, bytes], dict[str, bytes]]:
    old, new = (lake(tmp_path_factory.mktemp(name), name) for name in ("old", "new"))
    assert len(old[CHECKPOINT]) == len(new[CHECKPOINT])
    return old, new


def scanned(options: dict[str, str]) -> set[str]:
    table = Table("s3://lake/t", storage_options=options)
    return {file.path[:3] for file in table.snapshot().scan()} - {"c"}


@pytest.mark.parametrize("number", range(5))
def test_a_checkpoint_that_is_replaced_is_read_as_one_version_or_not_at_all(
    number: int, tables: tuple[dict[str, bytes], dict[str, bytes]]
) -> None:
    old, new = tables
    objects = {key: unchanging(content) for key, content in old.items()}
    objects[CHECKPOINT] = changing_at(number, old[CHECKPOINT], new[CHECKPOINT])
    del objects[f"t/_delta_log/{0:020}.json"]
    bucket = Bucket(objects)
    with served(bucket) as options:
        try:
            versions = scanned(options)
        except HeadraceError:
            versions = set()
    assert len(versions) <= 1
    assert bucket.reads[CHECKPOINT] < 100


def test_a_checkpoint_replaced_at_every_read_is_abandoned(
    tables: tuple[dict[str, bytes], dict[str, bytes]],
) -> None:
    old, new = tables
    objects = {key: unchanging(content) for key, content in old.items()}
    objects[CHECKPOINT] = alternating(old[CHECKPOINT], new[CHECKPOINT])
    bucket = Bucket(objects)
    with served(bucket) as options:
        assert scanned(options) == {"old"}
    assert bucket.reads[CHECKPOINT] < 20
