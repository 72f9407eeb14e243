"""Creates the sessions that views run in: fixed settings, and those of the caller's session."""

from collections.abc import Iterator

from pyspark.sql import SparkSession

from headrace.engines.spark.any_session import is_connect
from headrace.pipeline.bundle.view_plan import ViewPlan
from headrace.pipeline.project.profile import Profile
from headrace.pipeline.project.setting import Settings
from headrace.pipeline.project.spark_setting import PINNED, view_settings


def view_session(base: SparkSession, profile: Profile, settings: Settings) -> SparkSession:
    """Return a new session with the settings of a project's views."""
    session = base.newSession()
    for name, value in profile.spark_settings().items():
        if session.conf.isModifiable(name):
            session.conf.set(name, value)
    pinned = {
        **PINNED,
        "spark.sql.session.timeZone": settings.time_zone,
        "spark.sql.ansi.enabled": str(settings.ansi).lower(),
    }
    for name, value in pinned.items():
        session.conf.set(name, value)
    return session


def changed_settings(session: SparkSession | None) -> dict[str, str]:
    """Return the settings that a session was started with and that can change a result.

    None means the running session. Views run in sessions next to it, which inherit the
    settings it was started with, but none that were set later.
    """
    session = SparkSession.getActiveSession() if session is None else session
    if session is None or is_connect(session):
        return {}
    return view_settings(dict(session.sparkContext.getConf().getAll()))


def unplanned_settings(session: SparkSession, plan: ViewPlan) -> Iterator[str]:
    """Yield the settings that a view was not planned with, as reasons not to trust its key."""
    planned = plan.key.settings
    actual = view_settings(session.conf.getAll)
    for name in sorted(actual):
        if actual[name] != planned.get(name):
            yield f"setting {name} is {actual[name]}, which was not known when it was planned"
