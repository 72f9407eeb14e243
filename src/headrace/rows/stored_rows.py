"""Stored batches of a file to the table's rows: deleted rows, the predicate, conversion.

Nothing here reads: batches of several files that are stored alike can be joined first.
"""

from collections.abc import Mapping

import msgspec
import pyarrow as pa
import pyarrow.compute as pc

from headrace.expr.exact import evaluate_rows
from headrace.expr.node import BoundColumn
from headrace.protocol.arrow_schema import arrow_type
from headrace.rows.deletion_vector import DeletedRows
from headrace.rows.file_plan import FilePlan, Selection
from headrace.rows.plain import plain_array
from headrace.rows.request import RowRequest
from headrace.rows.resolve import ColumnReading
from headrace.rows.row_filter import member
from headrace.rows.word import words_of_codes


class StoredRows(msgspec.Struct, frozen=True, kw_only=True):
    """How the stored rows of a file become rows of the table."""

    request: RowRequest
    plan: FilePlan
    partition: Mapping[str, pa.Scalar]
    deleted: DeletedRows | None
    only: DeletedRows | None

    def is_alike(self, other: "StoredRows") -> bool:
        """Whether rows of both files may be converted together, wherever they stand."""
        vectors = (self.deleted, self.only, other.deleted, other.only)
        return (
            self.plan is other.plan
            and all(vector is None for vector in vectors)
            and self.partition == other.partition
        )

    def rows(self, batch: pa.RecordBatch, first_row: int) -> pa.RecordBatch | None:
        """The rows that are neither deleted nor ruled out, as the table has them; None: none."""
        keep = None
        if self.deleted is not None:
            keep = self.deleted.kept(first_row, batch.num_rows)
        if self.only is not None:
            keep = _both(keep, self.only.named(first_row, batch.num_rows))
        if self.request.predicate is not None and (keep is None or keep.true_count):
            keep = _both(keep, self.matching(batch, self.plan.everything))
        rows = batch.num_rows if keep is None else keep.true_count
        if not rows:
            return None
        schema = self.request.output_schema
        if not schema.names:
            return without_columns(rows)
        if rows < batch.num_rows and not self.plan.views:
            batch = batch.filter(keep)
        is_chosen = rows == batch.num_rows
        arrays = [self._column(f, batch, None if is_chosen else keep, rows) for f in schema]
        return pa.RecordBatch.from_arrays(arrays, schema=schema)

    def matching(self, batch: pa.RecordBatch, selection: Selection) -> pa.BooleanArray:
        """What the predicate says of each row."""
        assert self.request.predicate is not None
        known: dict[tuple[str, ...], pa.Array] = {}

        def values(column: BoundColumn) -> pa.Array:
            if column.path not in known:
                known[column.path] = self._values(column, batch, selection)
            return known[column.path]

        return evaluate_rows(self.request.predicate, values, rows=batch.num_rows)

    def _values(self, column: BoundColumn, batch: pa.RecordBatch, selection: Selection) -> pa.Array:
        if column.is_partition:
            return pa.repeat(self.partition[column.path[0]], batch.num_rows)
        found = self.plan.looked_at[column.path]
        if found is None:
            return pa.nulls(batch.num_rows, arrow_type(column.type))
        stored = self._stored_column(found, batch, selection)
        if _is_codes_of(stored, arrow_type(column.type)):
            return stored
        return member(_read(found, stored), depth=len(column.path) - 1)

    def _stored_column(
        self, column: ColumnReading, batch: pa.RecordBatch, selection: Selection
    ) -> pa.Array:
        stored = batch.column(selection.places[column.position])
        return plain_array(stored) if column.position in self.plan.views else stored

    def _column(
        self, field: pa.Field, batch: pa.RecordBatch, keep: pa.BooleanArray | None, rows: int
    ) -> pa.Array:
        if field.name not in self.plan.wanted:
            return pa.repeat(self.partition[field.name], rows)
        column = self.plan.wanted[field.name]
        if column is None:
            return pa.nulls(rows, field.type)
        stored = self._stored_column(column, batch, self.plan.everything)
        return _read(column, stored if keep is None else stored.filter(keep))


def _read(column: ColumnReading, stored: pa.Array) -> pa.Array:
    if pa.types.is_dictionary(stored.type) and not column.is_stored_as_codes:
        stored = words_of_codes(stored)
    return column.reading.read(stored)


def _is_codes_of(array: pa.Array, words: pa.DataType) -> bool:
    return bool(pa.types.is_dictionary(array.type)) and array.type.value_type == words


def _both(first: pa.BooleanArray | None, second: pa.BooleanArray) -> pa.BooleanArray:
    return second if first is None else pc.and_kleene(first, second)


def without_columns(rows: int) -> pa.RecordBatch:
    """A batch that has rows and no columns."""
    return pa.RecordBatch.from_arrays([pa.nulls(rows)], ["row"]).select([])
