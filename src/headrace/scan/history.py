"""The history of a table, as its writers recorded it: operations, times and users.

The commits of a log enter; `HistoryEntry` values leave, newest first.
"""

from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from typing import Any

import msgspec

from headrace.phases.history import CommitTimes
from headrace.plan.batch import ActionBatch
from headrace.protocol.action import CommitInfo
from headrace.scan.html import facts_html


class HistoryEntry(msgspec.Struct, frozen=True, kw_only=True):
    """One commit. Fields that its writer did not record are None or empty."""

    version: int
    timestamp_ms: int
    """The commit time, as used by `as_of`."""
    operation: str | None = None
    parameters: dict[str, Any] = {}
    """The operation's parameters, as the writer stored them."""
    metrics: dict[str, Any] = {}
    """The operation's metrics; numbers that the writer stored as strings are converted."""
    user_id: str | None = None
    user_name: str | None = None
    engine: str | None = None
    """The program that committed."""
    read_version: int | None = None
    """The version that the operation read."""
    isolation_level: str | None = None
    is_blind_append: bool | None = None
    user_metadata: str | None = None

    @property
    def time(self) -> datetime | None:
        """The commit time in UTC; None if `datetime` cannot represent it."""
        try:
            return datetime.fromtimestamp(self.timestamp_ms / 1000, tz=UTC)
        except (OverflowError, ValueError, OSError):
            return None

    def _repr_html_(self) -> str:
        return facts_html(f"Version {self.version}", msgspec.structs.asdict(self))


def history_entries(
    batches: Iterable[ActionBatch], *, times: CommitTimes
) -> Iterator[HistoryEntry]:
    """Yield an entry for each commit, newest first, even for those without a commitInfo."""
    infos: dict[int | None, CommitInfo] = {}
    for batch in batches:
        for info in batch.actions("commitInfo"):
            infos.setdefault(batch.source.version, info)
    for commit in times.commits_newest_first:
        version = commit.version
        assert version is not None
        yield _entry(version, infos.get(version) or CommitInfo(), times)


def _entry(version: int, info: CommitInfo, times: CommitTimes) -> HistoryEntry:
    since, in_commit_ms = times.in_commit_since, info.in_commit_timestamp
    carried = since is not None and version >= since and in_commit_ms is not None
    return HistoryEntry(
        version=version,
        timestamp_ms=in_commit_ms
        if carried and in_commit_ms is not None
        else times.file_times_ms[version],
        operation=_text(info.operation),
        parameters=_mapping(info.operation_parameters),
        metrics={k: _number(v) for k, v in _mapping(info.operation_metrics).items()},
        user_id=_text(info.user_id),
        user_name=_text(info.user_name),
        engine=_text(info.engine_info),
        read_version=info.read_version if type(info.read_version) is int else None,
        isolation_level=_text(info.isolation_level),
        is_blind_append=info.is_blind_append if isinstance(info.is_blind_append, bool) else None,
        user_metadata=_text(info.user_metadata),
    )


def _text(value: Any) -> str | None:
    return value if value is None or isinstance(value, str) else str(value)


def _mapping(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _number(value: Any) -> Any:
    """Convert a number stored as a string, as Spark writes metrics."""
    if isinstance(value, str) and value.removeprefix("-").isascii() and value.isdecimal():
        return int(value)
    return value
