"""Whether the canonical form of a plan is the plan that DataFusion made."""

from datafusion import SessionContext
from datafusion.substrait import Consumer, Producer, Serde

from headrace.pipeline.planning.session import Planned
from headrace.pipeline.planning.substrait import plan_bytes


def check_canonical(context: SessionContext, planned: Planned) -> None:
    """Assert that DataFusion reads the same query from the canonical plan as from its own."""
    optimized = planned.frame.optimized_logical_plan()
    raw = Producer.to_substrait_plan(optimized, context).encode()
    expected = _read_back(context, raw)
    assert _read_back(context, plan_bytes(planned.plan)) == expected


def _read_back(context: SessionContext, encoded: bytes) -> str:
    """The query that a plan stands for, or why it is none."""
    try:
        plan = Consumer.from_substrait_plan(context, Serde.deserialize_bytes(encoded))
        frame = context.create_dataframe_from_logical_plan(plan)
        return str(frame.optimized_logical_plan().display_indent_schema())
    except Exception as error:  # noqa: BLE001  (DataFusion raises bare exceptions)
        return f"{type(error).__name__}: {str(error).partition(':')[0]}"
