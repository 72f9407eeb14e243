"""Hashes values: SHA-256 of their canonical JSON.

Equal values have equal hashes on every machine: bundles, keys and plans are identified by them.
"""

from hashlib import sha256
from typing import Any

import msgspec

from headrace.pipeline.bundle.file_list import FileList


def canonical_json(value: Any) -> bytes:
    """Encode a value deterministically: sorted keys, and file lists as their digests."""
    return msgspec.json.encode(value, order="sorted", enc_hook=_encode_other)


def content_hash(value: Any) -> str:
    """Return the SHA-256 of a value's canonical JSON, in hexadecimal."""
    return sha256(canonical_json(value)).hexdigest()


def _encode_other(value: Any) -> Any:
    if isinstance(value, FileList):
        return value.digest
    raise NotImplementedError(f"{type(value).__name__} has no canonical JSON")
