"""`headrace explain`: prints the phases and plans of a scan without computing its result."""

import typer

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
from headrace.compiled.library import is_built
from headrace.metrics.counts import counted


def explain(  # noqa: PLR0913  (one parameter an option)
    table: TableUri,
    *,
    where: Where = None,
    limit: Limit = None,
    version: Version = None,
    as_of: AsOf = None,
    log_tail: LogTail = None,
    storage_option: StorageOption = None,
    option: Options = None,
) -> None:
    """Print the phases that find a table's live files, and the plan of each.

    The log is listed, and protocol and metadata are read; the file list is only planned.

    [dim]headrace explain /data/events --where "city = 'Bern'"[/]
    """
    source = open_table(table, storage_option)
    snapshot = source.snapshot(version=version, as_of=as_of, log_tail=log_tail)
    typer.echo(source.explain(version=snapshot.version, log_tail=log_tail))
    typer.echo(snapshot.scan(where=where, limit=limit, **parse_options(option)).explain())
    if limit is not None:
        typer.echo(f"and stop after {counted(limit, 'file')}")
    decoder = "compiled loops; Arrow decodes what they decline" if is_built() else "Arrow only"
    typer.echo(f"rows of local files are decoded by: {decoder}")
