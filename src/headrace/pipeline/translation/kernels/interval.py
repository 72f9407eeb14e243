"""Kernels for intervals, in months as INT or microseconds as BIGINT, and for shifting times."""

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from headrace.pipeline.translation.kernel import KernelCall, kernel
from headrace.pipeline.translation.kernels.row import where_valid
from headrace.pipeline.translation.kernels.time import SparkTimeError, with_months
from headrace.pipeline.translation.kernels.time_part import scaled, unscaled
from headrace.pipeline.translation.kernels.time_zone import (
    local_parts,
    micros_of_parts,
    time_of_parts,
)

_DAY_US = 86_400_000_000
_UNITS_US = {
    "DAY": _DAY_US, "HOUR": 3_600_000_000, "MINUTE": 60_000_000, "SECOND": 1_000_000,
}  # fmt: skip
_WITHIN = {"HOUR": _DAY_US, "MINUTE": 3_600_000_000, "SECOND": 60_000_000}
"""The microseconds of the next larger field, by field."""


def _numbers(values: pa.Array) -> Any:
    return np.asarray(pc.fill_null(values.cast(pa.int64()), 0))


def _fitting(values: pa.Array, kind: pa.DataType) -> pa.Array:
    """Cast numbers to a smaller type; an overflow is an error."""
    try:
        return values.cast(kind)
    except pa.ArrowInvalid as error:
        raise SparkTimeError(f"integer overflow of an interval: {error}") from error


@kernel
def interval_times(call: KernelCall, intervals: pa.Array, counts: pa.Array) -> pa.Array:
    """Multiply an interval by an integer; an overflow is an error."""
    product = pc.multiply_checked(intervals.cast(pa.int64()), counts.cast(pa.int64()))
    return _fitting(product, call.gives)


@kernel
def interval_quotient(call: KernelCall, left: pa.Array, right: pa.Array) -> pa.Array:
    """Divide two intervals, towards zero; division by zero is an error."""
    return pc.divide_checked(left.cast(call.gives), right.cast(call.gives))


@kernel
def interval_sign(call: KernelCall, values: pa.Array) -> pa.Array:
    """Return -1, 0 or 1."""
    return pc.sign(values.cast(pa.int64())).cast(call.gives)


@kernel
def interval_field(call: KernelCall, values: pa.Array) -> pa.Array:
    """Return a field of an interval, with the sign of the interval."""
    numbers, field = _numbers(values), call.parameters[0]
    if field == "YEAR":
        part = _quotient(numbers, 12)
    elif field == "MONTH":
        part = np.fmod(numbers, 12)
    elif field == "DAY":
        part = _quotient(numbers, _DAY_US)
    elif field == "SECOND":
        return where_valid(scaled(np.fmod(numbers, _WITHIN[field]), call.gives), values)
    else:
        part = _quotient(np.fmod(numbers, _WITHIN[field]), _UNITS_US[field])
    return where_valid(pa.array(part).cast(call.gives), values)


def _quotient(numbers: Any, size: int) -> Any:
    """Divide towards zero, also the least number."""
    return (numbers - np.fmod(numbers, size)) // size


@kernel
def days_to_interval(_: KernelCall, days: pa.Array) -> pa.Array:
    """Return the interval of a number of days."""
    return pc.multiply_checked(days.cast(pa.int64()), pa.scalar(_DAY_US, pa.int64()))


@kernel
def time_difference(call: KernelCall, left: pa.Array, right: pa.Array) -> pa.Array:
    """Return the microseconds from the second local time to the first."""
    return _passed(right, left, "1", *call.parameters)


@kernel
def time_add_months(call: KernelCall, values: pa.Array, months: pa.Array) -> pa.Array:
    """Add months to a local time; a day that the month lacks becomes its last one."""
    days, within = local_parts(values, call.parameters)
    moved = with_months(days, _numbers(where_valid(months, values)))
    times = time_of_parts(moved, within, values, call.parameters)
    return where_valid(times, values, months).cast(call.gives)


@kernel
def time_add_days(call: KernelCall, values: pa.Array, intervals: pa.Array) -> pa.Array:
    """Add the whole days of an interval to a local time."""
    days, within = local_parts(values, call.parameters)
    moved = days + _quotient(_numbers(where_valid(intervals, values)), _DAY_US)
    times = time_of_parts(moved, within, values, call.parameters)
    return where_valid(times, values, intervals).cast(call.gives)


@kernel
def time_shift(call: KernelCall, values: pa.Array, intervals: pa.Array) -> pa.Array:
    """Add microseconds to an instant."""
    return pc.add_checked(values.cast(pa.int64()), intervals.cast(pa.int64())).cast(call.gives)


@kernel
def time_add_clock(call: KernelCall, values: pa.Array, intervals: pa.Array) -> pa.Array:
    """Add the part of an interval that is not whole days."""
    within_day = where_valid(pa.array(np.fmod(_numbers(intervals), _DAY_US)), intervals)
    return pc.add_checked(values.cast(pa.int64()), within_day).cast(call.gives)


@kernel
def interval_absolute(call: KernelCall, values: pa.Array) -> pa.Array:
    """Return the absolute value of an interval; an overflow is an error."""
    return pc.abs_checked(values).cast(call.gives)


