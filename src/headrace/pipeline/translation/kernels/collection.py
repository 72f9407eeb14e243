"""Kernels for arrays, maps and structs.

Elements contain no floats, so Python's equality is Spark's.
"""

from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from headrace.pipeline.translation.kernel import KernelCall, kernel
from headrace.pipeline.translation.kernels.row import by_distinct, plain_values, where_valid


class SparkIndexError(IndexError):
    """Spark's ANSI error for an element that does not exist."""


@kernel
def array(call: KernelCall, *columns: pa.Array) -> pa.Array:
    """Make an array from values."""
    rows = [list(row) for row in zip(*map(plain_values, columns), strict=True)]
    return pa.array(rows, call.gives)


@kernel
def empty(call: KernelCall, rows: pa.Array) -> pa.Array:
    """Return empty arrays or maps."""
    return pa.array([[]] * len(rows), call.gives)


@kernel
def struct(call: KernelCall, *columns: pa.Array) -> pa.Array:
    """Make a struct from values."""
    return pa.StructArray.from_arrays(list(columns), fields=list(call.gives))


@kernel
def field(call: KernelCall, structs: pa.Array) -> pa.Array:
    """Return a field of a struct; null if the struct is null."""
    return pc.struct_field(structs, [int(call.parameters[0])])


@kernel
def size(call: KernelCall, values: pa.Array) -> pa.Array:
    """Count the elements of an array or the entries of a map."""
    if pa.types.is_map(values.type):
        return by_distinct(len, call.gives, values)
    return pc.list_value_length(values)


@kernel
def element_at(call: KernelCall, arrays: pa.Array, places: pa.Array) -> pa.Array:
    """Return the element at a position, from 1 or from the end; a missing one is an error."""
    soft = bool(call.parameters)

    def element(values: list[Any], place: int) -> Any:
        if place == 0:
            raise SparkIndexError("positions of elements count from 1")
        if abs(place) > len(values):
            if soft:
                return None
            raise SparkIndexError(f"there is no element {place} of {len(values)}")
        return values[place - 1] if place > 0 else values[place]

    return by_distinct(element, call.gives, arrays, places)


@kernel
def element(call: KernelCall, arrays: pa.Array, places: pa.Array) -> pa.Array:
    """Return the element at a position, from 0; a missing one is an error."""
    soft = bool(call.parameters)

    def taken(values: list[Any], place: int) -> Any:
        if not 0 <= place < len(values):
            if soft:
                return None
            raise SparkIndexError(f"there is no element {place} of {len(values)}, from 0")
        return values[place]

    return by_distinct(taken, call.gives, arrays, places)


@kernel
def map_value(call: KernelCall, maps: pa.Array, keys: pa.Array) -> pa.Array:
    """Return the value of a key; null if there is none."""
    return by_distinct(lambda entries, key: dict(entries).get(key), call.gives, maps, keys)


@kernel
def map_has(call: KernelCall, maps: pa.Array, keys: pa.Array) -> pa.Array:
    """Return whether a map has a key."""
    return by_distinct(lambda entries, key: key in dict(entries), call.gives, maps, keys)


@kernel
def map_keys(call: KernelCall, maps: pa.Array) -> pa.Array:
    """Return the keys."""
    return by_distinct(lambda entries: [key for key, _ in entries], call.gives, maps)


@kernel
def map_values(call: KernelCall, maps: pa.Array) -> pa.Array:
    """Return the values."""
    return by_distinct(lambda entries: [value for _, value in entries], call.gives, maps)


@kernel
def map_of(call: KernelCall, *columns: pa.Array) -> pa.Array:
    """Make a map from alternating keys and values; a null or duplicate key is an error."""
    rows = zip(*map(plain_values, columns), strict=True)
    return pa.array([_entries(row[::2], row[1::2]) for row in rows], call.gives)


@kernel
def map_from_arrays(call: KernelCall, keys: pa.Array, values: pa.Array) -> pa.Array:
    """Make a map from an array of keys and one of values."""

    def paired(some_keys: list[Any], some_values: list[Any]) -> list[tuple[Any, Any]]:
        if len(some_keys) != len(some_values):
            raise SparkIndexError("the numbers of keys and values differ")
        return _entries(some_keys, some_values)

    return by_distinct(paired, call.gives, keys, values)


@kernel
def map_concat(call: KernelCall, *maps: pa.Array) -> pa.Array:
    """Concatenate maps; a duplicate key is an error."""

    def united(*entries: list[tuple[Any, Any]]) -> list[tuple[Any, Any]]:
        flat = [entry for part in entries for entry in part]
        return _entries([key for key, _ in flat], [value for _, value in flat])

    return by_distinct(united, call.gives, *maps)


