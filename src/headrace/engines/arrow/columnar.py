"""The half of the engine that needs Arrow: Parquet, skipping, and probing by column."""

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import reduce
from itertools import groupby, islice
from typing import Any

import msgspec
import pyarrow.compute as pc

from headrace.engines.arrow.column_batch import ColumnBatch
from headrace.engines.arrow.footer import Footer
from headrace.engines.arrow.group_judge import GroupJudge, PossibleGroup
from headrace.engines.arrow.json_lines import count_json_rows
from headrace.engines.arrow.leaf import LeafPiece, LeafScan
from headrace.engines.arrow.parquet_source import FooterCache, ParquetSource
from headrace.engines.arrow.partition_verdicts import JudgedPredicate
from headrace.engines.arrow.plain import plain_batch
from headrace.engines.arrow.row_skipping import RowSkipping, growing_groups
from headrace.engines.arrow.workers import in_parallel
from headrace.errors import HeadraceError
from headrace.expr.node import BoundPredicate
from headrace.plan.batch import ActionBatch, AddBatch, RowBatch
from headrace.plan.context import ExecutionContext
from headrace.plan.node import DropSeen, Node, ScanParquet, SkipFiles
from headrace.plan.seen import FrozenSeen
from headrace.protocol.key import keys_of
from headrace.protocol.log_file import LogFile
from headrace.replay.match import SeenMatcher
from headrace.replay.skipping import keep_mask
from headrace.storage.store import Store

_MOST_EXPECTED = 4
"""Footers that are read before they are asked for; of more, some would be forgotten until then."""


