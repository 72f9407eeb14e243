"""The options that several commands share, each explained once."""

from typing import Annotated, TypeAlias

import typer

TableUri: TypeAlias = Annotated[
    str, typer.Argument(metavar="TABLE", help="The folder that holds _delta_log.")
]
Where: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--where",
        metavar="SQL",
        help="Leave out files that cannot hold a matching row, e.g. \"date >= '2026-03-01'\".",
    ),
]
Limit: TypeAlias = Annotated[
    int | None, typer.Option("--limit", "-n", min=0, help="Stop after so many files.")
]
Version: TypeAlias = Annotated[
    int | None, typer.Option("--version", "-v", min=0, help="Read this version of the table.")
]
AsOf: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--as-of",
        metavar="TIME",
        help="Read the version of a time, in ISO 8601; UTC unless it says otherwise.",
    ),
]
