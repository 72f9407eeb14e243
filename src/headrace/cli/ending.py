"""How a command ends: a typed error with its status, a reader that went away, Ctrl-C."""

import functools
import os
import sys
from collections.abc import Callable
from typing import ParamSpec

import typer
from rich.console import Console
from rich.markup import escape

from headrace.errors import (
    DamageError,
    EngineError,
    HeadraceError,
    PipelineError,
    RequestError,
    SetupError,
    StorageError,
    TableError,
)

P = ParamSpec("P")

STATUSES: tuple[tuple[type[HeadraceError], int, str], ...] = (
    (RequestError, 2, "the request is wrong"),
    (TableError, 3, "the table cannot give it"),
    (DamageError, 4, "the log, or a data file, is damaged"),
    (StorageError, 5, "the store failed"),
    (SetupError, 6, "this machine or session lacks something"),
    (EngineError, 7, "an engine failed"),
    (PipelineError, 8, "the project cannot be planned or run"),
    (HeadraceError, 70, "a part was used against its contract"),
)
"""The exit status of each family of errors, most special first."""

INTERRUPTED = 130


def ends_well(command: Callable[P, None]) -> Callable[P, None]:
    """Give a command its exit statuses; nothing but the message reaches the terminal."""

    @functools.wraps(command)
    def wrapped(*args: P.args, **kwargs: P.kwargs) -> None:
        try:
            command(*args, **kwargs)
            sys.stdout.flush()
        except HeadraceError as error:
            console = Console(stderr=True, soft_wrap=True, highlight=False)
            console.print(f"[bold red]error[/] [bold]{error.code}[/]: {escape(str(error))}")
            raise typer.Exit(status_of(error)) from error
        except BrokenPipeError as error:
            # The reader has gone away, as `head` does: that is its right, and no error of ours.
            # What is still buffered must not fail again when the interpreter ends.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            raise typer.Exit(0) from error
        except KeyboardInterrupt as error:
            raise typer.Exit(INTERRUPTED) from error

    return wrapped


def status_of(error: HeadraceError) -> int:
    """The exit status that tells of an error."""
    return next(status for family, status, _ in STATUSES if isinstance(error, family))
