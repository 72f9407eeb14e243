"""Which files are skipped, which are kept, and where the evidence comes from."""

import json
from dataclasses import dataclass, field
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from headrace.expr.bind import bind
from headrace.expr.parse import parse_predicate
from headrace.protocol.schema import DataType, DecimalType, Field, PrimitiveType, StructType
from headrace.replay.skipping import keep_mask


def _field(name: str, kind: str | DataType, physical: str | None = None) -> Field:
    metadata = {"delta.columnMapping.physicalName": physical} if physical else {}
    return Field(name, PrimitiveType(kind) if isinstance(kind, str) else kind, metadata=metadata)


SCHEMA = StructType(
    (
        _field("x", "long"),
        _field("s", "string"),
        _field("d", "double"),
        _field("f", "float"),
        _field("m", DecimalType(20, 2)),
        _field("at", "timestamp"),
        _field("o", "boolean"),
        _field("bin", "binary"),
        _field("part", "integer"),
        _field("region", "string"),
        _field("since", "timestamp"),
        _field("ratio", "double"),
        _field("raw", "binary"),
        _field("mapped", "long", "col-7"),
        _field("mapped_part", "string", "col-8"),
        _field("st", StructType((_field("in", StructType((_field("n", "long", "col-9"),))),))),
    )
)
PARTITIONS = ["part", "region", "since", "ratio", "raw", "mapped_part"]


@dataclass
class Files:
    """Files, as in a batch of the log."""

    stats: list[str | None] = field(default_factory=list)
    partitions: dict[str, list[str | None]] = field(default_factory=dict)
    parsed: dict[tuple[str, ...], pa.Array] = field(default_factory=dict)
    size: int = 1
    has_json: bool = True
    asked: int = 0

    def __len__(self) -> int:
        return len(self.stats) or self.size

    def partition_text(self, physical_name: str) -> pa.StringArray:
        return pa.array(self.partitions.get(physical_name, [None] * len(self)), pa.string())

    def stats_json(self) -> pa.StringArray | None:
        self.asked += 1
        if not self.has_json:
            return None
        return pa.array(self.stats or [None] * len(self), pa.string())

    def stats_parsed(self, path: tuple[str, ...]) -> pa.Array | None:
        return self.parsed.get(path)


def _keep(where: str, files: Files) -> list[bool]:
    predicate = bind(parse_predicate(where), schema=SCHEMA, partition_columns=PARTITIONS)
    mask = keep_mask(predicate, files)
    assert isinstance(mask, pa.BooleanArray)
    assert mask.null_count == 0
    keeps: list[bool] = mask.to_pylist()
    return keeps


def _stats(low: Any, high: Any, nulls: int = 0, records: int = 10, **more: Any) -> str:
    return json.dumps(
        {"numRecords": records, "minValues": low, "maxValues": high, **more}
        | {"nullCount": dict.fromkeys(low, nulls)}
    )


@pytest.mark.parametrize(
    ("where", "is_kept"),
    [
        ("x = 5", True),
        ("x = 8", False),
        ("x > 7", False),
        ("x < 3", False),
        ("x IN (1, 2, 8, 9)", False),
        ("NOT (x BETWEEN 3 AND 7)", False),
        ("x IS NULL", False),
        ("x <> 5", True),
        ("x = 2.5", False),
        ("s = 'zebra'", False),
        ("s LIKE 'z%'", False),
        ("s LIKE 'ma%'", True),
        ("x = 5 AND s = 'zebra'", False),
        ("x = 5 OR s = 'zebra'", True),
        ("x = 8 OR s = 'zebra'", False),
        ("x = 8 AND f(x)", False),
        ("x = 8 OR f(x) > 1", True),
        ("bin = X'00'", True),
        ("NULL", False),
        ("FALSE", False),
        ("TRUE", True),
    ],
)
def test_only_what_is_proven_is_skipped_rule_32(where: str, is_kept: bool) -> None:  # noqa: FBT001
    stats = _stats({"x": 3, "s": "apple"}, {"x": 7, "s": "mango"})
    assert _keep(where, Files(stats=[stats])) == [is_kept]


