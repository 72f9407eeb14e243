"""The rows that a reader must return, and whether it did."""

import pyarrow as pa
import pyarrow.parquet as pq

from tests.conformance.fixture import Fixture, read_json
from tests.rows.naive import bag

EXCEPTIONS: dict[str, dict[str, dict[str, str]]] = read_json("row_exceptions.json")
REFUSALS: dict[str, dict[str, str]] = read_json("refusals.json")
MANY_ROWS = 50_000
"""From this size on, rows are compared by sorted column instead of one by one in Python."""


def stored_rows(fixture: Fixture) -> pa.Table | None:
    """Return the stored rows, or None if there are none."""
    files = [
        pq.ParquetFile(path, coerce_int96_timestamp_unit="us").read()
        for path in fixture.expected_rows
    ]
    return pa.concat_tables(files, promote_options="permissive") if files else None


def are_equal(read: pa.Table, expected: pa.Table) -> bool:
    """Whether two tables have the same columns and, in any order, the same rows."""
    names = read.column_names
    if set(names) != set(expected.column_names):
        return False
    if read.num_rows < MANY_ROWS:
        return bag(read.to_pylist(), names) == bag(expected.to_pylist(), names)
    expected = expected.select(names).cast(read.schema)
    keys = [(name, "ascending") for name in names]
    return bool(read.sort_by(keys).equals(expected.sort_by(keys)))
