"""Actions as Arrow columns: what a piece of a Parquet checkpoint decodes to."""

from collections.abc import Sequence
from typing import Any

import msgspec
import pyarrow as pa
import pyarrow.compute as pc

from headrace.engines.arrow.plain import is_coded
from headrace.errors import CorruptCheckpointError
from headrace.protocol.action import ACTION_TYPES, Add, DeletionVector
from headrace.protocol.log_file import LogFile

_TEXT_MAP = pa.map_(pa.string(), pa.string())


class ColumnBatch:
    """A record batch with one struct column for each action that was asked for.

    Rows that were filtered out are dropped when a column is first looked at: who only counts
    never pays for the copy.
    """

    __slots__ = ("_columns", "_selection", "source")

    def __init__(
        self, source: LogFile, columns: pa.RecordBatch, selection: pa.BooleanArray | None = None
    ) -> None:
        self.source = source
        self._columns = columns
        self._selection = selection

    def __len__(self) -> int:
        if self._selection is not None:
            return int(self._selection.true_count)
        return int(self._columns.num_rows)

    @property
    def columns(self) -> pa.RecordBatch:
        """The rows that are left."""
        if self._selection is not None:
            self._columns = self._columns.filter(self._selection)
            self._selection = None
        return self._columns

    def actions(self, name: str) -> Sequence[Any]:
        """The actions of that name, decoded."""
        if name not in self.columns.schema.names:
            return ()
        try:
            return self._decoded_adds() if name == "add" else self._decoded(name)
        except (msgspec.ValidationError, KeyError, TypeError) as error:
            raise CorruptCheckpointError(path=self.source.path, reason=str(error)) from error

    def _decoded(self, name: str) -> list[Any]:
        """One by one: for the few that phases consume."""
        rows = self.columns.column(name).drop_null().to_pylist(maps_as_pydicts="strict")
        kind = ACTION_TYPES[name]
        return [
            msgspec.convert({k: v for k, v in row.items() if v is not None}, kind) for row in rows
        ]

    def _decoded_adds(self) -> list[Add]:
        """Column by column, which is several times faster."""
        paths, sizes = self._values("path"), self._values("size")
        times = self._values("modificationTime")
        values, tags = self._values("partitionValues"), self._values("tags")
        return [
            Add(
                path=path,
                size=size,
                modification_time=time or 0,
                partition_values=value or {},
                stats=stats,
                tags=tag,
                deletion_vector=vector,
            )
            for path, size, time, value, stats, tag, vector in zip(
                paths,
                sizes,
                times,
                values,
                self._values("stats"),
                tags,
                self._vectors(),
                strict=True,
            )
        ]

    def _values(self, name: str) -> list[Any]:
        array = self.field(name)
        if array is None or array.null_count == len(array):
            return [None] * len(self)
        if is_coded(array.type):
            array = array.cast(_TEXT_MAP)
        found: list[Any] = array.to_pylist(maps_as_pydicts="strict")
        return found

    def _vectors(self) -> list[DeletionVector | None]:
        return [
            # Some writers put a struct of nulls where there is no vector.
            None
            if row is None or row["storageType"] is None
            else msgspec.convert({k: v for k, v in row.items() if v is not None}, DeletionVector)
            for row in self._values("deletionVector")
        ]

    @property
    def adds(self) -> pa.StructArray:
        """The added files; every row is one."""
        return self.columns.column("add")

    def filter(self, mask: pa.BooleanArray) -> "ColumnBatch":
        """The rows for which the mask is true."""
        return (
            self if mask.true_count == len(mask) else ColumnBatch(self.source, self.columns, mask)
        )

    def field(self, *path: str) -> pa.Array | None:
        """A field of the adds, however deep; None where the file does not have it."""
        array = self.adds
        for name in path:
            # pc.struct_field respects the validity of the parents; the raw child would not.
            index = array.type.get_field_index(name) if pa.types.is_struct(array.type) else -1
            if index < 0:
                return None
            array = pc.struct_field(array, [index])
        return array

    def partition_text(self, physical_name: str) -> pa.StringArray:
        """The text of one partition value of each file."""
        values = self.field("partitionValues")
        if values is None:
            return pa.nulls(len(self), pa.string())
        if is_coded(values.type):
            values = values.cast(_TEXT_MAP)
        return pc.map_lookup(values, query_key=physical_name, occurrence="first")

    def stats_json(self) -> pa.StringArray | None:
        """The statistics as the log has them."""
        return self.field("stats")

    def stats_parsed(self, leaf: tuple[str, ...]) -> pa.Array | None:
        """One statistic of each file, typed."""
        return self.field("stats_parsed", *leaf)
