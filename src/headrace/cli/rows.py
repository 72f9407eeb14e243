"""`headrace rows`: prints the rows of a table as they are read."""

import csv
import sys
from enum import StrEnum
from typing import Annotated, TypeAlias

import typer

from headrace.cli.metric import MetricsOption, write_metrics
from headrace.cli.option import (
    AsOf,
    LogTail,
    RowOptionsOption,
    StorageOption,
    TableUri,
    Version,
    open_table,
    parse_options,
)
from headrace.cli.progress_bar import show_progress
from headrace.errors import InvalidArgumentError
from headrace.rows.option import RowOptions
from headrace.table import RecordBatchReader


class Format(StrEnum):
    """The output formats of rows."""

    TABLE = "table"
    JSONL = "jsonl"
    CSV = "csv"
    ARROW = "arrow"
    PARQUET = "parquet"


FormatOption: TypeAlias = Annotated[
    Format | None,
    typer.Option(
        "--format",
        "-f",
        help="table for people (the default on a terminal), jsonl (the default elsewhere), "
        "csv, arrow (IPC stream), parquet.",
    ),
]


def rows(  # noqa: PLR0913  (one parameter an option)
    table: TableUri,
    *,
    where: Annotated[
        str | None,
        typer.Option(
            "--where",
            metavar="SQL",
            help="Only rows for which this is true, e.g. \"date >= '2026-03-01'\".",
        ),
    ] = None,
    columns: Annotated[
        list[str] | None,
        typer.Option(
            "--columns",
            "-c",
            metavar="NAMES",
            help="The columns to read, separated by commas; repeatable.",
        ),
    ] = None,
    limit: Annotated[
        int | None,
        typer.Option("--limit", "-n", min=0, metavar="COUNT", help="Stop after COUNT rows."),
    ] = None,
    version: Version = None,
    as_of: AsOf = None,
    log_tail: LogTail = None,
    storage_option: StorageOption = None,
    option: RowOptionsOption = None,
    metrics: MetricsOption = None,
    output: FormatOption = None,
) -> None:
    """Stream a table's rows, starting while the log is still being read.

    Prints exactly the rows for which the condition is true; a limit stops reading.

    [dim]headrace rows /data/events --where "city = 'Bern'" --columns id,amount --limit 10[/]
    """
    output_format = choose_format(output)
    snapshot = open_table(table, storage_option).snapshot(
        version=version, as_of=as_of, log_tail=log_tail
    )
    reader = snapshot.rows(
        where=where,
        columns=None if columns is None else split_names(columns),
        limit=limit,
        **parse_options(option, defaults=RowOptions()),
    )
    try:
        data = reader.metrics.data
        with reader, show_progress("reading rows", lambda: data.counts.files_read):
            write_rows(reader, output_format)
    finally:
        title = str(reader.metrics.scan.decision)
        write_metrics(reader.metrics.as_dict(), metrics, title=title)


def split_names(lists_of_names: list[str]) -> list[str]:
    """Split comma-separated lists of names; a name in backticks may contain commas.

    Raises:
        InvalidArgumentError: There are no names.
    """
    lists = csv.reader(lists_of_names, quotechar="`", skipinitialspace=True)
    column_names = [name for names in lists for name in names if name]
    if not column_names:
        raise InvalidArgumentError(argument="--columns", reason="it names no column")
    return column_names


def choose_format(output: Format | None) -> Format:
    """Return the requested format, or the default for a terminal or a pipe.

    Raises:
        InvalidArgumentError: The format is binary and the output is a terminal.
    """
    output_format = output or (Format.TABLE if sys.stdout.isatty() else Format.JSONL)
    if output_format in (Format.ARROW, Format.PARQUET) and sys.stdout.isatty():
        reason = f"{output_format} is binary; send it to a file or a pipe"
        raise InvalidArgumentError(argument="--format", reason=reason)
    return output_format


def write_rows(reader: RecordBatchReader, output: Format) -> None:
    """Write rows to standard output."""
    from headrace.cli.grid import write_table  # noqa: PLC0415  (only this command needs Arrow)
    from headrace.rows import sink  # noqa: PLC0415

    writers: dict[Format, sink.Write] = {
        Format.TABLE: write_table,
        Format.JSONL: sink.write_jsonl,
        Format.CSV: sink.write_csv,
        Format.ARROW: sink.write_arrow,
        Format.PARQUET: sink.write_parquet,
    }
    writers[output](reader, sys.stdout.buffer)
    sys.stdout.buffer.flush()
