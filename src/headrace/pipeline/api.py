"""`Project`: a loaded project folder, the entry point of the Python API.

The path of a folder enters; bundles, run records and reports leave. Each method delegates to the
room that does the work.
"""

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
    """A loaded project: its files, and the operations on it.

    Sources are not read before the project is planned.
    """

    def _repr_html_(self) -> str:
        """Return the graph, for notebooks; nothing is planned."""
        graph = written_graph(self.views, self.manifest.sources)
        return notebook_html(graph, title=self.name, note=self.manifest.project.description)

    def plan(  # noqa: PLR0913  (the inputs of a plan)
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
        """Plan every view, pin every source and prune its files; no data is read.

        Args:
            engine: The runner to plan for; its version is part of every key.
            pins: Versions of sources; by default those in the project, or the newest.
            variables: Variables to change.
            previous: The plan of each view's last successful run, from which digests can be carried
                forward over compactions.
            builders: Analyses views that are built in Python; a Spark runner has one.
            profile: The profile of the run; its Spark settings may change results.
            session: The Spark session of the run, whose settings may change results, too. Its
                analyser, or that of the running session, checks views that the planner cannot plan.

        Raises:
            PipelineError: the project cannot be planned.
            TableError: a source, or its pinned version, does not exist.
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
        """Plan every view, and run Spark's analyser over its SQL; nothing is computed.

        Args:
            engine: As for `run`, like all arguments.
            variables: Variables to change.
            profile: The profile whose settings apply.
            session: A Spark session; by default the running one, or a local one.

        Raises:
            PipelineError: a view is invalid; an `InvalidViewError` has the file, line and column.
            TableError: a source does not exist.
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
        sql_views = [name for name, view in prepared.bundle.views.items() if view.sql is not None]
        analyse_on_spark(self, prepared, views=sql_views, session=spark.open(), profile=profile)
        return prepared.bundle

    def run(  # noqa: PLR0913  (the options of a run)
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
        """Plan the project and run the views that have changed; the record says why.

        A view that fails blocks only its readers: look at `record.status`, or call
        `record.check()`.

        Args:
            engine: The runner: `spark`, or `datafusion` for an embedded run; by default that of
                the bundle, or Spark.
            profile: The profile, which limits the resources of the run.
            select: Views to run: names, patterns, `+name` with everything that it reads, `name+`
                with everything that reads it; by default all.
            exclude: Views not to run, in the same forms.
            variables: Variables to change.
            pins: Versions of sources.
            full_refresh: Run all selected views, and rewrite their outputs.
            analyse: Record the metrics of the physical plans.
            run_id: The id of the run; by default a new one. A retry under the same id does not
                write anything twice; what has changed since the first try runs again.
            bundle: The id of a stored bundle, or a prefix of it, to run as it was planned: its
                SQL over its files, whatever the project says now. Functions must be unchanged.
            session: A Spark session; by default the running one, or a local one.
            progress: Observes the run.

        Raises:
            InvalidArgumentError: the arguments contradict each other.
            PipelineError: the project cannot be planned, or another process runs it.
            SessionError: the session has no driver in this process, as with Spark Connect.
            KeyboardInterrupt: Ctrl-C was pressed; jobs are cancelled, and committed tables remain.
        """
        if run_id is not None and not _RUN_ID.fullmatch(run_id):
            reason = f"{run_id!r} is not a valid run id: use letters, digits, '-', '_' and '.'"
            raise InvalidArgumentError(argument="run_id", reason=reason)
        if bundle is not None and (pins or variables):
            reason = "a bundle has its own pins and variables, so they cannot be changed"
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
        """Return what a run would do with each view, and why. Arguments are as for `run`.

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
        """Explain why a view would run or be skipped: what changed, down to the file or token.

        Args:
            view: The view.
            engine: The runner; by default that of the view's last run.

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
        """Recompute the views of a run from the same files, and compare them by their tiers.

        The project is not changed. A view that differs has the status `failed` in the record, with
        the difference as the reason.

        Args:
            run: The run: an id, a prefix of one, or `latest`.
            engine: Another runner than that of the run.
            profile: The profile of the replay.
            session: A Spark session; by default the running one, or a local one.
            progress: Observes the run.

        Raises:
            RunNotFoundError: no run matches, or more than one.
            PinnedFilesChangedError: files that the run read are missing or altered.
            FunctionChangedError: a function has changed.
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
        engine: RunnerKind | str | None = None,
        profile: str = "default",
        select: Sequence[str] = (),
        exclude: Sequence[str] = (),
        session: SparkSession | None = None,
        progress: Progress | None = None,
    ) -> RunRecord:
        """Recompute views that a run would skip, and compare them with the stored results.

        The project is not changed. A view that differs has the status `failed` in the record:
        skipping it would have been wrong.

        Args:
            sample: The number of views to compute, chosen at random; by default all.
            engine: The runner; by default that of the newest result.
            profile: As for `run`, like all arguments below.
            select: Views to verify.
            exclude: Views not to verify.
            session: A Spark session; by default the running one, or a local one.
            progress: Observes the run.

        Raises:
            PipelineError, TableError: as for `run`.
        """
        request = RunRequest(
            runner=parse_runner(engine or self.state.last_runner(self.views)),
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
        """Remove files of output tables that are no longer needed; by default only list them.

        Args:
            keep_pins: Keep every file that a retained run read or wrote, so that it can be
                replayed.
            keep_runs: The number of newest runs to retain; by default all.
            with_sources: Vacuum the sources, too.
            retention_hours: How long removed files are kept in any case; by default the table's
                setting, or a week.
            dry_run: Only list the files.

        Raises:
            RunInProgressError: the project is running.
        """
        request = VacuumRequest(
            sources=local_tables(self.manifest.sources, root=self.root),
            views=tuple(self.views),
            keep_pins=keep_pins,
            keep_runs=keep_runs,
            with_sources=with_sources,
            retention_hours=retention_hours,
            dry_run=dry_run,
        )
        return vacuum_project(self.name, self.state, request)

    def _runner(self, engine: RunnerKind | str | None, bundle: str | None) -> RunnerKind:
        if engine is not None:
            return parse_runner(engine)
        if bundle is None:
            return RunnerKind.SPARK
        return runner_of(self.store.find_bundle(bundle).engine)

    @property
    def state(self) -> ProjectState:
        """The folders in which the project keeps its outputs and records."""
        return project_state(self)

    @property
    def store(self) -> ArtifactStore:
        """The artifact store, which has the records of runs."""
        return self.state.store

    @property
    def history(self) -> History:
        """The recorded runs."""
        return History(self.state)

    def runs(self, *, limit: int | None = None) -> list[RunRecord]:
        """Return the runs, newest first, without their views."""
        return self.history.runs(limit=limit)

    def show(self, run: str = LATEST) -> RunRecord:
        """Return a run with its views, given its id, a prefix of the id, or `latest`.

        Raises:
            RunNotFoundError: no run matches, or more than one.
        """
        return self.history.show(run)

    def diff(self, first: str, second: str = LATEST) -> RunDifference:
        """Return the differences between two runs.

        Raises:
            RunNotFoundError: no run matches, or more than one.
        """
        return self.history.diff(first, second)
