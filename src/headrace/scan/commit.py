"""Reads a range of commits: of each, the actions that change rows or how rows are read.

A `ChangeRequest` and an executor enter; `Commit` values leave, oldest first.
"""

from collections.abc import Generator, Sequence

import msgspec
from msgspec.structs import replace

from headrace.phases.changes import ChangeRequest, ListChanges
from headrace.plan.batch import ActionBatch
from headrace.plan.context import ExecutionContext
from headrace.plan.executor import Executor
from headrace.protocol.action import Add, Cdc, CommitInfo, Metadata, Protocol, Remove
from headrace.scan.run import Run

_ACTIONS = ("add", "remove", "cdc", "metaData", "protocol", "commitInfo")
_COLUMNS = (*_ACTIONS[:-1], "commitInfo.inCommitTimestamp")


class Commit(msgspec.Struct, frozen=True, kw_only=True):
    """The actions of one version, in the order of its lines."""

    version: int
    modified_ms: int = 0
    """When the commit file was written."""
    adds: Sequence[Add] = ()
    removes: Sequence[Remove] = ()
    cdcs: Sequence[Cdc] = ()
    metadata: Metadata | None = None
    protocol: Protocol | None = None
    info: CommitInfo | None = None


def read_commits(request: ChangeRequest, executor: Executor) -> Generator[Commit, None, None]:
    """Yield the commits of a range lazily, oldest first.

    Raises:
        LogGapError: a commit no longer exists.
    """
    version, end = request.start, request.end
    if version > end:
        return
    batches: list[ActionBatch] = []
    phase = ListChanges(request=replace(request, columns=_COLUMNS))
    with Run(phase, executor=executor, context=ExecutionContext()) as run:
        for batch in run:
            batch_version = batch.source.version
            assert batch_version is not None
            while version < batch_version:  # a commit without any of these actions has no batch
                yield _commit(version, batches)
                version, batches = version + 1, []
            batches.append(batch)
    while version <= end:
        yield _commit(version, batches)
        version, batches = version + 1, []


def _commit(version: int, batches: Sequence[ActionBatch]) -> Commit:
    actions = {name: [a for b in batches for a in b.actions(name)] for name in _ACTIONS}
    return Commit(
        version=version,
        modified_ms=batches[0].source.modified_ms if batches else 0,
        adds=actions["add"],
        removes=actions["remove"],
        cdcs=actions["cdc"],
        metadata=next(iter(actions["metaData"]), None),
        protocol=next(iter(actions["protocol"]), None),
        info=next(iter(actions["commitInfo"]), None),
    )
