"""Kernels for URLs: their parts, and percent-encoding."""

import re
from urllib.parse import quote_plus, unquote_to_bytes

import pyarrow as pa

from headrace.pipeline.translation.java_number import SparkOnlyError
from headrace.pipeline.translation.kernel import KernelCall, kernel, partial_kernel
from headrace.pipeline.translation.kernels.cast import SparkCastError
from headrace.pipeline.translation.kernels.row import by_distinct

_CHARACTER = r"(?:[A-Za-z0-9_.!~*'();:&=+$,@-]|%[0-9A-Fa-f]{2})"
_LABEL = r"[A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?"
_TOP = r"[A-Za-z](?:[A-Za-z0-9-]*[A-Za-z0-9])?"
_URL = re.compile(
    r"(?P<PROTOCOL>[A-Za-z][A-Za-z0-9+.-]*)://"
    rf"(?P<AUTHORITY>(?:(?P<USERINFO>[A-Za-z0-9_.:-]+)@)?(?P<HOST>(?:{_LABEL}\.)*{_TOP})"
    r"(?::[0-9]{1,5})?)"
    rf"(?P<FILE>(?P<PATH>(?:/{_CHARACTER}*)*)(?:\?(?P<QUERY>(?:{_CHARACTER}|[/?])*))?)"
    rf"(?:\#(?P<REF>(?:{_CHARACTER}|[/?])*))?",
    re.ASCII,
)
PARTS = frozenset(_URL.groupindex)


@partial_kernel
def url_part(call: KernelCall, urls: pa.Array) -> pa.Array:
    """Return a part of a URL, or the value of a key of its query."""
    part, *key = call.parameters

    def extracted(url: str) -> str | None:
        match = _URL.fullmatch(url)
        if match is None:
            if " " in url:
                raise SparkCastError(f"{url!r} is not a URL")
            raise SparkOnlyError(f"{url!r} is an unusual URL; run it on Spark")
        text = match[part]
        if text is None or not key:
            return text
        value = re.search(rf"(?:&|^){key[0]}=([^&]*)", text)
        return value[1] if value else None

    return by_distinct(extracted, call.gives, urls)


@kernel
def url_encode(call: KernelCall, texts: pa.Array) -> pa.Array:
    """Percent-encode characters, and write a space as `+`."""
    return by_distinct(lambda t: quote_plus(t, safe="*").replace("~", "%7E"), call.gives, texts)


_ESCAPES = re.compile(r"(?:%[0-9A-Fa-f]{2})+")
_NO_ESCAPE = re.compile(r"%(?![0-9A-Fa-f]{2})")
_SIGNED = re.compile(r"%(?:\+([0-9A-Fa-f])|-0)")
_HALF_LETTER = re.compile(rb"\xed[\xa0-\xbf][\x80-\xbf]?")


@kernel
def url_decode(call: KernelCall, texts: pa.Array) -> pa.Array:
    """Decode percent-encoded characters; a `%` without two digits is an error."""

    def decoded(text: str) -> str:
        plain = _SIGNED.sub(lambda match: f"%0{match[1] or 0}", text)  # Java reads +1 and -0
        if _NO_ESCAPE.search(plain):
            raise SparkCastError(f"{text!r} cannot be decoded")
        return _ESCAPES.sub(lambda run: _java_utf8(run[0]), plain.replace("+", " "))

    return by_distinct(decoded, call.gives, texts)


def _java_utf8(escapes: str) -> str:
    """Decode UTF-8; in invalid bytes, an encoded surrogate counts as one error."""
    data = _HALF_LETTER.sub("\N{REPLACEMENT CHARACTER}".encode(), unquote_to_bytes(escapes))
    return data.decode("utf-8", "replace")
