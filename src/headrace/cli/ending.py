"""How a command ends: a typed error with its status, a reader that went away, Ctrl-C."""

import contextlib
import functools
import os
import sys
from collections.abc import Callable
from typing import ParamSpec, TypeAlias

import typer

from headrace.errors import (
    DamageError,
    EngineError,
    HeadraceError,
    OutputFailedError,
    PipelineError,
    RequestError,
    SetupError,
    StorageError,
    TableError,
    ViewError,
)

P = ParamSpec("P")

STATUSES: tuple[tuple[type[HeadraceError], int, str], ...] = (
    (ViewError, 1, "a view is wrong, or not for this engine"),
    (RequestError, 2, "the request is wrong"),
    (TableError, 3, "the table cannot give it"),
    (DamageError, 4, "the log, or a data file, is damaged"),
    (StorageError, 5, "the store failed, or the output"),
    (SetupError, 6, "this machine or session lacks something"),
    (EngineError, 7, "an engine failed"),
    (PipelineError, 8, "the project cannot be planned or run"),
    (HeadraceError, 70, "a part was used against its contract"),
)
"""The exit status of each family of errors, most special first."""

INTERRUPTED = 130

Ending: TypeAlias = HeadraceError | OSError | KeyboardInterrupt
"""What may end a command before its time; anything else is a fault of ours."""


def ends_well(command: Callable[P, None]) -> Callable[P, None]:
    """Give a command its exit statuses; nothing but the message reaches the terminal."""

    @functools.wraps(command)
    def wrapped(*args: P.args, **kwargs: P.kwargs) -> None:
        try:
            command(*args, **kwargs)
            sys.stdout.flush()
        except (HeadraceError, OSError, KeyboardInterrupt) as error:
            raise typer.Exit(end(error, table=kwargs.get("table"))) from error

    return wrapped


def end(error: Ending, *, table: object = None) -> int:
    """Tell of an error, if anyone should hear of it, and give the exit status.

    `table` is what the command reads: damage may name a file by its path below it alone.
    """
    match error:
        case KeyboardInterrupt():
            return INTERRUPTED
        case BrokenPipeError():
            # The reader has gone away, as `head` does: that is its right, and no error of ours.
            _forget_output()
            return 0
        case HeadraceError():
            return _tell(error, table=table)
        case OSError():
            # What is read comes with typed errors, so this is about what is written.
            _forget_output()
            reason = error.strerror or str(error)
            return _tell(OutputFailedError(target=error.filename or "the output", reason=reason))


def status_of(error: HeadraceError) -> int:
    """The exit status that tells of an error."""
    return next(status for family, status, _ in STATUSES if isinstance(error, family))


def _tell(error: HeadraceError, *, table: object = None) -> int:
    unnamed = table and isinstance(error, DamageError) and "table" not in error.fields
    text = f"{table}: {error}" if unnamed else str(error)
    from rich.markup import escape  # noqa: PLC0415  (it takes long to import)

    from headrace.cli.console import Console  # noqa: PLC0415

    # Where standard error cannot be written to either, the status still tells.
    with contextlib.suppress(OSError):
        console = Console(stderr=True, soft_wrap=True, highlight=False)
        console.print(f"[bold red]error[/] [bold]{error.code}[/]: {escape(text)}")
    return status_of(error)


def _forget_output() -> None:
    """Let go of what is still buffered: it would fail again when the interpreter ends."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
