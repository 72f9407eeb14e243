"""Bytes that should not be there, or are not: in the log, a checkpoint or a data file."""

from collections.abc import Sequence

from headrace.errors.root import HeadraceError, versions


class DamageError(HeadraceError):
    """Bytes that should not be there, or are not."""


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
            f"{table}: {_commits(self.missing)} missing, and nothing else tells what happened "
            f"there; restore the files{instead}"
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
            f"{path}: {reason}; delete it if the commits before it are still there (it is only "
            "a summary of them), else restore it from a backup"
        )


class CorruptDataFileError(DamageError):
    """A data file cannot be decoded, or does not hold what the table's schema says."""

    code = "CORRUPT_DATA_FILE"

    def __init__(self, *, path: str, reason: str) -> None:
        self.path, self.reason = path, reason
        super().__init__(
            f"{path}: {reason}; restore the file from a backup, or have its writer write it anew"
        )


class CorruptDeletionVectorError(DamageError):
    """It cannot be told which rows of a file are deleted."""

    code = "CORRUPT_DELETION_VECTOR"

    def __init__(self, *, vector: str, reason: str) -> None:
        self.vector, self.reason = vector, reason
        super().__init__(
            f"deletion vector {vector}: {reason}; restore its file from a backup, or read a "
            "version from before it"
        )


class DataFileNotFoundError(DamageError):
    """The log names a data file, or the file of a deletion vector, that is not there."""

    code = "DATA_FILE_NOT_FOUND"

    def __init__(self, *, path: str) -> None:
        self.path = path
        super().__init__(
            f"{path}: the log names this file, but it is not there; it may have been vacuumed "
            "away: read a newer version, or restore the file"
        )


class PartitionValueError(DamageError):
    """A partition value in the log is not of its column's type."""

    code = "PARTITION_VALUE"

    def __init__(self, *, column: str, value: str, type_name: str) -> None:
        self.column, self.value, self.type_name = column, value, type_name
        super().__init__(
            f"partition value {value!r} of column {column} is not of type {type_name}; "
            "read partition_values for the text as the log has it"
        )


class UnsafePathError(DamageError):
    """A path of the log leads out of the table."""

    code = "UNSAFE_PATH"

    def __init__(self, *, path: str, reason: str) -> None:
        self.path, self.reason = path, reason
        super().__init__(f"{path!r}: {reason}; a writer would not have made such a path")


def _commits(missing: Sequence[range]) -> str:
    """Write 3, 4, 5 and 9 as "commits 3-5, 9 are", and 3 as "commit 3 is"."""
    listed = ", ".join(
        str(run.start) if len(run) == 1 else f"{run.start}-{run.stop - 1}" for run in missing
    )
    return f"commits {listed} are" if len(missing) > 1 or "-" in listed else f"commit {listed} is"
