"""`Project`: a folder, loaded; what a user of the Python API starts from."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from importlib import metadata
from os import PathLike
from pathlib import Path

from headrace.errors import InvalidArgumentError, InvalidProjectError, ProjectNotFoundError
from headrace.pipeline.bundle.bundle import Bundle, make_bundle
from headrace.pipeline.bundle.view_plan import ViewPlan
from headrace.pipeline.functions.catalog import (
    Catalog,
    declared_functions,
    project_catalog,
    standard_catalog,
)
from headrace.pipeline.page.graph import written_graph
from headrace.pipeline.page.notebook import notebook_html
from headrace.pipeline.planner.planner import plan_views
from headrace.pipeline.planner.request import BuilderAnalyst, PlanRequest
from headrace.pipeline.project.folder import FUNCTIONS, MODULE_PREFIX, load_module, read_views
from headrace.pipeline.project.manifest import MANIFEST, Manifest, read_manifest
from headrace.pipeline.project.profile import Profile
from headrace.pipeline.project.setting import VariableValue, parse_variable
from headrace.pipeline.project.view import View
from headrace.pipeline.runs.difference import RunDifference, diff_runs
from headrace.pipeline.runs.record import RunRecord
from headrace.pipeline.runs.store import LATEST, STORE, ArtifactStore
from headrace.pipeline.sources.pin import Pins
from headrace.pipeline.sources.resolve import resolve_sources


class Engine(StrEnum):
    """Which runner a plan is for."""

    SPARK = "spark"
    DATAFUSION = "datafusion"


_PACKAGES = {Engine.SPARK: "pyspark", Engine.DATAFUSION: "datafusion"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Project:
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
        return cls(root=root, manifest=manifest, views=views, catalog=_catalog(root))

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
        values = dict(self.manifest.variables)
        for name, value in (changes or {}).items():
            if name not in values:
                known = ", ".join(sorted(values)) or "none"
                reason = f"there is no variable {name}; there are {known}"
                raise InvalidArgumentError(argument="--var", reason=reason)
            try:
                values[name] = (
                    parse_variable(value, like=values[name]) if isinstance(value, str) else value
                )
            except ValueError as error:
                reason = f"{name}: {error}"
                raise InvalidArgumentError(argument="--var", reason=reason) from error
        return values

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
            engine=engine_version(engine),
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

    @property
    def store(self) -> ArtifactStore:
        """Where the records of runs are kept."""
        return ArtifactStore(self.root / self.manifest.project.state / STORE)

    def runs(self, *, limit: int | None = None) -> list[RunRecord]:
        """The runs, newest first, without their views."""
        return self.store.runs(limit=limit)

    def show(self, run: str = LATEST) -> RunRecord:
        """A run with its views: by id, by the beginning of it, or `latest`.

        Raises:
            RunNotFoundError: there is no such run, or more than one.
        """
        return self.store.find(run)

    def diff(self, first: str, second: str = LATEST) -> RunDifference:
        """What is different between two runs.

        Raises:
            RunNotFoundError: there is no such run, or more than one.
        """
        runs = (self.show(first), self.show(second))
        bundles = (self.store.bundle(runs[0].bundle), self.store.bundle(runs[1].bundle))
        return diff_runs(*runs, bundles=bundles)


def engine_version(engine: Engine | str) -> str:
    """A runner and its version.

    Raises:
        InvalidArgumentError: there is no such runner.
    """
    try:
        chosen = Engine(engine)
    except ValueError as error:
        reason = f"{engine!r} is none of {', '.join(Engine)}"
        raise InvalidArgumentError(argument="engine", reason=reason) from error
    try:
        return f"{chosen} {metadata.version(_PACKAGES[chosen])}"
    except metadata.PackageNotFoundError:
        return f"{chosen} (not installed)"


def _catalog(root: Path) -> Catalog:
    file = root / FUNCTIONS
    if not file.is_file():
        return standard_catalog()
    functions = declared_functions(vars(load_module(file, root)))
    own = [f for f in functions if f.kernel.__module__ == f"{MODULE_PREFIX}{file.stem}"]
    return project_catalog(own, origin=FUNCTIONS, root=root)
