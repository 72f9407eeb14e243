"""The records of a state, which describes one version of a table by reference to its manifests.

A manifest lists files (entries). A tombstone hides the entries of a key that were added before it.
Fields have the names of the file format, in snake case. Entries are plain mappings by Avro name, so
that unknown fields survive a rewrite.
"""

from typing import Any, TypeAlias

import msgspec

from headrace.protocol.state_schema import FORMAT_VERSION, PROTOCOL_VERSION

Entry: TypeAlias = dict[str, Any]
"""One `FileEntry`, as a mapping by the field names of its schema."""

UNKNOWN_COUNT = -1
"""The format's value for a count that the writer did not compute."""


class _Record(msgspec.Struct, rename="camel", frozen=True, kw_only=True):
    """Base of the records of a state: camel case in the file, immutable here."""


class PartitionBounds(_Record, frozen=True, kw_only=True):
    """The least and greatest value of a partition column, as the log writes them.

    Both are null if all values are null. `contains_null` is null if the writer did not record it.
    """

    min: str | None = None
    max: str | None = None
    contains_null: bool | None = None
    contains_nan: bool | None = msgspec.field(default=None, name="containsNaN")


class ManifestInfo(_Record, frozen=True, kw_only=True):
    """A manifest as its state records it: its path, and what is known without reading it."""

    path: str
    num_entries: int
    min_added_at_version: int
    max_added_at_version: int
    partition_bounds: dict[str, PartitionBounds] | None = None
    tombstone_count: int = 0
    """The number of its entries that tombstones hide."""
    live_entry_count: int = UNKNOWN_COUNT
    live_bytes: int = UNKNOWN_COUNT
    """The total size of its live files."""
    length_bytes: int = UNKNOWN_COUNT
    header_bytes: int = UNKNOWN_COUNT
    sha256: str | None = None
    """The digest of the whole file, in hexadecimal."""
    header_sha256: str | None = None
    """The digest of its header, for readers that read only some blocks."""
    min_added_at_timestamp: int | None = None
    max_added_at_timestamp: int | None = None
    min_path: str | None = None
    """A lower bound of the entries' paths; None if unknown."""
    max_path: str | None = None


class Tombstone(_Record, frozen=True, kw_only=True):
    """A removed file: hides the entries of its key that were added before `removed_at_version`."""

    path: str
    dv_id: str | None = None
    removed_at_version: int


class StateManifest(_Record, frozen=True, kw_only=True):
    """One version of a table."""

    format_version: int = FORMAT_VERSION
    state_version: int
    created_at: int
    """When it was written, in milliseconds since the Unix epoch."""
    num_files: int
    total_bytes: int
    manifests: tuple[ManifestInfo, ...]
    tombstones: tuple[str, ...] = ()
    """Paths hidden whatever version added them: the only form that older writers support."""
    schema_registry: dict[str, str] = {}
    protocol_version: int = PROTOCOL_VERSION
    metadata: str | None = None
    """The table's metadata as JSON: `{"metaData": {…}}`, or the object inside."""
    protocol: str | None = None
    """The table's protocol, in the same form."""
    tombstone_entries: tuple[Tombstone, ...] = ()
    commit_id: str | None = None
    """Chosen by the writer, so that it can recognise its own commit."""
    anchor: str | None = None
    """Next to a Delta log: the commit of this version as it was listed, as JSON (see `Anchor`)."""
    layout: str | None = None
    """How the next version is written: `state`, or `versions` (a version file, then a state).
    None if the version files determine it."""


class Anchor(msgspec.Struct, frozen=True, kw_only=True):
    """The commit that a state next to a Delta log was made from.

    The log at that location may have been replaced since. A state is used only if the listing
    shows exactly this file.
    """

    path: str
    size: int
    modified: int
    etag: str | None = None
    """The version of the commit; None if the store has no ETags. Others have coarse times."""

    def is_of(self, *, path: str, size_bytes: int, modified_ms: int, etag: str | None) -> bool:
        """Return whether this is the anchor of a listed commit."""
        same_version = None in {self.etag, etag} or self.etag == etag
        listed = (path, size_bytes, modified_ms)
        return (self.path, self.size, self.modified) == listed and same_version

    def encoded(self) -> str:
        """Return the text for `StateManifest.anchor`."""
        return msgspec.json.encode(self).decode()


def decode_anchor(text: str | None) -> Anchor | None:
    """Decode the anchor of a state; None if it is absent or unreadable."""
    if text is None:
        return None
    try:
        return msgspec.json.decode(text, type=Anchor)
    except (msgspec.DecodeError, ValueError):
        return None


class Tombstones(msgspec.Struct, frozen=True, kw_only=True):
    """The tombstones of a state, which hide some of its entries."""

    paths: frozenset[str] = frozenset()
    """Hidden whatever version added them."""
    entries: tuple[Tombstone, ...] = ()

    @classmethod
    def of(cls, state: StateManifest) -> "Tombstones":
        """Return the tombstones of a state; if a path has both kinds, the versioned one counts."""
        versioned = {tombstone.path for tombstone in state.tombstone_entries}
        plain = frozenset(state.tombstones) - versioned
        return cls(paths=plain, entries=state.tombstone_entries)

    def __len__(self) -> int:
        return len(self.paths) + len(self.entries)


class AddedAfter(msgspec.Struct, frozen=True, kw_only=True):
    """Selects entries that are newer than a version or a time."""

    version: int | None = None
    timestamp_ms: int | None = None

    def may_have(self, info: ManifestInfo) -> bool:
        """Whether a manifest may hold such an entry, by its bounds.

        A version of 0 means unknown: some writers never set it.
        """
        newest, latest = info.max_added_at_version, info.max_added_at_timestamp
        if self.version is not None and 0 < newest <= self.version:
            return False
        return self.timestamp_ms is None or latest is None or latest > self.timestamp_ms
