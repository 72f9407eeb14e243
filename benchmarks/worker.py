"""One measurement, in a separate process.

    python -c "from benchmarks.worker import main; main()" MODE CONTESTANT MODULES WORD…

It imports the modules that the file MODULES names, and only then starts the warm clock, so that a
contestant's lazy imports are not counted as its work. The words are a `Question`. The measurements
are written to standard output as JSON, after the answer has been checked.
"""

import gc
import os
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from importlib import import_module
from typing import Any

from benchmarks.question import Ask, Question

MEASURE, AUDIT, IDLE = "measure", "audit", "idle"
"""Modes: measure; check every file of a stream; only import, to measure the memory of it."""
_FLOOR = "floor"


def main() -> None:
    """Answer the question on the command line."""
    at_start = set(sys.modules)
    mode, contestant, modules, *words = sys.argv[1:]
    question = Question.of_words(words)
    # This comes first, since an allocator must be chosen before libraries that use it are imported.
    answering = import_module(f"benchmarks.contestants.{contestant}").Contestant(question)
    _preload(modules)
    if mode == IDLE:
        _print({"peak_bytes": _peak_bytes()})
        return
    answer = prepare(answering, question, mode=mode)
    read, cpu_ns, started_ns = _bytes_read(), time.process_time_ns(), time.monotonic_ns()
    answered = answer()
    ended_ns = time.monotonic_ns()
    measured = {
        "started_ns": started_ns,
        "ended_ns": ended_ns,
        "cpu_ns": time.process_time_ns() - cpu_ns,
        "read_bytes": _difference(_bytes_read(), read),
        "peak_bytes": _peak_bytes(),
        "modules": [name for name in sys.modules if name not in at_start],
    }
    check(answering, answered, question)
    measured["said_read_bytes"] = getattr(answering, "bytes_read", lambda: None)()
    _print(measured)


def _preload(modules: str) -> None:
    if not modules:
        return
    with open(modules, encoding="utf-8") as names:  # noqa: PTH123  (pathlib costs a start)
        for name in names.read().split():
            # Some names are only aliases, which are imported with the module they refer to.
            with suppress(ImportError):
                import_module(name)
    gc.collect()  # garbage from imports does not count as work


def prepare(answering: Any, question: Question, *, mode: str) -> Callable[[], Any]:
    """Return the work to measure, as a call that returns the answer."""
    ask: Callable[[], Any] = getattr(answering, _method(answering, question))
    if question.ask is Ask.PATHS:
        return lambda: sum(1 for _ in ask())
    if question.ask is not Ask.BATCHES or ask.__name__ == _FLOOR:
        return ask
    consumption = import_module("benchmarks.consumption")
    if mode == AUDIT:
        tally = import_module("benchmarks.truth").Tally()
        stream = consumption.Audit(tally=tally)
    else:
        stream = consumption.Consumption()

    def consume() -> Any:
        stream.take(ask())
        return stream

    return consume


def check(answering: Any, answered: Any, question: Question) -> None:
    """Compare the answer with the truth stored next to the table; raise an error if they differ."""
    checks = import_module("benchmarks.check")
    folder = import_module("pathlib").Path(question.table).parent
    truth = import_module("benchmarks.truth").Truth.read(folder)
    if _method(answering, question) == _FLOOR:
        checks.check_floor(answered, truth)
    else:
        checks.check_answer(answered, question, truth)


def _method(answering: Any, question: Question) -> str:
    return _FLOOR if hasattr(answering, _FLOOR) else question.ask


def _bytes_read() -> int | None:
    """Return the bytes that this process has read so far, if the system reports them."""
    with suppress(OSError), open("/proc/self/io", "rb") as file:  # noqa: PTH123
        return int(file.readline().split()[1])
    return None


def _difference(after: int | None, before: int | None) -> int | None:
    return None if after is None or before is None else after - before


def _peak_bytes() -> int:
    # getrusage may report the peak of the parent process.
    with suppress(OSError), open("/proc/self/status", "rb") as file:  # noqa: PTH123
        for line in file:
            if line.startswith(b"VmHWM:"):
                return int(line.split()[1]) * 1024
    usage = import_module("resource")
    peak: int = usage.getrusage(usage.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024


def _print(measured: dict[str, Any]) -> None:
    print(import_module("json").dumps(measured), flush=True)
    # Freeing a table of millions of files takes long, and nothing needs it.
    os._exit(0)


if __name__ == "__main__":
    main()
