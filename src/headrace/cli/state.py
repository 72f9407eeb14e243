"""`headrace state`: maintains the state of a table."""

from enum import StrEnum
from typing import Annotated, Any

import msgspec
import typer

from headrace.cli.console import make_grid, plain_console, print_grid, print_json
from headrace.cli.option import (
    AsJson,
    StorageOption,
    TableUri,
    open_table,
    parse_moment,
    parse_words,
)
from headrace.cli.path import shown_path
from headrace.cli.progress_bar import Work, show_work
from headrace.errors import InvalidArgumentError


class Verb(StrEnum):
    """The operations on a state."""

    SYNC = "sync"
    DESCRIBE = "describe"
    COMPACT = "compact"
    CLEAN = "clean"
    VERIFY = "verify"
    CHANGES = "changes"


def state(  # noqa: PLR0913  (one parameter an option)
    verb: Annotated[Verb, typer.Argument(help="What to do with the state.", show_choices=True)],
    table: TableUri,
    *,
    setting: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="NAME=VALUE",
            help="A setting of states, e.g. --set retention_versions=5; may be repeated.",
        ),
    ] = None,
    since: Annotated[
        str | None,
        typer.Option(
            "--since",
            metavar="WHEN",
            help="changes: those after this version, or from this time on: "
            "42, 2026-03-01, yesterday.",
        ),
    ] = None,
    place: Annotated[
        str | None,
        typer.Option(
            "--state",
            metavar="FOLDER",
            help="The folder of the states of a Delta table, if it is not _headrace in the table.",
        ),
    ] = None,
    yes: Annotated[
        bool, typer.Option("--yes", help="clean: delete; without it, only list the files.")
    ] = False,
    storage_option: StorageOption = None,
    as_json: AsJson = False,
) -> None:
    """Maintain the state of a table: sync, describe, compact, clean, verify, changes.

    [dim]headrace state sync /data/events[/]
    """
    from headrace.maintain.setting import parse_settings  # noqa: PLC0415

    opened = open_table(table, storage_option, state=place)
    if verb is Verb.CHANGES:
        _changes(opened, since, as_json=as_json)
        return
    keeper = opened.state.with_settings(parse_settings(parse_words("--set", setting)))
    with show_work(f"{verb} {table}", lambda: _work(keeper.progress)):
        facts = _facts(verb, keeper, yes=yes)
    if as_json:
        print_json(facts)
    else:
        _render(facts)
    if facts.get("problems"):
        raise typer.Exit(1)


def _work(progress: Any) -> Work:
    """Return the entries written, once there are some, else the entries read."""
    read, written = progress.entries_read, progress.entries_written
    if written:
        return Work(written, read if read >= written else None, "entries written")
    return Work(read, None, "entries read")


def _facts(verb: Verb, keeper: Any, *, yes: bool) -> dict[str, Any]:
    if verb is Verb.SYNC:
        return _plain(keeper.sync())
    if verb is Verb.DESCRIBE:
        described = keeper.describe()
        return dict(described.properties()) | {"advice": list(described.advice)}
    if verb is Verb.COMPACT:
        result = keeper.compact()
        return {"status": "clean already"} if result is None else _plain(result)
    if verb is Verb.CLEAN:
        plan, result = keeper.clean(dry_run=not yes)
        return _plain(plan) | _plain(result)
    return _plain(keeper.verify())


def _plain(value: Any) -> dict[str, Any]:
    facts: dict[str, Any] = msgspec.to_builtins(value)
    return facts


def _changes(table: Any, since: str | None, *, as_json: bool) -> None:
    if since is None:
        reason = "give the version after which to start, or a time"
        raise InvalidArgumentError(argument="--since", reason=reason)
    moment = parse_moment(since)
    changes = _changes_after(table, moment)
    if as_json:
        print_json(changes)
        return
    grid = make_grid("version", "change", "size", "path")
    for change in changes:
        size = str(change.size_bytes or "")
        grid.add_row(str(change.version), change.kind, size, shown_path(change.path))
    print_grid(grid)


def _changes_after(table: Any, moment: int | str) -> list[Any]:
    """Return the changes after a version, none if it is the newest, or from a time on."""
    if isinstance(moment, str):
        return list(table.changes(moment))
    newest = table.snapshot().version
    if moment > newest:
        reason = f"it must be between 0 and {newest}"
        raise InvalidArgumentError(argument="--since", reason=reason)
    return [] if moment == newest else list(table.changes(moment + 1))


def _render(facts: dict[str, Any]) -> None:
    """Print one fact per line, without those that have no value."""
    console = plain_console()
    for name, value in facts.items():
        if value is None:
            continue
        if isinstance(value, bool):
            console.print(f"{name}: {'yes' if value else 'no'}")
        elif isinstance(value, (list, tuple)) and all(isinstance(item, int) for item in value):
            console.print(f"{name}: {', '.join(map(str, value)) or 'none'}")
        elif isinstance(value, (list, tuple)):
            console.print(f"{name}:")
            for item in value:
                console.print(f"  {item}")
        else:
            console.print(f"{name}: {value}")
