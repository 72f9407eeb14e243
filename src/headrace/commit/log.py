"""Read a table's log as a writer needs it.

Finds the newest version, reads what a commit contains, and finds which version a commit id made.
"""

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
    """Return the path of a commit relative to its table."""
    return f"{LOG_DIRECTORY}/{version:020}.json"


def newest_version(store: Store) -> int:
    """Return the newest version in the log; `NO_VERSION` if there is no log."""
    versions = _versions(store, first_name(_hinted_version(store))) or _versions(store, "")
    return max(versions, default=NO_VERSION)


def read_commit(store: Store, version: int) -> CommitInformation | None:
    """Return the commit information of a version; None if the commit file does not exist."""
    try:
        return read_information(store.read(commit_path(version)))
    except ObjectNotFoundError:
        return None


def is_made_by(store: Store, version: int, commit_id: str) -> bool | None:
    """Return whether a version has the given commit id; None if its file does not exist.

    The id is searched in the raw bytes, so other writers' formats do not matter.
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
    """Return the files that one of our commits added, as paths relative to the table.

    Raises:
        ObjectNotFoundError: the commit file does not exist.
    """
    lines = store.read(commit_path(version)).splitlines()
    actions = (msgspec.json.decode(line, type=_FileLine) for line in lines)
    files = (file for action in actions for file in (action.add, action.cdc) if file)
    return frozenset(unquote(file.path) for file in files)


def commits_newest_first(store: Store, *, limit: int) -> Iterator[tuple[int, CommitInformation]]:
    """Yield at most `limit` of the newest commits, up to the first missing commit file."""
    newest = newest_version(store)
    for version in range(newest, max(NO_VERSION, newest - limit), -1):
        information = read_commit(store, version)
        if information is None:
            return
        yield version, information


def find_commit(store: Store, commit_id: str, *, after: int) -> int | None:
    """Return the version committed under an id; None if there is certainly none.

    Args:
        store: The store of the table.
        commit_id: The id of the commit.
        after: The newest version that existed before the commit could have happened.

    Raises:
        LogGapError: a commit in the range is missing, so the answer is unknown.
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
    """Return the versions of commits and checkpoints.

    Checkpoints count too, because commits that they cover may have been cleaned up.
    """
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
