"""The part of the engine that needs Arrow: scans of manifests, data skipping, columnar probing.

Plan nodes and batches enter; batches of actions leave. It does not read Parquet files.
"""

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Any

from headrace.engines.arrow.checkpoint.partition_verdicts import JudgedPredicate
from headrace.engines.arrow.column_batch import ColumnBatch
from headrace.engines.arrow.json_lines import count_json_rows
from headrace.engines.arrow.manifest.scan import ManifestScan
from headrace.engines.arrow.row_skipping import RowSkipping, growing_groups
from headrace.expr.node import BoundPredicate
from headrace.plan.batch import ActionBatch, AddBatch, RowBatch
from headrace.plan.context import ExecutionContext
from headrace.plan.leaf import fuse_leaves
from headrace.plan.node import Node, ScanAvro
from headrace.plan.seen import FrozenSeen
from headrace.protocol.key import keys_of
from headrace.replay.match import SeenMatcher
from headrace.replay.skipping import keep_mask
from headrace.storage.store import Store


class ArrowColumnar:
    """Works on batches and manifests with Arrow, for one execution."""

    def __init__(self, store: Store, *, context: ExecutionContext) -> None:
        self._context = context
        self._store = store
        self._judging: JudgedPredicate | None = None

    def scan_manifests(self, leaves: Sequence[Node]) -> Iterator[ActionBatch] | None:
        """Return the adds of the manifests of a state; None if these are other plans."""
        fused = fuse_leaves(leaves, ScanAvro)
        if fused is None:
            return None
        return ManifestScan(self._store, fused, context=self._context).batches()

    def skip_files(
        self, batches: Iterator[ActionBatch], predicate: BoundPredicate
    ) -> Iterator[ActionBatch]:
        """Yield the adds that may hold a matching row, batch by batch."""
        skipping = RowSkipping(self.judged(predicate), self._context.meter)
        for group in growing_groups(batches):
            for is_columnar, some in groupby(group, lambda batch: isinstance(batch, ColumnBatch)):
                if is_columnar:
                    yield from (_matching(predicate, batch) for batch in some)
                else:
                    yield from skipping.matching([self._adds(batch) for batch in some])

    def judged(self, predicate: BoundPredicate) -> JudgedPredicate:
        """Return a predicate with its cached verdicts; the phases of a scan share one predicate."""
        if self._judging is None or self._judging.split.whole is not predicate:
            self._judging = JudgedPredicate.of(predicate)
        return self._judging

    def _adds(self, batch: ActionBatch) -> AddBatch:
        """Return the adds of a batch; a batch that was not replayed is counted here."""
        adds = batch.actions("add")
        if isinstance(batch, RowBatch):
            files = len(adds) + len(batch.actions("remove"))
            count_json_rows(len(batch), files=files, meter=self._context.meter)
        return AddBatch(batch.source, adds)

    def drop_seen(self, batch: ActionBatch, seen: FrozenSeen) -> ActionBatch:
        """Return the adds whose key is not in the set."""
        if isinstance(batch, ColumnBatch):
            if not len(seen) or not len(batch):
                return batch
            paths, vectors = batch.field("path"), batch.field("deletionVector")
            return batch.without(SeenMatcher(seen).seen_rows(paths, vectors))
        adds = self._adds(batch).adds
        hidden = seen.contains_many(keys_of(adds))
        return AddBatch(
            batch.source, [a for a, is_hidden in zip(adds, hidden, strict=True) if not is_hidden]
        )


def _matching(predicate: BoundPredicate, batch: Any) -> ColumnBatch:
    assert isinstance(batch, ColumnBatch)
    return batch.filter(keep_mask(predicate, batch)) if len(batch) else batch
