"""Read a few leaf columns of many JSON documents into Arrow columns.

Documents and the kinds of leaf columns enter. An Arrow column for each leaves, or None if a
document is unusual.
"""

import re
from collections.abc import Mapping, Sequence
from ctypes import Structure, byref, c_char_p, c_int32, c_int64, c_void_p
from enum import IntEnum
from typing import TypeAlias

import msgspec
import numpy as np
import numpy.typing as npt
import pyarrow as pa

from headrace.compiled.library import function

Path: TypeAlias = tuple[str, ...]

_LEVEL = 0
_MAX_NODES = 64
_ARGUMENTS = (*[c_void_p] * 3, *[c_int64] * 3, c_void_p, c_int32)
"""Validity, offsets, data, data size, first document, document count, nodes, node count."""
_NEEDS_ESCAPE = re.compile(r'["\\\x00-\x1f]')


class Kind(IntEnum):
    """The kind of a leaf column, as in kernels.h."""

    INTEGER = 1
    BOOLEAN = 2
    STRING = 3
    NUMBER = 4
    """A number as text, as written."""
    DECIMAL = 5
    """A number as text, without an exponent."""

    @property
    def is_text(self) -> bool:
        """Whether the leaf column becomes a string column."""
        return self >= Kind.STRING


def read_leaf_columns(
    texts: pa.BinaryArray, types: Mapping[Path, Kind]
) -> dict[Path, pa.Array] | None:
    """Return the values of each leaf column, null where absent; None if any document is unusual.

    Integers and booleans become int64, all else string; a number has at most 38 characters. Text
    that is not enclosed in braces has no leaf columns.
    """
    read = function("headrace_leaves", *_ARGUMENTS)
    paths = _paths(types)
    if read is None or len(paths) > _MAX_NODES or _need_escapes(paths):
        return None
    columns = {path: _column(kind, texts) for path, kind in types.items()}
    nodes = (_Node * len(paths))(*(_node(path, paths, columns.get(path)) for path in paths))
    validity, offsets, data = texts.buffers()
    size = 0 if data is None else data.size
    at = (_address(validity), _address(offsets), _address(data), size)
    if not read(*at, texts.offset, len(texts), byref(nodes), len(nodes)):
        return None
    try:
        return {path: column.array(len(texts)) for path, column in columns.items()}
    except pa.ArrowInvalid:  # some string is not UTF-8
        return None


class _Node(Structure):
    _fields_ = (
        ("name", c_char_p),
        ("name_size", c_int32),
        ("kind", c_int32),
        ("first_child", c_int32),
        ("children", c_int32),
        ("valid", c_void_p),
        ("values", c_void_p),
        ("bytes", c_void_p),
    )


class _Column(msgspec.Struct, frozen=True):
    """The buffers that the loop fills for a leaf column."""

    kind: Kind
    valid: npt.NDArray[np.uint8]
    values: npt.NDArray[np.int64] | npt.NDArray[np.int32]
    """Integers, or the offsets of strings."""
    bytes: npt.NDArray[np.uint8]
    """The bytes of strings: room for the maximum; the unused part is never touched."""

    def array(self, rows: int) -> pa.Array:
        """Return the column; raise ArrowInvalid if a string is not valid UTF-8."""
        buffers = [pa.py_buffer(self.valid), pa.py_buffer(self.values)]
        if not self.kind.is_text:
            return pa.Array.from_buffers(pa.int64(), rows, buffers)
        texts = pa.Array.from_buffers(pa.string(), rows, [*buffers, pa.py_buffer(self.bytes)])
        texts.validate(full=self.kind is Kind.STRING)
        return texts


def _column(kind: Kind, texts: pa.BinaryArray) -> _Column:
    rows = len(texts)
    valid = np.zeros((rows + 7) // 8, np.uint8)
    if not kind.is_text:
        return _Column(kind, valid, np.zeros(rows, np.int64), np.empty(0, np.uint8))
    # `nbytes` counts only the slice, and more than its string data.
    return _Column(kind, valid, np.zeros(rows + 1, np.int32), np.empty(texts.nbytes, np.uint8))


def _paths(types: Mapping[Path, Kind]) -> list[Path]:
    """Return all prefixes of the leaf paths, level by level, so that siblings are adjacent."""
    prefixes = {path[:depth] for path in types for depth in range(len(path) + 1)} | {()}
    return sorted(prefixes, key=lambda path: (len(path), path))


def _need_escapes(paths: Sequence[Path]) -> bool:
    """Whether a name needs escapes in JSON."""
    return any(_NEEDS_ESCAPE.search(path[-1]) for path in paths if path)


def _node(path: Path, paths: Sequence[Path], column: _Column | None) -> _Node:
    name = path[-1].encode() if path else b""
    if column is not None:
        arrays = (column.valid, column.values, column.bytes)
        return _Node(name, len(name), column.kind, 0, 0, *(a.ctypes.data for a in arrays))
    children = [
        index for index, candidate in enumerate(paths) if candidate and candidate[:-1] == path
    ]
    return _Node(name, len(name), _LEVEL, min(children, default=0), len(children))


def _address(buffer: pa.Buffer | None) -> int | None:
    return None if buffer is None else buffer.address
