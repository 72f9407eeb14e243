"""The Spark interface: a session and a table's address enter, ordinary DataFrames leave.

A DataFrame reads the files that the kernel planned at one pinned version, with Spark's native
scan. PySpark from PyPI is sufficient: `pip install headrace[spark]`, or `headrace[spark-java]` if
no Java is installed.
"""

from headrace.spark.requirement import require_pyspark

require_pyspark()

# isort: split
from headrace.engines.spark.any_session import is_connect  # noqa: E402  (only now there is a Spark)
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
