"""Files that no version references yet: commit them or discard them.

`Staged → commit(body, version) → Committed | Conflict`. Only `Staged` can be discarded. Whether a
commit succeeded is read from the log, never inferred from an exception: a store may report a
failure after it has performed the write.
"""

from typing import TypeAlias

import msgspec

from headrace.commit.body import CommitBody
from headrace.commit.log import commit_path, find_commit, is_made_by
from headrace.errors import CommitUnknownError, HeadraceError, ObjectExistsError
from headrace.storage.store import PutMode, WritableStore


class Committed(msgspec.Struct, frozen=True, kw_only=True):
    """A successful commit of ours."""

    version: int
    """The version that this commit created, whatever others have committed since."""
    commit_id: str


class Conflict(msgspec.Struct, frozen=True, kw_only=True):
    """Another writer created the version first; our files are still only staged."""

    version: int


Outcome: TypeAlias = Committed | Conflict


class Staged:
    """Files below a table that no version references; commit them once, or discard them."""

    def __init__(
        self,
        store: WritableStore,
        *,
        paths: tuple[str, ...],
        commit_id: str,
        is_durable: bool = False,
    ) -> None:
        """Take the files, as paths relative to the table, and the id of their commit.

        Files written by `put` are already durable (`is_durable`); files that a runner wrote are
        made durable before the commit.
        """
        self._store = store
        self.paths = paths
        self.commit_id = commit_id
        self._is_durable = is_durable

    def commit(self, body: CommitBody, *, version: int) -> Outcome:
        """Commit the files as exactly this version of the table, or not at all.

        Raises:
            StorageError: the store failed, and the commit did not happen.
            CommitUnknownError: the store failed, and it is unknown whether the commit happened.
        """
        if not self._is_durable:
            self._store.persist(self.paths)
            self._is_durable = True
        try:
            content = body.encode(self.commit_id)
            self._store.put(commit_path(version), content, mode=PutMode.CREATE)
        except ObjectExistsError:  # another writer's, or ours if the store repeated the request
            if not self._is_committed(version):
                return Conflict(version=version)
        except Exception:
            if not self._is_committed(version):
                raise
        return Committed(version=version, commit_id=self.commit_id)

    def abandon(self, *, after: int) -> Committed | None:
        """Delete the files, unless the log shows that their commit succeeded.

        Args:
            after: The newest version that existed before the commit could have happened.

        Raises:
            LogGapError: commits are missing, so the outcome is unknown; the files are kept.
        """
        version = find_commit(self._store, self.commit_id, after=after)
        if version is not None:
            return Committed(version=version, commit_id=self.commit_id)
        self._store.delete(self.paths)
        return None

    def _is_committed(self, version: int) -> bool:
        """Return whether the log shows that our commit created a version."""
        try:
            return is_made_by(self._store, version, self.commit_id) or False
        except HeadraceError as error:
            raise CommitUnknownError(table=self._store.root, version=version) from error
