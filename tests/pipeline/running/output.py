"""An output table to write rows to, without a view."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from headrace import Snapshot, Table
from headrace.pipeline.output.commit import commit_output
from headrace.pipeline.output.merge import merge_embedded
from headrace.pipeline.output.note import CommitNote
from headrace.pipeline.output.staging import Journal
from headrace.pipeline.output.write import OutputWrite, Replacement
from headrace.pipeline.project.header import Header, Materialise, WriteMode
from headrace.pipeline.runners.datafusion.file import write_rows
from headrace.pipeline.runs.row_digest import digest_batches
from headrace.pipeline.runs.run_record import OutputVersion
from headrace.storage.local import LocalStore

SCHEMA = pa.schema([("k", pa.int64()), ("part", pa.string()), ("v", pa.string())])


class Embedded:
    """Writes and merges like the embedded runner."""

    def write(self, folder: Path, rows: pa.Table, partition_by: Sequence[str]) -> None:
        write_rows(folder, rows.schema, rows.to_batches(), partition_by=partition_by)

    def merge(self, write: OutputWrite, snapshot: Snapshot | None) -> Replacement:
        return merge_embedded(write, snapshot, memory_bytes=1 << 30)


class Output:
    """A table that is written run by run."""

    def __init__(
        self, table: Path, *, runner: Any = None, state: Path | None = None, **header: object
    ) -> None:
        self.table, self._runner = table, runner or Embedded()
        self.header = Header(materialise=Materialise.OUTPUT, **header)  # type: ignore[arg-type]
        self.journal = Journal(LocalStore(str(state or table.parent / "state")))
        self.runs = 0

    def write(
        self, rows: pa.Table, *, mode: WriteMode | None = None, key: str | None = None
    ) -> OutputVersion:
        self.runs += 1
        chosen = mode or self.header.write
        return self._write(rows, run=str(self.runs), mode=chosen, key=key)

    def append(self, rows: pa.Table, *, run: str) -> OutputVersion:
        return self._write(rows, run=run, mode=WriteMode.APPEND, key=None)

    def _write(
        self, rows: pa.Table, *, run: str, mode: WriteMode, key: str | None
    ) -> OutputVersion:
        with self.journal.open(self.table, run=run, view="v") as staging:
            folder = staging.folder / "rows"
            self._runner.write(folder.path, rows, self.header.partition_by)
            write = OutputWrite(
                staging=staging,
                rows=f"{staging.name}/rows",
                schema=rows.schema,
                header=self.header,
                note=CommitNote(
                    project="p",
                    view="v",
                    run=run,
                    bundle="b",
                    started_ms=self.runs,
                    skip_key=key,
                    digest=digest_batches(rows.schema, rows.to_batches()),
                ),
            )
            return commit_output(write, mode, merge=self._runner.merge)

    def rows(self) -> list[dict[str, object]]:
        table = Table(self.table).snapshot().rows().read_all()
        return sorted(table.to_pylist(), key=lambda row: [str(value) for value in row.values()])


def rows(*values: tuple[int, str | None, str]) -> pa.Table:
    columns = zip(*values, strict=True) if values else ((), (), ())
    return pa.table(dict(zip(SCHEMA.names, map(list, columns), strict=True)), schema=SCHEMA)


def as_rows(*values: tuple[int, str | None, str]) -> list[dict[str, object]]:
    return [dict(zip(SCHEMA.names, value, strict=True)) for value in values]
