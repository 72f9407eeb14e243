"""Lowers the leaves of a checkpoint to Spark: cuts them into tasks of about the same size.

All other plans are refused with a typed error: a sequential phase needs one reader that keeps the
order, and listings or documents are too small to be worth sending.
"""

from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeAlias

import msgspec
from msgspec.structs import replace

from headrace.engines.arrow.arrow_part import Footer
from headrace.engines.arrow.executor import ArrowExecutor
from headrace.errors import PlanRefusedError
from headrace.plan.context import ExecutionContext, ExecutionSettings
from headrace.plan.leaf import FusedLeaf, fuse_leaves
from headrace.plan.node import Node, ScanParquet
from headrace.protocol.log_file import LogFile
from headrace.protocol.state import ManifestInfo

_FOOTERS_AT_ONCE = 16


class LeafWork(msgspec.Struct, frozen=True, kw_only=True):
    """The work that all tasks of one phase share; it is sent to each worker once."""

    engine: ArrowExecutor
    settings: ExecutionSettings
    leaf: FusedLeaf[Any]
    """What to read from each file; its scan names no file."""

    def leaf_of(self, piece: "Piece") -> Node:
        """Return the plan of one piece."""
        (scan,) = self.leaf.scans
        if piece.info is None:
            scan = replace(scan, files=(piece.file,), row_groups=piece.row_groups)
        else:
            scan = replace(scan, files=(piece.file,), manifests=(piece.info,))
        return self.leaf.of(scan).to_node()

    def on_worker(self, context: ExecutionContext) -> ArrowExecutor:
        """Return the engine for one task: Spark assigns a task one core, so it uses one thread."""
        settings = replace(self.settings, leaf_parallelism=1)
        return self.engine.bound(replace(context, settings=settings))


class Piece(msgspec.Struct, frozen=True, kw_only=True):
    """Some row groups of one leaf file."""

    file: LogFile
    row_groups: tuple[int, ...]
    size_bytes: int
    """The size in the file of the columns that are read."""
    footer: Footer = None
    """The file's footer if it is sent along, so that the worker need not read it again."""
    info: ManifestInfo | None = None
    """The description of a manifest in its state."""


Task: TypeAlias = tuple[Piece, ...]
"""The pieces that one worker reads together."""


def lower_leaves(
    leaves: Sequence[Node], *, engine: ArrowExecutor, settings: ExecutionSettings
) -> tuple[LeafWork, tuple[LogFile, ...]]:
    """Return the work that the tasks of these leaves share, and the files to read.

    Raises:
        PlanRefusedError: these are not the leaves of one checkpoint in Parquet.
    """
    fused = fuse_leaves(leaves, ScanParquet)
    if fused is None or any(scan.row_groups is not None for scan in fused.scans):
        node = type(leaves[0]).__name__ if leaves else "nothing"
        reason = "these are not the leaves of one checkpoint in Parquet"
        raise PlanRefusedError(engine="spark", node=node, reason=reason)
    leaf = fused.of(replace(fused.scans[0], files=()))
    return LeafWork(engine=engine, settings=settings, leaf=leaf), fused.files


def refuse(plan: Node) -> PlanRefusedError:
    """Return the error for a plan that is not a leaf, which Spark does not accept."""
    return PlanRefusedError(
        engine="spark", node=type(plan).__name__, reason="it must be read in order, by one reader"
    )


def check_leaves(files: Sequence[LogFile], *, engine: ArrowExecutor) -> None:
    """Read every footer: a damaged leaf must fail before the first batch is returned.

    Raises:
        ObjectNotFoundError, CorruptCheckpointError: a leaf cannot be opened.
    """
    with ThreadPoolExecutor(_FOOTERS_AT_ONCE, thread_name_prefix="headrace-footer") as pool:
        for _ in pool.map(engine.footer, files):
            pass


def cut_tasks(
    files: Iterable[LogFile], *, work: LeafWork, engine: ArrowExecutor, task_bytes: int
) -> Iterator[Task]:
    """Yield tasks of at least one row group and, if they have several, at most `task_bytes`."""
    pieces = _pieces(files, work=work, engine=engine)
    return map(_joined, group_pieces(pieces, task_bytes=task_bytes))


def group_pieces(pieces: Iterable[Piece], *, task_bytes: int) -> Iterator[Task]:
    """Yield tasks of at least one piece and, if they have several, at most `task_bytes`."""
    task: list[Piece] = []
    size_bytes = 0
    for piece in pieces:
        if task and size_bytes + piece.size_bytes > task_bytes:
            yield tuple(task)
            task, size_bytes = [], 0
        task.append(piece)
        size_bytes += piece.size_bytes
    if task:
        yield tuple(task)


def _pieces(files: Iterable[LogFile], *, work: LeafWork, engine: ArrowExecutor) -> Iterator[Piece]:
    """Yield each row group by itself. A file without any is also a piece: its worker counts it."""
    for file in files:
        footer = engine.footer(file)
        column_indexes = footer.leaf_columns(work.leaf.columns)
        groups = range(footer.metadata.num_row_groups)
        if not groups:
            yield Piece(file=file, row_groups=(), size_bytes=0, footer=footer)
        for group in groups:
            size_bytes = footer.compressed_bytes(group, column_indexes)
            yield Piece(file=file, row_groups=(group,), size_bytes=size_bytes, footer=footer)


def _joined(pieces: Sequence[Piece]) -> Task:
    """Merge adjacent pieces of one file into one piece."""
    joined: list[Piece] = []
    for piece in pieces:
        if joined and joined[-1].file == piece.file:
            last = joined.pop()
            groups = last.row_groups + piece.row_groups
            size_bytes = last.size_bytes + piece.size_bytes
            joined.append(replace(last, row_groups=groups, size_bytes=size_bytes))
        else:
            joined.append(piece)
    return tuple(joined)
