"""Rows in plain Python, to compare as a bag: unordered, with one form for each value."""

import math
from collections import Counter
from collections.abc import Iterable
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any, TypeAlias

Row: TypeAlias = tuple[Any, ...]


def plain(value: Any) -> Any:
    """Return one hashable form for each value, whichever library it comes from."""
    match value:
        case None | bool() | str():
            return value
        case float() if math.isnan(value):
            return "NaN"
        case float() if value == 0:
            return 0.0
        case Decimal():
            return value.normalize() if value else Decimal(0)
        case datetime() if value.tzinfo is not None:
            return ("instant", value.astimezone(UTC).replace(tzinfo=None))
        case dict():
            return ("struct", *((name, plain(part)) for name, part in sorted(value.items())))
        case list() if value and all(isinstance(part, tuple) for part in value):
            return ("map", frozenset((plain(key), plain(item)) for key, item in value))
        case list():
            return ("list", *map(plain, value))
        case _:
            return value


def bag(rows: Iterable[dict[str, Any]], columns: Iterable[str]) -> Counter[Row]:
    """Return how often each row occurs, with its columns in the given order."""
    names = list(columns)
    return Counter(tuple(plain(row[name]) for name in names) for row in rows)
