"""Hides the differences between a classic session and a thin client of Spark Connect.

A session of either kind enters every function; callers need not know which one it is.
"""

from pyspark.sql import SparkSession

_PARALLELISM_OVER_CONNECT = 16
"""A thin client does not know the number of cores."""


def is_connect(session: SparkSession) -> bool:
    """Whether the session is connected to a Spark Connect server; then no JVM can be reached."""
    return type(session).__module__.startswith("pyspark.sql.connect.")


def parallelism(session: SparkSession) -> int:
    """Return the number of tasks that the session may run at a time."""
    if is_connect(session):
        return _PARALLELISM_OVER_CONNECT
    return max(1, session.sparkContext.defaultParallelism)


def tag_jobs(session: SparkSession, tag: str) -> None:
    """Tag the jobs that this thread starts from now on, so that they can be cancelled."""
    if is_connect(session):
        session.addTag(tag)
    else:
        # A thread of the JVM collects results. It inherits the tags of jobs, but not those of the
        # session.
        session.sparkContext.addJobTag(tag)
        session.sparkContext.setInterruptOnCancel(True)


def cancel_jobs(session: SparkSession, tag: str) -> None:
    """Cancel the running jobs with a tag."""
    if is_connect(session):
        session.interruptTag(tag)
    else:
        session.sparkContext.cancelJobsWithTag(tag)
