"""`headrace sql`: runs a statement about the state of an IndexTables table."""

import re
from typing import Annotated

import typer

from headrace.cli.console import make_grid, print_grid, print_json
from headrace.cli.option import AsJson, StorageOption, parse_words, store_settings
from headrace.errors import StatementSyntaxError
from headrace.wiring import run_state_sql

_VERBS = (
    "CHECKPOINT",
    "COMPACT",
    "DESCRIBE",
    "PURGE",
    "TRUNCATE",
    "INVALIDATE",
    "DROP",
    "REPAIR",
)


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
        raise _unknown_statement(text)
    rows = list(result.dicts())
    if as_json:
        print_json(rows)
        return
    grid = make_grid(*result.columns)
    for row in rows:
        grid.add_row(*("" if value is None else str(value) for value in row.values()))
    print_grid(grid)


def _unknown_statement(text: str) -> StatementSyntaxError:
    """Return the error for the first word that no statement has there."""
    words = list(re.finditer(r"\S+", text))
    expected, wrong = f"{', '.join(_VERBS[:-1])} or {_VERBS[-1]}", words[:1]
    if words and words[0][0].upper() in {*_VERBS, "DESC"}:
        expected, wrong = "INDEXTABLES", words[1:2]
    return StatementSyntaxError(
        statement=text,
        expected=expected,
        found=repr(wrong[0][0]) if wrong else "the end",
        position=wrong[0].start() if wrong else len(text),
    )
