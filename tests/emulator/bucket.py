"""A bucket whose objects change between two requests, and whose listings can be cut off."""

import hashlib
import re
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, unquote, urlsplit
from xml.sax.saxutils import escape

from tests.emulator.saboteur import s3_options

MODIFIED = "2026-11-17T10:00:00.000Z"
PAGE = 1000


@dataclass
class Bucket:
    """Objects by key; reading one calls its function with the number of its reads so far."""

    objects: Mapping[str, Callable[[int], bytes]]
    knows_offsets: bool = True
    """Whether a listing can start after a key."""
    knows_tokens: bool = True
    """Whether a page that is cut off says where the next one starts."""
    reads: dict[str, int] = field(default_factory=dict)
    """The number of reads of each object."""
    listings: int = 0
    lock: threading.Lock = field(default_factory=threading.Lock)

    def read(self, key: str) -> bytes | None:
        content = self.objects.get(key)
        if content is None:
            return None
        with self.lock:
            number = self.reads.get(key, 0)
            self.reads[key] = number + 1
        return content(number)

    def listing(self, query: Mapping[str, list[str]]) -> bytes:
        with self.lock:
            self.listings += 1
        prefix = query.get("prefix", [""])[0]
        after = query.get("start-after", [""])[0] if self.knows_offsets else ""
        after = query.get("continuation-token", [after])[0]
        keys = sorted(key for key in self.objects if key.startswith(prefix) and key > after)
        is_cut = len(keys) > PAGE
        token = f"<NextContinuationToken>{keys[PAGE - 1]}</NextContinuationToken>" if is_cut else ""
        return "".join(
            [
                '<?xml version="1.0"?><ListBucketResult>',
                f"<IsTruncated>{str(is_cut).lower()}</IsTruncated>",
                token if self.knows_tokens else "",
                *map(self._entry, keys[:PAGE]),
                "</ListBucketResult>",
            ]
        ).encode()

    def _entry(self, key: str) -> str:
        content = self.objects[key](0)
        return (
            f"<Contents><Key>{escape(key)}</Key><LastModified>{MODIFIED}</LastModified>"
            f'<ETag>"{etag(content)}"</ETag><Size>{len(content)}</Size></Contents>'
        )


def etag(content: bytes) -> str:
    return hashlib.md5(content, usedforsecurity=False).hexdigest()


@contextmanager
def served(bucket: Bucket) -> Iterator[dict[str, str]]:
    """Serve a bucket named `lake` on loopback, and return the storage options to open it."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            parts = urlsplit(self.path)
            if "list-type" in parts.query:
                self.answer(200, bucket.listing(parse_qs(parts.query)))
                return
            content = bucket.read(unquote(parts.path).removeprefix("/lake/"))
            if content is None:
                self.answer(404, b"<Error><Code>NoSuchKey</Code></Error>")
                return
            span = re.fullmatch(r"bytes=(\d*)-(\d*)", self.headers.get("Range", ""))
            if span is None:
                self.answer(200, content)
                return
            start = int(span[1]) if span[1] else max(len(content) - int(span[2]), 0)
            stop = min(int(span[2]) + 1, len(content)) if span[1] else len(content)
            self.send_response(206)
            self.send_header("Content-Range", f"bytes {start}-{stop - 1}/{len(content)}")
            self.finish_answer(content[start:stop], etag(content))

        def answer(self, status: int, body: bytes) -> None:
            self.send_response(status)
            self.finish_answer(body, etag(body))

        def finish_answer(self, body: bytes, mark: str) -> None:
            self.send_header("Content-Length", str(len(body)))
            self.send_header("ETag", f'"{mark}"')
            self.send_header("Last-Modified", "Tue, 17 Nov 2026 10:00:00 GMT")
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Log nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
        yield s3_options(f"http://127.0.0.1:{server.server_address[1]}")
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
