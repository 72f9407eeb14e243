"""Catalogue of aggregates that are computed from all values of a group at once."""

from collections.abc import Sequence

import pyarrow as pa

from headrace.pipeline.translation import type_rule as t
from headrace.pipeline.translation.cast import Casts
from headrace.pipeline.translation.catalogue.collection import struct_of
from headrace.pipeline.translation.catalogue.over import AggregateEntry, Build, Over, gather
from headrace.pipeline.translation.typed import Typed, call, literal_text


def _plain_number(kind: pa.DataType) -> bool:
    return t.is_integer(kind) or t.is_float(kind)


def _is_share(value: Typed) -> bool:
    kind = value.type.value_type if t.is_array(value.type) else value.type
    if value.is_literal and not (value.value is not None and 0 <= value.value <= 1):
        return False
    return t.is_decimal(kind) or t.is_float(kind) or (value.is_literal and t.is_integer(kind))


def _percentile(casts: Casts, over: Over, arguments: Sequence[Typed]) -> Typed | None:
    value, share = arguments
    return _share_of(casts, over, value, share, "continuous")


def _median(casts: Casts, over: Over, arguments: Sequence[Typed]) -> Typed | None:
    half = Typed("CAST('0.5' AS DOUBLE)", t.DOUBLE, is_literal=True, value=0.5)
    return _share_of(casts, over, arguments[0], half, "continuous")


def _ordered_share(how: str) -> Build:
    """Compile `percentile_cont(p) WITHIN GROUP (ORDER BY value)`."""

    def build(casts: Casts, over: Over, arguments: Sequence[Typed]) -> Typed | None:
        (share,) = arguments
        if over.order is None:
            return None
        value, down = over.order
        if down:  # a share that is counted from the end rounds differently
            return None
        return _share_of(casts, over, value, share, how)

    return build


def _share_of(casts: Casts, over: Over, value: Typed, share: Typed, how: str) -> Typed | None:
    if not _plain_number(value.type) or not _is_share(share) or over.distinct:
        return None
    plain = casts.cast(value, t.DOUBLE) if value.type == t.FLOAT else value
    values = None if plain is None else gather(over, plain)
    if values is None:
        return None
    kind = t.array_of(t.DOUBLE) if t.is_array(share.type) else t.DOUBLE
    return call("percentile", kind, values, share, parameters=(how,), can_fail=True)


def _mode(_: Casts, over: Over, arguments: Sequence[Typed]) -> Typed | None:
    """Compile the most frequent value; the query must say which one of several."""
    if over.order is not None and not arguments:
        value, down = over.order
    elif over.order is None and len(arguments) > 1 and arguments[1].value is True:
        value, down = arguments[0], False
    else:
        return None
    kind = value.type
    if t.has_float(kind) or not t.is_orderable(kind) or over.distinct:
        return None
    values = gather(over, value)
    extreme = "greatest" if down else "least"
    return None if values is None else call("mode", kind, values, parameters=(extreme,))


def _any_value(_: Casts, over: Over, arguments: Sequence[Typed]) -> Typed | None:
    """Compile the first value of all rows, as one Spark task picks it; with groups, Spark sorts."""
    value, *flag = arguments
    is_unproven = over.distinct or over.condition is not None or value.type == t.VOID
    if (
        is_unproven
        or over.in_groups
        or any(not part.is_literal or part.value is None for part in flag)
    ):
        return None
    values = gather(over, value)
    skips = "values" if flag and flag[0].value else "rows"
    return None if values is None else call("first_of", value.type, values, parameters=(skips,))


def _extreme_by(rank: str) -> Build:
    def build(_: Casts, over: Over, arguments: Sequence[Typed]) -> Typed | None:
        value, key, *count = arguments
        if count or over.in_groups:  # for equal keys, Spark takes the last row it reads
            return None
        if over.distinct or not t.is_orderable(key.type) or value.type == t.VOID:
            return None
        if t.is_float(key.type) or t.has_float(value.type) or pa.types.is_nested(value.type):
            return None
        pairs = gather(over, struct_of(["c0", "c1"], [value, key]))
        if pairs is None:
            return None
        return call("extreme_by", value.type, pairs, parameters=(rank,))

    return build


