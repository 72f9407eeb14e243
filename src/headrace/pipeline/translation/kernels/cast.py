"""Kernels for casts of strings to other types, as Spark parses them."""

import math
import re
from collections.abc import Callable
from decimal import Context, Decimal

import numpy as np
import pyarrow as pa

from headrace.pipeline.translation.kernel import KernelCall, kernel
from headrace.pipeline.translation.kernels.row import by_distinct

_BLANK = "".join(map(chr, range(33))) + "\x7f"
_WHOLE = re.compile(r"[+-]?\d+", re.ASCII)
_CUT = re.compile(r"([+-]?)(\d*)(?:\.\d*)?(?<=[\d.])", re.ASCII)
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)
_ANY_NUMBER = re.compile(_NUMBER.pattern)
"""As a decimal, Java reads the digits of every script, but only those of one UTF-16 unit."""
_LAST_CHAR = "\uffff"
_MOST_SCALE = 1 << 31
_JAVA_NUMBER = re.compile(rf"(?P<number>{_NUMBER.pattern})[dDfF]?", re.ASCII)
_HEX_NUMBER = re.compile(
    r"(?P<sign>[+-]?)0[xX](?P<whole>[0-9a-fA-F]*)\.?(?P<part>(?<=\.)[0-9a-fA-F]*)?"
    r"[pP](?P<power>[+-]?\d+)[dDfF]?",
    re.ASCII,
)
_MIN_POWER, _MAX_POWER = -1200, 1100
"""Powers of two beyond which a float is zero or infinite."""
_TRUE = frozenset({"t", "true", "y", "yes", "1"})
_FALSE = frozenset({"f", "false", "n", "no", "0"})
_WIDE = Context(prec=120)


class SparkCastError(ValueError):
    """Spark's ANSI error for a string that cannot be cast."""


@kernel
def text_to_integer(call: KernelCall, texts: pa.Array) -> pa.Array:
    """Parse an integer; other text is an error."""
    limit = 1 << (call.gives.bit_width - 1)

    def read(text: str) -> int | None:
        stripped = text.strip(_BLANK)
        if "cut" in call.parameters and (cut := _CUT.fullmatch(stripped)):
            stripped = cut[1] + (cut[2] or "0")
        value = int(stripped) if _WHOLE.fullmatch(stripped) else None
        if value is None or not -limit <= value < limit:
            if call.parameters:
                return None
            raise SparkCastError(f"{text!r} is not a valid {call.gives}")
        return value

    return by_distinct(read, call.gives, texts)


_FLOAT_WORDS = {
    "inf": "inf", "+inf": "inf", "infinity": "inf", "+infinity": "inf",
    "-inf": "-inf", "-infinity": "-inf", "nan": "nan",
}  # fmt: skip


@kernel
def text_to_double(call: KernelCall, texts: pa.Array) -> pa.Array:
    """Parse a double; other text is an error."""
    return by_distinct(lambda text: _read_float(text, float, call), call.gives, texts)


@kernel
def text_to_float(call: KernelCall, texts: pa.Array) -> pa.Array:
    """Parse a 32-bit float; other text is an error."""
    return by_distinct(lambda text: _read_float(text, nearest_float, call), call.gives, texts)


def _read_float(text: str, read: Callable[[str], float], call: KernelCall) -> float | None:
    stripped = text.strip(_BLANK)
    if match := _JAVA_NUMBER.fullmatch(stripped):
        return read(match["number"])
    if stripped.lower() in _FLOAT_WORDS:
        return float(_FLOAT_WORDS[stripped.lower()])
    if (hexadecimal := _HEX_NUMBER.fullmatch(stripped)) and _hex_digits(hexadecimal):
        return read(_as_decimal(hexadecimal))
    if call.parameters:
        return None
    raise SparkCastError(f"{text!r} is not a valid {call.gives}")


def _hex_digits(match: re.Match[str]) -> str:
    return match["whole"] + (match["part"] or "")


def _as_decimal(match: re.Match[str]) -> str:
    """Return a hexadecimal number with a power of two in decimal digits."""
    digits = int(_hex_digits(match), 16)
    power = int(match["power"]) - 4 * len(match["part"] or "")
    highest = digits.bit_length() + power
    if not digits or highest < _MIN_POWER:
        return match["sign"] + "0"
    if highest > _MAX_POWER:
        return match["sign"] + "1e999"
    exact = Context(prec=5000).multiply(Decimal(digits), Context(prec=5000).power(2, power))
    return f"{match['sign']}{exact}"


def nearest_float(digits: str) -> float:
    """Return the 32-bit float nearest to a decimal number, without rounding twice."""
    double = float(digits)
    with np.errstate(over="ignore"):
        single = np.float32(double)
    if not math.isfinite(double) or float(single) == double or not np.isfinite(single):
        return float(single)
    toward = np.float32(math.inf if double > float(single) else -math.inf)
    neighbour = np.nextafter(single, toward)
    middle = (float(single) + float(neighbour)) / 2
    if double != middle or Decimal(digits) == Decimal(middle):
        return float(single)
    low, high = sorted((float(single), float(neighbour)))
    return high if Decimal(digits) > Decimal(middle) else low


@kernel
def text_to_decimal(call: KernelCall, texts: pa.Array) -> pa.Array:
    """Parse a decimal and round it half up; other text is an error."""
    step = Decimal(1).scaleb(-call.gives.scale)

    def read(text: str) -> Decimal | None:
        stripped = text.strip(_BLANK)
        if _ANY_NUMBER.fullmatch(stripped) and max(stripped) <= _LAST_CHAR:
            value = Decimal(stripped)
            is_number = abs(int(value.as_tuple().exponent)) < _MOST_SCALE
            if is_number and (not value or value.adjusted() < -_WIDE.prec // 2):
                value = Decimal(0)
            if is_number and value.adjusted() < _WIDE.prec // 2:
                rounded = value.quantize(step, rounding="ROUND_HALF_UP", context=_WIDE)
                if len(rounded.as_tuple().digits) <= call.gives.precision:
                    return rounded
        if call.parameters:
            return None
        raise SparkCastError(f"{text!r} is not a valid {call.gives}")

    return by_distinct(read, call.gives, texts)


@kernel
def text_to_boolean(call: KernelCall, texts: pa.Array) -> pa.Array:
    """Parse a boolean; other text is an error."""

    def read(text: str) -> bool | None:
        word = text.strip(_BLANK).lower()
        if word in _TRUE or word in _FALSE:
            return word in _TRUE
        if call.parameters:
            return None
        raise SparkCastError(f"{text!r} is not a valid boolean")

    return by_distinct(read, call.gives, texts)
