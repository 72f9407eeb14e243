"""Creates an IndexTables log: version 0, with the protocol and the metadata of the table."""

from collections.abc import Mapping
from contextlib import suppress
from typing import Any
from uuid import uuid4

from headrace.errors import ObjectExistsError
from headrace.maintain.home import Home
from headrace.maintain.staging import now_ms
from headrace.maintain.version_file import encode_actions
from headrace.protocol.state_schema import PROTOCOL_VERSION
from headrace.storage.store import PutMode, WritableStore


def create_log(store: WritableStore, home: Home, *, metadata: Mapping[str, Any]) -> None:
    """Write version 0, unless another writer has done so."""
    protocol = {"minReaderVersion": PROTOCOL_VERSION, "minWriterVersion": PROTOCOL_VERSION}
    lines = [{"protocol": protocol}, {"metaData": dict(metadata)}]
    with suppress(ObjectExistsError):
        store.put(f"{home.root}/{0:020}.json", encode_actions(lines), mode=PutMode.CREATE)


def new_metadata(
    schema_string: str, *, partition_columns: list[str], configuration: Mapping[str, str]
) -> dict[str, Any]:
    """Return the metadata of a new table."""
    return {
        "id": str(uuid4()),
        "name": None,
        "description": None,
        "format": {"provider": "indextables", "options": {}},
        "schemaString": schema_string,
        "partitionColumns": partition_columns,
        "configuration": dict(configuration),
        "createdTime": now_ms(),
    }
