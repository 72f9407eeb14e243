"""A draft of the next state: a base with new manifests added and removed files hidden.

Counts stay exact: each manifest records the number and size of its live entries, and a remove
counts only if it hits a live entry. Old manifests are never changed. In logs whose old readers
know only plain tombstones, adding a removed path again rewrites its manifest without the old
entry; otherwise a versioned tombstone hides the old entry.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence

import msgspec

from headrace.maintain.home import Home, HomeKind
from headrace.maintain.known_entry import INHERITED_VERSION
from headrace.maintain.lookup import Located
from headrace.maintain.manifest_file import ManifestShelf
from headrace.maintain.rewrite import Rewrite
from headrace.maintain.setting import StateSettings
from headrace.maintain.staging import Stage, StagedEntries
from headrace.maintain.visibility import PathSet, Visibility, tombstone_of
from headrace.protocol.key import FileKey, canonical_path
from headrace.protocol.schema import DataType
from headrace.protocol.state import (
    Entry,
    ManifestInfo,
    StateManifest,
    Tombstone,
)


class Draft(msgspec.Struct, kw_only=True):
    """The parts of a state that commits and compactions change."""

    manifests: list[ManifestInfo]
    tombstones: dict[str, None]
    """Plain tombstones, in the order in which they were added."""
    tombstone_entries: list[Tombstone]
    registry: dict[str, str]

    @property
    def num_files(self) -> int:
        """The number of live files."""
        return sum(info.live_entry_count for info in self.manifests)

    @property
    def total_bytes(self) -> int:
        """The total size of the live files."""
        return sum(info.live_bytes for info in self.manifests)

    @property
    def tombstone_count(self) -> int:
        """The number of tombstones, each counted once."""
        return max(len(self.tombstones), len(self.tombstone_entries))

    def as_state(self, state: StateManifest) -> StateManifest:
        """Return `state` with the parts of this draft."""
        return msgspec.structs.replace(
            state,
            manifests=tuple(self.manifests),
            tombstones=tuple(self.tombstones),
            tombstone_entries=tuple(self.tombstone_entries),
            schema_registry=self.registry,
            num_files=self.num_files,
            total_bytes=self.total_bytes,
        )


class _KeyFilter:
    """Drops the entries of some files, and those that a tombstone already hides."""

    def __init__(self, home: Home, entries: Sequence[Located], *, visibility: Visibility) -> None:
        self._home = home
        self._visibility = visibility
        self._keys = frozenset(entry.key for entry in entries)
        # Blocks record the paths as written, which may differ from those of the keys.
        self._paths = PathSet(entry.path for entry in entries)

    def hides(self, entry: Entry) -> bool:
        return self._home.key_of(entry) in self._keys or self._visibility.hides(entry)

    def may_hide(self, min_path: str, max_path: str) -> bool:
        has_key = self._paths.meets(min_path, max_path)
        return has_key or self._visibility.may_hide(min_path, max_path)


def draft_of(state: StateManifest | None, *, home: Home, shelf: ManifestShelf) -> Draft:
    """Return a draft equal to `state`; manifests without live counts are counted."""
    if state is None:
        return Draft(manifests=[], tombstones={}, tombstone_entries=[], registry={})
    visibility = Visibility(state, home)
    return Draft(
        manifests=[_counted(info, shelf, visibility) for info in state.manifests],
        tombstones=dict.fromkeys(state.tombstones),
        tombstone_entries=list(state.tombstone_entries),
        registry=dict(state.schema_registry),
    )


def add_entries(draft: Draft, staged: StagedEntries, *, home: Home, version: int) -> None:
    """Add the staged manifests; entries that inherit their version get this one.

    Entries of a Delta log inherit nothing: theirs is the version of a commit, which may be 0.
    """
    inherits = home.kind is HomeKind.INDEXTABLES
    for info in staged.infos:
        if inherits and info.min_added_at_version == INHERITED_VERSION:
            latest = max(info.max_added_at_version, version)
            info = msgspec.structs.replace(  # noqa: PLW2901
                info, min_added_at_version=version, max_added_at_version=latest
            )
        draft.manifests.append(info)


def remove_files(
    draft: Draft,
    located: Iterable[Located],
    *,
    home: Home,
    version: int,
    versions: Mapping[FileKey, int] | None = None,
) -> None:
    """Add tombstones for live entries, and subtract them from the counts of their manifests.

    Args:
        draft: The draft.
        located: The entries of the removed files.
        home: Determines the rules by which the state is written.
        version: The version that removes them.
        versions: The removing versions of single files, if they differ.
    """
    versions = versions or {}
    located_by_manifest: dict[str, list[Located]] = defaultdict(list)
    for entry in located:
        if entry.is_live:
            located_by_manifest[entry.manifest].append(entry)
    for at, info in enumerate(draft.manifests):
        located_here = located_by_manifest.get(info.path, ())
        if located_here:
            draft.manifests[at] = msgspec.structs.replace(
                info,
                tombstone_count=info.tombstone_count + len(located_here),
                live_entry_count=info.live_entry_count - len(located_here),
                live_bytes=info.live_bytes - sum(entry.size for entry in located_here),
            )
        for entry in located_here:
            if home.kind is HomeKind.INDEXTABLES:
                draft.tombstones[entry.path] = None
            removed_at = versions.get(entry.key, version)
            draft.tombstone_entries.append(tombstone_of(entry.key, entry.path, version=removed_at))


def purge_entries(  # noqa: PLR0913  (a rewrite needs them all)
    draft: Draft,
    located: Iterable[Located],
    *,
    visibility: Visibility,
    home: Home,
    shelf: ManifestShelf,
    stage: Stage,
    types: Mapping[str, DataType],
    settings: StateSettings,
) -> None:
    """Rewrite manifests without the given entries, live or not, whose paths are added again.

    Other removed entries of these manifests are dropped as well. Their tombstones stay until a
    compaction, and hide nothing.
    """
    to_purge: dict[str, list[Located]] = defaultdict(list)
    for entry in located:
        to_purge[entry.manifest].append(entry)
    manifests: list[ManifestInfo] = []
    for info in draft.manifests:
        entries_to_drop = to_purge.get(info.path)
        if entries_to_drop is None:
            manifests.append(info)
            continue
        rewrite = Rewrite(
            [shelf.file(info)],
            store=stage.store,
            dropping=_KeyFilter(home, entries_to_drop, visibility=visibility),
            types=types,
            settings=settings,
            schema=home.entry_schema,
        )
        manifests += [stage.put(manifest) for manifest in rewrite.manifests()]
    draft.manifests = manifests


def drop_tombstones(draft: Draft, keys: Collection[FileKey], *, home: Home) -> None:
    """Drop the tombstones of files that are added again, once their old entries are gone.

    A tombstone may have outlived its entry. A reader that knows only plain tombstones would then
    hide the new entry.
    """
    if home.kind is HomeKind.INDEXTABLES:
        draft.tombstones = {
            path: None for path in draft.tombstones if FileKey(canonical_path(path)) not in keys
        }
    draft.tombstone_entries = [
        tombstone
        for tombstone in draft.tombstone_entries
        if home.key_of_tombstone(tombstone) not in keys
    ]


def _counted(info: ManifestInfo, shelf: ManifestShelf, visibility: Visibility) -> ManifestInfo:
    if info.live_entry_count >= 0 and info.live_bytes >= 0:
        return info
    file = shelf.file(info)
    live = live_bytes = 0
    for at, placed in enumerate(file.blocks):
        block = placed.block
        if visibility.may_hide(block.min_path, block.max_path):
            entries = [entry for entry in file.entries(at) if not visibility.hides(entry)]
            live += len(entries)
            live_bytes += sum(entry["size"] for entry in entries)
        else:
            live += block.count
            live_bytes += block.total_bytes
    return msgspec.structs.replace(
        info,
        tombstone_count=info.num_entries - live,
        live_entry_count=live,
        live_bytes=live_bytes,
        min_path=min((p.block.min_path for p in file.blocks), default=None),
        max_path=max((p.block.max_path for p in file.blocks), default=None),
    )
