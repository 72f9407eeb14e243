"""Carries the digest of a source forward when its files changed but its rows did not.

Compaction rewrites files and marks the commit: `dataChange` is false. The digest of the old files
then still describes what a view reads, provided that every change to its files since was such a
rewrite, that the log since then still exists to prove it, and that the view does not depend on
the order of rows.
"""

import msgspec

from headrace.errors import HeadraceError
from headrace.pipeline.bundle.skip_key import SourcePart
from headrace.pipeline.sources.file_set import FileSet
from headrace.pipeline.sources.rewrite import find_false_rewrite
from headrace.pipeline.sources.source import PinnedSource
from headrace.scan.changes import ChangeKind, FileChange
from headrace.table import Snapshot


class Carried(msgspec.Struct, frozen=True):
    """Whether an older digest is still valid, and why."""

    digest: str | None
    """The older digest; None if it is not valid any more."""
    reason: str


def carry_digest(
    source: PinnedSource, now: FileSet, *, where: str | None, then: SourcePart
) -> Carried:
    """Decide whether the digest of an older version still describes the files of this one.

    Args:
        source: The source, at its current version.
        now: The files of that version after pruning.
        where: The predicate that pruned them.
        then: What the view read of the source before.
    """
    snapshot = source.snapshot
    if snapshot is None or then.version is None:
        return Carried(None, "only the log of a Delta table distinguishes a rewrite from a change")
    version = snapshot.version
    if then.table != snapshot.metadata.id:
        return Carried(None, "the table has been replaced")
    if then.where != where:
        return Carried(None, "the predicate that prunes the files has changed")
    if then.version == version and then.carried_from is not None:
        return _carry_again(snapshot, then=then)
    if not then.version < version:
        return Carried(None, f"version {then.version} is not older than {version}")
    try:
        older = source.at_version(then.version)
        if older.pin.table_id != snapshot.metadata.id:
            return Carried(None, "the table has been replaced")
        before = older.prune(where)
        changes = list(snapshot.table.changes(then.version + 1, version))
        more = find_false_rewrite(snapshot.table, changes)
        if more is not None:
            return Carried(None, f"version {more} did more than to rewrite files")
        return _decide(source, before, now, changes, then=then)
    except HeadraceError as error:
        return Carried(None, f"the log since version {then.version} cannot be read: {error}")


def _carry_again(snapshot: Snapshot, *, then: SourcePart) -> Carried:
    """Carry a digest that an earlier plan has already carried to this version."""
    try:
        older = snapshot.table.snapshot(version=then.carried_from)
    except HeadraceError as error:
        return Carried(None, f"version {then.carried_from} cannot be read: {error}")
    if older.metadata.id != snapshot.metadata.id:
        return Carried(None, "the table has been replaced")
    return Carried(then.digest, f"since version {then.carried_from} its files were only rewritten")


def _decide(
    source: PinnedSource,
    before: FileSet,
    now: FileSet,
    changes: list[FileChange],
    *,
    then: SourcePart,
) -> Carried:
    """Carry the digest if no commit since then changed rows of the files that the view reads."""
    if then.carried_from is None and before.digest != then.digest:
        return Carried(None, f"version {then.version} no longer has the files that were read")
    relevant = before.names() | now.names()
    names_by_version: dict[int, set[tuple[str, str | None]]] = {}
    for change in changes:
        if not change.data_change or change.kind is ChangeKind.CDC:
            continue
        name = (change.path, change.dv_id)
        if name not in relevant:
            # The file is in neither set, but it may have been pruned in at a version in between:
            # prune the version that has it, which for a removal is the one before.
            version = change.version - (change.kind is ChangeKind.REMOVED)
            if version not in names_by_version:
                names_by_version[version] = _file_names_at(source, version, then.where)
            if name not in names_by_version[version]:
                continue
        return Carried(None, f"{change.path} was {change.kind} in version {change.version}")
    return Carried(then.digest, f"since version {then.version} its files were only rewritten")


def _file_names_at(
    source: PinnedSource, version: int, where: str | None
) -> set[tuple[str, str | None]]:
    """Return the files of a version after pruning, by path and deletion-vector id."""
    return source.at_version(version).prune(where).names()
