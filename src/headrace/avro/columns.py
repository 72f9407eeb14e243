"""Decode the entries of many blocks into Arrow columns, with our field names and types."""

from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from headrace.avro.codec import Records
from headrace.avro.container import Header, RawBlock, open_block
from headrace.avro.field import COLUMN_TYPES, names_here
from headrace.avro.program import program_for
from headrace.avro.record import decode_records
from headrace.errors import CorruptStateError


def decode_columns(
    blocks: Sequence[RawBlock], header: Header, fields: Sequence[str]
) -> pa.RecordBatch:
    """Decode the requested fields of all entries of the blocks, in order.

    Fields that the file does not have are omitted.

    Raises:
        CorruptStateError: a block is damaged, or a field has a type that cannot be read.
    """
    bodies = [(open_block(block, header), block.count) for block in blocks]
    program = program_for(header.schema, fields)
    columns = None if program is None else program.run(bodies)
    return _decoded_slowly(bodies, header, fields) if columns is None else columns


def _decoded_slowly(
    bodies: Sequence[tuple[Records, int]], header: Header, fields: Sequence[str]
) -> pa.RecordBatch:
    names = names_here(header.schema)
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
        return pa.array(values, target)
    except (pa.ArrowException, TypeError, AttributeError, OverflowError) as error:
        reason = f"its field {field} is not of type {target}: {error}"
        raise CorruptStateError(path=header.path, reason=reason) from error
