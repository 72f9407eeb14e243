"""Profiles: how much of a machine a run may use.

A profile maps to the settings of both runners. Spark settings that can change a result are part of
every skip key, so that views run again under a profile that may change their result.
"""

import re
from collections.abc import Mapping
from typing import Any

import msgspec

_RESERVED = (
    *("spark.sql.ansi", "spark.sql.caseSensitive", "spark.sql.decimalOperations"),
    *("spark.sql.legacy", "spark.sql.session.timeZone", "spark.sql.storeAssignmentPolicy"),
    "spark.sql.timestampType",
)
_UNITS = {"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "t": 1 << 40}
_SIZE = re.compile(r"\s*(\d+)\s*([kmgt]?)(i?b)?\s*", re.IGNORECASE)


class Profile(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A table `[profiles.NAME]`."""

    memory: str = "2GiB"
    """The memory limit of a runner: Spark's heap, or DataFusion's memory pool."""
    parallelism: int = 2
    """The number of concurrent tasks, and of shuffle partitions."""
    batch_size: int = 8192
    """The number of rows in an Arrow batch."""
    views_at_once: int = 2
    """The maximum number of views that run concurrently."""
    spark: dict[str, str] = {}
    """Additional Spark settings, by their full names."""

    def __post_init__(self) -> None:
        self.memory_bytes  # noqa: B018  (rejects an invalid size)
        for name in ("parallelism", "batch_size", "views_at_once"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} must be at least 1, not {getattr(self, name)}")
        for name in self.spark:
            if name.startswith(_RESERVED):
                reason = "plans rely on it (the time zone and ANSI mode are [settings])"
                raise ValueError(f"spark: {name} cannot be set: {reason}")

    @property
    def memory_bytes(self) -> int:
        """The memory limit in bytes.

        Raises:
            ValueError: the text is not a size.
        """
        match = _SIZE.fullmatch(self.memory)
        if match is None:
            raise ValueError(f"memory: {self.memory!r} is not a size such as '2GiB' or '512MiB'")
        return int(match[1]) * _UNITS[match[2].casefold()]

    def spark_settings(self) -> dict[str, str]:
        """Return the settings of a Spark session."""
        return {
            "spark.driver.memory": f"{self.memory_bytes >> 20}m",
            "spark.sql.shuffle.partitions": str(self.parallelism),
            "spark.default.parallelism": str(self.parallelism),
            "spark.sql.execution.arrow.maxRecordsPerBatch": str(self.batch_size),
            "spark.sql.parquet.columnarReaderBatchSize": str(self.batch_size),
            **self.spark,
        }

    def spark_master(self) -> str:
        """Return the master of a local session."""
        return f"local[{self.parallelism}]"

    def datafusion_settings(self) -> dict[str, str]:
        """Return the settings of a DataFusion session, apart from its memory pool."""
        return {
            "datafusion.execution.target_partitions": str(self.parallelism),
            "datafusion.execution.batch_size": str(self.batch_size),
        }


PRESETS: dict[str, Profile] = {
    "default": Profile(),
    "dev": Profile(memory="1GiB", views_at_once=1),
    "prod": Profile(memory="8GiB", parallelism=8, views_at_once=4),
}
"""The profiles that every project has."""


def merge_profile(base: Profile, changes: Mapping[str, Any]) -> Profile:
    """Return a profile with some keys replaced.

    Raises:
        msgspec.ValidationError: a key is unknown, or a value is invalid.
    """
    if not isinstance(changes, Mapping):
        raise msgspec.ValidationError("it must be a table, not a value")
    return msgspec.convert({**msgspec.to_builtins(base), **changes}, Profile)
