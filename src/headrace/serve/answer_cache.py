"""Caches complete file lists in memory, for clients that repeat a request.

The messages of an answer enter while they are sent for the first time; they leave for every later
request for the same snapshot. A snapshot never changes, so neither does the answer. The size of
all cached messages is bounded; the least recently used answers are dropped first.
"""

import time
import weakref
from collections import OrderedDict
from collections.abc import Callable
from hashlib import blake2b
from threading import Lock
from typing import Any

import msgspec
import pyarrow as pa

from headrace.errors import ReaderClosedError
from headrace.serve.request import WireRequest
from headrace.table import Snapshot

_OVERHEAD_BYTES = 4 << 10
"""Added to the size of each answer for its Python objects, so that small answers count too."""
_STALLED_S = 1.0
"""A recording that has not grown for this long is replaced by the next one of the same answer."""
_MAX_OVERSIZED = 1_024
"""How many answers that are too large to cache are remembered."""


class CachedAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """The messages of one whole answer."""

    snapshot: Any
    """A weak reference to the snapshot that was read."""
    messages: tuple[pa.RecordBatch, ...]
    metrics: dict[str, Any]
    size_bytes: int


class AnswerCache:
    """The answers and recordings of one server process. Any thread may use it."""

    def __init__(self, max_bytes: int) -> None:
        """Start empty; with 0 bytes nothing is ever cached."""
        self.max_bytes = max_bytes
        self._lock = Lock()
        self._answers: OrderedDict[bytes, CachedAnswer] = OrderedDict()
        self._recordings: dict[bytes, Recording] = {}
        self._oversized: OrderedDict[bytes, None] = OrderedDict()
        self._used_bytes = 0

    @property
    def used_bytes(self) -> int:
        """The size of all answers and recordings."""
        return self._used_bytes

    def find(self, key: bytes, snapshot: Snapshot) -> CachedAnswer | None:
        """Return the answer that was recorded from this very snapshot, if it is cached."""
        with self._lock:
            answer = self._answers.get(key)
            if answer is None or answer.snapshot() is not snapshot:
                return None
            self._answers.move_to_end(key)
            return answer

    def record(self, key: bytes, snapshot: Snapshot) -> "Recording | None":
        """Return a new recording; None if the answer is being recorded or is too large."""
        with self._lock:
            current = self._recordings.get(key)
            if not self.max_bytes or key in self._oversized:
                return None
            if current is not None:
                if time.monotonic() - current.grown_at < _STALLED_S:
                    return None
                self._drop(current)
            recording = self._recordings[key] = Recording(self, key, snapshot)
            self._reserve(recording, _OVERHEAD_BYTES)
            return recording

    def add(self, recording: "Recording", message: pa.Buffer) -> None:
        """Add a message to a recording; drop the recording if there is no room for it."""
        with self._lock:
            if self._recordings.get(recording.key) is recording and self._reserve(
                recording, message.size
            ):
                recording.messages.append(message)

    def finish(self, recording: "Recording", answer: CachedAnswer) -> None:
        """Replace a recording by its answer."""
        with self._lock:
            if self._recordings.get(recording.key) is recording:
                del self._recordings[recording.key]
                self._evict(recording.key)
                self._answers[recording.key] = answer

    def discard(self, recording: "Recording") -> None:
        """Drop a recording, unless it is finished."""
        with self._lock:
            if self._recordings.get(recording.key) is recording:
                self._drop(recording)

    def _reserve(self, recording: "Recording", size_bytes: int) -> bool:
        """Make room by dropping answers; without success drop the recording."""
        while self._used_bytes + size_bytes > self.max_bytes and self._answers:
            self._evict(next(iter(self._answers)))
        if self._used_bytes + size_bytes > self.max_bytes:
            if recording.size_bytes + size_bytes > self.max_bytes:
                self._oversized[recording.key] = None
                if len(self._oversized) > _MAX_OVERSIZED:
                    self._oversized.popitem(last=False)
            self._drop(recording)
            return False
        self._used_bytes += size_bytes
        recording.size_bytes += size_bytes
        recording.grown_at = time.monotonic()
        return True

    def _drop(self, recording: "Recording") -> None:
        del self._recordings[recording.key]
        self._used_bytes -= recording.size_bytes
        recording.messages.clear()

    def _evict(self, key: bytes) -> None:
        answer = self._answers.pop(key, None)
        if answer is not None:
            self._used_bytes -= answer.size_bytes


class Recording:
    """Copies the messages of an answer while they are sent. One thread adds to it."""

    def __init__(self, cache: AnswerCache, key: bytes, snapshot: Snapshot) -> None:
        self.key = key
        self.messages: list[pa.Buffer] = []
        self.size_bytes = 0
        self.grown_at = time.monotonic()
        self._cache = cache
        self._snapshot = weakref.ref(snapshot)

    def add(self, batch: pa.RecordBatch) -> None:
        """Add a message."""
        # A batch may be a slice that keeps a larger one alive; its serialized form is exact.
        self._cache.add(self, batch.serialize())

    def finish(self, schema: pa.Schema, metrics: dict[str, Any]) -> None:
        """Cache the answer, which is complete."""
        answer = CachedAnswer(
            snapshot=self._snapshot,
            messages=tuple(pa.ipc.read_record_batch(message, schema) for message in self.messages),
            metrics=metrics,
            size_bytes=self.size_bytes,
        )
        self._cache.finish(self, answer)

    def discard(self) -> None:
        """Forget an answer that ended early; does nothing after `finish`."""
        self._cache.discard(self)


class CachedMessages:
    """Returns the messages of a cached answer, with the interface of `MessageStream`."""

    def __init__(self, answer: CachedAnswer) -> None:
        """Start with the first message."""
        self._messages = iter(answer.messages)
        self._is_stopped = False

    def next_message(self, check: Callable[[], None]) -> pa.RecordBatch | None:
        """Return the next message, or None at the end.

        Raises:
            ReaderClosedError: it was stopped.
        """
        check()
        if self._is_stopped:
            raise ReaderClosedError
        return next(self._messages, None)

    def stop(self) -> None:
        """Make the next call raise."""
        self._is_stopped = True

    close = stop


def answer_key(request: WireRequest, snapshot: Snapshot, *, part: int) -> bytes:
    """Return what identifies an answer: the request, pinned to its version, and the share."""
    pinned = msgspec.structs.replace(request, version=snapshot.version, as_of=None)
    return blake2b(b"%d:%s" % (part, pinned.encode()), digest_size=32).digest()
