"""Determines from Spark's analysed plan whether a query is deterministic."""

from pyspark.sql import DataFrame

from headrace.spark.jvm import load_frames


def volatile_parts(frame: DataFrame) -> tuple[str, ...]:
    """Return why a query depends on randomness, the clock or the session; () if it does not."""
    reasons = load_frames(frame.sparkSession).volatility(frame._jdf)  # noqa: SLF001  (the JVM's own)
    return tuple(reasons.splitlines())
