"""Keeps a server from naming files outside its roots, although a log may name files anywhere.

Batches of live files enter. A batch that names a file or a deletion vector outside the served
roots raises an error.
"""

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from headrace.errors import UnsafePathError
from headrace.storage.location import resolve

_UNSAFE = r"^(/|[A-Za-z][A-Za-z0-9+.\-]*:|%)|(^|/)\.\.(/|$)|%(2[eEfF]|[01]|7[fF])"
"""Matches absolute paths and paths with `..`, even escaped, and escaped control characters."""
_PARENT = r"(^|/)\.\.(/|$)"


class FileGuard:
    """Checks the locations of the files of one table."""

    def __init__(self, root: str, *, allowed: Sequence[str]) -> None:
        """Take the address of the table, and the prefixes that its files may have."""
        self._root = root
        self._prefixes = tuple(f"{prefix.rstrip('/')}/" for prefix in (root, *allowed))

    def check(self, batch: pa.RecordBatch) -> None:
        """Check the addresses of a batch.

        Raises:
            UnsafePathError: a file is outside the allowed roots.
        """
        names = batch.schema.names
        if "uri" in names:
            self._check_uris(batch.column("uri"))
        elif "path" in names:
            self._check_paths(batch.column("path"))
        if "deletion_vector" in names:
            vectors = batch.column("deletion_vector")
            if vectors.null_count < len(vectors):
                kinds, paths = (pc.struct_field(vectors, [i]) for i in range(2))
                self._check_paths(paths.filter(pc.equal(kinds, "p")))

    def _check_uris(self, uris: pa.StringArray) -> None:
        inside = pc.starts_with(uris, self._prefixes[0])
        if pc.all(inside).as_py() is False:
            for uri in uris.filter(pc.invert(inside)).to_pylist():
                if not uri.startswith(self._prefixes):
                    raise UnsafePathError(path=uri, reason="it is outside of the served roots")
        # An absolute path may name a root and leave it again. The regular expression is slow.
        if _has_pair(_text_of(uris), b".."):
            leaving = uris.filter(pc.match_substring_regex(uris, _PARENT))
            for uri in leaving.to_pylist():
                raise UnsafePathError(path=uri, reason="it leads out of its folder")

    def _check_paths(self, paths: pa.StringArray) -> None:
        if not _may_be_unsafe(paths):
            return
        is_suspect = pc.match_substring_regex(paths, _UNSAFE)
        if pc.any(is_suspect).as_py():
            suspects = paths.filter(is_suspect).to_pylist()
            uris = [resolve(self._root, path) for path in suspects]
            self._check_uris(pa.array(uris, pa.string()))


def _may_be_unsafe(paths: pa.StringArray) -> bool:
    """Return whether the regular expression may match.

    True if a path begins with a slash or two dots, has a dot after a slash, a colon, or an escape.
    The regular expression takes five times as long as this check and seldom matches.
    """
    if any(pc.any(pc.starts_with(paths, first)).as_py() for first in ("/", "..")):
        return True
    content = _text_of(paths)
    return b":" in content or b"%" in content or _has_pair(content, b"/.")


def _text_of(paths: pa.StringArray) -> bytes:
    """Return the concatenated values."""
    _, offsets, text = paths.buffers()
    if text is None or not len(paths):
        return b""
    ends = memoryview(offsets).cast("i")[paths.offset : paths.offset + len(paths) + 1]
    return bytes(memoryview(text)[ends[0] : ends[-1]])


def _has_pair(content: bytes, pair: bytes) -> bool:
    """Return whether two bytes follow each other, possibly at the border of two values."""
    number = int.from_bytes(pair, "little")
    return any(  # compares byte pairs, at even and at odd offsets
        (np.frombuffer(content, "<u2", (len(content) - start) // 2, start) == number).any()
        for start in range(min(2, len(content) - 1))
    )
