"""Casts between texts and the other types, as Spark reads and writes them."""

import re
from decimal import Context, Decimal

import pyarrow as pa
import pyarrow.compute as pc

from headrace.pipeline.translation.kernel import KernelCall, kernel
from headrace.pipeline.translation.kernels.row import by_distinct

_BLANK = "".join(map(chr, range(33))) + "\x7f"
_WHOLE = re.compile(r"[+-]?\d+", re.ASCII)
_CUT = re.compile(r"([+-]?)(\d*)(?:\.\d*)?(?<=[\d.])", re.ASCII)
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)
_TRUE = frozenset({"t", "true", "y", "yes", "1"})
_FALSE = frozenset({"f", "false", "n", "no", "0"})
_WIDE = Context(prec=120)


class SparkCastError(ValueError):
    """What Spark raises in ANSI mode for a text that cannot be cast."""


@kernel
def text_to_integer(call: KernelCall, texts: pa.Array) -> pa.Array:
    """Read a whole number; other text is an error."""
    limit = 1 << (call.gives.bit_width - 1)

    def read(text: str) -> int | None:
        stripped = text.strip(_BLANK)
        if "cut" in call.parameters and (cut := _CUT.fullmatch(stripped)):
            stripped = cut[1] + (cut[2] or "0")
        value = int(stripped) if _WHOLE.fullmatch(stripped) else None
        if value is None or not -limit <= value < limit:
            if call.parameters:
                return None
            raise SparkCastError(f"{text!r} is no {call.gives}")
        return value

    return by_distinct(read, call.gives, texts)


@kernel
def text_to_double(call: KernelCall, texts: pa.Array) -> pa.Array:
    """Read a double; other text is an error."""
    words = {
        "inf": "inf", "+inf": "inf", "infinity": "inf", "+infinity": "inf",
        "-inf": "-inf", "-infinity": "-inf", "nan": "nan",
    }  # fmt: skip

    def read(text: str) -> float | None:
        stripped = text.strip(_BLANK)
        if _NUMBER.fullmatch(stripped):
            return float(stripped)
        if stripped.lower() in words:
            return float(words[stripped.lower()])
        if call.parameters:
            return None
        raise SparkCastError(f"{text!r} is no double")

    return by_distinct(read, call.gives, texts)


@kernel
def text_to_decimal(call: KernelCall, texts: pa.Array) -> pa.Array:
    """Read a decimal and round it half up; other text is an error."""
    step = Decimal(1).scaleb(-call.gives.scale)

    def read(text: str) -> Decimal | None:
        stripped = text.strip(_BLANK)
        if _NUMBER.fullmatch(stripped):
            value = Decimal(stripped)
            if abs(value.adjusted()) < 60:  # noqa: PLR2004
                rounded = value.quantize(step, rounding="ROUND_HALF_UP", context=_WIDE)
                if len(rounded.as_tuple().digits) <= call.gives.precision:
                    return rounded
        if call.parameters:
            return None
        raise SparkCastError(f"{text!r} is no {call.gives}")

    return by_distinct(read, call.gives, texts)


@kernel
def text_to_boolean(call: KernelCall, texts: pa.Array) -> pa.Array:
    """Read a truth value; other text is an error."""

    def read(text: str) -> bool | None:
        word = text.strip(_BLANK).lower()
        if word in _TRUE or word in _FALSE:
            return word in _TRUE
        if call.parameters:
            return None
        raise SparkCastError(f"{text!r} is no boolean")

    return by_distinct(read, call.gives, texts)


@kernel
def binary_to_text(call: KernelCall, values: pa.Array) -> pa.Array:
    """Read bytes as UTF-8; other bytes are an error here, and run on Spark."""
    return pc.cast(values, call.gives)