@pytest.mark.parametrize("where", ["x = 5", "x IS NULL", "x IS NOT NULL", "NOT (x = 5)", "x <=> 5"])
@pytest.mark.parametrize(
    "stats", [None, "", "{}", "{bad", '{"numRecords":5}', '{"minValues":{},"nullCount":{"x":null}}']
)
def test_missing_statistics_keep_the_file_rule_32(where: str, stats: str | None) -> None:
    assert _keep(where, Files(stats=[stats])) == [True]


@pytest.mark.parametrize(
    ("nulls", "where", "is_kept"),
    [
        (0, "x IS NULL", False),
        (0, "x IS NOT NULL", True),
        (4, "x IS NULL", True),
        (4, "x IS NOT NULL", True),
        (10, "x IS NULL", True),
        (10, "x IS NOT NULL", False),
        (10, "x = 5", False),
        (10, "x <> 5", False),
        (11, "x = 5", True),
    ],
)
@pytest.mark.parametrize("tight", [{}, {"tightBounds": True}, {"tightBounds": False}])
def test_null_counts_prove_something_only_at_their_ends_rule_30(
    nulls: int,
    where: str,
    is_kept: bool,  # noqa: FBT001
    tight: dict[str, bool],
) -> None:
    low, high = (None, None) if nulls == 10 else (3, 7)
    stats = _stats({"x": low}, {"x": high}, nulls=nulls, **tight)
    assert _keep(where, Files(stats=[stats])) == [is_kept]


def test_a_column_of_nulls_with_extremes_contradicts_itself_and_keeps_its_file() -> None:
    parsed = {
        ("numRecords",): pa.array([10]),
        ("minValues", "x"): pa.array([3]),
        ("maxValues", "x"): pa.array([7]),
        ("nullCount", "x"): pa.array([10]),
    }
    for files in (Files(stats=[_stats({"x": 3}, {"x": 7}, nulls=10)]), Files(parsed=parsed)):
        assert _keep("x = 5", files) == [True]
        assert _keep("x = 8", files) == [False]


def test_wide_bounds_are_still_bounds_rule_30() -> None:
    stats = _stats({"x": 3}, {"x": 7}, nulls=4, tightBounds=False)
    assert _keep("x = 8", Files(stats=[stats])) == [False]


def test_records_of_files_with_a_vector_are_physical_rows_rule_34() -> None:
    stats = _stats({"x": 3}, {"x": 7}, nulls=9, records=10, tightBounds=False)
    assert _keep("x IS NOT NULL", Files(stats=[stats])) == [True]


def test_truncated_statistics_still_enclose_their_values_rule_31() -> None:
    long, time = "m" * 32, "2024-01-01T00:00:00.123Z"
    stats = _stats({"s": "a", "at": time}, {"s": long, "at": time})
    files = Files(stats=[stats])
    assert _keep(f"s = '{long}zzz'", files) == [True]
    assert _keep(f"s > '{long}'", files) == [True]
    assert _keep("s > 'n'", files) == [False]
    assert _keep("at = '2024-01-01 00:00:00.123999'", files) == [True]
    assert _keep("at >= '2024-01-01 00:00:00.124'", files) == [False]


@pytest.mark.parametrize(
    ("where", "is_kept"),
    [("d > 7", True), ("NOT (d <= 7)", True), ("d <> 3", True), ("d = 8", False), ("d < 3", False)],
)
def test_no_maximum_excludes_nan(where: str, is_kept: bool) -> None:  # noqa: FBT001
    assert _keep(where, Files(stats=[_stats({"d": 3.0}, {"d": 7.0})])) == [is_kept]


