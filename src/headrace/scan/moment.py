"""Parses times: `datetime` values, ISO 8601 text, words such as "2 hours ago".

A time without a zone is UTC; "today" and "yesterday" are days in UTC.
"""

import re
from datetime import UTC, date, datetime, timedelta
from typing import Any

from headrace.errors import InvalidArgumentError

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_AGO = re.compile(r"(?P<count>\d{1,9}|an?)\s+(?P<unit>second|minute|hour|day|week)s?\s+ago")
_EXAMPLES = "2026-03-01T12:00:00Z, 'now', 'today', 'yesterday' or '2 hours ago'"


def milliseconds(moment: Any, *, argument: str = "as_of", now: datetime | None = None) -> int:
    """Return a time as milliseconds since 1970.

    Args:
        moment: A datetime, a date (its first moment), ISO 8601 text, or a word for a time.
        argument: The argument's name, for errors.
        now: The time that words such as "yesterday" are relative to; by default the clock.

    Raises:
        InvalidArgumentError: it is not a time, or outside the range of `datetime`.
    """
    if isinstance(moment, str):
        moment = _parse(moment, argument=argument, now=now or datetime.now(UTC))
    if not isinstance(moment, datetime):
        if not isinstance(moment, date):
            reason = f"it must be a datetime, a date or text such as {_EXAMPLES}, not {moment!r}"
            raise InvalidArgumentError(argument=argument, reason=reason)
        moment = datetime(moment.year, moment.month, moment.day)  # noqa: DTZ001  (set below)
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    since = moment - _EPOCH
    # Rounded down: a commit in the same millisecond is included, a later one is not.
    return int((since.days * 86_400 + since.seconds) * 1000 + since.microseconds // 1000)


def _parse(text: str, *, argument: str, now: datetime) -> datetime:
    midnight = now.astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
    match word := " ".join(text.lower().split()):
        case "now":
            return now
        case "today":
            return midnight
        case "yesterday":
            return midnight - timedelta(days=1)
    try:
        if ago := _AGO.fullmatch(word):
            count = 1 if ago["count"].startswith("a") else int(ago["count"])
            return now - timedelta(**{f"{ago['unit']}s": count})
        return datetime.fromisoformat(text)
    except (ValueError, OverflowError) as error:
        reason = f"{text!r} is not a time; write {_EXAMPLES}"
        raise InvalidArgumentError(argument=argument, reason=reason) from error
