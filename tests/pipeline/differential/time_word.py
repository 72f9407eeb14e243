"""Arguments for date and time functions: patterns, zones, texts, units and intervals."""

PATTERNS = [
    "'yyyy-MM-dd'", "'yyyy-MM-dd HH:mm:ss'", "'dd/MM/yyyy'", "'yyyyMMdd'", "'y-M-d H:m:s'",
    "'yyyy-MM-dd\\'T\\'HH:mm:ss.SSSSSS'", "'EEEE, d MMMM y'", "'h:mm a'", "'D'", "'yy'", "'G'",
    "'yyyy-MM-dd HH:mm:ss.SSS'", "'E'", "'k K'", "'yyyyy'", "'VV'", "'HHmmss'",
]  # fmt: skip
ZONES = [
    "'UTC'", "'Europe/Zurich'", "'America/New_York'", "'Asia/Kolkata'", "'+01:30'", "'PST'",
    "'Pacific/Apia'", "'Africa/Casablanca'", "'GMT+3'", "'America/Toronto'", "'Nowhere'",
]  # fmt: skip
TEXTS = [
    "'2016-12-31'", "'2016-12-31 00:12:00'", "'2016-1-2'", "'31/12/2016'", "'20161231'", "'foo'",
    "'2026-03-29 02:30:00'", "'2026-10-25T02:30:00.123456'", "'1500-02-29'", "'-0044-03-15'",
    "'+12345-01-01 00:00:00'", "'2016-12-31 10:11:12 America/New_York'", "'2026-03-01T1:2:3+01:30'",
    "'2016-12-31 10:11:12.5'", "CAST(dt AS STRING)", "CAST(ts AS STRING)", "CAST(ntz AS STRING)",
    "date_format(ts, 'dd/MM/yyyy')", "s",
]  # fmt: skip
UNITS = [
    "MICROSECOND", "MILLISECOND", "SECOND", "MINUTE", "HOUR", "DAY", "WEEK", "MONTH", "QUARTER",
    "YEAR", "DAYOFYEAR",
]  # fmt: skip
INTERVALS = [
    "INTERVAL 1 MONTH", "INTERVAL '-1-7' YEAR TO MONTH", "INTERVAL 0 YEAR", "INTERVAL 1 DAY",
    "INTERVAL -'36' HOUR", "INTERVAL '1 02:03:04.5' DAY TO SECOND", "INTERVAL 90 MINUTES",
    "INTERVAL 1 WEEK", "INTERVAL 5 DAYS 3 HOURS", "INTERVAL '0.000001' SECOND",
    "make_dt_interval(k, k, i)", "make_dt_interval(k)", "make_ym_interval(k, -k)",
    "make_ym_interval(i)", "(ts - TIMESTAMP '2026-03-29 00:00:00Z')", "(ntz - ntz)",
    "(dt - DATE '2000-02-29')", "(INTERVAL 1 HOUR * k)", "(INTERVAL '1' MONTH * y)",
    "(- make_dt_interval(k))", "abs(make_ym_interval(-k))", "(INTERVAL 1 DAY - INTERVAL 1 HOUR)",
]  # fmt: skip
FIELDS = [
    "'YEAR'", "'MONTH'", "'DAY'", "'HOUR'", "'MINUTE'", "'SECOND'", "'SECONDS'", "'week'", "'doy'",
    "'dow_iso'", "'yearofweek'", "'qtr'", "'mins'",
]  # fmt: skip
CUTS = ["'week'", "'quarter'", "'year'", "'MONTH'", "'DAY'", "'HOUR'", "'minute'", "'SECOND'",
        "'millisecond'", "'mm'", "'decade'"]  # fmt: skip

_READING = ("to_date", "try_to_date", "to_timestamp", "try_to_timestamp", "to_timestamp_ltz",
            "to_timestamp_ntz", "unix_timestamp", "to_unix_timestamp")  # fmt: skip
_MAKING = ("make_timestamp", "make_timestamp_ltz", "try_make_timestamp", "try_make_timestamp_ltz")
_MOVING = ("from_utc_timestamp", "to_utc_timestamp", "convert_timezone")
_TIMES = ["dt", "ts", "ntz", "ts", "ntz", "'2026-03-29 02:30:00'", "timestamp_micros(l)"]
_NUMBERS = [
    "k", "i", "y", "2026", "3", "12", "23", "year(dt)", "30", "day(ts)", "dec", "59", "60", "1.5",
]  # fmt: skip
CONSTANTS_OF: dict[str, list[str]] = {
    **dict.fromkeys(("date_format", "from_unixtime", *_READING), PATTERNS),
    **dict.fromkeys((*_MOVING, *_MAKING), ZONES),
    **dict.fromkeys(("date_part", "datepart"), FIELDS),
    **dict.fromkeys(("date_trunc", "trunc"), CUTS),
}  # fmt: skip
"""By function, the constants worth trying."""
TEXTS_OF: dict[str, list[str]] = {
    **dict.fromkeys(
        (*_MOVING, "date_part", "datepart", "date_trunc", "hour", "minute", "second",
         "date_format", "time_bucket", "try_add", "try_subtract"),
        _TIMES,
    ),
    **dict.fromkeys(("timestamp", "date", *_READING), TEXTS),
}  # fmt: skip
"""By function, the texts and times worth parsing."""
PARTS_OF: dict[str, list[str]] = dict.fromkeys(
    (*_MAKING, "make_timestamp_ntz", "try_make_timestamp_ntz", "make_date"), _NUMBERS
)
"""By function, the numbers that may be parts of a date."""
