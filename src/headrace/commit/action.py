"""The actions that Headrace writes into a commit, in the form that the log requires."""

from urllib.parse import quote

import msgspec

from headrace.protocol.action import DeletionVector

_PLAIN_IN_A_PATH = "/=:@!$&'()*+,;~"


class _WrittenAction(msgspec.Struct, rename="camel", frozen=True, kw_only=True, omit_defaults=True):
    """Base of all written actions: camel case in JSON, fields at their default are omitted."""


class AddFile(_WrittenAction, frozen=True):
    """A file that this commit adds to the table."""

    path: str
    """The percent-encoded path: see `log_path`."""
    partition_values: dict[str, str | None]
    size: int
    modification_time: int
    data_change: bool
    stats: str | None = None
    deletion_vector: DeletionVector | None = None
    tags: dict[str, str | None] | None = None


class RemoveFile(_WrittenAction, frozen=True):
    """A file that this commit removes from the table."""

    path: str
    deletion_timestamp: int
    data_change: bool
    partition_values: dict[str, str | None]
    size: int
    extended_file_metadata: bool
    deletion_vector: DeletionVector | None = None


class ChangeFile(_WrittenAction, frozen=True):
    """A file with the changed rows of a commit, for readers of the change data feed."""

    path: str
    partition_values: dict[str, str | None]
    size: int
    data_change: bool


class Transaction(_WrittenAction, frozen=True):
    """The progress of an application, as its latest transaction version."""

    app_id: str
    version: int
    last_updated: int


class TableProtocol(_WrittenAction, frozen=True):
    """The protocol versions and features that a client of the table must support."""

    min_reader_version: int
    min_writer_version: int
    reader_features: list[str] | None = None
    writer_features: list[str] | None = None


class TableFormat(_WrittenAction, frozen=True):
    """The encoding of data files."""

    provider: str
    options: dict[str, str]


class TableMetadata(_WrittenAction, frozen=True):
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
    """Return a path below the table in the form of the log: a percent-encoded URI."""
    return quote(path, safe=_PLAIN_IN_A_PATH)
