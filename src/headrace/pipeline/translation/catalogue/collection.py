"""Catalogue of functions of arrays, maps and structs."""

from collections.abc import Callable, Sequence

import pyarrow as pa

from headrace.pipeline.translation import type_rule as t
from headrace.pipeline.translation.cast import Casts
from headrace.pipeline.translation.catalogue.entry import (
    Build,
    Entry,
    by_kernel,
    by_rule,
    first_type,
)
from headrace.pipeline.translation.typed import Typed, call, literal_int, native

Types = Sequence[pa.DataType]

_DAY_US = 86_400_000_000


def _element(types: Types) -> pa.DataType:
    return types[0].value_type


def cast_to_common(casts: Casts, values: Sequence[Typed]) -> list[Typed] | None:
    """Cast values to their common type; None if they have none."""
    kind: pa.DataType | None = t.VOID
    for value in values:
        kind = None if kind is None else t.common_type(kind, value.type)
    if kind is None:
        return None
    cast = [casts.widen(value, kind) for value in values]
    return None if any(value is None for value in cast) else [v for v in cast if v is not None]


def _with_common_element(
    casts: Casts, array: Typed, value: Typed
) -> tuple[pa.DataType, Typed, Typed] | None:
    """Cast an array and a value to a common element type, and return it with both."""
    kind = t.common_type(array.type.value_type, value.type)
    if kind is None:
        return None
    wide_array, wide_value = casts.widen(array, t.array_of(kind)), casts.widen(value, kind)
    return None if wide_array is None or wide_value is None else (kind, wide_array, wide_value)


def _exact(build: Callable[[Casts, Sequence[Typed]], Typed | None]) -> Build:
    """Restrict a translation to elements that Python compares as Spark does.

    These are neither floats nor nested.
    """

    def checked(casts: Casts, arguments: Sequence[Typed]) -> Typed | None:
        kind = arguments[0].type
        element = kind.value_type if t.is_array(kind) else kind
        is_unsupported = t.has_float(element) or pa.types.is_nested(element) or element == t.VOID
        return None if is_unsupported else build(casts, arguments)

    return checked


def _with_value(kernel: str, gives: Callable[[Types], pa.DataType] | pa.DataType) -> Build:
    def build(casts: Casts, arguments: Sequence[Typed]) -> Typed | None:
        array, value = arguments
        if value.type == t.VOID:
            return None
        widened = _with_common_element(casts, array, value)
        if widened is None:
            return None
        kind = gives([array.type]) if callable(gives) else gives
        return call(kernel, kind, *widened[1:])

    return build


def _two_arrays(kernel: str, gives: pa.DataType | None = None) -> Build:
    def build(casts: Casts, arguments: Sequence[Typed]) -> Typed | None:
        sides = cast_to_common(casts, arguments)
        if sides is None:
            return None
        return call(kernel, gives or sides[0].type, *sides)

    return build


def _array(casts: Casts, arguments: Sequence[Typed]) -> Typed | None:
    values = cast_to_common(casts, arguments)
    if values is None:
        return None
    return call("array", t.array_of(values[0].type), *values)


def _empty_array(_: Casts, __: Sequence[Typed]) -> Typed:
    return call("empty", t.array_of(t.VOID), literal_int(0))


def _map(casts: Casts, arguments: Sequence[Typed]) -> Typed | None:
    keys, values = cast_to_common(casts, arguments[::2]), cast_to_common(casts, arguments[1::2])
    if keys is None or values is None or len(keys) != len(values):
        return None
    if keys[0].type == t.VOID or t.has_float(keys[0].type) or pa.types.is_nested(keys[0].type):
        return None
    pairs = [part for pair in zip(keys, values, strict=True) for part in pair]
    return call("map_of", t.map_of(keys[0].type, values[0].type), *pairs, can_fail=True)


def _map_from_arrays(_: Casts, arguments: Sequence[Typed]) -> Typed | None:
    keys, values = arguments
    if t.has_float(keys.type) or keys.type.value_type == t.VOID:
        return None
    kind = t.map_of(keys.type.value_type, values.type.value_type)
    return call("map_from_arrays", kind, keys, values, can_fail=True)


