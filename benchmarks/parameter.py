"""The parameters of a synthetic lake: equal `Parameters` produce the same bytes of log."""

import hashlib
import json
from dataclasses import asdict, dataclass
from enum import StrEnum

GENERATION = 1
"""Incremented when the generator's output changes, so that old lakes are not reused."""


class Layout(StrEnum):
    """How the checkpoint is written."""

    CLASSIC = "classic"
    MULTI_PART = "multi-part"
    V2 = "v2"


class Writer(StrEnum):
    """Who writes the checkpoint: pyarrow, in row groups of a given size, or deltalake."""

    PYARROW = "pyarrow"
    DELTALAKE = "deltalake"


class Order(StrEnum):
    """The order of the checkpoint's adds: as they arrived, day by day, or scattered."""

    DATE = "date"
    HASH = "hash"


class Values(StrEnum):
    """How the checkpoint stores partition values and statistics: as text only, or also parsed."""

    TEXT = "text"
    PARSED = "parsed"


class Checksum(StrEnum):
    """Whether the newest commit has a `.crc` file."""

    ABSENT = "absent"
    NEWEST = "newest"


@dataclass(frozen=True, slots=True, kw_only=True)
class Parameters:
    """A checkpoint of `files` files, followed by `commits` commits.

    Each commit adds `adds` files, removes `removes` and adds `readds` again; half of the latter are
    live, and half were removed by an earlier commit.
    """

    files: int
    layout: Layout = Layout.CLASSIC
    order: Order = Order.DATE
    values: Values = Values.TEXT
    checksum: Checksum = Checksum.ABSENT
    writer: Writer = Writer.PYARROW
    codec: str = "snappy"
    row_group_rows: int = 131_072
    parts: int = 10
    commits: int = 50
    adds: int = 200
    removes: int = 50
    readds: int = 2
    seed: int = 1

    def __post_init__(self) -> None:
        """Refuse parameters that no history can satisfy."""
        if self.commits < 1 or self.adds < self.removes:
            msg = "there must be a commit, and none may remove more than one adds"
            raise ValueError(msg)
        if self.commits * (self.removes + self.readds) > self.files // 2:
            msg = "the commits would remove most of the checkpoint: ask for more files"
            raise ValueError(msg)
        if self.writer is Writer.DELTALAKE and self.layout is not Layout.CLASSIC:
            msg = "deltalake writes classic checkpoints only"
            raise ValueError(msg)

    @property
    def tombstones(self) -> int:
        """The number of removes in the checkpoint."""
        return self.files // 100

    @property
    def name(self) -> str:
        """The name of the lake's folder: readable, and unique for each set of parameters."""
        fields = {"generation": GENERATION} | asdict(self)
        writer = "" if self.writer is Writer.PYARROW else f"-{fields['writer']}"
        if not writer:
            del fields["writer"]  # lakes from before there was a choice are the same
        digest = hashlib.sha256(json.dumps(fields, sort_keys=True).encode()).hexdigest()[:8]
        checksum = "" if self.checksum is Checksum.ABSENT else "-crc"
        return f"{self.layout}-{self.files}-{self.order}-{self.values}{checksum}{writer}-{digest}"
