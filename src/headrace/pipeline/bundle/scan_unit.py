"""A scan unit: exactly what one view reads of one source."""

import msgspec

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
    digest: str
    """Of the kept files, with the ids of their deletion vectors."""
    paths: tuple[str, ...]
    """The kept files as the log names them, sorted."""
    dv_ids: tuple[str | None, ...]
    """The id of each file's deletion vector."""


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
        digest=files.digest(),
        paths=tuple(files.files["path"].to_pylist()),
        dv_ids=tuple(files.files["dv_id"].to_pylist()),
    )
