"""Catalogue of functions that take lambdas."""

from collections.abc import Callable, Sequence
from typing import TypeAlias

import msgspec
import pyarrow as pa

from headrace.pipeline.translation import type_rule as t
from headrace.pipeline.translation.cast import Casts
from headrace.pipeline.translation.typed import Typed, call, case


class Body(msgspec.Struct, frozen=True, kw_only=True):
    """A compiled lambda."""

    value: Typed
    names: int
    """How many parameters it names."""
    captured: tuple[Typed, ...]
    """What it uses from the enclosing query."""


Compile: TypeAlias = Callable[[int, Sequence[pa.DataType]], Body]
"""Compiles the lambda at a position of the call, given the types of its parameters."""
Build: TypeAlias = Callable[[Casts, Sequence[Typed], Compile, int], Typed | None]
"""Builds the expression from the plain arguments, the lambdas, and the number of lambdas."""


class HigherOrderEntry(msgspec.Struct, frozen=True, kw_only=True):
    """A function that takes lambdas."""

    name: str
    takes: str
    how: str
    build: Build


def _with_body(kernel: str, kind: pa.DataType, body: Body, *values: Typed) -> Typed:
    arguments = (*values, *body.captured)
    can_fail = body.value.can_fail
    return call(kernel, kind, *arguments, parameters=(body.value.text,), can_fail=can_fail)


def _is_one_array(values: Sequence[Typed], count: int) -> bool:
    return len(values) == 1 and count == 1 and t.is_array(values[0].type)


def _map_and_body(
    values: Sequence[Typed], compile_: Compile, count: int
) -> tuple[Typed, Body] | None:
    """Compile a lambda over the entries of a map; None if the call has other arguments."""
    if len(values) != 1 or count != 1 or not pa.types.is_map(values[0].type):
        return None
    kind = values[0].type
    return values[0], compile_(0, (kind.key_type, kind.item_type))


def _is_key(kind: pa.DataType) -> bool:
    return not (kind == t.VOID or t.has_float(kind) or pa.types.is_nested(kind))


def _transform(_: Casts, values: Sequence[Typed], compile_: Compile, count: int) -> Typed | None:
    if not _is_one_array(values, count):
        return None
    (array,) = values
    body = compile_(0, (array.type.value_type, t.INT))
    if body.value.type == t.VOID:
        return None
    return _with_body("transform", t.array_of(body.value.type), body, array)


def _test(kernel: str, gives: pa.DataType | None, *, with_place: bool) -> Build:
    """Return the build of a function whose body is a condition on elements."""

    def build(_: Casts, values: Sequence[Typed], compile_: Compile, count: int) -> Typed | None:
        if not _is_one_array(values, count):
            return None
        (array,) = values
        element = array.type.value_type
        body = compile_(0, (element, t.INT) if with_place else (element,))
        if body.value.type != t.BOOLEAN:
            return None
        return _with_body(kernel, gives or array.type, body, array)

    return build


def _aggregate(_: Casts, values: Sequence[Typed], compile_: Compile, count: int) -> Typed | None:
    if len(values) != 2 or count > 2 or not t.is_array(values[0].type):  # noqa: PLR2004
        return None
    array, start = values
    merge = compile_(0, (start.type, array.type.value_type))
    if merge.value.type != start.type:
        return None
    total = _with_body("fold", start.type, merge, array, start)
    if count == 1:
        return total
    finish = compile_(1, (start.type,))
    if finish.value.type == t.VOID:
        return None
    last = _with_body("apply", finish.value.type, finish, total)
    return case(last.type, (f"{array.text} IS NOT NULL", last.text), can_fail=last.can_fail)


def _zip_with(_: Casts, values: Sequence[Typed], compile_: Compile, count: int) -> Typed | None:
    if len(values) != 2 or count != 1 or not all(t.is_array(v.type) for v in values):  # noqa: PLR2004
        return None
    body = compile_(0, [value.type.value_type for value in values])
    if body.value.type == t.VOID:
        return None
    return _with_body("zip_with", t.array_of(body.value.type), body, *values)


