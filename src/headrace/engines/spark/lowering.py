"""What Spark takes: the leaves of a checkpoint, cut into tasks of about the same size.

Everything else is refused, typed: a sequential phase needs one reader that keeps the order, and
listings or documents are too small to send anywhere.
"""

from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeAlias

import msgspec
from msgspec.structs import replace

from headrace.engines.arrow.executor import ArrowExecutor, Footer
from headrace.errors import PlanRefusedError
from headrace.expr.node import BoundPredicate
from headrace.plan.context import ExecutionContext, ExecutionSettings
from headrace.plan.node import DropSeen, Node, ScanAvro, ScanParquet, SkipFiles
from headrace.plan.seen import FrozenSeen
from headrace.protocol.log_file import LogFile
from headrace.protocol.state import ManifestInfo

_FOOTERS_AT_ONCE = 16


class LeafWork(msgspec.Struct, frozen=True, kw_only=True):
    """What all tasks of one phase share: it travels to each worker once."""

    engine: ArrowExecutor
    settings: ExecutionSettings
    columns: tuple[str, ...]
    predicate: BoundPredicate | None
    seen: FrozenSeen
    manifests: ScanAvro | None = None
    """What the leaves of a state share; None: these are leaves of a checkpoint."""

    def leaf(self, piece: "Piece") -> Node:
        """The plan of one piece."""
        node: Node = ScanParquet(
            files=(piece.file,), columns=self.columns, row_groups=piece.row_groups
        )
        if self.manifests is not None and piece.info is not None:
            node = replace(self.manifests, files=(piece.file,), manifests=(piece.info,))
        if self.predicate is not None:
            node = SkipFiles(input=node, predicate=self.predicate)
        return DropSeen(input=node, seen=self.seen)

    def on_worker(self, context: ExecutionContext) -> ArrowExecutor:
        """The engine for one task: Spark gives a task one core, so it takes one thread."""
        settings = replace(self.settings, leaf_parallelism=1)
        return self.engine.bound(replace(context, settings=settings))


class Piece(msgspec.Struct, frozen=True, kw_only=True):
    """Some row groups of one leaf file."""

    file: LogFile
    row_groups: tuple[int, ...]
    size_bytes: int
    """What the wanted columns take in the file."""
    footer: Footer = None
    """The file's footer where it goes along, so that the worker need not read it again."""
    info: ManifestInfo | None = None
    """What its state says of a manifest."""


Task: TypeAlias = tuple[Piece, ...]
"""What one worker reads in one go."""


def lower_leaves(
    leaves: Sequence[Node], *, engine: ArrowExecutor, settings: ExecutionSettings
) -> tuple[LeafWork, tuple[LogFile, ...]]:
    """What the tasks of these leaves share, and the files that they are to read.

    Raises:
        PlanRefusedError: these are not the leaves of one checkpoint in Parquet.
    """
    shapes = [_shape(leaf) for leaf in leaves]
    if not shapes:
        raise PlanRefusedError(engine="spark", node="nothing", reason="there is no leaf to read")
    scan, predicate, seen = shapes[0]
    for other, where, hidden in shapes:
        alike = other.columns == scan.columns and where == predicate and hidden is seen
        if not alike or other.row_groups is not None:
            reason = "the leaves are not those of one phase"
            raise PlanRefusedError(engine="spark", node=type(leaves[0]).__name__, reason=reason)
    work = LeafWork(
        engine=engine, settings=settings, columns=scan.columns, predicate=predicate, seen=seen
    )
    return work, tuple(file for scan, _, _ in shapes for file in scan.files)


def refuse(plan: Node) -> PlanRefusedError:
    """Why Spark does not take a plan that is no leaf."""
    return PlanRefusedError(
        engine="spark", node=type(plan).__name__, reason="it must be read in order, by one reader"
    )


def check_leaves(files: Sequence[LogFile], *, engine: ArrowExecutor) -> None:
    """Read every footer: a damaged leaf must fail before the first batch is given.

    Raises:
        ObjectNotFoundError, CorruptCheckpointError: a leaf cannot be opened.
    """
    with ThreadPoolExecutor(_FOOTERS_AT_ONCE, thread_name_prefix="headrace-footer") as pool:
        for _ in pool.map(engine.footer, files):
            pass


def cut(
    files: Iterable[LogFile], *, work: LeafWork, engine: ArrowExecutor, task_bytes: int
) -> Iterator[Task]:
    """Tasks of at least one row group and, if they have several, at most so many bytes."""
    task: list[Piece] = []
    size_bytes = 0
    for piece in _pieces(files, work=work, engine=engine):
        if task and size_bytes + piece.size_bytes > task_bytes:
            yield _joined(task)
            task, size_bytes = [], 0
        task.append(piece)
        size_bytes += piece.size_bytes
    if task:
        yield _joined(task)


def _pieces(files: Iterable[LogFile], *, work: LeafWork, engine: ArrowExecutor) -> Iterator[Piece]:
    """Each row group by itself. A file without any is a piece too: its worker counts it."""
    for file in files:
        footer = engine.footer(file)
        wanted = footer.leaves(work.columns)
        groups = range(footer.metadata.num_row_groups)
        if not groups:
            yield Piece(file=file, row_groups=(), size_bytes=0, footer=footer)
        for group in groups:
            size_bytes = footer.compressed_bytes(group, wanted)
            yield Piece(file=file, row_groups=(group,), size_bytes=size_bytes, footer=footer)


def _joined(pieces: Sequence[Piece]) -> Task:
    """The same row groups, with those of one file in one piece."""
    found: list[Piece] = []
    for piece in pieces:
        if found and found[-1].file == piece.file:
            last = found.pop()
            groups = last.row_groups + piece.row_groups
            size_bytes = last.size_bytes + piece.size_bytes
            found.append(replace(last, row_groups=groups, size_bytes=size_bytes))
        else:
            found.append(piece)
    return tuple(found)


def _shape(leaf: Node) -> tuple[ScanParquet, BoundPredicate | None, FrozenSeen]:
    match leaf:
        case DropSeen(input=ScanParquet() as scan, seen=seen):
            return scan, None, seen
        case DropSeen(input=SkipFiles(input=ScanParquet() as scan, predicate=where), seen=seen):
            return scan, where, seen
        case _:
            raise refuse(leaf)
