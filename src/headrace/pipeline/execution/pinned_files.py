"""Checks that a stored bundle can be run as planned: its queries, and the files it pins.

A result is recorded under the key of its bundle. If it were computed by another query or from other
files, a later run could skip a view whose rows are wrong.
"""

from collections.abc import Iterable

from headrace.errors import BundleDamagedError, FileListMissingError, PinnedFilesChangedError
from headrace.pipeline.analysis.query import parse_query
from headrace.pipeline.bundle.bundle import Bundle
from headrace.pipeline.bundle.file_list import compare_files
from headrace.pipeline.bundle.scan_unit import ScanUnit
from headrace.pipeline.execution.prepare import Prepared
from headrace.pipeline.sources.source import PinnedSource
from headrace.pipeline.sources.source_pin import SourcePin


def check_queries(bundle: Bundle, views: Iterable[str]) -> None:
    """Check that the SQL of views is that of their keys: the id of a bundle covers only the keys.

    Raises:
        BundleDamagedError: the SQL of a view was altered.
        InvalidViewError: it is not a query any more.
    """
    for name in bundle.with_inlined(views):
        view = bundle[name]
        if view.sql is not None and parse_query(view.sql, file=view.file).tokens != view.key.tokens:
            reason = f"the SQL of view {name} is not the SQL of its key"
            raise BundleDamagedError(bundle=bundle.id, reason=reason)


def check_pinned_files(prepared: Prepared, views: Iterable[str]) -> None:
    """Check the files that views read, before anything is computed.

    Raises:
        PinnedFilesChangedError: a source has other files than the bundle pins.
        FileListMissingError: the list of pinned files no longer exists.
    """
    bundle = prepared.bundle
    for view in views:
        for unit in bundle[view].units:
            name = unit.source
            changes = _changes(unit, bundle.pins[name], prepared.sources[name])
            if changes:
                raise PinnedFilesChangedError(view=view, source=name, files=changes)


def _changes(unit: ScanUnit, pin: SourcePin, source: PinnedSource) -> list[str]:
    """Describe how the files of a source differ from the pinned ones."""
    if pin.version is not None:  # the files of a version never change
        is_replaced = pin.table_id not in {"", source.pin.table_id}
        return [f"version {pin.version} belongs to a different table now"] if is_replaced else []
    pinned = unit.files.read()
    if pinned is None:
        raise FileListMissingError(source=unit.source, digest=unit.digest)
    changes = compare_files(pinned, source.prune(unit.where).files)
    return [
        *(f"{path} was added" for path in changes.added.to_pylist()),
        *(f"{path} is gone" for path in changes.removed.to_pylist()),
        *(f"{path} was altered" for path in changes.altered.to_pylist()),
    ]
