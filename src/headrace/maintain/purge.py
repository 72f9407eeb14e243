"""`PURGE` and `TRUNCATE TIME TRAVEL`: delete files of a table and its log that are not needed.

There are four kinds: data files that no retained version references, version files and JSON
checkpoints that a retained state covers, old states, and manifests. Version 0 is kept: it may be
the only file with the table's metadata. Everything is planned first; a plan can be inspected, then
run.
"""

import re
from collections.abc import Iterable, Iterator

import msgspec

from headrace.errors import CleanupRefusedError, HeadraceError
from headrace.maintain.base import Base, list_states, read_base, read_state, require_base
from headrace.maintain.cleanup import CleanupPlan, CleanupResult, plan_cleanup, run_cleanup
from headrace.maintain.home import Home, partition_types
from headrace.maintain.live import live_entries
from headrace.maintain.manifest_file import ManifestShelf
from headrace.maintain.setting import StateSettings
from headrace.maintain.staging import now_ms
from headrace.maintain.stored_name import stored_names
from headrace.maintain.version_file import decode_actions
from headrace.storage.store import ObjectMeta, WritableStore

_HOUR_MS = 3_600_000
_MIN_HOURS = 24.0
_DATA_FILE = re.compile(r"(?:^|/)part-[0-9A-Za-z_.-]+\.(?:split|parquet)$|\.split$")
"""The data files that IndexTables and Headrace write; nothing else is ever deleted."""
_LOG_FILE = re.compile(r"(?P<version>\d{20})\.(?:json|checkpoint(?:\.[0-9a-zA-Z.]+)?\.json)")


class PurgePlan(msgspec.Struct, frozen=True, kw_only=True):
    """The files that a purge would delete."""

    orphaned_files: tuple[str, ...]
    log_files: tuple[str, ...]
    cleanup: CleanupPlan
    size_bytes: int

    def paths(self) -> Iterator[tuple[str, str]]:
        """Yield every path, with its kind of file."""
        yield from (("data file", path) for path in self.orphaned_files)
        yield from (("version file", path) for path in self.log_files)
        yield from (("state", path) for path in self.cleanup.state_files)
        yield from (("manifest", path) for path in self.cleanup.manifests)


class PurgeResult(msgspec.Struct, frozen=True, kw_only=True):
    """The counts of a purge."""

    deleted_files: int
    deleted_log_files: int
    cleanup: CleanupResult


def plan_purge(  # noqa: PLR0913  (the options of a purge)
    store: WritableStore,
    home: Home,
    *,
    settings: StateSettings,
    older_than_hours: float,
    log_retention_hours: float,
    clock_ms: int | None = None,
) -> PurgePlan:
    """Find the files that a purge deletes.

    A data file is deleted if no retained state and no version file references it and it is older
    than `older_than_hours`, and at least a day old: a writer may be about to reference it.

    Raises:
        CleanupRefusedError: a state or a version file cannot be read.
        NotIndexTablesError: there is no log.
    """
    now = now_ms() if clock_ms is None else clock_ms
    retention = msgspec.structs.replace(settings, retention_hours=log_retention_hours)
    cleanup = plan_cleanup(store, home, settings=retention, clock_ms=now)
    try:
        base = require_base(read_base(store, home), table=store.root)
        referenced = set(_referenced_files(store, home, base, cleanup.retained))
    except CleanupRefusedError:
        raise
    except HeadraceError as error:
        if error.code == "NOT_INDEXTABLES":
            raise
        raise CleanupRefusedError(table=store.root, path=home.root, reason=str(error)) from error
    cutoff = now - max(older_than_hours, _MIN_HOURS) * _HOUR_MS
    orphans = [
        meta for meta in _data_files(store) if meta.path not in referenced and _is_old(meta, cutoff)
    ]
    log_cutoff = now - log_retention_hours * _HOUR_MS
    oldest = min(cleanup.retained, default=0)
    logs = [meta for meta in _old_logs(store, home, before=oldest) if _is_old(meta, log_cutoff)]
    return PurgePlan(
        orphaned_files=tuple(meta.path for meta in orphans),
        log_files=tuple(meta.path for meta in logs),
        cleanup=cleanup,
        size_bytes=sum(meta.size_bytes for meta in (*orphans, *logs)) + cleanup.size_bytes,
    )


