"""Registers functions of a catalog as Arrow UDFs in a Spark session.

All kinds are scalar functions in Spark; `expansion` describes how their calls are rewritten.
"""

import os
import sys
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import pyarrow as pa
from pyspark import cloudpickle
from pyspark.sql import SparkSession
from pyspark.sql.pandas.functions import arrow_udf

from headrace.pipeline.arrow_ddl import type_text
from headrace.pipeline.functions.catalog import Catalog
from headrace.pipeline.functions.computation import compute_row_lists, reduce_lists
from headrace.pipeline.functions.definition import Function, FunctionKind
from headrace.pipeline.project.importing import MODULE_PREFIX


def register_functions(
    session: SparkSession, functions: Iterable[Function], *, catalog: Catalog | None = None
) -> None:
    """Register functions in a session under their names.

    Args:
        session: The session.
        functions: The functions.
        catalog: The catalog that knows which environment variables they read; by default none.
    """
    for function in functions:
        variables = () if catalog is None else catalog.part(function.name).variables
        session.udf.register(function.name, spark_function(function, variables))


def spark_function(function: Function, variables: Iterable[str] = ()) -> Any:
    """Return a function as a Spark UDF from Arrow batches to Arrow batches.

    Workers have their own environment. So the function takes the values of the environment
    variables that it reads along: they are the values in its fingerprint.
    """
    module = sys.modules.get(function.kernel.__module__)
    if module is not None and module.__name__.startswith(MODULE_PREFIX):
        # Workers cannot import this module, so it is pickled with the function.
        cloudpickle.register_pickle_by_value(module)  # type: ignore[no-untyped-call]
    returns = type_text(function.signature.returns)
    if function.kind is FunctionKind.TABLE:
        returns = f"ARRAY<{returns}>"
    compute = arrow_kernel(function, {name: os.environ.get(name) for name in variables})
    udf: Any = arrow_udf(compute, returns)  # type: ignore[call-overload]
    return udf.asNondeterministic() if function.is_volatile else udf


def arrow_kernel(
    function: Function, environment: Mapping[str, str | None]
) -> Callable[..., pa.Array]:
    """Return what Spark calls with the Arrow arrays of a batch, by the kind of the function.

    Args:
        function: The function.
        environment: The variables to set before a call; those that are None are removed.
    """

    def compute(*arrays: pa.Array) -> pa.Array:
        for name, value in environment.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value
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
