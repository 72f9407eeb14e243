"""What flows out of a plan.

An `ActionBatch` is opaque but for the few operations that phases need, so that lines decoded
from JSON and columns read from Parquet may implement it in their own way.
"""

from collections.abc import Sequence
from operator import attrgetter
from typing import Any, Protocol, TypeAlias, runtime_checkable

import msgspec

from headrace.protocol.action import ActionRow
from headrace.protocol.log_file import LogFile


class FileListing(msgspec.Struct, frozen=True):
    """The files of a directory, sorted by name."""

    files: tuple[LogFile, ...]

    def __len__(self) -> int:
        return len(self.files)


class Document(msgspec.Struct, frozen=True):
    """A small file, whole."""

    path: str
    content: bytes

    def __len__(self) -> int:
        return 1


@runtime_checkable
class ActionBatch(Protocol):
    """Actions that were read from one file of the log."""

    @property
    def source(self) -> LogFile:
        """The file that they come from."""

    def __len__(self) -> int:
        """How many rows there are."""

    def actions(self, name: str) -> Sequence[Any]:
        """The actions of that name in the log ("add", "protocol", …), decoded, in order."""


class RowBatch(msgspec.Struct, frozen=True):
    """The simplest action batch: decoded lines, each with one attribute per action."""

    source: LogFile
    rows: Sequence[ActionRow]

    def __len__(self) -> int:
        return len(self.rows)

    def actions(self, name: str) -> Sequence[Any]:
        """The actions of that name, in the order of the lines."""
        try:
            return list(filter(None, map(attrgetter(name), self.rows)))  # actions are all true
        except AttributeError:
            return [action for row in self.rows if (action := getattr(row, name, None)) is not None]


class AddBatch(msgspec.Struct, frozen=True):
    """Added files alone, decoded: what is left of a commit after replay."""

    source: LogFile
    adds: Sequence[Any]

    def __len__(self) -> int:
        return len(self.adds)

    def actions(self, name: str) -> Sequence[Any]:
        """The adds, or nothing."""
        return self.adds if name == "add" else ()


Batch: TypeAlias = FileListing | Document | ActionBatch
