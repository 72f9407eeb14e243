"""Evaluates the body of a lambda: a DataFusion expression over columns.

The body's text and its columns enter; one array leaves. Each evaluation runs in its own session.
"""

import threading
from collections.abc import Iterable, Mapping

import pyarrow as pa
from datafusion import SessionContext, udf

from headrace.pipeline.translation.kernel import kernels_in, parse_kernel
from headrace.pipeline.translation.translated_session import translated_session

VARIABLE, CAPTURED = "v", "c"
"""The name prefixes of a body's columns: its parameters, and its captured values."""


def register_kernels(context: SessionContext, names: Iterable[str]) -> None:
    """Register kernels in a session."""
    for name in names:
        call = parse_kernel(name)
        context.register_udf(udf(call.compute, list(call.takes), call.gives, "immutable", name))


def evaluate(
    body: str, variables: Iterable[pa.Array], captured: Iterable[pa.Array], gives: pa.DataType
) -> pa.Array:
    """Evaluate a body over columns of equal length."""
    columns = {f"{VARIABLE}{n}": column for n, column in enumerate(variables)}
    columns |= {f"{CAPTURED}{n}": column for n, column in enumerate(captured)}
    if not len(columns[f"{VARIABLE}0"]):
        return pa.array([], gives)
    # A kernel runs in a thread of DataFusion, which must not start a query; a new thread may.
    work = _Work(body, columns, gives)
    work.start()
    work.join()
    if work.failure is not None:
        raise work.failure
    assert work.result is not None
    return work.result


class _Work(threading.Thread):
    """Evaluates a body in a thread, which keeps the result or the failure."""

    def __init__(self, body: str, columns: Mapping[str, pa.Array], gives: pa.DataType) -> None:
        super().__init__()
        self.body, self.columns, self.gives = body, columns, gives
        self.result: pa.Array | None = None
        self.failure: BaseException | None = None

    def run(self) -> None:
        try:
            context = translated_session({})
            register_kernels(context, kernels_in(self.body))
            rows = pa.record_batch(dict(self.columns))
            context.register_record_batches("elements", [[rows]])
            # `collect` runs in this thread, so it does not wait for a thread of DataFusion.
            batches = context.sql(f"SELECT {self.body} AS r FROM elements").collect()
            column = pa.chunked_array([batch.column(0) for batch in batches])
            self.result = column.cast(self.gives).combine_chunks()
        except BaseException as error:  # noqa: BLE001  (raised again by `evaluate`)
            self.failure = error
