"""From a project to a bundle with its sources: planned now, or stored by an earlier run.

Each source is opened once, at the version that the bundle pins.
"""

from collections.abc import Collection, Iterable, Mapping
from importlib import metadata
from typing import Any

import msgspec

from headrace.errors import FunctionChangedError, InvalidProjectError
from headrace.pipeline import wiring
from headrace.pipeline.bundle.bundle import Bundle, make_bundle
from headrace.pipeline.bundle.key import FUNCTION_FORMAT
from headrace.pipeline.bundle.view_plan import ViewKind, ViewPlan
from headrace.pipeline.engine import Engine, engine_version, parse_engine
from headrace.pipeline.execution.state import project_state
from headrace.pipeline.functions.catalog import describe_change
from headrace.pipeline.planner.draft import builder_part
from headrace.pipeline.planner.planner import plan_views
from headrace.pipeline.planner.request import BuilderAnalyst, PlanRequest
from headrace.pipeline.project.manifest import MANIFEST
from headrace.pipeline.project.project import ProjectFiles
from headrace.pipeline.project.setting import VariableValue
from headrace.pipeline.project.spark_setting import result_settings
from headrace.pipeline.project.view import BuilderView
from headrace.pipeline.sources.pin import Pins
from headrace.pipeline.sources.resolve import resolve_sources
from headrace.pipeline.sources.source import Source


class Prepared(msgspec.Struct, frozen=True, kw_only=True):
    """A bundle, and the sources that it reads at its pins."""

    bundle: Bundle
    sources: Mapping[str, Source]


def plan_project(  # noqa: PLR0913  (what a plan depends on)
    project: ProjectFiles,
    *,
    engine: str,
    pins: Pins | None = None,
    variables: Mapping[str, VariableValue | str] | None = None,
    previous: Mapping[str, ViewPlan] | None = None,
    builders: BuilderAnalyst | None = None,
    profile: str = "default",
    session: Any = None,
) -> Prepared:
    """Plan every view, pin every source, prune its files; no data is read.

    Settings of Spark that can change a result are taken from the session and the profile that it
    will run with; those of the profile win.

    Raises:
        PipelineError: the project cannot be planned as it stands.
        TableError: a source is not there, or not at that version.
    """
    sources = resolve_sources(
        project.manifest.sources,
        root=project.root,
        pins=pins or {},
        state=project_state(project).folder,
    )
    chosen = parse_engine(engine)
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
        spark_settings=spark_settings if chosen is Engine.SPARK else {},
        engine=engine_version(chosen),
        planner=f"datafusion {metadata.version('datafusion')}",
        previous=previous or {},
        builders=builders,
    )
    if builders is not None and not builders.is_ready and _has_builder(project):
        # What is wrong without Spark is found before Spark is started.
        plan_views(msgspec.structs.replace(request, builders=None))
    views = plan_views(request)
    read = {unit.source for view in views.values() for unit in view.units}
    bundle = make_bundle(
        project=project.name,
        engine=request.engine,
        planner=request.planner,
        settings=project.manifest.settings,
        pins={name: source.pin for name, source in sources.items() if name in read},
        views=views,
    )
    return Prepared(bundle=bundle, sources=sources)


def _has_builder(project: ProjectFiles) -> bool:
    return any(isinstance(view, BuilderView) for view in project.views.values())


def check_texts(
    project: ProjectFiles,
    prepared: Prepared,
    *,
    views: Collection[str],
    session: Any,
    profile: str = "default",
) -> None:
    """Have Spark's analyser look at the text of views, over tables without rows.

    Raises:
        InvalidViewError: Spark refuses one, with the place and the nearest known name.
    """
    checker = wiring.view_checker(
        session,
        profile=project.profile(profile),
        settings=prepared.bundle.settings,
        catalog=project.catalog,
    )
    schemas = {name: source.schema for name, source in prepared.sources.items()}
    checker.check(prepared.bundle, schemas, views)


def doubtful_views(bundle: Bundle, views: Iterable[str]) -> list[str]:
    """The views among some, and those that are part of them, that only Spark can judge."""
    parts = {part for name in views for part in (name, *bundle.inlined(name))}
    return sorted(
        name for name in parts if bundle[name].sql is not None and bundle[name].refused is not None
    )


def open_bundle(project: ProjectFiles, bundle: Bundle) -> Prepared:
    """The sources of a stored bundle at its pins, whatever the project says of versions now.

    Raises:
        InvalidProjectError: the project no longer has one of them.
        TableError: one is not there any more, or not at its version.
    """
    specs = {}
    for name in bundle.pins:
        if name not in project.manifest.sources:
            reason = "the bundle reads it, and the project no longer has it"
            file = str(project.root / MANIFEST)
            raise InvalidProjectError(file=file, key=f"sources.{name}", reason=reason)
        spec = project.manifest.sources[name]
        specs[name] = msgspec.structs.replace(spec, version=None, as_of=None)
    pins: Pins = {n: pin.version for n, pin in bundle.pins.items() if pin.version is not None}
    return Prepared(
        bundle=bundle,
        sources=resolve_sources(
            specs, root=project.root, pins=pins, state=project_state(project).folder
        ),
    )


def verify_code(project: ProjectFiles, plan: ViewPlan) -> None:
    """Check that the Python code of a view is what it was planned with.

    Raises:
        FunctionChangedError: a function, or the builder of the view itself, is gone or another.
    """
    for name in plan.key.functions if plan.key.format < FUNCTION_FORMAT else ():
        changed = "its fingerprint is of an older release and cannot be compared"
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
