"""A worker's share of a parallel phase: some of its leaves, as a small machine."""

from headrace.phases.phase import Parallel, Phase, Terminus
from headrace.phases.scan import CheckpointReplay
from headrace.phases.scan_request import ScanRequest
from headrace.plan.node import Chain, Node
from headrace.replay.seen import FrozenSeenSet


class LeafShare(Parallel[None], frozen=True, kw_only=True):
    """Some leaves of a phase. It ends without a value: only the whole phase knows what follows.

    It pickles, with the frozen set that its leaves probe. Failures are raised, since a worker
    cannot fall back by itself.
    """

    request: ScanRequest
    seen: FrozenSeenSet
    nodes: tuple[Node, ...]

    def plan(self) -> Node:
        """Return the leaves, one after the other."""
        return Chain(inputs=self.nodes)

    def leaves(self) -> tuple[Node, ...]:
        """Return the leaves of this share."""
        return self.nodes

    def next(self) -> Phase[None]:
        """End the share."""
        return Terminus(None)


def share_leaves(phase: CheckpointReplay, *, workers: int) -> tuple[LeafShare, ...]:
    """Distribute the leaves of a phase to `workers` shares, or as many as there are leaves."""
    leaves = phase.leaves()
    dealt = [leaves[start::workers] for start in range(min(workers, len(leaves)))]
    return tuple(LeafShare(request=phase.request, seen=phase.seen, nodes=nodes) for nodes in dealt)
