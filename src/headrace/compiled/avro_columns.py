"""Fill columns from the bytes of Avro records, by a list of operations.

The operations describe the record schema. Blocks of records enter, one at a time; the buffers of
columns leave, or None if the caller must fall back to another decoder.
"""

import ctypes
from collections.abc import Iterable, Sequence
from enum import IntEnum
from typing import NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from headrace.compiled.library import function
from headrace.compiled.memory import Block, Memory

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
        ("nulls", ctypes.c_int64),
        ("valid", ctypes.c_void_p),
        ("numbers", ctypes.c_void_p),
        ("offsets", ctypes.c_void_p),
        ("data", ctypes.c_void_p),
    )


class ColumnPlan(NamedTuple):
    """What a column holds, whether it has one value per record or per list item, and nulls."""

    kind: Kind
    is_nested: bool = False
    is_nullable: bool = True


class Bodies(NamedTuple):
    """The records of some blocks. They are read once, so a body may reuse the memory of another."""

    parts: Iterable[Body]
    size_bytes: int
    """The total size of the bodies."""
    records: int


class FilledColumn:
    """The values of one column, in reusable memory; it has only the buffers that its plan needs."""

    __slots__ = ("_data", "_numbers", "_offsets", "_valid", "count", "nulls", "size")

    def __init__(self, plan: ColumnPlan, count: int, size: int) -> None:
        has_numbers = plan.kind in (Kind.BOOLEAN, Kind.INT, Kind.LONG)
        has_offsets = plan.kind in (Kind.TEXT, Kind.ITEMS)
        self.count, self.size, self.nulls = count, size, 0
        self._valid = _MEMORY.block(count) if plan.is_nullable else None
        self._numbers = _MEMORY.block(count * 8) if has_numbers else None
        self._offsets = _MEMORY.block((count + 1) * 4) if has_offsets else None
        self._data = _MEMORY.block(size + _SLACK_BYTES) if plan.kind is Kind.TEXT else None
        if self._offsets is not None:
            self._offsets.bytes[:4] = 0

    def lend_to(self, column: _Column) -> None:
        """Let the loop write to this memory."""
        column.valid = _address(self._valid)
        column.numbers = _address(self._numbers)
        column.offsets = _address(self._offsets)
        column.data = _address(self._data)
        column.count = column.bytes = column.nulls = 0

    def cut(self, column: _Column) -> None:
        """Shrink to the part that has been filled."""
        self.count, self.size, self.nulls = column.count, column.bytes, column.nulls

    @property
    def valid(self) -> npt.NDArray[np.uint8] | None:
        """A byte for each value: 0 where it is null; None if no value is."""
        if self._valid is None or not self.nulls:
            return None
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


_MEMORY = Memory(most_free=96, small_bytes=1 << 14)
"""Enough for two batches of all fields, which have many small columns."""
_SLACK_BYTES = 8
"""Padding, because the loop copies short strings in whole words."""
_MAX_ROOM_BYTES = 64 << 20
"""For larger input, values are counted first and only the needed memory is allocated."""

_ARGUMENTS = (
    ctypes.c_void_p,
    ctypes.c_void_p,
    ctypes.c_int64,
    ctypes.c_int64,
    ctypes.c_void_p,
    ctypes.c_int32,
)


def fits_one_pass(size_bytes: int) -> bool:
    """Return whether bodies of this size are decoded without counting their values first."""
    return size_bytes <= _MAX_ROOM_BYTES  # untouched memory costs nothing


def fill_columns(
    operations: Sequence[Operation], plans: Sequence[ColumnPlan], bodies: Bodies
) -> list[FilledColumn] | None:
    """Decode the records of some blocks into columns; None if the caller must fall back.

    Bodies that do not fit one pass must be a sequence.
    """
    run = function("headrace_avro", *_ARGUMENTS)
    if run is None:
        return None
    record = (Operation * len(operations))(*operations)
    columns = (_Column * max(len(plans), 1))()

    def passes(fills: int) -> bool:
        for body, count in bodies.parts:
            view = np.frombuffer(body, np.uint8)
            if run(record, view.ctypes.data, len(view), count, columns, fills) != 0:
                return False
        return True

    size_bytes = bodies.size_bytes
    if fits_one_pass(size_bytes):
        rooms = [(size_bytes if plan.is_nested else bodies.records, size_bytes) for plan in plans]
    elif passes(0):
        rooms = [(column.count, column.bytes) for column in columns[: len(plans)]]
    else:
        return None
    filled = [
        FilledColumn(plan, count, size) for plan, (count, size) in zip(plans, rooms, strict=True)
    ]
    for room, column in zip(filled, columns, strict=False):
        room.lend_to(column)
    if not passes(1):
        return None
    for room, column in zip(filled, columns, strict=False):
        room.cut(column)
    return filled


def _address(block: Block | None) -> int | None:
    return None if block is None else block.address
