"""Rebases old dates and times written in the hybrid Julian-Gregorian calendar.

Before version 3, Spark stored days before 15 October 1582 in the Julian calendar; later versions
do so in legacy mode. A footer entry records it. Rebasing keeps the calendar date: 1500-02-28 stays
1500-02-28, although its day number changes.

Timestamps keep their local time in the writer's zone. Before 1900, Java's two time libraries
disagree on the offsets of zones other than UTC, so such timestamps are refused.
"""

from collections.abc import Mapping
from datetime import date

import msgspec
import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import types

from headrace.errors import UnsupportedFeatureError
from headrace.protocol import light

_WRITER = b"org.apache.spark.version"
_LEGACY_DATES = b"org.apache.spark.legacyDateTime"
_LEGACY_INT96 = b"org.apache.spark.legacyINT96"
_ZONE = b"org.apache.spark.timeZone"
_UTC = frozenset(("UTC", "Etc/UTC", "Z", "GMT", "Etc/GMT", "Etc/UCT", "UCT", "Zulu"))
_EPOCH = date(1970, 1, 1)
_GREGORIAN = (date(1582, 10, 15) - _EPOCH).days
"""The first day, counted from 1970, on which both calendars agree."""
_SETTLED_US = (date(1900, 1, 1) - _EPOCH).days * 86_400_000_000
"""The first moment at which Java's two libraries agree on all zones."""
_DAY_US = 86_400_000_000
_JULIAN_EPOCH = -719_164
"""1 January of the year 1 in the Julian calendar, counted from 1970."""


class Calendar(msgspec.Struct, frozen=True, kw_only=True):
    """The calendars that a file's dates and times were written in."""

    path: str
    has_old_dates: bool
    """Whether dates, and timestamps other than INT96, use the hybrid calendar."""
    has_old_int96: bool
    """Whether INT96 timestamps use the hybrid calendar."""
    zone: str

    @classmethod
    def of(cls, path: str, footer: Mapping[bytes, bytes] | None) -> "Calendar":
        """Return the calendars recorded in a footer's key-value metadata."""
        notes = footer or {}
        version = _version(notes[_WRITER]) if _WRITER in notes else None
        is_old = version is not None and version < (3, 0)
        is_old_int96 = version is not None and version < (3, 1)
        return cls(
            path=path,
            has_old_dates=is_old or _LEGACY_DATES in notes,
            has_old_int96=is_old_int96 or _LEGACY_INT96 in notes,
            zone=notes.get(_ZONE, b"").decode(errors="replace"),
        )

    @property
    def is_proleptic(self) -> bool:
        """Whether all dates and times use the proleptic Gregorian calendar: none needs rebasing."""
        return not (self.has_old_dates or self.has_old_int96)

    def is_old(self, source: pa.DataType, *, physical_type: str) -> bool:
        """Whether values of a column may need rebasing."""
        if types.is_timestamp(source) and physical_type == "INT96":
            return self.has_old_int96
        # Spark writes timestamps without a zone since 3.4, in the Gregorian calendar.
        is_instant = types.is_timestamp(source) and source.tz is not None
        return self.has_old_dates and (types.is_date32(source) or is_instant)

    def rebased(self, array: pa.Array) -> pa.Array:
        """Return the same calendar dates and times in the proleptic Gregorian calendar.

        Raises:
            UnsupportedFeatureError: values are too old to be rebased exactly.
        """
        if types.is_date32(array.type):
            days = array.cast(pa.int32()).cast(pa.int64())
            return (
                self._rebased_ticks(days, limit=_GREGORIAN, unit=1)
                .cast(pa.int32())
                .cast(array.type)
            )
        ticks = array.cast(pa.timestamp("us")).cast(pa.int64())
        limit = _GREGORIAN * _DAY_US if self.zone in _UTC else _SETTLED_US
        moved = self._rebased_ticks(ticks, limit=limit, unit=_DAY_US)
        return moved.cast(pa.timestamp("us")).cast(pa.timestamp("us", array.type.tz))

    def _rebased_ticks(self, ticks: pa.Int64Array, *, limit: int, unit: int) -> pa.Int64Array:
        least = pc.min(ticks).as_py()
        if least is None or least >= limit:
            return ticks
        if unit != 1 and self.zone not in _UTC:
            raise self._refusal(f"times before 1900 that were written in the zone {self.zone!r}")
        if least < _JULIAN_EPOCH * unit:
            raise self._refusal("days before the year 1 of the Julian calendar")
        counted = light.to_numpy(ticks.fill_null(light.scalar(0, ticks.type)))
        shift = _shift(np.floor_divide(counted, unit)) * unit
        return pc.add(ticks, light.from_numpy(shift))

    def _refusal(self, description: str) -> UnsupportedFeatureError:
        return UnsupportedFeatureError(table=self.path, features=[description])


def _version(text: bytes) -> tuple[int, int] | None:
    parts = text.split(b".")
    try:
        return int(parts[0]), int(parts[1])
    except (ValueError, IndexError):
        return None


def _shift(days: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Return how many days to add to each hybrid day to keep its calendar date.

    The Julian calendar has a leap day in every century year, the Gregorian in one of four. So the
    difference changes after the 29th of February of such a year.
    """
    year_1 = date(1, 1, 1).toordinal() - _EPOCH.toordinal() - _JULIAN_EPOCH
    centuries = [year for year in range(100, 1582, 100) if year % 400]
    switches = [_julian_march(year) for year in centuries]
    passed = np.searchsorted(np.array(switches), days, side="right")
    return np.where(days < _GREGORIAN, year_1 - passed, 0)


def _julian_march(year: int) -> int:
    """Return the 1st of March of a year in the Julian calendar, counted from 1970."""
    leap_days = (year - 1) // 4
    return _JULIAN_EPOCH + 365 * (year - 1) + leap_days + 31 + 29
