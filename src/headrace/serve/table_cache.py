"""A bounded cache of the tables and snapshots of a server, shared by its requests.

A table name and a version enter; a snapshot leaves. Every request for the newest version refreshes
the cached snapshot, which reads only new commits. Snapshots of older versions are cached too, as
long as their commits stay the same: a table may be dropped and created again at its address.
"""

import time
from collections import OrderedDict
from threading import Lock
from typing import Generic, TypeVar

import msgspec

from headrace import wiring
from headrace.errors import HeadraceError, TableNotFoundError, TableNotServedError
from headrace.metrics.event import Event
from headrace.metrics.reporter import Reporter
from headrace.serve.request import WireRequest
from headrace.serve.root import Roots
from headrace.storage.confined import ConfinedRoutingStore, ConfinedStore
from headrace.storage.location import scheme_of
from headrace.storage.store import RequestCost, Store
from headrace.table import Snapshot, Table

V = TypeVar("V")

DEFAULT_TABLES = 64
"""The number of tables, and of pinned snapshots, that stay open."""
DEFAULT_CACHE_BYTES = 4 << 20
"""The size limit of each cache of an open table: that of footers, and that of file lists."""
_RECENTLY_S = 1.0
"""A pinned snapshot on a remote store is not verified again within this time."""


class TableCache:
    """Opens and caches the tables below a server's roots."""

    def __init__(
        self,
        roots: Roots,
        *,
        reporter: Reporter,
        max_tables: int = DEFAULT_TABLES,
        cache_bytes: int = DEFAULT_CACHE_BYTES,
    ) -> None:
        """Start with nothing open.

        Args:
            roots: The roots that hold the tables.
            reporter: Receives the events of all scans, which name tables as clients do.
            max_tables: The number of tables that stay open; the least recently used is dropped.
            cache_bytes: The size of each cache of a table.
        """
        self.roots = roots
        self._reporter = reporter
        self._cache_bytes = cache_bytes
        self._newest: _Recent[Snapshot] = _Recent(max_tables)
        self._tables: _Recent[Table] = _Recent(max_tables)
        self._pinned: _Recent[_Pinned] = _Recent(max_tables)

    def snapshot(self, request: WireRequest) -> Snapshot:
        """Return the snapshot that a request asks for.

        Raises:
            TableNotServedError: there is no such table.
            TableError, DamageError, StorageError: it cannot be read.
        """
        try:
            return self._snapshot(request)
        except TableNotFoundError as error:
            # A table that is not served and a table that does not exist must look the same.
            raise TableNotServedError(table=request.table, roots=self.roots.names) from error

    def _snapshot(self, request: WireRequest) -> Snapshot:
        name = request.table
        table = self._table(name)
        if request.version is not None:
            pinned = self._pinned.get(f"{name}@{request.version}")
            if pinned is not None and pinned.is_current():
                return pinned.snapshot
            return self._pin(name, table.snapshot(request.version))
        if request.as_of is not None:
            return self._pin(name, table.snapshot(as_of=request.as_of))
        known = self._newest.get(name)
        newest = table.snapshot() if known is None else known.refresh()
        return self._newest.put(name, self._pin(name, newest))  # its tickets name this version

    def _pin(self, name: str, snapshot: Snapshot) -> Snapshot:
        """Cache a snapshot that was just read; return an equal one if it is already cached.

        The cached answers of a snapshot belong to that very object.
        """
        key = f"{name}@{snapshot.version}"
        pinned = self._pinned.get(key)
        if pinned is None or not pinned.is_of(snapshot):
            pinned = self._pinned.put(key, _Pinned(snapshot))
        pinned.verified_at = time.monotonic()
        return pinned.snapshot

    def _table(self, name: str) -> Table:
        uri = self.roots.locate(name)  # even if cached: its folder may be a symlink by now
        return self._tables.get(name) or self._tables.put(name, self._open(name, uri))

    def _open(self, name: str, uri: str) -> Table:
        store = self._confined(uri)
        table = Table(
            uri,
            executor=wiring.open_executor(store, cache_bytes=self._cache_bytes),
            reporter=_Renaming(self._reporter, name),
            cache_bytes=self._cache_bytes,
        )
        table.data_store = ConfinedRoutingStore(
            store, allowed=self.roots.uris, open_other=self._confined
        )
        return table

    def _confined(self, uri: str) -> Store:
        if scheme_of(uri) == "file":
            return ConfinedStore(uri, allowed=self.roots.local_folders)
        return wiring.open_store(uri)


class _Pinned:
    """A snapshot of one version, and when its log was last seen unchanged."""

    def __init__(self, snapshot: Snapshot) -> None:
        self.snapshot = snapshot
        self.verified_at = time.monotonic()

    def is_of(self, snapshot: Snapshot) -> bool:
        """Return whether it has read the same log as another snapshot."""
        return self.snapshot is snapshot or self.snapshot.table_version == snapshot.table_version

    def is_current(self) -> bool:
        """Return whether the commit of the version is still the one that was read."""
        table, commit = self.snapshot.table, self.snapshot.segment.commit
        if commit is None:
            return False
        store = table.data_store
        is_remote = store.request_cost is RequestCost.REMOTE
        if is_remote and time.monotonic() - self.verified_at < _RECENTLY_S:
            return True
        try:
            listed = store.head(commit.path)
        except HeadraceError:
            return False  # reading the version again reports the cause
        if listed.size_bytes != commit.size_bytes or listed.etag != commit.etag:
            return False
        # Some stores list times to the millisecond, and give them to the second for one object.
        unit_ms = 1_000 if is_remote else 1
        if listed.modified_ms // unit_ms != commit.modified_ms // unit_ms:
            return False
        self.verified_at = time.monotonic()
        return True


class _Renaming:
    """A reporter that replaces the address of a table by its client-visible name."""

    def __init__(self, reporter: Reporter, name: str) -> None:
        self._reporter = reporter
        self._name = name

    def __call__(self, event: Event) -> None:
        self._reporter(msgspec.structs.replace(event, table=self._name))


class _Recent(Generic[V]):
    """A thread-safe LRU cache, keyed by name."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._values: OrderedDict[str, V] = OrderedDict()
        self._lock = Lock()

    def get(self, name: str) -> V | None:
        with self._lock:
            if name in self._values:
                self._values.move_to_end(name)
            return self._values.get(name)

    def put(self, name: str, value: V) -> V:
        with self._lock:
            self._values[name] = value
            self._values.move_to_end(name)
            while len(self._values) > self._most:
                self._values.popitem(last=False)
        return value
