"""Check that the canonical form of a plan is equivalent to the plan from DataFusion."""

from datafusion import SessionContext
from datafusion.substrait import Consumer, Producer, Serde

from headrace.pipeline.analysis.planning_session import Planned
from headrace.pipeline.analysis.substrait import plan_bytes

_MAX_READINGS = 50


def check_canonical(context: SessionContext, planned: Planned) -> None:
    """Assert that DataFusion reads the same query from the canonical plan as from its own.

    DataFusion reads the window functions of a query in hash map order, which varies. So both plans
    are read repeatedly until two readings agree; plans that differ never agree.
    """
    optimized = planned.frame.optimized_logical_plan()
    raw = Producer.to_substrait_plan(optimized, context).encode()
    canonical = plan_bytes(planned.plan)
    of_raw, of_canonical = set[str](), set[str]()
    for _ in range(_MAX_READINGS):
        of_raw.add(_read_back(context, raw))
        of_canonical.add(_read_back(context, canonical))
        if of_raw & of_canonical:
            return
    raise AssertionError(f"{min(of_canonical)}\n\nis not\n\n{min(of_raw)}")


def _read_back(context: SessionContext, encoded: bytes) -> str:
    """Return the query that a plan encodes, or the error on reading it."""
    try:
        plan = Consumer.from_substrait_plan(context, Serde.deserialize_bytes(encoded))
        frame = context.create_dataframe_from_logical_plan(plan)
        return str(frame.optimized_logical_plan().display_indent_schema())
    except Exception as error:  # noqa: BLE001  (DataFusion raises bare exceptions)
        return f"{type(error).__name__}: {str(error).partition(':')[0]}"
