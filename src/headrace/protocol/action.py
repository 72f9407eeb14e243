"""The actions of a commit, as the protocol defines them.

Field names are the protocol's in snake case. Unknown fields are ignored: the protocol action
is what guards a reader. Numbers and booleans are strict, so a damaged field that is read never
passes.
"""

from collections.abc import Collection
from typing import Annotated, Any, TypeAlias, cast

import msgspec

Long: TypeAlias = Annotated[int, msgspec.Meta(ge=-(1 << 63), le=(1 << 63) - 1)]
"""A number of the protocol; a larger one is damage, and no column would hold it."""
Int: TypeAlias = Annotated[int, msgspec.Meta(ge=-(1 << 31), le=(1 << 31) - 1)]
"""A number of which the protocol says that it has 32 bits."""


class Action(msgspec.Struct, rename="camel", frozen=True, gc=False, kw_only=True):
    """What all actions share: immutable, camel case in JSON, invisible to the collector."""


class DeletionVector(Action, frozen=True):
    """Which rows of a file are deleted, and where that is written."""

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


class Remove(Action, frozen=True):
    """A file that no longer belongs to the table."""

    path: str
    deletion_vector: DeletionVector | None = None
    data_change: bool = True
    size: Long | None = None
    partition_values: dict[str, str | None] | None = None


class Protocol(Action, frozen=True):
    """What a client must be able to do."""

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
    """How far an application has got; the latest per application wins."""

    app_id: str
    version: Long
    last_updated: Long | None = None


class DomainMetadata(Action, frozen=True):
    """Configuration of one named domain; the latest per domain wins."""

    domain: str
    configuration: str = ""
    removed: bool = False


class CommitInfo(Action, frozen=True):
    """What the writer said about its commit; of this only the trusted timestamp matters to readers.

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
    """A `.crc` file: what the table looked like at one version, by its writer's account."""

    protocol: Protocol | None = None
    metadata: Metadata | None = None
    num_files: Long | None = None
    table_size_bytes: Long | None = None
    in_commit_timestamp_opt: Long | None = None


class LastCheckpoint(Action, frozen=True):
    """The `_last_checkpoint` file: a hint, never more."""

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
"""The actions a plan may ask for, by their name in the log."""

ActionRow: TypeAlias = Any
"""A decoded line: a struct with one attribute for each action that was asked for."""


def narrowed(kind: type[Action], names: Collection[str]) -> type[Action]:
    """An action of this kind with the fields of these names alone, as the log spells them.

    The others are as if the writer had left them out, and None where it must not. Decoding passes
    over them, which is what this is for: most of a commit is statistics that few scans look at.
    """
    kept: list[tuple[str, Any, Any]] = []
    left_out: dict[str, Any] = {}
    for field in msgspec.structs.fields(kind):
        absent, make_absent = field.default, field.default_factory
        if make_absent is not msgspec.NODEFAULT:
            absent = make_absent()
        if field.encode_name in names:
            kept.append((field.name, field.type, absent))
        else:
            left_out[field.name] = None if absent is msgspec.NODEFAULT else absent
    made = msgspec.defstruct(kind.__name__, kept, bases=(Action,), namespace=left_out, frozen=True)
    return cast("type[Action]", made)
