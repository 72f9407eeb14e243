"""Merging by key in this process: rows with a known key replace theirs, others are added.

deltalake does it. It also writes a change data feed where the table has one, which no list of
files could: the commit API takes none of its files.
"""

from collections.abc import Sequence
from shutil import rmtree

import pyarrow as pa
import pyarrow.dataset as ds
from datafusion import SessionContext
from deltalake import DeltaTable

from headrace.errors import InvalidResultError
from headrace.pipeline.output.commit import (
    commit_output,
    commit_replacing,
    refuse_other_columns,
    written_version,
)
from headrace.pipeline.output.staged import open_staged
from headrace.pipeline.output.write import OutputWrite
from headrace.pipeline.project.header import WriteMode
from headrace.pipeline.runs.record import OutputVersion

NO_KEY = "no key"
SAME_KEY = "the same key as another row"


def merge_embedded(write: OutputWrite, *, memory_bytes: int) -> OutputVersion:
    """Merge rows into their table, in one commit; what does not fit into memory is spilled.

    Raises:
        InvalidResultError: the rows do not fit the table, or their keys do not identify them.
    """
    _check_keys(write)
    if not write.has_table:
        return commit_output(write, WriteMode.MERGE)
    refuse_other_columns(write)
    if not write.has_rows:
        return commit_replacing(write, ())
    return merge_rows(write, memory_bytes=memory_bytes)


def _check_keys(write: OutputWrite) -> None:
    keys = write.header.keys
    context = SessionContext()
    context.register_dataset("rows", _rows(write))
    columns = ", ".join(map(_quoted, keys))
    missing = " OR ".join(f"{_quoted(key)} IS NULL" for key in keys)
    without = f"SELECT {columns} FROM rows WHERE {missing} LIMIT 1"  # noqa: S608
    twice = f"SELECT {columns} FROM rows GROUP BY {columns} HAVING count(*) > 1 LIMIT 1"  # noqa: S608
    for query, what in ((without, NO_KEY), (twice, SAME_KEY)):
        found = context.sql(query).to_pylist()
        if found:
            raise wrong_key(write.note.view, keys, tuple(found[0].values()), what)


def wrong_key(
    view: str, keys: Sequence[str], values: tuple[object, ...], what: str
) -> InvalidResultError:
    """What is raised for a row whose key does not identify it."""
    reason = f"a row has {what} ({', '.join(keys)}): {values}"
    return InvalidResultError(view=view, reason=reason)


def merge_rows(write: OutputWrite, *, memory_bytes: int) -> OutputVersion:
    """Merge rows that fit a table and have keys that identify them, in one commit."""
    schema, keys = write.schema, write.header.keys
    reader = pa.RecordBatchReader.from_batches(schema, _rows(write).to_batches())
    matched = " AND ".join(f"target.{_quoted(key)} = source.{_quoted(key)}" for key in keys)
    (
        DeltaTable(write.table)
        .merge(
            reader,
            matched,
            source_alias="source",
            target_alias="target",
            max_spill_size=memory_bytes,
            commit_properties=write.note.properties(),
        )
        .when_matched_update_all()
        .when_not_matched_insert_all()
        .execute()
    )
    rmtree(write.folder, ignore_errors=True)  # its rows have been written anew
    return written_version(write)


def _rows(write: OutputWrite) -> ds.Dataset:
    return open_staged(write.folder, schema=write.schema, partition_by=write.header.partition_by)


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
