"""Finds the entries of given files in a state, reading as few blocks as possible.

Manifests and blocks record the range of their paths, so only those that may contain one of the
files are read. Blocks that were read are kept for the next attempt of the same commit.
"""

from collections.abc import Iterable

import msgspec

from headrace.maintain.home import Home
from headrace.maintain.manifest_file import ManifestShelf
from headrace.maintain.visibility import PathSet, Visibility
from headrace.protocol.key import FileKey
from headrace.protocol.state import ManifestInfo, StateManifest


class Located(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """An entry of one of the files to find."""

    key: FileKey
    path: str
    manifest: str
    """The path of its manifest, relative to the root."""
    size: int
    is_live: bool


class Lookup:
    """Finds the same files in successive bases."""

    def __init__(
        self,
        home: Home,
        shelf: ManifestShelf,
        *,
        keys: Iterable[FileKey],
        spellings: Iterable[str] = (),
    ) -> None:
        """Take the keys of the files, and alternative spellings of their paths."""
        self._home = home
        self._shelf = shelf
        self._keys = frozenset(keys)
        self._paths = PathSet((*(key.path for key in self._keys), *spellings))
        self._hits: dict[tuple[str, int], list[tuple[FileKey, dict[str, object]]]] = {}

    def find(self, state: StateManifest, *, everywhere: bool = False) -> list[Located]:
        """Return the entries of the files, live or not.

        Args:
            state: The state to search.
            everywhere: Whether to read all blocks, because paths may be spelled differently.
        """
        if not self._keys:
            return []
        visibility = Visibility(state, self._home)
        to_search = [
            info
            for info in state.manifests
            if everywhere or self._paths.meets(info.min_path, info.max_path)
        ]
        by_manifest = self._shelf.each(
            lambda info: self._find_in(info, visibility, everywhere=everywhere), to_search
        )
        return [entry for located in by_manifest for entry in located]

    def _find_in(
        self, info: ManifestInfo, visibility: Visibility, *, everywhere: bool
    ) -> list[Located]:
        file = self._shelf.file(info)
        located = []
        for at, placed in enumerate(file.blocks):
            block = placed.block
            if not everywhere and not self._paths.meets(block.min_path, block.max_path):
                continue
            hits = None if everywhere else self._hits.get((info.path, at))
            if hits is None:
                paths = None if everywhere else self._paths.between(block.min_path, block.max_path)
                hits = [
                    (key, entry)
                    for entry in file.entries_with(at, paths)
                    if (key := self._home.key_of(entry)) in self._keys
                ]
                self._hits[info.path, at] = hits
            located += [
                Located(
                    key=key,
                    path=str(entry["path"]),
                    manifest=info.path,
                    size=int(str(entry["size"])),
                    is_live=not visibility.hides(entry),
                )
                for key, entry in hits
            ]
        return located
