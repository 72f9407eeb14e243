"""Parses the options of the data source: text from Spark enters, typed values leave.

An unknown option is rejected: a misspelt one would silently read something else.
"""

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from enum import Enum
from typing import Literal

import msgspec

from headrace.errors import InvalidArgumentError
from headrace.storage.option import HiddenOptions

_SIZE = re.compile(r"(\d+)\s*([kmgt]?)b?", re.IGNORECASE)
_POWERS = {"": 0, "k": 10, "m": 20, "g": 30, "t": 40}
_ALIASES = {"versionasof": "version", "timestampasof": "asof"}  # those of other Delta readers
_STORAGE = "storage."
LATEST: Literal["latest"] = "latest"
PARTITION_BYTES = 128 << 20
FILES_PER_TRIGGER = 1000


class Tolerance(Enum):
    """How a stream of appended rows handles a commit that removes rows."""

    REFUSE = "refuse"
    IGNORE_DELETES = "ignoreDeletes"
    """Skip commits that only delete; reject others."""
    IGNORE_CHANGES = "ignoreChanges"
    """Return the files that such commits add: rows that they only moved appear again."""
    SKIP_COMMITS = "skipChangeCommits"
    """Skip such commits entirely."""


class BatchLimits(msgspec.Struct, frozen=True, kw_only=True):
    """The maximum size of one micro-batch; None for no limit."""

    files: int | None = FILES_PER_TRIGGER
    size_bytes: int | None = None
    """A micro-batch ends with the file that reaches this limit, so it always makes progress."""
    versions: int | None = None


UNLIMITED = BatchLimits(files=None)


class StreamOptions(msgspec.Struct, frozen=True, kw_only=True):
    """Where a stream starts, how much it reads at a time, and what it tolerates."""

    starting_version: int | Literal["latest"] | None = None
    """The first version whose changes are returned, or `latest`; None: the whole table first."""
    starting_timestamp: datetime | None = None
    limits: BatchLimits = BatchLimits()
    tolerance: Tolerance = Tolerance.REFUSE


class SourceOptions(msgspec.Struct, frozen=True, kw_only=True):
    """All options of the data source."""

    path: str
    version: int | None = None
    as_of: str | None = None
    where: str | None = None
    time_zone: str | None = None
    """The zone of times in `where` that name none; None for that of the session."""
    columns: tuple[str, ...] | None = None
    partition_bytes: int = PARTITION_BYTES
    """The bytes of data files that one task reads, if it reads more than one file."""
    storage: HiddenOptions = msgspec.field(default_factory=HiddenOptions)
    read_change_feed: bool = False
    read_file_changes: bool = False
    """Whether to return the files that versions add and remove, not rows."""
    ending_version: int | None = None
    stream: StreamOptions = StreamOptions()


def parse_options(texts: Mapping[str, str]) -> SourceOptions:
    """Parse the options.

    Raises:
        InvalidArgumentError: an option is unknown or missing, or its value is invalid.
    """
    options = _OptionReader(texts)
    parsed = SourceOptions(
        path=options.required("path"),
        version=options.number("version"),
        as_of=options.text("asOf"),
        where=options.text("where"),
        time_zone=options.text("timeZone"),
        columns=options.names("columns"),
        partition_bytes=options.size("partitionBytes") or PARTITION_BYTES,
        storage=HiddenOptions(options.below(_STORAGE)),
        read_change_feed=options.flag("readChangeFeed"),
        read_file_changes=options.flag("readFileChanges"),
        ending_version=options.number("endingVersion"),
        stream=StreamOptions(
            starting_version=options.version_or_latest("startingVersion"),
            starting_timestamp=options.moment("startingTimestamp"),
            limits=BatchLimits(
                files=options.number("maxFilesPerTrigger", minimum=1) or FILES_PER_TRIGGER,
                size_bytes=options.size("maxBytesPerTrigger"),
                versions=options.number("maxVersionsPerTrigger", minimum=1),
            ),
            tolerance=options.tolerance(),
        ),
    )
    options.refuse_unread()
    if parsed.version is not None and parsed.as_of is not None:
        raise InvalidArgumentError(argument="asOf", reason="set either asOf or version, not both")
    stream = parsed.stream
    if stream.starting_version is not None and stream.starting_timestamp is not None:
        reason = "set either startingTimestamp or startingVersion, not both"
        raise InvalidArgumentError(argument="startingTimestamp", reason=reason)
    return parsed


class _OptionReader:
    """Reads options from text, with names in any case, and remembers which are unread."""

    def __init__(self, texts: Mapping[str, str]) -> None:
        self._unread: dict[str, str] = {}
        self._names: list[str] = []
        for name, text in texts.items():
            folded = name.lower()
            self._unread[_ALIASES.get(folded, folded)] = text

    def text(self, name: str) -> str | None:
        self._names.append(name)
        return self._unread.pop(name.lower(), None)

    def required(self, name: str) -> str:
        text = self.text(name)
        if not text:
            reason = "it is missing: set the folder that contains _delta_log"
            raise InvalidArgumentError(argument=name, reason=reason)
        return text

    def number(self, name: str, *, minimum: int = 0) -> int | None:
        text = self.text(name)
        if text is None:
            return None
        if not text.strip().isdecimal() or int(text) < minimum:
            reason = f"it must be a whole number of at least {minimum}, not {text!r}"
            raise InvalidArgumentError(argument=name, reason=reason)
        return int(text)

    def version_or_latest(self, name: str) -> int | Literal["latest"] | None:
        if self._unread.get(name.lower(), "").strip().lower() == LATEST:
            self.text(name)
            return LATEST
        return self.number(name)

    def moment(self, name: str) -> datetime | None:
        text = self.text(name)
        if text is None:
            return None
        try:
            moment = datetime.fromisoformat(text.strip())
        except ValueError as error:
            reason = f"it must be a time such as 2026-03-01T12:00:00Z, not {text!r}"
            raise InvalidArgumentError(argument=name, reason=reason) from error
        return moment if moment.tzinfo else moment.replace(tzinfo=UTC)

    def size(self, name: str) -> int | None:
        text = self.text(name)
        if text is None:
            return None
        match = _SIZE.fullmatch(text.strip())
        if match is None or not int(match[1]):
            reason = f"it must be a size such as 1000000 or 64m, not {text!r}"
            raise InvalidArgumentError(argument=name, reason=reason)
        return int(match[1]) << _POWERS[match[2].lower()]

    def names(self, name: str) -> tuple[str, ...] | None:
        text = self.text(name)
        return None if text is None else tuple(part.strip() for part in text.split(","))

    def flag(self, name: str) -> bool:
        text = self.text(name)
        if text is None or text.strip().lower() in {"true", "false"}:
            return text is not None and text.strip().lower() == "true"
        reason = f"it must be true or false, not {text!r}"
        raise InvalidArgumentError(argument=name, reason=reason)

    def tolerance(self) -> Tolerance:
        """Return the most permissive of the tolerances that are set."""
        tolerances = [t for t in Tolerance if t is not Tolerance.REFUSE and self.flag(t.value)]
        return tolerances[-1] if tolerances else Tolerance.REFUSE

    def below(self, prefix: str) -> dict[str, str]:
        self._names.append(f"{prefix}…")
        names = [name for name in self._unread if name.startswith(prefix)]
        return {name.removeprefix(prefix): self._unread.pop(name) for name in names}

    def refuse_unread(self) -> None:
        for name in self._unread:
            reason = f"there is no such option; there are {', '.join(self._names)}"
            raise InvalidArgumentError(argument=name, reason=reason)
