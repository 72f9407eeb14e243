"""The manifests of a state as tasks: each worker reads some of them, and prunes by itself."""

from collections.abc import Iterator, Sequence

from msgspec.structs import replace

from headrace.engines.arrow.executor import ArrowExecutor
from headrace.engines.spark.lowering import LeafWork, Piece, Task
from headrace.expr.node import BoundPredicate
from headrace.plan.context import ExecutionSettings
from headrace.plan.node import DropSeen, Node, ScanAvro, SkipFiles
from headrace.plan.seen import FrozenSeen


def lower_manifests(
    leaves: Sequence[Node], *, engine: ArrowExecutor, settings: ExecutionSettings, task_bytes: int
) -> tuple[LeafWork, list[Task]] | None:
    """What the tasks of these leaves share, and the tasks; None for leaves of other kinds."""
    shapes = [shape for leaf in leaves if (shape := _shape(leaf)) is not None]
    if not shapes or len(shapes) != len(leaves):
        return None
    scan, predicate, seen = shapes[0]
    work = LeafWork(
        engine=engine,
        settings=settings,
        columns=scan.columns,
        predicate=predicate,
        seen=seen,
        manifests=replace(scan, files=(), manifests=()),
    )
    pieces = [
        Piece(file=file, row_groups=(), size_bytes=file.size_bytes, info=info)
        for scan, _, _ in shapes
        for file, info in zip(scan.files, scan.manifests, strict=True)
    ]
    return work, list(_tasks(pieces, task_bytes))


def _tasks(pieces: Sequence[Piece], task_bytes: int) -> Iterator[Task]:
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


def _shape(leaf: Node) -> tuple[ScanAvro, BoundPredicate | None, FrozenSeen] | None:
    match leaf:
        case DropSeen(input=ScanAvro() as scan, seen=seen):
            return scan, None, seen
        case DropSeen(input=SkipFiles(input=ScanAvro() as scan, predicate=where), seen=seen):
            return scan, where, seen
        case _:
            return None
