"""The options of a scan. No option changes which files it returns."""

from enum import StrEnum
from typing import Any, Self

import msgspec

from headrace.errors import InvalidArgumentError
from headrace.phases.tripwire import Fallback
from headrace.plan.context import ExecutionSettings


class Strategy(StrEnum):
    """The order in which a scan reads the log."""

    AUTO = "auto"
    REVERSE = "reverse"
    FORWARD = "forward"


class Tripwire(StrEnum):
    """Which actions in a commit make a scan fall back to the forward strategy."""

    LENIENT = "lenient"
    STRICT = "strict"


class ScanOptions(ExecutionSettings, frozen=True, kw_only=True):
    """All options of a scan; `Snapshot.scan` and the command line use the same names."""

    strategy: Strategy = Strategy.AUTO
    """`reverse`: newest files first; `forward`: the checkpoint first; `auto`: by the rules."""
    tripwire: Tripwire = Tripwire.LENIENT
    """`lenient`: everything is handled newest first; `strict`: only adds and removes are."""
    fallback: Fallback = Fallback.ALLOWED
    """Whether the tripwire may make a scan fall back to forward, or makes it fail."""
    memory_limit_bytes: int = 64 << 20
    """The memory that the seen set may take before it spills to disk; results stay exact."""

    def __post_init__(self) -> None:
        for name, kind in _ENUMS.items():
            msgspec.structs.force_setattr(self, name, _member(kind, name, getattr(self, name)))
        for name in self.__struct_fields__:
            if name not in _ENUMS:
                _check_number(name, getattr(self, name))

    def with_overrides(self, overrides: dict[str, Any]) -> Self:
        """Return the options with overrides by name.

        Raises:
            InvalidArgumentError: there is no such option, or no such value of it.
        """
        known = self.__struct_fields__
        for name in overrides:
            if name not in known:
                reason = f"there is no such option; there are {', '.join(known)}"
                raise InvalidArgumentError(argument=name, reason=reason)
        return msgspec.structs.replace(self, **overrides)


_ENUMS: dict[str, type[StrEnum]] = {
    "strategy": Strategy,
    "tripwire": Tripwire,
    "fallback": Fallback,
}
_MIN = {"memory_limit_bytes": 0, "retry_backoff_ms": 0}
_MAX = (1 << 31) - 1
"""Larger than any useful value, and within the limits of all libraries used."""
_MAX_BYTES = (1 << 63) - 1


def _check_number(name: str, value: Any) -> None:
    least = _MIN.get(name, 1)
    most = _MAX_BYTES if name.endswith("_bytes") else _MAX
    if not isinstance(value, int) or isinstance(value, bool):
        reason = f"it must be a whole number, not {value!r}"
    elif value < least:
        reason = f"it must be at least {least}, not {value}"
    elif value > most:
        reason = f"it must be at most {most}, not {value}"
    else:
        return
    raise InvalidArgumentError(argument=name, reason=reason)


def _member(kind: type[StrEnum], name: str, value: str) -> StrEnum:
    try:
        return kind(value)
    except ValueError as error:
        reason = f"{value!r} is not one of {', '.join(kind)}"
        raise InvalidArgumentError(argument=name, reason=reason) from error
