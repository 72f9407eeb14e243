"""Shredded variants are reassembled from typed values, residual values, or both."""

from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any
from uuid import UUID

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.errors import CorruptDataFileError, UnsupportedFeatureError
from headrace.protocol import variant
from tests.listing import open_snapshot
from tests.rows.lake import array, field, struct, write_table
from tests.rows.variant import decode, metadata

META = metadata("a", "b", "c", "rest")


def group(typed: pa.DataType) -> pa.DataType:
    return pa.struct([("value", pa.binary()), ("typed_value", typed)])


def shredded(typed: pa.DataType) -> pa.DataType:
    return pa.struct(
        [
            pa.field("metadata", pa.binary(), nullable=False),
            pa.field("value", pa.binary()),
            pa.field("typed_value", typed),
        ]
    )


def read(folder: Path, typed: pa.DataType, rows: list[dict[str, Any] | None]) -> list[Any]:
    """Return the variants with these parts, as the reader returns them."""
    parts = [None if row is None else {"metadata": META, **row} for row in rows]
    data = pa.table({"v": pa.array(parts, shredded(typed))})
    write_table(folder, [field("v", "variant")], [data])
    variants = open_snapshot(folder).rows().read_all()["v"].to_pylist()
    return [None if v is None else decode(v["value"], v["metadata"]) for v in variants]


@pytest.mark.parametrize(
    ("typed", "value"),
    [
        (pa.int8(), -7),
        (pa.int16(), 300),
        (pa.int32(), -70_000),
        (pa.int64(), 2**62),
        (pa.float32(), 1.5),
        (pa.float64(), -0.1),
        (pa.bool_(), True),
        (pa.bool_(), False),
        (pa.string(), "short"),
        (pa.string(), "ü" * 40),
        (pa.binary(), b"\x00\xff"),
        (pa.date32(), date(2026, 3, 1)),
        (pa.timestamp("us", "UTC"), datetime(2026, 3, 1, 12, tzinfo=UTC)),
        (pa.timestamp("us"), datetime(1969, 12, 31, 23)),  # noqa: DTZ001
        (pa.decimal128(9, 2), Decimal("-1.25")),
        (pa.decimal128(18, 4), Decimal("12345678901.5000")),
        (pa.decimal128(38, 0), Decimal(10) ** 37),
    ],
)
def test_a_typed_value_is_returned_whole(tmp_path: Path, typed: pa.DataType, value: Any) -> None:
    rows = [{"typed_value": value}, {"value": variant.encode_text("other")}, None, {}]
    assert read(tmp_path, typed, rows) == [value, "other", None, None]


def test_sixteen_bytes_are_a_uuid(tmp_path: Path) -> None:
    name = UUID("d2c639aa-8816-431a-aaf6-d3fe2512ff61")
    assert read(tmp_path, pa.binary(16), [{"typed_value": name.bytes}]) == [name]


def test_an_object_consists_of_its_typed_and_residual_fields(tmp_path: Path) -> None:
    typed = pa.struct([("c", group(pa.string())), ("a", group(pa.int64()))])
    left = variant.encode_object({"rest": variant.encode_integer(9)}, META)
    rows: list[dict[str, Any] | None] = [
        {"typed_value": {"a": {"typed_value": 1}, "c": {"typed_value": "x"}}},
        {"typed_value": {"a": {"value": variant.NULL}, "c": {}}, "value": left},
        {"typed_value": {"a": {}, "c": {}}},
        {"value": left},
        {"value": variant.encode_integer(5)},
    ]
    assert read(tmp_path, typed, rows) == [
        {"a": 1, "c": "x"},
        {"a": None, "rest": 9},
        {},
        {"rest": 9},
        5,
    ]


