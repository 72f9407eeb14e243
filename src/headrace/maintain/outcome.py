"""Putting a state: `Committed`, `Conflict`, or an error that says that nobody knows.

A state is committed by one put-if-absent of its file. Whether ours stands is read from the store,
by the commit id inside, and never concluded from an exception: a store may fail after it has done
what it was asked, and may repeat a request that had succeeded.
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

Outcome: TypeAlias = Committed | Conflict

_PUTS = 3
_READS = 5


class _Found(Enum):
    OURS = "ours"
    ANOTHERS = "another's"
    NOTHING = "nothing"
    UNKNOWN = "unknown"


def commit_state(store: WritableStore, home: Home, state: StateManifest) -> Outcome:
    """Make a state a version of its log: exactly that version, or none.

    Raises:
        StorageError: the store failed, and the state is not there.
        CommitUnknownError: the store failed, and cannot say whether the state is there.
    """
    content = encode_state(state)
    put = ObjectPut(store, home.state_path(state.state_version), version=state.state_version)
    return put.settle(content, commit_id=str(state.commit_id))


class ObjectPut:
    """The put of one object that makes a version: a state, or a version file."""

    def __init__(self, store: WritableStore, path: str, *, version: int) -> None:
        self._store = store
        self._path = path
        self._version = version

    def settle(self, content: bytes, *, commit_id: str) -> Outcome:
        """Put the object and find out what became of it.

        Raises:
            StorageError: the store failed, and the object is not there.
            CommitUnknownError: the store failed, and cannot say whether it is there.
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
            match self._find(commit_id):
                case _Found.OURS:
                    return committed
                case _Found.ANOTHERS:
                    return Conflict(version=self._version)
                case _Found.UNKNOWN:
                    raise CommitUnknownError(
                        table=self._store.root, version=self._version
                    ) from failure
                case _Found.NOTHING:
                    # The request never arrived. It is repeated under the same id, so that an
                    # early one that arrives late is still recognised as ours.
                    if attempt == _PUTS and failure is not None:
                        raise failure
        raise CommitUnknownError(table=self._store.root, version=self._version)

    def _find(self, commit_id: str) -> _Found:
        for _ in range(_READS):
            try:
                content = self._store.read(self._path)
            except ObjectNotFoundError:
                return _Found.NOTHING
            except StorageError:
                continue
            return _Found.OURS if self._is_ours(content, commit_id) else _Found.ANOTHERS
        return _Found.UNKNOWN

    def _is_ours(self, content: bytes, commit_id: str) -> bool:
        if commit_id.encode() in content:  # version files are text
            return True
        try:
            return decode_state(content, path=self._path).commit_id == commit_id
        except HeadraceError:  # another writer's, in a form of its own
            return False
