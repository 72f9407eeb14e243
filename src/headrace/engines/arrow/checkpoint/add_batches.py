"""The adds of a row group: large columns of texts by a compiled loop, all others by Arrow.

It is a shortcut that may decline at any batch. Arrow then reads the rows that are left, and says
what is wrong with them if something is.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TypeAlias, TypeVar

import msgspec
import numpy as np
import pyarrow as pa

from headrace.compiled.library import is_built
from headrace.compiled.memory import Memory
from headrace.compiled.text_copies import Mask, kept_texts
from headrace.engines.arrow.checkpoint.footer import Footer
from headrace.engines.arrow.checkpoint.parquet_source import OpenParquet, ParquetSource
from headrace.engines.arrow.checkpoint.text_column import TextColumn, Texts
from headrace.engines.arrow.column_batch import ColumnBatch
from headrace.protocol.log_file import LogFile

_WORTHWHILE_BYTES = 1 << 18
"""Smaller columns are read by Arrow as quickly."""
_PATH, _STATS = "add.path", "add.stats"
_UNUSUAL = (
    ValueError,
    IndexError,
    KeyError,
    TypeError,
    RecursionError,
    OSError,
    MemoryError,
)

T = TypeVar("T")
Choose: TypeAlias = Callable[[pa.RecordBatch], ColumnBatch]
"""Takes rows of a file, and gives those of them that are wanted."""


class Wanted(msgspec.Struct, frozen=True, kw_only=True):
    """What is wanted of the adds of a row group."""

    columns: tuple[str, ...]
    """What is read."""
    choose: Choose
    """Says which rows are wanted. It may be asked about the same rows twice."""
    late: tuple[str, ...] = ()
    """Columns that `choose` does not look at. Where it costs less, they are decoded afterwards, and
    only for the rows that are left."""
    mask: Mask | None = None
    """False for rows that are not wanted in any case."""

    def end(self, rows: int) -> int:
        """How many of so many rows there are up to the last one that may be wanted."""
        if self.mask is None:
            return rows
        return len(self.mask) - int(self.mask[::-1].argmax()) if self.mask.any() else 0


class AddReader(msgspec.Struct, frozen=True, kw_only=True):
    """Reads row groups of one file that is open."""

    source: ParquetSource
    opened: OpenParquet
    batch_rows: int
    memory: Memory = msgspec.field(default_factory=Memory)
    """Where its columns are put. Who takes its batches asks for memory here, too."""

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

    def batches(self, group: int, wanted: Wanted) -> Iterator[ColumnBatch]:
        """What is wanted of the adds of a row group, piece by piece."""
        end, done, position = wanted.end(self._footer.rows(group)), 0, 0
        for count, batch in _while_usual(self._quick_batches(group, wanted)):
            yield batch
            done += count
        for rows in self._arrow_batches(group, wanted.columns) if done < end else ():
            first, position = max(position, done), position + len(rows)
            left = rows.slice(max(len(rows) - (position - first), 0))
            if wanted.mask is not None:
                left = left.filter(pa.array(wanted.mask[first:position]))
            if len(left):
                yield wanted.choose(left)
            if position >= end:
                return

    @property
    def _footer(self) -> Footer:
        return self.source.footer(self.file)

    def _arrow_batches(self, group: int, columns: tuple[str, ...]) -> Iterator[pa.RecordBatch]:
        return self.source.batches(self.opened, group, columns=columns, batch_rows=self.batch_rows)

    def _quick_batches(self, group: int, wanted: Wanted) -> Iterator[tuple[int, ColumnBatch]]:
        """The same, each with how many rows it was chosen from; none where it is not quicker.

        Raises:
            ValueError: the next rows cannot be read in this way. Pages may raise other errors.
        """
        footer, mask = self._footer, wanted.mask
        leaves = footer.leaves(wanted.columns)
        texts = [leaf for leaf in leaves if _is_large_text(footer, group, leaf)]
        if not is_built() or _PATH not in texts:
            return
        others = tuple(leaf for leaf in leaves if leaf not in texts)
        self.source.count_read(self.opened, group, texts)
        readers = {leaf: self._reader(group, leaf) for leaf in texts}
        # With a mask few rows are decoded at all: what is late comes with the others.
        late = {leaf: readers.pop(leaf) for leaf in wanted.late if leaf in texts and mask is None}
        text_columns = _TextColumns(footer.adds, readers, late, self.memory)
        end, position = wanted.end(footer.rows(group)), 0
        for rows, adds in self._others(group, others) if end else ():
            rest = None if mask is None else mask[position:]
            yield rows, text_columns.batch(rows, _filtered(adds, rest), rest, wanted.choose)
            position += rows
            if position >= end:
                return

    def _reader(self, group: int, leaf: str) -> TextColumn:
        footer = self._footer
        chunk, depth = footer.chunk(group, leaf), footer.depth(leaf)
        return TextColumn(self.opened.raw, chunk, depth=depth, memory=self.memory)

    def _others(
        self, group: int, leaves: tuple[str, ...]
    ) -> Iterator[tuple[int, pa.StructArray | None]]:
        """The other columns of the adds, if there are any, and how many rows they are for."""
        if leaves:
            for batch in self._arrow_batches(group, leaves):
                yield len(batch), batch.column("add")
        else:
            rows = self._footer.rows(group)
            for start in range(0, rows, self.batch_rows):
                yield min(self.batch_rows, rows - start), None


class _TextColumns(msgspec.Struct, frozen=True):
    """The columns of texts of a row group, read beside the others."""

    field: pa.Field
    """What the adds are."""
    readers: Mapping[str, TextColumn]
    late: Mapping[str, TextColumn]
    memory: Memory

    def batch(
        self, rows: int, others: pa.StructArray | None, wanted: Mask | None, choose: Choose
    ) -> ColumnBatch:
        """The next rows, as far as they are wanted and chosen.

        What is read at first is let go of as soon as something is made of it: it is large.
        """
        taken = {leaf: reader.take(rows, wanted) for leaf, reader in self.readers.items()}
        is_null = taken[_PATH].levels == 0
        batch = choose(_joined(self.field, others, taken))
        kept = batch.kept() if self.late else None
        if kept is not None:
            # Who wants what comes late wants the paths too.
            paths = kept_texts(taken[_PATH].values, kept, self.memory)
            batch, is_null = batch.with_field(_name(_PATH), paths), is_null[kept]
        del taken
        for leaf, reader in self.late.items():
            texts = reader.take(rows, kept)
            _check_nulls(texts, is_null)
            batch = batch.with_field(_name(leaf), texts.values)
        return batch


def _while_usual(batches: Iterator[T]) -> Iterator[T]:
    """The batches until one cannot be had."""
    while True:
        try:
            batch = next(batches, None)
        except _UNUSUAL:
            return
        if batch is None:
            return
        yield batch


def _is_large_text(footer: Footer, group: int, leaf: str) -> bool:
    chunk = footer.chunk(group, leaf)
    return (
        leaf in (_PATH, _STATS)
        and chunk is not None
        and chunk.total_uncompressed_size >= _WORTHWHILE_BYTES
        and footer.metadata.schema.column(footer.positions[leaf]).logical_type.type == "STRING"
    )


def _joined(
    field: pa.Field, others: pa.StructArray | None, texts: dict[str, Texts]
) -> pa.RecordBatch:
    """The fields of some adds as one column, null where there is no add."""
    if not field.nullable:
        raise ValueError("a text that is missing looks like an add that is")
    is_null = texts[_PATH].levels == 0
    if texts[_PATH].values.null_count != np.count_nonzero(is_null):
        raise ValueError("an add has no path")
    for own in texts.values():
        _check_nulls(own, is_null)
    arrays = {_name(leaf): own.values for leaf, own in texts.items()}
    fields = {name: field.type.field(name).with_type(pa.string()) for name in arrays}
    if others is not None:
        if not np.array_equal(others.is_null().to_numpy(zero_copy_only=False), is_null):
            raise ValueError("a column has adds where another one has none")
        arrays |= {own.name: others.field(own.name) for own in others.type}
        fields |= {own.name: own for own in others.type}
    names = [own.name for own in field.type if own.name in arrays]
    adds = pa.StructArray.from_arrays(
        [arrays[name] for name in names],
        fields=[fields[name] for name in names],
        mask=pa.array(is_null) if is_null.any() else None,
    )
    return pa.RecordBatch.from_arrays([adds], schema=pa.schema([field.with_type(adds.type)]))


def _filtered(adds: pa.StructArray | None, mask: Mask | None) -> pa.StructArray | None:
    return adds if adds is None or mask is None else adds.filter(pa.array(mask[: len(adds)]))


def _check_nulls(texts: Texts, is_null: Mask) -> None:
    if not np.array_equal(texts.levels == 0, is_null):
        raise ValueError("a column has adds where another one has none")


def _name(leaf: str) -> str:
    return leaf.rpartition(".")[2]