def test_arrays_and_objects_may_be_nested(tmp_path: Path) -> None:
    inner = pa.struct([("b", group(pa.list_(group(pa.int64()))))])
    rows: list[dict[str, Any] | None] = [
        {
            "typed_value": [
                {"typed_value": {"b": {"typed_value": [{"typed_value": 1}, {}]}}},
                {"value": variant.encode_text("odd")},
                {"typed_value": {"b": {}}},
            ]
        },
        {"typed_value": []},
        {"value": variant.encode_boolean(True)},
    ]
    assert read(tmp_path, pa.list_(group(inner)), rows) == [
        [{"b": [1, None]}, "odd", {}],
        [],
        True,
    ]


def test_variants_in_structs_and_lists_are_reassembled_too(tmp_path: Path) -> None:
    kind = pa.list_(pa.struct([("v", shredded(pa.int64()))]))
    rows = [[{"v": {"metadata": META, "typed_value": 4}}, {"v": None}], None]
    fields = [field("l", array(struct(field("v", "variant"))))]
    write_table(tmp_path, fields, [pa.table({"l": pa.array(rows, kind)})])
    [first, second] = open_snapshot(tmp_path).rows().read_all()["l"].to_pylist()
    assert second is None
    assert [e["v"] and decode(e["v"]["value"], META) for e in first] == [4, None]


def test_conditions_on_nulls_filter_shredded_variants(tmp_path: Path) -> None:
    parts = [{"metadata": META, "typed_value": 1}, None]
    data = pa.table({"n": [1, 2], "v": pa.array(parts, shredded(pa.int64()))})
    write_table(tmp_path, [field("n", "long"), field("v", "variant")], [data])
    table = open_snapshot(tmp_path).rows(where="v IS NULL", columns=["n"]).read_all()
    assert table["n"].to_pylist() == [2]


def test_a_key_that_the_metadata_lacks_is_damage(tmp_path: Path) -> None:
    typed = pa.struct([("nobody", group(pa.int64()))])
    with pytest.raises(CorruptDataFileError, match="nobody"):
        read(tmp_path, typed, [{"typed_value": {"nobody": {"typed_value": 1}}}])


def test_the_residual_value_of_an_object_is_an_object(tmp_path: Path) -> None:
    typed = pa.struct([("a", group(pa.int64()))])
    left = variant.encode_integer(5)
    with pytest.raises(CorruptDataFileError, match="not an object"):
        read(tmp_path, typed, [{"typed_value": {"a": {}}, "value": left}])


def test_a_type_that_variants_do_not_have_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UnsupportedFeatureError, match="shredded"):
        read(tmp_path, pa.duration("us"), [{"typed_value": 1}])


values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**63 - 1) | st.text(max_size=70),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=3), inner),
    max_leaves=12,
)


def _keys(value: Any) -> set[str]:
    if isinstance(value, dict):
        return set(value).union(*map(_keys, value.values()))
    return set().union(*map(_keys, value)) if isinstance(value, list) else set()


def _encode(value: Any, meta: bytes) -> bytes:
    match value:
        case None:
            return variant.NULL
        case bool():
            return variant.encode_boolean(value)
        case int():
            return variant.encode_integer(value)
        case str():
            return variant.encode_text(value)
        case list():
            return variant.encode_array([_encode(part, meta) for part in value])
        case _:
            fields = {key: _encode(part, meta) for key, part in value.items()}
            return variant.encode_object(fields, meta)


@pytest.mark.property
@given(value=values, large=st.sampled_from([0, 300]))
def test_encoded_variants_are_decoded_unchanged(value: Any, large: int) -> None:
    whole = [value, ["many"] * large, {f"k{i}": i for i in range(large)}]
    names = sorted(_keys(whole))
    raw = [name.encode() for name in names]
    offsets = [sum(map(len, raw[:end])) for end in range(len(raw) + 1)]
    meta = (
        bytes([1 | 3 << 6])
        + b"".join(number.to_bytes(4, "little") for number in (len(raw), *offsets))
        + b"".join(raw)
    )
    encoded = _encode(whole, meta)
    assert decode(encoded, meta) == whole
    [_, _, last] = whole
    fields = variant.object_fields(_encode(last, meta), meta)
    assert {key: decode(part, meta) for key, part in fields.items()} == last
