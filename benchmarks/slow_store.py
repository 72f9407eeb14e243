"""A read-only S3 imitation over a folder, with a delay per request and limited bandwidth.

    python -m benchmarks.slow_store FOLDER --delay-ms 50 --megabytes-per-second 100

It prints its port. Every request waits for the delay, and then its body is sent at the bandwidth of
one connection; connections do not slow each other down. `/_log` returns the requests since the last
call, as JSON. Credentials are not checked.
"""

import argparse
import asyncio
import json
import os
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from email.utils import formatdate
from pathlib import Path
from urllib.parse import parse_qs, unquote, urlsplit
from xml.sax.saxutils import escape

LOG = "/_log"
_PIECE_BYTES = 1 << 18
_PAGE_OBJECTS = 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """A request that was answered."""

    path: str
    """The key of an object, or the prefix of a listing."""
    start: int
    """The offset of the first byte of the object that was sent."""
    size_bytes: int
    """How many bytes of the object were sent."""
    started_s: float
    ended_s: float


def depth(requests: list[Request]) -> int:
    """Return the number of round trips on the critical path.

    It is the size of the largest set of requests in which no two overlap in time.
    """
    rounds, free_at_s = 0, float("-inf")
    for request in sorted(requests, key=lambda request: request.ended_s):
        if request.started_s >= free_at_s:
            rounds, free_at_s = rounds + 1, request.ended_s
    return rounds


class SlowStore:
    """Answers the requests of an S3 client about the files of a folder."""

    def __init__(self, folder: Path, *, delay_s: float, bytes_per_second: float) -> None:
        self._folder = folder
        self._delay_s = delay_s
        self._bytes_per_second = bytes_per_second
        self._log: list[Request] = []

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer the requests of one connection, one after the other."""
        try:
            while head := await _read_head(reader):
                await self._answer(*head, writer)
        except (asyncio.IncompleteReadError, ConnectionError):
            pass  # the client has disconnected
        finally:
            writer.close()

    async def _answer(
        self, method: str, target: str, headers: Mapping[str, str], writer: asyncio.StreamWriter
    ) -> None:
        started_s = time.monotonic()
        address = urlsplit(target)
        if address.path == LOG:
            log, self._log = self._log, []
            content = json.dumps([asdict(request) for request in log]).encode()
            await _send(writer, "200 OK", {"Content-Type": "application/json"}, content)
            return
        await asyncio.sleep(self._delay_s)
        query = parse_qs(address.query, keep_blank_values=True)
        _, _, key = unquote(address.path).removeprefix("/").partition("/")
        if "list-type" in query:
            path, start, size_bytes = query.get("prefix", [""])[0], 0, 0
            await _send(writer, "200 OK", {"Content-Type": "application/xml"}, self._list(query))
        else:
            path = key
            start, size_bytes = await self._send_object(method, key, headers, writer)
        self._log.append(
            Request(
                path=path,
                start=start,
                size_bytes=size_bytes,
                started_s=started_s,
                ended_s=time.monotonic(),
            )
        )

    def _list(self, query: Mapping[str, list[str]]) -> bytes:
        """Return one page of a listing. Only folders are listed: the prefix ends in a slash."""
        prefix = query.get("prefix", [""])[0]
        after = max(query.get("start-after", [""])[0], query.get("continuation-token", [""])[0])
        objects: list[tuple[str, os.stat_result]] = []
        folders: list[str] = []
        waiting = [prefix] if (self._folder / prefix).is_dir() else []
        while waiting:
            within = waiting.pop()
            for entry in os.scandir(self._folder / within):
                name = f"{within}{entry.name}"
                if entry.is_dir():
                    (folders if "delimiter" in query else waiting).append(f"{name}/")
                elif name > after:
                    objects.append((name, entry.stat()))
        objects.sort()
        page, rest = objects[:_PAGE_OBJECTS], objects[_PAGE_OBJECTS:]
        parts = [
            '<?xml version="1.0" encoding="UTF-8"?>',
            '<ListBucketResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/">',
            f"<KeyCount>{len(page)}</KeyCount><IsTruncated>{str(bool(rest)).lower()}</IsTruncated>",
        ]
        if rest:
            token = escape(page[-1][0])
            parts.append(f"<NextContinuationToken>{token}</NextContinuationToken>")
        for name, status in page:
            modified = time.strftime("%Y-%m-%dT%H:%M:%S.000Z", time.gmtime(status.st_mtime))
            parts.append(
                f"<Contents><Key>{escape(name)}</Key><LastModified>{modified}</LastModified>"
                f"<ETag>{escape(_etag(status))}</ETag><Size>{status.st_size}</Size></Contents>"
            )
        parts += [
            f"<CommonPrefixes><Prefix>{escape(name)}</Prefix></CommonPrefixes>"
            for name in sorted(folders)
        ]
        return "".join([*parts, "</ListBucketResult>"]).encode()

    async def _send_object(
        self, method: str, key: str, headers: Mapping[str, str], writer: asyncio.StreamWriter
    ) -> tuple[int, int]:
        """Send an object or a range of it; return the first byte and the number of bytes sent."""
        file = self._folder / key
        if not file.is_file():
            content = b"<Error><Code>NoSuchKey</Code></Error>"
            await _send(writer, "404 Not Found", {"Content-Type": "application/xml"}, content)
            return 0, 0
        status = file.stat()
        start, end = _range(headers.get("range"), status.st_size)
        about = {
            "ETag": _etag(status),
            "Last-Modified": formatdate(status.st_mtime, usegmt=True),
            "Accept-Ranges": "bytes",
        }
        if method == "HEAD":
            await _send(writer, "200 OK", about, None, size_bytes=status.st_size)
            return 0, 0
        code = "200 OK"
        if "range" in headers:
            code = "206 Partial Content"
            about["Content-Range"] = f"bytes {start}-{end - 1}/{status.st_size}"
        await _send(writer, code, about, None, size_bytes=end - start)
        await self._send_file(file, start, end, writer)
        return start, end - start

    async def _send_file(
        self, file: Path, start: int, end: int, writer: asyncio.StreamWriter
    ) -> None:
        begun_s, sent = time.monotonic(), 0
        loop = asyncio.get_running_loop()
        with file.open("rb", buffering=0) as opened:
            while sent < end - start:
                # The kernel sends the file: a store's CPU time is not the client's.
                size_bytes = min(_PIECE_BYTES, end - start - sent)
                sent += await loop.sendfile(writer.transport, opened, start + sent, size_bytes)
                early_s = sent / self._bytes_per_second - (time.monotonic() - begun_s)
                if early_s > 0:
                    await asyncio.sleep(early_s)


async def _read_head(
    reader: asyncio.StreamReader,
) -> tuple[str, str, dict[str, str]] | None:
    """Read a request's method, target and headers, or None if the connection is closed."""
    try:
        head = await reader.readuntil(b"\r\n\r\n")
    except asyncio.IncompleteReadError as error:
        if error.partial:
            raise
        return None
    first, *lines = head.decode("latin-1").split("\r\n")
    method, target, _ = first.split(" ")
    pairs = (line.partition(":") for line in lines if line)
    return method, target, {name.lower(): value.strip() for name, _, value in pairs}


