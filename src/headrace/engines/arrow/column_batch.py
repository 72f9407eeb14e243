"""Actions as Arrow columns, decoded from a piece of a Parquet checkpoint.

Filters are lazy: dropped rows are removed from a field when it is read.
"""

from collections.abc import Collection, Mapping, Sequence
from itertools import pairwise
from types import MappingProxyType
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from headrace.compiled.memory import Memory
from headrace.engines.arrow.checkpoint.uniform_layout import UniformLayout
from headrace.engines.arrow.plain import is_coded
from headrace.errors import CorruptCheckpointError
from headrace.protocol import light
from headrace.protocol.action import ACTION_TYPES, Add, DeletionVector
from headrace.protocol.log_file import LogFile
from headrace.replay.match import Rows, all_but

_TEXT_MAP = pa.map_(pa.string(), pa.string())
_ROW_FIELDS = {
    "baseRowId": ("base_row_id", pa.int64()),
    "defaultRowCommitVersion": ("default_row_commit_version", pa.int64()),
    "clusteringProvider": ("clustering_provider", pa.string()),
}
"""The attribute of an `Add` and the type of its column, for each field."""
_SHORT_STRETCH = 2048
"""Rows: shorter stretches, on average, are copied together."""


def child(structs: pa.StructArray, field: int | str) -> pa.Array:
    """Return a field of structs, null where the struct is null."""
    # The raw field is free, but ignores the validity of the structs above it.
    return pc.struct_field(structs, [field]) if structs.null_count else structs.field(field)


def _rebuilt(columns: pa.RecordBatch, arrays: Mapping[str, pa.Array]) -> pa.RecordBatch:
    """Return the same rows with these fields of the adds."""
    adds = columns.column("add")
    fields = {field.name: field for field in adds.type}
    struct = pa.StructArray.from_arrays(
        list(arrays.values()),
        fields=[fields.get(name) or pa.field(name, array.type) for name, array in arrays.items()],
        mask=adds.is_null() if adds.null_count else None,
    )
    return columns.set_column(columns.schema.get_field_index("add"), "add", struct)


def _fields(columns: pa.RecordBatch) -> dict[str, pa.Array]:
    adds = columns.column("add")
    return {field.name: adds.field(field.name) for field in adds.type}


