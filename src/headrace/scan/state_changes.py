"""The changes of an IndexTables table, from version files or by comparing adjacent states.

Many writers leave no version file. The changes of a version are then the difference between its
state and the previous one. Manifests that both share are read only if their tombstones differ, so
an append costs one manifest, whatever the size of the table; a compaction changes nothing.

As in a Delta log, a file that is added again under its old path is reported as added, and not as
removed: the newer file replaces the older one.
"""

from collections.abc import Generator, Iterable, Sequence

from headrace.errors import CorruptStateError, LogGapError
from headrace.log.dialect import INDEXTABLES
from headrace.log.state import State
from headrace.log.transaction_log import TransactionLog, index_transaction_log
from headrace.plan.batch import ActionBatch, FileListing
from headrace.plan.context import ExecutionContext
from headrace.plan.executor import Executor
from headrace.plan.node import ListTree, Node, ScanAvro, ScanJson
from headrace.protocol.action import Add
from headrace.protocol.key import FileKey, canonical_path, key_of
from headrace.protocol.log_file import LogFile
from headrace.protocol.state import ManifestInfo, StateManifest, Tombstones
from headrace.scan.changes import ChangeKind, Changes, FileChange

_ENTRY_COLUMNS = (
    "add.path",
    "add.deletionVector",
    "add.partitionValues",
    "add.size",
    "add.modificationTime",
)


class StateChanges(Changes):
    """The changes of some versions of an IndexTables table, oldest first."""

    def _by_batch(self, execution: ExecutionContext) -> Generator[list[FileChange], None, None]:
        if self.start > self.end:
            return
        executor = self._executor.bound(execution)
        log = self._read_log_index(executor)
        self._check(log)
        for version in range(self.start, self.end + 1):
            execution.cancellation.check()
            if version in log.commits:
                yield self._recorded_changes(log.commits[version], version, executor)
            else:
                yield self._state_difference(log, version, executor)

    def _read_log_index(self, executor: Executor) -> TransactionLog:
        listing = executor.execute(ListTree(directory=INDEXTABLES.log_directory))
        files = [file for b in listing if isinstance(b, FileListing) for file in b.files]
        return index_transaction_log(files, table=self.request.table)

    def _check(self, log: TransactionLog) -> None:
        """Check that the range is still complete.

        Raises:
            LogGapError: a version has no record, or its predecessor has no state to compare with.
        """
        missing = [
            range(version, version + 1)
            for version in range(self.start, self.end + 1)
            if version not in log.commits and not _is_comparable(log, version)
        ]
        if missing:
            raise LogGapError(table=self.request.table, missing=missing)

    def _recorded_changes(
        self, file: LogFile, version: int, executor: Executor
    ) -> list[FileChange]:
        """Return the changes recorded in a version file."""
        plan = ScanJson(files=(file,), columns=("add", "remove"))
        batches = _actions(executor, plan)
        adds = [add for batch in batches for add in batch.actions("add")]
        readded = set(map(key_of, adds))
        removes = [remove for batch in batches for remove in batch.actions("remove")]
        changes = [self._change(add, ChangeKind.ADDED, version) for add in adds]
        return changes + [
            self._change(remove, ChangeKind.REMOVED, version)
            for remove in removes
            if key_of(remove) not in readded
        ]

    def _state_difference(
        self, log: TransactionLog, version: int, executor: Executor
    ) -> list[FileChange]:
        """Return the differences between a state and the previous one."""
        newer = _state(log.states[version], executor)
        if version == 1 and 0 in log.commits:
            # The state of version 0, if there is one, may hold the files of a later version.
            before = _recorded_files(log.commits[0], executor)
            after = _visible_entries(newer, newer.manifest.manifests, executor)
        else:
            older = _state(log.states[version - 1], executor) if version else None
            if log.is_doubtful(newer.manifest) or (older and log.is_doubtful(older.manifest)):
                raise LogGapError(table=self.request.table, missing=[range(version, version + 1)])
            before, after = compare(older, newer, executor)
        added = [
            self._change(add, ChangeKind.ADDED, version)
            for key, add in after.items()
            if key not in before or _content(add) != _content(before[key])
        ]
        removed = [
            self._change(before[k], ChangeKind.REMOVED, version) for k in before if k not in after
        ]
        return added + removed


