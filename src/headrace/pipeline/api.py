"""`Project`: a folder, loaded; what a user of the Python API starts from."""

import re
from collections.abc import Mapping, Sequence
from importlib import metadata
from os import PathLike
from pathlib import Path

import msgspec

from headrace.errors import InvalidArgumentError, InvalidProjectError, ProjectNotFoundError
from headrace.pipeline.bundle.bundle import Bundle, make_bundle
from headrace.pipeline.bundle.view_plan import ViewPlan
from headrace.pipeline.engine import Engine, engine_version, parse_engine
from headrace.pipeline.execution.conductor import Conductor, Wish
from headrace.pipeline.execution.decision import Decision
from headrace.pipeline.execution.history import History
from headrace.pipeline.execution.progress import Progress, Quiet
from headrace.pipeline.execution.replay import replay_run
from headrace.pipeline.execution.state import ProjectState
from headrace.pipeline.execution.vacuum import Vacuumed, VacuumRequest, vacuum_project
from headrace.pipeline.functions.catalog import Catalog
from headrace.pipeline.page.graph import written_graph
from headrace.pipeline.page.notebook import notebook_html
from headrace.pipeline.planner.planner import plan_views
from headrace.pipeline.planner.request import BuilderAnalyst, PlanRequest
from headrace.pipeline.project.folder import read_functions, read_views
from headrace.pipeline.project.manifest import MANIFEST, Manifest, read_manifest
from headrace.pipeline.project.profile import Profile
from headrace.pipeline.project.setting import VariableValue, change_variables
from headrace.pipeline.project.view import BuilderView, View
from headrace.pipeline.runs.difference import RunDifference
from headrace.pipeline.runs.record import RunRecord
from headrace.pipeline.runs.store import LATEST, ArtifactStore
from headrace.pipeline.sources.pin import Pins
from headrace.pipeline.sources.resolve import local_tables, resolve_sources
from headrace.pipeline.wiring import SparkSession, take_spark

_RUN_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,99}")


