"""Random tables return their rows however they are written, and predicates the right ones."""

import tempfile
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
from hypothesis import assume, event, given, settings
from hypothesis import strategies as st

from headrace.errors import UnsupportedPredicateError
from headrace.rows import group_selection
from tests.effort import examples
from tests.expr.naive import sql, truth
from tests.expr.strategies import predicates
from tests.lake.log import write_history
from tests.listing import open_snapshot
from tests.rows.naive import bag
from tests.rows.strategies import ALL, history, tables


def _some_columns(data: st.DataObject) -> list[str]:
    return data.draw(st.lists(st.sampled_from(ALL), max_size=4, unique=True), label="columns")


def _decoder(data: st.DataObject) -> AbstractContextManager[Any]:
    """Let the compiled loops decode groups of any size, or Arrow all of these few rows."""
    fewest_rows = data.draw(st.sampled_from([1, 20_000]), label="fewest rows to decode")
    return patch.object(group_selection, "MIN_ROWS", fewest_rows)


def _options(data: st.DataObject) -> dict[str, Any]:
    return {
        "rows_per_batch": data.draw(st.integers(1, 5), label="rows per batch"),
        "files_at_once": data.draw(st.integers(1, 3), label="files at once"),
        "batches_ahead": data.draw(st.integers(1, 2), label="batches ahead"),
    }


@pytest.mark.property
@settings(max_examples=examples(60))
@given(data=st.data())
def test_every_table_returns_exactly_its_rows(data: st.DataObject) -> None:
    columns = data.draw(st.sampled_from([ALL, *((name,) for name in ALL)]))
    table = data.draw(tables(columns), label="table")
    selected = _some_columns(data)
    with tempfile.TemporaryDirectory() as folder, _decoder(data):
        write_history(Path(folder), history(table, Path(folder)))
        snapshot = open_snapshot(Path(folder))
        everything = snapshot.rows(**_options(data)).read_all()
        some = snapshot.rows(columns=selected, **_options(data)).read_all()
    assert everything.schema == snapshot.schema
    assert bag(everything.to_pylist(), ALL) == bag(table.rows, ALL)
    assert some.column_names == selected
    assert some.num_rows == len(table.rows)
    if selected:
        assert bag(some.to_pylist(), selected) == bag(table.rows, selected)


@pytest.mark.property
@settings(max_examples=examples(150))
@given(data=st.data())
def test_every_predicate_returns_exactly_the_rows_for_which_it_is_true(data: st.DataObject) -> None:
    columns = tuple(data.draw(st.lists(st.sampled_from(ALL), min_size=1, max_size=3, unique=True)))
    table = data.draw(tables(columns, least=1), label="table")
    node = data.draw(predicates(columns, table.rows), label="predicate")
    selected = _some_columns(data)
    limit = data.draw(st.none() | st.integers(0, 5), label="limit")
    with tempfile.TemporaryDirectory() as folder, _decoder(data):
        write_history(Path(folder), history(table, Path(folder)))
        snapshot = open_snapshot(Path(folder))
        try:
            reader = snapshot.rows(where=sql(node), columns=selected, limit=limit, **_options(data))
        except UnsupportedPredicateError:
            event("unsupported")
            assume(False)
        result = reader.read_all()
    expected = [row for row in table.rows if truth(node, row) is True]
    event("some match" if expected else "none match")
    assert result.num_rows == len(expected if limit is None else expected[:limit])
    if selected:
        surplus = bag(result.to_pylist(), selected) - bag(expected, selected)
        assert not surplus
