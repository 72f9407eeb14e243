"""Whether an earlier result of a view still stands: whether its table is what the run left."""

from pathlib import Path

from headrace.errors import HeadraceError
from headrace.pipeline.output.note import NotedVersion, last_note
from headrace.pipeline.runs.record import OutputVersion
from headrace.scan.changes import ChangeKind
from headrace.table import Table


def why_fallen(output: OutputVersion) -> str | None:
    """Why a table is no longer what a run left; None if it is, or its files were only rewritten."""
    try:
        table = Table(output.uri)
        newest = table.snapshot()
        if newest.version == output.version:
            return None
        if newest.version < output.version:
            return f"its table is at version {newest.version}, older than {output.version}"
        for change in table.changes(output.version + 1, newest.version):
            if change.data_change or change.kind is ChangeKind.CDC:
                return f"its table was changed by someone else in version {change.version}"
    except HeadraceError as error:
        return f"its table cannot be read: {error}"
    return None


def committed_unsaid(
    table: Path, *, project: str, view: str, skip_key: str | None, run: str | None
) -> NotedVersion | None:
    """The commit of a run that did the same work, or of this very run, and that is not on record.

    A view that must run every time has no key: only the id of its run tells that it is tried
    again.
    """
    found = last_note(table)
    if found is None or (found.note.project, found.note.view) != (project, view):
        return None
    is_same_work = skip_key is not None and found.note.skip_key == skip_key
    if not is_same_work and found.note.run != run:
        return None
    output = OutputVersion(uri=str(table), version=found.version, files=0, size_bytes=0)
    return found if why_fallen(output) is None else None
