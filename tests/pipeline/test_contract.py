"""Contracts: conversion from and to Arrow and DDL, and what each policy accepts."""

from pathlib import Path

import pyarrow as pa
import pytest

from headrace.errors import ContractViolatedError
from headrace.pipeline import Contract, Evolution, Project
from headrace.pipeline.arrow_ddl import parse_schema, parse_type, schema_text, type_text
from headrace.pipeline.contract import FINGERPRINT_KEY, Breach
from tests.pipeline.shop import edit, write_shop

PROMISED = "id BIGINT NOT NULL, name STRING, price DECIMAL(12,2)"


def contract(text: str, evolution: Evolution) -> Contract:
    return Contract.from_arrow(parse_schema(text), table="t", evolution=evolution)


S, A, R = Evolution.STRICT, Evolution.ADDITIVE, Evolution.RELAXED


@pytest.mark.parametrize(
    ("ddl", "breaches"),
    [
        (PROMISED, {S: [], A: [], R: []}),
        (
            "id BIGINT NOT NULL, name STRING",
            {p: [Breach.MISSING_COLUMN] for p in Evolution},
        ),
        (f"{PROMISED}, more INT", {S: [Breach.EXTRA_COLUMN], A: [], R: []}),
        (
            "name STRING, id BIGINT NOT NULL, price DECIMAL(12,2)",
            {S: [Breach.COLUMN_ORDER], A: [Breach.COLUMN_ORDER], R: []},
        ),
        (
            "id INT NOT NULL, name STRING, price DECIMAL(10,2)",
            {S: [Breach.TYPE_MISMATCH] * 2, A: [Breach.TYPE_MISMATCH] * 2, R: []},
        ),
        (
            "id BIGINT NOT NULL, name STRING, price DECIMAL(14,2)",
            {p: [Breach.TYPE_MISMATCH] for p in Evolution},
        ),
        (
            "id BIGINT NOT NULL, name BIGINT, price DECIMAL(12,2)",
            {p: [Breach.TYPE_MISMATCH] for p in Evolution},
        ),
        (
            "id BIGINT, name STRING, price DECIMAL(12,2)",
            {p: [Breach.NULLABILITY_MISMATCH] for p in Evolution},
        ),
        ("ID BIGINT NOT NULL, Name STRING, PRICE DECIMAL(12,2)", {S: [], A: [], R: []}),
    ],
)
def test_each_policy_reports_only_its_breaches(
    ddl: str, breaches: dict[Evolution, list[Breach]]
) -> None:
    for evolution, expected in breaches.items():
        violations = contract(PROMISED, evolution).check(parse_schema(ddl))
        assert [violation.breach for violation in violations] == expected


def test_partitioning_ordering_and_metadata_are_checked_if_given() -> None:
    promised = Contract.from_arrow(
        parse_schema("a INT, b INT"),
        table="t",
        partition_columns=("a",),
        ordering=("b",),
        metadata={"owner": "sales"},
    )
    schema = parse_schema("a INT, b INT")
    assert promised.check(schema, partition_columns=["A"], ordering=["b"]) == ()
    breaches = [
        violation.breach
        for violation in promised.check(
            schema, partition_columns=["b"], ordering=[], with_metadata=True
        )
    ]
    assert breaches == [
        Breach.PARTITION_MISMATCH,
        Breach.ORDERING_MISMATCH,
        Breach.METADATA_MISMATCH,
    ]


def test_a_contract_survives_arrow_and_back() -> None:
    promised = contract(PROMISED, R)
    again = Contract.from_arrow(promised.to_arrow(), table="t", evolution=R)
    assert again == promised
    assert promised.to_arrow().metadata[FINGERPRINT_KEY].decode() == again.fingerprint


def test_a_fingerprint_covers_the_columns_and_not_their_ddl() -> None:
    same = contract("id bigint not null,  name string, price decimal(12, 2)", A)
    assert same.fingerprint == contract(PROMISED, S).fingerprint
    assert contract(PROMISED.replace("12", "13"), S).fingerprint != same.fingerprint


def test_ddl_creates_a_table_that_fulfils_the_contract() -> None:
    promised = Contract.from_arrow(
        parse_schema(PROMISED), table="t", partition_columns=("id",), metadata={"owner": "sales"}
    )
    assert promised.ddl(location="/out/t") == (
        "CREATE TABLE t (\n"
        "  id BIGINT NOT NULL, name STRING, price DECIMAL(12,2)\n"
        ") USING DELTA\n"
        "PARTITIONED BY (id)\n"
        "LOCATION '/out/t'\n"
        "TBLPROPERTIES ('owner' = 'sales')"
    )


@pytest.mark.parametrize(
    "text",
    [
        *("TINYINT", "SMALLINT", "INT", "BIGINT", "FLOAT", "DOUBLE", "BOOLEAN", "STRING"),
        *("BINARY", "DATE", "TIMESTAMP", "TIMESTAMP_NTZ", "DECIMAL(38,10)", "VOID"),
        *("ARRAY<STRING>", "MAP<STRING, ARRAY<INT>>", "STRUCT<a: INT, `b c`: DATE>"),
        *("ARRAY<VOID>", "MAP<STRING, VOID>", "STRUCT<void: VOID>"),
    ],
)
def test_a_type_survives_text_and_back(text: str) -> None:
    assert type_text(parse_type(text)) == text
    columns = f"a INT NOT NULL, void {text}"
    assert schema_text(parse_schema(columns)) == columns


def test_types_of_other_engines_count_as_the_types_spark_reads_them_as() -> None:
    other = pa.schema([("a", pa.large_string()), ("b", pa.uint64()), ("c", pa.timestamp("ns"))])
    assert schema_text(other) == "a STRING, b BIGINT, c TIMESTAMP_NTZ"


def test_a_plan_that_breaks_a_contract_is_refused_with_every_violation(tmp_path: Path) -> None:
    root = write_shop(tmp_path / "shop")
    edit(root / "views" / "top.sql", "-- @mat", "-- @contract (name BIGINT, sum INT)\n-- @mat")
    with pytest.raises(ContractViolatedError) as caught:
        Project.load(root).plan()
    assert [violation.partition(" (")[0] for violation in caught.value.violations] == [
        "views/top.sql line 1 column 15: top.name: TYPE_MISMATCH",
        "views/top.sql line 1 column 28: top.sum: MISSING_COLUMN",
        "views/top.sql line 1 column 4: top.total: EXTRA_COLUMN",
    ]


def test_promises_that_only_the_data_can_prove_are_left_open(tmp_path: Path) -> None:
    root = write_shop(tmp_path / "shop")
    promised = "-- @contract (name STRING NOT NULL, total DECIMAL(20,2))\n-- @mat"
    edit(root / "views" / "top.sql", "-- @mat", promised)
    unproved = Project.load(root).plan()["top"].unproved
    assert [violation.column for violation in unproved] == ["name", "total"]