def _collect(*, once: bool) -> Build:
    """Collect all values, or each value once, where their order does not matter."""

    def build(_: Casts, over: Over, arguments: Sequence[Typed]) -> Typed | None:
        (value,) = arguments
        is_unsupported = (
            pa.types.is_nested(value.type) or t.has_float(value.type) or value.type == t.VOID
        )
        if not over.any_order or is_unsupported:
            return None
        values = gather(over, value)
        if values is None:
            return None
        return call("collected", values.type, values, parameters=("once",) if once else ())

    return build


def _list_agg(_: Casts, over: Over, arguments: Sequence[Typed]) -> Typed | None:
    value, *separators = arguments
    separator = separators[0] if separators else literal_text("")
    if over.order is None or value.type != t.STRING or not separator.is_text():
        return None
    key, down = over.order
    if key.text != value.text:  # rows with one key and different texts have no fixed order
        return None
    values = gather(over, value)
    if values is None:
        return None
    parameters = (separator.value, "down" if down else "up")
    return call("joined_texts", t.STRING, values, parameters=parameters)


def _bitmap(kernel: str, kind: pa.DataType, *parameters: str) -> Build:
    def build(_: Casts, over: Over, arguments: Sequence[Typed]) -> Typed | None:
        (value,) = arguments
        if value.type != kind:
            return None
        values = gather(Over(condition=over.condition, window=over.window), value)
        if values is None:
            return None
        return call(kernel, t.BINARY, values, parameters=parameters, can_fail=True)

    return build


def _entry(
    names: str, takes: str, how: str, build: Build, arguments: tuple[int, int, int] = (1, 1, 1)
) -> list[AggregateEntry]:
    least, most, columns = arguments
    sizes = {"least": least, "most": most, "columns": columns}
    return [
        AggregateEntry(name=name, takes=takes, how=how, build=build, **sizes)
        for name in names.split()
    ]


GATHERED = [
    *_entry("any_value", "ANY [TRUE]", "kernel first_of, in the order of the rows", _any_value,
            (1, 2, 1)),
    *_entry("percentile", "INTEGER|FLOATING SHARE", "kernel percentile", _percentile, (2, 2, 1)),
    *_entry("median", "INTEGER|FLOATING", "kernel percentile", _median),
    *_entry("percentile_cont", "SHARE WITHIN GROUP (ORDER BY INTEGER|FLOATING)",
            "kernel percentile", _ordered_share("continuous"), (1, 1, 0)),
    *_entry("percentile_disc", "SHARE WITHIN GROUP (ORDER BY INTEGER|FLOATING)",
            "kernel percentile", _ordered_share("discrete"), (1, 1, 0)),
    *_entry("mode", "ANY TRUE", "kernel mode", _mode, (0, 2, 1)),
    *_entry("max_by", "ANY ANY", "kernel extreme_by, in the order of the rows",
            _extreme_by("greatest"), (2, 3, 2)),
    *_entry("min_by", "ANY ANY", "kernel extreme_by, in the order of the rows",
            _extreme_by("least"), (2, 3, 2)),
    *_entry("listagg string_agg", "STRING [STRING!] WITHIN GROUP (ORDER BY the same)",
            "kernel joined_texts", _list_agg, (1, 2, 1)),
    *_entry("collect_list array_agg", "ANY", "kernel collected; inside a function for which the "
            "order does not matter", _collect(once=False)),
    *_entry("collect_set", "ANY", "kernel collected; inside a function for which the order does "
            "not matter", _collect(once=True)),
    *_entry("bitmap_construct_agg", "BIGINT", "kernel bitmap_of", _bitmap("bitmap_of", t.LONG)),
    *_entry("bitmap_or_agg", "BINARY", "kernel bitmap_merge",
            _bitmap("bitmap_merge", t.BINARY, "or")),
    *_entry("bitmap_and_agg", "BINARY", "kernel bitmap_merge",
            _bitmap("bitmap_merge", t.BINARY, "and")),
]  # fmt: skip
