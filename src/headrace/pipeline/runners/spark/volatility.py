"""Whether Spark may compute something else next time: its own analysed plan is asked."""

from pyspark.sql import DataFrame

from headrace.spark.jvm import load_frames


def volatile_parts(frame: DataFrame) -> tuple[str, ...]:
    """What in a query depends on chance, the clock or the session, as reasons; () if nothing."""
    reasons = load_frames(frame.sparkSession).volatility(frame._jdf)  # noqa: SLF001  (the JVM's own)
    return tuple(reasons.splitlines())
