"""The actions that a commit of ours may hold, as they are written to the log."""

from urllib.parse import quote

import msgspec

from headrace.protocol.action import DeletionVector

_PLAIN_IN_A_PATH = "/=:@!$&'()*+,;~"


class _Written(msgspec.Struct, rename="camel", frozen=True, kw_only=True, omit_defaults=True):
    """What all written actions share: camel case in JSON, nothing that says nothing."""


class AddFile(_Written, frozen=True):
    """A file that belongs to the table from this commit on."""

    path: str
    """As the log has it: see `log_path`."""
    partition_values: dict[str, str | None]
    size: int
    modification_time: int
    data_change: bool
    stats: str | None = None
    deletion_vector: DeletionVector | None = None
    tags: dict[str, str | None] | None = None


class RemoveFile(_Written, frozen=True):
    """A file that no longer belongs to the table."""

    path: str
    deletion_timestamp: int
    data_change: bool
    partition_values: dict[str, str | None]
    size: int
    extended_file_metadata: bool
    deletion_vector: DeletionVector | None = None


class ChangeFile(_Written, frozen=True):
    """A file that holds the changed rows of a commit, for readers of the change data feed."""

    path: str
    partition_values: dict[str, str | None]
    size: int
    data_change: bool


class Transaction(_Written, frozen=True):
    """How far an application has got."""

    app_id: str
    version: int
    last_updated: int


class TableProtocol(_Written, frozen=True):
    """What a client of the table must be able to do."""

    min_reader_version: int
    min_writer_version: int
    reader_features: list[str] | None = None
    writer_features: list[str] | None = None


class TableFormat(_Written, frozen=True):
    """How data files are encoded."""

    provider: str
    options: dict[str, str]


class TableMetadata(_Written, frozen=True):
    """The table's schema, partitioning and properties."""

    id: str
    schema_string: str
    partition_columns: list[str]
    configuration: dict[str, str]
    format: TableFormat
    created_time: int | None = None
    name: str | None = None
    description: str | None = None


def log_path(path: str) -> str:
    """A path below the table as the log has it: a URI, percent-encoded."""
    return quote(path, safe=_PLAIN_IN_A_PATH)
