"""Compute the bounds of partition columns over many entries, compared by their declared types.

The partition values of entries, or the bounds of parts, enter; bounds per column leave. A column
has no bounds if one of its values is not of its type, or if its type has no order: values that
cannot be compared never prune anything.
"""

from collections.abc import Iterable, Mapping
from math import isnan

from headrace.errors import PartitionValueError
from headrace.protocol.schema import DataType
from headrace.protocol.state import PartitionBounds
from headrace.protocol.value import PartitionValue, is_ordered, typed_value


class BoundsBuilder:
    """Collects the bounds of the columns of a partition spec, entry by entry."""

    def __init__(self, types: Mapping[str, DataType]) -> None:
        self._columns = {name: _ColumnBounds(name, kind) for name, kind in types.items()}

    def add(self, values: Mapping[str, str | None]) -> None:
        """Add the partition values of one entry; a missing key is null."""
        for name, column in self._columns.items():
            column.add(values.get(name))

    def bounds(self) -> dict[str, PartitionBounds]:
        """Return the bounds of each column that has them."""
        built = {name: column.bounds() for name, column in self._columns.items()}
        return {name: bounds for name, bounds in built.items() if bounds is not None}


def merge_bounds(
    parts: Iterable[Mapping[str, PartitionBounds] | None], types: Mapping[str, DataType]
) -> dict[str, PartitionBounds] | None:
    """Merge the bounds of several blocks or manifests.

    Return None if a part has no bounds: then nothing is known about the whole. A column has no
    merged bounds if a part lacks bounds for it or has those of another writer.
    """
    merged = {name: _ColumnBounds(name, kind) for name, kind in types.items()}
    for part in parts:
        if part is None:
            return None
        for name, column in merged.items():
            column.merge(part.get(name))
    built = {name: column.bounds() for name, column in merged.items()}
    return {name: bounds for name, bounds in built.items() if bounds is not None}


def sort_key(
    values: Mapping[str, str | None], types: Mapping[str, DataType]
) -> tuple[tuple[int, PartitionValue], ...]:
    """Return the sort key of an entry in partition order: typed, in the order of the spec.

    Nulls sort first, then values, then NaN, then values that are not of their type.
    """
    return tuple(_ranked(values.get(name), name, kind) for name, kind in types.items())


def _ranked(text: str | None, name: str, kind: DataType) -> tuple[int, PartitionValue]:
    try:
        value = typed_value(text, kind, column=name) if is_ordered(kind) else text
    except PartitionValueError:
        return 3, text
    if value is None:
        return 0, None
    if isinstance(value, float) and isnan(value):
        return 2, None
    return 1, value


class _ColumnBounds:
    """The running bounds of one column."""

    def __init__(self, name: str, kind: DataType) -> None:
        self._name, self._kind = name, kind
        self._is_known = is_ordered(kind)
        self._seen: set[str | None] = set()
        self._min: tuple[PartitionValue, str] | None = None
        self._max: tuple[PartitionValue, str] | None = None
        self._contains_null: bool | None = False
        self._contains_nan: bool | None = False

    def add(self, text: str | None) -> None:
        if text in self._seen:
            return
        self._seen.add(text)
        try:
            value = typed_value(text, self._kind, column=self._name)
        except PartitionValueError:
            self._is_known = False
            return
        if value is None or text is None:
            self._contains_null = True
        elif isinstance(value, float) and isnan(value):
            self._contains_nan = True
        else:
            self._widen(value, text)

    def merge(self, bounds: PartitionBounds | None) -> None:
        if bounds is None or bounds.contains_null is None:
            # Other writers compare values as strings: their bounds may not enclose typed values.
            self._is_known = False
            return
        for text in (bounds.min, bounds.max):
            if text is not None:
                self.add(text)
        self._contains_null = _either(self._contains_null, bounds.contains_null)
        self._contains_nan = _either(self._contains_nan, bounds.contains_nan)

    def _widen(self, value: PartitionValue, text: str) -> None:
        if not self._is_known:
            return
        if self._min is None or value < self._min[0]:  # type: ignore[operator]
            self._min = value, text
        if self._max is None or value > self._max[0]:  # type: ignore[operator]
            self._max = value, text

    def bounds(self) -> PartitionBounds | None:
        if not self._is_known:
            return None
        return PartitionBounds(
            min=None if self._min is None else self._min[1],
            max=None if self._max is None else self._max[1],
            contains_null=self._contains_null,
            contains_nan=self._contains_nan,
        )


def _either(first: bool | None, second: bool | None) -> bool | None:  # noqa: FBT001
    """Three-valued OR: None if unknown."""
    if first or second:
        return True
    return None if first is None or second is None else False
