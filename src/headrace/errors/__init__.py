"""Every error Headrace raises: a stable code, the facts as fields, and the next step.

    HeadraceError
    ├── TableError                     what the table is, or is not
    │   ├── TableNotFoundError         TABLE_NOT_FOUND
    │   ├── InvalidTableError          INVALID_TABLE
    │   ├── UnsupportedFeatureError    UNSUPPORTED_FEATURE
    │   ├── UnsupportedFileError       UNSUPPORTED_FILE
    │   ├── CatalogManagedError        CATALOG_MANAGED
    │   ├── VersionNotFoundError       VERSION_NOT_FOUND
    │   ├── TimestampNotFoundError     TIMESTAMP_NOT_FOUND
    │   ├── SnapshotExpiredError       SNAPSHOT_EXPIRED
    │   ├── SchemaChangedError         SCHEMA_CHANGED
    │   ├── TableReplacedError         TABLE_REPLACED
    │   ├── UnstreamableChangeError    UNSTREAMABLE_CHANGE
    │   ├── ChangeDataMissingError     CHANGE_DATA_MISSING
    │   └── UnwritableTableError       UNWRITABLE_TABLE
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
    │   ├── ObjectExistsError          OBJECT_EXISTS
    │   ├── ObjectChangedError         OBJECT_CHANGED
    │   ├── StoreFailedError           STORE_FAILED
    │   ├── SpillFailedError           SPILL_FAILED
    │   ├── OutputFailedError          OUTPUT_FAILED
    │   ├── UnsupportedStoreError      UNSUPPORTED_STORE
    │   ├── CommitUnknownError         COMMIT_UNKNOWN
    │   └── CommitConflictError        COMMIT_CONFLICT
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
    │   ├── ViewError                  a view that must be written differently
    │   │   ├── InvalidViewError       INVALID_VIEW
    │   │   ├── UnknownRelationError   UNKNOWN_RELATION
    │   │   ├── FunctionMissingError   FUNCTION_MISSING
    │   │   ├── ContractViolatedError  CONTRACT_VIOLATED
    │   │   └── ViewRefusedError       VIEW_REFUSED
    │   ├── ViewCycleError             VIEW_CYCLE
    │   ├── AppendRepeatsError         APPEND_REPEATS
    │   ├── InvalidFunctionError       INVALID_FUNCTION
    │   ├── FunctionChangedError       FUNCTION_CHANGED
    │   ├── FunctionFailedError        FUNCTION_FAILED
    │   ├── PinConflictError           PIN_CONFLICT
    │   ├── BundleDamagedError         BUNDLE_DAMAGED
    │   ├── FileListMissingError       FILE_LIST_MISSING
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

from headrace.errors.damage import (
    CorruptCheckpointError,
    CorruptDataFileError,
    CorruptDeletionVectorError,
    CorruptLogError,
    DamageError,
    DataFileNotFoundError,
    LogGapError,
    PartitionValueError,
    UnsafePathError,
)
from headrace.errors.engine import (
    EngineError,
    EngineFailedError,
    PlanRefusedError,
)
from headrace.errors.machine import (
    MachineError,
    NotFrozenError,
    NotTerminalError,
    PhaseUnfinishedError,
    UnexpectedBatchError,
)
from headrace.errors.pipeline import (
    AppendRepeatsError,
    BundleDamagedError,
    ContractViolatedError,
    FileListMissingError,
    FunctionChangedError,
    FunctionFailedError,
    FunctionMissingError,
    InvalidFunctionError,
    InvalidProjectError,
    InvalidResultError,
    InvalidViewError,
    PinConflictError,
    PinnedFilesChangedError,
    PipelineError,
    ProjectNotFoundError,
    ReplayDiffersError,
    ResultMissingError,
    RunCancelledError,
    RunFailedError,
    RunInProgressError,
    RunNotFoundError,
    UnknownRelationError,
    ViewCycleError,
    ViewError,
    ViewRefusedError,
    ViewUnplannedError,
)
from headrace.errors.request import (
    FallbackForbiddenError,
    FilesNotSeenError,
    IncrementRefusedError,
    InvalidArgumentError,
    PredicateSyntaxError,
    PredicateTypeError,
    ReaderClosedError,
    RequestError,
    UnknownColumnError,
    UnsupportedPredicateError,
)
from headrace.errors.root import (
    HeadraceError,
)
from headrace.errors.setup import (
    JavaNotFoundError,
    MissingExtraError,
    SessionError,
    SetupError,
)
from headrace.errors.storage import (
    CommitConflictError,
    CommitUnknownError,
    ObjectChangedError,
    ObjectExistsError,
    ObjectNotFoundError,
    OutputFailedError,
    SpillFailedError,
    StorageError,
    StoreFailedError,
    UnsupportedStoreError,
)
from headrace.errors.table import (
    CatalogManagedError,
    ChangeDataMissingError,
    InvalidTableError,
    SchemaChangedError,
    SnapshotExpiredError,
    TableError,
    TableNotFoundError,
    TableReplacedError,
    TimestampNotFoundError,
    UnstreamableChangeError,
    UnsupportedFeatureError,
    UnsupportedFileError,
    UnwritableTableError,
    VersionNotFoundError,
)

__all__ = [
    "AppendRepeatsError",
    "BundleDamagedError",
    "CatalogManagedError",
    "ChangeDataMissingError",
    "CommitConflictError",
    "CommitUnknownError",
    "ContractViolatedError",
    "CorruptCheckpointError",
    "CorruptDataFileError",
    "CorruptDeletionVectorError",
    "CorruptLogError",
    "DamageError",
    "DataFileNotFoundError",
    "EngineError",
    "EngineFailedError",
    "FallbackForbiddenError",
    "FileListMissingError",
    "FilesNotSeenError",
    "FunctionChangedError",
    "FunctionFailedError",
    "FunctionMissingError",
    "HeadraceError",
    "IncrementRefusedError",
    "InvalidArgumentError",
    "InvalidFunctionError",
    "InvalidProjectError",
    "InvalidResultError",
    "InvalidTableError",
    "InvalidViewError",
    "JavaNotFoundError",
    "LogGapError",
    "MachineError",
    "MissingExtraError",
    "NotFrozenError",
    "NotTerminalError",
    "ObjectChangedError",
    "ObjectExistsError",
    "ObjectNotFoundError",
    "OutputFailedError",
    "PartitionValueError",
    "PhaseUnfinishedError",
    "PinConflictError",
    "PinnedFilesChangedError",
    "PipelineError",
    "PlanRefusedError",
    "PredicateSyntaxError",
    "PredicateTypeError",
    "ProjectNotFoundError",
    "ReaderClosedError",
    "ReplayDiffersError",
    "RequestError",
    "ResultMissingError",
    "RunCancelledError",
    "RunFailedError",
    "RunInProgressError",
    "RunNotFoundError",
    "SchemaChangedError",
    "SessionError",
    "SetupError",
    "SnapshotExpiredError",
    "SpillFailedError",
    "StorageError",
    "StoreFailedError",
    "TableError",
    "TableNotFoundError",
    "TableReplacedError",
    "TimestampNotFoundError",
    "UnexpectedBatchError",
    "UnknownColumnError",
    "UnknownRelationError",
    "UnsafePathError",
    "UnstreamableChangeError",
    "UnsupportedFeatureError",
    "UnsupportedFileError",
    "UnsupportedPredicateError",
    "UnsupportedStoreError",
    "UnwritableTableError",
    "VersionNotFoundError",
    "ViewCycleError",
    "ViewError",
    "ViewRefusedError",
    "ViewUnplannedError",
]
