"""A state as the base of a segment: the whole table at one version."""

import msgspec

from headrace.log.state_name import resolve_manifest
from headrace.protocol.log_file import LogFile
from headrace.protocol.state import ManifestInfo, StateManifest


class State(msgspec.Struct, frozen=True, kw_only=True):
    """A state that was read, and where its files are."""

    root: str
    """The folder of states and manifests."""
    file: LogFile
    """`_manifest.avro`."""
    manifest: StateManifest

    @property
    def version(self) -> int:
        """The version that the state describes."""
        return self.manifest.state_version

    @property
    def size_bytes(self) -> int:
        """The total size of its manifests, as far as it is recorded."""
        return sum(max(info.length_bytes, 0) for info in self.manifest.manifests)

    def manifest_file(self, info: ManifestInfo) -> LogFile:
        """Return a manifest as a file of the store.

        Raises:
            UnsafePathError: its path leads out of the root.
        """
        path = resolve_manifest(self.root, info.path, state_version=self.version)
        return LogFile(path=path, size_bytes=max(info.length_bytes, 0))
