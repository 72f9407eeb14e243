"""The live counters and the clock of one replay, shared by its threads.

Engines and scans count; `Counts` and times can be read at any moment.
"""

import threading
import time
from copy import copy

from headrace.metrics.counts import Counts


class Meter:
    """The counts of one replay, its clock, and the size of its seen set. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._counts = Counts()
        self._started_ns = time.monotonic_ns()
        self._first_file_ns: int | None = None
        self._ended_ns: int | None = None
        self.dedup_hashmap_size = 0
        """The number of keys in the seen set. All workers share the set, so sizes are not added
        up. A forward scan fills the set twice with the same keys, so the size is final after the
        first pass."""
        self.files_emitted = 0
        """The number of files emitted to the caller; set only by the emitting thread."""
        self.fell_back: str | None = None
        """Why the scan fell back to the forward strategy, if it did."""
        self._is_final = False

    @property
    def counts(self) -> Counts:
        """A copy of the current counts."""
        with self._lock:
            counts = copy(self._counts)
        counts.adds_emitted += self.files_emitted
        return counts

    @property
    def duration_ns(self) -> int:
        """The duration of the replay, up to now if it is still running."""
        return (self._ended_ns or time.monotonic_ns()) - self._started_ns

    @property
    def time_to_first_file_ns(self) -> int | None:
        """How long the caller waited for the first file; None if there is none yet."""
        return None if self._first_file_ns is None else self._first_file_ns - self._started_ns

    def count(self, **more: int) -> None:
        """Increase counters, given by name."""
        with self._lock:
            for name, number in more.items():
                setattr(self._counts, name, getattr(self._counts, name) + number)

    def merge(self, worker_counts: Counts) -> None:
        """Add the counts of a worker, which started from zero."""
        with self._lock:
            self._counts.add(worker_counts)

    def start(self) -> None:
        """Restart the clock."""
        self._started_ns = time.monotonic_ns()

    def count_emitted(self, files: int) -> None:
        """Count files emitted to the caller while the replay continues."""
        self.first_file()
        with self._lock:
            if not self._is_final:
                self.files_emitted += files

    def set_emitted(self, files: int) -> None:
        """Set the final number of files, including those the caller has not fetched yet."""
        if files:
            self.first_file()
        with self._lock:
            self._is_final = True
            self.files_emitted = files

    def first_file(self) -> None:
        """Record when the first file reaches the caller; later calls do nothing."""
        if self._first_file_ns is None:
            self._first_file_ns = time.monotonic_ns()

    def end(self) -> bool:
        """Stop the clock; return True only on the first call."""
        with self._lock:
            if self._ended_ns is not None:
                return False
            self._ended_ns = time.monotonic_ns()
            return True