def plan_truncation(
    store: WritableStore, home: Home, *, settings: StateSettings, clock_ms: int | None = None
) -> PurgePlan:
    """Find the files that are not needed to read the newest version.

    Raises:
        CleanupRefusedError: a state cannot be read.
    """
    now = now_ms() if clock_ms is None else clock_ms
    newest_only = msgspec.structs.replace(settings, retention_versions=0, retention_hours=0)
    # Set the clock ahead, so that a state written this very moment is old enough, too.
    cleanup = plan_cleanup(store, home, settings=newest_only, clock_ms=now + 1)
    current = cleanup.current
    logs = [] if current is None else list(_old_logs(store, home, before=current))
    return PurgePlan(
        orphaned_files=(),
        log_files=tuple(meta.path for meta in logs),
        cleanup=cleanup,
        size_bytes=sum(meta.size_bytes for meta in logs) + cleanup.size_bytes,
    )


def run_purge(store: WritableStore, home: Home, plan: PurgePlan) -> PurgeResult:
    """Delete the files of a plan, after checking the data files against the newest version again.

    Raises:
        CleanupRefusedError: a state can no longer be read; nothing was deleted.
        StorageError: the store failed; run the purge again to continue.
    """
    orphans: list[str] = []
    if plan.orphaned_files:
        try:
            base = read_base(store, home)
            referenced = set(_referenced_files(store, home, base, list_states(store, home)))
        except HeadraceError as error:
            raise CleanupRefusedError(
                table=store.root, path=home.root, reason=str(error)
            ) from error
        orphans = [path for path in plan.orphaned_files if path not in referenced]
    cleanup = run_cleanup(store, home, plan.cleanup)
    store.delete(orphans)
    store.delete(plan.log_files)
    return PurgeResult(
        deleted_files=len(orphans), deleted_log_files=len(plan.log_files), cleanup=cleanup
    )


def _referenced_files(
    store: WritableStore, home: Home, base: Base, versions: Iterable[int]
) -> Iterator[str]:
    """Yield the names of data files of the newest version, retained states and version files.

    Hidden entries are included: a reader of an older state may still need their files.
    """
    for path in _recorded_paths(store, home, base, versions):
        yield from stored_names(path)


def _recorded_paths(
    store: WritableStore, home: Home, base: Base, versions: Iterable[int]
) -> Iterator[str]:
    shelf = ManifestShelf(store, home.root, types=partition_types(base.metadata))
    for version in versions:
        for info in read_state(store, home, version).manifests:
            file = shelf.file(info)
            for at in range(len(file.blocks)):
                yield from (entry["path"] for entry in file.entries(at))
    yield from (entry["path"] for entry in live_entries(base, home=home, shelf=shelf))
    for meta in store.list(home.root):
        if _LOG_FILE.fullmatch(meta.path.rpartition("/")[2]):
            for action in decode_actions(store.read(meta.path), path=meta.path):
                if action.get("add") is not None:
                    yield action["add"]["path"]


def _data_files(store: WritableStore) -> Iterator[ObjectMeta]:
    for meta in store.list_tree(""):
        path = meta.path.removeprefix("./").lstrip("/")
        hidden = any(part.startswith(("_", ".")) for part in path.split("/")[:-1])
        if not hidden and _DATA_FILE.search(path):
            yield msgspec.structs.replace(meta, path=path)


def _old_logs(store: WritableStore, home: Home, *, before: int) -> Iterator[ObjectMeta]:
    for meta in store.list(home.root):
        match = _LOG_FILE.fullmatch(meta.path.rpartition("/")[2])
        if match is not None and 0 < int(match["version"]) < before:
            yield meta


def _is_old(meta: ObjectMeta, cutoff_ms: float) -> bool:
    """Whether an object is older than the cutoff; false if its time is unknown."""
    return 0 < meta.modified_ms < cutoff_ms
