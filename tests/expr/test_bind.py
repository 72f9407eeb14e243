from datetime import tzinfo
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from headrace.errors import PredicateTypeError, UnknownColumnError
from headrace.expr.bind import bind
from headrace.expr.node import Basis, BoundPredicate, Compare, IsNull, Opaque
from headrace.expr.parse import parse_predicate
from headrace.expr.reference import needs_statistics, statistics_paths
from headrace.protocol.schema import (
    ArrayType,
    DataType,
    DecimalType,
    Field,
    MapType,
    PrimitiveType,
    StructType,
)

MAPPED = {"delta.columnMapping.physicalName": "col-1"}


def _field(name: str, kind: str | DataType, **metadata: Any) -> Field:
    return Field(name, PrimitiveType(kind) if isinstance(kind, str) else kind, metadata=metadata)


SCHEMA = StructType(
    (
        _field("b", "byte"),
        _field("i", "integer"),
        _field("l", "long"),
        _field("f", "float"),
        _field("d", "double"),
        _field("m", DecimalType(10, 2)),
        _field("s", "string"),
        _field("o", "boolean"),
        _field("day", "date"),
        _field("at", "timestamp"),
        _field("wall", "timestamp_ntz"),
        _field("bin", "binary"),
        _field("v", "variant"),
        _field("arr", ArrayType(PrimitiveType("long"), contains_null=True)),
        _field("dict", MapType(PrimitiveType("string"), PrimitiveType("long"), True)),
        _field("items", ArrayType(StructType((_field("n", "long"),)), contains_null=True)),
        _field("de", "string", __COLLATIONS={"de": "ICU.de"}),
        _field("lc", "string collate UTF8_LCASE"),
        _field("ch", "string", __CHAR_VARCHAR_TYPE_STRING="char(5)"),
        _field("vc", "string", __CHAR_VARCHAR_TYPE_STRING="varchar(5)"),
        _field(
            "was", "double", **{"delta.typeChanges": [{"fromType": "float", "toType": "double"}]}
        ),
        _field("p", "date"),
        _field("Mapped", "long", **MAPPED),
        _field(
            "st",
            StructType((_field("Inner", StructType((_field("x.y", "long", **MAPPED),))),)),
        ),
    )
)


def _bind(text: str) -> BoundPredicate:
    return bind(parse_predicate(text), schema=SCHEMA, partition_columns=["P"])


