"""The options that several commands share, each defined once, and the parsers of their values."""

import os
from typing import Annotated, Any, TypeAlias

import typer

from headrace.errors import InvalidArgumentError
from headrace.rows.option import RowOptions
from headrace.scan.options import ScanOptions
from headrace.table import Table

TableUri: TypeAlias = Annotated[
    str,
    typer.Argument(metavar="TABLE", help="The folder that contains _delta_log, or its address."),
]
Where: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--where",
        metavar="SQL",
        help="Skip files that cannot contain a matching row, e.g. \"date >= '2026-03-01'\".",
    ),
]
Limit: TypeAlias = Annotated[
    int | None,
    typer.Option("--limit", "-n", min=0, metavar="COUNT", help="Stop after COUNT files."),
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
        help="A scan option, e.g. -o strategy=forward; repeatable. "
        f"Names: {', '.join(ScanOptions.__struct_fields__)}.",
    ),
]
RowOptionsOption: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(
        "--option",
        "-o",
        metavar="NAME=VALUE",
        help="A read option, e.g. -o files_at_once=8; repeatable. "
        f"Names: {', '.join(RowOptions.__struct_fields__)}.",
    ),
]
LogTail: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(
        "--log-tail",
        metavar="PATH",
        help="A commit ratified by the table's catalog, relative to _delta_log; repeatable.",
    ),
]
StorageOption: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(
        "--storage-option",
        metavar="NAME=VALUE",
        help="A setting of the table's store, e.g. --storage-option region=eu-west-1; repeatable. "
        "Keep secrets in the environment: other users can see command lines.",
    ),
]
AsOf: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--as-of",
        metavar="TIME",
        help="Read the version at a time: ISO 8601 (UTC by default), now, yesterday, "
        "'2 hours ago'.",
    ),
]

ProjectFolder: TypeAlias = Annotated[
    str, typer.Argument(metavar="PROJECT", help="The folder that contains headrace.toml.")
]
RunName: TypeAlias = Annotated[
    str, typer.Argument(metavar="RUN", help="The run: an id, a unique prefix, or latest.")
]
Pin: TypeAlias = Annotated[
    list[str] | None,
    typer.Option("--pin", metavar="SOURCE=VERSION", help="Read a source at a version; repeatable."),
]
Variable: TypeAlias = Annotated[
    list[str] | None,
    typer.Option("--var", metavar="NAME=VALUE", help="Set a variable; repeatable."),
]
EngineName: TypeAlias = Annotated[
    str, typer.Option("--engine", metavar="ENGINE", help="The runner: spark or datafusion.")
]
AsJson: TypeAlias = Annotated[bool, typer.Option("--json", help="Write JSON, for tools.")]


def open_table(table: str, storage_option: list[str] | None, *, state: str | None = None) -> Table:
    """Open a table with the store settings of the command line.

    Args:
        table: The address or path of the table.
        storage_option: Settings of its store.
        state: The address or path of its states, if they are elsewhere.

    Raises:
        InvalidArgumentError: as for `store_settings`.
    """
    if state is not None and "://" not in state:
        state = os.path.abspath(state)  # noqa: PTH100  (`Path` would keep `..`)
    return Table(table, storage_options=store_settings(storage_option), state=state)


def store_settings(storage_option: list[str] | None) -> dict[str, str] | None:
    """Return the store settings of the command line; None if there are none.

    Raises:
        InvalidArgumentError: A setting is not of the form NAME=VALUE. The message does not
            contain it, because it may be a secret.
    """
    settings: dict[str, str] = {}
    for word in storage_option or ():
        name, separator, value = word.partition("=")
        if not separator or not name:
            raise InvalidArgumentError(argument="--storage-option", reason="write NAME=VALUE")
        settings[name] = value
    return settings or None


def parse_moment(text: str) -> int | str:
    """Return the version that `text` is, or `text` itself, which is a time."""
    return int(text) if text.isascii() and text.isdecimal() else text


def parse_words(argument: str, words: list[str] | None) -> dict[str, str]:
    """Parse `name=value` arguments into a mapping.

    Raises:
        InvalidArgumentError: An argument is malformed, or a name is given twice.
    """
    values: dict[str, str] = {}
    for word in words or ():
        name, separator, value = word.partition("=")
        if not separator or not name:
            raise InvalidArgumentError(argument=argument, reason=f"{word!r} is not NAME=VALUE")
        if values.setdefault(name, value) != value:
            raise InvalidArgumentError(argument=argument, reason=f"{name} is given twice")
    return values


def parse_options(
    words: list[str] | None, *, defaults: ScanOptions | None = None
) -> dict[str, Any]:
    """Parse `name=value` arguments into overrides of scan options.

    Raises:
        InvalidArgumentError: An argument is malformed, or is not a number where one is needed.
    """
    overrides: dict[str, Any] = {}
    defaults = defaults or ScanOptions()
    for word in words or ():
        name, separator, value = word.partition("=")
        if not separator:
            raise InvalidArgumentError(argument="--option", reason=f"{word!r} is not NAME=VALUE")
        is_number = type(getattr(defaults, name, None)) is int
        if is_number and not value.removeprefix("-").isdecimal():
            raise InvalidArgumentError(argument=name, reason=f"{value!r} is not a whole number")
        overrides[name] = int(value) if is_number else value
    return overrides
