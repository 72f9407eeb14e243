"""The functions that Spark 4.3 itself has, as `SHOW SYSTEM FUNCTIONS` lists them."""

from functools import cache
from importlib.resources import files


@cache
def spark_functions() -> frozenset[str]:
    """Their names, in lower case."""
    listed = files("headrace.pipeline.functions").joinpath("spark_functions.txt")
    return frozenset(listed.read_text(encoding="utf-8").split())
