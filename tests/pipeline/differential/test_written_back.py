"""Queries that Spark's parser accepts are not refused for their words."""

from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import ParseException

from headrace.pipeline.translation.refusal import Refused
from headrace.pipeline.translation.syntax import parse_calls
from headrace.pipeline.translation.written_back import check_written_back

_LINES = Path(__file__).with_name("accepted_forms.sql").read_text(encoding="utf-8").splitlines()
FORMS = [line for line in _LINES if not line.startswith("--")]


def test_what_sparks_parser_accepts_is_written_back(session: Any) -> None:
    for sql in [*FORMS, "SELECT a\nFROM t\nGROUP\n  BY a\nORDER\n  BY a DESC\nNULLS\nLAST\n;\n"]:
        plan(session, sql)
        check_written_back(parse_calls(sql), sql)


def test_a_second_statement_is_refused(session: Any) -> None:
    sql = "SELECT 1; SELECT 2"
    with pytest.raises(ParseException):
        plan(session, sql)
    with pytest.raises(Refused):
        check_written_back(parse_calls(sql), sql)


def plan(session: Any, sql: str) -> None:
    """Let Spark's parser read a query, without looking for its tables."""
    session._jsparkSession.sessionState().sqlParser().parsePlan(sql)
