"""Profiles: how much of a machine a run may take.

One profile is mapped to the settings of both runners. Settings of Spark that can change a result
are part of every key, so that another profile re-runs what it may change.
"""

import re
from collections.abc import Mapping
from typing import Any

import msgspec

_RELIED_ON = (
    *("spark.sql.ansi", "spark.sql.caseSensitive", "spark.sql.decimalOperations"),
    *("spark.sql.legacy", "spark.sql.session.timeZone", "spark.sql.storeAssignmentPolicy"),
    "spark.sql.timestampType",
)
_UNITS = {"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "t": 1 << 40}
_SIZE = re.compile(r"\s*(\d+)\s*([kmgt]?)(i?b)?\s*", re.IGNORECASE)


class Profile(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A table `[profiles.NAME]`."""

    memory: str = "2GiB"
    """The most that a runner may keep in memory: Spark's heap, DataFusion's pool."""
    parallelism: int = 2
    """How many tasks run at once, and how many partitions a shuffle has."""
    batch_size: int = 8192
    """How many rows an Arrow batch has."""
    views_at_once: int = 2
    """How many views run side by side where the graph allows it."""
    spark: dict[str, str] = {}
    """Further settings of Spark, by their own names."""

    def __post_init__(self) -> None:
        self.memory_bytes  # noqa: B018  (a size that cannot be read is refused here)
        for name in ("parallelism", "batch_size", "views_at_once"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} must be at least 1, not {getattr(self, name)}")
        for name in self.spark:
            if name.startswith(_RELIED_ON):
                reason = "plans rely on it (the time zone and ANSI mode are [settings])"
                raise ValueError(f"spark: {name} cannot be set: {reason}")

    @property
    def memory_bytes(self) -> int:
        """The memory as a number.

        Raises:
            ValueError: the text is no size.
        """
        found = _SIZE.fullmatch(self.memory)
        if found is None:
            raise ValueError(f"memory: {self.memory!r} is no size such as '2GiB' or '512MiB'")
        return int(found[1]) * _UNITS[found[2].casefold()]

    def spark_settings(self) -> dict[str, str]:
        """What a Spark session is built with."""
        return {
            "spark.driver.memory": f"{self.memory_bytes >> 20}m",
            "spark.sql.shuffle.partitions": str(self.parallelism),
            "spark.default.parallelism": str(self.parallelism),
            "spark.sql.execution.arrow.maxRecordsPerBatch": str(self.batch_size),
            "spark.sql.parquet.columnarReaderBatchSize": str(self.batch_size),
            **self.spark,
        }

    def spark_master(self) -> str:
        """The master of a local session."""
        return f"local[{self.parallelism}]"

    def datafusion_settings(self) -> dict[str, str]:
        """What a DataFusion session is configured with; its memory pool takes `memory_bytes`."""
        return {
            "datafusion.execution.target_partitions": str(self.parallelism),
            "datafusion.execution.batch_size": str(self.batch_size),
        }


PRESETS: dict[str, Profile] = {
    "default": Profile(),
    "dev": Profile(memory="1GiB", views_at_once=1),
    "prod": Profile(memory="8GiB", parallelism=8, views_at_once=4),
}
"""What is there without a word in `headrace.toml`."""


def merge_profile(base: Profile, changes: Mapping[str, Any]) -> Profile:
    """A profile with some of its keys replaced.

    Raises:
        msgspec.ValidationError: a key is unknown, or a value is wrong.
    """
    if not isinstance(changes, Mapping):
        raise msgspec.ValidationError("it is a value where a table should be")
    return msgspec.convert({**msgspec.to_builtins(base), **changes}, Profile)
