"""Decode the entries of many blocks into Arrow columns, with our field names and types.

Compressed blocks enter, one record batch leaves. Each block is decompressed into the same memory
and decoded while it is in the processor's cache. Blocks that the compiled loop declines are
decompressed again and decoded with fastavro, which decides whether they are damaged.
"""

from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa

from headrace.avro.codec import Records
from headrace.avro.container import (
    Header,
    RawBlock,
    open_block,
    open_block_into,
    stated_size,
)
from headrace.avro.field import COLUMN_TYPES, file_field_names
from headrace.avro.program import program_for
from headrace.avro.record import decode_records
from headrace.compiled.avro_columns import Bodies, Body, fits_one_pass
from headrace.compiled.memory import Memory
from headrace.errors import CorruptStateError
from headrace.protocol import light

_MEMORY = Memory()


def decode_columns(
    blocks: Sequence[RawBlock], header: Header, fields: Sequence[str]
) -> pa.RecordBatch:
    """Decode the requested fields of all entries of the blocks, in order.

    Fields that the file does not have are omitted.

    Raises:
        CorruptStateError: a block is damaged, or a field has a type that cannot be read.
    """
    program = program_for(header.schema, fields)
    columns = None if program is None else program.run(_bodies(blocks, header))
    return (
        _decode_with_fastavro(_decompress_all(blocks, header), header, fields)
        if columns is None
        else columns
    )


def _bodies(blocks: Sequence[RawBlock], header: Header) -> Bodies:
    """Return the records of blocks, decompressed one at a time if all sizes are known."""
    records = sum(block.count for block in blocks)
    sizes = [stated_size(block, header) for block in blocks]
    known = [size for size in sizes if size is not None]
    if len(known) == len(sizes) and fits_one_pass(sum(known)):
        return Bodies(_decompress_one_by_one(blocks, known, header), sum(known), records)
    decompressed = _decompress_all(blocks, header)
    return Bodies(decompressed, sum(len(body) for body, _ in decompressed), records)


def _decompress_one_by_one(
    blocks: Sequence[RawBlock], sizes: Sequence[int], header: Header
) -> Iterator[Body]:
    memory = _MEMORY.block(max(sizes, default=0))
    view = memoryview(memory.bytes)  # type: ignore[arg-type]  # NumPy arrays are buffers
    for block, size in zip(blocks, sizes, strict=True):
        body = view[:size]
        open_block_into(block, header, body)
        yield body, block.count


def _decompress_all(blocks: Sequence[RawBlock], header: Header) -> list[tuple[Records, int]]:
    return [(open_block(block, header), block.count) for block in blocks]


def _decode_with_fastavro(
    bodies: Sequence[tuple[Records, int]], header: Header, fields: Sequence[str]
) -> pa.RecordBatch:
    names = file_field_names(header.schema)
    records = [record for body, count in bodies for record in decode_records(body, count, header)]
    columns = {
        field: _column([record[names[field]] for record in records], field, header)
        for field in fields
        if field in names
    }
    if not columns:
        return pa.RecordBatch.from_struct_array(pa.nulls(len(records), pa.struct([])))
    return pa.RecordBatch.from_pydict(columns)


def _column(values: list[Any], field: str, header: Header) -> pa.Array:
    target = COLUMN_TYPES[field]
    if pa.types.is_map(target):
        values = [None if value is None else list(value.items()) for value in values]
    try:
        return light.array(values, target)
    except (pa.ArrowException, TypeError, AttributeError, OverflowError) as error:
        reason = f"its field {field} is not of type {target}: {error}"
        raise CorruptStateError(path=header.path, reason=reason) from error
