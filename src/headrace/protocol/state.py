"""The nouns of a state: what one version of a table is, by reference to its manifests.

A manifest lists files (entries). A tombstone hides the entries of a key that were added before it.
Fields have the names of the file format, in snake case; entries are plain mappings by their Avro
names, so that fields that this version does not know survive a rewrite.
"""

from typing import Any, TypeAlias

import msgspec

from headrace.protocol.state_schema import FORMAT_VERSION, PROTOCOL_VERSION

Entry: TypeAlias = dict[str, Any]
"""One `FileEntry`, by the names of its schema."""

UNKNOWN_COUNT = -1
"""How the format says that a writer did not count."""


class _Record(msgspec.Struct, rename="camel", frozen=True, kw_only=True):
    """What the records of a state share: camel case in the file, immutable here."""


class PartitionBounds(_Record, frozen=True, kw_only=True):
    """The least and the greatest value of a partition column, as the log writes them.

    Both are null where all values are. `contains_null` is null where the writer did not say.
    """

    min: str | None = None
    max: str | None = None
    contains_null: bool | None = None
    contains_nan: bool | None = msgspec.field(default=None, name="containsNaN")


class ManifestInfo(_Record, frozen=True, kw_only=True):
    """A manifest as its state sees it: where it is, and what can be known without reading it."""

    path: str
    num_entries: int
    min_added_at_version: int
    max_added_at_version: int
    partition_bounds: dict[str, PartitionBounds] | None = None
    tombstone_count: int = 0
    """How many of its entries tombstones hide."""
    live_entry_count: int = UNKNOWN_COUNT
    live_bytes: int = UNKNOWN_COUNT
    """The size of its live files."""
    length_bytes: int = UNKNOWN_COUNT
    header_bytes: int = UNKNOWN_COUNT
    sha256: str | None = None
    """The digest of the whole file, in hexadecimal digits."""
    header_sha256: str | None = None
    """The digest of its header, for readers that read only some blocks."""
    min_added_at_timestamp: int | None = None
    max_added_at_timestamp: int | None = None
    min_path: str | None = None
    """No entry's path is less; None where that is not known."""
    max_path: str | None = None


class Tombstone(_Record, frozen=True, kw_only=True):
    """A file that was removed: hides the entries of its key added before `removed_at_version`."""

    path: str
    dv_id: str | None = None
    removed_at_version: int


class StateManifest(_Record, frozen=True, kw_only=True):
    """One version of a table."""

    format_version: int = FORMAT_VERSION
    state_version: int
    created_at: int
    """When it was written, in milliseconds since 1970."""
    num_files: int
    total_bytes: int
    manifests: tuple[ManifestInfo, ...]
    tombstones: tuple[str, ...] = ()
    """Paths that are hidden whatever version added them: all that older writers can say."""
    schema_registry: dict[str, str] = {}
    protocol_version: int = PROTOCOL_VERSION
    metadata: str | None = None
    """The table's metadata as JSON: `{"metaData": {…}}`, or the object inside."""
    protocol: str | None = None
    """The same for its protocol."""
    tombstone_entries: tuple[Tombstone, ...] = ()
    commit_id: str | None = None
    """Chosen by the writer, so that it can tell its own commit from another's."""
    anchor: str | None = None
    """Beside a Delta log: the commit of this version as it was listed, as JSON (see `Anchor`)."""
    layout: str | None = None
    """What makes the next version: `state`, or `versions` (a version file, with a state after it).
    None where the version files tell."""


class Anchor(msgspec.Struct, frozen=True, kw_only=True):
    """The commit that a state beside a Delta log was made from.

    A log at the same place may be another one by now. A state is used only where the listing
    shows this very file.
    """

    path: str
    size: int
    modified: int

    def encoded(self) -> str:
        """The text for `StateManifest.anchor`."""
        return msgspec.json.encode(self).decode()


def decode_anchor(text: str | None) -> Anchor | None:
    """Return the anchor that a state names; None where it names none or an unreadable one."""
    if text is None:
        return None
    try:
        return msgspec.json.decode(text, type=Anchor)
    except (msgspec.DecodeError, ValueError):
        return None


class Tombstones(msgspec.Struct, frozen=True, kw_only=True):
    """What is hidden among the entries of a state."""

    paths: frozenset[str] = frozenset()
    """Hidden whatever version added them."""
    entries: tuple[Tombstone, ...] = ()

    @classmethod
    def of(cls, state: StateManifest) -> "Tombstones":
        """Return the tombstones of a state: the versioned one counts where a path has both."""
        versioned = {tombstone.path for tombstone in state.tombstone_entries}
        plain = frozenset(state.tombstones) - versioned
        return cls(paths=plain, entries=state.tombstone_entries)

    def __len__(self) -> int:
        return len(self.paths) + len(self.entries)


class AddedAfter(msgspec.Struct, frozen=True, kw_only=True):
    """A wish for entries that are newer than a version, or than a time."""

    version: int | None = None
    timestamp_ms: int | None = None

    def may_have(self, info: ManifestInfo) -> bool:
        """Whether a manifest may hold such an entry, by its bounds.

        Versions of 0 say nothing: some writers leave them at that.
        """
        newest, latest = info.max_added_at_version, info.max_added_at_timestamp
        if self.version is not None and 0 < newest <= self.version:
            return False
        return self.timestamp_ms is None or latest is None or latest > self.timestamp_ms
