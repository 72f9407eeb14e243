"""What a synthetic lake is made from: two equal `Parameters` make the same bytes of log."""

import hashlib
import json
from dataclasses import asdict, dataclass
from enum import StrEnum

GENERATION = 1
"""Raised when the generator makes another log from the same parameters, so none is re-used."""


class Layout(StrEnum):
    """How the checkpoint is written."""

    CLASSIC = "classic"
    MULTI_PART = "multi-part"
    V2 = "v2"


class Order(StrEnum):
    """How the adds of the checkpoint are ordered: as they came, day by day, or spread."""

    DATE = "date"
    HASH = "hash"


class Values(StrEnum):
    """What the checkpoint has of partition values and statistics, besides their texts."""

    TEXT = "text"
    PARSED = "parsed"


class Checksum(StrEnum):
    """Whether there is a `.crc` file beside the newest commit."""

    ABSENT = "absent"
    NEWEST = "newest"


@dataclass(frozen=True, slots=True, kw_only=True)
class Parameters:
    """A checkpoint of so many files, and so many commits after it.

    Each commit adds `adds` files, removes `removes` and adds `readds` again, half of them files
    that are live and half of them files that an earlier commit removed.
    """

    files: int
    layout: Layout = Layout.CLASSIC
    order: Order = Order.DATE
    values: Values = Values.TEXT
    checksum: Checksum = Checksum.ABSENT
    codec: str = "snappy"
    row_group_rows: int = 131_072
    parts: int = 10
    commits: int = 50
    adds: int = 200
    removes: int = 50
    readds: int = 2
    seed: int = 1

    def __post_init__(self) -> None:
        """Refuse what no history can be made of."""
        if self.commits < 1 or self.adds < self.removes:
            msg = "there must be a commit, and none may remove more than one adds"
            raise ValueError(msg)
        if self.commits * (self.removes + self.readds) > self.files // 2:
            msg = "the commits would remove most of the checkpoint: ask for more files"
            raise ValueError(msg)

    @property
    def tombstones(self) -> int:
        """How many removes the checkpoint holds."""
        return self.files // 100

    @property
    def name(self) -> str:
        """The name of the lake's folder: readable, and its own for each set of parameters."""
        text = json.dumps({"generation": GENERATION} | asdict(self), sort_keys=True)
        digest = hashlib.sha256(text.encode()).hexdigest()[:8]
        checksum = "" if self.checksum is Checksum.ABSENT else "-crc"
        return f"{self.layout}-{self.files}-{self.order}-{self.values}{checksum}-{digest}"
