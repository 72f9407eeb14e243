"""Encode and decode `_manifest.avro`, an Avro file whose only record is a state."""

from hashlib import sha256
from os import urandom
from typing import Any

import msgspec

from headrace.avro.codec import Codec
from headrace.avro.container import SYNC_BYTES, RawBlock, read_header, split_blocks, write_header
from headrace.avro.record import decode_block, encode_records
from headrace.errors import CorruptStateError, UnsupportedStateError
from headrace.protocol.state import StateManifest
from headrace.protocol.state_schema import (
    FORMAT_VERSION,
    PROTOCOL_VERSION,
    STATE_MANIFEST_SCHEMA,
    Schema,
)

DIGEST_KEY = "headrace.sha256"
"""The header entry that contains the digest; other writers do not write it."""


def encode_state(state: StateManifest, *, codec: Codec | None = None) -> bytes:
    """Encode a state as an Avro file."""
    used_codec, sync = codec or Codec(), urandom(SYNC_BYTES)
    record = encode_records([msgspec.to_builtins(state)], STATE_MANIFEST_SCHEMA)
    block = RawBlock(count=1, payload=used_codec.compress(record))
    digest = {DIGEST_KEY: _digest(STATE_MANIFEST_SCHEMA, block).encode()}
    header = write_header(STATE_MANIFEST_SCHEMA, used_codec, sync, metadata=digest)
    return header + block.framed(sync)


def decode_state(content: bytes, *, path: str) -> StateManifest:
    """Decode the state in an Avro file.

    Raises:
        CorruptStateError: the file is damaged or inconsistent.
        UnsupportedStateError: its format is newer than this reader.
    """
    header = read_header(content, path=path)
    if header is None:
        raise CorruptStateError(path=path, reason="the file ends within its header")
    blocks = list(split_blocks(memoryview(content)[header.length_bytes :], header))
    digest = header.metadata.get(DIGEST_KEY)
    if digest is not None and [_digest(header.schema, block).encode() for block in blocks] != [
        digest
    ]:
        raise CorruptStateError(path=path, reason="its digest differs from the one in its header")
    records = [record for block in blocks for record in decode_block(block, header)]
    if len(records) != 1:
        raise CorruptStateError(path=path, reason=f"it has {len(records)} records, not one")
    return _checked(records[0], path)


def _digest(schema: Schema, block: RawBlock) -> str:
    """Return the digest of a state, computed over its schema and its only block."""
    digest = sha256(msgspec.json.encode(schema))
    digest.update(block.payload)
    return digest.hexdigest()


def _checked(record: Any, path: str) -> StateManifest:
    version = record.get("formatVersion")
    if isinstance(version, int) and version > FORMAT_VERSION:
        reason = f"its format version is {version}; this reader supports up to {FORMAT_VERSION}"
        raise UnsupportedStateError(path=path, reason=reason)
    try:
        state = msgspec.convert(record, StateManifest)
    except msgspec.ValidationError as error:
        raise CorruptStateError(path=path, reason=f"it is not a state: {error}") from error
    if state.protocol_version > PROTOCOL_VERSION:
        reason = f"its protocol version is {state.protocol_version}; this reader supports up to "
        raise UnsupportedStateError(path=path, reason=f"{reason}{PROTOCOL_VERSION}")
    counts = [state.state_version, state.num_files, state.total_bytes]
    if min(*counts, *(info.num_entries for info in state.manifests), 0) < 0:
        raise CorruptStateError(path=path, reason="it has negative counts")
    if len({info.path for info in state.manifests}) != len(state.manifests):
        raise CorruptStateError(path=path, reason="it names a manifest twice")
    entries = sum(info.num_entries for info in state.manifests)
    if entries < state.num_files:
        reason = f"it records {state.num_files} files, but its manifests have {entries} entries"
        raise CorruptStateError(path=path, reason=reason)
    return state
