"""The benchmark cases: each question, the lake it is asked of, and the contestants."""

from dataclasses import dataclass
from enum import Enum

from benchmarks.parameter import Checksum, Order, Parameters
from benchmarks.question import Ask, Question
from benchmarks.truth import Truth

SMALL_FILES = 100_000
"""The size that growth is measured from."""

HEADRACE = "headrace_scan"
DELTALAKE = "deltalake_table"
DUCKDB = "duckdb_sql"
PYARROW = "pyarrow_decode"
PAGES = "bare_pages"

TITLES = {
    HEADRACE: "Headrace",
    DELTALAKE: "deltalake",
    DUCKDB: "DuckDB SQL",
    PYARROW: "pyarrow decode",
    PAGES: "bare pages",
}
"""The contestants, by module; the last two are floors, which do not answer the question."""
ANSWERING = (HEADRACE, DELTALAKE, DUCKDB)
FLOORS = (PYARROW, PAGES)


class Water(Enum):
    """Which lake of a run a case uses."""

    PLAIN = "plain"
    CHECKSUM = "checksum"
    HASHED = "hashed"
    SMALL = "small"


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One question to several contestants."""

    name: str
    title: str
    ask: Ask
    water: Water = Water.PLAIN
    limit: int = 1
    threads: int = 0
    contestants: tuple[str, ...] = ANSWERING
    most_files: int | None = None
    """Skipped in larger runs."""


CASES = (
    Case(name="first", title="first file", ask=Ask.LIMIT),
    Case(name="limit", title="LIMIT 100", ask=Ask.LIMIT, limit=100),
    Case(
        name="first-crc",
        title="first file, with `.crc`",
        ask=Ask.LIMIT,
        water=Water.CHECKSUM,
        contestants=(HEADRACE, DELTALAKE),
    ),
    Case(
        name="limit-crc",
        title="LIMIT 100, with `.crc`",
        ask=Ask.LIMIT,
        limit=100,
        water=Water.CHECKSUM,
        contestants=(HEADRACE,),
    ),
    Case(name="first-small", title="first file of 100 k", ask=Ask.LIMIT, water=Water.SMALL),
    Case(name="partition", title="one partition, date-clustered", ask=Ask.PARTITION),
    Case(
        name="partition-hashed",
        title="one partition, hash-ordered",
        ask=Ask.PARTITION,
        water=Water.HASHED,
        most_files=1_000_000,
    ),
    Case(name="count", title="count", ask=Ask.COUNT, contestants=(*ANSWERING, *FLOORS)),
    Case(
        name="arrow",
        title="all files to Arrow, with statistics",
        ask=Ask.BATCHES,
        contestants=(*ANSWERING, *FLOORS),
    ),
    Case(
        name="predicate",
        title="statistics predicate over all files",
        ask=Ask.PREDICATE,
        contestants=(*ANSWERING, *FLOORS),
    ),
    Case(
        name="paths-one-thread",
        title="all paths, one thread",
        ask=Ask.PATHS,
        threads=1,
        contestants=(HEADRACE, DUCKDB),
    ),
    Case(
        name="arrow-one-thread",
        title="all files to Arrow, one thread",
        ask=Ask.BATCHES,
        threads=1,
        contestants=(HEADRACE, DUCKDB),
    ),
)


def case_named(name: str) -> Case:
    """Return the case with this name."""
    return next(case for case in CASES if case.name == name)


def lake_parameters(water: Water, files: int) -> Parameters:
    """Return the parameters of a case's lake, in a run over `files` files."""
    match water:
        case Water.PLAIN:
            return Parameters(files=files)
        case Water.CHECKSUM:
            return Parameters(files=files, checksum=Checksum.NEWEST)
        case Water.HASHED:
            return Parameters(files=files, order=Order.HASH)
        case Water.SMALL:
            return Parameters(files=min(files, SMALL_FILES))


def question_of(case: Case, *, table: str, truth: Truth) -> Question:
    """Return the question of a case about one lake."""
    partition = truth.partitions[0]
    return Question(
        ask=case.ask,
        table=table,
        limit=case.limit,
        date=partition.date,
        region=partition.region,
        below=truth.below,
        threads=case.threads,
    )
