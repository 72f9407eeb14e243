"""Reads the adds of a row group: large string columns with a compiled loop, all others with Arrow.

Row groups enter. Their rows leave part by part as `AddRows`: the caller selects rows, and
completes the selection with the late columns. The compiled loop is a fast path, which the reader
or the caller may decline for any of them; Arrow then reads the remaining rows, and raises if they
are damaged.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TypeVar

import msgspec
import numpy as np
import pyarrow as pa

from headrace.compiled.library import is_built
from headrace.compiled.memory import Memory
from headrace.compiled.text_copies import Mask, selected_texts
from headrace.engines.arrow.checkpoint.footer import Footer
from headrace.engines.arrow.checkpoint.parquet_source import OpenParquet, ParquetSource
from headrace.engines.arrow.checkpoint.text_column import TextColumn, Texts
from headrace.engines.arrow.column_batch import ColumnBatch
from headrace.protocol import light
from headrace.protocol.log_file import LogFile

_WORTHWHILE_BYTES = 1 << 18
"""Arrow reads smaller columns just as fast."""
_PATH, _STATS = "add.path", "add.stats"
UNUSUAL = (
    ValueError,
    IndexError,
    KeyError,
    TypeError,
    RecursionError,
    OSError,
    MemoryError,
)
"""The errors of the fast path for input that it does not support."""

T = TypeVar("T")


class AddSelection(msgspec.Struct, frozen=True, kw_only=True):
    """The columns and rows to read of the adds of a row group."""

    columns: tuple[str, ...]
    """The columns to read."""
    late: tuple[str, ...] = ()
    """Columns that the selection does not use. Where it costs less, they are decoded after it,
    and only for the selected rows."""
    mask: Mask | None = None
    """False for rows that are never selected."""

    def end(self, rows: int) -> int:
        """Return the number of rows up to the last one that may be selected, of `rows` rows."""
        if self.mask is None:
            return rows
        return len(self.mask) - int(self.mask[::-1].argmax()) if self.mask.any() else 0


class AddRows:
    """Some rows of a row group: the caller selects rows, then completes the selection.

    On the fast path, the large columns are in memory that is reused for the next rows: take
    the rows once, and complete or decline the selection before requesting the next rows.
    """

    def __init__(self, rows: pa.RecordBatch, late: "_LateColumns | None" = None) -> None:
        self._rows: pa.RecordBatch | None = rows
        self._late = late
        self.count = len(rows)
        """The number of rows that the caller selects from."""
        self.was_declined = False

    def take(self) -> pa.RecordBatch:
        """Return the rows without the late columns; callable once."""
        rows, self._rows = self._rows, None
        assert rows is not None
        return rows

    def complete(self, selected: ColumnBatch) -> ColumnBatch:
        """Return the selected rows with their late columns.

        Raises:
            ValueError: from the fast path: they cannot be decoded; or another error of `UNUSUAL`.
        """
        late, self._late = self._late, None
        return selected if late is None else late.added_to(selected)

    def decline(self) -> None:
        """Read the same rows again with Arrow."""
        self.was_declined = True


class AddReader(msgspec.Struct, frozen=True, kw_only=True):
    """Reads row groups of one open file."""

    source: ParquetSource
    opened: OpenParquet
    batch_rows: int
    memory: Memory = msgspec.field(default_factory=Memory)
    """Holds its columns. Consumers of its batches allocate from it too."""

    @classmethod
    @contextmanager
    def open(
        cls, source: ParquetSource, file: LogFile, *, codes: Sequence[str], batch_rows: int
    ) -> Iterator["AddReader"]:
        """Open a file; the columns named in `codes` are read as dictionary codes."""
        with source.open(file, codes=codes) as opened:
            reader = cls(source=source, opened=opened, batch_rows=batch_rows)
            try:
                yield reader
            finally:
                reader.memory.retire()

    @property
    def file(self) -> LogFile:
        """The file."""
        return self.opened.file

    def rows_of(self, group: int, selection: AddSelection) -> Iterator[tuple[AddRows, bool]]:
        """Yield the rows of a row group, and whether they may be declined."""
        end, done, position = selection.end(self._footer.rows(group)), 0, 0
        for count, rows in _until_unusual(self._quick_rows(group, selection)):
            yield rows, True
            if rows.was_declined:
                break
            done += count
        for rows in self._arrow_batches(group, selection.columns) if done < end else ():
            first, position = max(position, done), position + len(rows)
            remaining = rows.slice(max(len(rows) - (position - first), 0))
            if selection.mask is not None:
                remaining = remaining.filter(light.from_numpy(selection.mask[first:position]))
            if len(remaining):
                yield AddRows(remaining), False
            if position >= end:
                return

    @property
    def _footer(self) -> Footer:
        return self.source.footer(self.file)

    def _arrow_batches(self, group: int, columns: tuple[str, ...]) -> Iterator[pa.RecordBatch]:
        return self.source.batches(self.opened, group, columns=columns, batch_rows=self.batch_rows)

    def _quick_rows(self, group: int, selection: AddSelection) -> Iterator[tuple[int, AddRows]]:
        """Yield rows, with the number of group rows they cover; nothing if this is not faster.

        Raises:
            ValueError: the fast path cannot read the next rows. Pages may raise other errors.
        """
        footer, mask = self._footer, selection.mask
        leaf_columns = footer.leaf_columns(selection.columns)
        texts = [
            leaf_column
            for leaf_column in leaf_columns
            if _is_large_text(footer, group, leaf_column)
        ]
        if not is_built() or _PATH not in texts:
            return
        arrow_columns = tuple(
            leaf_column for leaf_column in leaf_columns if leaf_column not in texts
        )
        self.source.count_read(self.opened, group, texts)
        readers = {leaf_column: self._reader(group, leaf_column) for leaf_column in texts}
        # With a mask few rows are decoded at all, so late columns are read with the others.
        late = {
            leaf_column: readers.pop(leaf_column)
            for leaf_column in selection.late
            if leaf_column in texts and mask is None
        }
        text_columns = _TextColumns(footer.adds, readers, late, self.memory)
        end, position = selection.end(footer.rows(group)), 0
        for rows, adds in self._arrow_columns(group, arrow_columns) if end else ():
            remaining_mask = None if mask is None else mask[position:]
            yield (
                rows,
                text_columns.next_rows(rows, _filtered(adds, remaining_mask), remaining_mask),
            )
            position += rows
            if position >= end:
                return

    def _reader(self, group: int, leaf_column: str) -> TextColumn:
        footer = self._footer
        chunk, depth = footer.chunk(group, leaf_column), footer.depth(leaf_column)
        return TextColumn(self.opened.raw, chunk, depth=depth, memory=self.memory)

    def _arrow_columns(
        self, group: int, leaf_columns: tuple[str, ...]
    ) -> Iterator[tuple[int, pa.StructArray | None]]:
        """Yield the number of rows of each batch, and the columns that Arrow reads, if any."""
        if leaf_columns:
            for batch in self._arrow_batches(group, leaf_columns):
                yield len(batch), batch.column("add")
        else:
            rows = self._footer.rows(group)
            for start in range(0, rows, self.batch_rows):
                yield min(self.batch_rows, rows - start), None


class _TextColumns(msgspec.Struct, frozen=True):
    """The string columns of a row group, read in step with the others."""

    field: pa.Field
    """The Arrow field of the adds."""
    readers: Mapping[str, TextColumn]
    late: Mapping[str, TextColumn]
    memory: Memory

    def next_rows(
        self, rows: int, arrow_columns: pa.StructArray | None, mask: Mask | None
    ) -> AddRows:
        """Read the next `rows` rows, or those of them that the mask selects."""
        texts = {
            leaf_column: reader.take(rows, mask) for leaf_column, reader in self.readers.items()
        }
        late = _LateColumns(rows, texts[_PATH], self.late, self.memory) if self.late else None
        return AddRows(_joined(self.field, arrow_columns, texts), late)


class _LateColumns:
    """Columns that are decoded after the rows are selected."""

    def __init__(
        self, rows: int, paths: Texts, readers: Mapping[str, TextColumn], memory: Memory
    ) -> None:
        self._rows = rows
        self._paths: Texts | None = paths
        self._readers = readers
        self._memory = memory

    def added_to(self, batch: ColumnBatch) -> ColumnBatch:
        """Add these columns to the selected rows.

        The input columns are large, so they are released as soon as they have been used.
        """
        assert self._paths is not None
        is_null = self._paths.levels == 0
        mask = batch.remaining_mask()
        if mask is not None:
            # A caller that needs late columns needs the paths too.
            paths = selected_texts(self._paths.values, mask, self._memory)
            batch, is_null = batch.with_field(_name(_PATH), paths), is_null[mask]
        self._paths = None
        for leaf_column, reader in self._readers.items():
            texts = reader.take(self._rows, mask)
            _check_nulls(texts, is_null)
            batch = batch.with_field(_name(leaf_column), texts.values)
        return batch


def _until_unusual(batches: Iterator[T]) -> Iterator[T]:
    """Yield batches until one cannot be read."""
    while True:
        try:
            batch = next(batches, None)
        except UNUSUAL:
            return
        if batch is None:
            return
        yield batch


def _is_large_text(footer: Footer, group: int, leaf_column: str) -> bool:
    chunk = footer.chunk(group, leaf_column)
    return (
        leaf_column in (_PATH, _STATS)
        and chunk is not None
        and chunk.total_uncompressed_size >= _WORTHWHILE_BYTES
        and footer.metadata.schema.column(footer.positions[leaf_column]).logical_type.type
        == "STRING"
    )


def _joined(
    field: pa.Field, arrow_columns: pa.StructArray | None, texts: dict[str, Texts]
) -> pa.RecordBatch:
    """Join the fields of adds into one column, null where there is no add."""
    if not field.nullable:
        raise ValueError("a missing string cannot be distinguished from a missing add")
    is_null = texts[_PATH].levels == 0
    if texts[_PATH].values.null_count != np.count_nonzero(is_null):
        raise ValueError("an add has no path")
    for column in texts.values():
        _check_nulls(column, is_null)
    arrays = {_name(leaf_column): column.values for leaf_column, column in texts.items()}
    fields = {name: field.type.field(name).with_type(pa.string()) for name in arrays}
    if arrow_columns is not None:
        if not np.array_equal(light.to_numpy(arrow_columns.is_null()), is_null):
            raise ValueError("a column has adds where another one has none")
        arrays |= {child.name: arrow_columns.field(child.name) for child in arrow_columns.type}
        fields |= {child.name: child for child in arrow_columns.type}
    names = [child.name for child in field.type if child.name in arrays]
    adds = pa.StructArray.from_arrays(
        [arrays[name] for name in names],
        fields=[fields[name] for name in names],
        mask=light.from_numpy(is_null) if is_null.any() else None,
    )
    return pa.RecordBatch.from_arrays([adds], schema=pa.schema([field.with_type(adds.type)]))


def _filtered(adds: pa.StructArray | None, mask: Mask | None) -> pa.StructArray | None:
    return (
        adds if adds is None or mask is None else adds.filter(light.from_numpy(mask[: len(adds)]))
    )


def _check_nulls(texts: Texts, is_null: Mask) -> None:
    if not np.array_equal(texts.levels == 0, is_null):
        raise ValueError("a column has adds where another one has none")


def _name(leaf_column: str) -> str:
    return leaf_column.rpartition(".")[2]
