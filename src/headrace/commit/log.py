"""The log of a table as a writer needs it: its newest version, and who made which version."""

from collections.abc import Iterator
from urllib.parse import unquote

import msgspec

from headrace.commit.body import CommitInformation, read_information
from headrace.errors import LogGapError, ObjectNotFoundError
from headrace.log.name import (
    HINT_PATH,
    LOG_DIRECTORY,
    CheckpointName,
    CommitName,
    first_name,
    parse_name,
)
from headrace.protocol.action import LastCheckpoint
from headrace.storage.store import Store

NO_VERSION = -1
"""The version of a table that does not exist yet."""


def commit_path(version: int) -> str:
    """The path of a commit below its table."""
    return f"{LOG_DIRECTORY}/{version:020}.json"


def newest_version(store: Store) -> int:
    """The newest version that the log has; `NO_VERSION` where there is no log."""
    versions = _versions(store, first_name(_hinted_version(store))) or _versions(store, "")
    return max(versions, default=NO_VERSION)


def read_commit(store: Store, version: int) -> CommitInformation | None:
    """What the commit of a version says about itself; None where its file is gone."""
    try:
        return read_information(store.read(commit_path(version)))
    except ObjectNotFoundError:
        return None


def is_made_by(store: Store, version: int, commit_id: str) -> bool | None:
    """Whether a version was committed under an id; None where its file is not there.

    The id is looked for in the bytes, so that no other writer's way of writing matters.
    """
    try:
        return commit_id.encode() in store.read(commit_path(version))
    except ObjectNotFoundError:
        return None


class _File(msgspec.Struct, frozen=True):
    path: str


class _FileLine(msgspec.Struct, frozen=True):
    add: _File | None = None
    cdc: _File | None = None


def committed_paths(store: Store, version: int) -> frozenset[str]:
    """The files that one of our commits brought into its table, by their paths below it.

    Raises:
        ObjectNotFoundError: the commit is gone.
    """
    lines = store.read(commit_path(version)).splitlines()
    actions = (msgspec.json.decode(line, type=_FileLine) for line in lines)
    files = (file for action in actions for file in (action.add, action.cdc) if file)
    return frozenset(unquote(file.path) for file in files)


def commits_newest_first(store: Store, *, limit: int) -> Iterator[tuple[int, CommitInformation]]:
    """The newest commits, as far as their files are there and at most `limit`."""
    newest = newest_version(store)
    for version in range(newest, max(NO_VERSION, newest - limit), -1):
        information = read_commit(store, version)
        if information is None:
            return
        yield version, information


def find_commit(store: Store, commit_id: str, *, after: int) -> int | None:
    """The version that was committed under an id; None if there is certainly none.

    Args:
        store: The store of the table.
        commit_id: The id of the commit.
        after: The newest version that there was before it could have been committed.

    Raises:
        LogGapError: commits of the range are gone, so that nobody can tell.
    """
    newest = newest_version(store)
    for version in range(after + 1, newest + 1):
        is_ours = is_made_by(store, version, commit_id)
        if is_ours is None:
            raise LogGapError(table=store.root, missing=(range(version, version + 1),))
        if is_ours:
            return version
    return None


def _versions(store: Store, start_from: str) -> list[int]:
    """The versions of commits and checkpoints: a commit may be cleaned up once it is in one."""
    names = (
        parse_name(listed.path.rpartition("/")[2])
        for listed in store.list(LOG_DIRECTORY, start_from=start_from)
    )
    return [name.version for name in names if isinstance(name, CommitName | CheckpointName)]


def _hinted_version(store: Store) -> int:
    try:
        hint = msgspec.json.decode(store.read(HINT_PATH), type=LastCheckpoint)
    except (ObjectNotFoundError, msgspec.DecodeError):
        return 0
    return max(0, hint.version)
