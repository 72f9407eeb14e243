"""The `headrace` command: its verbs, its exit statuses, and how it ends."""

import os
import sys
from collections.abc import Callable

import click
import typer
from rich.console import Console

from headrace import __version__
from headrace.cli.explain import explain
from headrace.cli.files import files
from headrace.cli.snapshot import snapshot
from headrace.errors import (
    DamageError,
    HeadraceError,
    RequestError,
    StorageError,
    TableError,
)

_STATUSES: tuple[tuple[type[HeadraceError], int], ...] = (
    (RequestError, 2),
    (TableError, 3),
    (DamageError, 4),
    (StorageError, 5),
    (HeadraceError, 70),
)
_INTERRUPTED = 130

app = typer.Typer(
    name="headrace",
    no_args_is_help=True,
    add_completion=True,
    rich_markup_mode="rich",
    help="Stream the live files of huge Delta tables, newest first, in bounded memory.",
    epilog=(
        "Exit status: 0 done, 2 the request is wrong, 3 the table cannot give it, "
        "4 the log is damaged, 5 the store failed, 130 interrupted."
    ),
)


def _print_version(wanted: bool) -> None:  # noqa: FBT001  (typer calls it so)
    if wanted:
        typer.echo(f"headrace {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    *,
    version: bool = typer.Option(
        False, "--version", callback=_print_version, is_eager=True, help="Print the version."
    ),
) -> None:
    pass


app.command()(files)
app.command()(snapshot)
app.command()(explain)


def run() -> None:
    """Run the command line; every way out has its own status."""
    sys.exit(guarded(lambda: app(standalone_mode=False)))


def guarded(command: Callable[[], object]) -> int:
    """Call a command and turn how it ended into an exit status."""
    try:
        result = command()
        sys.stdout.flush()
    except HeadraceError as error:
        Console(stderr=True, soft_wrap=True, highlight=False).print(
            f"[bold red]error[/] [bold]{error.code}[/]: {_escaped(str(error))}"
        )
        return next(status for kind, status in _STATUSES if isinstance(error, kind))
    except click.ClickException as error:
        error.show()
        return error.exit_code
    except (click.Abort, KeyboardInterrupt):
        return _INTERRUPTED
    except BrokenPipeError:
        # The reader has gone away, as `head` does: that is its right, and no error of ours.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    return result if isinstance(result, int) else 0


def _escaped(text: str) -> str:
    return text.replace("[", r"\[")
