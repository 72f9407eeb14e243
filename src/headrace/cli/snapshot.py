"""`headrace snapshot`: shows a table at one version, and the health of its log."""

from enum import StrEnum
from typing import Annotated, Any

import typer
from rich.table import Table as Grid

from headrace.cli.console import plain_console, print_json
from headrace.cli.moment import moment_of
from headrace.cli.option import AsOf, LogTail, StorageOption, TableUri, Version, open_table
from headrace.metrics.counts import counted
from headrace.table import Snapshot


class Format(StrEnum):
    """The output formats of a snapshot."""

    TEXT = "text"
    JSON = "json"


def snapshot(  # noqa: PLR0913  (one parameter an option)
    table: TableUri,
    *,
    version: Version = None,
    as_of: AsOf = None,
    log_tail: LogTail = None,
    storage_option: StorageOption = None,
    output: Annotated[
        Format, typer.Option("--format", "-f", help="text for people, json for tools.")
    ] = Format.TEXT,
) -> None:
    """Show a table at one version: protocol, schema, properties, and the health of its log.

    [dim]headrace snapshot /data/events --as-of 2026-03-01T00:00:00Z[/]
    """
    facts = describe(
        open_table(table, storage_option).snapshot(version=version, as_of=as_of, log_tail=log_tail)
    )
    if output is Format.JSON:
        print_json(facts)
    else:
        _render(facts)


def describe(snapshot: Snapshot) -> dict[str, Any]:
    """Return the facts as plain values."""
    segment, protocol = snapshot.segment, snapshot.protocol
    base = segment.checkpoint
    return {
        "table": snapshot.table.uri,
        "version": snapshot.version,
        "timestamp_ms": snapshot.timestamp_ms,
        "protocol": {
            "reader": protocol.min_reader_version,
            "writer": protocol.min_writer_version,
            "reader_features": sorted(protocol.reader_features or ()),
            "writer_features": sorted(protocol.writer_features or ()),
        },
        "partition_columns": list(snapshot.partition_columns),
        "schema": [
            {"name": f.name, "type": str(f.type), "nullable": f.nullable}
            for f in snapshot.logical_schema.fields
        ],
        "properties": snapshot.properties,
        "log": {
            "commits_since_checkpoint": len(segment.commits_newest_first),
            "commit_bytes": sum(f.size_bytes for f in segment.commits_newest_first),
            "compactions": len(segment.compactions),
            "checkpoint_version": None if base is None else base.version,
            "checkpoint_kind": None if base is None else base.kind.value,
            "checkpoint_files": 0 if base is None else len(base.files),
            "checkpoint_bytes": 0 if base is None else base.size_bytes,
            "checksum": None if segment.checksum is None else segment.checksum.path,
            "unreadable": sorted(segment.excluded),
        },
    }


def _render(facts: dict[str, Any]) -> None:
    grid = Grid.grid(padding=(0, 2))
    grid.add_column(style="bold", no_wrap=True)
    grid.add_column(overflow="fold")
    protocol, log = facts["protocol"], facts["log"]
    properties = sorted(facts["properties"].items())
    features = sorted({*protocol["reader_features"], *protocol["writer_features"]})
    rows: list[tuple[str, str]] = [
        ("table", facts["table"]),
        ("version", str(facts["version"])),
        ("committed", _time(facts["timestamp_ms"])),
        ("protocol", f"reader {protocol['reader']}, writer {protocol['writer']}"),
        ("features", ", ".join(features) or "none"),
        ("partitioned by", ", ".join(facts["partition_columns"]) or "nothing"),
        ("log", _health(log)),
        ("checkpoint", _checkpoint(log)),
        *(("unreadable", path) for path in log["unreadable"]),
        *(("property", f"{name} = {_or_null(value)}") for name, value in properties),
        *(("column", _column(column)) for column in facts["schema"]),
    ]
    shown = ""
    for label, value in rows:
        grid.add_row("" if label == shown else label, value)
        shown = label
    plain_console().print(grid, soft_wrap=False)


def _or_null(value: str | None) -> str:
    return "null" if value is None else value


def _time(timestamp_ms: int | None) -> str:
    if timestamp_ms is None:
        return "unknown (its commit file has been cleaned up)"
    moment = moment_of(timestamp_ms)
    return f"{timestamp_ms} ms" if moment is None else moment.isoformat(timespec="milliseconds")


def _health(log: dict[str, Any]) -> str:
    commits = counted(log["commits_since_checkpoint"], "commit")
    if log["checkpoint_version"] is not None:
        commits += " since the checkpoint"
    compactions = log["compactions"]
    compacted = f", {counted(compactions, 'compaction file')}" if compactions else ""
    checksum = ", with checksum" if log["checksum"] else ""
    return f"{commits} ({log['commit_bytes']:,} bytes){compacted}{checksum}"


def _checkpoint(log: dict[str, Any]) -> str:
    if log["checkpoint_version"] is None:
        return "none: every read replays the whole log"
    return (
        f"{log['checkpoint_kind']} at version {log['checkpoint_version']}, "
        f"{counted(log['checkpoint_files'], 'file')}, {log['checkpoint_bytes']:,} bytes"
    )


def _column(column: dict[str, Any]) -> str:
    return f"{column['name']} {column['type']}{'' if column['nullable'] else ' not null'}"
