"""What identifies a column besides its name: its type, and where data files keep it.

Under column mapping a name says little: a column may be dropped and added again, or two may swap
their names, and the data files do not change. What files know a column by does.
"""

from collections.abc import Iterator

from headrace.pipeline.arrow_ddl import type_text
from headrace.pipeline.sources.delta import DeltaSource
from headrace.pipeline.sources.source import Source
from headrace.protocol.schema import ArrayType, DataType, Field, MapType, StructType

_MODE = "delta.columnMapping.mode"
_ID = "delta.columnMapping.id"


def column_identities(source: Source) -> dict[str, str]:
    """By column, in the order of the source: what its values depend on."""
    types = {
        field.name: f"{type_text(field.type)}{'' if field.nullable else ' NOT NULL'}"
        for field in source.schema
    }
    if not isinstance(source, DeltaSource):
        return types
    by_id = source.snapshot.properties.get(_MODE) == "id"
    for field in source.snapshot.logical_schema.fields:
        stored = ", ".join(_stored_names(field, "", by_id=by_id))
        if stored and field.name in types:
            types[field.name] += f" stored as {stored}"
    return types


def _stored_names(field: Field, path: str, *, by_id: bool) -> Iterator[str]:
    """How files name a column and its members, where that is not how the table does."""
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
                yield from _stored_names(field, path, by_id=by_id)
        case ArrayType(element):
            yield from _members(element, f"{path}element.", by_id=by_id)
        case MapType(key, value):
            yield from _members(key, f"{path}key.", by_id=by_id)
            yield from _members(value, f"{path}value.", by_id=by_id)
        case _:
            return
