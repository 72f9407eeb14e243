"""`headrace sql`: runs a statement about the state of an IndexTables table."""

from typing import Annotated

import typer

from headrace.cli.console import make_grid, print_grid, print_json
from headrace.cli.option import AsJson, StorageOption, parse_words, store_settings
from headrace.errors import StatementSyntaxError
from headrace.wiring import run_state_sql


def sql(
    text: Annotated[str, typer.Argument(metavar="TEXT", help="The statement.")],
    *,
    setting: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="NAME=VALUE",
            help="A setting of states, e.g. --set format=json; may be repeated.",
        ),
    ] = None,
    storage_option: StorageOption = None,
    as_json: AsJson = False,
) -> None:
    """Run a SQL statement about a state, such as CHECKPOINT, COMPACT, DESCRIBE or PURGE.

    [dim]headrace sql "DESCRIBE INDEXTABLES STATE '/data/index'"[/]
    """
    from headrace.maintain.setting import parse_settings  # noqa: PLC0415

    settings = parse_settings(parse_words("--set", setting))
    options = store_settings(storage_option)
    result = run_state_sql(text, settings=settings, options=options)
    if result is None:
        raise StatementSyntaxError(
            statement=text,
            expected="CHECKPOINT, COMPACT, DESCRIBE, PURGE, TRUNCATE, INVALIDATE, DROP or REPAIR",
            found=repr(text.split(maxsplit=1)[0]) if text.split() else "nothing",
            position=0,
        )
    rows = list(result.dicts())
    if as_json:
        print_json(rows)
        return
    grid = make_grid(*result.columns)
    for row in rows:
        grid.add_row(*("" if value is None else str(value) for value in row.values()))
    print_grid(grid)