class ArrowColumnar:
    """Reads Parquet files of one store, for one run."""

    def __init__(self, store: Store, *, footers: FooterCache, context: ExecutionContext) -> None:
        self._context = context
        self._source = ParquetSource(store, footers=footers, meter=context.meter)
        self._judging: JudgedPredicate | None = None

    def footer(self, file: LogFile) -> Footer:
        """What the footer of a file tells; it is remembered."""
        return self._source.footer(file)

    def remember(self, file: LogFile, footer: Footer) -> None:
        """Take a footer that another process has read."""
        self._source.remember(file, footer)

    @contextmanager
    def expect(self, files: Sequence[LogFile]) -> Iterator[None]:
        """While this is open, read the footers of some files in a thread of its own.

        Only those of local files, which takes milliseconds: nobody who closes a scan is to wait
        for a request. And not for who wants one thread: it takes memory that no other one gets.
        """
        local = [file for file in files[:_MOST_EXPECTED] if self._source.is_local(file)]
        if not local or self._context.settings.leaf_parallelism <= 1:
            yield
            return
        reading = threading.Thread(
            target=self._read_footers, args=(local,), name="headrace-footer", daemon=True
        )
        reading.start()
        try:
            yield
        finally:
            reading.join()

    def _read_footers(self, files: Sequence[LogFile]) -> None:
        with suppress(HeadraceError):  # it is told when the file is read
            for file in files:
                self._source.footer(file)

    def scan_parquet(
        self, file: LogFile, *, columns: tuple[str, ...], row_groups: tuple[int, ...] | None
    ) -> Iterator[ColumnBatch]:
        """The rows in which at least one of the wanted actions is there."""
        actions = tuple(dict.fromkeys(column.partition(".")[0] for column in columns))
        with self._source.open(file) as parquet:
            footer = self._source.footer(file)
            for group in range(parquet.num_row_groups) if row_groups is None else row_groups:
                if not any(footer.holds(group, action) for action in actions):
                    continue
                batches = self._source.batches(
                    file,
                    parquet,
                    group,
                    columns=columns,
                    batch_rows=self._context.settings.batch_rows,
                )
                for batch in map(plain_batch, batches):
                    there = reduce(pc.or_, (pc.is_valid(column) for column in batch.columns))
                    yield ColumnBatch(file, batch).filter(there)

    def scan_leaves(self, leaves: Sequence[Node]) -> Iterator[ActionBatch] | None:
        """The adds of all leaves, several row groups at a time; None: these are other plans."""
        shapes = [shape for leaf in leaves if (shape := _leaf_shape(leaf)) is not None]
        if not shapes or len(shapes) != len(leaves):
            return None
        if not all(shape.is_like(shapes[0]) for shape in shapes):
            return None
        return self._scan_leaves(shapes)

    def _scan_leaves(self, shapes: "list[_LeafShape]") -> Iterator[ActionBatch]:
        settings = self._context.settings
        files = [(file, shape.scan.row_groups) for shape in shapes for file in shape.scan.files]
        for file, _ in files:
            self._context.cancellation.check()
            self._source.footer(file)  # a damaged leaf must fail before the first batch

        shape = shapes[0]
        skip = shape.skip
        judged = None if skip is None else self._judged(skip.predicate)
        predicate = None if judged is None else judged.split
        judge = GroupJudge(
            source=self._source,
            predicate=predicate,
            verdicts=() if judged is None else judged.verdicts,
            meter=self._context.meter,
        )
        leaf = LeafScan(
            source=self._source,
            judge=judge,
            columns=shape.scan.columns,
            wanted=None if skip is None else skip.wanted,
            predicate=predicate,
            matcher=SeenMatcher(shape.seen) if len(shape.seen) else None,
            context=self._context,
        )

        def pieces() -> Iterator[LeafPiece]:
            for file, some in files:
                self._context.cancellation.check()
                for groups in _batched(judge.groups(file, some), settings.row_groups_per_batch):
                    yield file, groups

        yield from in_parallel(leaf.read, pieces(), threads=settings.leaf_parallelism)

    def skip_files(
        self, batches: Iterator[ActionBatch], predicate: BoundPredicate
    ) -> Iterator[ActionBatch]:
        """The adds that may hold a matching row, batch by batch."""
        skipping = RowSkipping(self._judged(predicate), self._context.meter)
        for group in growing_groups(batches):
            for is_columnar, some in groupby(group, lambda batch: isinstance(batch, ColumnBatch)):
                if is_columnar:
                    yield from (_kept(predicate, batch) for batch in some)
                else:
                    yield from skipping.kept([self._adds(batch) for batch in some])

    def _judged(self, predicate: BoundPredicate) -> JudgedPredicate:
        """A predicate with what it was found to say: the phases of a run ask about the same one."""
        if self._judging is None or self._judging.split.whole is not predicate:
            self._judging = JudgedPredicate.of(predicate)
        return self._judging

    def _adds(self, batch: ActionBatch) -> AddBatch:
        """The adds of a batch; one that has not been replayed is counted here."""
        adds = batch.actions("add")
        if isinstance(batch, RowBatch):
            files = len(adds) + len(batch.actions("remove"))
            count_json_rows(len(batch), files=files, meter=self._context.meter)
        return AddBatch(batch.source, adds)

    def drop_seen(self, batch: ActionBatch, seen: FrozenSeen) -> ActionBatch:
        """The adds whose key is not in the set."""
        if isinstance(batch, ColumnBatch):
            if not len(seen) or not len(batch):
                return batch
            paths, vectors = batch.field("path"), batch.field("deletionVector")
            return batch.without(SeenMatcher(seen).seen_rows(paths, vectors))
        adds = self._adds(batch).adds
        hidden = seen.contains_many(keys_of(adds))
        return AddBatch(batch.source, [a for a, gone in zip(adds, hidden, strict=True) if not gone])


def _kept(predicate: BoundPredicate, batch: Any) -> ColumnBatch:
    assert isinstance(batch, ColumnBatch)
    return batch.filter(keep_mask(predicate, batch)) if len(batch) else batch


def _batched(groups: Iterator[PossibleGroup], size: int) -> Iterator[list[PossibleGroup]]:
    while some := list(islice(groups, size)):
        yield some


class _LeafShape(msgspec.Struct, frozen=True, kw_only=True):
    """What a leaf of a checkpoint is made of, if it is of the usual shape."""

    scan: ScanParquet
    skip: SkipFiles | None
    seen: FrozenSeen

    def is_like(self, other: "_LeafShape") -> bool:
        """Whether they differ in nothing but what they read, as those of one phase do."""
        return (
            self.scan.columns == other.scan.columns
            and self.seen is other.seen
            and _of(self.skip) == _of(other.skip)
        )


def _of(skip: SkipFiles | None) -> tuple[Any, Any] | None:
    return None if skip is None else (skip.predicate, skip.wanted)


def _leaf_shape(leaf: Node) -> _LeafShape | None:
    match leaf:
        case DropSeen(input=ScanParquet() as scan, seen=seen):
            return _LeafShape(scan=scan, skip=None, seen=seen)
        case DropSeen(input=SkipFiles(input=ScanParquet() as scan) as skip, seen=seen):
            return _LeafShape(scan=scan, skip=skip, seen=seen)
        case _:
            return None
