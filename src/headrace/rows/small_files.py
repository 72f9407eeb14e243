"""Small files, several at a time: handing each to another thread would cost more than reading it.

Files that follow each other in the log become a group, which one thread reads in order. Their rows
come in batches of a useful size. Groups grow from one file on, so that the first rows are there as
soon as without them.
"""

import threading
import time
from collections.abc import Generator, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext

import pyarrow as pa

from headrace.rows.data_file import DataFile, RowSource

_SMALL_BYTES = 1 << 20
_GROUP_BYTES = 4 << 20
_GROUP_FILES = 64
_PATIENCE_S = 0.005
"""How long a group waits for the log."""


class Grouping:
    """Cuts files into groups as the log gives them. The next group may be twice as large."""

    def __init__(self) -> None:
        self._most_files = 1
        self._group: list[DataFile] = []
        self._group_bytes = 0
        self._begun_s = 0.0

    def add(self, files: Iterable[DataFile]) -> Iterator[tuple[DataFile, ...]]:
        """The groups that are complete with more files; a large file stays by itself.

        What is left waits for the next files, unless it has waited for long: a log may be slow.
        """
        for file in files:
            is_large = not 0 < file.size_bytes <= _SMALL_BYTES
            if is_large or self._group_bytes + file.size_bytes > _GROUP_BYTES:
                yield from self.rest()
            if not self._group:
                self._begun_s = time.monotonic()
            self._group.append(file)
            self._group_bytes += file.size_bytes
            if is_large or len(self._group) >= self._most_files:
                yield from self.rest()
        if time.monotonic() - self._begun_s > _PATIENCE_S:
            yield from self.rest()

    def rest(self) -> Iterator[tuple[DataFile, ...]]:
        """The group that is not complete, if there is one."""
        if self._group:
            group, self._group, self._group_bytes = tuple(self._group), [], 0
            self._most_files = min(2 * self._most_files, _GROUP_FILES)
            yield group


class GroupReader:
    """Reads the files of a group one after the other."""

    def __init__(self, source: RowSource) -> None:
        self._source = source
        # Of a small file, little is done outside of the interpreter. Where files are at hand,
        # threads that read them at the same time only hinder each other.
        is_local = source.store.local_path("") is not None
        self._turn: AbstractContextManager[object] = threading.Lock() if is_local else nullcontext()

    def batches(self, group: Sequence[DataFile]) -> Generator[pa.RecordBatch, None, None]:
        """The wanted rows of a group, in order.

        Raises:
            HeadraceError: as `RowSource.batches`, after the rows of the files before.
        """
        if len(group) == 1:
            yield from self._source.batches(group[0])
            return
        joined = _Joined(self._source.request.rows_per_batch)
        try:
            for file in group:
                with self._turn:
                    found = list(self._source.batches(file))
                for batch in found:
                    yield from joined.add(batch)
        except Exception:
            yield from joined.rest()
            raise
        yield from joined.rest()


class _Joined:
    """Batches put together until they have a useful size."""

    def __init__(self, most_rows: int) -> None:
        self._most_rows = most_rows
        self._batches: list[pa.RecordBatch] = []
        self._rows = 0

    def add(self, batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
        if self._rows + batch.num_rows > self._most_rows:
            yield from self.rest()
        self._batches.append(batch)
        self._rows += batch.num_rows

    def rest(self) -> Iterator[pa.RecordBatch]:
        batches, self._batches, self._rows = self._batches, [], 0
        if len(batches) > 1 and batches[0].num_columns:
            yield pa.concat_batches(batches)
        else:
            yield from batches
