"""The rows of real tables: those stored with the tables, or else those that deltalake reads."""

from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import DeltaTable, QueryBuilder

from headrace.errors import HeadraceError
from tests.conformance.comparison import EXCEPTIONS, REFUSALS, are_equal, stored_rows
from tests.conformance.fixture import Fixture, fixture_params
from tests.listing import open_snapshot


def _ours(fixture: Fixture) -> pa.Table:
    read: pa.Table = open_snapshot(fixture.table).rows().read_all()
    read.validate(full=True)
    return read


def _deltalakes(table: Path) -> pa.Table | None:
    """Return the rows that deltalake reads, or None if it cannot."""
    try:
        query = QueryBuilder().register("t", DeltaTable(str(table))).execute("SELECT * FROM t")
        return pa.table(query.read_all())
    except Exception:  # noqa: BLE001  (its engine has no errors of its own)
        return None


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
    expected = stored_rows(fixture)
    if expected is None:
        expected = _deltalakes(fixture.table)
    if expected is None:
        pytest.skip("no rows are stored, and deltalake cannot read the table")
    assert are_equal(read, expected) == (fixture.name not in EXCEPTIONS["different"])


@pytest.mark.parametrize("fixture", fixture_params())
def test_selected_columns_and_a_limit_agree_with_a_full_read(fixture: Fixture) -> None:
    whole = _readable(fixture)
    snapshot = open_snapshot(fixture.table)
    columns = whole.column_names[::-2]
    some = snapshot.rows(
        columns=columns, rows_per_batch=whole.num_rows // 7 + 1, files_at_once=2
    ).read_all()
    assert some.column_names == columns
    assert some.num_rows == whole.num_rows
    assert not columns or are_equal(some, whole.select(columns))
    half = whole.num_rows // 2
    assert snapshot.rows(columns=[], limit=half).read_all().num_rows == half


def test_every_listed_table_exists(fixture_tables: Path) -> None:
    listed = EXCEPTIONS["unreadable"].keys() | EXCEPTIONS["different"].keys()
    assert [name for name in listed if not (fixture_tables / name).is_dir()] == []
