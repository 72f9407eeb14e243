"""Pins: the one version of a source that a plan uses throughout.

A pin is part of a bundle, so it contains no secrets: options and addresses are cleaned here.
"""

import re
from collections.abc import Iterable, Mapping
from enum import StrEnum
from typing import TypeAlias

import msgspec

from headrace.errors import InvalidArgumentError, PinConflictError

Pins: TypeAlias = Mapping[str, int]
"""The versions that a caller asks for, by source."""

_HARMLESS = re.compile(r"(?i).*(region|endpoint|allow_http|virtual_hosted|timeout|account_name)$")
_HIDDEN = "(hidden)"


class PinOrigin(StrEnum):
    """Who chose the version of a pin."""

    NEWEST = "newest"
    PROJECT = "project"
    REQUEST = "request"
    MISSING = "missing"
    """The source is optional and does not exist; it is empty."""


class SourcePin(msgspec.Struct, frozen=True, kw_only=True):
    """A source resolved to one version."""

    source: str
    kind: str
    uri: str
    """As written in the project, without secrets."""
    origin: PinOrigin
    version: int | None = None
    timestamp_ms: int | None = None
    table_id: str = ""
    reader_version: int = 0
    writer_version: int = 0
    features: tuple[str, ...] = ()
    options: dict[str, str] = {}
    """The options of the store; values that may be secret are hidden."""
    schema: str = ""
    """The columns, in Spark's DDL."""
    partition_columns: tuple[str, ...] = ()

    def identity(self) -> dict[str, object]:
        """Return what a bundle's id covers; it does not depend on where the table is stored."""
        return {
            "kind": self.kind,
            "version": self.version,
            "table": self.table_id,
            "schema": self.schema,
            "partition_columns": self.partition_columns,
            "protocol": [self.reader_version, self.writer_version, self.features],
        }


def parse_pins(words: Iterable[str]) -> dict[str, int]:
    """Parse arguments of the form `SOURCE=VERSION`.

    Raises:
        InvalidArgumentError: an argument has another form.
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
    """Return store options with every value hidden that is not known to be harmless."""
    return {
        name: value if _HARMLESS.fullmatch(name) else _HIDDEN
        for name, value in sorted(options.items())
    }


def harmless_uri(uri: str) -> str:
    """Return an address without a password before the host or a query string after it."""
    plain = uri.partition("?")[0] if "://" in uri else uri
    if re.match(r"(?i)abfss?://", plain):  # the part before the @ is the container
        return plain
    return re.sub(r"://[^/@]*@", "://", plain)
