"""When a source's files changed but its rows did not.

Compaction rewrites files and says so in the log: `dataChange` is false. The digest of the old
files then still stands for what a view reads, if every change to its files since was such a
rewrite, the log of the time between is there to prove it, and the view does not depend on the
order of rows.
"""

import msgspec

from headrace.errors import HeadraceError
from headrace.pipeline.bundle.key import SourcePart
from headrace.pipeline.sources.delta import DeltaSource
from headrace.pipeline.sources.file_set import FileSet
from headrace.pipeline.sources.source import Source
from headrace.scan.changes import ChangeKind, FileChange


class Carried(msgspec.Struct, frozen=True):
    """Whether an older digest still stands, and if not, why."""

    digest: str | None
    reason: str


def carry_digest(source: Source, now: FileSet, *, where: str | None, then: SourcePart) -> Carried:
    """Decide whether the digest of an older version still stands for the files of this one.

    Args:
        source: The source, at its version now.
        now: The files that are left of it after pruning.
        where: The predicate they were pruned by.
        then: What the view read of the source before.
    """
    if not isinstance(source, DeltaSource) or then.version is None:
        return Carried(None, "only the log of a Delta table tells a rewrite from a change")
    version = source.snapshot.version
    if then.table != source.snapshot.metadata.id:
        return Carried(None, "it is another table")
    if then.where != where:
        return Carried(None, "other files were asked for")
    if then.version == version and then.carried_from is not None:
        return _carry_on(source, then=then)
    if not then.version < version:
        return Carried(None, f"version {then.version} is not older than {version}")
    try:
        older = source.snapshot.table.snapshot(version=then.version)
        if older.metadata.id != source.snapshot.metadata.id:
            return Carried(None, "it is another table")
        before = DeltaSource(source.request, older, source.origin).prune(where)
        changes = list(source.snapshot.table.changes(then.version + 1, version))
        return _decide(source, before, now, changes, then=then)
    except HeadraceError as error:
        return Carried(None, f"the log since version {then.version} cannot be read: {error}")


def _carry_on(source: DeltaSource, *, then: SourcePart) -> Carried:
    """The version is the one to which the digest was carried before."""
    try:
        older = source.snapshot.table.snapshot(version=then.carried_from)
    except HeadraceError as error:
        return Carried(None, f"version {then.carried_from} cannot be read: {error}")
    if older.metadata.id != source.snapshot.metadata.id:
        return Carried(None, "it is another table")
    return Carried(then.digest, f"since version {then.carried_from} its files were only rewritten")


def _decide(
    source: DeltaSource,
    before: FileSet,
    now: FileSet,
    changes: list[FileChange],
    *,
    then: SourcePart,
) -> Carried:
    if then.carried_from is None and before.digest() != then.digest:
        return Carried(None, f"version {then.version} has other files than were read then")
    relevant = before.names() | now.names()
    known: dict[int, set[tuple[str, str | None]]] = {}
    for change in changes:
        if not change.data_change or change.kind is ChangeKind.CDC:
            continue
        name = (change.path, change.dv_id)
        if name not in relevant:
            # The file is in neither set, but it may have been in between: ask the version that
            # has it, which is the one before its removal.
            version = change.version - (change.kind is ChangeKind.REMOVED)
            if version not in known:
                known[version] = _kept_at(source, version, then.where)
            if name not in known[version]:
                continue
        return Carried(None, f"{change.path} was {change.kind} in version {change.version}")
    return Carried(then.digest, f"since version {then.version} its files were only rewritten")


def _kept_at(source: DeltaSource, version: int, where: str | None) -> set[tuple[str, str | None]]:
    snapshot = source.snapshot.table.snapshot(version=version)
    return DeltaSource(source.request, snapshot, source.origin).prune(where).names()
