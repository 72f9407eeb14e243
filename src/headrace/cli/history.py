"""`headrace history`: lists the commits of a table, newest first."""

from typing import Annotated, Any

import typer

from headrace.cli.console import print_json, print_lines
from headrace.cli.moment import shown_time
from headrace.cli.option import AsJson, StorageOption, TableUri, open_table


def history(
    table: TableUri,
    *,
    limit: Annotated[
        int | None,
        typer.Option("--limit", "-n", min=0, metavar="COUNT", help="List at most COUNT commits."),
    ] = None,
    storage_option: StorageOption = None,
    as_json: AsJson = False,
) -> None:
    """List the commits of a table, newest first: time, operation, metrics, user, engine.

    [dim]headrace history /data/events --limit 10[/]
    """
    entries = open_table(table, storage_option).history(limit)
    if as_json:
        print_json(entries)
        return
    lines = [("VERSION", "COMMITTED (UTC)", "OPERATION", "USER", "ENGINE", "METRICS")]
    lines += [
        (
            str(entry.version),
            shown_time(entry.timestamp_ms),
            entry.operation or "",
            entry.user_name or entry.user_id or "",
            entry.engine or "",
            ", ".join(f"{name}={_shown(value)}" for name, value in entry.metrics.items()),
        )
        for entry in entries
    ]
    print_lines(lines)


def _shown(value: Any) -> str:
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else str(value)
