"""Functions of a catalog, made known to a Spark session as Arrow functions.

All kinds are scalar functions of Spark: `expansion` says how their calls are written out.
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
    """Make functions known to a session under their names, for any number of arguments."""
    for function in functions:
        session.udf.register(function.name, spark_function(function))


def spark_function(function: Function) -> Any:
    """A function as one of Spark's: batch by batch, from Arrow to Arrow."""
    module = sys.modules.get(function.kernel.__module__)
    if module is not None and module.__name__.startswith(MODULE_PREFIX):
        # Workers have no such module: it goes along with the function.
        cloudpickle.register_pickle_by_value(module)  # type: ignore[no-untyped-call]
    returns = type_text(function.signature.returns)
    if function.kind is FunctionKind.TABLE:
        returns = f"ARRAY<{returns}>"
    compute = _computing(function)
    made: Any = arrow_udf(compute, returns)  # type: ignore[call-overload]
    return made.asNondeterministic() if function.is_volatile else made


def _computing(function: Function) -> Callable[..., pa.Array]:
    def compute(*arrays: pa.Array) -> pa.Array:
        match function.kind:
            case FunctionKind.SCALAR:
                return function(*arrays)
            case FunctionKind.AGGREGATE | FunctionKind.WINDOW:
                (lists,) = arrays
                return reduce_lists(function, lists, lists.type.value_type.num_fields)
            case FunctionKind.TABLE:
                given = arrays if function.signature.arguments else ()
                return compute_row_lists(function, given, len(arrays[0]))

    return compute
