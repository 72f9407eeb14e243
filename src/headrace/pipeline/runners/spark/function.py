"""Functions of a catalog, made known to a Spark session as Arrow functions."""

import sys
from collections.abc import Iterable
from typing import Any

import pyarrow as pa
from pyspark import cloudpickle
from pyspark.sql import SparkSession
from pyspark.sql.pandas.functions import arrow_udf

from headrace.pipeline.arrow_ddl import type_text
from headrace.pipeline.functions.declaration import Function
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

    def compute(*arrays: pa.Array) -> pa.Array:
        return function(*arrays)

    made: Any = arrow_udf(compute, type_text(function.signature.returns))  # type: ignore[call-overload]
    return made.asNondeterministic() if function.is_volatile else made
