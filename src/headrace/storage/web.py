"""A read-only store for web servers.

HTTP has no listings. Files of a folder are listed through WebDAV or an index page of links; a
server that offers neither cannot be used.
"""

import asyncio
from collections.abc import Iterable, Iterator, Sequence
from html.parser import HTMLParser
from itertools import islice
from typing import Any
from urllib.parse import unquote

from headrace.errors import (
    ListingUnavailableError,
    ObjectNotFoundError,
    ObjectTooShortError,
    RangeIgnoredError,
    ReadOnlyStoreError,
    StoreFailedError,
)
from headrace.storage.byte_range import ByteRange
from headrace.storage.call import Call, current_call
from headrace.storage.cloud import CloudStore
from headrace.storage.object_version import ObjectVersion, check_version
from headrace.storage.request_loop import request_loop
from headrace.storage.store import ObjectMeta, PutMode, Tail

_AT_ONCE = 32


class WebStore(CloudStore):
    """The files below a folder of a web server."""

    _has_index = False

    def list(self, directory: str, *, start_from: str = "") -> Iterator[ObjectMeta]:
        """List the files of a folder through WebDAV or the folder's index page."""
        if not self._has_index:
            try:
                yield from super().list(directory, start_from=start_from)
            except StoreFailedError as error:
                if error.transient and "answered" not in error.reason:
                    raise
                self._has_index = True
            except ObjectNotFoundError:
                return
        if self._has_index:
            yield from self._index(directory, start_from)

    def _index(self, directory: str, start_from: str) -> Iterator[ObjectMeta]:
        try:
            page = self.read(f"{directory}/")
        except ObjectNotFoundError:
            return
        if b"<a " not in page.lower() and b"<html" not in page.lower():
            raise ListingUnavailableError(directory=directory, store=self.root)
        links = _Links()
        links.feed(page.decode("utf-8", "replace"))
        names = sorted(name for name in links.names if name >= start_from)
        waiting = iter([f"{directory}/{name}" for name in names])
        while some := list(islice(waiting, _AT_ONCE)):
            yield from self._heads(some)

    def _heads(self, paths: Sequence[str]) -> Iterator[ObjectMeta]:
        async def ask_all(call: Call) -> Any:
            requests = (self._head(path, call) for path in paths)
            return await asyncio.gather(*requests, return_exceptions=True)

        for answer in request_loop().run(ask_all(current_call())):
            if isinstance(answer, ObjectNotFoundError):  # deleted since the page was generated
                continue
            if isinstance(answer, BaseException):
                raise answer
            yield self._meta(answer)

    def read_version(
        self, path: str, ranges: Sequence[ByteRange], *, etag: str | None = None
    ) -> ObjectVersion:
        """Read several ranges; reads the whole file if the server ignores ranges."""
        try:
            return super().read_version(path, ranges, etag=etag)
        except RangeIgnoredError:
            whole = self.read_whole(path)
        check_version(path, [whole.etag], etag)
        for span in ranges:
            if span.stop > whole.object_size:
                raise ObjectTooShortError(path=path, expected_bytes=span.stop)
        content = memoryview(whole.content)
        return ObjectVersion([content[span.start : span.stop] for span in ranges], whole.etag)

    def read_tail(
        self, path: str, *, size_bytes_wanted: int, object_size: int | None = None
    ) -> Tail:
        """Read the end of a file; reads the whole file if the server ignores ranges."""
        try:
            return super().read_tail(
                path, size_bytes_wanted=size_bytes_wanted, object_size=object_size
            )
        except RangeIgnoredError:
            whole = self.read_whole(path)
        start = max(whole.object_size - size_bytes_wanted, 0)
        return whole._replace(content=whole.content[start:])

    def put(self, path: str, content: bytes, *, mode: PutMode) -> None:  # noqa: ARG002
        """Raise `ReadOnlyStoreError`."""
        raise ReadOnlyStoreError(store=self.root)

    def delete(self, paths: Iterable[str]) -> None:  # noqa: ARG002
        """Raise `ReadOnlyStoreError`."""
        raise ReadOnlyStoreError(store=self.root)


class _Links(HTMLParser):
    """Collects the names of the files in the same folder that a page links to."""

    def __init__(self) -> None:
        super().__init__()
        self.names: set[str] = set()

    def handle_starttag(self, tag: str, attrs: "list[tuple[str, str | None]]") -> None:
        """Record the target of a link."""
        target = dict(attrs).get("href") if tag == "a" else None
        name = unquote((target or "").partition("?")[0].partition("#")[0].removeprefix("./"))
        if name and "/" not in name and name not in {".", ".."}:
            self.names.add(name)
