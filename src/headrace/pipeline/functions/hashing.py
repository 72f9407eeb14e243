"""Hashes that are stable across processes, machines and versions.

All are BLAKE2b over the UTF-8 bytes of a string; null gives null. Arrow has no such kernel, so each
distinct string of a batch is hashed once, in Python.
"""

from collections.abc import Callable
from hashlib import blake2b
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from headrace.pipeline.functions.declaration import function

_PART_SEPARATOR = "\x1f"
_NULL_PART = "\x00"
_POSITIVE = (1 << 63) - 1


@function("STRING", returns="BIGINT")
def stable_hash64(texts: pa.Array) -> pa.Array:
    """A 63-bit hash of a string, never negative.

    The eight bytes of the digest are read as a big-endian number, and its top bit is cleared.
    """
    return _hashed(texts, lambda text: int.from_bytes(_digest(text, 8)) & _POSITIVE, pa.int64())


@function("STRING", returns="STRING")
def stable_hash128(texts: pa.Array) -> pa.Array:
    """A hash of a string, as 32 hexadecimal digits."""
    return _hashed(texts, lambda text: _digest(text, 16).hex(), pa.string())


@function("STRING", "STRING", returns="STRING")
def prefixed_hash64(prefixes: pa.Array, texts: pa.Array) -> pa.Array:
    """`prefix:` and the `stable_hash64` of a string; null if either is null."""
    hashes = stable_hash64.kernel(texts).cast(pa.string())
    return pc.binary_join_element_wise(prefixes, hashes, ":")


@function("STRING", "STRING", returns="STRING", variadic=True)
def stable_id(prefixes: pa.Array, *parts: pa.Array) -> pa.Array:
    """`prefix:` and the `stable_hash128` of one string, or of several strings unambiguously joined.

    A single null part makes the id null. Among several parts null is a value, so that (a, null),
    (null, a) and (a, '') have three different ids.
    """
    texts = parts[0] if len(parts) == 1 else _joined(parts)
    return pc.binary_join_element_wise(prefixes, stable_hash128.kernel(texts), ":")


def _joined(parts: tuple[pa.Array, ...]) -> pa.Array:
    filled = [pc.fill_null(part, _NULL_PART) for part in parts]
    return pc.binary_join_element_wise(*filled, _PART_SEPARATOR)


def _digest(text: str, size_bytes: int) -> bytes:
    return blake2b(text.encode(), digest_size=size_bytes).digest()


def _hashed(texts: pa.Array, digest: Callable[[str], Any], kind: pa.DataType) -> pa.Array:
    encoded = texts.dictionary_encode()
    distinct = [digest(text) for text in encoded.dictionary.to_pylist()]
    return pa.array(distinct, kind).take(encoded.indices)
