"""Evaluates the body of a lambda: a DataFusion expression over columns.

The body's text and its columns enter; one array leaves. Each evaluation runs in its own session.
"""

import threading
from collections.abc import Iterable, Mapping

import pyarrow as pa
from datafusion import SessionContext, udf

from headrace.pipeline.translation.kernel import kernels_in, parse_kernel
from headrace.pipeline.translation.session import translated_session

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
    """Evaluate a body over columns of one length."""
    columns = {f"{VARIABLE}{n}": column for n, column in enumerate(variables)}
    columns |= {f"{CAPTURED}{n}": column for n, column in enumerate(captured)}
    if not len(columns[f"{VARIABLE}0"]):
        return pa.array([], gives)
    # An engine thread must not start a query; a Python thread may.
    work = _Work(body, columns, gives)
    work.start()
    work.join()
    if work.failure is not None:
        raise work.failure
    assert work.result is not None
    return work.result


class _Work(threading.Thread):
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
            # Only `collect` runs in this very thread, so it needs no thread of the engine.
            batches = context.sql(f"SELECT {self.body} AS r FROM elements").collect()
            found = pa.chunked_array([batch.column(0) for batch in batches])
            self.result = found.cast(self.gives).combine_chunks()
        except BaseException as error:  # noqa: BLE001  (raised again where it was asked for)
            self.failure = error
