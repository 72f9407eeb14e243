"""Live files as Arrow batches, with the same content as `LiveFile`.

Batches of adds enter; record batches leave. Only the requested columns are built.
"""

from collections.abc import Sequence
from contextlib import suppress
from functools import cached_property, lru_cache

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from headrace.engines.arrow.add_columns import add_columns
from headrace.engines.arrow.column_batch import ColumnBatch
from headrace.errors import (
    CorruptCheckpointError,
    HeadraceError,
    InvalidArgumentError,
    InvalidTableError,
    PartitionValueError,
)
from headrace.plan.batch import ActionBatch
from headrace.protocol import light
from headrace.protocol.arrow_schema import arrow_type
from headrace.protocol.arrow_value import typed_array, vector_ids
from headrace.scan.live_file import FileContext, PartitionColumn
from headrace.storage.location import resolve

TEXT_MAP = pa.map_(pa.string(), pa.string())
VECTOR = pa.struct(
    [
        ("storage_type", pa.string()),
        ("path_or_inline_dv", pa.string()),
        ("offset", pa.int32()),
        ("size_in_bytes", pa.int32()),
        ("cardinality", pa.int64()),
    ]
)
_VECTOR_FIELDS = ("storageType", "pathOrInlineDv", "offset", "sizeInBytes", "cardinality")
_SOURCES = {
    "path": "path",
    "uri": "path",
    "dv_id": "deletionVector",
    "deletion_vector": "deletionVector",
    "size_bytes": "size",
    "modified_ms": "modificationTime",
    "partition_values": "partitionValues",
    "typed_partition_values": "partitionValues",
    "stats": "stats",
    "tags": "tags",
}
_UNSAFE = r"[%:\x00-\x1f\x7f]|^/|\.\."
"""Matches paths that cannot be resolved by just prefixing the root."""


def files_schema(context: FileContext, columns: Sequence[str] | None = None) -> pa.Schema:
    """Return the schema of a batch of live files, or of some columns in the given order.

    Raises:
        InvalidArgumentError: there is no such column.
        InvalidTableError: a partition column has an unknown type.
    """
    schema = _whole_schema(context)
    if columns is None:
        return schema
    for name in columns:
        if name not in schema.names:
            reason = f"there is no {name!r}; there are {', '.join(schema.names)}"
            raise InvalidArgumentError(argument="columns", reason=reason)
    return pa.schema([schema.field(name) for name in dict.fromkeys(columns)])


def add_fields(columns: Sequence[str]) -> tuple[str, ...]:
    """Return the fields of an add that these columns need; at least one, to count adds."""
    fields = tuple(dict.fromkeys(_SOURCES[name] for name in columns if name in _SOURCES))
    return fields or ("path",)


@lru_cache(maxsize=16)
def _whole_schema(context: FileContext) -> pa.Schema:
    try:
        typed = [(c.name, arrow_type(c.type)) for c in context.partition_columns]
    except ValueError as error:
        raise InvalidTableError(table=context.root, reason=str(error)) from error
    return pa.schema(
        [
            pa.field("path", pa.string(), nullable=False),
            pa.field("uri", pa.string(), nullable=False),
            pa.field("dv_id", pa.string()),
            pa.field("deletion_vector", VECTOR),
            pa.field("size_bytes", pa.int64(), nullable=False),
            pa.field("modified_ms", pa.int64(), nullable=False),
            pa.field("partition_values", TEXT_MAP, nullable=False),
            pa.field("typed_partition_values", pa.struct(typed), nullable=False),
            pa.field("stats", pa.string()),
            pa.field("version", pa.int64()),
            pa.field("tags", TEXT_MAP),
        ]
    )


def arrow_batches(
    batch: ActionBatch, context: FileContext, columns: Sequence[str] | None = None
) -> list[pa.RecordBatch]:
    """Return the same as `arrow_files`, in several batches if that saves a copy.

    If few of many rows are dropped, the stretches between them are returned as slices.
    """
    adds = add_columns(batch, add_fields(files_schema(context, columns).names))
    sliceable = adds.stretches()
    if sliceable is not None:
        rows, stretches = sliceable
        with suppress(HeadraceError):  # perhaps because of a dropped row
            whole = arrow_files(rows, context, columns)
            return [whole.slice(start, size) for start, size in stretches]
    return [arrow_files(adds, context, columns)]


def arrow_files(
    batch: ActionBatch, context: FileContext, columns: Sequence[str] | None = None
) -> pa.RecordBatch:
    """Return the adds of a batch as one record batch, with only the requested columns.

    Raises:
        PartitionValueError: a partition value is not of its column's type.
        UnsafePathError: a path leads outside the table.
        CorruptCheckpointError: a field of an add does not follow the protocol.
    """
    schema = files_schema(context, columns)
    files = _Files(add_columns(batch, add_fields(schema.names)), context)
    try:
        arrays = [files.column(name) for name in schema.names or ("path",)]
    except (pa.ArrowException, UnicodeDecodeError) as error:
        raise CorruptCheckpointError(path=batch.source.path, reason=str(error)) from error
    for field, column in zip(schema, arrays, strict=False):
        if not field.nullable and column.null_count:
            reason = f"an add has no {field.name}"
            raise CorruptCheckpointError(path=batch.source.path, reason=reason)
    if not schema.names:
        return pa.RecordBatch.from_arrays(arrays, ["path"]).select([])  # keeps the row count
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


