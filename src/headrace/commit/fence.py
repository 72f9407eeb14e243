"""Fences: empty commits that keep a process that lost its lease from committing.

A writer reads the newest version `v`, checks its lease, and then creates version `v + 1`. A process
that takes over the lease then creates a fence at the next version. A writer whose check preceded
the takeover also read the log before it, so the version that it is about to create exists: its
commit is a conflict, and its next check fails. No clock is involved.
"""

from uuid import uuid4

from headrace.commit.action import TableFormat, TableMetadata, TableProtocol
from headrace.commit.body import CommitBody
from headrace.commit.log import NO_VERSION, newest_version
from headrace.commit.staged import Staged
from headrace.protocol.action import Metadata
from headrace.storage.store import WritableStore

FENCE = "headrace.fence"
"""The property of a table that consists of a fence only, and that our writers replace."""
_NO_COLUMNS = '{"type":"struct","fields":[]}'


def put_fence(store: WritableStore) -> None:
    """Occupy the next version of a table; a missing table is created without columns.

    A conflict serves the same purpose: the next version then exists already.

    Raises:
        StorageError: the store failed, and the fence may not exist.
    """
    version = newest_version(store)
    body = CommitBody(operation="FENCE")
    if version == NO_VERSION:
        body = CommitBody(
            operation="FENCE",
            protocol=TableProtocol(min_reader_version=1, min_writer_version=2),
            metadata=TableMetadata(
                id=str(uuid4()),
                schema_string=_NO_COLUMNS,
                partition_columns=[],
                configuration={FENCE: "true"},
                format=TableFormat(provider="parquet", options={}),
            ),
        )
    staged = Staged(store, paths=(), commit_id=uuid4().hex, is_durable=True)
    staged.commit(body, version=version + 1)


def is_only_fence(metadata: Metadata) -> bool:
    """Return whether a table consists of a fence only."""
    return metadata.configuration.get(FENCE) == "true"
