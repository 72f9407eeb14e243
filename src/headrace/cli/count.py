"""`headrace count`: prints the exact number of rows, and how it was determined."""

import sys
from typing import Annotated

import typer

from headrace.cli.option import (
    AsJson,
    AsOf,
    LogTail,
    RowOptionsOption,
    StorageOption,
    TableUri,
    Version,
    open_table,
    parse_options,
)
from headrace.rows.option import RowOptions


def count(  # noqa: PLR0913  (one parameter an option)
    table: TableUri,
    *,
    where: Annotated[
        str | None,
        typer.Option(
            "--where",
            metavar="SQL",
            help="Count the rows for which this is true, e.g. \"date >= '2026-03-01'\".",
        ),
    ] = None,
    version: Version = None,
    as_of: AsOf = None,
    log_tail: LogTail = None,
    storage_option: StorageOption = None,
    option: RowOptionsOption = None,
    as_json: AsJson = False,
) -> None:
    """Count a table's rows, from statistics where they suffice and by reading other files.

    The number goes to standard output; how it was determined goes to standard error.

    [dim]headrace count /data/events --where "city = 'Bern'"[/]
    """
    snapshot = open_table(table, storage_option).snapshot(
        version=version, as_of=as_of, log_tail=log_tail
    )
    rows = snapshot.count(where, **parse_options(option, defaults=RowOptions()))
    if as_json:
        from headrace.cli.console import print_json  # noqa: PLC0415

        print_json(
            {
                "version": snapshot.version,
                "rows": int(rows),
                "files_from_statistics": rows.files_from_statistics,
                "files_read": rows.files_read,
            }
        )
        return
    typer.echo(int(rows))
    sys.stderr.write(f"note: {rows.how}\n")
