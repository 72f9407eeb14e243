"""Catalogue of functions of strings and binaries."""

from collections.abc import Callable, Sequence

from headrace.pipeline.translation import type_rule as t
from headrace.pipeline.translation.cast import Casts
from headrace.pipeline.translation.catalogue.entry import Entry, by_kernel, by_native, by_rule
from headrace.pipeline.translation.typed import Typed, call, literal_text


def _find(_: Casts, arguments: Sequence[Typed]) -> Typed:
    part, text, *start = arguments
    return call("position", t.INT, part, text, *start)


def _trim(side: str) -> Callable[[Casts, Sequence[Typed]], Typed]:
    def build(_: Casts, arguments: Sequence[Typed]) -> Typed:
        if len(arguments) == 1:
            return call("trim", t.STRING, arguments[0], parameters=(side,))
        letters, text = arguments  # Spark: ltrim(characters, text)
        return call("trim", t.STRING, text, letters, parameters=(side,))

    return build


def _sha2(_: Casts, arguments: Sequence[Typed]) -> Typed | None:
    bits = arguments[1].value
    algorithm = {0: "sha256", 224: "sha224", 256: "sha256", 384: "sha384", 512: "sha512"}.get(bits)
    if algorithm is None:
        return None
    return call("digest", t.STRING, arguments[0], parameters=(algorithm,))


def _concat(_: Casts, arguments: Sequence[Typed]) -> Typed:
    text = " || ".join(argument.text for argument in arguments)
    return Typed(f"({text})", t.STRING, can_fail=any(a.can_fail for a in arguments))


def _mask(_: Casts, arguments: Sequence[Typed]) -> Typed | None:
    letters = ["X", "x", "n", ""]
    for place, argument in enumerate(arguments[1:]):
        if argument.type == t.VOID:
            letters[place] = ""
        elif argument.is_text() and len(argument.value) == 1:
            letters[place] = argument.value
        else:
            return None
    return call("mask", t.STRING, arguments[0], parameters=tuple(letters))


def _space(_: Casts, arguments: Sequence[Typed]) -> Typed:
    return call("repeat", t.STRING, literal_text(" "), arguments[0])


TEXT: list[Entry] = [
    *(by_native(name, "STRING", t.STRING, "lower({0})") for name in ("lower", "lcase")),
    *(by_native(name, "STRING", t.STRING, "upper({0})") for name in ("upper", "ucase")),
    *(
        by_native(name, "STRING", t.INT, "CAST(character_length({0}) AS INT)")
        for name in ("length", "len", "char_length", "character_length")
    ),
    *(
        by_kernel(name, "BINARY", t.INT, "size_bytes")
        for name in ("length", "len", "char_length", "character_length", "octet_length")
    ),
    by_native("bit_length", "STRING", t.INT, "CAST(bit_length({0}) AS INT)"),
    by_native("reverse", "STRING", t.STRING, "reverse({0})"),
    by_rule("concat", "STRING...", t.STRING, "||", _concat),
    *(by_kernel(n, "STRING INT [INT]", t.STRING, "substring") for n in ("substring", "substr")),
    by_kernel("left", "STRING INT", t.STRING, "left"),
    by_kernel("right", "STRING INT", t.STRING, "right"),
    by_rule("instr", "STRING STRING", t.INT, "kernel position",
            lambda c, a: _find(c, [a[1], a[0]])),
    *(by_rule(n, "STRING STRING [INT]", t.INT, "kernel position", _find)
      for n in ("locate", "position")),
    by_kernel("replace", "STRING STRING STRING", t.STRING, "replace"),
    by_rule("replace", "STRING STRING", t.STRING, "kernel replace",
            lambda _, a: call("replace", t.STRING, *a, literal_text(""))),
    by_kernel("translate", "STRING STRING STRING", t.STRING, "translate"),
    by_kernel("repeat", "STRING INT", t.STRING, "repeat"),
    by_rule("space", "INT", t.STRING, "kernel repeat", _space),
    by_kernel("lpad", "STRING INT [STRING]", t.STRING, "pad", "left"),
    by_kernel("rpad", "STRING INT [STRING]", t.STRING, "pad", "right"),
    by_rule("trim", "STRING", t.STRING, "kernel trim", _trim("both")),
    by_kernel("btrim", "STRING [STRING]", t.STRING, "trim", "both"),
    by_rule("ltrim", "STRING [STRING]", t.STRING, "kernel trim", _trim("left")),
    by_rule("rtrim", "STRING [STRING]", t.STRING, "kernel trim", _trim("right")),
    by_native("startswith", "STRING STRING", t.BOOLEAN, "starts_with({0}, {1})"),
    by_native("endswith", "STRING STRING", t.BOOLEAN, "ends_with({0}, {1})"),
    by_native("contains", "STRING STRING", t.BOOLEAN, "contains({0}, {1})"),
    by_kernel("ascii", "STRING", t.INT, "code_point"),
    *(by_kernel(n, "BIGINT", t.STRING, "character") for n in ("char", "chr")),
    by_kernel("concat_ws", "STRING STRING...", t.STRING, "join"),
    by_kernel("substring_index", "STRING STRING INT", t.STRING, "substring_index"),
    by_kernel("levenshtein", "STRING STRING", t.INT, "levenshtein"),
    by_kernel("md5", "BINARY", t.STRING, "digest", "md5"),
    *(by_kernel(n, "BINARY", t.STRING, "digest", "sha1") for n in ("sha", "sha1")),
    by_rule("sha2", "BINARY INT!", t.STRING, "kernel digest", _sha2),
    by_kernel("crc32", "BINARY", t.LONG, "checksum"),
    by_kernel("base64", "BINARY", t.STRING, "base64_encode"),
    by_kernel("hex", "BIGINT", t.STRING, "hexadecimal"),
    by_kernel("hex", "STRING", t.STRING, "hexadecimal"),
    by_kernel("hex", "BINARY", t.STRING, "hexadecimal"),
    by_kernel("unhex", "STRING", t.BINARY, "from_hexadecimal"),
    by_kernel("overlay", "STRING STRING INT [INT]", t.STRING, "overlay"),
    by_kernel("find_in_set", "STRING STRING", t.INT, "find_in_set"),
    by_kernel("split_part", "STRING STRING INT", t.STRING, "split_part", can_fail=True),
    by_kernel("soundex", "STRING", t.STRING, "soundex"),
    by_rule("mask", "STRING [ANY] [ANY] [ANY] [ANY]", t.STRING, "kernel mask", _mask),
]  # fmt: skip
