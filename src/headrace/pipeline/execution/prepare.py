"""Prepares a bundle and its sources: planned now, or stored by an earlier run.

Each source is opened once, at the version that the bundle pins.
"""

from collections.abc import Mapping
from importlib import metadata
from pathlib import Path
from typing import Any

import msgspec

from headrace.errors import FunctionChangedError, InvalidProjectError
from headrace.pipeline import wiring
from headrace.pipeline.bundle.bundle import Bundle, make_bundle
from headrace.pipeline.bundle.skip_key import FUNCTION_FORMAT
from headrace.pipeline.bundle.view_plan import ViewKind, ViewPlan
from headrace.pipeline.execution.project_state import project_state
from headrace.pipeline.functions.catalog import describe_change
from headrace.pipeline.planner.draft import builder_part
from headrace.pipeline.planner.plan_request import BuilderAnalyst, PlanRequest
from headrace.pipeline.planner.planner import plan_views
from headrace.pipeline.project.manifest import MANIFEST
from headrace.pipeline.project.project import ProjectFiles
from headrace.pipeline.project.setting import VariableValue
from headrace.pipeline.project.spark_setting import result_settings
from headrace.pipeline.project.view import BuilderView
from headrace.pipeline.runner_kind import RunnerKind, runner_version
from headrace.pipeline.sources.resolution import resolve_sources
from headrace.pipeline.sources.source import PinnedSource
from headrace.pipeline.sources.source_pin import Pins


class Prepared(msgspec.Struct, frozen=True, kw_only=True):
    """A bundle, and its sources at the pinned versions."""

    bundle: Bundle
    sources: Mapping[str, PinnedSource]


def plan_project(  # noqa: PLR0913  (the inputs of a plan)
    project: ProjectFiles,
    *,
    runner: RunnerKind,
    pins: Pins | None = None,
    variables: Mapping[str, VariableValue | str] | None = None,
    previous: Mapping[str, ViewPlan] | None = None,
    builders: BuilderAnalyst | None = None,
    profile: str = "default",
    session: Any = None,
) -> Prepared:
    """Plan every view, pin every source and prune its files; no data is read.

    Spark settings that can change a result come from the session and the profile of the run; the
    profile takes precedence.

    Raises:
        PipelineError: the project cannot be planned.
        TableError: a source, or its pinned version, does not exist.
    """
    sources = resolve_sources(
        project.manifest.sources,
        root=project.root,
        pins=pins or {},
        cache=_local_state(project),
    )
    spark_settings = {
        **wiring.session_settings(session),
        **result_settings(project.profile(profile).spark),
    }
    request = PlanRequest(
        views=project.views,
        sources=sources,
        catalog=project.catalog,
        settings=project.manifest.settings,
        variables=project.variables(variables),
        root=project.root,
        spark_settings=spark_settings if runner is RunnerKind.SPARK else {},
        runner=runner_version(runner),
        planner=f"datafusion {metadata.version('datafusion')}",
        previous=previous or {},
        builders=builders,
    )
    if builders is not None and not builders.is_ready and _has_builder(project):
        # Report mistakes that can be found without Spark before starting it.
        plan_views(msgspec.structs.replace(request, builders=None))
    views = plan_views(request)
    sources_read = {unit.source for view in views.values() for unit in view.units}
    bundle = make_bundle(
        project=project.name,
        engine=request.runner,
        planner=request.planner,
        settings=project.manifest.settings,
        pins={name: source.pin for name, source in sources.items() if name in sources_read},
        views=views,
    )
    return Prepared(bundle=bundle, sources=sources)


def _local_state(project: ProjectFiles) -> Path | None:
    """Return the state folder, for cached hashes; None if it is in a store."""
    folder = project_state(project).folder
    return folder.path if folder.is_local else None


def _has_builder(project: ProjectFiles) -> bool:
    return any(isinstance(view, BuilderView) for view in project.views.values())


def open_bundle(project: ProjectFiles, bundle: Bundle) -> Prepared:
    """Open the sources of a stored bundle at its pins; versions in the manifest are ignored.

    Raises:
        InvalidProjectError: the project no longer has one of the sources.
        TableError: a source, or its pinned version, does not exist any more.
    """
    specs = {}
    for name in bundle.pins:
        if name not in project.manifest.sources:
            reason = "the bundle reads this source, and the project no longer has it"
            file = str(project.root / MANIFEST)
            raise InvalidProjectError(file=file, key=f"sources.{name}", reason=reason)
        spec = project.manifest.sources[name]
        specs[name] = msgspec.structs.replace(spec, version=None, as_of=None)
    pins: Pins = {n: pin.version for n, pin in bundle.pins.items() if pin.version is not None}
    return Prepared(
        bundle=bundle,
        sources=resolve_sources(specs, root=project.root, pins=pins, cache=_local_state(project)),
    )


def verify_code(project: ProjectFiles, plan: ViewPlan) -> None:
    """Check that the Python code of a view has not changed since it was planned.

    Raises:
        FunctionChangedError: a function, or the builder of the view, is missing or has changed.
    """
    for name in plan.key.functions if plan.key.format < FUNCTION_FORMAT else ():
        changed = "its fingerprint was made by an older release and cannot be compared"
        raise FunctionChangedError(view=plan.name, function=name, changed=changed)
    project.catalog.verify(plan.name, plan.key.functions)
    planned = plan.key.functions.get(plan.name)
    if plan.kind is not ViewKind.BUILDER or planned is None:
        return
    view = project.views.get(plan.name)
    if not isinstance(view, BuilderView):
        raise FunctionChangedError(view=plan.name, function=plan.name, changed="it is gone")
    changes = describe_change(planned, builder_part(view, root=project.root))
    if changes:
        raise FunctionChangedError(view=plan.name, function=plan.name, changed=changes[0])
