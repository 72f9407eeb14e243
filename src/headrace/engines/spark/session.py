"""What differs between a classic session and that of a thin client of Spark Connect."""

from pyspark.sql import SparkSession

_PARALLELISM_OVER_CONNECT = 16
"""A thin client does not know how many cores there are."""


def is_connect(session: SparkSession) -> bool:
    """Whether the session talks to a Spark Connect server: there is no JVM to reach then."""
    return type(session).__module__.startswith("pyspark.sql.connect.")


def parallelism(session: SparkSession) -> int:
    """How many tasks the session may run at a time."""
    if is_connect(session):
        return _PARALLELISM_OVER_CONNECT
    return max(1, session.sparkContext.defaultParallelism)


def tag_jobs(session: SparkSession, tag: str) -> None:
    """Let the jobs that this thread starts from now on be cancelled by a tag."""
    if is_connect(session):
        session.addTag(tag)
    else:
        # Results are collected by a thread of the JVM, which inherits the tags of jobs, but not
        # those of the session.
        session.sparkContext.addJobTag(tag)
        session.sparkContext.setInterruptOnCancel(True)


def cancel_jobs(session: SparkSession, tag: str) -> None:
    """Cancel the jobs with a tag that run now."""
    if is_connect(session):
        session.interruptTag(tag)
    else:
        session.sparkContext.cancelJobsWithTag(tag)
