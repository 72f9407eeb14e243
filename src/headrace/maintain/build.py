"""Builds the state of the next version by applying one change to a base.

Takes a `Change` and a `Base`; returns a `Built` state that is ready to be put. After a conflict
the same change is applied to the newer base. A file that was live in the first base but not in a
later one was removed by another writer, so the commit fails instead of claiming the removal.
"""

from collections.abc import Collection, Iterator, Mapping

import msgspec

from headrace.errors import StateConflictError
from headrace.maintain.base import Base, Layout
from headrace.maintain.compaction import (
    Compaction,
    Trigger,
    choose_manifests,
    compact,
    find_trigger,
    is_clean,
)
from headrace.maintain.distribution import RunTasks
from headrace.maintain.draft import (
    Draft,
    add_entries,
    draft_of,
    drop_tombstones,
    purge_entries,
    remove_files,
)
from headrace.maintain.entry_schema import schema_of_entries
from headrace.maintain.home import Home, HomeKind
from headrace.maintain.lookup import Located, Lookup
from headrace.maintain.manifest_file import ManifestShelf
from headrace.maintain.replay import NetChange, replay
from headrace.maintain.setting import StateSettings
from headrace.maintain.staging import Stage, StagedEntries, check_total, now_ms
from headrace.maintain.visibility import Visibility
from headrace.protocol.key import FileKey, canonical_path
from headrace.protocol.schema import DataType
from headrace.protocol.state import Entry, StateManifest
from headrace.protocol.state_schema import PROTOCOL_VERSION
from headrace.storage.store import WritableStore


class Change(msgspec.Struct, frozen=True, kw_only=True):
    """The files that a commit adds and removes, and the definition that it sets."""

    staged: StagedEntries
    removes: frozenset[FileKey] = frozenset()
    replaced: frozenset[FileKey] = frozenset()
    """The added files that were also removed before, so that the base may have them."""
    spellings: frozenset[str] = frozenset()
    """The paths of the removed files as written, if they differ from the paths in their keys."""
    registry: dict[str, str] = {}
    metadata: str | None = None
    protocol: str | None = None
    anchor: str | None = None
    is_merge: bool = False
    force_compaction: bool = False


class Built(msgspec.Struct, frozen=True, kw_only=True):
    """A state that is ready to be put."""

    state: StateManifest
    missed: tuple[str, ...] = ()
    compaction: Compaction | None = None


