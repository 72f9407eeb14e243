"""Fuse a leaf of a parallel phase into one value: read files, skip adds, drop seen adds.

Phases compose a leaf from plan nodes; engines execute its three nodes in one pass over each file.
`fuse_leaves` takes the leaves of a phase and returns the fused form, or None if the plans have
another shape and must be executed node by node.
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
    """The leaves of one phase, which differ only in the files they read."""

    scans: tuple[S, ...]
    """The scan of each leaf. There is at least one, and all have the same columns."""
    predicate: BoundPredicate | None = None
    """Skips adds by partition values and statistics; None skips no add."""
    output_columns: tuple[str, ...] | None = None
    """The columns of the output; others are read only for the predicate. None: all columns read."""
    seen: FrozenSeen | None = None
    """The keys that hide adds; None hides no add."""

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns to read."""
        return self.scans[0].columns

    @property
    def files(self) -> tuple[LogFile, ...]:
        """The files of all leaves."""
        return tuple(file for scan in self.scans for file in scan.files)

    @property
    def output_fields(self) -> frozenset[str] | None:
        """The output fields of an add; None: all that were read."""
        if self.output_columns is None:
            return None
        return frozenset(column.split(".")[1] for column in self.output_columns)

    def of(self, *scans: S) -> "FusedLeaf[S]":
        """Return the same leaf with other scans."""
        return replace(self, scans=scans)

    def to_node(self) -> Node:
        """Return the plan of a leaf with exactly one scan."""
        (scan,) = self.scans
        node: Node = scan
        if self.predicate is not None:
            node = SkipFiles(
                input=node, predicate=self.predicate, output_columns=self.output_columns
            )
        return node if self.seen is None else DropSeen(input=node, seen=self.seen)


def fuse_leaves(leaves: Sequence[Node], scan: type[S]) -> FusedLeaf[S] | None:
    """Fuse the leaves of one phase over one kind of file.

    Returns:
        None if there are no leaves, or if one of them has another shape, reads another kind of
        file, or differs in columns, predicate or seen set: such leaves are not from one phase.
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
        return None  # adds of a checkpoint may be hidden; a state omits its hidden ones
    if skip is None:
        return FusedLeaf(scans=(node,), seen=seen)
    return FusedLeaf(
        scans=(node,), predicate=skip.predicate, output_columns=skip.output_columns, seen=seen
    )


def _is_like(leaf: FusedLeaf[S], first: FusedLeaf[S]) -> bool:
    return (
        leaf.columns == first.columns
        and leaf.seen is first.seen
        and (leaf.predicate, leaf.output_columns) == (first.predicate, first.output_columns)
    )
