"""One atomic commit: a Delta table's next version, made of files that lie below it already."""

import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from urllib.parse import unquote

from deltalake import DeltaTable, Schema
from deltalake.transaction import AddAction, RemoveAction, create_table_with_add_actions

from headrace.errors import InvalidResultError
from headrace.pipeline.output.staged import StagedFile, list_staged
from headrace.pipeline.output.write import OutputWrite
from headrace.pipeline.project.header import WriteMode
from headrace.pipeline.runs.record import OutputVersion
from headrace.scan.live_file import LiveFile
from headrace.table import Table

_CHANGE_FEED = "delta.enableChangeDataFeed"


def commit_output(write: OutputWrite, mode: WriteMode) -> OutputVersion:
    """Make the rows part of their table; of a merge, those of a table that is not there yet.

    Raises:
        InvalidResultError: the rows do not fit the table.
    """
    writer = _Writer(write)
    staged = writer.staged()
    match mode:
        case WriteMode.APPEND if writer.exists:
            writer.refuse_other_columns()
            writer.write(staged, "append")
        case WriteMode.OVERWRITE_PARTITIONS if writer.exists:
            writer.refuse_other_columns()
            replaced = {_partition(file.partition_values) for file in staged}
            removed = writer.removed(lambda file: _partition(file.partition_values) in replaced)
            writer.write([*staged, *removed], "append")
        case _ if writer.exists and writer.fits:
            writer.write(staged, "overwrite")
        case _:
            writer.create(staged)
    return writer.written()


def commit_replacing(write: OutputWrite, replaced: Collection[str]) -> OutputVersion:
    """Make the rows part of their table in place of those of some of its files, named by path."""
    writer = _Writer(write)
    removed = writer.removed(lambda file: file.path in replaced)
    writer.write([*writer.staged(), *removed], "append")
    return writer.written()


def refuse_other_columns(write: OutputWrite) -> None:
    """Make sure that rows fit a table that is there.

    Raises:
        InvalidResultError: they do not.
    """
    _Writer(write).refuse_other_columns()


def written_version(write: OutputWrite) -> OutputVersion:
    """The newest version of a table, as what was written."""
    return _Writer(write).written()


class _Writer:
    def __init__(self, write: OutputWrite) -> None:
        self._table, self._header, self._note = write.table, write.header, write.note
        self._write = write
        self._schema = Schema.from_arrow(write.schema)
        self.exists = write.has_table
        self._opened = DeltaTable(write.table) if self.exists else None

    def staged(self) -> list[StagedFile]:
        """The files that are to be part of the table."""
        write = self._write
        return list_staged(
            write.table,
            write.folder,
            schema=write.schema,
            partition_by=write.header.partition_by,
        )

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

    def removed(self, is_replaced: Callable[[LiveFile], bool]) -> Iterator[RemoveAction]:
        """The files of the table that are to be part of it no more."""
        now_ms = time.time_ns() // 1_000_000
        for file in Table(self._table).snapshot().scan():
            if not is_replaced(file):
                continue
            if file.deletion_vector is not None:
                reason = (
                    f"{file.path} of {self._table} has a deletion vector, which no commit of "
                    "Headrace's can take away: write the table anew with --full-refresh"
                )
                raise InvalidResultError(view=self._note.view, reason=reason)
            values = dict(file.partition_values)
            # deltalake encodes paths itself: one that is encoded already would name no file.
            yield RemoveAction(unquote(file.path), True, now_ms, file.size_bytes, values)

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


def _partition(values: Mapping[str, str | None]) -> tuple[tuple[str, str | None], ...]:
    return tuple(sorted(values.items()))
