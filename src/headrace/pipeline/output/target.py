"""The table that an output is written to, as it stands before the commit.

What the view's header and contract ask of the table enters; whether the table fits, and the
protocol and metadata that the commit must carry, leave.
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
"""Names the properties that contracts of ours have set, so that one that is dropped goes."""


class Target:
    """A table and what a view wants it to be."""

    def __init__(
        self, write: OutputWrite, snapshot: Snapshot | None, *, version: int = NO_VERSION
    ) -> None:
        """Take the table as it stands, None if there is none yet, and its newest version."""
        self._write = write
        self.snapshot = snapshot
        self._version = version
        self._schema_text = schema_string(write.schema)

    @property
    def next_version(self) -> int:
        """The version that a commit would make."""
        return self._version + 1

    @cached_property
    def fits(self) -> bool:
        """Whether the table has the columns, partitions and change feed that the view writes."""
        if self.snapshot is None:
            return False
        header, known = self._write.header, self.snapshot.metadata
        return (
            _bare(known.schema_string or "{}") == _bare(self._schema_text)
            and tuple(known.partition_columns) == header.partition_by
            and (known.configuration.get(CHANGE_FEED) == "true") == header.change_feed
        )

    def refuse_other_columns(self) -> None:
        """Make sure that rows fit a table to which they are added.

        Raises:
            InvalidResultError: they do not.
        """
        if self.snapshot is not None and not self.fits:
            reason = (
                f"{self._write.table} has other columns, partitions or change feed than the view "
                "now: write it anew with --full-refresh"
            )
            raise InvalidResultError(view=self._write.note.view, reason=reason)

    def check_writable(self, *, removes_files: bool) -> None:
        """Refuse a table that asks of its writers what we do not do.

        Raises:
            UnwritableTableError: it does.
        """
        if self.snapshot is not None:
            check_writable(
                self.snapshot.protocol,
                self.snapshot.metadata,
                table=str(self._write.table),
                removes_files=removes_files,
            )

    def definition(self) -> tuple[TableProtocol | None, TableMetadata | None]:
        """The protocol and metadata that the commit must carry; None for what stays as it is."""
        write = self._write
        needed = new_protocol(self._schema_text, change_feed=write.header.change_feed)
        if self.snapshot is None:
            return needed, new_metadata(
                self._schema_text,
                name=write.note.view,
                description=write.header.description or None,
                partition_columns=write.header.partition_by,
                configuration=dict(self._properties()),
            )
        return raised_protocol(self.snapshot.protocol, needed), self._changed_metadata(
            self.snapshot
        )

    def _changed_metadata(self, snapshot: Snapshot) -> TableMetadata | None:
        write, known = self._write, snapshot.metadata
        own = dict(self._properties())
        before = {name: value or "" for name, value in known.configuration.items()}
        dropped = {*before.get(_OWN_PROPERTIES, "").split("\n"), CHANGE_FEED}
        kept = {name: value for name, value in before.items() if name not in dropped}
        configuration = {**kept, **own}
        is_same = (
            self.fits
            and msgspec.json.decode(known.schema_string or "{}")
            == msgspec.json.decode(self._schema_text)
            and configuration == before
            and (known.description or "") == write.header.description
        )
        if is_same:
            return None
        options = known.format.options if known.format else None
        return TableMetadata(
            id=known.id,
            schema_string=self._schema_text,
            partition_columns=list(write.header.partition_by),
            configuration=configuration,
            format=TableFormat(
                provider="parquet", options={k: v or "" for k, v in (options or {}).items()}
            ),
            created_time=known.created_time,
            name=known.name,
            description=write.header.description or None,
        )

    def _properties(self) -> Iterator[tuple[str, str]]:
        """The properties of the table that are ours to set."""
        header = self._write.header
        contract = header.contract or Contract.from_arrow(
            self._write.schema,
            table=self._write.note.view,
            partition_columns=header.partition_by,
        )
        own = {**contract.metadata, FINGERPRINT_KEY.decode(): contract.fingerprint}
        if contract.ordering:
            own[_ORDERED_BY] = ", ".join(contract.ordering)
        if header.change_feed:
            yield CHANGE_FEED, "true"
        yield from own.items()
        yield _OWN_PROPERTIES, "\n".join(sorted([*own, _OWN_PROPERTIES]))


def open_target(write: OutputWrite) -> Target:
    """The table of an output as it stands now.

    Raises:
        TableError, DamageError: there is a table, and it cannot be read.
    """
    try:
        snapshot = write.table.table().snapshot()
    except TableNotFoundError:
        return Target(write, None)
    table = None if is_only_fence(snapshot.metadata) else snapshot
    return Target(write, table, version=snapshot.version)


def _bare(schema_text: str) -> Any:
    """A schema without what its fields are annotated with."""
    return _without_metadata(msgspec.json.decode(schema_text))


def _without_metadata(value: Any) -> Any:
    match value:
        case dict():
            return {k: _without_metadata(v) for k, v in value.items() if k != "metadata"}
        case list():
            return [_without_metadata(v) for v in value]
        case _:
            return value
