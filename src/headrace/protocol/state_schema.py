"""The Avro schemas of a state: its manifests (`FileEntry`) and the state itself.

The first fields and their ids are those of IndexTables. Every extension follows them and has a
default, so a reader that knows only the first fields ignores the rest. The ids of map keys, map
values and array elements let Iceberg's readers open the files; they do not change a record's bytes.
"""

from typing import Any, TypeAlias

Schema: TypeAlias = dict[str, Any]
"""An Avro schema in its JSON form."""

NAMESPACE = "io.indextables.state"
FORMAT_VERSION = 1
PROTOCOL_VERSION = 4


def _optional(name: str, kind: Any, field_id: int) -> Schema:
    return {"name": name, "type": ["null", kind], "default": None, "field-id": field_id}


def _required(name: str, kind: Any, field_id: int) -> Schema:
    return {"name": name, "type": kind, "field-id": field_id}


def _map(key_id: int, values: Any = "string") -> Schema:
    return {"type": "map", "values": values, "key-id": key_id, "value-id": key_id + 1}


def _array(element_id: int, items: Any = "string") -> Schema:
    return {"type": "array", "items": items, "element-id": element_id}


DELETION_VECTOR_SCHEMA: Schema = {
    "type": "record",
    "name": f"{NAMESPACE}.DeletionVector",
    "fields": [
        _required("storageType", "string", 161),
        _required("pathOrInlineDv", "string", 162),
        _optional("offset", "int", 163),
        _required("sizeInBytes", "int", 164),
        _required("cardinality", "long", 165),
    ],
}

ENTRY_FIELDS: tuple[Schema, ...] = (
    _required("path", "string", 100),
    _required("partitionValues", _map(200), 101),
    _required("size", "long", 102),
    _required("modificationTime", "long", 103),
    _required("dataChange", "boolean", 104),
    _optional("stats", "string", 110),
    _optional("minValues", _map(202), 111),
    _optional("maxValues", _map(204), 112),
    _optional("numRecords", "long", 113),
    _optional("footerStartOffset", "long", 120),
    _optional("footerEndOffset", "long", 121),
    {**_required("hasFooterOffsets", "boolean", 124), "default": False},
    _optional("splitTags", _array(206), 132),
    _optional("numMergeOps", "int", 134),
    _optional("docMappingRef", "string", 135),
    _optional("uncompressedSizeBytes", "long", 136),
    _required("addedAtVersion", "long", 140),
    _required("addedAtTimestamp", "long", 141),
)
"""The 18 fields of the original design."""

COMPANION_FIELDS: tuple[Schema, ...] = (
    _optional("companionSourceFiles", _array(207), 150),
    _optional("companionDeltaVersion", "long", 151),
    _optional("companionFastFieldMode", "string", 152),
)
"""The fields that IndexTables 0.5 writes after `ENTRY_FIELDS`."""

_TAGS = _optional("tags", _map(208, ["null", "string"]), 166)

OTHER_FIELDS: dict[str, Schema] = {
    field["name"]: field
    for field in (
        _TAGS,
        _optional("deleteOpstamp", "long", 123),
        _optional("docMappingJson", "string", 133),
        _optional("timeRangeStart", "string", 137),
        _optional("timeRangeEnd", "string", 138),
    )
}
"""Fields that some writers have besides. A manifest has them if one of its entries does."""

DELTA_FIELDS: tuple[Schema, ...] = (
    _optional("deletionVector", DELETION_VECTOR_SCHEMA, 160),
    _TAGS,
    _optional("baseRowId", "long", 167),
    _optional("defaultRowCommitVersion", "long", 168),
    _optional("clusteringProvider", "string", 169),
)
"""The fields of a Delta `add` that `ENTRY_FIELDS` lacks."""


def entry_schema(*fields: Schema) -> Schema:
    """Return the schema of `FileEntry` records with these fields."""
    return {
        "type": "record",
        "name": f"{NAMESPACE}.FileEntry",
        "doc": "A file entry representing a split in the table state",
        "fields": list(fields),
    }


