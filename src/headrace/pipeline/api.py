"""`Project`: a folder, loaded; what a user of the Python API starts from."""

import re
from collections.abc import Mapping, Sequence

from headrace.errors import InvalidArgumentError
from headrace.pipeline import wiring
from headrace.pipeline.bundle.bundle import Bundle
from headrace.pipeline.bundle.view_plan import ViewPlan
from headrace.pipeline.execution.decision import Decision, decide_views
from headrace.pipeline.execution.lazy_spark import LazySpark
from headrace.pipeline.execution.prepare import plan_project
from headrace.pipeline.execution.project_state import ProjectState, project_state
from headrace.pipeline.execution.replay import replay_run
from headrace.pipeline.execution.run import prepare, run_project
from headrace.pipeline.execution.run_history import History
from headrace.pipeline.execution.run_progress import Progress, Quiet
from headrace.pipeline.execution.run_request import RunRequest
from headrace.pipeline.execution.vacuum import Vacuumed, VacuumRequest, vacuum_project
from headrace.pipeline.execution.verify import verify_project
from headrace.pipeline.execution.view_check import analyse_on_spark, unplanned_views
from headrace.pipeline.page.drawing import notebook_html
from headrace.pipeline.page.view_graph import written_graph
from headrace.pipeline.planner.plan_request import BuilderAnalyst
from headrace.pipeline.project.project import ProjectFiles
from headrace.pipeline.project.setting import VariableValue
from headrace.pipeline.runner_kind import RunnerKind, parse_runner, runner_of
from headrace.pipeline.runs.artifact_store import LATEST, ArtifactStore
from headrace.pipeline.runs.run_difference import RunDifference
from headrace.pipeline.runs.run_record import RunRecord
from headrace.pipeline.sources.resolution import local_tables
from headrace.pipeline.sources.source_pin import Pins
from headrace.pipeline.wiring import SparkSession

_RUN_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,99}")


