"""Stores for tables that strangers ask for: no path and no link leads out of the allowed roots."""

import os
from collections.abc import Callable, Sequence

from headrace.errors import UnsafePathError
from headrace.storage.local import LocalStore
from headrace.storage.routing import RoutingStore
from headrace.storage.store import Store


class ConfinedStore(LocalStore):
    """A folder whose files are opened only if they lie below an allowed folder, links followed.

    It checks where a path leads before every access. Who can replace a folder of the table by a
    link between the check and the access is not kept out: that takes write access to the table.
    """

    def __init__(self, root: str, *, allowed: Sequence[str]) -> None:
        """Take the folder, and the folders below which its files may lie."""
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
    """A store that reaches beyond its root, as far as other allowed roots."""

    def __init__(
        self, inner: Store, *, allowed: Sequence[str], open_other: Callable[[str], Store]
    ) -> None:
        """Take the table's store, the addresses below which files may lie, and how to open one."""
        super().__init__(inner, open_other=open_other)
        self._prefixes = tuple(f"{address.rstrip('/')}/" for address in allowed)

    def _locate(self, path: str) -> tuple[Store, str]:
        is_absolute = path.startswith("/") or "://" in path
        if is_absolute and not path.startswith((f"{self.root}/", *self._prefixes)):
            raise UnsafePathError(path=path, reason="it leads out of the roots that are allowed")
        return super()._locate(path)


def _rebuild(root: str, allowed: tuple[str, ...]) -> ConfinedStore:
    return ConfinedStore(root, allowed=allowed)


def real_folder(path: str) -> str:
    """Where a path leads, with every link followed."""
    return os.path.realpath(path)
