"""A store, or an output, did not do what it was asked."""

from collections.abc import Sequence

from headrace.errors.root import HeadraceError


class StorageError(HeadraceError):
    """The store did not do what it was asked."""


class ObjectNotFoundError(StorageError):
    """The store has no such object."""

    code = "OBJECT_NOT_FOUND"

    def __init__(self, *, path: str) -> None:
        self.path = path
        super().__init__(f"{path}: no such object")


class ObjectExistsError(StorageError):
    """An object was to be created, and there is one of that name already."""

    code = "OBJECT_EXISTS"

    def __init__(self, *, path: str) -> None:
        self.path = path
        super().__init__(f"{path}: there is such an object already")


class ObjectChangedError(StorageError):
    """The store has another object now where one was listed."""

    code = "OBJECT_CHANGED"

    def __init__(self, *, path: str) -> None:
        self.path = path
        super().__init__(f"{path}: another object has taken its place since it was listed")


class StoreFailedError(StorageError):
    """The store answered with an error of its own.

    `transient` tells whether asking again may help: a connection that broke, not a permission
    that is missing.
    """

    code = "STORE_FAILED"

    def __init__(self, *, path: str, reason: str, transient: bool = True) -> None:
        self.path, self.reason, self.transient = path, reason, transient
        super().__init__(f"{path}: {reason}; check that the store is there and may be read")


class SpillFailedError(StorageError):
    """The keys of a scan outgrew their memory, and could not be kept on disk."""

    code = "SPILL_FAILED"

    def __init__(self, *, folder: str, reason: str) -> None:
        self.folder, self.reason = folder, reason
        super().__init__(
            f"{folder}: the keys of the scan could not be kept there: {reason}; free some space, "
            "let TMPDIR name another folder, or allow the scan more memory"
        )


class OutputFailedError(StorageError):
    """What a command has to say cannot be written where it should go."""

    code = "OUTPUT_FAILED"

    def __init__(self, *, target: str, reason: str) -> None:
        self.target, self.reason = target, reason
        super().__init__(
            f"{target}: {reason}; what has been written, if anything, is not whole: make room, "
            "mend the permissions, or choose another place"
        )


class UnsupportedStoreError(StorageError):
    """No store is known for this kind of address."""

    code = "UNSUPPORTED_STORE"

    def __init__(self, *, uri: str, known: Sequence[str]) -> None:
        self.uri, self.known = uri, tuple(known)
        super().__init__(f"{uri}: no store for this address; known are {', '.join(self.known)}")


class CommitUnknownError(StorageError):
    """The store failed during a commit, and cannot say whether the commit stands."""

    code = "COMMIT_UNKNOWN"

    def __init__(self, *, table: str, version: int) -> None:
        self.table, self.version = table, version
        super().__init__(
            f"{table}: the store failed while version {version} was committed, and cannot say "
            "whether it was; nothing was deleted: run again once the store answers"
        )


class CommitConflictError(StorageError):
    """Other writers kept committing first."""

    code = "COMMIT_CONFLICT"

    def __init__(self, *, table: str, attempts: int) -> None:
        self.table, self.attempts = table, attempts
        super().__init__(
            f"{table}: other writers committed first, {attempts} times in a row; run again when "
            "they are done"
        )
