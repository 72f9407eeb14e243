"""The base of a commit: the newest state of a log, and the version files after it.

Takes a store and the folder of a log; returns a `Base`. The hint only says where to start: a state
exists if its file does, so the reader probes forward from the hinted state, and lists the folder
if the hint is unusable.
"""

from collections.abc import Iterable, Iterator
from enum import StrEnum
from typing import Any

import msgspec

from headrace.avro.state_file import decode_state
from headrace.errors import (
    CorruptLogError,
    CorruptStateError,
    DamageError,
    LogGapError,
    NotIndexTablesError,
    ObjectNotFoundError,
)
from headrace.log.name import CommitName, first_name, parse_name
from headrace.log.state_name import STATE_FILE, normalise_manifest, parse_state_directory
from headrace.maintain.home import Home, HomeKind
from headrace.maintain.version_file import Action, checkpoint_parts, decode_actions
from headrace.protocol.state import StateManifest
from headrace.storage.store import Store, WritableStore

NO_VERSION = -1
_CHECKPOINT = ".checkpoint.json"


class Layout(StrEnum):
    """How the next version of a log is written."""

    STATE = "state"
    """As a state: `state-vN/_manifest.avro`."""
    VERSIONS = "versions"
    """As a version file, `N.json`; a state follows it."""


class VersionFile(msgspec.Struct, frozen=True, kw_only=True):
    """The actions of one version, or of a JSON checkpoint that summarises all versions up to it."""

    version: int
    modified_ms: int
    actions: tuple[Action, ...]


class Base(msgspec.Struct, frozen=True, kw_only=True):
    """The content of a log at one moment."""

    version: int
    """The newest version; `NO_VERSION` if there is no log."""
    state: StateManifest | None
    """The newest state, with manifest paths relative to the root."""
    pending: tuple[VersionFile, ...] = ()
    """The version files after the state, oldest first."""
    layout: Layout = Layout.STATE
    metadata: str | None = None
    """As JSON, `{"metaData": {…}}`."""
    protocol: str | None = None
    format: str = "avro-state"
    """The format of the newest checkpoint: avro-state, json, json-multipart, or none."""


