"""Evaluation order of arguments: most Spark functions stop at the first null argument.

An argument that raises for some values is guarded, so that it is evaluated only where Spark
evaluates it. The orders were observed on Spark, function by function.
"""

from collections.abc import Sequence

import msgspec

from headrace.pipeline.translation.typed import Typed, case

EAGER = frozenset(
    {"greatest", "least", "equal_null", "hash", "xxhash64", "format_string", "printf"}
    | {"concat_ws", "array", "map", "array_repeat", "named_struct"}
    | {"coalesce", "ifnull", "nvl", "nvl2", "nullif", "if", "decode"}
)
"""Functions that evaluate every argument, or that decide themselves which they evaluate."""
UNCLEAR = frozenset({"mask", "elt", "map_concat", "time_bucket", "concat"})
"""Functions whose order is unknown, or differs between Spark's execution modes.

An argument that can raise is accepted only where the order does not matter.
"""
_LAST_FIRST = frozenset({"pmod", "mod", "try_mod", "try_divide", "ltrim", "rtrim"})
_LAST_OF_THREE_FIRST = frozenset({"locate", "position", "array_join"})
_LONGEST_GUARD = 20_000


def as_evaluated(name: str, arguments: Sequence[Typed]) -> list[Typed] | None:
    """Return the arguments of a function, guarded; None if the order is unknown and matters."""
    if name in EAGER or not any(argument.can_fail for argument in arguments):
        return list(arguments)
    if name in UNCLEAR:
        matters = any(a.can_fail and _absent(arguments[:n]) for n, a in enumerate(arguments))
        return None if matters else list(arguments)
    places = list(range(len(arguments)))
    if name in _LAST_FIRST or (name in _LAST_OF_THREE_FIRST and len(places) == 3):  # noqa: PLR2004
        places = [places[-1], *places[:-1]]
    guarded = in_order(*(arguments[place] for place in places))
    return [guarded[places.index(place)] for place in range(len(places))]


def in_order(*values: Typed) -> list[Typed]:
    """Guard values so that each is evaluated only where no earlier one is null.

    Next to a null literal nothing is evaluated: Spark sees it before it runs anything.
    """
    nulls = [value for value in values if value.is_null]
    guarded: list[Typed] = []
    for value in values:
        guarded.append(_guarded(value, [*nulls, *guarded]))
    return guarded


def last_first(left: Typed, right: Typed) -> list[Typed]:
    """Guard two values where Spark evaluates the second first."""
    return in_order(right, left)[::-1]


def null_with(value: Typed, *parts: Typed) -> Typed:
    """Mark a value as null exactly where one of its parts is."""
    if any(part.can_fail and part.null_with is None for part in parts):
        return value  # testing the part would evaluate it
    return msgspec.structs.replace(value, null_with=_absent(parts))


def _guarded(value: Typed, before: Sequence[Typed]) -> Typed:
    absent = _absent(before)
    if not value.can_fail or not absent:
        return value
    present = " AND ".join(f"{text} IS NOT NULL" for text in absent)
    if len(present) > _LONGEST_GUARD:
        return value
    guarded = case(value.type, (present, value.text), can_fail=True)
    parts = None if value.null_with is None else tuple(dict.fromkeys((*absent, *value.null_with)))
    return msgspec.structs.replace(guarded, null_with=parts)


def _absent(values: Sequence[Typed]) -> tuple[str, ...]:
    """Return texts such that one is null exactly where one of the values is."""
    texts: dict[str, None] = {}
    for value in values:
        if value.null_with is not None:
            texts.update(dict.fromkeys(value.null_with))
        elif not (value.is_literal and value.value is not None):
            texts[value.text] = None
    return tuple(texts)