def _is_comparable(log: TransactionLog, version: int) -> bool:
    """Return whether a version has a state, and the version before it something to compare with."""
    if version not in log.states:
        return False
    return version == 0 or version - 1 in log.states or (version == 1 and 0 in log.commits)


def _recorded_files(file: LogFile, executor: Executor) -> dict[FileKey, Add]:
    """Return the files that the first version file adds."""
    batches = _actions(executor, ScanJson(files=(file,), columns=("add", "remove")))
    return {key_of(add): add for batch in batches for add in batch.actions("add")}


def compare(
    older: State | None, newer: State, executor: Executor
) -> tuple[dict[FileKey, Add], dict[FileKey, Add]]:
    """Return the files of two states, without manifests that cannot differ."""
    if older is None:
        return {}, _visible_entries(newer, newer.manifest.manifests, executor)
    paths = {older.manifest_file(info).path for info in older.manifest.manifests}
    newer_paths = {newer.manifest_file(info).path for info in newer.manifest.manifests}
    shared = paths & newer_paths
    if _tombstone_keys(older.manifest) == _tombstone_keys(newer.manifest):
        return (
            _visible_entries(older, _manifests_except(older, shared), executor),
            _visible_entries(newer, _manifests_except(newer, shared), executor),
        )
    changed = _tombstone_keys(older.manifest) ^ _tombstone_keys(newer.manifest)
    hidden = {spelling for path, _, _ in changed for spelling in (path, canonical_path(path))}
    untouched = {path for path in shared if not _may_hold(newer, path, hidden)}
    return (
        _visible_entries(older, _manifests_except(older, untouched), executor),
        _visible_entries(newer, _manifests_except(newer, untouched), executor),
    )


def _content(add: Add) -> tuple[object, ...]:
    """Return what differs if a path holds another file than before.

    A state has no key for a partition value that is null.
    """
    values = {name: value for name, value in add.partition_values.items() if value is not None}
    return add.size, add.modification_time, values


def _tombstone_keys(state: StateManifest) -> set[tuple[str, str | None, int | None]]:
    tombstones = Tombstones.of(state)
    versioned = {(t.path, t.dv_id, t.removed_at_version) for t in tombstones.entries}
    return {*((path, None, None) for path in tombstones.paths), *versioned}


def _may_hold(state: State, path: str, hidden: Iterable[str]) -> bool:
    """Return whether a manifest may hold one of the paths, by the bounds in its state."""
    info = next(i for i in state.manifest.manifests if state.manifest_file(i).path == path)
    least, greatest = info.min_path, info.max_path
    if least is None or greatest is None:
        return True
    return any(least <= name <= greatest for name in hidden)


def _manifests_except(state: State, known: set[str]) -> tuple[ManifestInfo, ...]:
    return tuple(i for i in state.manifest.manifests if state.manifest_file(i).path not in known)


def _visible_entries(
    state: State, manifests: Sequence[ManifestInfo], executor: Executor
) -> dict[FileKey, Add]:
    """Return the entries of manifests that no tombstone hides."""
    if not manifests:
        return {}
    plan = ScanAvro(
        files=tuple(map(state.manifest_file, manifests)),
        columns=_ENTRY_COLUMNS,
        manifests=tuple(manifests),
        tombstones=Tombstones.of(state.manifest),
    )
    return {key_of(add): add for batch in _actions(executor, plan) for add in batch.actions("add")}


def _state(file: LogFile, executor: Executor) -> State:
    plan = ScanAvro(files=(file,), columns=("state",))
    (manifest,) = (s for batch in _actions(executor, plan) for s in batch.actions("state"))
    if manifest.state_version != file.version:
        reason = f"it claims to be of version {manifest.state_version}"
        raise CorruptStateError(path=file.path, reason=reason)
    return State(root=INDEXTABLES.state_root, file=file, manifest=manifest)


def _actions(executor: Executor, plan: Node) -> list[ActionBatch]:
    return [batch for batch in executor.execute(plan) if isinstance(batch, ActionBatch)]
