"""The note that each commit of an output carries: which run made it, and of what.

It is what makes a run safe to repeat. A run that died behind its commit has said nothing to the
artifact store, but the table itself tells that the work is done.
"""

from pathlib import Path
from typing import Any

import msgspec
from deltalake import CommitProperties, DeltaTable, Transaction

from headrace.errors import InvalidResultError
from headrace.pipeline.runs.digest import RowDigest
from headrace.table import Table

_KEY = "headrace"
_SEARCHED_COMMITS = 100


class CommitNote(msgspec.Struct, frozen=True, kw_only=True):
    """What a commit says about itself."""

    project: str
    view: str
    run: str
    bundle: str
    started_ms: int
    """Of the run: the version of its transaction, which only grows."""
    skip_key: str | None
    digest: RowDigest
    upstream_keys: dict[str, str] = {}

    @property
    def application(self) -> str:
        """The application of the transaction: Delta keeps the last version of each."""
        return _application(self.project, self.view)

    def properties(self) -> CommitProperties:
        """What goes into the commit beside its files."""
        transaction = Transaction(self.application, self.started_ms, self.started_ms)
        return CommitProperties(
            custom_metadata={_KEY: msgspec.to_builtins(self)}, app_transactions=[transaction]
        )


class NotedVersion(msgspec.Struct, frozen=True, kw_only=True):
    """A version of a table, and the note of the commit that made it."""

    version: int
    note: CommitNote


def last_note(table: Path) -> NotedVersion | None:
    """The newest commit with a note; None if there is no table, or none of its last commits has."""
    if not DeltaTable.is_deltatable(str(table)):
        return None
    for commit in DeltaTable(table).history(_SEARCHED_COMMITS):
        note = _read(commit.get(_KEY))
        if note is not None:
            return NotedVersion(version=int(commit["version"]), note=note)
    return None


def refuse_foreign_table(table: Path, *, view: str, project: str) -> None:
    """Make sure that a table which is to be written is the view's own.

    Raises:
        InvalidResultError: somebody else has made it.
    """
    if not DeltaTable.is_deltatable(str(table)):
        return
    if _application(project, view) not in Table(table).snapshot().txns:
        reason = (
            f"{table} is a table that no run of {project} has written: move it away, or write it "
            "anew with --full-refresh"
        )
        raise InvalidResultError(view=view, reason=reason)


def _application(project: str, view: str) -> str:
    return f"headrace/{project}/{view}"


def _read(found: Any) -> CommitNote | None:
    try:
        return None if found is None else msgspec.convert(found, CommitNote)
    except msgspec.ValidationError:  # of another version of Headrace: it says nothing to this one
        return None
