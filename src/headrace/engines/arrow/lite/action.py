"""The protocol and the metadata of a checkpoint, put together from their leaf columns."""

import zlib
from typing import Any, BinaryIO

import msgspec

from headrace.engines.arrow.lite.chunk import Entry, is_empty, read_chunk
from headrace.engines.arrow.lite.footer import Leaf, LiteFooter, read_footer
from headrace.protocol.action import ACTION_TYPES

READABLE = frozenset({"protocol", "metaData"})
"""The actions of which a checkpoint has one: one row to find, and a few small columns."""

_WITNESS = {"protocol": "minReaderVersion", "metaData": "id"}
_UNUSUAL = (
    *(ValueError, IndexError, KeyError, TypeError, AttributeError, RecursionError),
    *(msgspec.MsgspecError, zlib.error),
)


def read_actions(file: BinaryIO, size_bytes: int, names: tuple[str, ...]) -> dict[str, Any] | None:
    """The one action of each name, where the file has it; None: ask another reader."""
    try:
        footer = read_footer(file, size_bytes)
        found = {name: _read_action(file, footer, name) for name in names}
        return {
            name: msgspec.convert(fields, ACTION_TYPES[name])
            for name, fields in found.items()
            if fields
        }
    except _UNUSUAL:
        return None


def _read_action(file: BinaryIO, footer: LiteFooter, name: str) -> dict[str, Any]:
    leaves = [leaf for leaf in footer.leaves if leaf.path[0] == name]
    witness = next((leaf for leaf in leaves if leaf.path == (name, _WITNESS[name])), None)
    if witness is None:
        return {}
    places = footer.places(witness)
    for group, place in enumerate(places):
        empty = is_empty(footer.chunk_at(place))
        if empty is None:
            raise ValueError("the footer does not say where the action is")
        if not empty:
            found = {leaf: footer.place_beside(leaf, witness, places, group) for leaf in leaves}
            return _assembled(
                {leaf: read_chunk(file, footer.chunk_at(at), leaf) for leaf, at in found.items()}
            )
    return {}


def _assembled(columns: dict[Leaf, list[Entry]]) -> dict[str, Any]:
    """Make nested values of leaf columns: members, lists of texts, maps of texts, structs."""
    fields: dict[str, Any] = {}
    by_path = {leaf.path: entries for leaf, entries in columns.items()}
    for leaf, entries in columns.items():
        path = leaf.path[1:]
        values = [value for _, value in entries if value is not None]
        if leaf.max_repetition == 0:
            if len(values) > 1:
                raise ValueError("there is more than one such action")
            if values:
                _put(fields, path, values[0])
            continue
        if leaf.path[-1] == "key":
            continue
        # The container stands two parts above its texts: `tags.key_value.value`.
        if not any(level >= leaf.definitions[-3] for level, _ in entries):
            continue
        if leaf.path[-1] == "value":
            keys = [key for _, key in by_path[*leaf.path[:-1], "key"] if key is not None]
            texts = [v for level, v in entries if level >= leaf.definitions[-2]]
            _put(fields, path[:-2], dict(zip(keys, texts, strict=True)))
        else:
            _put(fields, path[:-2], values)
    return fields


def _put(fields: dict[str, Any], path: tuple[str, ...], value: Any) -> None:
    for name in path[:-1]:
        fields = fields.setdefault(name, {})
    fields[path[-1]] = value
