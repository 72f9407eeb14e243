"""Identifies columns by more than their names: by type, and by their names in data files.

Under column mapping a name is not enough: a column can be dropped and added again, or two columns
can swap names, without a change to any data file. The physical names distinguish them. The
texts are part of skip keys.
"""

from collections.abc import Iterator

import pyarrow as pa

from headrace.pipeline.arrow_ddl import type_text
from headrace.protocol.schema import ArrayType, DataType, Field, MapType, StructType
from headrace.table import Snapshot

_MODE = "delta.columnMapping.mode"
_ID = "delta.columnMapping.id"


def typed_columns(schema: pa.Schema) -> dict[str, str]:
    """Return the type of each column, by name."""
    return {
        field.name: f"{type_text(field.type)}{'' if field.nullable else ' NOT NULL'}"
        for field in schema
    }


def mapped_columns(schema: pa.Schema, snapshot: Snapshot) -> dict[str, str]:
    """Return the type of each column of a Delta table, and its physical names where they differ."""
    identities = typed_columns(schema)
    by_id = snapshot.properties.get(_MODE) == "id"
    for field in snapshot.logical_schema.fields:
        physical = ", ".join(_physical_names(field, "", by_id=by_id))
        if physical and field.name in identities:
            identities[field.name] += f" stored as {physical}"
    return identities


def _physical_names(field: Field, path: str, *, by_id: bool) -> Iterator[str]:
    """Yield the physical names of a column and its members that differ from the logical ones."""
    name = field.physical_name
    if by_id and _ID in field.metadata:
        yield f"{path}{name} #{field.metadata[_ID]}"
    elif name != field.name:
        yield f"{path}{name}"
    yield from _members(field.type, f"{path}{field.name}.", by_id=by_id)


def _members(data_type: DataType, path: str, *, by_id: bool) -> Iterator[str]:
    match data_type:
        case StructType(fields):
            for field in fields:
                yield from _physical_names(field, path, by_id=by_id)
        case ArrayType(element):
            yield from _members(element, f"{path}element.", by_id=by_id)
        case MapType(key, value):
            yield from _members(key, f"{path}key.", by_id=by_id)
            yield from _members(value, f"{path}value.", by_id=by_id)
        case _:
            return
