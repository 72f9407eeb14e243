"""A store that counts round trips, without a clock.

It holds every request back until no thread of the process can continue without a response, and then
answers all of them at once: that is one round trip. So the number of rounds is the depth of the
critical path on a store whose requests all take equally long, however busy the machine is.
"""

import os
import threading
import time
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import BinaryIO, Self

from headrace.storage.byte_range import ByteRange, Contents, coalesce
from headrace.storage.local import LocalStore
from headrace.storage.ranged import RangedFile, as_binary
from headrace.storage.store import LIST_PAGE_OBJECTS, ObjectMeta, RequestCost, Store, Tail

_TASKS = Path("/proc/self/task")
_LOOK_EVERY_S = 0.001
_LOOKS = 3
"""Nothing may have run between this many looks at all threads."""


class RoundTripStore(Store):
    """A folder that behaves like a remote store. Use it in a `with` block."""

    def __init__(self, root: Path) -> None:
        self._inner = LocalStore(str(root))
        self._changed = threading.Condition()
        self._held = 0
        self._round = 0
        self._is_over = False
        self._watch = threading.Thread(target=self._release_rounds, daemon=True)
        self.requests: list[str] = []
        """The path of each request, or the listed directory."""
        self.bytes_read = 0

    @property
    def root(self) -> str:
        return self._inner.root

    @property
    def request_cost(self) -> RequestCost:
        return RequestCost.REMOTE

    @property
    def rounds(self) -> int:
        """The number of round trips so far."""
        return self._round

    def reset(self) -> None:
        """Reset the counts."""
        self._round, self.bytes_read = 0, 0
        self.requests.clear()

    def __enter__(self) -> Self:
        self._watch.start()
        return self

    def __exit__(self, *raised: object) -> None:
        with self._changed:
            self._is_over = True
            self._changed.notify_all()
        self._watch.join()

    def list(self, directory: str, *, start_from: str = "") -> Iterator[ObjectMeta]:
        listed = self._inner.list(directory, start_from=start_from)
        while True:
            self.request(directory)
            page = list(islice(listed, LIST_PAGE_OBJECTS))
            yield from page
            if len(page) < LIST_PAGE_OBJECTS:
                return

    def read(self, path: str) -> bytes:
        self.request(path)
        content = self._inner.read(path)
        self.bytes_read += len(content)
        return content

    def read_tail(
        self, path: str, *, size_bytes_wanted: int, object_size: int | None = None
    ) -> Tail:
        self.request(path)
        tail = self._inner.read_tail(
            path, size_bytes_wanted=size_bytes_wanted, object_size=object_size
        )
        self.bytes_read += len(tail.content)
        return tail

    def read_ranges(
        self, path: str, ranges: Sequence[ByteRange], *, etag: str | None = None
    ) -> Contents:
        requests = coalesce(ranges, self.request_cost.coalescing)
        self.request(path, count=len(requests))
        self.bytes_read += sum(request.length for request in requests)
        return self._inner.read_ranges(path, ranges, etag=etag)

    def open(self, path: str, *, size_bytes: int | None = None) -> BinaryIO:
        if size_bytes is None:
            self.request(path)
        return as_binary(_HeldFile(self, path, self._inner.open(path)))

    def request(self, path: str, *, count: int = 1) -> None:
        """Wait for the end of this round."""
        with self._changed:
            self.requests += [path] * count
            this_round = self._round
            self._held += 1
            self._changed.notify_all()
            self._changed.wait_for(lambda: self._round != this_round or self._is_over)
            self._held -= 1
            self._changed.notify_all()

    def _release_rounds(self) -> None:
        while not self._is_over:
            with self._changed:
                self._changed.wait_for(lambda: self._held or self._is_over)
            if _is_quiet():
                with self._changed:
                    self._round += 1
                    self._changed.notify_all()
                    self._changed.wait_for(lambda: not self._held, timeout=1)
            else:
                time.sleep(_LOOK_EVERY_S)


class _HeldFile(RangedFile):
    """An open file for which reading a range is a request."""

    def __init__(self, store: RoundTripStore, path: str, file: BinaryIO) -> None:
        super().__init__()
        self._store = store
        self._path = path
        self._file = file

    def read_at(self, position: int, size: int) -> bytes:
        self._store.request(self._path)
        self._file.seek(position)
        content = self._file.read(size)
        self._store.bytes_read += len(content)
        return content

    def size_bytes(self) -> int:
        return self._file.seek(0, os.SEEK_END)

    def release(self) -> None:
        self._file.close()


def _is_quiet() -> bool:
    """Whether no other thread of this process is running or runnable.

    A thread that waits for a processor is runnable, so a busy machine does not look quiet. Reading
    a file releases the interpreter, so no thread is left waiting for that either.
    """
    before = _threads()
    for _ in range(_LOOKS):
        time.sleep(_LOOK_EVERY_S)
        now = _threads()
        if now != before or any(state != "S" for _, state, _ in now):
            return False
    return True


def _threads() -> list[tuple[str, str, str]]:
    """Return each other thread's id, its state, and how often it has yielded its processor."""
    own = str(threading.get_native_id())
    threads = []
    for task in sorted(os.listdir(_TASKS)):  # noqa: PTH208
        if task != own:
            try:
                status = (_TASKS / task / "status").read_text().splitlines()
            except (FileNotFoundError, ProcessLookupError):
                continue
            fields = dict(line.split(":\t", 1) for line in status if ":\t" in line)
            switches = fields["voluntary_ctxt_switches"] + fields["nonvoluntary_ctxt_switches"]
            threads.append((task, fields["State"][0], switches))
    return threads
