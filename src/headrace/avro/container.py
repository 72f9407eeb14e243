"""The Avro container format: a header, then blocks that each end with the header's sync marker.

An Avro file has no footer, so a file truncated after a block looks complete. Readers must compare
its record count, length or digest with those in its state.
"""

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from headrace.avro.codec import MAX_BLOCK_BYTES, Bytes, Codec, Records, codec_named
from headrace.avro.varint import read_long, write_long
from headrace.errors import CorruptStateError, UnsupportedStateError
from headrace.protocol.state_schema import Schema

MAGIC = b"Obj\x01"
SYNC_BYTES = 16
MAX_HEADER_BYTES = 1 << 26
"""Large enough for a block index of some hundred thousand blocks."""
MAX_RECORDS = 1 << 24
"""The maximum number of records per block that this reader accepts; the format allows more."""

_MAX_KEYS = 1 << 12
_MAX_SCHEMA = 24
_MAX_TYPES = 4096
_DEEPEST_DATA = 64
_TYPE_KEYS = ("type", "items", "values", "fields")


class Header(msgspec.Struct, frozen=True, kw_only=True):
    """The header of a file: schema, codec, sync marker and further metadata."""

    path: str
    schema: Schema
    codec: Codec
    sync: bytes
    metadata: dict[str, bytes]
    """The entries besides schema and codec."""
    length_bytes: int
    """The length of the header, which is the offset of the first block."""


class RawBlock(msgspec.Struct, frozen=True, kw_only=True):
    """A compressed block of a file, without its frame."""

    count: int
    """The number of records."""
    payload: Bytes

    def framed(self, sync: bytes) -> bytes:
        """Return the block's bytes in a file with the given sync marker."""
        head = write_long(self.count) + write_long(len(self.payload))
        return head + bytes(self.payload) + sync


def write_header(
    schema: Schema, codec: Codec, sync: bytes, *, metadata: Mapping[str, bytes]
) -> bytes:
    """Return the bytes of a header."""
    entries = {
        "avro.schema": msgspec.json.encode(schema),
        "avro.codec": codec.name.value.encode(),
        **metadata,
    }
    out = [MAGIC, write_long(len(entries))]
    for key, value in entries.items():
        name = key.encode()
        out += [write_long(len(name)), name, write_long(len(value)), value]
    return b"".join((*out, write_long(0), sync))


def read_header(data: Bytes, *, path: str) -> Header | None:
    """Return the header at the start of a file; None if `data` ends within it.

    Raises:
        CorruptStateError: the header is damaged, or the file is not an Avro file.
        UnsupportedStateError: the codec is not supported.
    """
    view = memoryview(data)
    if bytes(view[:4]) != MAGIC[: len(view)]:
        raise CorruptStateError(path=path, reason="it does not begin with the magic bytes of Avro")
    try:
        entries, at = _entries(view, len(MAGIC))
        sync = bytes(view[at : at + SYNC_BYTES])
    except IndexError:
        if len(view) > MAX_HEADER_BYTES:
            raise CorruptStateError(path=path, reason="the header is too long") from None
        return None
    except ValueError as error:
        raise CorruptStateError(path=path, reason=f"the header is damaged: {error}") from error
    if len(sync) < SYNC_BYTES:
        return None
    name = entries.pop("avro.codec", b"null").decode(errors="replace")
    codec = codec_named(name)
    if codec is None:
        raise UnsupportedStateError(path=path, reason=f"codec {name!r} is not supported")
    return Header(
        path=path,
        schema=_schema(entries.pop("avro.schema", b""), path),
        codec=codec,
        sync=sync,
        metadata=entries,
        length_bytes=at + SYNC_BYTES,
    )


def split_blocks(data: Bytes, header: Header) -> Iterator[RawBlock]:
    """Yield the blocks in `data`, which starts at a block boundary.

    Raises:
        CorruptStateError: `data` does not consist of complete blocks.
    """
    view, at = memoryview(data), 0
    while at < len(view):
        try:
            count, start = read_long(view, at)
            size, start = read_long(view, start)
        except (IndexError, ValueError) as error:
            raise _damaged(header, at, "its frame is damaged") from error
        stop = start + size
        if not (0 <= count <= MAX_RECORDS and 0 <= size <= MAX_BLOCK_BYTES):
            raise _damaged(header, at, f"it claims {count} records in {size} bytes")
        if stop + SYNC_BYTES > len(view):
            raise _damaged(header, at, "the file ends within it")
        if view[stop : stop + SYNC_BYTES] != header.sync:
            raise _damaged(header, at, "its sync marker is wrong")
        yield RawBlock(count=count, payload=view[start:stop])
        at = stop + SYNC_BYTES


def open_block(block: RawBlock, header: Header) -> Records:
    """Decompress a block.

    Raises:
        CorruptStateError: the block does not decompress, or is larger than the limit.
    """
    try:
        return header.codec.decompress(block.payload)
    except ValueError as error:
        raise CorruptStateError(path=header.path, reason=str(error)) from error


def stated_size(block: RawBlock, header: Header) -> int | None:
    """Return the decompressed size that a block states; None if it states none.

    Raises:
        CorruptStateError: the block is damaged.
    """
    try:
        return header.codec.size_of(block.payload)
    except ValueError as error:
        raise CorruptStateError(path=header.path, reason=str(error)) from error