class Hint(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The content of `_last_checkpoint`."""

    version: int
    size: int = 0
    size_in_bytes: int = 0
    num_files: int = 0
    created_time: int = 0
    format: str | None = None
    state_dir: str | None = None
    protocol_version: int | None = None
    parts: int | None = None
    checkpoint_id: str | None = None


def read_hint(store: Store, home: Home) -> Hint | None:
    """Return the hint of a log; None if it is missing or unreadable."""
    try:
        return msgspec.json.decode(store.read(home.hint_path), type=Hint)
    except (ObjectNotFoundError, msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return None


def read_state(store: Store, home: Home, version: int) -> StateManifest:
    """Read a state, with manifest paths relative to the root.

    Raises:
        ObjectNotFoundError: no state of that version exists.
        CorruptStateError, UnsupportedStateError, UnsafePathError: the state cannot be used.
    """
    path = home.state_path(version)
    state = decode_state(store.read(path), path=path)
    if state.state_version != version:
        reason = f"it claims to be of version {state.state_version}"
        raise CorruptStateError(path=path, reason=reason)
    manifests = tuple(
        msgspec.structs.replace(info, path=normalise_manifest(info.path, state_version=version))
        for info in state.manifests
    )
    return msgspec.structs.replace(state, manifests=manifests)


def list_states(store: WritableStore, home: Home) -> list[int]:
    """Return the versions of all states, oldest first."""
    listed = store.list_tree(home.root)
    return sorted(_state_versions(meta.path.removeprefix(f"{home.root}/") for meta in listed))


def newest_state(store: WritableStore, home: Home) -> StateManifest | None:
    """Return the newest state; None if there is none.

    Raises:
        CorruptStateError, UnsupportedStateError: the state cannot be read.
    """
    hint = read_hint(store, home)
    state = None
    if hint is not None and hint.state_dir is not None:
        state = _probe(store, home, hint.version)
    if state is None:
        versions = list_states(store, home)
        state = _probe(store, home, versions[-1]) if versions else None
    return state


def read_base(store: WritableStore, home: Home) -> Base:
    """Read the newest version of an IndexTables log: its state and the version files after it.

    Raises:
        CorruptStateError, UnsupportedStateError: the newest state cannot be read.
        CorruptLogError: a version file cannot be read.
        LogGapError: version files are missing.
    """
    state = newest_state(store, home)
    listed = {meta.path.removeprefix(f"{home.root}/"): meta for meta in store.list_tree(home.root)}
    # The newest state may be separated from the hinted one by a gap, which probing does not cross.
    newest = max(_state_versions(listed), default=NO_VERSION)
    if state is not None and newest > state.state_version:
        state = _probe(store, home, newest)
    after = NO_VERSION if state is None else state.state_version
    first = first_name(max(after, 0))
    names = {
        name: meta.modified_ms for name, meta in listed.items() if "/" not in name and name >= first
    }
    versions = sorted(
        parsed.version for name in names if isinstance(parsed := parse_name(name), CommitName)
    )
    if state is None:
        return _legacy_base(store, home, names, versions)
    try:
        following = list(_contiguous(store, versions, after=after))
    except LogGapError:
        if any(name.endswith(_CHECKPOINT) for name in names):  # a newer checkpoint covers the gap
            return _legacy_base(store, home, names, versions)
        raise
    pending = tuple(_version_file(store, home, version, names) for version in following)
    layout = _layout(state, has_file=after in versions, pending=pending)
    metadata, protocol = _definition(store, home, state, pending)
    return Base(
        version=pending[-1].version if pending else after,
        state=state,
        pending=pending,
        layout=layout,
        metadata=metadata,
        protocol=protocol,
    )


def require_base(base: Base, *, table: str) -> Base:
    """Return `base` if its log exists.

    Raises:
        NotIndexTablesError: there is no log.
    """
    if base.version == NO_VERSION:
        raise NotIndexTablesError(table=table)
    return base


def _state_versions(names: Iterable[str]) -> Iterator[int]:
    """Return the versions of the states among the file names of a log."""
    for name in names:
        folder, _, file = name.rpartition("/")
        version = parse_state_directory(folder) if file == STATE_FILE else None
        if version is not None:
            yield version


def _probe(store: Store, home: Home, version: int) -> StateManifest | None:
    """Return the last state in the unbroken sequence that starts at `version`.

    Next to a Delta log, a damaged state ends the sequence: the one before it is as good.
    """
    state = None
    while True:
        try:
            state = read_state(store, home, version)
        except ObjectNotFoundError:
            return state
        except DamageError:
            if state is None or home.kind is HomeKind.INDEXTABLES:
                raise
            return state
        version += 1


def _layout(state: StateManifest, *, has_file: bool, pending: tuple[VersionFile, ...]) -> Layout:
    if pending:
        return Layout.VERSIONS
    if state.layout is not None:
        return Layout(state.layout)
    return Layout.VERSIONS if has_file and state.state_version > 0 else Layout.STATE


def _legacy_base(store: Store, home: Home, names: dict[str, int], versions: list[int]) -> Base:
    """Build the base of a log without a state: version files, with or without a JSON checkpoint."""
    checkpoints = sorted(
        int(name.removesuffix(_CHECKPOINT))
        for name in names
        if name.endswith(_CHECKPOINT) and name.removesuffix(_CHECKPOINT).isdecimal()
    )
    if not checkpoints and not versions:
        return Base(version=NO_VERSION, state=None, format="none")
    checkpoint_format = "none"
    summary: tuple[VersionFile, ...] = ()
    if checkpoints:
        checkpoint, checkpoint_format = _read_checkpoint(store, home, checkpoints[-1], names)
        summary = (checkpoint,)
    after = checkpoints[-1] if checkpoints else NO_VERSION
    later = tuple(
        _version_file(store, home, version, names)
        for version in _contiguous(store, versions, after=after)
    )
    pending = (*summary, *later)
    metadata, protocol = _newest_definition(pending)
    return Base(
        version=pending[-1].version,
        state=None,
        pending=pending,
        layout=Layout.VERSIONS if pending[-1].version > 0 else Layout.STATE,
        metadata=metadata,
        protocol=protocol,
        format=checkpoint_format,
    )


def _read_checkpoint(
    store: Store, home: Home, version: int, names: dict[str, int]
) -> tuple[VersionFile, str]:
    name = f"{version:020}{_CHECKPOINT}"
    path = f"{home.root}/{name}"
    content = store.read(path)
    parts = checkpoint_parts(content, path=path)
    if parts is None:
        actions, written = list(decode_actions(content, path=path)), "json"
    else:
        actions, written = [], "json-multipart"
        for part in parts:
            part_path = f"{home.root}/{part}"
            try:
                body = store.read(part_path)
            except ObjectNotFoundError as error:
                reason = f"its part {part} is missing"
                raise CorruptLogError(path=path, line=None, reason=reason) from error
            actions += decode_actions(body, path=part_path)
    return VersionFile(version=version, modified_ms=names[name], actions=tuple(actions)), written


def _version_file(store: Store, home: Home, version: int, names: dict[str, int]) -> VersionFile:
    name = f"{version:020}.json"
    path = f"{home.root}/{name}"
    actions = tuple(decode_actions(store.read(path), path=path))
    return VersionFile(version=version, modified_ms=names[name], actions=actions)


def _contiguous(store: Store, versions: Iterable[int], *, after: int) -> Iterator[int]:
    expected = after + 1
    for version in versions:
        if version <= after:
            continue
        if version != expected:
            raise LogGapError(table=store.root, missing=(range(expected, version),))
        yield version
        expected += 1


def _definition(
    store: WritableStore, home: Home, state: StateManifest, pending: tuple[VersionFile, ...]
) -> tuple[str | None, str | None]:
    """Return the newest metadata and protocol.

    If neither the state nor later files have them, the newest older state or version file that
    has them is used. A state of version 0 is considered last: a purge may have written it with the
    content of a later version.
    """
    metadata, protocol = _newest_definition(pending)
    metadata, protocol = metadata or state.metadata, protocol or state.protocol
    if metadata is not None and protocol is not None:
        return metadata, protocol
    newest = state.state_version
    candidates = [(v, 0) for v in list_states(store, home) if v < newest]
    for listed in store.list(home.root):
        parsed = parse_name(listed.path.rpartition("/")[2])
        if isinstance(parsed, CommitName) and parsed.version <= newest:
            candidates.append((parsed.version, 1))
    for version, is_file in sorted(candidates, reverse=True):
        if metadata is not None and protocol is not None:
            break
        if is_file:
            path = f"{home.root}/{version:020}.json"
            actions = tuple(decode_actions(store.read(path), path=path))
            definition = _newest_definition(
                (VersionFile(version=0, modified_ms=0, actions=actions),)
            )
        elif metadata is None:
            try:
                older = read_state(store, home, version)
            except ObjectNotFoundError:  # deleted by a concurrent clean-up
                continue
            definition = (older.metadata, older.protocol)
        else:
            continue
        metadata, protocol = metadata or definition[0], protocol or definition[1]
    return metadata, protocol


def _newest_definition(files: tuple[VersionFile, ...]) -> tuple[str | None, str | None]:
    actions: dict[str, Any] = {}
    for file in files:
        for action in file.actions:
            for name in ("metaData", "protocol"):
                if action.get(name) is not None:
                    actions[name] = action[name]
    return _wrapped("metaData", actions), _wrapped("protocol", actions)


def _wrapped(name: str, actions: dict[str, Any]) -> str | None:
    return msgspec.json.encode({name: actions[name]}).decode() if name in actions else None
