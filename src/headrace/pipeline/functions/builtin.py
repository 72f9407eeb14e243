"""The names and signatures of Spark 4.3's functions, for checking calls without Spark.

The names are those that `SHOW SYSTEM FUNCTIONS` lists. `docs/make_signatures.py` records how many
arguments each function takes, and which types it refuses.
"""

from functools import cache
from importlib.resources import files

import msgspec

_GRAMMAR = frozenset({"timestampadd", "timestampdiff", "identifier", "overlay", "position"})
"""Calls that Spark's grammar knows, so that `SHOW SYSTEM FUNCTIONS` may not list them."""


class SparkSignature(msgspec.Struct, frozen=True):
    """What Spark accepts as the arguments of one of its functions."""

    counts: tuple[int, ...]
    """How many arguments it takes, or, if `is_variadic`, the fewest."""
    is_variadic: bool
    rejected: frozenset[str]
    """The kinds of types that it refuses as its only argument."""

    def takes(self, count: int) -> bool:
        """Return whether the function takes `count` arguments."""
        return count >= self.counts[0] if self.is_variadic else count in self.counts

    @property
    def arity(self) -> str:
        """Return the number of arguments, in words."""
        if self.is_variadic:
            return f"at least {self.counts[0]} arguments"
        *leading, last = map(str, self.counts)
        listed = f"{', '.join(leading)} or {last}" if leading else last
        return f"{listed} argument{'' if listed == '1' else 's'}"


@cache
def spark_functions() -> frozenset[str]:
    """Return the names of the functions, in lower case."""
    return frozenset(_read("spark_functions.txt").split()) | _GRAMMAR


@cache
def spark_signatures() -> dict[str, SparkSignature]:
    """Parse the signatures by name: lines such as `name 1,2 ARRAY MAP`, or `name 1+`."""
    signatures = {}
    for line in _read("spark_signatures.txt").splitlines():
        name, counts, *rejected = line.split()
        signatures[name] = SparkSignature(
            tuple(map(int, counts.rstrip("+").split(","))),
            counts.endswith("+"),
            frozenset(rejected),
        )
    return signatures


def _read(name: str) -> str:
    return files("headrace.pipeline.functions").joinpath(name).read_text(encoding="utf-8")
