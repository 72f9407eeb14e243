"""List the objects of one directory of a bucket, whatever the service's listing lacks.

Pages of entries enter; the objects of one directory leave, by name. Services differ: some ignore
the offset at which to start, none can skip a subfolder, and a server that only knows the first
version of S3's listing stops after one page as if there were no more.
"""

from collections.abc import Callable, Iterator
from typing import TypeAlias

import msgspec

from headrace.errors import StoreFailedError
from headrace.storage.address import Address
from headrace.storage.store import LIST_PAGE_OBJECTS, ObjectMeta

Pages: TypeAlias = Callable[[str, str | None], Iterator[list[ObjectMeta]]]
"""Return the pages of the entries below a key, after an offset if the service supports it."""

_AFTER_ALL_BELOW = "~~~~"
"""Sorts after the names that writers give to files."""


class CloudListing(msgspec.Struct, frozen=True):
    """A listing of one directory."""

    pages: Pages
    address: Address
    directory: str
    start_from: str

    def __iter__(self) -> Iterator[ObjectMeta]:
        is_empty = True
        for meta in self._from_offset():
            is_empty = False
            yield meta
        if is_empty and self.start_from:  # not every service honors the start offset
            pages = self.pages(self.address.key(self.directory), None)
            listed = sorted((meta for page in pages for meta in page), key=lambda o: o.path)
            beginning = f"{self.directory}/{self.start_from}"
            yield from (
                meta
                for meta in listed
                if meta.path >= beginning and meta.path.rpartition("/")[0] == self.directory
            )

    def _from_offset(self) -> Iterator[ObjectMeta]:
        """List the objects at or after a name; subfolders are skipped, not listed."""
        key, start_from = self.address.key(self.directory), self.start_from
        below = f"{self.directory}/" if self.directory else ""
        beginning = below + start_from
        # The service starts after the offset, so this offset sorts before `start_from`.
        offset = f"{key}/{start_from[:-1]}" if start_from[:-1] else None
        stepped_over: set[str] = set()
        while True:
            for page in self.pages(key, offset):
                page.sort(key=lambda meta: meta.path)
                yield from (
                    meta
                    for meta in page
                    if meta.path >= beginning and "/" not in meta.path[len(below) :]
                )
                folder, slash, _ = page[-1].path[len(below) :].partition("/")
                if slash and len(page) >= LIST_PAGE_OBJECTS and folder not in stepped_over:
                    stepped_over.add(folder)
                    offset = f"{key}/{folder}/{_AFTER_ALL_BELOW}"
                    break
            else:
                return


def ending_pages(pages: Iterator[list[ObjectMeta]], path: str) -> Iterator[list[ObjectMeta]]:
    """Yield the pages of a listing.

    The client joins small pages, so the same entries may return at other places of a page. One
    name is remembered, of ever later pages, which finds a cycle of any length.

    Raises:
        StoreFailedError: the server sends the same pages again and again.
    """
    remembered = ""
    for number, page in enumerate(pages, start=1):
        if any(meta.path == remembered for meta in page):
            reason = "the server sends the same page of the listing again"
            raise StoreFailedError(path=path, reason=reason, transient=False)
        if number.bit_count() == 1:  # a power of two
            remembered = page[0].path
        yield page


def list_past_full_pages(
    pages: Pages, address: Address, key: str, offset: str | None
) -> Iterator[list[ObjectMeta]]:
    """Yield all pages, and ask for more after a full last page.

    A server that does not know continuation tokens says that there are more entries, but not how
    to get them, and the client takes that for the end. Such a page is full.

    Raises:
        StoreFailedError: a page is full, and the server cannot continue after it.
    """
    reached = ""
    while True:
        page: list[ObjectMeta] = []
        count, repeated, last = 0, 0, reached
        for page in pages(key, offset):
            fresh = [meta for meta in page if meta.path > reached]
            count += len(page)
            repeated += len(page) - len(fresh)
            if fresh:
                last = max(last, *(meta.path for meta in fresh))
                yield fresh
        if count == repeated == LIST_PAGE_OBJECTS:
            reason = "the server ends the listing after one page and cannot continue it"
            raise StoreFailedError(path=address.path(key), reason=reason, transient=False)
        if last == reached or len(page) < LIST_PAGE_OBJECTS:
            return
        reached, offset = last, address.key(last)
