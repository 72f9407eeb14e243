"""Match the fields of a file to ours, by field id if there is one, else by name.

A field may be renamed as long as it keeps its id. Unknown fields are ignored.
"""

from collections.abc import Mapping
from typing import Any

import pyarrow as pa

from headrace.protocol.state_schema import COMPANION_FIELDS, DELTA_FIELDS, ENTRY_FIELDS, Schema

_TEXT_MAP = pa.map_(pa.string(), pa.string())
VECTOR = pa.struct(
    [
        pa.field("storageType", pa.string()),
        pa.field("pathOrInlineDv", pa.string()),
        pa.field("offset", pa.int32()),
        pa.field("sizeInBytes", pa.int32()),
        pa.field("cardinality", pa.int64()),
    ]
)
_PRIMITIVES = {
    "string": pa.string(),
    "long": pa.int64(),
    "int": pa.int32(),
    "boolean": pa.bool_(),
}

_OURS: dict[int, Schema] = {
    field["field-id"]: field for field in (*ENTRY_FIELDS, *COMPANION_FIELDS, *DELTA_FIELDS)
}
_IDS: dict[str, int] = {field["name"]: number for number, field in _OURS.items()}


def _arrow_type(kind: Any) -> pa.DataType:
    match kind:
        case ["null", inner]:
            return _arrow_type(inner)
        case str():
            return _PRIMITIVES[kind]
        case {"type": "map"}:
            return _TEXT_MAP
        case {"type": "array"}:
            return pa.list_(pa.string())
        case _:
            return VECTOR


COLUMN_TYPES: Mapping[str, pa.DataType] = {
    field["name"]: _arrow_type(field["type"]) for field in _OURS.values()
}
"""The Arrow type of each known field, by our name for it."""


def our_field(name: str) -> Schema | None:
    """Return our field of this name, if there is one; a file may use the name for another field."""
    return _OURS.get(_IDS.get(name, 0))


def file_field_names(schema: Schema) -> dict[str, str]:
    """Map our name of each known field to its name in the file.

    Unknown fields of the file are omitted.
    """
    names: dict[str, str] = {}
    for field in schema.get("fields", ()):
        name, number = field.get("name"), field.get("field-id")
        if not isinstance(name, str):
            continue
        if isinstance(number, int):
            if number in _OURS:
                names[_OURS[number]["name"]] = name
        elif name in _IDS:
            names[name] = name
    return names