class ColumnBatch:
    """A record batch with one struct column for each requested action.

    Filtering is lazy: a field is copied without the dropped rows when it is read. A caller that
    only counts copies nothing, and fields that nobody reads are never copied. A field that is
    added later has only the remaining rows.
    """

    __slots__ = ("_added", "_columns", "_dropped", "_memory", "_selection", "source")

    def __init__(
        self, source: LogFile, columns: pa.RecordBatch, *, memory: Memory | None = None
    ) -> None:
        """Take all rows.

        Args:
            source: The file of the rows.
            columns: The rows.
            memory: Reusable memory for columns derived from these.
        """
        self.source = source
        self._columns = columns
        self._memory = memory
        self._selection: pa.BooleanArray | None = None
        self._dropped: Rows | None = None
        self._added: Mapping[str, pa.Array] = {}

    def _copy(
        self,
        *,
        selection: pa.BooleanArray | None = None,
        dropped: Rows | None = None,
        added: Mapping[str, pa.Array] = MappingProxyType({}),
        columns: pa.RecordBatch | None = None,
    ) -> "ColumnBatch":
        """Return a copy with fewer rows, given by a mask or by the numbers of the dropped rows.

        Args:
            selection: True for the remaining rows.
            dropped: The numbers of the dropped rows.
            added: Fields of the adds that have only the remaining rows.
            columns: The rows, if they have fewer fields now.
        """
        rows = self._columns if columns is None else columns
        copy = ColumnBatch(self.source, rows, memory=self._memory)
        copy._selection, copy._dropped, copy._added = selection, dropped, added
        return copy

    def __len__(self) -> int:
        if self._dropped is not None:
            return int(self._columns.num_rows) - len(self._dropped)
        if self._selection is not None:
            return int(self._selection.true_count)
        return int(self._columns.num_rows)

    @property
    def columns(self) -> pa.RecordBatch:
        """The remaining rows."""
        mask = self._mask()
        if mask is not None:
            self._columns, self._selection, self._dropped = self._columns.filter(mask), None, None
        if self._added:
            fields = _fields(self._columns) | dict(self._added)
            self._columns, self._added = _rebuilt(self._columns, fields), {}
        return self._columns

    def remaining_mask(self) -> npt.NDArray[np.bool_] | None:
        """Return whether each row remains; None if all do."""
        mask = self._mask()
        return None if mask is None else light.to_numpy(mask)

    def with_field(self, name: str, values: pa.Array) -> "ColumnBatch":
        """Add a field of the adds, which has only the remaining rows."""
        added, columns, fields = {**self._added, name: values}, None, _fields(self._columns)
        if fields.pop(name, None) is not None and fields:
            columns = _rebuilt(self._columns, fields)  # frees the memory of the old field
        return self._copy(
            selection=self._selection, dropped=self._dropped, added=added, columns=columns
        )

    def select(self, names: Collection[str]) -> "ColumnBatch":
        """Return the same rows with only these fields of the adds."""
        added = {name: array for name, array in self._added.items() if name in names}
        every = _fields(self._columns)
        fields = {name: array for name, array in every.items() if name in names}
        if not fields or (len(fields) == len(every) and len(added) == len(self._added)):
            return self  # a struct without fields would not know its length
        columns = _rebuilt(self._columns, fields)
        return self._copy(
            selection=self._selection, dropped=self._dropped, added=added, columns=columns
        )

    def _mask(self) -> pa.BooleanArray | None:
        if self._selection is None and self._dropped is not None:
            self._selection = all_but(self._dropped, self._columns.num_rows)
        return self._selection

    def stretches(self) -> "tuple[ColumnBatch, list[tuple[int, int]]] | None":
        """Return all rows, and the start and length of each stretch of remaining rows.

        None if the stretches would be short: copying them is cheaper than handling them.
        """
        if (
            self._added
            or self._dropped is None
            or len(self._dropped) * _SHORT_STRETCH > self._columns.num_rows
        ):
            return None
        edges = [-1, *self._dropped.tolist(), self._columns.num_rows]
        stretches = [(a + 1, b - a - 1) for a, b in pairwise(edges) if b - a > 1]
        return self._copy(), stretches

    def actions(self, name: str) -> Sequence[Any]:
        """Return the decoded actions of a kind."""
        if name not in self._columns.schema.names:
            return ()
        try:
            return self._decoded_adds() if name == "add" else self._decoded(name)
        except (
            msgspec.ValidationError,
            KeyError,
            TypeError,
            UnicodeDecodeError,
            pa.ArrowException,
        ) as error:
            raise CorruptCheckpointError(path=self.source.path, reason=str(error)) from error

    def _decoded(self, name: str) -> list[Any]:
        """Decode row by row, for the few actions that phases consume."""
        rows = self.columns.column(name).drop_null().to_pylist(maps_as_pydicts="strict")
        kind = ACTION_TYPES[name]
        return [
            msgspec.convert({k: v for k, v in row.items() if v is not None}, kind) for row in rows
        ]

    def _decoded_adds(self) -> list[Add]:
        """Decode column by column, which is several times faster."""
        paths, sizes = self._values("path"), self._values("size")
        if None in paths or None in sizes:
            raise TypeError("an add has no path, or no size")
        times = self._values("modificationTime")
        values, tags = self._values("partitionValues"), self._values("tags")
        adds = [
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
        return self._with_row_fields(adds)

    def _with_row_fields(self, adds: list[Add]) -> list[Add]:
        """Set the fields that few readers request and few tables have."""
        row_fields: dict[str, list[Any]] = {}
        for name, (attribute, kind) in _ROW_FIELDS.items():
            array = self.field(name)
            if array is not None and array.null_count < len(array):
                row_fields[attribute] = array.cast(kind).to_pylist()
        if not row_fields:
            return adds
        rows = zip(*row_fields.values(), strict=True)
        return [
            msgspec.structs.replace(add, **dict(zip(row_fields, row, strict=True)))
            for add, row in zip(adds, rows, strict=True)
        ]

    def _values(self, name: str) -> list[Any]:
        array = self.field(name)
        if array is None or array.null_count == len(array):
            return [None] * len(self)
        if is_coded(array.type):
            array = array.cast(_TEXT_MAP)
        values: list[Any] = array.to_pylist(maps_as_pydicts="strict")
        return values

    def _vectors(self) -> list[DeletionVector | None]:
        return [
            # Some writers put a struct of nulls where there is no vector.
            None
            if row is None or row["storageType"] is None
            else msgspec.convert({k: v for k, v in row.items() if v is not None}, DeletionVector)
            for row in self._values("deletionVector")
        ]

    def filter(self, mask: pa.BooleanArray) -> "ColumnBatch":
        """Return the rows for which the mask is true."""
        if mask.true_count == len(mask):
            return self
        current, added = self._mask(), {name: a.filter(mask) for name, a in self._added.items()}
        if current is not None:
            mask = pc.replace_with_mask(current, current, mask)
        return self._copy(selection=mask, added=added)

    def without(self, rows: Rows) -> "ColumnBatch":
        """Return the batch without these rows, given in order."""
        if not len(rows):
            return self
        if self._added or self._mask() is not None:
            return self.filter(all_but(rows, len(self)))
        return self._copy(dropped=rows)

    def field(self, *path: str) -> pa.Array | None:
        """Return a field of the adds at any depth; None if the file does not have it."""
        if path[0] in self._added:
            return self._added[path[0]]
        array = self._unfiltered(*path)
        mask = self._mask()
        return array if array is None or mask is None else array.filter(mask)

    def lacks(self, name: str) -> bool:
        """Return whether an add lacks a field; False if the field was not read."""
        every = self._unfiltered(name)
        if every is None or every.null_count == self._columns.column("add").null_count:
            return False
        remaining = self.field(name)
        return remaining is not None and remaining.null_count > 0

    def partition_layout(self) -> UniformLayout | None:
        """Return the partition values by code; None if the maps differ or are not coded."""
        values = self._unfiltered("partitionValues")
        if values is None or values.null_count or not is_coded(values.type):
            return None
        layout, mask = UniformLayout.of(values, self._memory), self._mask()
        return layout if layout is None or mask is None else layout.filter(mask)

    def _unfiltered(self, *path: str) -> pa.Array | None:
        array = self._columns.column("add")
        for name in path:
            index = array.type.get_field_index(name) if pa.types.is_struct(array.type) else -1
            if index < 0:
                return None
            array = child(array, index)
        return array

    def partition_text(self, physical_name: str) -> pa.StringArray:
        """Return one partition value of each file, as a string."""
        values = self.field("partitionValues")
        if values is None:
            return pa.nulls(len(self), pa.string())
        if is_coded(values.type):
            values = values.cast(_TEXT_MAP)
        return pc.map_lookup(values, query_key=light.scalar(physical_name), occurrence="first")

    def stats_json(self) -> pa.StringArray | None:
        """Return the statistics as stored in the log."""
        return self.field("stats")

    def stats_parsed(self, path: tuple[str, ...]) -> pa.Array | None:
        """Return one typed statistic of each file."""
        return self.field("stats_parsed", *path)
