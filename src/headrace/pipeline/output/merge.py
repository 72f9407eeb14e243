"""Merging by key: rows with a known key replace theirs, others are added; deltalake does it.

It writes a change data feed where the table has one, which no list of files could.
"""

from collections.abc import Sequence
from pathlib import Path
from shutil import rmtree

import pyarrow as pa
from datafusion import SessionContext
from deltalake import DeltaTable, write_deltalake

from headrace.errors import InvalidResultError
from headrace.pipeline.output.note import CommitNote
from headrace.pipeline.output.staged import open_staged, parquet_files
from headrace.pipeline.project.header import Header


def check_keys(view: str, folder: Path, keys: Sequence[str]) -> None:
    """Make sure that keys identify rows.

    Raises:
        InvalidResultError: a key is null, or two rows have the same.
    """
    if not parquet_files(folder):
        return
    context = SessionContext()
    context.register_parquet("rows", str(folder))
    columns = ", ".join(map(_quoted, keys))
    missing = " OR ".join(f"{_quoted(key)} IS NULL" for key in keys)
    without = f"SELECT {columns} FROM rows WHERE {missing} LIMIT 1"  # noqa: S608
    twice = f"SELECT {columns} FROM rows GROUP BY {columns} HAVING count(*) > 1 LIMIT 1"  # noqa: S608
    for query, what in ((without, "no key"), (twice, "the same key as another row")):
        found = context.sql(query).to_pylist()
        if found:
            reason = f"a row has {what} ({', '.join(keys)}): {tuple(found[0].values())}"
            raise InvalidResultError(view=view, reason=reason)


def merge_files(
    table: Path, folder: Path, *, schema: pa.Schema, keys: Sequence[str], note: CommitNote
) -> None:
    """Merge the rows of a folder of files into a table, in one commit."""
    rows = open_staged(folder, schema=schema)
    reader = pa.RecordBatchReader.from_batches(schema, rows.to_batches())
    matched = " AND ".join(f"target.{_quoted(key)} = source.{_quoted(key)}" for key in keys)
    (
        DeltaTable(table)
        .merge(
            reader,
            matched,
            source_alias="source",
            target_alias="target",
            commit_properties=note.properties(),
        )
        .when_matched_update_all()
        .when_not_matched_insert_all()
        .execute()
    )
    rmtree(folder)  # its rows have been written anew


def create_by_rows(  # noqa: PLR0913  (a table, and what it is made of)
    table: Path,
    folder: Path,
    *,
    schema: pa.Schema,
    header: Header,
    configuration: dict[str, str],
    note: CommitNote,
) -> None:
    """Make a table of the rows of a folder whose files are not laid out by partition."""
    rows = open_staged(folder, schema=schema)
    write_deltalake(
        table,
        pa.RecordBatchReader.from_batches(schema, rows.to_batches()),
        partition_by=list(header.partition_by) or None,
        name=note.view,
        description=header.description or None,
        configuration=configuration,
        commit_properties=note.properties(),
    )
    rmtree(folder)


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
