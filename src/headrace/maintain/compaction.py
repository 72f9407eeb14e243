"""Compaction of a state: when it is needed, which manifests it rewrites, and the rewrite itself.

Takes a draft and replaces some of its manifests. It rewrites only small manifests, tier by tier,
and manifests with removed entries. A full manifest without removed entries is kept, so that the
cost of a commit does not grow with the table.
"""

from collections.abc import Mapping, Sequence
from enum import StrEnum
from itertools import pairwise

import msgspec

from headrace.errors import CorruptStateError
from headrace.maintain.distribution import RunTasks, plan_tasks
from headrace.maintain.draft import Draft
from headrace.maintain.home import Home
from headrace.maintain.manifest_file import ManifestShelf
from headrace.maintain.rewrite import Rewrite, RewriteCount, corner, total_count
from headrace.maintain.setting import StateSettings
from headrace.maintain.staging import Stage
from headrace.maintain.version_file import REGISTRY_PREFIX
from headrace.maintain.visibility import Visibility
from headrace.protocol.schema import DataType
from headrace.protocol.state import ManifestInfo, StateManifest

_TIER = 4
"""Merge a manifest with the smaller ones once these together hold a quarter of its entries."""
_FULL_SHARE = 2
"""A manifest that is at least half full is not small."""


class Trigger(StrEnum):
    """Why a state is compacted."""

    FORCED = "forced"
    EMPTY = "no live files"
    TOMBSTONES = "tombstone ratio"
    SMALL_MANIFESTS = "small manifests"
    LARGE_REMOVE = "large remove"
    MERGE = "after a merge"


class Compaction(msgspec.Struct, frozen=True, kw_only=True):
    """The result of a compaction."""

    trigger: Trigger
    manifests_read: int
    manifests_written: int
    count: RewriteCount
    tasks: int = 1
    """The number of tasks it was divided into."""


def find_trigger(
    draft: Draft, settings: StateSettings, *, removed: int = 0, is_merge: bool = False
) -> Trigger | None:
    """Return why a state should be compacted; None if it should not."""
    tombstones, files = draft.tombstone_count, draft.num_files
    if files <= 0 and draft.manifests:
        return Trigger.EMPTY
    if files and tombstones / files > settings.tombstone_threshold:
        return Trigger.TOMBSTONES
    if removed > settings.large_remove_threshold:
        return Trigger.LARGE_REMOVE
    if is_merge and settings.compact_after_merge and removed:
        return Trigger.MERGE
    if sum(_is_small(info, settings) for info in draft.manifests) > settings.max_manifests:
        return Trigger.SMALL_MANIFESTS
    return None


def choose_manifests(
    draft: Draft, trigger: Trigger, settings: StateSettings, *, types: Mapping[str, DataType]
) -> tuple[ManifestInfo, ...]:
    """Return the manifests that a compaction rewrites."""
    if trigger is Trigger.FORCED:
        return () if is_clean(draft, settings, types=types) else tuple(draft.manifests)
    if trigger is Trigger.SMALL_MANIFESTS:
        return _lowest_tiers(draft.manifests, settings)
    return tuple(info for info in draft.manifests if info.live_entry_count != info.num_entries)


def is_clean(draft: Draft, settings: StateSettings, *, types: Mapping[str, DataType]) -> bool:
    """Whether compacting everything would bring no benefit."""
    if draft.tombstone_count:
        return False
    small = [info for info in draft.manifests if _is_small(info, settings)]
    if any(info.num_entries > settings.entries_per_manifest for info in draft.manifests):
        return False
    unknown = any(info.sha256 is None for info in draft.manifests)
    return len(small) <= 1 and not unknown and _is_ordered(draft.manifests, types)


def _is_ordered(manifests: Sequence[ManifestInfo], types: Mapping[str, DataType]) -> bool:
    """Whether no manifest overlaps the partitions of the next one."""
    known = [info.partition_bounds for info in manifests if info.partition_bounds]
    return all(
        corner(bounds, types, 1) <= corner(following, types, 0)
        for bounds, following in pairwise(known)
    )


