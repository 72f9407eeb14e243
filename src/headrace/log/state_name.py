"""Names below the root of states: build, parse and resolve the paths of states and manifests.

A path that leads out of the root is refused.
"""

import re

from headrace.errors import UnsafePathError
from headrace.log.name import MAX_VERSION

STATE_FILE = "_manifest.avro"
MANIFEST_DIRECTORY = "manifests"
HINT_NAME = "_last_checkpoint"

_STATE_FOLDER = re.compile(r"state-v(?P<version>\d{20})", re.ASCII)


def state_directory(version: int) -> str:
    """Return the folder of a state, relative to the root."""
    return f"state-v{version:020}"


def state_path(root: str, version: int) -> str:
    """Return the path of a state's file; the state exists if and only if this file does."""
    return f"{root}/{state_directory(version)}/{STATE_FILE}"


def hint_path(root: str) -> str:
    """Return the path of the file that may name the newest state below a root."""
    return f"{root}/{HINT_NAME}"


def parse_state_directory(name: str) -> int | None:
    """Return the version in a folder's name; None if it is not the folder of a state."""
    match = _STATE_FOLDER.fullmatch(name.rstrip("/"))
    if match is None:
        return None
    version = int(match["version"])
    return None if version > MAX_VERSION else version


def manifest_path(manifest_id: str) -> str:
    """Return the path of a new manifest, relative to the root, as a state records it."""
    return f"{MANIFEST_DIRECTORY}/manifest-{manifest_id}.avro"


def normalise_manifest(path: str, *, state_version: int) -> str:
    """Make a path relative to the root; it may be relative to its state's folder.

    Raises:
        UnsafePathError: the path leads out of the root.
    """
    _check(path)
    if "/" in path:
        return path
    return f"{state_directory(state_version)}/{path}"


def resolve_manifest(root: str, path: str, *, state_version: int) -> str:
    """Return the path in the store of a manifest that a state names.

    The state names it relative to the root (`manifests/…`, `state-v…/…`), or by its bare file name
    if it is in the state's own folder.

    Raises:
        UnsafePathError: the path leads out of the root.
    """
    return f"{root}/{normalise_manifest(path, state_version=state_version)}"


def _check(path: str) -> None:
    """Refuse a path that no writer of states produces.

    Raises:
        UnsafePathError: the path leads out of the root, or may do so.
    """
    if not path or path.startswith("/") or "\\" in path or "\0" in path or ":" in path:
        raise UnsafePathError(path=path, reason="a manifest is named relative to its state")
    if any(part in ("", ".", "..") for part in path.split("/")):
        raise UnsafePathError(path=path, reason="the manifest is not below its state's root")
