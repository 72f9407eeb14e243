"""Kernels for strings: positions by code point, similarity, digests and encodings."""

import base64
import binascii
import hashlib
import unicodedata
import zlib
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from headrace.pipeline.translation.kernel import KernelCall, kernel
from headrace.pipeline.translation.kernels.row import by_distinct
from headrace.pipeline.translation.kernels.word import ascii_upper

_MAX_INT = (1 << 31) - 1


@kernel
def substring(call: KernelCall, texts: pa.Array, starts: pa.Array, *lengths: pa.Array) -> pa.Array:
    """Return a part of a string or of bytes: from 1, or from the end if negative."""

    def cut(text: Any, start: int, length: int = _MAX_INT) -> Any:
        first = start - 1 if start > 0 else len(text) + start if start < 0 else 0
        last = first + length
        return text[max(first, 0) : max(last, 0)] if last > first else text[:0]

    if pc.count_distinct(starts).as_py() == 1 and not lengths and texts.type == pa.string():
        start = pc.drop_null(starts)[0].as_py() if starts.null_count < len(starts) else None
        if start is not None and starts.null_count == 0 and start >= -_MAX_INT:
            return pc.utf8_slice_codeunits(texts, start - 1 if start > 0 else start)
    return by_distinct(cut, call.gives, texts, starts, *lengths)


@kernel
def left(call: KernelCall, texts: pa.Array, lengths: pa.Array) -> pa.Array:
    """Return the first characters."""
    return by_distinct(lambda text, n: text[: max(n, 0)], call.gives, texts, lengths)


@kernel
def right(call: KernelCall, texts: pa.Array, lengths: pa.Array) -> pa.Array:
    """Return the last characters."""
    return by_distinct(
        lambda text, n: text[max(len(text) - n, 0) :] if n > 0 else text[:0],
        call.gives,
        texts,
        lengths,
    )


@kernel
def position(call: KernelCall, parts: pa.Array, texts: pa.Array, *starts: pa.Array) -> pa.Array:
    """Find a string in another, from a position; positions count from 1, 0 means not found.

    A start of 0 or less, or a null start, finds nothing.
    """
    if not starts:
        return by_distinct(lambda part, text: text.find(part) + 1, call.gives, parts, texts)

    def located(part: str | None, text: str | None, start: int | None) -> int | None:
        if start is None:
            return 0
        if part is None or text is None:
            return None
        if start <= 0:
            return 0
        return text.find(part, start - 1) + 1 if part else 1

    return by_distinct(located, call.gives, parts, texts, *starts, nulls=True)


@kernel
def replace(call: KernelCall, texts: pa.Array, parts: pa.Array, by: pa.Array) -> pa.Array:
    """Replace every occurrence; an empty string is never replaced."""
    return by_distinct(lambda t, p, b: t.replace(p, b) if p else t, call.gives, texts, parts, by)


@kernel
def translate(call: KernelCall, texts: pa.Array, old: pa.Array, new: pa.Array) -> pa.Array:
    """Replace single characters; one without a counterpart is dropped."""

    def translated(text: str, source: str, target: str) -> str:
        table: dict[int, Any] = {}
        for place, letter in enumerate(source):
            table.setdefault(ord(letter), target[place] if place < len(target) else None)
        return text.translate(table)

    return by_distinct(translated, call.gives, texts, old, new)


@kernel
def repeat(call: KernelCall, texts: pa.Array, counts: pa.Array) -> pa.Array:
    """Repeat a string."""
    return by_distinct(lambda text, n: text * max(n, 0), call.gives, texts, counts)


