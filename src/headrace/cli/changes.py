"""`headrace changes`: prints the files or rows that commits changed, and follows new commits."""

from collections.abc import Iterator
from typing import Annotated, Any

import pyarrow as pa
import typer

from headrace.cli.option import (
    LogTail,
    RowOptionsOption,
    StorageOption,
    TableUri,
    open_table,
    parse_moment,
    parse_options,
)
from headrace.cli.path import shown_path
from headrace.cli.rows import Format, FormatOption, choose_format, split_names, write_rows
from headrace.errors import InvalidArgumentError, SchemaChangedError
from headrace.rows.option import RowOptions
from headrace.scan.changes import Changes
from headrace.table import RecordBatchReader, Table

_OPTIONS = {"start": "--since", "end": "--until"}
"""The options by the arguments of `Table.changes`."""

_SHOWN = ("version", "kind", "size_bytes", "path")


def changes(  # noqa: PLR0913  (one parameter an option)
    table: TableUri,
    *,
    since: Annotated[
        str | None,
        typer.Option(
            "--since",
            metavar="WHEN",
            help="From this version or time on: 42, 2026-03-01, yesterday, '2 hours ago'. "
            "By default from the first version on; with --follow from now on.",
        ),
    ] = None,
    until: Annotated[
        str | None,
        typer.Option("--until", metavar="WHEN", help="Up to this version or time."),
    ] = None,
    rows: Annotated[
        bool, typer.Option("--rows", help="List changed rows instead of changed files.")
    ] = False,
    where: Annotated[
        str | None,
        typer.Option(
            "--where", metavar="SQL", help="With --rows: only rows for which this is true."
        ),
    ] = None,
    columns: Annotated[
        list[str] | None,
        typer.Option(
            "--columns",
            "-c",
            metavar="NAMES",
            help="With --rows: the columns to read, separated by commas; repeatable.",
        ),
    ] = None,
    follow: Annotated[
        bool,
        typer.Option("--follow", help="Continue with the changes of new commits until Ctrl-C."),
    ] = False,
    every: Annotated[
        float,
        typer.Option(
            "--every", min=0.0, metavar="SECONDS", help="With --follow: how often to check."
        ),
    ] = 1.0,
    log_tail: LogTail = None,
    storage_option: StorageOption = None,
    option: RowOptionsOption = None,
    output: FormatOption = None,
) -> None:
    """List the files or rows that commits changed, oldest first.

    [dim]headrace changes /data/events --since yesterday --rows[/]
    """
    output_format = choose_format(output)
    if (where is not None or columns is not None) and not rows:
        reason = "it is for changed rows: add --rows"
        raise InvalidArgumentError(
            argument="--columns" if where is None else "--where", reason=reason
        )
    if follow and (until is not None or log_tail is not None):
        reason = "new commits are followed by listing the log, without an end"
        raise InvalidArgumentError(argument="--follow", reason=reason)
    source = open_table(table, storage_option)
    row_arguments: dict[str, Any] = {}
    if rows:
        row_arguments = {
            "where": where,
            "columns": None if columns is None else split_names(columns),
            **parse_options(option, defaults=RowOptions()),
        }
    if follow:
        start = None if since is None else parse_moment(since)
        ranges = source.follow(start, poll_s=every)
        reader = _followed(source, ranges, row_arguments if rows else None, output_format)
    else:
        start, end = parse_moment(since or "0"), None if until is None else parse_moment(until)
        try:
            reader = (
                source.change_rows(start, end, log_tail=log_tail, **row_arguments)
                if rows
                else _files(source.changes(start, end, log_tail=log_tail), output_format)
            )
        except InvalidArgumentError as error:
            argument = _OPTIONS.get(error.argument, error.argument)
            raise InvalidArgumentError(argument=argument, reason=error.reason) from error
    with reader:
        write_rows(reader, output_format)


def _files(changes: Changes, output: Format) -> RecordBatchReader:
    """Return the changed files as rows, with fewer columns in the format for people."""
    reader = pa.RecordBatchReader.from_stream(changes)
    if output is not Format.TABLE:
        return reader
    schema = pa.schema([reader.schema.field(name) for name in _SHOWN])
    return pa.RecordBatchReader.from_batches(schema, map(_for_people, reader))


def _for_people(batch: pa.RecordBatch) -> pa.RecordBatch:
    shown = batch.select(_SHOWN)
    paths = pa.array(map(shown_path, batch["path"].to_pylist()), pa.string())
    return shown.set_column(len(_SHOWN) - 1, shown.schema.field("path"), paths)


def _followed(
    table: Table, ranges: Iterator[Changes], row_arguments: dict[str, Any] | None, output: Format
) -> RecordBatchReader:
    """Chain the ranges into one stream with the current schema of the table."""

    def read(changes: Changes) -> RecordBatchReader:
        if row_arguments is None:
            return _files(changes, output)
        return table.change_rows(changes.start, changes.end, **row_arguments)

    def batches() -> Iterator[pa.RecordBatch]:
        for changes in ranges:
            with read(changes) as reader:
                if reader.schema != schema:
                    raise SchemaChangedError(
                        table=table.uri, version=changes.end, difference=str(reader.schema)
                    )
                yield from reader

    newest = table.snapshot().version
    with read(table.changes(newest, newest)) as now:
        schema = now.schema
    return pa.RecordBatchReader.from_batches(schema, batches())
