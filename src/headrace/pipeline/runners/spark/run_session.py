"""The session that a run takes if it is given none."""

from typing import Any

from pyspark.sql import SparkSession

import headrace.spark
from headrace.errors import SessionError
from headrace.pipeline.project.profile import Profile


def take_session(session: SparkSession) -> SparkSession:
    """A session of the caller's, if runs can work with it.

    Raises:
        SessionError: it has been stopped, is too old, or has no driver in this process, from
            whose JVM pinned scans, plans and ids of jobs come.
    """
    if headrace.spark.is_connect(session):
        raise SessionError(reason="runs need a driver in this process, which Spark Connect has not")
    return headrace.spark.attach(session)


def running_session() -> SparkSession | None:
    """The session that is running, if there is one that runs can work with."""
    running = SparkSession.getActiveSession()
    is_fit = running is not None and not headrace.spark.is_connect(running)
    return running if is_fit else None


def open_session(profile: Profile) -> SparkSession:
    """The session that is running, or one as the profile says: local, unless it names a master.

    Raises:
        JavaNotFoundError: there is no Java.
        SessionError: the running one cannot be worked with, as for `take_session`.
    """
    running = SparkSession.getActiveSession()
    if running is not None:
        return take_session(running)
    settings: dict[str, Any] = {
        "spark.master": profile.spark_master(),
        **profile.spark_settings(),
    }
    return headrace.spark.open_session(**settings)
