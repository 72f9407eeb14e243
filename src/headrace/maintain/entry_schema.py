"""Compares the schemas of entries, and merges several into one with all of their fields.

Fields are identified by id, or by name if they have none. A field that only some schemas have is
nullable in the union, so that unknown fields survive a rewrite.
"""

from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from typing import Any

import msgspec

from headrace.avro.container import Header
from headrace.avro.field import file_field_names, our_field
from headrace.errors import CorruptStateError
from headrace.protocol.state import Entry
from headrace.protocol.state_schema import OTHER_FIELDS, Schema

_LONGS = 1 << 63
_SILENT = frozenset({"doc", "field-id", "key-id", "value-id", "element-id", "aliases", "default"})
"""Properties that do not affect the bytes of a record."""


def same_shape(first: Schema, second: Schema) -> bool:
    """Whether records of both schemas are encoded to the same bytes."""
    return first is second or _shape_text(msgspec.json.encode(first)) == _shape_text(
        msgspec.json.encode(second)
    )


def union_schema(home: Schema, headers: Iterable[Header]) -> Schema:
    """Return the schema of the home, followed by the fields that only other files have.

    Raises:
        CorruptStateError: a file has a field of ours with another type.
    """
    fields: dict[str, Schema] = {field["name"]: field for field in home["fields"]}
    for header in headers:
        check_types(header)
        for field in _by_our_names(header.schema):
            fields[field["name"]] = _merged(fields.get(field["name"]), field)
    united = list(fields.values())
    return home if united == home["fields"] else {**home, "fields": united}


def check_types(header: Header) -> None:
    """Check that the fields of a file that are ours have our types.

    Raises:
        CorruptStateError: one has another type.
    """
    for field in _by_our_names(header.schema):
        known = our_field(field["name"])
        if known is not None and not _fits(field["type"], known["type"]):
            reason = f"its field {field['name']} has the type {field['type']}"
            raise CorruptStateError(path=header.path, reason=reason)


def schema_of_entries(home: Schema, entries: Iterable[Entry]) -> Schema:
    """Return the schema of the home, with fields for the other values of entries.

    The values come from JSON. A field whose values are not all of one type, or are neither text,
    numbers, booleans, nor lists or maps of text, is not in the schema.
    """
    names = {field["name"] for field in home["fields"]}
    types: dict[str, list[Any]] = {}
    for entry in entries:
        for name in entry.keys() - names:
            kinds = types.setdefault(name, [])
            kind = _type_of(entry[name])
            if entry[name] is not None and kind not in kinds:
                kinds.append(kind)
    others = [
        _other_field(name, kinds[0])
        for name, kinds in types.items()
        if len(kinds) == 1 and kinds[0] is not None
    ]
    return {**home, "fields": [*home["fields"], *others]} if others else home


def _other_field(name: str, kind: Any) -> Schema:
    known = OTHER_FIELDS.get(name)
    if known is not None and _shape(known["type"]) == _shape(["null", kind]):
        return known
    return {"name": name, "type": ["null", kind], "default": None}


def _type_of(value: Any) -> Any:
    match value:
        case bool():
            return "boolean"
        case int() if -_LONGS <= value < _LONGS:
            return "long"
        case float():
            return "double"
        case str():
            return "string"
        case list() if all(isinstance(item, str) for item in value):
            return {"type": "array", "items": "string"}
        case Mapping() if all(isinstance(item, str | None) for item in value.values()):
            return {"type": "map", "values": ["null", "string"]}
        case _:
            return None


def _by_our_names(schema: Schema) -> Iterator[Schema]:
    """Yield the fields of a file, by our names as far as they are ours."""
    ours = {theirs: name for name, theirs in file_field_names(schema).items()}
    for field in schema["fields"]:
        if field["name"] in ours:
            yield {**field, "name": ours[field["name"]]}
        elif our_field(field["name"]) is None:
            yield field


def _fits(theirs: Any, ours: Any) -> bool:
    """Return whether values of a field can be read as ours; an int may have become a long."""
    shapes = [_shape(kind) for kind in _branches(ours)]
    if shapes in (["int"], ["long"]):
        shapes = ["int", "long"]
    return all(_shape(kind) in shapes for kind in _branches(theirs))


def _merged(known: Schema | None, field: Schema) -> Schema:
    """Return a nullable field, or one that holds the values of both."""
    if known is None:
        return {**field, "type": ["null", *_branches(field["type"])], "default": None}
    ours, theirs = _branches(known["type"]), _branches(field["type"])
    shapes = [_shape(kind) for kind in ours]
    added = [kind for kind in theirs if _shape(kind) not in shapes]
    if not added or (added, ours) == (["int"], ["long"]):
        return known
    branches = ["long"] if (added, ours) == (["long"], ["int"]) else [*ours, *added]
    return {**known, "type": _with_branches(known["type"], branches)}


def _branches(kind: Any) -> list[Any]:
    branches = kind if isinstance(kind, list) else [kind]
    return [branch for branch in branches if branch != "null"]


def _with_branches(kind: Any, branches: list[Any]) -> Any:
    return ["null", *branches] if isinstance(kind, list) else branches[0]


@lru_cache(maxsize=64)
def _shape_text(schema: bytes) -> bytes:
    return msgspec.json.encode(_shape(msgspec.json.decode(schema)))


def _shape(schema: Any) -> Any:
    if isinstance(schema, dict):
        shape = {key: _shape(value) for key, value in schema.items() if key not in _SILENT}
        namespace = shape.pop("namespace", None)
        if namespace and "name" in shape and "." not in shape["name"] and "fields" in shape:
            shape["name"] = f"{namespace}.{shape['name']}"
        return dict(sorted(shape.items()))
    if isinstance(schema, list):
        return [_shape(item) for item in schema]
    return schema