def compact(  # noqa: PLR0913  (a rewrite needs them all)
    draft: Draft,
    chosen: Sequence[ManifestInfo],
    trigger: Trigger,
    *,
    state: StateManifest,
    home: Home,
    shelf: ManifestShelf,
    stage: Stage,
    types: Mapping[str, DataType],
    settings: StateSettings,
    run_tasks: RunTasks | None = None,
) -> Compaction:
    """Rewrite the chosen manifests of a draft; `state` determines which entries are hidden.

    With `run_tasks`, a large rewrite is divided into tasks.

    The counts are verified: the entries written equal the entries read minus the hidden ones, and
    the number and size of the live files do not change.

    Raises:
        CorruptStateError: a manifest is missing or damaged, or the counts do not add up.
    """
    rewrite = Rewrite(
        shelf.each(shelf.file, chosen),
        store=stage.store,
        dropping=Visibility(state, home),
        types=types,
        settings=settings,
        schema=home.entry_schema,
    )
    tasks = []
    if run_tasks is not None and rewrite.count.entries_in >= settings.distribute_entries:
        tasks = plan_tasks(rewrite, store=stage.store, home=home, state=state, settings=settings)
    if run_tasks is not None and len(tasks) > 1:
        outcomes = list(run_tasks(tasks))
        written = [info for outcome in outcomes for info in outcome.infos]
        stage.written += [info.path for info in written]
        count = total_count(outcome.count for outcome in outcomes)
    else:
        written = [stage.put(manifest) for manifest in rewrite.manifests()] if chosen else []
        count = rewrite.count
    replace_manifests(draft, chosen, written, count)
    return Compaction(
        trigger=trigger,
        manifests_read=len(chosen),
        manifests_written=len(written),
        tasks=max(len(tasks), 1),
        count=count,
    )


def replace_manifests(
    draft: Draft,
    chosen: Sequence[ManifestInfo],
    written: Sequence[ManifestInfo],
    count: RewriteCount,
) -> None:
    """Put the rewritten manifests at the position of the first old one.

    Raises:
        CorruptStateError: the number or size of the live files would change.
    """
    replaced_paths = {info.path for info in chosen}
    before = (draft.num_files, draft.total_bytes)
    at = next((i for i, info in enumerate(draft.manifests) if info.path in replaced_paths), 0)
    unchanged = [info for info in draft.manifests if info.path not in replaced_paths]
    draft.manifests = [*unchanged[:at], *written, *unchanged[at:]]
    after = (draft.num_files, draft.total_bytes)
    if after != before:
        reason = (
            f"its state counts {before[0]} live files of {before[1]} bytes, but the manifests have "
            f"{after[0]} of {after[1]}"
        )
        raise CorruptStateError(path=chosen[0].path, reason=reason)
    if all(info.live_entry_count == info.num_entries for info in draft.manifests):
        draft.tombstones = {}
        draft.tombstone_entries = []
    if len(unchanged) == 0 and count.refs is not None:
        draft.registry = _referenced_schemas(draft.registry, count.refs)


def _referenced_schemas(registry: Mapping[str, str], refs: set[str]) -> dict[str, str]:
    """Return the registry without the schemas that no entry references."""
    return {
        key: value for key, value in registry.items() if key.removeprefix(REGISTRY_PREFIX) in refs
    }


def _is_small(info: ManifestInfo, settings: StateSettings) -> bool:
    return info.num_entries * _FULL_SHARE < settings.entries_per_manifest


def _lowest_tiers(
    manifests: Sequence[ManifestInfo], settings: StateSettings
) -> tuple[ManifestInfo, ...]:
    """Return the smallest manifests, up to one much larger than all smaller ones together."""
    small = sorted(
        (info for info in manifests if _is_small(info, settings)),
        key=lambda info: info.num_entries,
    )
    smallest: list[ManifestInfo] = []
    total = 0
    for info in small:
        is_needed = len(small) - len(smallest) > settings.max_manifests
        if len(smallest) > 1 and info.num_entries > _TIER * total and not is_needed:
            break
        smallest.append(info)
        total += info.num_entries
    return tuple(smallest)
