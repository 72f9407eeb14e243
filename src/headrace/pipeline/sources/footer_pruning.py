"""Prunes Parquet files by the statistics in their footers.

The kernel's evaluator decides, as it does for row groups: a file is pruned only if the statistics
prove that no row matches. Whatever prevents a proof (a damaged footer, a type other than the
declared one, names that differ only in case) keeps the file.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TypeAlias

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq

from headrace.engines.arrow.parquet.soundness import check_footer_of
from headrace.errors import HeadraceError
from headrace.expr.node import Basis, BoundPredicate, Predicate
from headrace.protocol.arrow_schema import arrow_type
from headrace.protocol.schema import DecimalType, Field, PrimitiveType, StructType
from headrace.rows.calendar import Calendar
from headrace.rows.convert import Convert
from headrace.rows.resolve import MatchBy, MismatchError, ShreddedError, StoredColumns
from headrace.rows.row_filter import columns_of
from headrace.rows.row_group import RowGroupEvidence, matching_groups
from headrace.wiring import bound_predicate

_THREADS = 4
_PRIMITIVES = {
    arrow_type(PrimitiveType(name)): PrimitiveType(name)
    for name in (
        *("string", "long", "integer", "short", "byte", "float", "double", "boolean"),
        *("binary", "date", "timestamp", "timestamp_ntz"),
    )
}


Footers: TypeAlias = Mapping[Path, pq.FileMetaData | None]
"""The footer of each file; None if it cannot be read."""


def read_footers(files: Iterable[Path]) -> Footers:
    """Read the footers of files concurrently."""
    paths = list(files)
    with ThreadPoolExecutor(_THREADS) as pool:
        return dict(zip(paths, pool.map(_read_footer, paths), strict=True))


def _read_footer(file: Path) -> pq.FileMetaData | None:
    try:
        with file.open("rb") as opened:
            footer = pq.read_metadata(opened)
            check_footer_of(opened)
    except (pa.ArrowException, OSError, ValueError):
        return None  # the run reports what is wrong with the file
    return footer


def files_that_may_match(
    footers: Footers, *, schema: pa.Schema, where: str | Predicate
) -> list[Path]:
    """Return the files that may contain a row matching a condition."""
    columns = _comparable(schema)
    try:
        predicate = bound_predicate(
            where, schema=columns, partition_columns=(), basis=Basis.STATISTICS
        )
        predicate_columns = tuple(columns_of(predicate))
    except HeadraceError:  # for example over a column that cannot be compared
        return list(footers)
    pruner = _FilePruner(predicate, {c.path: _field(columns, c.path[0]) for c in predicate_columns})
    return [file for file, footer in footers.items() if pruner.may_match(str(file), footer)]


class _FilePruner(msgspec.Struct, frozen=True):
    """A bound condition, and the columns that it uses."""

    predicate: BoundPredicate
    columns: dict[tuple[str, ...], Field]

    def may_match(self, path: str, footer: pq.FileMetaData | None) -> bool:
        try:
            return footer is None or self._may_match(path, footer)
        except (pa.ArrowException, ValueError, HeadraceError, MismatchError, ShreddedError):
            return True  # the file is not as declared, which the run reports

    def _may_match(self, path: str, footer: pq.FileMetaData) -> bool:
        stored_schema = footer.schema.to_arrow_schema()
        names = Counter(name.casefold() for name in stored_schema.names)
        if any(names[column[0].casefold()] > 1 for column in self.columns):
            return True
        calendar = Calendar.of(path, footer.metadata)

        def rebase_old_times(source: pa.DataType, column_index: int) -> Convert | None:
            physical_type = footer.schema.column(column_index).physical_type
            is_old = calendar.is_old(source, physical_type=physical_type)
            return calendar.rebased if is_old else None

        stored = StoredColumns(stored_schema, match_by=MatchBy.NAME, prepare=rebase_old_times)
        column_readers = {column: stored.find(field) for column, field in self.columns.items()}
        evidence = RowGroupEvidence(footer, column_readers, {})
        return bool(matching_groups(self.predicate, evidence))


def _comparable(schema: pa.Schema) -> StructType:
    """Return the columns of primitive types, as a schema of the kernel."""
    fields = []
    for field in schema:
        kind = _PRIMITIVES.get(field.type)
        if pa.types.is_decimal128(field.type):
            fields.append(Field(field.name, DecimalType(field.type.precision, field.type.scale)))
        elif kind is not None:
            fields.append(Field(field.name, kind))
    return StructType(tuple(fields))


def _field(columns: StructType, name: str) -> Field:
    return next(field for field in columns.fields if field.name == name)
