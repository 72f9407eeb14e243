"""A store for S3, Azure Blob Storage and Google Cloud Storage, built on obstore.

The client is created on the first request, in the process that sends it: a store that was pickled,
or forked before any request, gets its own client. Errors are typed and contain no secrets.
"""

import asyncio
import os
from collections.abc import (
    Callable,
    Coroutine,
    Iterable,
    Iterator,
    Sequence,
)
from contextlib import suppress
from itertools import islice
from typing import Any, BinaryIO, TypeAlias, TypeVar

import obstore

from headrace.errors import (
    ObjectNotFoundError,
    ObjectTooShortError,
    RangeIgnoredError,
    RedirectRefusedError,
    StoreFailedError,
    StoreThrottledError,
)
from headrace.storage.address import Address, Service
from headrace.storage.byte_range import ByteRange, Bytes, Contents, coalesce, split
from headrace.storage.call import Call, current_call
from headrace.storage.cloud_body import BodyReader, wait_for_answer
from headrace.storage.cloud_client import endpoint_of, open_client
from headrace.storage.cloud_failure import UNSATISFIABLE, cloud_error, status_of
from headrace.storage.cloud_listing import CloudListing, ending_pages, list_past_full_pages
from headrace.storage.object_version import ObjectVersion, check_version, etag_of
from headrace.storage.option import StorageOptions
from headrace.storage.pace import Pace
from headrace.storage.ranged import RangedFile, as_binary
from headrace.storage.redirect import is_refused_redirect
from headrace.storage.request_loop import all_of, request_loop
from headrace.storage.store import LIST_PAGE_OBJECTS, ObjectMeta, PutMode, RequestCost, Tail

T = TypeVar("T")
_Page: TypeAlias = list[ObjectMeta]

PART_BYTES = 8 << 20
"""The part size for uploading larger objects."""

_PARTS_AT_ONCE = 4
_AT_ONCE = 32
_SLOWEST_BYTES_A_SECOND = 1 << 20


