"""Stores for untrusted requests: no path or symbolic link leads out of the allowed roots."""

import os
from collections.abc import Callable, Sequence

from headrace.errors import UnsafePathError
from headrace.storage.local import LocalStore
from headrace.storage.routing import RoutingStore
from headrace.storage.store import Store


class ConfinedStore(LocalStore):
    """A folder whose files are opened only if they resolve to a path below an allowed folder.

    Every access first resolves the path with all links followed. This does not protect against
    someone who replaces a folder of the table with a link between the check and the access: that
    requires write access to the table.
    """

    def __init__(self, root: str, *, allowed: Sequence[str]) -> None:
        """Take the folder, and the folders that may contain its files."""
        super().__init__(root)
        self._allowed = tuple(allowed)
        self._prefixes = tuple(f"{real_folder(folder).rstrip('/')}/" for folder in allowed)

    def __reduce__(self) -> tuple[type["ConfinedStore"], tuple[str, tuple[str, ...]]]:
        return _rebuild, (self.root, self._allowed)  # type: ignore[return-value]

    def _full(self, path: str) -> str:
        full = super()._full(path)
        if not f"{real_folder(full)}/".startswith(self._prefixes):
            raise UnsafePathError(path=path, reason="it leads out of the folders that are allowed")
        return full


class ConfinedRoutingStore(RoutingStore):
    """A routing store that reaches outside its root only into other allowed roots."""

    def __init__(
        self, inner: Store, *, allowed: Sequence[str], open_other: Callable[[str], Store]
    ) -> None:
        """Take the table's store, the addresses that may contain files, and how to open one."""
        super().__init__(inner, open_other=open_other)
        self._prefixes = tuple(f"{address.rstrip('/')}/" for address in allowed)

    def _locate(self, path: str) -> tuple[Store, str]:
        is_absolute = path.startswith("/") or "://" in path
        if is_absolute and not path.startswith((f"{self.root}/", *self._prefixes)):
            raise UnsafePathError(path=path, reason="it leads out of the roots that are allowed")
        if is_absolute and ".." in path.split("/"):
            raise UnsafePathError(path=path, reason="it leads out of its folder")
        return super()._locate(path)


def _rebuild(root: str, allowed: tuple[str, ...]) -> ConfinedStore:
    return ConfinedStore(root, allowed=allowed)


def real_folder(path: str) -> str:
    """Return the path with all links resolved."""
    return os.path.realpath(path)
