"""Every error Headrace raises: a stable code, the facts as fields, and the next step.

    HeadraceError
    ├── TableError                     what the table is, or is not
    │   ├── TableNotFoundError         TABLE_NOT_FOUND
    │   ├── InvalidTableError          INVALID_TABLE
    │   ├── UnsupportedFeatureError    UNSUPPORTED_FEATURE
    │   ├── CatalogManagedError        CATALOG_MANAGED
    │   ├── VersionNotFoundError       VERSION_NOT_FOUND
    │   ├── TimestampNotFoundError     TIMESTAMP_NOT_FOUND
    │   ├── SnapshotExpiredError       SNAPSHOT_EXPIRED
    │   ├── SchemaChangedError         SCHEMA_CHANGED
    │   ├── TableReplacedError         TABLE_REPLACED
    │   ├── UnstreamableChangeError    UNSTREAMABLE_CHANGE
    │   └── ChangeDataMissingError     CHANGE_DATA_MISSING
    ├── DamageError                    bytes that should not be there, or are not
    │   ├── LogGapError                LOG_GAP
    │   ├── CorruptLogError            CORRUPT_LOG
    │   ├── CorruptCheckpointError     CORRUPT_CHECKPOINT
    │   ├── CorruptDataFileError       CORRUPT_DATA_FILE
    │   ├── CorruptDeletionVectorError CORRUPT_DELETION_VECTOR
    │   ├── DataFileNotFoundError      DATA_FILE_NOT_FOUND
    │   ├── PartitionValueError        PARTITION_VALUE
    │   └── UnsafePathError            UNSAFE_PATH
    ├── RequestError                   what was asked for cannot be answered
    │   ├── FallbackForbiddenError     FALLBACK_FORBIDDEN
    │   ├── FilesNotSeenError          FILES_NOT_SEEN
    │   ├── IncrementRefusedError      INCREMENT_REFUSED
    │   ├── InvalidArgumentError       INVALID_ARGUMENT
    │   ├── PredicateSyntaxError       PREDICATE_SYNTAX
    │   ├── PredicateTypeError         PREDICATE_TYPE
    │   ├── ReaderClosedError          READER_CLOSED
    │   ├── UnknownColumnError         UNKNOWN_COLUMN
    │   └── UnsupportedPredicateError  UNSUPPORTED_PREDICATE
    ├── StorageError                   the store did not do what it was asked
    │   ├── ObjectNotFoundError        OBJECT_NOT_FOUND
    │   ├── StoreFailedError           STORE_FAILED
    │   ├── SpillFailedError           SPILL_FAILED
    │   ├── OutputFailedError          OUTPUT_FAILED
    │   └── UnsupportedStoreError      UNSUPPORTED_STORE
    ├── SetupError                     what this machine, or a session, lacks
    │   ├── JavaNotFoundError          JAVA_NOT_FOUND
    │   ├── MissingExtraError          MISSING_EXTRA
    │   └── SessionError               SESSION
    ├── EngineError                    an engine did not do what it was asked
    │   ├── EngineFailedError          ENGINE_FAILED
    │   └── PlanRefusedError           PLAN_REFUSED
    ├── PipelineError                  a project that cannot be planned or run as it stands
    │   ├── ProjectNotFoundError       PROJECT_NOT_FOUND
    │   ├── InvalidProjectError        INVALID_PROJECT
    │   ├── InvalidViewError           INVALID_VIEW
    │   ├── ViewCycleError             VIEW_CYCLE
    │   ├── UnknownRelationError       UNKNOWN_RELATION
    │   ├── InvalidFunctionError       INVALID_FUNCTION
    │   ├── FunctionMissingError       FUNCTION_MISSING
    │   ├── FunctionChangedError       FUNCTION_CHANGED
    │   ├── ContractViolatedError      CONTRACT_VIOLATED
    │   ├── PinConflictError           PIN_CONFLICT
    │   ├── BundleDamagedError         BUNDLE_DAMAGED
    │   ├── RunNotFoundError           RUN_NOT_FOUND
    │   ├── RunInProgressError         RUN_IN_PROGRESS
    │   ├── RunFailedError             RUN_FAILED
    │   ├── RunCancelledError          RUN_CANCELLED
    │   ├── ResultMissingError         RESULT_MISSING
    │   ├── InvalidResultError         INVALID_RESULT
    │   ├── ViewUnplannedError         VIEW_UNPLANNED
    │   ├── PinnedFilesChangedError    PINNED_FILES_CHANGED
    │   └── ReplayDiffersError         REPLAY_DIFFERS
    └── MachineError                   phases and executors used against their contract
        ├── NotTerminalError           NOT_TERMINAL
        ├── PhaseUnfinishedError       PHASE_UNFINISHED
        ├── NotFrozenError             NOT_FROZEN
        └── UnexpectedBatchError       UNEXPECTED_BATCH

Callers catch a family, tools switch on `code`, people read the text.
"""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any, ClassVar


