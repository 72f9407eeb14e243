"""Partition values as writers spell them, what each spelling means, and conditions on them.

The meaning is listed next to each text, so tests need no parser to know the right answer.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

Texts: TypeAlias = Mapping[str, str | None]


class Malformed:
    """The meaning of a text that is not valid for its column's type: any value, or null."""


MALFORMED = Malformed()

PARTS: Sequence[str | None] = (
    *("x", "y z", None),
    *("", "x", "y z", "1", "-2", "2026-01-01", "one", "X", " x", "x "),
    *("a=b/c", "%20", "100%", "ü", "u\u0308", "'", '"', "\\", "line\nbreak", "tab\t", "\x01"),
    *("null", "NULL", "__HIVE_DEFAULT_PARTITION__", "\U0010ffff", "y" * 80, "y" * 5000),
)
"""Texts of the string column `part`: each means itself, except that the empty one means null."""

NUMBERS: Mapping[str | None, int | None] = {
    "1": 1,
    "-2": -2,
    None: None,
    "2": 2,
    "": None,
    "+1": 1,
    " 1": 1,
    "1\t": 1,
    "007": 7,
    "-0": 0,
    "2147483647": 2147483647,
    "-2147483648": -2147483648,
}
"""Texts of the integer column `n`, with their meanings."""

NOT_NUMBERS: Sequence[str] = (
    *("one", "x", "1.0", "1e3", "0x1", "1 2", "--1", "2147483648", "99999999999999999999"),
    *(" ", "NULL", "2026-01-01", "\u0661", "1_000", "1L", "NaN", "__HIVE_DEFAULT_PARTITION__"),
)
"""Texts that some writers leave in the integer column although they are not integers."""

PLAIN: Sequence[str | None] = ("1", "-2", None)
"""The spellings that every reader accepts."""
WELL_FORMED: Sequence[str | None] = tuple(NUMBERS)
ANY: Sequence[str | None] = (*NUMBERS, *NOT_NUMBERS)

_LAYOUTS: Sequence[Callable[[str | None, str | None], dict[str, str | None]]] = (
    lambda part, n: {"part": part, "n": n},
    lambda part, n: {"n": n, "part": part},
    lambda part, n: {"part": part} if n is None else {"part": part, "n": n},
    lambda part, n: {"n": n} if part is None else {"n": n, "part": part},
)
"""Maps have no order, and a missing entry means null."""


def partition_values(number: int, numbers: Sequence[str | None]) -> dict[str, str | None]:
    """Return the partition values of one add, derived from `number`; low numbers are plain."""
    rest, layout = divmod(number, len(_LAYOUTS))
    rest, n = divmod(rest, len(numbers))
    return _LAYOUTS[layout](PARTS[rest % len(PARTS)], numbers[n])


def part_of(values: Texts) -> str | None:
    """Return the value of `part`."""
    return values.get("part") or None


def number_of(values: Texts) -> int | Malformed | None:
    """Return the value of `n`."""
    return NUMBERS.get(values.get("n"), MALFORMED)


def is_malformed(values: Texts) -> bool:
    """Whether the text of `n` is not an integer."""
    return number_of(values) is MALFORMED


def shown(values: Texts) -> dict[str, str | None]:
    """Return the values as a reader shows them: all columns are present, with None for null."""
    return {name: values.get(name) or None for name in ("part", "n")}


def typed(values: Texts, *, columns: Sequence[str]) -> dict[str, Any]:
    """Return the values as a writer puts them into typed columns: malformed text becomes null."""
    number = number_of(values)
    values_by_column = {
        "part": values.get("part"),
        "n": None if isinstance(number, Malformed) else number,
    }
    return {name: values_by_column[name] for name in columns}


@dataclass(frozen=True)
class Condition:
    """A condition on partition columns, as SQL and as Python; comparisons with null are false."""

    sql: str
    holds: Callable[[str | None, int | None], bool]

    def keeps(self, values: Texts) -> bool:
        """Whether a file with these values may hold a row that satisfies the condition."""
        number = number_of(values)
        numbers = _ANYTHING if isinstance(number, Malformed) else (number,)
        return any(self.holds(part_of(values), n) for n in numbers)


_ANYTHING = (None, -(1 << 31), -2, -1, 0, 1, 5, 7, (1 << 31) - 1)

CONDITIONS = (
    Condition("n = 5", lambda _, n: n == 5),
    Condition("part = 'x'", lambda part, _: part == "x"),
    Condition("part = 'nowhere'", lambda part, _: part == "nowhere"),
    Condition("part = '%20'", lambda part, _: part == "%20"),
    Condition("part = ''", lambda *_: False),
    Condition("part <> 'x'", lambda part, _: part not in {None, "x"}),
    Condition("part > 'y'", lambda part, _: part is not None and part.encode() > b"y"),
    Condition("part LIKE 'y%'", lambda part, _: part is not None and part.startswith("y")),
    Condition("part IS NULL", lambda part, _: part is None),
    Condition("n = 1", lambda _, n: n == 1),
    Condition("n <> 1", lambda _, n: n not in {None, 1}),
    Condition("n > 1", lambda _, n: n is not None and n > 1),
    Condition("n < -2", lambda _, n: n is not None and n < -2),
    Condition("n IN (7, 8)", lambda _, n: n in {7, 8}),
    Condition("n IS NULL", lambda _, n: n is None),
    Condition("n IS NOT NULL", lambda _, n: n is not None),
    Condition("n <=> 7", lambda _, n: n == 7),
    Condition("part = 'x' AND n = 1", lambda part, n: part == "x" and n == 1),
    Condition("part IS NULL OR n < 0", lambda part, n: part is None or (n is not None and n < 0)),
    Condition(
        "NOT (part = 'x' OR n = 1)", lambda p, n: p not in {None, "x"} and n not in {None, 1}
    ),
    Condition("part NOT IN ('x', 'y z')", lambda part, _: part not in {None, "x", "y z"}),
    Condition("TRUE", lambda *_: True),
    Condition("FALSE", lambda *_: False),
    Condition("NULL", lambda *_: False),
    Condition("n = 1 OR TRUE", lambda *_: True),
    Condition("n = 1 AND NOT FALSE", lambda _, n: n == 1),
)
