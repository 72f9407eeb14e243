"""Prune the manifests and blocks of a state by their partition bounds.

Bounds are compared by the declared types. Other writers compare text in UTF-16 order; their bounds
are used only where both orders agree. All known writers format dates as `yyyy-MM-dd`.
"""

import re
from collections.abc import Mapping, Sequence

import msgspec
import pyarrow as pa

from headrace.errors import PartitionValueError
from headrace.expr.evaluate import Bounds, evaluate
from headrace.expr.node import BoundColumn, BoundPredicate
from headrace.protocol import light
from headrace.protocol.arrow_schema import arrow_type
from headrace.protocol.schema import DataType, PrimitiveType
from headrace.protocol.state import PartitionBounds
from headrace.protocol.value import FLOATS, PartitionValue, is_ordered, typed_value
from headrace.replay.skipping import split_predicate

_FIRST_SURROGATE = "\ud800"
_PLAIN_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}", re.ASCII)


def parts_to_read(
    predicate: BoundPredicate | None, parts: Sequence[Mapping[str, PartitionBounds] | None]
) -> list[bool]:
    """Return whether each part may have a file that the predicate does not exclude."""
    by_partition = None if predicate is None else split_predicate(predicate).by_partition
    if by_partition is None or not parts:
        return [True] * len(parts)
    may_match: list[bool] = evaluate(by_partition, _PartEvidence(parts)).can_be_true.to_pylist()
    return may_match


class _PartEvidence(msgspec.Struct, frozen=True):
    """The bounds of partition columns, one entry for each part."""

    parts: Sequence[Mapping[str, PartitionBounds] | None]

    def __len__(self) -> int:
        return len(self.parts)

    def bounds(self, column: BoundColumn) -> Bounds:
        name, kind = column.physical_path[0], column.type
        known = [
            _column_range(None if part is None else part.get(name), kind) for part in self.parts
        ]
        target = arrow_type(kind) if is_ordered(kind) else pa.string()
        return Bounds(
            lower=light.array([bounds.lower for bounds in known], target),
            upper=light.array([bounds.upper for bounds in known], target),
            may_be_null=light.array([bounds.may_be_null for bounds in known], pa.bool_()),
            may_be_value=light.array([bounds.may_be_value for bounds in known], pa.bool_()),
            may_be_nan=light.array([bounds.may_be_nan for bounds in known], pa.bool_())
            if kind in FLOATS
            else None,
        )


class _ColumnRange(msgspec.Struct, frozen=True, kw_only=True):
    """The values that one column can have in one part."""

    lower: PartitionValue = None
    upper: PartitionValue = None
    may_be_null: bool = True
    may_be_value: bool = True
    may_be_nan: bool = True


def _column_range(bounds: PartitionBounds | None, kind: DataType) -> _ColumnRange:
    if bounds is None or not is_ordered(kind):
        return _ColumnRange()
    may_be_null = bounds.contains_null is not False
    may_be_nan = bounds.contains_nan is not False
    if bounds.min is None or bounds.max is None:
        # A writer of null flags omits both bounds only if all values are null or NaN.
        has_none = bounds.min is None and bounds.max is None and bounds.contains_null is not None
        return _ColumnRange(
            may_be_null=may_be_null, may_be_value=not has_none, may_be_nan=may_be_nan
        )
    if bounds.contains_null is None and not _is_ordered_as_text(bounds.min, bounds.max, kind):
        return _ColumnRange(may_be_nan=may_be_nan)
    try:
        lower = typed_value(bounds.min, kind, column="")
        upper = typed_value(bounds.max, kind, column="")
    except PartitionValueError:
        return _ColumnRange()
    if lower is None or upper is None or not lower <= upper:  # type: ignore[operator]
        return _ColumnRange()  # null, NaN or reversed: no such bounds are ever written
    return _ColumnRange(lower=lower, upper=upper, may_be_null=may_be_null, may_be_nan=may_be_nan)


def _is_ordered_as_text(least: str, greatest: str, kind: DataType) -> bool:
    """Return whether bounds of the text are also bounds of the typed values."""
    if least == greatest:
        return True
    match kind:
        case PrimitiveType("string"):
            return all(letter < _FIRST_SURROGATE for letter in least + greatest)
        case PrimitiveType("date"):
            return all(_PLAIN_DATE.fullmatch(text) for text in (least, greatest))
        case _:
            return False