class _Files:
    """Builds the columns of a batch of adds on demand."""

    def __init__(self, adds: ColumnBatch, context: FileContext) -> None:
        self.adds = adds
        self.context = context

    @cached_property
    def vectors(self) -> pa.StructArray:
        return _vectors(self.adds)

    @cached_property
    def texts(self) -> dict[str, pa.StringArray]:
        columns = self.context.partition_columns
        return {column.name: _partition_text(self.adds, column) for column in columns}

    def column(self, name: str) -> pa.Array:  # noqa: C901  (one case a column)
        adds, size = self.adds, len(self.adds)
        match name:
            case "path":
                return adds.field("path")
            case "uri":
                return _uris(adds.field("path"), self.context.root)
            case "dv_id":
                return vector_ids(*(pc.struct_field(self.vectors, [i]) for i in range(3)))
            case "deletion_vector":
                return self.vectors
            case "size_bytes":
                return _or_null(adds.field("size"), size, pa.int64())
            case "modified_ms":
                times = _or_null(adds.field("modificationTime"), size, pa.int64())
                return pc.fill_null(times, light.scalar(0)) if times.null_count else times
            case "partition_values":
                return _as_written(adds, self.context) or _text_map(self.texts, size)
            case "typed_partition_values":
                return _typed(self.texts, self.context.partition_columns, size)
            case "stats":
                return _or_null(adds.field("stats"), size, pa.string())
            case "version":
                return pa.repeat(light.scalar(adds.source.version, pa.int64()), size)
            case "tags":
                return _or_null(adds.field("tags"), size, TEXT_MAP)
            case _:
                raise KeyError(name)


def _uris(paths: pa.StringArray, root: str) -> pa.StringArray:
    plain = pc.binary_join_element_wise(light.scalar(root), paths, light.scalar("/"))
    special = pc.match_substring_regex(paths, _UNSAFE)
    if not pc.any(special).as_py():
        return plain
    resolved = [
        resolve(root, path) if is_special else None
        for path, is_special in zip(paths.to_pylist(), special.to_pylist(), strict=True)
    ]
    return pc.if_else(special, light.array(resolved, pa.string()), plain)


def _vectors(columns: ColumnBatch) -> pa.StructArray:
    if columns.field("deletionVector") is None:
        return pa.nulls(len(columns), VECTOR)
    fields = [
        _or_null(columns.field("deletionVector", name), len(columns), target.type)
        for name, target in zip(_VECTOR_FIELDS, VECTOR, strict=True)
    ]
    # Some writers put a struct of nulls where there is no vector.
    absent = pc.is_null(fields[0])
    return pa.StructArray.from_arrays(fields, fields=list(VECTOR), mask=absent)


def vector_cardinalities(files: ColumnBatch) -> pa.Int64Array:
    """Return the number of deleted rows of each file; 0 without a deletion vector."""
    return pc.fill_null(pc.struct_field(_vectors(files), ["cardinality"]), light.scalar(0))


def _partition_text(columns: ColumnBatch, column: PartitionColumn) -> pa.StringArray:
    text = columns.partition_text(column.physical_name).cast(pa.string())
    return pc.if_else(pc.equal(text, light.scalar("")), light.null(pa.string()), text)


def _as_written(adds: ColumnBatch, context: FileContext) -> pa.MapArray | None:
    """Return the maps of the log unchanged, if they have all keys, in order, and no ''."""
    columns = context.partition_columns
    width, size = len(columns), len(adds)
    layout = adds.partition_layout()
    if layout is not None and layout.names == [c.name for c in columns if _is_unmapped(c)]:
        return None if "" in layout.texts.to_pylist() else layout.plain_maps()
    values = adds.field("partitionValues")
    if values is None or values.null_count or values.type != TEXT_MAP:
        return None
    keys, items = values.keys, values.items
    uniform = len(keys) == width * size and bool(
        (np.diff(light.to_numpy(values.offsets)) == width).all()
    )
    if not uniform or not all(map(_is_unmapped, columns)):
        return None
    if not width:
        return values
    expected = light.array([c.name for c in columns], pa.string())
    tiled = expected.take(light.from_numpy(np.tile(np.arange(width), size)))
    if (
        not pc.all(pc.equal(keys, tiled)).as_py()
        or pc.any(pc.equal(items, light.scalar(""))).as_py()
    ):
        return None
    return values


def _is_unmapped(column: PartitionColumn) -> bool:
    return column.name == column.physical_name


def _text_map(texts: dict[str, pa.StringArray], size: int) -> pa.MapArray:
    """Interleave the columns row by row: each map has the same keys in the same order."""
    width = len(texts)
    offsets = light.from_numpy(np.arange(size + 1, dtype=np.int32) * np.int32(width))
    names = light.array(list(texts), pa.string())
    keys = names.take(light.from_numpy(np.tile(np.arange(width), size)))
    stacked = pa.concat_arrays([light.array([], pa.string()), *texts.values()])
    order = np.arange(width * size).reshape(width, size).T.ravel()
    return pa.MapArray.from_arrays(offsets, keys, stacked.take(light.from_numpy(order)))


def _typed(
    texts: dict[str, pa.StringArray], columns: tuple[PartitionColumn, ...], size: int
) -> pa.StructArray:
    arrays, fields = [], []
    for column in columns:
        text = texts[column.name]
        array, uncastable = typed_array(text, column.type)
        if pc.any(uncastable).as_py():
            bad_value = text.filter(uncastable)[0].as_py()
            raise PartitionValueError(
                column=column.name, value=bad_value, type_name=str(column.type)
            )
        arrays.append(array)
        fields.append(pa.field(column.name, array.type))
    if not arrays:
        return pa.Array.from_buffers(pa.struct([]), size, [None])
    return pa.StructArray.from_arrays(arrays, fields=fields)


def _or_null(array: pa.Array | None, size: int, kind: pa.DataType) -> pa.Array:
    return pa.nulls(size, kind) if array is None else array.cast(kind)