@kernel
def make_months(call: KernelCall, years: pa.Array, months: pa.Array) -> pa.Array:
    """Make an interval from years and months; an overflow is an error."""
    whole = pc.multiply_checked(years.cast(pa.int64()), pa.scalar(12, pa.int64()))
    return _fitting(pc.add_checked(whole, months.cast(pa.int64())), call.gives)


@kernel
def make_micros(call: KernelCall, *parts: pa.Array) -> pa.Array:
    """Make an interval from days, hours, minutes, and seconds with six decimal places."""
    total = unscaled(parts[3]).cast(pa.int64())
    for part, size in zip(parts, _UNITS_US.values(), strict=False):
        if part is not parts[3]:
            whole = pc.multiply_checked(part.cast(pa.int64()), pa.scalar(size, pa.int64()))
            total = pc.add_checked(total, whole)
    return total.cast(call.gives)


@kernel
def interval_bucket(
    call: KernelCall, values: pa.Array, low: pa.Array, high: pa.Array, counts: pa.Array
) -> pa.Array:
    """Return the bucket of an equal-width histogram that an interval belongs to."""
    value, first, last = (_numbers(array).astype(np.float64) for array in (values, low, high))
    count = _numbers(counts)
    lower, upper = np.minimum(first, last), np.maximum(first, last)
    with np.errstate(divide="ignore", invalid="ignore"):
        rising = count.astype(np.float64) * (value - lower) / (upper - lower)
        falling = count.astype(np.float64) * (upper - value) / (upper - lower)
    exists = (count > 0) & (count < (1 << 63) - 1) & (first != last)
    before = np.where(first < last, value < lower, value > upper)
    beyond = np.where(first < last, value >= upper, value <= lower)
    inside = np.where(first < last, rising, falling)
    inside = np.where(exists & ~before & ~beyond, inside, 0)
    if (inside >= 1 << 62).any():
        raise SparkTimeError("integer overflow of a bucket; run it on Spark")
    bucket = np.where(before, 0, np.where(beyond, count + 1, inside.astype(np.int64) + 1))
    result = pa.array(bucket, mask=~exists)
    return where_valid(result, values, low, high, counts).cast(call.gives)


@kernel
def time_bucket(call: KernelCall, values: pa.Array, origins: pa.Array) -> pa.Array:
    """Return the start of a time's bucket; the parameter is its width in microseconds."""
    width = int(call.parameters[0])
    since = pc.subtract_checked(values.cast(pa.int64()), origins.cast(pa.int64()))
    within = pa.array(np.mod(_numbers(since), width))
    cut = pc.subtract_checked(values.cast(pa.int64()), within)
    return where_valid(cut, values, origins).cast(call.gives)


@kernel
def month_bucket(call: KernelCall, values: pa.Array, origins: pa.Array) -> pa.Array:
    """Return the start of a time's bucket; the parameter is its width in months."""
    width = int(call.parameters[0])
    days, within = np.divmod(_numbers(values), _DAY_US)
    first, first_within = np.divmod(_numbers(origins), _DAY_US)
    months = np.floor_divide(_month_number(days) - _month_number(first), width) * width
    start = with_months(first, months)
    is_later = (start > days) | ((start == days) & (first_within > within))
    start = with_months(first, months - is_later * width)
    return where_valid(micros_of_parts(start, first_within), values, origins).cast(call.gives)


def _month_number(days: Any) -> Any:
    return days.astype("datetime64[D]").astype("datetime64[M]").astype(np.int64)


@kernel
def units_from(call: KernelCall, left: pa.Array, right: pa.Array) -> pa.Array:
    """Count the whole units from the first local time to the second."""
    return _passed(left, right, *call.parameters)


def _passed(left: pa.Array, right: pa.Array, unit: str, *zone: str) -> pa.Array:
    """Count whole units between local times; as in Java, only the result can overflow."""
    first, last = local_parts(left, zone), local_parts(right, zone)
    size = int(unit)
    days, within = last[0] - first[0], last[1] - first[1]
    borrowed = np.where((days > 0) & (within < 0), 1, 0) - np.where((days < 0) & (within > 0), 1, 0)
    days, within = days - borrowed, within + borrowed * _DAY_US
    if size > _DAY_US:
        return where_valid(pa.array(_quotient(days, size // _DAY_US)), left, right)
    whole = where_valid(pa.array(days), left, right)
    units = pc.multiply_checked(whole, pa.scalar(_DAY_US // size, pa.int64()))
    return pc.add_checked(units, pa.array(_quotient(within, size)))


@kernel
def months_from(call: KernelCall, left: pa.Array, right: pa.Array) -> pa.Array:
    """Count the whole months, or multiples of months, from the first local time to the second."""
    unit, *zone = call.parameters
    (first, first_clock), (last, last_clock) = (local_parts(side, zone) for side in (left, right))
    last = last - ((last > first) & (last_clock < first_clock))
    last = last + ((last < first) & (last_clock > first_clock))
    packed = [32 * _month_number(days) + _day_of_month(days) for days in (first, last)]
    months = _quotient(packed[1] - packed[0], 32)
    return where_valid(pa.array(_quotient(months, int(unit))), left, right)


def _day_of_month(days: Any) -> Any:
    start = _month_number(days).astype("datetime64[M]").astype("datetime64[D]").astype(np.int64)
    return days - start + 1
