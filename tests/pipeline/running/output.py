"""A table that a view's rows are written to, without the view."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from headrace import Table
from headrace.pipeline.output.commit import commit_output
from headrace.pipeline.output.merge import merge_embedded
from headrace.pipeline.output.note import CommitNote
from headrace.pipeline.output.write import OutputWrite
from headrace.pipeline.project.header import Header, Materialise, WriteMode
from headrace.pipeline.runners.datafusion.file import write_rows
from headrace.pipeline.runs.digest import digest_batches
from headrace.pipeline.runs.record import OutputVersion

SCHEMA = pa.schema([("k", pa.int64()), ("part", pa.string()), ("v", pa.string())])


class Embedded:
    """Writes and merges as the embedded runner does."""

    def write(self, folder: Path, rows: pa.Table, partition_by: Sequence[str]) -> None:
        write_rows(folder, rows.schema, rows.to_batches(), partition_by=partition_by)

    def merge(self, write: OutputWrite) -> OutputVersion:
        return merge_embedded(write, memory_bytes=1 << 30)


class Output:
    """A table that is written run by run."""

    def __init__(self, table: Path, *, runner: Any = None, **header: object) -> None:
        self.table, self._runner = table, runner or Embedded()
        self.header = Header(materialise=Materialise.OUTPUT, **header)  # type: ignore[arg-type]
        self.runs = 0

    def write(
        self, rows: pa.Table, *, mode: WriteMode | None = None, key: str | None = None
    ) -> OutputVersion:
        self.runs += 1
        folder = self.table / f"run-{self.runs}"
        self._runner.write(folder, rows, self.header.partition_by)
        write = OutputWrite(
            table=self.table,
            folder=folder,
            schema=rows.schema,
            header=self.header,
            note=CommitNote(
                project="p",
                view="v",
                run=str(self.runs),
                bundle="b",
                started_ms=self.runs,
                skip_key=key,
                digest=digest_batches(rows.schema, rows.to_batches()),
            ),
        )
        chosen = mode or self.header.write
        if chosen is WriteMode.MERGE:
            return self._runner.merge(write)
        return commit_output(write, chosen)

    def rows(self) -> list[dict[str, object]]:
        found = Table(self.table).snapshot().rows().read_all()
        return sorted(found.to_pylist(), key=lambda row: [str(value) for value in row.values()])


def rows(*values: tuple[int, str | None, str]) -> pa.Table:
    columns = zip(*values, strict=True) if values else ((), (), ())
    return pa.table(dict(zip(SCHEMA.names, map(list, columns), strict=True)), schema=SCHEMA)


def as_rows(*values: tuple[int, str | None, str]) -> list[dict[str, object]]:
    return [dict(zip(SCHEMA.names, value, strict=True)) for value in values]
