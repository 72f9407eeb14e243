"""A condition may be given as SQL or as the predicate that it parses to."""

import json
import warnings
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path

import pytest

from headrace import Snapshot, Table
from headrace.errors import HeadraceError, InvalidArgumentError, UnknownColumnError
from headrace.expr.bind import bind
from headrace.expr.node import (
    Basis,
    Column,
    Compare,
    CompareOp,
    In,
    IsNull,
    Literal,
    Not,
    Or,
    Predicate,
    Value,
)
from headrace.expr.parse import parse_predicate
from headrace.protocol.schema import parse_schema
from tests.lake.action import add, opening, statistics
from tests.lake.log import write_history

TEXT = "id >= 3 AND part = 'a'"


@pytest.fixture
def snapshot(tmp_path: Path) -> Snapshot:
    adds = [
        add(f"f{i}", stats=statistics(i), partition_values={"part": "ab"[i % 2], "n": "1"})
        for i in range(9)
    ]
    return Table(write_history(tmp_path, [[*opening(), *adds]])).snapshot()


def test_a_predicate_returns_the_files_of_its_text(snapshot: Snapshot) -> None:
    by_text, by_value = snapshot.scan(TEXT), snapshot.scan(parse_predicate(TEXT))
    paths = [file.path for file in by_text]
    assert paths == [file.path for file in by_value]
    assert 0 < len(paths) < 9
    assert by_value.request == by_text.request
    assert by_value.explain() == by_text.explain()


def test_a_built_predicate_shows_its_text(snapshot: Snapshot) -> None:
    predicate = Compare(Column(("id",)), CompareOp.GE, Literal(3))
    scan = snapshot.scan(predicate)
    assert scan.where == "id >= 3"
    assert [file.path for file in scan] == [file.path for file in snapshot.scan("id >= 3")]


def test_batches_of_a_predicate_can_be_brought_up_to_date(snapshot: Snapshot) -> None:
    scan = snapshot.scan(parse_predicate("id >= 3"))
    batches = list(scan.batches())
    again = list(scan.since(batches, version=0, where=scan.where))
    assert sum(map(len, again)) == sum(map(len, batches)) > 0


VALUES: dict[str, tuple[Value, ...]] = {
    "boolean": (True, False, None),
    "byte": (1, -128, 300),
    "long": (2**63 - 1, -(2**63), 2**70, None),
    "float": (0.1, 1e30, float("nan")),
    "double": (0.1, 1e300, -0.0, float("nan"), float("-inf"), None),
    "string": ("a", "a'b\\n%_", "\n", "", None),
    "binary": (b"\x00a", None),
    "date": (date(2020, 1, 1), date(1, 1, 1), None),
    "timestamp": (datetime(2020, 1, 1, 1, 2, 3, 4, tzinfo=UTC), None),
    "timestamp_ntz": (datetime(2020, 1, 1), None),  # noqa: DTZ001  (it has no zone)
    "decimal(10,2)": (
        Decimal("1.50"),
        Decimal("0E-10"),
        Decimal("1E+2"),
        Decimal("12345678901234567890.1"),
        None,
    ),
}


def bound(predicate: Predicate, kind: str, basis: Basis) -> object:
    field = {"name": "c", "type": kind, "nullable": True, "metadata": {}}
    schema = parse_schema(json.dumps({"type": "struct", "fields": [field]}))
    try:
        return repr(bind(predicate, schema=schema, partition_columns=(), basis=basis))
    except HeadraceError as error:
        return type(error)


@pytest.mark.parametrize("basis", Basis)
@pytest.mark.parametrize("kind", VALUES)
def test_a_value_is_bound_like_its_text(kind: str, basis: Basis) -> None:
    column, values = Column(("c",)), VALUES[kind]
    predicates: list[Predicate] = [
        Compare(column, op, Literal(value)) for value in values for op in CompareOp
    ]
    predicates += [In(column, tuple(map(Literal, values))), IsNull(column), column]
    predicates += [Not(predicate) for predicate in predicates]
    predicates += [Or((first, IsNull(column))) for first in predicates]
    for predicate in predicates:
        by_text = bound(parse_predicate(str(predicate)), kind, basis)
        assert bound(predicate, kind, basis) == by_text


def test_a_predicate_over_an_unknown_column_is_refused(snapshot: Snapshot) -> None:
    with pytest.raises(UnknownColumnError):
        snapshot.scan(Column(("nowhere",)))


def test_a_condition_of_another_type_is_refused(snapshot: Snapshot) -> None:
    with pytest.raises(InvalidArgumentError):
        snapshot.scan(7)  # type: ignore[arg-type]


def test_the_store_of_data_files_keeps_its_former_name(snapshot: Snapshot) -> None:
    with pytest.warns(DeprecationWarning, match="data_store"):
        assert snapshot.table.files is snapshot.table.data_store
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert snapshot.table.data_store.root


def test_the_log_of_a_snapshot_keeps_its_former_name(snapshot: Snapshot) -> None:
    with pytest.warns(DeprecationWarning, match="table_version"):
        assert snapshot.state is snapshot.table_version
