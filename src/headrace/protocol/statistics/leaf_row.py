"""Decode a few leaf columns of the statistics of many files with msgspec, into one object per file.

The structs have only the requested members. All documents are first decoded with the expected
types, which is fastest. If a value has another type, members are decoded as any type. If a document
is invalid JSON, documents are decoded one by one, and invalid ones count as missing statistics.
"""

from collections.abc import Callable, Mapping
from decimal import Decimal
from operator import attrgetter
from typing import Any, TypeAlias

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from headrace.compiled.statistics import Path
from headrace.protocol import light
from headrace.protocol.schema import DecimalType
from headrace.protocol.statistics.value import array_of, decimal_array, double_array

Getters: TypeAlias = Mapping[Path, Callable[[Any], Any]]

_DECODE_ERRORS = (msgspec.MsgspecError, ValueError, RecursionError)
_ABSENT = (AttributeError, TypeError, KeyError)


class LeafRows(msgspec.Struct, frozen=True):
    """The decoded statistics, one object per document."""

    rows: list[Any]
    getters: Getters
    are_typed: bool
    """Whether every value has the type of its leaf column or is null."""

    def integers(self, path: Path) -> pa.Int64Array:
        """Return the values of an integer leaf column."""
        if self.are_typed:  # otherwise NumPy would accept True and 1.5 as integers
            try:
                numbers = map(self.getters[path], self.rows)
                return light.from_numpy(np.fromiter(numbers, np.int64, len(self.rows)))
            except (*_ABSENT, OverflowError):
                pass
        return array_of(self._values(path), pa.int64(), int)

    def booleans(self, path: Path) -> pa.BooleanArray:
        """Return the values of a boolean leaf column."""
        return array_of(self._values(path), pa.bool_(), bool)

    def strings(self, path: Path) -> pa.StringArray:
        """Return the values of a string leaf column."""
        return array_of(self._values(path), pa.string(), str)

    def doubles(self, path: Path) -> pa.DoubleArray:
        """Return the values of a numeric leaf column."""
        return double_array(self._values(path))

    def decimals(self, path: Path, data_type: DecimalType, rounding: str) -> pa.Array:
        """Return the values of a numeric leaf column as decimals."""
        return decimal_array(self._values(path), data_type, rounding)

    def _values(self, path: Path) -> list[Any]:
        """Return the value of a leaf column in each document; None where it is absent."""
        getter = self.getters[path]
        try:
            return list(map(getter, self.rows))
        except _ABSENT:  # a level is null in some row
            return [_get_or_none(getter, row) for row in self.rows]


class RowDecoder(msgspec.Struct, frozen=True):
    """Decodes JSON documents for one set of leaf columns."""

    attempts: "tuple[msgspec.json.Decoder[Any], ...]"
    """From the strictest decoder to the most tolerant, which may be the only one."""
    getters: Getters

    def decode(self, texts: pa.BinaryArray) -> LeafRows:
        """Decode one document per row."""
        # Text in braces can neither absorb the next line nor be absorbed by it, so equal counts
        # prove that each row is one document.
        whole = pc.and_(pc.starts_with(texts, b"{"), pc.ends_with(texts, b"}"))
        if whole.true_count < len(whole):
            texts = pc.if_else(pc.fill_null(whole, light.FALSE), texts, light.scalar(b"{}"))
        lines = pc.binary_join_element_wise(texts, light.scalar(b""), light.scalar(b"\n"))
        *typed, tolerant = self.attempts
        for decoder in self.attempts:
            try:
                rows = decoder.decode_lines(_data(lines))
            except _DECODE_ERRORS:
                continue
            if len(rows) == len(texts):
                return LeafRows(rows, self.getters, are_typed=decoder in typed)
        rows = [_row(tolerant, line) for line in lines.to_pylist()]
        return LeafRows(rows, self.getters, are_typed=False)


def row_decoder(types: Mapping[Path, type]) -> RowDecoder:
    """Return a decoder for the leaf columns of `types`; only decimal columns become decimals."""
    tolerant = {path: kind | None if kind is Decimal else Any for path, kind in types.items()}
    try:
        strict_type, attributes = _struct({path: kind | None for path, kind in types.items()})
        tolerant_type, _ = _struct(tolerant)
    except ValueError:  # msgspec does not support field names that need escapes
        json = msgspec.json.Decoder(dict[str, Any], float_hook=Decimal)
        return RowDecoder((json,), {path: _key_getter(path) for path in types})
    attempts = (msgspec.json.Decoder(strict_type), msgspec.json.Decoder(tolerant_type))
    getters = {path: attrgetter(".".join(names)) for path, names in attributes.items()}
    return RowDecoder(attempts, getters)


def _row(decoder: "msgspec.json.Decoder[Any]", line: bytes) -> Any:
    try:
        return decoder.decode(line)
    except _DECODE_ERRORS:
        return decoder.decode(b"{}")


def _struct(types: dict[Path, Any]) -> tuple[type[msgspec.Struct], dict[Path, Path]]:
    """Return a struct type with the leaf columns of `types`, and the attribute path to each."""
    fields: list[tuple[str, Any, Any]] = []
    rename: dict[str, str] = {}
    attributes: dict[Path, Path] = {}
    for index, name in enumerate(dict.fromkeys(path[0] for path in types)):
        attribute = f"f{index}"
        rename[attribute] = name
        below = {path[1:]: kind for path, kind in types.items() if path[0] == name}
        if () in below:
            attributes[name,] = (attribute,)
            fields.append((attribute, below[()], None))
            continue
        level, inner = _struct(below)
        fields.append((attribute, level | None, level()))
        attributes |= {(name, *path): (attribute, *names) for path, names in inner.items()}
    struct = msgspec.defstruct("Statistics", fields, rename=rename, frozen=True, gc=False)
    return struct, attributes


def _key_getter(path: Path) -> Callable[[Any], Any]:
    def get(row: Any) -> Any:
        for key in path:
            row = row[key]
        return row

    return get


def _get_or_none(getter: Callable[[Any], Any], row: Any) -> Any:
    try:
        return getter(row)
    except (AttributeError, TypeError, KeyError):
        return None


def _data(lines: pa.BinaryArray) -> Any:
    """Return the bytes of all lines, concatenated, without a copy."""
    offsets, data = lines.buffers()[1:]
    view = memoryview(offsets).cast("i")
    return memoryview(data)[view[lines.offset] : view[lines.offset + len(lines)]]
