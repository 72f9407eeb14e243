"""Registers functions of a catalog as Arrow UDFs in a Spark session.

All kinds are scalar functions in Spark; `expansion` describes how their calls are rewritten.
"""

import sys
from collections.abc import Callable, Iterable
from typing import Any

import pyarrow as pa
from pyspark import cloudpickle
from pyspark.sql import SparkSession
from pyspark.sql.pandas.functions import arrow_udf

from headrace.pipeline.arrow_ddl import type_text
from headrace.pipeline.functions.computation import compute_row_lists, reduce_lists
from headrace.pipeline.functions.definition import Function, FunctionKind
from headrace.pipeline.project.importing import MODULE_PREFIX


def register_functions(session: SparkSession, functions: Iterable[Function]) -> None:
    """Register functions in a session under their names."""
    for function in functions:
        session.udf.register(function.name, spark_function(function))


def spark_function(function: Function) -> Any:
    """Return a function as a Spark UDF from Arrow batches to Arrow batches."""
    module = sys.modules.get(function.kernel.__module__)
    if module is not None and module.__name__.startswith(MODULE_PREFIX):
        # Workers cannot import this module, so it is pickled with the function.
        cloudpickle.register_pickle_by_value(module)  # type: ignore[no-untyped-call]
    returns = type_text(function.signature.returns)
    if function.kind is FunctionKind.TABLE:
        returns = f"ARRAY<{returns}>"
    compute = _arrow_kernel(function)
    udf: Any = arrow_udf(compute, returns)  # type: ignore[call-overload]
    return udf.asNondeterministic() if function.is_volatile else udf


def _arrow_kernel(function: Function) -> Callable[..., pa.Array]:
    """Return what Spark calls with the Arrow arrays of a batch, by the kind of the function."""

    def compute(*arrays: pa.Array) -> pa.Array:
        match function.kind:
            case FunctionKind.SCALAR:
                return function(*arrays)
            case FunctionKind.AGGREGATE | FunctionKind.WINDOW:
                (lists,) = arrays
                return reduce_lists(function, lists, lists.type.value_type.num_fields)
            case FunctionKind.TABLE:
                arguments = arrays if function.signature.arguments else ()
                return compute_row_lists(function, arguments, len(arrays[0]))

    return compute
