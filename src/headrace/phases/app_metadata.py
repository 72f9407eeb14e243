"""Reads what applications store in a log: their latest transactions, and the live domains.

The segment of a version enters; an `AppMetadata` leaves.
"""

from collections.abc import Sequence

import msgspec

from headrace.errors import CorruptCheckpointError, HeadraceError
from headrace.log.segment import Segment
from headrace.metrics.event import Event
from headrace.phases.checkpoint import scan_checkpoint
from headrace.phases.phase import Consume, Phase, Terminus
from headrace.phases.recovery import contradiction, recover
from headrace.phases.snapshot import SnapshotRequest
from headrace.plan.batch import ActionBatch, Batch
from headrace.plan.node import Chain, Node, ScanJson
from headrace.protocol.action import DomainMetadata, Txn

_COLUMNS = ("txn", "domainMetadata")


class AppMetadata(msgspec.Struct, frozen=True, kw_only=True):
    """The latest transaction of each application, and the live domains."""

    txns: dict[str, Txn]
    domains: dict[str, DomainMetadata]


class ReadAppMetadata(Consume[AppMetadata], frozen=True, kw_only=True):
    """Reads every commit, then the checkpoint: the newest action for each name wins."""

    request: SnapshotRequest
    segment: Segment

    def plan(self) -> Node:
        """Read commits and the checkpoint; these actions are never in sidecars."""
        inputs: list[Node] = [ScanJson(files=self.segment.replay_newest_first, columns=_COLUMNS)]
        if self.segment.checkpoint is not None:
            inputs.append(scan_checkpoint(self.segment.checkpoint, columns=_COLUMNS))
        return Chain(inputs=tuple(inputs))

    def next(self, data: Sequence[Batch]) -> Phase[AppMetadata]:
        """Take the latest, not the largest: a transaction's version may decrease."""
        try:
            return self._read(self.actions(data))
        except CorruptCheckpointError as error:
            return self.failed(error)

    def _read(self, batches: Sequence[ActionBatch]) -> Phase[AppMetadata]:
        if error := contradiction(batches, {"txn": _application, "domainMetadata": _domain}):
            return recover(self, error)
        txns: dict[str, Txn] = {}
        domains: dict[str, DomainMetadata] = {}
        for batch in batches:
            for txn in batch.actions("txn"):
                txns.setdefault(txn.app_id, txn)
            for domain in batch.actions("domainMetadata"):
                domains.setdefault(domain.domain, domain)
        live = {name: domain for name, domain in domains.items() if not domain.removed}
        return Terminus(AppMetadata(txns=txns, domains=live))

    def failed(self, error: HeadraceError) -> Phase[AppMetadata]:
        """Fall back to an older base if the checkpoint is unreadable."""
        return recover(self, error)

    def rebased(self, segment: Segment, events: tuple[Event, ...]) -> Phase[AppMetadata]:
        """Return the same phase for another segment of the same version."""
        return msgspec.structs.replace(self, segment=segment, events=events)


def _application(txn: Txn) -> str:
    return txn.app_id


def _domain(metadata: DomainMetadata) -> str:
    return metadata.domain
