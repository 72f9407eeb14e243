"""Route each path to the store that has it: a log may name files by absolute addresses."""

import re
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from threading import Lock
from typing import Any, BinaryIO

from headrace.storage.byte_range import ByteRange, Contents
from headrace.storage.store import ObjectMeta, RequestCost, Store, Tail

_AUTHORITY = re.compile(r"[A-Za-z][A-Za-z0-9+.\-]+://[^/]*")


class RoutingStore:
    """Uses the table's own store below its root, and another store for every other location.

    Paths are relative to the table's root, or absolute: an address with a scheme, or a path from
    the root of the machine or bucket. Other stores are opened on first use, one per machine or
    bucket.
    """

    def __init__(self, inner: Store, *, open_other: Callable[[str], Store]) -> None:
        self._inner = inner
        self._open_other = open_other
        self._stores: dict[str, Store] = {}
        self._lock = Lock()

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle how to open other stores, not the open stores."""
        return partial(RoutingStore, open_other=self._open_other), (self._inner,)

    @property
    def root(self) -> str:
        """The address of the table."""
        return self._inner.root

    @property
    def request_cost(self) -> RequestCost:
        """The request cost of the table's own store."""
        return self._inner.request_cost

    def list(self, directory: str, *, start_from: str = "") -> Iterator[ObjectMeta]:
        """List one directory; paths are those of the store that holds it."""
        store, inner_path = self._locate(directory)
        return store.list(inner_path, start_from=start_from)

    def list_tree(self, directory: str) -> Iterator[ObjectMeta]:
        """List all objects below a directory; paths are those of the store that holds it."""
        store, inner_path = self._locate(directory)
        return store.list_tree(inner_path)

    def head(self, path: str) -> ObjectMeta:
        """Return the metadata of one object; its path is that of the store that holds it."""
        store, inner_path = self._locate(path)
        return store.head(inner_path)

    def read(self, path: str) -> bytes:
        """Read a whole object."""
        store, inner_path = self._locate(path)
        return store.read(inner_path)

    def read_tail(
        self, path: str, *, size_bytes_wanted: int, object_size: int | None = None
    ) -> Tail:
        """Read the end of an object."""
        store, inner_path = self._locate(path)
        return store.read_tail(
            inner_path, size_bytes_wanted=size_bytes_wanted, object_size=object_size
        )

    def read_ranges(
        self, path: str, ranges: Sequence[ByteRange], *, etag: str | None = None
    ) -> Contents:
        """Read several ranges of an object."""
        store, inner_path = self._locate(path)
        return store.read_ranges(inner_path, ranges, etag=etag)

    def read_chunks(self, path: str, *, chunk_bytes: int) -> Iterator[bytes]:
        """Read an object in chunks."""
        store, inner_path = self._locate(path)
        return store.read_chunks(inner_path, chunk_bytes=chunk_bytes)

    def open(self, path: str, *, size_bytes: int | None = None) -> BinaryIO:
        """Open an object as a seekable file."""
        store, inner_path = self._locate(path)
        return store.open(inner_path, size_bytes=size_bytes)

    def local_path(self, path: str) -> str | None:
        """Return the path of the file if it is on this machine, else None."""
        store, inner_path = self._locate(path)
        return store.local_path(inner_path)

    def _locate(self, path: str) -> tuple[Store, str]:
        """Return the store that holds a path, and the path within that store."""
        if path.startswith(f"{self.root}/"):
            return self._inner, path[len(self.root) + 1 :]
        address = _AUTHORITY.match(path)
        if address is None and not path.startswith("/"):
            return self._inner, path
        origin = _origin(path if address else self.root)
        inner_path = path[address.end() if address else 0 :].lstrip("/")
        with self._lock:
            if origin not in self._stores:
                self._stores[origin] = self._open_other(origin)
            return self._stores[origin], inner_path


def _origin(address: str) -> str:
    """Return the machine or bucket of an address."""
    match = _AUTHORITY.match(address)
    return match[0] if match and not address.startswith("file:") else "/"