def test_zero_has_two_signs() -> None:
    files = Files(stats=[_stats({"d": 0.0}, {"d": 0.0}), _stats({"d": -0.0}, {"d": -0.0})])
    assert _keep("d = -0.0D", files) == [True, True]
    assert _keep("d < 0.0D", files) == [False, False]


def test_a_float_is_compared_as_the_double_that_it_is() -> None:
    files = Files(stats=[_stats({"f": 0.1}, {"f": 0.1})])
    assert _keep("f = 0.10000000149011612D", files) == [True]
    assert _keep("f = 0.1D", files) == [False]


def test_contradictory_extremes_prove_nothing() -> None:
    files = Files(stats=[_stats({"x": 9}, {"x": 1}), _stats({"x": 1}, {"x": 9})])
    assert _keep("x = 100", files) == [True, False]


def test_nested_columns_are_found_by_their_physical_names_rule_29() -> None:
    stats = json.dumps(
        {
            "numRecords": 10,
            "minValues": {"col-7": 3, "st": {"in": {"col-9": 3}}},
            "maxValues": {"col-7": 7, "st": {"in": {"col-9": 7}}},
            "nullCount": {"col-7": 0, "st": {"in": {"col-9": 0}}},
        }
    )
    files = Files(stats=[stats, stats], partitions={"col-8": ["a", "b"]})
    assert _keep("mapped = 8", files) == [False, False]
    assert _keep("st.in.n = 8", files) == [False, False]
    assert _keep("st.in.n = 5 AND mapped_part = 'b'", files) == [False, True]


@pytest.mark.parametrize(
    ("where", "are_kept"),
    [
        ("part = 10", [True, False, False, False, True]),
        ("part > 9", [True, False, False, False, True]),
        ("part < 10", [False, True, False, False, True]),
        ("part IS NULL", [False, False, True, True, True]),
        ("part <=> NULL", [False, False, True, True, True]),
        ("part IS NOT NULL", [True, True, False, False, True]),
        ("part <> 10", [False, True, False, False, True]),
        ("part NOT IN (10, NULL)", [False, False, False, False, False]),
        ("NOT (part = 10 OR part = 9)", [False, False, False, False, True]),
    ],
)
def test_partition_values_are_exact_rule_27(where: str, are_kept: list[bool]) -> None:
    files = Files(partitions={"part": ["10", "9", "", None, "ten"]}, size=5)
    assert _keep(where, files) == are_kept


def test_partition_timestamps_have_two_encodings_rule_28() -> None:
    files = Files(
        partitions={"since": ["2024-01-01 10:00:00", "2024-01-01T12:00:00+02:00"]}, size=2
    )
    assert _keep("since = TIMESTAMP '2024-01-01 10:00:00Z'", files) == [True, True]
    assert _keep("since > '2024-01-01 10:00:00'", files) == [False, False]


def test_a_partition_may_be_nan_or_of_a_type_that_is_not_compared() -> None:
    files = Files(partitions={"ratio": ["NaN", "1.5"], "raw": ["a", None]}, size=2)
    assert _keep("ratio > 5", files) == [True, False]
    assert _keep("raw IS NULL", files) == [False, True]
    assert _keep("raw = X'00'", files) == [True, True]


def test_statistics_of_files_that_a_partition_excludes_are_not_decoded() -> None:
    inside, outside = _stats({"x": 3}, {"x": 7}), _stats({"x": 30}, {"x": 70})
    files = Files(stats=[inside, outside, inside], partitions={"region": ["eu", "eu", "us"]})
    assert _keep("region = 'eu' AND x = 5", files) == [True, False, False]
    files.asked = 0
    assert _keep("region = 'nowhere' AND x = 5", files) == [False, False, False]
    assert files.asked == 0


def _parsed(**leaves: pa.Array) -> dict[tuple[str, ...], pa.Array]:
    names = {"low": ("minValues", "x"), "high": ("maxValues", "x"), "nulls": ("nullCount", "x")}
    return {names.get(key, (key,)): array for key, array in leaves.items()}


