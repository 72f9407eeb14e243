"""The Spark door: a Spark session and a table's address enter, ordinary DataFrames leave.

The files that a DataFrame reads are those that the kernel planned at one pinned version; what
Spark does with them from there on is its own native scan. PySpark from PyPI is all it takes:
`pip install headrace[spark]`, and `headrace[spark-java]` where there is no Java.
"""

from headrace.spark.requirement import require_pyspark

require_pyspark()

# isort: split
from headrace.engines.spark.session import is_connect  # noqa: E402  (only now there is a Spark)
from headrace.spark.job_progress import progress  # noqa: E402
from headrace.spark.live_files import files, open_table  # noqa: E402
from headrace.spark.read import read  # noqa: E402
from headrace.spark.session import attach, local, open_session  # noqa: E402
from headrace.spark.source import register  # noqa: E402
from headrace.spark.state_sql import sql  # noqa: E402

__all__ = [
    "attach",
    "files",
    "is_connect",
    "local",
    "open_session",
    "open_table",
    "progress",
    "read",
    "register",
    "sql",
]