class HeadraceError(Exception):
    """The root: everything that Headrace raises on purpose."""

    code: ClassVar[str] = "HEADRACE"

    @property
    def fields(self) -> dict[str, Any]:
        """The facts behind the text, by name."""
        return dict(self.__dict__)

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle by fields, so that an error crosses processes whole."""
        return _rebuild, (type(self), self.args, self.__dict__)


def _rebuild(
    kind: type[HeadraceError], args: tuple[Any, ...], fields: dict[str, Any]
) -> HeadraceError:
    error = kind.__new__(kind, *args)
    error.args = args
    error.__dict__.update(fields)
    return error


class TableError(HeadraceError):
    """What the table is, or is not."""


class TableNotFoundError(TableError):
    """There is no Delta log where the table should be."""

    code: ClassVar[str] = "TABLE_NOT_FOUND"

    def __init__(self, *, table: str) -> None:
        self.table = table
        super().__init__(
            f"{table}: no Delta table here (no commit or checkpoint in _delta_log); "
            "check the path, which must name the folder that holds _delta_log"
        )


class InvalidTableError(TableError):
    """The log breaks a rule that every table must keep."""

    code: ClassVar[str] = "INVALID_TABLE"

    def __init__(self, *, table: str, reason: str) -> None:
        self.table, self.reason = table, reason
        super().__init__(f"{table}: {reason}; the table must be repaired by its writer")


class UnsupportedFeatureError(TableError):
    """The table needs reader features that Headrace does not implement."""

    code: ClassVar[str] = "UNSUPPORTED_FEATURE"

    def __init__(self, *, table: str, features: Sequence[str]) -> None:
        self.table, self.features = table, tuple(features)
        super().__init__(
            f"{table}: reading needs {', '.join(self.features)}, which this version of Headrace "
            "does not implement; upgrade Headrace, or drop the feature from the table"
        )


class CatalogManagedError(TableError):
    """Only a catalog knows which commits of this table are ratified."""

    code: ClassVar[str] = "CATALOG_MANAGED"

    def __init__(self, *, table: str) -> None:
        self.table = table
        super().__init__(
            f"{table}: the table is managed by a catalog, and the files in its log do not tell "
            "which commits are ratified; ask the catalog and pass them as log_tail=[...]"
        )


class VersionNotFoundError(TableError):
    """The requested version does not exist, or can no longer be rebuilt."""

    code: ClassVar[str] = "VERSION_NOT_FOUND"

    def __init__(self, *, table: str, version: int, oldest: int | None, newest: int) -> None:
        self.table, self.version, self.oldest, self.newest = table, version, oldest, newest
        known = f"up to {newest}" if oldest is None else f"{oldest} to {newest}"
        super().__init__(f"{table}: version {version} is not there; versions {known} can be read")


class TimestampNotFoundError(TableError):
    """The requested time lies before the first commit that is still there."""

    code: ClassVar[str] = "TIMESTAMP_NOT_FOUND"

    def __init__(self, *, table: str, timestamp_ms: int, oldest_ms: int | None) -> None:
        self.table, self.timestamp_ms, self.oldest_ms = table, timestamp_ms, oldest_ms
        next_step = (
            "no commit is left that tells its time: ask for a version"
            if oldest_ms is None
            else f"the oldest that can be read is of {_time(oldest_ms)}: ask for that time or later"
        )
        super().__init__(f"{table}: no commit at or before {_time(timestamp_ms)}; {next_step}")


class SnapshotExpiredError(TableError):
    """A file of the log vanished after the snapshot was taken."""

    code: ClassVar[str] = "SNAPSHOT_EXPIRED"

    def __init__(self, *, table: str, version: int, path: str) -> None:
        self.table, self.version, self.path = table, version, path
        super().__init__(
            f"{table}: {path} is gone, so version {version} can no longer be read whole; the log "
            "was cleaned up meanwhile: take a new snapshot"
        )


class SchemaChangedError(TableError):
    """A commit changed the schema in a way that a running stream cannot follow."""

    code: ClassVar[str] = "SCHEMA_CHANGED"

    def __init__(self, *, table: str, version: int, difference: str) -> None:
        self.table, self.version, self.difference = table, version, difference
        super().__init__(
            f"{table}: version {version} has another schema than the stream: {difference}; start "
            "the stream again, with the same checkpoint if a column was added, else with a new one"
        )


class TableReplacedError(TableError):
    """There is another table now where a stream has read one."""

    code: ClassVar[str] = "TABLE_REPLACED"

    def __init__(self, *, table: str, expected: str, found: str) -> None:
        self.table, self.expected, self.found = table, expected, found
        super().__init__(
            f"{table}: the stream has read table {expected}, and here is now table {found}; start "
            "a stream with a new checkpoint"
        )


class UnstreamableChangeError(TableError):
    """A commit took rows away, which a stream of appended rows cannot tell."""

    code: ClassVar[str] = "UNSTREAMABLE_CHANGE"

    def __init__(self, *, table: str, version: int, path: str, options: Sequence[str]) -> None:
        self.table, self.version, self.path, self.options = table, version, path, tuple(options)
        super().__init__(
            f"{table}: version {version} deletes or updates rows (it removes {path}), which a "
            f"stream of appended rows cannot tell; set {' or '.join(self.options)}, or read the "
            "change feed"
        )


class ChangeDataMissingError(TableError):
    """The log does not tell which rows a commit changed."""

    code: ClassVar[str] = "CHANGE_DATA_MISSING"

    def __init__(self, *, table: str, version: int, reason: str) -> None:
        self.table, self.version, self.reason = table, version, reason
        super().__init__(
            f"{table}: the changed rows of version {version} are not known: {reason}; start after "
            "this version, or read without the change feed"
        )


class DamageError(HeadraceError):
    """Bytes that should not be there, or are not."""


class LogGapError(DamageError):
    """Commits are missing between the base and the requested version."""

    code: ClassVar[str] = "LOG_GAP"

    def __init__(self, *, table: str, missing: Sequence[range]) -> None:
        self.table, self.missing = table, tuple(missing)
        super().__init__(
            f"{table}: {_commits(self.missing)} missing, so later versions cannot be rebuilt; "
            "restore the files, or ask for a version that a complete checkpoint covers"
        )


class CorruptLogError(DamageError):
    """A commit cannot be decoded, or contradicts itself."""

    code: ClassVar[str] = "CORRUPT_LOG"

    def __init__(self, *, path: str, line: int | None, reason: str) -> None:
        self.path, self.line, self.reason = path, line, reason
        where = path if line is None else f"{path} line {line}"
        super().__init__(f"{where}: {reason}; restore the file from a backup")


class CorruptCheckpointError(DamageError):
    """A checkpoint, or a sidecar that it names, cannot be decoded."""

    code: ClassVar[str] = "CORRUPT_CHECKPOINT"

    def __init__(self, *, path: str, reason: str) -> None:
        self.path, self.reason = path, reason
        super().__init__(
            f"{path}: {reason}; delete it if the commits before it are still there (it is only "
            "a summary of them), else restore it from a backup"
        )


class CorruptDataFileError(DamageError):
    """A data file cannot be decoded, or does not hold what the table's schema says."""

    code: ClassVar[str] = "CORRUPT_DATA_FILE"

    def __init__(self, *, path: str, reason: str) -> None:
        self.path, self.reason = path, reason
        super().__init__(
            f"{path}: {reason}; restore the file from a backup, or have its writer write it anew"
        )


