"""Formats floats as Java does.

Up to version 18, Java uses a form of Steele and White's method that sometimes produces one digit
more than needed; Java 19 and later produce the shortest digits. Where the two differ, the text
depends on the Java that runs Spark, and no text is right for both.
"""

import math
import struct
from collections.abc import Iterable
from decimal import Decimal
from typing import TypeVar

import numpy as np

T = TypeVar("T")
_DOUBLE = (53, 1023)
_FLOAT = (24, 127)
_MIN_PLAIN, _MIN_SCIENTIFIC = -3, 7
"""The least exponents at which a number is written without and with an exponent."""


class SparkOnlyError(ValueError):
    """A value whose result only Spark can compute."""


def double_text(value: float) -> str:
    """Return a double as Java writes it.

    Raises:
        SparkOnlyError: releases of Java write it differently.
    """
    return _text(value, np.float64, _DOUBLE)


def float_text(value: float) -> str:
    """Return a 32-bit float as Java writes it.

    Raises:
        SparkOnlyError: releases of Java write it differently.
    """
    return _text(value, np.float32, _FLOAT)


def double_decimals(value: float) -> set[Decimal]:
    """Return the decimals that releases of Java make from a finite double."""
    if value == 0:
        return {Decimal(0)}
    sign = "-" if value < 0 else ""
    candidates = (_shortest(abs(value), np.float64), _before_java_19(abs(value), *_DOUBLE))
    return {Decimal(f"{sign}{d[0]}.{d[1:] or '0'}E{exponent}") for d, exponent in candidates}


def agreed(values: Iterable[T]) -> T:
    """Return the value that all releases of Java produce.

    Raises:
        SparkOnlyError: they differ.
    """
    distinct = set(values)
    if len(distinct) > 1:
        raise SparkOnlyError(f"releases of Java give {distinct}; run it on Spark")
    return distinct.pop()


def _text(value: float, kind: type[np.floating], form: tuple[int, int]) -> str:
    if math.isnan(value):
        return "NaN"
    sign = "-" if math.copysign(1, value) < 0 else ""
    if math.isinf(value):
        return f"{sign}Infinity"
    if value == 0:
        return f"{sign}0.0"
    digits, exponent = _shortest(abs(value), kind)
    if (digits, exponent) != _before_java_19(abs(value), *form):
        raise SparkOnlyError(f"releases of Java write {value!r} differently; run it on Spark")
    return sign + _written(digits, exponent)


def _written(digits: str, exponent: int) -> str:
    """Place the decimal point as Java does; `exponent` is that of the first digit."""
    if _MIN_PLAIN <= exponent < 0:
        return "0." + "0" * (-exponent - 1) + digits
    if 0 <= exponent < _MIN_SCIENTIFIC:
        whole = digits[: exponent + 1].ljust(exponent + 1, "0")
        return f"{whole}.{digits[exponent + 1 :] or '0'}"
    return f"{digits[0]}.{digits[1:] or '0'}E{exponent}"


def _shortest(value: float, kind: type[np.floating]) -> tuple[str, int]:
    """Return the fewest digits that identify a float, at least two, and the closest such digits."""
    text = np.format_float_scientific(kind(value), unique=True, trim="-")
    if "." not in text:
        text = f"{value:.1e}"
    mantissa, _, exponent = text.partition("e")
    return mantissa.replace(".", "").rstrip("0"), int(exponent)


def _before_java_19(value: float, width: int, bias: int) -> tuple[str, int]:
    """Return the digits of the older method, and the exponent of the first one."""
    if width == _DOUBLE[0]:
        bits = struct.unpack("<q", struct.pack("<d", value))[0]
    else:
        bits = struct.unpack("<i", struct.pack("<f", value))[0]
    shift = width - 1
    fraction, power = bits & ((1 << shift) - 1), (bits >> shift) - bias
    significant = width
    if power == -bias:  # no hidden bit
        significant = fraction.bit_length()
        power = 1 - bias - (width - significant)
        fraction <<= width - significant
    else:
        fraction |= 1 << shift
    fraction <<= _DOUBLE[0] - width
    trailing = (fraction & -fraction).bit_length() - 1
    length = _DOUBLE[0] - trailing
    tiny = max(0, length - power - 1)
    if tiny == 0 and 0 <= power <= 62:  # noqa: PLR2004  (a whole number in 63 bits)
        return _whole_digits(fraction, power, significant)
    return _fraction_digits(fraction >> trailing, power, length, tiny, significant)


