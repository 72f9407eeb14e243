"""Clean-up: deletes expired states, and manifests that no retained state references.

It fails closed: if a state cannot be read, nothing is deleted. A plan can be inspected before it
runs. Just before deleting, states are listed again: files that a new state references are kept,
and files newer than the plan are not touched. Only files with names that Headrace writes are
candidates: `state-v…/_manifest.avro` and manifests.
"""

import re
from collections.abc import Iterable
from uuid import uuid4

import msgspec

from headrace.commit.store_clock import store_time_ms
from headrace.errors import CleanupRefusedError, HeadraceError, ObjectNotFoundError
from headrace.log.state_name import (
    MANIFEST_DIRECTORY,
    STATE_FILE,
    manifest_path,
    parse_state_directory,
)
from headrace.maintain.base import read_state
from headrace.maintain.home import Home
from headrace.maintain.setting import StateSettings
from headrace.maintain.staging import now_ms
from headrace.protocol.state import StateManifest
from headrace.storage.store import ObjectMeta, WritableStore

_MANIFEST = re.compile(r"manifest-[0-9A-Za-z-]+\.avro")
_HOUR_MS = 3_600_000
_WHOLE_SECOND_MS = 1000
"""Object stores report times in whole seconds, rounded down."""


class CleanupPlan(msgspec.Struct, frozen=True, kw_only=True):
    """The files that a clean-up would delete, and the states that it would retain."""

    table: str
    current: int | None
    """The newest state, which is always retained."""
    retained: tuple[int, ...]
    states: tuple[int, ...]
    """The states to delete, oldest first."""
    state_files: tuple[str, ...]
    manifests: tuple[str, ...]
    """The manifests to delete, as paths in the store."""
    size_bytes: int

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to delete."""
        return not self.state_files and not self.manifests


class CleanupResult(msgspec.Struct, frozen=True, kw_only=True):
    """The counts of a clean-up."""

    deleted_states: int
    orphaned_manifests: int
    deleted_manifests: int
    dry_run: bool


class _Listing(msgspec.Struct, frozen=True, kw_only=True):
    """One listing of the folder of the states."""

    states: dict[int, ObjectMeta]
    files_of_state: dict[int, list[ObjectMeta]]
    manifests: dict[str, ObjectMeta]


def plan_cleanup(
    store: WritableStore,
    home: Home,
    *,
    settings: StateSettings,
    clock_ms: int | None = None,
) -> CleanupPlan:
    """Plan which states and manifests to delete.

    A state is deleted if it is not the newest, not among the next newest `retention_versions`, and
    older than `retention_hours`. Its age is measured from the later of the store's time and the
    time in the state; the latter alone if the store reports none. A manifest is deleted if no
    retained state references it and it is older than `min_manifest_age_hours`.

    Raises:
        CleanupRefusedError: a state cannot be read.
    """
    now = _store_now(clock_ms)
    listing = _list(store, home)
    states = {version: _read(store, home, version) for version in listing.states}
    ordered = sorted(states, reverse=True)
    cutoff = now - settings.retention_hours * _HOUR_MS
    expired = {
        version
        for rank, version in enumerate(ordered)
        if rank > settings.retention_versions
        and _created_ms(listing.states[version], states[version]) < cutoff
    }
    retained = [version for version in ordered if version not in expired]
    referenced = _referenced_manifests(home, (states[version] for version in retained))
    youngest = now - settings.min_manifest_age_hours * _HOUR_MS
    orphans = [
        meta
        for path, meta in sorted(listing.manifests.items())
        if path not in referenced and 0 < meta.modified_ms < youngest
    ]
    files = [meta for version in sorted(expired) for meta in listing.files_of_state[version]]
    files = [meta for meta in files if meta.path not in referenced]
    in_states = {meta.path for meta in files}
    orphans = [meta for meta in orphans if meta.path not in in_states]
    return CleanupPlan(
        table=store.root,
        current=ordered[0] if ordered else None,
        retained=tuple(sorted(retained)),
        states=tuple(sorted(expired)),
        state_files=tuple(meta.path for meta in files),
        manifests=tuple(meta.path for meta in orphans),
        size_bytes=sum(meta.size_bytes for meta in (*files, *orphans)),
    )


def run_cleanup(store: WritableStore, home: Home, plan: CleanupPlan) -> CleanupResult:
    """Delete the files of a plan, except those that a current state references.

    States are deleted first, oldest first, each `_manifest.avro` before the other files, so that
    an interrupted clean-up leaves no state that references a missing manifest.

    Raises:
        CleanupRefusedError: a state cannot be read; nothing was deleted.
        StorageError: the store failed; run the clean-up again to continue.
    """
    listing = _list(store, home)
    expired = {version for version in plan.states if version in listing.states}
    remaining = [version for version in listing.states if version not in expired]
    if plan.states and max(remaining, default=-1) < max(plan.states):
        raise CleanupRefusedError(
            table=store.root,
            path=home.state_path(max(plan.states)),
            reason="it has become the newest state",
        )
    referenced = _referenced_manifests(home, (_read(store, home, version) for version in remaining))
    state_files = [path for path in plan.state_files if path not in referenced]
    heads = [path for path in state_files if path.endswith(f"/{STATE_FILE}")]
    store.delete(heads)
    store.delete(path for path in state_files if not path.endswith(f"/{STATE_FILE}"))
    for path in heads:
        store.prune(path.rpartition("/")[0])
    orphans = [path for path in plan.manifests if path not in referenced]
    store.delete(orphans)
    return CleanupResult(
        deleted_states=len(heads),
        orphaned_manifests=len(plan.manifests),
        deleted_manifests=len(orphans),
        dry_run=False,
    )


def clean(
    store: WritableStore,
    home: Home,
    *,
    settings: StateSettings,
    dry_run: bool,
    clock_ms: int | None = None,
) -> tuple[CleanupPlan, CleanupResult]:
    """Plan a clean-up and, unless `dry_run` is set, run it.

    Raises:
        CleanupRefusedError: a state cannot be read; nothing was deleted.
    """
    plan = plan_cleanup(store, home, settings=settings, clock_ms=clock_ms)
    if not (dry_run or plan.is_empty) and clock_ms is None:
        earlier_ms = earlier_clock_ms(store, home)
        plan = plan_cleanup(store, home, settings=settings, clock_ms=earlier_ms)
    if dry_run or plan.is_empty:
        return plan, CleanupResult(
            deleted_states=0,
            orphaned_manifests=len(plan.manifests),
            deleted_manifests=0,
            dry_run=dry_run,
        )
    return plan, run_cleanup(store, home, plan)


def earlier_clock_ms(store: WritableStore, home: Home) -> int:
    """Return the time by this machine or by the store, whichever is earlier.

    A machine whose clock is ahead would take the manifests of a running commit for old ones. A
    probe that an interrupted clean-up leaves looks like a manifest without a state, so that a later
    one deletes it.
    """
    probe = f"{home.root}/{manifest_path(f'clock-{uuid4().hex}')}"
    return min(now_ms(), store_time_ms(store, probe=probe) + _WHOLE_SECOND_MS)


def _list(store: WritableStore, home: Home) -> _Listing:
    states: dict[int, ObjectMeta] = {}
    files: dict[int, list[ObjectMeta]] = {}
    manifests: dict[str, ObjectMeta] = {}
    for meta in store.list_tree(home.root):
        folder, _, name = meta.path.removeprefix(f"{home.root}/").rpartition("/")
        version = parse_state_directory(folder)
        if version is not None:
            if name == STATE_FILE:
                states[version] = meta
            if name == STATE_FILE or _MANIFEST.fullmatch(name):
                files.setdefault(version, []).append(meta)
        if _MANIFEST.fullmatch(name) and (folder == MANIFEST_DIRECTORY or version is not None):
            manifests[meta.path] = meta
    return _Listing(states=states, files_of_state=files, manifests=manifests)


def _read(store: WritableStore, home: Home, version: int) -> StateManifest:
    path = home.state_path(version)
    try:
        return read_state(store, home, version)
    except ObjectNotFoundError:
        # Another clean-up deleted it after the listing, so it references nothing.
        return StateManifest(
            state_version=version, created_at=0, num_files=0, total_bytes=0, manifests=()
        )
    except HeadraceError as error:
        reason = f"the state cannot be read ({error})"
        raise CleanupRefusedError(table=store.root, path=path, reason=reason) from error


def _referenced_manifests(home: Home, states: Iterable[StateManifest]) -> set[str]:
    return {f"{home.root}/{info.path}" for state in states for info in state.manifests}


def _created_ms(meta: ObjectMeta, state: StateManifest) -> int:
    """Return the later of the store's time and the state's own."""
    return max(meta.modified_ms, state.created_at)


def _store_now(clock_ms: int | None) -> int:
    return now_ms() if clock_ms is None else clock_ms
