"""The bounds of partition columns over many entries, compared by the declared types.

A column with a value that is not of its type gets no bounds, and so does one whose type has no
order: nothing is ever pruned by what cannot be compared.
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
        """Take the partition values of one entry; a missing key is null."""
        for name, column in self._columns.items():
            column.add(values.get(name))

    def bounds(self) -> dict[str, PartitionBounds]:
        """Return what is known of each column."""
        built = {name: column.bounds() for name, column in self._columns.items()}
        return {name: bounds for name, bounds in built.items() if bounds is not None}


def merge_bounds(
    parts: Iterable[Mapping[str, PartitionBounds] | None], types: Mapping[str, DataType]
) -> dict[str, PartitionBounds] | None:
    """Return the bounds of several blocks or manifests taken together.

    None if one of the parts has no bounds: then nothing is known of the whole. A column whose
    bounds are unknown in one part, or come from another writer, has no bounds in the whole.
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
    """Return the place of an entry in partition order: typed, in the order of the spec.

    Nulls come first, then values, then NaN, then what is not of its type.
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

    def merge(self, other: PartitionBounds | None) -> None:
        if other is None or other.contains_null is None:
            # Other writers order texts: their bounds need not enclose the typed values.
            self._is_known = False
            return
        for text in (other.min, other.max):
            if text is not None:
                self.add(text)
        self._contains_null = _either(self._contains_null, other.contains_null)
        self._contains_nan = _either(self._contains_nan, other.contains_nan)

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
    """Whether one of two is so; null where that is not known."""
    if first or second:
        return True
    return None if first is None or second is None else False
