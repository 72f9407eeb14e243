"""The cases of the benchmark on a slow object store, their targets and their report.

The best samples of each case enter; rows of a table, the share of the achievable throughput and the
missed targets leave.
"""

from dataclasses import dataclass

from benchmarks.cases import DELTALAKE, HEADRACE
from benchmarks.parameter import Checksum, Writer

DOWNLOAD = "plain_download"
LOCAL = "local_scan"
DECODE = "download_and_decode"
_MIN_SHARE = 0.8


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One question, and the limits for Headrace."""

    name: str
    title: str
    most_rounds: int | None
    """The maximum number of round trips; None if the case is measured by its time."""
    least_ratio: float | None = None
    """How many times faster than deltalake it must be."""
    checksum: Checksum = Checksum.ABSENT
    writer: Writer = Writer.PYARROW
    """Who writes the checkpoint."""
    most_files: int | None = None
    """Skipped in larger runs."""


CASES = (
    Case(name="snapshot", title="snapshot", most_rounds=4),
    Case(name="first", title="first file", most_rounds=5, least_ratio=40),
    Case(name="limit", title="LIMIT 100", most_rounds=5),
    Case(
        name="first-crc",
        title="first file, with `.crc`",
        most_rounds=4,
        checksum=Checksum.NEWEST,
        most_files=1_000_000,
    ),
    Case(
        name="first-deltalake",
        title="first file, checkpoint by deltalake",
        most_rounds=4,
        least_ratio=40,
        writer=Writer.DELTALAKE,
        most_files=1_000_000,
    ),
    Case(name="partition", title="one partition", most_rounds=10, most_files=1_000_000),
    Case(name="count", title="count", most_rounds=None, most_files=1_000_000),
    Case(
        name="all",
        title="all files, with statistics",
        most_rounds=None,
        least_ratio=4,
        most_files=1_000_000,
    ),
)


@dataclass(slots=True, kw_only=True)
class Sample:
    """The cost of one answer."""

    seconds: float
    cpu_s: float
    requests: int
    bytes: int
    rounds: int


HEAD = (
    "| | Headrace | waits for | CPU | deltalake | x | round trips | requests | read "
    "| deltalake's requests | read |\n|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|"
)


def row(case: Case, best: dict[str, Sample], *, delay_ms: float) -> str:
    """Return a line of the table; a client can only wait for its round trips."""
    own, other = best[HEADRACE], best[DELTALAKE]
    return (
        f"| {case.title} | {own.seconds * 1000:,.0f} ms | {own.rounds * delay_ms:,.0f} ms "
        f"| {own.cpu_s * 1000:,.0f} ms | {other.seconds * 1000:,.0f} ms "
        f"| {other.seconds / own.seconds:,.1f} | {own.rounds} | {own.requests} "
        f"| {own.bytes / 1e6:,.1f} MB | {other.requests} | {other.bytes / 1e6:,.1f} MB |"
    )


def achievable_share(best: dict[str, Sample]) -> float:
    """Return which share of the achievable throughput a scan of all files has.

    A scan can be as fast as the slower of its two parts: the download of its bytes without
    decoding them, and the same scan of a local disk.
    """
    return max(best[DOWNLOAD].seconds, best[LOCAL].seconds) / best[HEADRACE].seconds


def describe_throughput(best: dict[str, Sample]) -> str:
    """Compare a scan of all files with its two parts."""
    own, download, local = best[HEADRACE], best[DOWNLOAD], best[LOCAL]
    decode = best[DECODE]
    return (
        f"All files, {download.bytes / 1e6:,.0f} MB:\n\n"
        "| | clock | CPU | share |\n|---|--:|--:|--:|\n"
        f"| Headrace | {own.seconds * 1000:,.0f} ms | {own.cpu_s * 1000:,.0f} ms | |\n"
        f"| a plain download | {download.seconds * 1000:,.0f} ms "
        f"| {download.cpu_s * 1000:,.0f} ms | {download.seconds / own.seconds:.0%} |\n"
        f"| the same scan of a local disk | {local.seconds * 1000:,.0f} ms "
        f"| {local.cpu_s * 1000:,.0f} ms | {local.seconds / own.seconds:.0%} |\n"
        f"| the slower of the two: achievable | | | {achievable_share(best):.0%} |\n"
        f"| a download decoded by pyarrow | {decode.seconds * 1000:,.0f} ms "
        f"| {decode.cpu_s * 1000:,.0f} ms | {decode.seconds / own.seconds:.0%} |"
    )


def missed(best: dict[str, dict[str, Sample]]) -> list[str]:
    """Return the targets that were missed."""
    targets = []
    for case in CASES:
        if case.name not in best:
            continue
        own, other = best[case.name][HEADRACE], best[case.name][DELTALAKE]
        ratio = other.seconds / own.seconds
        if case.most_rounds is not None and own.rounds > case.most_rounds:
            targets.append(f"{case.title}: {own.rounds} round trips, at most {case.most_rounds}")
        if case.least_ratio is not None and ratio < case.least_ratio:
            targets.append(f"{case.title}: {ratio:.1f} times as fast, at least {case.least_ratio}")
        if own.requests > other.requests:
            targets.append(f"{case.title}: more requests than deltalake")
    if DOWNLOAD in best.get("all", {}):
        share = achievable_share(best["all"])
        if share < _MIN_SHARE:
            targets.append(f"all files: {share:.0%} of the achievable throughput, at least 80 %")
    return targets
