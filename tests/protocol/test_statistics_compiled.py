"""The compiled loop reads what the row decoder reads, or declines."""

import json

import pyarrow as pa
import pytest

from headrace.compiled.library import is_built
from headrace.protocol.statistics.leaf_column import read_columns
from tests.lake.statistic import ODD
from tests.protocol.leaves import SCALARS, TYPES, UNUSUAL, binary, leaves, read_both, stats_text

pytestmark = pytest.mark.skipif(not is_built(), reason="built without compiled loops")


@pytest.mark.parametrize("kind", TYPES)
def test_ordinary_statistics_are_read_by_the_loop(kind: type) -> None:
    texts = [stats_text(value) for value in SCALARS[kind]]
    spaced = [stats_text(value, space=" \r\n\t") for value in SCALARS[kind]]
    values = read_both(binary([*texts, None, *spaced, stats_text("null"), *texts, "{}", ""]), kind)
    assert values is not None
    number = values.columns["minValues", "s", "é"]
    assert number.null_count == 4


@pytest.mark.parametrize("kind", TYPES)
@pytest.mark.parametrize("unusual", UNUSUAL)
def test_an_unusual_value_is_read_the_same_or_declined(kind: type, unusual: str) -> None:
    for text in (stats_text(unusual), stats_text("null", other=unusual)):
        for value in SCALARS[kind]:
            read_both(binary([text]), kind)
            read_both(binary([stats_text(value), text, stats_text(value)]), kind)


@pytest.mark.parametrize("text", ODD)
def test_an_odd_text_is_read_the_same_or_declined(text: str) -> None:
    read_both(binary([text]), int)


@pytest.mark.parametrize(
    "text",
    [
        '{"numRecords":1,"numRecords":2}',
        '{"minValues":{"id":1},"minValues":{}}',
        '{"minValues":{"id":1,"id":null}}',
        '{"num\\u0052ecords":2}',
        '{"minValues":{"\\"":2}}',
        '{"minValues":[]}',
        '{"minValues":{"id":1}}}',
        '{"numRecords":1}{"numRecords":2}',
        '{"numRecords":1}\n{}',
        '{"numRecords":1,}',
        '{"numRecords":}',
        '{"numRecords"}',
        '{"numRecords" 1}',
        "{numRecords:1}",
        '{,"numRecords":1}',
        '{"numRecords":"}',
        '{"numRecords":1',
        '{"x":"\\}',
        '{"x":[}',
        '{"x":{"y":1}',
        '{"numRecords":12345678}}',
        "{\v}",
    ],
)
def test_the_loop_declines_unusual_texts(text: str) -> None:
    begun = '{"numRecords":1}'
    if text.endswith("}"):
        assert read_columns(binary([text]), leaves(int)) is None
        assert read_columns(binary([begun, text]), leaves(int)) is None
    else:
        assert read_both(binary([text, begun]), int) is not None


def test_only_needed_strings_must_be_utf8() -> None:
    bad = stats_text('"?"').encode().replace(b"?", b"\xff")
    assert read_columns(binary([bad]), leaves(str)) is None
    elsewhere = stats_text('"a"', other='"?"').encode().replace(b"?", b"\xff")
    assert read_both(binary([elsewhere]), str) is not None


@pytest.mark.parametrize("kind", TYPES)
def test_a_text_that_differs_after_a_leaf_is_read_once(kind: type) -> None:
    others = ("1", "true", '"x"', "[1,2]", "[1,3]", '{"id":7}', "null", "1")
    texts = [stats_text(value, other=other) for value in SCALARS[kind] for other in others]
    assert read_both(binary(texts), kind) is not None


def test_the_shape_of_a_text_with_many_values_need_not_be_known() -> None:
    many = json.dumps(list(range(1000)))
    assert read_both(
        binary([stats_text("1", other=many), stats_text("2"), stats_text("3", other=many)]), int
    )


def test_names_with_escapes_and_too_many_names_are_declined() -> None:
    texts = binary(["{}"])
    assert read_columns(texts, {('"',): int}) is None
    assert read_columns(texts, {(f"c{index}",): int for index in range(64)}) is None
    assert read_columns(texts, {(f"c{index}",): int for index in range(63)}) is not None


@pytest.mark.parametrize("kind", TYPES)
def test_slices_nulls_and_empty_arrays_are_read(kind: type) -> None:
    whole = binary(
        [None, "", *(stats_text(v) for v in SCALARS[kind]), None, "{}", *["x"] * 9, None]
    )
    for offset in range(len(whole) + 1):
        for length in (0, 1, 3, len(whole)):
            assert read_both(whole[offset : offset + length], kind) is not None
    assert read_both(pa.nulls(3, pa.binary()), kind) is not None
    assert read_both(pa.array([], pa.binary()), kind) is not None
