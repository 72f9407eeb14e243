"""The targets, as data: what is measured, compared with what, and the required value."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum, StrEnum
from typing import TypeAlias

from benchmarks.cases import DELTALAKE, DUCKDB, HEADRACE, PYARROW, TITLES, case_named

ONE_MILLION = 1_000_000
TEN_MILLION = 10_000_000


class Measure(StrEnum):
    """The measure to compare, by its name in the results; the name includes the unit."""

    WARM = "warm_ms"
    COLD = "cold_ms"
    CPU = "cpu_ms"
    OVER_IDLE = "over_idle_mb"
    READ = "read_kb"


class Bound(Enum):
    """On which side of its value a target is met."""

    AT_LEAST = ">="
    AT_MOST = "<="
    BELOW = "<"


Best: TypeAlias = Mapping[tuple[str, str, Measure], float]
"""The minimum of each case, contestant and measure."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """The result of a target."""

    text: str
    measured: str
    met: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """A bound on a measure of Headrace, absolute or relative to another one."""

    case: str
    measure: Measure
    bound: Bound
    value: float
    peer: str | None = None
    """The contestant to compare with; for `AT_LEAST`, the ratio is the peer's value over ours."""
    other_case: str | None = None
    """The case of the peer, if it is not the same."""
    files: int | None = None
    """The lake size that this target applies to; None for any size."""

    def judge(self, best: Best) -> Verdict | None:
        """Return whether the target is met, or None if something was not measured."""
        ours = best.get((self.case, HEADRACE, self.measure))
        theirs = best.get((self.other_case or self.case, self.peer or HEADRACE, self.measure))
        if ours is None or theirs is None:
            return None
        actual = ours
        if self.peer:
            actual = theirs / ours if self.bound is Bound.AT_LEAST else ours / theirs
        met = {
            Bound.AT_LEAST: actual >= self.value,
            Bound.AT_MOST: actual <= self.value,
            Bound.BELOW: actual < self.value,
        }[self.bound]
        return Verdict(text=self._text(), measured=self._number(actual), met=met)

    def _number(self, number: float) -> str:
        if self.peer is None:
            return f"{number:,.1f} {self.measure.rpartition('_')[2].upper()}"
        return f"{number:,.0f} x" if number >= 100 else f"{number:,.2f} x"

    def _text(self) -> str:
        title = case_named(self.case).title
        bound = f"{self.bound.value} {self.value:,g}"
        if self.peer is None:
            unit = self.measure.rpartition("_")[2].upper()
            kind = {Measure.READ: "read", Measure.OVER_IDLE: "over idle imports"}[self.measure]
            return f"{title}: {bound} {unit} {kind}"
        if self.other_case:
            return f"{title}: {bound} x of {case_named(self.other_case).title}"
        how = {Measure.WARM: "warm", Measure.COLD: "cold", Measure.CPU: "CPU"}[self.measure]
        if self.bound is Bound.AT_LEAST:
            return f"{title}, {how}: {bound} x faster than {TITLES[self.peer]}"
        return f"{title}, {how}: {bound} x of {TITLES[self.peer]}"


def faster(
    case: str, peer: str, times: float, files: int, measure: Measure = Measure.WARM
) -> Target:
    """The peer must take at least `times` times as long."""
    return Target(
        case=case, peer=peer, value=times, files=files, measure=measure, bound=Bound.AT_LEAST
    )


def within(
    case: str, peer: str, times: float, files: int, measure: Measure = Measure.WARM
) -> Target:
    """Headrace must take at most `times` times as much as the peer."""
    return Target(
        case=case, peer=peer, value=times, files=files, measure=measure, bound=Bound.AT_MOST
    )


TARGETS = (
    *(faster(case, DELTALAKE, 2000, TEN_MILLION) for case in ("first", "limit")),
    *(faster(case, DELTALAKE, 200, TEN_MILLION, Measure.COLD) for case in ("first", "limit")),
    *(faster(case, DELTALAKE, 300, ONE_MILLION) for case in ("first", "limit")),
    *(faster(case, DELTALAKE, 25, ONE_MILLION, Measure.COLD) for case in ("first", "limit")),
    *(
        Target(case=case, measure=Measure.READ, bound=Bound.BELOW, value=150)
        for case in ("first-crc", "limit-crc")
    ),
    faster("partition", DELTALAKE, 250, TEN_MILLION),
    faster("partition", DUCKDB, 3, TEN_MILLION),
    faster("partition", DELTALAKE, 40, ONE_MILLION),
    faster("partition", DUCKDB, 1.5, ONE_MILLION),
    faster("partition-hashed", DELTALAKE, 15, ONE_MILLION),
    within("partition-hashed", DUCKDB, 1.2, ONE_MILLION),
    faster("count", DELTALAKE, 40, TEN_MILLION),
    within("count", PYARROW, 1.3, TEN_MILLION, Measure.CPU),
    faster("count", DELTALAKE, 20, ONE_MILLION),
    faster("arrow", DELTALAKE, 15, TEN_MILLION),
    within("arrow", DUCKDB, 1.0, TEN_MILLION),
    faster("arrow", DELTALAKE, 7, ONE_MILLION),
    within("arrow", DUCKDB, 1.1, ONE_MILLION),
    *(faster("predicate", DELTALAKE, 5, files) for files in (TEN_MILLION, ONE_MILLION)),
    Target(case="paths-one-thread", measure=Measure.OVER_IDLE, bound=Bound.AT_MOST, value=30),
    Target(case="arrow-one-thread", measure=Measure.OVER_IDLE, bound=Bound.AT_MOST, value=50),
    Target(
        case="first",
        peer=HEADRACE,
        other_case="first-small",
        measure=Measure.WARM,
        bound=Bound.BELOW,
        value=1.5,
    ),
)