@kernel
def pad(call: KernelCall, texts: pa.Array, lengths: pa.Array, *fills: pa.Array) -> pa.Array:
    """Pad a string to a length, or truncate it."""
    side = call.parameters[0]

    blank: Any = " " if call.gives == pa.string() else b"\x00"

    def padded(text: Any, length: int, fill: Any = blank) -> Any:
        missing = length - len(text)
        if missing <= 0 or not fill:
            return text[: max(length, 0)]
        more = (fill * (missing // len(fill) + 1))[:missing]
        return more + text if side == "left" else text + more

    return by_distinct(padded, call.gives, texts, lengths, *fills)


@kernel
def trim(call: KernelCall, texts: pa.Array, *letters: pa.Array) -> pa.Array:
    """Remove characters at one end or both; by default spaces."""
    strip = {"both": str.strip, "left": str.lstrip, "right": str.rstrip}[call.parameters[0]]
    return by_distinct(
        lambda text, characters=" ": strip(text, characters) if characters else text,
        call.gives,
        texts,
        *letters,
    )


@kernel
def code_point(call: KernelCall, texts: pa.Array) -> pa.Array:
    """Return the code point of the first character; 0 for the empty string."""
    return by_distinct(lambda text: ord(text[0]) if text else 0, call.gives, texts)


@kernel
def character(call: KernelCall, codes: pa.Array) -> pa.Array:
    """Return the character of a code, modulo 256; empty for negative codes."""
    return by_distinct(lambda code: "" if code < 0 else chr(code & 0xFF), call.gives, codes)


@kernel
def size_bytes(call: KernelCall, values: pa.Array) -> pa.Array:
    """Count the bytes of a string in UTF-8, or of a binary."""
    return pc.cast(pc.binary_length(values), call.gives)


@kernel
def join(call: KernelCall, separators: pa.Array, *texts: pa.Array) -> pa.Array:
    """Join strings and arrays of strings, skipping nulls."""

    def joined(separator: str | None, *parts: Any) -> str | None:
        if separator is None:
            return None
        flat: list[str | None] = []
        for part in parts:
            flat += part if isinstance(part, list) else [part]
        return separator.join(part for part in flat if part is not None)

    return by_distinct(joined, call.gives, separators, *texts, nulls=True)


@kernel
def substring_index(
    call: KernelCall, texts: pa.Array, marks: pa.Array, counts: pa.Array
) -> pa.Array:
    """Return the text before the n-th delimiter, or after it counted from the end."""

    def cut(text: str, mark: str, count: int) -> str:
        if not mark or not count:
            return ""
        places = _places(text, mark, backwards=count < 0)
        if abs(count) > len(places):
            return text
        place = places[abs(count) - 1]
        return text[:place] if count > 0 else text[place + len(mark) :]

    return by_distinct(cut, call.gives, texts, marks, counts)


def _places(text: str, mark: str, *, backwards: bool) -> list[int]:
    """Return the positions of a delimiter, including overlaps: Spark's search steps by one."""
    places = [i for i in range(len(text)) if text.startswith(mark, i)]
    return places[::-1] if backwards else places


@kernel
def levenshtein(call: KernelCall, left_texts: pa.Array, right_texts: pa.Array) -> pa.Array:
    """Return the edit distance of two strings."""
    return by_distinct(_distance, call.gives, left_texts, right_texts)


@kernel
def levenshtein_within(
    call: KernelCall, left_texts: pa.Array, right_texts: pa.Array, limits: pa.Array
) -> pa.Array:
    """Return the edit distance of two strings; -1 if it exceeds a limit."""

    def within(first: str, second: str, limit: int) -> int:
        distance = _distance(first, second)
        return distance if distance <= limit else -1

    return by_distinct(within, call.gives, left_texts, right_texts, limits)


def _distance(first: str, second: str) -> int:
    row = list(range(len(second) + 1))
    for i, a in enumerate(first, 1):
        before, row[0] = row[0], i
        for j, b in enumerate(second, 1):
            before, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, before + (a != b))
    return row[-1]


@kernel
def digest(call: KernelCall, values: pa.Array) -> pa.Array:
    """Return a digest in hexadecimal digits."""
    algorithm = call.parameters[0]
    return by_distinct(
        lambda value: hashlib.new(algorithm, _bytes(value)).hexdigest(), call.gives, values
    )


@kernel
def checksum(call: KernelCall, values: pa.Array) -> pa.Array:
    """Return the CRC-32."""
    return by_distinct(lambda value: zlib.crc32(_bytes(value)), call.gives, values)


@kernel
def base64_encode(call: KernelCall, values: pa.Array) -> pa.Array:
    """Encode bytes in base 64, without line breaks."""
    return by_distinct(lambda v: base64.b64encode(_bytes(v)).decode(), call.gives, values)


@kernel
def hexadecimal(call: KernelCall, values: pa.Array) -> pa.Array:
    """Format a BIGINT, a string or bytes in hexadecimal digits."""
    mask = (1 << 64) - 1
    return by_distinct(
        lambda v: f"{v & mask:X}" if isinstance(v, int) else _bytes(v).hex().upper(),
        call.gives,
        values,
    )


@kernel
def from_hexadecimal(call: KernelCall, texts: pa.Array) -> pa.Array:
    """Decode hexadecimal digits; null if there are other characters."""

    def decoded(text: str) -> bytes | None:
        padded = text if len(text) % 2 == 0 else f"0{text}"
        try:
            return binascii.unhexlify(padded.encode())
        except (ValueError, binascii.Error):
            return None

    return by_distinct(decoded, call.gives, texts)


@kernel
def binary_digits(call: KernelCall, values: pa.Array) -> pa.Array:
    """Format a BIGINT in binary digits."""
    mask = (1 << 64) - 1
    return by_distinct(lambda v: f"{v & mask:b}", call.gives, values)


def _bytes(value: Any) -> bytes:
    return value.encode() if isinstance(value, str) else bytes(value)


@kernel
def overlay(
    call: KernelCall, texts: pa.Array, by: pa.Array, starts: pa.Array, *lengths: pa.Array
) -> pa.Array:
    """Overwrite a part of a string; a negative end position counts from the end."""

    def overlaid(text: Any, new: Any, start: int, length: int = -1) -> Any:
        after = start + (len(new) if length < 0 else length)
        if after < 0:
            after = max(len(text) + after, 0) + 1
        return text[: max(start - 1, 0)] + new + text[max(after - 1, 0) :]

    return by_distinct(overlaid, call.gives, texts, by, starts, *lengths)


@kernel
def find_in_set(call: KernelCall, parts: pa.Array, lists: pa.Array) -> pa.Array:
    """Return the position, from 1, of a string in a comma-separated list; 0 if it is missing."""

    def position_in_list(part: str, joined: str) -> int:
        words = joined.split(",")
        return words.index(part) + 1 if "," not in part and part in words else 0

    return by_distinct(position_in_list, call.gives, parts, lists)


@kernel
def split_part(call: KernelCall, texts: pa.Array, marks: pa.Array, places: pa.Array) -> pa.Array:
    """Return the n-th part of a string, from the end if negative; empty if there is none."""

    def part(text: str, mark: str, place: int) -> str:
        if place == 0:
            raise ValueError("positions of parts count from 1")
        words = text.split(mark) if mark else [text]
        index = place - 1 if place > 0 else len(words) + place
        return words[index] if 0 <= index < len(words) else ""

    return by_distinct(part, call.gives, texts, marks, places)


@kernel
def soundex(call: KernelCall, texts: pa.Array) -> pa.Array:
    """Return the Soundex code of a word."""
    codes = "01230120022455012623010202"

    def coded(text: str) -> str:
        if not text or not ("A" <= text[0].upper() <= "Z" and text[0].isascii()):
            return text
        shown, last = text[0].upper(), codes[ord(text[0].upper()) - 65]
        for letter in ascii_upper(text[1:]):
            if not "A" <= letter <= "Z":
                last = "0"
                continue
            code = codes[ord(letter) - 65]
            if letter in "HW":
                continue
            if code not in ("0", last):
                shown += code
            last = code
        return f"{shown}000"[:4]

    return by_distinct(coded, call.gives, texts)


@kernel
def null_of(call: KernelCall, rows: pa.Array) -> pa.Array:
    """Return only nulls."""
    return pa.nulls(len(rows), call.gives)


@kernel
def mask(call: KernelCall, texts: pa.Array) -> pa.Array:
    """Mask letters and digits; other characters are kept unless they have a mask too."""
    upper, lower, digit, symbol = (p or None for p in call.parameters)
    masks = {"Lu": upper, "Ll": lower, "Nd": digit}

    def hidden(letter: str) -> str:
        category = unicodedata.category(letter)
        return masks.get(category, symbol) or letter

    return by_distinct(lambda text: "".join(map(hidden, text)), call.gives, texts)
