"""The settings of state maintenance: names, defaults and limits.

Every setting has two names: an IndexTables name (`spark.indextables.state.retention.hours`) and a
Headrace name (`retention_hours`). Text from Spark or the command line enters; a validated
`StateSettings` leaves.
"""

import sys
from collections.abc import Mapping
from difflib import get_close_matches
from enum import StrEnum
from typing import Any

import msgspec

from headrace.errors import InvalidArgumentError

PREFIX = "spark.indextables.state."
"""The prefix of IndexTables names."""

_MAX_LEVEL = 22
_ONE = 1


class StateFormat(StrEnum):
    """The format of a state or checkpoint."""

    AVRO = "avro"
    JSON = "json"


class Compression(StrEnum):
    """The compression of the blocks of a manifest."""

    ZSTD = "zstd"
    SNAPPY = "snappy"
    NONE = "none"


class StateSettings(msgspec.Struct, frozen=True, kw_only=True):
    """How states are written, compacted and cleaned up."""

    format: StateFormat = StateFormat.AVRO
    """`json` switches back to JSON checkpoints."""
    compression: Compression = Compression.ZSTD
    compression_level: int = 3
    """1 to 22; only zstd has levels."""
    entries_per_manifest: int = 50_000
    """The maximum number of entries in a manifest."""
    tombstone_threshold: float = 0.10
    """Compact when the tombstones exceed this share of the live files."""
    max_manifests: int = 20
    """Compact when there are more *small* manifests than this."""
    large_remove_threshold: int = (1 << 31) - 1
    """Compact when one commit removes more files than this."""
    compact_after_merge: bool = True
    """Compact after a commit whose removes come from a merge of files."""
    read_parallelism: int = 8
    """The number of manifests that are read at the same time, if the store is remote."""
    retention_versions: int = 2
    """The number of states besides the newest that clean-up keeps, however old they are."""
    retention_hours: float = 168.0
    """Clean-up keeps states younger than this, however many there are."""
    min_manifest_age_hours: float = 1.0
    """Clean-up never deletes a younger manifest: a commit may be about to reference it."""
    checkpoint_interval: int = 10
    """In logs of version files: the number of versions between two checkpoints or states."""
    max_attempts: int = 50
    """The maximum number of attempts of a commit while other writers commit first."""
    backoff_ms: int = 10
    """The longest wait before the second attempt; it doubles, up to `backoff_limit_ms`."""
    backoff_limit_ms: int = 1_000
    distribute_entries: int = 500_000
    """On Spark, a compaction of at least this many entries is divided into tasks."""
    entries_per_block: int = 1_000
    """The maximum number of entries in a block; if possible, all are in one partition."""

    def __post_init__(self) -> None:
        """Reject values outside the limits of a setting."""
        for name, least, most in _LIMITS:
            value = getattr(self, name)
            if not least <= value <= most:
                reason = f"{value} is not between {least} and {most}"
                raise InvalidArgumentError(argument=name, reason=reason)


_LIMITS: tuple[tuple[str, float, float], ...] = (
    ("compression_level", _ONE, _MAX_LEVEL),
    ("entries_per_manifest", _ONE, sys.maxsize),
    ("tombstone_threshold", 0, 1_000_000),
    ("max_manifests", 0, sys.maxsize),
    ("large_remove_threshold", 0, sys.maxsize),
    ("read_parallelism", _ONE, 1024),
    ("retention_versions", 0, sys.maxsize),
    ("retention_hours", 0, sys.maxsize),
    ("min_manifest_age_hours", 0, sys.maxsize),
    ("checkpoint_interval", _ONE, sys.maxsize),
    ("max_attempts", _ONE, sys.maxsize),
    ("backoff_ms", 0, sys.maxsize),
    ("backoff_limit_ms", 0, sys.maxsize),
    ("distribute_entries", 0, sys.maxsize),
    ("entries_per_block", _ONE, sys.maxsize),
)

SPARK_NAMES: dict[str, str] = {
    "format": "format",
    "compression": "compression",
    "compressionLevel": "compression_level",
    "entriesPerManifest": "entries_per_manifest",
    "compaction.tombstoneThreshold": "tombstone_threshold",
    "compaction.maxManifests": "max_manifests",
    "compaction.largeRemoveThreshold": "large_remove_threshold",
    "compaction.afterMerge": "compact_after_merge",
    "read.parallelism": "read_parallelism",
    "retention.versions": "retention_versions",
    "retention.hours": "retention_hours",
    "gc.minManifestAgeHours": "min_manifest_age_hours",
    "checkpoint.interval": "checkpoint_interval",
    "commit.maxAttempts": "max_attempts",
    "commit.backoffMs": "backoff_ms",
    "commit.backoffLimitMs": "backoff_limit_ms",
    "compaction.distributeEntries": "distribute_entries",
    "entriesPerBlock": "entries_per_block",
}
"""The settings by their IndexTables names, without `PREFIX`."""

_BY_LOWER_NAME = {
    **{name.lower(): name for name in StateSettings.__struct_fields__},
    **{f"{PREFIX}{spark}".lower(): name for spark, name in SPARK_NAMES.items()},
}


def parse_settings(
    texts: Mapping[str, Any], *, defaults: StateSettings | None = None
) -> StateSettings:
    """Return the settings for names and values; names of both kinds match in any case.

    Raises:
        InvalidArgumentError: a name is unknown, a value is invalid, or a setting is given twice.
    """
    values: dict[str, Any] = {}
    for word, value in texts.items():
        name = _BY_LOWER_NAME.get(word.lower())
        if name is None:
            raise _unknown(word)
        if name in values:
            raise InvalidArgumentError(argument=word, reason=f"{name} is set twice")
        values[name] = value
    unchanged = msgspec.structs.asdict(defaults or StateSettings())
    merged = unchanged | values
    for name, value in values.items():  # one by one, so that an error names its setting
        try:
            msgspec.convert({name: _lowered(name, value)}, type=StateSettings, strict=False)
        except msgspec.ValidationError as error:
            reason = f"{value!r}: {str(error).partition(' - at ')[0].replace('`', '')}"
            raise InvalidArgumentError(argument=name, reason=reason) from error
        merged[name] = _lowered(name, value)
    return msgspec.convert(merged, type=StateSettings, strict=False)


def _unknown(word: str) -> InvalidArgumentError:
    """Return the error for an unknown name; it offers names of the kind that was given."""
    name = word.lower().removeprefix(PREFIX.lower())
    is_spark_name = name != word.lower()
    known = {other.lower(): f"{PREFIX}{other}" for other in SPARK_NAMES}
    if not is_spark_name:
        known = {other: other for other in StateSettings.__struct_fields__}
    close = get_close_matches(name, known, n=1)
    hint = f"did you mean {known[close[0]]}?" if close else f"there are {', '.join(known.values())}"
    return InvalidArgumentError(argument=word, reason=f"no such setting; {hint}")


def session_settings(configuration: Mapping[str, str]) -> StateSettings:
    """Return the settings of a Spark session; unknown names below `PREFIX` are errors."""
    prefix = PREFIX.lower()
    return parse_settings(
        {name: value for name, value in configuration.items() if name.lower().startswith(prefix)}
    )


def _lowered(name: str, value: Any) -> Any:
    """Lower the case of enums and booleans, which are accepted in any case."""
    if not isinstance(value, str):
        return value
    if name in {"format", "compression", "compact_after_merge"}:
        return value.strip().lower()
    return value.strip()
