"""Pins: each source at one version, for everything that a plan does with it."""

import re
from collections.abc import Iterable, Mapping
from enum import StrEnum
from typing import TypeAlias

import msgspec

from headrace.errors import InvalidArgumentError, PinConflictError

Pins: TypeAlias = Mapping[str, int]
"""Versions by source, as a caller asks for them."""

_HARMLESS = re.compile(r"(?i).*(region|endpoint|allow_http|virtual_hosted|timeout|account_name)$")
_HIDDEN = "(hidden)"


class PinOrigin(StrEnum):
    """Who chose the version."""

    NEWEST = "newest"
    PROJECT = "project"
    REQUEST = "request"
    MISSING = "missing"
    """Nobody: the source is optional and not there, so it is empty."""


class SourcePin(msgspec.Struct, frozen=True, kw_only=True):
    """A source, resolved: which version of it a plan is about."""

    source: str
    kind: str
    uri: str
    """As the project has it, without what is secret."""
    origin: PinOrigin
    version: int | None = None
    timestamp_ms: int | None = None
    table_id: str = ""
    reader_version: int = 0
    writer_version: int = 0
    features: tuple[str, ...] = ()
    options: dict[str, str] = {}
    """The settings of the store; the value of one that may be secret is not kept."""
    schema: str = ""
    """The columns in Spark's words."""
    partition_columns: tuple[str, ...] = ()

    def identity(self) -> dict[str, object]:
        """What of a pin goes into the id of a bundle: the same wherever the table lies."""
        return {
            "kind": self.kind,
            "version": self.version,
            "table": self.table_id,
            "schema": self.schema,
            "partition_columns": self.partition_columns,
            "protocol": [self.reader_version, self.writer_version, self.features],
        }


def parse_pins(words: Iterable[str]) -> dict[str, int]:
    """Read `SOURCE=VERSION` words.

    Raises:
        InvalidArgumentError: a word has another form.
        PinConflictError: a source is pinned to two versions.
    """
    pins: dict[str, int] = {}
    for word in words:
        source, _, version = word.partition("=")
        if not source or not version.isdecimal():
            raise InvalidArgumentError(argument="--pin", reason=f"{word!r} is not SOURCE=VERSION")
        if pins.setdefault(source, int(version)) != int(version):
            raise PinConflictError(source=source, pins=(f"{pins[source]}", version))
    return pins


def without_secrets(options: Mapping[str, str]) -> dict[str, str]:
    """Options of a store in which only what is known to be harmless keeps its value."""
    return {
        name: value if _HARMLESS.fullmatch(name) else _HIDDEN
        for name, value in sorted(options.items())
    }


def harmless_uri(uri: str) -> str:
    """An address without a password before the host, and without a signature behind a `?`."""
    plain = uri.partition("?")[0] if "://" in uri else uri
    if re.match(r"(?i)abfss?://", plain):  # what is before the @ is the container
        return plain
    return re.sub(r"://[^/@]*@", "://", plain)
