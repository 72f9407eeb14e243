"""Marks of data files: enough to tell later that one is gone, or is not what it was.

A file up to a size is hashed whole; of a larger one its ends and blocks spread over it are. Data
files never change in a Delta table, so a mark is made once, and taken over while size and time of
change are the same.
"""

from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from hashlib import blake2b
from pathlib import Path

import msgspec

from headrace.errors import DataFileNotFoundError

_WHOLE_BYTES = 32 << 20
_BLOCK_BYTES = 1 << 16
_BLOCKS = 64
_THREADS = 4


class FileMark(msgspec.Struct, frozen=True, kw_only=True):
    """What a file looked like when it was read."""

    path: str
    dv_id: str | None
    size_bytes: int
    modified_ns: int
    content: str
    """A hash of what is in it, or of blocks spread over it."""


class FileToMark(msgspec.Struct, frozen=True, kw_only=True):
    """A file as the log names it, and where it is."""

    path: str
    dv_id: str | None
    place: Path


def make_marks(
    files: Iterable[FileToMark], *, known: Mapping[str, FileMark] | None = None
) -> tuple[FileMark, ...]:
    """Mark files, several at a time.

    Args:
        files: The files.
        known: Earlier marks by path; one is taken over if size and time are the same.

    Raises:
        DataFileNotFoundError: a file is gone.
    """
    earlier = known or {}
    with ThreadPoolExecutor(_THREADS) as pool:
        return tuple(pool.map(lambda file: _mark(file, earlier.get(file.path)), files))


def altered(mark: FileMark, place: Path) -> str | None:
    """How a file differs from its mark, in words; None if it does not.

    Raises:
        FileNotFoundError: it is gone.
    """
    found = place.stat()
    if found.st_size != mark.size_bytes:
        return f"it has {found.st_size} bytes, and had {mark.size_bytes}"
    if found.st_mtime_ns != mark.modified_ns and _content(place, found.st_size) != mark.content:
        return "its content is another one"
    return None


def _mark(file: FileToMark, known: FileMark | None) -> FileMark:
    try:
        found = file.place.stat()
    except FileNotFoundError as error:
        raise DataFileNotFoundError(path=str(file.place)) from error
    same = known is not None and (known.size_bytes, known.modified_ns) == (
        found.st_size,
        found.st_mtime_ns,
    )
    return FileMark(
        path=file.path,
        dv_id=file.dv_id,
        size_bytes=found.st_size,
        modified_ns=found.st_mtime_ns,
        content=known.content if known and same else _content(file.place, found.st_size),
    )


def _content(place: Path, size_bytes: int) -> str:
    hashed = blake2b(digest_size=16)
    with place.open("rb") as opened:
        for start, length in _parts(size_bytes):
            opened.seek(start)
            hashed.update(opened.read(length))
    return hashed.hexdigest()


def _parts(size_bytes: int) -> Iterator[tuple[int, int]]:
    if size_bytes <= _WHOLE_BYTES:
        yield 0, size_bytes
        return
    step = (size_bytes - _BLOCK_BYTES) // (_BLOCKS - 1)
    for place in range(_BLOCKS - 1):
        yield place * step, _BLOCK_BYTES
    yield size_bytes - _BLOCK_BYTES, _BLOCK_BYTES
