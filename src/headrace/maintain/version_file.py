"""Decodes and encodes the version files and JSON checkpoints of IndexTables logs.

A file is NDJSON, plain, gzip, or gzip after the two bytes `01 01`: its bytes decide, not its name.
A checkpoint is such a file of actions, or one JSON object that lists its parts.
"""

import gzip
import hashlib
import zlib
from base64 import urlsafe_b64encode
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, TypeAlias

import msgspec

from headrace.errors import CorruptLogError
from headrace.protocol.action import DeletionVector, Long
from headrace.protocol.state import Entry

Action: TypeAlias = dict[str, Any]
"""One line: `{"add": {…}}`, `{"remove": {…}}`, and so on."""

REGISTRY_PREFIX = "docMappingSchema."
"""The prefix of the schema registry's keys in the configuration of a table."""

_GZIP = b"\x1f\x8b"
_PREFIX = b"\x01\x01"
_HASH_LETTERS = 16
_INLINE = "docMappingJson"
_REQUIRED: Mapping[str, Any] = {
    "partitionValues": {},
    "size": 0,
    "modificationTime": 0,
    "dataChange": True,
    "hasFooterOffsets": False,
}
_NULLABLE = (
    *("stats", "minValues", "maxValues", "numRecords", "footerStartOffset", "footerEndOffset"),
    *("splitTags", "numMergeOps", "docMappingRef", "uncompressedSizeBytes"),
    *("companionSourceFiles", "companionDeltaVersion", "companionFastFieldMode"),
)


class _FileAction(msgspec.Struct, frozen=True, rename="camel"):
    """The fields of an add or remove that replay relies on."""

    path: str
    size: Long | None = None
    modification_time: Long | None = None
    partition_values: dict[str, str | None] | None = None
    deletion_vector: DeletionVector | None = None


class _Line(msgspec.Struct, frozen=True):
    add: _FileAction | None = None
    remove: _FileAction | None = None
    metadata: dict[str, Any] | None = msgspec.field(default=None, name="metaData")
    protocol: dict[str, Any] | None = None


def decode_actions(content: bytes, *, path: str) -> Iterator[Action]:
    """Return the actions of a version file or of a part of a checkpoint.

    Raises:
        CorruptLogError: it cannot be decompressed, a line is not a JSON object, or an action lacks
            what replay needs.
    """
    for number, line in enumerate(_plain(content, path).splitlines(), start=1):
        if not line.strip():
            continue
        try:
            action = msgspec.json.decode(line)
        except (msgspec.DecodeError, RecursionError, UnicodeDecodeError) as error:
            raise CorruptLogError(path=path, line=number, reason=str(error)) from error
        if not isinstance(action, dict):
            raise CorruptLogError(path=path, line=number, reason="it is not a JSON object")
        try:
            msgspec.convert(action, _Line)
        except msgspec.ValidationError as error:
            raise CorruptLogError(path=path, line=number, reason=str(error)) from error
        yield action


def encode_actions(actions: Iterable[Action]) -> bytes:
    """Return the bytes of a version file."""
    return b"".join(msgspec.json.encode(action) + b"\n" for action in actions)


def checkpoint_parts(content: bytes, *, path: str) -> tuple[str, ...] | None:
    """Return the part names of a multi-part checkpoint; None if it contains the actions itself.

    Raises:
        CorruptLogError: its first line is unreadable, or names a part in another folder.
    """
    first = next(decode_actions(content, path=path), None)
    if first is None or "checkpointId" not in first:
        return None
    parts = first.get("parts")
    if not isinstance(parts, list) or not all(_is_name(part) for part in parts):
        raise CorruptLogError(path=path, line=1, reason="its parts are not names of files")
    return tuple(parts)


def entry_of_add(add: Mapping[str, Any], *, version: int, timestamp_ms: int) -> Entry:
    """Convert an add action of a version to an entry of a state.

    An inline mapping becomes a reference, and `registry_of_add` returns its target. Unknown fields
    are kept.
    """
    entry: Entry = {**_REQUIRED, **dict.fromkeys(_NULLABLE)}
    entry |= {name: value for name, value in add.items() if value is not None and name != _INLINE}
    values = entry["partitionValues"]
    entry["partitionValues"] = {name: value for name, value in values.items() if value is not None}
    if entry["docMappingRef"] is None and add.get(_INLINE):
        entry["docMappingRef"] = mapping_hash(add[_INLINE])
    entry["addedAtVersion"] = add.get("addedAtVersion") or version
    entry["addedAtTimestamp"] = add.get("addedAtTimestamp") or timestamp_ms
    return entry


def registry_of_add(add: Mapping[str, Any]) -> dict[str, str]:
    """Return the registry entry for an add with an inline mapping; usually there is none."""
    inline = add.get(_INLINE)
    if not inline:
        return {}
    return {add.get("docMappingRef") or mapping_hash(inline): inline}


def add_of_entry(entry: Mapping[str, Any]) -> Action:
    """Convert an entry to an add action: nulls are omitted, versions are kept."""
    return {name: value for name, value in entry.items() if value is not None}


def registry_of_metadata(metadata: Mapping[str, Any]) -> dict[str, str]:
    """Return the schema registry in a table's configuration, by hash without prefix."""
    configuration = metadata.get("configuration") or {}
    return {
        name.removeprefix(REGISTRY_PREFIX): value
        for name, value in configuration.items()
        if name.startswith(REGISTRY_PREFIX) and isinstance(value, str)
    }


def mapping_hash(mapping: str) -> str:
    """Return the key of a mapping in the registry: a digest of its canonical JSON."""
    try:
        canonical = msgspec.json.encode(_canonical(msgspec.json.decode(mapping)))
    except msgspec.DecodeError:
        canonical = mapping.encode()
    digest = hashlib.sha256(canonical).digest()
    return urlsafe_b64encode(digest).decode()[:_HASH_LETTERS]


def _canonical(value: Any) -> Any:
    """Sort object keys, and sort arrays of named objects by name."""
    if isinstance(value, dict):
        return {key: _canonical(value[key]) for key in sorted(value)}
    if isinstance(value, list):
        items = [_canonical(item) for item in value]
        if items and all(isinstance(item, dict) and "name" in item for item in items):
            items.sort(key=lambda item: str(item["name"]))
        return items
    return value


def _plain(content: bytes, path: str) -> bytes:
    body = content.removeprefix(_PREFIX) if content[2:4] == _GZIP else content
    if not body.startswith(_GZIP):
        return body
    try:
        return gzip.decompress(body)
    except (OSError, EOFError, zlib.error) as error:
        raise CorruptLogError(path=path, line=None, reason=f"gzip: {error}") from error


def _is_name(part: Any) -> bool:
    return isinstance(part, str) and bool(part) and "/" not in part and part not in {".", ".."}
