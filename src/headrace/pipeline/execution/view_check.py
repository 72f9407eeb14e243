"""Checks views before a run computes anything.

A run on DataFusion refuses views whose results are not proven to be Spark's. A run on Spark has
Spark's analyser check the views that the planner could not plan.
"""

from collections.abc import Collection, Iterable, Mapping
from typing import Any

from headrace.errors import ViewRefusedError
from headrace.pipeline import wiring
from headrace.pipeline.bundle.bundle import Bundle
from headrace.pipeline.execution.decision import Action, Decision
from headrace.pipeline.execution.lazy_spark import LazySpark
from headrace.pipeline.execution.prepare import Prepared
from headrace.pipeline.execution.run_request import RunRequest
from headrace.pipeline.project.project import ProjectFiles
from headrace.pipeline.runner_kind import RunnerKind


def check_views(
    project: ProjectFiles,
    request: RunRequest,
    prepared: Prepared,
    decisions: Mapping[str, Decision],
    spark: LazySpark,
) -> None:
    """Check the views that a run is about to compute; Spark starts only if it has to judge one.

    Raises:
        ViewRefusedError: DataFusion would compute views differently from Spark.
        InvalidViewError: Spark's analyser rejects a view.
    """
    bundle = prepared.bundle
    running = [name for name, decision in decisions.items() if decision.action is Action.RUN]
    if request.runner is RunnerKind.DATAFUSION:
        _refuse_views(bundle, running)
        return
    unplanned = unplanned_views(bundle, running)
    if unplanned:
        analyse_on_spark(
            project, prepared, views=unplanned, session=spark.open(), profile=request.profile
        )


def analyse_on_spark(
    project: ProjectFiles,
    prepared: Prepared,
    *,
    views: Collection[str],
    session: Any,
    profile: str = "default",
) -> None:
    """Run Spark's analyser over the SQL of views, with empty tables.

    Raises:
        InvalidViewError: Spark rejects a view; the error has the position and the nearest name.
    """
    checker = wiring.view_checker(
        session,
        profile=project.profile(profile),
        settings=prepared.bundle.settings,
        catalog=project.catalog,
    )
    schemas = {name: source.schema for name, source in prepared.sources.items()}
    checker.check(prepared.bundle, schemas, views)


def unplanned_views(bundle: Bundle, views: Iterable[str]) -> list[str]:
    """Return those of some views, and of the views they inline, that only Spark can check."""
    return sorted(
        name
        for name in bundle.with_inlined(views)
        if bundle[name].sql is not None and bundle[name].refused is not None
    )


def _refuse_views(bundle: Bundle, views: Iterable[str]) -> None:
    refusals = {name: reason for name in views if (reason := bundle[name].refused) is not None}
    if refusals:
        raise ViewRefusedError(refusals=refusals)
