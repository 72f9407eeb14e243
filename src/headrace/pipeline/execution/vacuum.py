"""Vacuum that keeps what runs need: deltalake names files, the store says which must stay.

deltalake does not know the files of deletion vectors and would remove those of live files. Where
it names what may be one, Headrace itself tells which files the versions need.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

import msgspec
from deltalake import DeltaTable

from headrace.errors import HeadraceError, LogGapError, VersionNotFoundError
from headrace.pipeline.execution.lock import run_lock
from headrace.pipeline.execution.state import ProjectState
from headrace.pipeline.output.note import is_free_or_own
from headrace.pipeline.runs.record import RunRecord
from headrace.pipeline.runs.store import ArtifactStore
from headrace.pipeline.sources.vector_file import vector_place
from headrace.protocol.action import DeletionVector
from headrace.storage.location import local_root
from headrace.table import Table

_RETENTION = "delta.deletedFileRetentionDuration"
_RETENTION_BY_DEFAULT = "interval 1 week"
_INTERVAL = re.compile(
    r"\s*(?:interval\s+)?(\d+)\s+(second|minute|hour|day|week)s?\s*", re.IGNORECASE
)


class Vacuumed(msgspec.Struct, frozen=True, kw_only=True):
    """What of one table was removed, or would be."""

    table: str
    kept_versions: tuple[int, ...]
    """The versions that kept runs read or made, of which the log is still there."""
    files: tuple[str, ...]


class VacuumRequest(msgspec.Struct, frozen=True, kw_only=True):
    """What is to be vacuumed, and what of it must stay."""

    sources: dict[str, Path]
    """Where the sources are that are local Delta tables."""
    views: tuple[str, ...]
    keep_pins: bool
    keep_runs: int | None
    with_sources: bool
    retention_hours: int | None
    dry_run: bool


def vacuum_project(project: str, state: ProjectState, wanted: VacuumRequest) -> list[Vacuumed]:
    """Vacuum the outputs of a project, and its sources if that is asked for.

    Raises:
        RunInProgressError: the project is being run.
    """
    with run_lock(state.folder, project=project):
        runs = state.store.runs(limit=wanted.keep_runs) if wanted.keep_pins else []
        keep = _needed_versions(state.store, runs, wanted.sources)
        tables = [
            state.outputs / name
            for name in wanted.views
            if is_free_or_own(state.outputs / name, view=name, project=project)
        ]
        tables += dict.fromkeys(wanted.sources.values()) if wanted.with_sources else ()
        return [
            _vacuum_table(
                table,
                keep=keep.get(table, set()),
                retention_hours=wanted.retention_hours,
                dry_run=wanted.dry_run,
            )
            for table in tables
            if (table / "_delta_log").is_dir()
        ]


def _needed_versions(
    store: ArtifactStore, runs: Sequence[RunRecord], sources: Mapping[str, Path]
) -> dict[Path, set[int]]:
    """By table, the versions that runs read of it, or made."""
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
    """Remove the files of a table that no version needs which is to be kept."""
    opened = Table(table)
    kept = [version for version in sorted(keep) if _is_there(opened, version)]
    named = DeltaTable(table).vacuum(
        retention_hours=retention_hours,
        dry_run=True,
        enforce_retention_duration=False,
        full=True,
        keep_versions=kept or None,
    )
    needed = set[Path]()
    if any(_may_hold_vectors(file) for file in named):
        needed = _needed_files(opened, kept, retention_hours=retention_hours)
    files = sorted({file for file in named if table / file not in needed})
    for file in files if not dry_run else ():
        (table / file).unlink(missing_ok=True)
    return Vacuumed(table=str(table), kept_versions=tuple(kept), files=tuple(files))


def _may_hold_vectors(file: str) -> bool:
    return not file.endswith((".parquet", ".crc"))


def _is_there(table: Table, version: int) -> bool:
    try:
        table.snapshot(version=version)
    except (VersionNotFoundError, LogGapError):  # cleaned up: nobody can read it any more
        return False
    return True  # any other error ends the vacuum: what cannot be read now may be needed still


def _needed_files(table: Table, kept: Iterable[int], *, retention_hours: int | None) -> set[Path]:
    """The files that versions need, as Headrace knows them."""
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
    """The files of versions, and all that came or went from another one on, with their vectors."""
    for version in sorted(versions):
        for file in table.snapshot(version=version).scan():
            yield file.uri, file.deletion_vector
    for change in table.changes(since) if since <= max(versions) else ():
        yield change.uri, change.deletion_vector


def _first_retained(
    table: Table, properties: Mapping[str, str | None], retention_hours: int | None
) -> int:
    """The first version whose removed files are retained: for so long they may be read."""
    age = _retention(properties) if retention_hours is None else timedelta(hours=retention_hours)
    if age is not None:
        try:
            return table.snapshot(as_of=datetime.now(UTC) - age).version + 1
        except HeadraceError:  # the log does not reach back so far
            pass
    commits = (Path(local_root(table.uri)) / "_delta_log").glob(f"{'[0-9]' * 20}.json")
    return min((int(commit.stem) for commit in commits), default=table.snapshot().version)


def _retention(properties: Mapping[str, str | None]) -> timedelta | None:
    """How long removed files are retained; None if the table says it in unknown words."""
    found = _INTERVAL.fullmatch(properties.get(_RETENTION) or _RETENTION_BY_DEFAULT)
    return None if found is None else timedelta(**{f"{found[2].lower()}s": int(found[1])})