class CorruptDeletionVectorError(DamageError):
    """It cannot be told which rows of a file are deleted."""

    code: ClassVar[str] = "CORRUPT_DELETION_VECTOR"

    def __init__(self, *, vector: str, reason: str) -> None:
        self.vector, self.reason = vector, reason
        super().__init__(
            f"deletion vector {vector}: {reason}; restore its file from a backup, or read a "
            "version from before it"
        )


class DataFileNotFoundError(DamageError):
    """The log names a data file, or the file of a deletion vector, that is not there."""

    code: ClassVar[str] = "DATA_FILE_NOT_FOUND"

    def __init__(self, *, path: str) -> None:
        self.path = path
        super().__init__(
            f"{path}: the log names this file, but it is not there; it may have been vacuumed "
            "away: read a newer version, or restore the file"
        )


class PartitionValueError(DamageError):
    """A partition value in the log is not of its column's type."""

    code: ClassVar[str] = "PARTITION_VALUE"

    def __init__(self, *, column: str, value: str, type_name: str) -> None:
        self.column, self.value, self.type_name = column, value, type_name
        super().__init__(
            f"partition value {value!r} of column {column} is not of type {type_name}; "
            "read partition_values for the text as the log has it"
        )


class UnsafePathError(DamageError):
    """A path of the log leads out of the table."""

    code: ClassVar[str] = "UNSAFE_PATH"

    def __init__(self, *, path: str, reason: str) -> None:
        self.path, self.reason = path, reason
        super().__init__(f"{path!r}: {reason}; a writer would not have made such a path")


