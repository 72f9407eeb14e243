"""Which tables a server has: everything below its roots, by name and never by a client's path.

Words such as `lake=/data/lake` enter; the address of the table `lake/events` leaves, or an error
that does not tell whether there is something else at that place.
"""

import os
import re
from collections.abc import Iterator, Sequence

import msgspec

from headrace.errors import InvalidArgumentError, TableNotServedError
from headrace.log.name import LOG_DIRECTORY
from headrace.storage.confined import real_folder
from headrace.storage.location import local_root, scheme_of

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.\-]*")
_SEGMENT = re.compile(r"(?!\.{1,2}$)[^/\\%?#*:\x00-\x1f\x7f]{1,255}")
_LISTED_DEPTH = 4
_LISTED_TABLES = 10_000


class Root(msgspec.Struct, frozen=True, kw_only=True):
    """A name, and the address below which its tables are; it may be a table itself."""

    name: str
    uri: str

    @property
    def is_local(self) -> bool:
        """Whether it is a folder of this machine."""
        return scheme_of(self.uri) == "file"


class Roots:
    """The roots of a server."""

    def __init__(self, roots: Sequence[Root]) -> None:
        """Take the roots; their names are unique."""
        self._roots = {root.name: root for root in roots}

    @classmethod
    def parse(cls, words: Sequence[str]) -> "Roots":
        """The roots of the command line, each NAME=URI.

        Raises:
            InvalidArgumentError: a word has another form, or a name stands twice.
        """
        roots: list[Root] = []
        for word in words:
            name, equals, uri = word.partition("=")
            if not equals or not uri or not _NAME.fullmatch(name):
                reason = f"{word!r} is not NAME=URI, such as lake=/data/lake"
                raise InvalidArgumentError(argument="--root", reason=reason)
            if any(root.name == name for root in roots):
                reason = f"the name {name} is given twice"
                raise InvalidArgumentError(argument="--root", reason=reason)
            is_local = scheme_of(uri) == "file"
            roots.append(Root(name=name, uri=local_root(uri) if is_local else uri.rstrip("/")))
        if not roots:
            raise InvalidArgumentError(argument="--root", reason="give at least one, NAME=URI")
        return cls(roots)

    @property
    def names(self) -> tuple[str, ...]:
        """Their names, in order."""
        return tuple(self._roots)

    @property
    def local_folders(self) -> tuple[str, ...]:
        """Those that are folders of this machine."""
        return tuple(root.uri for root in self._roots.values() if root.is_local)

    @property
    def uris(self) -> tuple[str, ...]:
        """Their addresses."""
        return tuple(root.uri for root in self._roots.values())

    def locate(self, table: str) -> str:
        """The address of a table.

        Raises:
            TableNotServedError: no root has such a table, or the name is not one.
        """
        name, *below = table.split("/")
        root = self._roots.get(name)
        if root is None or not all(_SEGMENT.fullmatch(segment) for segment in below):
            raise TableNotServedError(table=table, roots=self.names)
        uri = "/".join((root.uri, *below))
        if root.is_local and not _is_below(uri, root.uri):
            raise TableNotServedError(table=table, roots=self.names)
        return uri

    def tables(self) -> Iterator[str]:
        """The names of the tables below the roots of this machine, by name; others are not listed.

        It looks four folders deep, and ends after 10,000 tables.
        """
        found = 0
        for root in self._roots.values():
            for name in _tables_below(root) if root.is_local else ():
                yield name
                found += 1
                if found == _LISTED_TABLES:
                    return

    def redact(self, text: str) -> str:
        """A text without the addresses of the roots: their names stand in their places."""
        for root in sorted(self._roots.values(), key=lambda root: -len(root.uri)):
            text = text.replace(root.uri, root.name)
        return text


def _is_below(folder: str, root: str) -> bool:
    return f"{real_folder(folder)}/".startswith(f"{real_folder(root).rstrip('/')}/")


def _tables_below(root: Root) -> Iterator[str]:
    for folder, below, _ in os.walk(root.uri):
        relative = os.path.relpath(folder, root.uri)
        parts = [] if relative == "." else relative.split("/")
        if LOG_DIRECTORY in below:
            if all(_SEGMENT.fullmatch(part) for part in parts):
                yield "/".join((root.name, *parts))
            below.clear()
        elif len(parts) >= _LISTED_DEPTH:
            below.clear()
        else:
            below[:] = sorted(name for name in below if not name.startswith((".", "_")))
