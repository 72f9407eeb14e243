"""Checks whether an earlier result of a view is still valid: whether its table is unchanged.

The recorded version of an output and its table enter; the reason why the result must be computed
again leaves, or None. It also finds results that a run committed before it died.
"""

import os
from collections.abc import Callable

from headrace.commit.log import is_made_by, read_commit
from headrace.errors import HeadraceError, ObjectNotFoundError
from headrace.pipeline.arrow_ddl import schema_text
from headrace.pipeline.output.note import NotedVersion, decode_note, has_transaction, last_note
from headrace.pipeline.place import Place
from headrace.pipeline.project.header import WriteMode
from headrace.pipeline.runs.run_record import OutputVersion
from headrace.pipeline.sources.rewrite import find_false_rewrite
from headrace.pipeline.sources.vector_file import vector_uri
from headrace.scan.changes import ChangeKind
from headrace.storage.location import resolve, scheme_of
from headrace.table import Snapshot


def why_stale(output: OutputVersion, table: Place, *, run: str, write: WriteMode) -> str | None:
    """Return why a table differs from what a run committed; None if it does not.

    Compaction is not a difference. A view that appends ignores later commits by other writers:
    its rows are in the table, and appending them again would duplicate them.

    Args:
        output: The version that the run committed.
        table: The table.
        run: The run.
        write: How the view writes its table.
    """
    try:
        newest = table.table().snapshot()
        if newest.version < output.version:
            return f"its table is at version {newest.version}, older than {output.version}"
        if not _is_commit_of(output, table, run, newest):
            return (
                f"version {output.version} of its table was committed by another writer, or is gone"
            )
        if newest.version > output.version and write is not WriteMode.APPEND:
            change = _find_foreign_change(newest, since=output.version)
            if change is not None:
                return change
        damaged = find_damaged_file(newest)
    except HeadraceError as error:
        return f"its table cannot be read: {error}"
    return None if damaged is None else f"data file {damaged} of its table is gone or changed"


def _find_foreign_change(newest: Snapshot, *, since: int) -> str | None:
    """Return which later commit changed the rows or columns of a table; None if none did."""
    changes = list(newest.table.changes(since + 1, newest.version))
    for change in changes:
        if change.data_change or change.kind is ChangeKind.CDC:
            return f"its table was changed by another writer in version {change.version}"
    more = find_false_rewrite(newest.table, changes)
    if more is not None:
        return f"its table was changed by another writer in version {more}"
    before = newest.table.snapshot(version=since)
    if _layout(before) != _layout(newest):
        return f"the columns of its table were changed by another writer after version {since}"
    return None


def _layout(snapshot: Snapshot) -> tuple[str, tuple[str, ...], tuple[str, ...]]:
    """Return the columns, their physical names and the partition columns of a table."""
    stored = tuple(field.physical_name for field in snapshot.logical_schema.fields)
    return schema_text(snapshot.schema), stored, snapshot.partition_columns


def find_unrecorded_commit(  # noqa: PLR0913  (what identifies the commit)
    table: Place,
    *,
    project: str,
    view: str,
    skip_key: str | None,
    run: str | None,
    write: WriteMode,
) -> NotedVersion | None:
    """Return the unrecorded commit of a run with the same key, or of an earlier try of this run.

    A view that must run every time has no key: only the id of its run identifies a retry. A view
    whose key has changed since an earlier try runs again.
    """
    try:
        noted = last_note(table)
    except HeadraceError:
        return None
    if noted is None or (noted.note.project, noted.note.view) != (project, view):
        return None
    is_retry = skip_key is not None or noted.note.run == run
    if noted.note.skip_key != skip_key or not is_retry:
        return None
    stale = why_stale(noted.as_output(table), table, run=noted.note.run, write=write)
    return noted if stale is None else None


def _is_commit_of(output: OutputVersion, table: Place, run: str, newest: Snapshot) -> bool:
    """Return whether a run made a version, by its commit or, once cleaned up, its transaction."""
    store = table.open()
    if output.commit_id is not None:
        is_ours = is_made_by(store, output.version, output.commit_id)
        return has_transaction(newest, output.transaction) if is_ours is None else is_ours
    information = read_commit(store, output.version)  # made by an older release, without ids
    note = None if information is None else decode_note(information.note)
    return note is not None and note.run == run


def find_damaged_file(snapshot: Snapshot) -> str | None:
    """Return the first live file that is missing or has another size than in the log."""
    root = snapshot.table.uri
    size_of = _local_size if scheme_of(root) == "file" else _listed_sizes(snapshot)
    has_vectors = False
    for batch in snapshot.scan().batches(columns=["path", "dv_id", "size_bytes"]):
        has_vectors = has_vectors or batch["dv_id"].null_count < batch.num_rows
        sizes = zip(batch["path"].to_pylist(), batch["size_bytes"].to_pylist(), strict=True)
        for path, size_bytes in sizes:
            if size_of(resolve(root, path)) != size_bytes:
                return str(path)
    for file in snapshot.scan() if has_vectors else ():
        vector = vector_uri(root, file.deletion_vector)
        if vector is not None and size_of(vector) is None:
            return vector.rpartition("/")[2]
    return None


def _local_size(path: str) -> int | None:
    try:
        return os.stat(path).st_size  # noqa: PTH116  (called for each file of a table)
    except OSError:
        return None


def _listed_sizes(snapshot: Snapshot) -> Callable[[str], int | None]:
    """Return a function that looks up sizes in one listing; other files are requested singly."""
    root, store = snapshot.table.uri, snapshot.table.data_store
    sizes = {f"{root}/{entry.path}": entry.size_bytes for entry in store.list_tree("")}

    def size_of(uri: str) -> int | None:
        if uri.startswith(f"{root}/"):
            return sizes.get(uri)
        try:
            return store.head(uri).size_bytes
        except ObjectNotFoundError:
            return None

    return size_of
