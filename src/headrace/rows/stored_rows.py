"""Converts stored batches of a file to the table's rows: deletion, predicate, types.

No I/O happens here, so batches of several files with the same layout can be joined first.
"""

from collections.abc import Callable, Mapping
from functools import partial
from typing import TypeAlias

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

StoredOf: TypeAlias = Callable[[ColumnReading], pa.Array]
"""Returns the stored values of a column of the file."""


class StoredRows(msgspec.Struct, frozen=True, kw_only=True):
    """Converts the stored rows of a file to rows of the table."""

    request: RowRequest
    plan: FilePlan
    partition: Mapping[str, pa.Scalar]
    deleted: DeletedRows | None
    only: DeletedRows | None

    def is_alike(self, other: "StoredRows") -> bool:
        """Whether rows of both files may be converted together, regardless of their positions."""
        vectors = (self.deleted, self.only, other.deleted, other.only)
        return (
            self.plan is other.plan
            and all(vector is None for vector in vectors)
            and self.partition == other.partition
        )

    def rows(self, batch: pa.RecordBatch, first_row: int) -> pa.RecordBatch | None:
        """Return the rows that are not deleted and match, or None if there are none."""
        keep = self.keep(first_row, batch.num_rows, partial(self._stored, batch, _everything))
        rows = batch.num_rows if keep is None else keep.true_count
        if not rows:
            return None
        if rows < batch.num_rows and not self.plan.views and self.request.output_schema.names:
            batch, keep = batch.filter(keep), None

        def chosen(column: ColumnReading) -> pa.Array:
            stored = self._stored(batch, _everything, column)
            return stored if keep is None else stored.filter(keep)

        return self.output(rows, chosen)

    def keep(self, first_row: int, rows: int, stored_of: StoredOf) -> pa.BooleanArray | None:
        """Return whether each row is not deleted and matches; None if all rows are kept.

        Args:
            first_row: The index of the first row in its file.
            rows: The number of rows.
            stored_of: Returns the stored values of a column for these rows.
        """
        keep = None
        if self.deleted is not None:
            keep = self.deleted.live_mask(first_row, rows)
        if self.only is not None:
            keep = _both(keep, self.only.deleted_mask(first_row, rows))
        if self.request.predicate is not None and (keep is None or keep.true_count):
            keep = _both(keep, self.matching(rows, stored_of))
        return keep

    def matches_any(self, batch: pa.RecordBatch) -> bool:
        """Whether any row of a batch of only the predicate's columns matches."""
        stored_of = partial(self._stored, batch, _evidence)
        return bool(self.matching(batch.num_rows, stored_of).true_count)

    def matching(self, rows: int, stored_of: StoredOf) -> pa.BooleanArray:
        """Evaluate the predicate for each row."""
        assert self.request.predicate is not None
        known: dict[tuple[str, ...], pa.Array] = {}

        def values(column: BoundColumn) -> pa.Array:
            if column.path not in known:
                known[column.path] = self._values(column, rows, stored_of)
            return known[column.path]

        return evaluate_rows(self.request.predicate, values, rows=rows)

    def output(self, rows: int, chosen: StoredOf) -> pa.RecordBatch:
        """Return the table's columns from the stored values of the chosen rows."""
        schema = self.request.output_schema
        if not schema.names:
            return without_columns(rows)
        arrays = [self._column(field, rows, chosen) for field in schema]
        return pa.RecordBatch.from_arrays(arrays, schema=schema)

    def _values(self, column: BoundColumn, rows: int, stored_of: StoredOf) -> pa.Array:
        if column.is_partition:
            return pa.repeat(self.partition[column.path[0]], rows)
        column_reading = self.plan.predicate_columns[column.path]
        if column_reading is None:
            return pa.nulls(rows, arrow_type(column.type))
        stored = stored_of(column_reading)
        if _is_codes_of(stored, arrow_type(column.type)):
            return stored
        return member(_read(column_reading, stored), depth=len(column.path) - 1)

    def _stored(
        self,
        batch: pa.RecordBatch,
        selection: Callable[[FilePlan], Selection],
        column: ColumnReading,
    ) -> pa.Array:
        stored = batch.column(selection(self.plan).places[column.position])
        return plain_array(stored) if column.position in self.plan.views else stored

    def _column(self, field: pa.Field, rows: int, chosen: StoredOf) -> pa.Array:
        if field.name not in self.plan.columns:
            return pa.repeat(self.partition[field.name], rows)
        column = self.plan.columns[field.name]
        if column is None:
            return pa.nulls(rows, field.type)
        return _read(column, chosen(column))


def _everything(plan: FilePlan) -> Selection:
    return plan.everything


def _evidence(plan: FilePlan) -> Selection:
    return plan.evidence


def _read(column: ColumnReading, stored: pa.Array) -> pa.Array:
    if pa.types.is_dictionary(stored.type) and not column.is_stored_as_codes:
        stored = words_of_codes(stored)
    return column.reading.read(stored)


def _is_codes_of(array: pa.Array, words: pa.DataType) -> bool:
    return bool(pa.types.is_dictionary(array.type)) and array.type.value_type == words


def _both(first: pa.BooleanArray | None, second: pa.BooleanArray) -> pa.BooleanArray:
    return second if first is None else pc.and_kleene(first, second)


def without_columns(rows: int) -> pa.RecordBatch:
    """Return a batch with rows but no columns."""
    return pa.RecordBatch.from_arrays([pa.nulls(rows)], ["row"]).select([])
