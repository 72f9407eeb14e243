"""Catalogue of functions that convert times between zones."""

from collections.abc import Sequence

from headrace.pipeline.translation import type_rule as t
from headrace.pipeline.translation.cast import Casts
from headrace.pipeline.translation.catalogue.entry import Build, Entry, by_rule
from headrace.pipeline.translation.typed import Typed, call, literal_text
from headrace.pipeline.translation.zone import find_zone


def _moment(casts: Casts, value: Typed) -> Typed | None:
    """Return an argument as an instant; Spark accepts any date, time or string."""
    is_time = t.is_time(value.type) or value.type in (t.STRING, t.VOID)
    return casts.cast(value, t.TIMESTAMP) if is_time else None


def _in_zone(kernel: str) -> Build:
    """Return an instant whose UTC digits are moved to a zone, or back from it."""

    def build(casts: Casts, arguments: Sequence[Typed]) -> Typed | None:
        value, zone = arguments
        moment = _moment(casts, value)
        if moment is None or find_zone(zone.value) is None:
            return None
        return call(kernel, t.TIMESTAMP, moment, parameters=(zone.value,))

    return build


def _convert(casts: Casts, arguments: Sequence[Typed]) -> Typed | None:
    """Convert a local time from one zone to another."""
    *zones, value = arguments
    if not (t.is_time(value.type) or value.type in (t.STRING, t.VOID)):
        return None
    local = casts.cast(value, t.TIMESTAMP_NTZ)
    source = zones[0].value if len(zones) > 1 else casts.clock.name
    target = zones[-1].value
    if local is None or find_zone(source) is None or find_zone(target) is None:
        return None
    moment = call("zone_instant", t.TIMESTAMP, local, parameters=(source,))
    return call("zone_local", t.TIMESTAMP_NTZ, moment, parameters=(target,))


def _session_zone(casts: Casts, arguments: Sequence[Typed]) -> Typed:
    del arguments
    return literal_text(casts.clock.name)


TIME_ZONE: list[Entry] = [
    by_rule("from_utc_timestamp", "ANY STRING!", t.TIMESTAMP, "kernel zone_local",
            _in_zone("zone_local")),
    by_rule("to_utc_timestamp", "ANY STRING!", t.TIMESTAMP, "kernel zone_instant",
            _in_zone("zone_instant")),
    by_rule("convert_timezone", "STRING! ANY", t.TIMESTAMP_NTZ, "kernels zone_instant, zone_local",
            _convert),
    by_rule("convert_timezone", "STRING! STRING! ANY", t.TIMESTAMP_NTZ,
            "kernels zone_instant, zone_local", _convert),
    by_rule("current_timezone", "", t.STRING, "the setting", _session_zone),
]  # fmt: skip
