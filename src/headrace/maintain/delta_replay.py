"""Replays the commits after a state of a Delta log: versions enter, their net change leaves."""

from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from headrace.commit.log import commit_path
from headrace.errors import CorruptLogError, ObjectNotFoundError
from headrace.maintain.version_file import Action, decode_actions
from headrace.protocol.action import Add, Remove
from headrace.protocol.key import FileKey, key_of
from headrace.protocol.state import Entry
from headrace.storage.store import Store


class RebuildNeeded(Exception):  # noqa: N818  (control flow, not an error)
    """The older state cannot be reused; the text says why."""


class CommitNetChange(msgspec.Struct, kw_only=True):
    """The files that some commits add and remove in total."""

    adds: dict[FileKey, Entry] = msgspec.field(default_factory=dict)
    removes: set[FileKey] = msgspec.field(default_factory=set)
    spellings: set[str] = msgspec.field(default_factory=set)
    """The paths of these files as written in the log."""


def replay_commits(log: Store, versions: range) -> CommitNetChange:
    """Return the net change of commits, read oldest first.

    Raises:
        RebuildNeeded: a commit is gone, or changes the table's definition.
        CorruptLogError: a commit cannot be decoded.
    """
    net = CommitNetChange()
    for version in versions:
        path = commit_path(version)
        try:
            actions = list(decode_actions(log.read(path), path=path))
        except ObjectNotFoundError as error:
            raise RebuildNeeded(f"commit {version} has been cleaned up") from error
        removes, adds = (list(_typed(actions, name, kind, path=path)) for name, kind in _KINDS)
        for remove in removes:
            key = key_of(remove)
            net.adds.pop(key, None)
            net.removes.add(key)
            net.spellings.add(remove.path)
        for add in adds:
            net.adds[key_of(add)] = _entry(add, version=version)
            net.spellings.add(add.path)
        if any(action.get(name) is not None for action in actions for name in _DEFINITION):
            raise RebuildNeeded(f"commit {version} changes the table's definition")
    return net


_DEFINITION = ("metaData", "protocol")
_KINDS: tuple[tuple[str, Any], ...] = (("remove", Remove), ("add", Add))


def _typed(actions: Sequence[Action], name: str, kind: Any, *, path: str) -> Iterator[Any]:
    for action in actions:
        if action.get(name) is not None:
            try:
                yield msgspec.convert(action[name], kind)
            except msgspec.ValidationError as error:
                raise CorruptLogError(path=path, line=None, reason=str(error)) from error


def _entry(add: Add, *, version: int) -> Entry:
    """Convert an add to an entry that was added at `version`."""
    vector = add.deletion_vector
    return {
        "path": add.path,
        "partitionValues": add.partition_values,
        "size": add.size,
        "modificationTime": add.modification_time,
        "dataChange": add.data_change,
        "stats": add.stats,
        "deletionVector": None if vector is None else msgspec.to_builtins(vector),
        "tags": add.tags,
        "baseRowId": add.base_row_id,
        "defaultRowCommitVersion": add.default_row_commit_version,
        "clusteringProvider": add.clustering_provider,
        "addedAtVersion": version,
        "addedAtTimestamp": add.modification_time,
    }