class CloudStore:
    """The objects below one prefix of a bucket."""

    request_cost = RequestCost.REMOTE

    def __init__(self, address: Address, options: StorageOptions) -> None:
        self.address = address
        self._options = options
        self._opened: tuple[int, Any, Pace] | None = None
        self._bodies = BodyReader()

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.address, self._options)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.address.root!r})"

    @property
    def root(self) -> str:
        """The address of the root."""
        return self.address.root

    def list(self, directory: str, *, start_from: str = "") -> Iterator[ObjectMeta]:
        """List the objects of one directory, page by page."""
        return iter(CloudListing(self._all_pages, self.address, directory, start_from))

    def list_tree(self, directory: str) -> Iterator[ObjectMeta]:
        """List all objects below a directory."""
        for page in self._all_pages(self.address.key(directory), None):
            yield from page

    def _all_pages(self, key: str, offset: str | None) -> Iterator[_Page]:
        if self.address.service is Service.S3:  # many servers speak some of its protocol
            return list_past_full_pages(self._pages, self.address, key, offset)
        return self._pages(key, offset)

    def _pages(self, key: str, offset: str | None) -> Iterator[_Page]:
        return ending_pages(self._requested_pages(key, offset), self.address.path(key))

    def _requested_pages(self, key: str, offset: str | None) -> Iterator[_Page]:
        stream: Any = None
        while True:

            async def next_page(call: Call) -> Any:
                nonlocal stream
                if stream is None:
                    stream = obstore.list(
                        self._client, key or None, offset=offset, chunk_size=LIST_PAGE_OBJECTS
                    )
                return await wait_for_answer(anext(stream, None), call)

            page = self._run(key, next_page)
            if not page:
                return
            yield [self._meta(entry) for entry in page]

    def head(self, path: str) -> ObjectMeta:
        """Return the metadata of an object: size, modification time and ETag."""
        return self._meta(request_loop().run(self._head(path, current_call())))

    async def _head(self, path: str, call: Call) -> Any:
        async def request(call: Call) -> Any:
            return await wait_for_answer(
                obstore.head_async(self._client, self.address.key(path)), call
            )

        return await self._send(path, request, call)

    def read(self, path: str) -> bytes:
        """Read a whole object; for a large one, the timeout applies to each chunk."""
        return self.read_whole(path).content

    def read_whole(self, path: str) -> Tail:
        """Read a whole object, with its ETag."""

        async def whole(call: Call) -> Tail:
            answer = await wait_for_answer(
                obstore.get_async(self._client, self.address.key(path)), call
            )
            content = bytes(await self._bodies.read(answer, answer.meta["size"], call))
            return Tail(content, len(content), etag_of(answer.meta))

        return self._run(path, whole)

    def read_tail(
        self, path: str, *, size_bytes_wanted: int, object_size: int | None = None
    ) -> Tail:
        """Read the end of an object by its size, or by a suffix range if the size is unknown."""
        if object_size is None and self.address.service is Service.AZURE:
            object_size = self.head(path).size_bytes
        if object_size is not None:
            length = min(size_bytes_wanted, object_size)
            version = self.read_version(path, [ByteRange(object_size - length, length)])
            return Tail(bytes(version.contents[0]), object_size, version.etag)

        async def suffix(call: Call) -> Tail:
            options: Any = {"range": {"suffix": size_bytes_wanted}}
            response = obstore.get_async(self._client, self.address.key(path), options=options)
            answer = await wait_for_answer(response, call)
            object_size = answer.meta["size"]
            length = min(size_bytes_wanted, object_size)
            content = bytes(await self._bodies.read(answer, length, call))
            if len(content) != length:
                raise ObjectTooShortError(path=path, expected_bytes=object_size)
            return Tail(content, object_size, etag_of(answer.meta))

        try:
            return self._run(path, suffix)
        except (ObjectTooShortError, RangeIgnoredError):
            if self.head(path).size_bytes:
                raise
            return Tail(b"", 0)  # an empty object has no valid range

    def read_ranges(
        self, path: str, ranges: Sequence[ByteRange], *, etag: str | None = None
    ) -> Contents:
        """Read several ranges of an object concurrently."""
        return self.read_version(path, ranges, etag=etag).contents

    def read_version(
        self, path: str, ranges: Sequence[ByteRange], *, etag: str | None = None
    ) -> ObjectVersion:
        """Read several ranges of one version of an object.

        The ETags of the answers are compared: not every service supports conditional reads.
        """
        requests = coalesce(ranges, self.request_cost.coalescing)

        call = current_call()
        answers = request_loop().run(all_of(self._range(path, each, call) for each in requests))
        answered = check_version(path, (each for _, each in answers), etag)
        contents = [content for content, _ in answers]
        return ObjectVersion(split(ranges, requests, contents), answered)

    async def _range(self, path: str, span: ByteRange, call: Call) -> tuple[Bytes, str | None]:
        async def request(call: Call) -> tuple[Bytes, str | None]:
            options: Any = {"range": (span.start, span.stop)}
            response = obstore.get_async(self._client, self.address.key(path), options=options)
            answer = await wait_for_answer(response, call)
            return await self._bodies.read(answer, span.length, call), etag_of(answer.meta)

        content, etag = await self._send(path, request, call)
        if len(content) != span.length:
            raise ObjectTooShortError(path=path, expected_bytes=span.stop)
        return content, etag

    def read_chunks(self, path: str, *, chunk_bytes: int) -> Iterator[bytes]:
        """Read an object in chunks as they arrive."""

        async def begin(call: Call) -> Any:
            answer = await wait_for_answer(
                obstore.get_async(self._client, self.address.key(path)), call
            )
            return answer.stream(min_chunk_size=chunk_bytes)

        stream = self._run(path, begin)

        async def next_chunk(call: Call) -> bytes | None:
            chunk = await wait_for_answer(anext(stream, None), call)
            return None if chunk is None else bytes(chunk)

        while (chunk := self._run(path, next_chunk)) is not None:
            yield chunk

    def open(self, path: str, *, size_bytes: int | None = None) -> BinaryIO:
        """Open an object as a seekable file; a known `size_bytes` saves a request."""
        if size_bytes is None:
            size_bytes = self.head(path).size_bytes
        return as_binary(_CloudFile(self, path, size_bytes))

    def local_path(self, path: str) -> str | None:  # noqa: ARG002  (it has no files)
        """Return None: remote objects have no local path."""
        return None

    def put(self, path: str, content: bytes, *, mode: PutMode) -> None:
        """Write an object; a large one is uploaded in parts if it may be overwritten.

        Services check for an existing object only if the upload is a single request.
        """
        in_parts = mode is PutMode.OVERWRITE and len(content) > PART_BYTES

        async def write(call: Call) -> Any:
            upload = obstore.put_async(
                self._client,
                self.address.key(path),
                content,
                mode=mode.value,
                use_multipart=in_parts,
                chunk_size=PART_BYTES,
                max_concurrency=_PARTS_AT_ONCE,
            )
            # The client reports no upload progress, so a large object gets more time.
            longest_s = call.timeout_s() + len(content) / _SLOWEST_BYTES_A_SECOND
            return await asyncio.wait_for(upload, longest_s)

        self._run(path, write)

    def persist(self, paths: Iterable[str]) -> None:
        """Check that objects exist: an object that exists is durable."""
        waiting = iter(paths)
        while some := list(islice(waiting, _AT_ONCE)):
            call = current_call()
            request_loop().run(all_of(self._head(path, call) for path in some))

    def delete(self, paths: Iterable[str]) -> None:
        """Delete objects, many per request if the service supports it."""
        waiting = iter(paths)
        while some := list(islice(waiting, LIST_PAGE_OBJECTS)):
            try:
                self._delete(some)
            except ObjectNotFoundError:  # some services report it: delete one by one
                for path in some:
                    self._delete_one(path)

    def _delete(self, paths: Sequence[str]) -> None:
        keys = [self.address.key(path) for path in paths]

        async def remove(call: Call) -> Any:
            return await wait_for_answer(obstore.delete_async(self._client, keys), call)

        self._run(paths[0], remove)

    def _delete_one(self, path: str) -> None:
        with suppress(ObjectNotFoundError):
            self._delete([path])

    def prune(self, directory: str) -> None:
        """Do nothing: there are no directories."""

    def _meta(self, entry: Any) -> ObjectMeta:
        return ObjectMeta(
            path=self.address.path(entry["path"]),
            size_bytes=entry["size"],
            modified_ms=int(entry["last_modified"].timestamp() * 1000),
            etag=etag_of(entry),
        )

    def _run(self, path: str, request: Callable[[Call], Coroutine[Any, Any, T]]) -> T:
        return request_loop().run(self._send(path, request, current_call()))

    async def _send(
        self, path: str, request: Callable[[Call], Coroutine[Any, Any, T]], call: Call
    ) -> T:
        """Send a request when the pace admits it, and raise typed errors."""
        pace = self._pace
        is_admitted = False
        try:
            async with pace.admitted(longest_s=call.remaining_s()):
                is_admitted = True
                answer = await request(call)
                pace.answered()
                return answer
        except Exception as error:
            failure = self._failure(path, error)
            if failure is error:
                raise
        if not is_admitted and pace.is_backing_off and isinstance(failure, StoreFailedError):
            failure = StoreThrottledError(path=path, reason="no other answer in time")
        elif isinstance(failure, StoreThrottledError):
            pace.throttled()
        # Outside the handler: the client's error names the request, and perhaps its signature.
        raise failure

    def _failure(self, path: str, error: Exception) -> Exception:
        if status_of(error) == UNSATISFIABLE:
            return ObjectTooShortError(path=path, expected_bytes=1)
        if "NotPartial" in str(error):
            return RangeIgnoredError(path=path)
        typed = cloud_error(path, error, self.address)
        if isinstance(typed, StoreFailedError) and typed.transient:
            endpoint = (
                endpoint_of(self.address, self._options.store) or _PUBLIC[self.address.service]
            )
            if is_refused_redirect(str(error), endpoint):
                return RedirectRefusedError(path=path, store=self.root)
        return error if typed is None else typed

    @property
    def _client(self) -> Any:
        return self._open()[1]

    @property
    def _pace(self) -> Pace:
        return self._open()[2]

    def _open(self) -> tuple[int, Any, Pace]:
        process = os.getpid()
        opened = self._opened
        if opened is None or opened[0] != process:
            opened = self._opened = (process, open_client(self.address, self._options), Pace())
        return opened


_PUBLIC = {
    Service.S3: "https://s3.amazonaws.com",
    Service.AZURE: "https://login.microsoftonline.com",
    Service.GCS: "https://storage.googleapis.com",
    Service.HTTP: "",
}


class _CloudFile(RangedFile):
    """A seekable object; every read is a range request."""

    def __init__(self, store: CloudStore, path: str, size_bytes: int) -> None:
        super().__init__()
        self._store, self._path, self._size_bytes = store, path, size_bytes
        self._etag: str | None = None

    def read_at(self, position: int, size: int) -> bytes:
        """Read a range."""
        length = min(size, self._size_bytes - position)
        if length <= 0:
            return b""
        ranges = [ByteRange(position, length)]
        version = self._store.read_version(self._path, ranges, etag=self._etag)
        self._etag = version.etag
        return bytes(version.contents[0])

    def size_bytes(self) -> int:
        """Return the size known when the file was opened."""
        return self._size_bytes

    def release(self) -> None:
        """Do nothing: no resource is open."""
