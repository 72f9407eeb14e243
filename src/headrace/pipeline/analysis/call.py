"""Finds the functions that a view calls, and checks that they exist.

A parsed query and the catalog enter; the names of the catalog's functions leave. An unknown
function is an error that suggests similar names.
"""

from collections.abc import Sequence
from difflib import get_close_matches

from headrace.errors import FunctionMissingError
from headrace.pipeline.analysis.query import Query
from headrace.pipeline.functions.builtin import spark_functions
from headrace.pipeline.functions.catalog import Catalog


def functions_used(query: Query, catalog: Catalog, *, view: str, file: str) -> tuple[str, ...]:
    """Return the functions of the catalog that a query calls, sorted.

    Raises:
        FunctionMissingError: it calls a function that is neither in the catalog nor in Spark.
    """
    for name in query.unknown_calls:
        if name not in catalog and name not in spark_functions():
            known = [*catalog.entries, *spark_functions()]
            place = query.place_of(name)
            raise FunctionMissingError(
                view=view,
                function=name,
                similar=_similar(name, known),
                place=None if place is None else f"{file} {place}",
            )
    return tuple(sorted(name for name in query.calls if name in catalog))


def _similar(name: str, known: Sequence[str]) -> list[str]:
    return get_close_matches(name, known, n=2)
