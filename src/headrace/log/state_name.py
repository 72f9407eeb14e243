"""Names below the root of a state: folders of states, manifests, and how a path is resolved."""

import re

from headrace.errors import UnsafePathError

STATE_FILE = "_manifest.avro"
MANIFEST_DIRECTORY = "manifests"
HINT_NAME = "_last_checkpoint"

_STATE_FOLDER = re.compile(r"state-v(?P<version>\d{20})", re.ASCII)
_LARGEST_VERSION = (1 << 63) - 1


def state_directory(version: int) -> str:
    """The folder of a state, below the root."""
    return f"state-v{version:020}"


def state_path(root: str, version: int) -> str:
    """The file whose existence makes a state."""
    return f"{root}/{state_directory(version)}/{STATE_FILE}"


def hint_path(root: str) -> str:
    """The file that may name the newest state below a root."""
    return f"{root}/{HINT_NAME}"


def parse_state_directory(name: str) -> int | None:
    """Return the version that a folder's name means; None where it means none."""
    match = _STATE_FOLDER.fullmatch(name.rstrip("/"))
    if match is None:
        return None
    version = int(match["version"])
    return None if version > _LARGEST_VERSION else version


def manifest_path(manifest_id: str) -> str:
    """The path of a new manifest, relative to the root, as a state names it."""
    return f"{MANIFEST_DIRECTORY}/manifest-{manifest_id}.avro"


def normalise_manifest(path: str, *, state_version: int) -> str:
    """Return the path relative to the root, of a path that may be relative to its state's folder.

    Raises:
        UnsafePathError: the path leads out of the root.
    """
    _check(path)
    if "/" in path:
        return path
    return f"{state_directory(state_version)}/{path}"


def resolve_manifest(root: str, path: str, *, state_version: int) -> str:
    """Return the path of a manifest in the store, from how a state names it.

    A state names it relative to the root (`manifests/…`, `state-v…/…`), or by its bare name where
    it lies in the state's own folder.

    Raises:
        UnsafePathError: the path leads out of the root.
    """
    return f"{root}/{normalise_manifest(path, state_version=state_version)}"


def _check(path: str) -> None:
    """Refuse what a state's writer would not have written.

    Raises:
        UnsafePathError: the path leads out of the root, or may.
    """
    if not path or path.startswith("/") or "\\" in path or "\0" in path or ":" in path:
        raise UnsafePathError(path=path, reason="a manifest is named relative to its state")
    if any(part in ("", ".", "..") for part in path.split("/")):
        raise UnsafePathError(path=path, reason="the manifest is not below its state's root")
