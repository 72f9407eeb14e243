"""Maps table names to addresses below the served roots, never by a path from a client.

Roots such as `lake=/data/lake` enter. The address of the table `lake/events` leaves, or an error
that does not reveal whether anything else exists there.
"""

import os
import re
from collections.abc import Iterator, Sequence
from urllib.parse import urlsplit

import msgspec

from headrace.errors import InvalidArgumentError, TableNotServedError
from headrace.log.name import LOG_DIRECTORY
from headrace.storage.confined import real_folder
from headrace.storage.location import local_root, scheme_of

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.\-]*")
_SEGMENT = re.compile(r"(?!\.{1,2}$)[^/\\%?#*:\x00-\x1f\x7f]{1,255}")
_MAX_SEGMENT_BYTES = 255
_MAX_PATH_BYTES = 3_840
"""The longest local path of a table. The system allows 4,096 bytes with the names in its log."""
_LISTED_DEPTH = 4
_LISTED_TABLES = 10_000


class Root(msgspec.Struct, frozen=True, kw_only=True):
    """A name and the address that holds its tables; the address may be a table itself."""

    name: str
    uri: str

    @property
    def is_local(self) -> bool:
        """Whether it is a local folder."""
        return scheme_of(self.uri) == "file"

    @property
    def folder(self) -> str:
        """The path of a remote root in its bucket, or on its host; empty for a whole bucket."""
        return "" if self.is_local else urlsplit(self.uri).path.strip("/")


class Roots:
    """Resolves and lists the tables below a server's roots."""

    def __init__(self, roots: Sequence[Root]) -> None:
        """Take the roots, which have unique names."""
        self._roots = {root.name: root for root in roots}

    @classmethod
    def parse(cls, words: Sequence[str]) -> "Roots":
        """Parse the roots of the command line, each NAME=URI.

        Raises:
            InvalidArgumentError: a word is not NAME=URI, or a name is repeated.
        """
        roots: list[Root] = []
        for word in words:
            name, equals, uri = word.partition("=")
            if not equals or not uri or not _NAME.fullmatch(name):
                reason = f"{word!r} is not NAME=URI, such as lake=/data/lake"
                raise InvalidArgumentError(argument="--root", reason=reason)
            if any(root.name == name for root in roots):
                reason = f"the name {name} is repeated"
                raise InvalidArgumentError(argument="--root", reason=reason)
            is_local = scheme_of(uri) == "file"
            roots.append(Root(name=name, uri=local_root(uri) if is_local else uri.rstrip("/")))
        if not roots:
            raise InvalidArgumentError(argument="--root", reason="give at least one, NAME=URI")
        return cls(roots)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the roots, in order."""
        return tuple(self._roots)

    @property
    def local_folders(self) -> tuple[str, ...]:
        """The addresses of the local roots."""
        return tuple(root.uri for root in self._roots.values() if root.is_local)

    @property
    def uris(self) -> tuple[str, ...]:
        """The addresses of all roots."""
        return tuple(root.uri for root in self._roots.values())

    def locate(self, table: str) -> str:
        """Return the address of a table.

        Raises:
            TableNotServedError: the name is not valid, or not below a root.
        """
        name, *below = table.split("/")
        root = self._roots.get(name)
        if root is None or not all(_is_segment(segment) for segment in below):
            raise TableNotServedError(table=table, roots=self.names)
        uri = "/".join((root.uri, *below))
        if root.is_local and not _is_below(uri, root.uri):
            raise TableNotServedError(table=table, roots=self.names)
        return uri

    def tables(self) -> Iterator[str]:
        """Yield the names of the tables below the local roots; other roots are not listed.

        It searches four folders deep and stops after 10,000 tables.
        """
        table_count = 0
        for root in self._roots.values():
            for name in _tables_below(root) if root.is_local else ():
                yield name
                table_count += 1
                if table_count == _LISTED_TABLES:
                    return

    def redact(self, text: str) -> str:
        """Replace the addresses of the roots in a text by their names."""
        for root in sorted(self._roots.values(), key=lambda root: -len(root.uri)):
            text = text.replace(root.uri, root.name)
            if folder := root.folder:
                # Stores name an object by its path in the bucket.
                text = re.sub(rf"(?<![\w./-]){re.escape(folder)}(?=/)", root.name, text)
        return text


def _is_segment(text: str) -> bool:
    """Return whether a text may be one part of a table name."""
    if not _SEGMENT.fullmatch(text):
        return False
    try:
        return len(text.encode()) <= _MAX_SEGMENT_BYTES
    except UnicodeEncodeError:  # half of a surrogate pair, or a folder name that is not UTF-8
        return False


def _is_below(folder: str, root: str) -> bool:
    if len(folder.encode()) > _MAX_PATH_BYTES:
        return False
    return f"{real_folder(folder)}/".startswith(f"{real_folder(root).rstrip('/')}/")


def _tables_below(root: Root) -> Iterator[str]:
    for folder, below, _ in os.walk(root.uri):
        relative = os.path.relpath(folder, root.uri)
        parts = [] if relative == "." else relative.split("/")
        if LOG_DIRECTORY in below:
            if all(map(_is_segment, parts)):
                yield "/".join((root.name, *parts))
            below.clear()
        elif len(parts) >= _LISTED_DEPTH:
            below.clear()
        else:
            below[:] = sorted(name for name in below if not name.startswith((".", "_")))
