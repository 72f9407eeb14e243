"""Storage: an operation on a store, a spill or an output failed."""

from collections.abc import Sequence
from typing import ClassVar

from headrace.errors.root import HeadraceError


class StorageError(HeadraceError):
    """A store operation failed."""


class ObjectNotFoundError(StorageError):
    """The object does not exist."""

    code = "OBJECT_NOT_FOUND"

    def __init__(self, *, path: str) -> None:
        self.path = path
        super().__init__(f"{path}: no such object")


class ObjectExistsError(StorageError):
    """An object could not be created because one with its name already exists."""

    code = "OBJECT_EXISTS"

    def __init__(self, *, path: str) -> None:
        self.path = path
        super().__init__(f"{path}: the object already exists")


class ObjectChangedError(StorageError):
    """An object was replaced after it had been listed, or while it was read."""

    code = "OBJECT_CHANGED"

    def __init__(self, *, path: str) -> None:
        self.path = path
        super().__init__(
            f"{path}: the object was replaced after it had been listed, or while it was read; "
            "open the table again"
        )


class ObjectTooShortError(StorageError):
    """An object ends before bytes that belong to it."""

    code = "OBJECT_TOO_SHORT"

    def __init__(self, *, path: str, expected_bytes: int) -> None:
        self.path, self.expected_bytes = path, expected_bytes
        super().__init__(
            f"{path}: it has fewer than {expected_bytes} bytes; it was cut off when it was "
            "written, or replaced since: restore it from a copy"
        )


class StoreFailedError(StorageError):
    """The store returned an error.

    `transient` says whether a retry may help: yes for a broken connection, no for a missing
    permission.
    """

    code = "STORE_FAILED"
    _next_step: ClassVar[str] = "check that the store is reachable and permits the access"

    def __init__(self, *, path: str, reason: str, transient: bool = True) -> None:
        self.path, self.reason, self.transient = path, reason, transient
        super().__init__(f"{path}: {reason}; {self._next_step}")


class RangeIgnoredError(StoreFailedError):
    """The server returned the whole object although a range was requested."""

    def __init__(self, *, path: str) -> None:
        super().__init__(path=path, reason="the server ignores ranges", transient=False)


class StoreThrottledError(StoreFailedError):
    """The store asked to send fewer requests."""

    code = "STORE_THROTTLED"

    def __init__(self, *, path: str, reason: str) -> None:
        super().__init__(path=path, reason=f"{reason}: the store asks for fewer requests")


class StoreFullError(StoreFailedError):
    """A disk or a quota has no room for what was to be written."""

    code = "STORE_FULL"
    _next_step = "free some space or raise the quota there, and run again"

    def __init__(self, *, path: str, reason: str) -> None:
        super().__init__(path=path, reason=reason, transient=False)


class BucketNotFoundError(StorageError):
    """There is no such bucket or container."""

    code = "BUCKET_NOT_FOUND"

    def __init__(self, *, store: str) -> None:
        self.store = store
        super().__init__(
            f"{store}: there is no such bucket or container; check its name, and the account, "
            "region or endpoint that it belongs to"
        )


class AccessDeniedError(StorageError):
    """The store accepts the credentials, but refuses access."""

    code = "ACCESS_DENIED"

    def __init__(self, *, path: str, store: str, reason: str) -> None:
        self.path, self.store, self.reason = path, store, reason
        super().__init__(
            f"{path}: {store} refuses access ({reason}); allow these credentials to read and list "
            "it, or use others. Without the right to list, stores also refuse missing objects"
        )


class CredentialError(StorageError):
    """The credentials for a store are missing, wrong or expired."""

    code = "CREDENTIAL"

    def __init__(self, *, store: str, reason: str, next_step: str) -> None:
        self.store, self.reason, self.next_step = store, reason, next_step
        super().__init__(f"{store}: {reason}; {next_step}")


class WrongRegionError(StorageError):
    """The bucket belongs to another region than the one that was configured."""

    code = "WRONG_REGION"

    def __init__(self, *, store: str) -> None:
        self.store = store
        super().__init__(
            f"{store}: the bucket belongs to another region or endpoint; name it with the storage "
            "option region, or AWS_REGION"
        )


