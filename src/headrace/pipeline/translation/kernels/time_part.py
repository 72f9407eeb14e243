"""Kernels that make dates and times from their parts, from year to second."""

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from headrace.pipeline.translation.kernel import KernelCall, kernel
from headrace.pipeline.translation.kernels.row import where_valid
from headrace.pipeline.translation.kernels.time import SparkTimeError
from headrace.pipeline.translation.kernels.time_zone import local_parts

_MICROS = 1_000_000
_DAY_US = 86_400 * _MICROS
_MAX_YEARS = 999_999_999
_MAX_DAYS = (1 << 31) - 1
_MAX_TIME_DAYS = ((1 << 63) - 1) // _DAY_US


def days_of_parts(years: Any, months: Any, days: Any) -> tuple[Any, Any]:
    """Return days since 1970, and whether there is such a day."""
    exists = (np.abs(years) <= _MAX_YEARS) & (days >= 1)
    exists &= (months >= 1) & (months <= 12)  # noqa: PLR2004
    number = np.where(exists, (years - 1970) * 12 + months - 1, 0)
    first, after = ((number + more).astype("datetime64[M]") for more in (0, 1))
    start, end = (month.astype("datetime64[D]").astype(np.int64) for month in (first, after))
    return start + days - 1, exists & (days <= end - start)


def _numbers(values: pa.Array) -> Any:
    return np.asarray(pc.fill_null(values.cast(pa.int64()), 0))


def unscaled(values: pa.Array) -> pa.Array:
    """Return decimals without their point: seconds with six decimal places as microseconds."""
    kind = pa.decimal128(values.type.precision, 0)
    return pa.Array.from_buffers(kind, len(values), values.buffers(), offset=values.offset)


def scaled(micros: Any, kind: pa.DataType) -> pa.Array:
    """Return microseconds as seconds: a decimal with six decimal places."""
    whole = pa.array(micros).cast(pa.decimal128(19, 0))
    return pa.Array.from_buffers(kind, len(whole), whole.buffers(), offset=whole.offset)


@kernel
def time_seconds(call: KernelCall, values: pa.Array) -> pa.Array:
    """Return the seconds of a time, with their fraction."""
    _, within = local_parts(values, call.parameters)
    return where_valid(scaled(within % (60 * _MICROS), call.gives), values)


def _all_valid(arrays: tuple[pa.Array, ...]) -> Any:
    valid = np.ones(len(arrays[0]), bool)
    for array in arrays:
        valid &= np.asarray(pc.is_valid(array))
    return valid


def _result(call: KernelCall, values: Any, exists: Any, valid: Any, limit: int) -> pa.Array:
    """Return values that exist; those that do not are an error, or null with `soft`."""
    if "soft" not in call.parameters and (valid & ~exists).any():
        raise SparkTimeError("there is no time with these parts")
    shown = valid & exists
    if (shown & ((values > limit) | (values < -limit - 1))).any():
        raise SparkTimeError("long overflow: a time is out of range")
    return pa.array(values, mask=~shown)


@kernel
def make_date(call: KernelCall, *parts: pa.Array) -> pa.Array:
    """Make a date from year, month and day."""
    days, exists = days_of_parts(*map(_numbers, parts))
    result = _result(call, days, exists, _all_valid(parts), _MAX_DAYS)
    return result.cast(pa.int32()).cast(call.gives)


@kernel
def make_time(call: KernelCall, *parts: pa.Array) -> pa.Array:
    """Make a local time from six parts; the second has microseconds, and 60 is the next minute."""
    years, months, days, hours, minutes = map(_numbers, parts[:5])
    # Spark counts the microseconds of the second in an INT, which wraps around.
    seconds = _numbers(unscaled(parts[5])).astype(np.int32).astype(np.int64)
    dates, exists = days_of_parts(years, months, days)
    exists &= (hours >= 0) & (hours <= 23) & (minutes >= 0) & (minutes <= 59)  # noqa: PLR2004
    exists &= (seconds >= 0) & (seconds <= 60 * _MICROS)
    valid = _all_valid(parts)
    _result(call, dates, exists, valid, _MAX_TIME_DAYS)
    micros = dates * _DAY_US + (hours * 3600 + minutes * 60) * _MICROS + seconds
    return _result(call, micros, exists, valid, (1 << 63) - 1).cast(call.gives)


@kernel
def date_and_time(call: KernelCall, dates: pa.Array, clock: pa.Array) -> pa.Array:
    """Make a local time from a date and the microseconds since its midnight."""
    days = pc.multiply_checked(dates.cast(pa.int32()).cast(pa.int64()), _DAY_US)
    return pc.add_checked(days, clock.cast(pa.int64())).cast(call.gives)


@kernel
def decimal_to_time(call: KernelCall, values: pa.Array) -> pa.Array:
    """Return the time a number of seconds after 1970; an overflow is an error."""
    return unscaled(values.cast(pa.decimal128(38, 6))).cast(pa.int64()).cast(call.gives)
