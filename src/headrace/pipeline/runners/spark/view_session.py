"""The settings that views run under: what is fixed, and what a session brings along."""

from collections.abc import Iterator, Mapping

from pyspark.sql import SparkSession

from headrace.engines.spark.session import is_connect
from headrace.pipeline.bundle.view_plan import ViewPlan
from headrace.pipeline.project.profile import Profile
from headrace.pipeline.project.setting import Settings
from headrace.pipeline.project.spark_setting import result_settings

PINNED = {
    "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
    "spark.sql.parquet.datetimeRebaseModeInWrite": "CORRECTED",
    "spark.sql.sources.partitionOverwriteMode": "static",
    "spark.sql.ui.explainMode": "extended",
}
"""The same in every run, whatever the session says."""
_OF_THE_PROJECT = frozenset({"spark.sql.session.timeZone", "spark.sql.ansi.enabled"})


def view_session(base: SparkSession, profile: Profile, settings: Settings) -> SparkSession:
    """A session beside another one, with the settings that views of a project run under."""
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
    """What a session, or the one that is running, was started with that can change a result.

    Views run in sessions beside it. These take over what it was started with, and nothing that
    was set later.
    """
    session = SparkSession.getActiveSession() if session is None else session
    if session is None or is_connect(session):
        return {}
    return _changed(dict(session.sparkContext.getConf().getAll()))


def unplanned_settings(session: SparkSession, plan: ViewPlan) -> Iterator[str]:
    """Settings under which a view runs and was not planned, as reasons not to trust its key."""
    planned = plan.key.settings
    actual = _changed(session.conf.getAll)
    for name in sorted(actual):
        if actual[name] != planned.get(name):
            yield f"setting {name} is {actual[name]}, which was not known when it was planned"


def _changed(settings: Mapping[str, str]) -> dict[str, str]:
    found = result_settings(settings)
    return {n: v for n, v in found.items() if n not in PINNED and n not in _OF_THE_PROJECT}
