"""A scan unit: exactly what one view reads of one source."""

import msgspec

from headrace.errors import FileListMissingError
from headrace.pipeline.bundle.file_list import FileList
from headrace.pipeline.sources.file_set import FileSet
from headrace.pipeline.sources.pin import SourcePin


class ScanUnit(msgspec.Struct, frozen=True, kw_only=True):
    """The files, columns and filters of one source for one view."""

    source: str
    version: int | None
    where: str | None
    """The predicate that the kernel pruned by; None where nothing could be pruned."""
    filters: tuple[str, ...]
    """All that the plan pushed down to scans of the source, also what files cannot be pruned by."""
    columns: tuple[str, ...]
    """The columns that the view needs, as the source spells them."""
    files_total: int
    files_kept: int
    bytes_kept: int
    files: FileList = msgspec.field(name="digest")
    """The kept files. Only their digest is encoded."""

    @property
    def digest(self) -> str:
        """The digest of the kept files, with the ids of their deletion vectors."""
        return self.files.digest

    @property
    def paths(self) -> tuple[str, ...]:
        """The kept files as the log names them, sorted.

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
    """The unit of a pruned set of files."""
    return ScanUnit(
        source=pin.source,
        version=pin.version,
        where=where,
        filters=filters,
        columns=columns,
        files_total=files.total,
        files_kept=len(files),
        bytes_kept=files.size_bytes,
        files=FileList.of(files.digest(), files.files),
    )
