"""Sorts columns of entries by partition and path in bounded memory: sorted runs, then a merge.

Batches of `ENTRY_COLUMNS` enter in any order; batches leave in order. A merge takes what is known
to precede everything unread from all runs at once, and sorts it as columns.
"""

import tempfile
from bisect import bisect_right
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import IO, Self

import pyarrow as pa
import pyarrow.compute as pc

from headrace.errors import SpillFailedError
from headrace.maintain.entry_columns import ENTRY_COLUMNS, PARTITION
from headrace.maintain.partition_code import Codes, PartitionCodes
from headrace.protocol import light

RUN_BYTES = 32 << 20
"""The size of the columns that are sorted in memory."""
_CHUNK_ROWS = 2048
"""The rows of a run that are in memory at a time during a merge."""
_RANK = "rank"
_ORDER = [(_RANK, "ascending"), ("path", "ascending")]


class ColumnSort:
    """Accepts batches in any order and returns their rows sorted by partition, then path."""

    def __init__(self, partitions: PartitionCodes, *, run_bytes: int = RUN_BYTES) -> None:
        self._partitions = partitions
        self._run_bytes = run_bytes
        self._waiting: list[pa.RecordBatch] = []
        self._waiting_bytes = 0
        self._runs: list[IO[bytes]] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for run in self._runs:
            with suppress(OSError):  # a full disk was reported when the run was written
                run.close()

    def add(self, batch: pa.RecordBatch) -> None:
        """Add a batch; when the limit is reached, spill a sorted run to disk.

        Raises:
            SpillFailedError: the disk failed.
        """
        self._waiting.append(batch)
        self._waiting_bytes += batch.nbytes
        if self._waiting_bytes >= self._run_bytes:
            self._spill()

    def sorted(self) -> Iterator[pa.RecordBatch]:
        """Yield all rows in order; call it once, after the last batch.

        Raises:
            SpillFailedError: the disk failed.
        """
        last = self._sorted_waiting()
        if not self._runs:
            yield last
            return
        ranks = self._partitions.ranks()
        runs = [_Run(_read(run), ranks) for run in self._runs]
        runs.append(_Run(_chunks(last), ranks))
        while any(not run.is_done for run in runs):
            limits = [run.last for run in runs if run.has_more]
            limit = min(limits) if limits else None
            rows = [run.take(limit) for run in runs if not run.is_done]
            yield _in_order(rows, ranks.__getitem__)

    def _sorted_waiting(self) -> pa.RecordBatch:
        batches, self._waiting, self._waiting_bytes = self._waiting, [], 0
        # Ranks of all partitions so far would make the time quadratic in their number.
        return _in_order(batches, self._partitions.ranks_among)

    def _spill(self) -> None:
        batch = self._sorted_waiting()
        with _disk_errors():
            run = tempfile.TemporaryFile()  # noqa: SIM115  (closed with the sort)
            self._runs.append(run)
            options = pa.ipc.IpcWriteOptions(compression="lz4")
            with pa.ipc.new_stream(run, ENTRY_COLUMNS, options=options) as writer:
                for chunk in _chunks(batch):
                    writer.write_batch(chunk)


class _Run:
    """A sorted run. One chunk of it is in memory."""

    def __init__(self, chunks: Iterator[pa.RecordBatch], ranks: Codes) -> None:
        self._chunks = chunks
        self._ranks = ranks
        self._next = next(chunks, None)
        self._advance()

    def _advance(self) -> None:
        self._chunk, self._next = self._next, next(self._chunks, None)
        if self._chunk is not None:
            self._paths = self._chunk.column("path")
            self._codes = light.to_numpy(self._chunk.column(PARTITION))

    @property
    def is_done(self) -> bool:
        """Whether every row was taken."""
        return self._chunk is None

    @property
    def has_more(self) -> bool:
        """Whether there are rows after the chunk in memory."""
        return self._next is not None

    @property
    def last(self) -> tuple[int, str]:
        """The position of the last row in memory."""
        return self._position(len(self._paths) - 1)

    def take(self, limit: tuple[int, str] | None) -> pa.RecordBatch:
        """Take the rows in memory up to a position; None: all of them."""
        chunk = self._chunk
        assert chunk is not None
        count = chunk.num_rows
        if limit is not None:
            count = bisect_right(range(count), limit, key=self._position)
        if count == chunk.num_rows:
            self._advance()
            return chunk
        self._chunk = chunk.slice(count)
        self._paths, self._codes = self._paths.slice(count), self._codes[count:]
        return chunk.slice(0, count)

    def _position(self, row: int) -> tuple[int, str]:
        return int(self._ranks[self._codes[row]]), self._paths[row].as_py()


def _in_order(batches: list[pa.RecordBatch], ranks_of: Callable[[Codes], Codes]) -> pa.RecordBatch:
    """Return the rows of all batches as one, sorted; equal rows stay in their order."""
    if not batches:
        columns = [pa.nulls(0, field.type) for field in ENTRY_COLUMNS]
        return pa.RecordBatch.from_arrays(columns, schema=ENTRY_COLUMNS)
    batch = pa.concat_batches(batches)
    codes = light.to_numpy(batch.column(PARTITION))
    keys = pa.RecordBatch.from_arrays(
        [light.from_numpy(ranks_of(codes)), batch.column("path")], [_RANK, "path"]
    )
    return batch.take(pc.sort_indices(keys, sort_keys=_ORDER))


def _chunks(batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
    for start in range(0, batch.num_rows, _CHUNK_ROWS):
        yield batch.slice(start, _CHUNK_ROWS)


def _read(run: IO[bytes]) -> Iterator[pa.RecordBatch]:
    with _disk_errors():
        run.seek(0)
        yield from pa.ipc.open_stream(run)


@contextmanager
def _disk_errors() -> Iterator[None]:
    try:
        yield
    except (OSError, pa.ArrowException) as error:
        raise SpillFailedError(folder=tempfile.gettempdir(), reason=str(error)) from error
