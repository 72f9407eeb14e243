"""The session that a run takes if it is given none."""

from typing import Any

from pyspark.sql import SparkSession

import headrace.spark
from headrace.pipeline.project.profile import Profile


def open_session(profile: Profile) -> SparkSession:
    """The session that is running, or a local one as large as the profile says.

    Raises:
        JavaNotFoundError: there is no Java.
    """
    running = SparkSession.getActiveSession()
    if running is not None:
        return headrace.spark.attach(running)
    settings: dict[str, Any] = {
        "spark.master": profile.spark_master(),
        **profile.spark_settings(),
    }
    return headrace.spark.local(**settings)
