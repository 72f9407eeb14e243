"""Puts the object that makes a version: a state, or a version file.

A version's content enters; `Committed` or `Conflict` leaves, or an error if neither is certain.

One put-if-absent of its file commits a state. Whether it succeeded is determined by reading the
commit id back from the store, never from an exception: a store may fail after it has done the
work, and may repeat a request that succeeded.
"""

from enum import Enum
from typing import TypeAlias

from headrace.avro.state_file import decode_state, encode_state
from headrace.commit.staged import Committed, Conflict
from headrace.errors import (
    CommitUnknownError,
    HeadraceError,
    ObjectExistsError,
    ObjectNotFoundError,
    StorageError,
)
from headrace.maintain.home import Home
from headrace.protocol.state import StateManifest
from headrace.storage.store import PutMode, WritableStore

PutOutcome: TypeAlias = Committed | Conflict

_PUTS = 3
_READS = 5


class _ReadBack(Enum):
    """The object that reading a version's path back has shown."""

    OURS = "ours"
    OTHER = "other"
    ABSENT = "absent"
    UNKNOWN = "unknown"


def commit_state(store: WritableStore, home: Home, state: StateManifest) -> PutOutcome:
    """Commit a state as exactly its version of the log, or not at all.

    Raises:
        StorageError: the store failed, and the state does not exist.
        CommitUnknownError: the store failed, and whether the state exists is unknown.
    """
    content = encode_state(state)
    put = ObjectPut(store, home.state_path(state.state_version), version=state.state_version)
    return put.commit(content, commit_id=str(state.commit_id))


class ObjectPut:
    """The put of one object that makes a version: a state, or a version file."""

    def __init__(self, store: WritableStore, path: str, *, version: int) -> None:
        self._store = store
        self._path = path
        self._version = version

    def commit(self, content: bytes, *, commit_id: str) -> PutOutcome:
        """Put the object and determine the outcome.

        Raises:
            StorageError: the store failed, and the object does not exist.
            CommitUnknownError: the store failed, and whether the object exists is unknown.
        """
        committed = Committed(version=self._version, commit_id=commit_id)
        for attempt in range(1, _PUTS + 1):
            try:
                self._store.put(self._path, content, mode=PutMode.CREATE)
            except ObjectExistsError:
                failure: StorageError | None = None
            except StorageError as error:
                failure = error
            else:
                return committed
            match self._read_back(commit_id):
                case _ReadBack.OURS:
                    return committed
                case _ReadBack.OTHER:
                    return Conflict(version=self._version)
                case _ReadBack.UNKNOWN:
                    raise CommitUnknownError(
                        table=self._store.root, version=self._version
                    ) from failure
                case _ReadBack.ABSENT:
                    # The request did not arrive. Repeat it with the same id, so that an earlier
                    # request that arrives late is still recognised as ours.
                    if attempt == _PUTS and failure is not None:
                        raise failure
        raise CommitUnknownError(table=self._store.root, version=self._version)

    def _read_back(self, commit_id: str) -> _ReadBack:
        for _ in range(_READS):
            try:
                content = self._store.read(self._path)
            except ObjectNotFoundError:
                return _ReadBack.ABSENT
            except StorageError:
                continue
            return _ReadBack.OURS if self._is_ours(content, commit_id) else _ReadBack.OTHER
        return _ReadBack.UNKNOWN

    def _is_ours(self, content: bytes, commit_id: str) -> bool:
        if commit_id.encode() in content:  # version files are text
            return True
        try:
            return decode_state(content, path=self._path).commit_id == commit_id
        except HeadraceError:  # another writer's, in an unknown format
            return False
