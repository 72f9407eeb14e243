"""Catalogue of functions that format times, parse them, or make them from parts."""

from collections.abc import Sequence

import pyarrow as pa

from headrace.pipeline.translation import type_rule as t
from headrace.pipeline.translation.cast import Casts
from headrace.pipeline.translation.catalogue.entry import Build, Entry, by_rule
from headrace.pipeline.translation.kernels.time_format import can_write, reader_of
from headrace.pipeline.translation.typed import Typed, call, literal_text
from headrace.pipeline.translation.zone import find_zone

_DEFAULT = "yyyy-MM-dd HH:mm:ss"
_SECONDS = pa.decimal128(16, 6)
_UNIX = ("unix_timestamp", "to_unix_timestamp")


def _write(casts: Casts, arguments: Sequence[Typed]) -> Typed | None:
    value, pattern = arguments
    is_time = t.is_time(value.type) or value.type == t.STRING
    # As an instant, a local time that its zone skips moves by the gap.
    moment = casts.cast(value, t.TIMESTAMP) if is_time else None
    if moment is None or not can_write(pattern.value):
        return None
    return casts.clock.read_parts("date_format", t.STRING, moment, pattern.value)


def _write_seconds(casts: Casts, arguments: Sequence[Typed]) -> Typed | None:
    pattern = arguments[1] if len(arguments) > 1 else literal_text(_DEFAULT)
    moment = call("seconds_to_time", t.TIMESTAMP, arguments[0])
    return _write(casts, [moment, pattern])


def _read_local(casts: Casts, text: Typed, pattern: str, *, soft: bool) -> Typed | None:
    soft = soft or not casts.ansi
    if text.type != t.STRING or reader_of(pattern) is None:
        return None
    parameters = (pattern, "soft") if soft else (pattern,)
    return call(
        "formatted_to_time", t.TIMESTAMP_NTZ, text, parameters=parameters, can_fail=not soft
    )


def _read(kind: pa.DataType, *, soft: bool = False) -> Build:
    """Parse a time in a pattern, as a type."""

    def build(casts: Casts, arguments: Sequence[Typed]) -> Typed | None:
        text, pattern = arguments
        local = _read_local(casts, text, pattern.value, soft=soft)
        if local is None or kind == t.TIMESTAMP_NTZ:
            return local
        moment = casts.clock.instant(local)
        return None if moment is None else casts.cast(moment, kind)

    return build


def _cast(kind: pa.DataType, *, soft: bool = False) -> Build:
    return lambda casts, arguments: casts.cast(arguments[0], kind, soft=soft)


def _unix(casts: Casts, arguments: Sequence[Typed]) -> Typed | None:
    """Return seconds since 1970; the pattern applies only to strings."""
    value = arguments[0]
    if value.type == t.STRING:
        pattern = arguments[1].value if len(arguments) > 1 else _DEFAULT
        moment = _read(t.TIMESTAMP)(casts, [value, literal_text(pattern)])
    else:
        moment = value if value.type == t.TIMESTAMP_NTZ else casts.cast(value, t.TIMESTAMP)
    return None if moment is None else call("time_to_whole_seconds", t.LONG, moment)


def _make(kind: pa.DataType, *, soft: bool = False) -> Build:
    """Return a time made from six parts, and optionally a zone."""

    def build(casts: Casts, arguments: Sequence[Typed]) -> Typed | None:
        *whole, seconds = arguments[:6]
        second = casts.cast(seconds, _SECONDS)
        if second is None:
            return None
        lenient = soft or not casts.ansi
        parameters = ("soft",) if lenient else ()
        local = call(
            "make_time", t.TIMESTAMP_NTZ, *whole, second, parameters=parameters, can_fail=True
        )
        return _zoned(casts, local, kind, arguments[6:])

    return build


def _zoned(casts: Casts, local: Typed, kind: pa.DataType, zone: Sequence[Typed]) -> Typed | None:
    """Return a local time as a type; as an instant, it is in the named zone or the session's."""
    if kind == t.TIMESTAMP_NTZ:
        return local
    if not zone:
        return casts.clock.instant(local)
    if find_zone(zone[0].value) is None:
        return None
    return call("zone_instant", t.TIMESTAMP, local, parameters=(zone[0].value,))


