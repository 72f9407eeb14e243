"""The statistics of many files, decoded in one call as far as a few leaves go.

The structs that texts are decoded into have just the members that are asked for. First each is
decoded as the type that it should have, which is quickest; where some value has another one, as
anything; where some text is damaged, one by one. Such a text counts as no statistics.
"""

from collections.abc import Callable, Mapping
from decimal import Decimal
from functools import lru_cache
from operator import attrgetter
from typing import Any, TypeAlias

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

Path: TypeAlias = tuple[str, ...]
Getters: TypeAlias = Mapping[Path, Callable[[Any], Any]]

_DECODE_ERRORS = (msgspec.MsgspecError, ValueError, RecursionError)
_ABSENT = (AttributeError, TypeError, KeyError)


class DecodedStatistics(msgspec.Struct, frozen=True):
    """What the texts say, a row each."""

    rows: list[Any]
    getters: Getters
    are_typed: bool
    """Whether every value is of its leaf's type, or null."""

    def __len__(self) -> int:
        return len(self.rows)

    def values(self, leaf: Path) -> list[Any]:
        """What each text says about a leaf; None where it says nothing."""
        getter = self.getters[leaf]
        try:
            return list(map(getter, self.rows))
        except _ABSENT:  # a level is null in some row
            return [_get_or_none(getter, row) for row in self.rows]

    def integers(self, leaf: Path) -> "pa.Int64Array | None":
        """The same for a leaf that is an integer everywhere; None: it is not."""
        if not self.are_typed:
            return None  # NumPy would take True and 1.5 for integers, too
        try:
            numbers = np.fromiter(map(self.getters[leaf], self.rows), np.int64, len(self.rows))
        except (*_ABSENT, OverflowError):
            return None
        return pa.array(numbers)


class StatisticsDecoder(msgspec.Struct, frozen=True):
    """Decodes texts for one set of leaves."""

    attempts: "tuple[msgspec.json.Decoder[Any], ...]"
    """From the strictest to the most tolerant one, which alone must do."""
    getters: Getters

    def decode(self, texts: pa.StringArray) -> DecodedStatistics:
        """Decode one text a row."""
        raw = texts.cast(pa.binary())
        # A text between braces can neither swallow the next line nor hide in it, so that equal
        # counts prove one document for each.
        whole = pc.and_(pc.starts_with(raw, b"{"), pc.ends_with(raw, b"}"))
        if whole.true_count < len(whole):
            raw = pc.if_else(pc.fill_null(whole, False), raw, pa.scalar(b"{}"))
        lines = pc.binary_join_element_wise(raw, b"", b"\n")
        *typed, tolerant = self.attempts
        for decoder in self.attempts:
            try:
                rows = decoder.decode_lines(_data(lines))
            except _DECODE_ERRORS:
                continue
            if len(rows) == len(texts):
                return DecodedStatistics(rows, self.getters, are_typed=decoder in typed)
        rows = [_row(tolerant, line) for line in lines.to_pylist()]
        return DecodedStatistics(rows, self.getters, are_typed=False)


@lru_cache(maxsize=64)
def statistics_decoder(leaves: tuple[tuple[Path, type], ...]) -> StatisticsDecoder:
    """A decoder for these leaves, each with its type. Decimals are never made of other values."""
    tolerant = {leaf: kind | None if kind is Decimal else Any for leaf, kind in leaves}
    try:
        strict_type, names = _struct({leaf: kind | None for leaf, kind in leaves})
        tolerant_type, _ = _struct(tolerant)
    except ValueError:  # msgspec has no fields whose names need escapes
        json = msgspec.json.Decoder(dict[str, Any], float_hook=Decimal)
        return StatisticsDecoder((json,), {leaf: _key_getter(leaf) for leaf, _ in leaves})
    attempts = (msgspec.json.Decoder(strict_type), msgspec.json.Decoder(tolerant_type))
    getters = {leaf: attrgetter(".".join(path)) for leaf, path in names.items()}
    return StatisticsDecoder(attempts, getters)


def _row(decoder: "msgspec.json.Decoder[Any]", line: bytes) -> Any:
    try:
        return decoder.decode(line)
    except _DECODE_ERRORS:
        return decoder.decode(b"{}")


def _struct(leaves: dict[Path, Any]) -> tuple[type[msgspec.Struct], dict[Path, Path]]:
    """A struct type with these leaves, and the attributes that lead to each of them."""
    fields: list[tuple[str, Any, Any]] = []
    rename: dict[str, str] = {}
    attributes: dict[Path, Path] = {}
    for index, name in enumerate(dict.fromkeys(leaf[0] for leaf in leaves)):
        attribute = f"f{index}"
        rename[attribute] = name
        below = {leaf[1:]: kind for leaf, kind in leaves.items() if leaf[0] == name}
        if () in below:
            attributes[name,] = (attribute,)
            fields.append((attribute, below[()], None))
            continue
        level, inner = _struct(below)
        fields.append((attribute, level | None, level()))
        attributes |= {(name, *leaf): (attribute, *path) for leaf, path in inner.items()}
    struct = msgspec.defstruct("Statistics", fields, rename=rename, frozen=True, gc=False)
    return struct, attributes


def _key_getter(leaf: Path) -> Callable[[Any], Any]:
    def get(row: Any) -> Any:
        for key in leaf:
            row = row[key]
        return row

    return get


def _get_or_none(getter: Callable[[Any], Any], row: Any) -> Any:
    try:
        return getter(row)
    except (AttributeError, TypeError, KeyError):
        return None


def _data(lines: pa.BinaryArray) -> Any:
    """The bytes of all lines, one after the other, without a copy."""
    offsets, data = lines.buffers()[1:]
    view = memoryview(offsets).cast("i")
    return memoryview(data)[view[lines.offset] : view[lines.offset + len(lines)]]
