"""The table that an output is written to, before the commit.

A write and the newest snapshot enter; whether the table fits the view's header and contract, and
the protocol and metadata that the commit must contain, leave.
"""

from collections.abc import Iterator
from functools import cached_property
from typing import Any

import msgspec

from headrace.commit.action import TableFormat, TableMetadata, TableProtocol
from headrace.commit.definition import (
    CHANGE_FEED,
    check_writable,
    new_metadata,
    new_protocol,
    raised_protocol,
    schema_string,
)
from headrace.commit.fence import is_only_fence
from headrace.commit.log import NO_VERSION
from headrace.errors import InvalidResultError, TableNotFoundError
from headrace.pipeline.contract import FINGERPRINT_KEY, Contract
from headrace.pipeline.output.write import OutputWrite
from headrace.table import Snapshot

_ORDERED_BY = "headrace.orderedBy"
_OWN_PROPERTIES = "headrace.properties"
"""The property that lists the properties set by contracts, so that dropped ones are removed."""


class Target:
    """An existing or future table, compared with the write of a view."""

    def __init__(
        self, write: OutputWrite, snapshot: Snapshot | None, *, version: int = NO_VERSION
    ) -> None:
        """Take the newest snapshot of the table, None if there is no table yet, and its version."""
        self._write = write
        self.snapshot = snapshot
        self._version = version
        self._schema_text = schema_string(write.schema)

    @property
    def next_version(self) -> int:
        """The version that a commit would create."""
        return self._version + 1

    @cached_property
    def fits(self) -> bool:
        """Whether the table has the columns, partitions and change feed that the view writes."""
        if self.snapshot is None:
            return False
        header, metadata = self._write.header, self.snapshot.metadata
        return (
            _bare_schema(metadata.schema_string or "{}") == _bare_schema(self._schema_text)
            and tuple(metadata.partition_columns) == header.partition_by
            and (metadata.configuration.get(CHANGE_FEED) == "true") == header.change_feed
        )

    def refuse_other_columns(self) -> None:
        """Check that rows can be added to the table.

        Raises:
            InvalidResultError: the table has other columns, partitions or change feed.
        """
        if self.snapshot is not None and not self.fits:
            reason = (
                f"{self._write.table} differs from the view in columns, partitioning or change "
                "feed: replace it with --full-refresh"
            )
            raise InvalidResultError(view=self._write.note.view, reason=reason)

    def check_writable(self, *, removes_files: bool) -> None:
        """Check that Headrace supports the writer features of the table.

        Raises:
            UnwritableTableError: it does not.
        """
        if self.snapshot is not None:
            check_writable(
                self.snapshot.protocol,
                self.snapshot.metadata,
                table=str(self._write.table),
                removes_files=removes_files,
            )

    def definition(self) -> tuple[TableProtocol | None, TableMetadata | None]:
        """Return the protocol and metadata that the commit must contain; None if unchanged."""
        write = self._write
        protocol = new_protocol(self._schema_text, change_feed=write.header.change_feed)
        if self.snapshot is None:
            return protocol, new_metadata(
                self._schema_text,
                name=write.note.view,
                description=write.header.description or None,
                partition_columns=write.header.partition_by,
                configuration=dict(self._properties()),
            )
        return raised_protocol(self.snapshot.protocol, protocol), self._changed_metadata(
            self.snapshot
        )

    def _changed_metadata(self, snapshot: Snapshot) -> TableMetadata | None:
        """Return the new metadata; None if nothing changes. Foreign properties are preserved."""
        write, current = self._write, snapshot.metadata
        properties = dict(self._properties())
        before = {name: value or "" for name, value in current.configuration.items()}
        dropped = {*before.get(_OWN_PROPERTIES, "").split("\n"), CHANGE_FEED}
        foreign = {name: value for name, value in before.items() if name not in dropped}
        configuration = {**foreign, **properties}
        is_same = (
            self.fits
            and msgspec.json.decode(current.schema_string or "{}")
            == msgspec.json.decode(self._schema_text)
            and configuration == before
            and (current.description or "") == write.header.description
        )
        if is_same:
            return None
        options = current.format.options if current.format else None
        return TableMetadata(
            id=current.id,
            schema_string=self._schema_text,
            partition_columns=list(write.header.partition_by),
            configuration=configuration,
            format=TableFormat(
                provider="parquet", options={k: v or "" for k, v in (options or {}).items()}
            ),
            created_time=current.created_time,
            name=current.name,
            description=write.header.description or None,
        )

    def _properties(self) -> Iterator[tuple[str, str]]:
        """Yield the table properties that Headrace sets."""
        header = self._write.header
        contract = header.contract or Contract.from_arrow(
            self._write.schema,
            table=self._write.note.view,
            partition_columns=header.partition_by,
        )
        properties = {**contract.metadata, FINGERPRINT_KEY.decode(): contract.fingerprint}
        if contract.ordering:
            properties[_ORDERED_BY] = ", ".join(contract.ordering)
        if header.change_feed:
            yield CHANGE_FEED, "true"
        yield from properties.items()
        yield _OWN_PROPERTIES, "\n".join(sorted([*properties, _OWN_PROPERTIES]))


def open_target(write: OutputWrite) -> Target:
    """Return the table of an output at its newest version.

    Raises:
        TableError, DamageError: there is a table, and it cannot be read.
    """
    try:
        snapshot = write.table.table().snapshot()
    except TableNotFoundError:
        return Target(write, None)
    table = None if is_only_fence(snapshot.metadata) else snapshot
    return Target(write, table, version=snapshot.version)


def _bare_schema(schema_text: str) -> Any:
    """Return a decoded schema without the metadata of its fields."""
    return _without_metadata(msgspec.json.decode(schema_text))


def _without_metadata(value: Any) -> Any:
    match value:
        case dict():
            return {k: _without_metadata(v) for k, v in value.items() if k != "metadata"}
        case list():
            return [_without_metadata(v) for v in value]
        case _:
            return value
