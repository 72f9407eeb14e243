"""Canonical Substrait returns the same rows as the plan from DataFusion."""

import pyarrow as pa
import pytest
from datafusion import SessionContext
from datafusion.substrait import Consumer, Producer, Serde
from google.protobuf.message import Message
from substrait.algebra_pb2 import SortField
from substrait.plan_pb2 import Plan

from headrace.pipeline.analysis.planning_session import Planned, planning_context
from headrace.pipeline.analysis.substrait import UnknownFieldError, canonical_plan, plan_bytes
from headrace.pipeline.project.setting import Settings
from tests.pipeline.canonical import check_canonical

ROWS = pa.table(
    {
        "id": pa.array([1, 2, 3, 4, None, 6]),
        "w": ["a", "bb", "bb", None, "", "Ccc"],
        "amount": pa.array([3, 9, 5, None, 12, -1]),
    }
)
QUERIES = [
    "SELECT length(w) AS k, count(*) AS n FROM t GROUP BY length(w)",
    "SELECT amount > 5 AS k, count(*) AS n FROM t GROUP BY amount > 5",
    "SELECT id - 1 AS k, count(*) AS n FROM t GROUP BY id - 1",
    "SELECT id * 2 AS k, count(*) AS n FROM t GROUP BY id * 2",
    "SELECT upper(w) AS k, count(*) AS n, max(ascii(w)) AS m FROM t GROUP BY upper(w)",
    "SELECT upper(w) AS k, length(w) AS l, sum(id + 1) AS n FROM t GROUP BY upper(w), length(w)",
    "SELECT upper(w) AS k, count(*) AS n FROM t GROUP BY ROLLUP (upper(w))",
    "SELECT id, sum(abs(amount)) OVER (PARTITION BY lower(w) ORDER BY id + 1) AS s FROM t",
    "SELECT id FROM t WHERE length(w) IN (SELECT id % 3 FROM t WHERE amount * 2 > 3)",
    "SELECT DISTINCT abs(amount) - 1 AS k FROM t",
    "SELECT upper(w) AS k FROM t UNION ALL SELECT lower(w) FROM t",
    "SELECT a.id, length(b.w) AS l FROM t a JOIN t b ON a.id + 1 = b.id AND ascii(a.w) > 1",
]


@pytest.fixture(scope="module")
def context() -> SessionContext:
    session = planning_context(Settings())
    session.register_record_batches("t", [ROWS.to_batches()])
    return session


def rows(context: SessionContext, plan: bytes) -> list[str]:
    logical = Consumer.from_substrait_plan(context, Serde.deserialize_bytes(plan))
    table_rows = context.create_dataframe_from_logical_plan(logical).to_arrow_table().to_pylist()
    return sorted(map(str, table_rows))


@pytest.mark.parametrize("sql", QUERIES)
def test_a_canonical_plan_returns_the_rows_of_the_query(context: SessionContext, sql: str) -> None:
    frame = context.sql(sql)
    raw = Producer.to_substrait_plan(frame.optimized_logical_plan(), context).encode()
    expected = sorted(map(str, frame.to_arrow_table().to_pylist()))
    assert rows(context, plan_bytes(canonical_plan(raw))) == expected


UNKNOWN = bytes([0xFA, 0x3E, 1, 0])
"""Field 1007, one byte."""


def encoded(context: SessionContext, sql: str) -> bytes:
    frame = context.sql(sql)
    return Producer.to_substrait_plan(frame.optimized_logical_plan(), context).encode()


def test_a_plan_with_an_unknown_field_is_not_rewritten(context: SessionContext) -> None:
    plan = Plan()
    plan.ParseFromString(encoded(context, "SELECT id + 1 AS a FROM t"))
    plan.relations[0].root.input.project.input.MergeFromString(UNKNOWN)
    with pytest.raises(UnknownFieldError, match=r"1007 of substrait\.Rel"):
        canonical_plan(plan.SerializeToString())


def test_a_plan_with_an_extension_is_not_rewritten(context: SessionContext) -> None:
    plan = Plan()
    plan.ParseFromString(encoded(context, "SELECT id + 1 AS a FROM t"))
    common = plan.relations[0].root.input.project.common
    common.advanced_extension.enhancement.Pack(plan.extensions[0])
    with pytest.raises(UnknownFieldError, match="extension"):
        canonical_plan(plan.SerializeToString())


def messages(message: Message) -> list[Message]:
    """Return a message and all messages nested in it."""
    nested = [message]
    for field, value in message.ListFields():
        if field.message_type is not None:
            for inner in value if field.is_repeated else (value,):
                nested += messages(inner)
    return nested


@pytest.mark.parametrize("sql", [QUERIES[5], QUERIES[7], QUERIES[8], QUERIES[11]])
def test_an_unknown_field_is_detected_anywhere(context: SessionContext, sql: str) -> None:
    plan = Plan()
    plan.ParseFromString(encoded(context, sql))
    plan.ClearField("version")  # the only message that a canonical plan lacks
    for place in range(len(messages(plan))):
        changed = Plan()
        changed.CopyFrom(plan)
        messages(changed)[place].MergeFromString(UNKNOWN)
        with pytest.raises(UnknownFieldError):
            canonical_plan(changed.SerializeToString())


def test_every_kind_of_function_reference_is_renumbered(context: SessionContext) -> None:
    plan = Plan()
    plan.ParseFromString(encoded(context, "SELECT id FROM t ORDER BY upper(w), length(w)"))
    names = {f.function_anchor: f.name for f in (e.extension_function for e in plan.extensions)}
    sorts = [m for m in messages(plan) if isinstance(m, SortField)]
    for key, anchor in zip(sorts, sorted(names), strict=True):
        key.comparison_function_reference = anchor
    expected = [names[key.comparison_function_reference] for key in sorts]
    canonical = canonical_plan(plan.SerializeToString())
    renamed = {e.extension_function.function_anchor: e.extension_function.name
               for e in canonical.extensions}  # fmt: skip
    keys = [m for m in messages(canonical) if isinstance(m, SortField)]
    assert [renamed[key.comparison_function_reference] for key in keys] == expected


def test_a_plan_that_declares_types_is_not_rewritten(context: SessionContext) -> None:
    plan = Plan()
    plan.ParseFromString(encoded(context, "SELECT id + 1 AS a FROM t"))
    plan.extensions.add().extension_type.name = "point"
    with pytest.raises(UnknownFieldError, match="extension_type"):
        canonical_plan(plan.SerializeToString())


def test_the_check_of_all_plans_detects_a_wrong_reference(context: SessionContext) -> None:
    frame = context.sql("SELECT upper(w) AS a, lower(w) AS b FROM t")
    raw = Producer.to_substrait_plan(frame.optimized_logical_plan(), context).encode()
    plan = canonical_plan(raw)
    check_canonical(context, Planned(plan, frame.schema(), frame))
    first, second = (extension.extension_function for extension in plan.extensions)
    first.name, second.name = second.name, first.name
    with pytest.raises(AssertionError):
        check_canonical(context, Planned(plan, frame.schema(), frame))