INDEXTABLES_ENTRY_SCHEMA = entry_schema(*ENTRY_FIELDS, *COMPANION_FIELDS)
"""The entry schema of manifests in IndexTables logs."""

DELTA_ENTRY_SCHEMA = entry_schema(*ENTRY_FIELDS, *DELTA_FIELDS)
"""The entry schema of manifests next to Delta logs."""

_BOUNDS_SCHEMA: Schema = {
    "type": "record",
    "name": f"{NAMESPACE}.PartitionBoundsItem",
    "fields": [
        {"name": "min", "type": ["null", "string"], "default": None},
        {"name": "max", "type": ["null", "string"], "default": None},
        {"name": "containsNull", "type": ["null", "boolean"], "default": None},
        {"name": "containsNaN", "type": ["null", "boolean"], "default": None},
    ],
}

_INFO_SCHEMA: Schema = {
    "type": "record",
    "name": f"{NAMESPACE}.ManifestInfoItem",
    "fields": [
        {"name": "path", "type": "string"},
        {"name": "numEntries", "type": "long"},
        {"name": "minAddedAtVersion", "type": "long"},
        {"name": "maxAddedAtVersion", "type": "long"},
        {
            "name": "partitionBounds",
            "type": ["null", {"type": "map", "values": _BOUNDS_SCHEMA}],
            "default": None,
        },
        {"name": "tombstoneCount", "type": "long", "default": 0},
        {"name": "liveEntryCount", "type": "long", "default": -1},
        {"name": "liveBytes", "type": "long", "default": -1},
        {"name": "lengthBytes", "type": "long", "default": -1},
        {"name": "headerBytes", "type": "long", "default": -1},
        {"name": "sha256", "type": ["null", "string"], "default": None},
        {"name": "headerSha256", "type": ["null", "string"], "default": None},
        {"name": "minAddedAtTimestamp", "type": ["null", "long"], "default": None},
        {"name": "maxAddedAtTimestamp", "type": ["null", "long"], "default": None},
        {"name": "minPath", "type": ["null", "string"], "default": None},
        {"name": "maxPath", "type": ["null", "string"], "default": None},
    ],
}

_TOMBSTONE_SCHEMA: Schema = {
    "type": "record",
    "name": f"{NAMESPACE}.TombstoneItem",
    "fields": [
        {"name": "path", "type": "string"},
        {"name": "dvId", "type": ["null", "string"], "default": None},
        {"name": "removedAtVersion", "type": "long"},
    ],
}

STATE_MANIFEST_SCHEMA: Schema = {
    "type": "record",
    "name": f"{NAMESPACE}.StateManifest",
    "doc": "The state manifest that describes the complete table state",
    "fields": [
        {"name": "formatVersion", "type": "int"},
        {"name": "stateVersion", "type": "long"},
        {"name": "createdAt", "type": "long"},
        {"name": "numFiles", "type": "long"},
        {"name": "totalBytes", "type": "long"},
        {"name": "manifests", "type": {"type": "array", "items": _INFO_SCHEMA}},
        {"name": "tombstones", "type": {"type": "array", "items": "string"}, "default": []},
        {"name": "schemaRegistry", "type": {"type": "map", "values": "string"}, "default": {}},
        {"name": "protocolVersion", "type": "int", "default": PROTOCOL_VERSION},
        {"name": "metadata", "type": ["null", "string"], "default": None},
        {"name": "protocol", "type": ["null", "string"], "default": None},
        {
            "name": "tombstoneEntries",
            "type": {"type": "array", "items": _TOMBSTONE_SCHEMA},
            "default": [],
        },
        {"name": "commitId", "type": ["null", "string"], "default": None},
        {"name": "anchor", "type": ["null", "string"], "default": None},
        {"name": "layout", "type": ["null", "string"], "default": None},
    ],
}
"""The schema of the one record in `_manifest.avro`."""
