"""`headrace files`: prints the live files of a table as they are found."""

import sys
import time
from collections.abc import Callable, Iterable
from enum import StrEnum
from typing import Annotated

import msgspec
import typer

from headrace.cli.metric import MetricsOption, write_metrics
from headrace.cli.moment import shown_time
from headrace.cli.option import (
    AsOf,
    Limit,
    LogTail,
    Options,
    StorageOption,
    TableUri,
    Version,
    Where,
    open_table,
    parse_options,
)
from headrace.cli.path import shown_path
from headrace.cli.progress_bar import show_progress
from headrace.errors import InvalidArgumentError
from headrace.scan.live_file import LiveFile
from headrace.scan.scan import Scan

_FLUSH_SECONDS = 0.05


class Format(StrEnum):
    """The output formats of files."""

    TABLE = "table"
    JSONL = "jsonl"
    ARROW = "arrow"
    PATHS = "paths"


def files(  # noqa: PLR0913  (one parameter an option)
    table: TableUri,
    *,
    where: Where = None,
    limit: Limit = None,
    version: Version = None,
    as_of: AsOf = None,
    log_tail: LogTail = None,
    storage_option: StorageOption = None,
    option: Options = None,
    metrics: MetricsOption = None,
    output: Annotated[
        Format,
        typer.Option(
            "--format",
            "-f",
            help="table for people, paths for xargs, jsonl for jq, arrow (IPC stream) for tools.",
        ),
    ] = Format.TABLE,
    count: Annotated[bool, typer.Option("--count", help="Print only the number of files.")] = False,
) -> None:
    """Stream a table's live files as they are found, newest commit first.

    The first line is printed before the whole log has been read, and a limit stops reading.

    [dim]headrace files /data/events --where "date = '2026-03-01'" --limit 10[/]
    """
    snapshot = open_table(table, storage_option).snapshot(
        version=version, as_of=as_of, log_tail=log_tail
    )
    scan = snapshot.scan(where=where, limit=limit, **parse_options(option))
    for part in scan.not_evaluated:
        sys.stderr.write(f"note: {part} is not evaluated and skips no file\n")
    try:
        with show_progress("listing files", lambda: scan.metrics.counts.adds_emitted):
            if count:
                typer.echo(scan.count())
            else:
                _write(scan, output)
    finally:
        write_metrics(scan.metrics.as_dict(), metrics, title=str(scan.metrics.decision))


def _write(scan: Scan, output: Format) -> None:
    if output is Format.ARROW:
        _write_arrow(scan)
        return
    render: dict[Format, Callable[[LiveFile], str]] = {
        Format.TABLE: _table_line,
        Format.JSONL: _json_line,
        Format.PATHS: lambda file: file.uri,
    }
    if output is Format.TABLE:
        _write_lines([f"{'BYTES':>14}  {'MODIFIED (UTC)':<19}  {'VERSION':>7}  PATH"])
    _write_lines(map(render[output], scan))


def _write_lines(lines: Iterable[str]) -> None:
    """Write lines; flush the first at once, and later ones at most every few milliseconds."""
    flushed = 0.0
    for line in lines:
        sys.stdout.write(line + "\n")
        now = time.monotonic()
        if now - flushed > _FLUSH_SECONDS:
            sys.stdout.flush()
            flushed = now
    sys.stdout.flush()


def _write_arrow(scan: Scan) -> None:
    if sys.stdout.isatty():
        reason = "arrow is binary; send it to a file or a pipe"
        raise InvalidArgumentError(argument="--format", reason=reason)
    import pyarrow as pa  # noqa: PLC0415  (only this format needs it)

    writer = pa.ipc.new_stream(sys.stdout.buffer, scan.arrow_schema())
    for batch in scan.batches():
        writer.write_batch(batch)
        sys.stdout.buffer.flush()
    writer.close()  # not in a finally block: an incomplete stream must not look complete


def _table_line(file: LiveFile) -> str:
    modified = shown_time(file.modified_ms)
    path = shown_path(file.path)
    version = "" if file.version is None else str(file.version)
    vector = "" if file.dv_id is None else "  (with deletion vector)"
    return f"{file.size_bytes:>14,}  {modified:<19}  {version:>7}  {path}{vector}"


def _json_line(file: LiveFile) -> str:
    record = {
        "path": file.path,
        "uri": file.uri,
        "dv_id": file.dv_id,
        "deletion_vector": file.deletion_vector,
        "size_bytes": file.size_bytes,
        "modified_ms": file.modified_ms,
        "partition_values": file.partition_values,
        "stats": file.stats,
        "version": file.version,
        "tags": file.tags,
    }
    return msgspec.json.encode(record).decode()
