"""Spark's own examples: each returns Spark's rows on DataFusion, or is refused."""

from typing import Any

from headrace.pipeline.translation.refusal import Refused
from tests.pipeline.differential.engine import Prepared, Tally, spark_rows, spark_rows_together
from tests.pipeline.differential.spark_example import spark_examples

LEAST_EQUAL = 890
"""The minimum number of equal examples; it must only increase."""
_BATCH = 40
_OTHER_EACH_TIME = ("now()", "current_timestamp", "current_date", "curdate", "rand", "uuid")


def test_each_of_sparks_own_examples_is_equal_or_refused(session: Any) -> None:
    tally = Tally()
    prepared = []
    for _, sql in spark_examples(session):
        if any(word in sql.lower() for word in _OTHER_EACH_TIME):
            continue
        try:
            prepared.append(Prepared(sql, {}))
        except Refused:
            tally.refused += 1
        except Exception:  # noqa: BLE001  (what is no view is not read at all)
            tally.refused += 1
    alone = [p for p in prepared if not _is_scalar(p)]
    together = [p for p in prepared if _is_scalar(p)]
    for start in range(0, len(together), _BATCH):
        batch = together[start : start + _BATCH]
        answers = spark_rows_together(session, [p.sql for p in batch])
        for statement, theirs in zip(batch, answers, strict=True):
            tally.count(statement.sql, statement.rows(), theirs)
    for statement in alone:
        tally.count(statement.sql, statement.rows(), spark_rows(session, statement.sql))
    print(f"Spark's own examples: {tally}")  # noqa: T201  (the counts are what it measures)
    assert tally.different == []
    assert tally.equal >= LEAST_EQUAL


def _is_scalar(prepared: Prepared) -> bool:
    text = prepared.sql.lower()
    is_plain = text.startswith("select") and text.count("select") == 1 and " from " not in text
    return is_plain and len(prepared.translation.schema) == 1