class RequestError(HeadraceError):
    """What was asked for cannot be answered."""


class FallbackForbiddenError(RequestError):
    """The scan would have to take another way than the request allows."""

    code: ClassVar[str] = "FALLBACK_FORBIDDEN"

    def __init__(self, *, table: str, reason: str) -> None:
        self.table, self.reason = table, reason
        super().__init__(
            f"{table}: {reason}, which the strict tripwire sends the forward way, and falling "
            "back is forbidden; allow it, or use the lenient tripwire, which is as exact"
        )


class FilesNotSeenError(RequestError):
    """A Spark Connect server sees other files than those that it was told to read."""

    code: ClassVar[str] = "FILES_NOT_SEEN"

    def __init__(self, *, table: str, expected: int, seen: int) -> None:
        self.table, self.expected, self.seen = table, expected, seen
        super().__init__(
            f"{table}: Spark was told of {expected} files and sees {seen}, so rows would be "
            "missing; it passes over names that begin with _ or a dot: read such a table with a "
            "session that is not of Spark Connect"
        )


class IncrementRefusedError(RequestError):
    """An older list of files cannot be brought up to date exactly."""

    code: ClassVar[str] = "INCREMENT_REFUSED"

    def __init__(self, *, table: str, reason: str) -> None:
        self.table, self.reason = table, reason
        super().__init__(f"{table}: {reason}, so the old list cannot be built upon; scan anew")


class InvalidArgumentError(RequestError):
    """An argument is outside of what the call takes."""

    code: ClassVar[str] = "INVALID_ARGUMENT"

    def __init__(self, *, argument: str, reason: str) -> None:
        self.argument, self.reason = argument, reason
        super().__init__(f"{argument}: {reason}")


