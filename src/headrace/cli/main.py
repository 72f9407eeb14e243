"""The entry point of the `headrace` command.

A plain call of one command imports only that command. Everything else, such as help or a usage
error, goes to the complete Typer application in `headrace.cli.app`.
"""

import io
import os
import sys
from typing import Any

import typer

from headrace.cli.commands import load_command
from headrace.cli.ending import end, handle_interrupts, with_exit_status
from headrace.cli.quick import parse_words
from headrace.errors import HeadraceError, OutputFailedError


def __getattr__(name: str) -> Any:
    """Return the complete Typer application as `app`, imported on first access."""
    if name == "app":
        from headrace.cli.app import app  # noqa: PLC0415  (plain calls do without it)

        return app
    raise AttributeError(name)


def run() -> None:
    """Run the command line."""
    # Arrow's default allocator keeps tens of megabytes for reuse, which a short process does not
    # need. It is set through the environment because most commands never import Arrow.
    os.environ.setdefault("ARROW_DEFAULT_MEMORY_POOL", "system")
    handle_interrupts()
    try:
        _open_streams()
        _run_words(sys.argv[1:])
    except (HeadraceError, OSError) as error:  # outside any command, such as help
        sys.exit(end(error))
    except SystemExit as exiting:
        # Typer and Rich treat a closed pipe while printing help as a failure.
        if isinstance(exiting.__context__, BrokenPipeError):
            sys.exit(end(exiting.__context__))
        raise


def _run_words(words: list[str]) -> None:
    command = load_command(words[0]) if words else None
    arguments = None if command is None else parse_words(command, words[1:])
    if command is None or arguments is None:
        from headrace.cli.app import app  # noqa: PLC0415  (plain calls do without it)

        app()
        return
    try:
        with_exit_status(command)(**arguments)
    except typer.Exit as exiting:
        sys.exit(exiting.exit_code)


def _open_streams() -> None:
    """Make the standard streams write UTF-8 in every locale.

    Raises:
        OutputFailedError: Standard output is closed.
    """
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: PTH123, SIM115
    if sys.stdout is None:
        raise OutputFailedError(target="standard output", reason="it is closed")
    for stream, errors in ((sys.stdout, "surrogateescape"), (sys.stderr, "backslashreplace")):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(encoding="utf-8", errors=errors)
