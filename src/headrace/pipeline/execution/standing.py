"""Whether an earlier result of a view still stands: whether its table is what the run left."""

import os
from pathlib import Path

from headrace import wiring
from headrace.commit.log import is_made_by, read_commit
from headrace.errors import HeadraceError
from headrace.pipeline.output.note import NotedVersion, decode_note, last_note
from headrace.pipeline.runs.record import OutputVersion
from headrace.pipeline.sources.vector_file import vector_place
from headrace.scan.changes import ChangeKind
from headrace.storage.location import resolve
from headrace.table import Snapshot, Table


def why_stale(output: OutputVersion, *, run: str) -> str | None:
    """Why a table is no longer what a run left; None if it is, or its files were only rewritten.

    Args:
        output: The version that the run made.
        run: The run that made it.
    """
    try:
        table = Table(output.uri)
        newest = table.snapshot()
        if newest.version < output.version:
            return f"its table is at version {newest.version}, older than {output.version}"
        if not _is_commit_of(output, run):
            return f"version {output.version} of its table was made by someone else, or is gone"
        changes = (
            table.changes(output.version + 1, newest.version)
            if newest.version > output.version
            else ()
        )
        for change in changes:
            if change.data_change or change.kind is ChangeKind.CDC:
                return f"its table was changed by someone else in version {change.version}"
        damaged = _first_damaged_file(newest)
    except HeadraceError as error:
        return f"its table cannot be read: {error}"
    return None if damaged is None else f"data file {damaged} of its table is gone or changed"


def find_unrecorded_commit(
    table: Path, *, project: str, view: str, skip_key: str | None, run: str | None
) -> NotedVersion | None:
    """The commit of a run that did the same work, or of this very run, and is not on record.

    A view that must run every time has no key: only the id of its run says that it is tried
    again.
    """
    try:
        noted = last_note(table)
    except HeadraceError:
        return None
    if noted is None or (noted.note.project, noted.note.view) != (project, view):
        return None
    is_same_work = skip_key is not None and noted.note.skip_key == skip_key
    if not is_same_work and noted.note.run != run:
        return None
    output = OutputVersion(
        uri=str(table),
        version=noted.version,
        files=0,
        size_bytes=0,
        commit_id=noted.commit_id,
    )
    return noted if why_stale(output, run=noted.note.run) is None else None


def _is_commit_of(output: OutputVersion, run: str) -> bool:
    """Whether the log still has the commit that a run made, as the maker of that version."""
    store = wiring.open_store(output.uri)
    if output.commit_id is not None:
        return is_made_by(store, output.version, output.commit_id) or False
    information = read_commit(store, output.version)  # of an older release, which had no ids
    note = None if information is None else decode_note(information.note)
    return note is not None and note.run == run


def _first_damaged_file(snapshot: Snapshot) -> str | None:
    """The first live file that is missing, or has another size than the log says."""
    root = snapshot.table.uri
    has_vectors = False
    for batch in snapshot.scan().batches(columns=["path", "dv_id", "size_bytes"]):
        has_vectors = has_vectors or batch["dv_id"].null_count < batch.num_rows
        sizes = zip(batch["path"].to_pylist(), batch["size_bytes"].to_pylist(), strict=True)
        for path, size_bytes in sizes:
            if _size(resolve(root, path)) != size_bytes:
                return str(path)
    for file in snapshot.scan() if has_vectors else ():
        vector = vector_place(root, file.deletion_vector)
        if vector is not None and not vector.is_file():
            return vector.name
    return None


def _size(place: str) -> int | None:
    try:
        return os.stat(place).st_size  # noqa: PTH116  (called for each file of a table)
    except OSError:
        return None