def open_block_into(block: RawBlock, header: Header, out: memoryview) -> None:
    """Decompress a block whose stated size is that of `out`.

    Raises:
        CorruptStateError: the block does not decompress, or has another size.
    """
    try:
        header.codec.decompress_into(block.payload, out)
    except ValueError as error:
        raise CorruptStateError(path=header.path, reason=str(error)) from error


def _damaged(header: Header, at: int, reason: str) -> CorruptStateError:
    position = header.length_bytes + at
    return CorruptStateError(path=header.path, reason=f"block at byte {position}: {reason}")


def _entries(view: memoryview, at: int) -> tuple[dict[str, bytes], int]:
    """Return the metadata map at an offset, and the offset after it.

    Raises:
        IndexError: the data ends within the map.
        ValueError: the map is malformed.
    """
    entries: dict[str, bytes] = {}
    while True:
        count, at = read_long(view, at)
        if count == 0:
            return entries, at
        if count < 0:
            count = -count
            _, at = read_long(view, at)
        if count > _MAX_KEYS:
            raise ValueError(f"it claims {count} entries")
        for _ in range(count):
            key, at = _bytes(view, at)
            value, at = _bytes(view, at)
            entries[key.decode()] = value


def _bytes(view: memoryview, at: int) -> tuple[bytes, int]:
    size, at = read_long(view, at)
    if not 0 <= size <= MAX_HEADER_BYTES:
        raise ValueError(f"an entry claims {size} bytes")
    if at + size > len(view):
        raise IndexError
    return bytes(view[at : at + size]), at + size


def _schema(text: bytes, path: str) -> Schema:
    try:
        schema: Any = msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError) as error:
        raise CorruptStateError(path=path, reason="its schema is not JSON") from error
    if not isinstance(schema, dict) or schema.get("type") != "record":
        raise CorruptStateError(path=path, reason="its schema is not a record schema")
    if not _has_well_formed_fields(schema):
        raise CorruptStateError(path=path, reason="a field of its schema has no name or no type")
    if _count_types(schema, _MAX_SCHEMA) > _MAX_TYPES:
        raise CorruptStateError(path=path, reason="its schema is too deep or too wide")
    if max(_extent(schema, {})) > _MAX_TYPES:
        raise CorruptStateError(path=path, reason="its schema is recursive or expands too far")
    if _has_zero_byte_items(schema):
        raise CorruptStateError(path=path, reason="its schema has arrays of zero-byte items")
    return schema


def _has_well_formed_fields(schema: Schema) -> bool:
    fields = schema.get("fields")
    return isinstance(fields, list) and all(
        isinstance(field, dict) and isinstance(field.get("name"), str) and "type" in field
        for field in fields
    )


def _count_types(schema: Any, depth: int) -> int:
    """Count the JSON values of a schema; a schema that is too deep exceeds the limit."""
    if depth == 0:
        return _MAX_TYPES + 1
    children = schema.values() if isinstance(schema, dict) else schema
    if not isinstance(schema, (dict, list)):
        return 1
    count = 1
    for child in children:
        count += _count_types(child, depth - 1)
        if count > _MAX_TYPES:
            break
    return count


_UNBOUNDED = (_MAX_TYPES + 1, _MAX_TYPES + 1)


def _extent(schema: Any, named: dict[str, tuple[int, int]]) -> tuple[int, int]:
    """Return the number of types of a schema and their depth, with references expanded.

    fastavro decodes nested records by recursion in C: a record that contains itself could overflow
    the stack, and records that contain others twice could take forever.
    """
    if isinstance(schema, str):
        return named.get(_short_name(schema), (1, 1))
    if isinstance(schema, list):
        parts = [_extent(part, named) for part in schema]
    elif isinstance(schema, dict):
        if "fields" in schema:
            named[_short_name(schema.get("name"))] = _UNBOUNDED  # until it is complete
        parts = [_extent(schema[key], named) for key in _TYPE_KEYS if key in schema]
    else:
        return 1, 1
    count, depth = 1 + sum(c for c, _ in parts), 1 + max((d for _, d in parts), default=0)
    if depth > _DEEPEST_DATA:
        count, depth = _UNBOUNDED
    if isinstance(schema, dict) and "fields" in schema:
        named[_short_name(schema.get("name"))] = count, depth
    return count, depth


def _short_name(name: object) -> str:
    return str(name).rpartition(".")[2]


def _has_zero_byte_items(schema: Any) -> bool:
    """Return whether a schema has arrays of zero-byte items, whose count cannot be checked."""
    if isinstance(schema, list):
        return any(map(_has_zero_byte_items, schema))
    if not isinstance(schema, dict):
        return False
    if schema.get("type") == "array" and not _takes_bytes(schema.get("items")):
        return True
    return any(map(_has_zero_byte_items, schema.values()))


def _takes_bytes(kind: Any) -> bool:
    match kind:
        case "boolean" | "int" | "long" | "float" | "double" | "bytes" | "string":
            return True
        case list() | {"type": "array" | "map" | "enum"}:
            return True
        case {"type": "fixed", "size": int(size)}:
            return size > 0
        case {"type": "record", "fields": list(fields)}:
            return any(
                isinstance(field, dict) and _takes_bytes(field.get("type")) for field in fields
            )
        case {"type": inner}:
            return _takes_bytes(inner)
        case _:  # null, or a reference to a named type
            return False
