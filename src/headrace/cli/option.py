"""The options that several commands share, each explained once."""

from typing import Annotated, Any, TypeAlias

import typer

from headrace.errors import InvalidArgumentError
from headrace.rows.option import RowOptions
from headrace.scan.options import ScanOptions

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
Options: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(
        "--option",
        "-o",
        metavar="NAME=VALUE",
        help="How to go about it, e.g. -o strategy=forward. "
        f"Names: {', '.join(ScanOptions.__struct_fields__)}.",
    ),
]
RowOptionsOption: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(
        "--option",
        "-o",
        metavar="NAME=VALUE",
        help="How to go about it, e.g. -o files_at_once=8. "
        f"Names: {', '.join(RowOptions.__struct_fields__)}.",
    ),
]
LogTail: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(
        "--log-tail",
        metavar="PATH",
        help="A commit that the table's catalog has ratified, below _delta_log; may be repeated.",
    ),
]
AsOf: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--as-of",
        metavar="TIME",
        help="Read the version of a time, in ISO 8601; UTC unless it says otherwise.",
    ),
]


def parse_options(
    given: list[str] | None, *, defaults: ScanOptions | None = None
) -> dict[str, Any]:
    """Turn `name=value` words into the overrides of a scan.

    Raises:
        InvalidArgumentError: a word has another form, or a number is none.
    """
    overrides: dict[str, Any] = {}
    defaults = defaults or ScanOptions()
    for word in given or ():
        name, found, value = word.partition("=")
        if not found:
            raise InvalidArgumentError(argument="--option", reason=f"{word!r} is not NAME=VALUE")
        is_number = type(getattr(defaults, name, None)) is int
        if is_number and not value.removeprefix("-").isdecimal():
            raise InvalidArgumentError(argument=name, reason=f"{value!r} is not a whole number")
        overrides[name] = int(value) if is_number else value
    return overrides
