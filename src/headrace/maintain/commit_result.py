"""The result of a commit to an IndexTables log, as `StateWriter` returns it and users see it."""

import msgspec

from headrace.maintain.cleanup import CleanupResult
from headrace.maintain.compaction import Compaction


class CommitResult(msgspec.Struct, frozen=True, kw_only=True):
    """A version that was committed."""

    version: int
    state_dir: str | None
    """The folder of its state; None for a version file without a state."""
    attempts: int
    commit_id: str
    num_files: int
    total_bytes: int
    added: int
    removed: int
    missed: tuple[str, ...] = ()
    """Files to remove that were not live."""
    compaction: Compaction | None = None
    cleanup: CleanupResult | None = None
    """The result of the clean-up after a compaction."""
    cleanup_failure: str | None = None
    """Why the clean-up failed; the commit is not affected."""

    @property
    def retried(self) -> bool:
        """Whether another writer committed first at least once."""
        return self.attempts > 1
