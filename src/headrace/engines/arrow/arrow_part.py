"""The parts of the engine that need Arrow, as interfaces; `headrace.wiring` loads them on demand.

The executor is imported with Headrace, and these interfaces keep Arrow out of that import.
"""

from collections.abc import Iterator, Sequence
from typing import Any, Protocol, TypeAlias

from headrace.engines.log_bytes import LogBytes
from headrace.expr.node import BoundPredicate
from headrace.plan.batch import ActionBatch
from headrace.plan.context import ExecutionContext
from headrace.plan.node import Node, ScanParquet
from headrace.plan.seen import FrozenSeen
from headrace.protocol.log_file import LogFile
from headrace.protocol.state import StateManifest

Footer: TypeAlias = Any
"""A `checkpoint.footer.Footer`, named so that this module does not import Arrow."""
Judged: TypeAlias = Any
"""A `JudgedPredicate`, named for the same reason."""


class Checkpoints(Protocol):
    """The part of the engine that reads Parquet files, for one execution."""

    def footer(self, file: LogFile) -> Footer:
        """Return the decoded footer of a Parquet file; it is cached."""

    def remember(self, file: LogFile, footer: Footer) -> None:
        """Cache a footer that another process has read, so that it is not read again."""

    def expect(self, files: Sequence[LogFile]) -> None:
        """Start to read the footers of files in the background."""

    def read_ahead(self, scan: ScanParquet) -> bool:
        """Request the first row groups of remote files; False if a footer is not in memory."""

    def finish(self) -> None:
        """Wait for the background read."""

    def scan_parquet(
        self, file: LogFile, *, columns: tuple[str, ...], row_groups: tuple[int, ...] | None
    ) -> Iterator[ActionBatch]:
        """Yield the actions of one Parquet file, or of some of its row groups."""

    def scan_leaves(self, leaves: Sequence[Node]) -> Iterator[ActionBatch] | None:
        """Return the adds of independent leaves, read in parallel; None for other plans."""


class Columnar(Protocol):
    """The part of the engine that needs Arrow but reads no Parquet, for one execution."""

    def scan_manifests(self, leaves: Sequence[Node]) -> Iterator[ActionBatch] | None:
        """Return the adds of the manifests of a state; None if these are other plans."""

    def skip_files(
        self, batches: Iterator[ActionBatch], predicate: BoundPredicate
    ) -> Iterator[ActionBatch]:
        """Yield the adds that may hold a matching row, batch by batch."""

    def judged(self, predicate: BoundPredicate) -> Judged:
        """Return a predicate with its cached verdicts."""

    def drop_seen(self, batch: ActionBatch, seen: FrozenSeen) -> ActionBatch:
        """Return the adds whose key is not in the set."""


class LoadColumnar(Protocol):
    """Creates the parts that need Arrow, and holds the state that their executions share."""

    def __call__(self, log: LogBytes, context: ExecutionContext) -> Columnar:
        """Return the part that needs Arrow, for one execution."""

    def checkpoints(
        self, log: LogBytes, context: ExecutionContext, columnar: Columnar
    ) -> Checkpoints:
        """Return the part that reads Parquet, for the execution of `columnar`."""

    def clear(self) -> None:
        """Drop the state that the executions share."""

    def decode_state(self, content: bytes, *, path: str) -> StateManifest:
        """Decode the state that a file holds."""
