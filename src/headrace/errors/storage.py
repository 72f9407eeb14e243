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
