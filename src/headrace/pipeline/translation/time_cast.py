"""Translates casts of dates and times in the time zone of a session.

Outside UTC, kernels with Java's zone rules convert between instants and local times.
"""

import pyarrow as pa

from headrace.pipeline.translation import type_rule as t
from headrace.pipeline.translation.kernels.time_text import is_clock_only, moment
from headrace.pipeline.translation.typed import Typed, call
from headrace.pipeline.translation.zone import find_zone

UTC_NAMES = frozenset({"UTC", "Etc/UTC", "Z", "GMT", "Etc/GMT", "Zulu", "Universal"})


class WallClock:
    """The zone that decides the parts of instants, and the meaning of times without a zone."""

    def __init__(self, time_zone: str) -> None:
        """Take the name of the zone."""
        self.name, self.zone = time_zone, find_zone(time_zone)
        self.in_utc = time_zone in UTC_NAMES

    def zone_of(self, kind: pa.DataType) -> tuple[str, ...] | None:
        """Return the parameters with which a kernel reads the local parts of a time.

        None if the zone has no rules.
        """
        if kind == t.TIMESTAMP_NTZ or self.in_utc:
            return ()
        return None if self.zone is None else (self.name,)

    def read_parts(
        self, kernel: str, gives: pa.DataType, value: Typed, *parameters: str
    ) -> Typed | None:
        """Call a kernel over the local parts of a time; None if the zone has no rules."""
        zone = self.zone_of(value.type)
        if zone is None:
            return None
        return call(kernel, gives, value, parameters=(*parameters, *zone))

    def _local(self, value: Typed) -> Typed | None:
        """Return the local time of an instant; None if the zone has no rules."""
        if self.in_utc:
            return value
        if self.zone is None:
            return None
        return call("zone_local", t.TIMESTAMP_NTZ, value, parameters=(self.name,), can_fail=True)

    def instant(self, value: Typed) -> Typed | None:
        """Return the instant of a local time; None if the zone has no rules."""
        if value.type == t.TIMESTAMP:
            return value
        if self.in_utc:
            return _retyped(value, t.TIMESTAMP)
        if self.zone is None:
            return None
        return call("zone_instant", t.TIMESTAMP, value, parameters=(self.name,))

    def cast(self, value: Typed, to: pa.DataType) -> Typed | None:
        """Cast between dates, times and whole seconds; None if the catalogue has no such cast."""
        source = value.type
        if t.is_timestamp(source) and to == t.DATE:
            return self.read_parts("time_to_date", to, value)
        if source == t.DATE and t.is_timestamp(to):
            return self._midnight(value, to)
        if source == t.TIMESTAMP and to == t.TIMESTAMP_NTZ:
            local = self._local(value)
            return None if local is None else _retyped(local, to)
        if source == t.TIMESTAMP_NTZ and to == t.TIMESTAMP:
            return self.instant(value)
        if source == t.TIMESTAMP and to == t.LONG:
            return call("time_to_seconds", to, value)
        return None

    def _midnight(self, day: Typed, to: pa.DataType) -> Typed | None:
        if to == t.TIMESTAMP_NTZ or self.in_utc:
            return call("date_to_time", to, day)
        if self.zone is None:
            return None
        local = call("date_to_time", t.TIMESTAMP_NTZ, day)
        return call("zone_start_of_day", to, local, parameters=(self.name,))

    def read(self, value: Typed, to: pa.DataType, soft: tuple[str, ...]) -> Typed | None:
        """Cast a string to a time; a literal without a date, which means today, is refused."""
        if self.zone is None and to == t.TIMESTAMP:
            return None
        if to == t.TIMESTAMP and value.is_text() and is_clock_only(value.value):
            return None
        zone = "" if to == t.TIMESTAMP_NTZ else self.name
        return call("text_to_time", to, value, parameters=(zone, *soft), can_fail=not soft)

    def moment(self, text: str, to: pa.DataType) -> int | None:
        """Return the microseconds of a time literal."""
        if to == t.TIMESTAMP_NTZ:
            return moment(text, None)
        return None if self.zone is None else moment(text, self.zone)


def _retyped(value: Typed, to: pa.DataType) -> Typed:
    if value.type == to:
        return value
    micros = call("time_to_units", t.LONG, value, parameters=("1",))
    return call("units_to_time", to, micros, parameters=("1",))
