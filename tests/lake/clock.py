"""Write logs with chosen file times and in-commit timestamps, for tests of time travel."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.lake.action import Line, add, commit_info, metadata, protocol
from tests.lake.log import write_commit

_ENABLED = "delta.enableInCommitTimestamps"
_SINCE_VERSION = "delta.inCommitTimestampEnablementVersion"
_SINCE_MS = "delta.inCommitTimestampEnablementTimestamp"


@dataclass(frozen=True, kw_only=True)
class Clock:
    """File times of all commits, and in-commit timestamps of the last ones.

    If every commit has an in-commit timestamp, the table was created with them enabled, and no
    property records the version since when.
    """

    modified_ms: Sequence[int]
    in_commit_ms: Sequence[int] = ()

    @property
    def since(self) -> int:
        """The first version that has an in-commit timestamp."""
        return len(self.modified_ms) - len(self.in_commit_ms)

    def write(self, table: Path) -> Path:
        """Write a table with these times; each version adds one file, named after the version."""
        for version, ms in enumerate(self.modified_ms):
            lines: list[Line] = []
            if version >= self.since:
                lines.append(commit_info(timestamp_ms=self.in_commit_ms[version - self.since]))
            if version == 0:
                lines.append(protocol())
            if version in {0, self.since}:
                lines.append(metadata(properties=self._properties(version)))
            write_commit(table, version, [*lines, add(str(version))], modified_ms=ms)
        return table

    def _properties(self, version: int) -> dict[str, str]:
        if version < self.since:
            return {}
        if self.since == 0:
            return {_ENABLED: "true"}
        first = self.in_commit_ms[0]
        return {_ENABLED: "true", _SINCE_VERSION: str(self.since), _SINCE_MS: str(first)}

    def version_at(self, ms: int) -> int | None:
        """Return the last version at or before a time, by checking every commit."""
        if self.in_commit_ms and (self.since == 0 or ms >= self.in_commit_ms[0]):
            early = [self.since + i for i, own in enumerate(self.in_commit_ms) if own <= ms]
        else:
            times: list[int] = []
            for modified in self.modified_ms[: self.since]:
                times.append(max([modified, *(time + 1 for time in times[-1:])]))
            early = [version for version, time in enumerate(times) if time <= ms]
        return early[-1] if early else None
