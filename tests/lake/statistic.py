"""File statistics as writers leave them in the log, and what a careful reader may conclude."""

import json
from collections.abc import Sequence
from typing import Any

from tests.lake.action import statistics

_MIN, _GREATEST = -(1 << 63), (1 << 63) - 1


def _bounds(low: Any, high: Any, *, rows: Any = 3, nulls: Any = 0) -> str:
    values = {"minValues": {"id": low}, "maxValues": {"id": high}, "nullCount": {"id": nulls}}
    return json.dumps({"numRecords": rows, **values})


ODD: Sequence[str] = (
    *("", "{", "}", "null", "[]", "{}", "no JSON", '{"numRecords":3}', '"{}"'),
    *('{"numRecords":3,"minValues":5,"maxValues":[],"nullCount":null}', '{"maxValues":{"id":20}}'),
    *(_bounds("1", "9"), _bounds(None, None), _bounds(True, False)),
    *(_bounds(1, 5, rows="3"), _bounds(1, 5, rows=None, nulls=None), _bounds(None, None, nulls=3)),
    *(_bounds(1.5, 5.5), _bounds(0, 1 << 63), _bounds(_MIN, _GREATEST)),
    json.dumps(json.loads(statistics(4, low=5, high=9)), indent=2),
    statistics(4, low=5, high=9).removesuffix("}") + ',"tightBounds":false,"new":{"id":[1]}}',
    statistics(4, low=5, high=9)[:-9],
)
"""Statistics that are incomplete, empty, malformed or of the wrong type.

Contradictory bounds and contradictory null counts are not included: a row group's own bounds would
hide them, and counts are only consulted where bounds are missing.
"""


def parsed(text: str | None) -> dict[str, Any] | None:
    """Return statistics as a checkpoint's typed columns; values of the wrong type become null."""
    try:
        fields = json.loads(text or "")
    except ValueError:
        return None
    if not isinstance(fields, dict):
        return None
    return {
        "numRecords": _integer(fields.get("numRecords")),
        **{kind: _leaf(fields.get(kind)) for kind in ("minValues", "maxValues", "nullCount")},
    }


def may_exceed(text: str | None, bound: int) -> bool:
    """Whether a file with these statistics may hold a row whose `id` is above `bound`."""
    fields = parsed(text)
    if fields is None:
        return True
    high, nulls = ((fields[kind] or {}).get("id") for kind in ("maxValues", "nullCount"))
    if nulls is not None and nulls == fields["numRecords"]:
        return False
    return high is None or bool(high > bound)


def _leaf(values: Any) -> dict[str, int | None] | None:
    return {"id": _integer(values.get("id"))} if isinstance(values, dict) else None


def _integer(value: Any) -> int | None:
    whole = isinstance(value, int) and not isinstance(value, bool)
    return value if whole and _MIN <= value <= _GREATEST else None
