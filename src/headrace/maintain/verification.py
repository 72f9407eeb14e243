"""Verifies a state: reads every manifest in full and checks it against the state.

A base enters; a report with all problems leaves. It repairs nothing.
"""

from functools import partial

import msgspec

from headrace.errors import HeadraceError
from headrace.maintain.base import Base
from headrace.maintain.entry_progress import EntryProgress
from headrace.maintain.home import Home, partition_types
from headrace.maintain.manifest_file import ManifestFile, ManifestShelf
from headrace.maintain.visibility import Visibility
from headrace.protocol.key import FileKey
from headrace.protocol.state import Entry, ManifestInfo
from headrace.storage.store import WritableStore


class Verification(msgspec.Struct, frozen=True, kw_only=True):
    """The result of verifying a state."""

    version: int
    manifests: int
    entries: int
    live_files: int
    total_bytes: int
    problems: tuple[str, ...]

    @property
    def is_sound(self) -> bool:
        """Whether no problems were found."""
        return not self.problems


def verify(
    store: WritableStore,
    home: Home,
    base: Base,
    *,
    progress: EntryProgress | None = None,
    parallelism: int = 8,
) -> Verification:
    """Read and check every manifest of a base's state; `progress` counts the entries read."""
    problems: list[str] = []
    entries = live = total = 0
    keys: set[FileKey] = set()
    state = base.state
    if state is not None:
        types = partition_types(base.metadata)
        shelf = ManifestShelf(store, home.root, types=types, parallelism=parallelism)
        files = shelf.each(partial(_loaded, shelf), state.manifests)
        visibility = Visibility(state, home)
        for info, file in zip(state.manifests, files, strict=True):
            try:
                stored = _entries(file)
            except HeadraceError as error:
                problems.append(str(error))
                continue
            if progress is not None:
                progress.read(len(stored))
            visible = [entry for entry in stored if not visibility.hides(entry)]
            entries += len(stored)
            live += len(visible)
            total += sum(entry["size"] for entry in visible)
            for entry in visible:
                key = home.key_of(entry)
                if key in keys:
                    problems.append(f"{info.path}: {entry['path']} is live twice")
                keys.add(key)
            if info.live_entry_count not in {-1, len(visible)}:
                recorded = f"its state records {info.live_entry_count} live entries"
                problems.append(f"{info.path}: {recorded}, but it has {len(visible)}")
        if not problems and (state.num_files, state.total_bytes) != (live, total):
            recorded = f"{state.num_files} files of {state.total_bytes} bytes"
            problems.append(f"the state records {recorded}, but has {live} of {total} bytes")
    return Verification(
        version=base.version,
        manifests=0 if state is None else len(state.manifests),
        entries=entries,
        live_files=live,
        total_bytes=total,
        problems=tuple(problems),
    )


def _loaded(shelf: ManifestShelf, info: ManifestInfo) -> ManifestFile | HeadraceError:
    try:
        file = shelf.file(info)
        file.verify(hold=True)
    except HeadraceError as error:
        return error
    return file


def _entries(file: ManifestFile | HeadraceError) -> list[Entry]:
    if isinstance(file, HeadraceError):
        raise file
    return [entry for at in range(len(file.blocks)) for entry in file.entries(at)]
