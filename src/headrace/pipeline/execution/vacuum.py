"""Vacuums tables, but keeps the files that recorded runs need.

deltalake lists the removable files of a local table, given the versions to keep. It does not know
deletion-vector files and would remove those of live files, so if the list may contain one, Headrace
itself determines which files the kept versions reference. In a store Headrace lists the removable
files itself.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

import msgspec
from deltalake import DeltaTable

from headrace.commit.log import NO_VERSION, newest_version
from headrace.errors import HeadraceError, LogGapError, VersionNotFoundError
from headrace.log.name import LOG_DIRECTORY, CommitName, parse_name
from headrace.pipeline.execution.lock import run_lock
from headrace.pipeline.execution.project_state import ProjectState
from headrace.pipeline.output.note import is_free_or_own
from headrace.pipeline.output.staging import CHANGE_FOLDER
from headrace.pipeline.place import Place
from headrace.pipeline.runs.artifact_store import ArtifactStore
from headrace.pipeline.runs.run_record import RunRecord
from headrace.pipeline.sources.vector_file import vector_uri
from headrace.protocol.action import DeletionVector
from headrace.table import Table

_RETENTION = "delta.deletedFileRetentionDuration"
_DEFAULT_RETENTION = "interval 1 week"
_INTERVAL = re.compile(
    r"\s*(?:interval\s+)?(\d+)\s+(second|minute|hour|day|week)s?\s*", re.IGNORECASE
)


class Vacuumed(msgspec.Struct, frozen=True, kw_only=True):
    """The files of one table that were removed, or would be."""

    table: str
    kept_versions: tuple[int, ...]
    """The versions that kept runs read or wrote and that can still be read."""
    files: tuple[str, ...]


class VacuumRequest(msgspec.Struct, frozen=True, kw_only=True):
    """What to vacuum, and what to keep; `Project.vacuum` documents each field."""

    sources: dict[str, Path]
    """The folders of the sources that are local Delta tables."""
    views: tuple[str, ...]
    keep_pins: bool
    keep_runs: int | None
    with_sources: bool
    retention_hours: int | None
    dry_run: bool


def vacuum_project(project: str, state: ProjectState, request: VacuumRequest) -> list[Vacuumed]:
    """Vacuum the outputs of a project, and its sources if requested.

    Raises:
        RunInProgressError: the project is running.
    """
    with run_lock(state.folder, project=project, lease_ms=state.lease_ms) as lock:
        runs = state.store.runs(limit=request.keep_runs) if request.keep_pins else []
        keep = _needed_versions(state.store, runs, request.sources)
        tables = [
            state.outputs / name
            for name in request.views
            if is_free_or_own(state.outputs / name, view=name, project=project)
        ]
        tables += map(Place, request.sources.values()) if request.with_sources else ()
        vacuumed = []
        for table in {_address(table): table for table in tables}.values():
            if newest_version(table.open()) == NO_VERSION:
                continue
            lock.check()
            vacuumed.append(
                _vacuum_table(
                    table,
                    keep=keep.get(_address(table), set()),
                    retention_hours=request.retention_hours,
                    dry_run=request.dry_run,
                )
            )
        return vacuumed


def _needed_versions(
    store: ArtifactStore, runs: Sequence[RunRecord], sources: Mapping[str, Path]
) -> dict[str, set[int]]:
    """Return the versions that runs read or wrote, by the address of the table."""
    versions: dict[str, set[int]] = {}
    for run in runs:
        for source, version in run.pins.items():
            if source in sources:
                versions.setdefault(_address(Place(sources[source])), set()).add(version)
        for view in store.find(run.id).views.values():
            if view.output is not None:
                address = _address(store.folder.at(view.output.uri))
                versions.setdefault(address, set()).add(view.output.version)
    return versions


def _address(table: Place) -> str:
    """Return the one address of a table, whatever links lead to it."""
    return str(table.path.resolve()) if table.is_local else table.uri


def _vacuum_table(
    table: Place, *, keep: set[int], retention_hours: int | None, dry_run: bool
) -> Vacuumed:
    """Remove the files of a table that no retained version references."""
    delta_table = table.table()
    kept_versions = [version for version in sorted(keep) if _is_readable(delta_table, version)]
    removable = (
        _removable_by_deltalake(delta_table, kept_versions, retention_hours=retention_hours)
        if table.is_local
        else _removable_by_listing(delta_table, kept_versions, retention_hours=retention_hours)
    )
    files = sorted(removable)
    if not dry_run:
        table.open().delete(files)
    return Vacuumed(table=str(table), kept_versions=tuple(kept_versions), files=tuple(files))


def _removable_by_deltalake(
    table: Table, kept_versions: list[int], *, retention_hours: int | None
) -> set[str]:
    """Return the paths of the removable files of a local table."""
    removable = DeltaTable(table.uri).vacuum(
        retention_hours=retention_hours,
        dry_run=True,
        enforce_retention_duration=False,
        full=True,
        keep_versions=kept_versions or None,
    )
    referenced = set[str]()
    if any(_may_hold_vectors(file) for file in removable):
        referenced = _referenced_files(table, kept_versions, retention_hours=retention_hours)
    return {file for file in removable if f"{table.uri}/{file}" not in referenced}


def _removable_by_listing(
    table: Table, kept_versions: list[int], *, retention_hours: int | None
) -> set[str]:
    """Return the paths of the removable files of a table in a store."""
    age = _retention_of(table, retention_hours)
    if age is None:
        return set()
    before_ms = (datetime.now(UTC) - age).timestamp() * 1000
    entries = [entry for entry in table.store.list_tree("") if entry.modified_ms <= before_ms]
    referenced = _referenced_files(table, kept_versions, retention_hours=retention_hours)
    return {
        entry.path
        for entry in entries
        if not _is_hidden(entry.path) and f"{table.uri}/{entry.path}" not in referenced
    }


def _is_hidden(path: str) -> bool:
    """Return whether a vacuum ignores an object: the log, and what other tools hide."""
    return any(
        part.startswith(("_", ".")) and "=" not in part and part != CHANGE_FOLDER
        for part in path.split("/")
    )


def _may_hold_vectors(file: str) -> bool:
    return not file.endswith((".parquet", ".crc"))


def _is_readable(table: Table, version: int) -> bool:
    try:
        table.snapshot(version=version)
    except (VersionNotFoundError, LogGapError):  # cleaned up: no reader can use it any more
        return False
    return True  # any other error aborts the vacuum, since the version may still be needed


def _referenced_files(
    table: Table, kept_versions: Iterable[int], *, retention_hours: int | None
) -> set[str]:
    """Return the data files and deletion-vector files that versions reference, by address."""
    newest = table.snapshot()
    since = _first_retained(table, _retention_of(table, retention_hours))
    return {
        address
        for uri, vector in _references(table, {*kept_versions, newest.version}, since=since)
        for address in (uri, vector_uri(table.uri, vector))
        if address is not None
    }


def _references(
    table: Table, versions: set[int], *, since: int
) -> Iterator[tuple[str, DeletionVector | None]]:
    """Yield the files of versions, and those added or removed since a version, with vectors."""
    for version in sorted(versions):
        for file in table.snapshot(version=version).scan():
            yield file.uri, file.deletion_vector
    for change in table.changes(since) if since <= max(versions) else ():
        yield change.uri, change.deletion_vector


def _first_retained(table: Table, age: timedelta | None) -> int:
    """Return the first version whose removed files are within the retention period."""
    if age is not None:
        try:
            return table.snapshot(as_of=datetime.now(UTC) - age).version + 1
        except HeadraceError:  # the log does not go back that far
            pass
    names = (parse_name(f.path.rpartition("/")[2]) for f in table.store.list(LOG_DIRECTORY))
    commits = (name.version for name in names if isinstance(name, CommitName))
    return min(commits, default=table.snapshot().version)


def _retention_of(table: Table, retention_hours: int | None) -> timedelta | None:
    if retention_hours is not None:
        return timedelta(hours=retention_hours)
    return _retention(table.snapshot().properties)


def _retention(properties: Mapping[str, str | None]) -> timedelta | None:
    """Return the retention period of removed files; None if the property cannot be parsed."""
    match = _INTERVAL.fullmatch(properties.get(_RETENTION) or _DEFAULT_RETENTION)
    return None if match is None else timedelta(**{f"{match[2].lower()}s": int(match[1])})
