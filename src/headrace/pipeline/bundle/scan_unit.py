"""The scan unit: exactly what one view reads of one source.

A pin and its pruned files enter; a value leaves that a bundle stores and a run reads from.
"""

import msgspec

from headrace.errors import FileListMissingError
from headrace.pipeline.bundle.file_list import FileList
from headrace.pipeline.sources.file_set import FileSet
from headrace.pipeline.sources.source_pin import SourcePin


class ScanUnit(msgspec.Struct, frozen=True, kw_only=True):
    """The files, columns and filters of one source for one view."""

    source: str
    version: int | None
    where: str | None
    """The predicate that pruned the files; None if no file could be pruned."""
    filters: tuple[str, ...]
    """All filters that the plan pushed down to the source, including those that prune no files."""
    columns: tuple[str, ...]
    """The columns that the view needs, as spelled in the source."""
    files_total: int
    files_kept: int
    bytes_kept: int
    files: FileList = msgspec.field(name="digest")
    """The files that remain after pruning. Only their digest is encoded."""

    @property
    def digest(self) -> str:
        """The digest of the files and their deletion-vector ids."""
        return self.files.digest

    @property
    def paths(self) -> tuple[str, ...]:
        """The paths of the files as in the log, sorted.

        Raises:
            FileListMissingError: only the digest of the files is known.
        """
        files = self.files.read()
        if files is None:
            raise FileListMissingError(source=self.source, digest=self.digest)
        return tuple(files["path"].to_pylist())


def scan_unit(
    pin: SourcePin,
    files: FileSet,
    *,
    where: str | None,
    filters: tuple[str, ...],
    columns: tuple[str, ...],
) -> ScanUnit:
    """Return the scan unit of a pruned file set."""
    return ScanUnit(
        source=pin.source,
        version=pin.version,
        where=where,
        filters=filters,
        columns=columns,
        files_total=files.total,
        files_kept=len(files),
        bytes_kept=files.size_bytes,
        files=FileList.of(files.digest, files.files),
    )
