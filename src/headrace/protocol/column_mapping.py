"""Column mapping: whether files identify columns by physical name, by id, or by logical name.

The mapping is on only if the protocol enables it and a table property sets it. Fields of other
tables may still carry physical names, left over from a dropped mapping or copied from another
table; their files use the logical names.
"""

from enum import Enum

import msgspec

from headrace.protocol.action import Metadata, Protocol
from headrace.protocol.schema import (
    ArrayType,
    DataType,
    Field,
    MapType,
    StructType,
    parse_schema,
)

_MODE = "delta.columnMapping.mode"
_PREFIX = "delta.columnMapping."
_FEATURE = "columnMapping"
_LEGACY_READER_VERSION = 2


class MappingMode(Enum):
    """How the columns of a table are found in its files."""

    NONE = "none"
    NAME = "name"
    ID = "id"


def mapping_mode(protocol: Protocol, metadata: Metadata) -> MappingMode:
    """Return the mapping mode in effect.

    Raises:
        ValueError: the table property is not a known mode.
    """
    # Some writers list the feature, which binds readers too, only as a writer feature.
    listed = (*(protocol.reader_features or ()), *(protocol.writer_features or ()))
    by_feature = _FEATURE in listed
    if protocol.min_reader_version != _LEGACY_READER_VERSION and not by_feature:
        return MappingMode.NONE
    name = metadata.configuration.get(_MODE) or MappingMode.NONE.value
    try:
        return MappingMode(name.lower())
    except ValueError as error:
        known = ", ".join(mode.value for mode in MappingMode)
        raise ValueError(f"the property {_MODE} is {name!r}, and there are {known}") from error


def table_schema(protocol: Protocol, metadata: Metadata) -> StructType:
    """Return the schema of a table; its fields have physical names only if its files use them.

    Raises:
        ValueError: the schema or the mapping mode cannot be decoded.
    """
    schema = parse_schema(metadata.schema_string)
    if mapping_mode(protocol, metadata) is not MappingMode.NONE:
        return schema
    return _unmapped(schema)


def _unmapped(schema: StructType) -> StructType:
    return StructType(tuple(map(_unmapped_field, schema.fields)))


def _unmapped_field(field: Field) -> Field:
    metadata = {k: v for k, v in field.metadata.items() if not k.startswith(_PREFIX)}
    return msgspec.structs.replace(field, type=_unmapped_type(field.type), metadata=metadata)


def _unmapped_type(data_type: DataType) -> DataType:
    match data_type:
        case StructType():
            return _unmapped(data_type)
        case ArrayType(element, contains_null):
            return ArrayType(_unmapped_type(element), contains_null)
        case MapType(key, value, contains_null):
            return MapType(_unmapped_type(key), _unmapped_type(value), contains_null)
        case _:
            return data_type
