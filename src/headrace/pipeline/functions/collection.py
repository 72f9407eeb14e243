"""Normalises lists and maps of strings.

Rows are not visited one by one: the elements of all lists form one array, each with its row
number, from which the lists are rebuilt.
"""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from headrace.pipeline.functions.declaration import function

_CASES = ("lower", "upper", "none")


@function("ARRAY<STRING>", returns="ARRAY<STRING>")
def list_compact(lists: pa.Array) -> pa.Array:
    """A list without its nulls."""
    rows, values = _elements(lists)
    is_value = pc.is_valid(values)
    return _lists(lists, rows.filter(is_value), values.filter(is_value))


@function("ARRAY<STRING>", returns="ARRAY<STRING>")
def list_unique_sorted(lists: pa.Array) -> pa.Array:
    """A list without nulls and duplicates, in the order of the UTF-8 bytes."""
    rows, values = _elements(lists)
    is_value = pc.is_valid(values)
    distinct = (
        pa.table({"row": rows.filter(is_value), "value": values.filter(is_value)})
        .group_by(["row", "value"])
        .aggregate([])
        .sort_by([("row", "ascending"), ("value", "ascending")])
        .combine_chunks()
    )
    return _lists(lists, distinct["row"].combine_chunks(), distinct["value"].combine_chunks())


@function("MAP<STRING, STRING>", "STRING", "STRING", returns="STRING")
def map_get_default(maps: pa.Array, keys: pa.Array, defaults: pa.Array) -> pa.Array:
    """The value of a key; the default if the map is null or has no such value."""
    rows, entry_keys, values = _entries(maps)
    is_match = pc.and_(pc.equal(entry_keys, keys.take(rows)), pc.is_valid(values))
    rows, values = rows.filter(is_match), values.filter(is_match)
    places = np.full(len(maps), -1, dtype=np.int64)
    places[rows.to_numpy()] = np.arange(len(rows))
    picked = values.take(pa.array(places, mask=places < 0))
    return pc.coalesce(picked, defaults)


@function("MAP<STRING, STRING>", "STRING", returns="MAP<STRING, STRING>", required=1)
def map_normalize(maps: pa.Array, cases: pa.Array | None = None) -> pa.Array:
    """A map with lower-case keys, without duplicates, in the order of the UTF-8 bytes.

    The second argument can be `upper` or `none` instead. Of keys that become equal, the last value
    is kept.
    """
    rows, keys, values = _entries(maps)
    entries = pa.table(
        {
            "row": rows,
            "key": _in_cases(keys, None if cases is None else cases.take(rows)),
            "place": pa.array(np.arange(len(rows))),
            "value": values,
        }
    ).sort_by([("row", "ascending"), ("key", "ascending"), ("place", "ascending")])
    row, key = entries["row"].to_numpy(), entries["key"].combine_chunks()
    codes = key.dictionary_encode().indices.to_numpy()
    is_last = np.ones(len(row), dtype=bool)
    is_last[:-1] = (row[1:] != row[:-1]) | (codes[1:] != codes[:-1])
    last = entries.filter(pa.array(is_last)).combine_chunks()
    offsets = _offsets(maps, last["row"].combine_chunks())
    return pa.MapArray.from_arrays(
        offsets, last["key"].combine_chunks(), last["value"].combine_chunks()
    )


def _in_cases(keys: pa.Array, cases: pa.Array | None) -> pa.Array:
    lower = pc.utf8_lower(keys)
    if cases is None:
        return lower
    case_names = pc.utf8_lower(pc.fill_null(cases, "lower"))
    for case in pc.unique(case_names).to_pylist():
        if case not in _CASES:
            raise ValueError(f"{case!r} is no case of keys; there are {', '.join(_CASES)}")
    changed = pc.if_else(pc.equal(case_names, "upper"), pc.utf8_upper(keys), lower)
    return pc.if_else(pc.equal(case_names, "none"), keys, changed)


def _elements(lists: pa.Array) -> tuple[pa.Array, pa.Array]:
    """Return the elements of all lists, and the row of each."""
    return pc.list_parent_indices(lists), pc.list_flatten(lists)


def _entries(maps: pa.Array) -> tuple[pa.Array, pa.Array, pa.Array]:
    """Return the keys and values of all maps, and the row of each."""
    as_lists = maps.cast(pa.list_(pa.struct([maps.type.key_field, maps.type.item_field])))
    rows, entries = _elements(as_lists)
    return rows, pc.struct_field(entries, [0]), pc.struct_field(entries, [1])


def _lists(like: pa.Array, rows: pa.Array, values: pa.Array) -> pa.Array:
    """Build lists from elements in the order of their rows; null where `like` is null."""
    return pa.ListArray.from_arrays(_offsets(like, rows), values)


def _offsets(like: pa.Array, rows: pa.Array) -> pa.Array:
    """Return the offset of each row's elements; null where the row is null."""
    counts = np.bincount(rows.to_numpy(), minlength=len(like)) if len(rows) else np.zeros(len(like))
    ends = np.concatenate([[0], np.cumsum(counts)]).astype(np.int32)
    missing = np.append(pc.is_null(like).to_numpy(zero_copy_only=False), False)
    return pa.array(ends, mask=missing)
