"""Probing a frozen seen set with whole columns.

Making a Python text of every path would cost more than reading it. So a row is first looked
up by a hash of sixteen bytes near the end of its path, where file names differ, and only the
few candidates are compared exactly. The hash never decides by itself.
"""

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from headrace.plan.seen import FrozenSeen
from headrace.protocol.key import FileKey, canonical_path

_WINDOW_START = 40
_WINDOW_BYTES = 16
_TAIL_BYTES = _WINDOW_START + 2
"""An escape such as `%20` may reach two bytes into the window: then it must be looked at too."""
_MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)


class SeenMatcher:
    """Finds the rows of a batch whose key is in the set."""

    def __init__(self, seen: FrozenSeen) -> None:
        self._seen = seen
        paths = [key.path.encode("utf-8", "surrogateescape") for key in seen]
        long = [path for path in paths if len(path) >= _WINDOW_START]
        self._hashes = np.sort(_window_hashes(pa.array(long, pa.binary())))

    def unseen(self, paths: pa.StringArray, vectors: pa.StructArray | None) -> pa.BooleanArray:
        """A mask that is true where the key of a row is not in the set."""
        keep = np.ones(len(paths), dtype=np.bool_)
        candidates = np.flatnonzero(self._candidates(paths))
        if len(candidates):
            rows = pa.array(candidates)
            texts = paths.take(rows).to_pylist()
            ids = [None] * len(texts) if vectors is None else _ids(vectors.take(rows))
            for row, path, dv_id in zip(candidates, texts, ids, strict=True):
                if FileKey(canonical_path(path), dv_id) in self._seen:
                    keep[row] = False
        return pa.array(keep)

    def _candidates(self, paths: pa.StringArray) -> npt.NDArray[np.bool_]:
        lengths = pc.binary_length(paths).to_numpy(zero_copy_only=False)
        # Without its scheme, the path in the key may be too short to have been hashed.
        has_scheme = pc.starts_with(paths, "file:").to_numpy(zero_copy_only=False)
        undecided = (lengths < _TAIL_BYTES) | has_scheme
        if pc.any(pc.match_substring(paths, "%")).as_py():
            tails = pc.binary_slice(paths.cast(pa.binary()), -_TAIL_BYTES)
            escaped = pc.match_substring(tails, "%").to_numpy(zero_copy_only=False)
            undecided = undecided | escaped
        decided = np.flatnonzero(~undecided)
        found = undecided
        if len(decided) and len(self._hashes):
            every = len(decided) == len(paths)
            hashes = _window_hashes(paths if every else paths.take(pa.array(decided)))
            places = np.searchsorted(self._hashes, hashes)
            places[places == len(self._hashes)] = 0
            found = found.copy()
            found[decided[self._hashes[places] == hashes]] = True
        return np.asarray(found)


def _window_hashes(paths: Any) -> npt.NDArray[np.uint64]:
    """A hash of the sixteen bytes that start forty bytes before the end of each text."""
    if not len(paths):
        return np.empty(0, dtype=np.uint64)
    _, offset_buffer, data = paths.buffers()
    width = np.int64 if pa.types.is_large_string(paths.type) else np.int32
    offsets = np.frombuffer(offset_buffer, dtype=width)
    ends = offsets[paths.offset + 1 : paths.offset + len(paths) + 1]
    windows = np.ndarray((data.size - _WINDOW_BYTES + 1,), "V16", data, strides=(1,))
    words = windows[ends - _WINDOW_START].view("<u8").reshape(-1, 2)
    mixed: npt.NDArray[np.uint64] = words[:, 0] * _MULTIPLIER
    mixed ^= words[:, 1]
    mixed *= _MULTIPLIER
    return mixed


def _ids(vectors: pa.StructArray) -> list[str | None]:
    """The ids of a few deletion vectors."""
    found: list[str | None] = []
    for vector in vectors.to_pylist():
        if vector is None or vector["storageType"] is None:
            found.append(None)
            continue
        offset = vector.get("offset")
        base = vector["storageType"] + vector["pathOrInlineDv"]
        found.append(base if offset is None else f"{base}@{offset}")
    return found
