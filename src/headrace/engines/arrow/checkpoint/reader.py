"""Reads the Parquet files of a log: their footers, their actions, and the adds of their leaves.

Files and plan nodes enter; batches of actions leave. Loading it imports Arrow's Parquet reader,
which a scan of a state does not need.
"""

import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from functools import reduce
from itertools import islice
from typing import TypeAlias, TypeVar

import pyarrow.compute as pc

from headrace.engines.arrow.checkpoint.footer import Footer
from headrace.engines.arrow.checkpoint.group_judge import GroupJudge
from headrace.engines.arrow.checkpoint.leaf import LeafPiece, LeafScan
from headrace.engines.arrow.checkpoint.parquet_source import FooterCache, ParquetSource
from headrace.engines.arrow.checkpoint.partition_verdicts import JudgedPredicate
from headrace.engines.arrow.column_batch import ColumnBatch
from headrace.engines.arrow.plain import plain_batch
from headrace.engines.log_bytes import LogBytes
from headrace.engines.producer import in_parallel
from headrace.engines.window import Windows
from headrace.errors import HeadraceError
from headrace.expr.node import BoundPredicate
from headrace.plan.context import ExecutionContext
from headrace.plan.leaf import FusedLeaf, fuse_leaves
from headrace.plan.node import Node, ScanParquet
from headrace.protocol.log_file import LogFile
from headrace.replay.match import SeenMatcher
from headrace.storage.byte_range import ByteRange

_MAX_EXPECTED = 4
"""Footers to prefetch; with more, some would be evicted before their use."""
_FIRST_ROW_GROUPS = 4
"""Row groups of remote files to request at first. Each one taken allows one more ahead."""

G = TypeVar("G")
_Begun: TypeAlias = tuple[LogFile, tuple[ByteRange, ...]]
"""A file, and the requested ranges of a row group."""
LeafFile: TypeAlias = tuple[LogFile, tuple[int, ...] | None]
"""A file, and its row groups to read; None: all of them."""


