"""Decodes small files with identical schemas into shared columns, with a compiled loop.

Arrow opens the first file of each kind. A file whose footer has the same schema, key-value metadata
and writer, byte for byte, is decoded by the same plan, and its rows are appended to those of the
previous files. Arrow decodes whatever the loop declines.
"""

from collections.abc import Iterator, Mapping, Sequence
from ctypes import byref
from typing import Any

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from headrace.compiled.columns import Batch, Column, Status
from headrace.compiled.footer import Appending, Footer, append_loop, footer_loop
from headrace.errors import HeadraceError
from headrace.rows.chunk_layout import ChunkLayout, chunk_layout
from headrace.rows.chunk_output import COPY_STEP_BYTES, ChunkOutput, UnusualChunkError
from headrace.rows.data_file import DataFile, RowSource
from headrace.rows.file_plan import FilePlan
from headrace.rows.reading import ReadLeafColumn
from headrace.rows.stored_rows import StoredRows
from headrace.storage.local_file import find_local_file

_MAX_KINDS = 8
"""The maximum number of kinds to remember; Arrow reads files of further kinds."""
_MAX_DECLINED = 32
_MAX_COLUMNS = 256
_ROW_BYTES = 16
"""Initial buffer size for text, per row."""
_MAX_PAGE_BYTES = 1 << 26


class FileKind(msgspec.Struct, frozen=True):
    """How the columns of files with the same schema are decoded."""

    plan: FilePlan
    layouts: Mapping[int, ChunkLayout]
    """The layout of each decoded column, by its position in the file."""
    leaf_columns: Any
    """The leaf column number of each of these columns, as a NumPy array."""


class AlikeFiles:
    """Caches the file kinds seen so far. Shared by threads."""

    def __init__(self, source: RowSource) -> None:
        self._source = source
        self._kinds: dict[tuple[bytes, bytes, bytes], FileKind | None] = {}
        self._declined = 0

    @property
    def is_hopeless(self) -> bool:
        """Whether the last `_MAX_DECLINED` files were all declined; no further file is tried."""
        return self._declined >= _MAX_DECLINED

    def note(self, *, was_decoded: bool) -> None:
        """Record whether a file was decoded or declined."""
        self._declined = 0 if was_decoded else self._declined + 1

    def appending(self, files: int) -> "AppendedRows":
        """Start joining the rows of at most `files` files."""
        return AppendedRows(self._source, self, files)

    def kind(self, file: DataFile, content: bytes, footer: Footer) -> FileKind | None:
        """Return how to decode a file, or None if Arrow must."""
        key = footer.kind(content)
        if key not in self._kinds:
            if len(self._kinds) >= _MAX_KINDS:
                return None
            self._kinds[key] = self._learn(file, content)
        return self._kinds[key]

    def _learn(self, file: DataFile, content: bytes) -> FileKind | None:
        try:
            parquet = pq.ParquetFile(pa.BufferReader(content))
            plan = self._source.plans.plan(parquet, self._source.request, path=file.uri)
        except (pa.ArrowException, OSError, UnicodeDecodeError, HeadraceError):
            return None  # reading it with Arrow reports the error
        layouts: dict[int, ChunkLayout] = {}
        leaf_columns: dict[int, int] = {}
        for column in (*plan.columns.values(), *plan.predicate_columns.values()):
            if column is None:
                continue
            if not isinstance(column.reading, ReadLeafColumn):
                return None
            leaf_column = column.reading.leaf_column
            layout = chunk_layout(column.reading.source, parquet.schema.column(leaf_column))
            if layout is None:
                return None
            layouts[column.position], leaf_columns[column.position] = layout, leaf_column
        if not layouts:
            return None
        return FileKind(plan, layouts, np.array(list(leaf_columns.values()), np.int32))


class AppendedRows:
    """Joins the stored rows of files of one kind and one partition."""

    def __init__(self, source: RowSource, alike: AlikeFiles, files: int) -> None:
        self._source = source
        self._alike = alike
        self._expected_files = files
        self._footer = Footer.for_columns(_MAX_COLUMNS)
        self._footer_ref = byref(self._footer)
        self._columns: _Columns | None = None
        self._kind: FileKind | None = None
        self._files: list[DataFile] = []

    def add(self, file: DataFile) -> int | None:
        """Append the rows of a file.

        Returns:
            The number of rows, or None if the file was declined or does not fit these columns.
        """
        if self._alike.is_hopeless:
            return None
        rows = self._append(file)
        self._alike.note(was_decoded=rows is not None)
        return rows

    def _append(self, file: DataFile) -> int | None:
        read_footer, content = footer_loop(), self._read(file)
        if content is None or read_footer is None:
            return None
        if not read_footer(content, len(content), self._footer_ref):
            return None
        kind = self._alike.kind(file, content, self._footer)
        rows: int = self._footer.rows
        if kind is None or not self._has_place_for(file, kind, rows):
            return None
        if self._columns is None or not self._files:  # a declined file leaves columns without files
            most_rows = self._source.request.rows_per_batch
            expected = min(max(2 * rows * self._expected_files, 1), most_rows)
            self._columns = _Columns(kind, max(expected, rows))
            self._kind = kind
        if not self._columns.append(content, self._footer_ref):
            return None
        self._files.append(file)
        return rows

    def finished(self) -> "JoinedFiles | None":
        """Return the joined rows, or None if there are none, and start over."""
        columns, kind, files = self._columns, self._kind, self._files
        self._columns, self._kind, self._files = None, None, []
        if columns is None or kind is None or not files:
            return None
        size_bytes = sum(file.size_bytes for file in files)
        self._source.meter.count(
            files_read=len(files),
            requests=len(files),
            bytes_read=size_bytes,
            chunks_decoded=len(files) * len(kind.layouts),
        )
        content = StoredRows(
            request=self._source.request,
            plan=kind.plan,
            partition=files[0].partition,
            deleted=None,
            only=None,
        )
        arrays = dict(zip(kind.layouts, columns.arrays(), strict=True))
        return JoinedFiles(self._source, files, content, arrays)

    def _has_place_for(self, file: DataFile, kind: FileKind, rows: int) -> bool:
        if self._columns is None or not self._files:
            return True
        return (
            kind is self._kind
            and rows <= self._columns.rows_left
            and file.partition == self._files[0].partition
        )

    def _read(self, file: DataFile) -> bytes | None:
        """Return the bytes of a local file; None if it has vectors or another size than logged."""
        if file.deletion_vector is not None or file.only is not None:
            return None
        local = find_local_file(self._source.files.store, file.uri)
        if local is None:
            return None
        try:
            content = local.read_small(most_bytes=file.size_bytes)
        except OSError:
            return None
        return content if content is not None and len(content) == file.size_bytes else None


