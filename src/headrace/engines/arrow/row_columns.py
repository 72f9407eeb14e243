"""Decoded adds, seen as the columns that skipping looks at."""

from collections.abc import Sequence
from dataclasses import dataclass

import pyarrow as pa

from headrace.protocol.action import Add


@dataclass(frozen=True, slots=True)
class RowColumns:
    """The adds of a commit. JSON has no parsed statistics."""

    adds: Sequence[Add]

    def __len__(self) -> int:
        return len(self.adds)

    def partition_text(self, physical_name: str) -> pa.StringArray:
        """The text of one partition value of each file."""
        return pa.array([a.partition_values.get(physical_name) for a in self.adds], pa.string())

    def stats_json(self) -> pa.StringArray:
        """The statistics as the log has them."""
        return pa.array([a.stats for a in self.adds], pa.string())

    def stats_parsed(self, leaf: tuple[str, ...]) -> None:  # noqa: ARG002
        """Never there."""
        return
