"""The actions of a commit, as the protocol defines them.

Field names are the protocol's in snake case. Unknown fields are ignored: it is the protocol action
that guards readers. Numbers and booleans are strict, so a corrupt field is rejected when it is
read.
"""

from collections.abc import Collection, Mapping
from typing import Annotated, Any, TypeAlias, cast

import msgspec

Long: TypeAlias = Annotated[int, msgspec.Meta(ge=-(1 << 63), le=(1 << 63) - 1)]
"""A 64-bit number of the protocol; a larger one is corrupt, and no column could hold it."""
Int: TypeAlias = Annotated[int, msgspec.Meta(ge=-(1 << 31), le=(1 << 31) - 1)]
"""A number that the protocol defines as 32-bit."""


class Action(msgspec.Struct, rename="camel", frozen=True, gc=False, kw_only=True):
    """Base of all actions: immutable, camel case in JSON, not tracked by the garbage collector."""


class DeletionVector(Action, frozen=True):
    """Where the deleted rows of a file are stored, and how many there are."""

    storage_type: str
    path_or_inline_dv: str
    size_in_bytes: Int
    cardinality: Long
    offset: Int | None = None

    @property
    def unique_id(self) -> str:
        """The part of a file's key that distinguishes one vector from another."""
        return vector_id(self.storage_type, self.path_or_inline_dv, self.offset)


def vector_id(storage_type: str, path_or_inline_dv: str, offset: int | None) -> str:
    """Return the unique id of a deletion vector, as the Delta protocol derives it."""
    base = storage_type + path_or_inline_dv
    return base if offset is None else f"{base}@{offset}"


def logged_vector_id(vector: Mapping[str, Any] | None) -> str | None:
    """Return the unique id of a deletion vector with the field names of the log; None without one.

    Some writers put a struct of nulls where there is no vector.
    """
    if vector is None or vector["storageType"] is None:
        return None
    return vector_id(vector["storageType"], vector["pathOrInlineDv"], vector.get("offset"))


class Add(Action, frozen=True):
    """A file that belongs to the table from this commit on."""

    path: str
    size: Long
    partition_values: dict[str, str | None] = {}
    modification_time: Long = 0
    stats: str | None = None
    tags: dict[str, str | None] | None = None
    deletion_vector: DeletionVector | None = None
    data_change: bool = True
    base_row_id: Long | None = None
    default_row_commit_version: Long | None = None
    clustering_provider: str | None = None


class Remove(Action, frozen=True):
    """A file that no longer belongs to the table."""

    path: str
    deletion_vector: DeletionVector | None = None
    data_change: bool = True
    size: Long | None = None
    partition_values: dict[str, str | None] | None = None


class Protocol(Action, frozen=True):
    """The versions and features that a client must support."""

    min_reader_version: Long
    min_writer_version: Long = 0
    reader_features: list[str] | None = None
    writer_features: list[str] | None = None


class Format(Action, frozen=True):
    """How data files are encoded; always Parquet in practice."""

    provider: str = "parquet"
    options: dict[str, str | None] | None = None


class Metadata(Action, frozen=True):
    """The table's schema, partitioning and properties."""

    id: str
    schema_string: str | None = None
    partition_columns: list[str] = []
    configuration: dict[str, str | None] = {}
    name: str | None = None
    description: str | None = None
    format: Format | None = None
    created_time: Long | None = None


class Txn(Action, frozen=True):
    """The progress of an application; the latest per application wins."""

    app_id: str
    version: Long
    last_updated: Long | None = None


class DomainMetadata(Action, frozen=True):
    """Configuration of one named domain; the latest per domain wins."""

    domain: str
    configuration: str = ""
    removed: bool = False


class CommitInfo(Action, frozen=True):
    """The writer's description of its commit; readers rely only on the in-commit timestamp.

    Writers put anything into the other fields, so none of their values makes a commit unreadable.
    """

    in_commit_timestamp: Long | None = None
    timestamp: Any = None
    operation: Any = None
    operation_parameters: Any = None
    operation_metrics: Any = None
    user_id: Any = None
    user_name: Any = None
    engine_info: Any = None
    read_version: Any = None
    isolation_level: Any = None
    is_blind_append: Any = None
    user_metadata: Any = None


class Cdc(Action, frozen=True):
    """A file that holds the changed rows of a commit."""

    path: str
    size: Long
    partition_values: dict[str, str | None] = {}
    tags: dict[str, str | None] | None = None


class Sidecar(Action, frozen=True):
    """A leaf of a V2 checkpoint."""

    path: str
    size_in_bytes: Long = 0
    modification_time: Long = 0


class Checksum(Action, frozen=True):
    """A `.crc` file: the writer's summary of the table at one version."""

    protocol: Protocol | None = None
    metadata: Metadata | None = None
    num_files: Long | None = None
    table_size_bytes: Long | None = None
    in_commit_timestamp_opt: Long | None = None


class LastCheckpoint(Action, frozen=True):
    """The `_last_checkpoint` file: only a hint."""

    version: Long


ACTION_TYPES: dict[str, type[Action]] = {
    "add": Add,
    "remove": Remove,
    "protocol": Protocol,
    "metaData": Metadata,
    "txn": Txn,
    "domainMetadata": DomainMetadata,
    "commitInfo": CommitInfo,
    "cdc": Cdc,
    "sidecar": Sidecar,
}
"""The actions that a plan may request, by their name in the log."""

ActionRow: TypeAlias = Any
"""A decoded line: a struct with one attribute for each requested action."""


def narrowed(kind: type[Action], names: Collection[str]) -> type[Action]:
    """Return a variant of an action type that decodes only the named fields (names as in the log).

    Every other field has its default value, or None if it is a required field. Decoding skips them,
    which saves time: most of a commit is statistics that few scans use.
    """
    fields: list[tuple[str, Any, Any]] = []
    constants: dict[str, Any] = {}
    for field in msgspec.structs.fields(kind):
        absent, make_absent = field.default, field.default_factory
        if make_absent is not msgspec.NODEFAULT:
            absent = make_absent()
        if field.encode_name in names:
            fields.append((field.name, field.type, absent))
        else:
            constants[field.name] = None if absent is msgspec.NODEFAULT else absent
    narrow = msgspec.defstruct(
        kind.__name__, fields, bases=(Action,), namespace=constants, frozen=True
    )
    return cast("type[Action]", narrow)
