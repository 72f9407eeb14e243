"""The `headrace` command: its verbs."""

import io
import os
import sys

import typer

from headrace import __version__
from headrace.cli.docs import docs
from headrace.cli.ending import INTERRUPTED, STATUSES, end, ends_well
from headrace.cli.explain import explain
from headrace.cli.files import files
from headrace.cli.functions import functions
from headrace.cli.init import init
from headrace.cli.lineage import lineage
from headrace.cli.plan import plan
from headrace.cli.rows import rows
from headrace.cli.run import replay, why
from headrace.cli.run import run as run_project
from headrace.cli.runs import diff, runs, show, vacuum
from headrace.cli.snapshot import snapshot
from headrace.errors import HeadraceError, OutputFailedError

_STATUS_TEXT = ", ".join(f"{status} {meaning}" for _, status, meaning in STATUSES)

app = typer.Typer(
    name="headrace",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    help="Stream the live files of huge Delta tables, newest first, in bounded memory, and run "
    "pipelines of views over them, in which every run is pinned and can be replayed.",
    epilog=f"Exit status: 0 done, {_STATUS_TEXT}, {INTERRUPTED} interrupted.",
)

for panel, commands in (
    ("Tables", (files, rows, snapshot, explain)),
    ("Projects", (init, plan, lineage, functions, docs)),
    ("Runs", (run_project, why, runs, show, diff, replay, vacuum)),
):
    for command in commands:
        name = "run" if command is run_project else None
        app.command(name, rich_help_panel=panel)(ends_well(command))


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


def run() -> None:
    """Run the command line."""
    # Arrow's default allocator keeps tens of megabytes for later; this process has no later.
    # It is told by the environment, since most commands never import Arrow.
    os.environ.setdefault("ARROW_DEFAULT_MEMORY_POOL", "system")
    try:
        _open_streams()
        app()
    except (HeadraceError, OSError) as error:  # outside of any command, as help is
        sys.exit(end(error))
    except SystemExit as leaving:
        # Typer and Rich take a reader of help who went away for a failure.
        if isinstance(leaving.__context__, BrokenPipeError):
            sys.exit(end(leaving.__context__))
        raise


def _open_streams() -> None:
    """What is written is UTF-8 wherever it goes: paths and rows are, whatever the locale says.

    Raises:
        OutputFailedError: there is no standard output.
    """
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: PTH123, SIM115
    if sys.stdout is None:
        raise OutputFailedError(target="standard output", reason="it is closed")
    for stream, errors in ((sys.stdout, "surrogateescape"), (sys.stderr, "backslashreplace")):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(encoding="utf-8", errors=errors)
