"""The runners that views can run on, by name and version."""

from enum import StrEnum
from importlib import metadata

from headrace.errors import InvalidArgumentError


class Engine(StrEnum):
    """Which runner a plan is for."""

    SPARK = "spark"
    DATAFUSION = "datafusion"


_PACKAGES = {Engine.SPARK: "pyspark", Engine.DATAFUSION: "datafusion"}


def parse_engine(name: Engine | str) -> Engine:
    """A runner by its name.

    Raises:
        InvalidArgumentError: there is no such runner.
    """
    try:
        return Engine(name)
    except ValueError as error:
        reason = f"{name!r} is none of {', '.join(Engine)}"
        raise InvalidArgumentError(argument="engine", reason=reason) from error


def engine_version(engine: Engine) -> str:
    """A runner and its version."""
    try:
        return f"{engine} {metadata.version(_PACKAGES[engine])}"
    except metadata.PackageNotFoundError:
        return f"{engine} (not installed)"
