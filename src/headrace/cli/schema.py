"""`headrace schema`: prints the columns of a table at one version."""

from enum import StrEnum
from typing import Annotated

import msgspec
import typer

from headrace.cli.option import AsOf, LogTail, StorageOption, TableUri, Version, open_table
from headrace.protocol.schema import StructType


class Format(StrEnum):
    """The output formats of a schema."""

    TEXT = "text"
    JSON = "json"
    ARROW = "arrow"


def schema(  # noqa: PLR0913  (one parameter an option)
    table: TableUri,
    *,
    version: Version = None,
    as_of: AsOf = None,
    log_tail: LogTail = None,
    storage_option: StorageOption = None,
    output: Annotated[
        Format,
        typer.Option(
            "--format",
            "-f",
            help="text for people, json as in the log, arrow as an Arrow schema.",
        ),
    ] = Format.TEXT,
) -> None:
    """Show a table's columns at one version, with struct members indented.

    [dim]headrace schema /data/events --as-of "2 weeks ago"[/]
    """
    snapshot = open_table(table, storage_option).snapshot(
        version=version, as_of=as_of, log_tail=log_tail
    )
    match output:
        case Format.JSON:
            snapshot.logical_schema  # noqa: B018  (raises if the text is not a schema)
            text = (snapshot.metadata.schema_string or "{}").encode()
            typer.echo(msgspec.json.format(text).decode())
        case Format.ARROW:
            typer.echo(str(snapshot.schema))
        case Format.TEXT:
            partitions = set(snapshot.partition_columns)
            for line in _lines(snapshot.logical_schema, partitions):
                typer.echo(line)


def _lines(struct: StructType, partitions: set[str], depth: int = 0) -> list[str]:
    lines: list[str] = []
    for field in struct.fields:
        is_struct = isinstance(field.type, StructType)
        notes = "" if field.nullable else " not null"
        if not depth and field.name in partitions:
            notes += " (partition)"
        lines.append(f"{'  ' * depth}{field.name} {'struct' if is_struct else field.type}{notes}")
        if isinstance(field.type, StructType):
            lines += _lines(field.type, partitions, depth + 1)
    return lines