class ParquetCheckpoints:
    """Reads Parquet files of one store, for one execution."""

    def __init__(
        self,
        log: LogBytes,
        *,
        footers: FooterCache,
        context: ExecutionContext,
        judged: Callable[[BoundPredicate], JudgedPredicate],
    ) -> None:
        self._context = context
        self._source = ParquetSource(log, footers=footers, meter=context.meter)
        self._judged = judged
        self._footer_thread: threading.Thread | None = None
        self._begun: dict[_Begun, Windows] = {}
        """The row groups that were requested before their phase."""

    def footer(self, file: LogFile) -> Footer:
        """Return the decoded footer of a file; it is cached."""
        return self._source.footer(file)

    def remember(self, file: LogFile, footer: Footer) -> None:
        """Cache a footer that another process has read."""
        self._source.remember(file, footer)

    def expect(self, files: Sequence[LogFile]) -> None:
        """Start to read the footers of files.

        A thread reads those of local files, which takes milliseconds; but not if the scan uses
        a single thread, since a second one needs its own memory.
        """
        if self._source.is_remote:
            for file in files:
                self._source.expect(file)
        elif files and self._footer_thread is None and self._context.settings.leaf_parallelism > 1:
            self._footer_thread = threading.Thread(
                target=self._read_footers,
                args=(files[:_MAX_EXPECTED],),
                name="headrace-footer",
                daemon=True,
            )
            self._footer_thread.start()

    def read_ahead(self, scan: ScanParquet) -> bool:
        """Request the first row groups of remote files; False if a footer is not in memory.

        The scan takes all row groups, so more of them may be in flight. A damaged footer is
        reported when the file is scanned.
        """
        if not all(map(self._source.has_footer, scan.files)):
            return False
        self._source.expect_all_taken()
        leaf = self._leaf_scan(FusedLeaf(scans=(scan,)))
        with suppress(HeadraceError):
            for file in scan.files:
                footer = self._source.footer(file)
                for group in range(footer.metadata.num_row_groups):
                    if len(self._begun) == _FIRST_ROW_GROUPS:
                        return True
                    if footer.holds(group, "add"):
                        ranges = leaf.ranges(file, group)
                        begun = (file, tuple(ranges))
                        self._begun[begun] = self._source.windows(file, ranges)
        return True

    def finish(self) -> None:
        """Wait for the thread that reads footers."""
        if self._footer_thread is not None:
            self._footer_thread.join()

    def _read_footers(self, files: Sequence[LogFile]) -> None:
        with suppress(HeadraceError):  # raised again when the file is read
            for file in files:
                self._source.footer(file)

    def scan_parquet(
        self, file: LogFile, *, columns: tuple[str, ...], row_groups: tuple[int, ...] | None
    ) -> Iterator[ColumnBatch]:
        """Yield the rows that hold at least one of the requested actions."""
        actions = tuple(dict.fromkeys(column.partition(".")[0] for column in columns))
        footer = self._source.footer(file)
        every = range(footer.metadata.num_row_groups) if row_groups is None else row_groups
        groups = [g for g in every if any(footer.holds(g, action) for action in actions)]
        batch_rows = self._context.settings.batch_rows
        with (
            self._source.open(file) as opened,
            opened.following(self._windows(footer, file, groups, columns)),
        ):
            for group in groups:
                batches = self._source.batches(
                    opened, group, columns=columns, batch_rows=batch_rows
                )
                for batch in map(plain_batch, batches):
                    has_action = reduce(pc.or_, (pc.is_valid(column) for column in batch.columns))
                    yield ColumnBatch(file, batch).filter(has_action)

    def _windows(
        self, footer: Footer, file: LogFile, groups: Sequence[int], columns: tuple[str, ...]
    ) -> Windows | None:
        """Request columns of several row groups together; None if the file is local."""
        if not self._source.is_remote:
            return None
        leaf_columns = footer.leaf_columns(columns)
        ranges = [span for group in groups for span in footer.ranges(group, leaf_columns)]
        return self._source.windows(file, ranges)

    def scan_leaves(self, leaves: Sequence[Node]) -> Iterator[ColumnBatch] | None:
        """Return the adds of all leaves, read in parallel; None if these are other plans."""
        fused = fuse_leaves(leaves, ScanParquet)
        return None if fused is None else self._scan_leaves(fused)

    def _scan_leaves(self, fused: FusedLeaf[ScanParquet]) -> Iterator[ColumnBatch]:
        files = [(file, scan.row_groups) for scan in fused.scans for file in scan.files]
        if self._source.is_remote:
            self.expect([file for file, _ in files])
        for file, _ in files:
            self._context.cancellation.check()
            self._source.footer(file)  # a damaged leaf must fail before the first batch

        leaf = self._leaf_scan(fused)
        pieces = self._remote_pieces if self._source.is_remote else self._local_pieces
        threads = self._context.settings.leaf_parallelism
        yield from in_parallel(leaf.read, pieces(files, leaf), threads=threads)

    def _leaf_scan(self, fused: FusedLeaf[ScanParquet]) -> LeafScan:
        judged = None if fused.predicate is None else self._judged(fused.predicate)
        predicate = None if judged is None else judged.split
        judge = GroupJudge(
            source=self._source,
            predicate=predicate,
            verdicts=() if judged is None else judged.verdicts,
            meter=self._context.meter,
        )
        return LeafScan(
            source=self._source,
            judge=judge,
            columns=fused.columns,
            output_columns=fused.output_columns,
            predicate=predicate,
            matcher=SeenMatcher(fused.seen) if fused.seen else None,
            context=self._context,
        )

    def _local_pieces(self, files: Sequence[LeafFile], leaf: LeafScan) -> Iterator[LeafPiece]:
        size = self._context.settings.row_groups_per_batch
        for file, some in files:
            self._context.cancellation.check()
            with self._source.open(file) as opened:
                for groups in _batched(leaf.judge.groups(opened, some), size):
                    yield LeafPiece(file=file, groups=groups)

    def _remote_pieces(self, files: Sequence[LeafFile], leaf: LeafScan) -> Iterator[LeafPiece]:
        """Yield the row groups, with requests for their bytes in flight.

        The number requested ahead grows with the number taken: a scan that stops early wastes
        little, and a long scan has as many requests in flight as the limit allows. One request
        per thread waits for room, so that it starts when that thread takes its row group.
        """
        scanned = {file for file, _ in files}
        for begun in [begun for begun in self._begun if begun[0] not in scanned]:
            self._begun.pop(begun).drop()  # of a checkpoint that was abandoned
        ahead: deque[LeafPiece] = deque()
        settings = self._context.settings
        size, threads = settings.row_groups_per_batch, settings.leaf_parallelism
        most_ahead = _FIRST_ROW_GROUPS
        for file, some in files:
            self._context.cancellation.check()
            for groups in _batched(leaf.judge.matching_groups(file, some), size):
                with_bytes = tuple(
                    (group, self._requested(file, leaf.ranges(file, group.group)))
                    for group in groups
                )
                ahead.append(LeafPiece(file=file, groups=[], read_ahead=with_bytes))
                while ahead and (self._source.reads_waiting >= threads or len(ahead) >= most_ahead):
                    most_ahead += 1
                    yield ahead.popleft()
        yield from ahead

    def _requested(self, file: LogFile, ranges: list[ByteRange]) -> Windows:
        """Return the ranges of a row group, and request them unless that was done before."""
        begun = self._begun.pop((file, tuple(ranges)), None)
        return self._source.windows(file, ranges) if begun is None else begun


def _batched(groups: Iterator[G], size: int) -> Iterator[list[G]]:
    while some := list(islice(groups, size)):
        yield some