class Project(ProjectFiles, frozen=True, kw_only=True):
    """A project, loaded: a folder and what can be done with it.

    Nothing is read of its sources before it is planned.
    """

    def _repr_html_(self) -> str:
        """The graph, in a notebook; nothing is planned for it."""
        graph = written_graph(self.views, self.manifest.sources)
        return notebook_html(graph, title=self.name, note=self.manifest.project.description)

    def plan(  # noqa: PLR0913  (what plans are made of)
        self,
        *,
        engine: RunnerKind | str = RunnerKind.SPARK,
        pins: Pins | None = None,
        variables: Mapping[str, VariableValue | str] | None = None,
        previous: Mapping[str, ViewPlan] | None = None,
        builders: BuilderAnalyst | None = None,
        profile: str = "default",
        session: SparkSession | None = None,
    ) -> Bundle:
        """Plan every view, pin every source, prune its files; no data is read.

        Args:
            engine: The runner that the plan is for: its version is part of every key.
            pins: Versions of sources; by default what the project says, else the newest.
            variables: Changes to the project's variables.
            previous: By view, the plan of its last good run, from which digests may be carried
                forward over compactions.
            builders: Who is asked about views that are built in Python; a Spark runner has one.
            profile: The profile that it will run with: its settings of Spark may change results.
            session: The Spark session that it will run in, if there is one, likewise. Its analyser,
                or that of the running session, judges the views that the planner cannot.

        Raises:
            PipelineError: the project cannot be planned as it stands.
            TableError: a source is not there, or not at that version.
        """
        runner = parse_runner(engine)
        prepared = plan_project(
            self,
            runner=runner,
            pins=pins,
            variables=variables,
            previous=previous,
            builders=builders,
            profile=profile,
            session=session,
        )
        running = session if session is not None else wiring.running_spark()
        views = unplanned_views(prepared.bundle, prepared.bundle.views)
        if runner is RunnerKind.SPARK and running is not None and views:
            analyse_on_spark(self, prepared, views=views, session=running, profile=profile)
        return prepared.bundle

    def check(
        self,
        *,
        engine: RunnerKind | str = RunnerKind.SPARK,
        variables: Mapping[str, VariableValue | str] | None = None,
        profile: str = "default",
        session: SparkSession | None = None,
    ) -> Bundle:
        """Plan every view, and have Spark's analyser look at the text of each; nothing is run.

        Args:
            engine: As for `run`, like all arguments.
            variables: Changes to the project's variables.
            profile: The profile whose settings hold.
            session: A Spark session; by default the running one, or a local one.

        Raises:
            PipelineError: a view is wrong; an `InvalidViewError` has the file, line and column.
            TableError: a source is not there.
        """
        spark = LazySpark(self.profile(profile), session)
        runner = parse_runner(engine)
        prepared = plan_project(
            self,
            runner=runner,
            variables=variables,
            builders=spark if runner is RunnerKind.SPARK else None,
            profile=profile,
            session=session,
        )
        texts = [name for name, view in prepared.bundle.views.items() if view.sql is not None]
        analyse_on_spark(self, prepared, views=texts, session=spark.open(), profile=profile)
        return prepared.bundle

    def run(  # noqa: PLR0913  (what a run may be asked)
        self,
        *,
        engine: RunnerKind | str | None = None,
        profile: str = "default",
        select: Sequence[str] = (),
        exclude: Sequence[str] = (),
        variables: Mapping[str, VariableValue | str] | None = None,
        pins: Pins | None = None,
        full_refresh: bool = False,
        analyse: bool = False,
        run_id: str | None = None,
        bundle: str | None = None,
        session: SparkSession | None = None,
        progress: Progress | None = None,
    ) -> RunRecord:
        """Plan the project and run what has changed; the rest is skipped, and the record says why.

        A view that fails stops only those that read it: look at `record.status`, or call
        `record.check()`.

        Args:
            engine: `spark`, or `datafusion` for an embedded run; by default that of the bundle, or
                Spark.
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
            bundle: The id of a stored bundle, or the beginning of it: run it as it was planned
                then, its text over its files, whatever the project says now. Functions must be
                what they were.
            session: A Spark session; by default the running one, or a local one.
            progress: Hears of the run as it goes on.

        Raises:
            InvalidArgumentError: the arguments contradict each other.
            PipelineError: the project cannot be planned, or another process runs it.
            SessionError: the session has no driver in this process: Spark Connect.
            KeyboardInterrupt: by Ctrl-C; jobs are cancelled, and what was committed stands.
        """
        if run_id is not None and not _RUN_ID.fullmatch(run_id):
            reason = f"{run_id!r} is no name for a run: use letters, digits, '-', '_' and '.'"
            raise InvalidArgumentError(argument="run_id", reason=reason)
        if bundle is not None and (pins or variables):
            reason = "a bundle has its pins and variables: give it without others"
            raise InvalidArgumentError(argument="bundle", reason=reason)
        request = RunRequest(
            runner=self._runner(engine, bundle),
            profile=profile,
            select=tuple(select),
            exclude=tuple(exclude),
            variables=dict(variables or {}),
            pins=dict(pins or {}),
            full_refresh=full_refresh,
            analyse=analyse,
            run_id=run_id,
            bundle=bundle,
        )
        return run_project(self, request, session=session, progress=progress or Quiet())

    def decide(  # noqa: PLR0913  (as for `run`)
        self,
        *,
        engine: RunnerKind | str | None = None,
        profile: str = "default",
        select: Sequence[str] = (),
        exclude: Sequence[str] = (),
        variables: Mapping[str, VariableValue | str] | None = None,
        pins: Pins | None = None,
        full_refresh: bool = False,
        bundle: str | None = None,
    ) -> dict[str, Decision]:
        """What a run would do with each view, and why; nothing is run. Arguments are as for `run`.

        Raises:
            PipelineError, TableError: as for `plan`.
        """
        request = RunRequest(
            runner=self._runner(engine, bundle),
            profile=profile,
            select=tuple(select),
            exclude=tuple(exclude),
            variables=dict(variables or {}),
            pins=dict(pins or {}),
            full_refresh=full_refresh,
            bundle=bundle,
        )
        state = self.state
        last = state.last_results(self.views)
        spark = LazySpark(self.profile(profile))
        prepared = prepare(self, request, last=last, spark=spark, store=state.store)
        return decide_views(prepared.bundle, request, last=last, outputs=state.outputs)

    def why(self, view: str, *, engine: RunnerKind | str | None = None) -> Decision:
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
            engine = RunnerKind.SPARK if last is None else runner_of(last.plan.key.engine)
        return self.decide(engine=engine)[view]

    def replay(
        self,
        run: str = LATEST,
        *,
        engine: RunnerKind | str | None = None,
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
            progress: Hears of the run as it goes on.

        Raises:
            RunNotFoundError: there is no such run.
            PinnedFilesChangedError: files that it read are gone or altered.
            FunctionChangedError: a function is not what it was.
        """
        return replay_run(
            self,
            run,
            runner=None if engine is None else parse_runner(engine),
            profile=profile,
            session=session,
            progress=progress or Quiet(),
        )

    def verify(  # noqa: PLR0913  (as for `run`)
        self,
        *,
        sample: int | None = None,
        engine: RunnerKind | str = RunnerKind.SPARK,
        profile: str = "default",
        select: Sequence[str] = (),
        exclude: Sequence[str] = (),
        session: SparkSession | None = None,
        progress: Progress | None = None,
    ) -> RunRecord:
        """Compute views that a run would skip, and compare them with the results that stand.

        Nothing of the project is changed. A view that differs has the status `failed` in the
        record: its skip would not have been sound.

        Args:
            sample: How many of these views to compute, chosen at random; by default all.
            engine: As for `run`, like all arguments below.
            profile: How much of the machine to take.
            select: Views to look at.
            exclude: Views not to look at.
            session: A Spark session; by default the running one, or a local one.
            progress: Hears of the run as it goes on.

        Raises:
            PipelineError, TableError: as for `run`.
        """
        request = RunRequest(
            runner=parse_runner(engine),
            profile=profile,
            select=tuple(select),
            exclude=tuple(exclude),
        )
        return verify_project(
            self, request, sample=sample, session=session, progress=progress or Quiet()
        )

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

    def _runner(self, engine: RunnerKind | str | None, bundle: str | None) -> RunnerKind:
        if engine is not None:
            return parse_runner(engine)
        if bundle is None:
            return RunnerKind.SPARK
        return runner_of(self.store.find_bundle(bundle).engine)

    @property
    def state(self) -> ProjectState:
        """Where the project keeps what it made."""
        return project_state(self)

    @property
    def store(self) -> ArtifactStore:
        """Where the records of runs are kept."""
        return self.state.store

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
