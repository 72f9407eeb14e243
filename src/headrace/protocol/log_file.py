"""A file of the log, as a listing shows it."""

import msgspec


class LogFile(msgspec.Struct, frozen=True, kw_only=True):
    """A file of the log."""

    path: str
    size_bytes: int = 0
    modified_ms: int = 0
    etag: str | None = None
    """Changes whenever the file does, where the store has such a mark."""
    version: int | None = None
    """Set where the file speaks of exactly one version."""
    sums_up: tuple[int, int] | None = None
    """The first and the last of the commits that a compaction file stands for."""