def _entries(keys: Any, values: Any) -> list[tuple[Any, Any]]:
    keys = list(keys)
    if None in keys:
        raise SparkIndexError("a key of a map is null")
    if len(set(map(repr, keys))) < len(keys):
        raise SparkIndexError("a map has a duplicate key")
    return list(zip(keys, values, strict=True))


@kernel
def text_to_map(call: KernelCall, texts: pa.Array) -> pa.Array:
    """Split a string into entries, and these into key and value."""
    between, within = call.parameters

    def read(text: str) -> list[tuple[str, str | None]]:
        parts = [entry.split(within, 1) for entry in text.split(between)]
        return _entries([p[0] for p in parts], [p[1] if len(p) > 1 else None for p in parts])

    return by_distinct(read, call.gives, texts)


@kernel
def array_contains(call: KernelCall, arrays: pa.Array, values: pa.Array) -> pa.Array:
    """Return whether an array has a value; null if it does not but has a null."""

    def has(elements: list[Any], value: Any) -> bool | None:
        if value in elements:
            return True
        return None if None in elements else False

    return by_distinct(has, call.gives, arrays, values)


@kernel
def array_position(call: KernelCall, arrays: pa.Array, values: pa.Array) -> pa.Array:
    """Return the first position of a value, from 1; 0 if it is missing."""
    return by_distinct(
        lambda elements, value: elements.index(value) + 1 if value in elements else 0,
        call.gives,
        arrays,
        values,
    )


@kernel
def array_remove(call: KernelCall, arrays: pa.Array, values: pa.Array) -> pa.Array:
    """Remove every element that equals a value."""
    return by_distinct(
        lambda elements, value: [e for e in elements if e is None or e != value],
        call.gives,
        arrays,
        values,
    )


def _first_of_each(elements: list[Any]) -> list[Any]:
    firsts: dict[str, Any] = {}
    for element in elements:
        firsts.setdefault(repr(element), element)
    return list(firsts.values())


@kernel
def array_distinct(call: KernelCall, arrays: pa.Array) -> pa.Array:
    """Keep the first of equal elements."""
    return by_distinct(_first_of_each, call.gives, arrays)


@kernel
def array_union(call: KernelCall, left: pa.Array, right: pa.Array) -> pa.Array:
    """Return the union of arrays, each element once."""
    return by_distinct(lambda a, b: _first_of_each(a + b), call.gives, left, right)


@kernel
def array_intersect(call: KernelCall, left: pa.Array, right: pa.Array) -> pa.Array:
    """Return the elements that both arrays have, each once."""
    return by_distinct(
        lambda a, b: _first_of_each([e for e in a if e in b]), call.gives, left, right
    )


@kernel
def array_except(call: KernelCall, left: pa.Array, right: pa.Array) -> pa.Array:
    """Return the elements that only the first array has, each once."""
    return by_distinct(
        lambda a, b: _first_of_each([e for e in a if e not in b]), call.gives, left, right
    )


@kernel
def arrays_overlap(call: KernelCall, left: pa.Array, right: pa.Array) -> pa.Array:
    """Return whether arrays share a value; null if they do not, but a null might match."""

    def overlap(a: list[Any], b: list[Any]) -> bool | None:
        if any(e is not None and e in b for e in a):
            return True
        return None if a and b and (None in a or None in b) else False

    return by_distinct(overlap, call.gives, left, right)


@kernel
def array_compact(call: KernelCall, arrays: pa.Array) -> pa.Array:
    """Remove nulls."""
    return by_distinct(lambda elements: [e for e in elements if e is not None], call.gives, arrays)


@kernel
def array_reverse(call: KernelCall, arrays: pa.Array) -> pa.Array:
    """Reverse the order."""
    return by_distinct(lambda elements: elements[::-1], call.gives, arrays)


@kernel
def array_concat(call: KernelCall, *arrays: pa.Array) -> pa.Array:
    """Concatenate arrays; null if one is null."""
    return by_distinct(
        lambda *parts: [element for part in parts for element in part], call.gives, *arrays
    )


@kernel
def array_append(call: KernelCall, arrays: pa.Array, values: pa.Array) -> pa.Array:
    """Append an element; a null array stays null."""
    appended = by_distinct(
        lambda elements, value: None if elements is None else [*elements, value],
        call.gives,
        arrays,
        values,
        nulls=True,
    )
    return where_valid(appended, arrays)


