"""The batches that a plan produces.

An `ActionBatch` is opaque except for the few operations that phases need, so that lines decoded
from JSON and columns read from Parquet can each implement it in their own way.
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
    """The content of a small file."""

    path: str
    content: bytes

    def __len__(self) -> int:
        return 1


@runtime_checkable
class ActionBatch(Protocol):
    """Actions read from one file of the log."""

    @property
    def source(self) -> LogFile:
        """The file that the actions were read from."""

    def __len__(self) -> int:
        """Return the number of rows."""

    def actions(self, name: str) -> Sequence[Any]:
        """Return the decoded actions of one kind ("add", "protocol", …), in order."""


class RowBatch(msgspec.Struct, frozen=True):
    """The simplest action batch: decoded lines, each with one attribute per action."""

    source: LogFile
    rows: Sequence[ActionRow]

    def __len__(self) -> int:
        return len(self.rows)

    def actions(self, name: str) -> Sequence[Any]:
        """Return the actions of one kind, in the order of the lines."""
        try:
            return list(filter(None, map(attrgetter(name), self.rows)))  # actions are always truthy
        except AttributeError:
            return [action for row in self.rows if (action := getattr(row, name, None)) is not None]


class AddBatch(msgspec.Struct, frozen=True):
    """Decoded adds only: the adds of a commit that remain after replay."""

    source: LogFile
    adds: Sequence[Any]

    def __len__(self) -> int:
        return len(self.adds)

    def actions(self, name: str) -> Sequence[Any]:
        """Return the adds if `name` is "add", else nothing."""
        return self.adds if name == "add" else ()


Batch: TypeAlias = FileListing | Document | ActionBatch
