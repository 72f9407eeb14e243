"""A meter: counts that several threads fill while others look."""

import threading
import time
from copy import copy

from headrace.metrics.counts import Counts


class Meter:
    """The counts of one run, its clock, and the size of what it remembers."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._counts = Counts()
        self._started_ns = time.monotonic_ns()
        self._first_file_ns: int | None = None
        self._ended_ns: int | None = None
        self.dedup_hashmap_size = 0
        """The keys in the seen set: a size, shared by all workers, so it is never added up.
        A forward scan fills the set twice with the same keys: it is full from the first time on."""
        self.files_given = 0
        """The files that have reached the caller, set by the one thread that gives them."""
        self.fell_back: str | None = None
        """Why the scan took the forward way, where it had meant to go the other."""
        self._has_given_all = False

    @property
    def counts(self) -> Counts:
        """The counts as they are now."""
        with self._lock:
            counts = copy(self._counts)
        counts.adds_emitted += self.files_given
        return counts

    @property
    def duration_ns(self) -> int:
        """How long the run has taken, or has taken so far."""
        return (self._ended_ns or time.monotonic_ns()) - self._started_ns

    @property
    def time_to_first_file_ns(self) -> int | None:
        """How long the caller waited for the first file; None: there is none yet."""
        return None if self._first_file_ns is None else self._first_file_ns - self._started_ns

    def count(self, **more: int) -> None:
        """Add to some counts, by name."""
        with self._lock:
            for name, number in more.items():
                setattr(self._counts, name, getattr(self._counts, name) + number)

    def merge(self, other: Counts) -> None:
        """Take in what a worker has counted, from zero."""
        with self._lock:
            self._counts.add(other)

    def start(self) -> None:
        """Let the clock begin here."""
        self._started_ns = time.monotonic_ns()

    def give(self, files: int) -> None:
        """Count files that a thread hands to the caller, while another one makes more."""
        self.first_file()
        with self._lock:
            if not self._has_given_all:
                self.files_given += files

    def give_all(self, files: int) -> None:
        """Count all files: the caller may not have taken the last of them yet, but will."""
        if files:
            self.first_file()
        with self._lock:
            self._has_given_all = True
            self.files_given = files

    def first_file(self) -> None:
        """Note that a file is about to reach the caller; only the first time counts."""
        if self._first_file_ns is None:
            self._first_file_ns = time.monotonic_ns()

    def end(self) -> bool:
        """Stop the clock; True the first time."""
        with self._lock:
            if self._ended_ns is not None:
                return False
            self._ended_ns = time.monotonic_ns()
            return True
