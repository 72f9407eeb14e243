"""Chooses the Spark session of a run.

The caller's session is checked, never changed; without one, the running session or a new one is
used.
"""

from typing import Any

from pyspark.sql import SparkSession

import headrace.spark
from headrace.errors import SessionError
from headrace.pipeline.project.profile import Profile


def take_session(session: SparkSession) -> SparkSession:
    """Return the caller's session, if runs can use it.

    Raises:
        SessionError: it has been stopped, is too old, or has no driver in this process, whose JVM
            provides pinned scans, plans and job ids.
    """
    if headrace.spark.is_connect(session):
        raise SessionError(
            reason="runs need a driver in this process, which Spark Connect does not have"
        )
    return headrace.spark.attach(session)


def running_session() -> SparkSession | None:
    """Return the running session; None if there is none that runs can use."""
    running = SparkSession.getActiveSession()
    is_usable = running is not None and not headrace.spark.is_connect(running)
    return running if is_usable else None


def open_session(profile: Profile) -> SparkSession:
    """Return the running session, or a new one: local, unless the profile names a master.

    Raises:
        JavaNotFoundError: there is no suitable Java.
        SessionError: the running session cannot be used, as for `take_session`.
    """
    running = SparkSession.getActiveSession()
    if running is not None:
        return take_session(running)
    settings: dict[str, Any] = {
        "spark.master": profile.spark_master(),
        **profile.spark_settings(),
    }
    return headrace.spark.open_session(**settings)
