"""How a command ends: exit statuses for typed errors, closed pipes and Ctrl-C.

Ctrl-C ends a command at once, so it first kills a JVM that the command started: a call to it that
is cut off leaves an unread reply, and cleaning up would wait for it.
"""

import contextlib
import functools
import os
import signal
import sys
from collections.abc import Callable
from typing import NoReturn, ParamSpec, TypeAlias

import typer

from headrace.errors import (
    DamageError,
    EngineError,
    HeadraceError,
    OutputFailedError,
    PipelineError,
    RequestError,
    ServiceError,
    SetupError,
    StorageError,
    TableError,
    ViewError,
)

P = ParamSpec("P")

STATUSES: tuple[tuple[type[HeadraceError], int, str], ...] = (
    (ViewError, 1, "a view is wrong, or cannot run on the chosen runner"),
    (RequestError, 2, "the request is wrong"),
    (TableError, 3, "the table is absent, unsupported, or has changed"),
    (DamageError, 4, "the log or a data file is damaged"),
    (StorageError, 5, "the store failed, or the output could not be written"),
    (SetupError, 6, "the machine or the session lacks something"),
    (EngineError, 7, "an engine failed"),
    (PipelineError, 8, "the project cannot be planned or run"),
    (ServiceError, 9, "a server refused the request, or its answer was incomplete"),
    (HeadraceError, 70, "an internal contract was violated"),
)
"""The exit status of each family of errors, most specific first."""

INTERRUPTED = 130

_interrupted: list[bool] = []
"""Not empty once Ctrl-C was pressed."""

Ending: TypeAlias = HeadraceError | OSError | KeyboardInterrupt
"""What may end a command early; anything else is a bug."""


def with_exit_status(command: Callable[P, None]) -> Callable[P, None]:
    """Wrap a command so that errors end it with a message and an exit status."""

    @functools.wraps(command)
    def wrapped(*args: P.args, **kwargs: P.kwargs) -> None:
        try:
            command(*args, **kwargs)
            sys.stdout.flush()
        except (HeadraceError, OSError, KeyboardInterrupt) as error:
            raise typer.Exit(end(error, table=kwargs.get("table"))) from error
        except Exception as error:
            if not _interrupted:
                raise
            raise typer.Exit(end(KeyboardInterrupt())) from error

    return wrapped


def end(error: Ending, *, table: object = None) -> int:
    """Print an error, unless it needs no message, and return the exit status.

    `table` is the table the command reads: damage may name a file only by its relative path.
    """
    if _interrupted:  # cleaning up may have failed in its own way
        error = KeyboardInterrupt()
    match error:
        case KeyboardInterrupt():
            if _kill_jvm():
                print("interrupted", file=sys.stderr)  # noqa: T201
            return INTERRUPTED
        case BrokenPipeError():
            # The reader of the pipe has exited, as `head` does: not an error.
            _discard_output()
            return 0
        case HeadraceError():
            return _print_error(error, table=table)
        case OSError():
            # Reads raise typed errors, so this is a failed write.
            _discard_output()
            target, reason = error.filename or "the output", error.strerror or str(error)
            return _print_error(OutputFailedError(target=target, reason=reason))


def interrupt(*_: object) -> NoReturn:
    """Kill a JVM that was started here, and raise `KeyboardInterrupt`: the signal handler."""
    _interrupted.append(True)
    _kill_jvm()
    raise KeyboardInterrupt


def handle_interrupts() -> None:
    """Install `interrupt`, unless the caller of the process ignores Ctrl-C."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, interrupt)


def _kill_jvm() -> bool:
    """Kill a JVM that was started here; return whether this process uses Spark."""
    own_jvm = sys.modules.get("headrace.spark.own_jvm")  # importing it would import Spark
    kill = getattr(own_jvm, "kill_own_jvm", None)
    if kill is not None:
        kill()
    return kill is not None


def status_of(error: HeadraceError) -> int:
    """Return the exit status of an error."""
    return next(status for family, status, _ in STATUSES if isinstance(error, family))


def _print_error(error: HeadraceError, *, table: object = None) -> int:
    unnamed = table and isinstance(error, DamageError) and "table" not in error.fields
    text = f"{table}: {error}" if unnamed else str(error)
    from rich.markup import escape  # noqa: PLC0415  (it takes long to import)

    from headrace.cli.console import Console  # noqa: PLC0415

    # If standard error cannot be written to either, the exit status still reports the failure.
    with contextlib.suppress(OSError):
        console = Console(stderr=True, soft_wrap=True, highlight=False)
        console.print(f"[bold red]error[/] [bold]{error.code}[/]: {escape(text)}")
    return status_of(error)


def _discard_output() -> None:
    """Discard buffered output, which would fail again when the interpreter exits."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
