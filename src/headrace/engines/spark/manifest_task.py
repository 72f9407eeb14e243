"""Divides the manifests of a state into tasks: each worker reads some of them, and prunes.

Fused leaves enter; the work that all tasks share and the tasks leave.
"""

from collections.abc import Sequence

from msgspec.structs import replace

from headrace.engines.arrow.executor import ArrowExecutor
from headrace.engines.spark.lowering import LeafWork, Piece, Task, group_pieces
from headrace.plan.context import ExecutionSettings
from headrace.plan.leaf import fuse_leaves
from headrace.plan.node import Node, ScanAvro


def lower_manifests(
    leaves: Sequence[Node], *, engine: ArrowExecutor, settings: ExecutionSettings, task_bytes: int
) -> tuple[LeafWork, list[Task]] | None:
    """Return the shared work and the tasks of these leaves; None for leaves of other kinds."""
    fused = fuse_leaves(leaves, ScanAvro)
    if fused is None:
        return None
    leaf = fused.of(replace(fused.scans[0], files=(), manifests=()))
    pieces = [
        Piece(file=file, row_groups=(), size_bytes=file.size_bytes, info=info)
        for scan in fused.scans
        for file, info in zip(scan.files, scan.manifests, strict=True)
    ]
    work = LeafWork(engine=engine, settings=settings, leaf=leaf)
    return work, list(group_pieces(pieces, task_bytes=task_bytes))


def is_checked_first(work: LeafWork, tasks: Sequence[Task]) -> bool:
    """Return whether all manifests are checked before the first entry is emitted.

    Then all tasks are one wave: damage that any of them reports precedes the answers of the others.
    """
    (scan,) = work.leaf.scans
    size_bytes = sum(piece.size_bytes for task in tasks for piece in task)
    return bool(tasks) and size_bytes <= scan.held_bytes
