"""Distributed compaction: divides blocks by partition order into tasks that rewrite them.

A task can be pickled and run anywhere that can reach the store. It stages its manifests there and
returns them. Only the caller commits the state that references them, so tasks that fail or run
twice leave nothing but unreferenced manifests.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TypeAlias

import msgspec

from headrace.maintain.home import Home
from headrace.maintain.manifest_file import ManifestFile, ManifestShelf
from headrace.maintain.rewrite import Rewrite, RewriteCount
from headrace.maintain.setting import StateSettings
from headrace.maintain.staging import Stage
from headrace.maintain.visibility import Visibility
from headrace.protocol.schema import DataType
from headrace.protocol.state import ManifestInfo, StateManifest
from headrace.protocol.state_schema import Schema
from headrace.storage.store import WritableStore

_MANIFESTS_PER_TASK = 4


class RewriteTask(msgspec.Struct, frozen=True, kw_only=True):
    """Some blocks of a state's manifests, to be rewritten into new manifests."""

    store: WritableStore
    home: Home
    state: StateManifest
    """Its tombstones determine which entries are dropped."""
    blocks: tuple[tuple[ManifestInfo, tuple[int, ...]], ...]
    """The manifests, each with the positions of its blocks."""
    types: Mapping[str, DataType]
    settings: StateSettings
    schema: Schema


class TaskOutcome(msgspec.Struct, frozen=True, kw_only=True):
    """The manifests that a task wrote, in partition order."""

    infos: tuple[ManifestInfo, ...]
    count: RewriteCount


RunTasks: TypeAlias = Callable[[Sequence[RewriteTask]], Iterable[TaskOutcome]]
"""Runs tasks in parallel, and returns their outcomes in the order of the tasks."""


def plan_tasks(
    rewrite: Rewrite,
    *,
    store: WritableStore,
    home: Home,
    state: StateManifest,
    settings: StateSettings,
) -> list[RewriteTask]:
    """Divide a rewrite into tasks of a few full manifests each, in partition order."""
    tombstones = msgspec.structs.replace(state, manifests=())
    most = settings.entries_per_manifest * _MANIFESTS_PER_TASK
    return [
        RewriteTask(
            store=store,
            home=home,
            state=tombstones,
            blocks=tuple((file.info, tuple(sorted(at))) for file, at in blocks.items()),
            types=rewrite.types,
            settings=_evenly(settings, _entries(blocks)),
            schema=rewrite.schema,
        )
        for blocks in rewrite.divided(most)
    ]


def run_task(task: RewriteTask) -> TaskOutcome:
    """Rewrite the blocks of a task, and stage the new manifests in the store.

    Raises:
        CorruptStateError: a block is missing or damaged, or the counts do not add up.
        StorageError: the store failed.
    """
    shelf = ManifestShelf(task.store, task.home.root, types=task.types)
    blocks = {shelf.file(info): frozenset(at) for info, at in task.blocks}
    rewrite = Rewrite(
        list(blocks),
        store=task.store,
        dropping=Visibility(task.state, task.home),
        types=task.types,
        settings=task.settings,
        schema=task.schema,
        only=blocks,
    )
    stage = Stage(task.store, task.home, settings=task.settings)
    try:
        infos = tuple(stage.put(manifest) for manifest in rewrite.manifests())
    except BaseException:
        stage.discard()
        raise
    return TaskOutcome(infos=infos, count=rewrite.count)


def _entries(blocks: Mapping[ManifestFile, Iterable[int]]) -> int:
    return sum(file.blocks[at].block.count for file, indexes in blocks.items() for at in indexes)


def _evenly(settings: StateSettings, entries: int) -> StateSettings:
    """Return settings that make the manifests of a task equally large."""
    manifests = max(1, -(-entries // settings.entries_per_manifest))
    return msgspec.structs.replace(settings, entries_per_manifest=max(1, -(-entries // manifests)))
