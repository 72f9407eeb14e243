"""The complete Typer application: every command with its help, completion and usage errors."""

from typing import Any

import typer
from typer.core import TyperGroup

from headrace import __version__
from headrace.cli.commands import PANELS, load_command
from headrace.cli.ending import INTERRUPTED, STATUSES, with_exit_status

_STATUS_TEXT = ", ".join(f"{status} {meaning}" for _, status, meaning in STATUSES)


class _PlainErrors(TyperGroup):
    """Reports a wrong value without the prefix of the library that checks values."""

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except typer.BadParameter as error:
            error.message = error.message.removeprefix("Value error, ")
            raise


app = typer.Typer(
    name="headrace",
    cls=_PlainErrors,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    help="Stream the live files of huge Delta tables, newest first, in bounded memory, and run "
    "pipelines of views over them, in which every run is pinned and can be replayed.",
    epilog=f"Exit status: 0 done, {_STATUS_TEXT}, {INTERRUPTED} interrupted.",
)

for panel, names in PANELS.items():
    for name in names:
        command = load_command(name)
        assert command is not None
        app.command(name, rich_help_panel=panel)(with_exit_status(command))


def _print_version(is_requested: bool) -> None:  # noqa: FBT001  (typer calls it so)
    if is_requested:
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