def _map_concat(casts: Casts, arguments: Sequence[Typed]) -> Typed | None:
    maps = cast_to_common(casts, arguments)
    if maps is None or t.has_float(maps[0].type.key_type):
        return None
    return call("map_concat", maps[0].type, *maps, can_fail=True)


def struct_of(names: Sequence[str], values: Sequence[Typed]) -> Typed:
    """Return a struct with named fields."""
    kind = pa.struct([pa.field(n, v.type) for n, v in zip(names, values, strict=True)])
    return call("struct", kind, *values)


def zip_arrays(names: Sequence[str], values: Sequence[Typed]) -> Typed | None:
    """Return an array of structs of the elements at the same position."""
    if not all(t.is_array(value.type) and value.type.value_type != t.VOID for value in values):
        return None
    fields = [pa.field(n, v.type.value_type) for n, v in zip(names, values, strict=True)]
    return call("arrays_zip", t.array_of(pa.struct(fields)), *values)


def _map_entries(_: Casts, arguments: Sequence[Typed]) -> Typed:
    kind = arguments[0].type
    entry = pa.struct([pa.field("key", kind.key_type), pa.field("value", kind.item_type)])
    return call("map_entries", t.array_of(entry), *arguments)


def _map_from_entries(_: Casts, arguments: Sequence[Typed]) -> Typed | None:
    entry = arguments[0].type.value_type
    if not pa.types.is_struct(entry) or entry.num_fields != 2:  # noqa: PLR2004
        return None
    key, value = (field.type for field in entry)
    if key == t.VOID or t.has_float(key) or pa.types.is_nested(key):
        return None
    return call("map_from_entries", t.map_of(key, value), *arguments, can_fail=True)


def _named_struct(_: Casts, arguments: Sequence[Typed]) -> Typed | None:
    names, values = arguments[::2], arguments[1::2]
    if len(names) != len(values) or not all(name.is_text() for name in names):
        return None
    return struct_of([name.value for name in names], values)


def element(casts: Casts, value: Typed, key: Typed, *, soft: bool = False) -> Typed | None:
    """Compile `value[key]`: the element of an array, from 0, or the value of a map."""
    if t.is_array(value.type):
        place = casts.cast(key, t.INT) if t.is_integer(key.type) else None
        if place is None:
            return None
        soft = soft or not casts.ansi
        parameters = ("soft",) if soft else ()
        kind = value.type.value_type
        return call("element", kind, value, place, parameters=parameters, can_fail=not soft)
    if pa.types.is_map(value.type):
        return _map_value(casts, [value, key])
    return None


def _map_value(casts: Casts, arguments: Sequence[Typed]) -> Typed | None:
    value, key = arguments
    if not pa.types.is_map(value.type) or t.has_float(value.type.key_type):
        return None
    if t.common_type(value.type.key_type, key.type) != value.type.key_type:
        return None
    cast = casts.widen(key, value.type.key_type)
    return None if cast is None else call("map_value", value.type.item_type, value, cast)


def _map_has(_: Casts, arguments: Sequence[Typed]) -> Typed | None:
    value, key = arguments
    if value.type.key_type != key.type or t.has_float(key.type):
        return None
    return call("map_has", t.BOOLEAN, value, key)


def _element_at(*, soft: bool) -> Build:
    def build(casts: Casts, arguments: Sequence[Typed]) -> Typed | None:
        array, place = arguments
        lenient = soft or not casts.ansi
        parameters = ("soft",) if lenient else ()
        kind = array.type.value_type
        return call("element_at", kind, array, place, parameters=parameters, can_fail=True)

    return build


def _sorted(casts: Casts, arguments: Sequence[Typed]) -> Typed | None:
    up = len(arguments) == 1 or arguments[1].value
    parameters = ("up", "first") if up else ("down", "last")
    return _exact(lambda _, a: call("array_sort", a[0].type, a[0], parameters=parameters))(
        casts, arguments
    )


