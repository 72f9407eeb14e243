"""A project of views that cannot be planned, run or replayed as it stands."""

from collections.abc import Mapping, Sequence
from difflib import get_close_matches

from headrace.errors.root import HeadraceError


class PipelineError(HeadraceError):
    """A project that cannot be planned or run as it stands."""


class ViewError(PipelineError):
    """A view that must be written differently, for the engine that it is to run on."""


class ProjectNotFoundError(PipelineError):
    """There is no project where one was asked for."""

    code = "PROJECT_NOT_FOUND"

    def __init__(self, *, folder: str) -> None:
        self.folder = folder
        super().__init__(
            f"{folder}: no headrace.toml here; name the folder that holds it, or make a project "
            "with `headrace init`"
        )


class InvalidProjectError(PipelineError):
    """A file of a project says something that it cannot mean."""

    code = "INVALID_PROJECT"

    def __init__(self, *, file: str, key: str, reason: str) -> None:
        self.file, self.key, self.reason = file, key, reason
        super().__init__(f"{file}: {key}: {reason}")


class InvalidViewError(ViewError):
    """A view's header or its query cannot be read."""

    code = "INVALID_VIEW"

    def __init__(
        self, *, file: str, line: int | None, reason: str, column: int | None = None
    ) -> None:
        self.file, self.line, self.column, self.reason = file, line, column, reason
        place = "" if line is None else f" line {line}"
        place += "" if column is None else f" column {column}"
        super().__init__(f"{file}{place}: {reason}")


class ViewCycleError(PipelineError):
    """Views read each other in a circle."""

    code = "VIEW_CYCLE"

    def __init__(self, *, path: Sequence[str]) -> None:
        self.path = tuple(path)
        super().__init__(
            f"views read each other in a circle: {' -> '.join(self.path)}; one of them must read "
            "a source instead"
        )


class UnknownRelationError(ViewError):
    """A view reads something that is neither a source nor a view of the project."""

    code = "UNKNOWN_RELATION"

    def __init__(
        self, *, view: str, relation: str, known: Sequence[str], place: str | None = None
    ) -> None:
        self.view, self.relation, self.known = view, relation, tuple(known)
        self.place = place
        close = get_close_matches(relation, self.known, n=1)
        hint = f"; did you mean {close[0]}?" if close else ""
        super().__init__(
            f"{'' if place is None else f'{place}: '}view {view} reads {relation}, which is "
            f"neither a source nor a view; there are {', '.join(self.known) or 'none'}{hint}"
        )


class AppendRepeatsError(PipelineError):
    """A view would append rows that it has appended before."""

    code = "APPEND_REPEATS"

    def __init__(self, *, view: str, file: str, reads: Sequence[str]) -> None:
        self.view, self.file, self.reads = view, file, tuple(reads)
        super().__init__(
            f"{file}: view {view} appends its whole result whenever {', '.join(self.reads)} "
            "changes, so that earlier rows are there twice; use '@write merge' with @keys, "
            "'@write overwrite', or say '@append all' if every result is to be added whole"
        )


class InvalidFunctionError(PipelineError):
    """A function is declared in a way that no runner could use."""

    code = "INVALID_FUNCTION"

    def __init__(self, *, function: str, reason: str) -> None:
        self.function, self.reason = function, reason
        super().__init__(f"function {function}: {reason}")


class FunctionFailedError(PipelineError):
    """The body of a function of the project raises while a view is computed."""

    code = "FUNCTION_FAILED"

    def __init__(self, *, function: str, reason: str) -> None:
        self.function, self.reason = function, reason
        super().__init__(f"function {function} failed: {reason}")


class FunctionMissingError(ViewError):
    """A view calls a function that nobody declares."""

    code = "FUNCTION_MISSING"

    def __init__(
        self, *, view: str, function: str, similar: Sequence[str], place: str | None = None
    ) -> None:
        self.view, self.function, self.similar = view, function, tuple(similar)
        self.place = place
        hint = f"; did you mean {' or '.join(self.similar)}?" if self.similar else ""
        super().__init__(
            f"{'' if place is None else f'{place}: '}view {view} calls {function}, which is "
            f"neither Spark's nor declared in functions.py{hint} (`headrace functions` lists what "
            "is there)"
        )


class FunctionChangedError(PipelineError):
    """A function is not what it was when the bundle was made."""

    code = "FUNCTION_CHANGED"

    def __init__(self, *, view: str, function: str, changed: str) -> None:
        self.view, self.function, self.changed = view, function, changed
        super().__init__(
            f"view {view} was planned with another {function}: {changed}; plan again, or restore "
            "the function"
        )


class ContractViolatedError(ViewError):
    """What views give is not what their contracts promise."""

    code = "CONTRACT_VIOLATED"

    def __init__(self, *, violations: Sequence[str]) -> None:
        self.violations = tuple(violations)
        super().__init__(
            f"{'; '.join(self.violations)}; change the query, the contract or its policy"
        )


