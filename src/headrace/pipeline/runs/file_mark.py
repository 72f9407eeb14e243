"""Marks of data files: enough to detect later that a file is missing or has changed.

A small file is hashed completely. Of a larger one, at most 1 MiB is hashed: its head, its footer
and evenly spaced blocks. A writer that changes a value also changes sizes and offsets in the
footer. Data files of a Delta table are immutable, so a mark is made once and is valid while size
and modification time are the same.
"""

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from hashlib import blake2b
from os import stat_result
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from headrace.errors import DataFileNotFoundError
from headrace.pipeline.sources.source import LocalFile

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
"""The columns of marks; `content` is a hash of the file's bytes."""

_KIB = 1 << 10
_MAX_BYTES = 1024 * _KIB
_HEAD_BYTES = 64 * _KIB
_FOOTER_BYTES = 256 * _KIB
_BLOCK_BYTES = 64 * _KIB
_BLOCKS = (_MAX_BYTES - _HEAD_BYTES - _FOOTER_BYTES) // _BLOCK_BYTES
_SAMPLED = "s1:"
"""The prefix of sampled hashes; hashes without it are of `_first_format_parts`."""
_THREADS = 8


def make_marks(source: str, files: Sequence[LocalFile], *, earlier: pa.Table) -> pa.Table:
    """Mark the files that have no mark yet, or differ from their mark, concurrently.

    Args:
        source: The name of the source.
        files: The files.
        earlier: Earlier marks of the source, at most one of each path.

    Raises:
        DataFileNotFoundError: a file is gone.
    """
    with ThreadPoolExecutor(_THREADS) as pool:
        statuses = list(pool.map(_status, files))
        sizes = pa.array([status.st_size for status in statuses], pa.int64())
        times = pa.array([status.st_mtime_ns for status in statuses], pa.int64())
        paths = pa.array([file.path for file in files], pa.string())
        index = pc.index_in(paths, value_set=earlier["path"].combine_chunks())
        is_same = pc.and_(
            pc.equal(earlier["size_bytes"].combine_chunks().take(index), sizes),
            pc.equal(earlier["modified_ns"].combine_chunks().take(index), times),
        )
        is_new = pc.invert(pc.fill_null(is_same, pa.scalar(value=False)))
        new_indices = pc.indices_nonzero(is_new)
        new = [files[n] for n in new_indices.to_pylist()]
        contents = list(
            pool.map(_content, (f.location for f in new), sizes.take(new_indices).to_pylist())
        )
    columns = [
        pa.repeat(pa.scalar(source, pa.string()), len(new)),
        paths.take(new_indices),
        pa.array([file.dv_id for file in new], pa.string()),
        sizes.take(new_indices),
        times.take(new_indices),
        pa.array(contents, pa.string()),
    ]
    return pa.Table.from_arrays(columns, schema=MARKS)


def newest_marks(marks: pa.Table) -> pa.Table:
    """Return the newest mark of each path; `marks` must have the column `started_ms`."""
    ordered = marks.sort_by([("started_ms", "descending")]).combine_chunks()
    paths = ordered["path"].combine_chunks()
    return ordered.take(pc.index_in(pc.unique(paths), value_set=paths)).select(MARKS.names)


def describe_alteration(
    file: Path, *, size_bytes: int, modified_ns: int, content: str
) -> str | None:
    """Return how a file differs from its mark, in words; None if it does not.

    Raises:
        FileNotFoundError: it is gone.
    """
    status = file.stat()
    if status.st_size != size_bytes:
        return f"it has {status.st_size} bytes and had {size_bytes}"
    if status.st_mtime_ns != modified_ns and not _has_content(file, size_bytes, content):
        return "its content has changed"
    return None


def _status(file: LocalFile) -> stat_result:
    try:
        return file.location.stat()
    except FileNotFoundError as error:
        raise DataFileNotFoundError(path=str(file.location)) from error


def _has_content(file: Path, size_bytes: int, content: str) -> bool:
    if content.startswith(_SAMPLED):
        return _content(file, size_bytes) == content
    return _hash(file, _first_format_parts(size_bytes)) == content


def _content(file: Path, size_bytes: int) -> str:
    return _SAMPLED + _hash(file, _sampled_parts(size_bytes))


def _hash(file: Path, parts: Iterator[tuple[int, int]]) -> str:
    hashed = blake2b(digest_size=16)
    with file.open("rb", buffering=0) as opened:
        for start, length in parts:
            opened.seek(start)
            hashed.update(opened.read(length))
    return hashed.hexdigest()


def _sampled_parts(size_bytes: int) -> Iterator[tuple[int, int]]:
    """Yield the offsets and lengths to hash: the whole file, or its head, blocks and footer."""
    if size_bytes <= _MAX_BYTES:
        yield 0, size_bytes
        return
    yield 0, _HEAD_BYTES
    between = size_bytes - _HEAD_BYTES - _FOOTER_BYTES
    step = (between - _BLOCK_BYTES) // (_BLOCKS - 1)
    for number in range(_BLOCKS):
        yield _HEAD_BYTES + number * step, _BLOCK_BYTES
    yield size_bytes - _FOOTER_BYTES, _FOOTER_BYTES


def _first_format_parts(size_bytes: int) -> Iterator[tuple[int, int]]:
    """Yield what earlier releases hashed: whole files up to 32 MiB, else 64 blocks."""
    whole_bytes, blocks = 32 << 20, 64
    if size_bytes <= whole_bytes:
        yield 0, size_bytes
        return
    step = (size_bytes - _BLOCK_BYTES) // (blocks - 1)
    for number in range(blocks - 1):
        yield number * step, _BLOCK_BYTES
    yield size_bytes - _BLOCK_BYTES, _BLOCK_BYTES
