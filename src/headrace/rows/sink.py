"""Writes rows to a stream; every format is written and flushed batch by batch.

In text formats, times are in ISO 8601, decimals have all their digits, binary values are in Base64,
and NaN and infinities have names. Null is `null`, and empty in CSV.
"""

import io
from collections.abc import Callable, Iterator
from typing import Any, BinaryIO, TypeAlias

import msgspec
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.parquet as pq
from pyarrow import types

from headrace.errors import InvalidArgumentError
from headrace.protocol import light

Write: TypeAlias = Callable[[pa.RecordBatchReader, BinaryIO], None]

_NOT_A_NUMBER = {"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}


def write_jsonl(rows: pa.RecordBatchReader, sink: BinaryIO) -> None:
    """Write a JSON object per line; maps with string keys are objects, others lists of pairs."""
    encode = msgspec.json.Encoder().encode_lines
    for batch in rows:
        sink.write(encode(plain_rows(batch)))
        sink.flush()


def write_csv(rows: pa.RecordBatchReader, sink: BinaryIO) -> None:
    """Write comma-separated values with a header; nested values are JSON."""
    schema = pa.schema([(field.name, _csv_type(field.type)) for field in rows.schema])
    with pyarrow.csv.CSVWriter(sink, schema) as writer:
        for batch in rows:
            writer.write_batch(
                pa.RecordBatch.from_arrays(
                    [_csv_column(batch.column(i)) for i in range(batch.num_columns)], schema=schema
                )
            )
            sink.flush()


def write_arrow(rows: pa.RecordBatchReader, sink: BinaryIO) -> None:
    """Write an Arrow IPC stream. If reading fails, it has no end marker."""
    writer = pa.ipc.new_stream(sink, rows.schema)
    for batch in rows:
        writer.write_batch(batch)
        sink.flush()
    writer.close()


def write_parquet(rows: pa.RecordBatchReader, sink: BinaryIO) -> None:
    """Write a Parquet file, a row group per batch. If reading fails, it has no footer."""
    breakable = _Breakable(sink)
    with breakable, pq.ParquetWriter(breakable, rows.schema) as writer:
        try:
            for batch in rows:
                writer.write_batch(batch)
        except BaseException:
            breakable.broken = True
            raise


class _Breakable(io.RawIOBase):
    """A sink that discards everything after a failure.

    Parquet's writer finishes its file even when it is only released, so a partial file would look
    complete.
    """

    def __init__(self, sink: BinaryIO) -> None:
        self.broken = False
        self._sink = sink

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        return len(data) if self.broken else self._sink.write(data)


def plain_rows(batch: pa.RecordBatch) -> list[dict[str, Any]]:
    """Return the rows as values that JSON can represent.

    Raises:
        InvalidArgumentError: a time is out of the range of ISO 8601 years.
    """
    names = batch.schema.names
    columns = [_plain_column(batch.column(i)) for i in range(batch.num_columns)]
    if not columns:
        return [{} for _ in range(batch.num_rows)]
    return [dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True)]


def _plain_column(column: pa.Array) -> list[Any]:
    texts = any(_has_float(kind) for kind in _parts(column.type))
    keys = [kind.key_type for kind in _parts(column.type) if types.is_map(kind)]
    as_objects = all(types.is_string(key) for key in keys)
    try:
        values: list[Any] = column.to_pylist(maps_as_pydicts="lossy" if as_objects else None)
    except (ValueError, OverflowError) as error:
        reason = f"a value has no text form ({error}); use arrow or parquet"
        raise InvalidArgumentError(argument="--format", reason=reason) from error
    return [_named(value) for value in values] if texts else values


def _parts(kind: pa.DataType) -> Iterator[pa.DataType]:
    yield kind
    for index in range(kind.num_fields):
        yield from _parts(kind.field(index).type)


def _has_float(kind: pa.DataType) -> bool:
    return bool(types.is_floating(kind))


def _named(value: Any) -> Any:
    """Return the value with NaN and infinities replaced by their names."""
    match value:
        case float():
            return _NOT_A_NUMBER.get(str(value), value)
        case list():
            return [_named(part) for part in value]
        case tuple():
            return tuple(_named(part) for part in value)
        case dict():
            return {key: _named(part) for key, part in value.items()}
        case _:
            return value


def _csv_type(kind: pa.DataType) -> pa.DataType:
    return pa.string() if types.is_nested(kind) or _is_bytes(kind) else kind


def _csv_column(column: pa.Array) -> pa.Array:
    if not types.is_nested(column.type) and not _is_bytes(column.type):
        return column
    encode = msgspec.json.encode
    texts = [None if value is None else encode(value).decode() for value in _plain_column(column)]
    column_texts = light.array(texts, pa.string())
    # Base64 needs no escapes in JSON.
    return pc.utf8_trim(column_texts, '"') if _is_bytes(column.type) else column_texts


def _is_bytes(kind: pa.DataType) -> bool:
    return bool(types.is_binary(kind))
