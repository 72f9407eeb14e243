"""The rows of real tables: those that are stored beside them, else those that deltalake reads."""

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable, QueryBuilder

from headrace.errors import HeadraceError
from tests.conformance.fixture import Fixture, fixture_params, read_json
from tests.listing import open_snapshot
from tests.rows.naive import bag

EXCEPTIONS: dict[str, dict[str, dict[str, str]]] = read_json("row_exceptions.json")
REFUSALS: dict[str, dict[str, str]] = read_json("refusals.json")
MANY_ROWS = 50_000
"""From here on rows are compared by column, sorted, rather than one by one in Python."""


def _ours(fixture: Fixture) -> pa.Table:
    read: pa.Table = open_snapshot(fixture.table).rows().read_all()
    read.validate(full=True)
    return read


def _stored(fixture: Fixture) -> pa.Table | None:
    """The rows that are stored; None: there are none."""
    files = [
        pq.ParquetFile(path, coerce_int96_timestamp_unit="us").read()
        for path in fixture.expected_rows
    ]
    return pa.concat_tables(files, promote_options="permissive") if files else None


def _deltalakes(table: Path) -> pa.Table | None:
    """The rows that deltalake reads; None: it cannot."""
    try:
        query = QueryBuilder().register("t", DeltaTable(str(table))).execute("SELECT * FROM t")
        return pa.table(query.read_all())
    except Exception:  # noqa: BLE001  (its engine has no errors of its own)
        return None


def _are_equal(read: pa.Table, expected: pa.Table) -> bool:
    names = read.column_names
    if set(names) != set(expected.column_names):
        return False
    if read.num_rows < MANY_ROWS:
        return bag(read.to_pylist(), names) == bag(expected.to_pylist(), names)
    expected = expected.select(names).cast(read.schema)
    keys = [(name, "ascending") for name in names]
    return bool(read.sort_by(keys).equals(expected.sort_by(keys)))


def _readable(fixture: Fixture) -> pa.Table:
    if fixture.name in REFUSALS:
        pytest.skip(REFUSALS[fixture.name]["reason"])
    if fixture.name in EXCEPTIONS["unreadable"]:
        pytest.skip(EXCEPTIONS["unreadable"][fixture.name]["reason"])
    return _ours(fixture)


@pytest.mark.parametrize("fixture", fixture_params())
def test_rows_are_read_unless_listed_and_then_refused_with_the_listed_code(
    fixture: Fixture,
) -> None:
    listed = EXCEPTIONS["unreadable"].get(fixture.name, REFUSALS.get(fixture.name, {}))
    try:
        with open_snapshot(fixture.table).rows() as reader:
            for _ in reader:
                pass
        code = None
    except HeadraceError as refusal:
        code = refusal.code
    assert code == listed.get("code")


@pytest.mark.parametrize("fixture", fixture_params())
def test_rows_equal_those_that_are_stored_or_that_deltalake_reads(fixture: Fixture) -> None:
    read = _readable(fixture)
    expected = _stored(fixture)
    if expected is None:
        expected = _deltalakes(fixture.table)
    if expected is None:
        pytest.skip("no rows are stored, and deltalake cannot read the table")
    assert _are_equal(read, expected) == (fixture.name not in EXCEPTIONS["different"])


@pytest.mark.parametrize("fixture", fixture_params())
def test_some_columns_and_a_limit_give_what_all_of_them_do(fixture: Fixture) -> None:
    whole = _readable(fixture)
    snapshot = open_snapshot(fixture.table)
    columns = whole.column_names[::-2]
    some = snapshot.rows(
        columns=columns, rows_per_batch=whole.num_rows // 7 + 1, files_at_once=2
    ).read_all()
    assert some.column_names == columns
    assert some.num_rows == whole.num_rows
    assert not columns or _are_equal(some, whole.select(columns))
    half = whole.num_rows // 2
    assert snapshot.rows(columns=[], limit=half).read_all().num_rows == half


def test_every_listed_table_is_there(fixture_tables: Path) -> None:
    listed = EXCEPTIONS["unreadable"].keys() | EXCEPTIONS["different"].keys()
    assert [name for name in listed if not (fixture_tables / name).is_dir()] == []