class PredicateSyntaxError(RequestError):
    """The text of a predicate is not SQL that we know."""

    code: ClassVar[str] = "PREDICATE_SYNTAX"

    def __init__(self, *, predicate: str, reason: str, position: int | None = None) -> None:
        self.predicate, self.reason, self.position = predicate, reason, position
        where = "" if position is None else f" at character {position}"
        super().__init__(
            f"cannot read the predicate {predicate!r}{where}: {reason}; write one Spark SQL "
            "condition, for example \"date >= '2026-01-01' AND city IN ('Bern', 'Basel')\""
        )


class PredicateTypeError(RequestError):
    """A literal cannot be compared with its column."""

    code: ClassVar[str] = "PREDICATE_TYPE"

    def __init__(self, *, column: str, type_name: str, literal: str) -> None:
        self.column, self.type_name, self.literal = column, type_name, literal
        super().__init__(
            f"column {column} is of type {type_name} and cannot be compared with {literal}; "
            f"write a {type_name} literal"
        )


class ReaderClosedError(RequestError):
    """A reader was closed before its end, and is read on."""

    code: ClassVar[str] = "READER_CLOSED"

    def __init__(self) -> None:
        super().__init__("the reader was closed before its end; ask the snapshot for rows() again")


class UnknownColumnError(RequestError):
    """A predicate or a list of columns names one that the table does not have."""

    code: ClassVar[str] = "UNKNOWN_COLUMN"

    def __init__(self, *, column: str, known: Sequence[str]) -> None:
        self.column, self.known = column, tuple(known)
        listed = ", ".join(self.known)
        beside = f"the table has {listed}" if listed else "what should hold it has no columns"
        super().__init__(f"no column {column}; {beside}")


class UnsupportedPredicateError(RequestError):
    """A predicate that can leave out files cannot be evaluated row by row."""

    code: ClassVar[str] = "UNSUPPORTED_PREDICATE"

    def __init__(self, *, part: str) -> None:
        self.part = part
        super().__init__(
            f"{part}: rows are not filtered by this; compare columns with literals, and leave the "
            "rest to the engine that takes the rows"
        )


class StorageError(HeadraceError):
    """The store did not do what it was asked."""


class ObjectNotFoundError(StorageError):
    """The store has no such object."""

    code: ClassVar[str] = "OBJECT_NOT_FOUND"

    def __init__(self, *, path: str) -> None:
        self.path = path
        super().__init__(f"{path}: no such object")


class StoreFailedError(StorageError):
    """The store answered with an error of its own.

    `transient` tells whether asking again may help: a connection that broke, not a permission
    that is missing.
    """

    code: ClassVar[str] = "STORE_FAILED"

    def __init__(self, *, path: str, reason: str, transient: bool = True) -> None:
        self.path, self.reason, self.transient = path, reason, transient
        super().__init__(f"{path}: {reason}; check that the store is there and may be read")


class SpillFailedError(StorageError):
    """The keys of a scan outgrew their memory, and could not be kept on disk."""

    code: ClassVar[str] = "SPILL_FAILED"

    def __init__(self, *, folder: str, reason: str) -> None:
        self.folder, self.reason = folder, reason
        super().__init__(
            f"{folder}: the keys of the scan could not be kept there: {reason}; free some space, "
            "let TMPDIR name another folder, or allow the scan more memory"
        )


class OutputFailedError(StorageError):
    """What a command has to say cannot be written where it should go."""

    code: ClassVar[str] = "OUTPUT_FAILED"

    def __init__(self, *, target: str, reason: str) -> None:
        self.target, self.reason = target, reason
        super().__init__(
            f"{target}: {reason}; what has been written, if anything, is not whole: make room, "
            "mend the permissions, or choose another place"
        )


class UnsupportedStoreError(StorageError):
    """No store is known for this kind of address."""

    code: ClassVar[str] = "UNSUPPORTED_STORE"

    def __init__(self, *, uri: str, known: Sequence[str]) -> None:
        self.uri, self.known = uri, tuple(known)
        super().__init__(f"{uri}: no store for this address; known are {', '.join(self.known)}")


class SetupError(HeadraceError):
    """What this machine, or a session, lacks."""


