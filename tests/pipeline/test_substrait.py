"""Canonical Substrait gives the rows of the plan that DataFusion made."""

import pyarrow as pa
import pytest
from datafusion import SessionContext
from datafusion.substrait import Consumer, Producer, Serde
from substrait.plan_pb2 import Plan

from headrace.pipeline.planning.session import planning_context
from headrace.pipeline.planning.substrait import UnknownFieldError, canonical_plan, plan_bytes
from headrace.pipeline.project.setting import Settings

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
    found = context.create_dataframe_from_logical_plan(logical).to_arrow_table().to_pylist()
    return sorted(map(str, found))


@pytest.mark.parametrize("sql", QUERIES)
def test_a_canonical_plan_gives_the_rows_of_the_query(context: SessionContext, sql: str) -> None:
    frame = context.sql(sql)
    raw = Producer.to_substrait_plan(frame.optimized_logical_plan(), context).encode()
    expected = sorted(map(str, frame.to_arrow_table().to_pylist()))
    assert rows(context, plan_bytes(canonical_plan(raw))) == expected


def test_a_plan_with_a_field_that_is_not_known_is_not_rewritten(context: SessionContext) -> None:
    frame = context.sql("SELECT id + 1 AS a FROM t")
    raw = Producer.to_substrait_plan(frame.optimized_logical_plan(), context).encode()
    plan = Plan()
    plan.ParseFromString(raw)
    unknown = bytes([0xFA, 0x3E, 1, 0])  # field 1007, one byte
    plan.relations[0].root.input.project.input.MergeFromString(unknown)
    with pytest.raises(UnknownFieldError, match=r"1007 of substrait\.Rel"):
        canonical_plan(plan.SerializeToString())