def _of_date(kind: pa.DataType, *, soft: bool) -> Build:
    """Return a time made from a date and a TIME, and optionally a zone."""

    def build(casts: Casts, arguments: Sequence[Typed]) -> Typed | None:
        date, clock, *zone = arguments
        hides_failures = soft and (date.can_fail or clock.can_fail)
        if date.type != t.DATE or hides_failures:
            return None
        local = call("date_and_time", t.TIMESTAMP_NTZ, date, clock, can_fail=True)
        return _zoned(casts, local, kind, zone)

    return build


def _midnight(casts: Casts, arguments: Sequence[Typed]) -> Typed | None:
    return casts.cast(arguments[0], t.TIMESTAMP) if arguments[0].type == t.DATE else None


def _make_date(casts: Casts, arguments: Sequence[Typed]) -> Typed:
    parameters = () if casts.ansi else ("soft",)
    return call("make_date", t.DATE, *arguments, parameters=parameters, can_fail=True)


_MAKERS = {
    "make_timestamp": (t.TIMESTAMP, False), "make_timestamp_ltz": (t.TIMESTAMP, False),
    "make_timestamp_ntz": (t.TIMESTAMP_NTZ, False), "try_make_timestamp": (t.TIMESTAMP, True),
    "try_make_timestamp_ltz": (t.TIMESTAMP, True),
    "try_make_timestamp_ntz": (t.TIMESTAMP_NTZ, True),
}  # fmt: skip
_PARSERS = {
    "to_date": (t.DATE, False), "try_to_date": (t.DATE, True),
    "to_timestamp": (t.TIMESTAMP, False), "try_to_timestamp": (t.TIMESTAMP, True),
    "to_timestamp_ltz": (t.TIMESTAMP, False), "to_timestamp_ntz": (t.TIMESTAMP_NTZ, False),
}  # fmt: skip
_PARTS = "INT INT INT INT INT NUMERIC"


def _zone_word(kind: pa.DataType) -> str:
    return " [STRING!]" if kind == t.TIMESTAMP else ""


def _write_time(casts: Casts, arguments: Sequence[Typed]) -> Typed | None:
    """Compile `to_char` of a date or a time; numbers and bytes have other patterns."""
    kind = arguments[0].type
    is_time = kind == t.DATE or t.is_timestamp(kind)
    return _write(casts, arguments) if is_time else None


TIME_FORMAT: list[Entry] = [
    by_rule("date_format", "ANY STRING!", t.STRING, "kernel date_format", _write),
    *(
        by_rule(name, "ANY STRING!", t.STRING, "kernel date_format", _write_time)
        for name in ("to_char", "to_varchar")
    ),
    by_rule("from_unixtime", "BIGINT [STRING!]", t.STRING, "kernel date_format", _write_seconds),
    *(by_rule(name, "ANY STRING!", kind, "kernel formatted_to_time", _read(kind, soft=soft))
      for name, (kind, soft) in _PARSERS.items()),
    *(by_rule(name, "ANY", kind, "CAST", _cast(kind, soft=soft))
      for name, (kind, soft) in _PARSERS.items()),
    *(by_rule(name, "ANY [STRING!]", t.LONG, "kernel time_to_whole_seconds", _unix)
      for name in _UNIX),
    by_rule("make_date", "INT INT INT", t.DATE, "kernel make_date", _make_date),
    *(by_rule(name, "ANY TIME" + _zone_word(kind), kind, "kernel date_and_time",
              _of_date(kind, soft=soft))
      for name, (kind, soft) in _MAKERS.items()),
    *(by_rule(name, "ANY", t.TIMESTAMP, "CAST", _midnight)
      for name in ("make_timestamp", "try_make_timestamp")),
    *(by_rule(name, _PARTS + _zone_word(kind), kind, "kernel make_time", _make(kind, soft=soft))
      for name, (kind, soft) in _MAKERS.items()),
]  # fmt: skip
