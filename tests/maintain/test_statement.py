"""The grammar of the statements: every form, every synonym, and statements that are not ours."""

import pytest

from headrace.errors import StatementSyntaxError
from headrace.maintain.statement import (
    Checkpoint,
    Compact,
    DescribeLog,
    DescribeState,
    DropPartitions,
    InvalidateCache,
    Purge,
    Repair,
    Statement,
    TableName,
    TruncateTimeTravel,
    parse_statement,
)

TABLE = TableName(text="s3://bucket/table")

STATEMENTS: tuple[tuple[str, Statement], ...] = (
    ("CHECKPOINT INDEXTABLES 's3://bucket/table'", Checkpoint(table=TABLE)),
    ("COMPACT INDEXTABLES 's3://bucket/table'", Compact(table=TABLE)),
    ("DESCRIBE INDEXTABLES STATE 's3://bucket/table'", DescribeState(table=TABLE)),
    ("DESCRIBE INDEXTABLES TRANSACTION LOG 's3://bucket/table'", DescribeLog(table=TABLE)),
    (
        "DESCRIBE INDEXTABLES TRANSACTION LOG 's3://bucket/table' INCLUDE ALL",
        DescribeLog(table=TABLE, include_all=True),
    ),
    ("PURGE INDEXTABLE 's3://bucket/table'", Purge(table=TABLE)),
    (
        "PURGE INDEXTABLE 's3://bucket/table' OLDER THAN 7 DAYS",
        Purge(table=TABLE, older_than_hours=168),
    ),
    (
        """PURGE INDEXTABLE 's3://bucket/table' OLDER THAN 3 HOURS
        TRANSACTION LOG RETENTION 2 DAYS DRY RUN""",
        Purge(table=TABLE, older_than_hours=3, log_retention_hours=48, dry_run=True),
    ),
    ("PURGE INDEXTABLE 's3://bucket/table' DRY RUN", Purge(table=TABLE, dry_run=True)),
    ("TRUNCATE INDEXTABLES TIME TRAVEL 's3://bucket/table'", TruncateTimeTravel(table=TABLE)),
    (
        "TRUNCATE INDEXTABLES TIME TRAVEL 's3://bucket/table' DRY RUN",
        TruncateTimeTravel(table=TABLE, dry_run=True),
    ),
    ("INVALIDATE INDEXTABLES TRANSACTION LOG CACHE", InvalidateCache()),
    (
        "INVALIDATE INDEXTABLES TRANSACTION LOG CACHE FOR 's3://bucket/table'",
        InvalidateCache(table=TABLE),
    ),
    (
        "DROP INDEXTABLES PARTITIONS FROM 's3://bucket/table' WHERE date = '2024-01-01' AND n > 3",
        DropPartitions(table=TABLE, where="date = '2024-01-01' AND n > 3"),
    ),
    (
        "REPAIR INDEXFILES TRANSACTION LOG 's3://bucket/table' AT LOCATION 's3://bucket/new'",
        Repair(table=TABLE, location=TableName(text="s3://bucket/new")),
    ),
)


@pytest.mark.parametrize(("text", "statement"), STATEMENTS)
def test_every_statement_of_the_grammar_is_parsed(text: str, statement: Statement) -> None:
    assert parse_statement(text) == statement


@pytest.mark.parametrize(("text", "statement"), STATEMENTS)
def test_synonyms_case_comments_and_a_semicolon_do_not_matter(
    text: str, statement: Statement
) -> None:
    head, quote, rest = text.partition("'")
    for word in ("INDEXTABLES", "INDEXTABLE", "INDEXFILES"):
        head = head.replace(f"{word} ", "tantivy4spark /* a synonym */ ")
    assert parse_statement(f"  {head.lower()}{quote}{rest} -- so\n;") == statement


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("CHECKPOINT INDEXTABLES db.events", TableName(text="db.events", is_path=False)),
        ("CHECKPOINT INDEXTABLES `my db`.`e`", TableName(text="`my db`.`e`", is_path=False)),
        ('CHECKPOINT INDEXTABLES "/data/it\'s"', TableName(text="/data/it's")),
        ("CHECKPOINT INDEXTABLES '/data/it''s'", TableName(text="/data/it's")),
        ("CHECKPOINT INDEXTABLES '/data/it\\'s'", TableName(text="/data/it's")),
    ],
)
def test_a_table_is_a_path_in_quotes_or_a_name(text: str, name: TableName) -> None:
    assert parse_statement(text) == Checkpoint(table=name)


@pytest.mark.parametrize(
    "text",
    [
        "SELECT 1",
        "",
        ";",
        "CHECKPOINT",
        "DESCRIBE TABLE x",
        "DROP TABLE indextables",
        "TRUNCATE TABLE t",
        "SELECT 'CHECKPOINT INDEXTABLES x'",
        "'CHECKPOINT' INDEXTABLES x",
    ],
)
def test_other_statements_are_left_to_spark(text: str) -> None:
    assert parse_statement(text) is None


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("CHECKPOINT INDEXTABLES", "a table"),
        ("CHECKPOINT INDEXTABLES 'a' 'b'", "the end"),
        ("CHECKPOINT INDEXTABLES ''", "not empty"),
        ("CHECKPOINT INDEXTABLES 7", "a table"),
        ("CHECKPOINT INDEXTABLES db.", "the rest of the name"),
        ("DESCRIBE INDEXTABLES 'a'", "STATE or TRANSACTION LOG"),
        ("DESCRIBE INDEXTABLES TRANSACTION LOG 'a' INCLUDE", "the end"),
        ("PURGE INDEXTABLE 'a' OLDER THAN DAYS", "a number"),
        ("PURGE INDEXTABLE 'a' OLDER THAN 7 WEEKS", "DAYS or HOURS"),
        ("PURGE INDEXTABLE 'a' OLDER THAN -7 DAYS", "a number"),
        ("DROP INDEXTABLES PARTITIONS FROM 'a'", "WHERE"),
        ("DROP INDEXTABLES PARTITIONS FROM 'a' WHERE", "a condition"),
        ("REPAIR INDEXFILES TRANSACTION LOG 'a'", "AT LOCATION"),
        ("CHECKPOINT INDEXTABLES 'unterminated", "a table"),
    ],
)
def test_a_syntax_error_says_what_is_expected_and_where(text: str, expected: str) -> None:
    with pytest.raises(StatementSyntaxError) as caught:
        parse_statement(text)
    assert expected in caught.value.expected
    assert 0 <= caught.value.position <= len(text)