@pytest.mark.parametrize(
    ("text", "bound"),
    [
        ("i > 2.5", "i > 2"),
        ("i >= 2.5", "i >= 3"),
        ("i < 2.5", "i < 3"),
        ("i <= 2.5", "i <= 2"),
        ("i = 2.5", "i IS NULL AND NULL"),
        ("i <> 2.5", "i IS NOT NULL OR NULL"),
        ("i <=> 2.5", "FALSE"),
        ("i = 2.0", "i = 2"),
        ("i = 2e0", "i = 2"),
        ("i = ' 2 '", "i = 2"),
        ("i = -2.5e0", "i IS NULL AND NULL"),
        ("i < double('nan')", "i IS NOT NULL OR NULL"),
        ("i > double('inf')", "i > 2147483647"),
        ("i >= double('-inf')", "i >= -2147483648"),
        ("b < 1000", "b IS NOT NULL OR NULL"),
        ("b > 1000", "b > 127"),
        ("b >= 1000", "b IS NULL AND NULL"),
        ("b = 1000", "b IS NULL AND NULL"),
        ("b > -1000", "b IS NOT NULL OR NULL"),
        ("b <=> 1000", "FALSE"),
        # Above 2**53, several longs map to one double.
        ("l = 9007199254740992e0", "l >= 9007199254740992 AND l <= 9007199254740993"),
        ("l < 9007199254740992e0", "l < 9007199254740992"),
        ("l > 9007199254740992e0", "l > 9007199254740993"),
        ("f = 0.1", "f = 0.1D"),
        ("f = 0.1F", "f = 0.10000000149011612D"),
        ("f = '0.5'", "f = 0.5D"),
        ("d = 1", "d = 1.0D"),
        ("d = 'NaN'", "d = DOUBLE('nan')"),
        ("m = 1", "m = 1.00BD"),
        ("m > 1.234", "m > 1.23BD"),
        ("m = 1.234", "m IS NULL AND NULL"),
        ("m = 0.1e0", "m = 0.10BD"),
        ("m = '0.1'", "m = 0.10BD"),
        ("m < 1e20", "m IS NOT NULL OR NULL"),
        ("s = 'a'", "s = 'a'"),
        ("o = true", "o = TRUE"),
        ("o = 'YES'", "o = TRUE"),
        ("o", "o = TRUE"),
        ("day = '2024-01-02'", "day = DATE '2024-01-02'"),
        ("day = '2024-01-02 10:00:00'", "day = DATE '2024-01-02'"),
        ("day > TIMESTAMP '2024-01-02 10:00:00'", "day > DATE '2024-01-02'"),
        ("day >= TIMESTAMP '2024-01-02 10:00:00'", "day >= DATE '2024-01-03'"),
        ("day = TIMESTAMP '2024-01-02 10:00:00'", "day IS NULL AND NULL"),
        ("day = TIMESTAMP '2024-01-02 02:00:00+02:00'", "day = DATE '2024-01-02'"),
        ("at = '2024-01-02'", "at = TIMESTAMP '2024-01-02 00:00:00+00:00'"),
        ("at = DATE '2024-01-02'", "at = TIMESTAMP '2024-01-02 00:00:00+00:00'"),
        (
            "at = TIMESTAMP '2024-01-02 00:00:00+02:00'",
            "at = TIMESTAMP '2024-01-01 22:00:00+00:00'",
        ),
        ("wall = '2024-01-02 10:00:00'", "wall = TIMESTAMP_NTZ '2024-01-02 10:00:00'"),
        ("wall = '2024-01-02 10:00:00+02:00'", "wall = TIMESTAMP_NTZ '2024-01-02 10:00:00'"),
        (
            "wall = TIMESTAMP '2024-01-02 10:00:00+02:00'",
            "wall = TIMESTAMP_NTZ '2024-01-02 08:00:00'",
        ),
        ("i = NULL", "NULL"),
        ("i <=> NULL", "i IS NULL"),
        ("bin = NULL", "NULL"),
        ("i IN (1, 2.0, 2.5, 1)", "i IN (1, 2)"),
        ("i IN (2.5)", "i IS NULL AND NULL"),
        ("i IN (2.5, NULL)", "NULL"),
        ("i IN (1, NULL)", "i IN (1, NULL)"),
        ("i IN (NULL)", "NULL"),
        ("vc = 'a'", "vc = 'a'"),
        ("arr IS NULL", "arr IS NULL"),
        ("st.INNER.`X.Y` = 1", "st.Inner.`x.y` = 1"),
    ],
)
def test_literals_become_values_of_the_column_type(text: str, bound: str) -> None:
    assert str(_bind(text)) == bound


@pytest.mark.parametrize(
    "text",
    [
        "bin = X'01'",
        "v = 1",
        "arr = 1",
        "dict = 1",
        "st = 1",
        "st IS NULL",
        "de = 'a'",
        "lc = 'a'",
        "ch = 'a'",
        "de LIKE 'a%'",
        "i LIKE '1%'",
        "s = 1",
        "s > DATE '2024-01-01'",
        "s IN ('a', 1)",
        "l IN (9007199254740993, 1e0)",  # as doubles, several longs are equal
        "f = '0.1'",
        "day = '12024-01-01'",
        "day IN ('2024-01-01', DATE '2024-01-02')",
        "at = '2024-01-01 00:00:00 Europe/Zurich'",
        "items.n = 1",
        "dict.key = 1",
        "was > 3.4",  # 3.4 as a float is greater than the 3.4 of its statistics
    ],
)
def test_conditions_compared_by_other_rules_stay_opaque(text: str) -> None:
    assert isinstance(_bind(text), Opaque)


