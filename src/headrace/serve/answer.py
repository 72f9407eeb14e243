"""The streamed answer to one request: messages of files or rows, then an outcome.

A request pinned to a version enters. Record batches leave, joined and cut to a useful message
size, until the answer ends or is stopped. A complete file list is cached for later requests.
"""

import time
from collections.abc import Callable
from typing import Any

import msgspec
import pyarrow as pa

from headrace.plan.context import ExecutionContext
from headrace.scan.reader import BatchReader
from headrace.serve.answer_cache import (
    AnswerCache,
    CachedAnswer,
    CachedMessages,
    Recording,
    answer_key,
)
from headrace.serve.message import BackgroundBatches, FlushPolicy, MessageStream
from headrace.serve.outcome import Ending, Outcome
from headrace.serve.request import WireRequest
from headrace.serve.safety import FileGuard
from headrace.serve.share import Share, open_share
from headrace.table import Snapshot

BATCH_ROWS = 16_384
"""Rows per batch unless the client sets it. Smaller batches cost more time per file."""
CROWD = 8
"""From this many streams on, a new stream decodes smaller batches, one row group at a time."""
CROWDED_BATCH_ROWS = 2_048
"""A stalled stream holds about four batches, so this bounds the memory of many stalled streams."""


class Answer:
    """Streams the files or rows of a request. It reads nothing before the first `next_message`.

    Raises:
        RequestError: the condition, a column or an option is wrong.
    """

    def __init__(  # noqa: PLR0913  (the parts of a service)
        self,
        request: WireRequest,
        snapshot: Snapshot,
        *,
        allowed: tuple[str, ...],
        flush_policy: FlushPolicy | None = None,
        part: int = 0,
        streams: int = 0,
        cache: AnswerCache | None = None,
    ) -> None:
        """Plan an answer.

        Args:
            request: The request to answer.
            snapshot: The version to read.
            allowed: URI prefixes; the answer may only name files below them.
            flush_policy: The size and delay of messages.
            part: The share of the files to send, if the request divides them.
            streams: The number of other running streams.
            cache: Holds the answers to earlier requests, and records this one.
        """
        self.request = request
        self.version = snapshot.version
        self.count = 0
        self.first_ms: float | None = None
        self._flush_policy = flush_policy
        self._guard = FileGuard(snapshot.table.uri, allowed=allowed)
        self._snapshot = snapshot
        self._part = part
        self._cache = cache if request.kind == "files" else None
        self._cached: CachedAnswer | None = None
        self._recording: Recording | None = None
        self._messages: MessageStream | CachedMessages | None = None
        self._started = 0.0
        self._is_stopped = False
        if request.kind == "rows":
            self._plan = _plan_rows(request, snapshot)
        else:
            self._plan = _plan_files(request, snapshot, part, streams)
        self.schema: pa.Schema = self._plan.schema
        self.not_evaluated = self._plan.not_evaluated

    def next_message(self, check: Callable[[], None]) -> pa.RecordBatch | None:
        """Return the next message, or None at the end.

        Args:
            check: Called while waiting for a batch; it raises to give up.

        Raises:
            HeadraceError: the read failed.
        """
        if self._messages is None:
            self._started = time.monotonic()
            self._messages = self._open()
            if self._is_stopped:
                self.stop()
        batch = self._messages.next_message(check)
        if batch is None:
            if self._recording is not None:
                self._recording.finish(self.schema, self._plan.metrics())
            return None
        if self.request.kind == "files" and not self.is_cached:
            self._guard.check(batch)
        if self._recording is not None:
            self._recording.add(batch)
        if self.first_ms is None:
            self.first_ms = (time.monotonic() - self._started) * 1000
        self.count += batch.num_rows
        return batch

    @property
    def outcome(self) -> Outcome:
        """The outcome to send after the last message."""
        is_limited = self.request.most is not None and self.count >= self.request.most
        return Outcome(
            ending=Ending.LIMIT if is_limited else Ending.COMPLETE,
            kind=self.request.kind,
            table=self.request.table,
            version=self.version,
            count=self.count,
            metrics=self._metrics(),
        )

    def empty(self) -> pa.RecordBatch:
        """Return a message without rows, which carries the outcome."""
        return pa.RecordBatch.from_arrays(
            [pa.array([], field.type) for field in self.schema], schema=self.schema
        )

    def stop(self) -> None:
        """Ask the read to end soon, from any thread."""
        self._is_stopped = True
        if self._messages is not None:
            self._messages.stop()
        if self._recording is not None:
            self._recording.discard()

    def close(self) -> None:
        """Stop, and release all resources."""
        self.stop()
        if self._messages is not None:
            self._messages.close()

    @property
    def is_cached(self) -> bool:
        """Whether the messages come from the cache; False before the first."""
        return self._cached is not None

    def _open(self) -> MessageStream | CachedMessages:
        """Return the messages of the cache, or else those of a scan, to be recorded."""
        if self._cache is not None:
            key = answer_key(self.request, self._snapshot, part=self._part)
            self._cached = self._cache.find(key, self._snapshot)
            if self._cached is not None:
                return CachedMessages(self._cached)
            self._recording = self._cache.record(key, self._snapshot)
        return MessageStream(self._plan.open(), flush_policy=self._flush_policy)

    def _metrics(self) -> dict[str, Any]:
        """Return the metrics of the scan that read the answer."""
        return self._plan.metrics() if self._cached is None else self._cached.metrics


