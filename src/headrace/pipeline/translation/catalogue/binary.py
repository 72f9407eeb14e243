"""Catalogue of binary functions: character sets, encodings, and text functions over BINARY."""

from collections.abc import Sequence

from headrace.pipeline.translation import type_rule as t
from headrace.pipeline.translation.cast import Casts
from headrace.pipeline.translation.catalogue.entry import Build, Entry, by_kernel, by_rule
from headrace.pipeline.translation.typed import Typed, call, native

_ENCODE = frozenset({"utf-8", "us-ascii", "iso-8859-1", "utf-16", "utf-16be", "utf-16le", "utf-32"})
_DECODE = _ENCODE - {"utf-16", "utf-32"}
"""UTF-16 and UTF-32 are missing: how Spark reads their byte order marks is not proven."""
_DIGESTS = {
    "sha-1": "sha1", "sha1": "sha1", "sha-224": "sha224", "sha-256": "sha256",
    "sha256": "sha256", "sha-384": "sha384", "sha-512": "sha512", "md5": "md5",
}  # fmt: skip


def _by_charset(kernel: str, charsets: frozenset[str], gives: object) -> Build:
    def build(_: Casts, arguments: Sequence[Typed]) -> Typed | None:
        charset = arguments[1].value.casefold()
        if charset not in charsets:
            return None
        return call(kernel, gives, arguments[0], parameters=(charset,), can_fail=True)

    return build


def _to_binary(casts: Casts, arguments: Sequence[Typed]) -> Typed | None:
    del casts
    form = arguments[1].value.casefold() if len(arguments) > 1 else "hex"
    kernels: dict[str, tuple[str, ...]] = {
        "hex": ("from_hexadecimal_checked",),
        "base64": ("base64_read",),
    }
    kernels |= dict.fromkeys(("utf-8", "utf8"), ("encode", "utf-8"))
    if form not in kernels:
        return None
    kernel, *parameters = kernels[form]
    return call(kernel, t.BINARY, arguments[0], parameters=tuple(parameters), can_fail=True)


def _try_to_binary(casts: Casts, arguments: Sequence[Typed]) -> Typed | None:
    if arguments[0].can_fail:
        return None
    form = arguments[1].value.casefold() if len(arguments) > 1 else "hex"
    if form not in {"hex", "base64", "utf-8", "utf8"}:
        return call("null_of", t.BINARY, arguments[0])
    kernel = {"hex": "from_hexadecimal_checked", "base64": "base64_read"}.get(form)
    if kernel is None:
        return _to_binary(casts, arguments)
    return call("attempt", t.BINARY, arguments[0], parameters=(kernel,))


def _hmac(_: Casts, arguments: Sequence[Typed]) -> Typed | None:
    algorithm = arguments[2].value.casefold() if len(arguments) > 2 else "sha-256"  # noqa: PLR2004
    if algorithm not in _DIGESTS:
        return None
    parameters = (_DIGESTS[algorithm],)
    return call("keyed_digest", t.BINARY, *arguments[:2], parameters=parameters, can_fail=True)


def _utf8(on_invalid: str) -> Build:
    def build(_: Casts, arguments: Sequence[Typed]) -> Typed:
        kind = t.BOOLEAN if on_invalid == "tell" else t.STRING
        fails = on_invalid == "raise"
        return call("utf8", kind, arguments[0], parameters=(on_invalid,), can_fail=fails)

    return build


def _bytes_as_text(_: Casts, arguments: Sequence[Typed]) -> Typed | None:
    """Compile `to_char` of bytes."""
    form = arguments[1].value.casefold()
    kernel = {"base64": "base64_encode", "hex": "hexadecimal"}.get(form)
    if kernel is not None:
        return call(kernel, t.STRING, arguments[0])
    if form == "utf-8":
        return call("decode", t.STRING, arguments[0], parameters=("utf-8",), can_fail=True)
    return None


def _trim(_: Casts, arguments: Sequence[Typed]) -> Typed:
    texts = [call("binary_to_text", t.STRING, argument, can_fail=True) for argument in arguments]
    return call("trim", t.STRING, *texts, parameters=("both",))


def _pad(side: str) -> Build:
    def build(_: Casts, arguments: Sequence[Typed]) -> Typed:
        return call("pad", t.BINARY, *arguments, parameters=(side,))

    return build


BINARY: list[Entry] = [
    by_rule("encode", "STRING STRING!", t.BINARY, "kernel encode",
            _by_charset("encode", _ENCODE, t.BINARY)),
    by_rule("decode", "BINARY STRING!", t.STRING, "kernel decode",
            _by_charset("decode", _DECODE, t.STRING)),
    by_rule("to_binary", "STRING [STRING!]", t.BINARY, "kernel", _to_binary),
    by_rule("try_to_binary", "STRING [STRING!]", t.BINARY, "kernel, or null", _try_to_binary),
    by_kernel("unbase64", "STRING", t.BINARY, "base64_decode", can_fail=True),
    by_kernel("to_base32", "BINARY", t.STRING, "base32_encode"),
    by_kernel("from_base32", "STRING", t.BINARY, "base32_decode", can_fail=True),
    by_rule("hmac", "BINARY BINARY [STRING!]", t.BINARY, "kernel keyed_digest", _hmac),
    by_rule("is_valid_utf8", "BINARY", t.BOOLEAN, "kernel utf8", _utf8("tell")),
    by_rule("make_valid_utf8", "BINARY", t.STRING, "kernel utf8", _utf8("repair")),
    by_rule("validate_utf8", "BINARY", t.STRING, "kernel utf8", _utf8("raise")),
    by_rule("try_validate_utf8", "BINARY", t.STRING, "kernel utf8", _utf8("drop")),
    by_kernel("startswith", "BYTES BYTES", t.BOOLEAN, "bytes_have", "start"),
    by_kernel("endswith", "BYTES BYTES", t.BOOLEAN, "bytes_have", "end"),
    by_kernel("contains", "BYTES BYTES", t.BOOLEAN, "bytes_have", "inside"),
    by_kernel("reverse", "BYTES", t.BINARY, "bytes_reversed"),
    by_rule("bit_length", "BYTES", t.INT, "kernel size_bytes",
            lambda _, a: native("CAST({0} * 8 AS INT)", t.INT, call("size_bytes", t.INT, a[0]))),
    by_rule("lpad", "BYTES INT [BYTES]", t.BINARY, "kernel pad", _pad("left")),
    by_rule("rpad", "BYTES INT [BYTES]", t.BINARY, "kernel pad", _pad("right")),
    by_rule("btrim", "BYTES [BYTES]", t.STRING, "kernel trim", _trim),
    by_kernel("left", "BYTES INT", t.BINARY, "left"),
    *(by_kernel(n, "BYTES INT [INT]", t.BINARY, "substring") for n in ("substring", "substr")),
    by_kernel("overlay", "BYTES BYTES INT [INT]", t.BINARY, "overlay"),
    *(
        by_rule(n, "BYTES STRING!", t.STRING, "kernel", _bytes_as_text)
        for n in ("to_char", "to_varchar")
    ),
]  # fmt: skip
