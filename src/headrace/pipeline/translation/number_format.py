"""Spark's number formats, `to_char(x, '99,999.00S')`, as far as they are proven.

A format has digits (all 9, optionally in groups of three, or all 0), optionally a decimal point and
more digits, and a sign or a dollar on one side.
"""

import re
from decimal import Decimal

import msgspec

_FORMAT = re.compile(
    r"(?P<before>S|MI|\$)?(?P<whole>9{1,3}(?:[,G]9{3})+|9+|0+)(?:[.D](?P<part>9+|0+))?(?P<after>S|MI)?"
)

_BLANKS = re.compile("[\t-\r\x1c- \u1680\u2000-\u2006\u2008-\u200a\u2028\u2029\u205f\u3000]")
"""What Java calls white space, which excludes no-break spaces."""


class NumberFormat(msgspec.Struct, frozen=True):
    """A parsed format."""

    before: str
    whole: str
    """The digits before the decimal point, with `,` between groups."""
    part: str
    after: str

    @property
    def precision(self) -> int:
        """Return how many digits it has."""
        return len(self.whole.replace(",", "")) + self.scale

    @property
    def scale(self) -> int:
        """Return how many digits it has after the decimal point."""
        return len(self.part)

    @property
    def fills(self) -> bool:
        """Return whether every digit before the decimal point is required."""
        return self.whole[0] == "0"

    def write(self, value: Decimal) -> str:
        """Format a number; `#` for each digit if it has too many."""
        digits, _, part = format(abs(value), "f").partition(".")
        digits, part = digits.lstrip("0"), part.rstrip("0")
        room = len(self.whole.replace(",", ""))
        if len(digits) > room or len(part) > self.scale:
            shown = self.whole.replace("9", "#").replace("0", "#").replace(",", " ")
            return self._signed(shown, "#" * self.scale, is_negative=value < 0)
        if not digits and not self.part and self.after == "S" and not self.fills:
            return "+" + " " * len(self.whole)  # Spark puts the sign before the blanks
        if self.fills:
            shown = digits.rjust(room, "0")
        else:
            digits = digits or ("0" if self.part else "")
            shown = _grouped(digits, self.whole).rjust(len(self.whole))
        return self._signed(shown, part.ljust(self.scale, "0"), is_negative=value < 0)

    def _signed(self, whole: str, part: str, *, is_negative: bool) -> str:
        text = f"{whole}.{part}" if self.part else whole
        mark = {"S": "-" if is_negative else "+", "MI": "-" if is_negative else " "}
        if self.after:
            return text + mark[self.after]
        if self.before == "$":
            return f"${text}"
        if self.before:
            inner = text.lstrip(" ")
            return " " * (len(text) - len(inner)) + mark[self.before] + inner
        return text

    def read(self, text: str) -> Decimal | None:
        """Parse a text in this format; None if it does not match."""
        match = self._pattern().fullmatch(_BLANKS.sub("", text))
        if match is None:
            return None
        digits = match["whole"].replace(",", "")
        if not digits and not match["part"]:
            return None
        value = Decimal(f"{digits or '0'}.{match['part'] or '0'}")
        return -value if "-" in (match["before"] or "") + (match["after"] or "") else value

    def _pattern(self) -> re.Pattern[str]:
        signs = {"S": "[+-]?", "MI": "-?", "$": r"\$", "": ""}
        before, after = signs[self.before], signs[self.after]
        part = rf"(?:\.(?P<part>\d{{0,{self.scale}}}))?" if self.part else "(?P<part>(?!))?"
        return re.compile(
            rf"(?P<before>{before})(?P<whole>{self._whole_pattern()}){part}(?P<after>{after})",
            re.ASCII,
        )

    def _whole_pattern(self) -> str:
        groups = [len(group) for group in self.whole.split(",")]
        if self.fills:
            return rf"\d{{{groups[0]}}}"
        least = 0 if self.part else 1
        if len(groups) == 1:
            return rf"\d{{{least},{groups[0]}}}"
        pattern = rf"\d{{0,{groups[0]}}}"
        for size in groups[1:]:
            pattern = rf"(?:{pattern},)?\d{{0,{size}}}"
        return pattern


def _grouped(digits: str, whole: str) -> str:
    if "," not in whole:
        return digits
    return f"{int(digits):,}" if digits else ""


def parse_number_format(written: str) -> NumberFormat | None:
    """Parse a format; None if it is not one of the proven ones."""
    match = _FORMAT.fullmatch(written.upper())
    if match is None or (match["before"] and match["after"] and match["before"] != "$"):
        return None
    if match["before"] == "$" and match["after"]:
        return None
    whole = match["whole"].replace("G", ",")
    return NumberFormat(match["before"] or "", whole, match["part"] or "", match["after"] or "")
