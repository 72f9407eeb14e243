"""Vacuums tables, but keeps the files that recorded runs need.

deltalake lists the removable files, given the versions to keep. It does not know deletion-vector
files and would remove those of live files, so if the list may contain one, Headrace itself
determines which files the kept versions reference.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

import msgspec
from deltalake import DeltaTable

from headrace.errors import HeadraceError, LogGapError, VersionNotFoundError
from headrace.pipeline.execution.lock import run_lock
from headrace.pipeline.execution.project_state import ProjectState
from headrace.pipeline.output.note import is_free_or_own
from headrace.pipeline.runs.artifact_store import ArtifactStore
from headrace.pipeline.runs.run_record import RunRecord
from headrace.pipeline.sources.vector_file import vector_place
from headrace.protocol.action import DeletionVector
from headrace.storage.location import local_root
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
    with run_lock(state.folder, project=project):
        runs = state.store.runs(limit=request.keep_runs) if request.keep_pins else []
        keep = _needed_versions(state.store, runs, request.sources)
        tables = [
            state.outputs / name
            for name in request.views
            if is_free_or_own(state.outputs / name, view=name, project=project)
        ]
        tables += dict.fromkeys(request.sources.values()) if request.with_sources else ()
        return [
            _vacuum_table(
                table,
                keep=keep.get(table, set()),
                retention_hours=request.retention_hours,
                dry_run=request.dry_run,
            )
            for table in tables
            if (table / "_delta_log").is_dir()
        ]


def _needed_versions(
    store: ArtifactStore, runs: Sequence[RunRecord], sources: Mapping[str, Path]
) -> dict[Path, set[int]]:
    """Return the versions that runs read or wrote, by table."""
    needed: dict[Path, set[int]] = {}
    for run in runs:
        for source, version in run.pins.items():
            if source in sources:
                needed.setdefault(sources[source], set()).add(version)
        for view in store.find(run.id).views.values():
            if view.output is not None:
                needed.setdefault(Path(view.output.uri), set()).add(view.output.version)
    return needed


def _vacuum_table(
    table: Path, *, keep: set[int], retention_hours: int | None, dry_run: bool
) -> Vacuumed:
    """Remove the files of a table that no retained version references."""
    opened = Table(table)
    kept = [version for version in sorted(keep) if _is_readable(opened, version)]
    removable = DeltaTable(table).vacuum(
        retention_hours=retention_hours,
        dry_run=True,
        enforce_retention_duration=False,
        full=True,
        keep_versions=kept or None,
    )
    needed = set[Path]()
    if any(_may_hold_vectors(file) for file in removable):
        needed = _needed_files(opened, kept, retention_hours=retention_hours)
    files = sorted({file for file in removable if table / file not in needed})
    for file in files if not dry_run else ():
        (table / file).unlink(missing_ok=True)
    return Vacuumed(table=str(table), kept_versions=tuple(kept), files=tuple(files))


def _may_hold_vectors(file: str) -> bool:
    return not file.endswith((".parquet", ".crc"))


def _is_readable(table: Table, version: int) -> bool:
    try:
        table.snapshot(version=version)
    except (VersionNotFoundError, LogGapError):  # cleaned up: no reader can use it any more
        return False
    return True  # any other error aborts the vacuum, since the version may still be needed


def _needed_files(table: Table, kept: Iterable[int], *, retention_hours: int | None) -> set[Path]:
    """Return the data files and deletion-vector files that versions reference."""
    newest = table.snapshot()
    since = _first_retained(table, newest.properties, retention_hours)
    return {
        place
        for uri, vector in _references(table, {*kept, newest.version}, since=since)
        for place in (Path(uri), vector_place(table.uri, vector))
        if place is not None
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


def _first_retained(
    table: Table, properties: Mapping[str, str | None], retention_hours: int | None
) -> int:
    """Return the first version whose removed files are within the retention period."""
    age = _retention(properties) if retention_hours is None else timedelta(hours=retention_hours)
    if age is not None:
        try:
            return table.snapshot(as_of=datetime.now(UTC) - age).version + 1
        except HeadraceError:  # the log does not go back that far
            pass
    commits = (Path(local_root(table.uri)) / "_delta_log").glob(f"{'[0-9]' * 20}.json")
    return min((int(commit.stem) for commit in commits), default=table.snapshot().version)


def _retention(properties: Mapping[str, str | None]) -> timedelta | None:
    """Return the retention period of removed files; None if the property cannot be parsed."""
    match = _INTERVAL.fullmatch(properties.get(_RETENTION) or _DEFAULT_RETENTION)
    return None if match is None else timedelta(**{f"{match[2].lower()}s": int(match[1])})