@pytest.mark.parametrize(
    "text",
    [
        "i = 'abc'",
        "i = '2.5'",
        "i = '9223372036854775808'",
        "i = true",
        "o = 1",
        "o = 'maybe'",
        "i = DATE '2024-01-01'",
        "day = 1",
        "day = 'abc'",
        "at = 1.5",
        "at = true",
        "m = 'abc'",
        "d = 'abc'",
        "d = true",
        "i = X'01'",
        "i",
        "s AND o",
        "i IN (1, 'abc')",
        "m IN (1e0, true)",
    ],
)
def test_incomparable_operands_are_a_type_error(text: str) -> None:
    with pytest.raises(PredicateTypeError):
        _bind(text)


def test_a_type_error_names_column_type_and_literal() -> None:
    with pytest.raises(PredicateTypeError) as caught:
        _bind("st.inner.`x.y` = 'abc'")
    assert caught.value.fields == {
        "column": "st.Inner.`x.y`",
        "type_name": "long",
        "literal": "'abc'",
    }


@pytest.mark.parametrize(
    ("text", "column", "known"),
    [
        ("nope = 1", "nope", "b"),
        ("f(nope)", "nope", "b"),
        ("i > nope", "nope", "b"),
        ("nope = NULL", "nope", "b"),
        ("st.nope = 1", "st.nope", "st.Inner"),
        ("i.x = 1", "i.x", None),
        ("items.nope = 1", "items.nope", "items.n"),
        ("st.inner.x.y = 1", "st.inner.x.y", "st.inner.`x.y`"),
    ],
)
def test_every_name_must_be_a_column(text: str, column: str, known: str | None) -> None:
    with pytest.raises(UnknownColumnError) as caught:
        _bind(text)
    assert caught.value.column == column
    assert caught.value.known[:1] == (() if known is None else (known,))


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("Mapepd = 1", "; did you mean Mapped?"),
        ("st.iner.x = 1", "; did you mean st.Inner?"),
        ("s = Bern", "; if it is a text, quote it: 'Bern'"),
    ],
)
def test_the_error_for_an_unknown_name_says_what_may_be_meant(text: str, hint: str) -> None:
    with pytest.raises(UnknownColumnError) as caught:
        _bind(text)
    assert str(caught.value).endswith(hint)


def test_columns_are_bound_to_their_physical_names_rule_29() -> None:
    flat, nested = _bind("mapped = 1"), _bind("st.Inner.`x.y` IS NULL")
    assert isinstance(flat, Compare)
    assert isinstance(nested, IsNull)
    assert (flat.column.path, flat.column.physical_path) == (("Mapped",), ("col-1",))
    assert nested.column.physical_path == ("st", "Inner", "col-1")


def test_only_partition_columns_are_exact() -> None:
    predicate = _bind("p = '2024-01-01'")
    assert isinstance(predicate, Compare)
    assert predicate.column.is_partition
    assert not needs_statistics(predicate)


def test_the_leaves_are_those_whose_statistics_can_help() -> None:
    predicate = _bind("p = '2024-01-01' AND (l > 1 OR NOT l < 0) AND f(i) AND mapped IS NULL")
    assert statistics_paths(predicate) == (("l",), ("col-1",))


