"""`REPAIR`: writes a new log from the newest readable state, with the files that exist.

The store of a damaged log and an empty target enter; a new log and a report leave.
"""

from itertools import compress

import msgspec

from headrace.errors import HeadraceError, InvalidArgumentError, NotIndexTablesError
from headrace.maintain.base import Base, list_states, read_base, read_state
from headrace.maintain.creation import create_log
from headrace.maintain.entry_schema import schema_of_entries
from headrace.maintain.home import Home, partition_types
from headrace.maintain.live import live_entries
from headrace.maintain.manifest_file import ManifestShelf
from headrace.maintain.replay import replay
from headrace.maintain.setting import StateSettings
from headrace.maintain.stored_name import is_absolute, stored_names
from headrace.maintain.writer import StateWriter
from headrace.protocol.key import canonical_path
from headrace.protocol.state import Entry
from headrace.storage.store import WritableStore


class RepairResult(msgspec.Struct, frozen=True, kw_only=True):
    """The result of a repair: a newly written log."""

    source_version: int
    unreadable: tuple[str, ...]
    """Newer versions that could not be read, each with the reason."""
    num_files: int
    missing: tuple[str, ...]
    """Files that the version references but that do not exist."""
    version: int


def repair(
    store: WritableStore,
    home: Home,
    *,
    target: WritableStore,
    target_home: Home,
    settings: StateSettings,
) -> RepairResult:
    """Write a new log; the old one is only read.

    Raises:
        InvalidArgumentError: the target already has a log.
        NotIndexTablesError: no version of the old log can be read.
    """
    if next(iter(target.list_tree(target_home.root)), None) is not None:
        reason = f"{target.root}/{target_home.root} is not empty"
        raise InvalidArgumentError(argument="AT LOCATION", reason=reason)
    base, entries, unreadable = _newest_readable(store, home)
    existing = {meta.path.removeprefix("./").lstrip("/") for meta in store.list_tree("")}
    is_missing = [_is_missing(entry["path"], existing, store) for entry in entries]
    present = [entry for entry, lost in zip(entries, is_missing, strict=True) if not lost]
    missing = tuple(sorted(entry["path"] for entry in compress(entries, is_missing)))
    metadata = msgspec.json.decode(base.metadata or "{}")
    create_log(target, target_home, metadata=metadata.get("metaData") or metadata)
    schema = schema_of_entries(target_home.entry_schema, present)
    names = {field["name"] for field in schema["fields"]}
    registry = {} if base.state is None else dict(base.state.schema_registry)
    result = StateWriter(target, home=target_home, settings=settings).commit(
        ({name: entry[name] for name in names & entry.keys()} for entry in present),
        schema_registry=registry | replay(base).registry,
        entry_schema=schema,
    )
    return RepairResult(
        source_version=base.version,
        unreadable=tuple(unreadable),
        num_files=result.num_files,
        missing=missing,
        version=result.version,
    )


def _is_missing(path: str, existing: set[str], store: WritableStore) -> bool:
    """Return whether a file does not exist; files outside the table are not looked for."""
    if not existing.isdisjoint(stored_names(path)):
        return False
    return not is_absolute(path) or canonical_path(path).startswith(f"{store.root}/")


def _newest_readable(store: WritableStore, home: Home) -> tuple[Base, list[Entry], list[str]]:
    """Return the newest version whose state and manifests can all be read."""
    unreadable: list[str] = []
    try:
        base = read_base(store, home)
        return base, _entries(store, home, base), unreadable
    except HeadraceError as error:
        unreadable.append(str(error))
    for version in reversed(list_states(store, home)):
        try:
            state = read_state(store, home, version)
            base = Base(
                version=version,
                state=state,
                metadata=state.metadata or _any_metadata(store, home),
                protocol=state.protocol,
            )
            return base, _entries(store, home, base), unreadable
        except HeadraceError as error:
            unreadable.append(f"version {version}: {error}")
    raise NotIndexTablesError(table=store.root)


def _entries(store: WritableStore, home: Home, base: Base) -> list[Entry]:
    shelf = ManifestShelf(store, home.root, types=partition_types(base.metadata))
    return list(live_entries(base, home=home, shelf=shelf))


def _any_metadata(store: WritableStore, home: Home) -> str | None:
    for version in reversed(list_states(store, home)):
        try:
            state = read_state(store, home, version)
        except HeadraceError:
            continue
        if state.metadata is not None:
            return state.metadata
    return None
