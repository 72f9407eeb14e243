"""Kernels that convert instants to local times and back, with Java's zone rules."""

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from headrace.pipeline.translation.kernel import KernelCall, kernel
from headrace.pipeline.translation.kernels.row import where_valid
from headrace.pipeline.translation.zone import Zone, find_zone

_SECOND_US = 1_000_000


def known_zone(name: str) -> Zone:
    """Return the zone of a planned call.

    Raises:
        KeyError: there is none, so the call was not made by this translation.
    """
    zone = find_zone(name)
    if zone is None:
        raise KeyError(name)
    return zone


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


@kernel
def zone_instant_near(call: KernelCall, values: pa.Array, before: pa.Array) -> pa.Array:
    """Return the instant of a local time; of two, the one with the offset of another instant."""
    zone, seconds = known_zone(call.parameters[0]), _seconds(values)
    moments = zone.moment_near(seconds, zone.offset_at(_seconds(before)))
    return where_valid(_moved(values, moments - seconds), before).cast(call.gives)


def _seconds(values: pa.Array) -> Any:
    return np.floor_divide(np.asarray(pc.fill_null(values.cast(pa.int64()), 0)), _SECOND_US)


def _moved(values: pa.Array, seconds: Any) -> pa.Array:
    """Shift times by seconds; an overflow is an error."""
    return pc.add_checked(values.cast(pa.int64()), pa.array(seconds * _SECOND_US))
