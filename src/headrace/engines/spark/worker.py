"""Runs the embedded engine on one task, on a worker, and encodes its answers.

A worker answers in rows: one per batch, as compressed Arrow IPC, and a last one with its counts,
which start from zero. Spark returns the rows of each task once, however often it was retried, so
the counts are exact. An error that Headrace raises on purpose is also an answer, not a failure of
Spark: a retry would not change it, and the driver raises it with its type.
"""

import pickle
from collections.abc import Iterator
from typing import Any, Protocol, TypeAlias, TypeVar, cast

import msgspec
import pyarrow as pa
import pyarrow.compute as pc

from headrace.engines.arrow.add_columns import add_columns
from headrace.engines.arrow.column_batch import ColumnBatch
from headrace.engines.spark.lowering import LeafWork, Task
from headrace.errors import HeadraceError
from headrace.metrics.counts import Counts
from headrace.metrics.meter import Meter
from headrace.plan.batch import ActionBatch
from headrace.plan.context import ExecutionContext
from headrace.replay.projection import ADD_FIELDS

T_co = TypeVar("T_co", covariant=True)

RecordBatch: TypeAlias = Any
"""A `pyarrow.RecordBatch`."""

ANSWER = pa.schema(
    [
        pa.field("task", pa.int32(), nullable=False),
        pa.field("kind", pa.string(), nullable=False),
        pa.field("piece", pa.int32()),
        pa.field("payload", pa.binary(), nullable=False),
    ]
)
ANSWER_DDL = "task int not null, kind string not null, piece int, payload binary not null"
_OPTIONS = pa.ipc.IpcWriteOptions(compression="zstd")


class Shipped(Protocol[T_co]):
    """A value that each worker has once, such as a Spark broadcast."""

    @property
    def value(self) -> T_co:
        """The value."""


class AnswerTasks:
    """A function for `mapInArrow`: task numbers enter, answers leave."""

    def __init__(self, work: Shipped[LeafWork], tasks: tuple[Task, ...]) -> None:
        self._work = work
        self._tasks = tasks

    def __call__(self, batches: Iterator[RecordBatch]) -> Iterator[RecordBatch]:
        """Yield the answers to the tasks whose numbers are in the first column."""
        for batch in batches:
            for number in batch.column(0).to_pylist():
                yield from _answer(self._work.value, self._tasks[number], number)


def _answer(work: LeafWork, task: Task, number: int) -> Iterator[RecordBatch]:
    meter = Meter()
    try:
        for piece, batch in read_task(work, task, meter=meter):
            yield _row(number, "batch", _to_ipc(batch.columns), piece=piece)
    except HeadraceError as error:
        yield _row(number, "error", pickle.dumps(error))
    else:
        yield _row(number, "counts", msgspec.json.encode(meter.counts))


def read_task(work: LeafWork, task: Task, *, meter: Meter) -> Iterator[tuple[int, ColumnBatch]]:
    """Yield the surviving adds with their output fields, each batch with its piece number."""
    engine = work.on_worker(ExecutionContext(meter=meter))
    for piece in task:
        if piece.footer is not None:
            engine.remember(piece.file, piece.footer)
    numbers = {piece.file: number for number, piece in enumerate(task)}
    fields = work.leaf.output_fields
    for batch in engine.execute_leaves([work.leaf_of(piece) for piece in task]):
        adds = add_columns(cast("ActionBatch", batch), fields or ADD_FIELDS)
        if len(adds):
            yield numbers[adds.source], adds if fields is None else adds.select(fields)


def open_answers(answers: Any, tasks: tuple[Task, ...], *, meter: Meter) -> Iterator[ColumnBatch]:
    """Merge the counts of some tasks, then yield their batches; called on the driver.

    Raises:
        HeadraceError: a worker raised it; no batch of these tasks is returned.
    """
    kinds = answers.column("kind")
    for payload in answers.filter(pc.equal(kinds, "error")).column("payload"):
        raise pickle.loads(payload.as_buffer())  # noqa: S301  (written by Headrace on a worker)
    for payload in answers.filter(pc.equal(kinds, "counts")).column("payload"):
        meter.merge(msgspec.json.decode(payload.as_buffer(), type=Counts))
    batches = answers.filter(pc.equal(kinds, "batch"))
    columns = (batches.column(name) for name in ("task", "piece", "payload"))
    for task, piece, payload in zip(*columns, strict=True):
        file = tasks[task.as_py()][piece.as_py()].file
        yield ColumnBatch(file, _from_ipc(payload.as_buffer()))


def _row(task: int, kind: str, payload: Any, *, piece: int | None = None) -> RecordBatch:
    columns = [[task], [kind], [piece], [payload]]
    arrays = [pa.array(column, field.type) for column, field in zip(columns, ANSWER, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, schema=ANSWER)


def _to_ipc(batch: RecordBatch) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, batch.schema, options=_OPTIONS) as writer:
        writer.write_batch(batch)
    return bytes(sink.getvalue())


def _from_ipc(payload: Any) -> RecordBatch:
    with pa.ipc.open_stream(payload) as reader:
        return reader.read_next_batch()
