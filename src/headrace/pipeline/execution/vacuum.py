"""Vacuum that keeps what runs need: deltalake removes files, the store says which must stay."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec
from deltalake import DeltaTable

from headrace.pipeline.runs.record import RunRecord
from headrace.pipeline.runs.store import ArtifactStore


class Vacuumed(msgspec.Struct, frozen=True, kw_only=True):
    """What of one table was removed, or would be."""

    table: str
    kept_versions: tuple[int, ...]
    """The versions that kept runs read or made, of which the log is still there."""
    files: tuple[str, ...]


def needed_versions(
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


def vacuum_table(
    table: Path, *, keep: set[int], retention_hours: int | None, dry_run: bool
) -> Vacuumed:
    """Remove the files of a table that no version needs which is to be kept."""
    opened = DeltaTable(table)
    known = {int(commit["version"]) for commit in opened.history()}
    kept = sorted(keep & known)
    files = opened.vacuum(
        retention_hours=retention_hours,
        dry_run=dry_run,
        enforce_retention_duration=False,
        full=True,
        keep_versions=kept or None,
    )
    return Vacuumed(table=str(table), kept_versions=tuple(kept), files=tuple(sorted(files)))
