"""A lease in a store: at most one holder at a time, across machines.

    lease/00000000000000000007.json     the highest number is the current lease

To acquire the lease, a process creates the next number if it does not exist, so exactly one of
several processes succeeds. The number is its fencing token. The holder renews the lease by
rewriting its own object, which no other process writes. A lease expires when its object has not
been rewritten for `ttl_ms` by the store's own clock, so the clocks of machines do not matter. A
holder that was paused for longer finds a newer number, and `check` raises.
"""

import logging
import os
import socket
import time
from threading import Event, Thread
from typing import TypeAlias
from uuid import uuid4

import msgspec

from headrace.commit.store_clock import store_time_ms
from headrace.errors import (
    CommitConflictError,
    HeadraceError,
    LeaseLostError,
    ObjectExistsError,
    ObjectNotFoundError,
    StorageError,
)
from headrace.storage.store import ObjectMeta, PutMode, Store, WritableStore

_LOGGER = logging.getLogger("headrace.commit")
_FOLDER, _CLOCK = "lease", "clock"
_ATTEMPTS = 10
_RENEWALS = 4
"""The number of renewals within the lifetime of a lease."""
DEFAULT_TTL_MS = 60_000


class _Record(msgspec.Struct, frozen=True, kw_only=True):
    """The content of a lease's object."""

    id: str
    holder: str
    ttl_ms: int
    is_released: bool = False
    renewals: int = 0


class Occupied(msgspec.Struct, frozen=True, kw_only=True):
    """Another process holds the lease."""

    holder: str
    remaining_ms: int
    """The time until the lease expires, unless the holder renews it."""


class Lease:
    """A lease that this process holds until `close`; a background thread renews it."""

    def __init__(
        self, store: WritableStore, record: _Record, *, token: int, is_taken_over: bool
    ) -> None:
        """Start renewing the record that was created under `token`."""
        self._store, self._record = store, record
        self.token = token
        """The fencing token, larger than that of every earlier holder."""
        self.is_taken_over = is_taken_over
        """Whether the previous holder did not release the lease and may still be running."""
        self._closed = Event()
        self._renewer = Thread(target=self._renew_until_closed, daemon=True, name="headrace-lease")
        self._renewer.start()

    def check(self) -> None:
        """Check that no other process has taken over the lease.

        Raises:
            LeaseLostError: another process has taken over the lease.
            StorageError: the store failed, so the check is inconclusive.
        """
        newest = _newest(self._store, at_least=self.token)
        if newest is None or _token(newest) != self.token:
            holder = "another process" if newest is None else self._holder_of(newest)
            raise LeaseLostError(store=self._store.root, token=self.token, holder=holder)

    def close(self) -> None:
        """Release the lease; if that fails, the lease expires."""
        self._closed.set()
        self._renewer.join()
        released = msgspec.structs.replace(self._record, is_released=True)
        try:
            self._write(released)
        except HeadraceError as error:
            _LOGGER.warning("%s: the lease was not released: %s", self._store.root, error)

    def _renew_until_closed(self) -> None:
        pause_s = self._record.ttl_ms / 1000 / _RENEWALS
        while not self._closed.wait(pause_s):
            renewals = self._record.renewals + 1
            self._record = msgspec.structs.replace(self._record, renewals=renewals)
            try:
                self._write(self._record)
            except HeadraceError as error:  # the next renewal may still be in time
                _LOGGER.warning("%s: the lease was not renewed: %s", self._store.root, error)

    def _write(self, record: _Record) -> None:
        """Rewrite our own object, which no other process writes."""
        self._store.put(_path(self.token), msgspec.json.encode(record), mode=PutMode.OVERWRITE)

    def _holder_of(self, listed: ObjectMeta) -> str:
        record = _read(self._store, listed)
        return "another process" if record is None else record.holder


Acquired: TypeAlias = Lease | Occupied


def acquire_lease(store: WritableStore, *, ttl_ms: int = DEFAULT_TTL_MS) -> Acquired:
    """Acquire the lease of a store's folder, unless another process holds it.

    Raises:
        StorageError: the store failed; a lease that it may have granted expires.
        CommitConflictError: other processes acquired it first on every attempt.
    """
    record = _Record(id=uuid4().hex, holder=describe_process(), ttl_ms=ttl_ms)
    for _ in range(_ATTEMPTS):
        newest = _newest(store)
        is_taken_over = False
        if newest is not None:
            holding = _read(store, newest)
            if holding is None:
                continue
            if not holding.is_released:
                now_ms = store_time_ms(store, probe=f"{_CLOCK}/{uuid4().hex}")
                remaining_ms = newest.modified_ms + holding.ttl_ms - now_ms
                if remaining_ms > 0:
                    return Occupied(holder=holding.holder, remaining_ms=remaining_ms)
                is_taken_over = True
        token = 1 if newest is None else _token(newest) + 1
        if not _create(store, token, record):
            continue
        last = _newest(store)
        if last is None or _token(last) != token:  # an old number, freed by clean-up
            store.delete([_path(token)])
            continue
        _delete_older(store, token)
        return Lease(store, record, token=token, is_taken_over=is_taken_over)
    raise CommitConflictError(table=store.root, attempts=_ATTEMPTS)


def is_held(store: Store) -> bool:
    """Return whether a process holds the lease, by this machine's clock; writes nothing."""
    newest = _newest(store)
    record = None if newest is None else _read(store, newest)
    if newest is None or record is None or record.is_released:
        return False
    return newest.modified_ms + record.ttl_ms > time.time_ns() // 1_000_000


def describe_process() -> str:
    """Return a human-readable name of this process."""
    return f"process {os.getpid()} on {socket.gethostname()}"


def _create(store: WritableStore, token: int, record: _Record) -> bool:
    """Create the object of a token; return whether it is ours, reading it back if unclear."""
    try:
        store.put(_path(token), msgspec.json.encode(record), mode=PutMode.CREATE)
    except ObjectExistsError:
        return _is_ours(store, token, record)
    except StorageError:
        if not _is_ours(store, token, record):
            raise
    return True


def _is_ours(store: Store, token: int, record: _Record) -> bool:
    try:
        stored = msgspec.json.decode(store.read(_path(token)), type=_Record)
    except (ObjectNotFoundError, msgspec.DecodeError):
        return False
    return stored.id == record.id


def _newest(store: Store, *, at_least: int = 0) -> ObjectMeta | None:
    """Return the object with the largest token."""
    start_from = _path(at_least).removeprefix(f"{_FOLDER}/") if at_least else ""
    listed = [
        meta for meta in store.list(_FOLDER, start_from=start_from) if _token(meta) >= at_least
    ]
    return max(listed, key=_token, default=None)


def _delete_older(store: WritableStore, token: int) -> None:
    try:
        listed = list(store.list(_FOLDER))
        store.delete([meta.path for meta in listed if 0 <= _token(meta) < token])
    except HeadraceError as error:  # harmless: only the highest number counts
        _LOGGER.warning("%s: old leases were not deleted: %s", store.root, error)


def _read(store: Store, listed: ObjectMeta) -> _Record | None:
    """Return the record of a lease; None if it was deleted since it was listed."""
    try:
        return msgspec.json.decode(store.read(listed.path), type=_Record)
    except ObjectNotFoundError:
        return None


def _path(token: int) -> str:
    return f"{_FOLDER}/{token:020}.json"


def _token(listed: ObjectMeta) -> int:
    """Return the number in the name of a lease; -1 for any other object."""
    name = listed.path.rpartition("/")[2].removesuffix(".json")
    return int(name) if name.isdecimal() else -1