class Build:
    """One change that can be applied to several bases, one per attempt."""

    def __init__(  # noqa: PLR0913  (shared by all attempts)
        self,
        store: WritableStore,
        home: Home,
        *,
        change: Change,
        shelf: ManifestShelf,
        types: Mapping[str, DataType],
        settings: StateSettings,
        commit_id: str,
        run_tasks: RunTasks | None = None,
    ) -> None:
        self._store = store
        self._home = home
        self.change = change
        self._shelf = shelf
        self._types = types
        self._settings = settings
        self.commit_id = commit_id
        self._run_tasks = run_tasks
        self.tombstone_count = 0
        self._first_hits: frozenset[FileKey] | None = None

    def for_checkpoint(self) -> "Build":
        """Return a build without the change, to write the state of a version that exists."""
        change = Change(staged=StagedEntries(), registry=self.change.registry)
        return Build(
            self._store,
            self._home,
            change=change,
            shelf=self._shelf,
            types=self._types,
            settings=self._settings,
            commit_id=self.commit_id,
            run_tasks=self._run_tasks,
        )

    def staged_entries(self) -> Iterator[Entry]:
        """Yield the staged entries of the change."""
        for info in self.change.staged.infos:
            file = self._shelf.file(info)
            for at in range(len(file.blocks)):
                yield from file.entries(at)

    def is_clean(self, base: Base, *, force: bool) -> bool:
        """Whether compacting this base would change nothing."""
        draft = draft_of(base.state, home=self._home, shelf=self._shelf)
        if force:
            return is_clean(draft, self._settings, types=self._types)
        return find_trigger(draft, self._settings) is None

    def validated(self, base: Base) -> tuple[frozenset[str], tuple[str, ...]]:
        """Return the files that the change removes from a base, and those that are not live in it.

        The former have the paths of the base: readers that compare paths as written see them too.

        Raises:
            StateConflictError: a file that was live in the first base is no longer live.
        """
        net = replay(base)
        located = self._located(base, net)
        hits, missed = self._hits(base, net, located)
        paths = {entry.path for entry in located if entry.is_live and entry.key in hits}
        paths.update(net.adds[key]["path"] for key in hits & net.adds.keys())
        return frozenset(paths), missed

    def totals(self, base: Base) -> tuple[int, int]:
        """Return the number and total size of the live files of a base."""
        net = replay(base)
        draft = draft_of(base.state, home=self._home, shelf=self._shelf)
        removed = [entry for entry in self._located(base, net) if entry.is_live]
        removed = [entry for entry in removed if entry.key in net.removes]
        files = draft.num_files - len(removed) + len(net.adds)
        total = draft.total_bytes - sum(entry.size for entry in removed)
        return files, total + sum(entry["size"] for entry in net.adds.values())

    def state(self, base: Base, stage: Stage, *, version: int | None = None) -> Built:
        """Build the next state after a base; with `version`, the state of the base itself.

        Raises:
            StateConflictError: a file that was live in the first base is no longer live.
            CorruptStateError: a manifest of the base is missing or damaged.
            InvalidArgumentError: the total size of the files is negative or exceeds 64 bits.
        """
        version = base.version + 1 if version is None else version
        net = replay(base)
        located = self._located(base, net)
        hits, missed = self._hits(base, net, located)
        draft = draft_of(base.state, home=self._home, shelf=self._shelf)
        self._apply(draft, base, net, located, hits=hits, version=version, stage=stage)
        draft.registry |= {**net.registry, **self.change.registry}
        empty = self._empty_state(base, version)
        trigger = (
            Trigger.FORCED
            if self.change.force_compaction
            else find_trigger(
                draft, self._settings, removed=len(hits), is_merge=self.change.is_merge
            )
        )
        compaction = None if trigger is None else self._compact(draft, empty, trigger, stage)
        self.tombstone_count = draft.tombstone_count
        check_total(draft.total_bytes)
        return Built(state=draft.as_state(empty), missed=missed, compaction=compaction)

    def _compact(
        self, draft: Draft, empty: StateManifest, trigger: Trigger, stage: Stage
    ) -> Compaction | None:
        manifests = choose_manifests(draft, trigger, self._settings, types=self._types)
        if not manifests and not draft.tombstone_count:
            return None
        return compact(
            draft,
            manifests,
            trigger,
            state=draft.as_state(empty),
            home=self._home,
            shelf=self._shelf,
            stage=stage,
            types=self._types,
            settings=self._settings,
            run_tasks=self._run_tasks,
        )

    def _located(self, base: Base, net: NetChange) -> list[Located]:
        if base.state is None:
            return []
        keys = self.change.removes | self.change.staged.keys | net.removes
        lookup = Lookup(self._home, self._shelf, keys=keys, spellings=self.change.spellings)
        located = lookup.find(base.state)
        expected = self.change.removes | self.change.replaced
        missed = expected - {entry.key for entry in located}
        if missed and self._home.kind is HomeKind.DELTA:
            # A remove may spell a path differently from the add, so path ranges cannot rule it out.
            located = lookup.find(base.state, everywhere=True)
        return located

    def _hits(
        self, base: Base, net: NetChange, located: list[Located]
    ) -> tuple[frozenset[FileKey], tuple[str, ...]]:
        live = {entry.key for entry in located if entry.is_live} - net.removes
        hits = frozenset(key for key in self.change.removes if key in live or key in net.adds)
        if self._first_hits is None:
            self._first_hits = hits
        missing_paths = self._as_written(self._first_hits - hits)
        if missing_paths:
            raise StateConflictError(
                table=self._store.root, version=base.version, paths=missing_paths
            )
        return hits, tuple(self._as_written(self.change.removes - hits))

    def _as_written(self, keys: Collection[FileKey]) -> list[str]:
        """Return the paths of removed files as the change spells them."""
        if not keys:
            return []
        spellings = {canonical_path(path): path for path in self.change.spellings}
        return sorted(spellings.get(key.path, key.path) for key in keys)

    def _apply(  # noqa: PLR0913  (the parts of a change)
        self,
        draft: Draft,
        base: Base,
        net: NetChange,
        located: list[Located],
        *,
        hits: frozenset[FileKey],
        version: int,
        stage: Stage,
    ) -> None:
        """Remove and add files: those of the version files first, then those of the change."""
        new = self.change.staged.keys
        pending = {key: entry for key, entry in net.adds.items() if key not in hits | new}
        added = new | pending.keys()
        readded = [entry for entry in located if entry.key in added]
        removed = [
            entry for entry in located if entry.key in hits | net.removes and entry.key not in added
        ]
        remove_files(draft, removed, home=self._home, version=version)
        if readded:
            # The draft already has the tombstones of this change: a rewritten manifest loses
            # every entry that they hide, so its counts match its content.
            purge_entries(
                draft,
                readded,
                visibility=Visibility(draft.as_state(self._empty_state(base, version)), self._home),
                home=self._home,
                shelf=self._shelf,
                stage=stage,
                types=self._types,
                settings=self._settings,
            )
        drop_tombstones(draft, added, home=self._home)
        add_entries(draft, self.change.staged, home=self._home, version=version)
        if pending:
            schema = schema_of_entries(self._home.entry_schema, pending.values())
            names = {field["name"] for field in schema["fields"]}
            known = (
                {name: value for name, value in entry.items() if name in names}
                for entry in pending.values()
            )
            staged = stage.put_entries(known, types=self._types, schema=schema)
            add_entries(draft, staged, home=self._home, version=version)

    def _empty_state(self, base: Base, version: int) -> StateManifest:
        layout = None
        if self._home.kind is HomeKind.INDEXTABLES:
            layout = Layout.VERSIONS if base.layout is Layout.VERSIONS else Layout.STATE
        return StateManifest(
            state_version=version,
            created_at=now_ms(),
            num_files=0,
            total_bytes=0,
            manifests=(),
            metadata=self.change.metadata or base.metadata,
            protocol=self.change.protocol or _raised(base.protocol),
            anchor=self.change.anchor,
            commit_id=self.commit_id,
            layout=None if layout is None else str(layout),
        )


def _raised(protocol: str | None) -> str | None:
    """Return the protocol raised to the version that readers and writers of states need."""
    if protocol is None:
        return None
    decoded = msgspec.json.decode(protocol)
    inner = decoded.get("protocol") or decoded
    raised = {
        name: max(inner.get(name) or 0, PROTOCOL_VERSION)
        for name in ("minReaderVersion", "minWriterVersion")
    }
    return msgspec.json.encode({"protocol": {**inner, **raised}}).decode()
