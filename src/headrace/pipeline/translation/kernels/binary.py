"""Kernels for bytes: character sets, UTF-8 checks, base 32 and 64, and keyed digests."""

import base64
import hmac
import re
from typing import Any

import pyarrow as pa

from headrace.pipeline.translation.java_number import SparkOnlyError
from headrace.pipeline.translation.kernel import KernelCall, kernel, partial_kernel
from headrace.pipeline.translation.kernels.cast import SparkCastError
from headrace.pipeline.translation.kernels.row import by_distinct
from headrace.pipeline.translation.kernels.word import ascii_upper

_BOM_UTF16 = b"\xfe\xff"
_ALPHABET = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/")
_BASE_64 = re.compile(r"(?P<letters>[A-Za-z0-9+/\s]*)(?P<padding>={0,2})", re.ASCII)
_BASE_32 = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"


@kernel
def encode(call: KernelCall, texts: pa.Array) -> pa.Array:
    """Encode a string in a character set; characters outside it are an error."""
    charset = call.parameters[0]

    def encoded(text: str) -> bytes:
        if charset == "utf-16":
            return _BOM_UTF16 + text.encode("utf-16-be") if text else b""
        try:
            return text.encode({"utf-32": "utf-32-be"}.get(charset, charset))
        except UnicodeEncodeError as error:
            raise SparkCastError(f"{charset} cannot write {text!r}") from error

    return by_distinct(encoded, call.gives, texts)


@kernel
def decode(call: KernelCall, values: pa.Array) -> pa.Array:
    """Decode a string in a character set; invalid bytes are an error."""
    charset = call.parameters[0]

    def decoded(value: bytes) -> str:
        try:
            return value.decode(charset)
        except UnicodeDecodeError as error:
            raise SparkCastError(f"{value!r} is not {charset}") from error

    return by_distinct(decoded, call.gives, values)


@kernel
def utf8(call: KernelCall, values: pa.Array) -> pa.Array:
    """Check that bytes are UTF-8; the parameter says what is returned for invalid ones."""
    on_invalid = call.parameters[0]

    def checked(value: bytes) -> Any:
        if on_invalid == "repair":
            return value.decode("utf-8", "replace")
        try:
            text = value.decode("utf-8")
        except UnicodeDecodeError as error:
            if on_invalid == "raise":
                raise SparkCastError(f"{value!r} is not UTF-8") from error
            return False if on_invalid == "tell" else None
        return True if on_invalid == "tell" else text

    return by_distinct(checked, call.gives, values)


@partial_kernel
def binary_to_text(call: KernelCall, values: pa.Array) -> pa.Array:
    """Decode bytes as UTF-8; only Spark's strings may hold invalid bytes, not Arrow's."""

    def read(value: bytes) -> str:
        try:
            return value.decode("utf-8")
        except UnicodeDecodeError as error:
            raise SparkOnlyError(f"{value!r} is not UTF-8; run it on Spark") from error

    return by_distinct(read, call.gives, values)


@kernel
def base64_decode(call: KernelCall, texts: pa.Array) -> pa.Array:
    """Decode base 64 as Java's MIME decoder does: characters outside the alphabet are skipped."""
    return by_distinct(_mime_decoded, call.gives, texts)


def _mime_decoded(text: str) -> bytes:
    letters = bytearray()
    data = text.encode("latin-1", "replace")
    for place, letter in enumerate(data):
        if letter == ord("="):
            surplus = len(letters) % 4
            lone = surplus == 2 and data[place + 1 : place + 2] != b"="  # noqa: PLR2004
            after = data[place + (2 if surplus == 2 else 1) :]  # noqa: PLR2004
            if surplus == 0 or lone or any(byte in _ALPHABET for byte in after):
                raise SparkCastError(f"{text!r} is not base 64")
            break
        if letter in _ALPHABET:
            letters.append(letter)
    if len(letters) % 4 == 1:
        raise SparkCastError(f"{text!r} is not base 64")
    return base64.b64decode(bytes(letters) + b"=" * (-len(letters) % 4))


@kernel
def base64_read(call: KernelCall, texts: pa.Array) -> pa.Array:
    """Decode base 64; blanks are skipped, padding is optional, anything else is an error."""

    def read(text: str) -> bytes:
        match = _BASE_64.fullmatch(text)
        letters = "".join(match["letters"].split()) if match else ""
        missing = -len(letters) % 4
        is_whole = match is not None and match["padding"] in ("", "=" * missing)
        if not is_whole or missing == 3:  # noqa: PLR2004  (six bits make no byte)
            raise SparkCastError(f"{text!r} is not base 64")
        return base64.b64decode(letters + "=" * missing)

    return by_distinct(read, call.gives, texts)


@kernel
def base32_encode(call: KernelCall, values: pa.Array) -> pa.Array:
    """Encode bytes in base 32."""
    return by_distinct(lambda v: base64.b32encode(v).decode(), call.gives, values)


@kernel
def base32_decode(call: KernelCall, texts: pa.Array) -> pa.Array:
    """Decode base 32 up to the first `=`; other characters are skipped, surplus bits dropped."""

    def decoded(text: str) -> bytes:
        letters = ascii_upper(text.partition("=")[0])
        values = [_BASE_32.index(letter) for letter in letters if letter in _BASE_32]
        bits = "".join(f"{value:05b}" for value in values)
        data = bytes(int(bits[i : i + 8], 2) for i in range(0, len(bits) - 7, 8))
        lone = values[-1] >> 2 if len(values) % 8 == 1 else None
        return data if lone is None else data + bytes([lone])

    return by_distinct(decoded, call.gives, texts)


@kernel
def keyed_digest(call: KernelCall, keys: pa.Array, messages: pa.Array) -> pa.Array:
    """Return the HMAC of a message; an empty key is an error."""

    def digested(key: bytes, message: bytes) -> bytes:
        if not key:
            raise SparkCastError("the key of hmac is empty")
        return hmac.digest(key, message, call.parameters[0])

    return by_distinct(digested, call.gives, keys, messages)


@kernel
def bytes_reversed(call: KernelCall, values: pa.Array) -> pa.Array:
    """Reverse the order of bytes."""
    return by_distinct(lambda v: v[::-1], call.gives, values)


@kernel
def bytes_have(call: KernelCall, values: pa.Array, parts: pa.Array) -> pa.Array:
    """Return whether bytes start with, end with or contain others."""

    def have(value: bytes, part: bytes) -> bool:
        if call.parameters[0] == "inside":
            return part in value
        return value.startswith(part) if call.parameters[0] == "start" else value.endswith(part)

    return by_distinct(have, call.gives, values, parts)


@kernel
def from_hexadecimal_checked(call: KernelCall, texts: pa.Array) -> pa.Array:
    """Decode hexadecimal digits; other characters are an error."""

    def read(text: str) -> bytes:
        if not re.fullmatch(r"[0-9A-Fa-f]*", text):
            raise SparkCastError(f"{text!r} is not hexadecimal")
        return bytes.fromhex(text if len(text) % 2 == 0 else f"0{text}")

    return by_distinct(read, call.gives, texts)
