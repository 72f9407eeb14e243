"""A file of the log, as a listing returns it: path, size, time, and the versions it covers."""

import msgspec


class LogFile(msgspec.Struct, frozen=True, kw_only=True):
    """A file of the log: its path and what the listing says about it."""

    path: str
    size_bytes: int = 0
    modified_ms: int = 0
    etag: str | None = None
    """Changes whenever the file does; None if the store has no etags."""
    version: int | None = None
    """Set if the file describes exactly one version."""
    compacted: tuple[int, int] | None = None
    """The first and last commit that a compaction file summarises; None for other files."""