@kernel
def array_prepend(call: KernelCall, arrays: pa.Array, values: pa.Array) -> pa.Array:
    """Prepend an element; a null array stays null."""
    return by_distinct(
        lambda elements, value: None if elements is None else [value, *elements],
        call.gives,
        arrays,
        values,
        nulls=True,
    )


@kernel
def array_repeat(call: KernelCall, values: pa.Array, counts: pa.Array) -> pa.Array:
    """Repeat a value; null only if the count is null."""
    return by_distinct(
        lambda value, count: None if count is None else [value] * max(count, 0),
        call.gives,
        values,
        counts,
        nulls=True,
    )


@kernel
def array_flatten(call: KernelCall, arrays: pa.Array) -> pa.Array:
    """Concatenate the arrays in an array; null if one of them is null."""
    return by_distinct(
        lambda parts: None if None in parts else [e for part in parts for e in part],
        call.gives,
        arrays,
    )


@kernel
def array_slice(
    call: KernelCall, arrays: pa.Array, starts: pa.Array, lengths: pa.Array
) -> pa.Array:
    """Return a slice, from 1 or from the end."""

    def cut(elements: list[Any], start: int, length: int) -> list[Any]:
        if start == 0 or length < 0:
            raise SparkIndexError("a slice starts at 1 or at the end, and has a length")
        first = start - 1 if start > 0 else len(elements) + start
        return elements[first : first + length] if 0 <= first < len(elements) else []

    return by_distinct(cut, call.gives, arrays, starts, lengths)


@kernel
def array_extreme(call: KernelCall, arrays: pa.Array) -> pa.Array:
    """Return the least or the greatest element, ignoring nulls."""
    pick = {"least": min, "greatest": max}[call.parameters[0]]

    def extreme(elements: list[Any]) -> Any:
        present = [element for element in elements if element is not None]
        return pick(present) if present else None

    return by_distinct(extreme, call.gives, arrays)


@kernel
def array_sort(call: KernelCall, arrays: pa.Array) -> pa.Array:
    """Sort elements; the parameters say the direction, and where nulls are placed."""
    down, nulls_first = call.parameters[0] == "down", call.parameters[1] == "first"

    def ordered(elements: list[Any]) -> list[Any]:
        nulls = [e for e in elements if e is None]
        values = sorted((e for e in elements if e is not None), reverse=down)
        return nulls + values if nulls_first else values + nulls

    return by_distinct(ordered, call.gives, arrays)


@kernel
def array_join(
    call: KernelCall, arrays: pa.Array, separators: pa.Array, *instead: pa.Array
) -> pa.Array:
    """Join strings; nulls are skipped or replaced by a string."""

    def joined(elements: list[str | None], separator: str, null: str | None = None) -> str:
        texts = (null if element is None else element for element in elements)
        return separator.join(text for text in texts if text is not None)

    return by_distinct(joined, call.gives, arrays, separators, *instead)


@kernel
def array_insert(
    call: KernelCall, arrays: pa.Array, places: pa.Array, values: pa.Array
) -> pa.Array:
    """Insert an element at a position, from 1 or from the end; gaps are filled with nulls."""

    def inserted(elements: list[Any] | None, place: int | None, value: Any) -> list[Any] | None:
        if elements is None or place is None:
            return None
        if place == 0:
            raise SparkIndexError("positions of elements count from 1")
        if place > 0:
            filled = elements + [None] * (place - 1 - len(elements))
            return [*filled[: place - 1], value, *filled[place - 1 :]]
        index = len(elements) + place + 1
        if index < 0:
            return [value, *[None] * -index, *elements]
        return [*elements[:index], value, *elements[index:]]

    return by_distinct(inserted, call.gives, arrays, places, values, nulls=True)


@kernel
def integer_sequence(
    call: KernelCall, starts: pa.Array, stops: pa.Array, *steps: pa.Array
) -> pa.Array:
    """Return the integers from one number to another, both included."""

    def counted(start: int, stop: int, step: int | None = None) -> list[int]:
        by = (1 if stop >= start else -1) if step is None else step
        if by == 0 or (by > 0) != (stop >= start):
            if start == stop:
                return [start]
            raise SparkIndexError(f"no sequence goes from {start} to {stop} by {by}")
        if (stop - start) // by >= (1 << 31) - 16:  # Spark's longest array
            raise SparkIndexError(f"the sequence from {start} to {stop} is longer than any array")
        return list(range(start, stop + (1 if by > 0 else -1), by))

    return by_distinct(counted, call.gives, starts, stops, *steps)