class JavaNotFoundError(SetupError):
    """Spark needs a Java, and there is none that it can run on."""

    code: ClassVar[str] = "JAVA_NOT_FOUND"

    def __init__(self, *, java: str | None, version: int | None, oldest: int) -> None:
        self.java, self.version, self.oldest = java, version, oldest
        if java is None:
            found = "there is no java on the PATH, and JAVA_HOME is not set"
        elif version is None:
            found = f"{java} does not run"
        else:
            found = f"{java} is Java {version}, and Spark needs {oldest} or later"
        super().__init__(f"{found}; run: pip install 'headrace[spark-java]'")


class MissingExtraError(SetupError, ImportError):
    """An optional part of Headrace was not installed."""

    code: ClassVar[str] = "MISSING_EXTRA"

    def __init__(self, *, module: str, extra: str) -> None:
        self.module, self.extra = module, extra
        super().__init__(f"{module} is not installed; run: pip install 'headrace[{extra}]'")


class SessionError(SetupError):
    """A Spark session cannot be used as it is."""

    code: ClassVar[str] = "SESSION"

    def __init__(self, *, reason: str) -> None:
        self.reason = reason
        super().__init__(
            f"{reason}; stop the session that runs, if any, and make one with "
            "headrace.spark.local(), or hand yours to headrace.spark.attach()"
        )


class EngineError(HeadraceError):
    """An engine did not do what it was asked."""


class EngineFailedError(EngineError):
    """An engine that runs elsewhere gave up, after all its own tries."""

    code: ClassVar[str] = "ENGINE_FAILED"

    def __init__(self, *, engine: str, reason: str) -> None:
        self.engine, self.reason = engine, reason
        super().__init__(
            f"{engine} failed: {reason}; look at its log, and check that its workers have this "
            "version of headrace and reach the table"
        )


class PlanRefusedError(EngineError):
    """An engine does not take this plan; another one must."""

    code: ClassVar[str] = "PLAN_REFUSED"

    def __init__(self, *, engine: str, node: str, reason: str) -> None:
        self.engine, self.node, self.reason = engine, node, reason
        super().__init__(
            f"{engine} does not execute {node}: {reason}; execute it on the embedded engine"
        )


class PipelineError(HeadraceError):
    """A project that cannot be planned or run as it stands."""


class ProjectNotFoundError(PipelineError):
    """There is no project where one was asked for."""

    code: ClassVar[str] = "PROJECT_NOT_FOUND"

    def __init__(self, *, folder: str) -> None:
        self.folder = folder
        super().__init__(
            f"{folder}: no headrace.toml here; name the folder that holds it, or make a project "
            "with `headrace init`"
        )


class InvalidProjectError(PipelineError):
    """A file of a project says something that it cannot mean."""

    code: ClassVar[str] = "INVALID_PROJECT"

    def __init__(self, *, file: str, key: str, reason: str) -> None:
        self.file, self.key, self.reason = file, key, reason
        super().__init__(f"{file}: {key}: {reason}")


class InvalidViewError(PipelineError):
    """A view's header or its query cannot be read."""

    code: ClassVar[str] = "INVALID_VIEW"

    def __init__(self, *, file: str, line: int | None, reason: str) -> None:
        self.file, self.line, self.reason = file, line, reason
        super().__init__(f"{file if line is None else f'{file} line {line}'}: {reason}")


class ViewCycleError(PipelineError):
    """Views read each other in a circle."""

    code: ClassVar[str] = "VIEW_CYCLE"

    def __init__(self, *, path: Sequence[str]) -> None:
        self.path = tuple(path)
        super().__init__(
            f"views read each other in a circle: {' -> '.join(self.path)}; one of them must read "
            "a source instead"
        )


class UnknownRelationError(PipelineError):
    """A view reads something that is neither a source nor a view of the project."""

    code: ClassVar[str] = "UNKNOWN_RELATION"

    def __init__(self, *, view: str, relation: str, known: Sequence[str]) -> None:
        self.view, self.relation, self.known = view, relation, tuple(known)
        super().__init__(
            f"view {view} reads {relation}, which is neither a source nor a view; there are "
            f"{', '.join(self.known) or 'none'}"
        )


