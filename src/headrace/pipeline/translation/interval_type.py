"""Types that only expressions have: intervals, times of day and variants.

DataFusion sees an integer, or the JSON text of a variant. They are never columns of a view: Delta
has no such types, or Headrace does not write them.
"""

import pyarrow as pa

MONTH_FIELDS = ("YEAR", "MONTH")
TIME_FIELDS = ("DAY", "HOUR", "MINUTE", "SECOND")


class Interval(pa.ExtensionType):  # type: ignore[misc]  # pyarrow has no types
    """An interval with the fields from `first` to `last`."""

    def __init__(self, first: str, last: str) -> None:
        """Take the names of the fields, in upper case."""
        self.first, self.last = first, last
        self.fields = MONTH_FIELDS if first in MONTH_FIELDS else TIME_FIELDS
        super().__init__(pa.int32() if self.has_months else pa.int64(), "headrace.interval")

    @property
    def has_months(self) -> bool:
        """Return whether it counts months, not microseconds."""
        return self.fields == MONTH_FIELDS

    def covers(self, field: str) -> bool:
        """Return whether a field is in its range."""
        if field not in self.fields:
            return False
        place = self.fields.index
        return place(self.first) <= place(field) <= place(self.last)

    def __arrow_ext_serialize__(self) -> bytes:
        """Return the fields, which distinguish interval types."""
        return f"{self.first} {self.last}".encode()

    @classmethod
    def __arrow_ext_deserialize__(cls, storage: pa.DataType, serialized: bytes) -> "Interval":
        """Decode what `__arrow_ext_serialize__` wrote."""
        del storage
        return cls(*serialized.decode().split())

    def __eq__(self, other: object) -> bool:
        """Return whether both have the same fields."""
        return isinstance(other, Interval) and str(self) == str(other)

    def __hash__(self) -> int:
        """Hash consistently with `__eq__`: types are elements of sets here."""
        return hash(str(self))

    def __str__(self) -> str:
        """Return Spark's name of the type."""
        last = "" if self.first == self.last else f" TO {self.last}"
        return f"INTERVAL {self.first}{last}"


class TimeOfDay(pa.ExtensionType):  # type: ignore[misc]  # pyarrow has no types
    """TIME, which Spark has by default only as a literal: microseconds since midnight."""

    def __init__(self) -> None:
        """Create the type, which has no parameters."""
        super().__init__(pa.int64(), "headrace.time_of_day")

    def __arrow_ext_serialize__(self) -> bytes:
        """Return nothing: the type has no parameters."""
        return b""

    @classmethod
    def __arrow_ext_deserialize__(cls, storage: pa.DataType, serialized: bytes) -> "TimeOfDay":
        """Create the type: there is nothing to decode."""
        del storage, serialized
        return cls()

    def __hash__(self) -> int:
        """Return the same hash for all instances."""
        return hash(str(self))

    def __eq__(self, other: object) -> bool:
        """Return True for all instances."""
        return isinstance(other, TimeOfDay)

    def __str__(self) -> str:
        """Return Spark's name of the type."""
        return "TIME"


class Variant(pa.ExtensionType):  # type: ignore[misc]  # pyarrow has no types
    """VARIANT, as JSON text."""

    def __init__(self) -> None:
        """Create the type, which has no parameters."""
        super().__init__(pa.string(), "headrace.variant")

    def __arrow_ext_serialize__(self) -> bytes:
        """Return nothing: the type has no parameters."""
        return b""

    @classmethod
    def __arrow_ext_deserialize__(cls, storage: pa.DataType, serialized: bytes) -> "Variant":
        """Create the type: there is nothing to decode."""
        del storage, serialized
        return cls()

    def __hash__(self) -> int:
        """Return the same hash for all instances."""
        return hash(str(self))

    def __eq__(self, other: object) -> bool:
        """Return True for all instances."""
        return isinstance(other, Variant)

    def __str__(self) -> str:
        """Return Spark's name of the type."""
        return "VARIANT"


TIME_OF_DAY = TimeOfDay()
VARIANT = Variant()
YEAR_TO_MONTH = Interval("YEAR", "MONTH")
DAY_TO_SECOND = Interval("DAY", "SECOND")
DAY = Interval("DAY", "DAY")


def wider(left: Interval, right: Interval) -> Interval | None:
    """Return the interval that covers two; None if only one of them counts months."""
    if left.fields != right.fields:
        return None
    place = left.fields.index
    return Interval(min(left.first, right.first, key=place), max(left.last, right.last, key=place))


def carrier(kind: pa.DataType) -> pa.DataType:
    """Return the type in which DataFusion stores values of a type."""
    return kind.storage_type if isinstance(kind, Interval | TimeOfDay | Variant) else kind


def has_no_column(kind: pa.DataType) -> bool:
    """Return whether a type exists only in expressions, or contains such a type."""
    if pa.types.is_nested(kind):
        return any(has_no_column(kind.field(i).type) for i in range(kind.num_fields))
    return isinstance(kind, Interval | TimeOfDay | Variant)
