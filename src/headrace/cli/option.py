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
    int | None,
    typer.Option("--limit", "-n", min=0, metavar="COUNT", help="Stop after so many files."),
]
Version: TypeAlias = Annotated[
    int | None,
    typer.Option(
        "--version", "-v", min=0, metavar="VERSION", help="Read this version of the table."
    ),
]
Options: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(
        "--option",
        "-o",
        metavar="NAME=VALUE",
        help="How to go about it, e.g. -o strategy=forward; may be repeated. "
        f"Names: {', '.join(ScanOptions.__struct_fields__)}.",
    ),
]
RowOptionsOption: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(
        "--option",
        "-o",
        metavar="NAME=VALUE",
        help="How to go about it, e.g. -o files_at_once=8; may be repeated. "
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
        help="Read the version of a time: ISO 8601 (UTC unless it says otherwise), now, "
        "yesterday, '2 hours ago'.",
    ),
]

ProjectFolder: TypeAlias = Annotated[
    str, typer.Argument(metavar="PROJECT", help="The folder that holds headrace.toml.")
]
RunName: TypeAlias = Annotated[
    str, typer.Argument(metavar="RUN", help="The run: an id, its beginning, or latest.")
]
Pin: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(
        "--pin", metavar="SOURCE=VERSION", help="Read a source at a version; may be repeated."
    ),
]
Variable: TypeAlias = Annotated[
    list[str] | None,
    typer.Option("--var", metavar="NAME=VALUE", help="Set a variable; may be repeated."),
]
EngineName: TypeAlias = Annotated[
    str, typer.Option("--engine", metavar="ENGINE", help="The runner: spark or datafusion.")
]
AsJson: TypeAlias = Annotated[bool, typer.Option("--json", help="Write JSON, for tools.")]


def parse_words(argument: str, given: list[str] | None) -> dict[str, str]:
    """Turn `name=value` words into a mapping.

    Raises:
        InvalidArgumentError: a word has another form, or a name is given twice.
    """
    values: dict[str, str] = {}
    for word in given or ():
        name, found, value = word.partition("=")
        if not found or not name:
            raise InvalidArgumentError(argument=argument, reason=f"{word!r} is not NAME=VALUE")
        if values.setdefault(name, value) != value:
            raise InvalidArgumentError(argument=argument, reason=f"{name} is given twice")
    return values


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
