"""The home of a table's states: the folder they are in, and the rules by which they are written."""

from enum import Enum

import msgspec

from headrace.avro.codec import Codec, CodecName
from headrace.log.state_name import HINT_NAME, state_path
from headrace.maintain.setting import Compression, StateSettings
from headrace.protocol.action import Metadata, Protocol, logged_vector_id
from headrace.protocol.column_mapping import MappingMode, mapping_mode
from headrace.protocol.key import FileKey, canonical_path
from headrace.protocol.schema import DataType, PrimitiveType, parse_schema
from headrace.protocol.state import Entry, Tombstone
from headrace.protocol.state_schema import (
    DELTA_ENTRY_SCHEMA,
    INDEXTABLES_ENTRY_SCHEMA,
    Schema,
)

TRANSACTION_LOG = "_transaction_log"
ACCELERATOR = "_headrace"

_CODECS = {
    Compression.ZSTD: CodecName.ZSTD,
    Compression.SNAPPY: CodecName.SNAPPY,
    Compression.NONE: CodecName.NONE,
}


class HomeKind(Enum):
    """The role of a state in its table."""

    INDEXTABLES = "indextables"
    """The state is the commit. Old readers know only plain tombstones."""
    DELTA = "delta"
    """The state accelerates a Delta log, which is the only source of truth."""


class Home(msgspec.Struct, frozen=True, kw_only=True):
    """The folder of the states below a store's root, and their role."""

    kind: HomeKind
    root: str

    @property
    def entry_schema(self) -> Schema:
        """The schema of new manifests."""
        is_delta = self.kind is HomeKind.DELTA
        return DELTA_ENTRY_SCHEMA if is_delta else INDEXTABLES_ENTRY_SCHEMA

    @property
    def hint_path(self) -> str:
        """The path of the pointer to the newest state."""
        return f"{self.root}/{HINT_NAME}"

    def state_path(self, version: int) -> str:
        """Return the path of the file whose existence makes a state."""
        return state_path(self.root, version)

    def key_of(self, entry: Entry) -> FileKey:
        """Return the key of an entry."""
        is_delta = self.kind is HomeKind.DELTA
        vector_id = logged_vector_id(entry.get("deletionVector")) if is_delta else None
        return FileKey(canonical_path(entry["path"]), vector_id)

    def key_of_tombstone(self, tombstone: Tombstone) -> FileKey:
        """Return the key of the file that a tombstone hides."""
        is_delta = self.kind is HomeKind.DELTA
        return FileKey(canonical_path(tombstone.path), tombstone.dv_id if is_delta else None)


INDEXTABLES_HOME = Home(kind=HomeKind.INDEXTABLES, root=TRANSACTION_LOG)
DELTA_HOME = Home(kind=HomeKind.DELTA, root=ACCELERATOR)


def codec_of(settings: StateSettings) -> Codec:
    """Return the codec that the settings select."""
    return Codec(_CODECS[settings.compression], settings.compression_level)


class _Definition(msgspec.Struct, frozen=True, rename="camel"):
    schema_string: str | None = None
    partition_columns: list[str] = []
    configuration: dict[str, str | None] | None = None


class _Wrapped(msgspec.Struct, frozen=True):
    definition: _Definition | None = msgspec.field(default=None, name="metaData")


class _WrappedProtocol(msgspec.Struct, frozen=True):
    protocol: Protocol | None = None


def partition_types(metadata: str | None, *, protocol: str | None = None) -> dict[str, DataType]:
    """Return the partition columns of a table in their order, with their types.

    The names are those that partition values have in the log: physical names if `protocol` and the
    metadata turn column mapping on. A column of unknown type is text. Without metadata nothing is
    known, so there are no columns to sort or prune by.
    """
    if metadata is None:
        return {}
    try:
        wrapped = msgspec.json.decode(metadata, type=_Wrapped)
        definition = wrapped.definition or msgspec.json.decode(metadata, type=_Definition)
        is_mapped = _is_mapped(definition, protocol)
    except ValueError:  # includes msgspec's errors
        return {}
    try:
        schema = parse_schema(definition.schema_string)
    except ValueError:
        schema = parse_schema('{"type":"struct","fields":[]}')
    types: dict[str, DataType] = {}
    for name in definition.partition_columns:
        field = schema.find(name)
        if field is None:
            types[name] = PrimitiveType("string")
        else:
            types[field.physical_name if is_mapped else name] = field.type
    return types


def _is_mapped(definition: _Definition, protocol: str | None) -> bool:
    if protocol is None:
        return False
    wrapped = msgspec.json.decode(protocol, type=_WrappedProtocol)
    action = wrapped.protocol or msgspec.json.decode(protocol, type=Protocol)
    metadata = Metadata(id="", configuration=definition.configuration or {})
    return mapping_mode(action, metadata) is not MappingMode.NONE