def _concat(casts: Casts, arguments: Sequence[Typed]) -> Typed | None:
    arrays = cast_to_common(casts, arguments)
    if arrays is None or not t.is_array(arrays[0].type):
        return None
    return call("array_concat", arrays[0].type, *arrays)


def _repeat(_: Casts, arguments: Sequence[Typed]) -> Typed:
    return call("array_repeat", t.array_of(arguments[0].type), *arguments)


def _flatten(_: Casts, arguments: Sequence[Typed]) -> Typed | None:
    inner = arguments[0].type.value_type
    return call("array_flatten", inner, *arguments) if t.is_array(inner) else None


def _add(kernel: str) -> Build:
    def build(casts: Casts, arguments: Sequence[Typed]) -> Typed | None:
        widened = _with_common_element(casts, *arguments)
        if widened is None:
            return None
        kind, array, value = widened
        return call(kernel, t.array_of(kind), array, value)

    return build


def _insert(casts: Casts, arguments: Sequence[Typed]) -> Typed | None:
    widened = _with_common_element(casts, arguments[0], arguments[2])
    if widened is None:
        return None
    kind, array, value = widened
    return call("array_insert", t.array_of(kind), array, arguments[1], value, can_fail=True)


def _sequence(casts: Casts, arguments: Sequence[Typed]) -> Typed | None:
    values = cast_to_common(casts, arguments)
    if values is None or not t.is_integer(values[0].type):
        return None
    return call("integer_sequence", t.array_of(values[0].type), *values, can_fail=True)


