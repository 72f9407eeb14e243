"""The files of a scan unit: a digest that identifies them, and a table that is read on demand.

A bundle stores only the digest, so that its size does not depend on the number of files. The table
is in memory after planning, and in a file next to the stored bundle afterwards.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import TypeAlias

import msgspec
import pyarrow as pa
import pyarrow.compute as pc

FilesByDigest: TypeAlias = Callable[[str], pa.Table | None]
"""Reads the files with a digest; returns None if they are not available."""

_IDENTITY = ("path", "dv_id")
_STAMP = "stamp"


class FileList:
    """Files identified by a digest. Lists with the same digest are equal."""

    __slots__ = ("_read", "digest")

    def __init__(self, digest: str, read: FilesByDigest) -> None:
        """Take the digest, and a function that reads the files on demand."""
        self.digest = digest
        self._read = read

    @classmethod
    def of(cls, digest: str, files: pa.Table) -> "FileList":
        """Return a list of files that are in memory."""
        return cls(digest, partial(_in_memory, files))

    def read(self) -> pa.Table | None:
        """Return the files, with at least `path` and `dv_id`; None if they are not available."""
        return self._read(self.digest)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, FileList) and self.digest == other.digest

    def __hash__(self) -> int:
        return hash(self.digest)

    def __repr__(self) -> str:
        return f"FileList({self.digest!r})"


def no_files(_: str) -> None:
    """Return None: for a bundle that is decoded without its files."""


def _in_memory(files: pa.Table, _: str) -> pa.Table:
    return files


class FileChanges(msgspec.Struct, frozen=True, kw_only=True):
    """The differences between two lists of files, as sorted labels."""

    added: pa.Array
    removed: pa.Array
    altered: pa.Array
    """Files that are in both lists and differ in another column."""

    def __bool__(self) -> bool:
        return bool(len(self.added) or len(self.removed) or len(self.altered))


def compare_files(then: pa.Table, now: pa.Table) -> FileChanges:
    """Compare two lists by path and deletion vector, then by the other columns in both.

    Earlier releases recorded no stamps of the files of a Delta table.
    """
    labels_then, labels_now = _labels(then), _labels(now)
    index_then = pc.index_in(labels_now, value_set=labels_then)
    is_common = index_then.is_valid()
    common_now = now.filter(is_common)
    common_then = then.take(index_then.filter(is_common))
    recorded = {*then.column_names}
    if _STAMP in recorded and then[_STAMP].null_count == then.num_rows:
        recorded.remove(_STAMP)
    is_altered = _any_different(
        common_then, common_now, [name for name in now.column_names if name in recorded]
    )
    is_removed = pc.invert(pc.is_in(labels_then, value_set=labels_now))
    return FileChanges(
        added=_sorted(labels_now.filter(pc.invert(is_common))),
        removed=_sorted(labels_then.filter(is_removed)),
        altered=_sorted(labels_now.filter(is_common).filter(is_altered)),
    )


def _labels(files: pa.Table) -> pa.Array:
    """Return the label of each file: its path, and its deletion-vector id if it has one."""
    path, vector = (_text_column(files, name) for name in _IDENTITY)
    suffix = pc.binary_join_element_wise(_text(" (dv "), vector, _text(")"), _text(""))
    return pc.binary_join_element_wise(path, pc.fill_null(suffix, ""), _text(""))


def _text_column(files: pa.Table, name: str) -> pa.Array:
    return files[name].cast(pa.large_string()).combine_chunks()  # paths can exceed 2 GB in total


def _text(value: str) -> pa.Scalar:
    return pa.scalar(value, pa.large_string())


def _any_different(then: pa.Table, now: pa.Table, names: Sequence[str]) -> pa.Array:
    """Return for each row whether any column differs; nested columns are not compared."""
    different = pa.repeat(pa.scalar(value=False), now.num_rows)
    for name in names:
        old, new = then[name].combine_chunks(), now[name].combine_chunks()
        if name in _IDENTITY or old.type != new.type or pa.types.is_nested(old.type):
            continue
        differs = pc.fill_null(pc.not_equal(old, new), pa.scalar(value=False))
        null_in_one = pc.xor(old.is_null(), new.is_null())
        different = pc.or_(different, pc.or_(differs, null_in_one))
    return different


def _sorted(labels: pa.Array) -> pa.Array:
    return labels.take(pc.sort_indices(labels))