class _Columns:
    """Growing output columns."""

    def __init__(self, kind: FileKind, most_rows: int) -> None:
        layouts = list(kind.layouts.values())
        self.rows_left = most_rows
        self._outputs = []
        self._columns = (Column * len(layouts))()
        self._batches = (Batch * len(layouts))()
        self._buffers: dict[tuple[int, str], Any] = {}
        for number, layout in enumerate(layouts):
            output = ChunkOutput(
                most_rows,
                layout,
                valid=np.empty(most_rows, np.uint8),
                row_bytes=_ROW_BYTES,
            )
            self._columns[number] = Column(width=layout.width, is_optional=layout.is_optional)
            output.state.rows = 0
            self._batches[number] = output.state
            output.state = self._batches[number]
            self._outputs.append(output)
        self._leaf_columns = kind.leaf_columns
        self._appending = Appending(
            count=len(layouts),
            leaf_columns=kind.leaf_columns.ctypes.data,
            columns=self._columns,
            batches=self._batches,
        )
        self._appending_ref = byref(self._appending)

    def append(self, content: bytes, footer: Any) -> bool:
        """Append the rows of a file; return False, with nothing appended, if it is declined."""
        loop, to = append_loop(), self._appending
        assert loop is not None
        to.column = to.is_begun = 0
        before = [(batch.written, batch.nulls) for batch in self._batches]
        try:
            while (status := loop(content, len(content), footer, self._appending_ref)) != 0:
                self._make_room(to.column, status)
        except UnusualChunkError:
            for batch, (rows, nulls) in zip(self._batches, before, strict=True):
                batch.rows = batch.done = batch.written = rows
                batch.nulls = nulls
            return False
        self.rows_left -= self._batches[0].written - before[0][0]
        return True

    def arrays(self) -> Iterator[pa.Array]:
        """Return the values of each column."""
        return (output.array() for output in self._outputs)

    def _make_room(self, number: int, status: int) -> None:
        column = self._columns[number]
        size = column.needed
        if status not in _ROOM or not 0 <= size <= _MAX_PAGE_BYTES:
            raise UnusualChunkError("damaged, or in an unusual encoding")
        if status == Status.MORE_OUT:
            self._outputs[number].grow(size)
            return
        buffer = np.empty(2 * (size + COPY_STEP_BYTES), np.uint8)
        self._buffers[number, _ROOM[status]] = buffer
        if status == Status.MORE_PAGE:
            column.page, column.page_room = buffer.ctypes.data, len(buffer)
            return
        column.dictionary, column.dictionary_room = buffer.ctypes.data, len(buffer)
        entries = 2 * column.needed_entries + 1
        if not 0 < entries <= _MAX_PAGE_BYTES:
            raise UnusualChunkError("an unusual number of dictionary entries")
        starts = np.empty(entries, np.int32)
        self._buffers[number, "starts"] = starts
        column.starts, column.starts_room = starts.ctypes.data, len(starts)


_ROOM = {
    int(Status.MORE_PAGE): "page",
    int(Status.MORE_WORDS): "dictionary",
    int(Status.MORE_OUT): "values",
}


class JoinedFiles:
    """The stored rows of several files, joined."""

    def __init__(
        self,
        source: RowSource,
        files: Sequence[DataFile],
        content: StoredRows,
        arrays: Mapping[int, pa.Array],
    ) -> None:
        self._source = source
        self._files = files
        self._content = content
        self._places = {position: place for place, position in enumerate(arrays)}
        names = [str(position) for position in arrays]
        self._batch = pa.RecordBatch.from_arrays(list(arrays.values()), names)

    def rows(self) -> Iterator[pa.RecordBatch]:
        """Yield the matching rows.

        Raises:
            HeadraceError: as `RowSource.parts`, after the rows of the previous files.
        """
        try:
            rows = self._joined_rows()
        except (pa.ArrowException, HeadraceError):
            # A value does not fit the table's type. Read file by file to name the file.
            for file in self._files:
                for part in self._source.parts(file):
                    part_rows = part.rows()
                    if part_rows is not None:
                        yield part_rows
            return
        if rows is not None:
            yield rows

    def _joined_rows(self) -> pa.RecordBatch | None:
        batch, places = self._batch, self._places
        keep = self._content.keep(
            0, batch.num_rows, lambda column: batch.column(places[column.position])
        )
        if keep is not None and keep.true_count < batch.num_rows:
            batch = batch.filter(keep)
        if not batch.num_rows:
            return None
        return self._content.output(
            batch.num_rows, lambda column: batch.column(places[column.position])
        )
