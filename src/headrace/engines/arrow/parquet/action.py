"""Assembles the protocol and metadata actions of a checkpoint from their leaf columns."""

import zlib
from typing import Any

import msgspec

from headrace.engines.arrow.parquet.chunk import VALUES, Entry, chunk_range, is_empty, read_chunk
from headrace.engines.arrow.parquet.footer import Leaf, LiteFooter, Source, read_footer
from headrace.errors import ObjectTooShortError
from headrace.protocol.action import ACTION_TYPES

READABLE = frozenset({"protocol", "metaData"})
"""The actions that a checkpoint has once: one row and a few small columns."""

_WITNESSES = {
    "protocol": ("minReaderVersion", "minWriterVersion"),
    "metaData": ("id", "schemaString"),
}
"""Two required fields of each action; they must agree on its row group."""
_UNUSUAL = (
    *(ValueError, IndexError, KeyError, TypeError, AttributeError, RecursionError),
    *(msgspec.MsgspecError, zlib.error, ObjectTooShortError),
)


def read_actions(source: Source, names: tuple[str, ...]) -> dict[str, Any] | None:
    """Return the action of each name that the file has; None: use another reader.

    It makes two reads: the footer, then all column chunks of the actions together.
    """
    try:
        footer = read_footer(source)
        chunks = {name: _chunks(footer, name) for name in names}
        chunk_list = [
            (leaf, chunk) for of_name in chunks.values() for leaf, chunk in of_name.items()
        ]
        data = source.ranges([chunk_range(chunk) for _, chunk in chunk_list]) if chunk_list else []
        columns = {
            leaf: read_chunk(pages, chunk, leaf)
            for (leaf, chunk), pages in zip(chunk_list, data, strict=True)
        }
        return {
            name: msgspec.convert(_assembled({leaf: columns[leaf] for leaf in of_name}), kind)
            for name, of_name in chunks.items()
            if of_name and (kind := ACTION_TYPES[name])
        }
    except _UNUSUAL:
        return None


def _chunks(footer: LiteFooter, name: str) -> dict[Leaf, dict[int, Any]]:
    """Return the column chunks of the row group that holds an action; empty if none does."""
    leaves = [leaf for leaf in footer.leaves if leaf.path[0] == name]
    if not leaves:
        return {}
    witness, second_witness = (_leaf(leaves, (name, field)) for field in _WITNESSES[name])
    places = footer.places(witness)
    counts = [footer.chunk_at(place)[VALUES] for place in places]
    if sum(counts) != footer.rows or min(counts, default=0) < 0:
        raise ValueError("the column chunks do not have as many values as there are rows")
    for group, place in enumerate(places):
        neighbour = footer.chunk_at(footer.place_near(second_witness, witness, places, group))
        empty = is_empty(footer.chunk_at(place))
        if empty is None or empty != is_empty(neighbour):
            raise ValueError("the footer does not say where the action is")
        if not empty:
            return {
                leaf: _checked(
                    footer.chunk_at(footer.place_near(leaf, witness, places, group)),
                    leaf,
                    rows=counts[group],
                )
                for leaf in leaves
            }
    return {}


def _leaf(leaves: list[Leaf], path: tuple[str, ...]) -> Leaf:
    matches = [leaf for leaf in leaves if leaf.path == path]
    if len(matches) != 1 or matches[0].max_repetition:
        raise ValueError(f"there should be one column {'.'.join(path)}")
    return matches[0]


def _checked(chunk: dict[int, Any], leaf: Leaf, *, rows: int) -> dict[int, Any]:
    """Return the chunk if it has a value for each row of its row group."""
    if chunk[VALUES] < rows or (chunk[VALUES] != rows and not leaf.max_repetition):
        raise ValueError(f"{leaf.path} does not have a value for each row")
    return chunk


def _assembled(columns: dict[Leaf, list[Entry]]) -> dict[str, Any]:
    """Build nested values from leaf columns: fields, lists and maps of strings, structs."""
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
        # The container is two levels above its strings: `tags.key_value.value`.
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
