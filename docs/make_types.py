#!/usr/bin/env python3
"""Write docs/reference/types.md from the cases of the type matrix, which the tests verify."""

import sys
from collections.abc import Iterable
from itertools import groupby
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "reference" / "types.md"
sys.path.insert(0, str(ROOT))

from tests.matrix.by_spark import spark_cases  # noqa: E402  (found by the line above)
from tests.matrix.case import Case  # noqa: E402
from tests.matrix.library import library_cases  # noqa: E402
from tests.matrix.stored import arrow_cases, parquet_cases  # noqa: E402

HEAD = """\
# What writers store

Each row is a kind of file that a writer produces. The tests read it in four tables: unchanged, with
a deletion vector, under column mapping, and with widened columns; completely, with conditions, with
a limit, and by counting. *Arrow* is `snapshot.rows` and the data source
`format("headrace")`; *Spark* is `headrace.spark.read`, which reads with Spark's own Parquet reader.
The readers in the last column find the same rows in the file. This page is written by
`docs/make_types.py`.

A file that is not read is refused with [`UNSUPPORTED_FILE`](errors.md), which names the column, the
writer and what to do; it is never called damaged. What Spark's own reader refuses is Spark's error,
which names the file; the data source reads such a file.

Encrypted files, the codec LZO, and types that Delta does not have (times of day, durations) are
refused too. Run-end encoded columns do not occur: Arrow does not write them to Parquet.
"""
TITLES = {
    "Encoding": "Encodings of Parquet",
    "Codec": "Codecs of Parquet",
    "File": "Other settings of Parquet",
    "Arrow type": "Arrow types",
    "Writer": "Writers",
}
READ = "read"


def render() -> str:
    """Return the page as Markdown."""
    cases = [*parquet_cases(), *arrow_cases(), *library_cases(), *spark_cases()]
    groups = groupby(cases, key=lambda case: case.group)
    return HEAD + "".join(_section(TITLES[name], members) for name, members in groups)


def _section(title: str, cases: Iterable[Case]) -> str:
    lines = [f"\n## {title}\n", "| stored | Arrow | Spark | also read by |", "|---|---|---|---|"]
    for case in cases:
        arrow = READ if case.refused_by_arrow is None else f"refused: {case.refused_by_arrow}"
        spark = READ if case.refused_by_spark is None else f"refused: {case.refused_by_spark}"
        lines.append(f"| {case.name} | {arrow} | {spark} | {', '.join(case.judges)} |")
    return "\n".join(lines) + "\n"


def main() -> None:
    """Rewrite the page."""
    PAGE.write_text(render(), encoding="utf-8")


if __name__ == "__main__":
    main()
