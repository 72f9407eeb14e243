"""The kinds of runners that views can run on, and their installed versions.

The option `engine` of a project, and the field `engine` of bundles, keys and records, name a
runner: the word is older than the distinction between runners and the engines that read logs.
"""

from enum import StrEnum
from importlib import metadata

from headrace.errors import InvalidArgumentError


class RunnerKind(StrEnum):
    """The runner that a plan is made for."""

    SPARK = "spark"
    DATAFUSION = "datafusion"


_PACKAGES = {RunnerKind.SPARK: "pyspark", RunnerKind.DATAFUSION: "datafusion"}


def parse_runner(name: RunnerKind | str) -> RunnerKind:
    """Return the runner with the given name.

    Raises:
        InvalidArgumentError: there is no such runner.
    """
    try:
        return RunnerKind(name)
    except ValueError as error:
        reason = f"{name!r} is not one of {', '.join(RunnerKind)}"
        raise InvalidArgumentError(argument="engine", reason=reason) from error


def runner_of(engine: str) -> RunnerKind:
    """Return the runner that a stored `engine` names, such as `spark 4.3.0`."""
    return parse_runner(engine.partition(" ")[0])


def runner_version(runner: RunnerKind) -> str:
    """Return a runner with its installed version, as it is stored: `spark 4.3.0`."""
    try:
        return f"{runner} {metadata.version(_PACKAGES[runner])}"
    except metadata.PackageNotFoundError:
        return f"{runner} (not installed)"
