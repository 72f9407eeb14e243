"""Types that only expressions have: intervals, times of day and variants.

DataFusion sees a number, or the JSON text of a variant. They are never columns of a view: Delta
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
        """Whether it counts months, not microseconds."""
        return self.fields == MONTH_FIELDS

    def covers(self, field: str) -> bool:
        """Whether a field is in its range."""
        if field not in self.fields:
            return False
        place = self.fields.index
        return place(self.first) <= place(field) <= place(self.last)

    def __arrow_ext_serialize__(self) -> bytes:
        """What tells two of them apart."""
        return f"{self.first} {self.last}".encode()

    @classmethod
    def __arrow_ext_deserialize__(cls, storage: pa.DataType, serialized: bytes) -> "Interval":
        """Read what `__arrow_ext_serialize__` wrote."""
        del storage
        return cls(*serialized.decode().split())

    def __eq__(self, other: object) -> bool:
        """Whether both have the same fields."""
        return isinstance(other, Interval) and str(self) == str(other)

    def __hash__(self) -> int:
        """Agree with `__eq__`: types are keys of sets here."""
        return hash(str(self))

    def __str__(self) -> str:
        """What Spark calls it."""
        last = "" if self.first == self.last else f" TO {self.last}"
        return f"INTERVAL {self.first}{last}"


class TimeOfDay(pa.ExtensionType):  # type: ignore[misc]  # pyarrow has no types
    """TIME, which Spark has by default only as a literal: microseconds since midnight."""

    def __init__(self) -> None:
        """Take nothing: there is one."""
        super().__init__(pa.int64(), "headrace.time_of_day")

    def __arrow_ext_serialize__(self) -> bytes:
        """There is nothing to tell apart."""
        return b""

    @classmethod
    def __arrow_ext_deserialize__(cls, storage: pa.DataType, serialized: bytes) -> "TimeOfDay":
        """There is nothing to read."""
        del storage, serialized
        return cls()

    def __hash__(self) -> int:
        """All are equal."""
        return hash(str(self))

    def __eq__(self, other: object) -> bool:
        """All are equal."""
        return isinstance(other, TimeOfDay)

    def __str__(self) -> str:
        """What Spark calls it."""
        return "TIME"


class Variant(pa.ExtensionType):  # type: ignore[misc]  # pyarrow has no types
    """VARIANT, as JSON text."""

    def __init__(self) -> None:
        """Take nothing: there is one."""
        super().__init__(pa.string(), "headrace.variant")

    def __arrow_ext_serialize__(self) -> bytes:
        """There is nothing to tell apart."""
        return b""

    @classmethod
    def __arrow_ext_deserialize__(cls, storage: pa.DataType, serialized: bytes) -> "Variant":
        """There is nothing to read."""
        del storage, serialized
        return cls()

    def __hash__(self) -> int:
        """All are equal."""
        return hash(str(self))

    def __eq__(self, other: object) -> bool:
        """All are equal."""
        return isinstance(other, Variant)

    def __str__(self) -> str:
        """What Spark calls it."""
        return "VARIANT"


TIME_OF_DAY = TimeOfDay()
VARIANT = Variant()
YEAR_TO_MONTH = Interval("YEAR", "MONTH")
DAY_TO_SECOND = Interval("DAY", "SECOND")
DAY = Interval("DAY", "DAY")


def wider(left: Interval, right: Interval) -> Interval | None:
    """The interval for the values of two; None if one counts months and the other does not."""
    if left.fields != right.fields:
        return None
    place = left.fields.index
    return Interval(min(left.first, right.first, key=place), max(left.last, right.last, key=place))


def carrier(kind: pa.DataType) -> pa.DataType:
    """The type in which DataFusion carries values of a type."""
    return kind.storage_type if isinstance(kind, Interval | TimeOfDay | Variant) else kind


def has_no_column(kind: pa.DataType) -> bool:
    """Whether a type is one that only expressions have, or has one inside."""
    if pa.types.is_nested(kind):
        return any(has_no_column(kind.field(i).type) for i in range(kind.num_fields))
    return isinstance(kind, Interval | TimeOfDay | Variant)
