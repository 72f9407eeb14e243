"""Compares the schemas of entries, and merges several into one with all of their fields.

Fields are identified by id, or by name if they have none. A field that only some schemas have is
nullable in the union, so that unknown fields survive a rewrite.
"""

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import msgspec

from headrace.protocol.state_schema import Schema

_SILENT = frozenset({"doc", "field-id", "key-id", "value-id", "element-id", "aliases", "default"})
"""Properties that do not affect the bytes of a record."""


def same_shape(first: Schema, second: Schema) -> bool:
    """Whether records of both schemas are encoded to the same bytes."""
    return first is second or _shape_text(msgspec.json.encode(first)) == _shape_text(
        msgspec.json.encode(second)
    )


def union_schema(home: Schema, others: Sequence[Schema]) -> Schema:
    """Return the schema of the home, followed by the fields that only other schemas have."""
    fields = list(home["fields"])
    names = {field["name"] for field in fields}
    for schema in others:
        for field in schema["fields"]:
            if field["name"] not in names:
                names.add(field["name"])
                fields.append(_nullable(field))
    if len(fields) == len(home["fields"]):
        return home
    return {**home, "fields": fields}


def _nullable(field: Schema) -> Schema:
    kind = field["type"]
    if isinstance(kind, list):
        rest = [branch for branch in kind if branch != "null"]
        return {**field, "type": ["null", *rest], "default": None}
    return {**field, "type": ["null", kind], "default": None}


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
