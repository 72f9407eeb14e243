"""Describes the environment of a run (packages, Python, machine), and makes run ids.

Both are part of a run's record, so that a difference between two runs can be explained.
"""

import os
import platform
import time
from datetime import UTC, datetime
from importlib import metadata
from secrets import token_hex

_PACKAGES = ("headrace", "pyarrow", "datafusion", "deltalake", "sqlglot", "numpy", "pyspark")


def describe_environment() -> dict[str, str]:
    """Return the versions of everything that can affect a result."""
    return {
        "python": platform.python_version(),
        "platform": platform.platform(),
        "cores": str(os.cpu_count()),
        **{name: _version(name) for name in _PACKAGES},
    }


def now_ms() -> int:
    """Return the current time in milliseconds since the epoch."""
    return time.time_ns() // 1_000_000


def new_run_id(started_ms: int) -> str:
    """Return a unique id that sorts by start time."""
    moment = datetime.fromtimestamp(started_ms / 1000, tz=UTC)
    return f"{moment:%Y%m%d-%H%M%S}-{started_ms % 1000:03}{token_hex(2)}"


def _version(package: str) -> str:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return "not installed"
