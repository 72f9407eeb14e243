"""Checks that Arrow can decode the metadata of all column chunks in a footer.

Arrow decodes them one by one on access, and its Python interface lets exceptions of C++ end the
process. So each footer is checked before the first access: a file enters, an error leaves.
"""

import os
from collections.abc import Iterator
from typing import Any, BinaryIO, cast

import msgspec

from headrace.compiled.soundness import soundness_check
from headrace.engines.arrow.parquet.footer import MAGIC
from headrace.engines.arrow.parquet.thrift import read_struct
from headrace.engines.fetched_file import FetchedFile

_LENGTH_AND_MAGIC = 8
_MAX_CODEC = 7
_BYTE_ARRAY, _FIXED_BYTES = 6, 7
_BOUND_BYTES = {0: 1, 1: 4, 2: 8, 4: 4, 5: 8}
"""The bytes that a bound must have, by physical type."""
_LONGEST_NUMBER = 16

# Field ids of Parquet's metadata, where they are used.
_SCHEMA, _GROUPS, _GROUP_COLUMNS, _CHUNK_METADATA, _CHUNK_ENCRYPTION = 2, 4, 1, 3, (8, 9)
_TYPE, _CODEC, _STATISTICS, _SIZES = 1, 4, 12, 16
_ELEMENT_TYPE, _ELEMENT_LENGTH, _ELEMENT_REPETITION, _ELEMENT_CHILDREN = 1, 2, 3, 5
_BOUNDS = (1, 2, 5, 6)
_SIZE_BYTES, _SIZE_REPETITIONS, _SIZE_DEFINITIONS = 1, 2, 3
_REQUIRED, _REPEATED = 0, 2


class UnsoundFooterError(ValueError):
    """The metadata of a column chunk contradicts the schema."""


class EncryptedColumnError(ValueError):
    """A column is encrypted."""


def with_footer(file: FetchedFile) -> FetchedFile:
    """Fetch the part of the footer that the tail of a file lacks, for Arrow and for the check."""
    size_bytes = _footer_bytes(cast("BinaryIO", file))
    if size_bytes:
        file.extend_tail(size_bytes + _LENGTH_AND_MAGIC)
    return file


def check_footer_of(file: BinaryIO) -> None:
    """Check the footer of an open file; Arrow reports if it is not a Parquet file.

    Raises:
        UnsoundFooterError: Arrow could not decode the metadata of a column chunk.
        EncryptedColumnError: it is encrypted.
    """
    size_bytes = _footer_bytes(file)
    if size_bytes:
        file.seek(-size_bytes - _LENGTH_AND_MAGIC, os.SEEK_END)
        check_footer(bytes(file.read(size_bytes)))


def _footer_bytes(file: BinaryIO) -> int:
    """Return the size of the footer of a Parquet file; 0 if it is none."""
    most_bytes = file.seek(0, os.SEEK_END) - _LENGTH_AND_MAGIC
    if most_bytes < 0:
        return 0
    file.seek(most_bytes)
    end = bytes(file.read(_LENGTH_AND_MAGIC))
    size_bytes = int.from_bytes(end[:4], "little")
    return size_bytes if end[4:] == MAGIC and size_bytes <= most_bytes else 0


def check_footer(footer: bytes) -> None:
    """Check the bytes of a footer.

    Raises:
        UnsoundFooterError, EncryptedColumnError: as for `check_footer_of`.
    """
    is_sound = soundness_check()
    if is_sound is not None and is_sound(footer, len(footer)):
        return
    _check(footer)
    if is_sound is not None:  # it also sees the types in which numbers are stored
        raise UnsoundFooterError("the footer has fields of other types than Parquet's")


class _LeafColumn(msgspec.Struct, frozen=True):
    """A leaf column: its physical type, the size of a fixed one, and its maximum levels."""

    physical_type: int
    size_bytes: int
    max_definition: int
    max_repetition: int

    @property
    def bound_bytes(self) -> int:
        """The bytes that a bound must have; 0 if any number is possible."""
        if self.physical_type == _FIXED_BYTES:
            return self.size_bytes if self.size_bytes <= _LONGEST_NUMBER else 0
        return _BOUND_BYTES.get(self.physical_type, 0)


def _check(footer: bytes) -> None:
    """Check a footer, and say what is wrong with it."""
    try:
        fields, _ = read_struct(footer)
        columns = list(_leaf_columns(fields[_SCHEMA]))
        for number, group in enumerate(fields[_GROUPS]):
            _check_chunks(group[_GROUP_COLUMNS], columns, group=number)
    except (UnsoundFooterError, EncryptedColumnError):
        raise
    except (
        ValueError,
        IndexError,
        LookupError,
        TypeError,
        AttributeError,
        RecursionError,
    ) as error:
        raise UnsoundFooterError("the footer cannot be decoded") from error


def _check_chunks(chunks: list[dict[int, Any]], columns: list[_LeafColumn], *, group: int) -> None:
    if len(chunks) != len(columns):
        reason = f"row group {group} has {len(chunks)} columns, the schema has {len(columns)}"
        raise UnsoundFooterError(reason)
    for number, (chunk, column) in enumerate(zip(chunks, columns, strict=True)):
        if any(field in chunk for field in _CHUNK_ENCRYPTION):
            raise EncryptedColumnError("some of its columns are encrypted")
        if not _is_sound(chunk[_CHUNK_METADATA], column):
            reason = f"the metadata of column {number} in row group {group} contradicts the schema"
            raise UnsoundFooterError(reason)


def _is_sound(metadata: dict[int, Any], column: _LeafColumn) -> bool:
    statistics, sizes = metadata.get(_STATISTICS, {}), metadata.get(_SIZES, {})
    bounds = (statistics[field] for field in _BOUNDS if field in statistics)
    histograms = (
        (sizes.get(_SIZE_REPETITIONS), column.max_repetition),
        (sizes.get(_SIZE_DEFINITIONS), column.max_definition),
    )
    return (
        metadata[_TYPE] == column.physical_type
        and 0 <= metadata[_CODEC] <= _MAX_CODEC
        and all(len(bound) >= column.bound_bytes for bound in bounds)
        and (_SIZE_BYTES not in sizes or column.physical_type == _BYTE_ARRAY)
        and all(not counts or len(counts) == level + 1 for counts, level in histograms)
    )


def _leaf_columns(elements: list[dict[int, Any]]) -> Iterator[_LeafColumn]:
    """Walk the schema, a flat depth-first list, and yield its leaf columns."""
    above = [[elements[0][_ELEMENT_CHILDREN], 0, 0]]
    for element in elements[1:]:
        while not above[-1][0]:
            above.pop()
        above[-1][0] -= 1
        _, definition, repetition = above[-1]
        kind = element.get(_ELEMENT_REPETITION, _REQUIRED)
        if not _REQUIRED <= kind <= _REPEATED:
            raise UnsoundFooterError(f"a column has the repetition {kind}")
        definition, repetition = definition + (kind != _REQUIRED), repetition + (kind == _REPEATED)
        if element.get(_ELEMENT_CHILDREN):
            above.append([element[_ELEMENT_CHILDREN], definition, repetition])
        else:
            size_bytes = element.get(_ELEMENT_LENGTH, 0)
            yield _LeafColumn(element[_ELEMENT_TYPE], size_bytes, definition, repetition)
