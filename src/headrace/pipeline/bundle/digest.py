"""One way of hashing a value: canonical JSON, SHA-256."""

from hashlib import sha256
from typing import Any

import msgspec

from headrace.pipeline.bundle.file_list import FileList


def canonical_json(value: Any) -> bytes:
    """The same value is the same bytes: keys are sorted, and a list of files is its digest."""
    return msgspec.json.encode(value, order="sorted", enc_hook=_encode_other)


def digest_of(value: Any) -> str:
    """The SHA-256 of a value's canonical JSON, in hexadecimal."""
    return sha256(canonical_json(value)).hexdigest()


def _encode_other(value: Any) -> Any:
    if isinstance(value, FileList):
        return value.digest
    raise NotImplementedError(f"{type(value).__name__} has no canonical JSON")