@pytest.mark.parametrize(
    ("text", "bound"),
    [
        # Spark's common type cannot hold all digits, so literals are rounded to it.
        ("w = 123456789012345678.12345678901", "w = 123456789012345678.1234567890BD"),
        ("w = 5.00000000005", "w = 5.0000000001BD"),
        ("w < 5.00000000001", "w < 5.0000000000BD"),
        ("w <> 5.00000000001", "w <> 5.0000000000BD"),
        ("l = 5.00000000000000000000000000000000001", "l = 5"),
        ("l > 5.00000000000000000000000000000000001", "l > 5"),
        # The nearest value of the common type, which this column can also hold.
        (
            "w = 5000000000000000000000000000.00000000004",
            "w = 5000000000000000000000000000.0000000000",
        ),
        # Beyond the range of a long: the answer is the same for every row, even nulls.
        ("l < 99999999999999999999", "TRUE"),
        ("l >= 99999999999999999999", "FALSE"),
        ("i > -99999999999999999999.5", "TRUE"),
        ("99999999999999999999 > l", "TRUE"),
        ("l = 99999999999999999999", "l IS NULL AND NULL"),
        ("l <=> 99999999999999999999", "FALSE"),
        ("i < 3000000000", "i IS NOT NULL OR NULL"),
        # If the text does not show which of Spark's rules applies, none is used.
        ("l < CAST('99999999999999999999' AS DECIMAL(20,0))", None),
        ("v = CAST(5 AS BIGINT)", None),
        ("w IN (5.00000000001)", None),
        ("w IN (5, 7.5)", "w IN (5.0000000000BD, 7.5000000000BD)"),
    ],
)
def test_decimals_are_compared_in_the_common_type_of_spark(text: str, bound: str | None) -> None:
    schema = StructType(
        (
            _field("w", DecimalType(38, 10)),
            _field("v", DecimalType(38, 20)),
            _field("l", PrimitiveType("long")),
            _field("i", PrimitiveType("integer")),
        )
    )
    predicate = bind(parse_predicate(text), schema=schema, partition_columns=(), basis=Basis.VALUES)
    assert (None if isinstance(predicate, Opaque) else str(predicate)) == bound


NEW_YORK = ZoneInfo("America/New_York")


@pytest.mark.parametrize(
    ("text", "zone", "bound"),
    [
        ("ts = '2024-01-02 10:00:00'", NEW_YORK, "ts = TIMESTAMP '2024-01-02 15:00:00+00:00'"),
        ("ts = '2024-01-02 10:00:00Z'", NEW_YORK, "ts = TIMESTAMP '2024-01-02 10:00:00+00:00'"),
        ("ts < DATE '2024-07-02'", NEW_YORK, "ts < TIMESTAMP '2024-07-02 04:00:00+00:00'"),
        ("d < TIMESTAMP '2024-07-02 01:00:00Z'", NEW_YORK, "d < DATE '2024-07-02'"),
        ("d = TIMESTAMP '2024-07-02 04:00:00Z'", NEW_YORK, "d = DATE '2024-07-02'"),
        ("wall = '2024-07-02 04:00:00'", NEW_YORK, "wall = TIMESTAMP_NTZ '2024-07-02 04:00:00'"),
        ("wall = TIMESTAMP '2024-07-02 04:00:00Z'", NEW_YORK, None),
        ("ts = '2024-01-02 10:00:00'", None, None),
        ("ts = '2024-01-02 10:00:00Z'", None, "ts = TIMESTAMP '2024-01-02 10:00:00+00:00'"),
        ("d = TIMESTAMP '2024-07-02 04:00:00'", None, None),
    ],
)
def test_times_without_a_zone_are_those_of_the_session(
    text: str, zone: tzinfo | None, bound: str | None
) -> None:
    names = (("ts", "timestamp"), ("d", "date"), ("wall", "timestamp_ntz"))
    schema = StructType(tuple(_field(name, PrimitiveType(kind)) for name, kind in names))
    predicate = parse_predicate(text)
    bound_predicate = bind(
        predicate, schema=schema, partition_columns=(), basis=Basis.VALUES, zone=zone
    )
    assert (None if isinstance(bound_predicate, Opaque) else str(bound_predicate)) == bound
    if zone is None and bound is None:  # its text does not bind either
        again = bind(parse_predicate(str(bound_predicate)), schema=schema, partition_columns=())
        assert isinstance(again, Opaque)