class InvalidFunctionError(PipelineError):
    """A function is declared in a way that no runner could use."""

    code: ClassVar[str] = "INVALID_FUNCTION"

    def __init__(self, *, function: str, reason: str) -> None:
        self.function, self.reason = function, reason
        super().__init__(f"function {function}: {reason}")


class FunctionMissingError(PipelineError):
    """A view calls a function that nobody declares."""

    code: ClassVar[str] = "FUNCTION_MISSING"

    def __init__(self, *, view: str, function: str, similar: Sequence[str]) -> None:
        self.view, self.function, self.similar = view, function, tuple(similar)
        hint = f"; did you mean {' or '.join(self.similar)}?" if self.similar else ""
        super().__init__(
            f"view {view} calls {function}, which is neither Spark's nor declared in "
            f"functions.py{hint} (`headrace functions` lists what is there)"
        )


class FunctionChangedError(PipelineError):
    """A function is not what it was when the bundle was made."""

    code: ClassVar[str] = "FUNCTION_CHANGED"

    def __init__(self, *, view: str, function: str, changed: str) -> None:
        self.view, self.function, self.changed = view, function, changed
        super().__init__(
            f"view {view} was planned with another {function}: {changed}; plan again, or restore "
            "the function"
        )


class ContractViolatedError(PipelineError):
    """What views give is not what their contracts promise."""

    code: ClassVar[str] = "CONTRACT_VIOLATED"

    def __init__(self, *, violations: Sequence[str]) -> None:
        self.violations = tuple(violations)
        super().__init__(
            f"{'; '.join(self.violations)}; change the query, the contract or its policy"
        )


class PinConflictError(PipelineError):
    """One source is pinned to two versions."""

    code: ClassVar[str] = "PIN_CONFLICT"

    def __init__(self, *, source: str, pins: Sequence[str]) -> None:
        self.source, self.pins = source, tuple(pins)
        super().__init__(
            f"source {source} is pinned to {' and to '.join(self.pins)}; keep one of them"
        )


class BundleDamagedError(PipelineError):
    """A bundle's content is not what its id stands for."""

    code: ClassVar[str] = "BUNDLE_DAMAGED"

    def __init__(self, *, bundle: str, reason: str) -> None:
        self.bundle, self.reason = bundle, reason
        super().__init__(f"bundle {bundle}: {reason}; plan anew")


class RunNotFoundError(PipelineError):
    """There is no such run, or more than one."""

    code: ClassVar[str] = "RUN_NOT_FOUND"

    def __init__(self, *, run: str, similar: Sequence[str]) -> None:
        self.run, self.similar = run, tuple(similar)
        known = f"there are {', '.join(self.similar)}" if self.similar else "none comes close"
        super().__init__(f"no single run is called {run}: {known}; `headrace runs` lists them")


class RunInProgressError(PipelineError):
    """Another process is running the project."""

    code: ClassVar[str] = "RUN_IN_PROGRESS"

    def __init__(self, *, project: str, holder: str) -> None:
        self.project, self.holder = project, holder
        super().__init__(f"project {project} is being run by {holder}; wait until it has ended")


class RunFailedError(PipelineError):
    """Views of a run failed."""

    code: ClassVar[str] = "RUN_FAILED"

    def __init__(self, *, run: str, failures: Sequence[str]) -> None:
        self.run, self.failures = run, tuple(failures)
        super().__init__(
            f"run {run}: {'; '.join(self.failures)}; views that do not depend on these stand, "
            "and the next run takes it up from here"
        )


class RunCancelledError(PipelineError):
    """A run was stopped before it had ended."""

    code: ClassVar[str] = "RUN_CANCELLED"

    def __init__(self, *, run: str) -> None:
        self.run = run
        super().__init__(
            f"run {run} was cancelled; what had been committed stands, and the next run takes it "
            "up from there"
        )


