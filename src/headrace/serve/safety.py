"""A guard on what leaves: a log may name files anywhere, and a server tells of its own only.

Batches of live files enter and leave unchanged, unless one of them names a file or a deletion
vector outside of the served roots.
"""

from collections.abc import Sequence

import pyarrow as pa
import pyarrow.compute as pc

from headrace.errors import UnsafePathError
from headrace.storage.location import resolve

_ABSOLUTE = r"^(/|[A-Za-z][A-Za-z0-9+.\-]*:|%)"


class FileGuard:
    """Checks where the files of one table lie."""

    def __init__(self, root: str, *, allowed: Sequence[str]) -> None:
        """Take the address of the table, and those below which its files may lie."""
        self._root = root
        self._prefixes = tuple(f"{prefix.rstrip('/')}/" for prefix in (root, *allowed))

    def check(self, batch: pa.RecordBatch) -> None:
        """Look at the addresses of a batch.

        Raises:
            UnsafePathError: one of them is outside.
        """
        names = batch.schema.names
        if "uri" in names:
            self._check_uris(batch.column("uri"))
        elif "path" in names:
            self._check_paths(batch.column("path"))
        if "deletion_vector" in names:
            vectors = batch.column("deletion_vector")
            if vectors.null_count < len(vectors):
                kinds, places = (pc.struct_field(vectors, [i]) for i in range(2))
                self._check_paths(places.filter(pc.equal(kinds, "p")))

    def _check_uris(self, uris: pa.StringArray) -> None:
        inside = pc.starts_with(uris, self._prefixes[0])
        if pc.all(inside).as_py() is False:
            for uri in uris.filter(pc.invert(inside)).to_pylist():
                if not uri.startswith(self._prefixes):
                    raise UnsafePathError(path=uri, reason="it is outside of the served roots")

    def _check_paths(self, paths: pa.StringArray) -> None:
        absolute = pc.match_substring_regex(paths, _ABSOLUTE)
        if pc.any(absolute).as_py():
            found = paths.filter(absolute).to_pylist()
            self._check_uris(pa.array([resolve(self._root, path) for path in found], pa.string()))
