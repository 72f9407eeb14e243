"""Encode and decode the body of a commit.

A body is one JSON object per line: first the commit's information, then its actions.
"""

import time
from functools import cache
from importlib import metadata
from typing import Any

import msgspec

from headrace.commit.action import (
    AddFile,
    ChangeFile,
    RemoveFile,
    TableMetadata,
    TableProtocol,
    Transaction,
)

NOTE_KEY = "headrace"
"""The key of Headrace's own note in the commit information."""


class CommitBody(msgspec.Struct, frozen=True, kw_only=True):
    """The actions of a commit, and the note of its writer."""

    operation: str
    note: dict[str, Any] = {}
    """The writer's note about the commit: any JSON object, stored under `NOTE_KEY`."""
    protocol: TableProtocol | None = None
    metadata: TableMetadata | None = None
    transaction: Transaction | None = None
    adds: tuple[AddFile, ...] = ()
    removes: tuple[RemoveFile, ...] = ()
    changes: tuple[ChangeFile, ...] = ()

    def encode(self, commit_id: str) -> bytes:
        """Return the body as written to the log; `commit_id` identifies the commit later."""
        information = {
            "timestamp": time.time_ns() // 1_000_000,
            "operation": self.operation,
            "operationParameters": {},
            "isBlindAppend": not self.removes and self.metadata is None,
            "engineInfo": _engine(),
            "txnId": commit_id,
            NOTE_KEY: self.note,
        }
        named = (
            ("commitInfo", information),
            ("protocol", self.protocol),
            ("metaData", self.metadata),
            ("txn", self.transaction),
            *(("add", add) for add in self.adds),
            *(("remove", remove) for remove in self.removes),
            *(("cdc", change) for change in self.changes),
        )
        lines = (msgspec.json.encode({name: action}) for name, action in named if action)
        return b"".join(line + b"\n" for line in lines)


@cache
def _engine() -> str:
    return f"headrace:{metadata.version('headrace')}"


class CommitInformation(msgspec.Struct, frozen=True, kw_only=True):
    """The information in a commit, ours or another writer's, about itself."""

    id: str | None = msgspec.field(default=None, name="txnId")
    operation: str = ""
    note: msgspec.Raw = msgspec.field(default=msgspec.Raw(b"null"), name=NOTE_KEY)
    """Our own note as JSON; `null` if there is none."""


class _Line(msgspec.Struct, frozen=True):
    information: CommitInformation | None = msgspec.field(default=None, name="commitInfo")


_LINES = msgspec.json.Decoder(_Line)


def read_information(body: bytes) -> CommitInformation:
    """Return the commit information in a body; empty if there is none that can be decoded."""
    for line in body.splitlines():
        if b'"commitInfo"' not in line:
            continue
        try:
            information = _LINES.decode(line).information
        except msgspec.DecodeError:  # another writer's own format
            continue
        if information is not None:
            return information
    return CommitInformation()
