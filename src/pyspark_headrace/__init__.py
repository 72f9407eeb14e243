"""Lets every Spark session find the data source `headrace` by itself.

Spark imports the modules whose names start with `pyspark_` when it first looks for a data source
in Python, and takes what they call `DefaultSource`. The functions of SQL need
`headrace.spark.register`.
"""

from contextlib import suppress

# A Spark that is too old for us must not lose the data sources of others over it.
with suppress(ImportError):
    from headrace.spark.source import HeadraceSource as DefaultSource

__all__ = ["DefaultSource"]