def _whole_digits(fraction: int, power: int, significant: int) -> tuple[str, int]:
    shift = power - (_DOUBLE[0] - 1)
    value = fraction << shift if shift >= 0 else fraction >> -shift
    below = power - significant - 1
    if power > significant and below > 1:
        unit = 10 ** _insignificant(below)
        value, remainder = divmod(value, unit)
        if remainder >= unit >> 1 and unit > 1:
            value += 1
        value *= unit
    digits = str(value)
    return digits.rstrip("0"), len(digits) - 1


def _insignificant(power: int) -> int:
    """Return how many digits of a power of two are below its precision."""
    table = (0, 0, 0, 0, 1, 1, 1, 2, 2, 2, 3, 3, 3, 3, 4, 4, 4, 5, 5, 5, 6, 6, 6, 6, 7, 7, 7, 8, 8,
             8, 9, 9, 9, 9, 10, 10, 10, 11, 11, 11, 12, 12, 12, 12, 13, 13, 13, 14, 14, 14, 15, 15,
             15, 15, 16, 16, 16, 17, 17, 17, 18, 18, 18, 19)  # fmt: skip
    return table[power] if 1 < power < len(table) else 0


def _fraction_digits(
    fraction: int, power: int, length: int, tiny: int, significant: int
) -> tuple[str, int]:
    """Divide digit by digit until the remainder is below the distance to the next float."""
    exponent = _estimate(fraction, length, power)
    b5, s5 = max(0, -exponent), max(0, exponent)
    b2, s2 = b5 + tiny + power, s5 + tiny
    m2 = b2 - significant
    b2 -= length - 1
    common = min(b2, s2)
    b2, s2, m2 = b2 - common, s2 - common, m2 - common
    if length == 1:
        m2 -= 1
    if m2 < 0:
        b2, s2, m2 = b2 - m2, s2 - m2, 0
    top, bottom = (fraction * 5**b5) << b2, 5**s5 << s2
    margin, ten = 10 * (5**b5 << m2), 10 * bottom
    width = _register(length, b2, b5, s2, s5)
    digit, top = divmod(top, bottom)
    top *= 10
    low, high = top < margin, _reaches(top, margin, ten, width)
    digits = ""
    if digit == 0 and not high:
        exponent -= 1
    else:
        digits = str(digit)
    if exponent < _MIN_PLAIN or exponent > _MIN_SCIENTIFIC:
        low = high = False
    while not low and not high:
        digit, top = divmod(top, bottom)
        top, margin = top * 10, margin * 10
        low, high = top < margin, _reaches(top, margin, ten, width)
        if width and margin >> (width - 1):
            low = high = True
        digits += str(digit)
    return _rounded(digits, exponent, low=low, high=high, twice=2 * top - ten)


def _register(length: int, b2: int, b5: int, s2: int, s5: int) -> int:
    """Return the bits that Java computes in; 0 if it uses numbers of any size."""
    fives = (0, 3, 5, 7, 10, 12, 14, 17, 19, 21, 24, 26, 28, 31, 33, 35, 38, 40, 42, 45, 47, 49, 52,
             54, 56, 59, 61)  # fmt: skip

    def bits(power: int) -> int:
        return fives[power] if power < len(fives) else 3 * power

    needed = max(length + b2 + bits(b5), s2 + 1 + bits(s5 + 1))
    return next((width for width in (32, 64) if needed < width), 0)


def _reaches(top: int, margin: int, ten: int, width: int) -> bool:
    """Return whether the next float above is reached; sums wrap around as in Java."""
    if not width:
        return top + margin >= ten
    half = 1 << (width - 1)
    return (top + margin + half) % (2 * half) - half > ten


def _estimate(fraction: int, length: int, power: int) -> int:
    """Return the decimal exponent, or one more."""
    scaled = fraction / (1 << (length - 1))
    guess = (scaled - 1.5) * 0.289529654 + 0.176091259 + power * 0.301029995663981
    return math.floor(guess)


def _rounded(digits: str, exponent: int, *, low: bool, high: bool, twice: int) -> tuple[str, int]:
    is_tie = twice == 0 and int(digits[-1]) % 2 == 1
    up = high and (not low or twice > 0 or is_tie)
    if up:
        raised = str(int(digits) + 1)
        exponent += len(raised) - len(digits)
        digits = raised
    return digits.rstrip("0") or "0", exponent
