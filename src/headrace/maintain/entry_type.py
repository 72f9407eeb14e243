"""Checks entries against the types of their schema, before anything is written.

An entry and the schema of its manifest enter; the reason why it is invalid leaves, if it is.
Without this check the encoder would fail with a message of its own, after other entries had been
written.
"""

from collections.abc import Mapping
from functools import lru_cache
from typing import Annotated, Any

import msgspec

from headrace.protocol.action import Int, Long
from headrace.protocol.state import Entry
from headrace.protocol.state_schema import Schema

_PRIMITIVES: Mapping[str, Any] = {
    "string": str,
    "long": Long,
    "int": Int,
    "double": float,
    "boolean": bool,
}
_Size = Annotated[int, msgspec.Meta(ge=0, le=(1 << 63) - 1)]


def why_invalid(entry: Entry, schema: Schema) -> str | None:
    """Return why an entry that has all fields of the schema is invalid; None if it is valid."""
    size = entry["size"]
    if type(size) is int and size < 0:
        return f"the size of {entry['path']} is {size}"
    try:
        msgspec.convert(entry, _struct(msgspec.json.encode(schema)))
    except msgspec.ValidationError as error:
        return str(error)
    return None if entry["path"] else "the path of a file is empty"


@lru_cache(maxsize=16)
def _struct(schema: bytes) -> Any:
    return _record(msgspec.json.decode(schema))


def _record(schema: Schema) -> Any:
    fields = [(field["name"], _type(field["type"])) for field in schema["fields"]]
    sized = [(name, _Size if name == "size" else kind) for name, kind in fields]
    return msgspec.defstruct("Entry", sized)


def _type(kind: Any) -> Any:
    match kind:
        case ["null", inner]:
            return _type(inner) | None
        case str():
            return _PRIMITIVES[kind]
        case {"type": "map", "values": inner}:
            return dict[str, _type(inner)]  # type: ignore[misc]  # a type at run time
        case {"type": "array", "items": inner}:
            return list[_type(inner)]  # type: ignore[misc]  # a type at run time
        case _:
            return _record(kind)