class PinConflictError(PipelineError):
    """One source is pinned to two versions."""

    code = "PIN_CONFLICT"

    def __init__(self, *, source: str, pins: Sequence[str]) -> None:
        self.source, self.pins = source, tuple(pins)
        super().__init__(
            f"source {source} is pinned to {' and to '.join(self.pins)}; keep one of them"
        )


class BundleDamagedError(PipelineError):
    """A bundle's content is not what its id stands for."""

    code = "BUNDLE_DAMAGED"

    def __init__(self, *, bundle: str, reason: str) -> None:
        self.bundle, self.reason = bundle, reason
        super().__init__(f"bundle {bundle}: {reason}; plan anew")


class FileListMissingError(PipelineError):
    """The files of a scan unit are known by their digest alone."""

    code = "FILE_LIST_MISSING"

    def __init__(self, *, source: str, digest: str) -> None:
        self.source, self.digest = source, digest
        super().__init__(
            f"source {source}: the list of files {digest} is not stored with its bundle; "
            "restore it below the project's state folder, or run the project again"
        )


class RunNotFoundError(PipelineError):
    """There is no such run, or more than one."""

    code = "RUN_NOT_FOUND"

    def __init__(self, *, run: str, similar: Sequence[str]) -> None:
        self.run, self.similar = run, tuple(similar)
        known = f"there are {', '.join(self.similar)}" if self.similar else "none comes close"
        super().__init__(f"no single run is called {run}: {known}; `headrace runs` lists them")


class RunInProgressError(PipelineError):
    """Another process is running the project."""

    code = "RUN_IN_PROGRESS"

    def __init__(self, *, project: str, holder: str) -> None:
        self.project, self.holder = project, holder
        super().__init__(f"project {project} is being run by {holder}; wait until it has ended")


class RunFailedError(PipelineError):
    """Views of a run failed."""

    code = "RUN_FAILED"

    def __init__(self, *, run: str, failures: Sequence[str]) -> None:
        self.run, self.failures = run, tuple(failures)
        super().__init__(
            f"run {run}: {'; '.join(self.failures)}; views that do not depend on these stand, "
            "and the next run takes it up from here"
        )


class RunCancelledError(PipelineError):
    """A run was stopped before it had ended."""

    code = "RUN_CANCELLED"

    def __init__(self, *, run: str) -> None:
        self.run = run
        super().__init__(
            f"run {run} was cancelled; what had been committed stands, and the next run takes it "
            "up from there"
        )


class ResultMissingError(PipelineError):
    """A view reads the result of a view that has none, and that is not to be run."""

    code = "RESULT_MISSING"

    def __init__(self, *, view: str, upstream: str) -> None:
        self.view, self.upstream = view, upstream
        super().__init__(
            f"view {view} reads {upstream}, which has no result and is not selected; select it "
            f"too, e.g. with --select +{view}"
        )


class InvalidResultError(PipelineError):
    """The rows that a view gave cannot be written as its header asks."""

    code = "INVALID_RESULT"

    def __init__(self, *, view: str, reason: str) -> None:
        self.view, self.reason = view, reason
        super().__init__(f"view {view}: {reason}; nothing was written")


class ViewUnplannedError(PipelineError):
    """A view is to run on DataFusion, which has no plan for it."""

    code = "VIEW_UNPLANNED"

    def __init__(self, *, view: str, reason: str) -> None:
        self.view, self.reason = view, reason
        super().__init__(
            f"view {view} has no plan in DataFusion: {reason}; run it on Spark, or correct it"
        )


class ViewRefusedError(ViewError):
    """Views are to run on DataFusion, which would not compute what Spark does."""

    code = "VIEW_REFUSED"

    def __init__(self, *, refusals: Mapping[str, str]) -> None:
        self.refusals = dict(refusals)
        shown = "; ".join(f"view {view}: {reason}" for view, reason in self.refusals.items())
        super().__init__(
            f"not proven to give Spark's rows on DataFusion, nothing was run: {shown}; it runs on "
            "Spark: --engine spark"
        )


class PinnedFilesChangedError(PipelineError):
    """Files that a run read are gone, or are not what they were."""

    code = "PINNED_FILES_CHANGED"

    def __init__(self, *, view: str, source: str, files: Sequence[str]) -> None:
        self.view, self.source, self.files = view, source, tuple(files)
        shown = "; ".join(self.files[:3])
        more = f" and {len(self.files) - 3} more" if len(self.files) > 3 else ""  # noqa: PLR2004
        super().__init__(
            f"view {view} cannot be computed again: of source {source}, {shown}{more}; restore "
            "the files (and keep those of kept runs with `headrace vacuum --keep-pins`)"
        )


class ReplayDiffersError(PipelineError):
    """A replay gave something else than the run."""

    code = "REPLAY_DIFFERS"

    def __init__(self, *, run: str, differences: Sequence[str]) -> None:
        self.run, self.differences = run, tuple(differences)
        super().__init__(
            f"the replay of {run} differs: {'; '.join(self.differences)}; "
            "`headrace diff` tells what else is different"
        )
