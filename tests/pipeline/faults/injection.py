"""Inject faults: any store operation or runner step can fail, or kill the process.

Operations are numbered in the order in which a run performs them. A fault names one operation and
how it fails: before or after it is executed, with an error or with the process killed.
"""

import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from enum import StrEnum
from io import IOBase
from threading import Lock
from typing import Any

import msgspec

from headrace import wiring
from headrace.errors import HeadraceError, StoreFailedError
from headrace.pipeline import wiring as pipeline_wiring


class Moment(StrEnum):
    """When and how an operation fails."""

    BEFORE = "before"
    AFTER = "after"
    KILL_BEFORE = "kill before"
    KILL_AFTER = "kill after"

    @property
    def is_kill(self) -> bool:
        """Whether it kills the process."""
        return self in {Moment.KILL_BEFORE, Moment.KILL_AFTER}


class Fault(msgspec.Struct, frozen=True, kw_only=True):
    """One operation that fails; `number` counts from 0, and one past the last fails nothing."""

    number: int
    moment: Moment


class Faults:
    """Numbers operations, and fails the chosen one."""

    def __init__(self, fault: Fault | None = None) -> None:
        self._fault = fault
        self._lock = Lock()
        self.operations: list[str] = []

    def run(self, name: str, operation: Callable[[], Any]) -> Any:
        with self._lock:
            number = len(self.operations)
            self.operations.append(name)
        fault = self._fault
        if fault is None or fault.number != number:
            return operation()
        if fault.moment is Moment.KILL_BEFORE:
            os.kill(os.getpid(), signal.SIGKILL)
        if fault.moment is Moment.BEFORE:
            raise StoreFailedError(path=name, reason="a fault was injected before it")
        with suppress(HeadraceError):  # for example, if there is nothing to read
            result = operation()
            if hasattr(result, "close"):  # nobody else holds an opened file
                result.close()
        if fault.moment is Moment.KILL_AFTER:
            os.kill(os.getpid(), signal.SIGKILL)
        raise StoreFailedError(path=name, reason="a fault was injected after it")


class _Failing:
    """Wraps an object, some of whose methods are operations."""

    def __init__(self, inner: Any, faults: Faults, methods: frozenset[str], kind: str) -> None:
        self._inner, self._faults, self._methods, self._kind = inner, faults, methods, kind

    def __getattr__(self, name: str) -> Any:
        attribute = getattr(self._inner, name)
        if name not in self._methods:
            return attribute

        def operation(*args: Any, **options: Any) -> Any:
            label = f"{self._kind}.{name} {_subject(args)}"
            return self._faults.run(label, lambda: _whole(attribute(*args, **options)))

        return operation


def _subject(args: tuple[Any, ...]) -> str:
    return str(args[0])[-60:] if args and isinstance(args[0], str) else ""


def _whole(result: Any) -> Any:
    """Read listings and chunks to the end, so that they are complete; leave open files alone."""
    is_lazy = isinstance(result, Iterator) and not isinstance(result, IOBase)
    return iter(list(result)) if is_lazy else result


_READS = frozenset({"list", "read", "read_chunks", "open"})
_WRITES = _READS | {"put", "persist", "list_tree", "delete", "prune"}
_STEPS = frozenset({"compute", "merge", "close"})


@contextmanager
def injected(faults: Faults) -> Iterator[None]:
    """Inject `faults` into every store and runner that is opened in this block."""
    open_store, open_writable = wiring.open_store, wiring.open_writable_store
    runners = {n: getattr(pipeline_wiring, n) for n in ("datafusion_runner", "spark_runner")}

    def store(uri: str, **options: Any) -> Any:
        return _Failing(open_store(uri, **options), faults, _READS, "source")

    def writable_store(uri: str, **options: Any) -> Any:
        return _Failing(open_writable(uri, **options), faults, _WRITES, "store")

    def runner(name: str) -> Callable[..., Any]:
        return lambda *args: _Failing(runners[name](*args), faults, _STEPS, "runner")

    wiring.open_store, wiring.open_writable_store = store, writable_store
    for name in runners:
        setattr(pipeline_wiring, name, runner(name))
    try:
        yield
    finally:
        wiring.open_store, wiring.open_writable_store = open_store, open_writable
        for name, original in runners.items():
            setattr(pipeline_wiring, name, original)
