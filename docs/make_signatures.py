#!/usr/bin/env python3
"""Ask Spark which arguments its functions take, and write down the answers.

Spark reports the allowed numbers of arguments in its error for a wrong number, and refuses a wrong
type with another error. Only what it refuses both with and without ANSI is written down.
"""

import logging
import re
from pathlib import Path

from pyspark.errors import PySparkException
from pyspark.logger import PySparkLogger
from pyspark.sql import SparkSession

FOLDER = Path(__file__).parent.parent / "src" / "headrace" / "pipeline" / "functions"
TARGET = FOLDER / "spark_signatures.txt"
TYPES = {
    "BOOLEAN": ("BOOLEAN",),
    "INT": ("INT", "BIGINT", "SMALLINT", "TINYINT"),
    "DECIMAL": ("DECIMAL(10,2)", "DECIMAL(38,0)"),
    "DOUBLE": ("DOUBLE", "FLOAT"),
    "STRING": ("STRING",),
    "BINARY": ("BINARY",),
    "DATE": ("DATE",),
    "TIMESTAMP": ("TIMESTAMP", "TIMESTAMP_NTZ"),
    "ARRAY": (
        *("ARRAY<INT>", "ARRAY<STRING>", "ARRAY<BOOLEAN>", "ARRAY<BINARY>", "ARRAY<ARRAY<INT>>"),
        *("ARRAY<STRUCT<a: INT>>", "ARRAY<STRUCT<a: STRING, b: INT>>", "ARRAY<MAP<STRING, INT>>"),
    ),
    "MAP": ("MAP<STRING, INT>", "MAP<INT, STRING>", "MAP<STRING, STRING>"),
    "STRUCT": ("STRUCT<a: INT>", "STRUCT<a: STRING, b: INT>", "STRUCT<start: TIMESTAMP>"),
}
"""Types of each kind: a function refuses a kind only if it refuses all of them."""
_TOO_MANY = 31
_ABOUT_VALUES = ("NON_FOLDABLE_INPUT", "UNEXPECTED_NULL", "VALUE_OUT_OF_RANGE")


def refusal(session: SparkSession, query: str) -> PySparkException | None:
    """Return the error with which Spark refuses a query before running it, if any."""
    try:
        session.sql(query)
    except PySparkException as error:
        return error
    return None


def counts_of(session: SparkSession, name: str) -> str | None:
    """Return the numbers of arguments that a function takes, or None if Spark reports none."""
    for count in (0, _TOO_MANY):
        error = refusal(session, f"SELECT `{name}`({', '.join(['NULL'] * count)})")
        if error is not None and (error.getCondition() or "").startswith("WRONG_NUM_ARGS"):
            expected = (error.getMessageParameters() or {})["expectedNum"].strip()
            if re.fullmatch(r"\d+|\[[\d, ]+\]", expected):
                return expected.strip("[]").replace(" ", "")
            above = re.fullmatch(r"(>=?) (\d+)", expected)
            if above is not None:
                return f"{int(above[2]) + (above[1] == '>')}+"
    return None


def rejected_by(session: SparkSession, name: str) -> list[str]:
    """Return the kinds of types that a function of one argument refuses under all settings."""
    rejected = set(TYPES)
    for ansi in ("true", "false"):
        session.conf.set("spark.sql.ansi.enabled", ansi)
        rejected = {
            kind
            for kind in rejected
            if all(_refuses(session, name, f"{kind}_{i}") for i in range(len(TYPES[kind])))
        }
    return [kind for kind in TYPES if kind in rejected]


def _refuses(session: SparkSession, name: str, column: str) -> bool:
    error = refusal(session, f"SELECT `{name}`({column}) FROM all_types")  # noqa: S608
    condition = "" if error is None else error.getCondition() or ""
    family, _, about = condition.partition(".")
    return family == "DATATYPE_MISMATCH" and about not in _ABOUT_VALUES


def signature_lines(session: SparkSession, names: list[str]) -> list[str]:
    """Return one line for each function whose number of arguments Spark reports."""
    columns = ", ".join(
        f"CAST(NULL AS {each}) AS {kind}_{place}"
        for kind, types in TYPES.items()
        for place, each in enumerate(types)
    )
    session.sql(f"SELECT {columns}").createOrReplaceTempView("all_types")
    lines = []
    for name in names:
        counts = counts_of(session, name)
        if counts is None:
            continue
        takes_one = counts == "1+" or "1" in counts.split(",")
        rejected = rejected_by(session, name) if takes_one else []
        lines.append(" ".join([name, counts, *rejected]))
    return lines


def main() -> None:
    """Write the file."""
    PySparkLogger.getLogger("SQLQueryContextLogger").setLevel(logging.CRITICAL)
    session = SparkSession.builder.master("local[1]").getOrCreate()
    names = (FOLDER / "spark_functions.txt").read_text(encoding="utf-8").split()
    TARGET.write_text("\n".join(signature_lines(session, names)) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
