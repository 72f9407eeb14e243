"""Presents pinned files as a DataFusion table: Headrace reads the rows, batch by batch.

DataFusion accepts a pyarrow dataset and asks it for columns; this one uses Headrace's own
reader, which supports deletion vectors, column mapping and widened types. Only the batches in
flight are held in memory.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Self

import pyarrow as pa
import pyarrow.dataset as ds

from headrace import wiring
from headrace.errors import HeadraceError
from headrace.pipeline.analysis.planning_session import folded
from headrace.pipeline.arrow_ddl import spark_schema
from headrace.rows.option import RowOptions
from headrace.table import Snapshot

Opener = Callable[[Sequence[str]], Iterator[pa.RecordBatch]]
"""Opens the rows again, with the named columns in that order."""
ErrorHandler = Callable[[HeadraceError], object]
"""Receives the errors of a reader: only the text of an error survives DataFusion."""


class RowDataset(ds.Dataset):  # type: ignore[misc]
    """A dataset that opens its rows again for every scan."""

    def __new__(cls, *_: Any) -> Self:
        """Create a dataset without files, unlike the datasets of pyarrow."""
        dataset: Self = ds.Dataset.__new__(cls)
        return dataset

    def __init__(self, schema: pa.Schema, open_rows: Opener) -> None:
        """Take the columns, and the function that opens the rows."""
        self._schema, self._open = schema, open_rows
        self.on_error: ErrorHandler | None = None

    @property
    def schema(self) -> pa.Schema:
        """Return the columns."""
        return self._schema

    def get_fragments(self, filter: Any = None) -> Iterator["_Fragment"]:  # noqa: A002, ARG002
        """Return one fragment: the reader itself reads several files in parallel."""
        return iter([_Fragment(self)])

    def scanner(self, columns: Sequence[str] | None = None, **options: Any) -> ds.Scanner:
        """Open the rows."""
        names = self._schema.names if columns is None else list(columns)
        # Batches without columns would lose the row count.
        names_to_read = names or self._schema.names[:1]
        schema = pa.schema([self._schema.field(name) for name in names_to_read])
        reader = pa.RecordBatchReader.from_batches(schema, self._rows(names_to_read))
        return ds.Scanner.from_batches(reader, columns=names, filter=options.get("filter"))

    def _rows(self, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        try:
            yield from self._open(columns)
        except HeadraceError as error:
            if self.on_error is not None:
                self.on_error(error)
            raise


class _Fragment:
    """The single fragment of a dataset, which DataFusion scans."""

    def __init__(self, dataset: RowDataset) -> None:
        self._dataset = dataset

    def scanner(self, _schema: pa.Schema = None, **options: Any) -> ds.Scanner:
        return self._dataset.scanner(**options)


def snapshot_dataset(
    snapshot: Snapshot, *, prune_by: str | None, planned: pa.Schema | None = None
) -> RowDataset:
    """Return all rows of the files that a predicate does not prune, under folded names.

    Args:
        snapshot: The table.
        prune_by: The predicate; None reads all files.
        planned: The planned columns; some may be known to have no nulls.
    """
    schema = spark_schema(snapshot.schema)
    spelled = {field.name.casefold(): field.name for field in schema}
    planned_schema = _as_planned(folded(schema), planned)

    def open_rows(columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        scan = snapshot.scan(where=prune_by)
        options = RowOptions()
        request = snapshot.row_request(columns=[spelled[name] for name in columns], options=options)
        target = pa.schema([planned_schema.field(name) for name in columns])
        with wiring.open_rows(
            scan,
            store=snapshot.table.data_store,
            context=scan.context,
            request=request,
            options=options,
            limit=None,
        ) as reader:
            for batch in reader:
                yield batch.rename_columns(list(columns)).cast(target)

    return RowDataset(planned_schema, open_rows)


def batch_dataset(
    schema: pa.Schema, open_batches: Callable[[], Any], *, planned: pa.Schema | None = None
) -> RowDataset:
    """Return rows that are available as batches of all columns, under folded names."""
    planned_schema = _as_planned(folded(schema), planned)

    def open_rows(columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        target = pa.schema([planned_schema.field(name) for name in columns])
        for batch in open_batches():
            yield batch.rename_columns(planned_schema.names).select(list(columns)).cast(target)

    return RowDataset(planned_schema, open_rows)


def _as_planned(schema: pa.Schema, planned: pa.Schema | None) -> pa.Schema:
    """Return a schema whose columns are not nullable where the plan says so."""
    required = {f.name.casefold() for f in planned or () if not f.nullable}
    return pa.schema([f.with_nullable(f.nullable and f.name not in required) for f in schema])
