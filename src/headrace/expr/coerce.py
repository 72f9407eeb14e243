"""Convert literals to values of a column's type, so that comparisons agree with Spark.

Spark widens both sides to a common type and compares there. This module converts the literal to
the column's own type instead: exactly, as the nearest column values (a `Fit`).
"""

from collections.abc import Callable
from datetime import UTC, date, datetime, time, timedelta, timezone, tzinfo
from decimal import Decimal
from math import isinf, isnan

import msgspec

from headrace.expr.decimal_type import rounded, rounded_literal
from headrace.expr.node import Value
from headrace.protocol.cast import (
    UnrepresentableError,
    as_instant,
    from_unscaled,
    parse_boolean,
    parse_date,
    parse_float,
    parse_integer,
    parse_timestamp,
    unscaled,
)
from headrace.protocol.schema import DataType, DecimalType, PrimitiveType
from headrace.protocol.value import integer_range, single

_LONG = integer_range("long")
_DAY = timedelta(days=1)


class Fit(msgspec.Struct, frozen=True):
    """The position of a literal among the values of a column's type.

    `least` is the least value that is not below the literal, `greatest` the greatest that is
    not above it; None if the type has no such value. They are equal if the type can hold the
    literal itself. If no value equals the literal, `least` is above `greatest`; if several do
    (because they become the same double), it is below.
    """

    least: Value
    greatest: Value

    @property
    def is_exact(self) -> bool:
        """Whether exactly one value of the type equals the literal."""
        return self.least is not None and self._same

    @property
    def is_empty(self) -> bool:
        """Whether no value of the type equals the literal."""
        if self.least is None or self.greatest is None:
            return True
        return not self._same and self.least > self.greatest  # type: ignore[operator]

    @property
    def _same(self) -> bool:
        return self.least is self.greatest or self.least == self.greatest


def fit(
    value: Value, data_type: DataType, *, zone: tzinfo | None = UTC, round_to: int | None = None
) -> Fit | None:
    """Find the position of a non-null literal; None if Spark would cast the column.

    Args:
        value: The literal.
        data_type: The type of the column.
        zone: The time zone of timestamps without one; None if unknown.
        round_to: The scale to which Spark rounds both sides before it compares them, if they are
            exact numbers; None if it does not round.

    Raises:
        UnrepresentableError: the literal is legal, but no Python value can hold it.
        ValueError: a string cannot be parsed as the column's type.
        TypeError: Spark does not compare such a literal with the column.
    """
    match data_type:
        case PrimitiveType("string"):
            return Fit(value, value) if isinstance(value, str) else None
        case PrimitiveType("boolean"):
            return _exact(_boolean(value))
        case PrimitiveType("float"):
            return _fit_float(value)
        case PrimitiveType("double"):
            return _exact(as_double(value))
        case PrimitiveType("date"):
            return _fit_date(value, zone)
        case PrimitiveType("timestamp"):
            return _exact(instant(_moment(value), zone))
        case PrimitiveType("timestamp_ntz"):
            return _exact(_wall_time(value, zone))
        case PrimitiveType("byte" | "short" | "integer" | "long" as name):
            return _fit_number(_whole(value), Grid(*integer_range(name), scale=0, of=int), round_to)
        case DecimalType(precision, scale):
            # Here Spark parses a string as a double, not as a decimal.
            number = parse_float(value) if isinstance(value, str) else value
            most = 10**precision - 1
            grid = Grid(-most, most, scale, of=lambda units: from_unscaled(units, scale=scale))
            return _fit_number(number, grid, round_to)
        case _:
            raise TypeError(f"{data_type} is not compared")


def instant(moment: datetime, zone: tzinfo | None) -> datetime:
    """Convert a timestamp to UTC; one without a zone is in `zone`.

    Raises:
        UnrepresentableError: no zone is known, or the result is out of Python's range.
    """
    if moment.tzinfo is None:
        if zone is None:
            raise UnrepresentableError(f"{moment} depends on the session's time zone")
        moment = moment.replace(tzinfo=zone)
    return as_instant(moment)


def as_double(value: Value) -> float:
    """Convert a literal to a double, the common type of a double and any other number."""
    match value:
        case bool():
            raise TypeError("a boolean is not a number")
        case str():
            return parse_float(value)
        case int() | float() | Decimal():
            return float(value)
        case _:
            raise TypeError(f"{value!r} is not a number")


class Grid(msgspec.Struct, frozen=True):
    """The values of a type as whole units of `10**-scale`, from `least` to `greatest`."""

    least: int
    greatest: int
    scale: int
    of: Callable[[int], Value]

    def as_double(self, units: int) -> float:
        """Return the value of `units` as a double, rounded as Spark rounds it."""
        return float(units / 10**self.scale)


def _exact(value: Value) -> Fit:
    return Fit(value, value)


