"""A leaf of a parallel phase as one value: read some files, skip adds, drop those already seen.

Phases compose a leaf of plan nodes; engines execute its three nodes in one pass over each file.
`fuse_leaves` takes the leaves of a phase and returns what an engine needs for that, or None where
the plans have another shape and must be executed node by node.
"""

from collections.abc import Sequence
from typing import Generic, TypeVar

import msgspec
from msgspec.structs import replace

from headrace.expr.node import BoundPredicate
from headrace.plan.node import DropSeen, Node, ScanAvro, ScanParquet, SkipFiles
from headrace.plan.seen import FrozenSeen
from headrace.protocol.log_file import LogFile

S = TypeVar("S", ScanParquet, ScanAvro)


class FusedLeaf(msgspec.Struct, Generic[S], frozen=True, kw_only=True):
    """The leaves of one phase: they differ in nothing but the files they read."""

    scans: tuple[S, ...]
    """What each leaf reads. There is at least one; their columns are the same."""
    predicate: BoundPredicate | None = None
    """Rules out adds by partition values and statistics; None: no add is ruled out."""
    wanted: tuple[str, ...] | None = None
    """The columns that leave the leaf; the others are read for the predicate. None: all leave."""
    seen: FrozenSeen | None = None
    """The keys that hide adds; None: no add is hidden."""

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that are read."""
        return self.scans[0].columns

    @property
    def files(self) -> tuple[LogFile, ...]:
        """The files of all leaves."""
        return tuple(file for scan in self.scans for file in scan.files)

    @property
    def wanted_fields(self) -> frozenset[str] | None:
        """The fields of an add that leave the leaf; None: all that were read."""
        if self.wanted is None:
            return None
        return frozenset(column.split(".")[1] for column in self.wanted)

    def of(self, *scans: S) -> "FusedLeaf[S]":
        """The same for other files."""
        return replace(self, scans=scans)

    def to_node(self) -> Node:
        """The plan of a leaf that was reduced to one scan."""
        (scan,) = self.scans
        node: Node = scan
        if self.predicate is not None:
            node = SkipFiles(input=node, predicate=self.predicate, wanted=self.wanted)
        return node if self.seen is None else DropSeen(input=node, seen=self.seen)


def fuse_leaves(leaves: Sequence[Node], scan: type[S]) -> FusedLeaf[S] | None:
    """Fuse the leaves of one phase over one kind of file.

    Returns:
        None if there are no leaves, or if one of them has another shape, reads another kind of
        file, or differs in columns, predicate or seen set: such leaves are not of one phase.
    """
    fused = [_fuse(leaf, scan) for leaf in leaves]
    first = fused[0] if fused else None
    alike = [leaf for leaf in fused if leaf is not None and first and _is_like(leaf, first)]
    if first is None or len(alike) != len(leaves):
        return None
    return first.of(*(leaf.scans[0] for leaf in alike))


def _fuse(leaf: Node, scan: type[S]) -> FusedLeaf[S] | None:
    seen, node = (leaf.seen, leaf.input) if isinstance(leaf, DropSeen) else (None, leaf)
    skip, node = (node, node.input) if isinstance(node, SkipFiles) else (None, node)
    if not isinstance(node, scan) or (seen is None and node is not leaf):
        return None
    if seen is None and scan is ScanParquet:
        return None  # in a file of a checkpoint, adds may be hidden; a state hides its own
    if skip is None:
        return FusedLeaf(scans=(node,), seen=seen)
    return FusedLeaf(scans=(node,), predicate=skip.predicate, wanted=skip.wanted, seen=seen)


def _is_like(leaf: FusedLeaf[S], first: FusedLeaf[S]) -> bool:
    return (
        leaf.columns == first.columns
        and leaf.seen is first.seen
        and (leaf.predicate, leaf.wanted) == (first.predicate, first.wanted)
    )
