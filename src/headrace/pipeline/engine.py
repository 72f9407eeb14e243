"""The runners that views can run on, by name and version."""

from enum import StrEnum
from importlib import metadata

from headrace.errors import InvalidArgumentError


class Engine(StrEnum):
    """Which runner a plan is for."""

    SPARK = "spark"
    DATAFUSION = "datafusion"


_PACKAGES = {Engine.SPARK: "pyspark", Engine.DATAFUSION: "datafusion"}


def engine_version(engine: Engine | str) -> str:
    """A runner and its version.

    Raises:
        InvalidArgumentError: there is no such runner.
    """
    try:
        chosen = Engine(engine)
    except ValueError as error:
        reason = f"{engine!r} is none of {', '.join(Engine)}"
        raise InvalidArgumentError(argument="engine", reason=reason) from error
    try:
        return f"{chosen} {metadata.version(_PACKAGES[chosen])}"
    except metadata.PackageNotFoundError:
        return f"{chosen} (not installed)"