def _boolean(value: Value) -> bool:
    if isinstance(value, bool):
        return value
    if isinstance(value, str):
        return parse_boolean(value)
    raise TypeError(f"{value!r} is not a boolean")


def _fit_float(value: Value) -> Fit | None:
    number = as_double(value)
    match value:
        case str() if not isnan(number) and single(number) != number:
            return None  # Spark parses such a string differently with and without ANSI mode
        case int() if _LONG[0] <= value <= _LONG[1] and single(number) != value:
            return None  # both sides become doubles in ANSI mode, floats without it
        case _:
            return _exact(number)


def _whole(value: Value) -> Value:
    if not isinstance(value, str):
        return value
    number = parse_integer(value)
    if not _LONG[0] <= number <= _LONG[1]:
        raise ValueError(f"{value!r} is not a long")
    return number


def _fit_number(value: Value, grid: Grid, round_to: int | None) -> Fit | None:
    match value:
        case bool():
            raise TypeError("a boolean is not a number")
        case int() | Decimal() if round_to is not None:
            return _fit_rounded(value, grid, round_to)
        case int():
            units = value * 10**grid.scale
            return _on_grid(units, units, grid)
        case Decimal():
            units, exact = unscaled(value, scale=grid.scale)
            return _on_grid(units if exact else units + 1, units, grid)
        case float() if isnan(value) or isinf(value):
            above = isnan(value) or value > 0
            return _on_grid(grid.greatest + 1, grid.greatest, grid) if above else _below(grid)
        case float():
            least = _first(grid, lambda units: grid.as_double(units) >= value)
            return _on_grid(least, _first(grid, lambda u: grid.as_double(u) > value) - 1, grid)
        case _:
            raise TypeError(f"{value!r} is not a number")


def _fit_rounded(value: int | Decimal, grid: Grid, scale: int) -> Fit | None:
    target = rounded_literal(value, scale=scale)
    if target is None:
        return None
    if scale >= grid.scale:
        return _fit_number(from_unscaled(target, scale=scale), grid, None)
    digits = grid.scale - scale
    least = _first(grid, lambda units: rounded(units, digits=digits) >= target)
    return _on_grid(least, _first(grid, lambda u: rounded(u, digits=digits) > target) - 1, grid)


def _on_grid(least: int, greatest: int, grid: Grid) -> Fit:
    return Fit(
        None if least > grid.greatest else grid.of(max(least, grid.least)),
        None if greatest < grid.least else grid.of(min(greatest, grid.greatest)),
    )


def _below(grid: Grid) -> Fit:
    return _on_grid(grid.least, grid.least - 1, grid)


def _first(grid: Grid, holds: Callable[[int], bool]) -> int:
    """Return the first number of units for which a monotonic condition holds (binary search)."""
    low, high = grid.least, grid.greatest + 1
    while low < high:
        middle = (low + high) // 2
        if holds(middle):
            high = middle
        else:
            low = middle + 1
    return low


def _fit_date(value: Value, zone: tzinfo | None) -> Fit:
    if isinstance(value, str):
        return _exact(parse_date(value))
    if not isinstance(value, datetime):
        return _exact(_moment(value).date())
    day, begins = value.date(), time()
    if value.tzinfo is None:
        start, moment = datetime.combine(day, begins), value
    else:
        moment = as_instant(value)
        if zone is None:
            raise UnrepresentableError("the start of a day depends on the session's time zone")
        day = _in_zone(moment, zone).date()
        # Some zones set clocks forward at midnight: then the day begins later.
        start = instant(datetime.combine(day, begins), zone)
    if start == moment:
        return _exact(day)
    if day in (date.min, date.max):
        raise UnrepresentableError(f"there is no day before or after {day}")
    return Fit(day + _DAY, day) if start < moment else Fit(day, day - _DAY)


def _moment(value: Value) -> datetime:
    match value:
        case datetime():
            return value
        case date():
            return datetime.combine(value, time())
        case str():
            return parse_timestamp(value)
        case _:
            raise TypeError(f"{value!r} is not a time")


def _wall_time(value: Value, zone: tzinfo | None) -> datetime:
    """Return the wall-clock time in the zone; as in Spark, the zone of a string is ignored.

    Raises:
        UnrepresentableError: the zone is unknown, or has skipped or repeated wall-clock times.
    """
    moment = _moment(value)
    if isinstance(value, str) or moment.tzinfo is None:
        return moment.replace(tzinfo=None)
    if not isinstance(zone, timezone):
        raise UnrepresentableError("the session's time zone skips and repeats wall-clock times")
    return _in_zone(as_instant(moment), zone)


def _in_zone(moment: datetime, zone: tzinfo) -> datetime:
    try:
        return moment.astimezone(zone).replace(tzinfo=None)
    except OverflowError as error:
        raise UnrepresentableError(f"{moment} is outside the range of Python's datetime") from error