def _date_sequence(_: Casts, arguments: Sequence[Typed]) -> Typed | None:
    """Compile a sequence of dates by months or days; without a step, by one day either way."""
    start, stop, *steps = arguments
    if (start.type, stop.type) != (t.DATE, t.DATE):
        return None
    unit, count = "day", "any"
    if steps:
        months, number = steps[0].type.has_months, steps[0].value
        if number == 0 or (not months and number % _DAY_US):
            return None
        unit, count = ("month", str(number)) if months else ("day", str(number // _DAY_US))
    kind = t.array_of(t.DATE)
    return call("date_sequence", kind, start, stop, parameters=(unit, count), can_fail=True)


def _text_to_map(_: Casts, arguments: Sequence[Typed]) -> Typed | None:
    marks = dict(enumerate(argument.value for argument in arguments[1:]))
    between, within = marks.get(0, ","), marks.get(1, ":")
    if len(between) != 1 or len(within) != 1 or set(between + within) & set("\\^$.|?*+()[]{}"):
        return None
    kind = t.map_of(t.STRING, t.STRING)
    return call("text_to_map", kind, arguments[0], parameters=(between, within), can_fail=True)


def _size(casts: Casts, arguments: Sequence[Typed]) -> Typed:
    counted = call("size", t.INT, arguments[0])
    if casts.ansi:
        return counted
    return native("CASE WHEN {0} IS NULL THEN CAST(-1 AS INT) ELSE {0} END", t.INT, counted)


COLLECTION: list[Entry] = [
    by_rule("array", "", t.array_of(t.VOID), "kernel empty", _empty_array),
    by_rule("array", "ANY...", t.array_of(t.VOID), "kernel array", _array),
    by_rule("map", "ANY...", t.VOID, "kernel map_of", _map),
    by_rule("named_struct", "ANY...", t.VOID, "kernel struct", _named_struct),
    by_kernel("array_size", "ARRAY", t.INT, "size"),
    *(by_rule(n, "ARRAY", t.INT, "kernel size", _size) for n in ("size", "cardinality")),
    *(by_rule(n, "MAP", t.INT, "kernel size", _size) for n in ("size", "cardinality")),
    by_rule("element_at", "ARRAY INT", _element, "kernel element_at", _element_at(soft=False)),
    by_rule("try_element_at", "ARRAY INT", _element, "kernel element_at", _element_at(soft=True)),
    *(by_rule(n, "MAP ANY", _element, "kernel map_value", _map_value)
      for n in ("element_at", "try_element_at")),
    by_rule("get", "ARRAY INT", _element, "kernel element",
            lambda c, a: element(c, a[0], a[1], soft=True)),
    by_rule("map_contains_key", "MAP ANY", t.BOOLEAN, "kernel map_has", _map_has),
    by_kernel("map_keys", "MAP", lambda types: t.array_of(types[0].key_type), "map_keys"),
    by_kernel("map_values", "MAP", lambda types: t.array_of(types[0].item_type), "map_values"),
    by_rule("map_from_arrays", "ARRAY ARRAY", t.VOID, "kernel map_from_arrays", _map_from_arrays),
    by_rule("map_entries", "MAP", t.VOID, "kernel map_entries", _map_entries),
    by_rule("map_from_entries", "ARRAY", t.VOID, "kernel map_from_entries", _map_from_entries),
    by_rule("map_concat", "MAP...", t.VOID, "kernel map_concat", _map_concat),
    by_rule("str_to_map", "STRING [STRING!] [STRING!]", t.VOID, "kernel text_to_map", _text_to_map),
    by_rule("array_contains", "ARRAY ANY", t.BOOLEAN, "kernel array_contains",
            _exact(_with_value("array_contains", t.BOOLEAN))),
    by_rule("array_position", "ARRAY ANY", t.LONG, "kernel array_position",
            _exact(_with_value("array_position", t.LONG))),
    by_rule("array_remove", "ARRAY ANY", first_type, "kernel array_remove",
            _exact(_with_value("array_remove", first_type))),
    by_rule("array_distinct", "ARRAY", first_type, "kernel array_distinct",
            _exact(lambda _, a: call("array_distinct", a[0].type, a[0]))),
    *(by_rule(n, "ARRAY ARRAY", first_type, f"kernel {n}", _exact(_two_arrays(n)))
      for n in ("array_union", "array_intersect", "array_except")),
    by_rule("arrays_overlap", "ARRAY ARRAY", t.BOOLEAN, "kernel arrays_overlap",
            _exact(_two_arrays("arrays_overlap", t.BOOLEAN))),
    by_kernel("array_compact", "ARRAY", first_type, "array_compact"),
    by_kernel("reverse", "ARRAY", first_type, "array_reverse"),
    by_rule("concat", "ARRAY...", first_type, "kernel array_concat", _concat),
    *(by_rule(n, "ARRAY ANY", first_type, f"kernel {n}", _add(n))
      for n in ("array_append", "array_prepend")),
    by_rule("array_insert", "ARRAY INT ANY", first_type, "kernel array_insert", _insert),
    by_rule("array_repeat", "ANY INT", t.VOID, "kernel array_repeat", _repeat),
    by_rule("flatten", "ARRAY", t.VOID, "kernel array_flatten", _flatten),
    by_kernel("slice", "ARRAY INT INT", first_type, "array_slice", can_fail=True),
    by_rule("array_max", "ARRAY", _element, "kernel array_extreme",
            _exact(lambda _, a: call("array_extreme", a[0].type.value_type, a[0],
                                     parameters=("greatest",)))),
    by_rule("array_min", "ARRAY", _element, "kernel array_extreme",
            _exact(lambda _, a: call("array_extreme", a[0].type.value_type, a[0],
                                     parameters=("least",)))),
    by_rule("sort_array", "ARRAY [BOOLEAN!]", first_type, "kernel array_sort", _sorted),
    by_rule("array_sort", "ARRAY", first_type, "kernel array_sort",
            _exact(lambda _, a: call("array_sort", a[0].type, a[0], parameters=("up", "last")))),
    by_kernel("array_join", "ARRAY<STRING> STRING [STRING]", t.STRING, "array_join"),
    by_rule("sequence", "INTEGER INTEGER [INTEGER]", t.VOID, "kernel integer_sequence", _sequence),
    by_rule("sequence", "ANY ANY [INTERVAL!]", t.array_of(t.DATE), "kernel date_sequence",
            _date_sequence),
]  # fmt: skip
