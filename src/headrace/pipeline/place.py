"""Folders of a project, on this machine or in a store.

An address and the options of its store enter; the folder leaves as a store, as a table, or as a
local path.
"""

import logging
import os
from collections.abc import Mapping
from pathlib import Path
from shutil import rmtree
from typing import Any
from urllib.parse import quote

from headrace import wiring
from headrace.errors import HeadraceError, InvalidArgumentError
from headrace.storage.location import local_root, scheme_of
from headrace.storage.option import HiddenOptions
from headrace.storage.store import WritableStore
from headrace.table import Table

_LOGGER = logging.getLogger("headrace.pipeline")


class Place:
    """A folder, and the options that open its store. Equal if the addresses are."""

    __slots__ = ("options", "uri")

    def __init__(
        self, uri: str | os.PathLike[str], *, options: Mapping[str, Any] | None = None
    ) -> None:
        """Take an address or a local path.

        Args:
            uri: The address; a local one becomes an absolute path.
            options: Options of remote stores; a local folder keeps them for `at`.
        """
        text = os.fspath(uri)
        self.uri = local_root(text) if scheme_of(text) == "file" else text.rstrip("/")
        self.options = HiddenOptions(options or {})

    @classmethod
    def of(cls, place: "Place | str | os.PathLike[str]") -> "Place":
        """Return a place unchanged; convert a path to a place."""
        return place if isinstance(place, Place) else cls(place)

    def __truediv__(self, name: str) -> "Place":
        """Return a folder below this one."""
        below = name if self.is_local else quote(name)
        return Place(f"{self.uri.rstrip('/')}/{below}", options=self.options)

    def at(self, uri: str) -> "Place":
        """Return another folder, which is opened with the same options."""
        return Place(uri, options=self.options)

    def __str__(self) -> str:
        return self.uri

    def __repr__(self) -> str:
        return f"Place({self.uri!r})"

    def __fspath__(self) -> str:
        """Return the local path.

        Raises:
            InvalidArgumentError: the folder is in a store.
        """
        if not self.is_local:
            raise InvalidArgumentError(argument="path", reason=f"{self.uri} is not a local folder")
        return self.uri

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Place) and self.uri == other.uri

    def __hash__(self) -> int:
        return hash(self.uri)

    @property
    def is_local(self) -> bool:
        """Whether the folder is on this machine."""
        return scheme_of(self.uri) == "file"

    @property
    def path(self) -> Path:
        """The local path.

        Raises:
            InvalidArgumentError: the folder is in a store.
        """
        return Path(self)

    @property
    def name(self) -> str:
        """The last part of the address."""
        return self.uri.rpartition("/")[2]

    def open(self) -> WritableStore:
        """Open the folder for reading and writing."""
        return wiring.open_writable_store(self.uri, options=self.options)

    def table(self) -> Table:
        """Return the Delta table of the folder."""
        options = None if self.is_local else self.options
        return Table(self.uri, storage_options=options or None)

    def remove(self) -> None:
        """Delete everything below the folder; a failure is logged."""
        if self.is_local:
            rmtree(self.path, ignore_errors=True)
            return
        store = self.open()
        try:
            store.delete([entry.path for entry in store.list_tree("")])
        except HeadraceError as error:
            _LOGGER.warning("%s was not deleted: %s", self.uri, error)
