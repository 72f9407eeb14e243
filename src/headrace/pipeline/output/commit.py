"""One atomic commit: a Delta table's next version, made of files that lie below it already."""

import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import pyarrow as pa
from deltalake import DeltaTable, Schema
from deltalake.transaction import AddAction, RemoveAction, create_table_with_add_actions

from headrace.errors import InvalidResultError
from headrace.pipeline.output.merge import check_keys, create_by_rows, merge_files
from headrace.pipeline.output.note import CommitNote
from headrace.pipeline.output.staged import StagedFile, list_staged
from headrace.pipeline.project.header import Header, WriteMode
from headrace.pipeline.runs.record import OutputVersion
from headrace.table import Table

_CHANGE_FEED = "delta.enableChangeDataFeed"


def commit_output(  # noqa: PLR0913  (what is committed, where, how, and in whose name)
    table: Path,
    folder: Path,
    *,
    schema: pa.Schema,
    header: Header,
    mode: WriteMode,
    note: CommitNote,
) -> OutputVersion:
    """Make the files of a folder below a table part of it, as the view's header asks.

    Raises:
        InvalidResultError: the rows do not fit the table, or their keys are not unique.
    """
    writer = _Writer(table, schema, header, note)
    if mode is WriteMode.MERGE:
        check_keys(note.view, folder, header.keys)
        if writer.exists:
            writer.refuse_other_columns()
            merge_files(table, folder, schema=schema, keys=header.keys, note=note)
        else:
            settings = writer.configuration
            create_by_rows(
                table, folder, schema=schema, header=header, configuration=settings, note=note
            )
        return writer.written()
    staged = list_staged(table, folder, schema=schema, partition_by=header.partition_by)
    match mode:
        case WriteMode.APPEND if writer.exists:
            writer.refuse_other_columns()
            writer.write(staged, "append")
        case WriteMode.OVERWRITE_PARTITIONS if writer.exists:
            writer.refuse_other_columns()
            writer.write([*staged, *writer.removed(staged)], "append")
        case _ if writer.exists and writer.fits:
            writer.write(staged, "overwrite")
        case _:
            writer.create(staged)
    return writer.written()


class _Writer:
    def __init__(self, table: Path, schema: pa.Schema, header: Header, note: CommitNote) -> None:
        self._table, self._header, self._note = table, header, note
        self._schema = Schema.from_arrow(schema)
        self.exists = DeltaTable.is_deltatable(str(table))
        self._opened = DeltaTable(table) if self.exists else None

    @property
    def configuration(self) -> dict[str, str]:
        """The properties of the table."""
        return {_CHANGE_FEED: "true"} if self._header.change_feed else {}

    @property
    def fits(self) -> bool:
        """Whether the table has the same columns, partitions and change feed already."""
        assert self._opened is not None
        known = self._opened.metadata()
        feed = known.configuration.get(_CHANGE_FEED, "false") == "true"
        return (
            self._opened.schema() == self._schema
            and tuple(known.partition_columns) == self._header.partition_by
            and feed == self._header.change_feed
        )

    def refuse_other_columns(self) -> None:
        if not self.fits:
            reason = (
                f"{self._table} has other columns, partitions or change feed than the view now: "
                "write it anew with --full-refresh"
            )
            raise InvalidResultError(view=self._note.view, reason=reason)

    def create(self, staged: list[StagedFile]) -> None:
        """Make the table, or make it anew: also with other columns it is one commit."""
        create_table_with_add_actions(
            str(self._table),
            self._schema,
            [*map(_added, staged)],
            mode="overwrite" if self.exists else "error",
            partition_by=[*self._header.partition_by],
            name=self._note.view,
            description=self._header.description or None,
            configuration=self.configuration,
            commit_properties=self._note.properties(),
        )

    def write(self, files: Sequence[StagedFile | RemoveAction], mode: str) -> None:
        assert self._opened is not None
        self._opened.create_write_transaction(
            [_added(file) if isinstance(file, StagedFile) else file for file in files],
            mode,
            self._schema,
            partition_by=[*self._header.partition_by],
            commit_properties=self._note.properties(),
        )

    def removed(self, staged: list[StagedFile]) -> Iterator[RemoveAction]:
        """The files of the partitions that new files are in."""
        now_ms = time.time_ns() // 1_000_000
        replaced = {tuple(sorted(file.partition_values.items())) for file in staged}
        for file in Table(self._table).snapshot().scan():
            if tuple(sorted(file.partition_values.items())) in replaced:
                values = dict(file.partition_values)
                yield RemoveAction(file.path, True, now_ms, file.size_bytes, values)

    def written(self) -> OutputVersion:
        snapshot = Table(self._table).snapshot()
        counted = snapshot.scan()
        sizes = [file.size_bytes for file in counted]
        return OutputVersion(
            uri=str(self._table),
            version=snapshot.version,
            files=len(sizes),
            size_bytes=sum(sizes),
            change_feed=self._header.change_feed,
        )


def _added(file: StagedFile) -> AddAction:
    return AddAction(
        path=file.path,
        size=file.size_bytes,
        partition_values=file.partition_values,
        modification_time=file.modified_ms,
        data_change=True,
        stats=file.statistics,
    )
