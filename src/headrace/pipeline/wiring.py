"""Where the runners of pipelines are put together.

The only module of this room that imports inside functions: so a project can be planned, listed
and explained, and run on DataFusion, where there is no Spark.
"""

import sys
from typing import Any

from headrace.pipeline.functions.catalog import Catalog
from headrace.pipeline.planner.plan_request import BuilderAnalyst, ViewChecker
from headrace.pipeline.project.profile import Profile
from headrace.pipeline.project.setting import Settings
from headrace.pipeline.runners.task import Runner, RunnerContext

SparkSession = Any
"""A `pyspark.sql.SparkSession`, named so that planning does not import Spark."""


def open_spark(profile: Profile) -> SparkSession:
    """The session that is running, or a local one as large as the profile says.

    Raises:
        MissingExtraError, JavaNotFoundError: Spark cannot run here.
    """
    from headrace.pipeline.runners.spark.run_session import open_session  # noqa: PLC0415

    return open_session(profile)


def take_spark(session: SparkSession) -> SparkSession:
    """A session of the caller's, if runs can work with it.

    Raises:
        SessionError: they cannot.
    """
    from headrace.pipeline.runners.spark.run_session import take_session  # noqa: PLC0415

    return take_session(session)


def session_settings(session: SparkSession | None) -> dict[str, str]:
    """The settings of a session that can change a result; of the running one if None is given.

    No session is started for it: where Spark has not been imported, none is running.
    """
    if session is None and "pyspark" not in sys.modules:
        return {}
    from headrace.pipeline.runners.spark.view_session import changed_settings  # noqa: PLC0415

    return changed_settings(session)


def builder_analyst(session: SparkSession) -> BuilderAnalyst:
    """Who tells what builder views read."""
    from headrace.pipeline.runners.spark.analyst import SparkAnalyst  # noqa: PLC0415

    return SparkAnalyst(session)


def running_spark() -> SparkSession | None:
    """The session that is running in this process, if there is one; none is started."""
    if "pyspark" not in sys.modules:
        return None
    from headrace.pipeline.runners.spark.run_session import running_session  # noqa: PLC0415

    return running_session()


def view_checker(
    session: SparkSession, *, profile: Profile, settings: Settings, catalog: Catalog
) -> ViewChecker:
    """Who tells what Spark's analyser thinks of the text of views."""
    from headrace.pipeline.runners.spark.checker import SparkChecker  # noqa: PLC0415
    from headrace.pipeline.runners.spark.view_session import view_session  # noqa: PLC0415

    return SparkChecker(view_session(session, profile, settings), catalog)


def spark_runner(session: SparkSession, context: RunnerContext) -> Runner:
    """The runner on Spark."""
    from headrace.pipeline.runners.spark.runner import SparkRunner  # noqa: PLC0415

    return SparkRunner(session, context)


def datafusion_runner(context: RunnerContext) -> Runner:
    """The embedded runner."""
    from headrace.pipeline.runners.datafusion.runner import DataFusionRunner  # noqa: PLC0415

    return DataFusionRunner(context)


def open_tracing() -> Any:
    """The module `opentelemetry.trace`; None where the extra `otel` is not installed."""
    try:
        from opentelemetry import trace  # noqa: PLC0415
    except ImportError:
        return None
    return trace
