"""The conductor: brings plan, decisions, runner and store together for one project.

It knows the project's parts, and holds the lock while it works.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa

from headrace.errors import InvalidProjectError
from headrace.pipeline import wiring
from headrace.pipeline.bundle.bundle import Bundle
from headrace.pipeline.execution.decision import Decider, Decision, LastResult
from headrace.pipeline.execution.environment import describe_environment, new_run_id, now_ms
from headrace.pipeline.execution.lock import run_lock
from headrace.pipeline.execution.progress import Progress
from headrace.pipeline.execution.run import Execution, RunOptions
from headrace.pipeline.execution.selection import select_views
from headrace.pipeline.execution.state import ProjectState
from headrace.pipeline.execution.work import Places, clear_staging
from headrace.pipeline.functions.catalog import Catalog
from headrace.pipeline.planner.request import BuilderAnalysis
from headrace.pipeline.project.manifest import MANIFEST, SourceSpec
from headrace.pipeline.project.profile import Profile
from headrace.pipeline.project.setting import Settings
from headrace.pipeline.project.view import Builder, BuilderView
from headrace.pipeline.runners.task import Runner, RunnerContext
from headrace.pipeline.runs.record import RunKind, RunRecord, RunStatus
from headrace.pipeline.sources.pin import Pins
from headrace.pipeline.sources.resolve import resolve_sources
from headrace.pipeline.sources.source import Source


class Wish(msgspec.Struct, frozen=True, kw_only=True):
    """What a caller asks of a run."""

    engine: str
    profile: str = "default"
    select: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    variables: dict[str, Any] = {}
    pins: dict[str, int] = {}
    full_refresh: bool = False
    analyse: bool = False
    run_id: str | None = None


class Conductor(msgspec.Struct, frozen=True, kw_only=True):
    """A project's parts, as runs need them."""

    project: str
    root: Path
    specs: Mapping[str, SourceSpec]
    settings: Settings
    catalog: Catalog
    views: tuple[str, ...]
    builders: Mapping[str, Builder]
    """The views that are built in Python."""
    state: ProjectState
    profile: Profile
    make_plan: Callable[..., Bundle]
    session: Any = None
    """A Spark session; None: one is opened when it is first needed."""

    @contextmanager
    def hold(self) -> Iterator[Places]:
        """Hold the project for one run, cleared of what runs left behind that are no more.

        Raises:
            RunInProgressError: another process holds it.
        """
        state = self.state
        with run_lock(state.folder, project=self.project):
            state.intents.clear()
            clear_staging(state.staging)
            yield Places(outputs=state.outputs, staging=state.staging, intents=state.intents)

    def plan(self, wish: Wish, last: Mapping[str, LastResult]) -> Bundle:
        """Plan the project as the caller wishes, with what is known of earlier runs."""
        return self.make_plan(
            engine=wish.engine,
            pins=wish.pins,
            variables=wish.variables,
            previous={name: found.plan for name, found in last.items()},
            builders=_LazyAnalyst(self) if wish.engine == "spark" else None,
        )

    def decide(
        self, wish: Wish, bundle: Bundle, last: Mapping[str, LastResult]
    ) -> dict[str, Decision]:
        """What is to be done with each view, and why."""
        selected = select_views(bundle, select=wish.select, exclude=wish.exclude)
        return Decider(
            bundle,
            selected=selected,
            last=last,
            outputs=self.state.outputs,
            full_refresh=wish.full_refresh,
            run=wish.run_id,
        ).decide()

    def run(self, wish: Wish, progress: Progress) -> RunRecord:
        """Plan, decide, run, record."""
        with self.hold() as places:
            last = self.state.last_results(self.views)
            bundle = self.plan(wish, last)
            decisions = self.decide(wish, bundle, last)
            record = self.new_record(wish, bundle)
            context = self.context(record, bundle)
            execution = Execution(
                record,
                bundle,
                decisions,
                context=context,
                store=self.state.store,
                places=places,
                progress=progress,
                options=RunOptions(
                    full_refresh=wish.full_refresh,
                    analyse=wish.analyse,
                    views_at_once=self.profile.views_at_once,
                ),
            )
            return execution.run(lambda: self.runner(wish.engine, context))

    def new_record(self, wish: Wish, bundle: Bundle, *, replay_of: str | None = None) -> RunRecord:
        """The record of a run that starts now."""
        started_ms = now_ms()
        return RunRecord(
            id=wish.run_id or new_run_id(started_ms),
            kind=RunKind.RUN if replay_of is None else RunKind.REPLAY,
            project=self.project,
            bundle=bundle.id,
            engine=engine_of(wish.engine, bundle),
            status=RunStatus.RUNNING,
            started_ms=started_ms,
            profile=wish.profile,
            select=wish.select,
            exclude=wish.exclude,
            variables={name: str(value) for name, value in wish.variables.items()},
            pins={n: pin.version for n, pin in bundle.pins.items() if pin.version is not None},
            environment=describe_environment(),
            replay_of=replay_of,
        )

    def context(self, record: RunRecord, bundle: Bundle) -> RunnerContext:
        """What all views of a run have in common; sources are opened at the bundle's pins."""
        return RunnerContext(
            run=record.id,
            sources=self.sources(bundle),
            catalog=self.catalog,
            settings=bundle.settings,
            profile=self.profile,
            builders=self.builders,
        )

    def sources(self, bundle: Bundle) -> dict[str, Source]:
        """The sources of a bundle at its pins, whatever the project's file says of versions now.

        Raises:
            InvalidProjectError: the project no longer has one of them.
            TableError: one is not there any more, or not at its version.
        """
        specs = {}
        for name in bundle.pins:
            if name not in self.specs:
                reason = "a run that is to be repeated reads it, and it is not there any more"
                file = str(self.root / MANIFEST)
                raise InvalidProjectError(file=file, key=f"sources.{name}", reason=reason)
            specs[name] = msgspec.structs.replace(self.specs[name], version=None, as_of=None)
        pins: Pins = {n: pin.version for n, pin in bundle.pins.items() if pin.version is not None}
        return resolve_sources(specs, root=self.root, pins=pins)

    def runner(self, engine: str, context: RunnerContext) -> Runner:
        """The runner that views are computed by."""
        if engine == "datafusion":
            return wiring.datafusion_runner(context)
        return wiring.spark_runner(self.open_session(), context)

    def open_session(self) -> Any:
        """The session that was given, or one that is opened now."""
        return self.session if self.session is not None else wiring.open_spark(self.profile)


class _LazyAnalyst:
    """Asks Spark about builders, and starts it only if there is something to ask."""

    def __init__(self, conductor: Conductor) -> None:
        self._conductor = conductor

    def analyse(self, view: BuilderView, schemas: Mapping[str, pa.Schema]) -> BuilderAnalysis:
        """Ask."""
        return wiring.builder_analyst(self._conductor.open_session()).analyse(view, schemas)


def engine_of(engine: str, bundle: Bundle) -> str:
    """The runner and its version; the bundle knows it if it was planned for the same."""
    return bundle.engine if bundle.engine.startswith(f"{engine} ") else engine
