"""Reads bundles of the first format, which earlier releases stored: checks their id, upgrades them.

They are read as plain JSON, so that a change of the current types cannot change the id of an old
bundle. Their id does not cover all of their content, and their scan units contain every file.
"""

from hashlib import sha256
from typing import Any

import msgspec
import pyarrow as pa

from headrace.pipeline.bundle.content_hash import canonical_json, content_hash
from headrace.pipeline.bundle.file_list import FilesByDigest

FORMAT = 1
_FILES = pa.schema([("path", pa.string()), ("dv_id", pa.string())])


def bundle_id(stored: dict[str, Any]) -> str:
    """Compute the id of a bundle from its content."""
    return content_hash(
        {
            "format": FORMAT,
            "engine": stored["engine"],
            "planner": stored["planner"],
            "pins": {name: _pin(pin) for name, pin in stored["pins"].items()},
            "views": {name: _view(view) for name, view in stored["views"].items()},
        }
    )


def upgrade(stored: dict[str, Any]) -> tuple[bytes, FilesByDigest]:
    """Return the bundle in the current format, and the files of its scan units."""
    files = {}
    for view in stored["views"].values():
        for unit in view["units"]:
            columns = {"path": unit.pop("paths"), "dv_id": unit.pop("dv_ids")}
            files[unit["digest"]] = pa.table(columns, schema=_FILES)
    return msgspec.json.encode({**stored, "seal": ""}), files.get


def _pin(pin: dict[str, Any]) -> dict[str, Any]:
    return {
        "kind": pin["kind"],
        "version": pin["version"],
        "table": pin["table_id"],
        "schema": pin["schema"],
        "partition_columns": pin["partition_columns"],
        "protocol": [pin["reader_version"], pin["writer_version"], pin["features"]],
    }


def _view(view: dict[str, Any]) -> dict[str, Any]:
    return {
        "plan": view["plan_fingerprint"],
        "key": _key(view["key"]) or _definition(view["key"]),
        "units": {unit["source"]: unit["digest"] for unit in view["units"]},
    }


def _key(key: dict[str, Any]) -> str | None:
    """Return the skip key of the parts; None if the view must run every time."""
    if key["volatile"]:
        return None
    sources = {
        name: {"digest": part["digest"], "columns": part["columns"]}
        for name, part in key["sources"].items()
    }
    return content_hash({"definition": _definition(key), "sources": sources})


def _definition(key: dict[str, Any]) -> str:
    return content_hash(
        {
            "format": FORMAT,
            "tokens": key["tokens"],
            "functions": {
                name: sha256(canonical_json(part)).hexdigest()
                for name, part in key["functions"].items()
            },
            "settings": key["settings"],
            "engine": key["engine"],
            "upstream": key["upstream"],
        }
    )
