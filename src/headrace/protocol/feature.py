"""Decide whether a table can be read, by its newest protocol action, before any file is returned.

A protocol action enters. A table that needs an unsupported reader feature is refused by name.
"""

from headrace.errors import InvalidTableError, UnsupportedFeatureError
from headrace.protocol.action import Protocol

CATALOG_MANAGED = frozenset({"catalogManaged", "catalogOwned-preview"})
"""Features under which only a catalog knows the ratified commits."""

READER_FEATURES = CATALOG_MANAGED | {
    "columnMapping",
    "deletionVectors",
    "timestampNtz",
    "typeWidening",
    "typeWidening-preview",
    "v2Checkpoint",
    "vacuumProtocolCheck",
    "variantShredding",
    "variantShredding-preview",
    "variantType",
    "variantType-preview",
}
"""The implemented reader features; any other is refused by name."""

_FEATURE_VERSION = 3


def check_readable(protocol: Protocol, *, table: str) -> None:
    """Refuse a table that cannot be read exactly. Writer features never block a read.

    Raises:
        UnsupportedFeatureError: the table needs a feature that is not implemented.
        InvalidTableError: the protocol action contradicts itself.
    """
    version, features = protocol.min_reader_version, protocol.reader_features
    if version > _FEATURE_VERSION:
        raise UnsupportedFeatureError(table=table, features=[f"reader version {version}"])
    if version < _FEATURE_VERSION:
        if features:
            reason = f"the protocol lists reader features at reader version {version}"
            raise InvalidTableError(table=table, reason=reason)
        return
    if features is None:
        reason = "the protocol has reader version 3 but no list of reader features"
        raise InvalidTableError(table=table, reason=reason)
    missing = sorted(set(features) - READER_FEATURES)
    if missing:
        raise UnsupportedFeatureError(table=table, features=missing)


def is_catalog_managed(protocol: Protocol) -> bool:
    """Whether a catalog, not the files of the log alone, determines which commits count."""
    return not CATALOG_MANAGED.isdisjoint(
        (*(protocol.reader_features or ()), *(protocol.writer_features or ()))
    )
