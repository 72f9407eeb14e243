"""Reads small files in groups, as handing each to a thread would cost more than reading it.

Consecutive files of the log form a group, which one thread reads in order; their rows are joined to
batches of a useful size. The first group is one file and each next one may be twice as large, so
that grouping does not delay the first rows.
"""

import threading
import time
from collections import deque
from collections.abc import Generator, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext

import pyarrow as pa

from headrace.errors import HeadraceError
from headrace.rows.alike_file import AlikeFiles, AppendedRows, JoinedFiles
from headrace.rows.data_file import DataFile, FilePart, RowSource

_SMALL_BYTES = 1 << 20
_GROUP_BYTES = 4 << 20
_GROUP_FILES = 64
_PATIENCE_S = 0.005
"""How long a group waits for the log."""


class Grouping:
    """Groups files as the log is replayed. Each group may be twice as large as the previous one."""

    def __init__(self) -> None:
        self._most_files = 1
        self._group: list[DataFile] = []
        self._group_bytes = 0
        self._begun_s = 0.0

    def add(self, files: Iterable[DataFile]) -> Iterator[tuple[DataFile, ...]]:
        """Add files, and yield the groups that are complete; a large file is a group by itself.

        An incomplete group waits for more files, up to `_PATIENCE_S` if the log is slow.
        """
        for file in files:
            is_large = not 0 < file.size_bytes <= _SMALL_BYTES
            if is_large or self._group_bytes + file.size_bytes > _GROUP_BYTES:
                yield from self.flush()
            if not self._group:
                self._begun_s = time.monotonic()
            self._group.append(file)
            self._group_bytes += file.size_bytes
            if is_large or len(self._group) >= self._most_files:
                yield from self.flush()
        if time.monotonic() - self._begun_s > _PATIENCE_S:
            yield from self.flush()

    def flush(self) -> Iterator[tuple[DataFile, ...]]:
        """Yield the incomplete group, if there is one."""
        if self._group:
            group, self._group, self._group_bytes = tuple(self._group), [], 0
            self._most_files = min(2 * self._most_files, _GROUP_FILES)
            yield group


class GroupReader:
    """Reads the files of a group one after the other."""

    def __init__(self, source: RowSource) -> None:
        self._source = source
        self._alike = AlikeFiles(source)
        # Reading small local files runs mostly in the interpreter, so threads would only compete
        # for its lock.
        is_remote = source.files.is_remote
        self._turn: AbstractContextManager[object] = (
            nullcontext() if is_remote else threading.Lock()
        )

    def batches(self, group: Sequence[DataFile]) -> Generator[pa.RecordBatch, None, None]:
        """Yield the matching rows of a group in order.

        Raises:
            HeadraceError: as `RowSource.batches`, after the rows of the previous files.
        """
        if len(group) == 1:
            yield from self._source.batches(group[0])
            return
        self._source.expect(group)
        yield from _joined(self._chosen(group), self._source.request.rows_per_batch)

    def _chosen(self, group: Sequence[DataFile]) -> Iterator[pa.RecordBatch]:
        """Yield the matching rows, filtering files of one kind together."""
        alike = _AlikeParts(self._source.request.rows_per_batch)
        try:
            for part in self._parts(group):
                if isinstance(part, FilePart):
                    yield from alike.add(part)
                else:
                    yield from alike.flush()
                    yield from part.rows()
        except Exception:
            yield from alike.flush()
            raise
        yield from alike.flush()

    def _parts(self, group: Sequence[DataFile]) -> Iterator[FilePart | JoinedFiles]:
        """Yield the stored rows. A turn reads files for a whole batch, so threads seldom switch."""
        most_rows = self._source.request.rows_per_batch
        files = deque(group)
        failure: Exception | None = None
        while files and failure is None:
            parts: list[FilePart | JoinedFiles] = []
            rows = 0
            with self._turn:
                self._source.cancellation.check()
                appended = self._alike.appending(len(files))
                try:
                    while files and rows < most_rows:
                        rows += self._read(files.popleft(), appended, parts)
                except Exception as error:  # noqa: BLE001  (raised after the rows before it)
                    failure = error
                _finish(appended, parts)
            yield from parts
        if failure is not None:
            raise failure

    def _read(
        self, file: DataFile, appended: AppendedRows, parts: list[FilePart | JoinedFiles]
    ) -> int:
        """Read a file, joined with previous ones of the same kind; return its row count."""
        rows = appended.add(file)
        if rows is not None:
            return rows
        if _finish(appended, parts):
            rows = appended.add(file)
            if rows is not None:
                return rows
        stored = self._source.parts(file)
        parts += stored
        return sum(part.batch.num_rows for part in stored)


def _finish(appended: AppendedRows, parts: list[FilePart | JoinedFiles]) -> bool:
    """Move the joined rows to the parts; return False if there are none."""
    joined = appended.finished()
    if joined is not None:
        parts.append(joined)
    return joined is not None


class _AlikeParts:
    """Joins parts of files with the same layout before rows are selected."""

    def __init__(self, most_rows: int) -> None:
        self._most_rows = most_rows
        self._parts: list[FilePart] = []
        self._rows = 0

    def add(self, part: FilePart) -> Iterator[pa.RecordBatch]:
        if self._parts and not self._has_place_for(part):
            yield from self.flush()
        self._parts.append(part)
        self._rows += part.batch.num_rows

    def flush(self) -> Iterator[pa.RecordBatch]:
        parts, self._parts, self._rows = self._parts, [], 0
        rows = _rows_together(parts) if len(parts) > 1 else None
        if rows is not None:
            yield rows
            return
        for part in parts:
            rows_of_part = part.rows()
            if rows_of_part is not None:
                yield rows_of_part

    def _has_place_for(self, part: FilePart) -> bool:
        return (
            self._rows + part.batch.num_rows <= self._most_rows
            and part.batch.num_columns > 0
            and part.batch.schema == self._parts[-1].batch.schema
            and part.content.is_alike(self._parts[-1].content)
        )


def _rows_together(parts: Sequence[FilePart]) -> pa.RecordBatch | None:
    """Return the matching rows of all parts; None if there are none, or on a failure."""
    try:
        stored = pa.concat_batches([part.batch for part in parts])
        return parts[0].content.rows(stored, first_row=0)
    except (pa.ArrowException, HeadraceError):
        return None  # a value does not fit: the parts are tried singly to name the file


def _joined(batches: Iterable[pa.RecordBatch], most_rows: int) -> Iterator[pa.RecordBatch]:
    """Join small batches; the rows before an error are yielded before it is raised."""
    waiting: list[pa.RecordBatch] = []

    def flush() -> Iterator[pa.RecordBatch]:
        if len(waiting) > 1 and waiting[0].num_columns:
            yield pa.concat_batches(waiting)
        else:
            yield from waiting
        waiting.clear()

    try:
        for batch in batches:
            if sum(b.num_rows for b in waiting) + batch.num_rows > most_rows:
                yield from flush()
            waiting.append(batch)
    except Exception:
        yield from flush()
        raise
    yield from flush()
