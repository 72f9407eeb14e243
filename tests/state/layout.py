"""Write the files of an IndexTables log by hand."""

import json
from pathlib import Path
from typing import Any

import msgspec

from headrace.avro.manifest import ManifestWriter
from headrace.avro.state_file import encode_state
from headrace.protocol.state import StateManifest
from tests.avro.entry import entry

PROTOCOL = {"protocol": {"minReaderVersion": 4, "minWriterVersion": 4}}
SCHEMA = json.dumps(
    {
        "type": "struct",
        "fields": [{"name": "id", "type": "long", "nullable": True, "metadata": {}}],
    }
)
METADATA = {"metaData": {"id": "t", "schemaString": SCHEMA, "partitionColumns": []}}


def split(path: str) -> dict[str, Any]:
    return {"add": {"path": path, "partitionValues": {}, "size": 1, "dataChange": True}}


def lines(*actions: dict[str, Any]) -> bytes:
    return b"".join(json.dumps(action).encode() + b"\n" for action in actions)


def put(table: Path, name: str, content: bytes) -> None:
    path = table / "_transaction_log" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)


def put_state(table: Path, version: int, paths: list[str], *, manifest: str, **fields: Any) -> None:
    writer = ManifestWriter()
    writer.append([entry(path) for path in paths])
    written = writer.finish()
    folder = f"state-v{version:020}"
    place = manifest if "/" in manifest else f"{folder}/{manifest}"
    put(table, place, written.content())
    state = StateManifest(
        state_version=version,
        created_at=1,
        num_files=len(paths),
        total_bytes=len(paths),
        manifests=(msgspec.structs.replace(written.info, path=manifest),),
    )
    put(table, f"{folder}/_manifest.avro", encode_state(msgspec.structs.replace(state, **fields)))
