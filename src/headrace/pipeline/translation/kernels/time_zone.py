"""Kernels that convert instants to local times and back, with Java's zone rules."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from headrace.pipeline.translation.kernel import KernelCall, kernel
from headrace.pipeline.translation.zone import Zone, find_zone

_SECOND_US = 1_000_000
_DAY_SECONDS = 86_400
_DAY_US = _DAY_SECONDS * _SECOND_US


def known_zone(name: str) -> Zone:
    """Return the zone of a planned call.

    Raises:
        KeyError: there is none, so the call was not made by this translation.
    """
    zone = find_zone(name)
    if zone is None:
        raise KeyError(name)
    return zone


def local_parts(values: pa.Array, zone: Sequence[str] = ()) -> tuple[Any, Any]:
    """Return the local days since 1970, and the microseconds since midnight; 0 for null.

    As in Java, each instant has a local time, even if microseconds since 1970 cannot hold it.

    Args:
        values: The instants, or local times.
        zone: The name of the zone of the instants, if they are not local times.
    """
    micros = np.asarray(pc.fill_null(values.cast(pa.int64()), 0))
    if not zone:
        days, within = np.divmod(micros, _DAY_US)
        return days, within
    seconds, fraction = np.divmod(micros, _SECOND_US)
    days, clock = np.divmod(seconds + known_zone(zone[0]).offset_at(seconds), _DAY_SECONDS)
    return days, clock * _SECOND_US + fraction


def micros_of_parts(days: Any, within: Any) -> pa.Array:
    """Return the microseconds of days and of the time within them; an overflow is an error."""
    # Start one day closer to zero, so that the sum overflows only where the result does.
    base = pc.multiply_checked(pa.array(days + (days < 0)), pa.scalar(_DAY_US, pa.int64()))
    return pc.add_checked(base, pa.array(within - (days < 0) * _DAY_US))


def time_of_parts(days: Any, within: Any, before: pa.Array, zone: Sequence[str] = ()) -> pa.Array:
    """Return the time of local parts, in microseconds; an overflow is an error.

    Args:
        days: The local days since 1970.
        within: The microseconds since midnight.
        before: The instants whose offset decides if a local time occurs twice.
        zone: The name of the zone, if the result is an instant and not a local time.
    """
    if not zone:
        return micros_of_parts(days, within)
    rules = known_zone(zone[0])
    clock, fraction = np.divmod(within, _SECOND_US)
    offsets = rules.offset_at(_seconds(before))
    moments = rules.moment_near(days * _DAY_SECONDS + clock, offsets)
    start, rest = np.divmod(moments, _DAY_SECONDS)
    return micros_of_parts(start, rest * _SECOND_US + fraction)


def start_of_days(days: Any, zone: Sequence[str] = ()) -> pa.Array:
    """Return the first time of local days, in microseconds; an overflow is an error."""
    seconds = days * _DAY_SECONDS
    moments = known_zone(zone[0]).start_of_day(seconds) if zone else seconds
    return pc.multiply_checked(pa.array(moments), pa.scalar(_SECOND_US, pa.int64()))


@kernel
def zone_local(call: KernelCall, values: pa.Array) -> pa.Array:
    """Return the local time of an instant."""
    zone, seconds = known_zone(call.parameters[0]), _seconds(values)
    return _moved(values, zone.offset_at(seconds)).cast(call.gives)


@kernel
def zone_instant(call: KernelCall, values: pa.Array) -> pa.Array:
    """Return the instant of a local time: the earlier of two; a skipped time moves by the gap."""
    zone, seconds = known_zone(call.parameters[0]), _seconds(values)
    return _moved(values, zone.moment_of(seconds) - seconds).cast(call.gives)


@kernel
def zone_start_of_day(call: KernelCall, values: pa.Array) -> pa.Array:
    """Return the first instant of a day, given its local midnight."""
    zone, seconds = known_zone(call.parameters[0]), _seconds(values)
    return _moved(values, zone.start_of_day(seconds) - seconds).cast(call.gives)


def _seconds(values: pa.Array) -> Any:
    return np.floor_divide(np.asarray(pc.fill_null(values.cast(pa.int64()), 0)), _SECOND_US)


def _moved(values: pa.Array, seconds: Any) -> pa.Array:
    """Shift times by seconds; an overflow is an error."""
    return pc.add_checked(values.cast(pa.int64()), pa.array(seconds * _SECOND_US))
