"""Encode records with fastavro, and decode the records of single blocks.

fastavro defines what is valid: whatever it raises becomes a `CorruptStateError`.
"""

from collections.abc import Iterable
from functools import lru_cache
from io import BytesIO
from typing import Any

import fastavro
import msgspec

from headrace.avro.codec import Records
from headrace.avro.container import Header, RawBlock, open_block
from headrace.errors import CorruptStateError
from headrace.protocol.state import Entry
from headrace.protocol.state_schema import Schema

_DAMAGE = (
    *(ValueError, TypeError, IndexError, KeyError, EOFError, OverflowError, MemoryError),
    *(AttributeError, RecursionError, StopIteration, fastavro.schema.SchemaParseException),
)
"""The exceptions that fastavro raises for invalid bytes or schemas."""


def encode_records(records: Iterable[Any], schema: Schema) -> bytes:
    """Encode records, without frame or compression."""
    parsed, out = _parsed(msgspec.json.encode(schema)), BytesIO()
    for record in records:
        fastavro.schemaless_writer(out, parsed, record)
    return out.getvalue()


def decode_records(body: Records, count: int, header: Header) -> list[Entry]:
    """Decode a decompressed block into records with the field names of the file's schema.

    Raises:
        CorruptStateError: the bytes are not exactly `count` records of the schema.
    """
    stream = BytesIO(body)
    try:
        parsed = _parsed(msgspec.json.encode(header.schema))
        records = [fastavro.schemaless_reader(stream, parsed, None) for _ in range(count)]
    except _DAMAGE as error:
        reason = f"a record is damaged: {type(error).__name__} {error}"
        raise CorruptStateError(path=header.path, reason=reason) from error
    if stream.tell() != len(body):
        reason = f"a block has more than its {count} records"
        raise CorruptStateError(path=header.path, reason=reason)
    return records  # type: ignore[return-value]  # the schema is that of a record


def decode_block(block: RawBlock, header: Header) -> list[Entry]:
    """Decompress and decode a block into records.

    Raises:
        CorruptStateError: the block is damaged.
    """
    return decode_records(open_block(block, header), block.count, header)


@lru_cache(maxsize=64)
def _parsed(schema: bytes) -> Any:
    return fastavro.parse_schema(msgspec.json.decode(schema))
