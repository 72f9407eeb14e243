"""Fill columns from the bytes of Avro records, by a list of operations.

The operations describe the record schema. Blocks of records enter; the buffers of columns leave, or
None if the caller must fall back to another decoder.
"""

import ctypes
from collections.abc import Sequence
from enum import IntEnum
from typing import NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from headrace.compiled.library import function
from headrace.compiled.memory import Memory

Body: TypeAlias = tuple[bytes | bytearray | memoryview, int]
"""The records of a block, and their number."""


class Kind(IntEnum):
    """The kind of a value, as in kernels.h."""

    NULL = 0
    BOOLEAN = 1
    INT = 2
    LONG = 3
    FIXED = 4
    TEXT = 5
    NULLABLE = 6
    RECORD = 7
    ITEMS = 8
    UNION = 9


class Operation(ctypes.Structure):
    """The kind of a value, and the column it is written to."""

    _fields_ = (
        ("kind", ctypes.c_int32),
        ("column", ctypes.c_int32),
        ("argument", ctypes.c_int32),
        ("size", ctypes.c_int32),
    )


class _Column(ctypes.Structure):
    _fields_ = (
        ("count", ctypes.c_int64),
        ("bytes", ctypes.c_int64),
        ("valid", ctypes.c_void_p),
        ("numbers", ctypes.c_void_p),
        ("offsets", ctypes.c_void_p),
        ("data", ctypes.c_void_p),
    )


class ColumnPlan(NamedTuple):
    """What a column holds, and whether it has one value per record or per list item."""

    kind: Kind
    is_nested: bool = False


class FilledColumn:
    """The values of one column, in reusable memory; it has only the buffers that its kind needs."""

    __slots__ = ("_data", "_numbers", "_offsets", "_valid", "count", "size")

    def __init__(self, kind: Kind, count: int, size: int) -> None:
        has_numbers = kind in (Kind.BOOLEAN, Kind.INT, Kind.LONG)
        has_offsets = kind in (Kind.TEXT, Kind.ITEMS)
        self.count, self.size = count, size
        self._valid = _MEMORY.block(count)
        self._numbers = _MEMORY.block(count * 8) if has_numbers else None
        self._offsets = _MEMORY.block((count + 1) * 4) if has_offsets else None
        self._data = _MEMORY.block(size + _SLACK_BYTES) if kind is Kind.TEXT else None
        if self._offsets is not None:
            self._offsets.bytes[:4] = 0

    def lend_to(self, column: _Column) -> None:
        """Let the loop write to this memory."""
        column.valid = self._valid.address
        column.numbers = None if self._numbers is None else self._numbers.address
        column.offsets = None if self._offsets is None else self._offsets.address
        column.data = None if self._data is None else self._data.address
        column.count = column.bytes = 0

    def cut(self, count: int, size: int) -> None:
        """Shrink to the part that has been filled."""
        self.count, self.size = count, size

    @property
    def valid(self) -> npt.NDArray[np.uint8]:
        """A byte for each value: 0 where it is null."""
        return self._valid.bytes[: self.count]

    @property
    def numbers(self) -> pa.Buffer:
        """The values as 64-bit numbers."""
        assert self._numbers is not None
        return self._numbers.buffer(self.count * 8)

    @property
    def offsets(self) -> pa.Buffer:
        """The 32-bit offsets of strings or lists."""
        assert self._offsets is not None
        return self._offsets.buffer((self.count + 1) * 4)

    @property
    def data(self) -> pa.Buffer:
        """The bytes of strings."""
        assert self._data is not None
        return self._data.buffer(self.size)


_MEMORY = Memory()
_SLACK_BYTES = 16
"""Padding, because the loop copies short strings in whole words."""
_MOST_ROOM_BYTES = 64 << 20
"""For larger input, values are counted first and only the needed memory is allocated."""

_ARGUMENTS = (
    ctypes.c_void_p,
    ctypes.c_void_p,
    ctypes.c_int64,
    ctypes.c_int64,
    ctypes.c_void_p,
    ctypes.c_int32,
)


def fill_columns(
    operations: Sequence[Operation], plans: Sequence[ColumnPlan], bodies: Sequence[Body]
) -> list[FilledColumn] | None:
    """Decode the records of some blocks into columns; None if the caller must fall back."""
    run = function("headrace_avro", *_ARGUMENTS)
    if run is None:
        return None
    record = (Operation * len(operations))(*operations)
    columns = (_Column * max(len(plans), 1))()
    views = [(np.frombuffer(body, np.uint8), count) for body, count in bodies]
    size_bytes = sum(len(view) for view, _ in views)
    records = sum(count for _, count in views)

    def passes(fills: int) -> bool:
        return all(
            run(record, view.ctypes.data, len(view), count, columns, fills) == 0
            for view, count in views
        )

    if size_bytes <= _MOST_ROOM_BYTES:  # untouched memory costs nothing
        rooms = [(size_bytes if plan.is_nested else records, size_bytes) for plan in plans]
    elif passes(0):
        rooms = [(column.count, column.bytes) for column in columns[: len(plans)]]
    else:
        return None
    filled = [
        FilledColumn(plan.kind, count, size)
        for plan, (count, size) in zip(plans, rooms, strict=True)
    ]
    for room, column in zip(filled, columns, strict=False):
        room.lend_to(column)
    if not passes(1):
        return None
    for room, column in zip(filled, columns, strict=False):
        room.cut(column.count, column.bytes)
    return filled
