"""Marks of data files: enough to tell later that one is gone, or is not what it was.

A small file is hashed whole. Of a larger one its head, its footer and blocks spread over it are, at
most a mebibyte in all: where a writer changes a value, sizes and offsets in the footer change with
it. Data files never change in a Delta table, so a mark is made once, and stands while size and time
of change are the same.
"""

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from hashlib import blake2b
from os import stat_result
from pathlib import Path

import msgspec
import pyarrow as pa
import pyarrow.compute as pc

from headrace.errors import DataFileNotFoundError

MARKS = pa.schema(
    [
        ("source", pa.string()),
        ("path", pa.string()),
        ("dv_id", pa.string()),
        ("size_bytes", pa.int64()),
        ("modified_ns", pa.int64()),
        ("content", pa.string()),
    ]
)
"""What is known of each marked file of a source; `content` is a hash of what is in it."""

_KIB = 1 << 10
_MOST_BYTES = 1024 * _KIB
_HEAD_BYTES = 64 * _KIB
_FOOTER_BYTES = 256 * _KIB
_BLOCK_BYTES = 64 * _KIB
_BLOCKS = (_MOST_BYTES - _HEAD_BYTES - _FOOTER_BYTES) // _BLOCK_BYTES
_SAMPLED = "s1:"
"""Begins a hash that was made by the rule above; one without it was made by the first rule."""
_FILES_AT_ONCE = 8


class FileToMark(msgspec.Struct, frozen=True, kw_only=True):
    """A file as the log names it, and where it is."""

    path: str
    dv_id: str | None
    place: Path


def make_marks(source: str, files: Sequence[FileToMark], *, known: pa.Table) -> pa.Table:
    """Mark the files that have no mark yet, or are not what their mark says, several at a time.

    Args:
        source: The name of the source.
        files: The files.
        known: Earlier marks of the source, at most one of each path.

    Raises:
        DataFileNotFoundError: a file is gone.
    """
    with ThreadPoolExecutor(_FILES_AT_ONCE) as pool:
        found = list(pool.map(_status, files))
        sizes = pa.array([status.st_size for status in found], pa.int64())
        times = pa.array([status.st_mtime_ns for status in found], pa.int64())
        paths = pa.array([file.path for file in files], pa.string())
        place = pc.index_in(paths, value_set=known["path"].combine_chunks())
        is_same = pc.and_(
            pc.equal(known["size_bytes"].combine_chunks().take(place), sizes),
            pc.equal(known["modified_ns"].combine_chunks().take(place), times),
        )
        is_new = pc.invert(pc.fill_null(is_same, pa.scalar(value=False)))
        chosen = pc.indices_nonzero(is_new)
        new = [files[n] for n in chosen.to_pylist()]
        contents = list(pool.map(_content, (f.place for f in new), sizes.take(chosen).to_pylist()))
    columns = [
        pa.repeat(pa.scalar(source, pa.string()), len(new)),
        paths.take(chosen),
        pa.array([file.dv_id for file in new], pa.string()),
        sizes.take(chosen),
        times.take(chosen),
        pa.array(contents, pa.string()),
    ]
    return pa.Table.from_arrays(columns, schema=MARKS)


def newest_marks(marks: pa.Table) -> pa.Table:
    """The newest mark of each path, of marks that have the column `started_ms`."""
    ordered = marks.sort_by([("started_ms", "descending")]).combine_chunks()
    paths = ordered["path"].combine_chunks()
    return ordered.take(pc.index_in(pc.unique(paths), value_set=paths)).select(MARKS.names)


def describe_alteration(
    place: Path, *, size_bytes: int, modified_ns: int, content: str
) -> str | None:
    """How a file differs from its mark, in words; None if it does not.

    Raises:
        FileNotFoundError: it is gone.
    """
    status = place.stat()
    if status.st_size != size_bytes:
        return f"it has {status.st_size} bytes, and had {size_bytes}"
    if status.st_mtime_ns != modified_ns and not _has_content(place, size_bytes, content):
        return "its content is another one"
    return None


def _status(file: FileToMark) -> stat_result:
    try:
        return file.place.stat()
    except FileNotFoundError as error:
        raise DataFileNotFoundError(path=str(file.place)) from error


def _has_content(place: Path, size_bytes: int, content: str) -> bool:
    if content.startswith(_SAMPLED):
        return _content(place, size_bytes) == content
    return _hash(place, _first_rule(size_bytes)) == content


def _content(place: Path, size_bytes: int) -> str:
    return _SAMPLED + _hash(place, _sampled_parts(size_bytes))


def _hash(place: Path, parts: Iterator[tuple[int, int]]) -> str:
    hashed = blake2b(digest_size=16)
    with place.open("rb", buffering=0) as opened:
        for start, length in parts:
            opened.seek(start)
            hashed.update(opened.read(length))
    return hashed.hexdigest()


def _sampled_parts(size_bytes: int) -> Iterator[tuple[int, int]]:
    """The offsets and lengths that are hashed: all of a file, or head, blocks and footer."""
    if size_bytes <= _MOST_BYTES:
        yield 0, size_bytes
        return
    yield 0, _HEAD_BYTES
    between = size_bytes - _HEAD_BYTES - _FOOTER_BYTES
    step = (between - _BLOCK_BYTES) // (_BLOCKS - 1)
    for number in range(_BLOCKS):
        yield _HEAD_BYTES + number * step, _BLOCK_BYTES
    yield size_bytes - _FOOTER_BYTES, _FOOTER_BYTES


def _first_rule(size_bytes: int) -> Iterator[tuple[int, int]]:
    """As earlier releases hashed files: whole up to 32 MiB, else 64 blocks."""
    whole_bytes, blocks = 32 << 20, 64
    if size_bytes <= whole_bytes:
        yield 0, size_bytes
        return
    step = (size_bytes - _BLOCK_BYTES) // (blocks - 1)
    for number in range(blocks - 1):
        yield number * step, _BLOCK_BYTES
    yield size_bytes - _BLOCK_BYTES, _BLOCK_BYTES