class _Plan(msgspec.Struct, frozen=True, kw_only=True):
    """How to read an answer: its schema, its batches and its metrics."""

    schema: Any
    open: Callable[[], BatchReader[pa.RecordBatch]]
    metrics: Callable[[], dict[str, Any]]
    not_evaluated: tuple[str, ...] = ()


def file_columns(request: WireRequest, snapshot: Snapshot) -> list[str]:
    """Return the live-file columns to send for a request.

    Few libraries support a struct without fields, so an empty one is left out by default.
    """
    if request.columns is not None:
        return list(request.columns)
    names = snapshot.scan().arrow_schema().names
    is_partitioned = bool(snapshot.partition_columns)
    return [name for name in names if is_partitioned or name != "typed_partition_values"]


def _plan_files(request: WireRequest, snapshot: Snapshot, part: int, streams: int) -> _Plan:
    defaults: dict[str, Any] = {"batch_rows": BATCH_ROWS}
    if streams >= CROWD:
        defaults = {"batch_rows": CROWDED_BATCH_ROWS, "leaf_parallelism": 1}
    overrides = defaults | request.scan_overrides
    scan = snapshot.scan(where=request.condition, limit=request.most, **overrides)
    columns = file_columns(request, snapshot)
    schema = scan.arrow_schema(columns=columns)
    if request.endpoints == 1:

        def scan_metrics() -> dict[str, Any]:
            return scan.metrics.as_dict()  # each iteration has its own metrics

        return _Plan(
            schema=schema,
            open=lambda: scan.batches(columns=columns),
            metrics=scan_metrics,
            not_evaluated=scan.not_evaluated,
        )
    context = ExecutionContext(settings=scan.options)

    def open_part() -> BatchReader[pa.RecordBatch]:
        return open_share(
            scan,
            Share(part=part, parts=request.endpoints),
            executor=snapshot.table.executor,
            context=context,
            columns=columns,
        )

    return _Plan(
        schema=schema,
        open=open_part,
        metrics=lambda: msgspec.structs.asdict(context.meter.counts),
        not_evaluated=scan.not_evaluated,
    )


def _plan_rows(request: WireRequest, snapshot: Snapshot) -> _Plan:
    reader = snapshot.rows(
        request.condition,
        columns=request.columns,
        limit=request.most,
        **request.row_overrides,
    )
    return _Plan(
        schema=reader.schema,
        open=lambda: BackgroundBatches(reader),
        metrics=reader.metrics.as_dict,
    )
