"""Assembles the protocol and metadata actions of a checkpoint from their leaf columns.

The source of a file enters; decoded actions leave, or None if another reader must read the file.
"""

import zlib
from typing import Any

import msgspec

from headrace.engines.arrow.parquet.chunk import VALUES, Entry, chunk_range, is_empty, read_chunk
from headrace.engines.arrow.parquet.footer import LeafColumn, LiteFooter, Source, read_footer
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
            (column, chunk) for of_name in chunks.values() for column, chunk in of_name.items()
        ]
        data = source.ranges([chunk_range(chunk) for _, chunk in chunk_list]) if chunk_list else []
        columns = {
            column: read_chunk(pages, chunk, column)
            for (column, chunk), pages in zip(chunk_list, data, strict=True)
        }
        return {
            name: msgspec.convert(_assembled({column: columns[column] for column in of_name}), kind)
            for name, of_name in chunks.items()
            if of_name and (kind := ACTION_TYPES[name])
        }
    except _UNUSUAL:
        return None


def _chunks(footer: LiteFooter, name: str) -> dict[LeafColumn, dict[int, Any]]:
    """Return the column chunks of the row group that holds an action; empty if none does."""
    leaf_columns = [column for column in footer.leaf_columns if column.path[0] == name]
    if not leaf_columns:
        return {}
    witness, second_witness = (
        _only_column(leaf_columns, (name, field)) for field in _WITNESSES[name]
    )
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
                column: _checked(
                    footer.chunk_at(footer.place_near(column, witness, places, group)),
                    column,
                    rows=counts[group],
                )
                for column in leaf_columns
            }
    return {}


def _only_column(leaf_columns: list[LeafColumn], path: tuple[str, ...]) -> LeafColumn:
    matches = [column for column in leaf_columns if column.path == path]
    if len(matches) != 1 or matches[0].max_repetition:
        raise ValueError(f"there should be one column {'.'.join(path)}")
    return matches[0]


def _checked(chunk: dict[int, Any], column: LeafColumn, *, rows: int) -> dict[int, Any]:
    """Return the chunk if it has a value for each row of its row group."""
    if chunk[VALUES] < rows or (chunk[VALUES] != rows and not column.max_repetition):
        raise ValueError(f"{column.path} does not have a value for each row")
    return chunk


def _assembled(columns: dict[LeafColumn, list[Entry]]) -> dict[str, Any]:
    """Build nested values from leaf columns: fields, lists and maps of strings, structs."""
    fields: dict[str, Any] = {}
    by_path = {column.path: entries for column, entries in columns.items()}
    for column, entries in columns.items():
        path = column.path[1:]
        values = [value for _, value in entries if value is not None]
        if column.max_repetition == 0:
            if len(values) > 1:
                raise ValueError("there is more than one such action")
            if values:
                _put(fields, path, values[0])
            continue
        if column.path[-1] == "key":
            continue
        # The container is two levels above its strings: `tags.key_value.value`.
        if not any(level >= column.definitions[-3] for level, _ in entries):
            continue
        if column.path[-1] == "value":
            keys = [key for _, key in by_path[*column.path[:-1], "key"] if key is not None]
            texts = [v for level, v in entries if level >= column.definitions[-2]]
            _put(fields, path[:-2], dict(zip(keys, texts, strict=True)))
        else:
            _put(fields, path[:-2], values)
    return fields


def _put(fields: dict[str, Any], path: tuple[str, ...], value: Any) -> None:
    for name in path[:-1]:
        fields = fields.setdefault(name, {})
    fields[path[-1]] = value