class ResultMissingError(PipelineError):
    """A view reads the result of a view that has none, and that is not to be run."""

    code: ClassVar[str] = "RESULT_MISSING"

    def __init__(self, *, view: str, upstream: str) -> None:
        self.view, self.upstream = view, upstream
        super().__init__(
            f"view {view} reads {upstream}, which has no result and is not selected; select it "
            f"too, e.g. with --select +{view}"
        )


class InvalidResultError(PipelineError):
    """The rows that a view gave cannot be written as its header asks."""

    code: ClassVar[str] = "INVALID_RESULT"

    def __init__(self, *, view: str, reason: str) -> None:
        self.view, self.reason = view, reason
        super().__init__(f"view {view}: {reason}; nothing was written")


class ViewUnplannedError(PipelineError):
    """A view is to run on DataFusion, which has no plan for it."""

    code: ClassVar[str] = "VIEW_UNPLANNED"

    def __init__(self, *, view: str, reason: str) -> None:
        self.view, self.reason = view, reason
        super().__init__(
            f"view {view} has no plan in DataFusion: {reason}; run it on Spark, or correct it"
        )


class PinnedFilesChangedError(PipelineError):
    """Files that a run read are gone, or are not what they were."""

    code: ClassVar[str] = "PINNED_FILES_CHANGED"

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

    code: ClassVar[str] = "REPLAY_DIFFERS"

    def __init__(self, *, run: str, differences: Sequence[str]) -> None:
        self.run, self.differences = run, tuple(differences)
        super().__init__(
            f"the replay of {run} differs: {'; '.join(self.differences)}; "
            "`headrace diff` tells what else is different"
        )


class MachineError(HeadraceError):
    """Phases and executors were used against their contract."""


class NotTerminalError(MachineError):
    """The terminal value was asked for before the machine had reached it."""

    code: ClassVar[str] = "NOT_TERMINAL"

    def __init__(self, *, phase: str) -> None:
        self.phase = phase
        super().__init__(
            f"the machine stands at {phase} and has no value yet; iterate it to the end, or call "
            "run_to_terminal()"
        )


class PhaseUnfinishedError(MachineError):
    """The next phase was asked for before all batches of this one were given out."""

    code: ClassVar[str] = "PHASE_UNFINISHED"

    def __init__(self, *, phase: str) -> None:
        self.phase = phase
        super().__init__(
            f"{phase} has batches that were not given out; iterate its run to the end before "
            "asking for the next phase"
        )


class NotFrozenError(MachineError):
    """A seen set that is still being filled was sent to another process."""

    code: ClassVar[str] = "NOT_FROZEN"

    def __init__(self) -> None:
        super().__init__("a seen set can be pickled only once it is frozen: finish the commits")


class UnexpectedBatchError(MachineError):
    """An executor answered a plan with a batch of the wrong kind."""

    code: ClassVar[str] = "UNEXPECTED_BATCH"

    def __init__(self, *, phase: str, expected: str, got: str) -> None:
        self.phase, self.expected, self.got = phase, expected, got
        super().__init__(
            f"{phase} asked for {expected} and got {got}; see the contract of "
            "headrace.plan.Executor"
        )


def _time(timestamp_ms: int) -> str:
    """Write a time for people; one that no calendar has stays a number."""
    try:
        moment = datetime.fromtimestamp(timestamp_ms / 1000, tz=UTC)
    except (OverflowError, ValueError, OSError):
        return f"{timestamp_ms} ms"
    return moment.isoformat(timespec="milliseconds")


def _commits(missing: Sequence[range]) -> str:
    """Write 3, 4, 5 and 9 as "commits 3-5, 9 are", and 3 as "commit 3 is"."""
    listed = ", ".join(
        str(run.start) if len(run) == 1 else f"{run.start}-{run.stop - 1}" for run in missing
    )
    return f"commits {listed} are" if len(missing) > 1 or "-" in listed else f"commit {listed} is"
