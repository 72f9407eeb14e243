"""Manifest entries for tests: simple ones, and any that the schema allows."""

from typing import Any

from hypothesis import strategies as st

from headrace.protocol.schema import PrimitiveType
from headrace.protocol.state import Entry

LONGS = st.integers(-(2**63), 2**63 - 1)
INTS = st.integers(-(2**31), 2**31 - 1)
TEXTS = st.text(st.characters(codec="utf-8"), max_size=12)
MAPS = st.dictionaries(TEXTS, TEXTS, max_size=3)
PARTITION = {"date": PrimitiveType("date"), "region": PrimitiveType("string")}


def entry(path: str, *, partition: dict[str, str] | None = None, **fields: Any) -> Entry:
    """Return a file as IndexTables lists it."""
    return {
        "path": path,
        "partitionValues": partition or {},
        "size": 100,
        "modificationTime": 1_700_000_000_000,
        "dataChange": True,
        "stats": None,
        "minValues": None,
        "maxValues": None,
        "numRecords": 10,
        "footerStartOffset": None,
        "footerEndOffset": None,
        "hasFooterOffsets": False,
        "splitTags": None,
        "numMergeOps": None,
        "docMappingRef": None,
        "uncompressedSizeBytes": None,
        "addedAtVersion": 1,
        "addedAtTimestamp": 1_700_000_000_000,
        "companionSourceFiles": None,
        "companionDeltaVersion": None,
        "companionFastFieldMode": None,
        **fields,
    }


def entries() -> st.SearchStrategy[Entry]:
    """Draw any entry of an IndexTables log."""
    return st.fixed_dictionaries(
        {
            "path": TEXTS,
            "partitionValues": MAPS,
            "size": LONGS,
            "modificationTime": LONGS,
            "dataChange": st.booleans(),
            "stats": st.none() | TEXTS,
            "minValues": st.none() | MAPS,
            "maxValues": st.none() | MAPS,
            "numRecords": st.none() | LONGS,
            "footerStartOffset": st.none() | LONGS,
            "footerEndOffset": st.none() | LONGS,
            "hasFooterOffsets": st.booleans(),
            "splitTags": st.none() | st.lists(TEXTS, max_size=3),
            "numMergeOps": st.none() | INTS,
            "docMappingRef": st.none() | TEXTS,
            "uncompressedSizeBytes": st.none() | LONGS,
            "addedAtVersion": LONGS,
            "addedAtTimestamp": LONGS,
            "companionSourceFiles": st.none() | st.lists(TEXTS, max_size=3),
            "companionDeltaVersion": st.none() | LONGS,
            "companionFastFieldMode": st.none() | TEXTS,
        }
    )


VECTORS = st.fixed_dictionaries(
    {
        "storageType": st.sampled_from("uip"),
        "pathOrInlineDv": TEXTS,
        "offset": st.none() | INTS,
        "sizeInBytes": INTS,
        "cardinality": LONGS,
    }
)


def delta_entries() -> st.SearchStrategy[Entry]:
    """Draw any entry of a state for a Delta log."""
    extras = st.fixed_dictionaries(
        {
            "deletionVector": st.none() | VECTORS,
            "tags": st.none() | st.dictionaries(TEXTS, st.none() | TEXTS, max_size=3),
            "baseRowId": st.none() | LONGS,
            "defaultRowCommitVersion": st.none() | LONGS,
            "clusteringProvider": st.none() | TEXTS,
        }
    )
    return st.builds(_with_extras, entries(), extras)


def _with_extras(base: Entry, extras: Entry) -> Entry:
    required = {name: value for name, value in base.items() if not name.startswith("companion")}
    return {**required, **extras}
