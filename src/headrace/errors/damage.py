"""Damage: the log, a checkpoint, a deletion vector or a data file is missing or corrupt."""

from collections.abc import Sequence

from headrace.errors.root import HeadraceError, versions


class DamageError(HeadraceError):
    """The log or a data file is damaged."""


class LogGapError(DamageError):
    """Commits are missing between the base and the requested version."""

    code = "LOG_GAP"

    def __init__(
        self, *, table: str, missing: Sequence[range], available: Sequence[range] = ()
    ) -> None:
        self.table, self.missing, self.available = table, tuple(missing), tuple(available)
        readable = versions(self.available)
        instead = f", or ask for a version that can be read: {readable}" if readable else ""
        super().__init__(
            f"{table}: {_commits(self.missing)} missing, and no checkpoint or compaction file "
            f"covers the gap; restore the files{instead}"
        )


class CorruptLogError(DamageError):
    """A commit cannot be decoded, or contradicts itself."""

    code = "CORRUPT_LOG"

    def __init__(self, *, path: str, line: int | None, reason: str) -> None:
        self.path, self.line, self.reason = path, line, reason
        where = path if line is None else f"{path} line {line}"
        super().__init__(f"{where}: {reason}; restore the file from a backup")


class CorruptCheckpointError(DamageError):
    """A checkpoint, or a sidecar that it names, cannot be decoded."""

    code = "CORRUPT_CHECKPOINT"

    def __init__(self, *, path: str, reason: str) -> None:
        self.path, self.reason = path, reason
        super().__init__(
            f"{path}: {reason}; delete it if the commits before it still exist (it only "
            "summarises them), otherwise restore it from a backup"
        )


class CorruptStateError(DamageError):
    """A state, or a manifest that it names, is damaged or missing."""

    code = "CORRUPT_STATE"

    def __init__(self, *, path: str, reason: str) -> None:
        self.path, self.reason = path, reason
        super().__init__(
            f"{path}: {reason}; restore the file from a backup, or read an older version of the "
            "table"
        )


class CorruptDataFileError(DamageError):
    """A data file cannot be decoded, or does not match the table's schema."""

    code = "CORRUPT_DATA_FILE"

    def __init__(self, *, path: str, reason: str) -> None:
        self.path, self.reason = path, reason
        super().__init__(
            f"{path}: {reason}; restore the file from a backup, or have its writer rewrite it"
        )


class CorruptDeletionVectorError(DamageError):
    """A deletion vector cannot be decoded, so the deleted rows of its file are unknown."""

    code = "CORRUPT_DELETION_VECTOR"

    def __init__(self, *, vector: str, reason: str) -> None:
        self.vector, self.reason = vector, reason
        super().__init__(
            f"deletion vector {vector}: {reason}; restore its file from a backup, or read an "
            "earlier version"
        )


class DataFileNotFoundError(DamageError):
    """The log references a data file or a deletion-vector file that does not exist."""

    code = "DATA_FILE_NOT_FOUND"

    def __init__(self, *, path: str) -> None:
        self.path = path
        super().__init__(
            f"{path}: the log references this file, but it does not exist; it may have been "
            "vacuumed: read a newer version, or restore the file"
        )


class PartitionValueError(DamageError):
    """A partition value in the log cannot be parsed as its column's type."""

    code = "PARTITION_VALUE"

    def __init__(self, *, column: str, value: str, type_name: str) -> None:
        self.column, self.value, self.type_name = column, value, type_name
        super().__init__(
            f"partition value {value!r} of column {column} is not of type {type_name}; "
            "read partition_values for the text in the log"
        )


class UnsafePathError(DamageError):
    """A path in the log leads outside the table."""

    code = "UNSAFE_PATH"

    def __init__(self, *, path: str, reason: str) -> None:
        self.path, self.reason = path, reason
        super().__init__(f"{path!r}: {reason}; no correct writer produces such a path")


def _commits(missing: Sequence[range]) -> str:
    """Write 3, 4, 5 and 9 as "commits 3-5, 9 are", and 3 as "commit 3 is"."""
    listed = ", ".join(
        str(gap.start) if len(gap) == 1 else f"{gap.start}-{gap.stop - 1}" for gap in missing
    )
    return f"commits {listed} are" if len(missing) > 1 or "-" in listed else f"commit {listed} is"
