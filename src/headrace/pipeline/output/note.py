"""The note in each commit to an output: the run that made it, its view, key and digest.

The note makes runs idempotent. A run that died after its commit left no record in the artifact
store, but the note shows that the table already has the result.
"""

from os import PathLike

import msgspec

from headrace.commit.action import Transaction
from headrace.commit.fence import is_only_fence
from headrace.commit.log import commits_newest_first
from headrace.errors import InvalidResultError, TableNotFoundError
from headrace.pipeline.place import Place
from headrace.pipeline.runs.row_digest import RowDigest
from headrace.pipeline.runs.run_record import OutputVersion
from headrace.table import Snapshot

_SEARCHED_COMMITS = 100


class CommitNote(msgspec.Struct, frozen=True, kw_only=True):
    """The facts about a run that its commit stores."""

    project: str
    view: str
    run: str
    bundle: str
    started_ms: int
    """When the run started. It is the version of the transaction, which must increase."""
    skip_key: str | None
    digest: RowDigest
    upstream_keys: dict[str, str] = {}

    def is_same(self, other: "CommitNote") -> bool:
        """Return whether another commit has the same result of the same view."""
        return (self.project, self.view, self.skip_key) == (
            *(other.project, other.view, other.skip_key),
        )

    @property
    def application(self) -> str:
        """The application id of the transaction; Delta keeps the last version of each."""
        return _application(self.project, self.view)

    @property
    def transaction(self) -> Transaction:
        """The transaction action of the commit."""
        return Transaction(
            app_id=self.application, version=self.started_ms, last_updated=self.started_ms
        )


class NotedVersion(msgspec.Struct, frozen=True, kw_only=True):
    """A version of a table, and the note of the commit that made it."""

    version: int
    note: CommitNote
    commit_id: str | None = None

    def as_output(self, table: Place) -> OutputVersion:
        """Return the version as the output of a view; the number and size of files are unknown."""
        return OutputVersion(
            uri=str(table),
            version=self.version,
            files=0,
            size_bytes=0,
            commit_id=self.commit_id,
            transaction=self.note.started_ms,
        )


def last_note(table: Place | str | PathLike[str]) -> NotedVersion | None:
    """Return the newest version with a note; None if none of the last commits has one."""
    store = Place.of(table).open()
    for version, information in commits_newest_first(store, limit=_SEARCHED_COMMITS):
        note = decode_note(information.note)
        if note is not None:
            return NotedVersion(version=version, note=note, commit_id=information.id)
    return None


def find_same_append(
    table: Place | str | PathLike[str], note: CommitNote, *, after: int
) -> NotedVersion | None:
    """Return the commit after a version with the same key as `note`, made by another run."""
    if note.skip_key is None:
        return None
    store = Place.of(table).open()
    for version, information in commits_newest_first(store, limit=_SEARCHED_COMMITS):
        if version <= after:
            return None
        other = decode_note(information.note)
        if other is not None and note.is_same(other):
            return NotedVersion(version=version, note=other, commit_id=information.id)
    return None


def is_free_or_own(table: Place, *, view: str, project: str) -> bool:
    """Return whether there is no table yet, or one that the project has written for the view."""
    try:
        snapshot = table.table().snapshot()
    except TableNotFoundError:
        return True
    return _application(project, view) in snapshot.txns or is_only_fence(snapshot.metadata)


def refuse_foreign_table(
    table: Place, *, view: str, project: str, source: str | None = None
) -> None:
    """Check that the project may write a table for a view.

    Args:
        table: The table.
        view: The view that is written to it.
        project: The name of the project.
        source: The name of the source that has this table, if there is one.

    Raises:
        InvalidResultError: the table exists, and no run of the project has written it.
    """
    if not is_free_or_own(table, view=view, project=project):
        next_step = (
            "move it, or replace it with --full-refresh"
            if source is None
            else f"it is source {source}, so rename the view, or choose another folder for outputs"
        )
        reason = f"{table} is a table that no run of {project} has written: {next_step}"
        raise InvalidResultError(view=view, reason=reason)


_APPLICATION = "headrace/"


def _application(project: str, view: str) -> str:
    return f"{_APPLICATION}{project}/{view}"


def has_transaction(snapshot: Snapshot, version: int | None) -> bool:
    """Return whether the last transaction of a view on its table has this version."""
    return version is not None and any(
        transaction.version == version
        for application, transaction in snapshot.txns.items()
        if application.startswith(_APPLICATION)
    )


def decode_note(note: msgspec.Raw) -> CommitNote | None:
    """Decode the note of a commit; None if there is none, or its format is unknown."""
    try:
        return msgspec.json.decode(note, type=CommitNote | None)
    except msgspec.DecodeError:  # written by another version of Headrace
        return None