def test_parsed_statistics_need_no_text_rule_33() -> None:
    parsed = _parsed(
        numRecords=pa.array([10, 10]),
        low=pa.array([3, 30], pa.int64()),
        high=pa.array([7, 70], pa.int64()),
        nulls=pa.array([0, 0]),
    )
    assert _keep("x = 5", Files(parsed=parsed, size=2, has_json=False)) == [True, False]
    assert _keep("x = 5", Files(parsed=parsed, size=2)) == [True, False]


def test_the_text_completes_parsed_statistics_rule_33() -> None:
    parsed = _parsed(
        numRecords=pa.array([10, None, 10, None]),
        low=pa.array([3, None, None, None], pa.int64()),
        high=pa.array([7, None, None, None], pa.int64()),
        nulls=pa.array([0, None, 10, None]),
    )
    text = _stats({"x": 30}, {"x": 70})
    files = Files(stats=[None, text, None, None], parsed=parsed)
    assert _keep("x = 5", files) == [True, False, False, True]
    assert _keep("x = 50", files) == [False, True, False, True]


def test_the_text_completes_a_missing_extreme_rule_33() -> None:
    parsed = _parsed(
        numRecords=pa.array([10]),
        low=pa.array([3], pa.int64()),
        high=pa.array([None], pa.int64()),
        nulls=pa.array([0]),
    )
    assert _keep("x = 50", Files(parsed=parsed)) == [True]
    assert _keep("x = 50", Files(stats=[_stats({"x": 3}, {"x": 7})], parsed=parsed)) == [False]


@pytest.mark.parametrize(
    ("name", "low", "high", "inside", "outside"),
    [
        ("x", pa.array([3], pa.int32()), pa.array([7], pa.int32()), "5", "8"),
        ("d", pa.array([3.0], pa.float32()), pa.array([7.0], pa.float32()), "5", "8"),
        (
            "m",
            pa.array([Decimal("3.0")], pa.decimal128(5, 1)),
            pa.array([Decimal("7.0")], pa.decimal128(5, 1)),
            "5",
            "8",
        ),
        (
            "at",
            pa.array([datetime(2024, 1, 1, tzinfo=UTC)], pa.timestamp("ms", "UTC")),
            pa.array([datetime(2024, 1, 3, tzinfo=UTC)], pa.timestamp("ms", "UTC")),
            "'2024-01-02'",
            "'2024-01-04'",
        ),
        ("s", pa.array(["a"], pa.large_string()), pa.array(["c"], pa.large_string()), "'b'", "'d'"),
    ],
)
def test_parsed_statistics_may_be_of_an_older_type_rule_33(
    name: str, low: pa.Array, high: pa.Array, inside: str, outside: str
) -> None:
    parsed = {
        ("numRecords",): pa.array([10]),
        ("nullCount", name): pa.array([0]),
        ("minValues", name): low,
        ("maxValues", name): high,
    }
    assert _keep(f"{name} = {inside}", Files(parsed=parsed)) == [True]
    assert _keep(f"{name} = {outside}", Files(parsed=parsed)) == [False]


def test_parsed_statistics_of_an_unusable_type_are_ignored_rule_33() -> None:
    parsed = _parsed(
        numRecords=pa.array([10]), low=pa.array(["3"]), high=pa.array(["7"]), nulls=pa.array([0])
    )
    assert _keep("x = 50", Files(parsed=parsed)) == [True]
    text = _stats({"x": 30}, {"x": 70})
    assert _keep("x = 5", Files(stats=[text], parsed=parsed)) == [False]


def test_an_empty_batch_keeps_no_files() -> None:
    files = Files(size=0)
    assert _keep("x = 5 AND region = 'eu'", files) == []
    assert _keep("x = 5", files) == []
    assert _keep("region = 'eu'", files) == []
