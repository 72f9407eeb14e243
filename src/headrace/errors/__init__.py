"""Every error Headrace raises, with a stable code, its facts as fields, and the next step.

    HeadraceError
    ├── TableError                     the table is absent, unsupported, or has changed
    │   ├── TableNotFoundError         TABLE_NOT_FOUND
    │   ├── InvalidTableError          INVALID_TABLE
    │   ├── UnsupportedFeatureError    UNSUPPORTED_FEATURE
    │   ├── UnsupportedFileError       UNSUPPORTED_FILE
    │   ├── UnsupportedStateError      UNSUPPORTED_STATE
    │   ├── CatalogManagedError        CATALOG_MANAGED
    │   ├── VersionNotFoundError       VERSION_NOT_FOUND
    │   ├── TimestampNotFoundError     TIMESTAMP_NOT_FOUND
    │   ├── SnapshotExpiredError       SNAPSHOT_EXPIRED
    │   ├── SchemaChangedError         SCHEMA_CHANGED
    │   ├── TableReplacedError         TABLE_REPLACED
    │   ├── UnstreamableChangeError    UNSTREAMABLE_CHANGE
    │   ├── ChangeDataMissingError     CHANGE_DATA_MISSING
    │   ├── UnwritableTableError       UNWRITABLE_TABLE
    │   ├── CleanupRefusedError        CLEANUP_REFUSED
    │   ├── DowngradeRefusedError      DOWNGRADE_REFUSED
    │   └── NotIndexTablesError        NOT_INDEXTABLES
    ├── DamageError                    the log or a data file is damaged
    │   ├── LogGapError                LOG_GAP
    │   ├── CorruptLogError            CORRUPT_LOG
    │   ├── CorruptCheckpointError     CORRUPT_CHECKPOINT
    │   ├── CorruptStateError          CORRUPT_STATE
    │   ├── CorruptDataFileError       CORRUPT_DATA_FILE
    │   ├── CorruptDeletionVectorError CORRUPT_DELETION_VECTOR
    │   ├── DataFileNotFoundError      DATA_FILE_NOT_FOUND
    │   ├── PartitionValueError        PARTITION_VALUE
    │   └── UnsafePathError            UNSAFE_PATH
    ├── RequestError                   the request is invalid or cannot be answered
    │   ├── FallbackForbiddenError     FALLBACK_FORBIDDEN
    │   ├── FilesNotSeenError          FILES_NOT_SEEN
    │   ├── IncrementRefusedError      INCREMENT_REFUSED
    │   ├── InvalidArgumentError       INVALID_ARGUMENT
    │   ├── UnknownStorageOptionError  UNKNOWN_STORAGE_OPTION
    │   ├── MalformedRequestError      MALFORMED_REQUEST
    │   ├── PredicateSyntaxError       PREDICATE_SYNTAX
    │   ├── PredicateTypeError         PREDICATE_TYPE
    │   ├── ReaderClosedError          READER_CLOSED
    │   ├── StatementSyntaxError       STATEMENT_SYNTAX
    │   ├── UnknownColumnError         UNKNOWN_COLUMN
    │   └── UnsupportedPredicateError  UNSUPPORTED_PREDICATE
    ├── StorageError                   a store operation failed
    │   ├── ObjectNotFoundError        OBJECT_NOT_FOUND
    │   ├── ObjectExistsError          OBJECT_EXISTS
    │   ├── ObjectChangedError         OBJECT_CHANGED
    │   ├── ObjectTooShortError        OBJECT_TOO_SHORT
    │   ├── StoreFailedError           STORE_FAILED
    │   │   ├── RangeIgnoredError      the server ignores ranges
    │   │   ├── StoreThrottledError    STORE_THROTTLED
    │   │   └── StoreFullError         STORE_FULL
    │   ├── BucketNotFoundError        BUCKET_NOT_FOUND
    │   ├── AccessDeniedError          ACCESS_DENIED
    │   ├── CredentialError            CREDENTIAL
    │   ├── WrongRegionError           WRONG_REGION
    │   ├── RedirectRefusedError       REDIRECT_REFUSED
    │   ├── ReadOnlyStoreError         READ_ONLY_STORE
    │   ├── ListingUnavailableError    LISTING_UNAVAILABLE
    │   ├── SpillFailedError           SPILL_FAILED
    │   ├── OutputFailedError          OUTPUT_FAILED
    │   ├── UnsupportedStoreError      UNSUPPORTED_STORE
    │   ├── CommitUnknownError         COMMIT_UNKNOWN
    │   ├── LeaseLostError             LEASE_LOST
    │   ├── CommitConflictError        COMMIT_CONFLICT
    │   └── StateConflictError         STATE_CONFLICT
    ├── SetupError                     the machine or the session lacks something
    │   ├── BuildFailedError           BUILD_FAILED
    │   ├── JavaNotFoundError          JAVA_NOT_FOUND
    │   ├── MissingExtraError          MISSING_EXTRA
    │   ├── FileSystemMissingError     FILE_SYSTEM_MISSING
    │   └── SessionError               SESSION
    ├── EngineError                    an engine failed or refused a plan
    │   ├── EngineFailedError          ENGINE_FAILED
    │   └── PlanRefusedError           PLAN_REFUSED
    ├── PipelineError                  the project cannot be planned, run or replayed
    │   ├── ProjectNotFoundError       PROJECT_NOT_FOUND
    │   ├── InvalidProjectError        INVALID_PROJECT
    │   ├── ViewError                  a view must be changed
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
    ├── ServiceError                   a server refused, or its answer was incomplete
    │   ├── UnauthenticatedError       UNAUTHENTICATED
    │   ├── InvalidTicketError         INVALID_TICKET
    │   ├── TicketExpiredError         TICKET_EXPIRED
    │   ├── TableNotServedError        TABLE_NOT_SERVED
    │   ├── RequestTooLargeError       REQUEST_TOO_LARGE
    │   ├── UnsupportedMediaError      UNSUPPORTED_MEDIA
    │   ├── NotAcceptableError         NOT_ACCEPTABLE
    │   ├── ServerBusyError            SERVER_BUSY
    │   ├── ServerDrainingError        SERVER_DRAINING
    │   ├── DeadlineExceededError      DEADLINE_EXCEEDED
    │   ├── StreamIncompleteError      STREAM_INCOMPLETE
    │   └── RemoteFailedError          REMOTE_FAILED
    └── MachineError                   phases or executors were used against their contract
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
    CorruptStateError,
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
    MalformedRequestError,
    PredicateSyntaxError,
    PredicateTypeError,
    ReaderClosedError,
    RequestError,
    StatementSyntaxError,
    UnknownColumnError,
    UnknownStorageOptionError,
    UnsupportedPredicateError,
)
from headrace.errors.root import (
    HeadraceError,
)
from headrace.errors.service import (
    DeadlineExceededError,
    InvalidTicketError,
    NotAcceptableError,
    RemoteFailedError,
    RequestTooLargeError,
    ServerBusyError,
    ServerDrainingError,
    ServiceError,
    StreamIncompleteError,
    TableNotServedError,
    TicketExpiredError,
    UnauthenticatedError,
    UnsupportedMediaError,
)
from headrace.errors.setup import (
    BuildFailedError,
    FileSystemMissingError,
    JavaNotFoundError,
    MissingExtraError,
    SessionError,
    SetupError,
)
from headrace.errors.storage import (
    AccessDeniedError,
    BucketNotFoundError,
    CommitConflictError,
    CommitUnknownError,
    CredentialError,
    LeaseLostError,
    ListingUnavailableError,
    ObjectChangedError,
    ObjectExistsError,
    ObjectNotFoundError,
    ObjectTooShortError,
    OutputFailedError,
    RangeIgnoredError,
    ReadOnlyStoreError,
    RedirectRefusedError,
    SpillFailedError,
    StateConflictError,
    StorageError,
    StoreFailedError,
    StoreFullError,
    StoreThrottledError,
    UnsupportedStoreError,
    WrongRegionError,
)
from headrace.errors.table import (
    CatalogManagedError,
    ChangeDataMissingError,
    CleanupRefusedError,
    DowngradeRefusedError,
    InvalidTableError,
    NotIndexTablesError,
    SchemaChangedError,
    SnapshotExpiredError,
    TableError,
    TableNotFoundError,
    TableReplacedError,
    TimestampNotFoundError,
    UnstreamableChangeError,
    UnsupportedFeatureError,
    UnsupportedFileError,
    UnsupportedStateError,
    UnwritableTableError,
    VersionNotFoundError,
)

__all__ = [
    "AccessDeniedError",
    "AppendRepeatsError",
    "BucketNotFoundError",
    "BuildFailedError",
    "BundleDamagedError",
    "CatalogManagedError",
    "ChangeDataMissingError",
    "CleanupRefusedError",
    "CommitConflictError",
    "CommitUnknownError",
    "ContractViolatedError",
    "CorruptCheckpointError",
    "CorruptDataFileError",
    "CorruptDeletionVectorError",
    "CorruptLogError",
    "CorruptStateError",
    "CredentialError",
    "DamageError",
    "DataFileNotFoundError",
    "DeadlineExceededError",
    "DowngradeRefusedError",
    "EngineError",
    "EngineFailedError",
    "FallbackForbiddenError",
    "FileListMissingError",
    "FileSystemMissingError",
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
    "InvalidTicketError",
    "InvalidViewError",
    "JavaNotFoundError",
    "LeaseLostError",
    "ListingUnavailableError",
    "LogGapError",
    "MachineError",
    "MalformedRequestError",
    "MissingExtraError",
    "NotAcceptableError",
    "NotFrozenError",
    "NotIndexTablesError",
    "NotTerminalError",
    "ObjectChangedError",
    "ObjectExistsError",
    "ObjectNotFoundError",
    "ObjectTooShortError",
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
    "RangeIgnoredError",
    "ReadOnlyStoreError",
    "ReaderClosedError",
    "RedirectRefusedError",
    "RemoteFailedError",
    "ReplayDiffersError",
    "RequestError",
    "RequestTooLargeError",
    "ResultMissingError",
    "RunCancelledError",
    "RunFailedError",
    "RunInProgressError",
    "RunNotFoundError",
    "SchemaChangedError",
    "ServerBusyError",
    "ServerDrainingError",
    "ServiceError",
    "SessionError",
    "SetupError",
    "SnapshotExpiredError",
    "SpillFailedError",
    "StateConflictError",
    "StatementSyntaxError",
    "StorageError",
    "StoreFailedError",
    "StoreFullError",
    "StoreThrottledError",
    "StreamIncompleteError",
    "TableError",
    "TableNotFoundError",
    "TableNotServedError",
    "TableReplacedError",
    "TicketExpiredError",
    "TimestampNotFoundError",
    "UnauthenticatedError",
    "UnexpectedBatchError",
    "UnknownColumnError",
    "UnknownRelationError",
    "UnknownStorageOptionError",
    "UnsafePathError",
    "UnstreamableChangeError",
    "UnsupportedFeatureError",
    "UnsupportedFileError",
    "UnsupportedMediaError",
    "UnsupportedPredicateError",
    "UnsupportedStateError",
    "UnsupportedStoreError",
    "UnwritableTableError",
    "VersionNotFoundError",
    "ViewCycleError",
    "ViewError",
    "ViewRefusedError",
    "ViewUnplannedError",
    "WrongRegionError",
]