class Project(msgspec.Struct, frozen=True, kw_only=True):
    """A project as its author wrote it; nothing is read of its sources before it is planned."""

    root: Path
    manifest: Manifest
    views: Mapping[str, View]
    catalog: Catalog

    @classmethod
    def load(cls, path: str | PathLike[str] = ".") -> "Project":
        """Read a project's folder.

        Raises:
            ProjectNotFoundError: there is no `headrace.toml` in it.
            InvalidProjectError, InvalidViewError, InvalidFunctionError: a file of it is wrong.
        """
        root = Path(path).resolve()
        file = root / MANIFEST
        if not file.is_file():
            raise ProjectNotFoundError(folder=str(root))
        manifest = read_manifest(file)
        views = read_views(root)
        for name in views:
            if name in manifest.sources:
                reason = f"there is a view of the same name in {views[name].file}"
                raise InvalidProjectError(file=str(file), key=f"sources.{name}", reason=reason)
        return cls(root=root, manifest=manifest, views=views, catalog=read_functions(root))

    @property
    def name(self) -> str:
        """What the project is called."""
        return self.manifest.project.name

    def _repr_html_(self) -> str:
        """The graph, in a notebook; nothing is planned for it."""
        graph = written_graph(self.views, self.manifest.sources)
        return notebook_html(graph, title=self.name, note=self.manifest.project.description)

    def profile(self, name: str = "default") -> Profile:
        """How much of a machine a run may take.

        Raises:
            InvalidArgumentError: there is no such profile.
        """
        if name not in self.manifest.profiles:
            reason = f"there is no profile {name}; there are {', '.join(self.manifest.profiles)}"
            raise InvalidArgumentError(argument="profile", reason=reason)
        return self.manifest.profiles[name]

    def variables(
        self, changes: Mapping[str, VariableValue | str] | None = None
    ) -> dict[str, VariableValue]:
        """The variables, some of them changed; a text is read in the type that the file has.

        Raises:
            InvalidArgumentError: there is no such variable, or the text is not of its type.
        """
        return change_variables(self.manifest.variables, changes or {})

    def plan(
        self,
        *,
        engine: Engine | str = Engine.SPARK,
        pins: Pins | None = None,
        variables: Mapping[str, VariableValue | str] | None = None,
        previous: Mapping[str, ViewPlan] | None = None,
        builders: BuilderAnalyst | None = None,
    ) -> Bundle:
        """Plan every view, pin every source, prune its files; no data is read.

        Args:
            engine: The runner that the plan is for: its version is part of every key.
            pins: Versions of sources; by default what the project says, else the newest.
            variables: Changes to the project's variables.
            previous: By view, the plan of its last good run, from which digests may be carried
                forward over compactions.
            builders: Who is asked about views that are built in Python; a Spark runner has one.

        Raises:
            PipelineError: the project cannot be planned as it stands.
            TableError: a source is not there, or not at that version.
        """
        sources = resolve_sources(self.manifest.sources, root=self.root, pins=pins or {})
        request = PlanRequest(
            views=self.views,
            sources=sources,
            catalog=self.catalog,
            settings=self.manifest.settings,
            variables=self.variables(variables),
            root=self.root,
            engine=engine_version(parse_engine(engine)),
            planner=f"datafusion {metadata.version('datafusion')}",
            previous=previous or {},
            builders=builders,
        )
        views = plan_views(request)
        read = {unit.source for view in views.values() for unit in view.units}
        return make_bundle(
            project=self.name,
            engine=request.engine,
            planner=request.planner,
            settings=self.manifest.settings,
            pins={name: source.pin for name, source in sources.items() if name in read},
            views=views,
        )

    def run(  # noqa: PLR0913  (what a run may be asked)
        self,
        *,
        engine: Engine | str = Engine.SPARK,
        profile: str = "default",
        select: Sequence[str] = (),
        exclude: Sequence[str] = (),
        variables: Mapping[str, VariableValue | str] | None = None,
        pins: Pins | None = None,
        full_refresh: bool = False,
        analyse: bool = False,
        run_id: str | None = None,
        session: SparkSession | None = None,
        progress: Progress | None = None,
    ) -> RunRecord:
        """Plan the project and run what has changed; the rest is skipped, and the record says why.

        A view that fails stops only those that read it: look at `record.status`, or call
        `record.check()`.

        Args:
            engine: `spark`, or `datafusion` for an embedded run.
            profile: How much of the machine to take.
            select: Views to run: names, patterns, `+name` with what it reads, `name+` with what
                reads it; by default all.
            exclude: Views not to run, likewise.
            variables: Changes to the project's variables.
            pins: Versions of sources.
            full_refresh: Run everything that is selected, and write outputs anew.
            analyse: Keep what each part of the physical plans did.
            run_id: The id of the run; by default a new one. A run that is tried again under its
                id writes nothing that it has written already.
            session: A Spark session; by default the running one, or a local one.
            progress: Who is told how it goes on.

        Raises:
            PipelineError: the project cannot be planned, or another process runs it.
            SessionError: the session has no driver in this process: Spark Connect.
            KeyboardInterrupt: by Ctrl-C; jobs are cancelled, and what was committed stands.
        """
        if run_id is not None and not _RUN_ID.fullmatch(run_id):
            reason = f"{run_id!r} is no name for a run: use letters, digits, '-', '_' and '.'"
            raise InvalidArgumentError(argument="run_id", reason=reason)
        wish = Wish(
            engine=parse_engine(engine).value,
            profile=profile,
            select=tuple(select),
            exclude=tuple(exclude),
            variables=dict(variables or {}),
            pins=dict(pins or {}),
            full_refresh=full_refresh,
            analyse=analyse,
            run_id=run_id,
        )
        return self._conductor(profile, session).run(wish, progress or Quiet())

    def decide(  # noqa: PLR0913  (as for `run`)
        self,
        *,
        engine: Engine | str = Engine.SPARK,
        select: Sequence[str] = (),
        exclude: Sequence[str] = (),
        variables: Mapping[str, VariableValue | str] | None = None,
        pins: Pins | None = None,
        full_refresh: bool = False,
    ) -> dict[str, Decision]:
        """What a run would do with each view, and why; nothing is run. Arguments are as for `run`.

        Raises:
            PipelineError, TableError: as for `plan`.
        """
        wish = Wish(
            engine=parse_engine(engine).value,
            select=tuple(select),
            exclude=tuple(exclude),
            variables=dict(variables or {}),
            pins=dict(pins or {}),
            full_refresh=full_refresh,
        )
        conductor = self._conductor("default", None)
        last = self.state.last_results(conductor.views)
        return conductor.decide(wish, conductor.plan(wish, last), last)

    def why(self, view: str, *, engine: Engine | str | None = None) -> Decision:
        """Why a view would run, or would not: the token, file, column, function or setting.

        Args:
            view: The view.
            engine: The runner that is meant; by default that of the view's last run.

        Raises:
            InvalidArgumentError: there is no such view.
            PipelineError, TableError: as for `plan`.
        """
        if view not in self.views:
            reason = f"there is no view {view}; there are {', '.join(self.views) or 'none'}"
            raise InvalidArgumentError(argument="view", reason=reason)
        if engine is None:
            last = self.state.last_results([view]).get(view)
            engine = Engine.SPARK if last is None else last.plan.key.engine.partition(" ")[0]
        return self.decide(engine=engine)[view]

    def replay(
        self,
        run: str = LATEST,
        *,
        engine: Engine | str | None = None,
        profile: str = "default",
        session: SparkSession | None = None,
        progress: Progress | None = None,
    ) -> RunRecord:
        """Compute the views of a run again, from the same files, and compare by their tiers.

        Nothing of the project is changed. A view that differs has the status `failed` in the
        record, and the reason says how.

        Args:
            run: The run: an id, the beginning of one, or `latest`.
            engine: Another runner than the run had.
            profile: How much of the machine to take.
            session: A Spark session; by default the running one, or a local one.
            progress: Who is told how it goes on.

        Raises:
            RunNotFoundError: there is no such run.
            PinnedFilesChangedError: files that it read are gone or altered.
            FunctionChangedError: a function is not what it was.
        """
        conductor = self._conductor(profile, session)
        chosen = None if engine is None else parse_engine(engine).value
        return replay_run(conductor, run, engine=chosen, progress=progress or Quiet())

    def vacuum(
        self,
        *,
        keep_pins: bool = True,
        keep_runs: int | None = None,
        with_sources: bool = False,
        retention_hours: int | None = None,
        dry_run: bool = True,
    ) -> list[Vacuumed]:
        """Remove files of output tables that nobody needs any more; by default only name them.

        Args:
            keep_pins: Keep every file that a kept run read or wrote, so that it can be replayed.
            keep_runs: How many runs are kept, the newest ones; by default all.
            with_sources: Vacuum the sources, too.
            retention_hours: How long a removed file is kept in any case; by default as the table
                says, a week if it does not.
            dry_run: Only tell what would be removed.

        Raises:
            RunInProgressError: the project is being run.
        """
        wanted = VacuumRequest(
            sources=local_tables(self.manifest.sources, root=self.root),
            views=tuple(self.views),
            keep_pins=keep_pins,
            keep_runs=keep_runs,
            with_sources=with_sources,
            retention_hours=retention_hours,
            dry_run=dry_run,
        )
        return vacuum_project(self.name, self.state, wanted)

    @property
    def state(self) -> ProjectState:
        """Where the project keeps what it made."""
        table = self.manifest.project
        return ProjectState.of(self.root, outputs=table.outputs, state=table.state)

    @property
    def store(self) -> ArtifactStore:
        """Where the records of runs are kept."""
        return self.state.store

    def _conductor(self, profile: str, session: SparkSession | None) -> Conductor:
        return Conductor(
            project=self.name,
            root=self.root,
            specs=self.manifest.sources,
            settings=self.manifest.settings,
            catalog=self.catalog,
            views=tuple(self.views),
            builders={n: v.build for n, v in self.views.items() if isinstance(v, BuilderView)},
            state=self.state,
            profile=self.profile(profile),
            make_plan=self.plan,
            session=None if session is None else take_spark(session),
        )

    @property
    def history(self) -> History:
        """The runs that have been."""
        return History(self.state)

    def runs(self, *, limit: int | None = None) -> list[RunRecord]:
        """The runs, newest first, without their views."""
        return self.history.runs(limit=limit)

    def show(self, run: str = LATEST) -> RunRecord:
        """A run with its views: by id, by the beginning of it, or `latest`.

        Raises:
            RunNotFoundError: there is no such run, or more than one.
        """
        return self.history.show(run)

    def diff(self, first: str, second: str = LATEST) -> RunDifference:
        """What is different between two runs.

        Raises:
            RunNotFoundError: there is no such run, or more than one.
        """
        return self.history.diff(first, second)