async def _send(
    writer: asyncio.StreamWriter,
    code: str,
    headers: Mapping[str, str],
    content: bytes | None,
    *,
    size_bytes: int = 0,
) -> None:
    size_bytes = size_bytes if content is None else len(content)
    lines = [f"HTTP/1.1 {code}", *(f"{name}: {value}" for name, value in headers.items())]
    head = "\r\n".join([*lines, f"Content-Length: {size_bytes}", "", ""]).encode()
    writer.write(head + (content or b""))
    await writer.drain()


def _range(header: str | None, size_bytes: int) -> tuple[int, int]:
    """Return the first byte that a `Range` header asks for, and the end of the range."""
    if header is None:
        return 0, size_bytes
    first, _, last = header.removeprefix("bytes=").partition("-")
    if not first:
        return max(0, size_bytes - int(last)), size_bytes
    return int(first), min(size_bytes, int(last) + 1) if last else size_bytes


def _etag(status: os.stat_result) -> str:
    return f'"{status.st_size:x}-{status.st_mtime_ns:x}"'


async def _run(folder: Path, *, delay_s: float, bytes_per_second: float) -> None:
    store = SlowStore(folder, delay_s=delay_s, bytes_per_second=bytes_per_second)
    server = await asyncio.start_server(store.serve, "127.0.0.1", 0, limit=1 << 16)
    print(server.sockets[0].getsockname()[1], flush=True)
    async with server:
        await server.serve_forever()


def main() -> None:
    """Serve a folder until the process is stopped."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.slow_store", description=main.__doc__
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("--delay-ms", type=float, default=50.0)
    parser.add_argument("--megabytes-per-second", type=float, default=100.0)
    chosen = parser.parse_args()
    asyncio.run(
        _run(
            chosen.folder,
            delay_s=chosen.delay_ms / 1000,
            bytes_per_second=chosen.megabytes_per_second * 1e6,
        )
    )


if __name__ == "__main__":
    main()
