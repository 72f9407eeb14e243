"""Open the embedded engine; its parts that need Arrow are loaded on first use.

A store enters; an executor leaves, with caches that all executions on a table share.
"""

import os
import sys
from importlib import import_module
from threading import Lock
from typing import Any

from headrace.engines.arrow.arrow_part import Checkpoints, Columnar
from headrace.engines.arrow.executor import ArrowExecutor
from headrace.engines.log_bytes import LogBytes, LogCache
from headrace.plan.context import ExecutionContext
from headrace.protocol.state import StateManifest
from headrace.storage.store import Store

_READERS = (
    *("headrace.avro.state_file", "headrace.engines.arrow.columnar", "headrace.expr.bind"),
    *("headrace.expr.parse", "headrace.rows.open", "headrace.scan.arrow_files"),
)


DEFAULT_CACHE_BYTES = 32 << 20
"""The size limit of each cache of a table: that of footers, and that of file lists."""


class ColumnarLoader:
    """Loads the parts of the embedded engine that need Arrow on first use, Parquet by itself.

    All executions on one table share the footer cache. The cache is not pickled.
    """

    def __init__(self, cache_bytes: int) -> None:
        """Start with an empty footer cache of at most `cache_bytes`."""
        self._cache_bytes = cache_bytes
        self._footers: Any = None
        self._creating = Lock()

    def __call__(self, log: LogBytes, context: ExecutionContext) -> Columnar:
        """Import the columnar part and bind it to an execution."""
        from headrace.engines.arrow.columnar import ArrowColumnar  # noqa: PLC0415

        return ArrowColumnar(log.store, context=context)

    def checkpoints(
        self, log: LogBytes, context: ExecutionContext, columnar: Columnar
    ) -> Checkpoints:
        """Import the part that reads Parquet and bind it to an execution."""
        from headrace.engines.arrow.checkpoint.parquet_source import FooterCache  # noqa: PLC0415
        from headrace.engines.arrow.checkpoint.reader import ParquetCheckpoints  # noqa: PLC0415

        with self._creating:
            if self._footers is None:
                self._footers = FooterCache(self._cache_bytes)
        return ParquetCheckpoints(
            log, footers=self._footers, context=context, judged=columnar.judged
        )

    def __reduce__(self) -> tuple[Any, ...]:
        return ColumnarLoader, (self._cache_bytes,)

    def decode_state(self, content: bytes, *, path: str) -> StateManifest:
        """Decode the state in a file.

        Raises:
            CorruptStateError, UnsupportedStateError: the state cannot be read.
        """
        from headrace.avro.state_file import decode_state  # noqa: PLC0415

        return decode_state(content, path=path)

    def clear(self) -> None:
        """Clear the footer cache, including for current executions."""
        if self._footers is not None:
            self._footers.clear()


def open_executor(store: Store, *, cache_bytes: int = DEFAULT_CACHE_BYTES) -> ArrowExecutor:
    """Return the default engine for a store."""
    return ArrowExecutor(
        store, load_columnar=ColumnarLoader(cache_bytes), cache=LogCache(cache_bytes)
    )


def use_lean_memory() -> None:
    """Make Arrow use the allocator that returns memory to the system soonest.

    Arrow's default allocator retains tens of megabytes. The choice affects the whole process, so
    a library does not make it unasked. Call this before anything else imports Arrow: a part of
    Arrow keeps the allocator that it started with.
    """
    if sys.platform == "linux":  # other builds of Arrow may lack jemalloc and would warn
        os.environ.setdefault("ARROW_DEFAULT_MEMORY_POOL", "jemalloc")
    import pyarrow as pa  # noqa: PLC0415

    try:
        pa.set_memory_pool(pa.jemalloc_memory_pool())
    except NotImplementedError:
        pa.set_memory_pool(pa.system_memory_pool())


def import_readers() -> None:
    """Import what scans and reads of rows import on first use."""
    for module in _READERS:
        import_module(module)
