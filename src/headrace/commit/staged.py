"""Files that no version names yet, and the two ways out: a commit, or none.

`Staged → commit(body, version) → Committed | Conflict`. Only `Staged` can be discarded. Whether a
commit stands is read from the log, never concluded from an exception: a store may fail after it
has done what it was asked.
"""

from typing import TypeAlias

import msgspec

from headrace.commit.body import CommitBody
from headrace.commit.log import commit_path, find_commit, is_made_by
from headrace.errors import CommitUnknownError, HeadraceError, ObjectExistsError
from headrace.storage.store import PutMode, WritableStore


class Committed(msgspec.Struct, frozen=True, kw_only=True):
    """A commit of ours that stands."""

    version: int
    """The version that this commit made, whatever others have committed since."""
    commit_id: str


class Conflict(msgspec.Struct, frozen=True, kw_only=True):
    """Another writer made the version first; our files are still only staged."""

    version: int


Outcome: TypeAlias = Committed | Conflict


class Staged:
    """Files below a table that no version names; commit them once, or discard them."""

    def __init__(
        self,
        store: WritableStore,
        *,
        paths: tuple[str, ...],
        commit_id: str,
        is_durable: bool = False,
    ) -> None:
        """Take the files, by their paths below the table, and the id of their commit.

        Files that `put` wrote are durable already; those that an engine wrote are made so.
        """
        self._store = store
        self.paths = paths
        self.commit_id = commit_id
        self._is_durable = is_durable

    def commit(self, body: CommitBody, *, version: int) -> Outcome:
        """Make the files a version of the table: exactly that version, or none.

        Raises:
            StorageError: the store failed, and the commit does not stand.
            CommitUnknownError: the store failed, and cannot say whether the commit stands.
        """
        if not self._is_durable:
            self._store.persist(self.paths)
            self._is_durable = True
        try:
            content = body.encode(self.commit_id)
            self._store.put(commit_path(version), content, mode=PutMode.CREATE)
        except ObjectExistsError:  # another writer's, or ours if the store repeated the request
            if not self._stands(version):
                return Conflict(version=version)
        except Exception:
            if not self._stands(version):
                raise
        return Committed(version=version, commit_id=self.commit_id)

    def abandon(self, *, after: int) -> Committed | None:
        """Discard the files, unless the log says that their commit stands.

        Args:
            after: The newest version that there was before they could have been committed.

        Raises:
            LogGapError: the log no longer tells; the files stay.
        """
        version = find_commit(self._store, self.commit_id, after=after)
        if version is not None:
            return Committed(version=version, commit_id=self.commit_id)
        self._store.delete(self.paths)
        return None

    def _stands(self, version: int) -> bool:
        """Whether our commit made a version, by the log."""
        try:
            return is_made_by(self._store, version, self.commit_id) or False
        except HeadraceError as error:
            raise CommitUnknownError(table=self._store.root, version=version) from error