def _sort(_: Casts, values: Sequence[Typed], compile_: Compile, count: int) -> Typed | None:
    if not _is_one_array(values, count):
        return None
    (array,) = values
    body = compile_(0, (array.type.value_type, array.type.value_type))
    if body.value.type != t.INT or body.names != 2:  # noqa: PLR2004
        return None
    result = _with_body("array_sort_by", array.type, body, array)
    return msgspec.structs.replace(result, can_fail=True)


def _map_filter(_: Casts, values: Sequence[Typed], compile_: Compile, count: int) -> Typed | None:
    compiled = _map_and_body(values, compile_, count)
    if compiled is None or compiled[1].value.type != t.BOOLEAN:
        return None
    entries, body = compiled
    return _with_body("map_filter", entries.type, body, entries)


def _transform_values(
    _: Casts, values: Sequence[Typed], compile_: Compile, count: int
) -> Typed | None:
    compiled = _map_and_body(values, compile_, count)
    if compiled is None or compiled[1].value.type == t.VOID:
        return None
    entries, body = compiled
    kind = t.map_of(entries.type.key_type, body.value.type)
    return _with_body("transform_values", kind, body, entries)


def _transform_keys(
    _: Casts, values: Sequence[Typed], compile_: Compile, count: int
) -> Typed | None:
    compiled = _map_and_body(values, compile_, count)
    if compiled is None or not _is_key(compiled[1].value.type):
        return None
    entries, body = compiled
    kind = t.map_of(body.value.type, entries.type.item_type)
    result = _with_body("transform_keys", kind, body, entries)
    return msgspec.structs.replace(result, can_fail=True)


def _map_zip_with(_: Casts, values: Sequence[Typed], compile_: Compile, count: int) -> Typed | None:
    if len(values) != 2 or count != 1 or not all(pa.types.is_map(v.type) for v in values):  # noqa: PLR2004
        return None
    left, right = (value.type for value in values)
    if left.key_type != right.key_type or not _is_key(left.key_type):
        return None
    body = compile_(0, (left.key_type, left.item_type, right.item_type))
    if body.value.type == t.VOID:
        return None
    kind = t.map_of(left.key_type, body.value.type)
    return _with_body("map_zip_with", kind, body, *values)


def _entry(names: str, takes: str, kernel: str, build: Build) -> list[HigherOrderEntry]:
    how = f"kernel {kernel}"
    return [
        HigherOrderEntry(name=name, takes=takes, how=how, build=build) for name in names.split()
    ]


_ENTRIES = [
    *_entry("transform", "ARRAY (x, [i]) -> ANY", "transform", _transform),
    *_entry("filter", "ARRAY (x, [i]) -> BOOLEAN", "filter_array",
            _test("filter_array", None, with_place=True)),
    *_entry("exists", "ARRAY x -> BOOLEAN", "exists",
            _test("exists", t.BOOLEAN, with_place=False)),
    *_entry("forall", "ARRAY x -> BOOLEAN", "forall",
            _test("forall", t.BOOLEAN, with_place=False)),
    *_entry("aggregate reduce", "ARRAY ANY (a, x) -> ANY [a -> ANY]", "fold", _aggregate),
    *_entry("zip_with", "ARRAY ARRAY (x, y) -> ANY", "zip_with", _zip_with),
    *_entry("array_sort", "ARRAY (x, y) -> INT", "array_sort_by", _sort),
    *_entry("map_filter", "MAP (k, v) -> BOOLEAN", "map_filter", _map_filter),
    *_entry("transform_keys", "MAP (k, v) -> ANY", "transform_keys", _transform_keys),
    *_entry("transform_values", "MAP (k, v) -> ANY", "transform_values", _transform_values),
    *_entry("map_zip_with", "MAP MAP (k, v, w) -> ANY", "map_zip_with", _map_zip_with),
]  # fmt: skip
HIGHER_ORDER: dict[str, HigherOrderEntry] = {entry.name: entry for entry in _ENTRIES}
