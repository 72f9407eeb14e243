"""Projects and views that cannot be planned, run or replayed."""

from collections.abc import Mapping, Sequence
from difflib import get_close_matches

from headrace.errors.root import HeadraceError


class PipelineError(HeadraceError):
    """The project cannot be planned, run or replayed."""


class ViewError(PipelineError):
    """A view must be changed before the chosen runner can execute it."""


class ProjectNotFoundError(PipelineError):
    """The given folder has no project."""

    code = "PROJECT_NOT_FOUND"

    def __init__(self, *, folder: str) -> None:
        self.folder = folder
        super().__init__(
            f"{folder}: no headrace.toml here; give the folder that contains it, or create a "
            "project with `headrace init`"
        )


class InvalidProjectError(PipelineError):
    """A project file has an invalid setting."""

    code = "INVALID_PROJECT"

    def __init__(self, *, file: str, key: str, reason: str) -> None:
        self.file, self.key, self.reason = file, key, reason
        super().__init__(f"{file}: {key}: {reason}")


class InvalidViewError(ViewError):
    """The header or the query of a view is invalid."""

    code = "INVALID_VIEW"

    def __init__(
        self, *, file: str, line: int | None, reason: str, column: int | None = None
    ) -> None:
        self.file, self.line, self.column, self.reason = file, line, column, reason
        place = "" if line is None else f" line {line}"
        place += "" if column is None else f" column {column}"
        super().__init__(f"{file}{place}: {reason}")


class ViewCycleError(PipelineError):
    """Views depend on each other in a cycle."""

    code = "VIEW_CYCLE"

    def __init__(self, *, path: Sequence[str]) -> None:
        self.path = tuple(path)
        super().__init__(
            f"views depend on each other in a cycle: {' -> '.join(self.path)}; one of them must "
            "read a source instead"
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
            f"neither a source nor a view; known are {', '.join(self.known) or 'none'}{hint}"
        )


class AppendRepeatsError(PipelineError):
    """A view would append rows that it has already appended."""

    code = "APPEND_REPEATS"

    def __init__(self, *, view: str, file: str, reads: Sequence[str]) -> None:
        self.view, self.file, self.reads = view, file, tuple(reads)
        super().__init__(
            f"{file}: view {view} appends its whole result whenever {', '.join(self.reads)} "
            "changes, so earlier rows would be stored twice; use '@write merge' with @keys or "
            "'@write overwrite', or say '@append all' if every result should be appended whole"
        )


class InvalidFunctionError(PipelineError):
    """The declaration of a function is invalid."""

    code = "INVALID_FUNCTION"

    def __init__(self, *, function: str, reason: str) -> None:
        self.function, self.reason = function, reason
        super().__init__(f"function {function}: {reason}")


class FunctionFailedError(PipelineError):
    """A project function raised an exception while a view was computed."""

    code = "FUNCTION_FAILED"

    def __init__(self, *, function: str, reason: str) -> None:
        self.function, self.reason = function, reason
        super().__init__(f"function {function} failed: {reason}")


class FunctionMissingError(ViewError):
    """A view calls a function that is neither built in nor declared."""

    code = "FUNCTION_MISSING"

    def __init__(
        self, *, view: str, function: str, similar: Sequence[str], place: str | None = None
    ) -> None:
        self.view, self.function, self.similar = view, function, tuple(similar)
        self.place = place
        hint = f"; did you mean {' or '.join(self.similar)}?" if self.similar else ""
        super().__init__(
            f"{'' if place is None else f'{place}: '}view {view} calls {function}, which is "
            f"neither Spark's nor declared in functions.py{hint} (`headrace functions` lists the "
            "known ones)"
        )


class FunctionChangedError(PipelineError):
    """A function has changed since the bundle was planned."""

    code = "FUNCTION_CHANGED"

    def __init__(self, *, view: str, function: str, changed: str) -> None:
        self.view, self.function, self.changed = view, function, changed
        super().__init__(
            f"view {view} was planned with a different {function}: {changed}; plan again, or "
            "restore the function"
        )


class ContractViolatedError(ViewError):
    """The results of views do not match their contracts."""

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
    """The content of a bundle does not match its id."""

    code = "BUNDLE_DAMAGED"

    def __init__(self, *, bundle: str, reason: str) -> None:
        self.bundle, self.reason = bundle, reason
        super().__init__(f"bundle {bundle}: {reason}; plan again")


