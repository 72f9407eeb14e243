"""One way of hashing a value: canonical JSON, SHA-256."""

from hashlib import sha256
from typing import Any

import msgspec


def canonical_json(value: Any) -> bytes:
    """The same value is the same bytes: keys are sorted, nothing is left to chance."""
    return msgspec.json.encode(value, order="sorted")


def digest_of(value: Any) -> str:
    """The SHA-256 of a value's canonical JSON, in hexadecimal."""
    return sha256(canonical_json(value)).hexdigest()
