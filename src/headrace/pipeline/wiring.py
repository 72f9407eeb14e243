"""Constructs runners and opens Spark sessions for pipelines.

This is the only module of the room that imports inside functions, so that a project can be planned,
listed, explained, and run on DataFusion without Spark.
"""

import os
import sys
from typing import Any

from headrace.pipeline.functions.catalog import Catalog
from headrace.pipeline.planner.plan_request import BuilderAnalyst, ViewChecker
from headrace.pipeline.project.launch_setting import launch_settings
from headrace.pipeline.project.profile import Profile
from headrace.pipeline.project.setting import Settings
from headrace.pipeline.project.spark_setting import view_settings
from headrace.pipeline.runners.task import Runner, RunnerContext

SparkSession = Any
"""A `pyspark.sql.SparkSession`, typed as `Any` so that planning does not import Spark."""


def open_spark(profile: Profile) -> SparkSession:
    """Return the running session, or a local one of the size that the profile sets.

    Raises:
        MissingExtraError, JavaNotFoundError: Spark is not available.
    """
    from headrace.pipeline.runners.spark.run_session import open_session  # noqa: PLC0415

    return open_session(profile)


def take_spark(session: SparkSession) -> SparkSession:
    """Return the caller's session, if runs can use it.

    Raises:
        SessionError: runs cannot use it.
    """
    from headrace.pipeline.runners.spark.run_session import take_session  # noqa: PLC0415

    return take_session(session)


def session_settings(session: SparkSession | None) -> dict[str, str]:
    """Return the settings of a session that can change a result; None means the running session.

    No session is started: if none is running, these are the settings that a new one starts with.
    """
    if session is None and running_spark() is None:
        return view_settings(launch_settings(os.environ))
    from headrace.pipeline.runners.spark.view_session import changed_settings  # noqa: PLC0415

    return changed_settings(session)


def builder_analyst(session: SparkSession) -> BuilderAnalyst:
    """Return the analyst of builder views."""
    from headrace.pipeline.runners.spark.analyst import SparkAnalyst  # noqa: PLC0415

    return SparkAnalyst(session)


def running_spark() -> SparkSession | None:
    """Return the session that is running in this process; None if there is none."""
    if "pyspark" not in sys.modules:
        return None
    from headrace.pipeline.runners.spark.run_session import running_session  # noqa: PLC0415

    return running_session()


def view_checker(
    session: SparkSession, *, profile: Profile, settings: Settings, catalog: Catalog
) -> ViewChecker:
    """Return the checker that runs Spark's analyser over the SQL of views."""
    from headrace.pipeline.runners.spark.checker import SparkChecker  # noqa: PLC0415
    from headrace.pipeline.runners.spark.view_session import view_session  # noqa: PLC0415

    return SparkChecker(view_session(session, profile, settings), catalog)


def spark_runner(session: SparkSession, context: RunnerContext) -> Runner:
    """Return the runner on Spark."""
    from headrace.pipeline.runners.spark.runner import SparkRunner  # noqa: PLC0415

    return SparkRunner(session, context)


def datafusion_runner(context: RunnerContext) -> Runner:
    """Return the embedded runner."""
    from headrace.pipeline.runners.datafusion.runner import DataFusionRunner  # noqa: PLC0415

    return DataFusionRunner(context)


def open_tracing() -> Any:
    """Return the module `opentelemetry.trace`; None if the extra `otel` is not installed."""
    try:
        from opentelemetry import trace  # noqa: PLC0415
    except ImportError:
        return None
    return trace