class FileListMissingError(PipelineError):
    """The file list of a scan unit is missing; only its digest is known."""

    code = "FILE_LIST_MISSING"

    def __init__(self, *, source: str, digest: str) -> None:
        self.source, self.digest = source, digest
        super().__init__(
            f"source {source}: the list of files {digest} is not stored with its bundle; "
            "restore it below the project's state folder, or run the project again"
        )


class RunNotFoundError(PipelineError):
    """No run, or more than one, matches the given name."""

    code = "RUN_NOT_FOUND"

    def __init__(self, *, run: str, similar: Sequence[str]) -> None:
        self.run, self.similar = run, tuple(similar)
        known = f"similar are {', '.join(self.similar)}" if self.similar else "none is similar"
        super().__init__(f"no single run matches {run}: {known}; `headrace runs` lists them")


class RunInProgressError(PipelineError):
    """Another process is running the project."""

    code = "RUN_IN_PROGRESS"

    def __init__(self, *, project: str, holder: str) -> None:
        self.project, self.holder = project, holder
        super().__init__(f"project {project} is being run by {holder}; wait until it ends")


class RunFailedError(PipelineError):
    """Views of a run failed."""

    code = "RUN_FAILED"

    def __init__(self, *, run: str, failures: Sequence[str]) -> None:
        self.run, self.failures = run, tuple(failures)
        super().__init__(
            f"run {run}: {'; '.join(self.failures)}; results of views that do not depend on "
            "these are kept, and the next run continues from here"
        )


class RunCancelledError(PipelineError):
    """A run was cancelled before it ended."""

    code = "RUN_CANCELLED"

    def __init__(self, *, run: str) -> None:
        self.run = run
        super().__init__(
            f"run {run} was cancelled; committed results are kept, and the next run continues "
            "from there"
        )


class ResultMissingError(PipelineError):
    """A view reads another view that has no result and is not part of the run."""

    code = "RESULT_MISSING"

    def __init__(self, *, view: str, upstream: str) -> None:
        self.view, self.upstream = view, upstream
        super().__init__(
            f"view {view} reads {upstream}, which has no result and is not selected; select it "
            f"too, e.g. with --select +{view}"
        )


class InvalidResultError(PipelineError):
    """The rows of a view cannot be written as its header demands."""

    code = "INVALID_RESULT"

    def __init__(self, *, view: str, reason: str) -> None:
        self.view, self.reason = view, reason
        super().__init__(f"view {view}: {reason}; nothing was written")


class ViewUnplannedError(PipelineError):
    """A view should run on DataFusion, which has no plan for it."""

    code = "VIEW_UNPLANNED"

    def __init__(self, *, view: str, reason: str) -> None:
        self.view, self.reason = view, reason
        super().__init__(
            f"view {view} has no plan in DataFusion: {reason}; run it on Spark, or correct it"
        )


class ViewRefusedError(ViewError):
    """Views should run on DataFusion, where their results are not proven to equal Spark's."""

    code = "VIEW_REFUSED"

    def __init__(self, *, refusals: Mapping[str, str]) -> None:
        self.refusals = dict(refusals)
        shown = "; ".join(f"view {view}: {reason}" for view, reason in self.refusals.items())
        super().__init__(
            f"not proven to give Spark's rows on DataFusion, so nothing was run: {shown}; run it "
            "on Spark: --engine spark"
        )


class PinnedFilesChangedError(PipelineError):
    """Files that a run read are missing or have changed."""

    code = "PINNED_FILES_CHANGED"

    def __init__(self, *, view: str, source: str, files: Sequence[str]) -> None:
        self.view, self.source, self.files = view, source, tuple(files)
        shown = "; ".join(self.files[:3])
        more = f" and {len(self.files) - 3} more" if len(self.files) > 3 else ""  # noqa: PLR2004
        super().__init__(
            f"view {view} cannot be computed again: files of source {source} have changed: "
            f"{shown}{more}; restore the files (`headrace vacuum --keep-pins` keeps those of "
            "retained runs)"
        )


class ReplayDiffersError(PipelineError):
    """A replay gave a different result than the run."""

    code = "REPLAY_DIFFERS"

    def __init__(self, *, run: str, differences: Sequence[str]) -> None:
        self.run, self.differences = run, tuple(differences)
        super().__init__(
            f"the replay of {run} differs: {'; '.join(self.differences)}; "
            "`headrace diff` shows what else differs"
        )