class RedirectRefusedError(StorageError):
    """The store sent the request on to another host."""

    code = "REDIRECT_REFUSED"

    def __init__(self, *, path: str, store: str) -> None:
        self.path, self.store = path, store
        super().__init__(
            f"{path}: {store} redirects to another host, which is refused; use the store's current "
            "address"
        )


class ReadOnlyStoreError(StorageError):
    """A write was attempted on a read-only store."""

    code = "READ_ONLY_STORE"

    def __init__(self, *, store: str) -> None:
        self.store = store
        super().__init__(f"{store}: it can only be read; write to s3://, az://, gs:// or a folder")


class ListingUnavailableError(StorageError):
    """A web server does not list the files of a folder."""

    code = "LISTING_UNAVAILABLE"

    def __init__(self, *, directory: str, store: str) -> None:
        self.directory, self.store = directory, store
        super().__init__(
            f"{store}: the server does not list {directory}; turn on its index pages or WebDAV, or "
            "use the address of the object store behind it"
        )


class SpillFailedError(StorageError):
    """The keys of a scan exceeded their memory budget and could not be spilled to disk."""

    code = "SPILL_FAILED"

    def __init__(self, *, folder: str, reason: str) -> None:
        self.folder, self.reason = folder, reason
        super().__init__(
            f"{folder}: the keys of the scan could not be spilled there: {reason}; free some "
            "space, set TMPDIR to another folder, or allow the scan more memory"
        )


class OutputFailedError(StorageError):
    """The output of a command could not be written."""

    code = "OUTPUT_FAILED"

    def __init__(self, *, target: str, reason: str) -> None:
        self.target, self.reason = target, reason
        super().__init__(
            f"{target}: {reason}; the output is incomplete: free some space, fix the "
            "permissions, or choose another target"
        )


class UnsupportedStoreError(StorageError):
    """No store supports this kind of address."""

    code = "UNSUPPORTED_STORE"

    def __init__(self, *, uri: str, known: Sequence[str]) -> None:
        self.uri, self.known = uri, tuple(known)
        super().__init__(
            f"{uri}: no store supports this address; known are {', '.join(self.known)}"
        )


class CommitUnknownError(StorageError):
    """The store failed during a commit, and its outcome could not be determined."""

    code = "COMMIT_UNKNOWN"

    def __init__(self, *, table: str, version: int) -> None:
        self.table, self.version = table, version
        super().__init__(
            f"{table}: the store failed while version {version} was being committed, and whether "
            "it succeeded is unknown; nothing was deleted: run again when the store is available"
        )


class LeaseLostError(StorageError):
    """Another process took over the lease, so this one must not commit any more."""

    code = "LEASE_LOST"

    def __init__(self, *, store: str, token: int, holder: str) -> None:
        self.store, self.token, self.holder = store, token, holder
        super().__init__(
            f"{store}: lease {token} was not renewed in time, and {holder} took over; nothing was "
            "committed: wait until that run ends, and run again"
        )


class CommitConflictError(StorageError):
    """Other writers committed first, however often the commit was tried."""

    code = "COMMIT_CONFLICT"

    def __init__(self, *, table: str, attempts: int) -> None:
        self.table, self.attempts = table, attempts
        super().__init__(
            f"{table}: other writers committed first {attempts} times in a row; run again when "
            "they are finished"
        )


class StateConflictError(StorageError):
    """A commit removes files that another writer removed first."""

    code = "STATE_CONFLICT"

    def __init__(self, *, table: str, version: int, paths: Sequence[str]) -> None:
        self.table, self.version, self.paths = table, version, tuple(paths)
        first = ", ".join(self.paths[:3]) + (", …" if len(self.paths) > 3 else "")  # noqa: PLR2004
        super().__init__(
            f"{table}: {len(self.paths)} of the files to remove are no longer live in version "
            f"{version}: {first}; nothing was committed: read the table again and decide again"
        )
